"""Declared laws are tested: those that hold pass, those that do not come with values that a person can check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from relift.checking import check
from relift.egraph.search.optimize import optimize
from relift.rewrites.checks.laws import check_laws
from relift.rewrites.checks.operator_uses import require_laws
from relift.rewrites.declared_laws import neutral_of
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive, vectorize_reduction
from relift.rewrites.tactics.folds.starts import from_neutral
from relift.semantics.errors import IllTyped, ReliftError
from relift.semantics.indices.functions import shift
from relift.semantics.language import programs
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.vocabulary import VOCABULARY
from relift.semantics.notation.parser import parse_term
from relift.semantics.syntax.terms import BinaryOperator, Input
from relift.semantics.syntax.types import (
    INTEGERS,
    Scalar,
    Tuple,
    Type,
    boolean,
    f32,
    i32,
    i64,
    nat,
    tup,
)


def made(function: Callable[..., Any], **laws: Any) -> BinaryOperator:
    return rl.operator(function, name="op", **laws)


BOTH = {"associative": True, "commutative": True}


@pytest.mark.parametrize(
    ("operator", "element"),
    [
        (rl.add, f32),
        (rl.mul, i32),
        (made(rl.minimum, **BOTH, neutral=float("inf")), f32),
        (made(rl.minimum, **BOTH, neutral=float("inf")), i32),
        (made(rl.maximum, **BOTH, neutral=-float("inf")), i32),
        (made(lambda x, y: x & y, **BOTH, neutral=True), boolean),
        (made(lambda x, y: x ^ y, **BOTH, neutral=0), i32),
        (made(lambda x, y: x, associative=True), i32),
        (made(lambda a, b: (a[0] + b[0], rl.maximum(a[1], b[1])), **BOTH), tup(f32, i32)),
        (made(lambda x, y: x - y), i32),
        (rl.sub, f32),
        (made(lambda x, y: x ^ y, telescopes_over=(made(lambda x, y: x ^ y),)), i32),
    ],
)
def test_what_holds_passes(operator: BinaryOperator, element: Type) -> None:
    """On numbers, truth values and pairs; without declared laws there is nothing to break."""
    assert check_laws(operator, element) is None


@pytest.mark.parametrize("element", INTEGERS.values(), ids=str)
def test_the_ends_of_whole_numbers_are_neutral(element: Scalar) -> None:
    """The least is in `maximum`, the greatest in `minimum`; of an operator of one's own nothing is said that it does not say."""
    for of, end in zip((rl.maximum, rl.minimum), element.range, strict=True):
        assert of.operator is not None
        assert neutral_of(of.operator.laws, element) == end
        assert check_laws(of.operator, element, examples=20) is None
    own = made(rl.maximum, **BOTH, neutral=-float("inf"))
    assert neutral_of(own.laws, element) is None


def test_the_largest_of_whole_numbers_is_found_in_vectors() -> None:
    """As a fold of floats, it may start anew for each lane, whatever it started from."""
    x = Input("x", i32[64])
    largest = programs.Program("largest", (x,), rl.reduce(rl.maximum, -5, x))
    steps = derive(largest, from_neutral(vectorize_reduction(16))).steps
    assert [step.rule for step in steps] == ["reduce_start", "vectorize_reduce"]


@pytest.mark.parametrize(
    ("operator", "element", "message"),
    [
        (made(lambda x, y: x - y, associative=True), i32, "declared associative, but with x = "),
        (made(lambda x, y: x, commutative=True), i32, "x = 0, y = 1 the sides are 0 and 1"),
        (made(lambda x, y: (x + y) / 2, **BOTH), f32, "declared associative"),
        (made(rl.maximum, **BOTH, neutral=0), i32, "the neutral element 0, but with x = -1"),
        (made(lambda x, y: x - y, neutral=0), i32, "the neutral element 0, but with x = 1 "),
        (made(lambda x, y: x & ~y, commutative=True), boolean, "declared commutative"),
        (made(lambda x, y: y, neutral=0), i32, "the neutral element 0, but with x = "),
        (made(lambda x, y: x * y, neutral=1 + 2**-20), f32, "the neutral element 1.00000095"),
        (made(lambda x, y: x, distributes_over=(rl.add,)), i32, "declared to distribute over add"),
        (made(lambda x, y: y, distributes_over=(rl.add,)), i32, "declared to distribute over add"),
        (
            made(lambda x, y: y - x, telescopes_over=(rl.mul,)),
            i32,
            "declared to telescope over mul",
        ),
        (
            made(lambda x, y: x + y, telescopes_over=(rl.add,)),
            f32,
            "declared to telescope over add",
        ),
        (made(lambda a, b: (a[0], b[0]), commutative=True), tup(i32, i32), r"x = (0, 0), y = "),
    ],
)
def test_what_does_not_hold_is_refuted(
    operator: BinaryOperator, element: Type, message: str
) -> None:
    """With the simplest values that Hypothesis finds."""
    assert message in str(check_laws(operator, element))


