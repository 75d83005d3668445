"""Every rule of the library passes tiers 1 to 3, and every wrong rule is refused by the tier that must."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proofs_tests.wrong_rules import WRONG
from relift.rewrites.checking import check_rule
from relift.rewrites.free import check_free, covers, free_world
from relift.rewrites.guards import infer_guard
from relift.rewrites.instances import Instances, compare
from relift.rewrites.library import RULES
from relift.rewrites.rule import RejectedRule, Rule
from relift.rewrites.sampling import check_random

GUARDED = [
    pytest.param(r, i, id=f"{r.name}-{condition}")
    for r in RULES.values()
    for i, condition in enumerate(r.where)
]


def wrong(tier: int) -> list[Rule]:
    """The well-typed wrong rules of a tier."""
    return [r for r in WRONG[tier] if isinstance(r, Rule)]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_library_rule_passes(rule: Rule) -> None:
    """Tiers 1, 2 and 3 all say ok; none is skipped."""
    report = check_rule(rule)

    assert [result.status for result in report.results] == ["ok"] * 3, report.text()
    assert report.ok
    assert report.counterexample is None


@pytest.mark.parametrize(("rule", "dropped"), GUARDED)
def test_no_law_of_a_library_rule_is_idle(rule: Rule, dropped: int) -> None:
    """Without any one of its laws a rule is refuted, and the law is found again as its guard."""
    where = tuple(c for i, c in enumerate(rule.where) if i != dropped)
    weaker = replace(rule, where=where)
    guard = infer_guard(weaker)

    assert check_free(weaker).status == "refuted"
    assert guard is not None
    assert str(rule.where[dropped].law) in guard.text()


@pytest.mark.parametrize("rule", WRONG[1], ids=lambda r: r.name)
def test_ill_typed_rule_is_rejected(rule: Rule | RejectedRule) -> None:
    """A rule whose sides do not fit is kept with its message and its line, and fails the check."""
    report = check_rule(rule)

    assert isinstance(rule, RejectedRule)
    assert not report.ok
    assert [(result.tier, result.status) for result in report.results] == [("1", "rejected")]
    assert report.place is not None
    assert report.place.startswith(__file__.replace("rewrites/test_rules", "wrong_rules"))


@pytest.mark.parametrize("rule", [*wrong(2), *wrong(3)], ids=lambda r: r.name)
def test_random_models_refute(rule: Rule) -> None:
    """Sixty random models refute every wrong rule, also those whose laws are too few."""
    result = check_random(rule)

    assert result.status == "refuted", result.text()
    assert result.counterexample is not None


@pytest.mark.parametrize("rule", wrong(2), ids=lambda r: r.name)
def test_exhaustive_to_a_bound_is_no_proof(rule: Rule) -> None:
    """A rule that is right up to the bound passes tier 3 there, and is refuted beyond."""
    assert check_free(rule, bound=3).status == "ok"
    assert check_free(rule, bound=4).status == "refuted"


@pytest.mark.parametrize("rule", wrong(3), ids=lambda r: r.name)
def test_free_symbols_refute(rule: Rule) -> None:
    """Tier 3 finds a difference, and shows two values that are not the same."""
    found = check_free(rule).counterexample

    assert found is not None
    assert found.left != found.right
    assert found.data.keys() >= {name for name in rule.parameters if name.endswith("s")}


@pytest.mark.parametrize("rule", wrong(3), ids=lambda r: r.name)
def test_counterexample_has_the_smallest_sizes(rule: Rule) -> None:
    """The sides agree at all sizes of a smaller total."""
    found = check_free(rule).counterexample
    assert found is not None
    total = sum(found.sizes.values())
    for sizes in Instances(rule).assignments(3):
        if sum(sizes.values()) < total:
            world, _ = free_world(rule, sizes)
            assert compare(rule, world, covers) is None


@pytest.mark.parametrize(
    ("name", "guard"),
    [
        ("chunks_without_associativity", "holds if op is associative"),
        ("chunks_without_neutral", "holds if z is neutral for op"),
        ("strided_without_commutativity", "holds if op is commutative"),
        ("vectorize_reduce_without_commutativity", "holds if op is commutative"),
        ("fold_from_the_other_side", "holds if op is commutative"),
        ("another_start", None),
        ("zip_swapped", None),
    ],
)
def test_missing_guard_is_named(name: str, guard: str | None) -> None:
    """A refuted rule that a law would save says which; others say nothing."""
    rule = next(r for r in wrong(3) if r.name == name)
    found = check_rule(rule, tiers=("3",)).guard

    assert (found.text() if found else "").startswith(guard or "")
    assert (found is None) == (guard is None)
