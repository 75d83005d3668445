"""A proof that a lifted program is what its loops compute, for arrays of all sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import z3

from relift.compiler.idioms.facts.accesses import Access
from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.expressions import SCALARS
from relift.compiler.idioms.facts.values.terms import Opaque
from relift.compiler.idioms.finding import Found
from relift.compiler.idioms.lifting.layouts import absolute
from relift.compiler.idioms.lifting.programs import Lifted
from relift.compiler.idioms.proofs.execution import Execution
from relift.compiler.idioms.proofs.folds import Equations
from relift.compiler.idioms.proofs.instructions import CELL, Carrying, FollowedArray
from relift.compiler.idioms.proofs.programs import Programs, is_cut
from relift.compiler.idioms.proofs.scalars import Scalars
from relift.rewrites.checks.smt.goals import EFFORT, Number, Open, Solver
from relift.semantics.errors import Unsupported
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import distinct
from relift.semantics.syntax.types import dimensions


@dataclass(frozen=True)
class Proof:
    """How many statements were proved, with which invariants and assumptions; or why there is no proof.

    `rounded`: floats are as the machine rounds them, for the same operations are done in the same order; else they are taken
    for real numbers.
    """

    statements: int = 0
    rounded: bool = False
    invariants: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a proof."""
        return self.reason is None

    def __str__(self) -> str:
        if self.reason is not None:
            return f"not proved: {self.reason}"
        floats = "to the last bit" if self.rounded else "over real numbers"
        beside = f", {' and '.join(self.apart)} being other arrays" if self.apart else ""
        return f"proved for all sizes, {floats}{beside} ({self.statements} statements, Z3)"


def proof(relations: Relations, found: Found, lifted: Lifted, effort: int = EFFORT) -> Proof:
    """A proof for a find of affine loops: first with floats as they are rounded, then with real numbers.

    `effort` is what Z3 may do for each statement that loops and program are one.
    """
    said = ""
    widths = (False, True) if any(map(is_cut, distinct(lifted.program.body))) else (False,)
    for rounded, wide in product((True, False), widths):
        try:
            return _Proving(relations, found, lifted, rounded, wide, effort).proof()
        except Open as error:
            said = str(error)
        except Opaque as reason:
            return Proof(reason=str(reason))
        except Unsupported as reason:
            return Proof(reason=reason.message)
    return Proof(reason=said)


