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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relift.rewrites.checks.random.draws import Body, Choices, Kind, Seeded
from relift.rewrites.checks.random.expressions import Expressions, Scope
from relift.semantics.errors import IllTyped
from relift.semantics.indices.functions import reverse
from relift.semantics.language import programs
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import make_tuple
from relift.semantics.numpy_values import argument_of
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Term
from relift.semantics.syntax.types import Array, f32, i32


def random_kernel(seed: int, kind: Kind) -> programs.Program | None:
    """The low-level program of a seed, or None where its choices made an ill-typed one.

    >>> from relift.rewrites.checks.random.kernels import random_kernel
    >>> random_kernel(1, "items") == random_kernel(1, "items")
    True
    """
    return Builder(Seeded(random.Random(f"{kind} {seed}")), kind).program()


def random_sizes(program: programs.Program, choices: Choices, most: int = 5) -> dict[str, int]:
    """Small sizes for a program, the least ones often."""
    return {name: choices.number(least, most) for name, least in program.least_sizes.items()}


def random_arguments(program: programs.Program, seed: int) -> tuple[Any, ...]:
    """NumPy arguments for a program at its sizes: small whole numbers, whatever their type."""
    generator = np.random.default_rng(seed)
    small = lambda _, extents: generator.integers(-9, 10, extents)
    return tuple(argument_of(p.type, small) for p in program.parameters)


@dataclass
class Builder(Expressions):
    """Makes one program: kernels, and how work is divided among their work-items."""

    groups_dimension: int = 0

    def program(self) -> programs.Program | None:
        """One program, or None where no well-typed one came out."""
        try:
            body = self.stages(self.in_groups if "groups" in self.kind else self.in_items)
            name = self.pick(("prog", "prog", "out", "main", "x"))
            parameters = tuple(self.inputs.values())
            programs.well_formed(body, parameters)
            # functions of one name stay so: to tell them apart is a task of the compiler, too
            return programs.Program(name, parameters, body)
        except IllTyped:
            return None

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
            case 2:
                return self.in_turns(c, scope, dim)
            case 3:
                return self.accumulated(c, scope, dim)
            case 4:
                return self.of_several_numbers(c, scope, dim)
            case _:
                return lcl(self.work(scope), self.row(scope))

    def in_turns(self, c: Any, scope: Scope, dim: int) -> Any:
        """A loop, of no turn perhaps, with a tile in each."""
        turn: Body = lambda v: self.group(c, scope.plus(v), dim, 1)
        return rl.map_seq(self.named(turn), self.layout(self.input(f32[self.length()]), deep=1))

    def of_several_numbers(self, c: Any, scope: Scope, dim: int) -> Any:
        """Groups within groups, of different numbers: some of them skip what others do."""
        other = 1 - self.groups_dimension
        some: Body = lambda v: self.group(c, scope.plus(v), dim, 1)
        numbers = [self.input(f32[self.pick((2, 5, 3, 1))]) for _ in range(2)]
        return make_tuple(*(rl.map_wrg(other)(self.named(some), xs) for xs in numbers))

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
