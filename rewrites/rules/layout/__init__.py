"""Layout: elements split, transposed, taken, gathered, paired and padded, and what is computed of them.

split_join      chunks of an array
take_drop       parts of an array
transposition   rows and columns change places
products        zips and pairs
gather_scatter  elements in another order
padding         borders of an array
"""
