"""Values that are computed once are used where they are known only, and parts are written after all are read."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from relift.compiler.program import compile_program
from relift.compiler.validation.validate import validate
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import f32

ROWS = Input("x", f32[4, 4])


def total(row: Any) -> Any:
    """What a kernel computes once in a block."""
    return rl.reduce_seq(rl.add, 0.0, row)


def assert_shown(each: Callable[[Any], Any]) -> None:
    """The kernel of a function of each row computes what the interpreter does, for all data."""
    program = Program("p", (ROWS,), rl.map_glb(0)(each, ROWS))
    kernel = compile_program(program)
    report = validate(kernel.source, kernel.plan, program)
    assert report.ok, f"{report.detail}\n{kernel.source}"


BLOCKS: dict[str, Callable[[Any], Any]] = {
    "in a loop, then after it": lambda r: (rl.map_seq(lambda v: v * total(r), r), total(r)),
    "before a loop, then in it": lambda r: (total(r), rl.map_seq(lambda v: v * total(r), r)),
    "in two loops": lambda r: (
        rl.map_seq(lambda v: v * total(r), r), rl.map_seq(lambda v: v + total(r), r)
    ),
    "in each turn anew": lambda r: rl.map_seq(
        lambda s: (rl.map_seq(lambda v: v * total(s), s), total(s)), rl.split(2, r)
    ),
    "in a fold, then after it": lambda r: (
        rl.reduce_seq(lambda acc, v: acc + v * total(r), 0.0, r), total(r)
    ),
}  # fmt: skip


@pytest.mark.parametrize("each", BLOCKS.values(), ids=BLOCKS)
def test_what_a_block_computed_is_unknown_outside(each: Callable[[Any], Any]) -> None:
    assert_shown(each)


def test_a_value_is_known_whatever_its_binders_are_called() -> None:
    """A search names binders apart along each path: the same sum, in a function and beside it, has other names."""

    def outer(row: Any) -> Any:
        return rl.reduce_seq(lambda total, v: total + v, 0.0, row)

    def inner(row: Any) -> Any:
        return rl.reduce_seq(lambda so_far, w: so_far + w, 0.0, row)

    def each(row: Any) -> Any:
        return outer(row) + rl.reduce_seq(lambda acc, u: acc + u * inner(row), 0.0, row)

    program = Program("p", (ROWS,), rl.map_glb(0)(each, ROWS))
    assert compile_program(program).source.count("for (") == 2


PARTS = pytest.mark.parametrize("chosen", list(itertools.product(range(3), repeat=3)), ids=str)


def moved(chosen: tuple[int, int, int]) -> Callable[[Any], Any]:
    """Each new part is any of the old ones, so that every part may read what another overwrites."""
    return lambda old: tuple(old[i] for i in chosen)


@PARTS
def test_all_parts_of_an_accumulator_are_read_before_one_is_written(
    chosen: tuple[int, int, int],
) -> None:
    """In registers: of a fold, and of an iteration."""

    def turn(acc: Any, v: Any) -> Any:
        first, *others = moved(chosen)(acc)
        return (first + v, *others)

    assert_shown(lambda r: rl.reduce_seq(turn, (1.0, 2.0, 3.0), r))
    assert_shown(lambda r: rl.iterate(2, moved(chosen), (r[0], r[1], r[2])))


@PARTS
def test_all_parts_of_a_cell_are_read_before_one_is_written(chosen: tuple[int, int, int]) -> None:
    """In memory: an accumulator that is an array of tuples is written where it is read."""

    def sums(row: Any) -> Any:
        start = rl.to_private(rl.map_seq(lambda v: (v, v + 1.0, v + 2.0), row))
        turn = lambda p: tuple(2.0 * part for part in moved(chosen)(p))
        return rl.reduce_seq(lambda acc, v: rl.map_seq(turn, acc), start, rl.repeat(2, row[0]))

    assert_shown(lambda r: rl.map_seq(lambda p: p, sums(r)))


def test_what_lies_in_memory_is_read_once_beside_what_is_computed() -> None:
    """Of the smallest element and its place: were it read in each branch, one read would wait for the one before."""

    def each(row: Any) -> Any:
        counted = rl.zip(row, rl.generate(row.type.length, lambda i: i))
        return rl.reduce_seq(rl.first_smallest, (float("inf"), 0), counted)[1]

    source = compile_program(Program("p", (ROWS,), rl.map_glb(0)(each, ROWS))).source
    body = source[source.index("{") :]
    assert body.count(f"{ROWS.name}[") == 1


def test_elements_that_a_step_chooses_from_are_all_read_before_the_first_step() -> None:
    """A driver may branch for each choice, and reads nothing past a branch."""
    row = Input("row", f32[8])
    smallest = rl.reduce_seq_unroll(
        lambda least, p: rl.first_smallest(least, (p[0], p[1])),
        (float("inf"), 0),
        rl.zip(row, rl.generate(8, lambda i: i)),
    )
    source = compile_program(Program("p", (row,), smallest[1])).source
    body = source[source.index("{") :]
    assert body.rindex("row[") < body.index("?")
