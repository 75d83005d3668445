"""How many work-items a kernel needs: read off the lengths of its parallel maps.

`map_glb(d)` has one work-item per element, `map_wrg(d)` one work-group, `map_lcl(d)` one work-item of the
group, up to a limit beyond which each takes several elements in turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from relift.semantics.patterns import MapGlb, MapLcl, MapWrg
from relift.semantics.sizes import Size
from relift.semantics.terms import Term, subterms

GROUP_LIMIT = 256
"""The largest work-group: every device that we know can run it."""

FEWEST_GROUPS = 16
"""Below this many groups, smaller groups: each compute unit should get one."""


@dataclass(frozen=True)
class Threads:
    """`local` and `groups` by dimension; `used` names the maps and dimensions that the kernel has.

    The global size is their product.
    """

    local: tuple[int, ...]
    groups: tuple[int, ...]
    used: frozenset[tuple[str, int]]

    @property
    def total(self) -> tuple[int, ...]:
        """The global size."""
        return tuple(a * b for a, b in zip(self.local, self.groups, strict=True))

    @property
    def has_groups(self) -> bool:
        """Whether the kernel is written for work-groups of one fixed size."""
        return any(name != "map_glb" for name, _ in self.used)

    @property
    def group_size(self) -> int:
        """The number of work-items in a group."""
        return math.prod(self.local)

    def count(self, t: MapGlb | MapWrg | MapLcl) -> int:
        """How many work-items or groups share the elements of a parallel map."""
        d = number(t.dim)
        match t:
            case MapGlb():
                return self.total[d]
            case MapWrg():
                return self.groups[d]
            case MapLcl():
                return self.local[d]


def number(n: Size) -> int:
    """A size of a program at concrete sizes."""
    assert n.constant is not None, f"cannot happen: size {n} is symbolic"
    return n.constant


def threads_of(t: Term) -> Threads:
    """The work-items of the kernel that computes t.

    >>> xs = Input("xs", f32[1000, 12])
    >>> threads_of(parse("map_glb(0)(lambda row: row, xs)", xs=xs))
    Threads(local=(50,), groups=(20,), used=frozenset({('map_glb', 0)}))
    """
    lengths: dict[tuple[str, int], int] = {}
    for u, _ in subterms(t):
        if isinstance(u, MapGlb | MapWrg | MapLcl):
            key = u.name, number(u.dim)
            lengths[key] = max(lengths.get(key, 0), number(u.solved["n"]))
    dimensions = 1 + max((d for _, d in lengths), default=0)
    if any(name == "map_glb" for name, _ in lengths):
        local, groups = _split_global([lengths.get(("map_glb", d), 1) for d in range(dimensions)])
    else:
        local = _limited([lengths.get(("map_lcl", d), 1) for d in range(dimensions)])
        groups = tuple(lengths.get(("map_wrg", d), 1) for d in range(dimensions))
    return Threads(local, groups, frozenset(lengths))


def _limited(lengths: list[int]) -> tuple[int, ...]:
    room, local = GROUP_LIMIT, []
    for n in lengths:
        local.append(max(1, min(n, room)))
        room //= local[-1]
    return tuple(local)


def _split_global(lengths: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Group sizes that divide the lengths, or nearly: a length without divisors is rounded up."""
    total = math.prod(lengths)
    room = max(1, min(GROUP_LIMIT, total // FEWEST_GROUPS))
    local, groups = [], []
    for n in lengths:
        size = max((d for d in range(1, min(n, room) + 1) if n % d == 0), default=1)
        if size * 4 < min(n, room):
            size = min(n, room)
        local.append(size)
        groups.append(-(-n // size))
        room //= size
    return tuple(local), tuple(groups)


def describe(used: Mapping[tuple[str, int], object] | frozenset[tuple[str, int]]) -> str:
    """Parallel maps as they are written: `map_wrg(0), map_lcl(0)`."""
    return ", ".join(f"{name}({d})" for name, d in sorted(used))
