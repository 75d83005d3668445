"""What random kernels are drawn from: choices, names, inputs and layouts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from relift.semantics.errors import IllTyped
from relift.semantics.indices.functions import reverse, shift
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import Array, Type, f32, i32, tup

T = TypeVar("T")


Body: TypeAlias = Callable[[Any], Any]


Kind: TypeAlias = Literal["items", "groups", "open items", "open groups"]


KINDS: tuple[Kind, ...] = ("items", "groups", "open items", "open groups")
"""How the work is divided, and whether sizes are arguments of the kernels."""


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


def _with_parameter(name: str, body: Body) -> Body:
    """`body` as a function whose parameter has one of NAMES."""
    function: Body = eval(f"lambda {name}: body({name})", {"body": body})
    return function


@dataclass
class Draws:
    """The choices of one program; `fuel` bounds how many patterns its expressions have."""

    choices: Choices
    kind: Kind
    fuel: int = 22
    inputs: dict[str, Input] = field(default_factory=dict)

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
