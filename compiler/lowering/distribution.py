"""Private arrays of a work-group: which work-item holds which part.

An array that a nest of `map_lcl` writes under `to_private` is distributed: each work-item holds the parts
that it writes, in its own registers, and a dimension over work-items takes no space.  Nobody else can read
these parts, so every reader and every later writer walks the same nest.  An array that each work-item holds
as a whole may be written by all of them alike only: where one writes another part than its neighbour, the
copies would differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relift.compiler.lowering.threads import Threads, fixed, number
from relift.semantics.errors import Unsupported
from relift.semantics.indices.atoms import Index
from relift.semantics.indices.expressions import variable
from relift.semantics.indices.views import Cell, Memory, Share, name_of
from relift.semantics.patterns import EachInTurn, EachOf, MapLcl, Store
from relift.semantics.syntax import terms
from relift.semantics.syntax.types import Type

PRIVATE_LIMIT = 16 * 1024
"""Bytes of a private array: beyond, it leaves the registers of a GPU and breaks the stack on a CPU."""


def owners(t: terms.Term, threads: Threads) -> tuple[Index | None, ...]:
    """By dimension of the array that a nest of maps computes: which element a work-item has, None for all.

    Raises `Unsupported` where a `map_lcl` is not part of the nest, or shares its elements out unevenly.

    >>> from relift import f32
    >>> from relift.compiler.lowering.distribution import owners
    >>> from relift.compiler.lowering.threads import Threads
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xs = Input("xs", f32[8, 4])
    >>> t = parse_term("map_lcl(0)(lambda row: map_seq(lambda x: x, row), xs)", xs=xs)
    >>> owners(t, Threads((8,), (1,), frozenset()))
    (lcl_0, None)
    """
    match t:
        case MapLcl(_, f):
            count, here = threads.count(t), f"map_lcl({number(t.dim)})"
            n = fixed(t.solved["n"], f"to_private of {here} over {t.xs.type}")
            if n != count:
                raise Unsupported(
                    f"to_private of {here} over {n} elements in a group with {count} work-items there: "
                    f"each must hold one; write {here} over {count} chunks of split, or use to_local"
                )
            owner = variable(work_item(t), n) if n > 1 else None
            return (owner, *owners(f.body, threads))
        case EachInTurn(f):
            return (None, *owners(f.body, threads))
        case (
            terms.Var() | terms.Input() | terms.Literal() | terms.Apply()
            | terms.Call() | terms.Combine() | terms.MakeTuple() | terms.Get()
            | terms.Metavariable() | terms.Pattern()
        ):  # fmt: skip
            inner = _first_lcl(t)
            if inner is not None:
                here = f"map_lcl({number(inner.dim)})"
                raise Unsupported(
                    f"{here} below {name_of(t)} under to_private; the maps that spread a private array "
                    f"enclose one another: put {here} outside {name_of(t)}"
                )
            return ()


def work_item(t: EachOf) -> str:
    """The name of the number of a work-item in its group, in the dimension of a map."""
    return f"{t.level}_{number(t.dim)}"


def _first_lcl(t: terms.Term) -> EachOf | None:
    """A `map_lcl` that writes into the same memory as t."""
    if isinstance(t, MapLcl):
        return t
    if isinstance(t, Store) and not t.space.of_device:
        return None
    found = (_first_lcl(u.body if isinstance(u, terms.Lambda) else u) for _, u in terms.children(t))
    return next((u for u in found if u is not None), None)


def check_size(memories: Sequence[Memory], t: Type) -> None:
    """Raise `Unsupported` when what a work-item has of an array of type t does not fit."""
    used = sum(fixed(m.cells, f"to_private of {t}") * m.scalar.bytes for m in memories)
    if used > PRIVATE_LIMIT:
        raise Unsupported(
            f"to_private of {t}: {used} bytes for each work-item, at most "
            f"{PRIVATE_LIMIT} are supported; take smaller chunks, or to_local"
        )


@dataclass(frozen=True)
class PrivateArray:
    """What is known of a private array where it is declared: `around` are the work-items that have their own."""

    type: Type
    owners: tuple[Index | None, ...]
    around: frozenset[str]

    def check(self, cell: Cell) -> None:
        """Raise `Unsupported` when a cell is accessed that another work-item holds."""
        for share in cell.shares:
            if share.at != share.owner:
                raise Unsupported(
                    f"a private array of type {self.type} is spread over {_nest(share)} in dimension "
                    f"{share.dimension}, where element {share.at} is accessed; a work-item has only its "
                    f"own parts: walk the array with the maps that wrote it, {self._written_by()}, or "
                    "use to_local"
                )

    def check_write(self, cell: Cell, around: frozenset[str]) -> None:
        """Raise `Unsupported` when the work-items of a group write different parts of an array they all hold."""
        self.check(cell)
        spread = {str(share.owner) for share in cell.shares}
        missing = sorted(around - self.around - spread)
        if missing:
            maps = ", ".join(_map(name) for name in missing)
            raise Unsupported(
                f"a private array of type {self.type} is held by each work-item as a whole, and written under "
                f"{maps}, where each writes another part; spread it: compute its first value with {maps} "
                "under to_private too"
            )

    def _written_by(self) -> str:
        return "(".join("map_seq" if e is None else _map(str(e)) for e in self.owners) + ")" * (
            len(self.owners) - 1
        )


_MAPS = {f"{MapLcl.level}_{dim}": f"map_lcl({dim})" for dim in range(3)}
"""The maps by the names of the numbers of their work-items."""


def _map(item: str) -> str:
    return _MAPS[item]


def _nest(share: Share) -> str:
    return _map(str(share.owner))


@dataclass(frozen=True)
class Access:
    """One access of an accumulator: in which of the loops of the step, numbered in the order of the text."""

    memory: str
    offset: Index
    loops: tuple[str, ...]
    writes: bool


class InPlace:
    """Whether one step of a fold may write its result over the value that it is computed from.

    Each cell is written once in a step, so the new value of a cell may be computed from its old one: the
    read stands before the write, at the same address.  Any other cell may be read only before the loop
    that writes begins.  A fold at the end of a step, in the same array, answers for itself.
    """

    def __init__(self, memories: frozenset[str]) -> None:
        self.memories = memories
        self._around = 0
        self._accesses: list[Access] = []

    def begin(self, loops: tuple[str, ...]) -> None:
        """A step begins, in these loops: what the last one has written are old values now."""
        self._around = len(loops)
        self._accesses.clear()

    def note(self, memory: str, offset: Index, loops: tuple[str, ...], *, writes: bool) -> None:
        """Note an access, in the order of the text."""
        self._accesses.append(Access(memory, offset, loops[self._around :], writes))

    def conflict(self) -> Access | None:
        """A read that may see the new value of a cell."""
        first: dict[tuple[str, Index], int] = {}
        for at, access in enumerate(self._accesses):
            if access.writes:
                first.setdefault((access.memory, access.offset), at)
        for place, read in enumerate(self._accesses):
            if read.writes:
                continue
            own = first.get((read.memory, read.offset))
            if self._may_be_new(read, place) if own is None else own < place:
                return read
        return None

    def _may_be_new(self, read: Access, place: int) -> bool:
        """Whether a cell that is read at an address of its own may be written before, or in a loop around."""
        return any(
            write.writes
            and write.memory == read.memory
            and (at < place or not set(write.loops).isdisjoint(read.loops))
            for at, write in enumerate(self._accesses)
        )