@pytest.mark.parametrize(
    "operator", [made(lambda x, y: y, neutral=0), made(lambda x, y: x, neutral=0)]
)
def test_a_neutral_element_is_one_on_both_sides(operator: BinaryOperator) -> None:
    """0 leaves every number as it is on one side, and takes its place on the other."""
    assert "the neutral element 0, but with x = 1 " in str(check_laws(operator, i32, examples=20))


def saturating(limit: float) -> BinaryOperator:
    """A sum that stops at a limit, and is not associative with what is negative."""
    return made(lambda x, y: rl.select(x + y < limit, x + y, limit), associative=True, neutral=0)


@pytest.mark.parametrize("limit", [100.0, 1e6, 3e9])
def test_the_numbers_of_an_operator_are_among_its_values(limit: float) -> None:
    """A law that breaks at a number that the operator is written with is found, however large it is."""
    assert "declared associative" in str(check_laws(saturating(limit), f32))


@pytest.mark.parametrize("neutral", [-1000.0, -1e9])
def test_a_neutral_element_that_is_nearly_one_is_refuted(neutral: float) -> None:
    largest = made(lambda x, y: rl.select(x < y, y, x), associative=True, neutral=neutral)
    assert "the neutral element" in str(check_laws(largest, f32))


@pytest.mark.parametrize(
    "name", sorted(n for n, op in VOCABULARY.items() if isinstance(op, BinaryOperator))
)
@pytest.mark.parametrize("element", [f32, i32])
def test_what_relift_declares_of_its_own_operators_holds(name: str, element: Type) -> None:
    """`require_laws` does not test these again."""
    of_pairs = name.startswith(("first_", "earliest_", "latest_"))
    of = Tuple((element, i32)) if of_pairs else element  # an element, and its place
    assert check_laws(VOCABULARY[name], of, examples=60) is None


