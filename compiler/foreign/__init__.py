"""Kernels that others wrote, against a program: OpenCL C as people write it, run on free symbols at given sizes.

The reader of `text` understands what certificates can stand on, and no more.  Here a C parser reads the text, and every
work-item of the launch runs it, by the machine of `validation`, which sees races, stray accesses and divergence.

reading     the text as the preprocessor leaves it, through a parser of C, without structs
expressions a parsed expression as the tree of `text`; types
functions   the functions, pointers and copies of a group that people use
longhand    functions that are others written shortly
effects     assignments inside of expressions
ways        the ways through a kernel that data decide on, and where they meet
branches    loops of any form, switches, branches, also on data
declarations  of parameters, constants, variables, arrays and events
statements  all of a kernel, and of the functions that it calls, as Python that work-items run
groups      copies and values of groups and sub-groups; a launch of all of them
required    what is said of the inputs by programs: as facts, in the inputs that are tried, case by case
runtime, atomics, attempts  what that Python calls; updates that may be made in any order
inputs      the inputs on which a kernel is run on numbers
comparison  a launch of one such kernel against the interpreter, with the laws that a program grants
on_device   a wrong kernel on a device
"""
