"""Sums of integers in tier 4b: those of a machine wrap around, so that only what counts is a sum of whole numbers."""

from __future__ import annotations

from typing import Any

import pytest

from proofs_tests.prover import needs_prover
from relift.rewrites.checks.rocq.statements import proposition
from relift.rewrites.checks.rocq.tier import prove
from relift.rewrites.library import RULES
from relift.rewrites.notation import n
from relift.rewrites.rule import Rule, rule
from relift.semantics.language.vocabulary import iterate, map, reduce_seq, select
from relift.semantics.syntax.types import f32, i32, i64


@rule()
def below_the_next(k: i32, xs: f32[n]):
    """Not at the largest k, where a float is computed, so that no wrapping is tried."""
    return map(lambda v: select(k + 1 > k, v + v, v), xs), map(lambda v: v + v, xs)


@rule()
def below_the_next_i64(ks: i64[n]):
    """Nor among the longer ones."""
    return map(lambda k: select(k + 1 > k, k, 0), ks), ks


@needs_prover
def test_what_holds_of_whole_numbers_that_do_not_wrap_around_is_not_proved() -> None:
    """Two rules that are wrong for one integer each."""
    found = prove([below_the_next, below_the_next_i64])

    assert {name: result.status for name, result in found.items()} == dict.fromkeys(
        ("below_the_next", "below_the_next_i64"), "unproved"
    )


def counting(start: Any, step: Any) -> Rule:
    """A fold with a second component that starts and goes on like this."""

    @rule()
    def fold(z: f32, k: i32, xs: f32[n]):
        """A rule that says nothing."""
        t = reduce_seq(lambda acc, x: (acc[0] + x, step(acc, k)), (z, start(k)), xs)
        return (t, k), (t, k)

    assert isinstance(fold, Rule)
    return fold


@pytest.mark.parametrize(
    ("start", "step", "counts"),
    [
        (lambda k: 0, lambda acc, k: acc[1] + 1, True),
        (lambda k: k, lambda acc, k: acc[1] + 1, False),
        (lambda k: 1, lambda acc, k: acc[1] + 1, False),
        (lambda k: 0, lambda acc, k: acc[1] + 2, False),
        (lambda k: 0, lambda acc, k: acc[1] + k, False),
        (lambda k: 0, lambda acc, k: select(acc[1] < 5, acc[1] + 1, k), False),
    ],
    ids=["a counter", "from any number", "from 1", "by 2", "by any number", "with jumps"],
)
def test_a_sum_has_a_definition_where_it_counts(start: Any, step: Any, *, counts: bool) -> None:
    """From 0, by 1, with each step."""
    said = proposition(counting(start, step))

    assert ("+ (1)%Z)%Z" in said) is counts
    assert ("add_i32_i32" in said) is not counts


def test_a_variable_with_the_name_of_a_counter_is_none() -> None:
    """What an inner function calls so."""

    @rule()
    def fold(z: i32, xs: f32[n]):
        """A rule that says nothing."""
        inner = lambda: reduce_seq(lambda acc, x: (x, acc[1] + 1), (1.0, z), xs)[1]
        t = iterate(n, lambda acc: (acc[0] + inner(), acc[1] + 1), (z, 0))
        return t, t

    assert isinstance(fold, Rule)
    said = proposition(fold)
    assert "+ (1)%Z)%Z" in said
    assert "(add_i32_i32 (snd v_acc_)" in said


def test_counters_of_the_library_count() -> None:
    """The rules on counters are about sums of whole numbers."""
    for name in ("reduce_seq_counted", "reduce_seq_counted_second", "reduce_seq_iterate"):
        assert "+ (1)%Z)%Z" in proposition(RULES[name])
        assert "add_i32" not in proposition(RULES[name])
