"""Types: scalars, arrays with a symbolic length, tuples, vectors.

    t ::= f16 | f32 | f64 | i32 | i64 | boolean | t[n] | (t, ..., t) | vec(t, w) | a type variable

An array type is written element first, outermost length first: `f32[n, m]` is n rows of m.

>>> from relift import f32, i32, nat, tup
>>> n, m = nat("n"), nat("m")
>>> f32[n, m]
f32[n, m]
>>> f32[n, m].element
f32[m]
>>> tup(f32, i32)[n]
(f32, i32)[n]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from relift.display.blocks import Block, Words
from relift.display.displayed import Displayed
from relift.semantics.errors import IllTyped
from relift.semantics.syntax import overloading
from relift.semantics.syntax.sizes import Size, SizeLike, letter_of, nat, promises

__all__ = [
    "Array", "Scalar", "Tuple", "Type", "TypeVariable", "Vector",
    "boolean", "f16", "f32", "f64", "i32", "i64", "nat", "tup", "vec",
]  # fmt: skip


class AnyType(Displayed):
    """What all types share: the array notation `t[n, m]`."""

    def display(self) -> Sequence[Block]:
        """The notation."""
        return [Words(repr(self))]

    def __getitem__(self, lengths: SizeLike | tuple[SizeLike, ...]) -> Array:
        assert isinstance(self, Scalar | Array | Tuple | Vector | TypeVariable)
        dims = lengths if isinstance(lengths, tuple) else (lengths,)
        array: Type = self
        for length in reversed(dims):
            n = Size.of(length)
            if n.constant is not None and n.constant < 0:
                raise IllTyped(f"{self}[{n}]: a length is not negative")
            array = Array(array, n)
        assert isinstance(array, Array), "cannot happen: t[()] has no length"
        return array


@dataclass(frozen=True)
class Scalar(AnyType):
    """A number or a truth value, stored in `bytes` bytes.

    `dtype` is what NumPy calls it, `c` what OpenCL C does, where its constants end with `ending`; `extension` is what
    a device of OpenCL must have to compute with it.
    """

    name: str
    bytes: int
    dtype: str = field(default="", compare=False)
    c: str = field(default="", compare=False)
    ending: str = field(default="", compare=False)
    extension: str = field(default="", compare=False)

    @cached_property
    def is_float(self) -> bool:
        """Whether its numbers are rounded."""
        return np.dtype(self.dtype).kind == "f"

    @cached_property
    def has_sign(self) -> bool:
        """Whether it has numbers below zero, or is the type of truth values."""
        return np.dtype(self.dtype).kind != "u"

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest of whole numbers."""
        bits = 8 * self.bytes - self.has_sign
        return -(2**bits) if self.has_sign else 0, 2**bits - 1

    def held(self, numbers: Iterable[Any]) -> list[Any]:
        """Those of some numbers that are not beyond the range of whole numbers; a float has all.

        >>> from relift import f32, i32
        >>> i32.held([-(2**31), 2**31]), f32.held([2**31])
        ([-2147483648], [2147483648])
        """
        least, greatest = self.range
        return [x for x in numbers if self.is_float or least <= x <= greatest]

    def __call__(self, x: Any) -> Any:
        """A Python number as a constant of this type, or a scalar of another type converted to it."""
        return overloading.converted(self, x)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Array(AnyType):
    """`length` elements of one type."""

    element: Type
    length: Size

    def __repr__(self) -> str:
        lengths: list[str] = []
        inner: Type = self
        while isinstance(inner, Array):
            lengths.append(str(inner.length))
            inner = inner.element
        return f"{inner}[{', '.join(lengths)}]"


@dataclass(frozen=True)
class Tuple(AnyType):
    """A fixed number of components, each of its own type."""

    parts: tuple[Type, ...]

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Vector(AnyType):
    """`width` lanes that a device processes in one instruction.

    The element may be any type: a vector of pairs is a pair of vectors, seen lane by lane.
    """

    element: Type
    width: Size

    def __repr__(self) -> str:
        return f"vec({self.element}, {self.width})"


@dataclass(frozen=True)
class TypeVariable(AnyType):
    """Any type; in rules and in the signatures of patterns."""

    name: str

    def __repr__(self) -> str:
        return self.name


Type: TypeAlias = Scalar | Array | Tuple | Vector | TypeVariable

f16 = Scalar("f16", 2, "float16", "half", "h", "cl_khr_fp16")
"""A float of 16 bits, IEEE's binary16."""
f32 = Scalar("f32", 4, "float32", "float", "f")
"""A float of 32 bits, IEEE's binary32."""
f64 = Scalar("f64", 8, "float64", "double", "", "cl_khr_fp64")
"""A float of 64 bits, IEEE's binary64."""
i32 = Scalar("i32", 4, "int32", "int")
"""A whole number of 32 bits with a sign, which wraps around."""
i64 = Scalar("i64", 8, "int64", "long", "L")
"""A whole number of 64 bits with a sign, which wraps around."""
boolean = Scalar("boolean", 1, "bool", "int")
"""A truth value."""

SCALARS: dict[str, Scalar] = {t.name: t for t in [*globals().values()] if isinstance(t, Scalar)}
"""All scalar types, by name: those above, and what else knows scalar types reads this."""

FLOATS: dict[str, Scalar] = {t.name: t for t in SCALARS.values() if t.is_float}
INTEGERS: dict[str, Scalar] = {
    t.name: t for t in SCALARS.values() if not t.is_float and t != boolean
}


