"""Where a work-group must wait: which local memories were written, and read, since the last barrier.

A work-item may read what another one wrote only after a barrier, and may overwrite what another one reads
only after a barrier.  Barriers stand in group-uniform code, never in a `map_lcl`: before the statement, the
outermost `map_lcl` nest or the loop that reads, and at the end of a loop body that will overwrite.

A barrier in code that a group may skip, the body of an `if` or of a loop that may have no turn, keeps apart only
what stands in that code: after it, what was not synchronised before still is not.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field

from relift.compiler.codegen.body import Body, Mark
from relift.compiler.text.tree import Barrier, Statement, expressions_of, variables
from relift.semantics.indices.views import Memory

BARRIER = Barrier(frozenset(["group"]))
"""All work-items of a group see what each has written to local memory."""


@dataclass
class Barriers:
    """The local memories with unsynchronised traffic; without effect in groups of one work-item.

    `uniform` is true where a barrier may stand.  `touched` and `filled` hold what the current statement or
    unit reads and writes, `in_body` what the current loop body has written, `known` all local memories that were
    ever written, `pointers` what each may show.
    """

    emitted: Body
    active: bool
    uniform: bool = True
    written: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    filled: set[str] = field(default_factory=set)
    in_body: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    pointers: dict[str, frozenset[str]] = field(default_factory=dict)

    def point(self, pointer: Memory, arrays: Iterable[str]) -> None:
        """From here on, what is accessed by a pointer may be any of some arrays."""
        self.pointers[pointer.name] = frozenset(arrays)

    def _arrays(self, memory: Memory) -> frozenset[str]:
        return self.pointers.get(memory.name, frozenset((memory.name,)))

    def on_read(self, memory: Memory) -> None:
        """Note that a cell is read."""
        if memory.space.of_group:
            self.touched |= self._arrays(memory)

    def on_write(self, memory: Memory) -> None:
        """Note that a cell is written."""
        if memory.space.of_group:
            self.filled |= self._arrays(memory)
            self.in_body |= self._arrays(memory)
            self.known |= {memory.name, *self._arrays(memory)}

    def on_statement(self, s: Statement) -> None:
        """Note what a statement reads: its expressions may be older than the last barrier."""
        if self.active and self.known:
            mentioned = set[str]().union(*map(variables, expressions_of(s)))
            for name in self.known & mentioned:
                self.touched |= self.pointers.get(name, frozenset((name,))) - self.filled

    def before_statement(self) -> None:
        """In uniform code: a barrier here, if the statement about to be emitted needs it."""
        if self.uniform:
            self._settle(self.emitted.mark())

    @contextmanager
    def unit(self) -> Generator[None, None, None]:
        """No barrier stands in what is emitted inside; the one that it needs goes before it."""
        if not self.uniform:
            yield
            return
        self.before_statement()
        mark = self.emitted.mark()
        self.uniform = False
        try:
            yield
        finally:
            self.uniform = True
        self._settle(mark)

    @contextmanager
    def skippable(self) -> Generator[None, None, None]:
        """Code that a whole group may leave out is emitted inside: afterwards both may have happened."""
        self.before_statement()
        written, read = set(self.written), set(self.read)
        yield
        self.before_statement()
        self.written |= written
        self.read |= read

    def here(self) -> None:
        """A barrier whether it is needed or not, where one may stand."""
        if self.active and self.uniform:
            self.emitted.add(BARRIER)
            self.written, self.read = set(), set()

    def _settle(self, mark: Mark) -> None:
        if self.active and self.touched & self.written:
            self.emitted.insert(mark, BARRIER)
            self.written, self.read = set(), set()
        self.read |= self.touched
        self.written |= self.filled
        self.touched, self.filled = set(), set()

    @contextmanager
    def loop_body(self) -> Generator[None, None, None]:
        """A loop body is emitted inside; it ends with a barrier when its next run overwrites what was read."""
        outer, self.in_body = self.in_body, set()
        yield
        if self.active and self.uniform:
            self._settle(self.emitted.mark())
            if self.in_body & self.read:
                self.emitted.add(BARRIER)
                self.written, self.read = set(), set()
        self.in_body |= outer
