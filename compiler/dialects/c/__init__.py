"""C with OpenMP, which the C compiler of the system makes a library of."""
