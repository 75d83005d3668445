"""What a program is in NumPy: a second saying of what patterns mean, by NumPy's own functions on whole arrays.

Arrays are NumPy arrays, an array of tuples is a tuple of arrays.  It shares nothing with the interpreter but the
table of scalar functions; where the two differ, one of them is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from relift.semantics import patterns as p
from relift.semantics.domains import DTYPES
from relift.semantics.errors import Unsupported
from relift.semantics.indices.functions import IndexFunction, LiteralParameter
from relift.semantics.interpreter import operator_lambda
from relift.semantics.language.programs import Program
from relift.semantics.syntax import terms
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

Variables: TypeAlias = Mapping[str, Any]


def in_numpy(program: Program, arguments: tuple[Any, ...]) -> Any:
    """The result of a program at its sizes; raises `Unsupported` for a pattern that is not said here.

    >>> import numpy as np, relift as rl
    >>> from relift.compiler.fuzzing.judgement.formulation import in_numpy
    >>> @rl.program
    ... def total(x: rl.f32[4]):
    ...     return rl.reduce(rl.add, 0.0, rl.gather(rl.reverse, x))
    >>> in_numpy(total, (np.float32([1, 2, 3, 4]),))
    np.float32(10.0)
    """
    given = {q.name: a for q, a in zip(program.parameters, arguments, strict=True)}
    with np.errstate(all="ignore"):
        return _Evaluation(given).of(program.body, {})


def leaves(f: Callable[..., Any], *values: Any) -> Any:
    """A function of arrays on each component of values that may be tuples."""
    if isinstance(values[0], tuple):
        return tuple(leaves(f, *parts) for parts in zip(*values, strict=True))
    return f(*values)


def _length(value: Any) -> int:
    while isinstance(value, tuple):
        value = value[0]
    return len(value)


def _empty(t: Type, extents: tuple[int, ...] = ()) -> Any:
    """An array without elements."""
    match t:
        case Array(element, n) | Vector(element, n):
            return _empty(element, (*extents, n.constant or 0))
        case Tuple(parts):
            return tuple(_empty(part, extents) for part in parts)
        case Scalar(name):
            return np.zeros(extents, DTYPES[name])
        case TypeVariable():
            raise AssertionError(f"cannot happen: a value of type {t}")


class _Evaluation:
    """Terms at arguments."""

    def __init__(self, given: Variables) -> None:
        self.given = given

    def of(self, t: terms.Term, v: Variables) -> Any:
        """The value of a term whose variables have values."""
        match t:
            case terms.Var(name):
                return v[name]
            case terms.Input(name):
                return self.given[name]
            case terms.Literal(value, Scalar(name)):
                return DTYPES[name].type(value)
            case terms.Apply(name, arguments):
                return SCALAR_FUNCTIONS[name].meaning(*(self.of(u, v) for u in arguments))
            case terms.Call(user, arguments) if user.body is not None:
                return self.function(user.body, {})(*(self.of(u, v) for u in arguments))
            case terms.Call(user, arguments):
                return user.reference(*(self.of(u, v) for u in arguments))
            case terms.Combine(terms.BinaryOperator() as operator, left, right):
                f = self.function(operator_lambda(operator, left.type), {})
                return f(self.of(left, v), self.of(right, v))
            case terms.MakeTuple(parts):
                return tuple(self.of(u, v) for u in parts)
            case terms.Get(index, of):
                return self.of(of, v)[index]
            case terms.Pattern():
                return self.pattern(t, v)
            case terms.Literal() | terms.Combine() | terms.Metavariable():
                raise Unsupported(f"{type(t).__name__} has no formulation in NumPy")

    def function(self, f: terms.Lambda, v: Variables) -> Callable[..., Any]:
        """A lambda as a function of values."""
        names = [x.name for x in f.parameters]
        return lambda *xs: self.of(f.body, {**v, **dict(zip(names, xs, strict=True))})

    def pattern(self, t: terms.Pattern, v: Variables) -> Any:
        """What a pattern makes of its parts."""
        match t:
            case p.Store(xs):
                return self.of(xs, v)
            case p.Let(f, x):
                return self.function(f, v)(self.of(x, v))
            case p.Each(f, xs):
                return self.stacked(t.type, self.function(f, v), self.of(xs, v))
            case p.EachOf(f=f, xs=xs):
                return self.stacked(t.type, self.function(f, v), self.of(xs, v))
            case p.MapVec(f=f, v=lanes):
                return self.stacked(t.type, self.function(f, v), self.of(lanes, v))
            case p.Reduce(op):
                if not isinstance(op, terms.BinaryOperator):
                    raise Unsupported("reduce by this operator has no formulation in NumPy")
                return self.folded(t, self.function(operator_lambda(op, t.init.type), {}), v)
            case p.Accumulating(f=f):
                return self.folded(t, self.function(f, v), v)
            case p.Generate(f=f):
                count = _extent(t.type)
                return self.stacked(t.type, self.function(f, v), np.arange(count, dtype=np.int32))
            case p.At(xs=xs):
                k = self.count(t, "index")
                return leaves(lambda a: a[k], self.of(xs, v))
            case p.Head(xs):
                return leaves(lambda a: a[0], self.of(xs, v))
            case p.Repeat(x=x):
                count = _extent(t.type)
                return leaves(lambda a: np.repeat(np.asarray(a)[None], count, 0), self.of(x, v))
            case p.LiteralArray():
                raise Unsupported("literal_array has no formulation in NumPy")
            case _:
                return self.layout(t, v)

    def stacked(self, t: Type, f: Callable[[Any], Any], xs: Any) -> Any:
        """The function on every row."""
        assert isinstance(t, Array | Vector), "cannot happen: a map gives an array"
        count = _length(xs)
        if count == 0:
            return _empty(t)
        rows = [f(leaves(lambda a, i=i: a[i], xs)) for i in range(count)]
        return leaves(lambda *parts: np.stack(parts), *rows)

    def folded(self, t: Any, f: Callable[..., Any], v: Variables) -> Any:
        """A fold, or all of its turns."""
        found, xs, turns = self.of(t.init, v), self.of(t.xs, v), []
        for i in range(_length(xs)):
            found = f(found, leaves(lambda a, i=i: a[i], xs))
            turns.append(found)
        if not isinstance(t, p.ScanSeq):
            return found
        return leaves(lambda *parts: np.stack(parts), *turns) if turns else _empty(t.type)

    def count(self, t: terms.Pattern, name: str) -> int:
        """A size that a pattern has."""
        value: Any = getattr(t, name)
        constant: int | None = value if isinstance(value, int) else value.constant
        if constant is None:
            raise Unsupported(f"{t.name} at an open size has no formulation in NumPy")
        return constant

    def layout(self, t: terms.Pattern, v: Variables) -> Any:
        """Data that moves."""
        match t:
            case p.Zip(xs, ys):
                return self.of(xs, v), self.of(ys, v)
            case p.Unzip(ps):
                return self.of(ps, v)
            case p.Concat(xs, ys):
                pair = self.of(xs, v), self.of(ys, v)
                return leaves(lambda a, b: np.concatenate([a, b]), *pair)
            case p.PadConstant(value=value):
                edges = self.count(t, "left"), self.count(t, "right")
                pair = self.of(t.xs, v), self.of(value, v)
                return leaves(lambda a, x: _bordered(a, *edges, x), *pair)
            case p.Gather(idx, xs):
                given = self.of(xs, v)
                table = _table(idx, _length(given))
                return leaves(lambda a: np.take(a, table, 0), given)
            case p.Scatter(idx, xs):
                given = self.of(xs, v)
                order = np.argsort(_table(idx, _length(given)))
                return leaves(lambda a: np.take(a, order, 0), given)
            case _:
                return leaves(self.move(t), self.of(_data(t), v))

    def move(self, t: terms.Pattern) -> Callable[[Any], Any]:
        """A layout of one array, as a function of it."""
        n: Callable[[str], int] = lambda name: self.count(t, name)
        match t:
            case p.Split():
                return _in_rows(t.type)
            case p.AsVector():
                return _in_rows(t.type)
            case p.Join():
                return _in_one_row(t.type)
            case p.AsScalar():
                return _in_one_row(t.type)
            case p.Transpose():
                return lambda a: np.swapaxes(a, 0, 1)
            case p.Take():
                return lambda a: a[: _extent(t.type)]
            case p.Drop():
                return lambda a: a[len(a) - _extent(t.type) :]
            case p.Tail():
                return lambda a: a[1:]
            case p.Slide():
                count, size, step = _extent(t.type), n("size"), n("step")
                starts = np.arange(count)[:, None] * step + np.arange(size)[None]
                return lambda a: a[starts]
            case p.Pad():
                mode: Any = {"clamp": "edge", "mirror": "symmetric", "wrap": "wrap"}[t.boundary]
                edges = n("left"), n("right")
                pad: Any = np.pad  # whose type says nothing of modes by name
                return lambda a: pad(a, [edges, *[(0, 0)] * (a.ndim - 1)], mode)
            case _:
                raise Unsupported(f"{t.name} has no formulation in NumPy")


def _table(idx: LiteralParameter, n: int) -> Any:
    if not isinstance(idx, IndexFunction):
        raise Unsupported("these indices have no formulation in NumPy")
    return idx.table(n)


def _in_rows(t: Type) -> Callable[[Any], Any]:
    rows, columns = _extent(t), _extent(_element(t))
    return lambda a: a.reshape((rows, columns, *a.shape[1:]))


def _in_one_row(t: Type) -> Callable[[Any], Any]:
    length = _extent(t)
    return lambda a: a.reshape((length, *a.shape[2:]))


def _bordered(a: Any, left: int, right: int, value: Any) -> Any:
    row = np.asarray(value, a.dtype)[None]
    return np.concatenate([np.repeat(row, left, 0), a, np.repeat(row, right, 0)])


def _data(t: terms.Pattern) -> terms.Term:
    """The one array of a layout."""
    names = ("xs", "xss", "vs")
    found = next((getattr(t, name) for name in names if hasattr(t, name)), None)
    if not isinstance(found, terms.Term):
        raise Unsupported(f"{t.name} has no formulation in NumPy")
    return found


def _extent(t: Type) -> int:
    assert isinstance(t, Array | Vector), "cannot happen: an array"
    length = t.length if isinstance(t, Array) else t.width
    if length.constant is None:
        raise Unsupported("an open size has no formulation in NumPy")
    return length.constant


def _element(t: Type) -> Type:
    assert isinstance(t, Array | Vector), "cannot happen: an array"
    return t.element
