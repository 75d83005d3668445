"""Tier 5 of rule checking, and all tiers together."""
