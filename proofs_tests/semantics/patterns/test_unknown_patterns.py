"""A pattern that nothing lowers is refused by name, with what is missing, wherever it arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import relift as rl
from proofs_tests.compiler.programs import typed
from relift.rewrites.notation import A, B, k
from relift.rewrites.rule import make_rule
from relift.semantics.language.tracing import build
from relift.semantics.patterns import letters
from relift.semantics.syntax.signatures import Signature
from relift.semantics.syntax.terms import Pattern, Term
from relift.semantics.syntax.types import f32

EVENS = Signature({"xs": letters.a[2 * letters.k]}, letters.a[letters.k])


@dataclass(frozen=True)
class Evens(Pattern):
    """Every other element, of which only the meaning is known."""

    xs: Term
    name: ClassVar = "evens"
    rocq: ClassVar = "evens {xs}"
    signature: ClassVar = EVENS

    @staticmethod
    def meaning(xs: list[Any]) -> list[Any]:
        return xs[::2]


@dataclass(frozen=True)
class SeenEvens(Evens):
    """The same with a view, and in no table."""

    layout: ClassVar = True

    @staticmethod
    def view(ix: Any, xs: Any, k: Any) -> Any:
        return ix.array(k, lambda i: ix.at(xs, 2 * i))


def evens(xs: Any) -> Any:
    return build(Evens, (xs,))


@pytest.mark.parametrize("body", [evens, lambda x: rl.map_glb(0)(lambda v: v + 1.0, evens(x))])
def test_a_kernel_refuses_it(body: Any) -> None:
    """Not by recursion."""
    with pytest.raises(
        rl.Unsupported, match="evens is not compiled yet; it is no layout with a view"
    ):
        rl.compile(typed(x=f32[8])(lambda x: body(x)))


@pytest.mark.parametrize("pattern", [Evens, SeenEvens])
def test_a_search_refuses_it(pattern: type[Pattern]) -> None:
    """Not by asking for a larger budget."""
    source = typed(x=f32[8])(lambda x: rl.map(lambda v: v + 1.0, build(pattern, (x,))))
    with pytest.raises(rl.Unsupported, match="optimize does not know evens: it is no pattern of"):
        rl.optimize(source)


def test_a_view_is_all_that_a_kernel_needs() -> None:
    """What is in no table is compiled by its view."""
    program = typed(x=f32[8])(lambda x: rl.map_glb(0)(lambda v: v + 1.0, build(SeenEvens, (x,))))

    assert "x[2*glb_0]" in rl.compile(program).source


def test_a_layout_states_a_view() -> None:
    """One that does not is no class."""
    with pytest.raises(AssertionError, match="Blind is a layout and states no view"):
        type("Blind", (Pattern,), {"layout": True})


def test_tiers_say_what_is_missing() -> None:
    """Those that know a pattern by its meaning pass; the others name it, and none ends in an error."""

    def evens_map(f: Any, xs: Any) -> tuple[Any, Any]:
        return evens(rl.map(f, xs)), rl.map(f, evens(xs))

    evens_map.__annotations__ = {"f": rl.Fun[A, B], "xs": A[2 * k]}
    results = {r.tier: r for r in rl.check(make_rule(evens_map)).results}

    assert [results[tier].status for tier in ("1", "2", "3")] == ["ok"] * 3
    assert "evens is not known to this tier" in results["4a"].detail
    assert "no definition of evens in proofs_tests/rocq/Patterns.v" in results["4b"].detail
    assert "evens is no pattern of relift.semantics.patterns" in results["5"].detail
