"""The low-level examples: kernels written by hand in the language, at several tile sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.races import complaints
from proofs_tests.compiler.texts import BARRIER
from relift.compiler import compile_program
from relift.compiler.running.compiled import Compiled
from relift.rewrites.loading import load_file
from relift.semantics.language.programs import Program

UNROLL, KEEP = "#pragma unroll", "#pragma unroll 1"

EXAMPLES = Path(__file__).parents[3] / "examples" / "low_level"


def tiled(example: str) -> Callable[..., Program]:
    """The family of programs of an example, by tile sizes."""
    return family(example, "tiled")


def family(example: str, name: str) -> Callable[..., Program]:
    """A family of programs of an example."""
    found: Callable[..., Program] = getattr(load_file(EXAMPLES / f"{example}.py"), name)
    return found


def matrices(n: int, k: int, m: int) -> tuple[Any, Any]:
    """Small whole numbers: sums of their products are exact."""
    random = np.random.default_rng(n + k + m)
    a, b = (random.integers(-4, 5, shape).astype(np.float32) for shape in ((n, k), (k, m)))
    return a, b


GPU_TILES = [
    ((32, 32, 8, 4, 4, 0), (1, 2, 3)),
    ((64, 32, 16, 8, 4, 4), (2, 1, 2)),
    ((32, 64, 8, 4, 8, 4), (1, 1, 5)),
    ((64, 64, 16, 8, 8, 4), (1, 1, 1)),
    ((128, 128, 16, 8, 8, 4), (1, 1, 3)),
]


@pytest.mark.parametrize(("tiles", "counts"), GPU_TILES, ids=str)
def test_matrix_product_in_tiles(tiles: tuple[int, ...], counts: tuple[int, int, int]) -> None:
    """Exact at every tile size, square or not, with and without padding."""
    (n, m, k), (bm, bn, bk, *_) = counts, tiles
    program = tiled("matmul_gpu")(*tiles).at({"n": n, "m": m, "k": k})
    a, b = matrices(n * bm, k * bk, m * bn)
    np.testing.assert_array_equal(compile_program(program)(a, b), a @ b)


def test_matrix_product_agrees_with_the_interpreter() -> None:
    """The smallest tiles that it has."""
    program = tiled("matmul_gpu")(8, 8, 4, 4, 4, 4).at({"n": 1, "m": 2, "k": 2})
    a, b = matrices(8, 8, 16)
    np.testing.assert_array_equal(compile_program(program)(a, b), program(a, b))


def compiled(*tiles: int) -> Compiled:
    return compile_program(tiled("matmul_gpu")(*tiles).at({"n": 2, "m": 2, "k": 4}))


@pytest.mark.no_device
def test_a_tile_of_the_result_lies_in_registers() -> None:
    """Constant indices, two barriers for each step, whole vectors between memories, one screenful of code."""
    text = compiled(128, 128, 16, 8, 8, 4).source
    assert "own[" not in text
    assert "float own63 = 0.0f;" in text
    assert "is no constant" not in text
    assert text.count(BARRIER) == 2
    assert (text.count(KEEP), text.count(UNROLL + "\n")) == (1, 1)
    assert text.count("*(local const float4*)") == 4
    assert text.count("*(global float4*)") == 16
    assert "vload" not in text
    assert "tile[2112]" in text  # 16 rows of 128 + 4
    assert len(text) < 20_000


@pytest.mark.no_device
def test_unrolled_loops_of_few_elements_are_written_out() -> None:
    """No loop but the one over tiles, and the constants are folded."""
    text = compiled(32, 32, 8, 4, 4, 0).source
    assert text.count("for (") == 1
    assert UNROLL not in text
    assert "own15 = own15 + (own_2_0.s3 * own_3_0.s3);" in text


@pytest.mark.no_device
def test_matrix_product_is_free_of_races() -> None:
    """On the simulator, with padding that nobody reads."""
    program = tiled("matmul_gpu")(8, 8, 4, 4, 4, 4).at({"n": 1, "m": 1, "k": 2})
    assert complaints(compile_program(program), matrices(8, 8, 8)) == []


@pytest.mark.parametrize(
    ("tiles", "counts"),
    [((4, 16, 8), (2, 3, 7)), ((8, 8, 8), (1, 1, 1)), ((6, 32, 16), (3, 1, 40)), ((1, 4, 4), (5, 2, 3))],
    ids=str,
)  # fmt: skip
def test_matrix_product_in_blocks(
    tiles: tuple[int, int, int], counts: tuple[int, int, int]
) -> None:
    """For a CPU: exact at every block size, also where k is odd."""
    (n, m, k), (tm, tn, _) = counts, tiles
    program = tiled("matmul_cpu")(*tiles).at({"n": n, "m": m, "k": k})
    a, b = matrices(n * tm, k, m * tn)
    found = compile_program(program)(a, b)
    np.testing.assert_array_equal(found, a @ b)
    np.testing.assert_array_equal(found, program(a, b))


@pytest.mark.no_device
def test_a_block_of_the_result_lies_in_vector_registers() -> None:
    """Constant indices, whole aligned vectors, nothing local, nothing to wait for; B is copied once, A read where it lies."""
    result = compile_program(tiled("matmul_cpu")(4, 16, 8).at({"n": 2, "m": 2, "k": 16}))
    assert len(result.plan.kernels) == 2
    assert "float8 own7 = (float8)(0.0f);" in result.source
    for absent in ("is no constant", "own[", "local ", BARRIER, "vload", "vstore"):
        assert absent not in result.source


@pytest.mark.no_device
def test_the_product_in_blocks_is_free_of_races() -> None:
    """On the simulator."""
    program = tiled("matmul_cpu")(2, 8, 4).at({"n": 2, "m": 1, "k": 3})
    assert complaints(compile_program(program), matrices(4, 3, 8)) == []


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.no_device
def test_inside_a_stencil_in_regions_no_index_is_clamped(width: int) -> None:
    """One kernel writes all regions; only the loop over what is inside has no `min` and no `max`."""
    program = family("stencils", "j2d5pt_border_cpu")(5, 8 * width, width=width)
    done = compile_program(program)
    loops = dict(re.findall(r"< ([68]); .*\{\n(.*)\n", done.source))
    clamps = {turns: bool(re.search(r"\b(min|max)\(", body)) for turns, body in loops.items()}

    assert len(done.launch["kernels"]) == 1
    assert clamps == {"8": True, "6": False}
