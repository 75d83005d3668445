"""Every view, over Python's integers and lists, yields what its pattern means; every inverse undoes its view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from proofs_tests.semantics.patterns.test_patterns import CASES, Build, V, term_of
from relift.semantics.by_cell import OverIntegers
from relift.semantics.domains import UNSPECIFIED, Exact
from relift.semantics.indices.algebra import Algebra, asked_for
from relift.semantics.indices.functions import IndexFunction
from relift.semantics.indices.rows import Numbers
from relift.semantics.interpreter import World, denote_operator, evaluate
from relift.semantics.interpreter import operand_type as operand_of
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.binding import map_children
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Get,
    Input,
    Lambda,
    MakeTuple,
    Operator,
    OperatorMetavariable,
    Pattern,
    Term,
    Var,
    Vectorized,
    children,
    subterms,
)
from relift.semantics.syntax.types import Type

WORLD = World(domain=Exact())


class Lists(OverIntegers):
    """The algebra of Python's integers: arrays and vectors are lists, which are computed at once."""

    def function(self, f: IndexFunction, n: int) -> Callable[[int], int]:
        return lambda i: int(f.at(i, {}))

    def undoing(self, f: IndexFunction, n: int) -> Callable[[int], int]:
        return [int(i) for i in f.table(n)].index

    def array(self, n: int, at: Callable[[int], Any]) -> list[Any]:
        return [at(i) for i in range(n)]

    def at(self, xs: list[Any], i: int) -> Any:
        return xs[i] if 0 <= i < len(xs) else "beyond the array"

    def vector(self, width: int, lane: Callable[[int], Any]) -> list[Any]:
        return self.array(width, lane)

    def open_outside(self, i: int, left: int, n: int, xs: list[Any]) -> Any:
        return xs[i - left] if 0 <= i - left < n else UNSPECIFIED

    def place_before(self, i: int, n: int, xs: list[Any]) -> Any:
        return xs[i] if i < n else UNSPECIFIED

    def chosen(self, values: Numbers, i: int) -> Any:
        return values.values[i]

    def number(self, i: int) -> int:
        return i

    def whole(self, x: Any) -> int:
        return int(x)

    def below(self, x: Any, n: int) -> int:
        return int(x)

    def within(self, x: Any, n: int) -> int:
        return int(x)

    def fold(self, place: str, first: Any, step: Callable[[Any, int], Any], n: int) -> Any:
        for i in range(n):
            first = step(first, i)
        return first


def shown(t: Term, inputs: Mapping[str, Any], variables: Mapping[str, Any]) -> Any:
    """The value of a term, whose patterns are known by their views alone."""

    def of(u: Term) -> Any:
        return shown(u, inputs, variables)

    match t:
        case Input(name):
            return inputs[name]
        case Var(name):
            return variables[name]
        case MakeTuple(parts):
            return tuple(map(of, parts))
        case Get(index, whole):
            return of(whole)[index]
        case Pattern():
            return viewed(t, inputs, variables)
        case (
            _
        ):  # scalars are the interpreter's: what stands in them is an input or a variable there
            named = iter([Input(place, u.type) for place, u in terms_in(t)])
            again = map_children(t, lambda _: next(named), lambda f: f)
            values = {place: of(u) for place, u in terms_in(t)}
            return evaluate(again, World(inputs=values, domain=Exact()))


def terms_in(t: Term) -> list[tuple[str, Term]]:
    return [(place, u) for place, u in children(t) if not isinstance(u, Lambda)]


def operation(operator: Operator, t: Pattern) -> Callable[[Any, Any], Any]:
    found: Callable[[Any, Any], Any] = denote_operator(operator, operand_of(t), WORLD)
    return found


def viewed(t: Pattern, inputs: Mapping[str, Any], variables: Mapping[str, Any]) -> Any:
    """The value of a pattern by its view."""
    data = {place: shown(u, inputs, variables) for place, u in terms_in(t)}

    def given(name: str) -> Any:
        match getattr(t, name, None):
            case None:
                return t.solved[name].constant
            case Size() as n:
                return n.constant
            case Lambda(parameters, body):
                names = [x.name for x in parameters]
                return lambda *values: shown(
                    body, inputs, {**variables, **dict(zip(names, values, strict=True))}
                )
            case (BinaryOperator() | OperatorMetavariable() | Vectorized()) as operator:
                return operation(operator, t)
            case IndexFunction() | Numbers() as written:
                return written
            case _:
                return data[name]

    ix: Algebra = Lists()
    return t.view(ix, **{name: given(name) for name in asked_for(t.view)})


VIEWED = [
    case
    for case in CASES
    if all(
        u.has_view() for u, _ in subterms(term_of(case[1], case[2])[0]) if isinstance(u, Pattern)
    )
]


@pytest.mark.parametrize(
    ("types", "build"), [c[1:3] for c in VIEWED], ids=[f"{c[0]}-{i}" for i, c in enumerate(VIEWED)]
)
def test_a_view_yields_what_the_pattern_means(types: tuple[Type, ...], build: Build) -> None:
    """The same array as the interpreter's, open cells included."""
    term, _ = term_of(types, build)
    rng = np.random.default_rng(0)
    shapes = [(6,) if t == V else (4, 6) for t in types]
    inputs = {f"x{i}": rng.integers(-4, 8, shape).tolist() for i, shape in enumerate(shapes)}
    expected = evaluate(term, World(inputs=inputs, domain=Exact()))

    assert shown(term, inputs, {}) == expected


def test_every_pattern_with_a_view_is_shown() -> None:
    """No view is stated that no case above looks at."""
    met = {
        u.name
        for case in VIEWED
        for u, _ in subterms(term_of(case[1], case[2])[0])
        if isinstance(u, Pattern)
    }

    assert met == {name for name, pattern in PATTERNS.items() if pattern.has_view()}


def labels(types: tuple[Type, ...]) -> dict[str, Any]:
    """Arrays whose elements all differ."""
    shapes = [(6,) if t == V else (4, 6) for t in types]
    return {f"x{i}": np.arange(np.prod(s)).reshape(s).tolist() for i, s in enumerate(shapes)}


def given_size(t: Pattern, name: str) -> Any:
    """A size of a pattern, or its index function."""
    value = getattr(t, name, None)
    size = t.solved[name] if value is None else value
    return size.constant if isinstance(size, Size) else size


def _but_for_what_is_dropped(written: Any, data: Any) -> bool:
    """Whether what is written somewhere is the data, and something is."""
    kept = [(w, d) for w, d in zip(written, data, strict=True) if w is not UNSPECIFIED]
    return bool(kept) and all(w == d for w, d in kept)


def test_an_inverse_undoes_its_view() -> None:
    """Where the result is written, read back through the inverse, the data stand."""
    met: set[str] = set()
    for _, types, build, _ in CASES:
        term, _ = term_of(types, build)
        for t, bound in subterms(term):
            if bound or not isinstance(t, Pattern) or not t.has_inverse() or not t.has_view():
                continue
            if t.signature.roles != ("array",):
                continue
            inputs = labels(types)
            ((_, data),) = terms_in(t)
            known = {name: given_size(t, name) for name in asked_for(t.inverse)}
            written = t.inverse(Lists(), viewed(t, inputs, {}), **known)

            assert _but_for_what_is_dropped(written, shown(data, inputs, {})), t.name
            assert t.drops or written == shown(data, inputs, {}), t.name
            met.add(t.name)

    wanted = {n for n, p in PATTERNS.items() if p.has_inverse() and p.signature.roles == ("array",)}
    assert met == wanted
