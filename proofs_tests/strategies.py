"""Hypothesis strategies for the tests: sizes, types, values, and small well-typed programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from relift.semantics import language as rl
from relift.semantics.sizes import Size, nat
from relift.semantics.terms import Input, Term
from relift.semantics.tracing import literal, scalar
from relift.semantics.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    boolean,
    f32,
    f64,
    i32,
    i64,
    tup,
    vec,
)

NAMES = ("n", "m", "k")


def small_naturals() -> st.SearchStrategy[int]:
    """Numbers that a size may be."""
    return st.integers(0, 6)


def polynomials() -> st.SearchStrategy[Size]:
    """Sizes over `NAMES`, of degree 3 at most and with negative coefficients, too."""
    leaves = st.one_of(st.sampled_from(NAMES).map(nat), st.integers(-4, 4).map(Size.of))
    return st.recursive(
        leaves,
        lambda below: st.one_of(
            st.builds(lambda p, q: p + q, below, below),
            st.builds(lambda p, q: p - q, below, below),
            st.builds(lambda p, q: p * q, below, below),
        ),
        max_leaves=5,
    )


def assignments() -> st.SearchStrategy[dict[str, int]]:
    """A value for each of `NAMES`."""
    return st.fixed_dictionaries({name: small_naturals() for name in NAMES})


def lengths() -> st.SearchStrategy[Size]:
    """Lengths of arrays, known and symbolic."""
    n, m = nat("n"), nat("m")
    return st.sampled_from([Size.of(2), Size.of(4), Size.of(6), 4 * n, 2 * n + 2, n * m, n + m + 1])


def scalar_types() -> st.SearchStrategy[Scalar]:
    """All scalar types."""
    return st.sampled_from([f32, f64, i32, i64, boolean])


def types() -> st.SearchStrategy[Type]:
    """All types that a program can have."""
    return st.recursive(
        scalar_types(),
        lambda below: st.one_of(
            st.builds(lambda t, n: t[n], below, lengths()),
            st.builds(lambda t, u: tup(t, u), below, below),
            st.builds(lambda t, w: vec(t, w), scalar_types(), st.sampled_from([2, 4])),
        ),
        max_leaves=4,
    )


INPUTS: dict[str, Type] = {
    "xs": f32[4 * nat("n")],
    "ys": f32[4 * nat("n")],
    "ks": i32[6],
    "rows": f32[nat("n"), 4],
    "pairs": tup(f32, i32)[2 * nat("m")],
    "a": f32,
}
"""The parameters of random programs; every length is known or has the sizes n and m."""


@st.composite
def programs(draw: st.DrawFn, patterns: int = 6) -> Term:
    """Well-typed terms over `INPUTS` with up to this many patterns."""
    name = draw(st.sampled_from(sorted(INPUTS)))
    return _Growing(draw, patterns).grow(Input(name, INPUTS[name]))


class _Growing:
    """Wraps a term in patterns that its type allows, until the fuel is spent."""

    def __init__(self, draw: st.DrawFn, fuel: int) -> None:
        self.draw, self.fuel = draw, fuel

    def grow(self, t: Term) -> Term:
        while self.fuel > 0 and self.draw(st.integers(0, 5)) > 0:
            self.fuel -= 1
            t = self.draw(st.sampled_from(self.steps(t)))(t)
        return t

    def steps(self, t: Term) -> list[Callable[[Term], Term]]:
        """What can be written around `t`."""
        match t.type:
            case Array(element, n):
                return self.array_steps(element, n)
            case Vector(element, _):
                return [lambda v: rl.map_vec(self.grow, v)]
            case Tuple():
                return [lambda p: p[0], lambda p: p[1], lambda p: rl.repeat(2, p)]
            case scalar_type:
                assert not isinstance(scalar_type, TypeVariable)
                return self.scalar_steps(scalar_type)

    def scalar_steps(self, t: Scalar) -> list[Callable[[Term], Term]]:
        if t == boolean:
            return [lambda b: rl.select(b, 1.0, 2.0)]
        steps: list[Callable[[Term], Term]] = [
            lambda x: x + 1,
            lambda x: 2 - x * x,
            lambda x: -x,
            lambda x: x < 3,
            lambda x: rl.select(x >= 0, x, x - 1),
            lambda x: rl.maximum(x, 0),
            lambda x: scalar("absolute", x),
            lambda x: rl.add(x, x),
            lambda x: rl.map(lambda y: y, rl.repeat(3, x)),
        ]
        return [*steps, lambda x: x / 2, rl.sqrt] if t.is_float else steps

    def array_steps(self, element: Type, n: Size) -> list[Callable[[Term], Term]]:
        steps: list[Callable[[Term], Term]] = [
            lambda xs: rl.map(self.grow, xs),
            lambda xs: rl.map_seq(self.grow, xs),
            lambda xs: rl.map_glb(0)(self.grow, xs),
            lambda xs: rl.zip(xs, xs),
            lambda xs: rl.slide(1, 1, xs),
            lambda xs: rl.pad(1, 2, rl.clamp, xs),
            rl.to_global,
            lambda xs: rl.to_local(rl.map(lambda x: x, xs)),
            lambda xs: rl.repeat(2, xs),
        ]
        if (n - 2).surely_at_least(0):
            steps += [
                lambda xs: rl.take(1, xs),
                lambda xs: rl.drop(1, xs),
                lambda xs: rl.slide(2, 1, xs),
                lambda xs: xs[1],
                lambda xs: rl.reduce_seq(lambda acc, x: x, xs[0], xs),
            ]
        if n.divided_by(Size.of(2)) is not None:
            steps += [lambda xs: rl.split(2, xs)]
        if isinstance(element, Array):
            steps += [rl.join, rl.transpose]
        if isinstance(element, Vector):
            steps += [rl.as_scalar]
        if isinstance(element, Scalar) and element != boolean:
            steps += [
                lambda xs: rl.reduce(rl.add, 0, xs),
                lambda xs: rl.pad(0, 1, 7, xs),
                lambda xs: rl.reduce_seq(lambda acc, x: acc * 2 + x, literal(1, element), xs),
            ]
            if n.divided_by(Size.of(2)) is not None:
                steps += [lambda xs: rl.as_vector(2, xs)]
        return steps


def integers_of(t: Type, sizes: dict[str, int]) -> st.SearchStrategy[Any]:
    """Whole-number values of a type at given sizes; truth values for `boolean`."""
    match t:
        case Array(element, n) | Vector(element, n):
            length = n.evaluate(sizes)
            return st.lists(integers_of(element, sizes), min_size=length, max_size=length)
        case Tuple(parts):
            return st.tuples(*(integers_of(part, sizes) for part in parts))
        case _:
            return st.booleans() if t == boolean else st.integers(-9, 9)
