"""Arrays as functions of an index, choices between them, and index functions with their inverses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.constants import Constants
from relift.compiler.meaning.numbers.domain import Values
from relift.compiler.meaning.numbers.polynomials import Index, Whole, number_of, within
from relift.compiler.validation.machine import Undecided
from relift.compiler.validation.symbols import OPEN, Symbol
from relift.semantics.indices.functions import IndexFunction, IndexOperation, folded
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

MOST_TABLE = 1 << 16
"""Elements of a permutation that is tabulated."""


class Cells:
    """An array: its length, and what is at an index, each computed once."""

    __slots__ = ("_at", "_known", "length")

    def __init__(self, length: Whole, at: Callable[[Whole], Any]) -> None:
        self.length, self._at = length, at
        self._known: dict[Whole, Any] = {}

    def __call__(self, i: Whole) -> Any:
        if i not in self._known:
            self._known[i] = self._at(i)
        return self._known[i]


@dataclass
class Indexing:
    """What patterns need of indices, for some sizes; loops of more than `unroll` turns are folds."""

    algebra: Folding
    values: Values
    inputs: Mapping[str, Any]
    sizes: Mapping[str, Whole]
    unroll: int

    def size(self, n: Size) -> Whole:
        """A size as a number."""
        return number_of(n, self.sizes)

    def number(self, i: Whole) -> Any:
        """An index as an i32."""
        if isinstance(i, Index):
            if not self.values.arithmetic.fits(i, "int"):
                raise Undecided(f"{i} as an i32")
            return i
        from relift.semantics.syntax.types import i32

        return self.values.literal(i, i32)

    def within(self, value: Any, n: Whole) -> Whole:
        """A value that is an index; outside of the array the program has no meaning."""
        i = self.algebra.number(plain(value))
        if isinstance(i, Index):
            for a in i.atoms():
                if a.kind == "data" and i.terms == {(a,): 1}:
                    self.algebra.ranges.low.setdefault(a, 0)
                    self.algebra.ranges.high.setdefault(a, n - 1)
        return i

    def of_row(self, row: Constants, kind: str, i: Whole, *, table: bool) -> Any:
        """One of some constants: a cell where kernels have a `table`, else a choice."""
        if not isinstance(i, Index):
            return row.row[i]
        if table:
            return self.algebra.cell_at(row, i, kind)
        *first, found = row.row
        for k in reversed(range(len(first))):
            found = self.chosen(k - i, partial(first.__getitem__, k), partial(itself, found))
        return found

    def windows(self, xs: Any, size: Whole, step: Whole, k: Whole) -> Cells:
        return Cells(k + 1, lambda i: Cells(size, lambda j: xs(i * step + j)))

    def open(self, t: Type) -> Any:
        match t:
            case Array(element, n) | Vector(element, n):
                return Cells(self.size(n), lambda i: self.open(element))
            case Tuple(parts):
                return tuple(map(self.open, parts))
            case Scalar() | TypeVariable():
                return OPEN

    def shifted(self, i: Whole, n: Whole) -> Whole:
        """i modulo n, where i may be below 0."""
        return self.algebra.ranges.quotient(i, n)[1]

    def chosen(self, number: Whole, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """One of two values of a type, by whether a number is at least 0."""
        return self.either(self.algebra.ranges.decided(number), yes, no)

    def either(self, c: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """One of two values of a type, by a truth value or a condition."""
        if c is True or c is False:
            return yes() if c else no()
        return self._either(c, yes, no)

    def _either(self, c: Symbol, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        x, y = yes(), no()
        if isinstance(x, tuple):
            return tuple(
                self._either(c, partial(itself, a), partial(itself, b))
                for a, b in zip(x, y, strict=True)
            )
        if isinstance(x, Cells):
            return Cells(x.length, lambda i: self._either(c, lambda: x(i), lambda: y(i)))
        return self.values.function("select")(c, x, y)

    def index(self, f: IndexFunction, i: Whole) -> Whole:
        r = self.algebra.ranges

        def operation(e: IndexOperation, x: Any, y: Any) -> Whole:
            match e.symbol:
                case "+":
                    return x + y  # type: ignore[no-any-return]
                case "-":
                    return x - y  # type: ignore[no-any-return]
                case "*":
                    return x * y  # type: ignore[no-any-return]
                case "//":
                    return r.quotient(x, y)[0]
                case "%":
                    return r.quotient(x, y)[1]

        def unknown(e: Any, x: Any) -> Whole:
            raise Undecided(f"the index function {e.name}")

        return folded(f.body, i, self.size, operation, unknown)

    def undone(self, f: IndexFunction, n: Whole) -> Callable[[Whole], Whole]:
        """The inverse of a permutation: by a table, or a number whose image is the index."""
        table: dict[int, int] = {}

        def back(i: Whole) -> Whole:
            if not isinstance(i, Index):
                if isinstance(n, Index) or n > MOST_TABLE:
                    raise Undecided(f"scatter of {n} elements at {i}")
                if not table:
                    table.update({int(self.index(f, j)): j for j in range(n)})
                    if table.keys() != set(range(n)):
                        raise Undecided("scatter by an index function that is no permutation")
                return table[i]
            for j in self._candidates(f, i, n):
                r = self.algebra.ranges
                if r.nonnegative(j) and r.nonnegative(n - 1 - j) and r.same(self.index(f, j), i):
                    return j
            raise Undecided(f"scatter at {i}")

        return back

    def _candidates(self, f: IndexFunction, i: Index, n: Whole) -> list[Whole]:
        """Numbers that may be mapped to i by a permutation."""
        r = self.algebra.ranges
        found: list[Whole] = [n - 1 - i]
        atoms = sorted(set(within(i)), key=lambda a: a.number)
        found += [Index({(a,): 1}, r) for a in atoms if a.kind in ("group", "turn")]
        sizes = [self.size(s) for s in f.sizes]
        for s in sizes:
            if r.nonnegative(s - 1):
                rows, rest = r.quotient(n, s)
                if rest == 0 and r.nonnegative(rows - 1):
                    for a, b in ((s, rows), (rows, s)):
                        q, m = r.quotient(i, a)
                        found.append(q + b * m)
                found += [r.quotient(i + n - s, n)[1], r.quotient(i + s, n)[1]]
        return found


def itself(x: Any) -> Any:
    """What it is given."""
    return x


def plain(value: Any) -> Any:
    """A whole number of the interpreter as Python's."""
    return value if isinstance(value, Symbol | Index) else int(value)
