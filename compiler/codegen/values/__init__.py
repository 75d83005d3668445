"""What is computed, in C: indices, scalars and vectors, tuples of them, functions, and the memory that they are in.

scalars      types, literals, lanes
expressions  scalar functions; `quotients`: those of whole numbers that C has not for all of them
indices      index expressions in C
trees        tuples of expressions
cells        loads and stores
tables       rows of constants, in constant memory
functions    operators and user functions
"""
