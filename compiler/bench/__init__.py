"""Benchmarks against references, and bundles that are measured on another machine."""
