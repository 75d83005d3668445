"""A kernel's results against the interpreter's, on devices and on the race-checking simulator.

comparison      a result beside what it should be, within the `rounding` of its sums
inputs          from files and numbers, or drawn
small_sizes     a derivation done again at small sizes
own_sizes       at the sizes that a kernel was made for
open_sizes      kernels whose sizes are open
sampled         single cells, beyond the interpreter's reach
verification    all of that, for a program
artefacts       and for a folder of results
simulator       the simulator that sees races
user_functions  opaque C against its reference in Python; `functions_in_c`: for all that rules name
"""
