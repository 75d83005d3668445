"""A device that need not be here: what a cost model has to know of it."""

from dataclasses import replace

from relift.device import CPU

TINY = replace(
    CPU, name="a processor with two lanes", compute_units=1, vector_width=2, fma_gflops=12.0
)
