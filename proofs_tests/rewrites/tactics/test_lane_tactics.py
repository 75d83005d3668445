"""Lanes: maps of any depth, border and length become vectors by proved rules, and compute the same."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relift as rl
from proofs_tests.command_line import ROOT
from proofs_tests.portions import portioned
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.device import CPU
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics import combinators
from relift.rewrites.tactics.combinators import Tactic, TooLarge, derive
from relift.rewrites.tactics.folds.shared import tables_in_registers
from relift.rewrites.tactics.groups.tables import in_tables
from relift.rewrites.tactics.groups.tiles import cells_copied
from relift.rewrites.tactics.vectors.lanes import (
    chunks_in_lanes,
    columns_in_lanes,
    rows_in_lanes,
    scans_in_lanes,
)
from relift.rewrites.tactics.vectors.strips import folds_in_strips, strips_in_lanes
from relift.rewrites.tactics.vectors.turned_tiles import narrow_in_lanes, tiles_in_lanes
from relift.semantics.language.programs import Program
from relift.semantics.patterns import MapVec
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import Array

WIDTH = 4
n, m, d, r = (rl.nat(name) for name in "nmdr")
BORDERS = [rl.clamp, rl.mirror, rl.wrap, 0.5]


def stencil(axes: int, radius: int, border: Any) -> Program:
    """The sum of the corners and the middle of each window of a grid with a border."""
    shape = (n, n, m)[-axes:]
    reach, size = (radius,) * axes, (2 * radius + 1,) * axes

    def at(window, place):
        return window if not place else at(window[place[0]], place[1:])

    def weighted(window):
        first, middle, last = ((i,) * axes for i in (0, radius, 2 * radius))
        return at(window, first) + 2.0 * at(window, middle) - at(window, last)

    @rl.program
    def grown(grid: rl.f32[shape]):
        padded = rl.pad_nd(reach, reach, border, grid)
        return rl.map_nd(axes, weighted, rl.slide_nd(size, (1,) * axes, padded))

    return grown


def lowered(program: Program, tactic: Tactic, sizes: Mapping[str, int]) -> Program:
    """What a tactic makes of a program, by rules that are proved."""
    found = derive(program, tactic, sizes)
    found.replay(RULES)
    require_proved((step.rule for step in found.steps), RULES)
    low = replace(program.at(sizes), body=found.result)
    assert any(isinstance(t, MapVec) for t, _ in subterms(low.body))
    return low


def same(program: Program, low: Program, sizes: Mapping[str, int]) -> None:
    """The kernel of a low-level program computes what the program means."""
    inputs = random_inputs(program.at(sizes), 0)
    np.testing.assert_allclose(
        compile_program(low)(*inputs), program.at(sizes)(*inputs), rtol=1e-5, atol=1e-5
    )


@portioned("axes,radius", [(2, 1), (2, 2), (3, 1), (3, 2)], {(2, 2), (3, 1)})
@settings(max_examples=2, derandomize=True, deadline=None)
@given(
    border=st.sampled_from(BORDERS),
    columns=st.integers(4 * WIDTH, 6 * WIDTH),
)
def test_stencils_in_lanes_compute_the_same(
    axes: int, radius: int, border: Any, columns: int
) -> None:
    """With any border, in two and three dimensions, also where no vector divides the columns."""
    program, sizes = stencil(axes, radius, border), {"n": 5, "m": columns}
    same(program, lowered(program, rows_in_lanes(WIDTH), sizes), sizes)


@pytest.mark.parametrize("border", [rl.clamp, 0.5])
def test_folded_windows_of_three_dimensions_are_read_as_vectors(border: Any) -> None:
    """The rows of a plane are bordered below a transposition: their ends are apart from what needs no border all the same."""

    @rl.program
    def sums(grid: rl.f32[n, n, m]):
        windows = rl.slide_nd((3, 3, 3), (1, 1, 1), rl.pad_nd((1, 1, 1), (1, 1, 1), border, grid))
        return rl.map_nd(3, lambda w: rl.reduce(rl.add, 0.0, rl.join(rl.join(w))), windows)

    sizes = {"n": 4, "m": 2 + 2 * WIDTH}
    low = lowered(sums, strips_in_lanes(WIDTH, 2), sizes)
    assert not re.search(r"\(float4\)\([^;]*grid\[", compile_program(low).source)
    same(sums, low, sizes)


def test_windows_of_three_dimensions_that_are_not_folded_keep_their_rows_whole() -> None:
    """Few of their cells need the border of a row: to put these together takes less than ends that are computed cell by cell."""
    star = load_program(str(ROOT / "examples/j3d7pt.py"))
    found = derive(star, strips_in_lanes(WIDTH, 2), {"n": 4, "m": 4, "k": 4 * WIDTH})
    assert "slide_clamp_regions" not in {step.rule for step in found.steps}


@rl.program
def convolution(image: rl.f32[n, m], weights: rl.f32[2 * r + 1, 2 * r + 1]):
    """Weighted windows with a border of zeros."""

    def weighted(window):
        pairs = rl.zip(rl.join(window), rl.join(weights))
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], pairs))

    padded = rl.pad_nd((r, r), (r, r), 0.0, image)
    return rl.map_nd(2, weighted, rl.slide_nd((2 * r + 1, 2 * r + 1), (1, 1), padded))


@rl.program
def smoothed(image: rl.f32[n, m], gains: rl.f32[n, m]):
    """The mean of each column of a window, scaled by a cell of its own."""

    def scaled(p):
        return rl.reduce(rl.add, 0.0, rl.join(p[0])) * p[1]

    windows = rl.slide_nd((3, 1), (1, 1), rl.pad(1, 1, rl.clamp, image))
    return rl.map_nd(2, scaled, rl.zip_nd(2, windows, gains))


@pytest.mark.parametrize(
    ("program", "rows"),
    [
        (stencil(2, 1, rl.wrap), 3),
        (stencil(3, 1, rl.clamp), 5),
        (convolution, 9),
        (smoothed, 5),
    ],
)
def test_strips_of_windows_compute_the_same(program: Program, rows: int) -> None:
    """Several rows at once, those that fill no strip one by one; borders of constants apart; folds go together."""
    sizes = {"n": rows, "m": 18, **({"r": 1} if program is convolution else {})}
    low = lowered(program, strips_in_lanes(WIDTH, 2), sizes)
    assert any(
        isinstance(t, MapVec) and isinstance(t.f.body.type, Array) for t, _ in subterms(low.body)
    )
    same(program, low, sizes)


@rl.program
def distances(points: rl.f32[n, d], centre: rl.f32[d]):
    """The squared distance of every row from one."""

    def squared(point):
        gaps = rl.map(lambda p: p[0] - p[1], rl.zip(point, centre))
        return rl.reduce(rl.add, 0.0, rl.map(lambda gap: gap * gap, gaps))

    return rl.map(squared, points)


@rl.program
def turned(A: rl.f32[n, m]):
    """A function of every element, columns as rows."""
    return rl.map_nd(2, lambda x: 2.0 * x + 1.0, rl.transpose(A))


@rl.program
def axes_reversed(x: rl.f32[d, n, m]):
    """What is neighbours along the last dimension is so along the first one."""
    return rl.transpose(rl.map(rl.transpose, rl.transpose(x)))


@rl.program
def axes_turned(x: rl.f32[d, n, m]):
    return rl.map(rl.transpose, rl.transpose(x))


@rl.program
def tables_exchanged(x: rl.f32[d, n, m]):
    """Rows stay rows."""
    return rl.transpose(x)


@rl.program
def by_components(A: rl.f32[n, m]):
    return rl.transpose(A)


@rl.program
def by_channels(A: rl.f32[n, m, d]):
    """A table for each channel of what has all of them at each place."""
    return rl.transpose(rl.map(rl.transpose, A))


@rl.program
def batch_by_components(A: rl.f32[n, m, d]):
    return rl.map(rl.transpose, A)


@rl.program
def beside_turned(A: rl.f32[n, m], B: rl.f32[m, n], x: rl.f32[m]):
    """Rows of one table, columns of another, and what is the same for all."""

    def of_row(rows):
        pairs = rl.zip(rl.zip(rows[0], rows[1]), x)
        return rl.map(lambda p: p[0][0] - 2.0 * p[0][1] * p[1], pairs)

    return rl.map(of_row, rl.zip(A, rl.transpose(B)))


@rl.program
def batched(A: rl.f32[r, n, d], B: rl.f32[r, d, m]):
    """Products of pairs of tables."""

    def cell(x, y):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))

    def of_pair(p):
        return rl.map(lambda x: rl.map(lambda y: cell(x, y), rl.transpose(p[1])), p[0])

    return rl.map(of_pair, rl.zip(A, B))


@rl.program
def sums_of_rows(x: rl.f32[n, m]):
    return rl.map(lambda r: rl.reduce(rl.add, 0.0, r), x)


def test_short_rows_are_read_as_they_lie() -> None:
    """Of rows of five numbers a vector is no column: lanes of what is in registers are."""
    low = lowered(sums_of_rows, columns_in_lanes(WIDTH, registers=8), {"n": 24, "m": 5})
    source = compile_program(low).source
    assert "own0" in source
    assert "own[" not in source
    with pytest.raises(NoMatch):
        lowered(sums_of_rows, columns_in_lanes(WIDTH, registers=8), {"n": 24, "m": 9})


@pytest.mark.parametrize(
    ("program", "tactic", "sizes"),
    [
        (batched, folds_in_strips(WIDTH, 4), {"r": 2, "n": 7, "m": 11, "d": 3}),
        (batched, folds_in_strips(WIDTH, 3), {"r": 3, "n": 10, "m": 5, "d": 2}),
        (batched, folds_in_strips(WIDTH, 8), {"r": 1, "n": 6, "m": 8, "d": 4}),
        (batched, rows_in_lanes(WIDTH), {"r": 2, "n": 2, "m": 15, "d": 3}),
        (distances, chunks_in_lanes(WIDTH, 1), {"n": 24, "d": 5}),
        (distances, chunks_in_lanes(WIDTH, 3), {"n": 24, "d": 5}),
        (distances, chunks_in_lanes(WIDTH, 1), {"n": 23, "d": 5}),
        (distances, chunks_in_lanes(WIDTH, 3), {"n": 29, "d": 5}),
        (distances, columns_in_lanes(WIDTH), {"n": 23, "d": 5}),
        (sums_of_rows, columns_in_lanes(WIDTH, registers=8), {"n": 23, "m": 5}),
        (sums_of_rows, columns_in_lanes(WIDTH, registers=8), {"n": 4, "m": 2}),
        (stencil(1, 2, 0.5), chunks_in_lanes(WIDTH, 2), {"m": 29}),
        (stencil(1, 1, rl.mirror), chunks_in_lanes(WIDTH, 1), {"m": 18}),
        (distances, columns_in_lanes(WIDTH), {"n": 24, "d": 5}),
        (turned, tiles_in_lanes(WIDTH), {"n": 16, "m": 12}),
        (turned, tiles_in_lanes(WIDTH), {"n": 11, "m": 13}),
        (turned, tiles_in_lanes(WIDTH), {"n": 8, "m": 7}),
        (turned, tiles_in_lanes(8, WIDTH), {"n": 16, "m": 24}),
        (turned, tiles_in_lanes(8, WIDTH), {"n": 20, "m": 13}),
        (turned, tiles_in_lanes(8, WIDTH), {"n": 11, "m": 17}),
        (beside_turned, tiles_in_lanes(8, WIDTH), {"n": 16, "m": 8}),
        (beside_turned, tiles_in_lanes(8, WIDTH), {"n": 13, "m": 18}),
        (by_components, narrow_in_lanes(WIDTH), {"n": 23, "m": 3}),
        (by_components, narrow_in_lanes(WIDTH), {"n": 16, "m": 5}),
        (by_channels, narrow_in_lanes(WIDTH), {"n": 3, "m": 11, "d": 3}),
        (batch_by_components, narrow_in_lanes(WIDTH), {"n": 2, "m": 13, "d": 4}),
        (beside_turned, tiles_in_lanes(WIDTH), {"n": 16, "m": 8}),
        (beside_turned, tiles_in_lanes(WIDTH), {"n": 9, "m": 7}),
        (turned, rows_in_lanes(WIDTH), {"n": 18, "m": 7}),
        (axes_reversed, in_tables(tiles_in_lanes(WIDTH), "map_to_glb"), {"d": 5, "n": 3, "m": 9}),
        (axes_reversed, in_tables(tiles_in_lanes(WIDTH), "map_to_glb"), {"d": 8, "n": 1, "m": 4}),
        (
            axes_turned,
            in_tables(tiles_in_lanes(8, WIDTH), "map_to_glb"),
            {"d": 11, "n": 9, "m": 13},
        ),
        (
            tables_exchanged,
            combinators.then(cells_copied, rows_in_lanes(WIDTH)),
            {"d": 3, "n": 5, "m": 11},
        ),
    ],
)
def test_maps_in_lanes_compute_the_same(
    program: Program, tactic: Tactic, sizes: dict[str, int]
) -> None:
    """Rows in the lanes of chunks, their columns copied before or not, tiles of a transposed array, and folds with rests."""
    same(program, lowered(program, tactic, sizes), sizes)


@pytest.mark.parametrize("copied", [False, True])
def test_tables_of_folds_in_lanes_put_each_vector_together_once(copied: bool) -> None:
    """The folds of all centres go through the points of a vector together; what lies a row apart is gathered for all of them."""
    program, sizes = load_program(str(ROOT / "examples/kmeans.py")), {"n": 8, "k": 3, "d": 5}
    lanes = columns_in_lanes(WIDTH) if copied else chunks_in_lanes(WIDTH, 1)
    term = lowered(program, combinators.then(tables_in_registers(), lanes), sizes)
    same(program, term, sizes)
    assert compile_program(term).source.count("(float4)(points[") == (0 if copied else sizes["d"])


@rl.program
def running(a: rl.f32[n, m]):
    """The running sums of the columns."""
    return rl.transpose(rl.map(lambda c: rl.scan_seq(rl.add, 0.0, c), rl.transpose(a)))


@rl.program
def running_of_each(a: rl.f32[d, n, m]):
    """Those of the columns of each table."""
    return rl.map(
        lambda t: rl.transpose(rl.map(lambda c: rl.scan_seq(rl.add, 0.0, c), rl.transpose(t))), a
    )


@pytest.mark.parametrize("columns", [2 * WIDTH, 2 * WIDTH + 3])
def test_columns_are_scanned_in_lanes(columns: int) -> None:
    """Also where they fill no vector, and those of several tables."""
    sizes = {"n": 5, "m": columns}
    same(running, lowered(running, combinators.inside("xss")(scans_in_lanes(WIDTH)), sizes), sizes)
    sizes |= {"d": 3}
    same(running_of_each, lowered(running_of_each, scans_in_lanes(WIDTH), sizes), sizes)


def test_the_default_pick_for_scanned_columns_has_vectors() -> None:
    """No driver is left to make vectors of work-items that have a loop."""
    (found,) = optimize(running, {"n": 64, "m": 64}, CPU).candidates
    assert any(isinstance(t, MapVec) for t, _ in subterms(found.term.body))


@pytest.mark.parametrize(("steps", "written_out"), [(8, True), (16, False)])
def test_strips_write_out_folds_that_keep_their_rows_in_registers(
    steps: int, written_out: bool
) -> None:
    """Eight rows of sixteen numbers would be 128 values that every vector of columns reads again from the stack."""
    found = derive(
        load_program(str(ROOT / "examples/matmul.py")),
        folds_in_strips(8, 8),
        {"n": 8, "m": 16, "k": steps},
    )
    assert ("reduce_seq_to_unroll" in [step.rule for step in found.steps]) == written_out


def test_lanes_are_for_what_fills_them() -> None:
    """A tactic says that it does not suit a program."""
    for tactic in (rows_in_lanes(WIDTH), chunks_in_lanes(WIDTH, 4), columns_in_lanes(WIDTH)):
        with pytest.raises(NoMatch):
            derive(distances, tactic, {"n": 3, "d": 5})
    with pytest.raises(NoMatch, match="no windows of neighbouring rows overlap"):
        derive(turned, strips_in_lanes(WIDTH, 2), {"n": 8, "m": 8})


@pytest.mark.parametrize("name", ["j2d5pt", "j2d9pt", "convolution", "transpose", "kmeans"])
def test_the_default_pick_for_a_cpu_has_vectors(name: str) -> None:
    """Whatever a driver packs, the search puts a program first whose text has the lanes."""
    program = load_program(str(ROOT / "examples" / f"{name}.py"))
    sizes = {"n": 256, "m": 256, "k": 5, "d": 20, "h": 256, "w": 256, "r": 2}
    own = {size: sizes[size] for size in program.sizes}
    found = optimize(program, own, "cpu")
    rules = {s.rule for s in found.derivation.steps}
    assert any(rule.startswith("vectorize") for rule in rules)
    share_what_they_load = ("convolution", "kmeans")  # rows of windows, and all centres
    assert ("lift_reduce_seq" in rules) == (name in share_what_they_load)


def test_the_default_pick_for_a_table_that_no_tiles_divide_has_tiles() -> None:
    """Main part and rests are tiles: what lies across is read while it is near."""
    program = load_program(str(ROOT / "examples" / "transpose.py"))
    found = optimize(program, {"n": 1999, "m": 2003}, "cpu")
    assert [s.rule for s in found.derivation.steps].count("tile_map") >= 4


def test_the_default_pick_for_products_that_no_blocks_divide_shares_what_it_reads() -> None:
    """Small ones have rows that share vectors of columns, and what fills no vector is in narrower ones; large ones have blocks."""
    small = optimize(batched, {"r": 63, "n": 61, "m": 59, "d": 20}, "cpu")
    rules = [s.rule for s in small.derivation.steps]
    assert rules.count("lift_reduce_seq") == 2  # the strips, and the rows that fill none
    assert rules.count("vectorize_map") >= 4
    large = optimize(batched, {"r": 4, "n": 301, "m": 299, "d": 297}, "cpu")
    assert "lift_reduce_seq_2d" in {s.rule for s in large.derivation.steps}


def test_steps_in_the_windows_of_one_another_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten steps of a stencil as one are 3^10 windows: a tactic says so, and goes on nowhere else in them."""
    monkeypatch.setattr(combinators, "MOST_PARTS", 300)

    def step(grid: Any) -> Any:
        windows = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, grid))
        return rl.map(lambda w: (w[0] + w[1] + w[2]) * 0.25, windows)

    @rl.program
    def ten(x: rl.f32[n]):
        return functools.reduce(lambda grid, _: step(grid), range(10), x)

    with pytest.raises(TooLarge, match="more than 300 parts"):
        derive(ten, chunks_in_lanes(16, 1), {"n": 1024})


def test_what_lies_across_is_turned_in_registers_where_lanes_are_gathered() -> None:
    """Where vectors of cells that lie apart are gathered, a copy of columns takes what memory does; five rows are read whole."""
    gathers = replace(CPU, turned_cycles=2.8)
    for sizes, tactic in (
        ({"n": 4093, "m": 4093}, "tile_map"),
        ({"n": 500009, "m": 5}, "split_of_join"),
    ):
        found = optimize(by_components, sizes, gathers).candidates[0]
        rules = {step.rule for step in found.derivation.steps}
        assert {"store_private", tactic} <= rules
        assert found.cost.compute < found.cost.memory
