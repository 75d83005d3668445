"""Layout: elements split, transposed, taken, gathered, paired and padded, and what is computed of them."""
