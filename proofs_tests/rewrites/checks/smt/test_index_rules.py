"""Rules over index functions, and the laws idempotent and distributive: checked, guarded, applied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relift.egraph.encode.equations import NotSearchable
from relift.egraph.encode.rules import encode_rule
from relift.rewrites.application.matching import NoMatch, apply_rule
from relift.rewrites.checks.free.algebra import Algebra, FreeOperator, Symbol
from relift.rewrites.checks.free.tier import check_free
from relift.rewrites.checks.guards import infer_guard
from relift.rewrites.checks.laws import check_laws
from relift.rewrites.checks.random.operations import LEAF_VALUES, OPERATIONS, Leaf, Operation
from relift.rewrites.checks.random.tier import check_random
from relift.rewrites.checks.smt.tables import all_tables
from relift.rewrites.checks.tiers import check_rule
from relift.rewrites.conditions import (
    associative,
    bijective,
    commutative,
    distributive,
    idempotent,
    inverse,
)
from relift.rewrites.derivation.files import from_json, to_json
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.notation import A, B, n
from relift.rewrites.rule import RejectedRule, Rule, rule
from relift.semantics.indices.functions import reverse, shift
from relift.semantics.language import programs
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.vocabulary import concat, gather, map, reduce, scatter
from relift.semantics.notation.printer import show
from relift.semantics.syntax.signatures import Fun, Index, Op
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.terms import Input, Term
from relift.semantics.syntax.types import f32, i32

# mypy: disable-error-code="misc,no-untyped-def,valid-type"
# pyright: reportGeneralTypeIssues=false
# (f32[6] in an annotation is a type of the object language)


@rule()
def gather_of_map(p: Index[n], f: Fun[A, B], xs: A[n]):
    return gather(p, map(f, xs)), map(f, gather(p, xs))


@rule()
def gather_of_gather(p: Index[n], q: Index[n], xs: A[n]):
    return gather(q, gather(p, xs)), gather(lambda i: p(q(i)), xs)


@rule(where=[bijective("p")])
def gather_of_scatter(p: Index[n], xs: A[n]):
    return gather(p, scatter(p, xs)), xs


@rule(where=[inverse("p", "q")])
def gathers_undone(p: Index[n], q: Index[n], xs: A[n]):
    return gather(p, gather(q, xs)), xs


@rule(where=[inverse("p", "p")])
def gather_to_scatter(p: Index[n], xs: A[n]):
    return gather(p, xs), scatter(p, xs)


@rule(where=[idempotent("op")])
def combined_with_itself(op: Op[A], xs: A[n]):
    return map(lambda x: op(x, x), xs), xs


@rule(where=[associative("op"), commutative("op"), idempotent("op")])
def reduced_there_and_back(op: Op[A], z: A, xs: A[n]):
    return reduce(op, z, concat(xs, gather(reverse, xs))), reduce(op, z, xs)


@rule(where=[distributive("times", "plus")])
def common_factor(times: Op[A], plus: Op[A], c: A, z: A, xs: A[n]):
    return (
        reduce(plus, times(c, z), map(lambda x: times(c, x), xs)),
        times(c, reduce(plus, z, xs)),
    )


HOLD: list[Rule] = [
    gather_of_map, gather_of_gather, gather_of_scatter, gathers_undone, gather_to_scatter,
    combined_with_itself, reduced_there_and_back, common_factor,
]  # fmt: skip


@rule()
def composed_in_wrong_order(p: Index[n], q: Index[n], xs: A[n]):
    return gather(q, gather(p, xs)), gather(lambda i: q(p(i)), xs)


@rule(where=[bijective("p")])
def scatter_for_gather(p: Index[n], xs: A[n]):
    return gather(p, xs), scatter(p, xs)


@rule(where=[idempotent("op")])
def reversed_idempotent(op: Op[A], z: A, xs: A[n]):
    return map(lambda x: op(x, z), xs), map(lambda x: op(z, x), xs)


@rule(where=[associative("plus"), commutative("plus"), distributive("times", "plus")])
def factor_left_inside(times: Op[A], plus: Op[A], c: A, z: A, xs: A[n]):
    return reduce(plus, z, map(lambda x: times(c, x), xs)), times(c, reduce(plus, z, xs))


WRONG = [composed_in_wrong_order, scatter_for_gather, reversed_idempotent, factor_left_inside]


@pytest.mark.parametrize("correct", HOLD, ids=lambda r: r.name)
def test_rule_passes(correct: Rule) -> None:
    """Random tables and every table up to the bound agree; nothing is skipped."""
    report = check_rule(correct)
    assert [result.status for result in report.results] == ["ok"] * 3, report.text()


@pytest.mark.parametrize("wrong", WRONG, ids=lambda r: r.name)
def test_wrong_rule_is_refuted(wrong: Rule) -> None:
    """Random models and free symbols both find it out."""
    assert check_random(wrong).status == "refuted"
    assert check_free(wrong).status == "refuted"


@pytest.mark.parametrize(
    ("stated", "dropped"),
    [pytest.param(r, i, id=f"{r.name}-{c}") for r in HOLD for i, c in enumerate(r.where)],
)
def test_no_condition_is_redundant(stated: Rule, dropped: int) -> None:
    """Without any one of its conditions a rule is refuted."""
    where = tuple(c for i, c in enumerate(stated.where) if i != dropped)
    result = check_free(replace(stated, where=where))
    assert result.status == "refuted", result.text()


@pytest.mark.parametrize(
    ("stated", "guard"),
    [
        (gather_of_scatter, "p is a permutation"),
        (gather_to_scatter, "p is its own inverse"),
        (gathers_undone, "p and q are inverse"),
        (combined_with_itself, "op is idempotent"),
    ],
    ids=lambda x: x.name if isinstance(x, Rule) else "",
)
def test_missing_condition_is_named(stated: Rule, guard: str) -> None:
    """The menu of guards has index functions and idempotence."""
    found = infer_guard(replace(stated, where=()))
    assert found is not None
    assert found.conditions == (guard,)


def test_all_tables_are_tried() -> None:
    """27 maps of three indices, 6 permutations, 6 inverse pairs, 4 involutions."""
    counts = [
        sum(1 for _ in all_tables(r, {"n": 3}))
        for r in (gather_of_map, gather_of_scatter, gathers_undone, gather_to_scatter)
    ]
    assert counts == [27, 6, 6, 4]


# ---- applying

xs = Input("xs", f32[6])


def test_matching_binds_an_index_function() -> None:
    """The metavariable becomes what stands in the program."""
    before = gather(shift(2), map(lambda x: x + 1, xs))
    after, substitution = apply_rule(gather_of_map, before)

    assert show(after) == "map(lambda x: x + 1.0, gather(lambda i: (i + 2) % 6, xs))"
    assert str(substitution.indices["p"]) == "lambda i: (i + 2) % 6"


def test_composition_is_filled_in() -> None:
    """`p(q(i))` has q in the place of the index of p."""
    after, _ = apply_rule(gather_of_gather, gather(shift(2), gather(reverse, xs)))
    assert show(after) == "gather(lambda i: 5 - (i + 2) % 6, xs)"


def gathered_pair(p: Any, q: Any) -> Term:
    made: Term = gather(p, gather(q, xs))
    return made


def test_conditions_are_decided_on_the_functions() -> None:
    """Shifts by 2 and by 4 of six elements are inverse, those by 2 and by 3 are not."""
    after, _ = apply_rule(gathers_undone, gathered_pair(shift(2), shift(4)))
    assert after == xs
    with pytest.raises(NoMatch, match=r"inverse\(p, q\) does not hold of lambda i: \(i \+ 2\) % 6"):
        apply_rule(gathers_undone, gathered_pair(shift(2), shift(3)))


def test_an_escaping_index_function_is_no_match() -> None:
    """An index metavariable stands for functions that stay in the array only."""
    with pytest.raises(NoMatch, match="p takes index 5 out of 6 elements"):
        apply_rule(gather_of_map, gather(lambda i: i + 1, map(lambda x: x + 1, xs)))


def test_open_lengths_are_no_match() -> None:
    """Whether a function stays in the array is known at numbers."""
    ys = Input("ys", f32[nat("N")])
    with pytest.raises(NoMatch, match="for a number of elements only"):
        apply_rule(gather_of_map, gather(reverse, map(lambda x: x + 1, ys)))


def test_what_a_side_leaves_open_is_named() -> None:
    """Backwards, nothing says what q is."""
    with pytest.raises(NoMatch, match="q is not determined by this side"):
        apply_rule(gather_of_gather, gather(shift(2), xs), direction="backward")


def test_declared_laws_are_required() -> None:
    """`mul` is declared to distribute over `add`; other operators are not."""
    other = rl.operator(lambda x, y: x * y, name="other")
    row = Input("row", f32[4])
    c = Input("c", f32)

    def factored(times: Any) -> Term:
        made: Term = reduce(rl.add, times(c, Input("z", f32)), map(lambda x: times(c, x), row))
        return made

    after, _ = apply_rule(common_factor, factored(rl.mul))
    assert show(after) == "mul(c, reduce(add, z, row))"
    with pytest.raises(NoMatch, match=r"distributive\(times, plus\) is not declared"):
        apply_rule(common_factor, factored(other))
    with pytest.raises(NoMatch, match="float=exact forbids it"):
        apply_rule(common_factor, factored(rl.mul), policy="exact")


def test_a_derivation_keeps_declared_laws() -> None:
    """An operator read from a file is idempotent if it was, so the step replays."""
    larger = rl.operator(lambda x, y: rl.maximum(x, y), idempotent=True, name="larger")

    @programs.program
    def program(xs: f32[6]):
        return gather(shift(2), map(lambda x: larger(x, x), xs))

    rules = {"combined_with_itself": combined_with_itself}
    t, substitution = apply_rule(combined_with_itself, program.body, ("xs",))
    step = Step("combined_with_itself", "forward", ("xs",), substitution)
    first = Derivation(program, {}, (step,), t)
    again = from_json(to_json(first, rules), rules)
    assert again.result == t == gather(shift(2), program.parameters[0])


def test_a_derivation_reads_index_functions_back() -> None:
    """What an index metavariable stood for is written in the file."""

    @programs.program
    def program(xs: f32[6]):
        return gather(shift(2), map(lambda x: x + 1.0, xs))

    t, substitution = apply_rule(gather_of_map, program.body)
    step = Step("gather_of_map", "forward", (), substitution)
    rules = {"gather_of_map": gather_of_map}
    data = to_json(Derivation(program, {}, (step,), t), rules)

    assert data["steps"][0]["indices"] == {"p": "lambda i: (i + 2) % 6"}
    assert from_json(data, rules).steps[0].substitution == substitution


def test_search_refuses_index_functions_with_a_reason() -> None:
    """Such a rule is no rewrite of the e-graph, and it says why."""
    with pytest.raises(NotSearchable, match="the e-graph"):
        encode_rule(gather_of_map)


# ---- what is refused when a rule is made


@rule()
def index_of_another_length(p: Index[n], xs: A[2 * n]):
    return gather(p, xs), xs


@rule(where=[bijective("xs")])
def bijective_data(xs: A[n]):
    return xs, xs


@rule(where=[inverse("p", "q")])
def inverse_of_another_length(p: Index[n], q: Index[n + 1], xs: A[n]):
    return gather(p, xs), gather(p, xs)


@rule(where=[distributive("op", "op")])
def distributive_over_itself(op: Op[A], xs: A[n]):
    return xs, xs


@rule(where=[distributive("op", "other")])
def distributive_over_another_type(op: Op[A], other: Op[B], xs: A[n]):
    return xs, xs


@pytest.mark.parametrize(
    ("rejected", "why"),
    [
        (index_of_another_length, "p is an index function of arrays of length n, but this one has"),
        (bijective_data, r"bijective\(xs\) needs an index metavariable xs: Index\[n\]"),
        (inverse_of_another_length, "needs index metavariables of one length"),
        (distributive_over_itself, "needs two operators"),
        (distributive_over_another_type, r"needs an operator metavariable other: Op\[A\]"),
    ],
)
def test_ill_formed_rule_is_rejected(rejected: Any, why: str) -> None:
    """The message names the rule's condition and what it needs."""
    assert isinstance(rejected, RejectedRule)
    with pytest.raises(type(rejected.error), match=why):
        raise rejected.error


