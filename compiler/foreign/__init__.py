"""Kernels that others wrote, against a program: OpenCL C as people write it, run on free symbols at given sizes.

The reader of `text` understands what certificates can stand on, and no more.  Here a C parser reads the text, and every
work-item of the launch runs it, by the machine of `validation`, which sees races, stray accesses and divergence.

preprocessing  the text as the preprocessor leaves it, whichever compiler that is part of
parsing     that text through a parser of C; places of what is not understood
expressions a parsed expression as the tree of `text`; types
statements  loops of any form, branches, switches, helper functions, as Python that work-items run
comparison  a launch of one such kernel against the interpreter, with the laws that a program grants
"""
