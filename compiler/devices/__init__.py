"""OpenCL drivers and devices: found, tested, measured, named."""
