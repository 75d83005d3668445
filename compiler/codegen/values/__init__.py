"""What is computed, in C: indices, scalars and vectors, tuples of them, functions, and the memory that they are in."""
