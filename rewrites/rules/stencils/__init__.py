"""Stencils: windows and tiles of them, separable sums, borders."""
