"""OpenCL C as text: its names, its types, and the reader that gives the tree of a kernel back."""
