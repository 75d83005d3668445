"""Tiles for work-groups: what is derived means the same, has the structure it is derived for, and fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from proofs_tests.compiler.races import complaints
from proofs_tests.compiler.texts import BARRIER
from proofs_tests.portions import portioned
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.certificates.claims import certificates
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.device import GPU, DeviceDescription
from relift.egraph.search.guidance.tilings import (
    Extent,
    extent_of,
    nest_tiles,
    price,
    shared_tilings,
    tilings,
    worth,
)
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.ledger import book as ledger
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.groups.stencils import stencil_in_groups
from relift.rewrites.tactics.groups.tiles import tile_for_groups
from relift.rewrites.tactics.groups.tiling.sizes import Tiles
from relift.semantics.language.programs import Program, program
from relift.semantics.language.vocabulary import add, map, minimum, operator, reduce, transpose, zip
from relift.semantics.syntax.binding import tidy
from relift.semantics.syntax.types import f32, f64, nat

EXAMPLES = Path(__file__).parents[3] / "examples"

n, m, k = nat("n"), nat("m"), nat("k")
SIZES = {"n": 32, "m": 64, "k": 16}
TILES = Tiles(16, 32, 8, 2, 2)

least = operator(minimum, associative=True, commutative=True, name="least")


@program
def product(A: f32[n, k], B: f32[k, m]):
    """The element function is a product, and the second array is read down its columns."""
    return map(
        lambda x: map(
            lambda y: reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(x, y))), transpose(B)
        ),
        A,
    )


@program
def shortest(A: f32[n, k], B: f32[m, k]):
    """Another reduction, and both arrays are read along their rows, zipped in the other order."""
    return map(
        lambda x: map(
            lambda y: reduce(least, 1000.0, map(lambda p: p[0] + 2.0 * p[1], zip(y, x))), B
        ),
        A,
    )


@program
def down_columns(A: f32[k, n], B: f32[k, m]):
    """Both arrays are read down their columns; a function of the sum is no part of it."""
    return map(
        lambda x: map(
            lambda y: reduce(add, 1.0, map(lambda p: (p[0] - p[1]) * (p[0] - p[1]), zip(x, y))),
            transpose(B),
        ),
        transpose(A),
    )


@program
def in_double(A: f64[n, k], B: f64[k, m]):
    return map(
        lambda x: map(
            lambda y: reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(x, y))), transpose(B)
        ),
        A,
    )


@program
def one_row_each(A: f32[n, k]):
    return map(lambda x: reduce(add, 0.0, x), A)


PROGRAMS = [product, shortest, down_columns]
programs = pytest.mark.parametrize("source", PROGRAMS, ids=lambda p: p.name)


def derived(source: Program, tiles: Tiles = TILES) -> Derivation:
    return derive(source, tile_for_groups(tiles), SIZES)


def kernel(found: Derivation) -> Compiled:
    return compile_program(replace(found.program, body=found.result))


@programs
@pytest.mark.parametrize("depth", [4, 8])
def test_a_tiled_kernel_computes_what_the_program_means(source: Program, depth: int) -> None:
    """Columns of a tile are copied with open cells behind them, or, where neighbours write one vector each, without."""
    found = derived(source, replace(TILES, depth=depth))
    arrays = whole_inputs(found.program, seed=1)

    np.testing.assert_array_equal(kernel(found)(*arrays), source(*arrays))


@programs
def test_a_tiling_is_derived(source: Program) -> None:
    """The steps replay, and the interpreter confirms every program on the way."""
    found = derived(source)

    assert found.replay(RULES)[-1] == found.result
    assert confirm(found, RULES) is not None


def test_a_tiling_of_the_size_that_is_timed_is_confirmed() -> None:
    """Its numbers, which stand for several sizes each, become small ones at which every step applies."""
    sizes = dict.fromkeys(SIZES, 4096)
    found = derive(product, tile_for_groups(Tiles(128, 128, 16, 2, 2)), sizes)
    confirmed = confirm(found, RULES)

    assert confirmed is not None
    assert max(confirmed.sizes.values()) <= 32


def test_a_tiling_needs_no_law_of_the_operator() -> None:
    """Sums are formed in the order of the program, so the result is the same to the last bit."""
    found = derive(product, tile_for_groups(TILES), SIZES, policy="exact")
    random = np.random.default_rng(1)
    a, b = random.random((32, 16), np.float32), random.random((16, 64), np.float32)
    once_rounded = compile_program(replace(found.program, body=found.result), contract=False)

    np.testing.assert_array_equal(once_rounded(a, b), product(a, b))


@programs
def test_every_rule_of_a_tiling_is_proved(source: Program) -> None:
    entries = ledger.load()
    for name in {step.rule for step in derived(source).steps}:
        assert entries[name].tiers["4b"].status == "proved", name


@pytest.mark.parametrize(
    ("source", "teams"), [(product, 4), (down_columns, 2)], ids=["product", "down_columns"]
)
def test_teams_that_share_a_tile_compute_what_the_program_means(
    source: Program, teams: int
) -> None:
    """Also where the folds do not start from a neutral element; each work-item has several blocks of results."""
    found = derived(source, replace(TILES, teams=teams, ahead=teams == 4))
    arrays = whole_inputs(found.program, seed=1)

    np.testing.assert_array_equal(kernel(found)(*arrays), source(*arrays))


def test_a_tile_that_teams_share_is_confirmed() -> None:
    sizes = {"n": 8, "m": 8, "k": 8}
    found = derive(product, tile_for_groups(Tiles(8, 8, 4, 1, 1, teams=2)), sizes)
    entries = ledger.load()

    assert confirm(found, RULES) is not None
    assert {entries[step.rule].tiers["4b"].status for step in found.steps} == {"proved"}


def test_teams_go_on_to_the_end_of_a_chunk() -> None:
    """Of 7 steps that no two teams share evenly; neither rows nor columns are whole tiles."""
    tiles = replace(TILES, teams=2)
    found = derive(product, tile_for_groups(tiles), {"n": 19, "m": 21, "k": 7})
    arrays = whole_inputs(found.program, seed=1)

    np.testing.assert_array_equal(kernel(found)(*arrays), product(*arrays))


def test_teams_add_in_another_order() -> None:
    """So nothing is shared where floats are to be added in the order of the program."""
    with pytest.raises(NoMatch):
        derive(product, tile_for_groups(replace(TILES, teams=2)), SIZES, policy="exact")


def test_teams_that_share_a_tile_do_not_race() -> None:
    """They meet in local memory: behind barriers."""
    tiles = Tiles(8, 8, 4, 1, 1, teams=2)
    found = derive(product, tile_for_groups(tiles), {"n": 8, "m": 8, "k": 8})
    compiled = kernel(found)
    claims = [claim for one in certificates(compiled) for claim in one.claims]

    safety = [claim for claim in claims if claim.kind in ("bounds", "races", "barriers")]
    assert {claim.verdict for claim in safety} == {"proved"}
    assert complaints(compiled, whole_inputs(found.program, seed=1)) == []


@portioned("source", {p.name: p for p in PROGRAMS}, {"product", "down_columns"})
def test_no_access_leaves_its_array_and_no_two_work_items_race(source: Program) -> None:
    """As Z3 proves of the kernel's text, and Oclgrind observes."""
    found = derived(source)
    compiled = kernel(found)
    claims = [claim for one in certificates(compiled) for claim in one.claims]
    safety = [claim for claim in claims if claim.kind in ("bounds", "races", "barriers")]

    assert safety
    assert {claim.verdict for claim in safety} == {"proved"}
    assert "refuted" not in {claim.verdict for claim in claims}
    assert complaints(compiled, whole_inputs(found.program, seed=1)) == []


