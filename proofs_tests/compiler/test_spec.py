"""What is no low-level term is refused, with a message that names the pattern and the mend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler import compile_program
from relift.semantics import language as rl
from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.types import f32, nat


def inc(v: Any) -> Any:
    return v + 1.0


def copy_locally(d: int, xs: Any) -> Any:
    return rl.to_local(rl.map_lcl(d)(lambda v: v, xs))


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "reduce": (
        lambda x: rl.reduce(rl.add, 0.0, x[0]),
        "reduce has no order yet; lower it to reduce_seq",
    ),
    "map that computes": (
        lambda x: rl.map(inc, x[0]),
        r"map\(lambda v: \.\.\.\) computes, and says not where; lower it to map_seq",
    ),
    "map that computes, read": (
        lambda x: rl.reduce_seq(rl.add, 0.0, rl.map(inc, x[0])),
        r"lower it to map_seq, map_glb\(d\)",
    ),
    "array without a place": (
        lambda x: rl.map_glb(0)(lambda r: rl.reduce_seq(rl.add, 0.0, rl.map_seq(inc, r)), x),
        "map_seq computes an array where none can be stored; put it under to_global",
    ),
    "take of what computes": (
        lambda x: rl.take(2, rl.map_glb(0)(lambda r: r[0], x)),
        "nothing can be written through take; compute the array below it",
    ),
    "pad of what computes": (
        lambda x: rl.pad(1, 1, 0.0, rl.map_glb(0)(inc, x[0])),
        "nothing can be written through pad_constant",
    ),
    "lcl without wrg": (
        lambda x: rl.map_lcl(0)(inc, x[0]),
        r"map_lcl\(0\) outside map_wrg\(0\)",
    ),
    "lcl in another dimension": (
        lambda x: rl.map_wrg(1)(lambda r: rl.map_lcl(0)(inc, r), x),
        r"map_lcl\(0\) outside map_wrg\(0\)",
    ),
    "one dimension twice": (
        lambda x: rl.map_glb(0)(lambda r: rl.map_glb(0)(inc, r), x),
        r"map_glb\(0\) inside map_glb\(0\); each dimension is used once",
    ),
    "global and grouped work-items": (
        lambda x: rl.map_wrg(0)(lambda r: rl.map_glb(1)(inc, r), x),
        r"one kernel has map_glb\(1\), map_wrg\(0\); work-items are either global",
    ),
    "work-items in a loop": (
        lambda x: rl.map_seq(lambda r: rl.map_glb(0)(inc, r), x),
        r"map_glb\(0\) inside a sequential loop",
    ),
    "a group inside its work-items": (
        lambda x: rl.map_wrg(0)(lambda r: rl.map_lcl(0)(lambda v: rl.map_wrg(1)(inc, r), r), x),
        r"map_wrg\(1\) inside map_lcl",
    ),
    "written by every work-item": (
        lambda x: rl.map_wrg(0)(lambda r: rl.reduce_seq(rl.add, 0.0, copy_locally(0, r)), x),
        r"reduce_seq is written to global memory by every work-item of map_lcl\(0\) alike",
    ),
    "local memory without a group": (
        lambda x: rl.map_glb(0)(lambda r: rl.to_local(rl.map_seq(inc, r)), x),
        "to_local outside map_wrg",
    ),
    "local memory inside map_lcl": (
        lambda x: rl.map_wrg(0)(
            lambda r: rl.map_lcl(0)(
                lambda v: rl.reduce_seq(rl.add, v, rl.to_local(rl.map_seq(inc, r))), r
            ),
            x,
        ),
        "to_local inside map_lcl",
    ),
    "a spread private array": (
        lambda x: rl.map_wrg(0)(
            lambda r: rl.map_lcl(0)(lambda v: v, rl.to_private(rl.map_lcl(0)(inc, r))), x
        ),
        r"map_lcl\(0\) under to_private: an array spread over the private memories",
    ),
    "a large private array": (
        lambda x: rl.map_glb(0)(
            lambda r: rl.reduce_seq(
                rl.add, 0.0, rl.to_private(rl.map_seq(inc, rl.repeat(5000, r[0])))
            ),
            x,
        ),
        r"to_private of f32\[5000\]: 20000 bytes for each work-item, at most 16384",
    ),
    "global memory inside a kernel": (
        lambda x: rl.map_glb(0)(
            lambda r: rl.reduce_seq(rl.add, 0.0, rl.to_global(rl.map_seq(inc, r))), x
        ),
        "to_global inside a kernel",
    ),
    "an array as accumulator": (
        lambda x: rl.reduce_seq(lambda acc, r: r, x[0], x),
        r"reduce_seq with an accumulator of type f32\[4\]",
    ),
    "five lanes": (
        lambda x: rl.as_scalar(rl.map_glb(0)(lambda v: v, rl.as_vector(5, rl.join(x)))),
        "vectors of 5 lanes; OpenCL has 2, 3, 4, 8 and 16",
    ),
    "lanes that compute arrays": (
        lambda x: rl.map_glb(0)(
            lambda v: rl.map_vec(lambda r: rl.to_private(rl.map_seq(inc, r)), v),
            rl.as_vector(5 - 1, rl.repeat(4, x[0])),
        ),
        r"map_vec computes vec\(f32\[4\], 4\)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_mend(name: str) -> None:
    """Refused before any code is generated."""
    body, message = REFUSED[name]

    @typed(x=f32[5, 4])
    def refused(x: Any) -> Any:
        return body(x)

    with pytest.raises(Unsupported, match=message):
        compile_program(refused)


def test_symbolic_sizes_are_refused() -> None:
    """A program is compiled at given sizes."""

    @typed(x=f32[nat("n")])
    def symbolic(x: Any) -> Any:
        return rl.map_glb(0)(inc, x)

    with pytest.raises(IllTyped, match=r"size n has no value; compile symbolic.at\(\{n=...\}\)"):
        compile_program(symbolic)
    assert compile_program(symbolic.at({"n": 8})).plan.kernels[0].total == (8,)
