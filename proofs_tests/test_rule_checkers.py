"""The benchmark of rule checkers: every wrong rule is killed, and no prover proves one."""

from __future__ import annotations

import pytest

from proofs_tests.mutants import EQUIVALENT, MUTATIONS, mutants
from proofs_tests.portions import drawn, in_shares
from proofs_tests.rewrites.test_rules import BRANCHING
from proofs_tests.rule_checkers import judge, kill_rates, survivors, wrong_rules
from relift.rewrites.checks.free.tier import check_free
from relift.rewrites.checks.random.tier import check_random
from relift.rewrites.rule import RejectedRule, Rule


def test_there_are_wrong_rules_of_every_kind() -> None:
    wrong = wrong_rules()
    kinds = {kind for kind in [*MUTATIONS, "without"] if any(kind in name for name in wrong)}

    assert len(wrong) >= 60
    assert kinds == {*MUTATIONS, "without"}


UNDEFINED_ALIKE = {f"scatter_{name} without bijective" for name in ("fusion", "map", "zip")}
"""No wrong rules: where the index function is no permutation, neither side has a value."""


SELDOM = {
    *(f"reduce_by_index_gather without {law}" for law in ("associative", "commutative")),
    "reduce_by_index_from_neutral without associative",
    "reduce_by_index_from_neutral, operands swapped",
}
"""Wrong rules of which the few elements that are drawn seldom show it: two or three of them have to meet in one cell."""


def test_types_and_free_symbols_kill_all_but_what_needs_larger_sizes() -> None:
    """Tier 3 alone kills at least 95 % of those that type and do not branch on data; all survivors fall to tier 2."""
    wrong = wrong_rules()
    rejected = [rule for rule in wrong.values() if isinstance(rule, RejectedRule)]
    judgements = judge(rejected, ("1",)) + judge(wrong.values(), ("3",))
    left = survivors(judgements)
    killed, judged, _ = kill_rates([j for j in judgements if not _branches(j.rule)])["3"]

    assert killed / judged >= 0.95
    assert survivors(judge([wrong[name] for name in left], ("2",))) <= UNDEFINED_ALIKE | SELDOM, (
        left
    )


def _branches(wrong: str) -> bool:
    """Whether a wrong rule is made of one that branches on data, of which free symbols say nothing."""
    return wrong.partition(",")[0].partition(" without")[0] in BRANCHING


@in_shares
def test_no_wrong_rule_of_a_person_is_proved(share: int) -> None:
    """The mutants are judged by all tiers in the benchmark itself."""
    made = mutants()
    written = [rule for name, rule in wrong_rules().items() if name not in made]
    proved = [j.rule for j in judge(drawn(written, share), ("4a",)) if j.status == "proved"]

    assert not proved


@pytest.mark.parametrize("name", EQUIVALENT)
def test_equivalent_mutants_are_right(name: str) -> None:
    """What is left out of the benchmark is refuted by no tier."""
    mutant = mutants()[name]

    assert isinstance(mutant, Rule)
    assert check_free(mutant).status != "refuted"
    assert check_random(mutant).status == "ok"
