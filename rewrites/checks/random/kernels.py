"""Random low-level programs: what a compiler to OpenCL is tested with, weighted towards what is hard for it.

A program is built by the public constructors from the outside in: first how its work is divided (work-items, or
work-groups with tiles in local memory and barriers), then what each work-item computes from everything that is in
scope there: its own element, and the variables of outer functions, inputs, tiles and private arrays, each used as
often as the choices say.  The generator asks for its choices through `Choices`, so that a seed, or Hypothesis,
which shrinks, may make them.

Numbers stay small and whole (every product and every sum of many is clipped), so that floating point is exact in
any order of evaluation, and results are compared to the last bit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from relift.semantics.errors import IllTyped
from relift.semantics.indices.functions import reverse, shift
from relift.semantics.interpreter import DTYPES
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.tracing import as_term, make_tuple
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.terms import Input, Term, UserFunction
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    dimensions,
    f32,
    i32,
    tup,
)

T = TypeVar("T")
Body: TypeAlias = Callable[[Any], Any]

Kind: TypeAlias = Literal["items", "groups", "open items", "open groups"]
KINDS: tuple[Kind, ...] = ("items", "groups", "open items", "open groups")
"""How the work is divided, and whether sizes are arguments of the kernels."""

LARGEST = 63
"""To this, factors and sums are clipped; what is computed from them is exact in f32."""

DEEPEST = 2
"""Folds within folds; more would take the interpreter minutes."""

NAMES = (
    "x", "v", "acc", "own", "tile", "own_2", "tile_1", "glb_0", "lcl_0", "wrg_0", "f", "old", "new", "out",
    "i", "i_1", "x_2", "generic", "half", "erf", "NULL", "M_PI_F", "float4", "int3", "size_t", "kernel",
    "FLT_MAX", "barrier", "get_global_id", "vload4", "tgamma", "prog_1", "_Bool", "maximum_f32", "f_x4", "ä",
)  # fmt: skip
"""Names of variables, inputs and functions: ordinary ones, those of OpenCL, and those that a compiler makes up."""


class Choices(Protocol):
    """Who decides: a generator of random numbers, or Hypothesis."""

    def number(self, least: int, most: int) -> int:
        """A whole number between two bounds, both included; smaller ones make simpler programs."""
        ...


@dataclass(frozen=True)
class Seeded:
    """Choices by a seed."""

    generator: random.Random

    def number(self, least: int, most: int) -> int:
        """A whole number between two bounds, both included."""
        return self.generator.randint(least, most)


@dataclass(frozen=True)
class Scope:
    """The terms that may be used where an expression is built."""

    scalars: tuple[Term, ...] = ()
    arrays: tuple[Term, ...] = ()

    def plus(self, *terms: Term) -> Scope:
        """The scope with more terms; of a tuple, its components."""
        found = self
        for t in terms:
            match t.type:
                case Scalar():
                    found = replace(found, scalars=(*found.scalars, t))
                case Tuple(parts):
                    found = found.plus(*(t[number] for number in range(len(parts))))
                case Array():
                    found = replace(found, arrays=(*found.arrays, t))
                case _:
                    pass
        return found


def random_kernel(seed: int, kind: Kind) -> rl.Program | None:
    """The low-level program of a seed, or None where its choices made an ill-typed one.

    >>> random_kernel(1, "items") == random_kernel(1, "items")
    True
    """
    return Builder(Seeded(random.Random(f"{kind} {seed}")), kind).program()


def random_sizes(program: rl.Program, choices: Choices, most: int = 5) -> dict[str, int]:
    """Small sizes for a program, the least ones often."""
    return {name: choices.number(least, most) for name, least in program.least_sizes.items()}


def random_arguments(program: rl.Program, seed: int) -> tuple[Any, ...]:
    """NumPy arguments for a program at its sizes: small whole numbers, whatever their type."""
    generator = np.random.default_rng(seed)
    return tuple(_drawn(p.type, generator) for p in program.parameters)


def _drawn(t: Type, generator: np.random.Generator) -> Any:
    shape, element = dimensions(t)
    extents = tuple(n.constant or 0 for n in shape)
    match element:
        case Tuple(parts):
            return tuple(_drawn(part[extents] if extents else part, generator) for part in parts)
        case Scalar(name):
            return generator.integers(-9, 10, extents).astype(DTYPES[name])[()]
        case _:
            raise AssertionError(f"cannot happen: an input of type {t}")


@dataclass
class Builder:
    """Makes one program; `fuel` bounds how many patterns its expressions have."""

    choices: Choices
    kind: Kind
    fuel: int = 22
    functions: list[UserFunction] = field(default_factory=list)
    inputs: dict[str, Input] = field(default_factory=dict)
    groups_dimension: int = 0
    nesting: int = 0

    def program(self) -> rl.Program | None:
        """One program, or None where no well-typed one came out."""
        try:
            body = self.stages(self.in_groups if "groups" in self.kind else self.in_items)
            name = self.pick(("prog", "prog", "out", "main", "x"))
            parameters = tuple(self.inputs.values())
            rl.well_formed(body, parameters)
            # functions of one name stay so: to tell them apart is a task of the compiler, too
            return rl.Program(name, parameters, body)
        except IllTyped:
            return None

    # ---- choices

    def pick(self, items: Sequence[T]) -> T:
        """One of several; the first is the simplest."""
        return items[self.choices.number(0, len(items) - 1)]

    def chance(self, one_in: int) -> bool:
        """True once in this many times."""
        return self.choices.number(0, one_in - 1) == one_in - 1

    def spend(self) -> bool:
        """Whether there is fuel for one more pattern."""
        self.fuel -= 1
        return self.fuel >= 0

    def name(self) -> str:
        """A name; mostly a plain one."""
        return self.pick(NAMES if self.chance(3) else NAMES[:3])

    def named(self, body: Body) -> Body:
        """The function with a parameter of some name: a compiler makes C names of them."""
        return _with_parameter(self.name(), body)

    def input(self, t: Type) -> Any:
        """An input of a type, one that there is or a new one."""
        known = [x for x in self.inputs.values() if x.type == t]
        if known and not self.chance(3):
            return self.pick(known)
        name = self.name()
        while name in self.inputs:
            name += self.pick(("_", "_1", "2"))
        return self.inputs.setdefault(name, Input(name, t))

    def element(self) -> Type:
        """The type of the elements of an input."""
        several: tuple[Type, ...] = (f32, f32, f32, i32, tup(f32, i32), tup(f32, f32, f32))
        return self.pick(several)

    def length(self) -> Size:
        """The length of an input: a number, now and then 0 or 1, or one with a name in it."""
        if "open" in self.kind and not self.chance(4):
            n = nat("n", least=0) if self.pick((0, 1)) else nat("m")
            return self.pick((n, n, 2 * n, 4 * n, n + 1))
        return Size.of(self.pick((4, 8, 2, 3, 6, 1, 5, 0)))

    # ---- how work is divided

    def stages(self, stage: Callable[[Any, Scope], Any]) -> Any:
        """One kernel, or several of which the later ones read what the first ones stored."""
        source = self.source()
        if not self.chance(4):
            return self.result(stage, source, Scope())
        stored = rl.to_global(stage(source, Scope()))
        if self.chance(3):  # what is stored is read in two places
            return rl.let(lambda t: stage(self.flat(t), Scope().plus(t)), stored)
        return self.result(stage, self.flat(stored), Scope())

    def result(self, stage: Callable[[Any, Scope], Any], source: Term, scope: Scope) -> Any:
        """The result of a program: what one stage writes, or two, under a layout that can be written through."""
        match self.choices.number(0, 9):
            case 0:
                written = stage(source, scope)
                return rl.concat(written, written if self.chance(3) else stage(source, scope))
            case 1:
                return make_tuple(stage(source, scope), stage(self.source(), scope))
            case 2:
                return rl.scatter(reverse, stage(source, scope))
            case 4:
                return self.flat(stage(source, scope))
            case _:
                return stage(source, scope)

    def source(self) -> Any:
        """What a stage runs over."""
        t = self.element()[self.length()]
        if self.chance(2 if "groups" in self.kind else 4):
            t = self.element()[self.length(), self.pick((4, 3, 8, 2, 1))]
        return self.layout(self.input(t), deep=2)

    def flat(self, t: Any) -> Any:
        """An array of arrays as one array."""
        return rl.join(t) if isinstance(t.type, Array) and isinstance(t.type.element, Array) else t

    def in_items(self, xs: Any, scope: Scope) -> Any:
        """A map over work-items; now and then in two dimensions, over chunks, or over vectors."""
        element = xs.type.element if isinstance(xs.type, Array) else f32
        match self.choices.number(0, 5):
            case 0 if isinstance(element, Array):
                rows: Body = lambda row: rl.map_glb(0)(self.work(scope), row)
                return rl.map_glb(1)(self.named(rows), xs)
            case 1:
                chunk: Body = lambda c: rl.map_seq(self.number_of(scope.plus(c)), c)
                return rl.map_glb(0)(self.named(chunk), rl.split(self.pick((2, 4, 1)), xs))
            case 2 if element in (f32, i32):
                lanes: Body = lambda v: rl.map_vec(self.lane(scope), v)
                return rl.as_scalar(
                    rl.map_glb(0)(self.named(lanes), rl.as_vector(self.pick((4, 2)), xs))
                )
            case 3:
                return self.flat(rl.map_glb(0)(self.work(scope), rl.slide(2, 1, xs)))
            case _:
                return rl.map_glb(0)(self.work(scope), xs)

    def in_groups(self, xs: Any, scope: Scope) -> Any:
        """A map over work-groups, whose tiles lie in local memory."""
        rows = self.rows(xs)
        dim = self.pick((0, 0, 1))
        self.groups_dimension = dim
        group: Body = lambda c: self.group(c, scope.plus(c), dim, self.choices.number(0, 3))
        return rl.map_wrg(dim)(self.named(group), rows)

    def rows(self, xs: Any) -> Any:
        """An array as tiles of a known length, one for each group."""
        assert isinstance(xs.type, Array)
        if isinstance(xs.type.element, Array) and xs.type.element.length.constant is not None:
            return xs
        flat = self.flat(xs)
        assert isinstance(flat.type, Array)
        lengths = [
            m for m in (4, 2, 3, 8, 5, 1) if flat.type.length.divided_by(Size.of(m)) is not None
        ]
        return rl.split(self.pick(lengths), flat)

    def group(self, c: Any, scope: Scope, dim: int, tiles: int) -> Any:
        """What a group computes: tiles that are stored by all for all, then a result that reads them."""
        if tiles and self.spend():
            tile = rl.to_local(rl.map_lcl(dim)(self.number_of(scope), self.row(scope)))
            inner: Body = lambda s: self.group(c, scope.plus(s), dim, tiles - 1)
            return rl.let(self.named(inner), tile)
        lcl = rl.map_lcl(dim)
        match self.choices.number(0, 6):
            case 0:
                parts = [lcl(self.number_of(scope, f32), self.row(scope)) for _ in range(2)]
                return rl.concat(*parts)
            case 1:
                return make_tuple(
                    lcl(self.work(scope), self.row(scope)), lcl(self.work(scope), self.row(scope))
                )
            case 2:  # a loop, of no turn perhaps, with a tile in each
                turn: Body = lambda v: self.group(c, scope.plus(v), dim, 1)
                return rl.map_seq(
                    self.named(turn), self.layout(self.input(f32[self.length()]), deep=1)
                )
            case 3:
                return self.accumulated(c, scope, dim)
            case 4:  # groups within groups, of different numbers
                other = 1 - self.groups_dimension
                some: Body = lambda v: self.group(c, scope.plus(v), dim, 1)
                numbers = [self.input(f32[self.pick((2, 5, 3, 1))]) for _ in range(2)]
                return make_tuple(*(rl.map_wrg(other)(self.named(some), xs) for xs in numbers))
            case _:
                return lcl(self.work(scope), self.row(scope))

    def accumulated(self, c: Any, scope: Scope, dim: int) -> Any:
        """A sum over tiles whose parts lie in the registers of the work-items that own them."""
        row, lcl = self.row(scope), rl.map_lcl(dim)
        start = rl.to_private(lcl(lambda v: self.scalar(scope, f32), row))

        def add_tile(acc: Any, v: Any) -> Any:
            inside = scope.plus(v)
            tile = rl.to_local(lcl(self.number_of(inside), self.row(inside)))

            def read(s: Any) -> Any:
                step: Body = lambda p: self.clipped(p[0] + self.scalar(inside.plus(s, p[1]), f32))
                return rl.to_private(lcl(step, rl.zip(acc, row)))

            return rl.let(self.named(read), tile)

        total = rl.reduce_seq(add_tile, start, self.input(f32[self.length()]))
        return lcl(lambda v: v + 0.0, total)

    def row(self, scope: Scope) -> Any:
        """An array whose elements a group divides among its work-items."""
        return self.layout(self.pick(scope.arrays), deep=1)

    # ---- what a work-item computes

    def work(self, scope: Scope) -> Body:
        """A function of one element, whatever it returns."""
        return self.named(lambda v: self.value(scope.plus(v)))

    def number_of(self, scope: Scope, t: Scalar | None = None) -> Body:
        """A function of one element that returns a scalar, of some type if none is given."""
        return self.named(lambda v: self.scalar(scope.plus(v), t))

    def lane(self, scope: Scope) -> Body:
        """A function of one lane of a vector: arithmetic only."""
        return self.named(
            lambda v: self.clipped(self.pick((v * 2 + 1, v - 3, v * v, -v, rl.maximum(v, 0))))
        )

    def value(self, scope: Scope) -> Any:
        """A result: a scalar, a tuple, an array, or one that is computed by way of a private array."""
        if not self.spend():
            return self.scalar(scope)
        match self.choices.number(0, 8):
            case 0:
                return make_tuple(self.scalar(scope), self.scalar(scope))
            case 1:
                inner = make_tuple(self.scalar(scope), self.scalar(scope, i32))
                return make_tuple(inner, self.scalar(scope))
            case 2:
                return rl.map_seq(self.number_of(scope), self.items_of(scope))
            case 3:
                inner_array = rl.map_seq(self.number_of(scope), self.items_of(scope))
                return make_tuple(make_tuple(inner_array, self.scalar(scope)), self.scalar(scope))
            case 4 | 5:
                kept = rl.to_private(rl.map_seq(self.several(scope), self.items_of(scope)))
                return rl.let(self.named(lambda t: self.value(scope.plus(t))), kept)
            case 6:
                return rl.let(self.work(scope), self.scalar(scope))
            case _:
                return self.scalar(scope)

    def several(self, scope: Scope) -> Body:
        """A function of one element that returns one or more scalars."""
        count = self.pick((1, 3, 2))
        if count == 1:
            return self.number_of(scope)
        return self.named(lambda v: make_tuple(*(self.scalar(scope.plus(v)) for _ in range(count))))

    def items_of(self, scope: Scope) -> Any:
        """An array that one work-item runs through: of known length, since it may be stored."""
        known = [
            a
            for a in scope.arrays
            if isinstance(a.type, Array) and a.type.length.constant is not None
        ]
        if known and not self.chance(3):
            return self.layout(self.pick(known), deep=1)
        return self.layout(self.input(self.element()[self.pick((3, 2, 4, 1, 0))]), deep=1)

    def scalar(self, scope: Scope, of: Scalar | None = None) -> Any:
        """An expression of a scalar type; f32 or i32."""
        t = of or self.pick((f32, f32, i32))
        if not self.spend():
            return self.leaf(scope, t)
        match self.choices.number(0, 11):
            case 0:
                return self.scalar(scope, t) + self.scalar(scope, t)
            case 1:
                return self.scalar(scope, t) - self.leaf(scope, t)
            case 2:
                return self.clipped(self.scalar(scope, t)) * self.clipped(self.leaf(scope, t))
            case 3:
                a, b = self.leaf(scope, t), self.scalar(scope, t)
                return rl.select(a < b if self.chance(2) else a <= 3, a, b)
            case 4:
                return self.pick((rl.maximum, rl.minimum))(
                    self.scalar(scope, t), self.leaf(scope, t)
                )
            case 5 if t == f32:
                return self.function()(self.clipped(self.scalar(scope, f32)))
            case 6 | 7:
                return self.fold(scope, t)
            case 8 if t == f32:
                return f32(self.clipped(self.scalar(scope, i32)))
            case 8:
                return i32(self.clipped(self.scalar(scope, f32)))
            case 9:
                return (
                    rl.let(self.number_of(scope.plus(self.leaf(scope, t))), self.scalar(scope, t))
                    if of is None
                    else self.leaf(scope, t)
                )
            case _:
                return self.leaf(scope, t)

    def fold(self, scope: Scope, t: Scalar) -> Any:
        """A sum, or a fold whose accumulator is a tuple."""
        if self.nesting == DEEPEST:
            return self.leaf(scope, t)
        self.nesting += 1
        try:
            return self.folded(scope, t)
        finally:
            self.nesting -= 1

    def folded(self, scope: Scope, t: Scalar) -> Any:
        """A fold over an array in scope, if there is any."""
        xs = self.layout(self.pick(scope.arrays), deep=1) if scope.arrays else self.items_of(scope)
        if self.chance(4):

            def step(acc: Any, v: Any) -> Any:
                inside = scope.plus(v)
                return make_tuple(self.clipped(acc[0] + self.scalar(inside, t)), acc[1] + 1)

            both = rl.reduce_seq(step, (self.leaf(scope, t), as_term(0, i32)), xs)
            return both[0]
        unrolled = rl.reduce_seq_unroll if self.chance(4) else rl.reduce_seq
        inner: Callable[[Any, Any], Any] = lambda acc, v: self.clipped(
            acc + self.scalar(scope.plus(v), t)
        )
        return unrolled(inner, self.leaf(scope, t), xs)

    def leaf(self, scope: Scope, t: Scalar) -> Any:
        """A variable, an element of an array, an input, or a number."""
        known = [x for x in scope.scalars if x.type == t]
        if known and not self.chance(4):
            return self.pick(known[::-1])
        arrays = [
            a
            for a in scope.arrays
            if isinstance(a.type, Array)
            and a.type.element == t
            and a.type.length.surely_at_least(1)
        ]
        if arrays and not self.chance(3):
            return self.pick(arrays)[0]
        if self.chance(3):
            return self.input(t)
        return as_term(self.choices.number(-3, 3), t)

    def clipped(self, x: Any) -> Any:
        """The value, brought back to where floating point is exact."""
        return rl.minimum(rl.maximum(x, -LARGEST), LARGEST)

    def function(self) -> UserFunction:
        """A user function of one f32; several may have one name."""
        if self.functions and self.chance(2):
            return self.pick(self.functions)
        factor, name = (
            self.choices.number(2, 5),
            self.pick(("f", "f", "generic", "erf", "float4", "prog_1")),
        )

        def scaled(x: Any) -> Any:
            return x * float(factor) + 1.0

        scaled.__name__, scaled.__annotations__ = name, {"x": f32, "return": f32}
        made = rl.userfun(scaled)
        assert isinstance(made, UserFunction)
        self.functions.append(made)
        return made

    # ---- layouts

    def layout(self, xs: Any, deep: int) -> Any:
        """The array, its elements in other places; a step that does not fit its length is left out."""
        for _ in range(deep):
            if self.chance(2) and self.spend():
                try:
                    xs = self.pick(self.layouts(xs))(xs)
                except IllTyped:
                    continue
        return xs

    def layouts(self, xs: Any) -> list[Callable[[Any], Any]]:
        """What keeps an array of scalars or tuples one, or of arrays."""
        found: list[Callable[[Any], Any]] = [
            lambda a: rl.gather(reverse, a),
            lambda a: rl.concat(a, a),
            lambda a: rl.join(rl.split(2, a)),
            lambda a: rl.join(rl.transpose(rl.split(2, a))),
            rl.tail,
            lambda a: rl.take(1, a),
            lambda a: rl.drop(1, a),
            lambda a: rl.take(0, a),
            lambda a: rl.pad(1, 2, rl.clamp, a),
            lambda a: rl.pad(1, 1, rl.wrap, a),
            lambda a: rl.pad(1, 0, rl.mirror, a),
            lambda a: rl.gather(shift(1), a),
            lambda a: rl.join(rl.repeat(2, a)),
            lambda a: rl.join(rl.slide(2, 1, a)),
            lambda a: rl.join(rl.slide(3, 2, a)),
        ]
        if isinstance(xs.type, Array) and xs.type.element in (f32, i32):
            found.append(lambda a: rl.pad(1, 1, 7, a))
        return found


def _with_parameter(name: str, body: Body) -> Body:
    """`body` as a function whose parameter has one of NAMES."""
    function: Body = eval(f"lambda {name}: body({name})", {"body": body})
    return function
