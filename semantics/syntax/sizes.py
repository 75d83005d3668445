"""Sizes: polynomials with integer coefficients in named naturals, always in canonical form.

Equality of sizes is equality of polynomials, so it is decided; division is exact or refused.  That m divides
n is said by what n is, `n = k * m` (or `nat("n", multiple_of=m)`), and that n is at least 4 by its name,
`nat("n", least=4)`; nothing else is assumed.  The same polynomials serve as index expressions, whose atoms
may be more than names: quotients, min and max of clamped indices (see `indices`).  No type needs those.
A power with an open exponent is an atom, too: b**(m + c) is b**c * b**m, and a number of factors is folded.

>>> from relift import nat
>>> n, m = nat("n"), nat("m")
>>> (n + 1) * m - m
m*n
>>> (m * n + 2 * m) // m
n + 2
>>> (n + 1) // m
Traceback (most recent call last):
    ...
relift.semantics.errors.IllTyped: n + 1 is not divisible by m for every size; write it as a multiple of m
>>> nat("n", multiple_of=m) // m
n_by_m
>>> n * 2 ** (m + 1) // 2**m
2*n
"""

from __future__ import annotations

import keyword
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self, TypeAlias, TypeVar

from relift.semantics.errors import IllTyped
from relift.semantics.syntax import overloading
from relift.semantics.syntax.monomials import Atom, Monomial, product, ratio, written
from relift.semantics.syntax.operations import (
    ELSEWHERE,
    UNKNOWN,
    Combined,
    as_number,
    reflected,
    refused,
    uneven,
)

V = TypeVar("V")


class Name(str):
    """The name of a natural number that is at least `least`; equal to the plain string."""

    least: int

    def __new__(cls, text: str, least: int = 0) -> Self:
        name = super().__new__(cls, text)
        name.least = least
        return name


class Unknown(str):
    """The name of what may be anything, such as what matching solves for; no program or rule can write it.

    >>> from relift.semantics.syntax.sizes import Unknown
    >>> Unknown("k") == "k", Unknown("k").letter
    (False, 'k')
    """

    letter: str

    def __new__(cls, letter: str) -> Self:
        name = super().__new__(cls, f"?{letter}")
        name.letter = letter
        return name

    def __getnewargs__(self) -> tuple[str]:
        return (self.letter,)


def unknowns(values: Mapping[str, V]) -> dict[str, V]:
    """Values by letter as values of unknowns."""
    return {Unknown(letter): value for letter, value in values.items()}


def by_letter(values: Mapping[str, V]) -> dict[str, V]:
    """The values of unknowns by their letters, and all others by their names.

    >>> from relift.semantics.syntax.sizes import by_letter, unknowns
    >>> by_letter(unknowns({"k": 2}))
    {'k': 2}
    """
    return {letter_of(name): value for name, value in values.items()}


def letter_of(name: str) -> str:
    """How a name is written, be it that of an unknown or not."""
    return name.letter if isinstance(name, Unknown) else name


