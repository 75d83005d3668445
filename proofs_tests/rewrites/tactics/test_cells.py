"""Rows that a function writes out, and results that it makes together, are computed cell by cell."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from typing import Any

import pytest

import relift as rl
from proofs_tests.nested_results import require_same
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.device import GPU
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.nests.cells import in_cells
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Concat, Map, Repeat
from relift.semantics.syntax.terms import Term, subterms
from relift.semantics.syntax.types import Array, Tuple, holds_array

B, N, M, FOUR = 3, 5, 24, 4


def squares(r: Any) -> Any:
    return rl.map(lambda v: v * v, r)


def halves(r: Any) -> Any:
    return rl.map(lambda v: 0.5 * v, r)


@rl.program
def two(x: rl.f32[B, N, M]) -> Any:
    return rl.map(lambda t: rl.map(lambda r: rl.make_array(squares(r), halves(r)), t), x)


@rl.program
def four_of_two(x: rl.f32[N, M], y: rl.f32[N, M]) -> Any:
    """Rows of several arrays, one of them as it is."""
    return rl.map(
        lambda p: rl.make_array(squares(p[0]), p[1], halves(p[1]), squares(p[1])), rl.zip(x, y)
    )


@rl.program
def tables(x: rl.f32[B, N, M]) -> Any:
    """Tables are written out, whose cells are written out rows then."""
    return rl.map(lambda t: rl.make_array(rl.map(squares, t), rl.map(halves, t)), x)


@rl.program
def above_a_table(x: rl.f32[B, N, M]) -> Any:
    """A row above rows that are read as they are."""
    return rl.map(lambda t: rl.concat(rl.repeat(1, squares(t[0])), t), x)


@rl.program
def turned(x: rl.f32[B, N, 2 * M], c: rl.f32[M]) -> Any:
    def head(v: Any) -> Any:
        z = rl.zip(rl.take(M, v), rl.drop(M, v), c)
        low, high = rl.map(lambda t: t[0] * t[2] - t[1], z), rl.map(lambda t: t[1] + t[0], z)
        return rl.concat(low, high)

    return rl.map(lambda t: rl.map(head, t), x)


@rl.program
def rotated(x: rl.f32[B, N, 2 * M], c: rl.f32[2 * M]) -> Any:
    """Pieces that are read beside arrays which are not in pieces."""

    def head(v: Any) -> Any:
        other = rl.concat(halves(rl.drop(M, v)), rl.take(M, v))
        return rl.map(lambda t: t[0] * t[2] + t[1], rl.zip(v, other, c))

    return rl.map(lambda t: rl.map(head, t), x)


@rl.program
def three_pieces(x: rl.f32[N, M]) -> Any:
    return rl.map(lambda r: rl.concat(squares(r), rl.concat(halves(r), r)), x)


@rl.program
def sum_and_difference(x: rl.f32[N, M], y: rl.f32[N, M]) -> Any:
    def row(p: Any) -> Any:
        z = rl.zip(p[0], p[1])
        return rl.map(lambda q: q[0] + q[1], z), rl.map(lambda q: q[0] - q[1], z)

    return rl.unzip(rl.map(row, rl.zip(x, y)))


@rl.program
def row_and_sum(x: rl.f32[N, M]) -> Any:
    """Not taken apart by the user; the sum has a name."""
    return rl.map(
        lambda r: rl.let(lambda s: (rl.map(lambda v: v / s, r), s), rl.reduce(rl.add, 1.0, r)), x
    )


@rl.program
def nested(x: rl.f32[N, M]) -> Any:
    return rl.map(lambda r: ((squares(r), halves(r)), r[0]), x)


ROWS = [two, four_of_two, tables, above_a_table]
PIECES = [turned, rotated, three_pieces]
RESULTS = [sum_and_difference, row_and_sum, nested]


@rl.program
def few(x: rl.f32[N, FOUR]) -> Any:
    return rl.map(lambda r: rl.make_array(squares(r), halves(r)), x)


@rl.program
def outside(x: rl.f32[M]) -> Any:
    return rl.make_array(squares(x), halves(x))


@rl.program
def read(x: rl.f32[N, M]) -> Any:
    """What is written out is read by a map, which may compute each element where it reads it."""

    def row(r: Any) -> Any:
        written = rl.concat(halves(r), squares(r))
        return rl.map(lambda p: p[0] + p[1], rl.zip(written, rl.concat(r, r)))

    return rl.map(row, x)


@rl.program
def numbers(x: rl.f32[N, M]) -> Any:
    return rl.unzip(rl.map(lambda r: (rl.reduce(rl.add, 0.0, r), r[0]), x))


def rows_written_out(t: Term) -> int:
    """Computed rows that stand in what is put one behind the other."""
    pieces = (piece for u, _ in subterms(t) if isinstance(u, Concat) for piece in (u.xs, u.ys))
    rows = (piece.x if isinstance(piece, Repeat) else piece for piece in pieces)
    return sum(isinstance(row, Map) and isinstance(row.type, Array) for row in rows)


def rows_made_together(t: Term) -> int:
    """Maps of tuples that hold arrays."""
    made = (u.f.body for u, _ in subterms(t) if isinstance(u, Map))
    return sum(isinstance(u.type, Tuple) and holds_array(u.type) for u in made)


@pytest.mark.parametrize("program", ROWS + PIECES, ids=lambda p: p.name)
def test_rows_written_out_become_cells(program: Program) -> None:
    derivation = derive(program, in_cells(pieces=program in PIECES))
    require_standing(derivation, RULES)
    assert rows_written_out(program.body)
    assert not rows_written_out(derivation.result)


@pytest.mark.parametrize("program", RESULTS, ids=lambda p: p.name)
def test_results_are_made_apart(program: Program) -> None:
    derivation = derive(program, in_cells())
    require_standing(derivation, RULES)
    assert rows_made_together(program.body)
    assert not rows_made_together(derivation.result)


@pytest.mark.parametrize("program", ROWS + PIECES + RESULTS, ids=lambda p: p.name)
def test_cells_are_what_rows_were(program: Program) -> None:
    result = derive(program, in_cells(pieces=True)).result
    inputs = random_inputs(program, 0)
    require_same(
        Program(program.name, program.parameters, result)(*inputs), program(*inputs), within=0.0
    )


@pytest.mark.parametrize("program", [few, outside, read, numbers], ids=lambda p: p.name)
def test_what_work_items_share_already_stays(program: Program) -> None:
    """Few cells, which registers hold; arrays with a kernel each; what is read; numbers that are computed together."""
    with pytest.raises(NoMatch):
        derive(program, in_cells())


def test_pieces_are_cells_only_where_that_is_asked_for() -> None:
    """A piece is computed well in vectors of its own, too."""
    with pytest.raises(NoMatch):
        derive(turned, in_cells())


@pytest.mark.parametrize("program", ROWS + PIECES + RESULTS, ids=lambda p: p.name)
def test_kernels_of_cells(program: Program) -> None:
    compiled = compile_program(rl.optimize(program, {}, GPU).candidates[0].term)
    inputs = random_inputs(program, 0)
    require_same(compiled(*inputs, device="cpu"), program(*inputs), within=1e-5)
