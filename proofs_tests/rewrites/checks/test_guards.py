"""Guard inference: the conditions that the literature forgot are found, and nothing is proposed in vain."""

from __future__ import annotations

import itertools
import time

import pytest

from relift.rewrites.checks.guards import infer_guard, redundant_conditions
from relift.rewrites.checks.verdicts import TierResult
from relift.rewrites.conditions import associative, naturals, neutral
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, B, C, k, m, n, q, size, step
from relift.rewrites.rule import RejectedRule, Rule, rule
from relift.semantics.indices.functions import reverse
from relift.semantics.language.vocabulary import (
    as_scalar,
    as_vector,
    gather,
    join,
    map,
    map_vec,
    reduce,
    slide,
    split,
    transpose,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op

u, v, w = naturals("u v w")


@rule()
def overlapped_tiling(xs: A[u + q * v]):
    """LIFT's slideTiling and RISE's slideOverlap: only the overlap is stated."""
    return slide(size, step, xs), join(map(lambda t: slide(size, step, t), slide(u, v, xs)))


@rule()
def split_join_anywhere(f: Fun[A, B], xs: A[n]):
    return map(f, xs), join(map(lambda c: map(f, c), split(m, xs)))


@rule()
def vectorize_anywhere(f: Fun[A, B], xs: A[n]):
    return map(f, xs), as_scalar(map(lambda x: map_vec(f, x), as_vector(w, xs)))


@rule()
def slide_before_split(xs: A[size + (q * k + k - 1) * step]):
    """RISE's slideBeforeSplit, as written."""
    return (
        split(k, slide(size, step, xs)),
        map(lambda t: slide(size, step, t), slide(k + size - step, k, xs)),
    )


@rule()
def chunks(op: Op[A], z: A, xs: A[k * m]):
    return reduce(op, z, xs), reduce(op, z, map(lambda c: reduce(op, z, c), split(m, xs)))


@rule()
def strided(op: Op[A], z: A, xs: A[k * m]):
    columns = transpose(split(m, xs))
    return reduce(op, z, xs), reduce(op, z, map(lambda c: reduce(op, z, c), columns))


@rule()
def hoisted(h: Fun[A, B, C], ys: B[n], xs: A[n]):
    """The map over ys is done once, although h uses x."""
    inner = map(lambda p: h(p[0], p[1]), zip(xs, ys))
    return map(lambda x: map(lambda y: h(x, y), ys), xs), map(lambda x: inner, xs)


@rule()
def shorter_zip(xs: A[n], ys: B[m]):
    """LIFT's zip of unequal lengths."""
    return zip(xs, ys), map(lambda p: (p[0], p[1]), zip(xs, ys))


@pytest.mark.parametrize(
    ("written", "conditions"),
    [
        (overlapped_tiling, {"step divides u - size", "v equals -size + step + u"}),
        (split_join_anywhere, {"m divides n"}),
        (vectorize_anywhere, {"w divides n"}),
        (chunks, {"op is associative", "z is neutral for op"}),
        (strided, {"op is associative", "z is neutral for op", "op is commutative"}),
        (hoisted, {"argument 1 is not free in h"}),
        (shorter_zip, {"m equals n"}),
    ],
    ids=lambda x: x.name if isinstance(x, Rule | RejectedRule) else "",
)
def test_the_missing_guard_is_found(written: Rule | RejectedRule, conditions: set[str]) -> None:
    """The corrected rule is exhaustive to the bound, and no clock has a say in it."""
    guard = infer_guard(written)

    assert guard is not None
    assert set(guard.conditions) == conditions
    assert [result.status for result in guard.results] == ["ok"]


def test_the_answer_does_not_depend_on_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that is a thousand times slower the same guard is found."""
    clock = itertools.count(step=1000)
    expected = infer_guard(strided)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(time, "process_time", lambda: float(next(clock)))
    monkeypatch.setattr("relift.rewrites.checks.random.tier.EMERGENCY", 1e9)

    assert expected is not None
    found = infer_guard(strided)
    assert found is not None
    assert found.conditions == expected.conditions


def test_a_guard_that_a_prover_refutes_is_not_proposed() -> None:
    """The next one is looked for, which here is none."""

    def refuting(candidate: Rule) -> TierResult:
        return TierResult("4a", "index", "refuted", "")

    assert infer_guard(chunks, work=50_000, provers=[refuting]) is None


def test_an_exhausted_search_proposes_nothing() -> None:
    """A guard is proposed when all instances up to the bound were tried, and not before."""
    assert infer_guard(strided, work=20) is None


@rule()
def backwards(op: Op[A], z: A, xs: A[n]):
    return reduce(op, z, gather(reverse, xs)), reduce(op, z, xs)


def test_what_holds_up_to_the_bound_only_is_no_guard() -> None:
    """Of one element the order does not matter; random models have more."""
    guard = infer_guard(backwards, bound=1)

    assert guard is not None
    assert "op is commutative" in guard.conditions


def test_a_condition_is_not_redundant_where_one_judge_refutes() -> None:
    """All judges are asked, and one no is a no."""

    def refuting(candidate: Rule) -> TierResult:
        return TierResult("4a", "index", "refuted", "")

    @rule(where=[associative("op")])
    def same(op: Op[A], z: A, xs: A[n]):
        return reduce(op, z, xs), reduce(op, z, map(lambda x: x, xs))

    assert redundant_conditions(same) == ["associative(op)"]
    assert redundant_conditions(same, provers=[refuting]) == []


def test_a_guard_was_tried_at_all_sizes() -> None:
    """However early the search is ended: what was tried at some sizes only is not proposed."""
    found = [infer_guard(chunks, work=work) for work in range(50, 12_000, 400)]

    assert found[0] is None
    assert found[-1] is not None
    assert all(r.complete for guard in found if guard is not None for r in guard.results)


def test_no_name_is_made_up() -> None:
    """Conditions speak of the sizes of the rule; those that the search made up have letters of their own."""
    for written in (overlapped_tiling, split_join_anywhere, vectorize_anywhere):
        guard = infer_guard(written)
        assert guard is not None
        assert "'" not in guard.text() + guard.equation


def test_slide_before_split_needs_step_one() -> None:
    guard = infer_guard(slide_before_split)

    assert guard is not None
    assert guard.conditions == ("step is 1",)


def test_a_stated_guard_that_is_not_needed_is_named() -> None:
    """map(reduce) of one row is no place for a law."""

    @rule(where=[associative("op"), neutral("op", "z")])
    def in_order(op: Op[A], z: A, xs: A[n]):
        return reduce(op, z, map(lambda x: x, xs)), reduce(op, z, xs)

    assert redundant_conditions(in_order) == ["associative(op)", "neutral(op, z)"]
    assert redundant_conditions(RULES["partial_reduce_chunks"]) == []


def test_provers_judge_what_is_found() -> None:
    """Their results stand beside that of the free symbols."""
    asked: list[str] = []

    def prover(candidate: Rule) -> TierResult:
        asked.append(candidate.equation())
        return TierResult("4a", "index", "proved", "")

    guard = infer_guard(chunks, provers=[prover])

    assert guard is not None
    assert [(r.tier, r.status) for r in guard.results] == [("3", "ok"), ("4a", "proved")]
    assert guard.text().endswith("instances; SMT-proved)")
    assert asked == [guard.equation]
