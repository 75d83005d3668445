"""Which accesses of local memory no barrier keeps apart: how pieces of a kernel follow one another.

A barrier in a condition, or in a loop that may have no turn, keeps accesses apart only where it is reached.  So a
piece of code has *ways* through it that meet no barrier, each with the conditions under which it is taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from relift.compiler.text import tree
from relift.compiler.text.expressions import shown

AccessKind: TypeAlias = Literal["read", "write", "update"]
"""An update reads and writes a cell while nobody else reaches it."""

MOST_WAYS = 16
"""Ways through a piece of code that are told apart."""


@dataclass(frozen=True)
class Array:
    """A row of `cells` elements; `constant` when the kernel cannot write it.

    Arrays that a kernel declares have a `number`, which tells those of one name apart.
    """

    name: str
    type: tree.CType
    cells: tree.Expression
    number: int = 0

    @property
    def constant(self) -> bool:
        """Whether the kernel only reads it."""
        space = self.type.space
        return self.type.constant and (space.of_device or space.of_kernel)


@dataclass(frozen=True)
class Iteration:
    """One iteration of a loop: `counter` is `start + k*step`, below `end`; the next turn is at `counter + stride`.

    The stride is the step, unless pointers were exchanged at the end of a turn, so that only one turn in
    several is meant.  `uniform` when all work-items of a group take the same turns.
    """

    counter: str
    start: tree.Expression
    end: tree.Expression
    step: tree.Expression
    stride: tree.Expression
    uniform: bool


COUNTS = ("get_global_size", "get_local_size", "get_num_groups")
"""The functions with a number that is at least 1."""


def advances(step: tree.Expression, sizes: Mapping[str, int]) -> bool:
    """Whether a step is surely above 0: a counter that goes down has turns below its start, and no last one.

    >>> from relift.compiler.certificates.flows import advances
    >>> from relift.compiler.text.reader import read_expression
    >>> [advances(read_expression(e), {"n": 1}) for e in ("2", "2 * n", "-1", "0", "n - 1", "m")]
    [True, True, False, False, False, False]
    """
    match step:
        case tree.Whole(n):
            return n > 0
        case tree.Name(name):
            return sizes.get(name, 0) > 0
        case tree.Invocation(function, _):
            return function in COUNTS
        case tree.Binary(operator, left, right):
            return operator in ("+", "*") and advances(left, sizes) and advances(right, sizes)
        case (
            tree.Real() | tree.Element() | tree.Member() | tree.Prefix() | tree.Conditional()
            | tree.Cast()
        ):  # fmt: skip
            return False


@dataclass(frozen=True)
class Fact:
    """A condition that holds where an access is made."""

    condition: tree.Expression


Place: TypeAlias = "tuple[Iteration | Fact, ...]"
"""The loops and conditions around an access, outermost first."""


@dataclass(frozen=True)
class Access:
    """`width` elements of `array` from `offset` on are read or written; `aligned` ones in one vector.

    Not `sure` when a condition around it is missing in `place`: it may be made less often.  One that is `partial`
    writes some lanes of a vector only, one that is an update does so `by` an operation.
    """

    kind: AccessKind
    array: Array
    offset: tree.Expression
    width: int
    aligned: bool
    place: Place
    sure: bool = True
    partial: bool = False
    by: str = ""

    def conflicts_with(self, other: Access) -> bool:
        """Whether it matters in which order two work-items make both: not of reads, nor of updates by one operation."""
        if self.array != other.array or (self.kind, other.kind) == ("read", "read"):
            return False
        return (self.kind, other.kind) != ("update", "update") or self.by != other.by

    def __str__(self) -> str:
        more = f" and {self.width - 1} more" if self.width > 1 else ""
        return f"{self.kind} {shown(tree.Element(tree.Name(self.array.name), self.offset))}{more}"


@dataclass(frozen=True)
class BarrierFreePath:
    """A way that meets no barrier, and the conditions under which it is taken; not `sure` when some are missing."""

    conditions: tuple[tree.Expression, ...] = ()
    sure: bool = True

    def then(self, other: BarrierFreePath) -> BarrierFreePath:
        """This way, and another one after it."""
        conditions = dict.fromkeys((*self.conditions, *other.conditions))
        return BarrierFreePath(tuple(conditions), self.sure and other.sure)


FREE = (BarrierFreePath(),)
"""The ways through code without barriers."""

DOUBTFUL = BarrierFreePath(sure=False)
"""A way of which nothing is known: it may not even exist."""


@dataclass(frozen=True)
class AccessAt:
    """An access in the first turn of some loops, and in the last turn of others; `way` leads from or to it."""

    access: Access
    first: frozenset[str] = frozenset()
    last: frozenset[str] = frozenset()
    way: BarrierFreePath = BarrierFreePath()

    def along(self, way: BarrierFreePath) -> AccessAt:
        """The same, with more way."""
        return replace(self, way=self.way.then(way))


@dataclass(frozen=True)
class ConflictPair:
    """Two accesses that two work-items may make with no barrier between them.

    Both are in the same turn of the loops `same`; of the loop `follows`, the right one is a turn later, and of
    the loop `later`, more than one.
    """

    left: AccessAt
    right: AccessAt
    same: frozenset[str] = frozenset()
    follows: str | None = None
    later: str | None = None

    @property
    def sure(self) -> bool:
        """Whether it happens wherever its conditions hold."""
        points = (self.left, self.right)
        return all(p.way.sure and p.access.sure and not p.access.partial for p in points)


@dataclass(frozen=True)
class BarrierInterval:
    """A piece of code between barriers.

    `opening` is reached with no barrier since its start, `closing` has no barrier until its end.
    """

    opening: tuple[AccessAt, ...] = ()
    closing: tuple[AccessAt, ...] = ()
    conflicts: tuple[ConflictPair, ...] = ()
    ways: tuple[BarrierFreePath, ...] = FREE

    def then(self, other: BarrierInterval) -> BarrierInterval:
        """This piece, and another one after it."""
        return BarrierInterval(
            (*self.opening, *_along(self.ways, other.opening)),
            (*_along(other.ways, self.closing), *other.closing),
            (*self.conflicts, *other.conflicts, *_meet(self.closing, other.opening)),
            _few(a.then(b) for a in self.ways for b in other.ways),
        )


def straight(found: Iterable[Access]) -> BarrierInterval:
    """One statement, whose accesses two work-items make in any order."""
    points = tuple(AccessAt(access) for access in found if access.array.type.space.of_group)
    return BarrierInterval(points, points, tuple(_meet(points, points)))


def under(condition: tree.Expression | None, body: BarrierInterval) -> BarrierInterval:
    """What runs where a condition holds; None for one of which nothing can be told."""
    if body.ways == FREE:
        return body
    if condition is None:
        return replace(body, ways=_few((DOUBTFUL, *body.ways)))
    holds = BarrierFreePath((condition,))
    return replace(
        body,
        ways=_few(
            (BarrierFreePath((tree.Prefix("!", condition),)), *(holds.then(w) for w in body.ways))
        ),
    )


def repeated(
    bodies: Sequence[BarrierInterval], last: int, turn: Iteration, *, surely: bool
) -> BarrierInterval:
    """A loop with these bodies in turn, the last of which ends it; `surely` when it has a turn at all."""
    around = [_without(turn.counter, body.ways) for body in bodies]
    if any(not way.conditions for ways in around for way in ways) or not turn.uniform:
        return _everything(bodies)
    if len(bodies) > 1 and any(around):
        return _everything(bodies)
    (ways, *_) = around
    counter = frozenset((turn.counter,))
    conflicts = [replace(m, same=m.same | counter) for body in bodies for m in body.conflicts]
    for body, following in zip(bodies, (*bodies[1:], bodies[0]), strict=True):
        across = _meet(body.closing, following.opening)
        conflicts += [replace(m, follows=turn.counter) for m in across]
    first, end = bodies[0], bodies[last]
    beyond = _meet(end.closing, _along(ways, first.opening))
    conflicts += [replace(m, later=turn.counter) for m in beyond]
    skipped = BarrierFreePath((tree.Prefix("!", tree.Binary("<", turn.start, turn.end)),))
    return BarrierInterval(
        (
            *(replace(p, first=p.first | counter) for p in first.opening),
            *_along(ways, first.opening),
        ),
        (*(replace(p, last=p.last | counter) for p in end.closing), *_along(ways, end.closing)),
        tuple(conflicts),
        _few((*ways, *([] if surely else [skipped]))),
    )


def _everything(bodies: Sequence[BarrierInterval]) -> BarrierInterval:
    """A loop in which any access of any turn may meet any other."""
    sure = all(body.ways == FREE for body in bodies)
    found = [p for b in bodies for p in (*b.opening, *b.closing, *_all(b.conflicts))]
    points = tuple(dict.fromkeys(p if sure else replace(p, way=DOUBTFUL) for p in found))
    return BarrierInterval(
        points, points, tuple(_meet(points, points)), FREE if sure else (DOUBTFUL,)
    )


def _without(counter: str, ways: Iterable[BarrierFreePath]) -> tuple[BarrierFreePath, ...]:
    """The ways through each of several turns, which have no condition on the counter in common."""

    def kept(way: BarrierFreePath) -> BarrierFreePath:
        stay = tuple(c for c in way.conditions if tree.Name(counter) not in tree.within(c))
        return BarrierFreePath(stay, way.sure and stay == way.conditions)

    return _few(map(kept, ways))


def _few(ways: Iterable[BarrierFreePath]) -> tuple[BarrierFreePath, ...]:
    """The ways, without those that others include."""
    found = tuple(dict.fromkeys(ways))
    if FREE[0] in found:
        return FREE
    if DOUBTFUL in found or len(found) > MOST_WAYS:
        return (DOUBTFUL,)
    return found


def _along(ways: Sequence[BarrierFreePath], points: Iterable[AccessAt]) -> Iterator[AccessAt]:
    return (p.along(way) for p, way in itertools.product(points, ways))


def _all(conflicts: Iterable[ConflictPair]) -> Iterator[AccessAt]:
    for m in conflicts:
        yield m.left
        yield m.right


def _meet(left: Iterable[AccessAt], right: Iterable[AccessAt]) -> Iterator[ConflictPair]:
    right = tuple(right)
    for a in left:
        for b in right:
            if a.access.conflicts_with(b.access):
                yield ConflictPair(a, b)
