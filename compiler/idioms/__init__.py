"""From C that exists: idioms found by constraints, as IDL (Ginsbach) finds them.

Read in this order:

facts          C through clang and llvmlite as a graph: dominance, loops, scalar evolution, accesses; as relations
constraints    the language of constraints: its grammar, its atoms, how a constraint is written out and solved
library        the idioms, one constraint each, as `.idl` files
refusals       the functions that are left alone, and why
finding        the idioms of a function: which solutions are kept where several explain one result
lifting        what is found as programs, in one normal form, with the conditions that stay
evidence       each program against the compiled C on drawn inputs
admitted       what a program gives where its conditions hold; `drawing`: inputs, `rounding`: how far two roundings are apart
structures     the structures that lengths and pointers are looked up in, around what is drawn
execution      the compiled C, called on arrays
containing     that in a process of its own, which C may crash
lift           a file of C in, its idioms with programs, conditions and evidence out
proofs         that a program is what the loops compute, for all sizes
collection     a folder of C: all finds listed, counted by kind, labelled
replacement    the file with guarded calls of kernels before its loops, and a second file with what they call
page           what was found, in colour beside the programs
"""
