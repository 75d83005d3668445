"""The text of kernels against the meaning of their programs, at the sizes that are run, or at all.

Where `validation` runs all work-items at small sizes, here one stands for all: numbers of groups, turns of loops and
sizes are polynomials, loops are folds, and what is written at an index must be what the program is there.  Nothing of
the generator, of the views of patterns or of the compiler's index simplification is used.  Read in this order:

polynomials  whole numbers that are not known; `ranges` decides their orders and quotients, by ends of ranges and Z3
algebra      symbols of `validation` at such numbers, and folds
domain       scalars of programs; `denotation` is what terms are at an index
arithmetic   what C does to such numbers; `memory` is arrays at indices that are not known
loops        a kernel's text as Python, in which a loop may be run once for all its turns
shared       what is left of a kernel when only local memory matters; `group` runs a work-group or one work-item
judge        what is written against the program, case by case; `witness` finds numbers at which they differ
evidence     all kernels of a program, with their certificates
"""
