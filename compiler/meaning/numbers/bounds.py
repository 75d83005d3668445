"""Atoms of whole numbers with their ranges, and what follows from the ends of these alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relift.compiler.meaning.numbers.polynomials import (
    Atom,
    AtomKind,
    Index,
    Whole,
    linear_in,
    terms_of,
)

_DEPTH = {
    "div": 5, "mod": 5, "min": 5, "max": 5, "data": 4, "bound": 3, "turn": 3, "group": 2, "size": 1,
}  # fmt: skip


def _order(a: Atom) -> tuple[int, int]:
    return _DEPTH[a.kind], a.number


class Bounds:
    """Atoms with their ranges, both ends within, and what follows from the ends alone."""

    def __init__(self, facts: Sequence[tuple[int, int, tuple[str, ...], Any]] = ()) -> None:
        self.by_key: dict[Any, Atom] = {}
        self.low: dict[Atom, Whole] = {}
        self.high: dict[Atom, Whole | None] = {}
        self.facts: list[Index] = []
        self.condition: Callable[[Index], Any] | None = None
        self.splits = True
        self.below: list[Whole] = []
        self.asked = 0
        self._known: dict[Index, bool] = {}
        self._z3: dict[Atom, Any] = {}

    # ---- atoms

    def atom(self, kind: AtomKind, name: str, args: tuple[Any, ...] = ()) -> Atom:
        """The atom of a kind, a name and arguments."""
        key = (kind, name, args)
        if key not in self.by_key:
            self.by_key[key] = Atom(kind, name, args, len(self.by_key))
        return self.by_key[key]

    def _by_ends(self, number: Whole, depth: int) -> bool:
        """By the ends of ranges, innermost atoms first."""
        while isinstance(number, Index):
            atom = max(number.atoms(), key=_order)
            if atom.kind == "size":
                return self._of_sizes(number)
            parts = linear_in(number, atom)
            if parts is None:
                return False
            c, r = parts
            if self._by_ends(c, depth - 1) if isinstance(c, Index) else c >= 0:
                end = self._low_of(atom)
            elif self._by_ends(-c, depth - 1):
                end = self._high_of(atom)
            else:
                return False
            if end is None or depth == 0:
                return False
            number = c * end + r
        return number >= 0

    def _of_sizes(self, number: Index) -> bool:
        """A polynomial of sizes whose coefficients are not negative once each size counts from its least value."""
        shifted: Whole = 0
        for m, c in number.terms.items():
            part: Whole = c
            for a in m:
                part = part * (Index({(a,): 1}, number.ranges) + self.low[a])
            shifted = shifted + part
        return all(c >= 0 for c in terms_of(shifted).values()) or self._by_highs(number)

    def _by_highs(self, number: Index) -> bool:
        """Sizes with ends of their own, each at one of them."""
        rest: Whole = number
        for a in sorted(number.atoms(), reverse=True):
            if not isinstance(rest, Index):
                break
            parts = linear_in(rest, a)
            if parts is None:
                return False
            c, r = parts
            if not isinstance(c, int):
                return False
            end = self.low[a] if c >= 0 else self.high[a]
            if end is None:
                return False
            rest = c * end + r
        return not isinstance(rest, Index) and rest >= 0

    def _low_of(self, atom: Atom) -> Whole | None:
        if atom in self.low:
            return self.low[atom]
        match atom.kind:
            case "mod":
                return 0
            case "div":
                low = self.interval(atom.args[0])[0]
                return 0 if low is not None and low >= 0 else None
            case "min" | "max":
                ends = [self.interval(x)[0] for x in atom.args]
                known = [e for e in ends if e is not None]
                if atom.kind == "max" and known:
                    return max(known)
                return min(known) if len(known) == 2 else None
            case "size" | "group" | "turn" | "bound" | "data":
                return None

    def _high_of(self, atom: Atom) -> Whole | None:
        if atom in self.high:
            return self.high[atom]
        match atom.kind:
            case "mod":
                return atom.args[1] - 1  # type: ignore[no-any-return]
            case "div" if isinstance(atom.args[1], int):
                high = self.interval(atom.args[0])[1]
                return None if high is None else high // atom.args[1]
            case "min" | "max":
                ends = [self.interval(x)[1] for x in atom.args]
                known = [e for e in ends if e is not None]
                if atom.kind == "min":
                    return min(known) if known else atom.args[1]
                return max(known) if len(known) == 2 else None
            case "div" | "size" | "group" | "turn" | "bound" | "data":
                return None

    def interval(self, x: Whole) -> tuple[int | None, int | None]:
        """Numbers between which x lies, where there are such."""
        if not isinstance(x, Index):
            return int(x), int(x)
        low: int | None = 0
        high: int | None = 0
        for m, c in x.terms.items():
            a: int | None = 1
            b: int | None = 1
            for atom in m:
                p, q = self._ends(atom)
                if p is None or p < 0 or a is None:
                    if q is None or p is None or a is None or b is None:
                        a = b = None
                    else:
                        corners = (a * p, a * q, b * p, b * q)
                        a, b = min(corners), max(corners)
                else:
                    if a < 0:
                        a = None if q is None else a * q
                        b = None if b is None or q is None else max(b * p, b * q)
                    else:
                        a, b = a * p, None if b is None or q is None else b * q
            if c < 0:
                a, b = b, a
            low = None if low is None or a is None else low + c * a
            high = None if high is None or b is None else high + c * b
        return low, high

    def _ends(self, atom: Atom) -> tuple[int | None, int | None]:
        low, high = self._low_of(atom), self._high_of(atom)
        return (
            None if low is None else self.interval(low)[0],
            None if high is None else self.interval(high)[1],
        )
