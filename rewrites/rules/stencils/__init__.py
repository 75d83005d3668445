"""Stencils: windows and tiles of them, separable sums, borders.

stencil     windows, and overlapped tiles of windows
tiling      blocks in several dimensions
separable   sums over windows, one dimension after the other
boundaries  borders apart from the inside
ghosts      steps in the middle of longer arrays, tile by tile
ghosts_2d   the same of tables
"""