@rule(where=[associative("op"), idempotent("op")])
def a_band(op: Op[A], xs: A[n], y: A):
    return map(lambda x: op(op(x, y), op(x, y)), xs), map(lambda x: op(x, y), xs)


@rule(where=[distributive("times", "plus")])
def multiplied_out_both_ways(times: Op[A], plus: Op[A], xs: A[n], y: A, z: A):
    return (
        map(lambda x: plus(times(x, plus(y, z)), times(y, plus(y, z))), xs),
        map(lambda x: plus(times(plus(x, y), y), times(plus(x, y), z)), xs),
    )


@rule(where=[associative("op"), idempotent("op")])
def commuting_band(op: Op[A], xs: A[n], y: A):
    return map(lambda x: op(x, y), xs), map(lambda x: op(y, x), xs)


@pytest.mark.parametrize(
    ("unknown", "status"),
    [(multiplied_out_both_ways, "skipped"), (commuting_band, "refuted")],
    ids=lambda x: x.name if isinstance(x, Rule) else x,
)
def test_without_a_normal_form_only_a_model_refutes(unknown: Rule, status: str) -> None:
    """Free symbols cannot tell what other laws equate; they claim neither truth nor falsehood."""
    assert check_free(unknown).status == status
    assert check_random(unknown).status == ("ok" if status == "skipped" else "refuted")


