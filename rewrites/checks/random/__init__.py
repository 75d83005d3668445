"""Tier 2, and every generator.

models       metavariables at small sizes; `drawing`, `strategies`: by Hypothesis; `exact_inputs`: without rounding
operations   what they have for operators, with the laws that each obeys
programs     random programs
kernels      random low-level programs, of `expressions` of their work-items, from `draws`
tier         a rule on random models
fractions    floats as exact fractions; `integers`: whole numbers that wrap around
constants    the numbers that a rule mentions; `edges`: values at which arithmetic is special
"""
