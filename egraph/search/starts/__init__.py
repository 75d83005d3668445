"""What search starts from: the program in other forms, cut at sizes that do not divide, or kernel by kernel.

forms       shared, stored, computed apart
staged      kernel by kernel
iterated    an iteration whose steps are kernels
chains      long chains of maps
remainders  sizes that do not divide
stencils    borders and windows
"""
