"""Tier 2, and every generator: sizes, models, programs, low-level programs, exact inputs."""
