"""The text of kernels run on symbols, against the interpreter.

Read in this order:

symbols      names of data, and what is known to be equal of what is computed with them; `known` is what conditions say of each other
operations   what a symbol is of its parts, where that is more than a name
domain       symbols as a domain of the interpreter; `cells` are values as rows
machine      work-items and memory, and what no kernel may do; `arithmetic` is what it does to values
translation  the text as Python that a work-item runs
lockstep     all work-items of a group, from barrier to barrier
validate     both sides, cell by cell, up to what `laws` and `bits` know to be equal; `division` is a function that is compared on its own
evidence     what a validation adds to a certificate
opaque       functions that are not run as they are written
"""