@pytest.mark.parametrize("extreme", [rl.minimum, rl.maximum])
def test_what_relift_declares_of_the_extremes_holds_of_floats_only(
    extreme: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The infinities are no whole numbers: `require_laws` tests what is declared of those, and of floats not again."""
    assert check_laws(extreme.operator, f32, examples=60) is None
    xs, ns = Input("xs", f32[4]), Input("ns", i32[4])
    tested: list[Type] = []

    def watched(operator: BinaryOperator, of: Type, **_: Any) -> None:
        tested.append(of)

    monkeypatch.setattr("relift.rewrites.checks.laws.check_laws", watched)
    require_laws(parse_term(f"reduce({extreme.__name__}, 0.0, xs)", xs=xs))
    assert tested == []
    require_laws(parse_term(f"reduce({extreme.__name__}, 0, ns)", ns=ns))
    assert tested == [i32]


def test_an_operator_that_leaves_the_rationals_is_granted_its_rounding() -> None:
    """log(exp x + exp y) is associative up to rounding; a root of a sum of squares and another is not."""
    sums = made(lambda x, y: rl.log(rl.exp(x) + rl.exp(y)), **BOTH)
    other = made(lambda x, y: rl.sqrt(x * x + rl.absolute(y)), associative=True)

    assert check_laws(sums, f32) is None
    assert "declared associative" in str(check_laws(other, f32))


def wavy(function: Callable[[Any, Any], Any], **laws: Any) -> BinaryOperator:
    """The same with a sine of nothing in it, so that it leaves the rationals."""
    return made(lambda x, y: function(x, y) + rl.sin(x * 0.0), **laws)


@pytest.mark.parametrize(
    "operator",
    [
        wavy(lambda x, y: rl.select(x + y < 100.0, x + y, 100.0), associative=True),
        wavy(lambda x, y: rl.select(rl.equal(x, 12345.0), y, x + y), associative=True),
        wavy(rl.maximum, neutral=-1000.0),
    ],
)
def test_the_numbers_of_an_operator_are_tried_where_it_leaves_the_rationals(
    operator: BinaryOperator,
) -> None:
    """Beyond the small ones, as they are of other operators."""
    assert check_laws(operator, f32) is not None


@pytest.mark.parametrize(
    ("function", "neutral", "element"),
    [
        (rl.maximum, -(2**31), i32),
        (rl.minimum, 2**31 - 1, i32),
        (rl.maximum, -(2**63), i64),
        (rl.maximum, -float(np.finfo(np.float32).max), f32),
        (rl.maximum, -(2**31), i64),
    ],
)
def test_a_law_is_declared_of_the_values_of_a_type(
    function: Any, neutral: float, element: Type
) -> None:
    """The least i32 is neutral for the maximum of i32, and of no wider type."""
    broken = check_laws(made(function, neutral=neutral), element)
    assert (broken is None) == (element != i64 or neutral != -(2**31))


def test_extremes_are_operators_wherever_operators_are() -> None:
    """`maximum` and `minimum` are functions that are also operators: a sum distributes over them, and of lanes they are folds."""
    plus = rl.operator(lambda x, y: x + y, distributes_over=(rl.maximum, rl.minimum), name="plus")
    assert [o.name for o in plus.laws.distributes_over] == ["maximum", "minimum"]
    assert check_laws(plus) is None
    minus = rl.operator(lambda x, y: x - y, distributes_over=(rl.maximum,), name="minus")
    assert "distribute over maximum" in str(check_laws(minus))

    v = Input("v", f32[3, 4])
    rows = rl.map(lambda row: rl.head(rl.as_vector(4, row)), v)
    fold = rl.reduce_seq(rl.vectorize(4, rl.maximum), rl.head(rows), rows)
    greatest = programs.Program("greatest", (v,), fold)
    table = np.array([[1, 8, 3, 0], [2, 5, 9, 0], [4, 4, 4, 0]], dtype=np.float32)
    assert list(greatest(table)) == [4, 8, 9, 0]


def test_a_neutral_element_is_a_number() -> None:
    """One of pairs cannot be declared, and a number is none of pairs; each is said."""
    with pytest.raises(
        IllTyped, match=r"operator op: its neutral element is a number, not \(0, 0\)"
    ):
        made(lambda p, q: (p[0] + q[0], p[1] + q[1]), neutral=(0, 0))
    pairs = made(lambda p, q: (p[0] + q[0], p[1] + q[1]), neutral=0)
    with pytest.raises(ReliftError, match=r"neutral element 0, which is no \(i32, i32\)"):
        check_laws(pairs, tup(i32, i32))
    assert made(lambda x, y: x + y, neutral=np.float32(0)).laws.neutral == 0.0


@pytest.mark.parametrize(
    ("neutral", "element"), [(0.5, i32), (2**31, i32), (-1, boolean), (2**63, i64)]
)
def test_a_neutral_element_is_a_value_of_the_type(neutral: float, element: Type) -> None:
    """Another number is said to be none, and no rule puts it there."""
    product = made(lambda x, y: x * y, neutral=neutral)
    assert neutral_of(product.laws, element) is None
    with pytest.raises(ReliftError, match=f"neutral element {neutral}, which is no {element}; say"):
        check_laws(product, element)


@pytest.mark.parametrize("neutral", [-1, -1.0])
def test_a_whole_float_is_neutral_among_whole_numbers(neutral: float) -> None:
    """-1.0 is declared for -1: of bits, too, which fractions have not."""
    both = made(lambda x, y: x & y, associative=True, neutral=neutral)
    assert check_laws(both, i32) is None
    assert repr(neutral_of(both.laws, i32)) == "-1"


def test_rows_and_vectors_are_combined_too() -> None:
    """Operators on arrays, element by element."""
    rows = made(lambda x, y: rl.map(lambda p: p[0] - p[1], rl.zip(x, y)), associative=True)
    assert "declared associative" in str(check_laws(rows, f32[4]))


def total(operator: BinaryOperator) -> programs.Program:
    """The sum of 64 numbers by an operator."""
    x = Input("x", f32[64])
    return programs.Program("total", (x,), rl.reduce(operator, 0.0, x))


MINUS = made(lambda x, y: x - y, associative=True, commutative=True, neutral=0)


def test_a_law_of_short_rows_is_none_of_longer_ones() -> None:
    """Turned by two places, a row of two is as it was; of rows of a named length several are tried, none too short."""
    turned = made(
        lambda x, y: rl.map(lambda p: p[0] + p[1], rl.zip(x, rl.gather(shift(2), y))), **BOTH
    )
    assert check_laws(turned, i32[2], examples=5) is None
    assert "declared associative" in str(check_laws(turned, i32[nat("n")], examples=5))
    last = made(lambda x, y: rl.concat(rl.take(2, x), rl.drop(2, y)), associative=True)
    assert check_laws(last, i32[nat("n", least=3)], examples=5) is None


def test_a_search_a_check_and_a_term_refuse_a_law_that_does_not_hold() -> None:
    """`optimize` and `check` say in one line what breaks it, with values."""
    message = "op is declared associative, but with x = 0, y = 0, z = 1 the sides are -1 and 1"
    with pytest.raises(ReliftError, match=message):
        optimize(total(MINUS), {})
    with pytest.raises(ReliftError, match=message):
        require_laws(total(MINUS).body)
    report = check(replace(RULES["split_join"], right=total(MINUS).body))
    assert report.headline == "failed"
    assert message in report.text()
    require_laws(total(made(lambda x, y: x + y, **BOTH, neutral=0)).body)
