"""The normal form of quotients keeps values, and decides what Z3 alone does not."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import z3
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from relift.rewrites.checks.smt import goals
from relift.rewrites.checks.smt.goals import PREFERRED_SIZES, Open, Quotient, Solver, Unknown
from relift.rewrites.checks.smt.tier import check_index
from relift.rewrites.library import RULES
from relift.semantics.syntax.sizes import Size, nat

n, m = nat("n"), nat("m")
i: Any = z3.Int("i")
j: Any = z3.Int("j")


def prover() -> Solver:
    """0 <= i < n and 0 <= j < m; sizes are at least 1."""
    found = Solver()
    found.given += [found.size(n) >= 1, found.size(m) >= 1]
    found.assumed += [i >= 0, i < found.size(n), j >= 0, j < found.size(m)]
    return found


N, M = (prover().size(size) for size in (n, m))


@st.composite
def numbers(draw: Any) -> Any:
    """Sums, products, quotients and remainders of i, j and sizes; only what is positive divides."""

    def combined(inner: Any) -> Any:
        divisors = st.sampled_from([N, M, N * M, 2 * N, *map(z3.IntVal, (2, 3, 4, 6))])
        both, divided = st.tuples(inner, inner), st.tuples(inner, divisors)
        return (
            both.map(lambda xy: xy[0] + xy[1])
            | both.map(lambda xy: xy[0] - xy[1])
            | both.map(lambda xy: xy[0] * xy[1])
            | divided.map(lambda xy: xy[0] / xy[1])
            | divided.map(lambda xy: xy[0] % xy[1])
        )

    leaves = st.sampled_from([i, j, N, M, z3.IntVal(1), z3.IntVal(-3)])
    return draw(st.recursive(leaves, combined, max_leaves=6))


def value(x: Size, at: dict[str, int]) -> int:
    """What a normal form is at these values, by Python's arithmetic."""
    total = 0
    for monomial, c in x.terms.items():
        for atom, power in monomial:
            match atom:
                case Unknown(text):
                    c *= at[text.strip("|")] ** power
                case Quotient(dividend, divisor):
                    c *= (value(dividend, at) // value(divisor, at)) ** power
                case _:
                    raise AssertionError(atom)
        total += c
    return total


def z3_value(e: Any, at: dict[str, int]) -> int:
    found: Any = z3.simplify(z3.substitute(e, *((z3.Int(x), z3.IntVal(v)) for x, v in at.items())))
    return int(found.as_long())


def assignments() -> list[dict[str, int]]:
    return [
        {"i": a, "j": b, "size n": c, "size m": d}
        for c, d in itertools.product((1, 2, 3, 5), repeat=2)
        for a in range(c)
        for b in range(d)
    ]


@given(numbers())
@settings(max_examples=80, deadline=None)
def test_the_normal_form_keeps_the_value(e: Any) -> None:
    normal = prover().polynomial(e)
    assume(all(not isinstance(a, Unknown) or z3.is_const(a.number) for a in normal.atoms()))
    for at in assignments():
        assert value(normal, at) == z3_value(e, at), (e, normal, at)


@given(numbers(), numbers())
@settings(max_examples=60, deadline=None)
def test_only_what_is_true_is_shown(x: Any, y: Any) -> None:
    """What the prover shows holds at all small sizes."""
    try:
        prover().show(x >= y, "a bound")
    except Open:
        return
    for at in assignments():
        assert z3_value(x, at) >= z3_value(y, at), (x, y, at)


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        ((i * M + j) / M == i, "parts by divisibility, then range"),
        ((i * M + j) % M == j, "a remainder is a difference"),
        ((i / 2 + j) / 3 == (i + 2 * j) / 6, "nested quotients, and more"),
        ((i * M + j) / M / N == (i * M + j) / (M * N), "nested quotients"),
        ((i * M + j) / (M * N) == i / N, "common factor"),
        ((N * M - 1 - (i * M + j)) % M == M - 1 - j, "sign"),
        ((i / M) * M <= i, "bounds of a quotient"),
        ((i % (M * N)) % N == i % N, "a remainder of a remainder"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_shown_for_all_sizes(fact: Any, why: str) -> None:
    prover().show(fact, why)


@pytest.mark.parametrize(
    ("given_fact", "goal", "follows"),
    [
        (i <= 2 * j + 1, i / 2 <= j, True),
        (i <= 2 * j + 2, i / 2 <= j, False),
        (i >= 2 * j, i / 2 >= j, True),
        (i >= 2 * j - 1, i / 2 >= j, False),
        (j <= 1, (2 * i + j) / 4 == i / 2, True),
        (j <= 2, (2 * i + j) / 4 == i / 2, False),
        (j < N, (i * N + j) / (3 * N) == i / 3, True),
        (j <= N, (i * N + j) / (3 * N) == i / 3, False),
    ],
)
def test_bounds_are_neither_too_weak_nor_too_strong(
    given_fact: Any, goal: Any, follows: bool
) -> None:
    goals = prover()
    with goals.assuming(given_fact):
        if follows:
            goals.show(goal, "a bound")
        else:
            with pytest.raises(Open):
                goals.show(goal, "a bound")


def test_nothing_is_known_of_a_divisor_that_may_be_0() -> None:
    """Python has no quotient there, and Z3 any."""
    k = Solver().size(nat("k"))
    with pytest.raises(Open):
        prover().show((k * j) / k == j, "a quotient")


def test_a_counterexample_has_small_sizes() -> None:
    with pytest.raises(Open) as failed:
        prover().show(i + 1 < N, "a bound")
    assert failed.value.sizes is not None
    assert max(failed.value.sizes.values()) <= PREFERRED_SIZES[2]


def test_what_is_shown_anywhere_needs_no_scope() -> None:
    """A fact of the scope is not used, and is there again afterwards."""
    goals = prover()
    with pytest.raises(Open), goals.anywhere():
        goals.show(i >= 0, "a bound")
    goals.show(i >= 0, "a bound")


def test_what_is_spent_on_a_rule_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it nothing more is shown, and that is no verdict on the rule."""
    rule = RULES["slide_tiling"]
    assert check_index(rule).status == "proved"

    monkeypatch.setattr(goals, "RULE_EFFORT", 1)
    assert check_index(rule).status == "unfinished"
