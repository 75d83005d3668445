"""Local arrays that are never needed at the same time lie in the same place.

A step of a tree of sums reads one array and writes the next: two arrays are enough for all steps.  Which
arrays a kernel needs at once is read off its text.  Two of them share a place when the last access of one
stands before the first of the other and the work-group waits in between; in a loop, it also waits between
the second and the next run's first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from relift.compiler.codegen.barriers import BARRIER
from relift.compiler.codegen.emitter import words
from relift.compiler.lowering.threads import number
from relift.semantics.indices.views import Memory


@dataclass(frozen=True)
class Line:
    """A line of a kernel: at each level of blocks around it, which statement of the block it belongs to."""

    place: tuple[int, ...]
    text: str


def share_places(
    lines: Sequence[str], arrays: Sequence[Memory], apart: frozenset[str] = frozenset()
) -> tuple[list[str], list[Memory]]:
    """The lines and the local arrays of a kernel with as few arrays as its text shows to be enough.

    They are named in the order of their first use.  Those of `apart`, to which pointers point, keep a
    place of their own.

    >>> a, b, c = (Memory(name, f32, Size.of(n), "local") for name, n in (("a", 4), ("b", 2), ("c", 1)))
    >>> text = ["c[0] = x;", BARRIER, "b[0] = c[0];", BARRIER, "a[0] = b[0];"]
    >>> lines, places = share_places(text, [a, b, c])
    >>> lines[2:], [(m.name, m.cells) for m in places]
    (['b[0] = a[0];', 'barrier(CLK_LOCAL_MEM_FENCE);', 'a[0] = b[0];'], [('a', 4), ('b', 2)])
    """
    kernel = list(_parsed(lines))
    uses = {m.name: [line.place for line in kernel if m.name in words(line.text)] for m in arrays}
    waits = frozenset(line.place for line in kernel if line.text.strip() == BARRIER)
    shared: list[list[Memory]] = []
    for memory in sorted((m for m in arrays if uses[m.name]), key=lambda m: uses[m.name][0]):
        for place in shared:
            if all(_may_follow(m, memory, uses, waits, apart) for m in place):
                place.append(memory)
                break
        else:
            shared.append([memory])
    names = {m.name: arrays[i].name for i, place in enumerate(shared) for m in place}
    places = [
        replace(max(place, key=lambda m: number(m.cells)), name=arrays[i].name)
        for i, place in enumerate(shared)
    ]
    return [_renamed(line, names) for line in lines], places


def _may_follow(
    first: Memory,
    second: Memory,
    uses: Mapping[str, Sequence[tuple[int, ...]]],
    waits: frozenset[tuple[int, ...]],
    apart: frozenset[str],
) -> bool:
    """Whether the second array may lie where the first one did."""
    if first.scalar != second.scalar or apart & {first.name, second.name}:
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


def _common(places: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The innermost block that holds all places."""
    found = places[0]
    for place in places:
        same = [a == b for a, b in zip(found, place, strict=False)]
        found = found[: same.index(False) if False in same else len(same)]
    return found


def _parsed(lines: Sequence[str]) -> Iterator[Line]:
    counts = [0]
    for text in lines:
        if text.strip() == "}":
            counts.pop()
        yield Line(tuple(counts), text)
        if text.rstrip().endswith("{"):
            counts.append(0)
        else:
            counts[-1] += 1


def _renamed(line: str, names: Mapping[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), line)
