"""C as relations.

source       the compiler, and the one normal form that llvmlite makes of what it says
reading, ir  LLVM's text as a graph; sharing: one value for what is computed or read twice
control      dominance, loops
evolution    integers and addresses as polynomials over the counters of loops; accesses: loads and stores by them; layout, numbers
terms        expressions; expressions: a value as one, with control flow as selection and loops as folds
folds        which updates are order-independent
structure, memory, relations    all of it as relations that a solver is given
"""
