"""What the shape of a program proposes: as it is, below what it only rearranges, and with the rows of its batches together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from relift.device import DeviceDescription
from relift.egraph.search.guidance.block_plans import register_blocks
from relift.egraph.search.guidance.fold_plans import (
    cooperative_reductions,
    folded_by_groups,
    folds_in_bins,
    partial_folds,
    several_results_each,
    vector_folds,
)
from relift.egraph.search.guidance.plans import (
    folded_rows,
    lanes,
    looked_up,
    rows_in_order,
    several_dimensions,
    shared_folds,
    shared_rows,
    staged_blocks,
)
from relift.egraph.search.guidance.scan_plans import chunked_scans
from relift.egraph.search.guidance.tilings import nest_tiles
from relift.egraph.search.guidance.window_plans import shared_windows
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.tactics.batches import rows_of_batches, where_written
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    attempt,
    derive,
    inside,
    normalize,
    then,
)
from relift.rewrites.tactics.groups.whole_windows import whole_windows
from relift.rewrites.tactics.nests.dimensions import layout_outside
from relift.semantics.indices.inverses import written_place
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Split
from relift.semantics.syntax.binding import Position, term_at

_Plan: TypeAlias = Callable[[Program, DeviceDescription], Iterator[Tactic]]
_PLANS = (
    register_blocks, shared_folds, lanes, cooperative_reductions, partial_folds, folded_rows, looked_up, shared_rows,
    shared_windows, nest_tiles, chunked_scans, several_dimensions, vector_folds, several_results_each,
    staged_blocks, folds_in_bins,
)  # fmt: skip
_PLANS_OF_ROWS = (
    cooperative_reductions,
    partial_folds,
    folded_rows,
    shared_rows,
    vector_folds,
    staged_blocks,
    chunked_scans,
)

_PLANS_OF_WINDOWS = (shared_windows, several_dimensions)
_PLANS_OF_CHUNKS = (lanes, shared_folds, register_blocks)


_REARRANGED_AFTER: Tactic = then(layout_outside, attempt(inside("xs")(rows_of_batches())))
"""What an outer map rearranges of what an inner one gives is rearranged after both, so that these are maps in one another."""


def planned(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """What the shape of a program proposes, and that of what it only rearranges."""
    yield from itertools.chain(*(plan(program, device) for plan in _PLANS))
    yield from _planned_within(program, device)
    yield from _planned_by_chunks(program, device)
    yield from _planned_together(program, device, rows_of_batches())
    if device.kind == "gpu":
        yield from _planned_together(program, device, _REARRANGED_AFTER)
        yield from _planned_together(program, device, whole_windows, _PLANS_OF_WINDOWS)


def _planned_together(
    program: Program,
    device: DeviceDescription,
    way: Tactic,
    plans: Sequence[_Plan] = _PLANS_OF_ROWS,
) -> Iterator[Tactic]:
    """What the shape of a program that something was done to proposes, where that did something."""
    with suppress(NoMatch):
        done = derive(program, way)
        found = _planned_within(replace(program, body=done.result), device, plans)
        yield from (then(_as_done(program, done, way), tactic) for tactic in found)


def _as_done(program: Program, done: Derivation, way: Tactic) -> Tactic:
    """What is known to be made of a program, not done again for each plan; of another one, or under another policy, it is."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if at.term is program.body and not place and at.policy == done.policy:
            return replace(at, term=done.result, steps=(*at.steps, *done.steps))
        return way(at, place)

    return tactic


def whole_rows(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """What rows that are folded propose, those of batches whose results are rearranged too."""
    yield from folded_rows(program, device)
    if device.kind == "gpu":
        yield from _planned_together(program, device, _REARRANGED_AFTER, (folded_rows,))


def _planned_by_chunks(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """What the chunks of what a map gives propose on a CPU, as rows that are computed: pixels that are made an image at the end."""
    if device.kind == "cpu" and isinstance(program.body, Split):
        with suppress(NoMatch):
            chunks = normalize("split_map")
            rows = replace(program, body=derive(program, chunks).result)
            found = itertools.chain(*(plan(rows, device) for plan in _PLANS_OF_CHUNKS))
            yield from (then(chunks, tactic) for tactic in found)


def _planned_within(
    program: Program, device: DeviceDescription, plans: Sequence[_Plan] = _PLANS_OF_ROWS
) -> Iterator[Tactic]:
    """What the shape of what a program only rearranges proposes."""
    if below := written_place(program.body):
        rearranged = replace(program, body=term_at(program.body, below))
        found = itertools.chain(*(plan(rearranged, device) for plan in plans))
        yield from (inside(*below)(tactic) for tactic in found)


def folded_whole(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """How a kernel that is not searched is folded: by groups, as it is or with the rows of its batches together; on a CPU, by rows.

    And how a GPU scans it: rows that are each one work-item's take so much longer that this says nothing of what is stored between scans.
    """
    if device.kind == "cpu":
        yield from folded_rows(program, device)
        return
    for plan in (chunked_scans, rows_in_order):
        yield from plan(program, device)
        yield from _planned_within(program, device, (plan,))
    for tactic in folded_by_groups(program, device):
        yield tactic
        yield then(rows_of_batches(), where_written(tactic))
