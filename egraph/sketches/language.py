"""Sketches: programs that are written only in part, as goals of a search.

A sketch is an expression of the public language in which

    ...                  stands for any term
    ... >= S             stands for any term that contains S, itself included
    f32[n], array[n]     stand for any term of that type, of any element type
    map[n](S)            is a map over n elements whose body is S; so for every pattern with data

Arguments at the end may be left out; a name is an input of the program, or a variable of a `lambda` around
it.  Sizes may be written with the names of the program's sizes and of the tiles of a plan:

>>> from relift import sketch
>>> blocked = sketch("map[n // 32](... >= map[32](... >= reduce_seq[n](... + ... * ...)))")
>>> print(blocked.at({"n": 1024}))
map[32](... >= map[32](... >= reduce_seq[1024](... + ... * ...)))

OpenCL's patterns may occur: `map_glb(0)[n](S)` is a map that one of the lowering rules makes parallel.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from relift.rewrites.loading import CannotLoad, load_file, named_in
from relift.semantics.errors import ReliftError, callers_line
from relift.semantics.language.arguments import an_instance
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    NatKind,
    NumbersKind,
    OperatorKind,
)
from relift.semantics.syntax.sizes import Unknown
from relift.semantics.syntax.terms import Pattern
from relift.semantics.syntax.types import SCALARS, AnyType, Array, Type, TypeVariable, tup, vec


class BadSketch(ReliftError):
    """A sketch that is not well formed; the message quotes the part."""


@dataclass(frozen=True)
class Anything:
    """Any term."""

    def __str__(self) -> str:
        return "..."


@dataclass(frozen=True)
class Containing:
    """Any term with a part like this, itself included."""

    part: Shape

    def __str__(self) -> str:
        return f"... >= {self.part}"


@dataclass(frozen=True)
class OfType:
    """Any term of this type; `array` as its innermost element leaves the element type open."""

    type: Type

    def __str__(self) -> str:
        return str(self.type).replace(_ANY.name, "array")


@dataclass(frozen=True)
class Named:
    """An input of the program, or (`bound`) a variable of a lambda around it."""

    name: str
    bound: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Number:
    """A literal."""

    value: float

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Operation:
    """A scalar function, or an operator of the same name, lane by lane or not."""

    name: str
    parts: tuple[Shape, ...]

    def __str__(self) -> str:
        sign = _SIGNS.get(self.name)
        if sign is not None and len(self.parts) == 2:
            return f" {sign} ".join(
                f"({p})" if isinstance(p, Containing) else str(p) for p in self.parts
            )
        return f"{self.name}({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Component:
    """A component of a tuple."""

    index: int
    of: Shape

    def __str__(self) -> str:
        return f"{self.of}[{self.index}]"


@dataclass(frozen=True)
class Part:
    """What stands at one place of a pattern, below the variables that are bound there."""

    place: str
    shape: Shape
    binders: tuple[str, ...] = ()

    def __str__(self) -> str:
        return (
            f"lambda {', '.join(self.binders)}: {self.shape}" if self.binders else str(self.shape)
        )


@dataclass(frozen=True)
class OfPattern:
    """A pattern, the length of its data, its numbers, the name of its operator, and what is inside."""

    pattern: type[Pattern]
    parts: tuple[Part, ...] = ()
    length: int | None = None
    numbers: tuple[tuple[str, int], ...] = ()
    operator: str | None = None

    def __str__(self) -> str:
        name = self.pattern.name
        shown = [str(n) for place, n in self.numbers if place != "dim"]
        shown += [self.operator] if self.operator else []
        shown += map(str, self.parts)
        dim = "".join(f"({n})" for place, n in self.numbers if place == "dim")
        return f"{name}{dim}{'' if self.length is None else f'[{self.length}]'}({', '.join(shown)})"


Shape: TypeAlias = (
    Anything | Containing | OfType | Named | Number | Operation | Component | OfPattern
)
"""A sketch at concrete sizes."""

_VERY_DIVISIBLE = math.factorial(30)
_ANY = TypeVariable(Unknown("array"))
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
}


@dataclass(frozen=True)
class Sketch:
    """A partial program as it was written; `at` gives it concrete sizes."""

    text: str
    place: str | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def names(self) -> tuple[str, ...]:
        """The names that stand for sizes, in order of their first use."""
        return tuple(dict.fromkeys(_size_names(self._tree())))

    def at(self, sizes: Mapping[str, int]) -> Shape:
        """The sketch at these sizes; raises `BadSketch` for a name or a form that means nothing."""
        return _Reader(sizes, self).shape(self._tree(), ())

    def _tree(self) -> ast.expr:
        try:
            return ast.parse(self.text.strip(), mode="eval").body
        except SyntaxError as error:
            raise BadSketch(
                f"not a sketch: {error.msg} in {self.text[:200]!r}", self.place
            ) from None


def sketch(text: str) -> Sketch:
    """A sketch from its text; raises `BadSketch` when it is not well formed.

    >>> from relift import sketch
    >>> sketch("map[n // tile](... >= map[tile](...))").names
    ('n', 'tile')
    """
    an_instance(text, str, "a sketch", 'write its text, as in rl.sketch("map(reduce_seq)")')
    found = Sketch(text, callers_line())
    found.at(dict.fromkeys(found.names, _VERY_DIVISIBLE))
    return found


def load_sketch(spec: str) -> Sketch:
    """The sketch that `file.py:name` names, or else the one that `spec` is the text of.

    Raises `CannotLoad` when the file has no such sketch, `BadSketch` when the text is not one.
    """
    path, colon, name = spec.rpartition(":")
    if not (colon and path.endswith(".py") and name.isidentifier()):
        return sketch(spec)
    module = load_file(Path(path))
    found = named_in(module, name)
    if not isinstance(found, Sketch):
        known = ", ".join(n for n, v in vars(module).items() if isinstance(v, Sketch)) or "none"
        raise CannotLoad(f"{path} has no sketch {name}; its sketches are: {known}")
    return found


def lengths(shape: Shape) -> Iterator[int]:
    """Every length and number written in a sketch."""
    match shape:
        case Containing(part):
            yield from lengths(part)
        case OfPattern(_, parts, length, numbers):
            yield from [] if length is None else [length]
            yield from (n for _, n in numbers)
            yield from (n for inside in parts for n in lengths(inside.shape))
        case Operation(_, shapes):
            for inner in shapes:
                yield from lengths(inner)
        case Component(_, of):
            yield from lengths(of)
        case OfType() | Anything() | Named() | Number():
            pass


def _size_names(node: ast.AST) -> Iterator[str]:
    """The names in subscripts that hold sizes, and in the numbers of patterns."""
    for child in ast.walk(node):
        if isinstance(child, ast.Subscript):
            yield from (n.id for n in ast.walk(child.slice) if isinstance(n, ast.Name))
        elif isinstance(child, ast.Call):
            name, arguments, _ = _called(child)
            for place, argument in zip(_places(name), arguments, strict=False):
                if isinstance(PATTERNS[name].signature.parameters[place], NatKind):
                    yield from (n.id for n in ast.walk(argument) if isinstance(n, ast.Name))


def _places(name: str) -> tuple[str, ...]:
    return tuple(PATTERNS[name].signature.parameters) if name in PATTERNS else ()


def _called(node: ast.Call) -> tuple[str, list[ast.expr], ast.expr | None]:
    """The name, the arguments of all calls in a row, and the length of `name(...)[length](...)`."""
    arguments: list[ast.expr] = []
    length: ast.expr | None = None
    inner: ast.expr = node
    while True:
        match inner:
            case ast.Call(function, own):
                arguments = own + arguments
                inner = function
            case ast.Subscript(of, index):
                inner, length = of, index
            case ast.Name(name):
                return name, arguments, length
            case _:
                return ast.unparse(inner), arguments, length


class _Reader:
    """Reads the syntax tree of a sketch at concrete sizes."""

    def __init__(self, sizes: Mapping[str, int], whole: Sketch) -> None:
        self.sizes, self.whole = sizes, whole

    def fail(self, node: ast.AST, why: str) -> BadSketch:
        return BadSketch(f"not a sketch: {ast.unparse(node)}: {why}", self.whole.place)

    def shape(self, node: ast.expr, bound: Sequence[str]) -> Shape:
        match node:
            case ast.Constant(value) if value is Ellipsis:
                return Anything()
            case ast.Constant(int(value) | float(value)):
                return Number(value)
            case ast.Compare(ast.Constant(first), [ast.GtE()], [part]) if first is Ellipsis:
                return Containing(self.shape(part, bound))
            case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
                parts = (self.shape(left, bound), self.shape(right, bound))
                return Operation(_OPERATORS[type(operator)], parts)
            case ast.Name(name) if name in SCALARS:
                return OfType(SCALARS[name])
            case ast.Name(name) if name in PATTERNS:
                raise self.fail(node, f"give it arguments, as in {name}(...)")
            case ast.Name(name):
                return Named(name, name in bound)
            case ast.Subscript(ast.Name(name), _) if name == "array" or name in SCALARS:
                return OfType(self.type(node))
            case ast.Subscript(ast.Tuple(), _) | ast.Call(ast.Name("vec"), _):
                return OfType(self.type(node))
            case ast.Subscript(of, ast.Constant(int(index))):
                return Component(index, self.shape(of, bound))
            case ast.Call():
                return self._call(node, bound)
            case _:
                raise self.fail(node, "write a pattern, a type, a name, ..., or ... >= a part")

    def _call(self, node: ast.Call, bound: Sequence[str]) -> Shape:
        name, arguments, length = _called(node)
        if name in SCALAR_FUNCTIONS and SCALAR_FUNCTIONS[name].is_call:
            return Operation(name, tuple(self.shape(a, bound) for a in arguments))
        if name not in PATTERNS:
            raise self.fail(node, f"there is no pattern {name}")
        pattern = PATTERNS[name]
        kinds = pattern.signature.parameters
        if len(arguments) > len(kinds):
            raise self.fail(node, f"{name} takes {len(kinds)} arguments: {', '.join(kinds)}")
        parts: list[Part] = []
        numbers: list[tuple[str, int]] = []
        operator = None
        for (place, kind), argument in zip(kinds.items(), arguments, strict=False):
            anything = isinstance(argument, ast.Constant) and argument.value is Ellipsis
            match kind:
                case NatKind():
                    if not anything:
                        numbers.append((place, self.size(argument)))
                case OperatorKind():
                    if not anything:
                        operator = ast.unparse(argument)
                case IndexKind() | NumbersKind():
                    if not anything:
                        raise self.fail(argument, f"write ... for the {place} of {name}")
                case FunctionKind(types):
                    parts.append(self._function(place, len(types), argument, bound))
                case AnyType():
                    parts.append(Part(place, self.shape(argument, bound)))
        return OfPattern(
            pattern,
            tuple(parts),
            None if length is None else self.size(length),
            tuple(numbers),
            operator,
        )

    def _function(self, place: str, arity: int, node: ast.expr, bound: Sequence[str]) -> Part:
        if not isinstance(node, ast.Lambda):
            return Part(place, self.shape(node, bound))
        binders = tuple(a.arg for a in node.args.args)
        if len(binders) != arity:
            raise self.fail(node, f"a function of {arity} arguments is needed")
        if set(binders) & set(bound) or len(set(binders)) < arity:
            raise self.fail(node, "give every variable a name of its own")
        return Part(place, self.shape(node.body, (*bound, *binders)), binders)

    def type(self, node: ast.expr) -> Type:
        match node:
            case ast.Name("array"):
                return _ANY
            case ast.Name(name) if name in SCALARS:
                return SCALARS[name]
            case ast.Tuple(parts):
                return tup(*map(self.type, parts))
            case ast.Subscript(element, ast.Tuple(sizes)):
                return self.type(element)[tuple(map(self.size, sizes))]
            case ast.Subscript(element, size):
                return self.type(element)[self.size(size)]
            case ast.Call(ast.Name("vec"), [element, width]):
                return vec(self.type(element), self.size(width))
            case _:
                raise self.fail(node, "not a type")

    def size(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(int(value)):
                return value
            case ast.Name(name) if name in self.sizes:
                return self.sizes[name]
            case ast.Name(name):
                known = ", ".join(self.sizes) or "none"
                raise self.fail(node, f"there is no size {name}; the sizes are: {known}")
            case ast.BinOp(left, operator, right):
                a, b = self.size(left), self.size(right)
                match operator:
                    case ast.Add():
                        return a + b
                    case ast.Sub():
                        return a - b
                    case ast.Mult():
                        return a * b
                    case ast.FloorDiv() | ast.Div() if b and a % b == 0:
                        return a // b
                    case ast.FloorDiv() | ast.Div():
                        raise self.fail(node, f"{b} does not divide {a}")
                    case _:
                        pass
            case _:
                pass
        raise self.fail(node, "a size is made of numbers, names, +, -, * and //")


def fits(wanted: Type, actual: Type) -> bool:
    """Whether a type is the one wanted, in which `array` stands for any element type."""
    if isinstance(wanted, TypeVariable):
        return wanted == _ANY
    if isinstance(wanted, Array) and isinstance(actual, Array):
        return wanted.length == actual.length and fits(wanted.element, actual.element)
    return wanted == actual
