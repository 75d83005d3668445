"""Plans without a sketch: what they propose, and that the search turns them into kernels."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift
from proofs_tests.compiler.programs import typed
from proofs_tests.portions import portioned
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program, refusal
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.search.guidance.block_plans import blocks_of, padding_blocks, register_blocks
from relift.egraph.search.guidance.by_shape import planned
from relift.egraph.search.guidance.fold_plans import cooperative_reductions
from relift.egraph.search.guidance.plans import several_dimensions, shared_folds
from relift.egraph.search.optimize import Optimized, as_written, optimize
from relift.egraph.search.outcomes import Proposal
from relift.egraph.search.proposals import Proposals
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import apply, derive, then
from relift.rewrites.tactics.groups.stencils import stencil_in_groups
from relift.rewrites.tactics.nests.padding import copied_out
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.patterns import MapLcl, MapWrg, ReduceSeq, ToGlobal, ToLocal, ToPrivate
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import Array, Vector, f32, f64, types_within

EXAMPLES = Path(__file__).parents[2] / "examples"
SQUARE = {"n": 64, "m": 64, "k": 64}


NEON = replace(CPU, vector_width=4, vector_registers=32)


def example(name: str) -> Program:
    return load_program(str(EXAMPLES / f"{name}.py"))


@pytest.fixture(scope="module")
def product() -> Optimized:
    """All that is found for a small matrix product on the CPU."""
    return optimize(example("matmul"), SQUARE, CPU, top=64, refused=refusal)


def patterns_of(program: Program) -> set[type]:
    return {type(t) for t, _ in subterms(program.body)}


def test_folds_whose_blocks_leave_the_second_cache_are_made_of_parts() -> None:
    """A block that reads more than a quarter of what its core's second cache holds has none of it there for the next."""
    deep = {"n": 64, "m": 64, "k": 8192}
    device = replace(CPU, second_bytes=1 << 20)
    (found,) = optimize(example("matmul"), deep, device, refused=refusal).candidates
    assert "partial_reduce_chunks" in {step.rule for step in found.derivation.steps}
    (found,) = optimize(example("matmul"), {**deep, "k": 512}, device, refused=refusal).candidates
    assert "partial_reduce_chunks" not in {step.rule for step in found.derivation.steps}


def test_pixels_that_are_made_rows_at_the_end_have_lanes() -> None:
    """Windows of an image in one line: the rows of the result are read as rows."""

    def smoothed(image: Any, weights: Any) -> Any:
        def weighted(w: Any) -> Any:
            products = rl.map(lambda p: p[0] * p[1], rl.zip(rl.join(w), weights))
            return rl.reduce(rl.add, 0.0, products)

        windows = rl.join(relift.slide_nd((3, 3), (1, 1), image))
        return rl.split(128, rl.map(weighted, windows))

    program = typed(image=f32[66, 130], weights=f32[9])(smoothed)
    found = optimize(program, {}, CPU)
    assert "vectorize_map" in {step.rule for step in found.derivation.steps}
    inputs = random_inputs(program, 0)
    result = compile_program(found.term)(*inputs)
    np.testing.assert_allclose(result, program(*inputs), rtol=1e-5, atol=1e-5)


def test_fewer_long_floats_fill_a_vector() -> None:
    """A product of matrices of f64 has blocks of vectors of eight, not of sixteen that take two registers each."""

    def product(a: Any, b: Any) -> Any:
        def cell(r: Any, s: Any) -> Any:
            return rl.reduce(rl.add, f64(0.0), rl.map(lambda p: p[0] * p[1], rl.zip(r, s)))

        return rl.map(lambda r: rl.map(lambda s: cell(r, s), rl.transpose(b)), a)

    found = optimize(typed(a=f64[128, 128], b=f64[128, 128])(product), {}, CPU)
    folds = [t for t, _ in subterms(found.term.body) if isinstance(t, ReduceSeq)]
    lanes = {u.width for t in folds for u in types_within(t.type) if isinstance(u, Vector)}
    assert {str(n) for n in lanes} == {"8"}


def blocked(program: Program) -> bool:
    """Whether a reduction accumulates a table of vectors in registers."""
    tables = [
        t.type
        for t, _ in subterms(program.body)
        if isinstance(t, ReduceSeq) and isinstance(t.init, ToPrivate)
    ]
    return any(
        isinstance(t, Array)
        and isinstance(t.element, Array)
        and isinstance(t.element.element, Vector)
        for t in tables
    )


