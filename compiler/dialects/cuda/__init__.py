"""CUDA C++, which NVIDIA's compiler NVRTC makes PTX of.

backend  what it is asked for
printer  the kernels
nvrtc    NVIDIA's run-time compiler
session  kernels on a device
sharing  arrays of other libraries there
"""
