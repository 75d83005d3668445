"""Schedules for the work-groups of a GPU.

tiles           a nest, tile by tile
tiling          how large tiles are, and teams of a group that share one
row_tiles       maps over rows or tiles, which a group copies to local memory
row_chunks      rows that are folded in order, copied to local memory chunk by chunk; `scan_chunks`: and scanned
tables          arrays of more dimensions as tables: any permutation of axes by tiles
stencils        overlapping tiles of stencils: a work-item has a window, or several below one another
whole_windows   the windows of a stencil as the first of so many that tiles divide
cooperative     reductions that the work-items of a group share; `scans`: running ones
rows            maps over rows that are folded: all loops over a row, or over several
stages          maps over small blocks: what stands between their stages is in local memory
kept_rows       what they read again of a row stays in the registers of its members
few_folds       folds that are too few for a group each: a group for each chunk of them
numbers         numbers folded of whole arrays, and what is made of them
dimensions      maps in three dimensions, a work-item for each element
"""
