"""Tier 2, and every generator.

models       metavariables at small sizes; `drawing`, `strategies`: by Hypothesis; `exact_inputs`: without rounding
programs     random programs
kernels      random low-level programs, of `expressions` of their work-items, from `draws`
tier         a rule on random models
"""
