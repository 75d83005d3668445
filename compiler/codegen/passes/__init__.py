"""Passes over the tree of a kernel: shared local arrays, named registers and shared indices."""
