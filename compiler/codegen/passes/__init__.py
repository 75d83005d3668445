"""Passes over the tree of a kernel: shared local arrays, named registers, shared indices, loops that keep their order."""