# ---- normal forms and operations

LETTERS = st.sampled_from("abc")
TREES: st.SearchStrategy[Any] = st.recursive(
    LETTERS, lambda t: st.tuples(st.sampled_from("*+"), t, t), max_leaves=5
)


def polynomial(tree: Any) -> tuple[str, ...]:
    """A tree of sums and products multiplied out: its words, sorted."""
    if isinstance(tree, str):
        return (tree,)
    symbol, left, right = tree
    x, y = polynomial(left), polynomial(right)
    return tuple(sorted(x + y if symbol == "+" else [p + q for p in x for q in y]))


@given(TREES, TREES)
def test_distributive_means_sums_of_words(s: Any, t: Any) -> None:
    """Two trees are equal exactly when they multiply out to the same sum of words."""
    algebra = Algebra()
    plus = FreeOperator(algebra, "plus", {"associative", "commutative"}, None)
    times = FreeOperator(algebra, "times", {"associative"}, None, plus)

    def value(tree: Any) -> Symbol:
        if isinstance(tree, str):
            return algebra.symbol("metavariable", tree)
        return (plus if tree[0] == "+" else times)(value(tree[1]), value(tree[2]))

    assert (value(s) is value(t)) == (polynomial(s) == polynomial(t))


def folded(tree: Any) -> Any:
    """A tree with each node of two equal parts replaced by the part."""
    if isinstance(tree, str):
        return tree
    left, right = folded(tree[1]), folded(tree[2])
    return left if left == right else (left, right)


