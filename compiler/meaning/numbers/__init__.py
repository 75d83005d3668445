"""Whole numbers that are not known, and what is computed with them.

polynomials  numbers of groups, turns of loops, sizes; `ranges` decides their orders and quotients, by ends of ranges (`bounds`) and Z3
algebra      symbols of `validation` at such numbers, and folds
ends         between which numbers data lie
constants    arrays of constants, at indices that are not known
lookups      cells of arrays that loops carry, at indices that turns differ in
domain       scalars of programs
arithmetic   what C does to such numbers
"""