@pytest.mark.parametrize(
    "device",
    [CPU, replace(CPU, vector_width=8, vector_registers=16), NEON],
    ids=["512", "256", "neon"],
)
@pytest.mark.parametrize("columns", [96, 1000, 12])
def test_a_block_fits_the_registers_and_divides_the_result(
    device: DeviceDescription, columns: int
) -> None:
    found = blocks_of(60, columns, device)
    assert found
    for block in found:
        assert block.registers <= device.vector_registers
        assert 60 % block.rows == 0
        assert columns % block.columns == 0
        assert block.lanes <= device.vector_width


def test_no_blocks_where_nothing_is_shared() -> None:
    """A matrix times a vector reads each row once; no block would read it less."""
    assert not list(register_blocks(example("gemv").at({"n": 64, "m": 64}), CPU))


def test_a_vector_of_a_block_may_be_longer_than_a_row() -> None:
    """Of 13 columns one vector leaves three lanes idle; two vectors would leave more idle than they fill."""
    blocks = padding_blocks(1000, 13, CPU)
    assert blocks
    assert {b.vectors for b in blocks} == {1}
    program = example("matmul").at({"n": 9, "m": 5, "k": 3})
    tactic = next(register_blocks(program, CPU))
    kernel = compile_program(replace(program, body=derive(program, tactic).result))
    A, B = random_inputs(program, 1)
    np.testing.assert_allclose(kernel(A, B, device="cpu"), A.astype(np.float64) @ B, rtol=1e-4)


def test_rows_that_no_blocks_divide_are_in_blocks_that_read_the_operand_where_it_is() -> None:
    """Of 17 rows the last blocks write what there is; nothing is copied, as no block reads beyond the end of a row."""
    program = example("matmul").at({"n": 17, "m": 128, "k": 4})
    derived = (
        replace(program, body=derive(program, tactic).result)
        for tactic in register_blocks(program, CPU)
    )
    in_place = (p for p in derived if blocked(p) and ToGlobal not in patterns_of(p))
    kernel = next(
        kernel for kernel in map(compile_program, in_place) if "work-items: 3 x 2," in kernel.source
    )
    A, B = random_inputs(program, 1)
    np.testing.assert_allclose(kernel(A, B, device="cpu"), A.astype(np.float64) @ B, rtol=1e-4)


def test_the_search_finds_blocks_in_registers_without_a_sketch(product: Optimized) -> None:
    """With and without a copy of B in the order in which it is read."""
    found = [c.term for c in product.candidates if blocked(c.term)]

    assert {ToGlobal in patterns_of(term) for term in found} == {True, False}


@pytest.mark.parametrize(("length", "lanes"), [(31, {16, 4}), (100, {16, 4}), (4001, {16})])
def test_short_rows_are_folded_in_narrow_vectors_too(length: int, lanes: set[int]) -> None:
    """Rows of 31 numbers fill one vector of 16, and seven of 4; to both a work-item has several rows."""
    short = example("matvec").at({"n": 64, "m": length})
    found = set[int]()
    for tactic in shared_folds(short, CPU):
        with suppress(NoMatch):
            terms = subterms(derive(short, tactic).result)
            widths = [t.type.width.constant or 0 for t, _ in terms if isinstance(t.type, Vector)]
            found.add(max(widths))  # lanes are folded in halves
    assert found - lanes <= {8}
    assert (4 in found) == (4 in lanes)


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


def test_work_items_cooperate_on_a_gpu_only() -> None:
    gemv = example("gemv").at({"n": 64, "m": 8192})
    assert not list(cooperative_reductions(gemv, CPU))

    found = optimize(example("gemv"), {"n": 64, "m": 8192}, GPU, top=20, refused=refusal)
    groups = [
        c
        for c in found.candidates
        if MapWrg in patterns_of(c.term) and ToLocal in patterns_of(c.term)
    ]
    assert groups
    assert all(MapLcl in patterns_of(c.term) for c in groups)
    require_proved([step.rule for step in groups[0].derivation.steps], RULES)
    confirmed = (
        confirm(c.derivation, RULES) for c in groups
    )  # of long turns there are no small sizes
    assert any(each is not None for each in confirmed)


def test_a_table_is_transposed_through_local_memory_on_a_gpu_only() -> None:
    for device, through in ((GPU, True), (CPU, False)):
        found = optimize(example("transpose"), {"n": 1024, "m": 2048}, device, refused=refusal)
        assert (ToLocal in patterns_of(found.candidates[0].term)) == through


