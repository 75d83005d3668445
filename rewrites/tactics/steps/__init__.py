"""What is done step by step.

iterations  on rows as on tables, of each element, and folds to an array as iterations
carried     of loops that carry arrays: copied, finished, step by step, or those of all rows together
states      of arrays and numbers: the numbers of all steps are known before the arrays of the first
tiles       several steps of a stencil as one, tile by tile
"""
