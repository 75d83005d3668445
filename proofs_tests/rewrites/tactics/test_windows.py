"""Folds of windows from those of their parts: the same values, by PROVED rules, in fewer steps, where a window is folded as a whole."""

# pyright: reportGeneralTypeIssues=false
# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.certificates.claims import certificates
from relift.compiler.program import compile_program
from relift.device import CPU, GPU
from relift.egraph.search.optimize import optimize
from relift.egraph.search.starts.forms import steps_of
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.folds.windows import folded_by_parts, parts_of_windows_apart
from relift.rewrites.tactics.groups.stencils import strips_of_blocks, strips_of_items
from relift.semantics.language.programs import Program

n, m, k = (rl.nat(name) for name in "nmk")


def windows(sizes: tuple[int, ...], steps: tuple[int, ...], xs: Any, f: Any) -> Any:
    return rl.map_nd(len(sizes), f, rl.slide_nd(sizes, steps, xs))


@rl.program
def sums(x: rl.f32[n + 4, m + 2]):
    """Windows that are higher than wide, whose sums are scaled."""
    return windows((5, 3), (1, 1), x, lambda w: rl.reduce(rl.add, 0.0, rl.join(w)) * 0.5)


@rl.program
def largest(x: rl.i32[n * 2 + 3, m * 3 + 2]):
    """Windows that overlap in part."""
    step = (2, 3)
    return windows((5, 5), step, x, lambda w: rl.reduce(rl.maximum, rl.i32(-9), rl.join(w)))


@rl.program
def squares(x: rl.f32[n, m]):
    """Of a padded image, each cell computed first."""
    padded = rl.pad_nd((1, 1), (1, 1), rl.clamp, x)
    total = lambda w: rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, rl.join(w)))
    return windows((3, 3), (1, 1), padded, total)


@rl.program
def by_rows(x: rl.f32[n + 2, m + 2]):
    """Parts that are as they are written."""
    total = lambda xs: rl.reduce(rl.add, 0.0, xs)
    return windows((3, 3), (1, 1), x, lambda w: total(rl.map(total, w)))


@rl.program
def blocks(x: rl.f32[n + 2, m + 2, k + 2]):
    total = lambda w: rl.reduce(rl.add, 0.0, rl.join(rl.join(w)))
    return windows((3, 3, 3), (1, 1, 1), x, total)


@rl.program
def weighted(x: rl.f32[n + 2, m + 2, k + 2], weights: rl.f32[3, 3, 3]):
    def total(w):
        pairs = rl.zip(rl.join(rl.join(w)), rl.join(rl.join(weights)))
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], pairs))

    return windows((3, 3, 3), (1, 1, 1), x, total)


@rl.program
def above_sums(x: rl.f32[n + 2, m + 2]):
    """Something else is done with a window, too."""
    return windows((3, 3), (1, 1), x, lambda w: w[1][1] - rl.reduce(rl.add, 0.0, rl.join(w)))


FLAT, DEEP = {"n": 8, "m": 5}, {"n": 8, "m": 3, "k": 5}
APART, DOWN = parts_of_windows_apart(), parts_of_windows_apart(columns=True)


@pytest.mark.parametrize("tactic", [APART, DOWN], ids=["rows", "columns"])
@pytest.mark.parametrize(
    ("program", "sizes"),
    [
        (sums, FLAT),
        (largest, FLAT),
        (squares, FLAT),
        (by_rows, FLAT),
        (squares, {"n": 1, "m": 1}),
        (blocks, DEEP),
    ],
)
def test_what_parts_are_folded_to_is_a_table(
    program: Program, sizes: dict[str, int], tactic: Tactic
) -> None:
    found = derive(program, tactic, sizes)
    require_proved((step.rule for step in found.steps), RULES)
    assert confirm(found, RULES) is not None
    apart, source = replace(found.program, body=found.result), found.program
    arrays = whole_inputs(source, seed=1)
    np.testing.assert_allclose(apart(*arrays), source(*arrays), rtol=1e-5)
    if sizes["n"] > 1:
        assert steps_of(apart.body) < steps_of(source.body)


@pytest.mark.parametrize(
    "tactic", [APART, strips_of_items(4, folded_by_parts)], ids=["apart", "strips"]
)
def test_windows_that_are_read_beside_their_folds_have_no_parts(tactic: Tactic) -> None:
    with pytest.raises(NoMatch):
        derive(above_sums, tactic, FLAT)


@pytest.mark.parametrize(
    ("program", "tactic", "sizes"),
    [
        (sums, strips_of_items(4, folded_by_parts), FLAT),
        (largest, strips_of_items(2, folded_by_parts), FLAT),
        (squares, strips_of_items(8, folded_by_parts), FLAT),
        (by_rows, strips_of_items(4, folded_by_parts), FLAT),
        (blocks, strips_of_blocks(4, folded_by_parts), DEEP),
        (blocks, strips_of_blocks(8), DEEP),
        (weighted, strips_of_blocks(4), DEEP),
    ],
)
def test_a_work_item_folds_parts_once_for_a_strip(
    program: Program, tactic: Tactic, sizes: dict[str, int]
) -> None:
    found = derive(program, tactic, sizes)
    require_proved((step.rule for step in found.steps), RULES)
    kernel = compile_program(replace(found.program, body=found.result))
    arrays = whole_inputs(found.program, seed=1)
    np.testing.assert_allclose(kernel(*arrays), found.program(*arrays), rtol=1e-5)
    claims = [claim for one in certificates(kernel) for claim in one.claims]
    assert {claim.verdict for claim in claims if claim.kind == "races"} == {"proved"}


@rl.program
def wide(x: rl.f32[n + 16, m + 16]):
    largest_of = lambda w: rl.reduce(rl.maximum, float("-inf"), rl.join(w))
    return windows((17, 17), (1, 1), x, largest_of)


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
def test_wide_windows_are_searched_part_by_part(device: Any) -> None:
    """A largest value of 289 cells takes 34 steps."""
    (best,) = optimize(wide, {"n": 2048, "m": 2048}, device, top=1).candidates
    assert "map_slide" in {step.rule for step in best.derivation.steps}


def test_blocks_are_searched_in_strips() -> None:
    (best,) = optimize(blocks, {"n": 301, "m": 299, "k": 303}, GPU, top=1).candidates
    assert "window_map_exchange" in {step.rule for step in best.derivation.steps}
