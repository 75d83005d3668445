"""What shows that a text is wrong: inputs at edges, of few values, large; and none where the program means nothing."""

from __future__ import annotations

from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.meaning import witness
from relift.compiler.meaning.computed import Machine
from relift.compiler.meaning.evidence import Meaning, meaning_of
from relift.compiler.meaning.judge import UNROLLS
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.semantics.indices.functions import reverse
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.terms import Term
from relift.semantics.syntax.types import f32, i32

n, m = nat("n"), nat("m")


def changed(program: Program, told: str, instead: str) -> Meaning:
    """What is said of a kernel in which something stands instead of what it is told."""
    k = compile_program(program)
    assert told in k.source
    return meaning_of(Compiled(k.source.replace(told, instead), k.plan), program)


@typed(x=i32[n], y=i32[n])
def rests(x: Term, y: Term) -> Any:
    return rl.map_glb(0)(lambda p: p[0] // 7 + p[1] % 5 - p[0] * p[1], rl.zip(x, y))


@pytest.mark.parametrize(
    ("told", "instead"),
    [
        ("floor_divide_i32(p_0, 7)", "(p_0 / 7)"),
        ("modulo_i32(p_1, 5)", "(p_1 % 5)"),
        ("floor_divide_i32(p_0, 7)", "(p_0 >> 3)"),
        ("(as_uint(p_0) * as_uint(p_1))", "(as_uint(p_0) * (as_uint(p_1) & 65535u))"),
    ],
)
def test_whole_numbers_below_zero_and_large_ones_are_tried(told: str, instead: str) -> None:
    """C rounds to zero, a shift is another division, and a product has all bits."""
    assert meaning_of(compile_program(rests), rests).ok
    assert changed(rests, told, instead).verdict == "refuted"


@typed(x=f32[m, n])
def first_largest(x: Term) -> Any:
    def step(best: Term, v: Term) -> tuple[Term, Term, Term]:
        top, where, i = best
        return rl.maximum(top, v), rl.select(top < v, i, where), i + 1

    return rl.map_glb(0)(lambda r: rl.reduce_seq(step, (float("-inf"), 0, 0), r)[1], x)


@pytest.mark.parametrize(
    ("told", "instead"),
    [
        ("(best_0 < v) ?", "(best_0 <= v) ?"),
        ("int best_1 = 0", "int best_1 = -1"),
        ("float best_0 = -INFINITY", "float best_0 = 0.0f"),
    ],
)
def test_equal_values_and_no_numbers_are_tried(told: str, instead: str) -> None:
    """Which of equal values is taken, and what stands where none is larger."""
    assert meaning_of(compile_program(first_largest), first_largest).ok
    assert changed(first_largest, told, instead).verdict == "refuted"


@typed(x=f32[5], ids=i32[9])
def looked_up(x: Term, ids: Term) -> Any:
    return rl.map_glb(0)(lambda v: v * 2.0, rl.gather_indices(ids, x))


@pytest.mark.parametrize("instead", ["min(max(ids[glb_0], 0), 4)", "ids[glb_0] % 5"])
def test_what_changes_no_index_in_range_is_not_refuted(instead: str) -> None:
    """The program means nothing at other indices: a text that bounds them is no wrong one."""
    assert changed(looked_up, "x[ids[glb_0]]", f"x[{instead}]").verdict != "refuted"
    assert changed(looked_up, "x[ids[glb_0]]", "x[ids[glb_0] % 4]").verdict == "refuted"


@typed(x=f32[n], ids=i32[m])
def looked_up_anywhere(x: Term, ids: Term) -> Any:
    return rl.map_glb(0)(lambda v: v * 2.0, rl.gather_indices(ids, x))


def test_indices_of_open_arrays_are_in_them() -> None:
    """For all sizes, as the program means nothing else; what goes beyond them is not validated."""
    assert meaning_of(compile_program(looked_up_anywhere), looked_up_anywhere).ok
    assert not changed(looked_up_anywhere, "x[ids[glb_0]]", "x[ids[glb_0] + 1]").ok


@typed(x=f32[n], y=f32[m])
def turned(x: Term, y: Term) -> Any:
    return rl.concat(
        rl.scatter(reverse, rl.map_glb(0)(lambda v: v + 1.0, x)),
        rl.map_glb(0)(lambda v: v, y),
    )


def test_what_is_written_backwards_stays_in_its_type() -> None:
    """Minus the number of a work-item is above minus a size."""
    assert meaning_of(compile_program(turned), turned).ok


@typed(x=f32[n])
def mirrored(x: Term) -> Any:
    windows = rl.slide(5, 1, rl.pad(2, 2, rl.mirror, x))
    return rl.map_glb(0)(lambda w: rl.reduce_seq(rl.maximum, -1e30, w), windows)


def test_a_read_before_an_array_is_a_verdict() -> None:
    """No input stands at index -1."""
    told = "2*n - (2*n + glb_0 + i - 2) % (2*n) - 1"
    assert changed(mirrored, told, told.replace("- 1", "- 2")).verdict == "refuted"


def test_a_maximum_is_one_of_no_numbers_too() -> None:
    """Without the comparison of x with itself, what is no number is lost."""
    assert changed(mirrored, "(x > y) || (x != x) ? x : y", "(x > y) ? x : y").verdict == "refuted"


@typed(x=f32[16], ids=i32[n])
def looked_up_by_rest(x: Any, ids: Any) -> Any:
    return rl.map_glb(0)(lambda v: rl.at_runtime_unsafe(v % 16, x), ids)


def test_an_index_that_is_computed_is_in_its_array() -> None:
    """A rest is below its divisor."""
    assert meaning_of(compile_program(looked_up_by_rest), looked_up_by_rest).ok
    assert not changed(looked_up_by_rest, "& 15;", "& 31;").ok


@typed(x=f32[5], ids=i32[9])
def looked_up_from_one(x: Any, ids: Any) -> Any:
    return rl.map_glb(0)(lambda v: rl.at_runtime_unsafe(v - 1, x), ids)


def test_what_an_index_is_computed_of_is_none() -> None:
    """The last element is looked up by 5, where the rest by 5 is another."""
    text = compile_program(looked_up_from_one).source.partition("x[")[2]
    told = f"x[{text.partition(';')[0]}"
    for instead in ("x[ids[glb_0] % 5 - 1]", "x[(ids[glb_0] + 4) % 5]", "x[ids[glb_0]]"):
        assert not changed(looked_up_from_one, told, instead).ok


def test_folds_that_are_too_long_to_compute_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are as long at all inputs, so not all of these are tried."""

    @typed(x=f32[4, 2000])
    def spreads(x: Term) -> Any:
        def sums(f: Any, row: Term) -> Any:
            return rl.reduce_seq(lambda acc, v: acc + f(v), 0.0, row)

        def row(r: Term) -> Any:
            return sums(lambda v: v * sums(lambda w: w, r), r)

        return rl.map_glb(0)(row, x)

    begun: list[str] = []
    value = Machine.value

    def noted(own: Machine, x: Any) -> Any:
        begun.append(x.op)
        return value(own, x)

    monkeypatch.setattr(witness, "EFFORT", 1000)
    monkeypatch.setattr(Machine, "value", noted)
    assert meaning_of(compile_program(spreads), spreads).ok
    assert changed(spreads, "i] * acc2", "i] * acc2 * 1.0f").verdict == "unknown"
    runs = len(UNROLLS) * 2
    assert 0 < len(begun) <= runs * witness.MOST_EXHAUSTED
