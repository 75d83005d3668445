"""The forms that a program may have before it is lowered: what is shared under names, and what is stored.

Which of them are searched further is decided by what each is lowered to as it is (`promising`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from relift.device import DeviceDescription
from relift.egraph.cost.model import least_seconds
from relift.egraph.search.guidance.tilings import extent_of
from relift.egraph.search.outcomes import Proposal
from relift.egraph.search.starts.staged import StagedKernel, shape_of
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.tactics.batches import batches_apart, folded_apart, pairs_apart
from relift.rewrites.tactics.both_axes import along_both_axes
from relift.rewrites.tactics.combinators import (
    Tactic,
    attempt,
    everywhere,
    first,
    skip,
    somewhere,
    then,
)
from relift.rewrites.tactics.folds.beside import folds_together, parts_apart, totals_beside
from relift.rewrites.tactics.folds.chunked_scans import chunks_apart
from relift.rewrites.tactics.folds.passes.moments import moments_in_one_pass
from relift.rewrites.tactics.folds.passes.one_pass import in_one_pass
from relift.rewrites.tactics.folds.places import places_in_any_order
from relift.rewrites.tactics.folds.recurrences import affine_folds_in_chunks
from relift.rewrites.tactics.folds.running import folds_of_running_results, running_in_chunks
from relift.rewrites.tactics.folds.windows import parts_of_windows_apart
from relift.rewrites.tactics.groups.scan_chunks import scans_apart
from relift.rewrites.tactics.nests.cells import in_cells
from relift.rewrites.tactics.nests.dimensions import (
    folded_before_rearranged,
    row_by_row,
    rows_without_room_joined,
)
from relift.rewrites.tactics.nests.edges import edges_apart
from relift.rewrites.tactics.nests.factors import factors_apart, factors_of_all
from relift.rewrites.tactics.nests.normal_form import maps_together, through_what_is_read
from relift.rewrites.tactics.nests.symmetric import mirrored
from relift.rewrites.tactics.nests.tupling import tables_apart
from relift.rewrites.tactics.nests.where_read import through_zips
from relift.rewrites.tactics.sharing import apart, has_fold, has_scan, made_of_once, named, storable
from relift.rewrites.tactics.spelled_out import raised
from relift.rewrites.tactics.steps.carried import copied, finished, unrolled
from relift.rewrites.tactics.steps.iterations import of_elements, of_tables
from relift.rewrites.tactics.transpositions import (
    columns,
    few_columns,
    few_outside,
    rows_of_columns,
    scans_across,
    tables_by_rows,
)
from relift.rewrites.tactics.whole_folds import parts_where_read, whole_folds_in_parts
from relift.semantics.indices.copies import copied as copied_cells
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Iterate, Reduce, Reduction
from relift.semantics.syntax.binding import inputs_in
from relift.semantics.syntax.terms import Lambda, Pattern, Term, children, subterms
from relift.semantics.syntax.types import Array, Tuple, Type, cells, dimensions, holds_array

UNROLLED: Tactic = unrolled()
"""Iterations step by step, where none is launched step by step as it is."""

_TABLES_APART: Tactic = then(tables_apart(), attempt(through_zips()))
"""Each of several folds of a cell has a table of its own: blocks in vector registers are for one."""
_SCANS_ACROSS: Tactic = scans_across()
_SCANS_APART: Tactic = scans_apart()
_SCANS: tuple[Tactic, ...] = (of_elements(), chunks_apart(256, 1 << 16))
_RUNNING: Mapping[str, Tactic] = {
    "cpu": running_in_chunks(256, 1 << 16, count=True),
    "gpu": running_in_chunks(128, 1 << 16),
}
"""Chunks of what is scanned and folded as one: a work-item has one, so that a GPU has many short ones."""
_ALONG_ROWS, _DOWN_COLUMNS = rows_of_columns(), rows_of_columns()
"""The same, where vectors go along rows, and where neighbouring work-items do so anyway."""
_ROW_BY_ROW: Tactic = somewhere(row_by_row)
_FEW_COLUMNS: Tactic = first(few_outside(), few_columns)

_BOTH_AXES: tuple[Tactic, ...] = tuple(along_both_axes(side) for side in (64, 32))

_APART: Tactic = then(
    first(then(apart(), attempt(tables_by_rows)), tables_by_rows),
    everywhere(through_what_is_read()),
)
"""What is computed of columns is stored by rows: to read a table by columns costs a copy, to compute it so more.

