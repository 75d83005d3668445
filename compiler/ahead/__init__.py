"""Kernels compiled ahead of time: a library in C that needs nothing of Relift, and what builds and tests it.

c_library   the files of a library: header, source, CMake file, and a test with what the interpreter says
host.c      what runs the kernels of a library, and is part of its source
"""
