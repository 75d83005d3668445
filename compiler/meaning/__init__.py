"""The text of kernels against the meaning of their programs, at the sizes that are run, or at all.

Where `validation` runs all work-items at small sizes, here one stands for all: numbers of groups, turns of loops and
sizes are polynomials, loops are folds, and what is written at an index must be what the program is there.  Nothing of
the generator, of the views of patterns or of the compiler's index simplification is used.  Read in this order:

numbers      whole numbers that are not known, and symbols at such numbers
programs     what a term is at an index
kernels      a kernel's text, run on them: a work-group, or one work-item
judge        what is written against the program, case by case, by `equality`; `witness` finds numbers at which they differ,
             and `computed` has the values of symbols at numbers, those of folds by `folds_in_python`
evidence     all kernels of a program, with their certificates; `indexed` finds what must be in range
subjects     what is validated, by name; `shown` is values as people read them
"""
