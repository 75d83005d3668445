"""Plans for scans: in chunks, by the groups of a GPU, or several rows at a time by a core."""

from __future__ import annotations

from collections.abc import Iterator

from relift.device import DeviceDescription
from relift.egraph.search.guidance.fold_plans import WIDTH
from relift.rewrites.tactics.combinators import Tactic, attempt, then
from relift.rewrites.tactics.folds.chunked_scans import in_chunks, in_step
from relift.rewrites.tactics.folds.starts import scans_from_neutral
from relift.rewrites.tactics.groups.scans import (
    columns_scanned,
    rows_folded_and_scanned,
    rows_scanned,
    scans_from_folds,
    scans_in_groups,
)
from relift.rewrites.tactics.vectors.lanes import scans_in_lanes
from relift.semantics.language.programs import Program
from relift.semantics.patterns import ScanSeq
from relift.semantics.syntax.terms import Combine, Term, subterms


def chunked_scans(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that scan long arrays in chunks: those of groups, or short ones, on a GPU, a few for each core on a CPU.

    A CPU scans columns in the lanes of vectors, too, and several rows at a time.

    >>> import relift as rl
    >>> from relift.device import CPU, GPU
    >>> from relift.egraph.search.guidance.scan_plans import chunked_scans
    >>> @rl.program
    ... def sums(x: rl.f32[65536]):
    ...     return rl.scan_seq(rl.add, 0.0, x)
    >>> len(list(chunked_scans(sums, GPU))), len(list(chunked_scans(sums, CPU)))
    (22, 5)
    """
    longest = max((_scanned(t) for t, _ in subterms(program.body)), default=0)
    found: list[Tactic] = []
    if device.kind == "gpu":
        chunks = [(8, 64)]  # neighbours' chunks share few lines
        ways = (scans_in_groups, scans_from_folds, rows_scanned) if longest else ()
        yield from (way(*at, device.local_memory_bytes) for at in _SCANNED for way in ways)
        yield from (columns_scanned(rows) for rows in _ROWS_SCANNED if longest > rows)
        for members in _MEMBERS_OF_ROWS if longest else ():
            yield rows_folded_and_scanned(members, WIDTH, device.local_memory_bytes)
    else:
        found += [scans_in_lanes(device.vector_width)] if longest else []
        yield from map(in_step, _IN_STEP[not _has_long_steps(program.body) :] if longest else ())
        cores = max(1, device.compute_units)
        chunks = [(longest // (per_core * cores), 4096) for per_core in (4, 16)]
    found += [in_chunks(elements, least) for elements, least in chunks if longest > least]
    yield from (then(attempt(scans_from_neutral()), tactic) for tactic in found)


_SCANNED = ((128, 16), (128, 8), (256, 16), (64, 16), (256, 32))
"""Work-items of a group that scans in local memory, and how many elements each of them has."""
_IN_STEP = (8, 4, 2)
"""Rows that a work-item of a CPU scans at a time: until the next running result of one is there, it computes those of the others.

The most only where a step takes long: running maxima of 4096 rows of 2048 numbers take through PoCL 4.6 ms row by row, and 19 with eight.
"""
_MEMBERS_OF_ROWS = (256, 128, 64)
"""Work-items of a group that folds a row, and then scans what it makes of it."""
_ROWS_SCANNED = (32, 64, 128)
"""Rows of a chunk of columns that are scanned: the fewer, the more work-items, and what the chunks come to."""


def _has_long_steps(t: Term) -> bool:
    """Whether something is scanned by steps of more than one operation."""
    scans = (u for u, _ in subterms(t) if isinstance(u, ScanSeq))
    return any(not isinstance(scan.f.body, Combine) for scan in scans)


def _scanned(t: Term) -> int:
    """How many elements a scan goes through."""
    return (t.solved["n"].constant or 0) if isinstance(t, ScanSeq) else 0
