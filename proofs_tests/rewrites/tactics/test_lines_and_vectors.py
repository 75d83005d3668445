"""Lines that a group has, and folds of what all work-items read, by vectors: PROVED rules, and right results."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import relift as rl
from relift.compiler.program import compile_program
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.folds.in_vectors import folds_in_vectors
from relift.rewrites.tactics.groups.dimensions import lines_by_groups

c, n, m, k = (rl.nat(name) for name in "cnmk")


@rl.program
def squares(x: rl.f32[n]):
    return rl.map(lambda v: v * v, x)


@rl.program
def squares_of_planes(x: rl.f32[n, m]):
    return rl.map(lambda row: rl.map(lambda v: v * v, row), x)


@rl.program
def squares_of_cubes(x: rl.f32[n, m, k]):
    return rl.map(lambda t: rl.map(lambda row: rl.map(lambda v: v * v, row), t), x)


@rl.program
def squares_of_batches(x: rl.f32[c, n, m, k]):
    return rl.map(lambda b: rl.map_nd(3, lambda v: v * v, b), x)


@rl.program
def turned_pairs(x: rl.f32[n, 2 * m], angles: rl.f32[n, m]):
    """Each pair of each row, turned: the rows are joined pairs."""

    def turned(p):
        u, v, by = p[0][0], p[0][1], p[1]
        return rl.make_array(u - by * v, by * u + v)

    rows = rl.zip(x, angles)
    return rl.map(lambda r: rl.join(rl.map(turned, rl.zip(rl.split(2, r[0]), r[1]))), rows)


@rl.program
def blocks_of_squares(x: rl.f32[n, m]):
    """Each number four times, as a block of two by two."""

    def block(v):
        pair = rl.make_array(v, v * v)
        return rl.make_array(pair, pair)

    return rl.map(lambda row: rl.map(block, row), x)


@rl.program
def distances(x: rl.f32[n], y: rl.f32[m]):
    """The sum of the squared distances of each of the first from all of the others."""

    def total(v):
        return rl.reduce(rl.add, 0.0, rl.map(lambda w: (v - w) * (v - w), y))

    return rl.map(total, x)


def computed(program: rl.Program, tactic: Tactic, *inputs: np.ndarray) -> np.ndarray:
    """The result of what a tactic makes of a program, with rules that are all PROVED."""
    sizes = program.solve_sizes(inputs)
    found = derive(program, tactic, sizes)
    require_proved((step.rule for step in found.steps), RULES)
    result: np.ndarray = compile_program(replace(program.at(sizes), body=found.result))(*inputs)
    return result


@pytest.mark.parametrize(
    ("program", "shape"),
    [
        (squares, (64,)),
        (squares_of_planes, (6, 19)),
        (squares_of_cubes, (3, 4, 16)),
        (squares_of_batches, (3, 2, 4, 9)),
    ],
)
def test_a_group_has_lines(program: rl.Program, shape: tuple[int, ...]) -> None:
    """Two lines each, which eight work-items share, with a rest in the second case."""
    x = np.random.default_rng(1).random(shape, np.float32)

    np.testing.assert_array_equal(computed(program, lines_by_groups(2, 8), x), x * x)


@pytest.mark.parametrize("lines", [1, 2])
def test_lines_of_short_arrays_are_written_cell_by_cell(lines: int) -> None:
    """Where each row joins what is made of its elements, that is done after all rows; one line is a group's, too."""
    x, angles = (np.random.default_rng(1).random(shape, np.float32) for shape in ((6, 10), (6, 5)))
    tactic = lines_by_groups(lines, 8)

    for program, inputs in ((turned_pairs, (x, angles)), (blocks_of_squares, (x,))):
        result = computed(program, tactic, *inputs)

        np.testing.assert_allclose(result, program(*inputs), rtol=1e-6)


def test_long_lines_are_no_groups() -> None:
    """What neighbouring lines share is no longer near."""
    with pytest.raises(NoMatch, match="too long"):
        derive(squares_of_planes, lines_by_groups(2, 8), {"n": 4, "m": 8192})


def test_what_all_read_is_read_in_vectors() -> None:
    """And only where vectors divide it."""
    x, y = (np.random.default_rng(1).random(length, np.float32) for length in (5, 16))

    result = computed(distances, folds_in_vectors(4), x, y)

    np.testing.assert_allclose(result, ((x[:, None] - y) ** 2).sum(axis=1), rtol=1e-5)
    with pytest.raises(NoMatch):
        derive(distances, folds_in_vectors(4), {"n": 5, "m": 15})