class _Proving:
    def __init__(
        self, relations: Relations, found: Found, lifted: Lifted, rounded: bool, wide: bool,
        effort: int,
    ) -> None:  # fmt: skip
        self.relations, self.found, self.lifted = relations, found, lifted
        self.prover, self.rounded = Solver(), rounded
        scalars = Scalars(rounded, lifted.asks("not a number"), self.prover.bounds)
        self.equations = Equations(self.prover, scalars, effort)
        self.execution = Execution(relations, found.loop, self.equations, None)
        self.execution.rises = lifted.asks("rows that rise")
        self.prover.names.update({n: self._size(m) for n, m in lifted.sizes.items()})
        for size, least in lifted.natural:
            self.prover.given.append(self._size(size) >= least)
        self.programs = Programs(lifted, self.equations, self._size, wide)

    def _size(self, size: Size) -> Number:
        return self.execution.size(size)

    def proof(self) -> Proof:
        """The proof; raises `Open` and `Opaque`."""
        if self.prover.impossible():
            raise Opaque("no sizes meet the conditions")
        if self.found.result in self.relations.accesses:
            self._cells()
        else:
            self._value()
        spelled = self.relations.evolution.spelled
        return Proof(
            self.equations.proved + self.prover.proved, self.rounded, tuple(self.equations.invariants),
            tuple(spelled(a) for a in self.execution.apart),
        )  # fmt: skip

    def _value(self) -> None:
        """A value that the loop leaves."""
        root, name = self.found.loop, self.found.result
        phi = self.relations.instructions[name]
        if self.relations.evolution.is_late(root):
            name = next(
                v for v, b in zip(phi.operands, phi.labels, strict=True) if b in root.blocks
            )
        left = self.execution.run().get(name)
        if left is None:
            raise Opaque("what the loop leaves is not understood")
        self.equations.same(left, self.programs.result(()), "the value that the loop leaves")

    def _cells(self) -> None:
        """Any cell of what is written: the loops come to it in one iteration of those that move it."""
        store = self.relations.accesses[self.found.result]
        lengths, _ = dimensions(self.lifted.program.body.type)
        if len(lengths) != len(self.lifted.target.strides):
            raise Opaque("the program has other dimensions than the loops")
        cell = tuple(z3.Int(f"cell {d}") for d in range(len(lengths)))
        for i, n in zip(cell, lengths, strict=True):
            self.prover.given += [i >= 0, i < self.prover.size(n)]
        cells = self.relations.evolution.cells(store.base, store.type)
        if self._is_chosen(store):
            if self.lifted.target.strides != (Size.of(1),):
                raise Opaque("cells that data choose are those of a whole array")
            index = self._size(self.lifted.target.first) + cell[0]
            target = FollowedArray(store, SCALARS[store.type], index, cells, {}, chosen=True)
            in_turn = self.relations.updates(store)
            self.programs.at_once = len(in_turn) if len(in_turn) > 1 else 0
            self._leaves(target, cell)
            return
        self.execution.carrying = self._carrying(store)
        moving: dict[str, Number] = {}
        for access in self.relations.accesses.values():
            inside = access.instruction.block in self.found.loop.blocks
            apart = access.base != store.base or self.relations.evolution.apart(access, store)
            if access.is_store and inside and not apart:
                moving.update(self._moved(access, cell))
        strides = self.lifted.target.strides
        self._apart(lengths, strides)
        index = self._size(self.lifted.target.first)
        for i, stride in zip(cell, strides, strict=True):
            index = index + i * self._size(stride)
        self._leaves(FollowedArray(store, SCALARS[store.type], index, cells, moving), cell)

    def _leaves(self, target: FollowedArray, cell: tuple[Number, ...]) -> None:
        """Show that the loops leave in a cell what the program says."""
        self.execution.target = target
        left = self.execution.run()[CELL]
        self.equations.same(left, self.programs.result(cell), "the cell that the loops leave")

    def _is_chosen(self, store: Access) -> bool:
        """Whether data say which cells are written."""
        evolution, root = self.relations.evolution, self.found.loop
        return not all(
            isinstance(n, Counter) or evolution.stays(n, root) for n in store.index.names()
        )

    def _carrying(self, store: Access) -> Carrying | None:
        """The store of a loop that reads what the iteration before it has stored."""
        loop = self.found.loop
        stride = self.relations.evolution.stride(store, loop)
        if self.found.idiom != "scan" or stride is None or not stride.constant:
            return None
        inside = [a for _, a in self.relations.accesses_of(loop) if a.base == store.base]
        if sum(a.is_store for a in inside) != 1 or len(inside) == 1:
            return None
        return Carrying(store.instruction, store.index, stride.constant)

    def _moved(self, store: Access, cell: tuple[Number, ...]) -> dict[str, Number]:
        """The iteration of each loop around a store that comes to a cell."""
        strides = self.lifted.target.strides
        found: dict[str, Number] = {}
        for loop in self.relations.control.around(store.instruction.block):
            if loop.header not in self.found.loop.blocks:
                continue
            stride = self.relations.evolution.stride(store, loop)
            if stride is None or (stride != 0 and strides.count(stride) != 1):
                raise Opaque("how a loop moves what it writes is not understood")
            if stride != 0:
                d = strides.index(stride)
                found[loop.header] = cell[d]
                trips = self.relations.evolution.trips(loop)
                assert trips is not None, "cannot happen: the loops of an idiom are counted"
                length = self.prover.size(dimensions(self.lifted.program.body.type)[0][d])
                self.prover.show(self._size(trips) == length, "each cell has its iteration")
        if len(found) != len(strides):
            raise Opaque("a store goes to some cells only")
        return found

    def _apart(self, lengths: Sequence[Size], strides: tuple[Size, ...]) -> None:
        """Show that two iterations come to two cells: each stride spans what those below it reach."""
        ordered = sorted(zip(strides, lengths, strict=True), key=lambda x: _rank(x[0]))
        reach: Any = z3.IntVal(1)
        for stride, n in ordered:
            size = self._size(absolute(stride))
            said = self.relations.evolution.spelled
            fact = size >= reach
            if not self.prover.holds(fact) and not self.lifted.asks("rows that overlap"):
                raise Opaque(f"rows of {said(self.lifted.target.value)} may overlap")
            reach = size * self.prover.size(n)


def _rank(stride: Size) -> tuple[int, int]:
    """Strides by how large they are: products of more sizes after those of less."""
    return max((sum(p for _, p in m) for m in stride.terms), default=0), abs(stride.constant or 0)
