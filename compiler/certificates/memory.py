"""What an expression reads, and an assignment writes: the accesses, each with the loops and conditions around it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from relift.compiler.certificates.flows import Access, AccessKind, Array, Fact, Iteration, Place
from relift.compiler.certificates.names import Names
from relift.compiler.text.c_types import vector_function
from relift.compiler.text.expressions import in_c, shown
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import (
    Binary,
    Cast,
    Conditional,
    Element,
    Expression,
    Invocation,
    Member,
    Name,
    Prefix,
    Real,
    Whole,
    parts,
)


@dataclass
class Memory:
    """All accesses so far, and the `place` of the next one."""

    names: Names
    place: Place = ()
    found: list[Access] = field(default_factory=list)

    def access(
        self,
        kind: AccessKind,
        array: Array,
        offset: Expression,
        width: int = 1,
        *,
        aligned: bool = False,
        partial: bool = False,
        by: str = "",
    ) -> Access:
        """One access, under the loops and conditions around it that are still what they were."""
        if kind != "read" and array.constant:
            raise NotUnderstood(f"a write to {array.name}, which is constant")
        kept = tuple(
            w for w in self.place if isinstance(w, Iteration) or not self.names.changes(w.condition)
        )
        made = Access(kind, array, offset, width, aligned, kept, kept == self.place, partial, by)
        self.found.append(made)
        return made

    @contextmanager
    def under(self, where: Iteration | Fact) -> Generator[None, None, None]:
        """What is accessed inside is in a turn of a loop, or under a condition."""
        outer, self.place = self.place, (*self.place, where)
        yield
        self.place = outer

    def reads(self, e: Expression) -> list[Access]:
        """The reads that computing e makes, those in a branch under its condition."""
        match e:
            case Whole() | Real():
                return []
            case Name(name):
                if name in self.names.arrays:
                    raise NotUnderstood(f"the array {name} as a value")
                return []
            case Element():
                array, offset = self.pointer(Prefix("&", e))
                return [*self.reads(offset), self.access("read", array, offset)]
            case Prefix("*", pointer):
                return self._through(pointer, "read")
            case Prefix("&", _):
                raise NotUnderstood(f"the address {in_c(e)}")
            case Conditional(condition, yes, no):
                return [
                    *self.reads(condition),
                    *self._reads_under(condition, yes),
                    *self._reads_under(Prefix("!", condition), no),
                ]
            case Binary("&&", left, right):
                return [*self.reads(left), *self._reads_under(left, right)]
            case Binary("||", left, right):
                return [*self.reads(left), *self._reads_under(Prefix("!", left), right)]
            case Invocation(function, (n, pointer)) if width := vector_function(function, "vload"):
                return self.vector("read", n, pointer, width)
            case Member() | Prefix() | Binary() | Invocation() | Cast():
                return [access for part in parts(e) for access in self.reads(part)]

    def _reads_under(self, condition: Expression, e: Expression) -> list[Access]:
        with self.under(Fact(condition)):
            return self.reads(e)

    def vector(
        self, kind: AccessKind, n: Expression, pointer: Expression, width: int
    ) -> list[Access]:
        """What `vload` and `vstore` do to vector n behind a pointer, and the reads to find it."""
        array, offset = self.pointer(pointer)
        if array.type.width != 1:
            raise NotUnderstood(f"{array.name} as an array of scalars")
        start = Binary("+", offset, Binary("*", n, Whole(width)))
        return [*self.reads(start), self.access(kind, array, start, width)]

    def updated(self, cell: Element, by: str) -> list[Access]:
        """What combining a cell with a value by an operation does to memory, and the reads to find it."""
        array, offset = self.pointer(Prefix("&", cell))
        return [*self.reads(offset), self.access("update", array, offset, by=by)]

    def written(self, target: Expression, *, partial: bool = False) -> list[Access]:
        """The accesses that an assignment to a target makes; `partial` where lanes of it are meant."""
        match target:
            case Name(name):
                if name not in self.names.changing:
                    raise NotUnderstood(f"an assignment to {shown(target)}, which is fixed")
                return []
            case Member(of, _):
                return self.written(of, partial=True)
            case Element():
                array, offset = self.pointer(Prefix("&", target))
                return [*self.reads(offset), self.access("write", array, offset, partial=partial)]
            case Prefix("*", pointer) if not partial:
                return self._through(pointer, "write")
            case (
                Whole() | Real() | Prefix() | Binary() | Conditional() | Invocation() | Cast()
            ):  # fmt: skip
                raise NotUnderstood(f"an assignment to {in_c(target)}")

    def _through(self, pointer: Expression, kind: AccessKind) -> list[Access]:
        width, aligned = 1, False
        if isinstance(pointer, Cast) and pointer.type.pointer:
            t, (pointer,) = pointer.type, pointer.arguments
            array, offset = self.pointer(pointer)
            if (t.scalar, t.space) != (
                array.type.scalar,
                array.type.space,
            ) or array.type.width != 1:
                raise NotUnderstood(f"{array.name} as an array of other scalars")
            if t.width == 3:
                raise NotUnderstood(f"{array.name} as an array of vectors of 3, which have 4 cells")
            width, aligned = t.width, t.width > 1
        else:
            array, offset = self.pointer(pointer)
        return [*self.reads(offset), self.access(kind, array, offset, width, aligned=aligned)]

    def pointer(self, e: Expression) -> tuple[Array, Expression]:
        """The array into which a pointer points, and where."""
        match e:
            case Name(name) if name in self.names.arrays:
                return self.names.arrays[name], Whole(0)
            case Binary("+" | "-" as operator, left, right):
                array, offset = self.pointer(left)
                moved = (
                    right
                    if operator == "+" and offset == Whole(0)
                    else Binary(operator, offset, right)
                )
                return array, moved
            case Prefix("&", Element(of, index)):
                return self.pointer(Binary("+", of, index))
            case (
                Whole() | Real() | Name() | Element() | Member() | Prefix() | Binary()
                | Conditional() | Invocation() | Cast()
            ):  # fmt: skip
                raise NotUnderstood(f"the pointer {shown(e)}")
