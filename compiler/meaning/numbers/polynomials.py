"""Whole numbers that are not known: polynomials over numbers of groups, turns of loops, sizes, and quotients of such.

This is the validation's own arithmetic of indices.  It shares nothing with that of the compiler
(`semantics.indices`), so that a mistake there cannot hide itself.  What an order or a quotient depends on is asked
of a `Ranges`, which has the range of each atom.

>>> from relift.compiler.meaning.numbers.ranges import Ranges
>>> r = Ranges()
>>> g, t = r.variable("group", "g", 8), r.variable("turn", "t", 4)
>>> 4 * g + t + 4, (4 * g + t) // 4, (4 * g + t) % 4, g < 8
(4*g + t + 4, g, t, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol, TypeAlias

from relift.compiler.validation.machine import Undecided
from relift.semantics.syntax.sizes import Size

AtomKind: TypeAlias = Literal["size", "group", "turn", "bound", "data", "div", "mod", "min", "max"]
Monomial: TypeAlias = "tuple[Atom, ...]"
Whole: TypeAlias = "int | Index"


class Orders(Protocol):
    """What decides orders and quotients of polynomials: the module `ranges`."""

    def decided(self, number: Any) -> Any:
        """Whether a number is at least 0: a truth value, or a condition."""
        ...

    def quotient(self, u: Any, v: Any) -> tuple[Any, Any]:
        """u divided by v, rounded down, and the rest."""
        ...


class NotConcrete(Exception):
    """A number must be known here, and is not."""

    def __init__(self, number: Whole) -> None:
        super().__init__(f"{number} is no known number")
        self.number = number


class Atom:
    """What a polynomial is over; made once by its `Ranges`.  `args` are those of a quotient, or the data."""

    __slots__ = ("args", "kind", "name", "number")
    kind: AtomKind

    def __init__(self, kind: AtomKind, name: str, args: tuple[Any, ...], number: int) -> None:
        self.kind, self.name, self.args, self.number = kind, name, args, number

    def __lt__(self, other: Atom) -> bool:
        return self.number < other.number

    def __repr__(self) -> str:
        if self.kind in ("div", "mod"):
            return f"({self.args[0]}){'/' if self.kind == 'div' else '%'}({self.args[1]})"
        if self.kind in ("min", "max"):
            return f"{self.kind}({self.args[0]}, {self.args[1]})"
        return str(self.args[0]) if self.kind == "data" else self.name


class Index:
    """A polynomial that is no constant: the coefficient of each monomial."""

    __slots__ = ("_hash", "ranges", "terms")

    def __init__(self, terms: dict[Monomial, int], ranges: Orders) -> None:
        self.terms, self.ranges = terms, ranges
        self._hash = 0

    def __hash__(self) -> int:
        if not self._hash:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Index) and self.terms == other.terms)

    def __add__(self, other: Any) -> Whole:
        return self._combined(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Whole:
        return self._combined(other, -1)

    def __rsub__(self, other: Any) -> Whole:
        return (-self)._combined(other, 1)

    def __neg__(self) -> Index:
        return Index({m: -c for m, c in self.terms.items()}, self.ranges)

    def _combined(self, other: Any, sign: int) -> Whole:
        if other.__class__ is int or other.__class__ is bool:
            if not other:
                return self
            other_terms: Mapping[Monomial, int] = {(): int(other)}
        elif other.__class__ is Index:
            other_terms = other.terms
        else:
            return NotImplemented  # type: ignore[no-any-return]
        found = dict(self.terms)
        for m, c in other_terms.items():
            total = found.get(m, 0) + sign * c
            if total:
                found[m] = total
            else:
                del found[m]
        return made(found, self.ranges)

    def __mul__(self, other: Any) -> Whole:
        if other.__class__ is int or other.__class__ is bool:
            if other == 1:
                return self
            if not other:
                return 0
            return Index({m: c * int(other) for m, c in self.terms.items()}, self.ranges)
        if other.__class__ is not Index:
            return NotImplemented
        found: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                key = tuple(sorted(m + n)) if m and n else m or n
                total = found.get(key, 0) + c * d
                if total:
                    found[key] = total
                else:
                    del found[key]
        return made(found, self.ranges)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Whole:
        return self.ranges.quotient(self, other)[0]  # type: ignore[no-any-return]

    def __mod__(self, other: Any) -> Whole:
        return self.ranges.quotient(self, other)[1]  # type: ignore[no-any-return]

    def __rfloordiv__(self, other: Any) -> Whole:
        return self.ranges.quotient(other, self)[0]  # type: ignore[no-any-return]

    def __rmod__(self, other: Any) -> Whole:
        return self.ranges.quotient(other, self)[1]  # type: ignore[no-any-return]

    def __lt__(self, other: Any) -> Any:
        return self.ranges.decided(other - self - 1)

    def __le__(self, other: Any) -> Any:
        return self.ranges.decided(other - self)

    def __gt__(self, other: Any) -> Any:
        return self.ranges.decided(self - other - 1)

    def __ge__(self, other: Any) -> Any:
        return self.ranges.decided(self - other)

    def __bool__(self) -> bool:
        return bool(self.ranges.decided(self - 1)) or bool(self.ranges.decided(-self - 1))

    def __index__(self) -> int:
        raise NotConcrete(self)

    __int__ = __index__

    def __repr__(self) -> str:
        ordered = sorted(self.terms.items(), key=lambda kv: (not kv[0], [a.number for a in kv[0]]))
        shown: list[str] = []
        for m, c in ordered:
            factors = [str(abs(c))] * (abs(c) != 1 or not m) + [repr(a) for a in m]
            sign = ("-" if c < 0 else "") if not shown else (" - " if c < 0 else " + ")
            shown.append(sign + "*".join(factors))
        return "".join(shown)

    def atoms(self) -> set[Atom]:
        """The atoms of its monomials, not those inside of atoms."""
        return {a for m in self.terms for a in m}


def made(terms: dict[Monomial, int], ranges: Orders) -> Whole:
    """A polynomial, or the number that it is; no coefficient is 0."""
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return Index(terms, ranges)


def terms_of(x: Whole) -> Mapping[Monomial, int]:
    """The coefficients of a number or a polynomial."""
    if isinstance(x, Index):
        return x.terms
    return {(): int(x)} if x else {}


def linear_in(x: Index, atom: Atom) -> tuple[Whole, Whole] | None:
    """c and r where x = c*atom + r and neither has the atom, or None; atoms inside of atoms do not count."""
    factor: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for m, c in x.terms.items():
        count = m.count(atom)
        if count > 1:
            return None
        if count:
            at = m.index(atom)
            factor[m[:at] + m[at + 1 :]] = c
        else:
            rest[m] = c
    return made(factor, x.ranges), made(rest, x.ranges)


def rejoined(x: Whole) -> Whole:
    """The same number, in which a quotient times its divisor and the rest are what was divided.

    >>> from relift.compiler.meaning.numbers.polynomials import rejoined
    >>> from relift.compiler.meaning.numbers.ranges import Ranges
    >>> g = Ranges().variable("group", "g", 100)
    >>> rejoined(8 * (g // 4) + 2 * (g % 4) + 1)
    2*g + 1
    """
    while isinstance(x, Index):
        found = _joined(x)
        if found is None:
            return x
        x = found
    return x


def _joined(x: Index) -> Whole | None:
    """The number with one rest less, where its quotient goes with it."""
    quotients = [a for m in x.terms for a in m if a.kind == "div"]
    for m, c in x.terms.items() if quotients else ():
        for k, a in enumerate(m):
            same = [q for q in quotients if q.args == a.args] if a.kind == "mod" else []
            if same:
                u, v = a.args
                others = made({m[:k] + m[k + 1 :]: c}, x.ranges)
                both = v * made({(same[0],): 1}, x.ranges) + made({(a,): 1}, x.ranges)
                found: Whole = x + others * (u - both)
                if _divided(found) < _divided(x):
                    return found
    return None


def _divided(x: Whole) -> int:
    """In how many monomials there is a quotient or a rest."""
    return sum(any(a.kind in ("div", "mod") for a in m) for m in terms_of(x))


def within(x: Any) -> Iterator[Atom]:
    """All atoms of a number, also those inside of atoms."""
    if isinstance(x, Index):
        for a in x.atoms():
            yield a
            for inner in a.args:
                yield from within(inner)


def number_of(n: Size, sizes: Mapping[str, Whole]) -> Whole:
    """A size, where its names have these values; raises `Undecided` for another name."""
    total: Whole = 0
    for m, c in n.terms.items():
        part: Whole = c
        for a, exponent in m:
            if not isinstance(a, str) or a not in sizes:
                raise Undecided(f"the size {n}")
            for _ in range(exponent):
                part = part * sizes[a]
        total = total + part
    return total
