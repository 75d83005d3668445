"""What is empty, and tuples in tuples, in kernels: to the bit what the interpreter says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.program import compile_program
from relift.compiler.validation.validate import validate
from relift.semantics.errors import IllTyped
from relift.semantics.indices.functions import reverse, shift
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import make_tuple
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.types import f32, i32, tup

n = nat("n")


def same(left: Any, right: Any) -> bool:
    if isinstance(left, tuple):
        return all(same(a, b) for a, b in zip(left, right, strict=True))
    return np.array_equal(left, right)


def count(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@typed(x=f32[4])
def array_in_an_inner_tuple(x: Any) -> Any:
    return (rl.map_seq(lambda r: r + 1.0, x), x[0]), (x[1], (x[2], rl.map_seq(lambda r: -r, x)))


@typed(x=f32[3, 0])
def read_of_joined_nothing(x: Any) -> Any:
    return rl.map_seq(lambda v: v, rl.join(x))


@typed(x=f32[3, 2])
def read_of_joined_empty_parts(x: Any) -> Any:
    return rl.map_seq(lambda v: v, rl.join(rl.map(lambda r: rl.take(0, r), x)))


@typed(x=f32[3])
def read_of_joined_repeated_nothing(x: Any) -> Any:
    return rl.map_seq(lambda v: v, rl.join(rl.repeat(2, rl.take(0, x))))


@typed(x=f32[3, 0])
def border_around_nothing(x: Any) -> Any:
    return rl.map_glb(0)(lambda v: v, rl.pad(1, 1, 2.0, rl.join(x)))


@typed(x=f32[3, 0])
def written_through_join_of_nothing(x: Any) -> Any:
    return rl.join(rl.map_glb(0)(lambda c: rl.map_seq(lambda v: v + 1.0, c), x))


@typed(x=f32[8])
def nothing_in_private_memory(x: Any) -> Any:
    own = rl.to_private(rl.map_seq(lambda v: v, rl.take(0, x)))
    return rl.map_glb(0)(lambda c: rl.reduce_seq(rl.add, c, rl.pad(1, 0, 3.0, own)), x)


@typed(x=f32[2, 8])
def nothing_in_local_memory(x: Any) -> Any:
    def group(r: Any) -> Any:
        tile = rl.to_local(rl.map_lcl(0)(lambda v: (v, v), rl.take(0, r)))
        return rl.let(
            lambda t: rl.map_lcl(0)(lambda v: rl.reduce_seq(lambda a, q: a + q[0], v, t), r), tile
        )

    return rl.map_wrg(0)(group, x)


@typed(x=f32[4])
def scattered_in_private_memory(x: Any) -> Any:
    own = rl.to_private(rl.scatter(reverse, rl.map_seq(lambda v: v + 1.0, x)))
    return rl.map_glb(0)(lambda c: rl.reduce_seq(lambda a, q: a * 2.0 + q, c, own), x)


@typed(x=tup(tup(f32, i32), f32)[n])
def array_of_nested_tuples(x: Any) -> Any:
    return rl.map_glb(0)(lambda q: (q[0][1], (q[1], q[0][0])), x)


@typed(x=tup(f32[2], tup(f32, f32[n]))[n])
def array_of_tuples_of_arrays(x: Any) -> Any:
    return rl.map_glb(0)(lambda q: q[0][1] + q[1][0] * q[1][1][0], x)


@typed(x=f32[4, 3])
def one_of_tuples_with_arrays(x: Any) -> Any:
    def both(r: Any) -> Any:
        return make_tuple(rl.to_private(rl.map_seq(lambda v: v + 1.0, r)), r[0])

    return rl.map_glb(0)(lambda r: rl.repeat(2, both(r))[1], x)


@typed(x=f32[nat("n", least=0)])
def open_cells_around_nothing(x: Any) -> Any:
    return rl.map_glb(0)(lambda v: v, rl.pad_empty(2, 1, x))


@pytest.mark.parametrize("length", [0, 1, 3])
def test_open_cells_read_no_memory_where_there_is_none(length: int) -> None:
    """Nor beyond the array; found by `relift fuzz`."""
    kernel = compile_program(open_cells_around_nothing)
    report = validate(kernel.source, kernel.plan, open_cells_around_nothing, {"n": length})
    assert report.ok, report.text()


NESTED = ((count(3), np.arange(3, dtype=np.int32)), count(3) + 5)
WITH_ARRAYS = (count(3, 2), (count(3) + 1, count(3, 3)))
CASES: list[tuple[Program, Any]] = [
    (array_in_an_inner_tuple, count(4)),
    (read_of_joined_nothing, count(3, 0)),
    (read_of_joined_empty_parts, count(3, 2)),
    (read_of_joined_repeated_nothing, count(3)),
    (border_around_nothing, count(3, 0)),
    (written_through_join_of_nothing, count(3, 0)),
    (nothing_in_private_memory, count(8)),
    (nothing_in_local_memory, count(2, 8)),
    (scattered_in_private_memory, count(4)),
    (array_of_nested_tuples, NESTED),
    (array_of_tuples_of_arrays, WITH_ARRAYS),
    (one_of_tuples_with_arrays, count(4, 3)),
]


@pytest.mark.parametrize(("program", "value"), CASES, ids=lambda p: getattr(p, "name", ""))
def test_edges_mean_what_the_interpreter_says(program: Program, value: Any) -> None:
    """Results that hold arrays at any depth, arrays of no elements wherever they stand, arrays of nested tuples."""
    kernel = compile_program(program)
    assert same(kernel(value), program(value)), kernel.source


def test_components_of_other_shapes_are_refused() -> None:
    """An array of tuples is a tuple of arrays of one shape; the message shows theirs."""
    with pytest.raises(IllTyped, match=r"x: the components have shapes .*; all have one"):
        array_of_nested_tuples(((count(3), np.arange(2, dtype=np.int32)), count(3)))
    with pytest.raises(IllTyped, match="x: a tuple of 2 arrays is needed, one per component"):
        array_of_nested_tuples((count(3), count(3), count(3)))


@pytest.mark.parametrize("where", ["read", "written", "folded"])
def test_a_rotation_of_nothing(where: str) -> None:
    """An index function that divides by the length is applied to no index of an empty array."""
    length = nat("n", least=0)

    @typed(x=f32[length], y=f32[2])
    def rotated(x: Any, y: Any) -> Any:
        turned = rl.gather(shift(1), x)
        match where:
            case "read":
                return rl.map_glb(0)(lambda v: v + 1.0, turned)
            case "written":
                return rl.scatter(shift(1), rl.map_glb(0)(lambda v: v + 1.0, x))
            case _:
                return rl.map_glb(0)(lambda v: rl.reduce_seq(rl.add, v, turned), y)

    for number in (0, 1, 3):
        arrays = count(number), count(2)
        assert same(compile_program(rotated, {"n": number})(*arrays), rotated(*arrays))
