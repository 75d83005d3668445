"""OpenCL C, which drivers of OpenCL compile."""
