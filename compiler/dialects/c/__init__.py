"""C with OpenMP, which the C compiler of the system makes a library of.

backend      what it is asked for
printer      groups shared out to threads; `groups`: the items of one as a thread runs them, `names`: their variables
expressions  what is on vectors, written out
library      functions that C lacks
compiler     the C compiler of the system
session      kernels compiled, loaded and called
"""