class Size:
    """An immutable polynomial over naturals.

    >>> from relift import nat
    >>> n = nat("n")
    >>> (2 * n + 1).evaluate({"n": 5})
    11
    >>> (2 * n + 1).linear_in("n")
    (2, 1)
    """

    __slots__ = ("_hash", "terms")

    terms: Mapping[Monomial, int]

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {monomial: c for monomial, c in terms.items() if c}
        self._hash: int | None = None

    @staticmethod
    def of(value: SizeLike) -> Size:
        """The constant `value`, or `value` itself when it is a size already."""
        if isinstance(value, Size):
            return value
        if type(value) is not int:  # a truth value is an int to Python, but no size
            given = "a value that is computed" if isinstance(value, Combined) else repr(value)
            raise IllTyped(f"a size is a whole number or rl.nat(...), not {given}")
        return _number(value)

    @staticmethod
    def atom(atom: Atom) -> Size:
        """The polynomial that is just `atom`."""
        return Size._of_terms({((atom, 1),): 1})

    @staticmethod
    def _of_terms(terms: Mapping[Monomial, int]) -> Size:
        """The polynomial with these terms, none of which is 0."""
        size = object.__new__(Size)
        size.terms, size._hash = terms, None
        return size

    def __add__(self, other: SizeLike) -> Size:
        if isinstance(other, ELSEWHERE):
            return as_number(self, "add", other)
        more = Size.of(other)
        if not more.terms:
            return self
        if not self.terms:
            return more
        terms = dict(self.terms)
        for monomial, c in more.terms.items():
            if total := terms.get(monomial, 0) + c:
                terms[monomial] = total
            else:
                del terms[monomial]
        return Size._of_terms(terms)

    def __neg__(self) -> Size:
        return _times(self, -1)

    def __sub__(self, other: SizeLike) -> Size:
        if isinstance(other, ELSEWHERE):
            return as_number(self, "sub", other)
        less = Size.of(other)
        return self + -less if less.terms else self

    def __mul__(self, other: SizeLike) -> Size:
        if isinstance(other, ELSEWHERE):
            return as_number(self, "mul", other)
        factor = Size.of(other)
        if (by := factor.constant) is not None:
            return _times(self, by)
        if (by := self.constant) is not None:
            return _times(factor, by)
        terms: dict[Monomial, int] = {}
        for left, c in self.terms.items():
            for right, d in factor.terms.items():
                monomial = product(left, right)
                terms[monomial] = terms.get(monomial, 0) + c * d
        return Size(terms)

    def __pow__(self, power: object) -> Size:
        """The power, whose exponent is a sum of products: each open one gives an atom `Power`."""
        if isinstance(power, ELSEWHERE):
            return as_number(self, "power", power)
        if not isinstance(power, int | Size) or isinstance(power, bool):
            raise IllTyped(f"the power of a size is a whole number, 0 or more, not {power!r}")
        result = Size.of(1)
        for monomial, count in Size.of(power).terms.items():
            if count < 0:
                raise IllTyped(f"the power of a size is a whole number, 0 or more, not {power}")
            open_power = monomial and self != 1
            factor = Size.atom(Power(self, Size({monomial: 1}))) if open_power else self
            for _ in range(count):
                result = result * factor
        return result

    __radd__ = reflected("add", operator.add)
    __rsub__ = reflected("sub", operator.sub)
    __rmul__ = reflected("mul", operator.mul)
    __rpow__ = reflected("power", operator.pow)

    def __truediv__(self, other: object) -> Any:
        """Through a number with a point as the number that it is; sizes themselves divide by `//`."""
        return as_number(self, "div", other) if type(other) is float else uneven(self, other)

    def __rtruediv__(self, other: object) -> Any:
        return overloading.scalar("div", other, self)

    __mod__ = refused("sizes have no remainder; make {} a multiple, such as {} * rl.nat('k')")
    __lt__ = __le__ = refused(f"whether {{}} < {{}} {UNKNOWN}")
    __gt__ = __ge__ = refused(f"whether {{}} > {{}} {UNKNOWN}")

    def __index__(self) -> int:
        if self.constant is None:
            raise IllTyped(f"the size {self} has no number while a program is traced; use map")
        return self.constant

    def __floordiv__(self, other: SizeLike) -> Size:
        """Exact division; raises `IllTyped` when `other` does not divide `self` as a polynomial."""
        if isinstance(other, Combined):
            return NotImplemented
        if (quotient := self.divided_by(by := Size.of(other))) is None:
            hint = f" for every size; write it as a multiple of {by}"
            open_ones = self.names() | by.names()
            raise IllTyped(f"{self} is not divisible by {by}{hint if open_ones else ''}")
        return quotient

    def divided_by(self, divisor: Size) -> Size | None:
        """The exact quotient, or None: long division by leading terms in a fixed order of atoms."""
        if not divisor.terms:
            return None
        if divisor.constant == 1:
            return self
        if (by := divisor.constant) is not None:
            whole = not any(c % by for c in self.terms.values())
            return Size._of_terms({m: c // by for m, c in self.terms.items()}) if whole else None
        atoms = sorted(self.atoms() | divisor.atoms(), key=str)

        def degree(monomial: Monomial) -> tuple[int, ...]:
            powers = dict(monomial)
            return tuple(powers.get(atom, 0) for atom in atoms)

        lead = max(divisor.terms, key=degree)
        rest, quotient = self, Size({})
        while rest.terms:
            top = max(rest.terms, key=degree)
            monomial = ratio(top, lead)
            if monomial is None or rest.terms[top] % divisor.terms[lead]:
                return None
            step = Size({monomial: rest.terms[top] // divisor.terms[lead]})
            quotient, rest = quotient + step, rest - step * divisor
        return quotient

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return self.terms == Size.of(other).terms
        return isinstance(other, Size) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            constant = self.constant  # a constant equals its int, so it must hash like it
            self._hash = hash(frozenset(self.terms.items()) if constant is None else constant)
        return self._hash

    def atoms(self) -> frozenset[Atom]:
        """Every atom that occurs."""
        return frozenset(atom for monomial in self.terms for atom, _ in monomial)

    def names(self) -> frozenset[str]:
        """The named naturals that occur."""
        found: set[str] = set()
        for monomial in self.terms:
            for atom, _ in monomial:
                if isinstance(atom, str):
                    found.add(atom)
                elif isinstance(atom, Power):
                    found |= atom.base.names() | atom.exponent.names()
        return frozenset(found)

    @property
    def constant(self) -> int | None:
        """The value of a size without atoms, else None."""
        if not self.terms:
            return 0
        return self.terms[()] if len(self.terms) == 1 and () in self.terms else None

    def substitute(self, values: Mapping[str, Size]) -> Size:
        """Replace names by sizes, all at once."""
        if not values or values.keys().isdisjoint(self.names()):
            return self
        if len(self.terms) == 1 and len(self.atoms()) == 1:
            [(monomial, c)] = self.terms.items()
            if c == 1 and isinstance(monomial[0][0], str) and monomial[0][1] == 1:
                return values[monomial[0][0]]  # most sizes are a name

        def replaced(atom: Atom) -> Size | None:
            if isinstance(atom, Power):
                return atom.base.substitute(values) ** atom.exponent.substitute(values)
            return values.get(atom) if isinstance(atom, str) else None

        return self._with_atoms(replaced)

    def _with_atoms(self, replaced: Callable[[Atom], Size | None]) -> Size:
        """The polynomial over other atoms; one for which there is none stays."""
        total: dict[Monomial, int] = {}
        for monomial, c in self.terms.items():
            whole, left = _number(c), list[tuple[Atom, int]]()
            for atom, power in monomial:
                other = replaced(atom)
                if other is None:
                    left.append((atom, power))
                    continue
                for _ in range(power):
                    whole = whole * other
            for each, d in whole.terms.items():
                monomial = product(each, tuple(left))
                total[monomial] = total.get(monomial, 0) + d
        return Size(total)

    def with_letters(self) -> Size:
        """The size with the letters of its unknowns for these."""
        return self.substitute({name: Size.atom(letter_of(name)) for name in self.names()})

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The number that this size is when each name has the given value."""
        total = 0
        for monomial, c in self.terms.items():
            for atom, power in monomial:
                if isinstance(atom, Power):
                    c *= (atom.base.evaluate(values) ** atom.exponent.evaluate(values)) ** power
                    continue
                if atom not in values:
                    raise IllTyped(f"size {atom} has no value; give it with --size {atom}=...")
                c *= values[str(atom)] ** power
            total += c
        return total

    def linear_in(self, name: str) -> tuple[Size, Size] | None:
        """`(a, b)` with `self == a*name + b` and `name` in neither, or None."""
        a: dict[Monomial, int] = {}
        b: dict[Monomial, int] = {}
        for monomial, c in self.terms.items():
            into, rest = b, monomial
            for place, (atom, power) in enumerate(monomial):
                if atom == name:
                    if power > 1:
                        return None
                    into, rest = a, monomial[:place] + monomial[place + 1 :]
                elif isinstance(atom, Power) and name in Size.atom(atom).names():
                    return None
            into[rest] = c
        return (Size._of_terms(a), Size._of_terms(b)) if a else (_number(0), self)

    def surely_at_least(self, bound: int) -> bool:
        """Whether the value is at least `bound` for all admissible naturals.

        A name with a least value stands for that value plus any natural, and a power of what is at least 1
        for 1 plus any natural; then no coefficient may be negative.

        >>> from relift import nat
        >>> from relift.semantics.syntax.sizes import Name, Size
        >>> (nat("n") - 1).surely_at_least(0), (Size.atom(Name("k")) - 1).surely_at_least(0)
        (True, False)
        """
        if (known := self.constant) is not None:
            return known >= bound

        def shifted_atom(atom: Atom) -> Size | None:
            if isinstance(atom, Power) and atom.base.surely_at_least(1):
                return Size.atom(atom) + 1
            return Size.atom(atom) + atom.least if isinstance(atom, Name) else None

        shifted = self._with_atoms(shifted_atom) - bound
        return all(c >= 0 for c in shifted.terms.values())

    def __repr__(self) -> str:
        """Terms by falling degree, then by name: an order that never changes between runs."""
        texts = [written(monomial, abs(c)) for monomial, c in self.ordered()]
        signs = ["-" if c < 0 else "+" for _, c in self.ordered()]
        if not texts:
            return "0"
        head = ("-" if signs[0] == "-" else "") + texts[0]
        return head + "".join(f" {s} {t}" for s, t in zip(signs[1:], texts[1:], strict=True))

    __str__ = __repr__

    def ordered(self) -> list[tuple[Monomial, int]]:
        """The terms in printed order."""
        if len(self.terms) < 2:
            return list(self.terms.items())
        return sorted(
            self.terms.items(),
            key=lambda term: (-sum(p for _, p in term[0]), [(str(a), p) for a, p in term[0]]),
        )


SizeLike: TypeAlias = Size | int


def _times(size: Size, by: int) -> Size:
    return size if by == 1 else Size({m: c * by for m, c in size.terms.items()})


@lru_cache(1024)
def _number(value: int) -> Size:
    return Size({(): value})


@dataclass(frozen=True)
class Power:
    """The atom `base**exponent`, whose exponent is a product of names."""

    base: Size
    exponent: Size

    def __str__(self) -> str:
        return "**".join(
            text if re.fullmatch(r"\w+", text) else f"({text})"
            for text in (str(self.base), str(self.exponent))
        )


def bound_size(depth: int) -> Size:
    """The size that the pattern at this depth binds in its function, such as the length of a step.

    No program can name it: a name with two underscores in a row is refused by `nat`.
    """
    return Size.atom(Name(f"l__{depth}"))


def is_bound(n: Size) -> bool:
    """Whether a size depends on one that a pattern binds."""
    return any("__" in name for name in n.names())


def promises(n: Size) -> Iterator[tuple[str, int]]:
    """The names in a size, each with the least value that it promises: sizes are equal whatever these are.

    >>> from relift.semantics.syntax.sizes import nat, promises
    >>> nat("n", least=3) == nat("n"), [*promises(nat("n", least=3))]
    (True, [('n', 3)])
    """
    for atom in n.atoms():
        if isinstance(atom, str):
            yield atom, atom.least if isinstance(atom, Name) else 0
        elif isinstance(atom, Power):
            yield from promises(atom.base)
            yield from promises(atom.exponent)


def nat(name: str, least: int = 1, *, multiple_of: SizeLike | None = None) -> Size:
    """A named size of a program, a natural number that is at least `least`.

    A multiple of m is m times a size of its own, which is what the program then has instead of `name`.

    >>> from relift import nat
    >>> nat("n") + nat("n"), nat("n", multiple_of=4)
    (2*n, 4*n_by_4)
    """
    given: object = name  # users without a type checker give anything
    if not (isinstance(given, str) and given.isidentifier()) or keyword.iskeyword(given):
        raise IllTyped(f"a size is named like a Python variable, not {name!r}")
    if "__" in name:
        raise IllTyped(f"the name of a size has no two underscores in a row, unlike {name!r}")
    least_value: object = least
    if not isinstance(least_value, int) or isinstance(least_value, bool) or least_value < 0:
        raise IllTyped(
            f"the least value of size {name} is a whole number, 0 or more, not {least!r}"
        )
    if multiple_of is None:
        return Size.atom(Name(name, least))
    factor = Size.of(multiple_of)
    if not factor.surely_at_least(1):
        raise IllTyped(f"size {name} cannot be a multiple of {factor}, which may be less than 1")
    if factor.constant is None and least > 1:
        raise IllTyped(f"size {name}: write {factor} * rl.nat('k', least=...) for a least value")
    shown = re.sub(r"\W+", "_", str(factor)).strip("_")
    return factor * Size.atom(Name(f"{name}_by_{shown}", -(-least // (factor.constant or 1))))
