"""Every rule of the library passes tiers 1 to 3, and every wrong rule is refused by the tier that must."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from proofs_tests.portions import portioned
from proofs_tests.rewrites.folds_of_places import (
    ANEW,
    BETTER_KEYS,
    BINS,
    CHOSEN,
    COUNTED,
    GHOSTS,
    KEPT,
    LAST,
    MASKED,
    PLACES,
    SWAPPED,
)
from proofs_tests.wrong_rules import WRONG
from relift.rewrites.checks import guards
from relift.rewrites.checks.free.algebra import covers
from relift.rewrites.checks.free.tier import WORK, Run, check_free, free_world
from relift.rewrites.checks.guards import infer_guard
from relift.rewrites.checks.instances import Instances, compare
from relift.rewrites.checks.random.tier import check_random
from relift.rewrites.checks.tiers import check_rule
from relift.rewrites.checks.verdicts import TierResult
from relift.rewrites.library import CHOICES, RULES
from relift.rewrites.notation import A, B, C, n, q, r
from relift.rewrites.rule import RejectedRule, Rule, make_rule, rule
from relift.semantics.errors import IllTyped
from relift.semantics.language.vocabulary import join, map, split
from relift.semantics.syntax.binding import alpha_equal, canonical
from relift.semantics.syntax.signatures import Fun, IndexKind, Nat
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import at_sizes
from relift.semantics.syntax.terms import Metavariable, Var, subterms

GUARDED = {
    f"{r.name}-{condition}": (r, i) for r in RULES.values() for i, condition in enumerate(r.where)
}


def wrong(tier: int) -> list[Rule]:
    """The well-typed wrong rules of a tier."""
    return [r for r in WRONG[tier] if isinstance(r, Rule)]


MULTIPLIED_OUT = {"recurrence_as_one_step", "reduce_products_about"}
"""Products of the neutral element of sums, which no sum of products is, or of differences: what is equal then free symbols cannot tell."""
BRANCHING = {
    **dict.fromkeys(MULTIPLIED_OUT, "a product of a neutral element of sums"),
    "reduce_products_about": "a product of differences",
    "at_runtime_of_map": "a cell is looked up at an index that is a symbol",
    "gather_indices_of_map": "an index is computed by a function that is free",
    "reduce_seq_iterate": "a cell is looked up at a sum of numbers",
    "select_same": "a choice by a symbol",
    "looked_up_across": "a cell is looked up at an index that is a symbol",
    "looked_up_or_computed": "a cell is looked up at an index that is a symbol",
    **dict.fromkeys(KEPT | ANEW | LAST | SWAPPED, "a choice by a symbol"),
    **{
        name: "a choice by the order of symbols"
        for name in BETTER_KEYS
        if "_below" in name or "_above" in name
        if "_not_" not in name
    },
    **dict.fromkeys(CHOSEN, "a choice by a symbol"),
    **dict.fromkeys(BINS, "a cell is written at an index that is a symbol"),
    **dict.fromkeys(PLACES, "a choice by the order of symbols"),
    **dict.fromkeys(COUNTED, "a sum of numbers"),
    **dict.fromkeys(MASKED, "a choice by a symbol"),
    **dict.fromkeys(GHOSTS, "a cell is looked up at an index that is chosen"),
}
"""The rules of which free symbols say nothing, and why."""


Said: TypeAlias = list[tuple[Rule, TierResult]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    """What tiers 2, on six models, and 3 say of each rule while a guard is looked for."""
    found: Said = []

    class Told(Run):
        def all(self, bound: int) -> TierResult:
            found.append((self.rule, super().all(bound)))
            return found[-1][1]

    def few(candidate: Rule) -> TierResult:
        found.append((candidate, check_random(candidate, examples=6)))
        return found[-1][1]

    monkeypatch.setattr(guards, "Run", Told)
    monkeypatch.setattr(guards, "check_random", few)
    return found


SLOW = {"tile_map_3d", "stencil_tiling_3d", "stencil_tiling_2d_zip", "map_seq_slide_3d"}
"""Rules that say in three dimensions, or of two arrays, what others say that are always taken."""

TAKEN = {name for k, name in enumerate(RULES) if k % 2 == 0} - SLOW | {
    "stencil_tiling_2d",
    "tile_map",
}


@portioned("rule", RULES, TAKEN)
def test_library_rule_passes(rule: Rule, said: Said) -> None:
    """Random models agree, and so do free symbols at every small size, but where these would have to branch.

    No guard is proposed, also where free symbols say nothing of it, and would of it with a guard: that only makes it
    say less.
    """
    guard = infer_guard(rule, work=WORK)
    results = {result.tier: result for of, result in said if of is rule}
    free, sampled = results["3"], results.get("2") or check_random(rule, examples=6)

    assert guard is None
    assert sampled.status == "ok", sampled.text()
    assert free.status == ("skipped" if rule.name in BRANCHING else "ok"), free.text()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_library_rule_is_documented(rule: Rule) -> None:
    """A rule says in one line what it means, and where it comes from."""
    assert rule.source
    assert rule.doc.endswith(".")
    assert "\n" not in rule.doc


def test_library_rules_are_distinct() -> None:
    """No two rules are one equation up to renaming and direction, and none has one term on both sides."""
    by_shape: dict[str, list[Rule]] = {}
    for one in RULES.values():
        assert not alpha_equal(one.left, one.right), one.name
        by_shape.setdefault(_shape(one), []).append(one)
    same = [
        {first.name, second.name}
        for rules in by_shape.values()
        for first, second in itertools.combinations(rules, 2)
        if _equal_up_to_renaming(first, second)
    ]

    assert same == [
        {"map_identity", "insert_copy"},  # an equation, and the lowering that copies
        {"partial_reduce_chunks", "reduce_chunks_idempotent"},  # under other laws
        {"partial_reduce_strided", "reduce_strided_idempotent"},
        {"reduce_concat", "reduce_concat_idempotent"},
    ]


def test_renaming_and_direction_make_no_new_rule() -> None:
    """The test above sees through other letters, other sizes and swapped sides."""

    @rule()
    def backwards(g: Fun[B, C], ys: B[q * r]):
        return join(map(lambda part: map(g, part), split(r, ys))), map(g, ys)

    assert _shape(backwards) == _shape(RULES["split_join"])
    assert _equal_up_to_renaming(backwards, RULES["split_join"])
    assert not _equal_up_to_renaming(RULES["take_map"], RULES["drop_map"])


def _shape(rule: Rule) -> str:
    """The patterns of both sides, in an order that the direction does not change."""
    sides = (
        [type(t).__name__ for t, _ in subterms(side) if not isinstance(t, Metavariable | Var)]
        for side in (rule.left, rule.right)
    )
    return repr(sorted(sides))


def _equal_up_to_renaming(first: Rule, second: Rule) -> bool:
    if len(first.sizes) != len(second.sizes) or len(first.types) != len(second.types):
        return False
    sides = {_renamed(second, second.sizes, flip) for flip in (False, True)}
    return any(
        _renamed(first, sizes, False) in sides for sizes in itertools.permutations(first.sizes)
    )


def _renamed(rule: Rule, sizes: Sequence[str], flip: bool) -> str:
    """Both sides and the kinds as text: sizes by their place in `sizes`, all else by first occurrence."""
    numbered = {name: Size.atom(f"size_{i}") for i, name in enumerate(sizes)}
    sides = [canonical(at_sizes(t, numbered)) for t in (rule.left, rule.right)]
    words = re.findall(r"'\w+'|\w+|\W", repr(sides[::-1] if flip else sides))
    known = {*rule.types, *(repr(name) for name in rule.parameters)}
    known |= {name for name, kind in rule.parameters.items() if isinstance(kind, IndexKind)}
    letters: dict[str, str] = {}
    return "".join(letters.setdefault(w, f"?{len(letters)}") if w in known else w for w in words)


WORDS = {
    "associative": "associative", "commutative": "commutative", "neutral": "neutral",
    "idempotent": "idempotent", "distributive": "distributes", "telescoping": "telescopes", "bijective": "permutation",
    "inverse": "inverse",
}  # fmt: skip
OTHER_GUARDS = {
    "reduce_common_factor", "reduce_factor", "scatter_fusion", "scatter_transpose",
    "reduce_chunks_idempotent", "reduce_strided_idempotent", "reduce_concat_idempotent",
    "operands_swapped",
}  # fmt: skip
"""A neutral factor needs no distributive law, an inverse is a permutation, rows may be absent, chunks may begin with a
neutral element, and a neutral element commutes with all others."""
UNDECIDED = {
    "separate_dot_hv", "separate_dot_vh", "reduce_by_index_gather", "reduce_by_index_from_neutral",
    *(r.name for r in CHOICES["fold_by_said_index_number"].rules),
}  # fmt: skip
"""Without some of their laws nobody knows a normal form, and keys that are symbols choose no cell: tier 3 says so instead of
refuting, and no law is proposed, at most that there is nothing.  What is updated in any order needs laws that its meaning does not."""


IDLE = {
    ("reduce_twice", "commutative"),
    *((f"scatter_{name}", "bijective") for name in ("map", "fusion", "zip")),
}
"""Without these the sides are equal wherever one has a value: a word of a band is its own square, and what is no
permutation scatters on neither side."""


@portioned("rule,dropped", GUARDED, 2)
@pytest.mark.usefixtures("said")
def test_no_law_of_a_library_rule_is_redundant(rule: Rule, dropped: int) -> None:
    """Without any one of its laws a rule is refuted, and the law, or one as good, is found again.

    Six models of what is found do: with the law it is the rule of the library again.
    """
    where = tuple(c for i, c in enumerate(rule.where) if i != dropped)
    weaker = replace(rule, where=where)
    if (rule.name, rule.where[dropped].law) in IDLE:
        assert check_free(weaker).status == "ok"
        return
    if (
        rule.name in MULTIPLIED_OUT
    ):  # with all laws free symbols say nothing: no guard is looked for
        assert check_free(weaker).status == "refuted"
        return
    guard = infer_guard(weaker)
    status = check_free(weaker).status

    if status == "skipped" and rule.name in UNDECIDED:
        assert guard is None or "n is 0" in guard.conditions
        return
    assert status == "refuted"
    if rule.name in KEPT | ANEW | MASKED:
        assert (
            guard is None
        )  # with the law free symbols say nothing, see `BRANCHING`, so it is not found again
        return
    assert guard is not None
    assert WORDS[rule.where[dropped].law] in guard.text() or rule.name in OTHER_GUARDS


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
def test_sizes_beside_the_numbers_of_a_rule_are_tried(rule: Rule) -> None:
    """A rule that is right up to the bound is refuted where a number in its equation shows how large to go."""
    assert check_free(rule, bound=3).status == "refuted"


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


@rule()
def with_a_metavariable_too_many(z: A, xs: A[n]):
    """z is used on neither side."""
    return map(lambda x: x, xs), xs


def test_an_unused_metavariable_is_rejected_by_name() -> None:
    assert isinstance(with_a_metavariable_too_many, RejectedRule)
    assert "metavariable z is used on neither side" in str(with_a_metavariable_too_many.error)


def not_a_type(xs: int):
    """Python's integers are no type of arrays."""
    return xs, xs


def a_size(m: Nat):
    """A size is no metavariable: it has a name of its own."""
    return m, m


@pytest.mark.parametrize("function", [not_a_type, a_size])
def test_an_annotation_that_is_no_type_is_refused_by_name(function: Callable[..., Any]) -> None:
    """The message says which metavariable, and what stands there instead of a type."""
    with pytest.raises(IllTyped, match=r"metavariable \w+ needs a type, such as .*, not "):
        make_rule(function)
