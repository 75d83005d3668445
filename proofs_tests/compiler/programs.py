"""Low-level programs, each with what NumPy computes, at any size.

A `Case` is a family: `make(*sizes)` is the program at these sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program, program
from relift.semantics.language.vocabulary import userfun
from relift.semantics.syntax.sizes import SizeLike
from relift.semantics.syntax.terms import UserFunction
from relift.semantics.syntax.types import Type, f32, f64, i32, i64, tup


@dataclass(frozen=True)
class Case:
    """`small` sizes are compared with the interpreter, the `large` one with `reference` only."""

    make: Callable[..., Program]
    reference: Callable[..., Any]
    small: tuple[tuple[int, ...], ...]
    large: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.make.__name__


CASES: list[Case] = []


def made(name: str, *sizes: SizeLike) -> Program:
    """The program of the family with this name, at these sizes; they may be open."""
    (found,) = [c for c in CASES if c.name == name]
    return found.make(*sizes)


def typed(**types: Type) -> Callable[[Callable[..., Any]], Program]:
    """`program`, with the types of the parameters given apart: they depend on the sizes of the family."""

    def traced(function: Callable[..., Any]) -> Program:
        function.__annotations__ = types
        return program(function)

    return traced


def case(
    reference: Callable[..., Any], small: list[tuple[int, ...]], large: tuple[int, ...]
) -> Callable[[Callable[..., Program]], Callable[..., Program]]:
    """Decorator: add a family of programs to the table."""

    def add(make: Callable[..., Program]) -> Callable[..., Program]:
        CASES.append(Case(make, reference, tuple(small), large))
        return make

    return add


# ---- one dimension


@case(lambda a, x, y: a * x + y, [(1,), (7,), (48,)], (100_003,))
def saxpy(n: int) -> Program:
    @typed(a=f32, x=f32[n], y=f32[n])
    def saxpy(a: Any, x: Any, y: Any) -> Any:
        return rl.map_glb(0)(lambda p: a * p[0] + p[1], rl.zip(x, y))

    return saxpy


@case(lambda a, x, y: a * x + y, [(4, 4), (4, 12), (3, 24)], (8, 1 << 16))
def saxpy_vectors(w: int, n: int) -> Program:
    @typed(a=f32, x=f32[n], y=f32[n])
    def saxpy_vectors(a: Any, x: Any, y: Any) -> Any:
        def lanes(v: Any) -> Any:
            return rl.map_vec(lambda p: a * p[0] + p[1], v)

        return rl.as_scalar(rl.map_glb(0)(lanes, rl.as_vector(w, rl.zip(x, y))))

    return saxpy_vectors


def _in_vectors_of_eight(x: Any) -> Any:
    widths = (3, -(len(x) + 3) % 8)
    edge, symmetric, wrapped = (np.pad(x, widths, mode) for mode in ("edge", "symmetric", "wrap"))
    return edge + 2 * symmetric + 4 * wrapped + 8 * np.pad(x, widths)


@case(_in_vectors_of_eight, [(1,), (5,), (22,), (41,)], (10_007,))
def vectors_at_borders(n: int) -> Program:
    @typed(x=f32[n])
    def vectors_at_borders(x: Any) -> Any:
        of = [rl.pad(3, -(n + 3) % 8, each, x) for each in (rl.clamp, rl.mirror, rl.wrap, 0.0)]
        return rl.as_scalar(
            rl.map_glb(0)(
                rl.map_vec(lambda p: p[0] + 2.0 * p[1] + 4.0 * p[2] + 8.0 * p[3]),
                rl.as_vector(8, rl.zip(*of)),
            )
        )

    return vectors_at_borders


@case(
    lambda x: np.stack([x[:, j::8].sum(1) for j in range(5)], 1),
    [(1, 1), (2, 7), (3, 40)],
    (64, 3000),
)
def updated_at_once(n: int, m: int) -> Program:
    """Of each row the sums of every eighth number, from each of the first five on."""

    @typed(x=i32[n, m])
    def updated_at_once(x: Any) -> Any:
        def sums(row: Any) -> Any:
            first = rl.to_local(rl.map_lcl(0)(lambda i: 0, rl.generate(5, lambda i: i)))
            numbered = rl.zip(rl.generate(m, lambda i: i), row)
            pairs = rl.map_lcl(0)(lambda p: (p[0] & 7, p[1]), numbered)
            return rl.map_lcl(0)(lambda v: v, rl.reduce_by_index(rl.add, first, pairs))

        return rl.map_wrg(0)(sums, x)

    return updated_at_once


@case(
    lambda x: np.array([x[x & 7 == j].sum() for j in range(5)]),
    [(1,), (7,), (40,)],
    (3000,),
)
def updated_by_all(n: int) -> Program:
    """The sums of the numbers that leave 0 to 4 of eight, in cells that another kernel has stored."""

    @typed(x=i32[n])
    def updated_by_all(x: Any) -> Any:
        first = rl.to_global(rl.map_glb(0)(lambda i: 0, rl.generate(5, lambda i: i)))
        return rl.reduce_by_index(rl.add, first, rl.map_glb(0)(lambda v: (v & 7, v), x))

    return updated_by_all


@case(lambda x, y: np.sum(x * y), [(4, 1, 8), (4, 3, 24), (2, 5, 30)], (16, 64, 1 << 20))
def dot(w: int, parts: int, n: int) -> Program:
    @typed(x=f32[n], y=f32[n])
    def dot(x: Any, y: Any) -> Any:
        def chunk(t: Any) -> Any:
            lanes = rl.reduce_seq(
                lambda a, v: rl.vectorize(w, rl.add)(a, rl.map_vec(lambda p: p[0] * p[1], v)),
                rl.splat(w, 0.0),
                rl.as_vector(w, t),
            )
            return rl.reduce_seq(rl.add, 0.0, rl.as_scalar(rl.repeat(1, lanes)))

        partial = rl.map_glb(0)(chunk, rl.split(n // parts, rl.zip(x, y)))
        return rl.reduce_seq(rl.add, 0.0, rl.to_global(partial))

    return dot


def _square(name: str, c: str | None = None) -> UserFunction:
    def function(x: Any) -> Any:
        return x * x

    function.__name__, function.__annotations__ = name, {"x": f32, "return": f32}
    made = userfun(function, c=c)
    assert isinstance(made, UserFunction)
    return made


square = _square("square")
square_c = _square("square_c", "float y = x * x;\nreturn y;")


def _sums_of_squares(x: Any) -> Any:
    return np.sum((x * x).reshape(-1, 4), axis=1)


@case(_sums_of_squares, [(4,), (8,), (36,)], (4096,))
def squares(n: int) -> Program:
    @typed(x=f32[n])
    def squares(x: Any) -> Any:
        def row(xs: Any) -> Any:
            return rl.reduce_seq(lambda acc, v: acc + square(v), 0.0, xs)

        return rl.map_glb(0)(row, rl.split(4, x))

    return squares


@case(_sums_of_squares, [(4,), (8,), (36,)], (4096,))
def squares_in_c(n: int) -> Program:
    @typed(x=f32[n])
    def squares_in_c(x: Any) -> Any:
        def row(xs: Any) -> Any:
            squared = rl.map_vec(square_c, rl.as_vector(4, xs)[0])
            return rl.reduce_seq(rl.add, 0.0, rl.as_scalar(rl.repeat(1, squared)))

        return rl.map_glb(0)(row, rl.split(4, x))

    return squares_in_c


@case(_sums_of_squares, [(4,), (8,), (36,)], (4096,))
def squares_of_vectors(n: int) -> Program:
    @typed(x=f32[n])
    def squares_of_vectors(x: Any) -> Any:
        def row(xs: Any) -> Any:
            squared = rl.map_vec(square, rl.as_vector(4, xs)[0])
            return rl.reduce_seq(rl.add, 0.0, rl.as_scalar(rl.repeat(1, squared)))

        return rl.map_glb(0)(row, rl.split(4, x))

    return squares_of_vectors


def _stencil(x: Any, mode: str) -> Any:
    padded = np.pad(x, 1, mode=mode)  # type: ignore[call-overload]
    return padded[:-2] + 2 * padded[1:-1] + padded[2:]


@case(lambda x: _stencil(x, "edge"), [(1,), (5,), (32,)], (10_000,))
def stencil_clamp(n: int) -> Program:
    @typed(x=f32[n])
    def stencil_clamp(x: Any) -> Any:
        return rl.map_glb(0)(
            lambda w: w[0] + 2.0 * w[1] + w[2], rl.slide(3, 1, rl.pad(1, 1, rl.clamp, x))
        )

    return stencil_clamp


@case(lambda x: _stencil(x, "constant"), [(1,), (5,), (32,)], (10_000,))
def stencil_zero(n: int) -> Program:
    @typed(x=f32[n])
    def stencil_zero(x: Any) -> Any:
        return rl.map_glb(0)(
            lambda w: w[0] + 2.0 * w[1] + w[2], rl.slide(3, 1, rl.pad(1, 1, 0.0, x))
        )

    return stencil_zero


@case(lambda x: _stencil(x, "constant"), [(4,), (8,), (32,)], (10_000,))
def stencil_vectors(n: int) -> Program:
    @typed(x=f32[n])
    def stencil_vectors(x: Any) -> Any:
        windows = rl.slide(3, 1, rl.pad(1, 1, 0.0, x))
        return rl.as_scalar(
            rl.map_glb(0)(
                lambda v: rl.map_vec(lambda w: w[0] + 2.0 * w[1] + w[2], v),
                rl.as_vector(4, windows),
            )
        )

    return stencil_vectors


@case(lambda x: (np.minimum(x, 3), np.abs(x)), [(1,), (6,), (11,)], (1000,))
def tuples_out(n: int) -> Program:
    @typed(x=f32[n])
    def tuples_out(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: (rl.minimum(v, 3.0), rl.absolute(v)), x)

    return tuples_out


@case(lambda ps: (np.sum(ps[0]), np.max(ps[1])), [(1,), (5,), (16,)], (1000,))
def tuple_accumulator(n: int) -> Program:
    @typed(ps=tup(f32, i32)[n])
    def tuple_accumulator(ps: Any) -> Any:
        return rl.reduce_seq(
            lambda acc, p: (acc[0] + p[0], rl.maximum(acc[1], p[1])), (0.0, -100), ps
        )

    return tuple_accumulator


@case(
    lambda x, y: np.where(x < y, -x, np.abs(y)) * np.minimum(x, y) + np.maximum(x, y),
    [(4,), (8,), (20,)],
    (1 << 12,),
)
def integers(n: int) -> Program:
    @typed(x=i32[n], y=i32[n])
    def integers(x: Any, y: Any) -> Any:
        def f(p: Any) -> Any:
            a, b = p[0], p[1]
            chosen = rl.select(a < b, -a, rl.absolute(b))
            return chosen * rl.minimum(a, b) + rl.maximum(a, b)

        return rl.as_scalar(
            rl.map_glb(0)(lambda v: rl.map_vec(f, v), rl.as_vector(4, rl.zip(x, y)))
        )

    return integers


@case(lambda x, y: np.where(x < y, x * 2, y) + np.minimum(x, y), [(2,), (8,), (14,)], (1 << 12,))
def doubles(n: int) -> Program:
    @typed(x=f64[n], y=f64[n])
    def doubles(x: Any, y: Any) -> Any:
        def f(p: Any) -> Any:
            return rl.select(p[0] < p[1], p[0] * 2.0, p[1]) + rl.minimum(p[0], p[1])

        return rl.as_scalar(
            rl.map_glb(0)(lambda v: rl.map_vec(f, v), rl.as_vector(2, rl.zip(x, y)))
        )

    return doubles


@case(lambda x: x[2:-1] * 3, [(4,), (8,), (21,)], (5000,))
def take_drop(n: int) -> Program:
    @typed(x=i64[n])
    def take_drop(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v * 3, rl.drop(2, rl.take(n - 1, x)))

    return take_drop


@case(lambda x: (x < 3, np.sum(x)), [(4,), (8,), (20,)], (400,))
def truth_values(n: int) -> Program:
    @typed(x=i32[n])
    def truth_values(x: Any) -> Any:
        small = rl.map_seq(lambda v: rl.map_vec(lambda a: a < 3, v), rl.as_vector(4, x))
        return rl.as_scalar(small), rl.reduce_seq(rl.add, 0, x)

    return truth_values


def _sorted_threes(x: Any) -> Any:
    rows = np.sort(x.reshape(-1, 3), axis=1)
    return (rows[:, 0], rows[:, 1]), rows[:, 2]


@case(_sorted_threes, [(3,), (6,), (21,)], (999,))
def sorted_threes(n: int) -> Program:
    """Nested tuples out."""

    @typed(x=f32[n])
    def sorted_threes(x: Any) -> Any:
        def row(w: Any) -> Any:
            low, high = rl.minimum(w[0], w[1]), rl.maximum(w[0], w[1])
            middle, top = rl.minimum(high, w[2]), rl.maximum(high, w[2])
            return (rl.minimum(low, middle), rl.maximum(low, middle)), top

        return rl.map_glb(0)(row, rl.split(3, x))

    return sorted_threes


@case(lambda x, y: (x * 2, -y), [(1,), (6,), (17,)], (500,))
def two_maps(n: int) -> Program:
    """Two arrays computed by one kernel."""

    @typed(x=f32[n], y=i32[n])
    def two_maps(x: Any, y: Any) -> Any:
        return rl.zip(rl.map_glb(0)(lambda v: v * 2.0, x), rl.map_glb(0)(lambda v: -v, y))

    return two_maps


# ---- two dimensions


@case(lambda a, x: a @ x, [(1, 1), (3, 5), (8, 4)], (100, 300))
def matvec(m: int, k: int) -> Program:
    @typed(a=f32[m, k], x=f32[k])
    def matvec(a: Any, x: Any) -> Any:
        return rl.map_glb(0)(
            lambda row: rl.reduce_seq(lambda acc, p: acc + p[0] * p[1], 0.0, rl.zip(row, x)), a
        )

    return matvec


@case(lambda a, b: a @ b, [(1, 1, 1), (3, 5, 2), (4, 4, 6)], (64, 96, 80))
def matmul(m: int, k: int, n: int) -> Program:
    @typed(a=f32[m, k], b=f32[k, n])
    def matmul(a: Any, b: Any) -> Any:
        def cell(row: Any, column: Any) -> Any:
            return rl.reduce_seq(lambda acc, p: acc + p[0] * p[1], 0.0, rl.zip(row, column))

        return rl.map_glb(1)(
            lambda row: rl.map_glb(0)(lambda column: cell(row, column), rl.transpose(b)), a
        )

    return matmul


@case(lambda a, b: a @ b, [(1, 1, 4), (3, 5, 8), (4, 4, 12)], (64, 96, 80))
def matmul_vectors(m: int, k: int, n: int) -> Program:
    @typed(a=f32[m, k], b=f32[k, n])
    def matmul_vectors(a: Any, b: Any) -> Any:
        def cells(row: Any, columns: Any) -> Any:
            return rl.map_vec(
                lambda column: rl.reduce_seq(
                    lambda acc, p: acc + p[0] * p[1], 0.0, rl.zip(row, column)
                ),
                columns,
            )

        def line(row: Any) -> Any:
            return rl.as_scalar(
                rl.map_glb(0)(lambda v: cells(row, v), rl.as_vector(4, rl.transpose(b)))
            )

        return rl.map_glb(1)(line, a)

    return matmul_vectors


@case(lambda a: a.T, [(1, 1), (3, 5), (8, 4)], (120, 70))
def transposed(m: int, n: int) -> Program:
    @typed(a=f32[m, n])
    def transposed(a: Any) -> Any:
        return rl.map_glb(1)(lambda row: rl.map_glb(0)(lambda v: v, row), rl.transpose(a))

    return transposed


@case(lambda a: a.T, [(1, 1), (3, 5), (8, 4)], (120, 70))
def transposed_while_writing(m: int, n: int) -> Program:
    @typed(a=f32[m, n])
    def transposed_while_writing(a: Any) -> Any:
        return rl.transpose(rl.map_glb(1)(lambda row: rl.map_glb(0)(lambda v: v, row), a))

    return transposed_while_writing


@case(lambda a: a.T, [(4, 4), (4, 8), (12, 8)], (64, 128))
def transposed_by_tiles(m: int, n: int) -> Program:
    """Through local memory: every work-item reads what another one wrote."""

    @typed(a=f32[m, n])
    def transposed_by_tiles(a: Any) -> Any:
        def tile(t: Any) -> Any:
            staged = rl.to_local(rl.map_lcl(1)(lambda row: rl.map_lcl(0)(lambda v: v, row), t))
            return rl.map_lcl(1)(lambda row: rl.map_lcl(0)(lambda v: v, row), rl.transpose(staged))

        tiles = rl.map(rl.transpose, rl.split(4, rl.map(lambda row: rl.split(4, row), a)))
        done = rl.map_wrg(1)(lambda ts: rl.map_wrg(0)(tile, ts), rl.transpose(tiles))
        return rl.map(rl.join, rl.join(rl.map(rl.transpose, done)))

    return transposed_by_tiles


# ---- work-groups


@case(lambda x: x.reshape(-1, 16).sum(axis=1), [(16,), (48,), (80,)], (1 << 12,))
def tree(n: int) -> Program:
    """A reduction tree: at each level half of the work-items rest."""

    @typed(x=f32[n])
    def tree(x: Any) -> Any:
        def level(xs: Any, length: int) -> Any:
            return rl.to_local(
                rl.map_lcl(0)(
                    lambda p: rl.reduce_seq(rl.add, 0.0, p),
                    rl.transpose(rl.split(length // 2, xs)),
                )
            )

        def group(chunk: Any) -> Any:
            xs = rl.to_local(rl.map_lcl(0)(lambda v: v, chunk))
            for length in (16, 8, 4):
                xs = level(xs, length)
            return rl.map_lcl(0)(lambda p: rl.reduce_seq(rl.add, 0.0, p), rl.split(2, xs))

        return rl.join(rl.map_wrg(0)(group, rl.split(16, x)))

    return tree


@case(
    lambda x: np.repeat(x.reshape(-1, 32).sum(axis=1), 8),
    [(32,), (64,), (96,)],
    (3200,),
)
def loop_over_tiles(n: int) -> Program:
    """Local memory that each iteration of a loop overwrites: barriers on both sides of its readers."""

    @typed(x=i32[n])
    def loop_over_tiles(x: Any) -> Any:
        def tile_sum(t: Any) -> Any:
            staged = rl.to_local(rl.map_lcl(0)(lambda v: v, t))
            return rl.reduce_seq(rl.add, 0, staged)

        def group(chunk: Any) -> Any:
            total = rl.reduce_seq(lambda acc, t: acc + tile_sum(t), 0, rl.split(8, chunk))
            return rl.map_lcl(0)(lambda v: v, rl.repeat(8, total))

        return rl.join(rl.map_wrg(0)(group, rl.split(32, x)))

    return loop_over_tiles


@case(
    lambda x: np.repeat(3 * x.reshape(-1, 32).sum(axis=1), 8),
    [(32,), (64,), (96,)],
    (3200,),
)
def tiles_fetched_ahead(n: int) -> Program:
    """Local memory that each iteration of a loop fills for the next: each work-item reads what others fetched."""

    @typed(x=i32[n])
    def tiles_fetched_ahead(x: Any) -> Any:
        def tile_sum(acc: Any, t: Any) -> Any:
            staged = rl.to_local(rl.map_lcl(0)(lambda v: v * 3, t))
            return rl.reduce_seq(rl.add, acc, staged)

        def group(chunk: Any) -> Any:
            total = rl.reduce_seq_ahead(tile_sum, 0, rl.split(8, chunk))
            return rl.map_lcl(0)(lambda v: v, rl.repeat(8, total))

        return rl.join(rl.map_wrg(0)(group, rl.split(32, x)))

    return tiles_fetched_ahead


@case(lambda x: 1 + x.sum(axis=1), [(1, 1), (2, 3), (3, 8)], (40, 50))
def sums_in_registers(groups: int, tiles: int) -> Program:
    """The accumulator of a work-group: each work-item holds one of its 8 elements."""

    @typed(x=f32[groups, tiles, 8])
    def sums_in_registers(x: Any) -> Any:
        def group(t: Any) -> Any:
            ones = rl.to_private(rl.map_lcl(0)(lambda v: v, rl.repeat(8, 1.0)))
            total = rl.reduce_seq(
                lambda acc, row: rl.map_lcl(0)(lambda p: p[0] + p[1], rl.zip(acc, row)), ones, t
            )
            return rl.map_lcl(0)(lambda v: v, total)

        return rl.map_wrg(0)(group, x)

    return sums_in_registers


@case(lambda a, b: a @ b, [(1, 1, 1), (2, 1, 3), (1, 3, 2)], (5, 6, 7))
def tiles_in_registers(n: int, m: int, k: int) -> Program:
    """Tiles of 6 by 8 in steps of 4: work-items 3 by 2, each with 2 by 4 elements, held as vectors."""

    @typed(a=f32[6 * n, 4 * k], b=f32[4 * k, 8 * m])
    def tiles_in_registers(a: Any, b: Any) -> Any:
        def items(f: Any, xs: Any) -> Any:
            return rl.map_lcl(1)(lambda row: rl.map_lcl(0)(f, row), xs)

        def step(acc: Any, ab: Any) -> Any:
            def block(row: Any, columns: Any) -> Any:
                return rl.map_seq_unroll(
                    lambda p: rl.vectorize(4, rl.add)(
                        p[0], rl.vectorize(4, rl.mul)(rl.splat(4, p[1]), columns)
                    ),
                    row,
                )

            rows, columns = rl.split(2, ab[0]), rl.as_vector(4, ab[1])
            return rl.map_lcl(1)(
                lambda p: rl.map_lcl(0)(
                    lambda q: block(rl.zip(q[0], p[1]), q[1]), rl.zip(p[0], columns)
                ),
                rl.zip(acc, rows),
            )

        def tile(rows: Any, columns: Any) -> Any:
            zero = rl.repeat(3, rl.repeat(2, rl.repeat(2, rl.splat(4, 0.0))))
            start = rl.to_private(items(lambda c: rl.map_seq_unroll(lambda v: v, c), zero))

            a_tiles = rl.split(4, rl.transpose(rows))
            b_tiles = rl.split(4, rl.transpose(columns))
            acc = rl.reduce_seq(
                lambda acc, ab: rl.reduce_seq_unroll(step, acc, rl.zip(ab[0], ab[1])),
                start,
                rl.zip(a_tiles, b_tiles),
            )
            written = items(lambda c: rl.map_seq_unroll(lambda v: v, c), acc)
            return rl.join(rl.map(lambda row: rl.map(rl.as_scalar, rl.transpose(row)), written))

        tiles = rl.map_wrg(1)(
            lambda rows: rl.map_wrg(0)(
                lambda columns: tile(rows, columns), rl.split(8, rl.transpose(b))
            ),
            rl.split(6, a),
        )
        return rl.join(rl.map(lambda row: rl.map(rl.join, rl.transpose(row)), tiles))

    return tiles_in_registers


@case(lambda x: x.T + 1, [(4, 4), (8, 4), (4, 12)], (64, 36))
def padded_rows(n: int, m: int) -> Program:
    """A tile whose rows lie 7 cells apart in local memory, read by columns."""

    @typed(x=f32[n, m])
    def padded_rows(x: Any) -> Any:
        def items(f: Any, xs: Any) -> Any:
            return rl.map_lcl(1)(lambda row: rl.map_lcl(0)(f, row), xs)

        def tile(t: Any) -> Any:
            apart = rl.to_local(
                rl.map(lambda row: rl.pad_empty(1, 2, row), items(lambda v: v + 1.0, t))
            )
            return items(
                lambda v: v, rl.transpose(rl.map(lambda row: rl.take(4, rl.drop(1, row)), apart))
            )

        tiles = rl.map(rl.transpose, rl.split(4, rl.map(lambda row: rl.split(4, row), x)))
        done = rl.map_wrg(1)(lambda ts: rl.map_wrg(0)(tile, ts), rl.transpose(tiles))
        return rl.map(rl.join, rl.join(rl.map(rl.transpose, done)))

    return padded_rows


def _swapped(x: Any) -> Any:
    left, right = x + np.float32(1), x + np.float32(1)
    for _ in range(3):
        left, right = right, left + left
    return left, right


@case(_swapped, [(1, 4), (3, 4), (5, 8)], (100, 16))
def pairs_in_registers(n: int, m: int) -> Program:
    """Two arrays change places at each step: both are read before one is written."""

    @typed(x=f32[n, m])
    def pairs_in_registers(x: Any) -> Any:
        def row(r: Any) -> Any:
            start = rl.to_private(rl.map_seq_unroll(lambda v: (v + 1.0, v + 1.0), r))
            done = rl.reduce_seq(
                lambda acc, _: rl.map_seq_unroll(lambda p: (p[1], p[0] * 2.0), acc),
                start,
                rl.repeat(3, 0.0),
            )
            return rl.map_seq(lambda p: p, done)

        return rl.map_glb(0)(row, x)

    return pairs_in_registers


def _sums_added_twice(x: Any) -> Any:
    for _ in range(2):
        x = x + x.sum(axis=1)[:, None]
    return x


@case(_sums_added_twice, [(1, 4), (3, 8), (2, 12)], (50, 16))
def copied_before_the_step(n: int, m: int) -> Program:
    """A step that reads the whole array, from a copy: the sum is added to each element, twice."""

    @typed(x=f32[n, m])
    def copied_before_the_step(x: Any) -> Any:
        def step(acc: Any, _: Any) -> Any:
            before = rl.to_private(rl.map_seq(lambda v: v, acc))
            return rl.let(
                lambda all_: rl.map_seq(
                    lambda p: p[0] + p[1],
                    rl.zip(acc, rl.repeat(m, rl.reduce_seq(rl.add, 0.0, all_))),
                ),
                before,
            )

        def row(r: Any) -> Any:
            return rl.reduce_seq(step, rl.to_private(rl.map_seq(lambda v: v, r)), rl.repeat(2, 0.0))

        return rl.map_glb(0)(row, x)

    return copied_before_the_step


def _smoothed(x: Any, times: int) -> Any:
    for _ in range(times):
        padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(1, 1)], mode="edge")
        x = padded[..., :-2] + padded[..., 1:-1] + padded[..., 2:]
    return x


def _smoothing_step(xs: Any) -> Any:
    return rl.to_local(
        rl.map_lcl(0)(lambda w: w[0] + w[1] + w[2], rl.slide(3, 1, rl.pad(1, 1, rl.clamp, xs)))
    )


@case(lambda x: _smoothed(x, 3), [(1, 4), (3, 8), (2, 16)], (50, 32))
def iterated_in_local_memory(n: int, m: int) -> Program:
    """Each run reads what other work-items wrote: two arrays by turns."""

    @typed(x=f32[n, m])
    def iterated_in_local_memory(x: Any) -> Any:
        def group(row: Any) -> Any:
            start = rl.to_local(rl.map_lcl(0)(lambda v: v, row))
            return rl.map_lcl(0)(lambda v: v, rl.iterate(3, _smoothing_step, start))

        return rl.map_wrg(0)(group, x)

    return iterated_in_local_memory


@case(
    lambda x: _smoothed(x, 2).sum(axis=1)[:, ::-1], [(1, 1, 4), (2, 3, 8), (1, 4, 6)], (20, 5, 32)
)
def iterated_in_a_loop(n: int, k: int, m: int) -> Program:
    """Both arrays are written again while others may still read the last result."""

    @typed(x=f32[n, k, m])
    def iterated_in_a_loop(x: Any) -> Any:
        def step(acc: Any, row: Any) -> Any:
            start = rl.to_local(rl.map_lcl(0)(lambda v: v, row))
            done = rl.iterate(2, _smoothing_step, start)
            return rl.map_lcl(0)(
                lambda p: p[0] + p[1], rl.zip(acc, rl.gather(lambda i: m - 1 - i, done))
            )

        def group(rows: Any) -> Any:
            zero = rl.to_private(rl.map_lcl(0)(lambda v: v, rl.repeat(m, 0.0)))
            total = rl.reduce_seq(step, zero, rows)
            return rl.map_lcl(0)(lambda v: v, total)

        return rl.map_wrg(0)(group, x)

    return iterated_in_a_loop


@case(lambda x: 2 * _smoothed(x, 2) + 2, [(1, 4), (3, 8), (2, 16)], (50, 32))
def read_after_other_arrays(n: int, m: int) -> Program:
    """The result of an iteration, read when two other local arrays have come and gone."""

    @typed(x=f32[n, m])
    def read_after_other_arrays(x: Any) -> Any:
        def turned(xs: Any) -> Any:
            return rl.to_local(rl.map_lcl(0)(lambda v: v + 1.0, rl.gather(lambda i: m - 1 - i, xs)))

        def group(row: Any) -> Any:
            start = rl.to_local(rl.map_lcl(0)(lambda v: v, row))
            return rl.let(
                lambda done: rl.map_lcl(0)(
                    lambda p: p[1] + p[0], rl.zip(turned(turned(done)), done)
                ),
                rl.iterate(2, _smoothing_step, start),
            )

        return rl.map_wrg(0)(group, x)

    return read_after_other_arrays


@case(lambda x: (x * 2, x * -2), [(1, 4), (2, 8), (3, 5)], (30, 64))
def pairs_iterated_in_local_memory(n: int, m: int) -> Program:
    """Arrays of tuples have an array, and a pointer to it, for each component."""

    @typed(x=f32[n, m])
    def pairs_iterated_in_local_memory(x: Any) -> Any:
        def group(row: Any) -> Any:
            start = rl.to_local(rl.map_lcl(0)(lambda v: (v, -v), row))
            done = rl.iterate(
                2,
                lambda ps: rl.map_lcl(0)(
                    lambda p: (p[0][0] - p[1][1], p[0][1] - p[1][0]),
                    rl.zip(ps, rl.map(lambda p: (p[0], p[1]), ps)),
                ),
                start,
            )
            return rl.map_lcl(0)(lambda p: (p[0] * 0.5, p[1] * 0.5), done)

        return rl.map_wrg(0)(group, x)

    return pairs_iterated_in_local_memory


@case(lambda x: 8 * x, [(1, 4), (3, 5), (7, 2)], (100, 16))
def iterated_in_registers(n: int, m: int) -> Program:
    """An array of one work-item, doubled in place."""

    @typed(x=f32[n, m])
    def iterated_in_registers(x: Any) -> Any:
        def row(r: Any) -> Any:
            start = rl.to_private(rl.map_seq_unroll(lambda v: v, r))
            return rl.map_seq_unroll(
                lambda v: v, rl.iterate(3, lambda xs: rl.map_seq_unroll(lambda v: v + v, xs), start)
            )

        return rl.map_glb(0)(row, x)

    return iterated_in_registers


@case(lambda x: x + 1, [(600,)], (6000,))
def long_group(n: int) -> Program:
    """More elements than work-items in a group."""

    @typed(x=f32[n])
    def long_group(x: Any) -> Any:
        def group(chunk: Any) -> Any:
            return rl.map_lcl(0)(lambda v: v, rl.to_local(rl.map_lcl(0)(lambda v: v + 1.0, chunk)))

        return rl.join(rl.map_wrg(0)(group, rl.split(600, x)))

    return long_group


@case(lambda x: np.sum(x.reshape(-1, 4), axis=1) * 2, [(4,), (12,), (40,)], (4000,))
def private_array(n: int) -> Program:
    @typed(x=f32[n])
    def private_array(x: Any) -> Any:
        def row(w: Any) -> Any:
            return rl.reduce_seq(rl.add, 0.0, rl.to_private(rl.map_seq(lambda v: v * 2.0, w)))

        return rl.map_glb(0)(row, rl.split(4, x))

    return private_array


@case(lambda x: x * 2, [(16,), (48,)], (1600,))
def tiles_in_turn(n: int) -> Program:
    """A group that fills local memory again and again, and writes global memory in the same loop."""

    @typed(x=i32[n])
    def tiles_in_turn(x: Any) -> Any:
        def tile(t: Any) -> Any:
            return rl.map_lcl(0)(lambda v: v * 2, rl.to_local(rl.map_lcl(0)(lambda v: v, t)))

        def group(chunk: Any) -> Any:
            return rl.join(rl.map_seq(tile, rl.split(8, chunk)))

        return rl.join(rl.map_wrg(0)(group, rl.split(16, x)))

    return tiles_in_turn


@case(lambda x: x.reshape(-1, 16).sum(axis=1), [(16,), (48,)], (1600,))
def vectors_of_local_memory(n: int) -> Program:
    """Vector loads from local and from private memory."""

    @typed(x=f32[n])
    def vectors_of_local_memory(x: Any) -> Any:
        def total(xs: Any) -> Any:
            lanes = rl.reduce_seq(
                lambda a, v: rl.vectorize(4, rl.add)(a, v), rl.splat(4, 0.0), rl.as_vector(4, xs)
            )
            return rl.reduce_seq(rl.add, 0.0, rl.as_scalar(rl.repeat(1, lanes)))

        def item(xs: Any) -> Any:
            return total(rl.to_private(rl.map_seq(lambda v: v, xs)))

        def group(chunk: Any) -> Any:
            staged = rl.to_local(rl.map_lcl(0)(lambda v: v, chunk))
            return rl.map_lcl(0)(lambda p: item(p), rl.repeat(1, staged))

        return rl.join(rl.map_wrg(0)(group, rl.split(16, x)))

    return vectors_of_local_memory


smallest = rl.operator(
    lambda p, q: (rl.select(q[0] < p[0], q[0], p[0]), rl.select(q[0] < p[0], q[1], p[1])),
    name="smallest",
    associative=True,
)
"""The pair with the smaller key, the first of equal ones: an operator on tuples."""


def _smallest(ps: Any) -> Any:
    keys, values = ps[0].reshape(-1, 4), ps[1].reshape(-1, 4)
    first = np.argmin(keys, axis=1)[:, None]
    return (
        np.take_along_axis(keys, first, axis=1)[:, 0],
        np.take_along_axis(values, first, axis=1)[:, 0],
    )


@case(_smallest, [(4,), (12,)], (400,))
def smallest_of_each(n: int) -> Program:
    """A fold with tuples, whose components depend on each other."""

    @typed(ps=tup(f32, i32)[n])
    def smallest_of_each(ps: Any) -> Any:
        return rl.map_glb(0)(lambda c: rl.reduce_seq(smallest, (100.0, 0), c), rl.split(4, ps))

    return smallest_of_each


def _lanes(ps: Any) -> Any:
    keys, values = (p.reshape(-1, 4).T.reshape(-1) for p in ps)
    rows = len(keys) // 4
    first = np.argmin(keys.reshape(4, rows), axis=1)[:, None]
    return (
        np.take_along_axis(values.reshape(4, rows), first, axis=1)[:, 0],
        np.take_along_axis(keys.reshape(4, rows), first, axis=1)[:, 0],
    )


@case(_lanes, [(8,), (16,)], (800,))
def smallest_of_lanes(n: int) -> Program:
    """A fold with vectors of tuples: four folds side by side."""

    @typed(ps=tup(f32, i32)[n])
    def smallest_of_lanes(ps: Any) -> Any:
        best = rl.reduce_seq(
            lambda acc, v: rl.vectorize(4, smallest)(acc, v),
            rl.splat(4, (100.0, 0)),
            rl.as_vector(4, ps),
        )
        return rl.map_seq(lambda p: (p[1], p[0]), rl.as_scalar(rl.repeat(1, best)))

    return smallest_of_lanes


def _negatives(x: Any) -> Any:
    seen: Any = np.False_
    for v in x:
        seen = np.float32(0.0 if seen else v) < 0.0
    return seen


@case(lambda x: (_negatives(x), np.sum(x)), [(1,), (9,)], (400,))
def truth_as_accumulator(n: int) -> Program:
    @typed(x=f32[n])
    def truth_as_accumulator(x: Any) -> Any:
        return rl.reduce_seq(
            lambda acc, v: (rl.select(acc[0], 0.0, v) < 0.0, acc[1] + v), (False, 0.0), x
        )

    return truth_as_accumulator


@case(lambda x: np.pad(x, 1)[:-2, 1:-1] + np.pad(x, 1)[1:-1, 2:], [(1, 1), (4, 3)], (50, 70))
def stencil_in_two_dimensions(m: int, n: int) -> Program:
    """Rows and columns padded with a constant, as windows of windows."""

    @typed(x=f32[m, n])
    def stencil_in_two_dimensions(x: Any) -> Any:
        padded = rl.pad(1, 1, rl.repeat(n + 2, 0.0), rl.map(lambda r: rl.pad(1, 1, 0.0, r), x))
        rows = rl.slide(3, 1, rl.map(lambda r: rl.slide(3, 1, r), padded))
        windows = rl.map(rl.transpose, rows)
        return rl.map_glb(1)(lambda r: rl.map_glb(0)(lambda w: w[0][1] + w[1][2], r), windows)

    return stencil_in_two_dimensions


@case(
    lambda x: np.repeat(x.reshape(-1, 32).sum(axis=1), 32).reshape(-1, 32), [(32,), (64,)], (640,)
)
def sums_twice(n: int) -> Program:
    """Three kernels in a row, one buffer read by two of them."""

    @typed(x=f32[n])
    def sums_twice(x: Any) -> Any:
        sums = rl.to_global(rl.map_glb(0)(lambda c: rl.reduce_seq(rl.add, 0.0, c), rl.split(32, x)))
        wide = rl.to_global(
            rl.map_glb(0)(lambda s: rl.map_seq(lambda v: v, rl.repeat(32, s)), sums)
        )
        return rl.map_glb(0)(
            lambda p: rl.map_seq(lambda v: v + p[1] - p[1], p[0]), rl.zip(wide, sums)
        )

    return sums_twice


@case(lambda x: (((x[0] + 2 * 3) * 2 + 0) + 2 * 3) * 2 + 1, [(1,)], (1,))
def changing_accumulator(n: int) -> Program:
    """The same term of an accumulator, in each run of a body that is unrolled over lanes."""

    @typed(x=i32[1])
    def changing_accumulator(x: Any) -> Any:
        def step(acc: Any, lane: Any) -> Any:
            shifted = rl.reduce_seq(lambda a, v: a + v, acc, rl.repeat(3, 2))
            return shifted + rl.reduce_seq(lambda a, v: a + v, acc, rl.repeat(3, 2)) + lane

        lanes = rl.map_vec(lambda v: v * 1, rl.as_vector(2, rl.pad(1, 0, 0, rl.repeat(1, 1)))[0])
        return rl.reduce_seq(step, x[0], rl.as_scalar(rl.repeat(1, lanes)))

    return changing_accumulator
