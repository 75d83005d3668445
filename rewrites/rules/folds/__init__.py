"""Folds: reductions and scans, in parts.

reduction  chunks are folded on their own, and then their results
scans      running results, in chunks
recurrences  folds and scans whose steps are affine, in chunks
moments    sums of products of differences, about another value
places     folds that say where an element is
bins       folds of those elements whose key is an index
"""
