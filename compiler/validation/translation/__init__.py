"""A kernel's tree as Python: a generator that each work-item runs, and that stops at barriers.

Every expression has the type that C gives it, and is converted where C converts it.  Whole numbers that are known
when the text is translated to lie in a range (numbers of work-items, counters, what is computed from them) become
Python's operators; all else calls the functions of `arithmetic` and `machine`.

statements   of a kernel, or of a function that it calls
expressions  names, memory and calls
operators    conversions, arithmetic and conditions, by the types of C
functions    of C: conversions by name, minima, and those of floats
python       the text that is written, and the names in it
"""
