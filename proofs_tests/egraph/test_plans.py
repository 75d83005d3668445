"""Plans without a sketch: what they propose, and that the search turns them into kernels."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relift as rl
from relift.compiler.program import compile_program, runs
from relift.compiler.verification import random_inputs
from relift.egraph.plans import register_blocks, teams
from relift.egraph.search import Optimized, as_written, optimize
from relift.rewrites.confirmation import confirm
from relift.rewrites.ledger import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.semantics.device import CPU, GPU
from relift.semantics.language import Program
from relift.semantics.patterns import MapLcl, MapWrg, ReduceSeq, ToGlobal, ToLocal, ToPrivate
from relift.semantics.terms import subterms
from relift.semantics.types import Array

EXAMPLES = Path(__file__).parents[2] / "examples"
SQUARE = {"n": 64, "m": 64, "k": 64}


rows, m, k = rl.nat("rows"), rl.nat("m"), rl.nat("k")


@rl.program
def named(A: rl.f32[rows, k], B: rl.f32[k, m]):
    """A matrix product whose size is called like a tile."""

    def dot(a, b):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(a, b)))

    return rl.map(lambda a: rl.map(lambda b: dot(a, b), rl.transpose(B)), A)


def example(name: str) -> Program:
    return load_program(str(EXAMPLES / f"{name}.py"))


@pytest.fixture(scope="module")
def product() -> Optimized:
    """All that is found for a small matrix product on the CPU."""
    return optimize(example("matmul"), SQUARE, CPU, top=64, accepts=runs)


def patterns_of(program: Program) -> set[type]:
    return {type(t) for t, _ in subterms(program.body)}


def blocked(program: Program) -> bool:
    """Whether a reduction accumulates an array in registers."""
    return any(
        isinstance(t, ReduceSeq) and isinstance(t.type, Array) and isinstance(t.init, ToPrivate)
        for t, _ in subterms(program.body)
    )


def test_a_block_fits_the_registers_and_divides_the_result() -> None:
    for plan in register_blocks(example("matmul"), {"n": 96, "m": 64, "k": 5}, CPU):
        for tiles in plan.choices:
            assert 16 <= tiles["rows"] * tiles["columns"] <= 128
            assert 96 % tiles["rows"] == 0
            assert 64 % tiles["columns"] == 0
            assert tiles["columns"] % tiles["lanes"] == 0


def test_no_blocks_where_nothing_is_shared() -> None:
    """A matrix times a vector reads each row once; no block would read it less."""
    gemv = example("gemv")
    assert not list(register_blocks(gemv, {"n": 64, "m": 64}, CPU))
    assert not list(register_blocks(example("matmul"), {"n": 7, "m": 7, "k": 7}, CPU))


def test_the_tiles_of_a_plan_are_not_called_like_a_size() -> None:
    found = optimize(named, {"rows": 16, "m": 16, "k": 8}, CPU, top=64, accepts=runs)
    assert any(blocked(candidate.term) for candidate in found.candidates)


def test_the_search_finds_blocks_in_registers_without_a_sketch(product: Optimized) -> None:
    """With and without a copy of B in the order in which it is read."""
    found = [c.term for c in product.candidates if blocked(c.term)]

    assert {ToGlobal in patterns_of(term) for term in found} == {True, False}


def test_a_blocked_product_is_derived_by_proved_rules_and_confirmed(product: Optimized) -> None:
    best = next(
        c for c in product.candidates if blocked(c.term) and ToGlobal in patterns_of(c.term)
    )

    require_proved([step.rule for step in best.derivation.steps], RULES)
    best.derivation.replay(RULES)
    assert confirm(best.derivation, RULES) is not None


def test_blocked_products_compute_the_product(product: Optimized) -> None:
    """Run on the CPU device, with tiles of different shapes."""
    found = [c.term for c in product.candidates if blocked(c.term)][::5]
    assert len(found) > 3
    A, B = random_inputs(product.source, 1)
    for term in found:
        computed = compile_program(term)(A, B, device="cpu")
        np.testing.assert_allclose(computed, A.astype(np.float64) @ B, rtol=1e-4)


def test_teams_share_a_reduction_on_a_gpu_only() -> None:
    gemv = example("gemv").at({"n": 64, "m": 8192})
    assert not list(teams(gemv, CPU))

    found = optimize(example("gemv"), {"n": 64, "m": 8192}, GPU, top=20, accepts=runs)
    groups = [
        c
        for c in found.candidates
        if MapWrg in patterns_of(c.term) and ToLocal in patterns_of(c.term)
    ]
    assert groups
    assert all(MapLcl in patterns_of(c.term) for c in groups)
    require_proved([step.rule for step in groups[0].derivation.steps], RULES)
    assert confirm(groups[0].derivation, RULES) is not None


def test_a_program_as_it_is_written_has_its_maps_fused_and_no_more() -> None:
    found = as_written(example("matmul"), SQUARE, "cpu")
    rules = {step.rule for step in found.derivation.steps}

    assert rules == {"reduce_to_seq", "reduce_map_fusion", "map_to_glb"}
    found.derivation.replay(RULES)


@pytest.mark.parametrize("name", ["j2d5pt", "j2d9pt"])
def test_overlapping_tiles_share_local_memory_on_a_gpu(name: str) -> None:
    """Found from the high-level stencil, by proved rules; the tiles agree with NumPy at their edges too."""
    found = optimize(example(name), {"n": 64, "m": 64}, GPU, top=40, accepts=runs)
    tiled = [c for c in found.candidates if ToLocal in patterns_of(c.term)]
    (grid,) = random_inputs(found.source, 1)

    assert len(tiled) == 3
    for candidate in tiled:
        rules = [step.rule for step in candidate.derivation.steps]
        assert "stencil_tiling_2d" in rules
        require_proved(rules, RULES)
        computed = compile_program(candidate.term)(grid, device="cpu")
        assert found.source.reference is not None
        expected = found.source.reference(grid)
        np.testing.assert_allclose(computed, expected, rtol=1e-5)
    assert confirm(tiled[0].derivation, RULES) is not None
