"""Tactics compose rules, and what they and the macro rules make is a derivation that is confirmed."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import pytest

import relift as rl
from relift.rewrites import macro_rules
from relift.rewrites.derivation import confirm
from relift.rewrites.library import RULES
from relift.rewrites.matching import NoMatch
from relift.rewrites.tactics import Tactic, at, attempt, backward, derive, first, repeat, use
from relift.semantics.errors import ReliftError
from relift.semantics.language import Program
from relift.semantics.patterns import Map, ReduceSeq
from relift.semantics.terms import subterms

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")


@rl.program
def matmul(A: rl.f32[n, k], B: rl.f32[m, k]):
    """Rows of A times rows of B."""

    def dot(x, y):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))

    return rl.map(lambda x: rl.map(lambda y: dot(x, y), B), A)


@rl.program
def total(x: rl.f32[n]):
    """The sum."""
    return rl.reduce(rl.add, 0.0, x)


@rl.program
def stencil(x: rl.f32[n]):
    """The sum of three neighbours."""
    windows = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, x))
    return rl.map(lambda w: w[0] + w[1] + w[2], windows)


SQUARE = {"n": 8, "m": 12, "k": 6}
MACROS: dict[str, tuple[Tactic, Program, dict[str, int]]] = {
    "tile_1d": (macro_rules.tile_1d(4), matmul, SQUARE),
    "tile_2d": (macro_rules.tile_2d(4, 3), matmul, SQUARE),
    "register_block_1d": (
        macro_rules.FUSED >> at("f", macro_rules.register_block_1d(3)), matmul, SQUARE,
    ),
    "register_block_2d": (macro_rules.FUSED >> macro_rules.register_block_2d(4, 3), matmul, SQUARE),
    "finish_tiling": (
        macro_rules.FUSED >> macro_rules.tile_2d(4, 3) >> macro_rules.finish_tiling(2),
        matmul,
        SQUARE,
    ),
    "vectorize_reduction": (macro_rules.vectorize_reduction(4), total, {"n": 16}),
    "reduce_with_reorder": (macro_rules.reduce_with_reorder(4), total, {"n": 16}),
    "overlapped_tiling_1d": (macro_rules.overlapped_tiling_1d(4), stencil, {"n": 12}),
}  # fmt: skip


@pytest.mark.parametrize("name", MACROS)
def test_a_macro_rule_is_a_derivation(name: str) -> None:
    """It applies, its steps replay, and the interpreter confirms every program on the way."""
    tactic, program, sizes = MACROS[name]
    found = derive(tactic, program, sizes)

    assert found.steps
    found.replay(RULES)
    assert confirm(found, RULES) is not None


def test_register_blocking_has_an_array_of_accumulators() -> None:
    """After blocking in two dimensions, one reduction carries a tile of accumulators."""
    tactic, program, sizes = MACROS["register_block_2d"]
    found = derive(tactic, program, sizes)
    (tile,) = {str(t.type) for t, _ in subterms(found.result) if isinstance(t, ReduceSeq)}

    assert tile == "f32[4, 3]"


def test_first_takes_the_outermost_place() -> None:
    """Of two nested maps the outer one is split."""
    (step,) = derive(first(use("split_join", m=2)), matmul, SQUARE).steps

    assert step.position == ()


def test_at_a_place_below() -> None:
    """The same rule at the body of the map splits the inner one; a place that is not there is named."""
    (step,) = derive(at("f", use("split_join", m=2)), matmul, SQUARE).steps

    assert step.position == ("f",)
    with pytest.raises(NoMatch, match="there is no place g in the term"):
        derive(at("g", use("split_join", m=2)), matmul, SQUARE)


def test_what_does_not_apply_fails_whole_or_does_nothing() -> None:
    """A sequence fails when a part does, an attempt does not, an alternative takes the second."""
    wrong = use("split_join", m=5)
    with pytest.raises(NoMatch, match="5 does not divide 8"):
        derive(use("split_join", m=2) >> at("xss", wrong) | wrong, matmul, SQUARE)

    assert derive(attempt(wrong), matmul, SQUARE).steps == ()
    assert len(derive(wrong | use("split_join", m=2), matmul, SQUARE).steps) == 1


def test_a_repetition_ends() -> None:
    """A rule that always applies again is stopped with its name; one that ends is used up."""
    fused = derive(macro_rules.FUSED, matmul, SQUARE)

    assert not [t for t, _ in subterms(fused.result) if isinstance(t, Map)][2:]
    with pytest.raises(ReliftError, match="still applies after"):
        derive(repeat(first(backward("join_split", m=1))), total, {"n": 4})
    with pytest.raises(ReliftError, match="there is no rule nonsense"):
        derive(use("nonsense"), total, {"n": 4})
