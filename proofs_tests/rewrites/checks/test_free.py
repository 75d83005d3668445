"""Tier 3: normal forms of the free algebra, and what the tier says when it cannot tell."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from relift.rewrites.checks.free.algebra import Algebra, FreeOperator, Symbol
from relift.rewrites.checks.free.tier import check_free
from relift.rewrites.checks.instances import Instances
from relift.rewrites.conditions import Condition, associative, commutative, neutral
from relift.rewrites.library import RULES
from relift.rewrites.notation import MONOID, A, B, k, m, n
from relift.rewrites.rule import Rule, rule
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.vocabulary import (
    gather,
    map,
    reduce,
    reduce_seq,
    repeat,
    split,
    take,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.types import f32

# mypy: disable-error-code="misc,no-untyped-def,valid-type"

LETTERS = st.sampled_from("abcz")
TREES: st.SearchStrategy[Any] = st.recursive(LETTERS, lambda t: st.tuples(t, t), max_leaves=6)


def evaluated(tree: Any, op: FreeOperator) -> Symbol:
    """A tree of letters, combined by the operator."""
    if isinstance(tree, str):
        return op.algebra.symbol("metavariable", tree)
    return op(evaluated(tree[0], op), evaluated(tree[1], op))


def free(*laws: str) -> FreeOperator:
    """A free operator; its neutral element, if it has one, is the letter z."""
    algebra = Algebra()
    unit = algebra.symbol("metavariable", "z") if "neutral" in laws else None
    return FreeOperator(algebra, "op", set(laws), unit)


def word(tree: Any) -> str:
    """The letters of a tree, from left to right."""
    return tree if isinstance(tree, str) else word(tree[0]) + word(tree[1])


def mirrored(tree: Any) -> Any:
    """The least tree that swapping operands gives."""
    if isinstance(tree, str):
        return tree
    return tuple(sorted((mirrored(tree[0]), mirrored(tree[1])), key=repr))


@given(TREES, TREES)
def test_associative_means_words(s: Any, t: Any) -> None:
    """Two trees are equal exactly when they spell the same word."""
    op = free("associative")

    assert (evaluated(s, op) is evaluated(t, op)) == (word(s) == word(t))


@given(TREES, TREES)
def test_commutative_monoid_means_multisets(s: Any, t: Any) -> None:
    """Two trees are equal exactly when they hold the same letters, the neutral one apart."""
    op = free("associative", "commutative", "neutral")
    letters = [sorted(word(u).replace("z", "")) for u in (s, t)]

    assert (evaluated(s, op) is evaluated(t, op)) == (letters[0] == letters[1])


@given(TREES, TREES)
def test_no_law_means_trees(s: Any, t: Any) -> None:
    """Two trees are equal exactly when they are the same tree."""
    op = free()

    assert (evaluated(s, op) is evaluated(t, op)) == (s == t)


@given(TREES, TREES)
def test_commutative_means_trees_up_to_swapping(s: Any, t: Any) -> None:
    """Two trees are equal exactly when swapping operands makes them the same."""
    op = free("commutative")

    assert (evaluated(s, op) is evaluated(t, op)) == (mirrored(s) == mirrored(t))


@given(TREES)
def test_neutral_element_disappears_from_trees(t: Any) -> None:
    """Without associativity, too, combining with the neutral element changes nothing."""
    op = free("neutral")
    z = op.algebra.symbol("metavariable", "z")
    x = evaluated(t, op)

    assert op(x, z) is x
    assert op(z, x) is x


def rule_of(function: Any, *where: Condition) -> Rule:
    """The rule that a function writes down."""
    made = rule(where=where)(function)
    assert isinstance(made, Rule), made
    return made


def two_operators(op: Op[A], ot: Op[A], z: A, xs: A[k * m], ys: A[k * m]):
    """Two operators on one type; only the first is regrouped."""
    pairs = map(lambda p: ot(p[0], p[1]), zip(xs, ys))
    return reduce(op, z, pairs), reduce(op, z, map(lambda c: reduce(op, z, c), split(m, pairs)))


def test_two_operators_on_one_type_keep_their_own_laws() -> None:
    """The laws of one operator say nothing of another on the same elements."""
    assert check_free(rule_of(two_operators, *MONOID)).status == "ok"

    other = (associative("ot"), neutral("ot", "z"))
    assert check_free(rule_of(two_operators, *other)).status == "refuted"


def test_two_operators_may_share_a_neutral_element() -> None:
    """One neutral element of two operators is one symbol, dropped by both."""

    def shared(op: Op[A], ot: Op[A], z: A, x: A):
        return op(x, ot(z, z)), ot(x, op(z, z))

    assert check_free(rule_of(shared, neutral("op", "z"), neutral("ot", "z"))).status == "ok"
    assert check_free(rule_of(shared, neutral("op", "z"))).status == "refuted"


def test_laws_of_operators_on_arrays_are_skipped_with_a_reason() -> None:
    """The free algebra over arrays is not that of their elements, so nothing is claimed."""

    def on_rows(op: Op[A[m]], z: A[m], xss: A[n, m]):
        return reduce(op, z, xss), reduce_seq(lambda acc, x: op(acc, x), z, xss)

    assert check_free(rule_of(on_rows)).status == "ok"

    skipped = check_free(rule_of(on_rows, commutative("op")))
    assert skipped.status == "skipped"
    assert "commutative(op): op works on A[m]" in skipped.detail


def test_two_neutral_elements_are_skipped_with_a_reason() -> None:
    """Two neutral elements are equal, which two symbols are not."""

    def twice(op: Op[A], y: A, z: A, xs: A[n]):
        return reduce(op, y, xs), reduce(op, z, xs)

    result = check_free(rule_of(twice, neutral("op", "y"), neutral("op", "z")))

    assert result.status == "skipped"
    assert "two neutral elements, y and z" in result.detail


def test_arithmetic_is_left_to_other_tiers() -> None:
    """Free symbols neither prove nor refute a law of numbers, and it is no law of floats."""

    def regrouped(xs: f32[n]):
        return map(lambda x: (x + 1.0) + 2.0, xs), map(lambda x: x + 3.0, xs)

    result = check_free(rule_of(regrouped))

    assert result.status == "skipped"
    assert result.needs_arithmetic
    assert "the sides agree only by what 1.0, 2.0, 3.0, add mean" in result.detail


def test_scalar_functions_are_opaque_where_that_suffices() -> None:
    """A rule that only moves scalar functions around is checked with them uninterpreted."""

    def moved(xs: f32[n]):
        return map(lambda y: y * y, map(rl.sqrt, xs)), map(lambda x: rl.sqrt(x) * rl.sqrt(x), xs)

    assert check_free(rule_of(moved)).status == "ok"


def test_roots_are_roots() -> None:
    """A law of the square root is not refuted by a function that is none; a wrong one is."""

    def right(xs: f32[n]):
        return map(lambda x: rl.sqrt(x * x), xs), map(rl.absolute, xs)

    def wrong(xs: f32[n]):
        return map(lambda x: rl.sqrt(x * x), xs), map(lambda x: x, xs)

    assert check_free(rule_of(right)).status == "skipped"
    assert check_free(rule_of(wrong)).status == "refuted"


def test_work_is_limited_and_what_was_reached_is_said() -> None:
    """What is counted is symbols, so two runs end at the same size; a part is not called complete."""
    once, again = (check_free(RULES["stencil_tiling"], bound=4, work=5000) for _ in range(2))

    assert once.status == "ok"
    assert "exhaustive to total size" in once.detail
    assert not once.complete
    assert once.detail == again.detail
    assert check_free(RULES["stencil_tiling"]).complete


def test_sizes_beside_the_numbers_of_a_rule_are_tried() -> None:
    """A rule that is right below 1000 only is refuted, and so is one that ends beyond an array from there on."""

    def late(op: Op[A], z: A, xs: A[n]):
        return reduce(op, z, gather(lambda i: i - i // 1000, xs)), reduce(op, z, xs)

    def outside(x: A):
        return gather(lambda i: i + i // 1000, repeat(n, x)), repeat(n, x)

    found = check_free(rule_of(late)).counterexample
    assert found is not None
    assert found.sizes == {"n": 1001}
    assert "index 1001 of an array of 1001" in check_free(rule_of(outside)).detail


@given(st.lists(st.sampled_from("abc"), max_size=9), st.data())
def test_bands_are_equal_when_the_laws_say_so(word: list[str], data: st.DataObject) -> None:
    """Doubling any part of a word changes nothing, and regular bands tell apart what is told apart."""
    algebra = Algebra()
    unit = algebra.symbol("z", "z")
    op = FreeOperator(algebra, "op", {"associative", "idempotent"}, unit)
    letters = {x: algebra.symbol("metavariable", x) for x in "abc"}

    def value(of: list[str]) -> Symbol:
        return functools.reduce(op, (letters[x] for x in of), unit)

    i = data.draw(st.integers(0, len(word)))
    j = data.draw(st.integers(i, len(word)))
    assert value([*word[:j], *word[i:j], *word[j:]]) is value(word)
    other = data.draw(st.lists(st.sampled_from("abc"), max_size=9))
    if value(other) is value(word):
        assert list(dict.fromkeys(other)) == list(dict.fromkeys(word))
        assert list(dict.fromkeys(other[::-1])) == list(dict.fromkeys(word[::-1]))


def test_functions_of_one_name_are_two_functions() -> None:
    """A user function is known by its body, not by its name."""
    f, g = (rl.userfun(c=f"return x + {k};")(_one_more(k)) for k in (1, 2))

    def same_name(xs: f32[n]):
        return map(f, xs), map(g, xs)

    assert check_free(rule_of(same_name)).status == "refuted"


def _one_more(k: int):
    def f(x: f32) -> f32:
        return x + k

    return f


def test_large_instances_are_left_out_and_counted() -> None:
    """An instance with too many cells is not run, and the result says so."""
    result = check_free(RULES["split_join"], largest=4)

    assert result.status == "ok"
    assert "but for 3 instances of more than 4 cells" in result.detail
    assert not result.complete


def test_no_cell_means_no_verdict() -> None:
    """A rule whose every small instance is empty is not called right."""

    def beyond(f: Fun[A, B], xs: A[n]):
        return take(n - 3, map(f, xs)), take(n - 3, map(lambda x: f(x), xs))

    result = check_free(rule_of(beyond))

    assert result.status == "skipped"
    assert "raise the bound" in result.detail
    assert check_free(rule_of(beyond), bound=4).status == "ok"


def test_sizes_come_by_rising_total_and_dimensions_are_zero() -> None:
    """Admissible assignments only, the smallest first; a dimension of OpenCL changes nothing."""
    split_join = list(Instances(RULES["split_join"]).assignments(2))
    lowering = list(Instances(RULES["map_to_glb"]).assignments(2))

    assert split_join == sorted(split_join, key=lambda sizes: sum(sizes.values()))
    assert {(s["k"], s["m"]) for s in split_join} == {(a, b) for a in range(3) for b in (1, 2)}
    assert lowering == [{"d": 0, "n": i} for i in range(3)]
