"""Benchmarks of your own: files that `relift bench --folder` times, and what such files are made of.

    from relift.bench import Benchmark, on_cpu

    benchmarks = [Benchmark("scale", "cpu", scale, sizes={"n": 1 << 16}, ...)]

`Benchmark` is one row of such a file, `on_cpu` the same row with a CPU's sizes.  Its inputs are a `Draw`, its NumPy time
may be a `Reference`; a kernel `ByHand` is timed beside it, in `Step`s.  `load_program` and `load_file` read programs of
other files, `as_written` makes one low-level without a search.  `find_device`, `describe` and `label` say what is measured.
"""

from __future__ import annotations

from relift.compiler.bench.benchmarks import Benchmark, Draw, Reference, on_cpu
from relift.compiler.bench.by_hand import ByHand, Step, rows_of_groups
from relift.compiler.devices.naming import label
from relift.compiler.devices.survey import describe, find_device
from relift.egraph.search.optimize import as_written
from relift.rewrites.loading import load_file, load_program

__all__ = [
    "Benchmark", "ByHand", "Draw", "Reference", "Step", "as_written", "describe", "find_device", "label",
    "load_file", "load_program", "on_cpu", "rows_of_groups",
]  # fmt: skip
