"""How many work-items a kernel needs: read off the lengths of its parallel maps.

`map_glb(d)` has one work-item per element, `map_wrg(d)` one work-group, `map_lcl(d)` one work-item of the
group, up to a limit beyond which each takes several elements in turn.  Where a length is a symbol, a group
has a fixed number of work-items, and the launch has exactly as many as there are elements.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.indices.stored import memories
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import EachInTurn, EachOf, MapGlb, MapLcl, MapWrg, Store
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Term, subterms

GROUP_LIMIT = 256
"""The largest work-group that a length asks for: every device that we know can run it.

A private array that is spread over more work-items asks for all of them; a device may be too small for it.
"""

FEWEST_GROUPS = 16
"""Below this many groups, smaller groups: each compute unit should get one."""

FEWEST_ITEMS = 32
"""A group has as many work-items as it computes with, also where it copies more, if there are at least so many."""

STACK_OF_GROUP = 1 << 20
"""Bytes of the private arrays of all work-items of a group for which an inferred group has room.

A CPU's driver keeps them on the stack of the thread that runs the group: PoCL those of all its work-items at once, and 256 of
them with 32 KiB each overflow the 8 MiB that Linux gives a thread, which ends the process.
"""

OPEN_GROUP = 64
"""The work-items of a group of `map_glb` where a length is a symbol."""

MOST_OF = {"local": 1 << 16, "global_": 1 << 48}
"""The most work-items that can be asked for, in a group and in all; no device has larger groups."""

Counts: TypeAlias = int | Sequence[int] | None
"""Work-items by dimension as a user gives them; None where they are inferred."""


Used: TypeAlias = frozenset[tuple[type[EachOf], int]]
"""Parallel maps, and the dimensions that they are in."""


@dataclass(frozen=True)
class Threads:
    """`local` and `groups` by dimension; `used` are the maps and dimensions that the kernel has.

    The number of groups is None where it is known at the launch only.  In the dimensions of `turns` it is not
    known to be enough for all maps.  They are `free` where groups of any size will do, up to the largest, and may have private `arrays`.
    """

    local: tuple[int, ...]
    groups: tuple[int | None, ...]
    used: Used = field(repr=False)
    asked: tuple[Size, ...] = field(default=(), repr=False)
    turns: frozenset[int] = field(default=frozenset(), repr=False)
    free: bool = field(default=False, repr=False)
    arrays: bool = field(default=True, repr=False)

    @property
    def total(self) -> tuple[Size, ...]:
        """The global size: whole groups, or the length of a `map_glb`: what is left over is a launch of its own."""
        return tuple(
            self.asked[d]
            if groups is None or (self.asked and not self.has_groups)
            else Size.of(local * groups)
            for d, (local, groups) in enumerate(zip(self.local, self.groups, strict=True))
        )

    @property
    def has_groups(self) -> bool:
        """Whether the kernel is written for work-groups of one fixed size."""
        return any(m is not MapGlb for m, _ in self.used)

    @property
    def group_size(self) -> int:
        """The number of work-items in a group."""
        return math.prod(self.local)

    def count(self, t: EachOf) -> Size | None:
        """How many work-items or groups share the elements of a parallel map; None if the launch says it."""
        d = number(t.dim)
        if isinstance(t, MapLcl):
            return Size.of(self.local[d])
        if d in self.turns:
            return None
        return self.total[d] if isinstance(t, MapGlb) else self.total[d] // self.local[d]


def number(n: Size) -> int:
    """A size that was checked to be a number."""
    assert n.constant is not None, f"cannot happen: size {n} is symbolic"
    return n.constant


def fixed(n: Size, what: str) -> int:
    """A size that a kernel needs as a number; raises `Unsupported` when it is a symbol.

    >>> from relift import nat
    >>> from relift.compiler.lowering.threads import fixed
    >>> fixed(nat("m"), "to_local of f32[m]")
    Traceback (most recent call last):
        ...
    relift.semantics.errors.Unsupported: to_local of f32[m] needs a number where it has the size m; compile with sizes={"m": ...}
    """
    if n.constant is None:
        hint = ", ".join(f'"{name}": ...' for name in sorted(n.names()))
        raise Unsupported(
            f"{what} needs a number where it has the size {n}; compile with sizes={{{hint}}}"
        )
    return n.constant


def threads_of(
    t: Term, local: Counts = None, global_: Counts = None, *, in_turns: bool = False
) -> Threads:
    """The work-items of the kernel that computes t; of those given, what its parallel maps can use.

    With `in_turns`, they run grid-stride loops wherever their number is a symbol.  Raises `IllTyped` for numbers that are no
    counts, or no whole groups.

    >>> from relift import f32
    >>> from relift.compiler.lowering.threads import threads_of
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> threads_of(parse_term("map_glb(0)(lambda row: row, xs)", xs=Input("xs", f32[1000, 12])))
    Threads(local=(50,), groups=(20,))
    """
    lengths, shared_out = _mapped(t)
    dimensions = range(1 + max((d for _, d in lengths), default=0))
    used = frozenset(lengths)

    def along(m: type[EachOf]) -> list[Size]:
        return [lengths.get((m, d), Size.of(1)) for d in dimensions]

    in_groups = not any(m is MapGlb for m, _ in used)
    longest = along(MapWrg if in_groups else MapGlb)
    if in_groups:
        items = _limited(_computing(t, along(MapLcl)), max(GROUP_LIMIT, _spread_over(t)))
    else:
        items = _global(longest, max(1, STACK_OF_GROUP // max(1, _private_bytes(t))))
    own = counts_of(local, "local")
    shared = {d for m, d in used if m is not MapWrg}
    items = [own[d] if d < len(own) and d in shared else n for d, n in enumerate(items)]
    asked = [n * m if in_groups else n for n, m in zip(longest, items, strict=True)]
    for d, n in enumerate(counts_of(global_, "global_")):
        if d in {of for _, of in used}:
            if n % items[d]:
                raise IllTyped(
                    f"global_ has {n} work-items in dimension {d}, no whole number of groups of {items[d]}; "
                    f"take a multiple of {items[d]}, or give local"
                )
            asked[d] = Size.of(n)
    groups = (
        None if n.constant is None else -(-n.constant // m)
        for n, m in zip(asked, items, strict=True)
    )
    turns = frozenset(
        d
        for d, n in enumerate(asked)
        if n.constant is None
        and (in_turns or any(_longer(longest[d], m) != longest[d] for m in shared_out[d]))
    )
    alone = all(m is MapGlb for m, _ in used) and not (own or turns or global_)
    private = _private_bytes(t)
    free = alone and GROUP_LIMIT * private <= STACK_OF_GROUP
    return Threads(tuple(items), tuple(groups), used, tuple(asked), turns, free, private > 0)


def _mapped(t: Term) -> tuple[dict[tuple[type[EachOf], int], Size], Mapping[int, set[Size]]]:
    """The longest of the parallel maps of each kind and dimension; by dimension all lengths that groups or work-items share out."""
    lengths: dict[tuple[type[EachOf], int], Size] = {}
    shared_out: defaultdict[int, set[Size]] = defaultdict(set)
    for u, _ in subterms(t):
        if isinstance(u, EachOf) and u.compiled:
            key = type(u), fixed(u.dim, f"the dimension of {u.name}")
            lengths[key] = _longer(lengths.get(key, Size.of(0)), u.solved["n"])
            if not isinstance(u, MapLcl):
                shared_out[key[1]].add(u.solved["n"])
    return lengths, shared_out


def counts_of(given: Counts, name: str) -> tuple[int, ...]:
    """The work-items by dimension; raises `IllTyped` when they are no one to three positive numbers."""
    counts = () if given is None else tuple(given) if isinstance(given, Sequence) else (given,)
    if len(counts) > 3 or not all(type(n) is int and n > 0 for n in counts):
        raise IllTyped(f"{name} is one to three positive whole numbers, not {given!r}")
    if (most := math.prod(counts)) > (limit := MOST_OF[name]):
        raise IllTyped(f"{name} asks for {most} work-items; {limit} is the most of any device")
    return counts


def _limited(lengths: Sequence[Size], room: int) -> list[int]:
    """Work-items of a group: as many as there are elements, while there is room; all of it for a symbol."""
    local = []
    for n in lengths:
        local.append(max(1, room if n.constant is None else min(n.constant, room)))
        room //= local[-1]
    return local


def _computing(t: Term, longest: Sequence[Size]) -> Sequence[Size]:
    """The longest maps of a group that compute, where they fill a warp: a longer one that only copies goes in turns."""
    found = [Size.of(1) for _ in longest]
    for u, _ in subterms(t):
        if isinstance(u, MapLcl) and not _copies(u):
            d = number(u.dim)
            found[d] = _longer(found[d], u.solved["n"])
    known = [n.constant or 0 for n in found]
    return found if math.prod(known) >= FEWEST_ITEMS else longest


def _copies(t: Term) -> bool:
    """Whether nested maps of a group compute nothing."""
    return isinstance(t, MapLcl) and (is_layout(t.f.body) or _copies(t.f.body))


def _spread_over(t: Term) -> int:
    """The most work-items over which a private array of t is spread."""
    spread = (u.xs for u, _ in subterms(t) if isinstance(u, Store) and u.space.of_item)
    return max((_members(xs) for xs in spread), default=1)


def _members(t: Term) -> int:
    """The work-items of a group that a nest of maps is shared among; those of a length that is no number are one."""
    if isinstance(t, MapLcl):
        return (t.solved["n"].constant or 1) * _members(t.f.body)
    return _members(t.f.body) if isinstance(t, EachInTurn) else 1


def _longer(a: Size, b: Size) -> Size:
    """The greater of two lengths where that is known: work-items are too many or run a grid-stride loop, both are right."""
    return a if (a - b).surely_at_least(0) else b


def _private_bytes(t: Term) -> int:
    """The bytes of the private arrays of a work-item, as far as their lengths are numbers."""
    private = [u.xs.type for u, _ in subterms(t) if isinstance(u, Store) and u.space.of_item]
    found = (m for each in private for m in memories("", each) if m.cells.constant)
    return sum((m.cells.constant or 0) * m.scalar.bytes for m in found)


def _global(lengths: Sequence[Size], room: int) -> list[int]:
    """Work-items of a group of `map_glb`, at most so many."""
    known = [n.constant for n in lengths if n.constant is not None]
    if len(known) < len(lengths):
        return _limited(lengths, min(OPEN_GROUP, room))
    return _split_global(known, min(GROUP_LIMIT, room))


def _split_global(lengths: list[int], room: int) -> list[int]:
    """Group sizes that divide the lengths, or nearly: a length without divisors is rounded up."""
    room = max(1, min(room, math.prod(lengths) // FEWEST_GROUPS))
    local = []
    for n in lengths:
        size = max((d for d in range(1, min(n, room) + 1) if n % d == 0), default=1)
        if size * 4 < min(n, room):
            size = min(n, room)
        local.append(size)
        room //= size
    return local


def describe(used: Used) -> str:
    """Parallel maps as they are written: `map_wrg(0), map_lcl(0)`."""
    return ", ".join(sorted(f"{m.name}({d})" for m, d in used))
