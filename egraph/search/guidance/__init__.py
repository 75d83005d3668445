"""What leads from a program to a low-level one.

planning     the stages between a program and a sketch; `guided` goes through them
plans        tactics that the shape of a program proposes, `fold_plans` those for folds, `scan_plans` for scans, `window_plans` for stencils, `block_plans` for
             blocks in the registers of a CPU; `tilings` prices the tiles of a nest
by_shape     which of these a program is given
admissible   the sizes that rules may choose
"""
