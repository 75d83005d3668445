"""The languages in which a kernel is printed: OpenCL C, and others that say the same."""
