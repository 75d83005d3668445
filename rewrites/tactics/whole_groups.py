"""Tactics for maps over work-items whose length no group divides: they have more, of which the last write nothing.

Work-items that are left over are a launch of their own (see `compiler/lowering/threads.py`), which costs a CPU little, and keeps its
vectors.  A GPU waits for the first launch, and for the memory again: sums of the columns of 3001 x 2003 numbers in chunks take an
H100 38 us in four launches, and 17 in two whose last work-items find nothing to do.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, Tactic, apply, inside, then
from relift.rewrites.tactics.nests.padding import padded
from relift.semantics.patterns import EachOf, MapGlb
from relift.semantics.syntax.binding import Position, positions, term_at

MOST = 256
"""Work-items of a group."""
LEAST = 64
"""Of fewer elements a map is one group."""


def whole_groups(at: Rewriting, place: Position) -> Rewriting:
    """Every map over work-items has whole groups of them, where no number near that of a group divides its length.

    Raises `NoMatch` where there is no such map.

    >>> from relift import f32, map_glb, program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.whole_groups import whole_groups
    >>> from relift.semantics.notation.printer import show
    >>> @program
    ... def double(x: f32[1009]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> print(show(derive(double, whole_groups).result))
    take(1009, map_glb(0)(lambda x_: x_ + x_, pad(0, 15, clamp, x)))
    """
    found = [
        (below, more)
        for below, t in positions(term_at(at.term, place))
        if isinstance(t, EachOf) and isinstance(t, MapGlb) and t.dim.constant == 0
        if (more := _missing(t))
    ]
    if not found:
        raise NoMatch(f"groups of up to {MOST} work-items divide every map over work-items")
    for below, more in reversed(found):  # inner ones first: what is inside moves down
        at = inside(*below)(_longer(more))(at, place)
    return at


def _longer(more: int) -> Tactic:
    """A map over work-items of so many more, of whose results the first are taken."""
    given = apply("map_to_glb", "backward")
    return then(given, padded(more, 0), inside("xs")(apply("map_to_glb", d=0)))


def _missing(t: EachOf) -> int:
    """How many elements a map has less than whole groups have, if no number from a quarter of a group on divides it."""
    length = t.solved["n"].constant or 0
    if length < LEAST or any(length % n == 0 for n in range(MOST // 4, MOST + 1)):
        return 0
    return -length % (MOST if length >= MOST * MOST // 4 else LEAST)