def test_a_candidate_that_needs_more_local_memory_than_the_device_has_is_refused() -> None:
    """Tiles of a stencil that a device with more of it takes."""
    jacobi = example("j2d5pt").at({"n": 64, "m": 64})
    tiled = replace(jacobi, body=derive(jacobi, stencil_in_groups(32)).result)
    small = replace(GPU, local_memory_bytes=4096)

    assert refusal(tiled, GPU) is None
    assert "bytes of local memory" in (refusal(tiled, small) or "")
    found = relift.optimize(jacobi, {}, small, top=4).candidates
    assert all(compile_program(each.term).plan.kernels[0].local_bytes <= 4096 for each in found)


def test_a_permutation_of_axes_is_read_and_written_in_lines() -> None:
    """Through tiles of local memory, whichever axis is last."""

    def turned(x: Any) -> Any:
        return relift.transpose_axes(1, 2, relift.transpose_axes(0, 2, x))

    found = relift.optimize(typed(x=f32[256, 64, 256])(turned), {}, GPU)

    assert ToLocal in patterns_of(found.term)
    assert found.derivation.replay(RULES)[-1] == found.derivation.result


def test_a_program_as_it_is_written_has_its_maps_fused_and_no_more() -> None:
    found = as_written(example("matmul"), SQUARE, "cpu")
    rules = {step.rule for step in found.derivation.steps}

    assert rules == {"reduce_to_seq", "reduce_map_fusion", "map_to_glb"}
    found.derivation.replay(RULES)


@portioned("name", ["j2d5pt", "j2d9pt"], {"j2d5pt"})
def test_overlapping_tiles_share_local_memory_on_a_gpu(name: str) -> None:
    """Found from the high-level stencil, by proved rules; the tiles agree with NumPy at their edges too."""
    found = optimize(example(name), {"n": 64, "m": 64}, GPU, top=40, refused=refusal)
    tiled = [c for c in found.candidates if ToLocal in patterns_of(c.term)]
    (grid,) = random_inputs(found.source, 1)

    assert len(tiled) == 6
    for candidate in tiled:
        rules = [step.rule for step in candidate.derivation.steps]
        assert "stencil_tiling_2d" in rules
        require_proved(rules, RULES)
        computed = compile_program(candidate.term)(grid, device="cpu")
        assert found.source.reference is not None
        expected = found.source.reference(grid)
        np.testing.assert_allclose(computed, expected, rtol=1e-5)
    assert confirm(tiled[0].derivation, RULES) is not None


def test_what_is_only_rearranged_afterwards_has_the_same_plans() -> None:
    """The best of each row and where it is, as two arrays: groups have a row each, as where it is one of pairs."""

    def later(best: Any, v: Any) -> Any:
        greater = v > best[0]
        place = rl.select(greater, best[2], best[1])
        return rl.select(greater, v, best[0]), place, best[2] + 1

    def row(r: Any) -> Any:
        best = rl.reduce_seq(later, (float("-inf"), 0, 0), r)
        return best[0], best[1]

    pairs = typed(a=f32[1024, 4096])(lambda a: rl.map(row, a))
    apart = typed(a=f32[1024, 4096])(lambda a: rl.unzip(rl.map(row, a)))

    def least(program: Program) -> float:
        task = Proposals(program, {}, GPU)
        found: list[Proposal] = []
        for tactic in planned(program, GPU):
            with suppress(NoMatch):
                found += task.derived(tactic)
        return min((each.cost.seconds for each in found), default=1.0)

    assert least(apart) < 1.01 * least(pairs) < 1e-4


def test_a_table_of_four_dimensions_is_copied_out() -> None:
    """A nest that is padded may be one of many: work-items are of three dimensions, and each goes through what is left."""

    def doubled(x: Any) -> Any:
        lines = rl.map_seq(rl.map_seq(rl.map_seq(lambda v: v + v)))
        return rl.map_glb(0)(lines, x)

    program = typed(x=f32[2, 3, 5, 7])(doubled)
    copied = derive(program, then(apply("store_global"), copied_out))
    (x,) = random_inputs(program, 1)
    np.testing.assert_array_equal(compile_program(replace(program, body=copied.result))(x), x + x)


def test_gates_of_lines_leave_a_work_item_for_each_element() -> None:
    """What each line is multiplied with is computed by all of its work-items, not by one that goes along the line."""

    def gated(x: Any, y: Any) -> Any:
        def line(p: Any) -> Any:
            return rl.map(lambda v: v * p[1], p[0])

        return rl.map(lambda t: rl.map(line, rl.zip(t[0], rl.map(rl.exp, t[1]))), rl.zip(x, y))

    source = typed(x=f32[3, 4, 8], y=f32[3, 4])(gated)
    rules = []
    for tactic in several_dimensions(source, GPU):
        with suppress(NoMatch):
            rules.append([step.rule for step in derive(source, tactic).steps])

    assert any(found.count("map_to_glb") == 3 for found in rules)
