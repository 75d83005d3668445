"""Several results of a program: one kernel, or one for each where they are computed in different ways."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.meaning.evidence import meaning_of
from relift.compiler.program import compile_program
from relift.device import GPU
from relift.egraph.cost.model import estimate
from relift.semantics.language.programs import Program

N, M, TWO = 6, 8, 2


def by_items(x: Any) -> Any:
    return rl.map_glb(0)(lambda column: rl.reduce_seq(rl.add, 0.0, column), rl.transpose(x))


def by_groups(x: Any) -> Any:
    return rl.map_wrg(0)(lambda row: rl.map_lcl(0)(lambda v: v + v, row), x)


@rl.program
def alike(x: rl.f32[N, M]) -> Any:
    return by_items(x), by_items(rl.transpose(x))


@rl.program
def apart(x: rl.f32[N, M]) -> Any:
    """One of three results is two, and one of them only moves data."""
    return by_items(x), (by_groups(x), by_groups(rl.transpose(x))), rl.transpose(x)


@rl.program
def of_what_is_stored(x: rl.f32[N, M]) -> Any:
    """How a value is computed that is stored before does not count."""
    stored = rl.to_global(by_groups(x))
    return by_items(stored), by_items(rl.transpose(stored))


@rl.program
def apart_of_what_is_stored(x: rl.f32[N, M]) -> Any:
    stored = rl.to_global(by_groups(x))
    return by_groups(stored), by_items(stored)


@rl.program
def pairs(x: rl.f32[N, N]) -> Any:
    """Arrays that are zipped are results, too."""
    return rl.zip(by_groups(x), by_items(x))


@rl.program
def in_one_and_two_dimensions(x: rl.f32[N, M]) -> Any:
    """Work-items of a second dimension would all write what those of the first do."""
    cells = rl.map_glb(1)(lambda row: rl.map_glb(0)(lambda v: v + v, row), x)
    return by_items(x), cells, by_items(rl.transpose(x))


@rl.program
def in_groups_of_one_and_two_dimensions(x: rl.f32[N, M, TWO]) -> Any:
    both = rl.map_wrg(0)(lambda r: rl.map_lcl(1)(lambda p: rl.map_lcl(0)(lambda v: -v, p), r), x)
    return both, by_groups(rl.map(rl.join, x))


@rl.program
def of_groups_and_of_their_members(x: rl.f32[N, M]) -> Any:
    """A number of a group is written by its first member, beside what all compute."""
    return rl.map_wrg(0)(lambda row: rl.reduce_seq(rl.add, 0.0, row), x), by_groups(x)


@rl.program
def beside_what_is_moved(x: rl.f32[N, M]) -> Any:
    return by_items(x), rl.transpose(x)


@rl.program
def with_a_number(x: rl.f32[N, M]) -> Any:
    """Each work-item of the rows would compute it, and write it."""
    total = rl.reduce_seq(rl.add, 0.0, rl.join(x))
    return by_items(x), total + 1.0


@rl.program
def in_tuples_of_tuples(x: rl.f32[N, M]) -> Any:
    """Both are of one and of two dimensions."""
    cells = rl.map_glb(1)(lambda row: rl.map_glb(0)(lambda v: v + v, row), x)
    rows = by_items(rl.transpose(x))
    negative = rl.map_glb(1)(lambda row: rl.map_glb(0)(lambda v: -v, row), x)
    return (rows, cells), (rl.reduce_seq(rl.add, 0.0, rl.join(x)), (negative, by_items(x)))


@rl.program
def where_one_tuple_is_alike(x: rl.f32[N, M]) -> Any:
    """What is shared out alike has one kernel, in a tuple of its own."""
    cells = rl.map_glb(1)(lambda row: rl.map_glb(0)(lambda v: v + v, row), x)
    return (by_items(x), by_items(x)), cells


@rl.program
def zipped_in_a_tuple(x: rl.f32[N, M]) -> Any:
    cells = rl.map_glb(1)(lambda row: rl.map_glb(0)(lambda v: v + v, row), x)
    return rl.zip(by_items(rl.transpose(x)), cells), by_items(x)


@rl.program
def stored_in_a_tuple(x: rl.f32[N, M]) -> Any:
    cells = rl.map_glb(1)(lambda row: rl.map_glb(0)(lambda v: v + v, row), x)
    return (rl.to_global(by_items(x)), rl.to_global(cells)), by_items(rl.transpose(x))


PROGRAMS = [
    (in_tuples_of_tuples, 5),
    (where_one_tuple_is_alike, 2),
    (zipped_in_a_tuple, 3),
    (stored_in_a_tuple, 3),
    (with_a_number, 2),
    (pairs, 2),
    (in_one_and_two_dimensions, 3),
    (in_groups_of_one_and_two_dimensions, 2),
    (of_groups_and_of_their_members, 1),
    (beside_what_is_moved, 2),
    (alike, 1),
    (apart, 3),
    (of_what_is_stored, 2),
    (apart_of_what_is_stored, 3),
]


@pytest.mark.parametrize(("program", "kernels"), PROGRAMS, ids=lambda p: getattr(p, "name", None))
def test_results_have_a_kernel_each_where_they_are_computed_in_different_ways(
    program: Program, kernels: int
) -> None:
    """The cost model knows of the same kernels, and the text means the program."""
    (x,) = whole_inputs(program, 1)
    made = compile_program(program)

    assert len(made.plan.kernels) == kernels
    assert estimate(program, GPU).launch == pytest.approx(kernels * GPU.launch_seconds)
    assert meaning_of(made, program).ok
    for ours, theirs in zip(_numbers(made(x)), _numbers(program(x)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def _numbers(result: Any) -> list[Any]:
    if isinstance(result, tuple):
        return [a for part in result for a in _numbers(part)]
    array = np.asarray(result)
    return [array[name] for name in array.dtype.names] if array.dtype.names else [array]
