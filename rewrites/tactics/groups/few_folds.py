"""Tactics for few long folds on a GPU: each is cut into chunks, and a group has each chunk.

One group for each fold leaves most of a device idle where the folds are few: the sums of four rows, the norms of a
batch's channels.  Here the folds of all chunks are computed and stored, and a work-item for each result folds those, and
the few elements of no whole chunk.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    curried,
    first,
    inside,
    then,
)
from relift.rewrites.tactics.folds.partial_results import (
    AS_FOLDED,
    PARTIAL,
    folds_at,
    in_two_kernels,
)
from relift.rewrites.tactics.groups.cooperative import by_groups, chunk_near
from relift.rewrites.tactics.groups.rows.by_groups import MOST_TURNS, rows_by_groups
from relift.semantics.syntax.binding import Position

_MOST_BLOCKS = 16384
"""Partial results that a group folds."""


def few_folds(groups: int, members: int, width: int, local_bytes: int) -> Tactic:
    """The outermost map of folds by about so many groups for all chunks together.

    Raises `NoMatch` where a fold has no two chunks.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.few_folds import few_folds
    >>> @rl.program
    ... def sums(a: rl.f32[2, 1000]):
    ...     return rl.map(lambda row: rl.reduce(rl.add, 0.0, row), a)
    >>> [step.rule for step in derive(sums, few_folds(8, 32, 4, 48 * 1024)).steps][:3]
    ['concat_take_drop', 'reduce_concat', 'partial_reduce_chunks']
    """
    unit = members * width

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = AS_FOLDED(at, place)
        folds = folds_at(at, place)
        several = len(folds.folds) > 1
        parts = -(-groups // folds.results)
        if several:
            parts = max(parts, -(-folds.length // (MOST_TURNS // 2 * unit)))
        chunk = chunk_near(folds.length, parts, unit)
        if not chunk:
            raise NoMatch(f"a fold of {folds.length} elements has no two chunks")
        of_each = _read_once(members, width, local_bytes) if several else by_groups(members, width)
        chunks = then(inside("f")(of_each), apply("map_to_wrg", d=1), apply("store_global"))
        return in_two_kernels(folds, chunk, chunks)(at, place)

    return tactic


def _read_once(members: int, width: int, local_bytes: int) -> Tactic:
    """Several folds of a chunk by a group, whose members keep what they read of it in registers, if there is room."""
    ways = (rows_by_groups(1, members, width, local_bytes, kept) for kept in (True, False))
    return first(*ways)


@curried
def few_columns(
    at: Rewriting, place: Position, items: int, members: int, width: int, local_bytes: int
) -> Rewriting:
    """The outermost map of folds by about so many work-items, which read side by side; then a group has each result.

    Raises `NoMatch` where work-items have no two elements each.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.groups.few_folds import few_columns
    >>> @rl.program
    ... def sums(a: rl.f32[4096, 2]):
    ...     return rl.map(lambda column: rl.reduce(rl.add, 0.0, column), rl.transpose(a))
    >>> [step.rule for step in derive(sums, few_columns(512, 64, 4, 48 * 1024)).steps][:3]
    ['partial_reduce_chunks', 'map_fusion', 'map_to_glb']
    """
    at = AS_FOLDED(at, place)
    folds = folds_at(at, place)
    blocks = min(items // folds.results, _MOST_BLOCKS)
    chunk = -(-folds.length // max(blocks, 1))
    if chunk < 2 or blocks < members:
        raise NoMatch(f"{folds.results} folds of {folds.length} elements are not few and long")
    each = rows_by_groups(1, members, width, local_bytes)
    return in_two_kernels(folds, chunk, PARTIAL, each)(at, place)
