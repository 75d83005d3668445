"""The programs of Lift's own tests and benchmarks, written here from what they compute, on every level of Relift."""
