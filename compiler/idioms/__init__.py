"""From C that exists: idioms found by constraints, as IDL (Ginsbach) finds them.

Read in this order:

facts          C through clang and llvmlite as a graph: dominance, loops, scalar evolution, accesses; as relations
constraints    the language of constraints: its grammar, its atoms, how a constraint is written out and solved
library        the idioms, one constraint each, as `.idl` files
refusals       the functions that are left alone, and why
finding        the idioms of a function: which solutions are kept where several explain one result
lifting        what is found as programs, in one normal form, with the conditions that stay
evidence       each program against the compiled C on drawn inputs
containing     that in a process of its own, which C may crash
lift           a file of C in, its idioms with programs, conditions and evidence out
collection     a folder of C: all finds listed, counted by kind, labelled
lowered        a lifted program as a low-level one, which rounds as the loops do
replacing      the file with guarded calls of kernels before its loops, and a second file with what they call
standing       what C can say where a loop stands: variables, and the values they hold
ranges         checks that whole numbers do not wrap
guarded        the functions that check and call a kernel
inspecting     loops that find out, before a kernel, how long arrays are
passing        sparse products in one pass, which finds that out on the way
counting       histograms of whole numbers by several threads
"""
