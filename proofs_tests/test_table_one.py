"""The programs of Table 1 of the LIFT paper (CGO'17), stencils, and a few more: examples/ against NumPy.

Table 1 has two versions of N-Body, and two of the matrix product (examples/matmul.py, see test_examples),
that differ in what the search decides: vectors, tiles, local memory.  One program stands for both; of
N-Body there are two because the vendors' steps in time differ.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proofs_tests.portions import portioned
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.agreement.verification import check_run
from relift.compiler.program import compile_program
from relift.egraph.search.optimize import optimize
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program

EXAMPLES = Path(__file__).parent.parent / "examples"
PROGRAMS: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "nbody": ({"n": 5}, {"n": 48}),
    "nbody_nvidia": ({"n": 5}, {"n": 48}),
    "md": ({"n": 5, "k": 7}, {"n": 33, "k": 16}),
    "kmeans": ({"n": 7, "k": 3, "d": 4}, {"n": 64, "k": 5, "d": 34}),
    "nearest_neighbour": ({"n": 13}, {"n": 1001}),
    "mriq": ({"n": 5, "k": 9}, {"n": 64, "k": 33}),
    "convolution": ({"h": 4, "w": 5, "r": 2}, {"h": 31, "w": 48, "r": 1}),
    "convolution_separable": ({"h": 4, "w": 5, "r": 2}, {"h": 31, "w": 48, "r": 8}),
    "atax": ({"n": 5, "m": 7}, {"n": 64, "m": 31}),
    "gemv": ({"n": 5, "m": 7}, {"n": 64, "m": 31}),
    "gesummv": ({"n": 5, "m": 7}, {"n": 64, "m": 31}),
    "j2d5pt": ({"n": 4, "m": 5}, {"n": 31, "m": 64}),
    "j2d9pt": ({"n": 4, "m": 5}, {"n": 31, "m": 64}),
    "j3d7pt": ({"n": 3, "m": 4, "k": 5}, {"n": 7, "m": 8, "k": 16}),
    "heat3d": ({"n": 3, "m": 4, "k": 5}, {"n": 7, "m": 8, "k": 16}),
    "hotspot": ({"n": 4, "m": 5}, {"n": 31, "m": 64}),
    "acoustic": ({"n": 3, "m": 4, "k": 5}, {"n": 7, "m": 8, "k": 16}),
    "black_scholes": ({"n": 32}, {"n": 1024}),
    "mandelbrot": ({"n": 4, "m": 5}, {"n": 32, "m": 17}),
    "histogram": ({"n": 40, "b": 6}, {"n": 500, "b": 16}),
}
"""Each program with sizes for the interpreter and for a kernel; all of them go through search and compiler."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_meaning_is_numpys(name: str) -> None:
    """The interpreter agrees with the NumPy function beside the program."""
    program = load_program(str(EXAMPLES / f"{name}.py"))
    source = program.at(PROGRAMS[name][0])
    for seed in range(3):
        arrays = random_inputs(source, seed)
        (check,) = check_run(program, arrays, source(*arrays), source)[:1]
        assert check.ok, check.text()


AS_ANOTHER = {"nbody", "gemv", "gesummv", "j2d9pt", "heat3d", "convolution_separable"}
"""Those that the search takes the way of another one: of `nbody_nvidia`, `atax`, `j2d5pt`, `j3d7pt`, `convolution`."""


@portioned("name", list(PROGRAMS), PROGRAMS.keys() - AS_ANOTHER)
def test_found_kernel_agrees(name: str) -> None:
    """So does the kernel that the search finds, on the CPU; and its derivation replays."""
    program = load_program(str(EXAMPLES / f"{name}.py"))
    sizes = PROGRAMS[name][1]
    source = program.at(sizes)
    arrays = random_inputs(source, seed=1)

    best = optimize(program, sizes, "cpu")
    best.derivation.replay(RULES)
    checks = check_run(program, arrays, compile_program(best.term)(*arrays, device="cpu"), source)

    assert len(checks) == 2
    assert all(check.ok for check in checks), "\n".join(check.text() for check in checks)


def test_edges_of_the_examples() -> None:
    """Points of one cluster, atoms at one place."""
    one = np.ones((3, 2), np.float32)
    kmeans = load_program(str(EXAMPLES / "kmeans.py"))
    assert list(kmeans(one, one)) == [0, 0, 0]

    md = load_program(str(EXAMPLES / "md.py"))
    place, f = (one[:1, 0],) * 3, np.float32
    itself = np.zeros((1, 1), np.int32)
    assert all(force == 0 for force in md(place, itself, f(1), f(2), f(3)))
