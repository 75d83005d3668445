"""Tier 4a: right rules are proved for all sizes, wrong ones never, and what Z3 cannot tell is no proof."""

from __future__ import annotations

from dataclasses import replace

import pytest
import z3

from proofs_tests.wrong_rules import WRONG
from relift.rewrites.library import RULES
from relift.rewrites.notation import COMMUTATIVE_MONOID, MONOID, A, B, k, m, n, step
from relift.rewrites.rule import Rule, bijective, rule
from relift.rewrites.smt import check_index
from relift.semantics.language import (
    add,
    concat,
    filter_seq,
    gather,
    join,
    map,
    pad,
    reduce,
    reduce_seq,
    scatter,
    slide,
    split,
    take,
    transpose,
    wrap,
)
from relift.semantics.signatures import Fun, Index, Op
from relift.semantics.types import f32

SEARCHED = [r for r in RULES.values() if not r.refinement]


@rule(where=COMMUTATIVE_MONOID)
def columns_then_rows(op: Op[A], z: A, xss: A[k, m]):
    """A reduction of a table runs in any order of its dimensions."""
    return (
        reduce(op, z, join(xss)),
        reduce(op, z, map(lambda c: reduce(op, z, c), transpose(xss))),
    )


@rule(where=MONOID)
def three_levels(op: Op[A], z: A, xs: A[k * m * n]):
    chunks = split(m, split(n, xs))
    rows = map(lambda c: reduce(op, z, map(lambda r: reduce(op, z, r), c)), chunks)
    return reduce(op, z, xs), reduce(op, z, rows)


@rule(where=[bijective("p")])
def scattered_and_gathered(p: Index[n], f: Fun[A, B], xs: A[n]):
    return gather(p, map(f, scatter(p, xs))), map(f, xs)


@rule()
def fused_into_the_step(f: Fun[B, A, B], g: Fun[A, A], z: B, xs: A[n]):
    return (
        reduce_seq(lambda acc, x: f(acc, x), z, map(g, xs)),
        reduce_seq(lambda acc, x: f(acc, g(x)), z, xs),
    )


@rule()
def taken_from_both(xs: A[n], ys: A[m]):
    """By cases: an index is in the one array or in the other."""
    return take(n, concat(xs, ys)), xs


@rule()
def wrapped_windows(xs: A[n * step]):
    return take(n * step, pad(0, step, wrap, xs)), xs


@pytest.mark.parametrize("right", SEARCHED, ids=lambda r: r.name)
def test_library_rules_are_proved_or_say_why(right: Rule) -> None:
    result = check_index(right)

    assert result.status in ("proved", "unproved", "skipped"), result.text()
    assert result.detail


@pytest.mark.parametrize(
    "right",
    [
        columns_then_rows, three_levels, scattered_and_gathered, fused_into_the_step,
        taken_from_both, wrapped_windows,
    ],
    ids=lambda r: r.name,
)  # fmt: skip
def test_proved_for_all_sizes(right: Rule) -> None:
    assert check_index(right).status == "proved", check_index(right).text()


@pytest.mark.parametrize(
    "wrong",
    [r for rules in WRONG.values() for r in rules if isinstance(r, Rule)],
    ids=lambda r: r.name,
)
def test_no_wrong_rule_is_proved(wrong: Rule) -> None:
    assert check_index(wrong).status != "proved"


@pytest.mark.parametrize(
    "right",
    [columns_then_rows, three_levels, scattered_and_gathered],
    ids=lambda r: r.name,
)
def test_no_law_is_idle(right: Rule) -> None:
    """Without any one of its conditions, the same rule is not proved."""
    for condition in right.where:
        weaker = replace(right, where=tuple(c for c in right.where if c != condition))
        assert check_index(weaker).status != "proved", condition


def test_a_counterexample_is_the_interpreters() -> None:
    """What Z3 finds is shown only when the interpreter confirms it, with data."""
    wrong = next(r for r in WRONG[3] if r.name == "border_on_the_other_side")
    assert isinstance(wrong, Rule)
    found = check_index(wrong).counterexample

    assert found is not None
    assert found.left != found.right


def test_what_z3_cannot_tell_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that answers `unknown` to everything proves nothing."""
    monkeypatch.setattr(z3.Solver, "check", lambda self: z3.unknown)
    result = check_index(RULES["join_split"])

    assert result.status == "unproved"
    assert result.detail.startswith("Z3 cannot tell whether two indices are equal")


def test_a_pattern_without_an_index_function_is_skipped_by_name() -> None:
    @rule()
    def partial(xs: f32[n]):
        return filter_seq(lambda x: x < 1.0, 0.0, xs), filter_seq(lambda x: x < 1.0, 0.0, xs)

    result = check_index(partial)
    assert (result.status, result.detail) == ("skipped", "filter_seq is not known to this tier")


def test_concrete_operators_are_left_uninterpreted() -> None:
    """That + is associative is no matter of indices: nothing is assumed of an operator without a law."""

    @rule()
    def regrouped(xs: f32[k * m]):
        return reduce(add, 0.0, xs), reduce(
            add, 0.0, map(lambda c: reduce(add, 0.0, c), split(m, xs))
        )

    assert check_index(regrouped).status == "unproved"


def test_windows_beyond_the_end_are_not_in_range() -> None:
    @rule()
    def one_more(xs: A[m + k * step]):
        return slide(m, step, xs), slide(m, step, gather(lambda i: i + 1, xs))

    assert check_index(one_more).status != "proved"