@given(TREES, TREES)
def test_idempotent_means_folded_trees(s: Any, t: Any) -> None:
    """Two trees are equal exactly when they fold to the same tree; of sets, when they have the same letters."""
    algebra = Algebra()
    tree = FreeOperator(algebra, "op", {"idempotent"}, None)
    union = FreeOperator(algebra, "or", {"associative", "commutative", "idempotent"}, None)

    def value(op: FreeOperator, u: Any) -> Symbol:
        if isinstance(u, str):
            return algebra.symbol("metavariable", u)
        return op(value(op, u[1]), value(op, u[2]))

    assert (value(tree, s) is value(tree, t)) == (folded(s) == folded(t))
    same_letters = {*str(s)} & {*"abc"} == {*str(t)} & {*"abc"}
    assert (value(union, s) is value(union, t)) == same_letters


LISTED = [
    pytest.param(leaf, o, id=f"{leaf}: {o.text}")
    for leaf, table in OPERATIONS.items()
    for o in table
    if o.over
]


@pytest.mark.parametrize(("leaf", "operation"), LISTED)
def test_operations_distribute_over_what_they_name(leaf: Leaf, operation: Operation) -> None:
    """On both sides."""
    values, f = LEAF_VALUES[leaf], operation.function
    for plus in OPERATIONS[leaf]:
        if plus.text in operation.over:
            g = plus.function
            assert all(
                f(x, g(y, z)) == g(f(x, y), f(x, z)) and f(g(x, y), z) == g(f(x, z), f(y, z))
                for x in values for y in values for z in values
            )  # fmt: skip


def test_false_laws_are_found() -> None:
    """A sum is not idempotent, and does not distribute over a product."""
    twice = rl.operator(lambda x, y: x + y, idempotent=True, name="twice")
    swapped = rl.operator(lambda x, y: x + y, distributes_over=(rl.mul,), name="swapped")

    assert str(check_laws(twice, i32)).startswith("twice is declared idempotent, but with x = 1")
    assert "swapped is declared to distribute over mul, but with" in str(check_laws(swapped, i32))
    assert check_laws(rl.operator(lambda x, y: rl.maximum(x, y), idempotent=True, name="m")) is None


def test_free_bands_are_decided() -> None:
    """What an associative and idempotent operator equates has a normal form."""
    assert check_free(a_band).status == "ok"
