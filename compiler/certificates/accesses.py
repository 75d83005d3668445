"""What a kernel does to memory: its accesses, where they stand, and which of them barriers keep apart.

Read off the text of the kernel: an index mentions numbers of the work-item, loop counters, arguments, and data (see
`names`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from relift.compiler.certificates.flows import (
    FREE,
    Access,
    BarrierInterval,
    ConflictPair,
    Fact,
    Iteration,
    Place,
    repeated,
    straight,
    under,
)
from relift.compiler.certificates.memory import Memory
from relift.compiler.certificates.names import Names
from relift.compiler.text import tree
from relift.compiler.text.c_types import updated_by, vector_function
from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood


@dataclass(frozen=True)
class BarrierSite:
    """A barrier, the loops and conditions around it, and those of them on which work-items of a group may differ.

    `sure` where no condition may have changed since it was asked.
    """

    place: Place
    differing: Place
    sure: bool


@dataclass(frozen=True)
class Accesses:
    """All accesses of a kernel, in order, what barriers leave together, and the barriers.

    `whole` are the names that are signed whole numbers: `counter`, `input` (a constant array of them), `data`.
    `tables` has the values of those of them that are constants of the text.
    `wide` when all counters and constants of the kernel that may occur in an index are of type long.
    """

    all: tuple[Access, ...]
    conflicts: tuple[ConflictPair, ...]
    stops: tuple[BarrierSite, ...]
    whole: Mapping[str, str]
    wide: bool
    tables: Mapping[str, tuple[int, ...]]


def accesses_of(
    kernel: tree.KernelText, cells: Mapping[str, tree.Expression], sizes: Iterable[str] = ()
) -> Accesses:
    """The accesses of a kernel whose buffers have this many cells; raises `NotUnderstood`.

    Conflicts are given for local memory only: barriers of this compiler order nothing else.

    >>> from relift.compiler.certificates.accesses import accesses_of
    >>> from relift.compiler.text.tree import Whole
    >>> from relift.compiler.text.reader import read_kernels
    >>> [kernel] = read_kernels("kernel void f(global const float* x) { const float v = x[get_global_id(0)]; }")
    >>> [str(access) for access in accesses_of(kernel, {"x": Whole(8)}).all]
    ['read x[glb_0]']
    """
    return _Walker(kernel, cells, sizes).run()


class _Walker:
    """The statements of a kernel, in order."""

    def __init__(
        self, kernel: tree.KernelText, cells: Mapping[str, tree.Expression], sizes: Iterable[str]
    ) -> None:
        self.kernel = kernel
        self.cells = cells
        self.sizes = sizes
        self.names = Names()
        self.memory = Memory(self.names)
        self.stops: list[BarrierSite] = []

    def run(self) -> Accesses:
        for size in self.sizes:
            self.names.size(size)
        for p in self.kernel.parameters:
            self.names.parameter(p, self.cells)
        flow = self.flow(self.kernel.body)
        local = tuple(dict.fromkeys(flow.conflicts))
        return Accesses(
            tuple(dict.fromkeys(self.memory.found)),
            local,
            tuple(self.stops),
            self.names.whole,
            self.names.numbers == {"long"},
            self.names.tables,
        )

    def flow(self, body: Sequence[tree.Statement]) -> BarrierInterval:
        found = BarrierInterval()
        with self.names.block():
            for statement in body:
                found = found.then(self.piece(statement))
        return found

    def piece(self, statement: tree.Statement) -> BarrierInterval:
        match statement:
            case tree.Barrier(fences):
                self.stops.append(self.stop())
                return BarrierInterval(ways=() if "group" in fences else FREE)
            case tree.Loop():
                return self.loop(statement)
            case tree.Guard(condition, body):
                asked = self.names.resolved(condition)
                found = self.memory.reads(asked)
                before = dict(self.names.pointers)
                inside = self.around(Fact(asked), body)
                if self.names.pointers != before:
                    raise NotUnderstood("a pointer that is set under a condition")
                told = asked if self.names.is_fixed(asked) else None
                return straight(found).then(under(told, inside))
            case tree.Declaration():
                return straight(self.declaration(statement))
            case tree.Assignment(tree.Name(name), "=", value) if name in self.names.pointers:
                self.names.pointers[name] = self.names.pointed(value)
                return BarrierInterval()
            case tree.Assignment(target, operator, value):
                value = self.names.resolved(value)
                target = self.names.resolved(target)
                found = self.memory.reads(value)
                if operator != "=":
                    found += self.memory.reads(target)
                return straight(found + self.memory.written(target))
            case tree.Evaluation(tree.Invocation(function, (value, n, pointer))) if (
                width := vector_function(function, "vstore")
            ):
                value, n, pointer = map(self.names.resolved, (value, n, pointer))
                found = self.memory.reads(value)
                return straight([*found, *self.memory.vector("write", n, pointer, width)])
            case tree.Evaluation(call):
                if (update := updated_by(call)) is None:
                    raise NotUnderstood(f"the statement {in_c(call)}")
                how, cell, value = update
                place, value = self.names.resolved(cell), self.names.resolved(value)
                if (
                    not isinstance(place, tree.Element)
                    or self.memory.pointer(place.array)[0].type.width > 1
                ):
                    raise NotUnderstood(f"the statement {in_c(call)}")
                return straight([*self.memory.reads(value), *self.memory.updated(place, how.by)])

    def stop(self) -> BarrierSite:
        """A barrier that stands here."""
        place, names = self.memory.place, self.names
        differing = tuple(w for w in place if not names.same_for_all(w))
        sure = not any(isinstance(w, Fact) and names.changes(w.condition) for w in place)
        return BarrierSite(place, differing, sure)

    def around(self, where: Iteration | Fact, body: Sequence[tree.Statement]) -> BarrierInterval:
        with self.memory.under(where):
            return self.flow(body)

    def loop(self, loop: tree.Loop) -> BarrierInterval:
        start, end, step = map(self.names.resolved, (loop.start, loop.end, loop.step))
        reads = [access for e in (start, end, step) for access in self.memory.reads(e)]
        uniform = all(self.names.is_uniform(e) for e in (start, end, step))
        if any(map(self.names.changes, (start, end, step))):
            raise NotUnderstood(f"a loop to {in_c(loop.end)}, which changes")
        with self.names.counter(loop, uniform=uniform) as counter:
            turns = Iteration(counter, start, end, step, step, uniform)
            bodies, last = self.bodies(loop, turns)
        surely = _turns(turns) > 0
        return straight(reads).then(repeated(bodies, last, turns, surely=surely))

    def bodies(self, loop: tree.Loop, turns: Iteration) -> tuple[list[BarrierInterval], int]:
        """The body of a loop, once for each way in which a turn finds the pointers, and which one is the last."""
        states = [dict(self.names.pointers)]
        states += self.names.exchanged(loop.body)
        period, count = len(states), _turns(turns)
        if period > 1 and not count:
            raise NotUnderstood("a loop that exchanges pointers, and has no known number of turns")
        every = tree.Binary("*", turns.step, tree.Whole(period)) if period > 1 else turns.step
        found, stops = [], len(self.stops)
        for k, state in enumerate(states):
            del self.stops[stops:]  # each turn meets the same barriers
            self.names.pointers = dict(state)
            late = tree.Binary("*", turns.step, tree.Whole(k))
            start = tree.Binary("+", turns.start, late) if k else turns.start
            found.append(self.around(replace(turns, start=start, step=every), loop.body))
            assert self.names.pointers == states[(k + 1) % period], "cannot happen: other pointers"
        self.names.pointers = states[count % period]
        return found, (count - 1) % period

    def declaration(self, d: tree.Declaration) -> list[Access]:
        if d.type.pointer:
            self.names.pointer(d)
            return []
        if d.name in self.names.pointers:
            raise NotUnderstood(f"{d.name}, which hides a pointer")
        if d.extent is not None:
            self.names.array(d, d.extent)
            return []
        value = None if d.value is None else self.names.resolved(d.value)
        found = [] if value is None else self.memory.reads(value)
        self.names.variable(d, value)
        return found


def _turns(w: Iteration) -> int:
    """How many turns a loop surely has, 0 if that is not known."""
    start, end, step = (
        e.value if isinstance(e, tree.Whole) else None for e in (w.start, w.end, w.step)
    )
    if start is None or end is None or step is None or step <= 0:
        return 0
    return max(0, -((start - end) // step))
