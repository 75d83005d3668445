"""What a work-item of a random kernel computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from relift.rewrites.checks.random.draws import Body, Draws
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import as_term, make_tuple
from relift.semantics.syntax.terms import Term, UserFunction
from relift.semantics.syntax.types import Array, Scalar, Tuple, TypeVariable, Vector, f32, i32

LARGEST = 63
"""To this, factors and sums are clipped; what is computed from them is exact in f32."""


DEEPEST = 2
"""Folds within folds; more would take the interpreter minutes."""


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
                case Vector() | TypeVariable():
                    pass
        return found


@dataclass
class Expressions(Draws):
    """Expressions of what is in scope; a fold within folds is no deeper than `deepest`."""

    functions: list[UserFunction] = field(default_factory=list)
    nesting: int = 0
    deepest: int = DEEPEST

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
                return f32(self.bounded(self.scalar(scope, i32)))
            case 8:
                return i32(self.bounded(self.scalar(scope, f32)))
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
        if self.nesting == self.deepest:
            return self.leaf(scope, t)
        self.nesting += 1
        try:
            return self.folded(scope, t)
        finally:
            self.nesting -= 1

    def folded(self, scope: Scope, t: Scalar) -> Any:
        """A fold over an array."""
        xs = self.run_through(scope)
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

    def run_through(self, scope: Scope) -> Any:
        """What a fold runs through: an array in scope, if there is any."""
        if scope.arrays:
            return self.layout(self.pick(scope.arrays), deep=1)
        return self.items_of(scope)

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
        return self.bounded(x)

    def bounded(self, x: Any) -> Any:
        """The value, brought back to where every conversion has a meaning."""
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
