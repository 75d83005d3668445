"""What is computed, in C: indices, scalars and vectors, tuples of them, functions, and the memory that they are in.

expressions  types, literals, scalar functions
indices      index expressions in C
trees        tuples of expressions
cells        loads and stores
tables       rows of constants, in constant memory
functions    operators and user functions
"""
