"""The second meaning of patterns: at concrete indices, on symbols, it is the interpreter's."""

from __future__ import annotations

from typing import Any

import pytest

from proofs_tests.compiler.programs import CASES, Case
from relift.compiler.lowering.iterations import written_out
from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.arithmetic import Indices
from relift.compiler.meaning.numbers.domain import Values
from relift.compiler.meaning.numbers.ranges import Ranges
from relift.compiler.meaning.programs.denotation import Denotation
from relift.compiler.meaning.programs.indexing import Cells
from relift.compiler.validation.machine import Undecided
from relift.compiler.validation.symbols import OPEN, DependsOnData, Symbol, TooLarge
from relift.rewrites.checks.random.draws import KINDS, Kind
from relift.rewrites.checks.random.kernels import random_kernel
from relift.semantics.errors import ReliftError
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

MOST = 2_000
"""Symbols of one comparison; what needs more is not compared."""


def both(program: Program, unroll: int) -> tuple[Any, Any, Folding]:
    """The interpreter's value and the denotation, on the same symbols."""
    ranges = Ranges()
    algebra = Folding(ranges, MOST)
    values = Values(algebra, Indices(algebra, 0))
    lists = {p.name: given(p.type, p.name, algebra) for p in program.parameters}
    meant = evaluate(program.body, World(inputs=lists, domain=values))
    cells = {p.name: lazily(p.type, p.name, algebra) for p in program.parameters}
    term = Denotation(algebra, values, cells, {}, unroll)
    return meant, term.of(written_out(program.body), {}), algebra


def given(t: Type, name: str, algebra: Folding, place: int = 0) -> Any:
    """A symbol for each cell of an input, in lists."""
    match t:
        case Array(element, n) | Vector(element, n):
            count = n.evaluate({})
            return [given(element, name, algebra, place * count + i) for i in range(count)]
        case Tuple(parts):
            return tuple(given(u, f"{name}.{k}", algebra, place) for k, u in enumerate(parts))
        case Scalar(kind):
            return algebra.cell(name, place, "bool" if kind == "boolean" else kind)
        case TypeVariable():
            raise AssertionError(t)


def lazily(t: Type, name: str, algebra: Folding, place: Any = 0) -> Any:
    """The same as functions of indices."""
    match t:
        case Array(element, n) | Vector(element, n):
            count = n.evaluate({})
            return Cells(count, lambda i: lazily(element, name, algebra, place * count + i))
        case Tuple(parts):
            return tuple(lazily(u, f"{name}.{k}", algebra, place) for k, u in enumerate(parts))
        case Scalar(kind):
            return algebra.cell(name, place, "bool" if kind == "boolean" else kind)
        case TypeVariable():
            raise AssertionError(t)


def differing(t: Type, meant: Any, found: Any, algebra: Folding, values: Values) -> list[Any]:
    """The cells in which two values differ."""
    match t:
        case Array(element, _) | Vector(element, _):
            return [
                d
                for i, v in enumerate(meant)
                for d in differing(element, v, found(i), algebra, values)
            ]
        case Tuple(parts):
            return [
                d
                for part, v, f in zip(parts, meant, found, strict=True)
                for d in differing(part, v, f, algebra, values)
            ]
        case Scalar() | TypeVariable():
            if meant is OPEN or found is OPEN:
                return [] if meant is found else [(meant, found)]
            same = values.lifted(meant) is unfolded(values.lifted(found), algebra, {})
            return [] if same else [(meant, found)]


def unfolded(x: Symbol, algebra: Folding, known: dict[Symbol, Symbol]) -> Symbol:
    """A symbol in which every fold is written out."""
    if x not in known:
        y = x
        while y.op == "fold":
            wide = algebra.unfolded(y, 1000)
            assert wide is not None
            y = wide
        args = [unfolded(v, algebra, known) if isinstance(v, Symbol) else v for v in y.args]
        known[x] = y if args == list(y.args) else algebra.again(y, args)
    return known[x]


def compared(program: Program, unroll: int) -> list[Any]:
    """The cells of a program's result in which the two meanings differ."""
    meant, found, algebra = both(program, unroll)
    values = Values(algebra, Indices(algebra, 0))
    return differing(program.body.type, meant, found, algebra, values)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
@pytest.mark.parametrize("unroll", [0, 1000])
def test_the_families_of_the_compiler_mean_the_same_twice(case: Case, unroll: int) -> None:
    """Cell by cell, with loops written out and as folds that are written out afterwards."""
    try:
        assert compared(case.make(*case.small[0]), unroll) == []
    except (Undecided, DependsOnData) as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_mean_the_same_twice(kind: Kind) -> None:
    """What the generator of kernels draws."""
    told = 0
    for seed in range(14):
        program = random_kernel(seed, kind)
        if program is None:
            continue
        try:
            here = program.at({name: 2 + i for i, name in enumerate(program.sizes)})
            assert compared(here, seed % 5) == [], seed
            told += 1
        except (Undecided, ReliftError, TooLarge):
            continue
    assert told > 2
