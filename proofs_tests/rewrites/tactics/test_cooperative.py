"""Cooperative reductions, by the work-items of a group, are derived, confirmed, and refused where they do not fit."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from relift.rewrites.application.matching import NoMatch, apply_filled, apply_rule
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.files import from_json, to_json
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.groups.cooperative import cooperative_each, share
from relift.rewrites.tactics.groups.numbers import numbers_by_groups
from relift.semantics.language.programs import Program, program
from relift.semantics.language.vocabulary import add, map, reduce
from relift.semantics.notation.printer import show
from relift.semantics.patterns import Map, Reduce
from relift.semantics.syntax.binding import positions, term_at
from relift.semantics.syntax.terms import Lambda, Var
from relift.semantics.syntax.types import f32, nat

EXAMPLES = Path(__file__).parents[3] / "examples"
n, m = nat("n"), nat("m")


@program
def sums(xss: f32[n, m]):
    return map(lambda xs: reduce(add, 0.0, xs), xss)


@program
def total(xs: f32[n]):
    return reduce(add, 0.0, xs)


@program
def two_sums(xss: f32[n, m], yss: f32[n, m]):
    return map(lambda xs: reduce(add, 0.0, xs) * reduce(add, 0.0, xs), xss)


def example(name: str) -> Program:
    return load_program(str(EXAMPLES / f"{name}.py"))


WHOLE = numbers_by_groups(4, 8, 4, 1 << 15, alone=256)


@pytest.mark.parametrize(
    ("source", "tactic", "sizes"),
    [
        (sums, cooperative_each(8, 4), {"n": 6, "m": 128}),
        (example("gemv"), cooperative_each(8, 4), {"n": 6, "m": 128}),
        (total, WHOLE, {"n": 512}),
        (example("dot"), WHOLE, {"n": 512}),
        (example("dot"), WHOLE, {"n": 521}),
    ],
    ids=["sums", "gemv", "total", "dot", "dot with a rest"],
)
def test_a_cooperative_reduction_is_confirmed(
    source: Program, tactic: Tactic, sizes: dict[str, int]
) -> None:
    """Its derivation replays, survives its file, and keeps the program's value at small sizes."""
    found = derive(source, tactic, sizes)

    assert any(step.rule == "map_one_by_one" for step in found.steps)
    read = from_json(to_json(found), RULES)
    assert read.steps[-1].parts == found.steps[-1].parts
    assert confirm(read, RULES) is not None


def test_what_a_member_reduces_is_not_computed_before() -> None:
    """The products of a dot product are formed in the member's own loop."""
    found = derive(example("dot"), WHOLE, {"n": 512})

    maps = [t for _, t in positions(found.result) if isinstance(t, Map)]
    assert not any(isinstance(t.xs, Map) for t in maps)


def test_another_number_of_members_leaves_another_number_of_parts() -> None:
    lengths = []
    for members in (4, 16):
        found = derive(total, share(members, 4), {"n": 256})
        (parts,) = [t for _, t in positions(found.result) if isinstance(t, Map)]
        lengths.append(str(parts.type))
    assert lengths == ["vec(f32, 4)[4]", "vec(f32, 4)[16]"]


def test_what_has_no_two_chunks_is_refused() -> None:
    with pytest.raises(NoMatch, match="3 groups do not share 63 elements"):
        derive(total, numbers_by_groups(3, 8, 4, 1 << 15, alone=32), {"n": 63})


def test_there_is_one_reduction_at_a_place() -> None:
    with pytest.raises(NoMatch, match="has 2 reductions"):
        derive(two_sums, cooperative_each(8, 4), {"n": 6, "m": 128})


def test_a_cooperative_reduction_computes_single_values() -> None:
    nested = example("matmul")
    with pytest.raises(NoMatch, match="one value of every element"):
        derive(nested, cooperative_each(8, 4), {"n": 8, "m": 8, "k": 128})


# ---- the parts that a rule is told


def test_a_part_is_named_wherever_it_occurs() -> None:
    t = two_sums.at({"n": 4, "m": 8}).body
    place = next(p for p, u in positions(t) if isinstance(u, Reduce))
    new, substitution = apply_rule(RULES["map_one_by_one"], t, parts={"h": place})

    assert show(substitution.functions["g"].body) == "h * h"
    assert sum(isinstance(u, Reduce) for _, u in positions(new)) == 1


def test_a_rule_that_is_not_told_its_part_does_not_apply() -> None:
    with pytest.raises(NoMatch, match="not determined"):
        apply_rule(RULES["map_one_by_one"], sums.at({"n": 4, "m": 8}).body)


def test_a_part_that_uses_a_variable_of_its_own_is_refused() -> None:
    """Every dot product of a matrix product uses the column, which an inner map binds."""
    t = example("matmul").at({"n": 4, "m": 4, "k": 8}).body
    place = next(p for p, u in positions(t) if isinstance(u, Reduce))
    with pytest.raises(NoMatch, match="h may not use column, which is bound further in"):
        apply_rule(RULES["map_one_by_one"], t, parts={"h": place})


def test_a_substitution_that_leaves_a_variable_unbound_is_refused() -> None:
    """Also when it comes from a file: the filled side is what stands there, the other one is no term."""
    t = example("matmul").at({"n": 4, "m": 4, "k": 8}).body
    rule = RULES["map_one_by_one"]
    _, substitution = apply_rule(rule, t, parts={"h": ("f", "xs")})
    (x,) = substitution.functions["h"].parameters
    inside = next(u for _, u in positions(t) if isinstance(u, Reduce))
    unused, body = Var("unused", inside.type), term_at(t, ("f",))
    escaped = {
        **substitution.functions,
        "g": Lambda((unused, x), body),
        "h": Lambda((x,), inside),
    }
    wrong = replace(substitution, functions=escaped, types={**substitution.types, "B": inside.type})
    with pytest.raises(NoMatch, match="uses column outside its binder"):
        apply_filled(rule, t, (), "forward", wrong, "reassociate")


def test_a_binder_of_a_rule_does_not_hide_an_input() -> None:
    """GEMV's vector is called x, like the variable of many rules: the printed term still means the same."""
    found = derive(example("gemv"), cooperative_each(8, 4), {"n": 6, "m": 128})

    assert from_json(to_json(found), RULES).replay(RULES)
