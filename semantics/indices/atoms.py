"""What index expressions are made of: polynomials (see `sizes`) over bounded variables, quotients, min and max."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from relift.semantics.syntax.monomials import Atom, Monomial
from relift.semantics.syntax.sizes import Size

Index: TypeAlias = Size
"""A polynomial whose atoms are names of sizes and the atoms below."""


@dataclass(frozen=True)
class Variable:
    """A loop counter, the number of a work-item, or a lane: `0 <= name < extent`."""

    name: str
    extent: Size

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True)
class Quotient:
    """`dividend / divisor`, rounded down, where no rule applied."""

    dividend: Index
    divisor: Size

    def __str__(self) -> str:
        return f"(({self.dividend}) / {_factor_text(self.divisor)})"


@dataclass(frozen=True)
class Remainder:
    """`dividend % divisor`, never negative, where no rule applied."""

    dividend: Index
    divisor: Size

    def __str__(self) -> str:
        return f"(({self.dividend}) % {_factor_text(self.divisor)})"


@dataclass(frozen=True)
class Smaller:
    """The smaller of two indices, where their ranges overlap."""

    left: Index
    right: Index

    def __str__(self) -> str:
        return f"min({self.left}, {self.right})"


@dataclass(frozen=True)
class Larger:
    """The larger of two indices, where their ranges overlap."""

    left: Index
    right: Index

    def __str__(self) -> str:
        return f"max({self.left}, {self.right})"


@dataclass(frozen=True)
class Loaded:
    """A number that is data: a cell of a global buffer, or, without an offset, a variable in C.

    `0 <= it < extent` where that is known.
    """

    name: str
    offset: Index | None
    extent: Size | None

    def __str__(self) -> str:
        return self.name if self.offset is None else f"{self.name}[{self.offset}]"


IndexAtom: TypeAlias = Variable | Quotient | Remainder | Smaller | Larger | Loaded


def index_atom(atom: Atom) -> IndexAtom:
    """An atom that is no name of a size."""
    assert isinstance(atom, IndexAtom), f"cannot happen: {atom!r} is not an atom of an index"
    return atom


def atoms_within(e: Index) -> Iterator[Atom]:
    """Every atom of e and of the indices inside its atoms."""
    for atom in e.atoms():
        yield atom
        for inner in parts_of(atom):
            yield from atoms_within(inner)


def parts_of(atom: Atom) -> tuple[Index, ...]:
    """The indices directly inside an atom."""
    if not isinstance(atom, IndexAtom):
        return ()
    match atom:
        case Quotient(e, d) | Remainder(e, d):
            return (e, d)
        case Smaller(left, right) | Larger(left, right):
            return (left, right)
        case Loaded(_, offset):
            return () if offset is None else (offset,)
        case Variable():
            return ()


def variables_of(e: Index) -> frozenset[Variable | Loaded]:
    """The variables and data anywhere in e: what is a number only when the kernel runs.

    >>> from relift.semantics.indices.atoms import variables_of
    >>> from relift.semantics.indices.expressions import divide, variable
    >>> variables_of(divide(variable("i", 8), 3) + 1)
    frozenset({Variable(name='i', extent=8)})
    """
    return frozenset(atom for atom in atoms_within(e) if isinstance(atom, Variable | Loaded))


def depends_on(e: Index, v: Index) -> bool:
    """Whether the variable v occurs anywhere in e; a constant v never does."""
    return any(atom in v.atoms() for atom in atoms_within(e))


def linear_in(e: Index, v: Index) -> tuple[Index, Index] | None:
    """`(a, b)` with `e == a*v + b` and the variable v in neither, or None: the stride of an access.

    >>> from relift.semantics.indices.atoms import linear_in
    >>> from relift.semantics.indices.expressions import divide, variable
    >>> i, j = variable("i", 8), variable("j", 4)
    >>> linear_in(16 * i + j, i), linear_in(divide(i, 3), i)
    ((16, j), None)
    """
    if not v.terms or v.constant is not None:
        return Size.of(0), e
    (atom,) = v.atoms()
    a: dict[Monomial, int] = {}
    b: dict[Monomial, int] = {}
    for monomial, c in e.terms.items():
        powers = dict(monomial)
        power = powers.pop(atom, 0)
        if power > 1 or any(depends_on(i, v) for other in powers for i in parts_of(other)):
            return None
        (a if power else b)[tuple(powers.items())] = c
    return Size(a), Size(b)


def _factor_text(d: Size) -> str:
    return str(d) if len(d.terms) == 1 and d.constant is not None else f"({d})"