Kernels read what they need and nothing beside it, so that those of other forms are equal to them.
"""
_ROOM: Tactic = then(somewhere(rows_without_room_joined), _APART)
"""What the elements of elements have no room for is stored, too."""
_PARTS_APART: Tactic = then(_APART, _TABLES_APART)
_MIRRORED: Tactic = mirrored()
_MIRRORED_IN_PANELS: Tactic = mirrored(parts=4, least=128, panels=(32, 16))
NOTHING_ELSE = -1
"""Of a form that says what is stored, no other choice is tried."""
_MOMENTS: tuple[Tactic, ...] = (
    moments_in_one_pass(4096),
    then(moments_in_one_pass(128), _APART),
)
"""What a mean and a variance need is found in one pass: of long rows, or of columns, whose chunks are stored."""
_MOMENTS_WHERE_READ: Tactic = then(_MOMENTS[0], parts_where_read)
"""The same of whole arrays, where each group that reads them folds what chunks came to."""
_IN_PARTS: Tactic = whole_folds_in_parts(512, 8192)
_WINDOWS_BY_PARTS: Tactic = parts_of_windows_apart()
_WINDOWS_DOWN_COLUMNS: Tactic = parts_of_windows_apart(columns=True)
"""The same for a GPU, whose neighbours have columns beside one another."""
_REARRANGED: Tactic = folded_before_rearranged

ELSEWHERE: Mapping[str, tuple[Tactic, ...]] = {
    "gpu": (
        *(_TABLES_APART, _PARTS_APART, _MIRRORED_IN_PANELS),
        *(_FEW_COLUMNS, _ALONG_ROWS, *_SCANS, _WINDOWS_BY_PARTS, _RUNNING["cpu"]),
    ),
    "cpu": (
        *(_SCANS_ACROSS, _SCANS_APART, _MIRRORED, *_BOTH_AXES),
        *(_IN_PARTS, _MOMENTS_WHERE_READ, _WINDOWS_DOWN_COLUMNS, _RUNNING["gpu"]),
    ),
}
"""Forms that are not for a kind of devices: work-items of a GPU keep tuples in registers, and a CPU's go along rows."""

FORMS: tuple[tuple[Tactic, int], ...] = (
    (skip, 3),
    (named(), 2),
    (_APART, 0),
    (_ROOM, 0),
    (batches_apart(), 0),
    (batches_apart(rows=True), 0),
    (folded_apart(), 0),
    (parts_apart, 0),
    (pairs_apart, 2),
    (then(maps_together(), edges_apart()), 0),
    (factors_apart, 0),
    (factors_of_all, 0),
    (then(_APART, factors_apart, attempt(tables_by_rows)), 0),
    (_MIRRORED, 0),
    (_MIRRORED_IN_PANELS, 0),
    (_TABLES_APART, 0),
    (_PARTS_APART, 0),
    (_SCANS_ACROSS, 0),
    (_SCANS_APART, 0),
    *((affine_folds_in_chunks(m), 0) for m in (256, 64)),
    (_SCANS[0], 0),
    (_FEW_COLUMNS, 0),
    (_ROW_BY_ROW, 0),
    (in_cells(), 0),
    (in_cells(pieces=True), 0),
    (in_one_pass, 0),
    *((way, 2) for way in _MOMENTS),
    *((way, 2) for way in _BOTH_AXES),
    (folds_of_running_results(), 0),
    (UNROLLED, 0),
    (then(of_tables(), attempt(UNROLLED)), 0),
    (raised(), 2),
    (copied(), 0),
    (finished(), 0),
    (then(columns, attempt(through_zips())), 2),
    (_ALONG_ROWS, 2),
    (_DOWN_COLUMNS, 2),
    (rows_of_columns(of_rows=True), 2),
    (places_in_any_order(), 2),
    (then(folds_together, attempt(rows_of_columns())), 0),
    (then(totals_beside, attempt(through_zips())), 1),
    (_IN_PARTS, NOTHING_ELSE),
    (_MOMENTS_WHERE_READ, NOTHING_ELSE),
    (_WINDOWS_BY_PARTS, NOTHING_ELSE),
    (_WINDOWS_DOWN_COLUMNS, NOTHING_ELSE),
    (_REARRANGED, NOTHING_ELSE),
    (_SCANS[1], NOTHING_ELSE),
    *((way, NOTHING_ELSE) for way in _RUNNING.values()),
)
"""What the program as it is written may become before it is lowered, each on its own.

Of so many arrays that may be stored every choice is tried, with the numbers that are folded; of more all, none, those that are computed by
folds, and the numbers; or nothing but what the form stores.
"""


