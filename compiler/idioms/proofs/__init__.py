"""Proofs that a lifted program is what the loops compute, for all sizes.

scalars      numbers and functions as Z3 has them: floats as they are rounded, or as real numbers
folds        loops and reductions as unknowns, each with its first value and its step; equal by induction
programs     what a program means: index functions over those scalars
instructions what instructions compute, from LLVM's graph itself; `computing`: of numbers, `memory`: loads and stores
unchanged    what a nest finds as it was before
execution    what the loops mean: one iteration after the other
equality     both the same, with the invariants that are proved on the way
"""
