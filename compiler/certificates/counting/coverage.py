"""What a kernel writes: every cell of an array, proved by counting.

Where no two instances of the writes to an array meet in one cell, as Z3 shows, there are as many cells written as
there are instances: work-items times turns times lanes.  If that is the number of cells, and none lies outside,
all are written, once.  From the same follows that a later read finds something.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from relift.compiler.certificates.counting.enumerated import Group
from relift.compiler.certificates.counting.instances import Instances, NotCounted, number_of
from relift.compiler.certificates.flows import Access, Fact, Iteration, Place
from relift.compiler.certificates.work_items import Formula, Grid, WorkItem
from relift.compiler.text import tree
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Size

MOST_SKIPPED = 8
"""So many cells may be left out before those that are written of a row: a vector of the widest."""

MOST_BUNDLES = 12
"""Groups of writes, in places of their own, that are compared in pairs."""


class Oracle(Protocol):
    """Who is asked whether something can be."""

    grid: Grid
    sizes: Mapping[str, int]
    group: Group

    def item(self, mark: str = "", group: str = "") -> WorkItem:
        """A work-item of the kernel."""
        ...

    def impossible(self, wrong: Formula, *items: WorkItem) -> bool:
        """Whether it surely cannot be."""
        ...


# ---- arrays


def covered(prover: Oracle, writes: Sequence[Access], cells: tree.Expression) -> None:
    """Every cell of a global array is written; raises `NotCounted`.

    That no two work-items write one cell, and that all writes are within the array, is shown elsewhere.  Where cells
    are written more often, as those of a table that is filled and then updated, the writes in one place may do.
    """
    try:
        _covered_by(prover, writes, cells)
    except NotCounted:
        together = _bundles(writes)
        if len(together) == 1 or not any(_fills(prover, some, cells) for some in together):
            raise


def _fills(prover: Oracle, writes: Sequence[Access], cells: tree.Expression) -> bool:
    try:
        _covered_by(prover, writes, cells)
    except NotCounted:
        return False
    return True


def _covered_by(prover: Oracle, writes: Sequence[Access], cells: tree.Expression) -> None:
    """The same of some writes, which meet in no cell."""
    count = _count(prover, writes, (), space=Space.GLOBAL)
    wanted = number_of(cells, prover.sizes)
    if count != wanted:
        raise NotCounted(f"{count} writes for {wanted} cells")
    _apart(prover, writes, 0, space=Space.GLOBAL)


def initialised(prover: Oracle, reads: Sequence[Access], before: Sequence[Access]) -> None:
    """What is read of a local or private array in one place was written earlier; raises `NotCounted`."""
    read = reads[0]
    if not before:
        raise NotCounted("nothing is written before")
    space = read.array.type.space
    common = _common(read.place, before)
    outer = read.place[:common]
    if space.of_group and not all(w.uniform for w in outer if isinstance(w, Iteration)):
        raise NotCounted("a loop that not all of a group take")
    around = {w.counter for w in read.place if isinstance(w, Iteration)}
    for a in before:
        if around & {w.counter for w in a.place[common:] if isinstance(w, Iteration)}:
            raise NotCounted("another turn of a loop writes it")
    count = _count(prover, before, outer, space=space)
    wanted = number_of(read.array.cells, prover.sizes)
    _apart(prover, before, common, space=space)
    if count != wanted:
        if wanted is None or count.constant is None or wanted.constant is None:
            raise NotCounted(f"{count} writes for {wanted} cells")
        _in_what_is_filled(prover, (*before, *reads), count.constant, wanted.constant)


def _common(place: Place, accesses: Sequence[Access]) -> int:
    """How many of the loops and conditions around a place are around all of some accesses."""
    found = len(place)
    for a in accesses:
        same = 0
        for p, q in zip(place[:found], a.place, strict=False):
            if p != q:
                break
            same += 1
        found = same
    return found


def _count(prover: Oracle, writes: Sequence[Access], outer: Place, *, space: Space) -> Size:
    """How many instances of some writes there are in one turn of what is around them."""
    total = Size.of(0)
    for a in writes:
        if not a.sure:
            raise NotCounted("a write under a condition that is not known")
        if a.partial:
            raise NotCounted("some lanes of a vector are written by themselves")
        one = Instances(prover.grid, prover.sizes)
        if not space.of_item:
            one.start(local=space.of_group)
            one.along(
                tuple(w for w in outer if isinstance(w, Fact) and not _of_group(prover, w, space))
            )
        one.along(a.place[len(outer) :])
        total = total + one.total() * a.width
    return total


def _of_group(prover: Oracle, fact: Fact, space: Space) -> bool:
    """Whether a condition around all accesses of a local array holds for a whole group or for none of it.

    In a group that gets there, it leaves nobody out.
    """
    return space.of_group and all(
        isinstance(u, tree.Whole | tree.Binary | tree.Prefix)
        or (isinstance(u, tree.Name) and u.name in prover.sizes)
        or (isinstance(u, tree.Invocation) and u.function in ("get_group_id", "get_num_groups"))
        for u in tree.within(fact.condition)
    )


def _loops(place: Place) -> Place:
    """The loops of a place."""
    return tuple(w for w in place if isinstance(w, Iteration))


def _bundles(writes: Sequence[Access]) -> list[list[Access]]:
    """Writes in one place, together."""
    found: dict[Place, list[Access]] = {}
    for a in writes:
        found.setdefault(a.place, []).append(a)
    if len(found) > MOST_BUNDLES:
        raise NotCounted(f"writes in {len(found)} places")
    return list(found.values())


def _apart(prover: Oracle, writes: Sequence[Access], common: int, *, space: Space) -> None:
    """No two instances of the writes meet in one cell: of one work-item, or of those that share the array.

    Of global arrays, that work-items do not meet is shown as the absence of races.
    """
    # conditions leave out some of the writes: where no two meet without them, none do
    free = [replace(a, place=_loops(a.place)) for a in writes]
    loops, alike = len(_loops(writes[0].place[:common])), len({a.place for a in free}) == 1
    if free != [*writes] and alike and _never_meet(prover, free, free, loops, space=space):
        return
    bundles = _bundles(writes)
    for i, left in enumerate(bundles):
        for right in bundles[i:]:
            if not _never_meet(prover, left, right, common, space=space):
                raise NotCounted("two writes may meet in one cell")


def _never_meet(
    prover: Oracle, left: list[Access], right: list[Access], common: int, *, space: Space
) -> bool:
    import z3

    around = [w.counter for w in left[0].place[:common] if isinstance(w, Iteration)]
    if space.of_group and prover.group.written_apart(left, right, around):
        return True
    one, other = prover.item(), prover.item("'", "" if space.of_group else "'")
    one.enter(left[0].place)
    other.enter(right[0].place)
    cell, k, m = z3.Int("cell"), z3.Int("which"), z3.Int("which'")
    same = [
        one.counter(w.counter) == other.counter(w.counter)
        for w in left[0].place[:common]
        if isinstance(w, Iteration)
    ]
    if not space.of_group:
        same += [v == other.ids[name] for name, v in one.ids.items()]
    different = [k != m] if left is right else [z3.BoolVal(True)]
    if left is right:
        inner = [w.counter for w in left[0].place[common:] if isinstance(w, Iteration)]
        different += [one.counter(c) != other.counter(c) for c in inner]
    different += [v != other.ids[name] for name, v in one.ids.items()]
    meeting = [
        z3.Or([z3.And(w == n, s <= cell, cell < s + a.width) for n, (a, s) in enumerate(starts)])
        for w, starts in (
            (k, [(a, one.number(a.offset)) for a in left]),
            (m, [(b, other.number(b.offset)) for b in right]),
        )
    ]
    return prover.impossible(z3.And(*same, z3.Or(different), *meeting), one, other)


def _in_what_is_filled(prover: Oracle, accesses: Sequence[Access], count: int, cells: int) -> None:
    """All accesses lie among as many cells as are written: neighbours in the array, or in each of its rows.

    Rows are padded so that neighbouring work-items do not wait for one bank of the memory; a few cells may be left
    out before them, too.
    """
    first: Access | None = None
    for row in (n for n in range(cells, 0, -1) if cells % n == 0):
        used, left = divmod(count * row, cells)
        if left:
            continue
        for skipped in range(min(row - used, MOST_SKIPPED) + 1):
            kept = range(skipped, skipped + used)
            outside = next((a for a in accesses if not _within(prover, a, row, kept, cells)), None)
            if outside is None:
                return
            first = first or outside
    raise NotCounted(f"{first} may lie beyond the {count} cells that are written")


def _within(prover: Oracle, access: Access, row: int, kept: range, cells: int) -> bool:
    """Whether an access lies within the cells that are kept of each row."""
    import z3

    with suppress(NotCounted):
        found = prover.group.cells_of(access)
        if (found >= 0).all() and (found < cells).all():
            return bool(((found % row >= kept.start) & (found % row < kept.stop)).all())
    one = prover.item()
    one.enter(access.place)
    start = one.number(access.offset)
    beyond = z3.Or(
        start < 0,
        start >= cells,
        start % row < kept.start,
        start % row + access.width > kept.stop,
    )
    return prover.impossible(beyond, one)


# ---- variables


def unassigned(kernel: tree.KernelText) -> list[str]:
    """The variables of which a part may be read before it is assigned.

    >>> from relift.compiler.certificates.counting.coverage import unassigned
    >>> from relift.compiler.text.reader import read_kernels
    >>> [k] = read_kernels("kernel void f(global float* out) { float a; float2 b; b.s0 = 0.0f; out[0] = a + b.s1; }")
    >>> unassigned(k)
    ['a', 'b']
    """
    walker = _Assigned()
    walker.body(kernel.body)
    return list(dict.fromkeys(walker.wrong))


@dataclass
class _Assigned:
    """`missing` has the lanes of each variable in sight that may be unassigned; a scalar has lane 0."""

    missing: dict[str, frozenset[int]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def body(self, body: Sequence[tree.Statement]) -> None:
        for statement in body:
            self.statement(statement)

    def inner(self, body: Sequence[tree.Statement]) -> None:
        """A body that may not be run at all."""
        before = dict(self.missing)
        self.body(body)
        self.missing = before

    def statement(self, statement: tree.Statement) -> None:
        match statement:
            case tree.Declaration(t, name, extent, value):
                if value is not None:
                    self.read(value)
                lanes = () if value is not None or extent is not None else range(t.width)
                self.missing[name] = frozenset(lanes)
            case tree.Assignment(target, operator, value):
                self.read(value)
                if operator != "=":
                    self.read(target)
                self.assigned(target)
            case tree.Evaluation(call):
                self.read(call)
            case tree.Guard(condition, body):
                self.read(condition)
                self.inner(body)
            case tree.Loop(_, counter, start, end, step, body):
                for e in (start, end, step):
                    self.read(e)
                before = dict(self.missing)
                self.missing[counter] = frozenset()
                self.body(body)
                self.missing = before
            case tree.Barrier():
                pass

    def assigned(self, target: tree.Expression) -> None:
        match target:
            case tree.Name(name):
                self.missing[name] = frozenset()
            case tree.Member(tree.Name(name), lane):
                rest = self.missing.get(name, frozenset())
                self.missing[name] = rest - {_lane(lane)}
            case tree.Prefix(_, e):
                self.read(e)
            case (
                tree.Whole() | tree.Real() | tree.Element() | tree.Member()
                | tree.Binary() | tree.Conditional() | tree.Invocation()
                | tree.Cast()
            ):  # fmt: skip
                for e in tree.within(target):
                    if e != target:
                        self.read(e)

    def read(self, e: tree.Expression) -> None:
        for u in _reads(e):
            if isinstance(u, tree.Name):
                if self.missing.get(u.name):
                    self.wrong.append(u.name)
            elif isinstance(u.of, tree.Name) and _lane(u.field) in self.missing.get(
                u.of.name, frozenset()
            ):
                self.wrong.append(u.of.name)


def _reads(e: tree.Expression) -> Iterator[tree.Name | tree.Member]:
    """Names and lanes of names in an expression; a lane stands for its name."""
    match e:
        case tree.Member(tree.Name(), lane) if _lane(lane) >= 0:
            yield e
        case tree.Name():
            yield e
        case (
            tree.Whole() | tree.Real() | tree.Element() | tree.Member()
            | tree.Prefix() | tree.Binary() | tree.Conditional()
            | tree.Invocation() | tree.Cast()
        ):  # fmt: skip
            for part in tree.parts(e):
                yield from _reads(part)


def _lane(name: str) -> int:
    """The number of a single lane, -1 for several."""
    if len(name) == 1 and name in "xyzw":
        return "xyzw".index(name)
    if len(name) == 2 and name[0] in "sS":
        return int(name[1], 16)
    return -1
