"""What a rule requires of its sizes: every tier, every application and the printed equation keep to it."""

from collections.abc import Callable
from typing import Any

import pytest

from relift.checking import check, check_all
from relift.egraph.encode.rules import encode_rule
from relift.rewrites.application.matching import NoMatch, apply_rule
from relift.rewrites.checks.rocq.statements import proposition
from relift.rewrites.checks.verdicts import TIERS, TierName
from relift.rewrites.conditions import Bound, associative, idempotent, naturals
from relift.rewrites.notation import A
from relift.rewrites.rule import RejectedRule, Rule, rule
from relift.rewrites.specialisation import specialised
from relift.semantics.errors import IllTyped
from relift.semantics.language.vocabulary import (
    at_runtime_unsafe,
    concat,
    drop,
    gather_indices,
    head,
    join,
    map,
    operator,
    reduce,
    repeat,
    select,
    split,
    take,
)
from relift.semantics.patterns import Reduce
from relift.semantics.syntax.signatures import Op
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import i32

LEAST = (1, 2, 4)


def split_by(least: int) -> Any:
    (n,), s = naturals("n"), nat("s", least=least)

    @rule()
    def split_least(xs: A[n * s]):
        return join(split(s, xs)), xs

    return split_least


def take_of(least: int) -> Any:
    s = nat("s", least=least)

    @rule()
    def rebuilt(xs: A[s]):
        return concat(take(least, xs), drop(least, xs)), xs

    return rebuilt


def one_of_many(least: int) -> Any:
    """False of 0 copies, and true from one on."""
    s = nat("s", least=least)

    @rule(where=[associative("op"), idempotent("op")])
    def copies(op: Op[A], z: A, x: A):
        return reduce(op, z, repeat(s, x)), op(z, x)

    return copies


@pytest.mark.parametrize("least", LEAST)
def test_rules_that_need_their_least_size_hold_in_every_tier(least: int) -> None:
    """No tier tries a size below what is stated, and none finds the rules wrong; one least size is proved."""
    made: tuple[Callable[[int], Rule], ...] = (split_by, take_of, one_of_many)
    tiers: list[TierName] = [t for t in TIERS if t != "4b" or least == 2]

    for make, report in zip(
        made, check_all([make(least) for make in made], tiers=tiers, guards=False), strict=True
    ):
        assert not {r.status for r in report.results} & {"refuted", "rejected"}, report.text()
        assert {r.status for r in report.results if r.tier in "23"} == {"ok"}, report.text()
        laws = "associative(op), idempotent(op), " * (make is one_of_many)
        assert f"where {laws}s >= {least}" in report.equation


def test_a_head_needs_an_element() -> None:
    """An array that may be empty has no head; one that is stated not to be has."""
    s = nat("s")

    @rule()
    def whole(xs: A[s]):
        return concat(repeat(1, head(xs)), drop(1, xs)), xs

    assert check(whole, tiers=("1", "2", "3", "4a", "5"), guards=False).ok


def test_a_rule_is_not_applied_below_its_least_size() -> None:
    """The matcher refuses what the rule does not speak of, and the e-graph has the same premise."""
    copies = one_of_many(2)
    known = operator(
        lambda x, y: select(x < y, y, x), associative=True, idempotent=True, name="larger"
    )

    def reduced(count: int) -> Reduce:
        t = reduce(known, Input("z", i32), repeat(count, Input("x", i32)))
        assert isinstance(t, Reduce)
        return t

    for count in (0, 1):
        with pytest.raises(NoMatch, match="s must be at least 2"):
            apply_rule(copies, reduced(count))
    apply_rule(copies, reduced(2))
    assert "2)" in "".join(part for part in encode_rule(copies).text.split("(>=")[1:])


def read_by_index(*, size: Size) -> Any:
    (m,) = naturals("m")

    @rule()
    def law(ids: i32[m], xs: A[size]):
        return map(lambda i: at_runtime_unsafe(i, xs), ids), gather_indices(ids, xs)

    return law


def test_what_the_prover_assumes_of_a_size_is_required_of_it() -> None:
    """An array that data index has an element: the statement says so, and every application."""
    (n,) = naturals("n")
    law = read_by_index(size=n)
    assert "0 < n" in proposition(law)
    assert [str(b) for b in law.lower_bounds] == ["n >= 1"]
    ids = Input("ids", i32[3])
    apply_rule(law, map(lambda i: at_runtime_unsafe(i, Input("xs", i32[1])), ids))
    with pytest.raises(NoMatch, match="n must be at least 1"):
        apply_rule(law, map(lambda i: at_runtime_unsafe(i, Input("xs", i32[0])), ids))


@pytest.mark.parametrize("size", ["0 * n", "n - n"])
def test_a_rule_of_no_sizes_at_all_is_refused(size: str) -> None:
    """Everything would be true of it: that an index is in range of nothing, to begin with."""
    (n,) = naturals("n")
    found = read_by_index(size=eval(size, {"n": n}))
    assert isinstance(found, RejectedRule)
    assert "must be at least 1 for both sides to be defined, and never is" in found.error.message


def test_other_sizes_keep_the_bounds() -> None:
    """Where a size is replaced, what it promised is required of what stands for it."""
    other = specialised(split_by(3), {"s": Size.atom("c") * Size.atom("d")})

    assert [str(bound) for bound in other.lower_bounds] == ["c*d >= 1", "c*d >= 3"]
    assert "where c*d >= 3" in other.equation()
    assert specialised(split_by(3), {"s": Size.of(7)}).bounds == ()


@pytest.mark.parametrize("name", ["n__x", "2n", "for", "m-1", "n'"])
def test_a_size_has_a_name_of_its_own(name: str) -> None:
    """Names that Relift or Python use for something else are refused where they are given."""
    with pytest.raises(IllTyped, match="name"):
        naturals(name)


def test_bounds_read_as_inequalities() -> None:
    (n,), (m,) = naturals("n"), naturals("m")

    assert [
        str(b) for b in (Bound(n, 2), Bound(5 - n, 0), Bound(n - m, 1), Bound(n - m + 2, 0))
    ] == [
        "n >= 2",
        "n <= 5",
        "m + 1 <= n",
        "m <= n + 2",
    ]
