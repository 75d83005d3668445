"""Tier 4a: arrays as index functions, compared by Z3 for all sizes.

values            what the terms of a rule mean; `index_functions`: those that it names or writes
denotation        a term in that algebra
comparison        whether one value may stand for another; `reductions`: what a reduction may be read as
goals             statements about indices, in normal form; `tables`: index functions at a number of elements
tier              both sides of a rule, compared
"""
