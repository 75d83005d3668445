"""What patterns say of indices, over any kind of whole numbers.

A pattern's `view` is the array that it yields, as a length and a function from an index to an element, and its
`inverse` says where its data are written.  Both are stated once, over an algebra of whole numbers and of values
on them; who follows indices brings his own:

    the compiler and the cost model    polynomials, and cells of memory     (`views`)
    tier 4a                            terms of Z3, and opaque cells        (`rewrites.checks.smt.denotation`)
    the interpreter, cell by cell      integers, and lists that are lazy    (`by_cell`)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from relift.semantics.indices.functions import IndexFunction


class Algebra(Protocol):
    """Whole numbers, which add, subtract and multiply by themselves, and arrays, vectors and tuples over them.

    Values and numbers are of the algebra's own kinds; a number that is written may be one of Python's.  Nothing is asked of an index that is out of range.
    """

    # ---- whole numbers

    def size(self, n: int) -> Any:
        """A number that is written."""

    def divide(self, i: Any, n: Any) -> Any:
        """i / n, rounded down."""

    def modulo(self, i: Any, n: Any) -> Any:
        """i % n, never negative."""

    def minimum(self, i: Any, j: Any) -> Any:
        """The smaller one."""

    def maximum(self, i: Any, j: Any) -> Any:
        """The larger one."""

    def position(self, row: Any, width: Any, column: Any) -> Any:
        """row * width + column, below."""

    def function(self, f: IndexFunction, n: Any) -> Callable[[Any], Any]:
        """An index function of arrays of n elements."""
        ...

    def undoing(self, f: IndexFunction, n: Any) -> Callable[[Any], Any]:
        """The inverse of a permutation of the indices below n."""
        ...

    # ---- values

    def array(self, n: Any, at: Callable[[Any], Any]) -> Any:
        """The array of n elements that `at` gives."""

    def at(self, xs: Any, i: Any) -> Any:
        """The element of an array at an index."""

    def vector(self, width: Any, lane: Callable[[Any], Any]) -> Any:
        """The vector of the lanes that `lane` gives."""

    def lane(self, v: Any, i: Any) -> Any:
        """The lane of a vector at an index."""

    def tuple(self, *parts: Any) -> Any:
        """The tuple of these parts."""

    def component(self, x: Any, index: int) -> Any:
        """A component of a tuple."""

    def inside(self, i: Any, n: Any, yes: Any, no: Any) -> Any:
        """`yes` where 0 <= i < n, else `no`; `yes` is not looked at there."""

    def before(self, i: Any, n: Any, yes: Any, no: Any) -> Any:
        """`yes` where i < n, else `no`, for an i that is not negative."""

    def open_outside(self, i: Any, left: Any, n: Any, xs: Any) -> Any:
        """The element of xs at i - left where 0 <= i - left < n; what is elsewhere is left open."""

    def place_before(self, i: Any, n: Any, xs: Any) -> Any:
        """Where the element of xs at i is written where i < n, for an i that is not negative; else nowhere."""

    def chosen(self, values: Any, i: Any) -> Any:
        """Constant number i of those that are written."""

    # ---- between the two

    def number(self, i: Any) -> Any:
        """An index as a value."""

    def whole(self, x: Any) -> Any:
        """A value, an i32, as a number."""

    def below(self, x: Any, n: Any) -> Any:
        """The same where it is asked for only when 0 <= x < n."""

    def within(self, x: Any, n: Any) -> Any:
        """The same where everything is undefined unless 0 <= x < n."""

    # ---- what is computed in order

    def fold(self, place: str, first: Any, step: Callable[[Any, Any], Any], n: Any) -> Any:
        """What n steps make of `first`, the parameter in a place; a step is given the last result and its number."""


@cache
def asked_for(rule: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a pattern, and the sizes that typing solved, that its `view` or `inverse` wants.

    >>> from relift.semantics.indices.algebra import asked_for
    >>> from relift.semantics.patterns import PATTERNS
    >>> asked_for(PATTERNS["split"].view), asked_for(PATTERNS["split"].inverse)
    (('m', 'k', 'xs'), ('m', 'k'))
    """
    return tuple(
        name for name in inspect.signature(rule).parameters if name not in ("ix", "target")
    )
