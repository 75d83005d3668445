"""From a low-level term to the statements of a kernel.

Read in this order:

generate     a term written where its result has a place, or viewed where it is read
loops        over the elements of an array, by one work-item or by many
folds        loops that carry a value from step to step
in_order     searches, filters, sorts and scattering, one element after the other
evaluation   scalars, vectors and tuples as C expressions
arrays       local and private memory
emission     what these share: the statements so far, registers, loads and stores
body         the statements of a kernel while it grows; `scope`: where a term stands, `unrolling`: loops without a loop
accesses     what each access asks of barriers, registers and folds; `barriers` places the former
values       indices, scalars, vectors and cells in C
passes       over the tree of a kernel: shared places, named registers, shared indices
kernel       one kernel, after all passes, and how it is launched; `interface` is what goes in and out
"""
