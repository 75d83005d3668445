"""Parameters of patterns that are written out and hold no term: index functions, and rows of numbers.

An index function maps the indices of an array to indices of the same array.  It is no scalar function:
layouts are made of it, so it is known while a program is compiled.

    e ::= i | size | e + e | e - e | e * e | e // size | e % size | p(e)

Only rules have `p(e)`: p is an index metavariable, which maps the indices below its length to such indices
and is not known otherwise.

>>> from relift import nat
>>> from relift.semantics.indices.functions import index_function
>>> n = nat("n")
>>> f = index_function(lambda i: n - 1 - i, n)
>>> f, [f.at(j, {"n": 5}) for j in range(5)]
(lambda i: n - 1 - i, [4, 3, 2, 1, 0])
"""

from __future__ import annotations

import inspect
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar

import numpy as np

from relift.semantics.errors import IllTyped, Undefined, Unsupported
from relift.semantics.indices import expressions as indices
from relift.semantics.indices.atoms import Index
from relift.semantics.syntax.operations import Combined
from relift.semantics.syntax.sizes import Size, SizeLike

Symbol: TypeAlias = Literal["+", "-", "*", "//", "%"]
V = TypeVar("V")


class LiteralParameter(ABC):
    """A parameter without terms inside; its text reads back."""

    @abstractmethod
    def substitute(
        self, sizes: Mapping[str, Size], functions: Mapping[str, IndexFunction] | None = None
    ) -> LiteralParameter:
        """The same at other sizes, and with index metavariables filled in."""

    @abstractmethod
    def meaning(
        self,
        size: Callable[[Size], int],
        literal: Callable[..., Any],
        metavariables: Mapping[str, Any],
    ) -> Any:
        """What a pattern's `meaning` is given, where `literal` makes numbers of the domain."""

    @property
    @abstractmethod
    def sizes(self) -> frozenset[Size]:
        """The sizes that are written in it."""


def _operator(symbol: Symbol) -> Callable[[Any, Any], IndexExpression]:
    """An operator of Python's on index expressions."""
    return lambda left, right: combine_indices(symbol, left, right)


def _reflected(symbol: Symbol) -> Callable[[Any, Any], IndexExpression]:
    """The same where the index expression stands on the right."""
    return lambda right, left: combine_indices(symbol, left, right)


class IndexNotation(Combined):
    """Python's arithmetic on index expressions."""

    __add__, __radd__ = _operator("+"), _reflected("+")
    __sub__, __rsub__ = _operator("-"), _reflected("-")
    __mul__, __rmul__ = _operator("*"), _reflected("*")
    __floordiv__, __mod__ = _operator("//"), _operator("%")

    def __neg__(self) -> IndexExpression:
        return combine_indices("-", 0, self)

    def _refuse(self, other: Any) -> NoReturn:
        raise IllTyped(
            "an index function has + - * and, by sizes, // and %; what is computed with data goes "
            "into an array of indices, for gather_indices"
        )

    __truediv__ = __rtruediv__ = __rfloordiv__ = __rmod__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse


@dataclass(frozen=True)
class TheIndex(IndexNotation):
    """The index i itself."""


@dataclass(frozen=True)
class SizeIndex(IndexNotation):
    """A size as an index."""

    value: Size


@dataclass(frozen=True)
class IndexOperation(IndexNotation):
    """Two index expressions combined; what divides is a size."""

    symbol: Symbol
    left: IndexExpression
    right: IndexExpression


@dataclass(frozen=True)
class IndexMetavariable(IndexNotation):
    """An index metavariable of a rule, on the indices below `length`, applied."""

    name: str
    length: Size
    argument: IndexExpression


IndexExpression: TypeAlias = TheIndex | SizeIndex | IndexOperation | IndexMetavariable


def combine_indices(symbol: Symbol, left: Any, right: Any) -> IndexExpression:
    x, y = _expression(left), _expression(right)
    if symbol in ("//", "%") and not isinstance(y, SizeIndex):
        raise IllTyped(f"an index is divided by sizes only, not by {_text(y, 'i')}")
    if isinstance(y, SizeIndex) and symbol in ("//", "%") and y.value == 0:
        raise IllTyped("an index is divided by 0")
    if isinstance(x, SizeIndex) and isinstance(y, SizeIndex) and symbol in _ON_SIZES:
        return SizeIndex(_ON_SIZES[symbol](x.value, y.value))
    return IndexOperation(symbol, x, y)


_ON_SIZES: dict[str, Callable[[Size, Size], Size]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
"""What sizes have, so that two of them are one."""


def _recombined(symbol: Symbol, x: IndexExpression, y: IndexExpression) -> IndexExpression:
    """As `combine_indices`, at sizes that may be 0: a rotation of no elements is applied to no index."""
    if symbol in ("//", "%") and isinstance(y, SizeIndex) and y.value == 0:
        return IndexOperation(symbol, x, y)
    return combine_indices(symbol, x, y)


def _expression(value: Any) -> IndexExpression:
    if isinstance(value, IndexExpression):
        return value
    if isinstance(value, Size | int) and not isinstance(value, bool):
        return SizeIndex(Size.of(value))
    raise IllTyped(f"an index function computes with the index and sizes, not with {value!r}")


_STRENGTH: dict[str, int] = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}


