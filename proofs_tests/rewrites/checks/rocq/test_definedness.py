"""Definedness belongs to a statement: what may lose a value is not proved, and not applied to what is partial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.portions import drawn, in_shares
from proofs_tests.position_rules import TRUE_RULES
from proofs_tests.prover import needs_prover
from relift.rewrites.application.matching import NoMatch, apply_rule
from relift.rewrites.application.substitutions import require_operator
from relift.rewrites.application.totality import first_partial, first_partial_operator
from relift.rewrites.checks.calls import lost
from relift.rewrites.checks.rocq.definedness import definedness, directions
from relift.rewrites.checks.rocq.statements import proposition
from relift.rewrites.checks.rocq.tier import prove
from relift.rewrites.conditions import bijective
from relift.rewrites.ledger.book import is_proved, load, verdict
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, B, k, m, n
from relift.rewrites.rule import Rule, rule
from relift.semantics.errors import IllTyped, Undefined
from relift.semantics.language import vocabulary as language
from relift.semantics.language.programs import Program
from relift.semantics.language.tracing import build
from relift.semantics.language.vocabulary import (
    concat,
    drop,
    gather,
    gather_indices,
    join,
    let,
    map,
    reduce_seq,
    repeat,
    scatter,
    split,
    take,
    unzip,
    zip,
)
from relift.semantics.patterns import PATTERNS, Let
from relift.semantics.syntax.signatures import Fun, Index
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.terms import Input, Pattern
from relift.semantics.syntax.types import i32

pytestmark = pytest.mark.usefixtures("patient")

FOUR, EIGHT = Size.of(4), Size.of(8)

# ---- rules one side of which has no value where the other has one


@rule()
def gathered_from_outside(x: A):
    """Of 1001 copies the last is read beyond the end."""
    return gather(lambda i: i + i // 1000, repeat(n, x)), repeat(n, x)


@rule()
def scattered_twice(x: A):
    """Two copies are written to one place, from 1001 on."""
    return repeat(n, x), scatter(lambda i: i - i // 1000, repeat(n, x))


@rule()
def outside_thrown_away(xs: A[n], ys: B[n]):
    """What is read beyond the end is thrown away."""
    return map(lambda p: p[0], zip(xs, gather(lambda i: i + i // 1000, ys))), xs


@rule()
def twice_thrown_away(xs: A[n], ys: B[n]):
    """What is no permutation from 8 on is thrown away."""
    return xs, map(lambda p: p[0], zip(xs, scatter(lambda i: i - i // 7, ys)))


@rule()
def indices_thrown_away(ids: i32[m], xs: A[m], ys: B[n]):
    """What is read at indices that may be out of range is thrown away."""
    return xs, map(lambda p: p[0], zip(xs, gather_indices(ids, ys)))


@rule()
def scattered_by_any(p: Index[n], x: A):
    """Copies are written where a function says, which is no permutation, perhaps."""
    return repeat(n, x), scatter(p, repeat(n, x))


@rule(where=[bijective("p")])
def scattered_by_a_permutation(p: Index[n], x: A):
    """Copies are written where a permutation says."""
    return repeat(n, x), scatter(p, repeat(n, x))


@rule()
def gathered_by_indices_of_map(ids: i32[m], f: Fun[A, B], xs: A[n]):
    """A map of what is gathered at indices; the rest is not computed."""
    return gather_indices(ids, map(f, xs)), map(f, gather_indices(ids, xs))


FALSE = (
    gathered_from_outside,
    scattered_twice,
    outside_thrown_away,
    twice_thrown_away,
    indices_thrown_away,
    scattered_by_any,
)


LOST: dict[str, Callable[[Any], Any]] = {
    "read outside": lambda ys: gather(lambda i: i + i // 50, ys),
    "written twice": lambda ys: scatter(lambda i: i - i // 40, ys),
    "read in rows": lambda ys: join(
        map(lambda row: gather(lambda i: i + i // 50, row), split(m, ys))
    ),
    "read under a let": lambda ys: let(lambda t: gather(lambda i: i + i // 50, t), ys),
}
"""Arrays of k * m elements that have no value from some size on."""

THROWN_AWAY: dict[str, Callable[[Any, Any], Any]] = {
    "by let": lambda x, ys: let(lambda _: repeat(n, x), ys),
    "by unzip": lambda x, ys: unzip(zip(repeat(k * m, x), ys))[0],
    "by a constant map": lambda x, ys: map(lambda _: x, ys),
    "by a constant fold": lambda x, ys: repeat(n, reduce_seq(lambda acc, _: acc, x, ys)),
    "by take": lambda x, ys: map(lambda _: x, take(0, ys)),
    "in a row": lambda x, ys: map(lambda _: repeat(n, x), split(m, ys)),
    "by concat and drop": lambda x, ys: drop(k * m, concat(map(lambda _: x, ys), repeat(n, x))),
}
"""What is made of a value and of such an array, and depends on the value alone."""


def thrown(how: str, which: str) -> Rule:
    """That one may leave such an array out."""

    @rule()
    def found(x: A, ys: B[k * m]):
        with_it = THROWN_AWAY[how](x, LOST[which](ys))
        return with_it, THROWN_AWAY[how](x, ys)

    assert isinstance(found, Rule)
    return replace(found, name=f"{how}_{which}".replace(" ", "_"))


@needs_prover
@in_shares
def test_no_way_to_throw_a_lost_value_away_is_proved(share: int) -> None:
    """Whatever throws it away, and however it was lost: the side without it has a value where the other has none."""
    first_way, first_loss = next(iter(THROWN_AWAY)), next(iter(LOST))
    pairs = [(how, first_loss) for how in THROWN_AWAY] + [(first_way, which) for which in LOST]
    assert len(dict.fromkeys(pairs)) == len(THROWN_AWAY) + len(LOST) - 1
    found = prove([thrown(how, which) for how, which in drawn(dict.fromkeys(pairs), share)])
    assert {name: r.status for name, r in found.items() if r.status != "unproved"} == {}
    assert all("stays defined" in r.detail for r in found.values())


@needs_prover
def test_a_rule_that_may_lose_a_value_is_not_proved() -> None:
    """Equal wherever both sides have a value is not enough; what a permutation or the rule itself rules out is."""
    found = prove([*FALSE, scattered_by_a_permutation, gathered_by_indices_of_map])
    assert {name: r.status for name, r in found.items()} == {
        **{r.name: "unproved" for r in FALSE},
        "scattered_by_a_permutation": "proved",
        "gathered_by_indices_of_map": "proved",
    }
    assert all("stays defined" in found[r.name].detail for r in FALSE)
    assert found["gathered_by_indices_of_map"].total["backward"] == ("f",)


@needs_prover
@in_shares
def test_rules_about_positions_are_proved(share: int) -> None:
    """Rotations, reversed blocks, wrapped periods and flipped folds are proved by the one tactic."""
    found = prove(drawn(TRUE_RULES.values(), share))
    assert [name for name, r in found.items() if r.status != "proved"] == []
    assert not any(r.proof for r in TRUE_RULES.values())


# ---- what computes a value surely

some = nat("some", least=1)
"""A number of elements of which there is one at least."""


def loops(kind: str) -> list[type[Pattern]]:
    """The patterns whose function is called for each element, into which `computes_surely` looks: one for each meaning in Rocq."""
    found = (pattern for pattern in PATTERNS.values() if pattern.loop == kind)
    return list({(p.rocq, p.rocq_defined): p for p in found}.values())


def mapped(pattern: type[Pattern]) -> Rule:
    """A map over one element or more of a function that computes the same whatever it is given."""
    dimension = (0,) if "dim" in pattern.signature.parameters else ()

    @rule()
    def found(v: B, xs: A[some]):
        return build(pattern, (*dimension, lambda x: v, xs)), repeat(some, v)

    assert isinstance(found, Rule)
    return replace(found, name=f"{pattern.name}_computes")


ITS_LAST_STEP = (
    "intros A R_A B R_B n v v' z z' xs xs' P Q L V. destruct n; [lia | intros; exact V]."
)


def folded(pattern: type[Pattern]) -> Rule:
    """A fold of one element or more by such a function, which comes to what the last step does."""

    @rule()
    def found(v: B, init: B, xs: A[some]):
        return build(pattern, (lambda total, x: v, init, xs)), v

    assert isinstance(found, Rule)
    return replace(found, name=f"{pattern.name}_computes", proof=ITS_LAST_STEP)


@rule()
def let_computes(v: B, x: A):
    """The value that a function with a name for its argument computes."""
    return let(lambda _: v, x), v


@needs_prover
def test_a_function_that_is_called_computes_its_value() -> None:
    """Where a loop over one element or more is defined, so is what its function computes whatever it is given."""
    rules = [let_computes, *(mapped(p) for p in loops("map")), *(folded(p) for p in loops("fold"))]
    found = prove(rules)
    assert {name: r.status for name, r in found.items() if r.status != "proved"} == {}
    assert {name: r.total["forward"] for name, r in found.items() if r.total["forward"]} == {}
    assert len(found) >= 3


@rule()
def map_computes_perhaps(v: B, xs: A[n]):
    """The same of no element, too."""
    return map(lambda x: v, xs), repeat(n, v)


@needs_prover
def test_a_function_that_may_not_be_called_computes_nothing() -> None:
    """A loop over no element is defined, whatever its function computes."""
    assert prove([map_computes_perhaps])["map_computes_perhaps"].total["forward"] == ("v",)


@in_shares
def test_no_direction_is_shown_that_computes_more(share: int) -> None:
    """What the interpreter computes in one direction only is total in the proof of that direction."""
    shown = 0
    for name, r in drawn(RULES.items(), share):
        for direction in directions(r):
            names = load()[name].total.get(direction)
            if names is not None:
                shown += not names
                assert lost(r, direction).keys() <= set(names), (name, direction)
    assert shown >= (400 if share == 1 else 1)


def test_the_verdict_says_the_direction() -> None:
    """PROVED is said of what keeps definedness both ways; else the direction is named."""
    assert verdict(RULES["split_join"]) == "PROVED"
    assert verdict(RULES["take_map"]) == "PROVED left to right"
    assert verdict(RULES["let_out_of_map"]) == "PROVED right to left"
    assert verdict(RULES["map_interchange"]) == "PROVED where total"
    assert is_proved("PROVED left to right")
    assert not is_proved("SMT-proved")
    assert definedness(RULES["join_split"], "forward", ("xs",)) is None


# ---- application


@rl.program
def looked_up(ys: rl.f32[FOUR], ids: rl.i32[EIGHT]):
    """Two elements by index; the other indices may be out of range."""
    return rl.map(lambda i: rl.at_runtime_unsafe(i, ys), rl.take(2, ids))


@rl.program
def doubled(ids: rl.i32[EIGHT]):
    """Two elements, doubled."""
    return rl.map(lambda i: i + i, rl.take(2, ids))


YS = np.arange(4, dtype=np.float32)
IDS = np.array([3, 0, 10**8, -5, 99, 7, 8, 9], dtype=np.int32)


def test_what_is_partial_is_not_computed_more_often() -> None:
    """A map moves into a take for a total function only; out of it for every one."""
    with pytest.raises(NoMatch, match="from right to left f must be total, and at_runtime_unsafe"):
        apply_rule(RULES["take_map"], looked_up.body, direction="backward")
    t, _ = apply_rule(RULES["take_map"], doubled.body, direction="backward")
    assert first_partial(t) is None
    all_looked_up = rl.take(
        1, rl.map(lambda i: rl.at_runtime_unsafe(i, Y), rl.take(2, looked_up.parameters[1]))
    )
    t, _ = apply_rule(RULES["take_map"], all_looked_up)
    assert t != all_looked_up


def test_what_an_operator_is_defined_at_hangs_on_the_least_lengths() -> None:
    """Types are equal whatever their sizes are at least; what is remembered of one is not said of the other."""
    third = rl.operator(lambda x, y: gather(lambda i: i * 0 + 2, x), name="third")
    first = rl.operator(lambda x, y: repeat(x.type.length, x[0]), name="first")
    long, short, empty = (rl.f32[rl.nat("n", least=least)] for least in (3, 1, 0))
    assert [first_partial_operator(third, t, False) for t in (long, short)] == [None, "gather"]
    require_operator(first, short)
    with pytest.raises(IllTyped):
        require_operator(first, empty)


Y = looked_up.parameters[0]


def test_partial_data_are_not_computed_where_they_were_not() -> None:
    """What no element needs, of an empty array, may be undefined; outside the map it is computed."""
    none, ids = Input("none", i32[Size.of(0)]), looked_up.parameters[1]
    t = rl.map(lambda x: rl.let(lambda v: x + v, rl.at_runtime_unsafe(9, ids)), none)
    with pytest.raises(NoMatch, match="y must be total, and at_runtime_unsafe"):
        apply_rule(RULES["let_out_of_map"], t)


@pytest.mark.parametrize("length", [0, 2])
def test_partial_data_have_a_name_where_they_are_computed_anyway(length: int) -> None:
    """What every element needs is computed where there is an element, and so it may be computed before."""
    ids, xs = looked_up.parameters[1], Input("xs", i32[Size.of(length)])
    t = rl.map(lambda x: x + rl.at_runtime_unsafe(9, ids), xs)
    naming: Any = lambda: apply_rule(
        RULES["let_inline"], t, direction="backward", parts={"x": ("f", "arguments.1")}
    )
    if length:
        assert isinstance(naming()[0], Let)
    else:
        with pytest.raises(NoMatch, match="x must be total, and at_runtime_unsafe"):
            naming()


def test_what_is_computed_with_open_cells_is_not_known_to_hold_them() -> None:
    """To compute an array says nothing of its cells that are left open: there, what is partial needs to be total."""
    ids, xs = looked_up.parameters[1], Input("xs", i32[Size.of(2)])
    open_ends = rl.map(lambda v: v, rl.pad_empty(0, 1, xs))
    t = rl.take(2, rl.map(lambda x: x + rl.at_runtime_unsafe(9, ids), open_ends))
    with pytest.raises(NoMatch, match="x must be total, and"):
        apply_rule(
            RULES["let_inline"], t, direction="backward", parts={"x": ("xs", "f", "arguments.1")}
        )


def _chosen(xs: Any) -> Any:
    return rl.map(lambda v: rl.select(v > 0, v, 1), xs)


def test_what_no_open_cell_reaches_may_branch() -> None:
    """Elsewhere in the program there are some; here and where they come from, a branch may be on one."""
    xs, elsewhere = Input("xs", i32[Size.of(4)]), rl.pad_empty(0, 1, Input("ys", i32[Size.of(4)]))
    of_data = rl.zip(rl.repeat(4, rl.reduce(rl.add, 0, _chosen(xs))), rl.take(4, elsewhere))
    t, _ = apply_rule(
        RULES["map_repeat"], of_data, ("xs",), direction="backward", parts={"x": ("x", "xs")}
    )
    assert t != of_data
    for opened in (rl.take(3, rl.pad_empty(0, 1, xs)), rl.take(3, rl.pad_empty(1, 0, xs))):
        of_cells = rl.repeat(4, rl.reduce(rl.add, 0, _chosen(opened)))
        with pytest.raises(NoMatch, match="x must be total, and select is not"):
            apply_rule(
                RULES["map_repeat"], of_cells, direction="backward", parts={"x": ("x", "xs")}
            )
    from_around = rl.map(
        lambda row: rl.repeat(2, rl.reduce(rl.add, 0, _chosen(row))), rl.split(5, elsewhere)
    )
    with pytest.raises(NoMatch, match="x must be total, and select is not"):
        apply_rule(
            RULES["map_repeat"], from_around, ("f",), direction="backward", parts={"x": ("x", "xs")}
        )


def test_an_unproved_rule_is_not_applied_to_what_is_partial() -> None:
    """Of a rule that the ledger does not know nothing is shown."""

    @rule()
    def mine(f: Fun[A, B], xs: A[n]):
        """A map."""
        return map(f, xs), language.map_seq(f, xs)

    with pytest.raises(NoMatch, match="no proof shows"):
        apply_rule(mine, looked_up.body)
    assert apply_rule(mine, doubled.body)[0] != doubled.body


@pytest.mark.parametrize(
    "rules", [("take_map", "take_map<"), ("map_fusion", "take_map<", "drop_map<")]
)
def test_a_search_unites_no_undefined_program(rules: tuple[str, ...]) -> None:
    """Every member of the class of a partial program has its value."""
    import random

    from relift.egraph.process.saturation import Request, Stage, saturate

    found = saturate(Request(looked_up, (Stage("s", rules, 2),)))
    members = {found.snapshot.sample(found.snapshot.root, random.Random(i)) for i in range(20)}
    expected = looked_up(YS, IDS)
    for t in members:
        try:
            value = Program("member", looked_up.parameters, t)(YS, IDS)
        except Undefined as error:
            pytest.fail(f"{t}: {error}")
        np.testing.assert_array_equal(value, expected)


def test_a_search_applies_it_to_what_is_total() -> None:
    """Of a program in which nothing can be undefined the same rule makes a new member."""
    from relift.egraph.process.saturation import Request, Stage, saturate

    total, partial = (
        saturate(Request(p, (Stage("s", ("take_map<",), 2),))).nodes for p in (doubled, looked_up)
    )
    assert total > 0
    assert partial > 0
    assert saturate(Request(doubled, (Stage("s", ("take_map<",), 2),))).firings["take_map_backward"]
    assert not saturate(Request(looked_up, (Stage("s", ("take_map<",), 2),))).firings.get(
        "take_map_backward"
    )


# ---- statements


def _made(number: int) -> Any:
    def f(x: rl.f32) -> rl.f32:
        return x + np.float32(number)

    return rl.userfun(c=f"return x + {number};")(f)


def two_functions_of_one_name() -> Rule:
    """Two opaque functions of one name and type."""
    one, two = _made(1), _made(2)

    @rule()
    def same_name(xs: rl.f32[n]):
        """One is not the other."""
        return map(one, xs), map(two, xs)

    assert isinstance(same_name, Rule)
    return same_name


@needs_prover
def test_two_functions_of_one_name_are_two() -> None:
    """What is opaque is told apart by what it is, not by its name."""
    same_name = two_functions_of_one_name()
    assert proposition(same_name).count("(f_f32") >= 2
    assert prove([same_name])["same_name"].status == "unproved"


@needs_prover
def test_huge_sizes_are_no_unary_numbers() -> None:
    """A length of 10^12 is proved at once."""

    @rule()
    def huge_chunks(xs: A[n * 10**12]):
        """Chunks of 10^12."""
        return language.join(language.split(10**12, xs)), xs

    @rule()
    def huge_copies(x: A):
        """10^9 copies are one less and one."""
        return repeat(10**9, x), language.concat(repeat(10**9 - 1, x), repeat(1, x))

    @rule()
    def wrong_copies(x: A, y: A):
        """One of 10^9 copies is another."""
        return repeat(10**9, x), language.concat(repeat(10**9 - 1, x), repeat(1, y))

    found = prove([huge_chunks, huge_copies, wrong_copies])
    assert [found[name].status for name in ("huge_chunks", "huge_copies", "wrong_copies")] == [
        "proved",
        "proved",
        "unproved",
    ]


def test_terms_that_are_nested_too_deeply_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that cannot be written leaves the other rules their results."""

    def too_deep(_: Any) -> str:
        raise RecursionError

    monkeypatch.setattr("relift.rewrites.checks.rocq.tier.proposition", too_deep)
    monkeypatch.setattr("shutil.which", lambda _: "coqc")
    found = prove([RULES["join_split"]])["join_split"]
    assert found.status == "skipped"
    assert "nested too deeply" in found.detail
