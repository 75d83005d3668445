"""The rules, one module per family; the docstring of each opens with its laws in point-free notation.

traversals   one map, or several: fused, apart, nested in another order, iterated
layout       where elements stand: split, transposed, taken, gathered, paired, padded
folds        reductions and scans, in parts
stencils     windows: tiles of them, separable sums, borders
machine      who computes a map, where a result lies, vectors, lookups in memory
"""
