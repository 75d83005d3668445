"""The constructors of egglog for terms, generated from the signatures of the patterns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal as Choice
from typing import TypeAlias

from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.places import in_row
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    NatKind,
    NumbersKind,
    OperatorKind,
)
from relift.semantics.syntax.terms import (
    Apply,
    Call,
    Combine,
    Get,
    Input,
    Literal,
    MakeTuple,
    Metavariable,
    Pattern,
    Term,
    Var,
    subterms,
)
from relift.semantics.syntax.types import AnyType, Tuple

Sort: TypeAlias = Choice["E", "N", "O", "T", "i64", "String"]


@dataclass(frozen=True)
class Slot:
    """One argument of a constructor; the last `binds` slots before it are names bound in it."""

    sort: Sort
    place: str
    binds: int = 0


@dataclass(frozen=True)
class Constructor:
    """One constructor of the sort E: nodes of one kind, whose fields its slots hold; of none, a substitution."""

    name: str
    of: type[Term] | None
    slots: tuple[Slot, ...]

    @property
    def mirrored(self) -> str:
        """What it is called in the sort whose terms are never merged (`rep` of `encode.terms`)."""
        return f"Q{self.name}"

    @property
    def pattern(self) -> type[Pattern] | None:
        """The pattern that it is, if it is one."""
        return self.of if self.of is not None and issubclass(self.of, Pattern) else None

    @property
    def terms(self) -> tuple[int, ...]:
        """The indices of the slots that hold terms."""
        return tuple(i for i, slot in enumerate(self.slots) if slot.sort == "E")

    def bound(self, index: int) -> range:
        """The indices of the names that are bound in the slot at `index`."""
        return range(index - self.slots[index].binds, index)

    @property
    def names(self) -> tuple[int, ...]:
        """The indices of all slots that bind a name."""
        return tuple(j for i in self.terms for j in self.bound(i))


def _several(name: str, of: type[Term], n: int) -> Constructor:
    """That of nodes with so many parts, or arguments after a name and a type."""
    head = tuple(Slot("T" if p == "type" else "String", p) for p in of.holds if p != of.row)
    return Constructor(
        f"{name}{n}", of, head + tuple(Slot("E", in_row(of.row, i)) for i in range(n))
    )


def constructors(arity: int) -> dict[str, Constructor]:
    """All constructors of terms whose tuples, calls and applications have at most `arity` parts.

    There is none for `iterate_sizes`, whose function is typed at every size: the e-graph has numbers only.
    """
    combined = Slot("O", "operator"), Slot("E", "left"), Slot("E", "right")
    found = [
        Constructor("Var", Var, (Slot("N", "name"),)),
        Constructor("Sub", None, (Slot("N", "x"), Slot("E", "value"), Slot("E", "body"))),
        Constructor("Input", Input, (Slot("String", "name"), Slot("T", "type"))),
        Constructor("Literal", Literal, (Slot("String", "value"), Slot("T", "type"))),
        Constructor("Combine", Combine, combined),
        Constructor("Get", Get, (Slot("i64", "index"), Slot("E", "of"))),
        *(_several("Apply", Apply, n) for n in range(1, 4)),
        *(_several("Call", Call, n) for n in range(arity + 1)),
        *(_several("Opaque", Metavariable, n) for n in range(arity + 1)),
        *(_several("Tuple", MakeTuple, n) for n in range(2, arity + 1)),
        *(
            Constructor("P_" + name, pattern, tuple(_slots(pattern)))
            for name, pattern in PATTERNS.items()
            if not pattern.signature.binds_a_size
        ),
    ]
    return {c.name: c for c in found}


def _slots(pattern: type[Pattern]) -> Iterator[Slot]:
    for place, kind in pattern.signature.parameters.items():
        match kind:
            case NatKind():
                yield Slot("i64", place)
            case OperatorKind():
                yield Slot("O", place)
            case IndexKind():
                yield Slot("String", place)
            case NumbersKind():
                yield Slot("String", place)
                yield Slot("T", place + ".type")
            case FunctionKind(arguments):
                for i in range(len(arguments)):
                    yield Slot("N", in_row(place, i))
                yield Slot("E", place, binds=len(arguments))
            case AnyType():
                yield Slot("E", place)


def arity_of(terms: Iterable[Term]) -> int:
    """The most parts that a tuple, a call or an application in these terms has."""
    most = 3
    for t in terms:
        for u, _ in subterms(t):
            if isinstance(u, Call | Metavariable):
                most = max(most, len(u.arguments))
            elif isinstance(u.type, Tuple):
                most = max(most, len(u.type.parts))
    return most
