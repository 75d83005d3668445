"""A rule that the library has already, or that follows from one of its rules in one step, is named."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from relift.rewrites.checks.kinship import kin
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, B, k, m, n
from relift.rewrites.rule import Rule, rule
from relift.rewrites.specialisation import specialised
from relift.semantics.language.vocabulary import drop, join, map, split
from relift.semantics.syntax.signatures import Fun
from relift.semantics.syntax.sizes import Size


def told(rule: Rule, known: Mapping[str, Rule]) -> list[str]:
    """What is said of its kin."""
    return [str(found) for found in kin(rule, known)]


EVERY_TENTH = {name: RULES[name] for name in sorted(RULES)[::10]}


@pytest.mark.parametrize("name", EVERY_TENTH)
def test_a_copy_of_a_rule_is_the_same_rule(name: str) -> None:
    """Under another name, and with its sides exchanged."""
    copy = replace(RULES[name], name="copy")

    assert f"the same rule as {name}" in told(copy, EVERY_TENTH)
    if not (copy.lowering or copy.refinement):
        turned = replace(copy, left=copy.right, right=copy.left)
        assert f"the same rule as {name}" in told(turned, EVERY_TENTH)


def test_other_names_are_no_other_rule() -> None:
    @rule()
    def again(ys: B[m + k + n]):
        return drop(m, drop(k, ys)), drop(m + k, ys)

    assert "the same rule as drop_drop" in told(again, RULES)


def test_an_instance_is_told_from_the_rule() -> None:
    four = specialised(replace(RULES["join_split"], name="four"), {"m": Size.of(4)})

    assert told(four, {"join_split": RULES["join_split"]}) == ["an instance of join_split"]


def test_one_step_inside_a_function_is_found() -> None:
    @rule()
    def inside(f: Fun[A, B], xss: A[n, k * m]):
        return map(lambda xs: join(split(m, map(f, xs))), xss), map(lambda xs: map(f, xs), xss)

    assert told(inside, {"join_split": RULES["join_split"]}) == ["one step of join_split"]


def test_a_rule_without_the_laws_is_another_rule() -> None:
    weaker: Rule = replace(RULES["partial_reduce_chunks"], name="weaker", where=())

    assert not list(kin(weaker, {"x": RULES["partial_reduce_chunks"]}))
