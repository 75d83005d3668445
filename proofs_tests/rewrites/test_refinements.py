"""Open cells: what they do to values, which rules over them hold, and where they may not be copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relift.egraph.encode.equations import NotSearchable
from relift.egraph.encode.rules import encode_rule
from relift.rewrites.application.matching import NoMatch, apply_rule
from relift.rewrites.checks.free.tier import check_free
from relift.rewrites.checks.random.tier import check_random
from relift.rewrites.checks.tiers import check_rule
from relift.rewrites.conditions import associative, commutative
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, B, k, m, n
from relift.rewrites.rule import Rule, rule
from relift.semantics.domains import Exact
from relift.semantics.errors import Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language import programs
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.vocabulary import drop, map, pad, pad_empty, reduce, take, zip
from relift.semantics.notation.printer import show
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.terms import Input, Term
from relift.semantics.syntax.types import f32, i32

# mypy: disable-error-code="misc,no-untyped-def,valid-type"
# pyright: reportGeneralTypeIssues=false
# (f32[6] in an annotation is a type of the object language)


@rule(refinement=True)
def constant_border(z: A, xs: A[n]):
    return pad_empty(m, k, xs), pad(m, k, z, xs)


@rule(refinement=True)
def map_inside_border(f: Fun[A, B], xs: A[n]):
    return pad_empty(m, k, map(f, xs)), map(f, pad_empty(m, k, xs))


@rule()
def border_dropped(xs: A[n]):
    return take(n, drop(m, pad_empty(m, k, xs))), xs


@rule()
def borders_joined(xs: A[n]):
    return pad_empty(m, 0, pad_empty(0, k, xs)), pad_empty(m, k, xs)


@rule()
def shared_pairs(xs: A[n]):
    return map(lambda x: (x, x), xs), zip(xs, xs)


HOLD: list[Rule] = [constant_border, map_inside_border, border_dropped, borders_joined]


@rule()
def constant_border_as_equation(z: A, xs: A[n]):
    return pad_empty(m, k, xs), pad(m, k, z, xs)


@rule(refinement=True)
def map_out_of_border(f: Fun[A, B], xs: A[n]):
    return map(f, pad_empty(m, k, xs)), pad_empty(m, k, map(f, xs))


@rule(refinement=True)
def border_left_open(z: A, xs: A[n]):
    return pad(m, k, z, xs), pad_empty(m, k, xs)


@rule(refinement=True)
def one_cell_seen_twice(xs: A[1]):
    return (
        map(lambda x: (x, x), pad_empty(1, 0, xs)),
        zip(pad_empty(1, 0, xs), pad_empty(1, 0, xs)),
    )


@pytest.mark.parametrize("correct", HOLD, ids=lambda r: r.name)
def test_rule_passes(correct: Rule) -> None:
    """Each content of the right's unspecified cells is one that the left's may have."""
    report = check_rule(correct)
    assert [result.status for result in report.results] == ["ok"] * 3, report.text()


@pytest.mark.parametrize(
    "wrong",
    [constant_border_as_equation, map_out_of_border, border_left_open, one_cell_seen_twice],
    ids=lambda r: r.name,
)
def test_wrong_refinement_is_refuted(wrong: Rule) -> None:
    """Not backwards, not where f may miss values, not where a cell must have two contents."""
    assert check_free(wrong).status == "refuted"


@pytest.mark.parametrize("wrong", [constant_border_as_equation, border_left_open], ids=str)
def test_random_models_see_a_cell_left_open(wrong: Rule) -> None:
    """What is fixed on the left may not be open on the right."""
    assert check_random(wrong).status == "refuted"


@rule(where=[associative("op"), commutative("op")], refinement=True)
def sum_with_border(op: Op[A], z: A, xs: A[n]):
    return (
        reduce(op, z, pad_empty(1, 0, xs)),
        reduce(op, z, pad(1, 0, z, xs)),
    )


def test_open_cells_inside_an_operator_are_skipped() -> None:
    """What fills a cell inside a word is not searched for, and the tier says so."""
    result = check_free(sum_with_border)
    assert (result.status, result.detail) == (
        "skipped",
        "free symbols cannot tell what fills a cell inside an operator",
    )


def test_the_arrow_says_that_a_rule_is_a_refinement() -> None:
    """It is printed with an arrow, and search never unites its sides."""
    assert constant_border.equation() == "pad_empty(m, k, xs) -> pad(m, k, z, xs)"
    for refused in (constant_border, border_dropped):
        with pytest.raises(NotSearchable, match=r"refinement|leaves open"):
            encode_rule(refused)


# ---- values

xs = Input("xs", f32[2])


def value(t: Term, **inputs: Any) -> Any:
    return evaluate(t, World(inputs=inputs, domain=Exact()))


def test_arithmetic_does_not_accept_an_open_cell() -> None:
    """What is computed from an unspecified cell is open; the other cells are what they are."""
    t = map(lambda x: rl.sqrt(rl.maximum(x, 4.0) * 0.0 + 9.0), pad_empty(1, 1, xs))
    found = evaluate(t, World(inputs={"xs": [np.float32(1), np.float32(2)]}))
    assert repr(found) == "[unspecified, np.float32(3.0), np.float32(3.0), unspecified]"


def test_open_cells_that_are_dropped_change_nothing() -> None:
    """A border that is computed on and cut away leaves a defined program."""
    t = take(2, drop(1, map(lambda x: x + 1.0, pad_empty(1, 1, xs))))
    assert value(t, xs=[1, 2]) == [2, 3]


@pytest.mark.parametrize(
    ("term", "what"),
    [
        (map(lambda x: rl.select(x < 1.0, x, 0.0), pad_empty(1, 0, xs)), "a branch"),
        (
            map(lambda i: rl.at_runtime(i, 0.0, xs), pad_empty(1, 0, Input("ids", i32[2]))),
            "an index",
        ),
    ],
)
def test_a_branch_on_an_open_cell_is_undefined(term: Term, what: str) -> None:
    """The message says what depends on the cell and where the cell comes from."""
    with pytest.raises(Undefined, match=f"{what} depends on a cell that pad_empty leaves open"):
        value(term, xs=[1, 2], ids=[0, 1])


def test_open_cells_in_numpy() -> None:
    """NaN in floats, 0 in whole numbers."""

    @programs.program
    def both(x: f32[2], i: i32[2]):
        return pad_empty(1, 0, x), pad_empty(0, 1, i)

    floats, wholes = both(np.array([1, 2], np.float32), np.array([3, 4], np.int32))
    np.testing.assert_array_equal(floats, [np.nan, 1, 2])
    np.testing.assert_array_equal(wholes, [3, 4, 0])


# ---- applying


def test_a_refinement_is_confirmed_at_small_sizes() -> None:
    """The program after the step is one that the source may be; the other way round it is not."""

    @programs.program
    def program(row: f32[4]):
        return pad_empty(1, 1, map(lambda x: x + 1.0, row))

    t, substitution = apply_rule(map_inside_border, program.body)
    rules = {"map_inside_border": map_inside_border}
    step = Step("map_inside_border", "forward", (), substitution)
    derivation = Derivation(program, {}, (step,), t)

    assert show(t) == "map(lambda x: x + 1.0, pad_empty(1, 1, row))"
    assert confirm(derivation, rules) is not None


def test_a_refinement_is_not_applied_backwards() -> None:
    """From right to left it would open cells that are fixed."""
    with pytest.raises(NoMatch, match="refinement: it holds from left to right only"):
        apply_rule(constant_border, pad(1, 1, 0.0, xs), direction="backward")


def test_open_cells_are_not_copied() -> None:
    """zip(xs, xs) of a border would leave each cell open twice, with two contents."""
    with pytest.raises(NoMatch, match="xs has cells that pad_empty leaves open, and is copied"):
        apply_rule(shared_pairs, map(lambda x: (x, x), pad_empty(1, 1, xs)))


def test_open_cells_elsewhere_do_not_reach_what_needs_no_variable() -> None:
    """It is the same wherever it stands: steps of the kernel that stores it are done beside one with open cells."""

    def doubled(of: Any) -> Any:
        return map(lambda x: rl.select(x < 0.0, 1.0, x) * 2.0, of)

    fusion, parts = RULES["map_fusion"], {"g": ("f", "arguments.0")}
    open_cells = pad_empty(1, 1, xs)
    beside = rl.concat(rl.to_global(doubled(xs)), open_cells)
    apply_rule(fusion, beside, ("xs", "xs"), direction="backward", parts=parts)
    within = rl.concat(rl.to_global(doubled(open_cells)), xs)
    of_each = map(lambda y: rl.reduce(rl.add, y, doubled(rl.repeat(2, y))), open_cells)
    for t, place in ((within, ("xs", "xs")), (of_each, ("f", "xs"))):
        with pytest.raises(NoMatch, match="select is not"):
            apply_rule(fusion, t, place, direction="backward", parts=parts)
