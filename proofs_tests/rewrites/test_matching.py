"""Matching: one metavariable is one term, a literal is itself, and what is bound stays where it is bound."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a rule are sizes and types of the object language, not Python types)

from __future__ import annotations

import numpy as np
import pytest

import relift as rl
from relift.rewrites.application.matching import NoMatch, apply_rule, match
from relift.rewrites.declared_laws import is_neutral
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, n
from relift.rewrites.rule import rule
from relift.semantics.notation.parser import parse_term
from relift.semantics.syntax.binding import substitute
from relift.semantics.syntax.terms import Input, Literal, Var
from relift.semantics.syntax.types import f32, i32

XS, YS = Input("xs", f32[4]), Input("ys", f32[4])


@rule()
def pairs_of_one(xs: A[n]):
    return rl.zip(xs, xs), rl.map(lambda x: (x, x), xs)


@rule()
def nothing_added(xs: f32[n]):
    return rl.map(lambda x: x + 0.0, xs), rl.map(lambda x: x + rl.f32(0), xs)


def test_a_metavariable_stands_for_one_term() -> None:
    assert match(pairs_of_one, pairs_of_one.left, rl.zip(XS, XS), {}).functions["xs"].body == XS
    with pytest.raises(NoMatch, match="xs stands for two different terms"):
        match(pairs_of_one, pairs_of_one.left, rl.zip(XS, YS), {})


@pytest.mark.parametrize("other", [-0.0, 1.0])
def test_a_literal_is_itself(other: float) -> None:
    """The zeros of two signs are two numbers."""
    match(nothing_added, nothing_added.left, rl.map(lambda x: x + 0.0, XS), {})
    with pytest.raises(NoMatch, match=f"0.0 is needed, not {other}"):
        match(nothing_added, nothing_added.left, rl.map(lambda x: x + other, XS), {})


def test_what_is_bound_inside_stays_inside() -> None:
    """Loops change places where the inner one does not run over the variable of the outer one."""
    interchange = RULES["map_interchange"]
    xss = Input("xss", f32[4, 4])

    apply_rule(interchange, rl.map(lambda x: rl.map(lambda y: x * y, YS), XS))
    with pytest.raises(NoMatch, match="ys may not use"):
        match(interchange, interchange.left, rl.map(lambda r: rl.map(lambda y: y + y, r), xss), {})


def test_a_parameter_may_be_called_like_one_around_it() -> None:
    """The inner one is meant inside: the function that stands for the metavariable takes the outer one by another name."""
    interchange = RULES["map_interchange"]
    shadowed = rl.map(lambda x: rl.map(lambda x: x + x, YS), XS)

    changed, substitution = apply_rule(interchange, shadowed)
    assert len({x.name for x in substitution.functions["h"].parameters}) == 2
    assert rl.show(changed) == "transpose(map(lambda y: map(lambda x: y + y, xs), ys))"


@pytest.mark.parametrize(
    ("text", "values", "neutral"),
    [("a * a", [0.0], True), ("a - a", [3.0], True), ("a - a", [0.5], False), ("a - a", [1000.0], False),
     ("a / b", [0.0, 2.0], False), ("a * b", [0.0, np.inf], False), ("a * x", [0.0], False), ("x - x", [], False)],
)  # fmt: skip
def test_a_neutral_number_may_be_computed_of_small_whole_numbers_alone(
    text: str, values: list[float], neutral: bool
) -> None:
    a, b, x = (Var(name, f32) for name in "abx")
    numbers = {name: Literal(value, f32) for name, value in zip("ab", values, strict=False)}

    assert is_neutral(rl.add, substitute(parse_term(text, a=a, b=b, x=x), numbers)) == neutral


@pytest.mark.parametrize("value", [1.0, -0.5])
def test_a_value_that_is_given_must_fit_its_rule(value: float) -> None:
    """The neutral element of a sum is no other number, whoever says so."""
    t = parse_term("reduce(add, 7.0, xs)", xs=Input("xs", f32[8]))
    start = RULES["reduce_start"]
    found, _ = apply_rule(start, t, direction="backward", given={"z": Literal(0.0, f32)})

    assert rl.show(found) == "add(7.0, reduce(add, 0.0, xs))"
    with pytest.raises(NoMatch, match="neutral"):
        apply_rule(start, t, direction="backward", given={"z": Literal(value, f32)})


def test_only_the_declared_number_is_neutral() -> None:
    assert is_neutral(rl.add, Literal(0, i32))
    assert is_neutral(rl.mul, Literal(1.0, f32))
    for operator, value in ((rl.add, 1), (rl.mul, 0), (rl.add, -1)):
        assert not is_neutral(operator, Literal(value, i32))
        with pytest.raises(NoMatch, match="neutral"):
            apply_rule(
                RULES["partial_reduce_chunks"],
                rl.reduce(operator, float(value), XS),
                choices={"m": 2},
            )
