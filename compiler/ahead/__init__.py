"""Kernels compiled ahead of time: a library in C that needs nothing of Relift, with what builds and tests it; a Python wheel.

c_library   the files of a library: header, source, CMake file, and a test with what the interpreter says
host.c      what runs the kernels of a library, and is part of its source
wheel       a wheel whose functions need NumPy and pyopencl only
spirv       kernels in SPIR-V, where a compiler of it is at hand
kernel_package   what runs the kernels of a wheel, and travels in it
"""
