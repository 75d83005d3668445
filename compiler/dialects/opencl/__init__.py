"""OpenCL C, which drivers of OpenCL compile.

backend  what it is asked for
printer  the kernels; `halves`: for devices that only store `half`
queue    a device's context and queue
session  kernels on a device
trial    a driver under test
"""
