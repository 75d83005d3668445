"""What is proved of a kernel's text: bounds, races, initialisation, coverage, no overflow.

Read in this order:

certificate    what is said of a kernel, and what became of it
names, memory  what the names of a kernel are where a statement stands, and what is accessed there
flows          which accesses barriers keep apart; `accesses` are all of a kernel
work_items     a work-item as formulas of Z3
counting       how often accesses are made, and to which cells: whether all is written, and before it is read
prover         bounds, races and barriers
claims         the certificate of a kernel, and those of a program; `given` is what a launch gives it
consultation   certificates that are asked before a kernel runs
overflow       sizes at which an index would overflow
effort         how much Z3 may do
"""
