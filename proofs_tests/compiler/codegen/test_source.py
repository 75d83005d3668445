"""Generated OpenCL is read by people: a few kernels are kept whole.

After a wanted change: `python -m proofs_tests.compiler.codegen.test_source` writes them again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.compiler.programs import made, typed
from relift.compiler import compile_program
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.sizes import SizeLike, nat
from relift.semantics.syntax.types import f32

GOLDEN = Path(__file__).parent / "golden"
KEPT: dict[str, tuple[str, tuple[SizeLike, ...]]] = {
    "dot": ("dot", (4, 64, 4096)),
    "matmul_vectors": ("matmul_vectors", (64, 96, 80)),
    "tree": ("tree", (64,)),
    "iterated_in_local_memory": ("iterated_in_local_memory", (32, 64)),
    "tiles_in_registers": ("tiles_in_registers", (8, 8, 8)),
    "open_matmul": ("matmul", (nat("m"), nat("k"), nat("n"))),
    "open_transposed_by_tiles": ("transposed_by_tiles", (4 * nat("m"), 4 * nat("n"))),
}
"""By file: a family of programs, and the sizes."""


def source(file: str) -> str:
    name, sizes = KEPT[file]
    return compile_program(made(name, *sizes)).source


@pytest.mark.parametrize("name", KEPT)
def test_kernel_reads_as_kept(name: str) -> None:
    """The text of a kernel changes only on purpose."""
    assert source(name) == (GOLDEN / f"{name}.cl").read_text(encoding="utf-8")


def compiled(body: Any, **options: Any) -> str:
    """The source for a program of one 8-by-4 array."""

    @typed(x=f32[8, 4])
    def probe(x: Any) -> Any:
        return body(x)

    return compile_program(probe, **options).source


def test_equal_terms_are_computed_once() -> None:
    """One sum for both components, and one local array for both readers."""
    twice = compiled(
        lambda x: rl.map_glb(0)(
            lambda r: (rl.reduce_seq(rl.add, 0.0, r), rl.reduce_seq(rl.add, 0.0, r) + 1.0), x
        )
    )
    assert twice.count("for (") == 1

    def group(r: Any) -> Any:
        staged = rl.to_local(rl.map_lcl(0)(lambda v: v, r))
        return rl.map_lcl(0)(
            lambda p: p[0] + p[1], rl.zip(staged, rl.to_local(rl.map_lcl(0)(lambda v: v, r)))
        )

    assert compiled(lambda x: rl.map_wrg(0)(group, x)).count("local float tile") == 1


def test_what_is_the_same_for_every_element_is_a_kernel_of_its_own() -> None:
    """`to_global` in a lambda, where it depends on no variable of one."""

    @typed(x=f32[8], y=f32[4])
    def table(x: Any, y: Any) -> Any:
        squares = rl.to_global(rl.map_glb(0)(lambda v: v * v, y))
        return rl.map_glb(0)(lambda v: rl.reduce_seq(rl.add, v, squares), x)

    result = compile_program(table)
    assert [k.arguments for k in result.plan.kernels] == [("y", "tmp_1"), ("x", "tmp_1", "out")]


def test_private_arrays_that_are_no_registers_are_reported() -> None:
    """Where an index is no constant, unless the loop is written out."""

    def text(each: Any) -> str:
        return compiled(
            lambda x: rl.map_glb(0)(
                lambda r: rl.reduce_seq_unroll(rl.add, 0.0, rl.to_private(each(lambda v: v, r))), x
            )
        )

    assert "// own: its index i is no constant, so it lies in memory" in text(rl.map_seq)
    assert "is no constant" not in text(rl.map_seq_unroll)


def test_layouts_leave_no_trace() -> None:
    """Splits and joins that cancel give the plain index."""
    body = compiled(lambda x: rl.map_glb(0)(lambda v: v * 2.0, rl.join(rl.split(2, rl.join(x)))))
    assert "out[glb_0] = x[glb_0] * 2.0f;" in body


def test_huge_buffers_are_indexed_with_long() -> None:
    """From 2^31 cells on; below that, int."""

    def last_line(n: int) -> str:
        @typed(x=f32[n])
        def huge(x: Any) -> Any:
            return rl.map_glb(0)(lambda w: w[0] + w[2], rl.slide(3, 1, rl.pad(1, 1, rl.clamp, x)))

        return compile_program(huge).source

    assert "const long glb_0" in last_line(2**31)
    assert "min(glb_0 + 1, 2147483647L)" in last_line(2**31)
    assert "const int glb_0" in last_line(2**30)


@pytest.mark.parametrize(
    ("counts", "body"),
    [
        ("long", lambda x: rl.map_glb(0)(lambda w: w[0] + w[1], rl.slide(2, 1, x))),
        ("int", lambda x: rl.map_glb(0)(lambda v: v + v, x)),
        ("int", lambda x: rl.map_glb(0)(lambda w: rl.reduce_seq(rl.add, 0.0, w), rl.slide(9, 1, x))),
        ("int", lambda x: rl.map_glb(0)(lambda v: v + v, rl.join(rl.transpose(rl.split(5, x))))),
    ],
    ids=["neighbours", "its own cell", "a loop", "a division"],
)  # fmt: skip
def test_numbers_of_work_items_are_long_where_a_driver_makes_vectors_of_them(
    counts: str, body: Any
) -> None:
    """It does not see that neighbours access neighbouring cells where they are narrower, and an offset is added."""
    text = compile_program(typed(x=f32[1000])(body)).source
    assert f"const {counts} glb_0 = " in text


def test_long_loops_over_short_buffers_count_with_long() -> None:
    """An array that is only a view may be longer than any buffer."""
    text = compiled(lambda x: rl.reduce_seq(rl.add, 0.0, rl.join(rl.repeat(1 << 29, rl.join(x)))))
    assert re.search(r"for \(long i = 0; i < 536870912; \+\+i\)", text)
    assert "x[i_2]" in text


def test_names_of_the_program_are_kept_unless_c_has_them() -> None:
    """Parameters keep their names; words of OpenCL C get an underscore, clashes a number."""

    @typed(half=f32[4], out=f32[4], glb_0=f32[4], y=f32[4])
    def kernel(half: Any, out: Any, glb_0: Any, y: Any) -> Any:
        return rl.map_glb(0)(
            lambda p: p[0][0] + p[0][1] + p[1][0] + p[1][1],
            rl.zip(rl.zip(half, out), rl.zip(glb_0, y)),
        )

    text = compile_program(kernel).source
    assert re.search(
        r"void kernel_1\(.*\* restrict half_, .*\* restrict out_, .*\* restrict y", text
    )
    compile_program(kernel).session()


def test_contraction_is_off_when_asked() -> None:
    """`a*b + c` rounds twice."""
    assert "FP_CONTRACT OFF" in compiled(lambda x: rl.map_glb(0)(lambda r: r[0], x), contract=False)
    assert "FP_CONTRACT" not in compiled(lambda x: rl.map_glb(0)(lambda r: r[0], x))


def test_loops_over_one_element_are_not_loops() -> None:
    """And a map over one element has no number of a work-item."""
    text = compiled(
        lambda x: rl.map_glb(0)(
            lambda r: rl.map_seq(lambda v: v, r), rl.take(1, rl.transpose(rl.take(1, x)))
        )
    )
    assert "for (" not in text
    assert "get_global_id" not in text


if __name__ == "__main__":
    for kept in KEPT:
        (GOLDEN / f"{kept}.cl").write_text(source(kept), encoding="utf-8")
