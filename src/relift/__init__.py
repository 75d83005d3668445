"""Relift: a formally checked rewrite system for data-parallel programs."""
