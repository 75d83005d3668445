"""Inputs of exact numbers for a program at concrete sizes: ordinary ones and edge values.

Whole numbers that the program uses as indices are below the length of what they index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from relift.semantics.language.programs import Program
from relift.semantics.syntax.terms import Input, Lambda, Pattern, Term, Var, children
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector, boolean

WHOLE = tuple(range(-50, 51))
EDGES = (0, 1, -1, 2, 127, -128, 2**15, 2**31 - 1, -(2**31))
"""What whole numbers are at their ends, and where laws tend to break."""
FRACTIONS = (
    *EDGES,
    Fraction(1, 2),
    Fraction(-1, 2),
    Fraction(1, 3),
    Fraction(10**20),
    Fraction(1, 10**20),
)


def exact_inputs(program: Program, count: int) -> Iterator[dict[str, Any]]:
    """So many inputs by name, the same ones each time: ordinary numbers first, then edges, then both.

    >>> from relift import i32
    >>> from relift.rewrites.checks.random.exact_inputs import exact_inputs
    >>> from relift.semantics.language.programs import program as made
    >>> list(exact_inputs(made("f", {"x": i32[2]}, lambda x: x), 2)) # doctest: +SKIP
    [{'x': [12, -3]}, {'x': [0, -1]}]
    """
    below = index_bounds(program.body)
    for number in range(count):
        random = Random(number)
        yield {p.name: _draw(p.type, random, number, below.get(p.name)) for p in program.parameters}


def _draw(t: Type, random: Random, number: int, below: int | None) -> Any:
    match t:
        case Array(element, n) | Vector(element, n):
            return [_draw(element, random, number, below) for _ in range(n.constant or 0)]
        case Tuple(parts):
            return tuple(_draw(part, random, number, below) for part in parts)
        case Scalar() if t == boolean:
            return random.random() < 0.5
        case Scalar() if not t.is_float and below is not None:
            return random.randrange(max(below, 1))
        case Scalar() | TypeVariable():
            return random.choice(_values(t, number))


def _values(t: Type, number: int) -> Sequence[Any]:
    """Ordinary numbers at first, then the ends, then those of both."""
    edges = FRACTIONS if isinstance(t, Scalar) and t.is_float else EDGES
    values = (WHOLE, edges, (*WHOLE[::10], *edges))[min(number, 2)]
    return t.held(values) if isinstance(t, Scalar) else values


def index_bounds(t: Term) -> dict[str, int]:
    """The inputs whose numbers may be used as indices, each with the shortest length that they index.

    >>> from relift import f32, i32
    >>> from relift.rewrites.checks.random.exact_inputs import index_bounds
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> ids, xs = Input("ids", i32[4]), Input("xs", f32[3])
    >>> index_bounds(parse_term("map(lambda i: at_runtime_unsafe(i, xs), ids)", ids=ids, xs=xs))
    {'ids': 3}
    """
    found: dict[str, int] = {}

    def inputs_of(t: Term, around: Mapping[str, frozenset[str]]) -> frozenset[str]:
        """The inputs that a value may be taken from."""
        if isinstance(t, Input):
            return frozenset((t.name,))
        if isinstance(t, Var):
            return around.get(t.name, frozenset())
        data = {
            place: inputs_of(u, around) for place, u in children(t) if not isinstance(u, Lambda)
        }
        everything = frozenset().union(*data.values())
        if isinstance(t, Pattern) and t.partial:
            roles = zip(t.signature.term_fields, t.signature.roles, strict=True)
            for name in sorted(x for place, role in roles if role == "index" for x in data[place]):
                length = t.solved["n"].constant or 0
                found[name] = min(found.get(name, length), length)
        for _, f in children(t):
            if isinstance(f, Lambda):
                inner = {**around, **dict.fromkeys((x.name for x in f.parameters), everything)}
                everything |= inputs_of(f.body, inner)
        return everything

    inputs_of(t, {})
    return found
