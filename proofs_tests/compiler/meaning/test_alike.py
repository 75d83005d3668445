"""Values that differ by bounds which are decided at some points: one form where they have one, none where one differs."""

from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.meaning.evidence import meaning_of
from relift.compiler.meaning.kernels.alike import CHOICES, Alike
from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.ranges import Ranges
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import f32

LANES = 8


def cells(kind: str) -> tuple[Alike, list[Any]]:
    """What a group of eight copies of a row: the last group to its end again and again, or nothing beyond it."""
    r = Ranges()
    a = Folding(r, 10_000)
    r.splits = False
    g, lane = r.variable("group", "g", 11), r.variable("group", "l", LANES)

    def cell(i: int) -> Any:
        at = 8 * g + i
        if kind == "clamped in each group":
            return a.cell_at("x", 16 * g + 2 * min(i, 5), "f32")
        if kind == "clamped":
            return a.cell_at("x", 3 * r.extreme("min", at, 84), "f32")
        if kind == "by data":
            return a.cell_at("x", a.number(a.cell_at("at", at, "i32")) + 2 * i, "f32")
        inside = r.decided(84 - at)
        x = a.cell_at("x", at, "f32")
        return x if inside is True else a.select(inside, x, a.real(0.0, "f32"))

    return Alike(a, [(i,) for i in range(LANES)], (lane,), [1]), list(map(cell, range(LANES)))


@pytest.mark.parametrize("kind", ["clamped", "clamped in each group", "nothing beyond", "by data"])
def test_bounds_that_are_open_in_some_lanes_have_one_form(kind: str) -> None:
    """And values of which one lane has another's have none."""
    alike, values = cells(kind)
    found = alike.of(values)
    assert found is not None
    assert any(atom.name == "l" for atom in alike.algebra.free(found))
    for lane in range(1, 6):
        swapped = [*values[:lane], values[lane - 1], *values[lane + 1 :]]
        assert cells(kind)[0].of(swapped) is None


def test_no_form_is_found_after_so_many_ways_to_choose() -> None:
    """Where each choice may be the outermost one, and its condition that of any lane, all ways would take minutes."""
    alike, values = cells("nothing beyond")
    alike.choices = CHOICES
    assert alike.of(values) is None


def blurred(kind: Any) -> Program:
    """Sums of 17 neighbours, from tiles in local memory that reach over both ends."""

    @typed(x=f32[4000])
    def program(x: Any) -> Any:
        def group(part: Any) -> Any:
            tile = rl.to_local(rl.map_lcl(0)(lambda v: v, part))
            return rl.map_lcl(0)(lambda w: rl.reduce_seq(rl.add, 0.0, w), rl.slide(17, 1, tile))

        return rl.join(rl.map_wrg(0)(group, rl.slide(66, 50, rl.pad(8, 8, kind, x))))

    return program


@pytest.mark.parametrize(
    ("kind", "faults"),
    [
        (rl.clamp, [("3999)", "3998)"), (", 0)", ", 1)"), ("+ i - 8", "+ i - 7")]),
        (0.0, [(">= 0", ">= 1"), ("< 4000", "< 3999"), (": 0.0f", ": 1.0f")]),
    ],
)
def test_a_tile_over_both_ends_is_one_case(kind: Any, faults: list[tuple[str, str]]) -> None:
    """For all groups, the first and the last among them; a wrong bound of one cell is refuted."""
    program = blurred(kind)
    compiled = compile_program(program, local=(50,))
    found = meaning_of(compiled, program)
    assert found.ok, found.text()
    assert found.kernels[0].finding.cases == 1
    for told, instead in faults:
        assert told in compiled.source
        wrong = Compiled(compiled.source.replace(told, instead), compiled.plan)
        assert meaning_of(wrong, program).verdict == "refuted", (told, instead)