@dataclass(frozen=True)
class Form:
    """A form of the program that says what is shared and what is stored, and what it is lowered to.

    `stored` are the types of what it stores, each value once.
    `least` are the seconds that its kernels take at least, to read and write each cell once; `nests` are the multiply-adds of those
    that are nests of two parallel dimensions around a fold, which blocks make many times faster than they are as they are lowered; `steps`
    are those of all its folds.  `made_by` is the tactic of `FORMS` that made it, beside what is stored.
    """

    parted: Derivation
    stored: tuple[Type, ...]
    proposals: tuple[Proposal, ...]
    least: float = 0.0
    nests: int = 0
    steps: int = 0
    made_by: Tactic | None = None

    @property
    def as_written(self) -> bool:
        """Whether nothing else was done than to store."""
        return self.made_by is skip

    @property
    def along_columns(self) -> bool:
        """Whether columns which are read are stored as rows."""
        return self.made_by is _FEW_COLUMNS

    @property
    def in_one_pass(self) -> bool:
        """Whether what is folded of differences from what is folded of the same elements is found with that."""
        return self.made_by in (*_MOMENTS, _MOMENTS_WHERE_READ)

    @property
    def by_parts(self) -> bool:
        """Whether what parts of windows are folded to is stored."""
        return self.made_by in (_WINDOWS_BY_PARTS, _WINDOWS_DOWN_COLUMNS)

    @property
    def along_rows(self) -> bool:
        """Whether what went down columns goes along rows."""
        return self.made_by is _ALONG_ROWS

    @property
    def scans_in_chunks(self) -> bool:
        """Whether long scans go in chunks, several of which a work-item may have in one loop, or many of which a GPU has side by side."""
        return self.made_by in (_SCANS[1], *_RUNNING.values())

    @property
    def stores(self) -> bool:
        """Whether some value has a kernel of its own."""
        return bool(self.stored)

    @property
    def nest(self) -> bool:
        """Whether one of its kernels is such a nest."""
        return self.nests > 0

    @property
    def steps_outside_nests(self) -> int:
        """The steps of its folds that no block of a nest shares."""
        return self.steps - self.nests

    @property
    def stores_numbers(self) -> bool:
        """Whether what it stores are numbers."""
        return self.stores and not any(isinstance(t, Array) for t in self.stored)


def least_of(
    kernels: Sequence[StagedKernel],
    device: DeviceDescription,
    found: Mapping[Term, Sequence[Proposal]],
) -> float:
    """Seconds that kernels take to read and write what they do once; a result that others of them store has none.

    Of an array that one reads in part, it reads less than all: how much that is, what was found for its shape tells.
    """
    stored = {kernel.result for kernel in kernels} - {""}
    return sum(
        _least_of_one(kernel.program, device, found)
        for kernel in kernels
        if kernel.result
        or not inputs_in(kernel.program.body) <= stored
        or copied_cells("out", kernel.program.body) is None
    )


def _least_of_one(
    kernel: Program, device: DeviceDescription, found: Mapping[Term, Sequence[Proposal]]
) -> float:
    moved = (each.cost.launch + each.cost.memory for each in found.get(shape_of(kernel), ()))
    return min(least_seconds(kernel, device), *moved, math.inf)


def multiply_adds(kernel: Program) -> int:
    """Those of a kernel that is a nest.

    None is a kernel that makes more of each row than numbers: blocks are for a table that is the result.
    """
    if holds_array(dimensions(kernel.body.type)[1]):
        return 0
    nest = extent_of(kernel)
    return 0 if nest is None else nest.multiply_adds


