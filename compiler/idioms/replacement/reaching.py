"""Which cells of an array a nest of loops reads: the first and the last of them, in C, before the loops run.

A program has arrays whose rows are whole; the loops may read less of the last row, and C promises no more to be there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.facts.values.terms import Expression, Fold, Read, Search, below
from relift.compiler.idioms.lifting.effects import Turn
from relift.compiler.idioms.replacement.spelling import Kept, counted, letter, names_in
from relift.semantics.syntax.sizes import Size

_UNKNOWN = "what is read of an array is not known before the loops run"


@dataclass(frozen=True)
class Reach:
    """Lines of C after which `low_x` is the first cell that is read of array x, and `high_x` the one after the last."""

    lines: tuple[str, ...]
    values: frozenset[str]


def reach(
    values: Collection[Expression], turns: Collection[Turn], arrays: Mapping[str, str]
) -> Reach:
    """What is read of some arrays, which have names; raises `Kept` where that is not known before the loops run."""
    lines = [
        f"  long long low_{n} = 0x7fffffffffffffffLL, high_{n} = -low_{n};" for n in arrays.values()
    ]
    needed: set[str] = set()

    def text(size: Size) -> str:
        if any(isinstance(n, Counter) for n in names_in(size)):
            raise Kept(_UNKNOWN)
        needed.update(names_in(size))
        return counted(size, letter)

    found = [x for x in _reads(values, {t.counter: t.trips for t in turns}) if x[0].base in arrays]
    certain = {read for read, trips in found if None not in trips.values()}
    for read, around in found:
        if None in around.values() and read in certain:
            continue  # it is read before the loop inside begins, too
        if read.computed or None in around.values():
            raise Kept(_UNKNOWN)
        name, rest, moved = arrays[read.base], read.index, list[tuple[str, str]]()
        for counter in sorted(set(around) & read.index.names()):
            linear = rest.linear_in(counter)
            times = around[counter]
            if linear is None or times is None:
                raise Kept(_UNKNOWN)
            rest = linear[1]
            moved.append((text(linear[0]), text(times)))
        counts = [t for t in dict.fromkeys(around.values()) if t is not None]
        runs = " && ".join(f"({text(t)}) > 0" for t in counts) or "1"
        lines.append(f"  if ({runs}) {{")
        lines.append(f"    long long low = {text(rest)}, high = low;")
        for by, end in moved:
            lines.append(f"    relift_reaches(&low, &high, ({by}) * (({end}) - 1));")
        lines.append(f"    if (low < low_{name}) low_{name} = low;")
        lines.append(f"    if (high >= high_{name}) high_{name} = high + 1;")
        lines.append("  }")
    return Reach(tuple(lines), frozenset(needed))


def _reads(
    values: Collection[Expression], around: Mapping[str, Size | None]
) -> Iterator[tuple[Read, dict[str, Size | None]]]:
    """What is read, each with the loops around it and how often they run, None where data say that."""
    for e in values:
        if isinstance(e, Read):
            yield e, dict(around)
        if isinstance(e, Fold):
            yield from _reads((*e.starts, *(x for _, x in e.computed)), around)
            trips: Size | None = None if e.computed else e.trips
            yield from _reads(e.updates, {**around, e.counter: trips})
        elif isinstance(e, Search):
            yield from _reads(e.starts, around)
            yield from _reads((*e.updates, e.test), {**around, e.counter: None})
        else:
            yield from _reads(below(e), around)
