"""The text of kernels run on symbols, against the interpreter."""