def _text(e: IndexExpression, i: str, strength: int = 0) -> str:
    """Python text, with brackets where what is around binds more strongly."""
    match e:
        case TheIndex():
            return i
        case SizeIndex(n):
            text = str(n)
            own = 1 if " " in text or text[0] == "-" else 2 if "*" in text else 3
        case IndexOperation(symbol, left, right):
            own = _STRENGTH[symbol]
            text = f"{_text(left, i, own)} {symbol} {_text(right, i, own + 1)}"
        case IndexMetavariable(name, _, argument):
            own, text = 3, f"{name}({_text(argument, i)})"
    return f"({text})" if own < strength else text


@dataclass(frozen=True)
class IndexFunction(LiteralParameter):
    """A function on the indices of an array."""

    body: IndexExpression

    def at(self, i: Any, sizes: Mapping[str, int]) -> Any:
        """Its value at the index i, which may be a NumPy array of indices."""
        return _evaluated(self.body, i, lambda n: n.evaluate(sizes), {})

    def of(self, i: Index) -> Index:
        """Its value at a symbolic index, simplified.

        >>> from relift.semantics.indices import expressions as indices
        >>> from relift import nat, reorder_stride
        >>> from relift.semantics.indices.functions import index_function
        >>> n, s = nat("n"), nat("s")
        >>> index_function(reorder_stride(s), n * s).of(indices.variable("i", n * s))
        ((i) % (n))*s + ((i) / (n))
        """
        return _symbolic(self.body, i)

    def __call__(self, i: Any) -> IndexExpression:
        """The function in an index expression, so that functions compose in Python."""
        return _replaced(self.body, lambda e: _expression(i) if isinstance(e, TheIndex) else e)

    def substitute(
        self, sizes: Mapping[str, Size], functions: Mapping[str, IndexFunction] | None = None
    ) -> IndexFunction:
        def at_sizes(e: TheIndex | SizeIndex) -> IndexExpression:
            return SizeIndex(e.value.substitute(sizes)) if isinstance(e, SizeIndex) else e

        def filled(e: IndexMetavariable) -> IndexExpression:
            f = (functions or {}).get(e.name)
            if f is not None:
                return f(e.argument)
            return IndexMetavariable(e.name, e.length.substitute(sizes), e.argument)

        return IndexFunction(_replaced(self.body, at_sizes, filled))

    def meaning(
        self,
        size: Callable[[Size], int],
        literal: Callable[..., Any],
        metavariables: Mapping[str, Any],
    ) -> Any:
        return lambda i: _evaluated(self.body, i, size, metavariables)

    @property
    def metavariable(self) -> IndexMetavariable | None:
        """The index metavariable that this function is, if it is one alone."""
        if not isinstance(self.body, IndexMetavariable):
            return None
        return self.body if isinstance(self.body.argument, TheIndex) else None

    @property
    def metavariables(self) -> Mapping[str, Size]:
        """The index metavariables in it, each with its length."""
        found: dict[str, Size] = {}

        def note(e: IndexMetavariable) -> IndexExpression:
            found[e.name] = e.length
            return e

        _replaced(self.body, lambda e: e, note)
        return found

    def escapes(self, length: Size) -> int | None:
        """An index below `length`, a number, that is mapped to none such; None when there is none."""
        count = length.constant
        assert count is not None, f"cannot happen: the length {length} has no number"
        values = self.table(count)
        outside = np.flatnonzero((values < 0) | (values >= count))
        return int(outside[0]) if outside.size else None

    def table(self, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Its values at the indices below `count`.

        >>> from relift import reverse
        >>> from relift.semantics.indices.functions import index_function
        >>> from relift.semantics.syntax.sizes import Size
        >>> index_function(reverse, Size.of(4)).table(4)
        array([3, 2, 1, 0])
        """
        indices_below = np.arange(count, dtype=np.int64)
        return np.broadcast_to(np.asarray(self.at(indices_below, {})), indices_below.shape)

    @property
    def sizes(self) -> frozenset[Size]:
        found: set[Size] = set()

        def note(e: TheIndex | SizeIndex) -> IndexExpression:
            if isinstance(e, SizeIndex):
                found.add(e.value)
            return e

        _replaced(self.body, note)
        return frozenset(found) | frozenset(self.metavariables.values())

    def __repr__(self) -> str:
        if (alone := self.metavariable) is not None:
            return alone.name
        taken = {name for n in self.sizes for name in n.names()} | set(self.metavariables)
        i = next(name for name in ("i", "j", "index", "index_") if name not in taken)
        return f"lambda {i}: {_text(self.body, i)}"


def folded(
    e: IndexExpression,
    i: V,
    size: Callable[[Size], V],
    operation: Callable[[IndexOperation, V, V], V],
    applied: Callable[[IndexMetavariable, V], V],
) -> V:
    """What `e` comes to from its leaves up: `i` for the index, and for the rest what the functions say.

    >>> from relift import nat
    >>> from relift.semantics.indices.functions import folded, index_function
    >>> f = index_function(lambda i: 2 * i + 1, nat("n"))
    >>> folded(f.body, 1, lambda n: 1, lambda e, x, y: x + y, lambda e, x: x)  # its leaves
    3
    """
    match e:
        case TheIndex():
            return i
        case SizeIndex(n):
            return size(n)
        case IndexOperation(_, left, right):
            x = folded(left, i, size, operation, applied)
            return operation(e, x, folded(right, i, size, operation, applied))
        case IndexMetavariable(_, _, argument):
            return applied(e, folded(argument, i, size, operation, applied))


def _replaced(
    e: IndexExpression,
    leaf: Callable[[TheIndex | SizeIndex], IndexExpression],
    applied: Callable[[IndexMetavariable], IndexExpression] = lambda e: e,
) -> IndexExpression:
    """`e` with its leaves replaced, and then what applies a metavariable, innermost first."""
    return folded(
        e,
        leaf(TheIndex()),
        lambda n: leaf(SizeIndex(n)),
        lambda e, x, y: _recombined(e.symbol, x, y),
        lambda e, x: applied(IndexMetavariable(e.name, e.length, x)),
    )


_ARITHMETIC: dict[Symbol, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
_SYMBOLIC: dict[Symbol, Callable[[Index, Index], Index]] = {
    "+": lambda x, y: indices.recombined(x + y),
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "//": indices.divide,
    "%": indices.modulo,
}


def _evaluated(
    e: IndexExpression,
    i: Any,
    size: Callable[[Size], int],
    metavariables: Mapping[str, Callable[[Any], Any]],
) -> Any:
    def operation(e: IndexOperation, x: Any, y: Any) -> Any:
        if e.symbol in ("//", "%") and y == 0:
            raise Undefined(f"an index is divided by {_text(e.right, 'i')}, which is 0")
        return _ARITHMETIC[e.symbol](x, y)

    return folded(e, i, size, operation, lambda e, x: metavariables[e.name](x))


def _symbolic(e: IndexExpression, i: Index) -> Index:
    def unknown(e: IndexMetavariable, _: Index) -> Index:
        raise Unsupported(f"the index metavariable {e.name} has no symbolic value")

    return folded(e, i, lambda n: n, lambda e, x, y: _SYMBOLIC[e.symbol](x, y), unknown)


def index_metavariable(name: str, length: Size) -> IndexFunction:
    """A metavariable that stands for a function from the indices below `length` to themselves.

    >>> from relift import nat
    >>> from relift.semantics.indices.functions import index_function, index_metavariable
    >>> p, q = (index_metavariable(name, nat("n")) for name in "pq")
    >>> p, index_function(lambda i: p(q(i)), nat("n"))
    (p, lambda i: p(q(i)))
    """
    return IndexFunction(IndexMetavariable(name, length, TheIndex()))


def _require_length(body: IndexExpression, length: Size) -> None:
    """Index metavariables, one after the other, are functions on the indices of their length only."""
    while isinstance(body, IndexMetavariable):
        if body.length != length:
            raise IllTyped(
                f"{body.name} is an index function of arrays of length {body.length}, "
                f"but this one has length {length}"
            )
        body = body.argument


def index_function(function: Any, length: Size) -> IndexFunction:
    """The index function that Python code computes: of the index, or of the index and the length."""
    if isinstance(function, IndexFunction):
        _require_length(function.body, length)
        return function
    if not callable(function):
        raise IllTyped(f"a function on indices is needed, such as lambda i: ..., not {function!r}")
    count = len(inspect.signature(function).parameters)
    if count not in (1, 2):
        raise IllTyped(
            f"an index function takes the index, or the index and the length, not {count}"
        )
    arguments = (TheIndex(), length)[:count]
    body = _expression(function(*arguments))
    _require_length(body, length)
    return IndexFunction(body)


def reverse(i: Any, n: SizeLike | None = None) -> Any:
    """The last index first: `n - 1 - i`; an index function, for `gather` and `scatter`."""
    if n is None:
        raise IllTyped("reverse is an index function; an array is reversed by gather(reverse, xs)")
    return n - 1 - i


def reorder_stride(s: SizeLike) -> Callable[[Any, Size], Any]:
    """Index i counts in strides of s, which divides the length: `i // (n/s) + s * (i % (n/s))`.

    Source: LIFT's reorderStride.
    """

    def reordered(i: Any, n: Size) -> Any:
        rows = Size.of(n) // Size.of(s)
        return i // rows + s * (i % rows)

    return reordered


def shift(k: SizeLike) -> Callable[[Any, Size], Any]:
    """Index i, k further and round the end: `(i + k) % n`.

    LIFT's Shift is no permutation for k of 2 or more (it leaves the array); this one always is.
    """
    return lambda i, n: (i + k) % n
