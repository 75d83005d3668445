"""What is found, as programs.

effects     what a nest does: cells computed each for itself, cells that data choose, running folds, a value that is left
choices     which of several cells it is, and when, as one cell with a computed index
viewing     arrays that are read as cells of two types, as two arrays
naming      sizes: the numbers of iterations, and what the lengths of the C file are in them
layouts     arrays as dimensions by the strides of their accesses; the cells of an access as a view
arrays      the type of each array, and which cells each read reaches
elements    what a loop goes through: arrays zipped, windows for cells that stand near each other
scalars     expressions as terms
conditions  what stays to be asked for, by what it is about
programs    the program of an effect, in one normal form, with the conditions that stay
"""
