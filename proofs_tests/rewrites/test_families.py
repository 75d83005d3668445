"""A rule over a choice stands for one rule for each value, and each is judged for itself."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"

from __future__ import annotations

import re
from collections import defaultdict

import pytest

import relift as rl
from proofs_tests.command_line import here
from relift.rewrites.checks.tiers import check_rule
from relift.rewrites.families import Among, Number
from relift.rewrites.library import CHOICES, RULES
from relift.rewrites.notation import A, Border, Continued, n
from relift.rewrites.rule import RejectedRule, Rule, RuleFamily
from relift.rewrites.rules.traversals.identities import operator_rule
from relift.semantics.errors import IllTyped
from relift.semantics.language.vocabulary import drop, make_array, take
from relift.semantics.notation.parser import parse_term
from relift.semantics.patterns import PATTERNS, EachInTurn, EachOf, Fold, Pad, Store
from relift.semantics.syntax.terms import Input, Pattern
from relift.semantics.syntax.types import SCALARS, Scalar, boolean

Part = Among({"take": take, "drop": drop})


def test_the_decorator_needs_no_brackets() -> None:
    """As that of a program needs none; with a choice, too."""

    @rl.rule
    def outer_drop(xs: A[n + 2]):
        return rl.tail(rl.tail(xs)), rl.drop(2, xs)

    @rl.rule
    def clamped_boundary(boundary: Continued, xs: A[n + 2]):
        return rl.pad(1, 1, boundary, xs), rl.pad(1, 1, boundary, xs)

    assert isinstance(outer_drop, Rule)
    assert isinstance(clamped_boundary, RuleFamily)


def test_a_wrong_value_is_refuted_and_the_others_are_not() -> None:
    """A border around the same border is a wider one: for clamping, and for nothing that looks further in."""

    @rl.rule()
    def twice_boundary(boundary: Continued, xs: A[n + 2]):
        return (
            rl.pad(1, 1, boundary, rl.pad(1, 1, boundary, xs)),
            rl.pad(2, 2, boundary, xs),
        )

    family: RuleFamily = twice_boundary
    verdicts = {r.name: check_rule(r, tiers=("1", "2")).headline for r in family.rules}
    assert verdicts == {
        "twice_clamp": "tested only", "twice_mirror": "failed", "twice_wrap": "failed",
    }  # fmt: skip


def test_an_ill_typed_value_is_rejected_and_the_others_are_not() -> None:
    """Taking all elements leaves the array, dropping all does not."""

    @rl.rule()
    def part_all(part: Part, xs: A[n]):
        """All elements ({part})."""
        return part(n, xs), xs

    family: RuleFamily = part_all
    taken, dropped = family.rules
    assert isinstance(taken, Rule)
    assert taken.doc == "All elements (take)."
    assert isinstance(dropped, RejectedRule)
    assert dropped.name == "drop_all"


def test_a_value_may_be_data() -> None:
    """A border may be of a constant, which is a metavariable of its rule then."""
    rule = next(r for r in CHOICES["pad_boundary_nothing"].rules if "constant" in r.name)
    assert isinstance(rule, Rule)
    assert list(rule.parameters) == ["c", "xs"]
    assert "boundary" not in str(rule)
    assert set(Border.values) == {"clamp", "mirror", "wrap", "constant", "empty"}


def test_the_name_of_a_rule_says_which_value() -> None:
    """Else two rules would have one name."""
    with pytest.raises(IllTyped, match="part is a choice, so the name of the rule must hold it"):

        @rl.rule()
        def all_of_it(part: Part, xs: A[n]):
            return part(n, xs), xs


def test_every_rule_of_a_choice_is_in_the_library() -> None:
    """So it is checked, proved and recorded like any other."""
    for family in CHOICES.values():
        assert len(family.rules) > 1
        for rule in family.rules:
            assert RULES[rule.name] is rule


def test_rules_that_differ_in_a_variant_only_are_one_rule() -> None:
    """Two equations of the library that are one, but for a boundary, a level, a space or unrolling, are a choice."""
    definitions: tuple[type[Pattern], ...] = (Pad, EachOf, EachInTurn, Store, Fold)
    words = {
        getattr(pattern, "boundary", name): definition.__name__
        for definition in definitions
        for name, pattern in PATTERNS.items()
        if issubclass(pattern, definition)
    }
    variant = re.compile(rf"\b({'|'.join(words)})\b")
    alike: defaultdict[str, set[str]] = defaultdict(set)
    families = {r.name: family.name for family in CHOICES.values() for r in family.rules}
    for name, rule in RULES.items():
        shape = variant.sub(lambda found: words[found[0]], rule.equation(10_000))
        alike[shape].add(families.get(name, name))
    found = [names for names in alike.values() if len(names) > 1]
    # whole numbers have a proof of their own
    assert found == [{"reduce_seq_said_place_float", "reduce_seq_said_place_whole"}] * 4


@pytest.mark.parametrize("t", SCALARS.values(), ids=str)
def test_a_rule_of_numbers_is_one_for_every_type_that_they_have(t: Scalar) -> None:
    """A scalar type gets its rules by being in the table: a loop over numbers of any type is a fold with laws."""
    x = Input("x", t)
    name = operator_rule(parse_term("x" if t == boolean else "x + x", {"x": x}))

    assert (name is None) == (t == boolean)
    if name is not None:
        assert RULES[name].parameters == {"x": t, "y": t}


def test_a_rule_of_numbers_has_a_name_for_each() -> None:
    """Else all of them would have one name."""
    with pytest.raises(IllTyped, match="its name must end with _number"):

        @rl.rule()
        def swapped(x: Number, y: Number):
            return make_array(x, y)[0], x


def test_a_choice_is_checked_by_its_name() -> None:
    """`relift check` of it checks every rule that it stands for."""
    done = here("check", "pad_boundary_map", "--tier", "1")
    assert done.stdout.rstrip().endswith("3 rules: 3 tested only")
    assert "did you mean pad_boundary_map" in here("check", "pad_boundry_map").stderr
