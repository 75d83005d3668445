"""A Python variable that is used k times: its term stands in the program k times, and is computed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler import compile_program
from relift.egraph.search.optimize import optimize
from relift.semantics.errors import Unsupported
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.notation.printer import show
from relift.semantics.syntax.binding import canonical, tidy
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.terms import Input, Pattern, Term, UserFunction, parts_of, subterms
from relift.semantics.syntax.types import f32, i32

n = nat("n")
xs = Input("xs", i32[n])
NUMBERS = [1, 2, 3, 4, 5]


def counted(seen: list[Any]) -> UserFunction:
    """x + 1, which notes each x."""

    def reference(x: Any) -> Any:
        seen.append(x)
        return x + 1

    return UserFunction("counted", ("x",), (i32,), i32, "return x + 1;", None, reference)


def calls(make: Any) -> tuple[Any, int]:
    """The value of a term that is made with a user function, and how often that is called."""
    seen: list[Any] = []
    world = World(sizes={"n": 5}, inputs={"xs": NUMBERS})
    return evaluate(make(counted(seen)), world), len(seen)


def used(k: int, ys: Term) -> Term:
    """An array that is read k times."""
    t = ys
    for _ in range(k - 1):
        t = rl.map(lambda p: p[0] + p[1], rl.zip(t, ys))
    return t


@pytest.mark.parametrize("k", [1, 2, 5])
def test_k_uses_cost_one_evaluation(k: int) -> None:
    value, count = calls(lambda f: used(k, rl.map(f, xs)))

    assert value == [k * (x + 1) for x in NUMBERS]
    assert count == 5


def test_what_is_used_in_each_element_is_computed_once() -> None:
    """It depends on no variable of the lambda."""

    def centred(f: Any) -> Any:
        ys = rl.map(f, xs)
        return rl.map(lambda y: y - rl.reduce(rl.add, 0, ys), ys)

    value, count = calls(centred)

    assert value == [x + 1 - 20 for x in NUMBERS]
    assert count == 5


def test_what_depends_on_a_variable_is_computed_for_each_of_its_values() -> None:
    """Shared within one run of the body, not between runs."""

    def body(f: Any, x: Any) -> Any:
        y = f(x)
        return y * y + y

    value, count = calls(lambda f: rl.map(lambda x: body(f, x), xs))

    assert value == [(x + 1) * (x + 2) for x in NUMBERS]
    assert count == 5


def test_one_object_under_two_binders_of_one_name_has_two_values() -> None:
    """The variable x of each lambda is its own, though the body is the same object."""
    made: list[Any] = []

    def once(x: Any) -> Any:
        made.append(x * x)
        return made[0]

    squares = rl.map(once, xs)
    again = rl.map(once, rl.map(lambda x: x + 1, xs))
    world = World(sizes={"n": 2}, inputs={"xs": [1, 2]})

    assert evaluate(rl.zip(squares, again), world) == [(1, 4), (4, 9)]


def test_what_depends_on_a_size_is_computed_for_each_of_its_values() -> None:
    """`iterate_sizes` runs one body at several sizes; no variable tells them apart."""

    def halves(size: Any, row: Any) -> Any:
        ones = rl.repeat(size, 1)
        sums = rl.map(rl.reduce(rl.add, 0), rl.split(2, row))
        return rl.map(lambda p: p[0] + p[1][0] * p[1][1], rl.zip(sums, rl.zip(ones, ones)))

    t = rl.iterate_sizes(2, 2, halves, Input("xs", i32[4 * n]))
    world = World(sizes={"n": 1}, inputs={"xs": [1, 2, 3, 4]})

    assert evaluate(t, world) == [1 + 2 + 1 + 3 + 4 + 1 + 1]


def test_a_program_at_sizes_shares_what_it_shared() -> None:
    """One object is rebuilt as one."""
    seen: list[Any] = []
    program = Program("p", (xs,), used(4, rl.map(counted(seen), xs)))

    result = program.at({"n": 5})(np.array(NUMBERS, np.int32))

    assert result.tolist() == [4 * (x + 1) for x in NUMBERS]
    assert len(seen) == 5


def test_what_duplication_costs() -> None:
    """The term grows with each use; its kernel computes the value once."""

    def program(k: int) -> Program:
        def each(row: Any) -> Any:
            total = rl.reduce_seq(rl.add, 0, row)
            return sum((total * (i + 1) for i in range(k - 1)), total)

        rows = Input("rows", i32[8, 4])
        return Program("p", (rows,), rl.map_glb(0)(each, rows))

    def patterns(t: Term) -> int:
        return sum(isinstance(u, Pattern) for u, _ in subterms(t))

    assert [patterns(program(k).body) for k in (1, 2, 5)] == [2, 3, 6]
    assert [compile_program(program(k)).source.count("for (") for k in (1, 2, 5)] == [1, 1, 1]


def doubled(times: int) -> Any:
    """A program whose term has twice the parts with each step, and few objects."""

    def steps(v: Any) -> Any:
        for _ in range(times):
            v = v + 0.01 * (v * v - v)
        return v

    return typed(x=f32[n])(lambda x: rl.map_glb(0)(steps, x))


def test_what_python_computes_once_has_a_name_where_the_text_would_be_endless() -> None:
    """Sixty steps are 3^60 parts without names: the program has them, is interpreted and compiled."""
    program = doubled(60)
    x = np.linspace(0, 1, 4, dtype=np.float32)
    want = x
    for _ in range(60):
        want = want + np.float32(0.01) * (want * want - want)

    assert np.diff(want).min() > 0.1  # no two are alike
    assert parts_of(program.body) < 2000
    assert "let(" in show(program.body)
    np.testing.assert_allclose(program.at({"n": 4})(x), want, rtol=1e-5)
    np.testing.assert_allclose(compile_program(program)(x), want, rtol=1e-5)
    assert "let(" not in show(doubled(6).body)


def test_a_term_that_none_gave_names_is_refused_where_it_would_be_written() -> None:
    """A text of 2^40 parts is nobody's wish."""
    term = unit_again(40)
    program = Program("unit", (Input("x", f32[8]),), term)

    for write in (
        lambda: show(program.body),
        lambda: compile_program(program),
        lambda: optimize(program),
    ):
        with pytest.raises(Unsupported, match=r"has \de\+\d\d parts .*rl\.let"):
            write()
    assert "parts when it is written out" in str(program)
    assert repr(program) == str(program)


def test_with_a_name_for_each_value_it_is_short() -> None:
    """As the refusal says."""

    @typed(x=f32[n])
    def program(x: Any) -> Any:
        def steps(v: Any, times: int = 20) -> Any:
            return v if times == 0 else rl.let(lambda w: steps(w * w - w, times - 1), v)

        return rl.map_glb(0)(steps, x)

    assert len(show(program.body)) < 20_000
    assert len(compile_program(program).source) < 20_000


def unit_again(rounds: int) -> Term:
    """An array each of whose elements is divided by the sum of all, again and again: each reads the last several times."""
    t: Term = Input("x", f32[8])
    for _ in range(rounds):
        t = rl.map(lambda v, t=t: v / rl.reduce(rl.add, 0.0, t), t)
    return t


def test_what_is_shared_is_compared_and_named_once() -> None:
    """Written out, forty rounds have 2^40 parts: two that were made apart are equal, and so are their tidy forms."""
    t, u = unit_again(40), unit_again(40)

    assert t is not u
    assert t == u
    assert canonical(t) == canonical(u)
    assert parts_of(tidy(t)) == parts_of(t) > 1 << 40
    assert t != unit_again(39)
