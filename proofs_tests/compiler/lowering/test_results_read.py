"""A result that other kernels read, too, is computed once: it is stored where the result is, and read there, or lies where they read it."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

import relift as rl
from proofs_tests.nested_results import require_same
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.lowering.stages import stages_of
from relift.compiler.meaning.evidence import meaning_of
from relift.compiler.program import compile_program
from relift.device import GPU
from relift.egraph.cost.model import estimate
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


def stored_pairs(x: Any, y: Any) -> Any:
    """Pairs that a kernel stores, component by component."""
    return rl.to_global(rl.map_glb(0)(lambda p: (p[0] + p[1], p[0] * p[1]), rl.zip(x, y)))


def summed(pairs: Any) -> Any:
    return rl.reduce_seq(lambda a, p: a + p[0] * p[1], 0.0, pairs)


@rl.program
def components(x: rl.f32[M], y: rl.f32[M]) -> Any:
    """The second one first, and a third result that reads both."""
    pairs = stored_pairs(x, y)
    first, second = (rl.map_glb(0)(lambda p: p[0], pairs), rl.map_glb(0)(lambda p: p[1], pairs))
    return second, first, summed(pairs)


@rl.program
def under_a_name(x: rl.f32[M], y: rl.f32[M]) -> Any:
    first = lambda pairs: rl.map_glb(0)(lambda p: p[0], pairs)
    return rl.let(lambda pairs: (first(pairs), summed(pairs)), stored_pairs(x, y))


@rl.program
def in_vectors(x: rl.f32[M], y: rl.f32[M]) -> Any:
    """What is copied may go in vectors, and into rows."""
    pairs = stored_pairs(x, y)
    copied = rl.map_glb(0)(rl.map_vec(lambda p: (p[1], p[0])), rl.as_vector(4, pairs))
    return rl.split(4, rl.as_scalar(copied)), summed(pairs)


@rl.program
def in_rows(x: rl.f32[M], y: rl.f32[M]) -> Any:
    """No copy is written, and one kernel would have both."""
    sums = rl.to_global(rl.map_glb(0)(lambda p: p[0] + p[1], rl.zip(x, y)))
    return rl.split(2, sums), rl.reduce_seq(rl.add, 0.0, sums)


KERNELS = (
    (components, 2), (in_rows, 2), (in_vectors, 2),
    (first, 2), (second, 2), (of_one_kernel, 2), (of_tuples, 2), (in_a_tuple, 3),
)  # fmt: skip


@pytest.mark.parametrize(("program", "kernels"), KERNELS, ids=lambda p: getattr(p, "name", None))
def test_it_has_one_kernel_and_no_other_buffer(program: Program, kernels: int) -> None:
    compiled = compile_program(program)
    assert len(compiled.launch["kernels"]) == kernels
    assert not [b["name"] for b in compiled.launch["buffers"] if b["role"] == "temporary"]
    inputs = random_inputs(program, 0)
    require_same(compiled(*inputs, device="cpu"), program(*inputs))


@pytest.mark.parametrize(
    "program", [first, of_one_kernel, components, in_vectors], ids=lambda p: p.name
)
def test_its_kernels_are_certified(program: Program) -> None:
    assert all(found.ok for found in compile_program(program).certificates)


@rl.program
def turned(x: rl.f32[M], y: rl.f32[M]) -> Any:
    """The same cells in another order."""
    pairs = stored_pairs(x, y)
    return rl.map_glb(0)(lambda p: p[0], rl.gather(rl.reverse, pairs)), summed(pairs)


@rl.program
def in_part(x: rl.f32[M], y: rl.f32[M]) -> Any:
    """Not all of the cells."""
    pairs = stored_pairs(x, y)
    return rl.map_glb(0)(lambda p: p[0], rl.take(M // 2, pairs)), summed(pairs)


@rl.program
def twice(x: rl.f32[M], y: rl.f32[M]) -> Any:
    """A memory is one result."""
    pairs = stored_pairs(x, y)
    first = rl.map_glb(0)(lambda p: p[0], pairs)
    return first, rl.split(2, first), summed(pairs)


@rl.program
def of_a_parameter(x: rl.f32[M], y: rl.f32[M]) -> Any:
    """What the caller gave stays the caller's."""
    return rl.map_glb(0)(lambda v: v, x), summed(stored_pairs(x, y))


@rl.program
def of_steps(x: rl.f32[M], y: rl.f32[M]) -> Any:
    """Buffers of steps take turns."""
    step = lambda s: rl.map_glb(0)(lambda p: (p[0] + p[1], p[0] - p[1]), s)
    pairs = rl.to_global(rl.iterate(3, step, rl.zip(x, y)))
    return rl.map_glb(0)(lambda p: p[1], pairs), rl.map_glb(0)(lambda p: p[0], pairs), summed(pairs)


@pytest.mark.parametrize(
    "program", [turned, in_part, twice, of_a_parameter, of_steps], ids=lambda p: p.name
)
def test_what_lies_otherwise_is_copied(program: Program) -> None:
    compiled = compile_program(program)
    inputs = random_inputs(program, 0)
    require_same(compiled(*inputs, device="cpu"), program(*inputs))
    lying = [stage.result for stage in stages_of(program) if stage.lies]
    assert lying == (["out_0"] if program is twice else [])


@rl.program
def called_as_a_result(x: rl.f32[M], out_0: rl.f32[M]) -> Any:
    """A parameter, and a variable of a kernel."""
    pairs = stored_pairs(x, out_0)
    return (
        rl.map_glb(0)(lambda p: p[1], pairs),
        rl.map_glb(0)(lambda p: p[0], pairs),
        rl.reduce_seq(lambda out_1, p: out_1 + p[0] * p[1], 0.0, pairs),
    )


@pytest.mark.parametrize(
    "program",
    [components, in_vectors, in_rows, first, second, of_tuples, called_as_a_result],
    ids=lambda p: p.name,
)
def test_where_a_result_lies_is_called_as_the_result_is(program: Program) -> None:
    """A caller who is handed pointers reads these names in the header."""
    compiled = compile_program(program)
    assert all(name.startswith("out_") for name in compiled.plan.result.buffers)
    assert "tmp_" not in re.sub("//.*", "", compiled.source)
    assert meaning_of(compiled, program).ok
    inputs = random_inputs(program, 0)
    for device in ("cpu", "c"):
        require_same(compiled(*inputs, device=device), program(*inputs))


def test_results_that_lie_in_each_other_s_memories_are_refuted() -> None:
    """As any launch whose results are others."""
    compiled = compile_program(components)
    plan = compiled.plan
    second, first, total = plan.result.buffers
    swapped = replace(plan, result=replace(plan.result, buffers=(first, second, total)))
    assert meaning_of(compiled, components).ok
    assert not meaning_of(replace(compiled, plan=swapped), components).ok


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


def test_no_copy_is_charged_that_is_not_made() -> None:
    """The model counts as many launches as there are kernels."""
    for program, kernels in (
        (components, 2), (under_a_name, 2), (in_rows, 2), (turned, 3), (twice, 3), (of_steps, 6),
    ):  # fmt: skip
        assert len(compile_program(program).plan.kernels) == kernels
        assert estimate(program, GPU).launch == pytest.approx(kernels * GPU.launch_seconds)
