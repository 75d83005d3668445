"""What a kernel writes: every cell of an array, proved by counting.

Where no two instances of the writes to an array meet in one cell, as Z3 shows, there are as many cells written as
there are instances: work-items times turns times lanes.  If that is the number of cells, and none lies outside,
all are written, once.  From the same follows that a later read finds something.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from relift.compiler.certificates.flows import Access, Fact, Iteration, Place
from relift.compiler.certificates.work_items import Formula, Grid, WorkItem
from relift.compiler.text import tree
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Name as Atom
from relift.semantics.syntax.sizes import Size

MOST_SKIPPED = 8
"""So many cells may be left out before those that are written of a row: a vector of the widest."""

MOST_BUNDLES = 12
"""Groups of writes, in places of their own, that are compared in pairs."""


class Prover(Protocol):
    """Who is asked whether something can be."""

    grid: Grid
    sizes: Mapping[str, int]

    def item(self, mark: str = "", group: str = "") -> WorkItem:
        """A work-item of the kernel."""
        ...

    def impossible(self, wrong: Formula, *items: WorkItem) -> bool:
        """Whether it surely cannot be."""
        ...


class NotCounted(Exception):
    """How many cells are written is not known; the message says why."""


def number_of(e: tree.Expression, sizes: Mapping[str, int]) -> Size | None:
    """An expression in whole numbers and sizes as a size.

    >>> from relift.compiler.certificates.coverage import number_of
    >>> from relift.compiler.text.reader import read_expression
    >>> number_of(read_expression("4*n - n/1"), {"n": 1})
    3*n
    """
    match e:
        case tree.Whole(value):
            return Size.of(value)
        case tree.Name(name) if name in sizes:
            return Size.atom(Atom(name, sizes[name]))
        case tree.Binary("+" | "-" | "*" | "/" as operator, left, right):
            a, b = number_of(left, sizes), number_of(right, sizes)
            if a is None or b is None:
                return None
            if operator == "/":
                return a.divided_by(b)
            return a + b if operator == "+" else a - b if operator == "-" else a * b
        case (
            tree.Whole() | tree.Real() | tree.Name() | tree.Element()
            | tree.Member() | tree.Prefix() | tree.Binary() | tree.Conditional()
            | tree.Invocation() | tree.Cast()
        ):  # fmt: skip
            return None


@dataclass
class _Instances:
    """How often an access is made: the work-items that make it, and the turns of some of the loops around it."""

    prover: Prover
    ranges: dict[tuple[str, int], Size] = field(default_factory=dict)
    turns: Size = field(default_factory=lambda: Size.of(1))

    def start(self, *, local: bool) -> None:
        """All work-items, or those of a group."""
        grid = self.prover.grid
        for d, (groups, items) in enumerate(zip(grid.groups, grid.local, strict=True)):
            self.ranges["lcl", d] = self.known(items)
            if not local:
                self.ranges["wrg", d] = self.known(groups)

    def known(self, e: tree.Expression) -> Size:
        found = number_of(e, self.prover.sizes)
        if found is None:
            raise NotCounted("a number that is no polynomial of sizes")
        return found

    def total(self) -> Size:
        found = self.turns
        for n in self.ranges.values():
            found = found * n
        return found

    def along(self, place: Place) -> None:
        """The loops and conditions of a place."""
        for w in place:
            match w:
                case Iteration():
                    self.loop(w)
                case Fact(condition):
                    self.condition(condition)

    def loop(self, w: Iteration) -> None:
        step, end = number_of(w.step, self.prover.sizes), number_of(w.end, self.prover.sizes)
        if end is None:
            raise NotCounted("a loop whose end depends on the work-item, or on data")
        identity = _identity(w.start)
        if identity is not None:
            self.in_turns(*identity, w.step, end)
            return
        start = number_of(w.start, self.prover.sizes)
        if start is None or step is None:
            raise NotCounted("a loop whose start or step depends on the work-item, or on data")
        if not step.surely_at_least(1):
            raise NotCounted("a loop whose step may not be positive")
        many = end - start
        if not many.surely_at_least(0):
            raise NotCounted("a loop that may have no turn")
        count = many.divided_by(step)
        if count is None:
            if many.constant is None or step.constant is None:
                raise NotCounted("a loop whose step need not divide it")
            count = Size.of(-(-many.constant // step.constant))
        self.turns = self.turns * count

    def in_turns(self, function: str, d: int, step: tree.Expression, end: Size) -> None:
        """A loop in which work-items take turns: all of them together count to its end."""
        joint = {
            "get_global_id": ("get_global_size", ["wrg", "lcl"]),
            "get_group_id": ("get_num_groups", ["wrg"]),
            "get_local_id": ("get_local_size", ["lcl"]),
        }[function]
        total = Size.of(1)
        for kind in joint[1]:
            if (kind, d) not in self.ranges:
                raise NotCounted("a loop that starts with the number of a group")
            total = total * self.ranges[kind, d]
        if (
            step != tree.Invocation(joint[0], (tree.Whole(d),))
            and number_of(step, self.prover.sizes) != total
        ):
            raise NotCounted(
                "a loop from the number of a work-item, in other steps than there are work-items"
            )
        for kind in joint[1]:
            self.ranges[kind, d] = Size.of(1)
        self.turns = self.turns * end

    def condition(self, e: tree.Expression) -> None:
        """A condition that leaves the first of the work-items of a dimension."""
        identity = _identity(e.left) if isinstance(e, tree.Binary) and e.operator == "<" else None
        if identity is not None and isinstance(e, tree.Binary):
            function, d = identity
            end = number_of(e.right, self.prover.sizes)
            kinds = {"get_local_id": ["lcl"], "get_group_id": ["wrg"]}.get(function, ["wrg", "lcl"])
            if end is not None and all((kind, d) in self.ranges for kind in kinds):
                total = Size.of(1)
                for kind in kinds:
                    total = total * self.ranges[kind, d]
                if (total - end).surely_at_least(0) and end.surely_at_least(0):
                    for kind in kinds:
                        self.ranges[kind, d] = Size.of(1)
                    self.ranges[kinds[0], d] = end
                    return
        raise NotCounted("a condition")


def _identity(e: tree.Expression) -> tuple[str, int] | None:
    """The function and the dimension of the number of a work-item."""
    if not isinstance(e, tree.Invocation) or e.function not in _IDENTITIES:
        return None
    [d] = e.arguments
    return (e.function, d.value) if isinstance(d, tree.Whole) else None


_IDENTITIES = ("get_global_id", "get_group_id", "get_local_id")


# ---- arrays


def covered(prover: Prover, writes: Sequence[Access], cells: tree.Expression) -> None:
    """Every cell of a global array is written; raises `NotCounted`.

    That no two work-items write one cell, and that all writes are within the array, is shown elsewhere.
    """
    count = _count(prover, writes, (), space=Space.GLOBAL)
    wanted = number_of(cells, prover.sizes)
    if count != wanted:
        raise NotCounted(f"{count} writes for {wanted} cells")
    _apart(prover, writes, 0, space=Space.GLOBAL)


def initialised(prover: Prover, reads: Sequence[Access], before: Sequence[Access]) -> None:
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


def _count(prover: Prover, writes: Sequence[Access], outer: Place, *, space: Space) -> Size:
    """How many instances of some writes there are in one turn of what is around them."""
    total = Size.of(0)
    for a in writes:
        if not a.sure:
            raise NotCounted("a write under a condition that is not known")
        if a.partial:
            raise NotCounted("some lanes of a vector are written by themselves")
        one = _Instances(prover)
        if not space.of_item:
            one.start(local=space.of_group)
            one.along(
                tuple(w for w in outer if isinstance(w, Fact) and not _of_group(prover, w, space))
            )
        one.along(a.place[len(outer) :])
        total = total + one.total() * a.width
    return total


def _of_group(prover: Prover, fact: Fact, space: Space) -> bool:
    """Whether a condition around all accesses of a local array holds for a whole group or for none of it.

    In a group that gets there, it leaves nobody out.
    """
    return space.of_group and all(
        isinstance(u, tree.Whole | tree.Binary | tree.Prefix)
        or (isinstance(u, tree.Name) and u.name in prover.sizes)
        or (isinstance(u, tree.Invocation) and u.function in ("get_group_id", "get_num_groups"))
        for u in tree.within(fact.condition)
    )


def _bundles(writes: Sequence[Access]) -> list[list[Access]]:
    """Writes in one place, together."""
    found: dict[Place, list[Access]] = {}
    for a in writes:
        found.setdefault(a.place, []).append(a)
    if len(found) > MOST_BUNDLES:
        raise NotCounted(f"writes in {len(found)} places")
    return list(found.values())


def _apart(prover: Prover, writes: Sequence[Access], common: int, *, space: Space) -> None:
    """No two instances of the writes meet in one cell: of one work-item, or of those that share the array.

    Of global arrays, that work-items do not meet is shown as the absence of races.
    """
    bundles = _bundles(writes)
    for i, left in enumerate(bundles):
        for right in bundles[i:]:
            if not _never_meet(prover, left, right, common, space=space):
                raise NotCounted("two writes may meet in one cell")


def _never_meet(
    prover: Prover, left: list[Access], right: list[Access], common: int, *, space: Space
) -> bool:
    import z3

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


def _in_what_is_filled(prover: Prover, accesses: Sequence[Access], count: int, cells: int) -> None:
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


def _within(prover: Prover, access: Access, row: int, kept: range, cells: int) -> bool:
    """Whether an access lies within the cells that are kept of each row."""
    import z3

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

    >>> from relift.compiler.certificates.coverage import unassigned
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
