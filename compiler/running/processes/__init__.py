"""Processes of their own, so that a driver that crashes or hangs costs one message.

building  kernels are built in a child process first; `build_child` is that process
isolated  a program runs in a process of its own
"""
