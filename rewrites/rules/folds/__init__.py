"""Folds: reductions and scans, in parts."""
