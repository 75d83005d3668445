"""Strips of windows, and rows, in local memory: what is derived means the same, by PROVED rules, without races."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from proofs_tests.portions import portion
from relift import (
    add,
    at_runtime_unsafe,
    clamp,
    f32,
    i32,
    join,
    map,
    map_nd,
    maximum,
    nat,
    pad,
    pad_nd,
    program,
    reduce,
    slide,
    slide_nd,
    transpose,
    transpose_axes,
)
from relift import zip as zipped
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.certificates.claims import certificates
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.ledger import book as ledger
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import Tactic, apply, derive, inside, then
from relift.rewrites.tactics.groups.dimensions import items_of_three
from relift.rewrites.tactics.groups.row_tiles import rows_in_groups, tiles_across, zipped_across
from relift.rewrites.tactics.groups.stencils import (
    lines_in_groups,
    one_line_in_groups,
    strips_in_groups,
    strips_of_items,
    strips_of_lines,
)
from relift.rewrites.tactics.groups.tables import in_tables
from relift.rewrites.tactics.looked_up import tuples_side_by_side
from relift.semantics.language.programs import Program

EXAMPLES = Path(__file__).parents[3] / "examples"

c, n, m, r, k = nat("c"), nat("n"), nat("m"), nat("r"), nat("k")
ROOM = 48 * 1024


@program
def softened(image: f32[n, m]):
    """The function of a window does more than to fold it, and folds fold rows."""
    padded = pad_nd((1, 1), (1, 1), clamp, image)
    windows = slide_nd((3, 3), (1, 1), padded)
    return map_nd(
        2,
        lambda w: maximum(
            reduce(add, 0.0, map(lambda row: reduce(add, 0.0, row), w)) - 2.0, w[1][1]
        ),
        windows,
    )


@program
def blurred(image: f32[n, m]):
    """A window is folded as it is."""
    windows = slide_nd((3, 3), (1, 1), pad_nd((1, 1), (1, 1), 0.0, image))
    return map_nd(2, lambda w: reduce(add, 0.0, join(w)), windows)


@program
def spread(image: f32[n, m]):
    """A window is folded in three ways, one of which is read twice."""

    def cell(w):
        whole, top = reduce(add, 0.0, join(w)), reduce(maximum, 0.0, join(w))
        squares = reduce(add, 0.0, map(lambda v: v * v, join(w)))
        return top - w[1][1] + (squares - whole * whole)

    return map_nd(2, cell, slide_nd((3, 3), (1, 1), pad_nd((1, 1), (1, 1), 0.0, image)))


@program
def depthwise(image: f32[c, n, m], weights: f32[c, 2 * r + 1, 2 * r + 1]):
    """A stencil in one more map."""

    def channel(p):
        padded = pad_nd((r, r), (r, r), 0.0, p[0])
        windows = slide_nd((2 * r + 1, 2 * r + 1), (1, 1), padded)

        def weighted(w):
            products = map(lambda q: q[0] * q[1], zipped(join(w), join(p[1])))
            return reduce(add, 0.0, products)

        return map_nd(2, weighted, windows)

    return map(channel, zipped(image, weights))


def along(line, weights):
    windows = slide(2 * r + 1, 1, pad(r, r, 0.0, line))
    return map(lambda w: reduce(add, 0.0, map(lambda p: p[0] * p[1], zipped(w, weights))), windows)


@program
def along_lines(image: f32[n, m], weights: f32[2 * r + 1]):
    return map(lambda line: along(line, weights), image)


@program
def down_columns(image: f32[n, m], weights: f32[2 * r + 1]):
    return transpose(map(lambda line: along(line, weights), transpose(image)))


@program
def weighed(rows: f32[n, m], others: f32[n, m], weights: f32[m]):
    """Rows of two tables, and what they share."""

    def weight(p):
        products = map(lambda q: q[0][0] * q[0][1] + q[1], zipped(zipped(p[0], p[1]), weights))
        return reduce(add, 0.0, products)

    return map(weight, zipped(rows, others))


@program
def columns(a: f32[n, m]):
    """Neighbours read neighbouring cells already."""
    return map(lambda column: reduce(add, 0.0, column), transpose(a))


@program
def doubled_across(a: f32[n, m]):
    """What is computed is transposed, and not what is read."""
    return transpose(map(lambda row: map(lambda v: v + v, row), a))


@program
def batch(a: f32[c, n, m]):
    return map(lambda one: transpose(one), a)


@program
def with_another_across(a: f32[n, m], b: f32[m, n]):
    """Cells of a table and of one that lies across."""
    rows = zipped(a, transpose(b))
    return map(lambda p: map(lambda q: q[0] - q[1], zipped(p[0], p[1])), rows)


def below(row):
    """How far each element is from the largest of its row."""
    return map(lambda v: reduce(maximum, float("-inf"), row) - v, row)


@program
def below_largest(a: f32[n, m]):
    return map(below, a)


@program
def tables_below_largest(a: f32[c, n, m]):
    return map(lambda table: map(below, table), a)


@program
def turned(a: f32[c, n, m]):
    return map(
        lambda table: map(lambda row: map(lambda v: v + v, row), table), transpose_axes(0, 2, a)
    )


@program
def turned_twice(a: f32[c, n, m]):
    return transpose_axes(1, 2, transpose_axes(0, 2, a))


@program
def with_turned(a: f32[c, n, m], b: f32[m, n, c]):
    tables = zipped(a, transpose_axes(0, 2, b))
    rows = map(lambda p: zipped(p[0], p[1]), tables)
    return map(lambda t: map(lambda p: map(lambda q: q[0] - q[1], zipped(p[0], p[1])), t), rows)


@program
def channels_last(a: f32[k, c, n, m]):
    return map(lambda image: map(transpose, transpose(image)), a)


@program
def channels_first(a: f32[k, n, m, c]):
    return map(lambda image: transpose(map(transpose, image)), a)


@program
def four_turned(a: f32[k, c, n, m]):
    return map(
        lambda w: map(lambda x: map(lambda y: map(lambda v: v + 1.0, y), x), w),
        transpose_axes(0, 3, a),
    )


@program
def filtered(a: f32[n + 2 * r], weights: f32[2 * r + 1]):
    def weighted(window):
        return reduce(add, 0.0, map(lambda p: p[0] * p[1], zipped(window, weights)))

    return map(weighted, slide(2 * r + 1, 1, a))


CASES: list[tuple[Program, Tactic, dict[str, int]]] = [
    (
        load_program(str(EXAMPLES / "convolution.py")),
        strips_in_groups(16, 4),
        {"h": 32, "w": 16, "r": 2},
    ),
    (load_program(str(EXAMPLES / "hotspot.py")), strips_in_groups(8, 4), {"n": 8, "m": 16}),
    (load_program(str(EXAMPLES / "hotspot.py")), strips_of_items(4), {"n": 8, "m": 16}),
    (load_program(str(EXAMPLES / "heat3d.py")), items_of_three(), {"n": 4, "m": 5, "k": 6}),
    (depthwise, strips_in_groups(8, 4), {"c": 3, "n": 16, "m": 16, "r": 2}),
    (along_lines, lines_in_groups(8), {"n": 4, "m": 16, "r": 1}),
    (filtered, one_line_in_groups(8), {"n": 32, "r": 2}),
    (filtered, one_line_in_groups(16, 4), {"n": 32, "r": 1}),
    (down_columns, strips_of_lines(4), {"n": 16, "m": 4, "r": 1}),
    (load_program(str(EXAMPLES / "j2d5pt.py")), strips_in_groups(8, 4), {"n": 8, "m": 16}),
    (softened, strips_in_groups(8, 2), {"n": 8, "m": 16}),
    (blurred, strips_in_groups(8, 8), {"n": 8, "m": 16}),
    (spread, strips_in_groups(8, 4), {"n": 8, "m": 16}),
    (load_program(str(EXAMPLES / "md.py")), rows_in_groups(32, ROOM), {"n": 64, "k": 8}),
    (
        load_program(str(EXAMPLES / "kmeans.py")),
        rows_in_groups(32, ROOM),
        {"n": 64, "k": 3, "d": 9},
    ),
    (weighed, rows_in_groups(32, ROOM), {"n": 64, "m": 8}),
    (load_program(str(EXAMPLES / "transpose.py")), tiles_across(8), {"n": 16, "m": 24}),
    (doubled_across, tiles_across(8), {"n": 16, "m": 8}),
    (doubled_across, tiles_across(16), {"n": 15, "m": 26}),
    (batch, in_tables(tiles_across(8)), {"c": 3, "n": 16, "m": 8}),
    (turned, in_tables(tiles_across(8)), {"c": 8, "n": 3, "m": 16}),
    (turned_twice, in_tables(tiles_across(8)), {"c": 3, "n": 24, "m": 16}),
    (with_turned, in_tables(zipped_across(8)), {"c": 16, "n": 3, "m": 8}),
    (channels_last, in_tables(tiles_across(8)), {"k": 2, "c": 8, "n": 3, "m": 16}),
    (channels_first, in_tables(tiles_across(8)), {"k": 2, "n": 3, "m": 16, "c": 8}),
    (four_turned, in_tables(tiles_across(8)), {"k": 8, "c": 2, "n": 3, "m": 16}),
    (
        load_program(str(EXAMPLES / "md.py")),
        then(rows_in_groups(32, ROOM), tuples_side_by_side),
        {"n": 64, "k": 8},
    ),
    (with_another_across, zipped_across(8), {"n": 16, "m": 24}),
    (below_largest, rows_in_groups(8, ROOM), {"n": 16, "m": 8}),
    (below_largest, rows_in_groups(8, ROOM), {"n": 16, "m": 9}),
    (
        tables_below_largest,
        then(inside("f")(rows_in_groups(8, ROOM)), apply("map_to_wrg", d=1)),
        {"c": 3, "n": 16, "m": 12},
    ),
    (doubled_across, tiles_across(8), {"n": 13, "m": 9}),
    (load_program(str(EXAMPLES / "transpose.py")), tiles_across(8), {"n": 16, "m": 19}),
    (channels_last, in_tables(tiles_across(8)), {"k": 2, "c": 8, "n": 3, "m": 11}),
]


FIRST_OF_THEIR_KIND = set(range(len(CASES))) - {9, 11, 13, 17, 19, 20, 23, 25, 28, 32}
"""The others go the way of one of these: the same tactic, on a program of as many dimensions."""


@pytest.fixture(
    scope="module",
    params=portion(CASES, FIRST_OF_THEIR_KIND),
    ids=[f"{p.name}-{i}" for i, (p, _, _) in enumerate(CASES)],
)
def found(request: pytest.FixtureRequest) -> Derivation:
    source, tactic, sizes = request.param
    return derive(source, tactic, sizes)


@pytest.fixture(scope="module")
def kernel(found: Derivation) -> Compiled:
    low = replace(found.program, body=found.result)
    return compile_program(low)


def test_a_kernel_with_tiles_computes_what_the_program_means(
    found: Derivation, kernel: Compiled
) -> None:
    source = found.program
    arrays = whole_inputs(source, seed=1)

    for got, wanted in zip(_parts(kernel(*arrays)), _parts(source(*arrays)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_the_derivation_replays_by_proved_rules_and_is_confirmed(found: Derivation) -> None:
    entries = ledger.load()

    assert found.replay(RULES)[-1] == found.result
    assert {entries[step.rule].tiers["4b"].status for step in found.steps} == {"proved"}
    assert confirm(found, RULES) is not None


def test_no_access_leaves_its_array_and_no_two_work_items_race(kernel: Compiled) -> None:
    claims = [claim for one in certificates(kernel) for claim in one.claims]
    safety = [claim for claim in claims if claim.kind in ("races", "barriers")]

    assert {claim.verdict for claim in safety} == {"proved"}
    assert "refuted" not in {claim.verdict for claim in claims}


def test_columns_are_not_copied() -> None:
    with pytest.raises(NoMatch, match="no rows that lie one after the other"):
        derive(columns, rows_in_groups(32, ROOM), {"n": 16, "m": 64})


@pytest.mark.parametrize("axes", list(itertools.permutations(range(4))))
def test_tiles_are_of_the_dimension_along_which_memory_is_read(axes: tuple[int, ...]) -> None:
    """Of any permutation but those that leave the last axis where it is."""
    lengths = 9, 10, 12, 14

    def permuted(x: Any) -> Any:
        at = list(range(4))
        for place, axis in enumerate(axes):
            other = at.index(axis)
            x = transpose_axes(place, other, x) if other != place else x
            at[place], at[other] = at[other], at[place]
        return x

    source = typed(x=f32[lengths])(permuted)
    if axes[-1] == 3:
        with pytest.raises(NoMatch):
            derive(source, in_tables(tiles_across(16)))
        return
    found = derive(source, in_tables(tiles_across(16)))
    (tiled,) = [s for s in found.steps if s.rule == "tile_map"]
    x = np.arange(math.prod(lengths), dtype=np.float32).reshape(lengths)

    assert tiled.choices == {"m": lengths[3], "n": lengths[axes[-1]]}
    np.testing.assert_array_equal(
        compile_program(replace(found.program, body=found.result))(x), x.transpose(axes)
    )


@program
def doubled(a: f32[n, m]):
    return map(lambda row: map(lambda v: v + v, row), a)


def test_rows_that_nothing_folds_are_not_copied() -> None:
    with pytest.raises(NoMatch, match="no row is folded"):
        derive(doubled, rows_in_groups(8, ROOM), {"n": 16, "m": 8})


def test_rows_that_are_written_need_room_beside_those_that_are_read() -> None:
    with pytest.raises(NoMatch, match="do not fit"):
        derive(below_largest, rows_in_groups(8, 8 * 10 * 4), {"n": 16, "m": 8})


def test_what_is_read_along_its_lines_goes_through_no_tile() -> None:
    with pytest.raises(NoMatch, match="what lies side by side"):
        derive(doubled, tiles_across(8), {"n": 8, "m": 8})


def test_whole_tiles_go_beyond_a_table_that_none_divides() -> None:
    """Tiles of at least half as many rows and columns as there may be divide it, or it is padded."""
    sizes = {"n": 26, "m": 17}
    padded = [
        s
        for s in derive(doubled_across, tiles_across(16), sizes).steps
        if s.rule == "pad_clamp_removed"
    ]

    assert [step.choices for step in padded] == [{"left": 0, "right": 15}]
    with pytest.raises(NoMatch, match="few rows or columns"):
        derive(doubled_across, tiles_across(16), {"n": 7, "m": 64})


def test_what_is_looked_up_goes_through_no_tile() -> None:
    """Where cells lie that are chosen by data is not known."""

    def chosen(x: Any, places: Any) -> Any:
        rows = map(lambda i: at_runtime_unsafe(i, x), places)
        return transpose_axes(0, 2, rows)

    source = typed(x=f32[16, 8, 8], places=i32[16])(chosen)
    with pytest.raises(NoMatch):
        derive(source, in_tables(tiles_across(8)))


def test_rows_have_to_fit_into_local_memory() -> None:
    with pytest.raises(NoMatch, match="do not fit"):
        derive(weighed, rows_in_groups(32, 1024), {"n": 64, "m": 8})