def test_work_items_read_vectors_and_keep_results_in_registers() -> None:
    """Two barriers for each chunk; between memories whole vectors move, but for the tile that is transposed."""
    text = kernel(derived(product)).source
    assert "float own63 = 0.0f;" in text
    assert text.count(BARRIER) == 2
    assert text.count("*(local const float4*)") == 4
    assert text.count("*(global float4*)") == 16
    assert "tile[160]" in text  # 8 rows of 16 + 4
    assert "tile_2[256]" in text


def test_the_tile_that_is_read_along_its_rows_is_not_padded() -> None:
    """Only columns of a tile that is stored across are written apart."""
    text = kernel(derived(down_columns)).source
    assert "tile[128]" in text
    assert "tile_2[256]" in text


@pytest.mark.parametrize(
    ("source", "tiles", "message"),
    [
        (product, replace(TILES, rows=24), "join_split"),
        (product, replace(TILES, depth=2), "as_vector_join"),
        (one_row_each, TILES, "no two maps around one fold"),
    ],
    ids=["rows", "vectors", "pattern"],
)
def test_what_cannot_be_tiled_is_refused(source: Program, tiles: Tiles, message: str) -> None:
    """With the name of the rule that does not apply, or with the pattern that is missing."""
    with pytest.raises(NoMatch, match=message):
        derive(source, tile_for_groups(tiles), {s: SIZES[s] for s in source.sizes})


# ---- which sizes


