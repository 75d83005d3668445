"""Local arrays that are never needed at the same time lie in the same place.

A step of a tree of sums reads one array and writes the next: two arrays are enough for all steps.  Which
arrays a kernel needs at once is read off its statements.  Two of them share a place when the last access of one
stands before the first of the other and the work-group waits in between; in a loop, it also waits between
the second and the next run's first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from relift.compiler.codegen.barriers import BARRIER
from relift.compiler.lowering.threads import number
from relift.compiler.text.tree import Block, Statement, body_of, expressions_of, renamed, variables
from relift.semantics.indices.views import Memory

Place: TypeAlias = tuple[int, ...]
"""Where a statement stands: at each level of blocks around it, which statement of the block it belongs to."""


def share_places(
    body: Block, arrays: Sequence[Memory], apart: frozenset[str] = frozenset()
) -> tuple[Block, list[Memory]]:
    """The body and the local arrays of a kernel with as few arrays as its statements show to be enough.

    They are named in the order of their first use.  Those of `apart`, to which pointers point, keep a
    place of their own.

    >>> from relift import f32
    >>> from relift.compiler.codegen.passes.local_memory import share_places
    >>> from relift.semantics.indices.views import Memory
    >>> from relift.semantics.syntax.memory import Space
    >>> from relift.semantics.syntax.sizes import Size
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.reader import read_kernels
    >>> a, b, c = (Memory(name, f32, Size.of(n), Space.LOCAL) for name, n in (("a", 4), ("b", 2), ("c", 1)))
    >>> wait = "barrier(CLK_LOCAL_MEM_FENCE);"
    >>> text = ["c[0] = x;", wait, "b[0] = c[0];", wait, "a[0] = b[0];"]
    >>> [kernel] = read_kernels(f"kernel void f() {{ {' '.join(text)} }}")
    >>> body, places = share_places(kernel.body, [a, b, c])
    >>> list(Printer().statements(body[2:], 0)), [(m.name, m.cells) for m in places]
    (['b[0] = a[0];', 'barrier(CLK_LOCAL_MEM_FENCE);', 'a[0] = b[0];'], [('a', 4), ('b', 2)])
    """
    if not arrays:
        return body, []
    names = {m.name for m in arrays}
    uses: dict[str, list[Place]] = {name: [] for name in names}
    waits: set[Place] = set()
    for place, s in _placed(body, ()):
        if s == BARRIER:
            waits.add(place)
        for name in names & set[str]().union(*map(variables, expressions_of(s))):
            uses[name].append(place)
    shared: list[list[Memory]] = []
    for memory in sorted((m for m in arrays if uses[m.name]), key=lambda m: uses[m.name][0]):
        for place_ in shared:
            if all(_may_follow(m, memory, uses, waits, apart) for m in place_):
                place_.append(memory)
                break
        else:
            shared.append([memory])
    called = {m.name: arrays[i].name for i, place in enumerate(shared) for m in place}
    places = [
        replace(max(place, key=lambda m: number(m.cells)), name=arrays[i].name)
        for i, place in enumerate(shared)
    ]
    return renamed(body, called), places


def _may_follow(
    first: Memory,
    second: Memory,
    uses: Mapping[str, Sequence[Place]],
    waits: set[Place],
    apart: frozenset[str],
) -> bool:
    """Whether the second array may lie where the first one did."""
    if (first.scalar, first.space) != (second.scalar, second.space) or apart & {
        first.name,
        second.name,
    }:
        return False
    before, after = uses[first.name], uses[second.name]
    block = _common([*before, *after])
    level = len(block)
    if any(len(place) == level for place in (*before, *after)):
        return False  # one statement uses both
    start, end = min(p[level] for p in before), max(p[level] for p in before)
    again, last = min(p[level] for p in after), max(p[level] for p in after)
    here = [p[level] for p in waits if len(p) == level + 1 and p[:level] == block]
    between = any(end < wait < again for wait in here)
    around = not block or any(wait < start or wait > last for wait in here)
    return between and around


def _common(places: Sequence[Place]) -> Place:
    """The innermost block that holds all places."""
    found = places[0]
    for place in places:
        same = [a == b for a, b in zip(found, place, strict=False)]
        found = found[: same.index(False) if False in same else len(same)]
    return found


def _placed(body: Block, block: Place) -> Iterator[tuple[Place, Statement]]:
    """All statements, and where they stand."""
    for i, s in enumerate(body):
        yield (*block, i), s
        yield from _placed(body_of(s), (*block, i))