def steps_of(t: Term) -> int:
    """The steps of all folds of a term, each as often as the functions around it are applied.

    >>> from relift import add, f32, map, program, reduce
    >>> from relift.egraph.search.starts.forms import steps_of
    >>> @program
    ... def sums(x: f32[4, 8]):
    ...     return map(lambda row: reduce(add, 0.0, row), x)
    >>> steps_of(sums.body)
    32
    """
    times, folds = 1, False
    if isinstance(t, Iterate):
        times = t.m.constant or 1
    elif isinstance(t, Pattern):
        folds = t.loop == "fold" or isinstance(t, Reduction)
        times = t.solved["n"].constant or 1 if folds or t.loop == "map" else 1
    steps = times if folds else 0
    for _, child in children(t):
        if isinstance(child, Lambda):
            steps += times * steps_of(child.body)
        else:
            steps += steps_of(child)
    return steps


def choices_of(
    values: Sequence[Term], most: int, finished: Collection[Term] = ()
) -> list[tuple[Term, ...]]:
    """Which values are stored, each choice once: none, or every number that is folded and a choice of the arrays.

    A number that a program computes once is folded by one work-item where it is not stored.  Of those that are `finished` where
    they are computed, each choice is also without.
    """
    chosen = _choices(values, most)
    without = (tuple(v for v in choice if v not in finished) for choice in chosen)
    return list(dict.fromkeys([*chosen, *without]))


def choices_in(
    t: Term, most: int, device: DeviceDescription, made_by: Tactic = skip
) -> list[tuple[Term, ...]]:
    """Which values of a program are stored; a kernel of a GPU that folds may go on to the result.

    What is found in one pass for a whole array is stored, or the pass is made for each number that needs it.
    """
    if most == NOTHING_ELSE:
        return [()]
    values = [each.value for each in storable(t)]
    chosen = choices_of(values, most, made_of_once(t) if device.kind == "gpu" else ())
    if made_by not in _MOMENTS or not any(isinstance(v.type, Array) for v in values):
        return chosen
    return [choice for choice in chosen if any(isinstance(v.type, Array) for v in choice)]


def _choices(values: Sequence[Term], most: int) -> list[tuple[Term, ...]]:
    numbers = tuple(value for value in values if not isinstance(value.type, Array))
    arrays = [value for value in values if isinstance(value.type, Array)]
    if len(arrays) > most:
        folds = tuple(value for value in values if has_fold(value))
        return list(dict.fromkeys([(), tuple(values), folds, numbers]))
    counts = range(len(arrays) + 1)
    chosen = ((*numbers, *each) for k in counts for each in itertools.combinations(arrays, k))
    return list(dict.fromkeys([(), *chosen]))


def is_lowered_apart(kernels: Sequence[StagedKernel], device: DeviceDescription) -> bool:
    """Whether a form is estimated kernel by kernel, by the tactics for folds: on a GPU, where it stores, scans or folds to numbers, or few.

    So are folds of tuples on a CPU: one element after the other they are far from what vectors of accumulators take.
    """
    if device.kind == "gpu":
        few = device.compute_units * _RESULTS
        each = (kernel.program.body for kernel in kernels)
        return len(kernels) > 1 or any(_scans_or_folds(t) or _folds_few(t, few) for t in each)
    terms = (t for kernel in kernels for t, _ in subterms(kernel.program.body))
    tuples = any(isinstance(t, Reduce) and isinstance(t.type, Tuple) for t in terms)
    return len(kernels) > 1 and tuples


def _scans_or_folds(t: Term) -> bool:
    """Whether a kernel gives numbers, or scans: as it is written that is one work-item's, or one's for each row."""
    return not holds_array(t.type) or has_scan(t)


def _folds_few(t: Term, most: int) -> bool:
    """Whether a kernel computes at most so many numbers by long folds, each of which is one work-item's as it is written."""
    if (cells(t.type).constant or 0) > most:
        return False
    folds = (u for u, _ in subterms(t) if isinstance(u, Reduce))
    return any((u.solved["n"].constant or 0) > _LONG_FOLD for u in folds)


_RESULTS = 1024
"""So many work-items keep half of a unit of a GPU busy; of fewer results, each fold is for several."""
_LONG_FOLD = 256


def accepted(form: Form, refused: Callable[[Program], str | None]) -> Form:
    """A form without those of its proposals that would be first and are refused: what cannot run promises nothing."""
    ordered = sorted(form.proposals, key=lambda each: each.rank)
    kept = itertools.dropwhile(lambda each: refused(each.low) is not None, ordered)
    return replace(form, proposals=tuple(kept))
