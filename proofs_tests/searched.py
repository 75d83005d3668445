"""The rules that the search uses, by name."""

from __future__ import annotations

from relift.egraph.search.optimize import SEARCHED

USED = {
    *SEARCHED,
    "map_to_glb", "map_to_lcl", "map_to_seq", "map_to_seq_unroll", "map_to_wrg",
    "reduce_seq_to_unroll", "store_global", "store_local", "store_private", "insert_copy",
}  # fmt: skip
"""These, those of the normal form, and the lowerings that the extractor applies."""
