"""Plans for folds: on a GPU who has a share of each, where many work-items, or groups, fold one array together; on a CPU
the tables of those that choose elements by their keys."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from relift.device import DeviceDescription
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.batches import where_written
from relift.rewrites.tactics.combinators import Tactic, topdown
from relift.rewrites.tactics.folds.bins import bins_of_each, in_bins
from relift.rewrites.tactics.folds.in_vectors import folds_in_vectors
from relift.rewrites.tactics.folds.partial_results import (
    partial_results,
    partial_results_of_batches,
)
from relift.rewrites.tactics.folds.several_results import folds_of_one_array, several_results
from relift.rewrites.tactics.groups.cooperative import cooperative_each
from relift.rewrites.tactics.groups.dimensions import items_that_keep_rows, results_of_each
from relift.rewrites.tactics.groups.few_folds import few_columns, few_folds
from relift.rewrites.tactics.groups.numbers import numbers_by_groups
from relift.rewrites.tactics.groups.rows.by_groups import rows_by_groups
from relift.rewrites.tactics.groups.stages import tiles_both_ways
from relift.rewrites.tactics.vectors.lanes import depth_of
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Map
from relift.semantics.syntax.types import holds_array

WIDTH = 4
"""Lanes of the vectors that a work-item reads: 16 bytes, the widest access of a GPU."""

_MEMBERS = (32, 64, 128, 256)
_GROUPS = (256, 512, 1024)


def cooperative_reductions(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that give every reduction of a program with fixed sizes to work-items of a group that cooperate.

    They raise `NoMatch` where they do not share the elements evenly.

    >>> from relift.egraph.search.guidance.fold_plans import cooperative_reductions
    >>> from relift.rewrites.loading import load_program
    >>> from relift.device import CPU, GPU
    >>> product = load_program("examples/matvec.py").at({"n": 256, "m": 512})
    >>> len(list(cooperative_reductions(product, GPU))), len(list(cooperative_reductions(product, CPU)))
    (4, 0)
    """
    if device.kind != "gpu":
        return
    if holds_array(program.body.type):
        for members in _MEMBERS:
            yield topdown(cooperative_each(members, WIDTH))
        return
    for groups, members in itertools.product(_GROUPS, _MEMBERS):
        yield _numbers(device, groups, members)


def _numbers(device: DeviceDescription, groups: int, members: int) -> Tactic:
    return numbers_by_groups(groups, members, WIDTH, device.local_memory_bytes)


ROW_MEMBERS = (64, 128, 32)
"""Work-items that share a row which is folded: smaller groups keep too few of them on the way where rows are long."""

KEPT_MEMBERS = (64, 128, 256, 512, 1024)
"""Work-items that keep a row in their registers, more for a longer one."""


def folded_by_groups(program: Program, device: DeviceDescription) -> list[Tactic]:
    """One tactic for each way in which the groups of a GPU fold: whole arrays, rows, columns."""
    if not holds_array(program.body.type):
        return [_numbers(device, _GROUPS[1], _MEMBERS[1])]
    rows = rows_by_groups(1, ROW_MEMBERS[0], WIDTH, device.local_memory_bytes)
    tiles = tiles_both_ways(max(depth_of(program.body), 1), device.local_memory_bytes)
    return [where_written(rows), partial_results(_BLOCKS_OF_FOLDS[2]), tiles]


_BLOCKS_OF_FOLDS = (8, 16, 32, 64, 128, 256)
"""How many partial results each fold of a map of folds may have."""


def partial_folds(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics that compute a map of folds by two kernels, so that a GPU has more work-items than there are results.

    They raise `NoMatch` where the blocks do not divide the folds, or these are too short for chunks.
    """
    if device.kind == "gpu" and isinstance(program.body, Map):
        for blocks in _BLOCKS_OF_FOLDS:
            yield partial_results(blocks)
            yield partial_results_of_batches(blocks)
        for along in range(depth_of(program.body)):
            yield results_of_each(along)
            yield items_that_keep_rows(along)
        for groups, members in _CHUNKS:
            yield few_folds(groups, members, WIDTH, device.local_memory_bytes)
        for each in _ITEMS_OF_FEW:
            items = each * device.compute_units
            yield few_columns(items, _MEMBERS[-1], WIDTH, device.local_memory_bytes)


_ITEMS_OF_FEW = (1024, 256)
"""For each unit of a GPU, the work-items that fold few columns in part."""
_CHUNKS = ((1024, 128), (512, 128), (256, 256))
"""Groups for all chunks of few long folds, and their work-items."""

_OWN = (4, 8, 2)
"""Results of a work-item whose folds read the same."""
_LEAST_CHUNK = 256
"""Elements of a chunk at least: its results are written and read once more."""


def several_results_each(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics by which a work-item of a GPU has several folds of one array, and each fold is shared by as many as it takes.

    None where there are no such folds.

    >>> from relift.egraph.search.guidance.fold_plans import several_results_each
    >>> from relift.rewrites.loading import load_program
    >>> from relift.device import GPU
    >>> few = load_program("examples/histogram.py").at({"n": 1 << 22, "b": 256})
    >>> len(list(several_results_each(few, GPU)))
    6
    """
    if device.kind != "gpu":
        return
    try:
        folds = folds_of_one_array(program.body)
    except NoMatch:
        return
    for own in _OWN:
        enough = device.compute_units * _HALF_RESIDENT * own / max(1, folds.results)
        chunks = 1 << max(0, math.ceil(math.log2(max(enough, 1))))
        chunks = min(chunks, 1 << int(math.log2(max(folds.length / _LEAST_CHUNK, 1))))
        for each in dict.fromkeys((chunks, max(chunks // 4, 1))):
            yield several_results(own, each, WIDTH)


_HALF_RESIDENT = 1024
"""Half of the work-items that a unit of a GPU holds: with several results each, it is as busy."""


def vector_folds(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """A tactic by which each work-item of a GPU folds what all of them read in vectors; it raises `NoMatch` for others."""
    if device.kind == "gpu" and isinstance(program.body, Map):
        yield folds_in_vectors(WIDTH)


_GROUPS_OF_TABLES = 8
"""Groups for each unit of a GPU, whose local memory holds the tables of about as many."""

_GROUPS_AT_ONCE = ((4, 1), (2, 1), (8, 2))
"""Groups for each unit of a GPU with one table each, and in what part of local memory it lies: the larger it is, the longer take many of them to be added up."""

_TABLES = 8
"""Tables for each thread of a CPU: work-items that take unlike times fill its threads evenly."""


def folds_in_bins(program: Program, device: DeviceDescription) -> Iterator[Tactic]:
    """Tactics by which work-items fold each element into the cell of its key; they raise `NoMatch` for others.

    On a GPU the table of a work-item lies in the local memory of its group, or there is one for all of these, or one in global
    memory for all groups.
    """
    if device.kind == "gpu":
        room = device.local_memory_bytes
        yield in_bins(_GROUPS_OF_TABLES * device.compute_units, room)
        for each, part in _GROUPS_AT_ONCE:
            yield in_bins(each * device.compute_units, room // part, at_once=True)
        yield in_bins(1, at_once=True)
    else:
        yield in_bins(_TABLES * device.compute_units)
        yield in_bins(device.compute_units)
        yield bins_of_each