@pytest.mark.parametrize(
    ("tiles", "device"),
    [
        (Tiles(128, 128, 64, 2, 2), GPU),
        (Tiles(16, 16, 8, 1, 1), GPU),
        (Tiles(128, 128, 32, 1, 1), replace(GPU, max_work_group=512)),
        (Tiles(128, 128, 16, 8, 4), GPU),
        (Tiles(64, 16, 8, 1, 1), GPU),
        (Tiles(36, 64, 32, 2, 2), GPU),
    ],
    ids=["local memory", "few", "many", "registers", "uneven", "blocks"],
)
def test_what_a_device_has_no_room_for_is_not_proposed(
    tiles: Tiles, device: DeviceDescription
) -> None:
    """Each for one reason."""
    assert not tiles.fits(device, 4)


def test_what_is_timed_fits() -> None:
    assert Tiles(128, 128, 16, 2, 2).fits(GPU, 4)
    assert not Tiles(128, 128, 32, 2, 2).fits(GPU, 8)


def test_long_numbers_take_two_registers_each_and_vectors_of_two_are_sixteen_bytes() -> None:
    """64 results of 64 bits are half of the registers that a work-item can have."""
    narrow = Tiles(64, 64, 8, 4, 4, 2, ahead=True)
    assert narrow.fits(GPU, 8)
    assert not Tiles(128, 64, 8, 8, 4, 2).fits(GPU, 8)
    nest = Extent(2048, 2048, 2048, 1, 8)
    assert {tiles.width for tiles in tilings(nest, GPU)} == {2}
    assert price(nest, narrow, GPU) > 1.5 * price(replace(nest, scalar_bytes=4), narrow, GPU)


@portioned("source", {p.name: p for p in PROGRAMS}, {"product"})
def test_every_proposal_is_a_kernel(source: Program) -> None:
    """A tactic that is proposed applies, and what it makes compiles."""
    at_sizes = source.at({"n": 32, "m": 64, "k": 32})
    proposals = list(nest_tiles(at_sizes, GPU))
    assert proposals
    for tactic in proposals:
        assert kernel(derive(at_sizes, tactic)).source


def test_teams_share_the_tiles_of_which_a_device_has_few() -> None:
    """256^3 takes an H200 6.8 us by four teams, written by hand, and 10.1 by one; of 4096^3 each unit has enough groups."""
    few, many = (Extent(side, side, side, 1, 4) for side in (256, 4096))
    assert {tiles.teams for tiles in worth(few, GPU)} > {1}
    assert {tiles.teams for tiles in worth(many, GPU)} == {1}
    assert shared_tilings(replace(few, result=2), GPU) == []
    shares = [extent_of(source.at(dict.fromkeys(SIZES, 256))) for source in (product, shortest)]
    assert [nest is not None and nest.in_parts for nest in shares] == [True, False]


def test_wider_numbers_leave_less_room() -> None:
    """Local memory is counted in bytes."""
    sizes = dict.fromkeys(SIZES, 256)
    nests = [extent_of(source.at(sizes)) for source in (product, in_double)]
    single, double = (tilings(nest, GPU) for nest in nests if nest is not None)
    assert 0 < max(t.staged for t in double) < max(t.staged for t in single)


def test_nothing_is_proposed_where_groups_do_not_help() -> None:
    """For a CPU, and for other patterns; where no tile divides the sizes, they are padded."""
    assert not list(nest_tiles(product.at(dict.fromkeys(SIZES, 64)), replace(GPU, kind="cpu")))
    assert not list(nest_tiles(one_row_each.at({"n": 64, "k": 64}), GPU))
    assert list(nest_tiles(product.at({"n": 30, "m": 64, "k": 16}), GPU))


# ---- stencils


def test_the_tile_of_a_stencil_is_copied_once() -> None:
    """What the windows of a tile read is read from local memory, and from nowhere else."""
    jacobi = load_program(str(EXAMPLES / "j2d5pt.py"))
    found = derive(jacobi, stencil_in_groups(8), {"n": 32, "m": 32})
    text = compile_program(replace(found.program, body=tidy(found.result))).source
    body = text[text.index("kernel void") :]

    assert body.count("grid[") == 1
    assert body.count("barrier(") == 1


def test_a_tile_that_does_not_divide_the_image_is_refused() -> None:
    jacobi = load_program(str(EXAMPLES / "j2d5pt.py"))
    with pytest.raises(NoMatch):
        derive(jacobi, stencil_in_groups(8), {"n": 36, "m": 32})


def test_what_is_no_stencil_is_not_tiled() -> None:
    matmul = load_program(str(EXAMPLES / "matmul.py"))
    with pytest.raises(NoMatch):
        derive(matmul, stencil_in_groups(8), {"n": 32, "m": 32, "k": 32})
