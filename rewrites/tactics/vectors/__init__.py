"""Schedules for the vector registers of a CPU.

folded_rows      maps over rows that are folded: each row in vectors
folds_along      a nest whose vectors go along its folds, of rows of both operands
halved_lanes     lanes that are folded at the end, and what fills no vector
lanes            neighbouring results become the lanes of vectors
register_blocks  a nest in blocks that fit in registers
rows_of_parts    maps over rows that are put together of parts: one part after the other
strips           stencils: several rows of windows in lanes
turned_tiles     tables of which one lies across: tiles of them, which may be turned in registers
"""
