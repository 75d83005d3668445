"""Traversals: fused, apart, nested in another order, iterated, or left out."""
