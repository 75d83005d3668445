"""Benchmarks against references, and bundles that are measured on another machine.

benchmarks     programs with sizes, inputs and references
times          their times on a device here; `by_hand` is OpenCL that a person wrote
report         what is said of rows of times
bundle         kernels that are carried to another machine
bundle_runner  what checks and times them there
candidates     candidates of a search as a bundle
"""
