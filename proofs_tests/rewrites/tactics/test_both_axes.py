"""Folds of one table along both of its axes: one pass over its tiles."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import whole_inputs
from relift.device import GPU
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.starts.promising import promising
from relift.egraph.search.starts.staged import kernels_of
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import require_standing
from relift.rewrites.library import RULES
from relift.rewrites.tactics.both_axes import along_both_axes
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.groups.stages import tiles_both_ways
from relift.semantics.language.programs import Program

ROOM = 48 * 1024
c, n, m = rl.nat("c"), rl.nat("n"), rl.nat("m")


def total(u: Any) -> Any:
    return rl.reduce(rl.add, 0.0, u)


def dot(u: Any, v: Any) -> Any:
    return total(rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))


@rl.program
def margins(x: rl.f32[n, m]):
    return rl.map(total, x), rl.map(total, rl.transpose(x))


@rl.program
def products(a: rl.f32[n, m], p: rl.f32[m], r: rl.f32[n], y: rl.f32[n]):
    """A vector on either side, one of them before the rows, and something to add."""
    rows = rl.map(lambda q: q[1] - dot(p, q[0]), rl.zip(a, y))
    return rows, rl.map(lambda u: 2.0 * dot(u, r), rl.transpose(a))


@rl.program
def whole_numbers(x: rl.i32[n, m]):
    """Two folds along one axis, of another operator."""
    largest = rl.map(lambda r: rl.reduce(rl.maximum, -(2**31), r), x)
    squares = rl.map(lambda r: rl.reduce(rl.add, 0, rl.map(lambda v: v * v, r)), x)
    return largest, squares, rl.map(lambda c: rl.reduce(rl.add, 0, c), rl.transpose(x))


@rl.program
def centred(x: rl.f32[n, m]):
    """Each cell needs its row's sum, its column's and that of all."""
    rows, columns = rl.map(total, x), rl.map(total, rl.transpose(x))
    whole = total(rows)
    return rl.map(
        lambda p: rl.map(lambda q: q[0] - p[1] - q[1] + whole, rl.zip(p[0], columns)),
        rl.zip(x, rows),
    )


@rl.program
def of_a_batch(x: rl.f32[c, n, m]):
    return rl.map(lambda t: rl.map(total, t), x), rl.map(
        lambda t: rl.map(total, rl.transpose(t)), x
    )


@rl.program
def pairs_of_a_batch(x: rl.f32[c, n, m]):
    return rl.map(
        lambda t: (rl.map(lambda r: 2.0 * total(r), t), rl.map(total, rl.transpose(t))), x
    )


@rl.program
def rows_alone(x: rl.f32[n, m]):
    return rl.map(total, x), rl.map(lambda r: dot(r, r), x)


@rl.program
def one_after_the_other(x: rl.f32[n, m]):
    rows = rl.map(total, x)
    return rl.map(lambda c: dot(c, rows), rl.transpose(x))


def in_one_pass(program: Program, rows: int, columns: int, side: int) -> Program:
    """What the tactic makes of a program of so many rows and columns, which stands."""
    found = derive(program, along_both_axes(side), {"n": rows, "m": columns})
    require_standing(found, RULES)
    return replace(program.at({"n": rows, "m": columns}), body=found.result)


def of_tiles(program: Program, depth: int = 2) -> list[Program]:
    """The kernels that compute with tiles along both axes, with a group for each tile."""
    found: list[Program] = []
    for kernel in kernels_of(program):
        with suppress(NoMatch):
            low = derive(kernel.program, tiles_both_ways(depth, ROOM))
            require_standing(low, RULES)
            found.append(replace(kernel.program, body=low.result))
    return found


@pytest.mark.parametrize("sizes", [(12, 16), (13, 19), (12, 19)], ids=["whole", "rests", "a rest"])
@pytest.mark.parametrize(
    "program", [margins, products, whole_numbers, centred], ids=lambda p: p.name
)
def test_rows_and_columns_are_folded_of_the_same_tiles(
    program: Program, sizes: tuple[int, int]
) -> None:
    """Whatever is folded, and whether tiles divide the table or leave rows or columns over."""
    found = in_one_pass(program, *sizes, side=3)
    inputs = [np.round(4 * x) for x in whole_inputs(found, 1)]
    got, wanted = found(*inputs), program.at({"n": sizes[0], "m": sizes[1]})(*inputs)

    (tiles,) = of_tiles(found)
    assert {p.name for p in tiles.parameters} >= {program.parameters[0].name}
    several = isinstance(wanted, tuple)
    for ours, theirs in zip(got, wanted, strict=True) if several else [(got, wanted)]:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("sizes", [(12, 16), (13, 19)], ids=["whole", "rests"])
@pytest.mark.parametrize("program", [of_a_batch, pairs_of_a_batch], ids=lambda p: p.name)
def test_so_is_each_table_of_a_batch(program: Program, sizes: tuple[int, int]) -> None:
    """Whether each of its folds is a result, or both of a table are."""
    at_sizes = program.at({"c": 2, "n": sizes[0], "m": sizes[1]})
    derived = derive(at_sizes, along_both_axes(3))
    require_standing(derived, RULES)
    found = replace(at_sizes, body=derived.result)
    (x,) = (np.round(4 * each) for each in whole_inputs(found, 1))

    assert len(of_tiles(found, 3)) == 1
    for ours, theirs in zip(numbers(found(x)), numbers(at_sizes(x)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def numbers(result: Any) -> list[Any]:
    if isinstance(result, np.ndarray) and result.dtype.names:
        return [result[name] for name in result.dtype.names]
    return [np.asarray(part) for part in result]


@pytest.mark.parametrize(("side", "cells"), [(4, 20), (5, 25)], ids=["an even side", "an odd side"])
def test_a_group_reads_each_cell_of_its_tile_once(side: int, cells: int) -> None:
    """Neighbours that go along rows read from different banks of local memory."""
    (tiles,) = of_tiles(in_one_pass(products, 4 * side, 4 * side, side))
    kernel = rl.compile(tiles)
    inputs = whole_inputs(tiles, 2)

    assert kernel.source.count(" = a[") == 1
    assert f"local float tile[{cells}]" in kernel.source
    for ours, theirs in zip(kernel(*inputs), tiles(*inputs), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "sizes", [{"n": 8192, "m": 8192}, {"n": 8191, "m": 8009}], ids=["whole", "rests"]
)
def test_its_kernels_are_searched_where_a_table_is_long(sizes: dict[str, int]) -> None:
    """They move less than two passes do, also where no tile divides the table."""
    forms = Proposals(margins, sizes, GPU).forms()
    chosen = [
        form
        for form in promising(forms)
        if of_tiles(replace(margins.at(sizes), body=form.parted.result))
    ]
    assert chosen
    assert min(form.least for form in chosen) < 0.8 * forms[0].least


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (rows_alone, "no table is folded along both axes"),
        (one_after_the_other, "no table is folded along both axes"),
        (margins, "too few for tiles of 8"),
    ],
    ids=["along one axis", "columns need the rows", "short"],
)
def test_what_has_no_such_tiles_is_left(program: Program, why: str) -> None:
    with pytest.raises(NoMatch, match=why):
        derive(program, along_both_axes(8), {"n": 31, "m": 64})
