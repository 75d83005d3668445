"""Patterns in search: found again as they were, lowered, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.compiler.programs import typed
from proofs_tests.semantics.patterns.test_patterns import CASES
from relift.checking import check
from relift.device import CPU
from relift.egraph.encode.terms import term_text
from relift.egraph.search.optimize import optimize
from relift.egraph.search.proposals import Proposals
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, B
from relift.rewrites.rule import make_rule
from relift.semantics.language.programs import Program
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.signatures import Fun
from relift.semantics.syntax.terms import Input, Pattern, subterms
from relift.semantics.syntax.types import f32

Body = Callable[[Any], Any]

FOUND: dict[str, Body] = {
    "gather": lambda xs: rl.map(lambda v: v + 1.0, rl.gather(rl.reverse, xs)),
    "constants": lambda xs: rl.map(
        lambda w: rl.reduce(
            rl.add,
            0.0,
            rl.map(lambda p: p[0] * p[1], rl.zip(w, rl.literal_array([0.25, 0.5, 0.25]))),
        ),
        rl.slide(3, 1, rl.pad(1, 1, rl.mirror, xs)),
    ),
    "concat": lambda xs: rl.map(lambda v: v + 1.0, rl.concat(xs, rl.tail(xs))),
    "generate": lambda xs: rl.map(
        lambda p: p[0] * rl.f32(p[1]), rl.zip(xs, rl.generate(16, lambda i: i))
    ),
    "looked up": lambda xs: rl.map(
        lambda v: v + 1.0, rl.gather_indices(rl.generate(4, lambda i: i), xs)
    ),
    "looked up in range": lambda xs: rl.map(
        lambda i: rl.at_runtime(i, 0.5, xs) + rl.at_runtime_unsafe(i, xs),
        rl.generate(4, lambda i: i),
    ),
    "head": lambda xs: rl.map(lambda v: v + rl.head(xs), rl.pad(1, 3, rl.wrap, xs)),
}


@pytest.mark.parametrize("body", FOUND.values(), ids=FOUND.keys())
def test_layouts_are_searched(body: Body) -> None:
    """The best program found computes what the source means, and its derivation replays."""
    source = typed(xs=f32[16])(lambda xs: body(xs))
    best = optimize(source, budget=4)
    xs = np.random.default_rng(0).random(16).astype(np.float32)

    np.testing.assert_allclose(best.term(xs), source(xs), rtol=1e-5)
    assert alpha_equal(best.derivation.replay(RULES)[-1], best.term.body)


def test_a_generate_that_computes_is_a_map_over_indices() -> None:
    """It says where nothing is computed; a map may be lowered."""
    source = Program("squares", (), rl.generate(8, lambda i: i * i))
    best = optimize(source)

    assert "generate_as_map" in [step.rule for step in best.derivation.steps]
    np.testing.assert_array_equal(rl.compile(best.term)(), np.arange(8, dtype=np.int32) ** 2)


def test_every_pattern_is_searched_or_said_in_others() -> None:
    """No pattern is dropped: the e-graph holds all, and those that no result contains are others put together."""
    for _, types, build, _ in CASES:
        term = build(*(Input(f"x{i}", t) for i, t in enumerate(types)))
        names = {t.name for t, _ in subterms(term) if isinstance(t, Pattern)}
        refused = sorted(name for name in names if not PATTERNS[name].searched)

        if (
            "iterate_sizes" not in names
        ):  # it has no constructor: its function is typed at every size
            assert all(f"(P_{name} " in term_text(term) for name in names)
        if refused:
            source = Program("said", tuple(Input(f"x{i}", t) for i, t in enumerate(types)), term)
            said = Proposals(source, {}, CPU).said().result
            left = {t.name for t, _ in subterms(said) if isinstance(t, Pattern) and not t.searched}
            assert left <= {"iterate_sizes"}, f"{left} of {term}"
            if left:  # of a function that no rule names
                with pytest.raises(rl.Unsupported, match="of another function than partial_reduce"):
                    optimize(source)


def test_rules_with_index_functions_are_checked_and_searched() -> None:
    """An index function written out is a constant of the e-graph: a rule about it holds in every tier."""

    def reversed_map(f: Any, xs: Any) -> tuple[Any, Any]:
        return (
            rl.gather(lambda i: 3 - i, rl.map(f, xs)),
            rl.map(f, rl.gather(lambda i: 3 - i, xs)),
        )

    reversed_map.__annotations__ = {"f": Fun[A, B], "xs": A[4]}
    report = check(make_rule(reversed_map))
    results = {result.tier: result for result in report.results}

    wanted = {tier: "proved" if tier in ("4a", "4b") else "ok" for tier in results}
    assert {tier: r.status for tier, r in results.items()} == wanted, report
