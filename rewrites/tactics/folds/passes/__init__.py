"""Folds that read the same elements, in one pass over them.

one_pass  long folds of whole arrays, none of them the result of another
moments   sums of products of differences from what is folded of the same elements, as a variance is
"""
