"""Passes over the tree of a kernel: shared local arrays, named registers, barriers in guards and shared indices."""
