"""What is printed is read back as the tree that was printed."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.compiler.programs import CASES, Case
from relift.compiler.bench.benchmarks import load_benchmarks
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.program import kernels_of
from relift.compiler.text.reader import read_source
from relift.compiler.text.tree import Binary, Name, Source, Whole
from relift.rewrites.checks.random.draws import KINDS, Kind
from relift.rewrites.checks.random.kernels import random_kernel
from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.language.programs import Program

EXAMPLES = Path(__file__).parents[3] / "examples" / "low_level"
BENCHMARKS = [b for target in ("cpu", "gpu") for b in load_benchmarks(EXAMPLES, [], target)]
RANDOM = 60
"""Random programs of each kind."""


def structure(node: Any) -> Any:
    """What a node is, without how it is written: loops and guards, which are told apart by identity, too."""
    if isinstance(node, tuple):
        return tuple(map(structure, node))
    if is_dataclass(node):
        kept = (structure(getattr(node, f.name)) for f in fields(node) if f.compare)
        return (type(node).__name__, *kept)
    return node


def read_back(source: Source) -> Source:
    return read_source(OpenCL().source(source))


def agrees(program: Program) -> bool:
    source, _ = kernels_of(program)
    return bool(structure(read_back(source)) == structure(source))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_small_programs_are_read_back(case: Case) -> None:
    """Every family of the suite, at all its small sizes."""
    assert all(agrees(case.make(*sizes)) for sizes in case.small)


@pytest.mark.parametrize("b", BENCHMARKS, ids=lambda b: f"{b.name}-{b.target}")
def test_low_level_examples_are_read_back(b: Any) -> None:
    """At small sizes."""
    assert all(agrees(b.make(**sizes)) for sizes in b.small)


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_are_read_back(kind: Kind) -> None:
    """Those that compile: most do."""
    compiled = 0
    for seed in range(RANDOM):
        program = random_kernel(seed, kind)
        if program is None:
            continue
        try:
            assert agrees(program), seed
        except (IllTyped, Unsupported):
            continue
        compiled += 1
    assert compiled > RANDOM // 4


def test_a_tree_that_lost_its_parentheses_is_another() -> None:
    """The comparison sees what is computed; how it is set it does not."""
    x, y = Name("x"), Name("y")
    product = Binary("*", Binary("+", x, y), Whole(2))
    assert structure(product) != structure(Binary("+", x, Binary("*", y, Whole(2))))
    assert structure(product) == structure(replace(product, parentheses=1, set="spaced"))
    assert OpenCL().expression(product) == "(x + y)*2"
