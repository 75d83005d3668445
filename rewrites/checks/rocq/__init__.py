"""Tier 4b: rules as statements of the Rocq prover, and their proofs."""
