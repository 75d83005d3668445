"""Cells of arrays that loops carry, looked at where a number decides: what is known of them once that number is.

A turn of a loop may look at another cell of what it carries than the turn before.  Which one is then a `looked`
symbol; where a condition says that its index is some other number, it is the cell there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.polynomials import Index, Whole
from relift.compiler.validation.symbols import Symbol

Path: TypeAlias = "tuple[Whole, ...]"
"""A place in an array of arrays and tuples."""


@dataclass
class Lookups:
    """The cells that loops carry: `at` has each array at its places, `places` which cell an accumulator is."""

    algebra: Folding
    at: dict[str, Callable[[Path], Any]] = field(default_factory=dict)
    places: dict[Symbol, tuple[str, Path]] = field(default_factory=dict)

    def named(self, name: str, at: Callable[[Path], Any]) -> str:
        """A name of its own for an array that a loop carries."""
        own = f"{name}.{len(self.at)}"
        self.at[own] = at
        return own

    def where_same(self, value: Any, x: Whole, y: Whole) -> Any:
        """A value where two numbers are equal: cells at the one are those at the other.

        >>> from relift.compiler.meaning.numbers.algebra import Folding
        >>> from relift.compiler.meaning.numbers.lookups import Lookups
        >>> from relift.compiler.meaning.numbers.ranges import Ranges
        >>> a = Folding(Ranges(), 1000)
        >>> lookups = Lookups(a)
        >>> name = lookups.named("bins", lambda path: a.cell_at("bin", path[0], "i32"))
        >>> key = a.number(a.cell_at("keys", 0, "i32"))
        >>> lookups.where_same(a.looked(name, (2 * key + 1,), "i32"), 2 * key, 6)
        bin[7]
        """
        if not isinstance(value, Symbol | Index):
            return value
        others: dict[Symbol, Any] = {}
        for s in self.algebra.free(value):
            found = self._place_of(s)
            if found is not None:
                name, path = found
                moved = tuple([self._moved(part, x, y) for part in path])
                if moved != path:
                    others[s] = self.at[name](moved)
        return self.algebra.substituted(value, {}, others, {}) if others else value

    def left_in(self, value: Any) -> set[str]:
        """The arrays of which a value has a cell that turns differ in."""
        here = self.algebra.free(value)
        return {s.args[0] for s in here if isinstance(s, Symbol) and s.op == "looked"}

    def _place_of(self, s: Any) -> tuple[str, Path] | None:
        """Which cell of which array something free is."""
        if not isinstance(s, Symbol):
            return None
        return (s.args[0], s.args[1:]) if s.op == "looked" else self.places.get(s)

    def _moved(self, part: Whole, x: Whole, y: Whole) -> Whole:
        """A place that is some way from x, as far from y; itself where the way is not known."""
        way = part - x
        if isinstance(way, Index) and any(
            isinstance(a, Symbol) or a.kind == "data" for a in self.algebra.free(way)
        ):
            return part
        return y + way
