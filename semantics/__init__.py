"""What the language is: sizes, types, terms, patterns, the interpreter and the printer.

Read in this order, like a paper:

syntax         sizes and types (what an array is), terms, signatures, scalar functions; nodes, the one view of all
               terms, through which binders, substitution and matching go
patterns       what can be written, one class a pattern: its signature, its meaning, its Rocq text
interpreter    what a term means, over `domains`: NumPy scalars, exact numbers; `numpy_values`: arrays in and out
language       how a Python function becomes a program
notation       how a term is shown and read back
indices        index expressions and their rules; index functions; views, which are layouts as index functions
catalogue      the page of every pattern
errors         what is wrong: one message with the thing, the place and the hint
array_exchange arrays of other libraries as NumPy's
library_calls  which terms call functions that processors have no instruction for
kept           what is found once and kept for a while
by_cell        the interpreter cell by cell, of arrays that are never whole
"""