def tup(*parts: Type) -> Tuple:
    """The type of tuples with these component types."""
    if len(parts) < 2:
        raise IllTyped("a tuple type has two components or more")
    _require_types(parts)
    return Tuple(parts)


def _require_types(values: tuple[object, ...]) -> None:
    for value in values:
        if not isinstance(value, Scalar | Array | Tuple | Vector | TypeVariable):
            raise IllTyped(
                f"{value!r} is not a type; types are f32, i32, f32[n], tup(t, u), vec(t, w)"
            )


def vec(element: Type, width: SizeLike) -> Vector:
    """The type of vectors of `width` lanes."""
    _require_types((element,))
    lanes = Size.of(width).constant
    if lanes is not None and lanes < 1:
        raise IllTyped("a vector has at least one lane")
    return Vector(element, Size.of(width))


def type_names(t: Type) -> Iterator[str]:
    """The type variables of `t`."""
    return (u.name for u in types_within(t) if isinstance(u, TypeVariable))


def type_sizes(t: Type) -> Iterator[Size]:
    """The lengths and widths that occur in `t`, outermost first."""
    for u in types_within(t):
        match u:
            case Array(_, n) | Vector(_, n):
                yield n
            case Tuple() | Scalar() | TypeVariable():
                pass


def least_values(*types: Type) -> dict[str, int]:
    """The names in the sizes of types, each with the least value that it promises: types are equal whatever these are.

    >>> from relift import f32, nat
    >>> from relift.semantics.syntax.types import least_values
    >>> least_values(f32[nat("n", least=3), nat("m")])
    {'m': 1, 'n': 3}
    """
    found: dict[str, int] = {}
    for name, least in _promises(types):
        found[name] = max(least, found.get(name, 0))
    return dict(sorted(found.items()))


def _promises(types: Sequence[Type]) -> Iterator[tuple[str, int]]:
    for n in (n for t in types for n in type_sizes(t)):
        yield from promises(n)


def types_within(t: Type) -> Iterator[Type]:
    """t and the types of which it is made.

    >>> from relift import f32, i32, tup
    >>> from relift.semantics.syntax.types import types_within
    >>> list(types_within(tup(f32, i32[2])))
    [(f32, i32[2]), f32, i32[2], i32]
    """
    yield t
    match t:
        case Array(element, _) | Vector(element, _):
            yield from types_within(element)
        case Tuple(parts):
            for part in parts:
                yield from types_within(part)
        case Scalar() | TypeVariable():
            pass


def components_of(t: Type) -> Iterator[tuple[Scalar | TypeVariable, tuple[Size, ...]]]:
    """What the numbers of a value of type t are, each part of a tuple for itself, with the lengths around it, outermost first.

    >>> from relift import f32, i32, tup
    >>> from relift.semantics.syntax.types import components_of
    >>> list(components_of(tup(f32, i32[2])[3]))
    [(f32, (3,)), (i32, (3, 2))]
    """
    match t:
        case Array(element, n) | Vector(element, n):
            yield from ((inner, (n, *lengths)) for inner, lengths in components_of(element))
        case Tuple(parts):
            for part in parts:
                yield from components_of(part)
        case Scalar() | TypeVariable():
            yield t, ()


def component_count(t: Type) -> int:
    """How many rows of numbers a value of type t is: one, but for tuples and arrays of them."""
    return sum(1 for _ in components_of(t))


def holds_array(t: Type) -> bool:
    """Whether an array is among the parts of t, however deep."""
    return any(isinstance(inner, Array) for inner in types_within(t))


def substitute_type(t: Type, types: Mapping[str, Type], sizes: Mapping[str, Size]) -> Type:
    """Replace type variables and size names, all at once."""
    match t:
        case TypeVariable(name):
            return types.get(name, t)
        case Array(element, n):
            return Array(substitute_type(element, types, sizes), n.substitute(sizes))
        case Vector(element, n):
            return Vector(substitute_type(element, types, sizes), n.substitute(sizes))
        case Tuple(parts):
            return Tuple(tuple(substitute_type(part, types, sizes) for part in parts))
        case Scalar():
            return t


def with_letters(t: Type) -> Type:
    """A type with the letters of its unknowns for these, as rules and people write it."""
    types: dict[str, Type] = {name: TypeVariable(letter_of(name)) for name in type_names(t)}
    sizes = {name: Size.atom(letter_of(name)) for n in type_sizes(t) for name in n.names()}
    return substitute_type(t, types, sizes)


def dimensions(t: Type) -> tuple[tuple[Size, ...], Type]:
    """The lengths of nested arrays, outermost first, and the element below them."""
    lengths: list[Size] = []
    while isinstance(t, Array):
        lengths.append(t.length)
        t = t.element
    return tuple(lengths), t


def is_table_of_numbers(t: Type) -> bool:
    """Whether a type is that of rows of numbers.

    >>> from relift import f32
    >>> from relift.semantics.syntax.types import is_table_of_numbers
    >>> [is_table_of_numbers(t) for t in (f32[2, 3], f32[2], f32[2, 3, 4])]
    [True, False, False]
    """
    lengths, element = dimensions(t)
    return len(lengths) == 2 and isinstance(element, Scalar)


def cells(t: Type) -> Size:
    """How many scalars a value of type `t` holds."""
    match t:
        case Array(element, n) | Vector(element, n):
            return n * cells(element)
        case Tuple(parts):
            total = Size.of(0)
            for part in parts:
                total = total + cells(part)
            return total
        case Scalar() | TypeVariable():
            return Size.of(1)
