"""Hypothesis strategies for well-typed random programs, and for values to run them on.

A program starts with one of `INPUTS` and is wrapped in patterns that its type so far allows.  Every pattern
is built by the public constructors, so whatever they accept can turn up.

`relift.testing` shows it to users; Hypothesis takes long to import, so nothing else imports it early.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import assume
from hypothesis import strategies as st

from relift.rewrites.checks.random.draws import Kind
from relift.rewrites.checks.random.kernels import Builder
from relift.semantics.indices.functions import reverse, shift
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import literal, make_tuple
from relift.semantics.language.programs import Program
from relift.semantics.numpy_values import to_numpy
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.terms import Input, Pattern, Term, subterms
from relift.semantics.syntax.types import (
    FLOATS,
    INTEGERS,
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    boolean,
    f32,
    i32,
    substitute_type,
    tup,
)

Surrounding: TypeAlias = Callable[[Term], Term]
"""Something that can be written around a term."""

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
def terms(draw: st.DrawFn, patterns: int = 10) -> Term:
    """Well-typed terms over `INPUTS` with up to this many patterns."""
    name = draw(st.sampled_from(sorted(INPUTS)))
    return _Growing(draw, patterns).grow(Input(name, INPUTS[name]))


def programs(patterns: int = 10) -> st.SearchStrategy[Program]:
    """Well-typed programs with up to this many patterns, whose sizes are n and m at most.

    `program.body` is the term, `values(...)` and `arguments(program)` are what to run it on.
    """
    return terms(patterns).map(_as_program)


@dataclass(frozen=True)
class _Drawn:
    """Choices that Hypothesis makes, and shrinks."""

    draw: st.DrawFn

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))


@st.composite
def kernels(draw: st.DrawFn, kind: Kind = "groups") -> Program:
    """Low-level programs: work-items or groups, tiles, private arrays, captures, several kernels, open sizes.

    See the module `kernels`, which makes the same programs from seeds, and faster.
    """
    made = Builder(_Drawn(draw), kind).program()
    assume(made is not None)
    assert made is not None
    return made


def _as_program(t: Term) -> Program:
    used = {u.name: u for u, _ in subterms(t) if isinstance(u, Input)}
    return Program("random", tuple(used[name] for name in sorted(used)), t)


def values(t: Type, sizes: Mapping[str, int]) -> st.SearchStrategy[Any]:
    """Small whole numbers in the shape of a type, as nested lists; truth values for `boolean`."""
    match t:
        case Array(element, n) | Vector(element, n):
            length = n.evaluate(sizes)
            return st.lists(values(element, sizes), min_size=length, max_size=length)
        case Tuple(parts):
            return st.tuples(*(values(part, sizes) for part in parts))
        case Scalar() if t == boolean:
            return st.booleans()
        case Scalar():
            return st.integers(-9 * t.has_sign, 9)
        case TypeVariable():
            return st.integers(-9, 9)


@st.composite
def arguments(draw: st.DrawFn, program: Program, most: int = 3) -> tuple[Any, ...]:
    """NumPy arguments for a program, with each size from 1 up to `most`."""
    sizes = {name: draw(st.integers(1, most)) for name in program.sizes}
    known = {name: Size.of(size) for name, size in sizes.items()}
    return tuple(
        to_numpy(draw(values(p.type, sizes)), substitute_type(p.type, {}, known))
        for p in program.parameters
    )


class _Growing:
    """Wraps a term in patterns that its type allows, up to `limit` of them."""

    def __init__(self, draw: st.DrawFn, limit: int) -> None:
        self.draw, self.limit, self.fuel = draw, limit, limit

    def grow(self, t: Term) -> Term:
        while self.fuel > 0 and self.draw(st.integers(0, 5)) > 0:
            self.fuel -= 1
            wider = self.draw(st.sampled_from(self.steps(t)))(t)
            if sum(isinstance(u, Pattern) for u, _ in subterms(wider)) > self.limit:
                break
            t = wider
        return t

    def steps(self, t: Term) -> list[Surrounding]:
        """What can be written around `t`."""
        match t.type:
            case Array(element, n):
                return self.array_steps(element, n)
            case Vector(element, _):
                return [lambda v: rl.map_vec(self.grow, v)]
            case Tuple():
                return [
                    lambda p: p[0],
                    lambda p: p[1],
                    lambda p: make_tuple(p[1], p[0], p[0]),
                    lambda p: rl.repeat(2, p),
                ]
            case Scalar() as scalar:
                return self.scalar_steps(scalar)
            case TypeVariable():
                raise AssertionError(f"cannot happen: a program with a value of type {t.type}")

    def scalar_steps(self, t: Scalar) -> list[Surrounding]:
        number = st.sampled_from((*FLOATS.values(), *INTEGERS.values()))
        if t == boolean:
            return [lambda b: rl.select(b, literal(1, self.draw(number)), 2)]
        steps: list[Surrounding] = [
            lambda x: x + 1,
            lambda x: 2 - x * x,
            lambda x: -x,
            lambda x: x < 3,
            lambda x: rl.select(x >= 0, x, x - 1),
            lambda x: rl.maximum(x, 0),
            rl.absolute,
            lambda x: rl.add(x, x),
            lambda x: make_tuple(x, x + 1),
            lambda x: rl.repeat(3, x),
            lambda x: rl.let(lambda y: y * y, x),
            lambda x: rl.iterate(2, lambda y: y + 1, x),
            lambda x: make_tuple(x, -literal(1, self.draw(number))),
            lambda x: self.draw(number)(x),
        ]
        if t.is_float:
            steps += [lambda x: x / 2, rl.sqrt]
        if t == f32:
            steps += [lambda x: x * Input("a", f32)]
        return steps

    def array_steps(self, element: Type, n: Size) -> list[Surrounding]:
        partners = [Input(name, t) for name, t in INPUTS.items() if _length(t) == n]
        steps: list[Surrounding] = [
            lambda xs: rl.map(self.grow, xs),
            lambda xs: rl.map_seq(self.grow, xs),
            lambda xs: rl.map_glb(0)(self.grow, xs),
            lambda xs: rl.zip(xs, self.draw(st.sampled_from([xs, *partners]))),
            rl.to_global,
            lambda xs: rl.to_local(rl.map(lambda x: x, xs)),
            lambda xs: rl.repeat(2, xs),
            lambda xs: rl.take(0, xs),
            lambda xs: rl.concat(xs, xs),
            lambda xs: rl.gather(reverse, xs),
            lambda xs: rl.map_stream(self.grow, xs),
            lambda xs: rl.iterate_stream(self.grow, xs),
        ]
        if n.surely_at_least(1):
            steps += [
                lambda xs: rl.scatter(shift(1), xs),
                lambda xs: rl.slide(1, 1, xs),
                lambda xs: rl.pad(1, 2, rl.clamp, xs),
                lambda xs: rl.pad(1, 1, rl.wrap, xs),
                lambda xs: rl.pad(1, 1, rl.mirror, xs),
                lambda xs: rl.take(1, xs),
                rl.head,
                rl.tail,
            ]
        if n.surely_at_least(2):
            steps += [
                lambda xs: rl.drop(1, xs),
                lambda xs: rl.slide(2, 1, xs),
                lambda xs: xs[1],
                lambda xs: rl.map_seq_slide(2, 1, self.grow, xs),
                lambda xs: rl.reduce_seq(lambda acc, x: x, xs[0], xs),
            ]
        if n.divided_by(Size.of(2)) is not None:
            steps += [lambda xs: rl.split(2, xs)]
        if isinstance(element, Array):
            steps += [rl.join, rl.transpose]
        if isinstance(element, Tuple) and len(element.parts) == 2:
            steps += [rl.unzip]
        if isinstance(element, Vector):
            steps += [rl.as_scalar]
        if isinstance(element, Scalar) and element != boolean:
            steps += [
                lambda xs: rl.reduce(rl.add, 0, xs),
                lambda xs: rl.pad(0, 1, 7, xs),
                lambda xs: rl.scan_seq(lambda acc, x: acc + x, literal(0, element), xs),
                lambda xs: rl.filter_seq(lambda x: x < 3, literal(0, element), xs),
                lambda xs: rl.binary_search(lambda x: literal(0, i32), literal(5, element), xs),
                lambda xs: rl.insertion_sort_seq(lambda x, y: x < y, xs),
                lambda xs: rl.reduce_seq(lambda acc, x: acc * 2 + x, literal(1, element), xs),
            ]
            if n.divided_by(Size.of(2)) is not None:
                steps += [
                    lambda xs: rl.as_vector(2, xs),
                    lambda xs: rl.partial_reduce(rl.add, 0, 2, xs),
                ]
        return steps


def _length(t: Type) -> Size | None:
    return t.length if isinstance(t, Array) else None
