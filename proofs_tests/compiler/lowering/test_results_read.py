"""A result that other kernels read, too, is computed once: it is stored where the result is, and read there."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

from typing import Any

import pytest

import relift as rl
from proofs_tests.nested_results import require_same
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.lowering.stages import stages_of
from relift.compiler.program import compile_program
from relift.semantics.language.programs import Program

N, M = 8, 16


def added(x: Any, y: Any) -> Any:
    """A table, cell by cell."""
    row = lambda q: rl.map_glb(0)(lambda p: p[0] + p[1], rl.zip(q[0], q[1]))
    return rl.map_glb(1)(row, rl.zip(x, y))


def squares(table: Any) -> Any:
    """Of its rows, each folded."""
    return rl.map_glb(0)(lambda r: rl.reduce_seq(lambda a, v: a + v * v, 0.0, r), table)


@rl.program
def first(x: rl.f32[N, M], y: rl.f32[N, M]) -> Any:
    table = added(x, y)
    return table, squares(rl.to_global(table))


@rl.program
def second(x: rl.f32[N, M], y: rl.f32[N, M]) -> Any:
    """Stored as a result, too."""
    table = rl.to_global(added(x, y))
    return squares(table), table


@rl.program
def of_one_kernel(x: rl.f32[M], y: rl.f32[M]) -> Any:
    """Both are shared out alike, and would be one kernel, which computed the first again."""
    sums = rl.map_glb(0)(lambda p: p[0] + p[1], rl.zip(x, y))
    read = rl.to_global(sums)
    return sums, rl.map_glb(0)(lambda v: rl.reduce_seq(rl.add, 0.0, read) * v, read)


@rl.program
def of_tuples(x: rl.f32[M], y: rl.f32[M]) -> Any:
    pairs = rl.map_glb(0)(lambda p: (p[0] + p[1], p[0] * p[1]), rl.zip(x, y))
    return pairs, rl.reduce_seq(lambda a, p: a + p[0] * p[1], 0.0, rl.to_global(pairs))


@rl.program
def in_a_tuple(x: rl.f32[N, M], y: rl.f32[N, M]) -> Any:
    table = added(x, y)
    rows = squares(rl.to_global(table))
    return rows, (table, rl.reduce_seq(rl.add, 0.0, rl.to_global(rows)))


KERNELS = ((first, 2), (second, 2), (of_one_kernel, 2), (of_tuples, 2), (in_a_tuple, 3))


@pytest.mark.parametrize(("program", "kernels"), KERNELS, ids=lambda p: getattr(p, "name", None))
def test_it_has_one_kernel_and_no_other_buffer(program: Program, kernels: int) -> None:
    compiled = compile_program(program)
    assert len(compiled.launch["kernels"]) == kernels
    assert not [b["name"] for b in compiled.launch["buffers"] if b["role"] == "temporary"]
    inputs = random_inputs(program, 0)
    require_same(compiled(*inputs, device="cpu"), program(*inputs))


@pytest.mark.parametrize("program", [first, of_one_kernel], ids=lambda p: p.name)
def test_its_kernels_are_certified(program: Program) -> None:
    assert all(found.ok for found in compile_program(program).certificates)


def test_two_equal_results_have_a_buffer_each() -> None:
    @rl.program
    def program(x: rl.f32[N, M], y: rl.f32[N, M]) -> Any:
        table = added(x, y)
        return table, table, squares(rl.to_global(table))

    assert [stage.result for stage in stages_of(program)] == ["out_0", "out_1", "out_2"]


def test_a_parameter_that_is_called_as_a_result_is_read_as_itself() -> None:
    @rl.program
    def program(out_0: rl.f32[M], y: rl.f32[M]) -> Any:
        sums = rl.map_glb(0)(lambda p: p[0] + p[1], rl.zip(out_0, y))
        both = rl.zip(out_0, rl.to_global(sums))
        return sums, rl.map_glb(0)(lambda p: p[0] * p[1], both)

    inputs = random_inputs(program, 0)
    require_same(compile_program(program)(*inputs, device="cpu"), program(*inputs))
