"""Arrays that a compiled program takes and gives: as rows of scalars, on a device, of other libraries, as results.

buffers       NumPy values as rows of scalars, and back
results       where results go
placing       arrays brought to a device
device_array  arrays that stay there
dlpack        those of other libraries
"""
