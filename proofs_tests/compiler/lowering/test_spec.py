"""What is no low-level term is refused, with a message that names the pattern and the hint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler import compile_program
from relift.semantics.errors import Unsupported
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32


def inc(v: Any) -> Any:
    return v + 1.0


def copy_locally(d: int, xs: Any) -> Any:
    return rl.to_local(rl.map_lcl(d)(lambda v: v, xs))


def spread(outer: int, f: Any, xs: Any) -> Any:
    """f by the work-items of a group of 4 by 4; the rows by those of dimension `outer`."""
    return rl.map_lcl(outer)(lambda row: rl.map_lcl(1 - outer)(f, row), xs)


def in_group(body: Any) -> Callable[[Any], Any]:
    """A body that a work-group computes from 4 by 4 elements, and writes by `spread(1, ...)`."""

    def program(x: Any) -> Any:
        def group(_: Any) -> Any:
            return spread(1, lambda v: v, body(rl.take(4, x)))

        return rl.map_wrg(1)(lambda _: rl.map_wrg(0)(group, rl.repeat(1, x)), rl.repeat(1, x))

    return program


def folded(start: Any, step: Any = lambda p: p[0] + p[1]) -> Callable[[Any], Any]:
    """Three steps of a fold whose accumulator work-items update by `spread(1, ...)`."""
    return in_group(
        lambda xs: rl.reduce_seq(
            lambda acc, xs: rl.map_lcl(1)(
                lambda r: rl.map_lcl(0)(step, rl.zip(r[0], r[1])), rl.zip(acc, xs)
            ),
            start(xs),
            rl.repeat(3, xs),
        )
    )


def sequentially(xs: Any) -> Any:
    return rl.map_seq(lambda row: rl.map_seq(inc, row), xs)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "reduce": (
        lambda x: rl.reduce(rl.add, 0.0, x[0]),
        "reduce has no order yet; lower it to reduce_seq, or let relift optimize find how",
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
    "drop of what computes": (
        lambda x: rl.drop(2, rl.map_glb(0)(lambda r: r[0], x)),
        "nothing can be written through drop; compute the array below it",
    ),
    "take of what is sorted in its place": (
        lambda x: rl.take(
            2, rl.map_glb(0)(lambda r: rl.insertion_sort_seq(lambda v, w: v < w, r), x)
        ),
        "nothing can be written through take; compute the array below it",
    ),
    "pad of what computes": (
        lambda x: rl.pad(1, 1, 0.0, rl.map_glb(0)(inc, x[0])),
        "nothing can be written through pad_constant",
    ),
    "lcl around wrg": (
        lambda x: rl.map_lcl(0)(lambda r: rl.map_wrg(0)(inc, r), x),
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
        lambda x: rl.map_wrg(0)(lambda r: rl.scan_seq(rl.add, 0.0, copy_locally(0, r)), x),
        r"scan_seq is written to global memory by every work-item of map_lcl\(0\) alike",
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
    "a spread private array, read by the swapped nest": (
        in_group(lambda xs: rl.transpose(rl.to_private(spread(1, inc, xs)))),
        (
            r"a private array of type f32\[4, 4\] is spread over map_lcl\(1\) in dimension 0, where element "
            r"lcl_0 is accessed; .* walk the array with the maps that wrote it, map_lcl\(1\)\(map_lcl\(0\)\)"
        ),
    ),
    "a spread private array, read as a whole": (
        in_group(
            lambda xs: rl.to_private(
                rl.map_lcl(1)(
                    lambda row: rl.map_lcl(0)(lambda v: rl.reduce_seq(rl.add, v, row), row),
                    rl.to_private(spread(1, inc, xs)),
                )
            )
        ),
        r"spread over map_lcl\(0\) in dimension 1, where element i is accessed",
    ),
    "an accumulator, written out by the swapped nest": (
        lambda x: in_group(
            lambda xs: rl.transpose(
                rl.reduce_seq(
                    lambda acc, _: spread(1, inc, acc),
                    rl.to_private(spread(1, inc, xs)),
                    rl.repeat(3, 0.0),
                )
            )
        )(x),
        r"spread over map_lcl\(1\) in dimension 0, where element lcl_0 is accessed",
    ),
    "an accumulator that the swapped nest starts": (
        folded(lambda xs: rl.to_private(spread(0, inc, xs))),
        r"spread over map_lcl\(0\) in dimension 0, where element lcl_1 is accessed",
    ),
    "an accumulator without memory": (
        folded(lambda xs: xs),
        r"reduce_seq with an accumulator of type f32\[4, 4\] that has no memory; write to_private around",
    ),
    "an accumulator that every work-item starts as a whole": (
        folded(lambda xs: rl.to_private(sequentially(xs))),
        (
            r"held by each work-item as a whole, and written under map_lcl\(0\), map_lcl\(1\), where each writes "
            r"another part; spread it: compute its first value with map_lcl\(0\), map_lcl\(1\) under to_private"
        ),
    ),
    "a private array that some work-items have no part of": (
        lambda x: rl.map_wrg(0)(
            lambda row: rl.map_lcl(0)(
                inc, rl.join(rl.repeat(2, rl.to_private(rl.map_lcl(0)(inc, row))))
            ),
            x,
        ),
        r"to_private of map_lcl\(0\) over 4 elements in a group with 8 work-items there: each must hold one",
    ),
    "work-items below a layout in a private array": (
        in_group(
            lambda xs: rl.to_private(
                rl.map_lcl(1)(lambda row: rl.join(rl.split(2, rl.map_lcl(0)(inc, row))), xs)
            )
        ),
        r"map_lcl\(0\) below join under to_private; .* put map_lcl\(0\) outside join",
    ),
    "a step that reads neighbours": (
        lambda x: rl.map_glb(0)(
            lambda row: rl.reduce_seq(
                lambda acc, v: rl.map_seq(
                    lambda p: p[0] + p[1], rl.zip(acc, rl.gather(lambda i: 3 - i, acc))
                ),
                rl.to_private(rl.map_seq(inc, row)),
                row,
            ),
            x,
        ),
        (
            r"reduce_seq updates its accumulator of type f32\[4\] in place, but its step reads element .* of it "
            "where others are written; read each element where it is written, or copy the array first"
        ),
    ),
    "a step that writes before it reads": (
        lambda x: rl.map_glb(0)(
            lambda row: rl.reduce_seq(
                lambda acc, v: rl.concat(
                    rl.map_seq(inc, rl.take(3, acc)), rl.map_seq(inc, rl.repeat(1, acc[0]))
                ),
                rl.to_private(rl.map_seq(inc, row)),
                row,
            ),
            x,
        ),
        "in place, but its step reads element 0 of it where others are written",
    ),
    "a step, written out, that writes before it reads": (
        lambda x: rl.map_glb(0)(
            lambda row: rl.reduce_seq(
                lambda acc, v: rl.map_seq_unroll(inc, rl.gather(lambda i: (i + 3) % 4, acc)),
                rl.to_private(rl.map_seq_unroll(inc, row)),
                row,
            ),
            x,
        ),
        "in place, but its step reads element 0 of it where others are written",
    ),
    "a step in the array of the result that reads what it has written": (
        lambda x: rl.map_glb(0)(
            lambda row: rl.reduce_seq(
                lambda acc, v: rl.map_seq(inc, rl.gather(lambda i: 3 - i, acc)),
                rl.map_seq(inc, row),
                row,
            ),
            x,
        ),
        "in place, but its step reads element .* of it where others are written",
    ),
    "a fold of an array that is read at once": (
        lambda x: rl.map_glb(0)(
            lambda row: rl.reduce_seq(
                rl.add,
                0.0,
                rl.reduce_seq(lambda acc, v: rl.map_seq(inc, acc), rl.map_seq(inc, row), row),
            ),
            x,
        ),
        "map_seq computes an array where none can be stored",
    ),
    "an iteration without memory": (
        lambda x: rl.map_glb(0)(lambda row: rl.iterate(3, lambda xs: rl.map_seq(inc, xs), row), x),
        r"iterate with an accumulator of type f32\[4\] that has no memory; write to_private",
    ),
    "an inner step that reads the outer array": (
        lambda x: rl.map_glb(0)(
            lambda row: rl.reduce_seq(
                lambda acc, v: rl.reduce_seq(
                    lambda inner, w: rl.map_seq(lambda p: p[0] + p[1], rl.zip(inner, acc)), acc, row
                ),
                rl.to_private(rl.map_seq(inc, row)),
                row,
            ),
            x,
        ),
        "in place, but its step also reads it by another name, while parts of it are new",
    ),
    "open cells in a buffer": (
        lambda x: rl.pad_empty(1, 1, rl.map_glb(0)(lambda r: r[0], x)),
        r"pad_empty leaves cells of a global buffer open; write pad\(left, right, clamp, xs\)",
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
    "five lanes": (
        lambda x: rl.as_scalar(rl.map_glb(0)(lambda v: v, rl.as_vector(5, rl.join(x)))),
        "vectors of 5 lanes; OpenCL has 2, 3, 4, 8 and 16",
    ),
    "lanes that compute arrays where they are read": (
        lambda x: rl.map_glb(0)(
            lambda v: rl.map_seq(
                lambda u: u[0],
                rl.as_scalar(
                    rl.repeat(1, rl.map_vec(lambda r: rl.to_private(rl.map_seq(inc, r)), v))
                ),
            ),
            rl.as_vector(5 - 1, rl.repeat(4, x[0])),
        ),
        r"map_vec computes vec\(f32\[4\], 4\) where none can be stored",
    ),
    "work-items inside lanes": (
        lambda x: rl.map_wrg(0)(
            lambda v: rl.map_vec(lambda r: rl.map_lcl(0)(inc, r), v),
            rl.as_vector(5 - 1, rl.repeat(4, x[0])),
        ),
        r"map_lcl\(0\) inside map_vec; a work-item has all lanes",
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


@pytest.mark.parametrize(("length", "most"), [(16, 256), (4096, 64)])
def test_the_private_arrays_of_a_group_fit_on_a_stack(length: int, most: int) -> None:
    """A driver for a CPU may keep those of all work-items of a group at once: 256 with 16 KiB each ended the process."""

    def kept(row: Any) -> Any:
        return rl.map_seq(inc)(rl.to_private(rl.map_seq(inc)(row)))

    @typed(x=f32[4096, length])
    def program(x: Any) -> Any:
        return rl.map_glb(0)(kept, x)

    (kernel,) = compile_program(program).plan.kernels

    assert kernel.local == (most,)
