"""The text of a kernel as it is parsed.  Read in this order:

preprocessing  the text as the preprocessor leaves it, whichever compiler that is part of
records        what structs and unions are made of
buffers        pointers to structs in a buffer
members        expressions over structs
structs        a source without them: a variable for each member
written        expressions as they are written, and which cell a pointer points to
attempts       loops that try to exchange a cell, as updates of it
parsing        the text through a parser of C; places of what is not understood
"""
