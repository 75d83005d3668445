"""Tier 4a: arrays as index functions, compared by Z3 for all sizes."""
