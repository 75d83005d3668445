"""Matrix product for a GPU, derived: every construct of the low-level program is the work of a rule.

    relift bench --target gpu matmul_derived

The high-level program is that of examples/matmul.py.  What `matmul_gpu.py` writes by hand, tiles in local
memory and blocks of the result in registers, `tile_for_groups` makes by rules that are proved.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from relift.bench import Benchmark, Reference, load_program
from relift.strategies import Tiles, derive, tile_for_groups

matmul = load_program(str(Path(__file__).parents[1] / "matmul.py"))


def derivation(size, **tiles):
    """From the product of two square matrices to its low-level program."""
    sizes = dict.fromkeys(("n", "m", "k"), size)
    return derive(matmul, tile_for_groups(Tiles(**{**DEFAULTS, **tiles})), sizes)


def product(size, **tiles):
    """The low-level program that a derivation ends with."""
    found = derivation(size, **tiles)
    return replace(found.program, name="matmul_derived", body=found.result)


def tiles(*sizes):
    """A variant: rows, columns and depth of a tile, and the blocks of a work-item down and across."""
    names = ("rows", "columns", "depth", "row_blocks", "column_blocks")
    return dict(zip(names, sizes, strict=True))


DEFAULTS = tiles(128, 128, 16, 2, 2)

benchmarks = [
    Benchmark(
        "matmul_derived",
        "gpu",
        product,
        sizes={"size": 4096},
        variants=[tiles(128, 128, 16, 2, 2), tiles(128, 128, 32, 2, 2), tiles(128, 64, 16, 2, 1)],
        small=[{"size": 32, **tiles(16, 16, 8, 1, 1)}, {"size": 64, **tiles(32, 16, 4, 2, 1)}],
        gold=lambda A, B: A.astype(np.float64) @ B,
        flops=lambda size, **_: 2 * size**3,
        moved=lambda size, **_: 12 * size**2,
        options=("-cl-fast-relaxed-math",),
        reference=Reference("CLBlast, tuned for an RTX 3080", 3.127e-3),
    ),
]
