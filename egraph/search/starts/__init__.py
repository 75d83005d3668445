"""What search starts from: the program in other forms, cut at sizes that do not divide, or kernel by kernel.

prepared    what is done to every program
forms       shared, stored, computed apart
promising   which of these are searched further
staged      kernel by kernel
named       a kernel for each name outside all functions, of programs that are too long without
with_names  names in functions, and whether they stay
iterated    an iteration whose steps are kernels
chains      long chains of maps
remainders  sizes that do not divide
stencils    borders and windows
"""
