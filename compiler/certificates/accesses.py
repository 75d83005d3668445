"""What a kernel does to memory: its accesses, where they stand, and which of them barriers keep apart.

Read off the text of the kernel (`kernel_text`).  Constants that are whole numbers are put in place of their
names, so an index mentions numbers of the work-item, loop counters, arguments, and data.  Every other name is
made unique by a suffix such as `#2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from relift.compiler.certificates.flows import (
    FREE,
    Access,
    Array,
    Fact,
    Flow,
    Kind,
    Meeting,
    Place,
    Turn,
    repeated,
    straight,
    under,
)
from relift.compiler.text.expressions import in_c, shown
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import (
    Assignment,
    Barrier,
    Binary,
    Cast,
    Conditional,
    CType,
    Declaration,
    Element,
    Evaluation,
    Expression,
    Guard,
    Invocation,
    KernelText,
    Loop,
    Member,
    Name,
    Prefix,
    Real,
    Statement,
    Whole,
    parts,
    within,
)

NUMBERS_OF_ITEMS = (
    "get_global_id", "get_group_id", "get_local_id", "get_global_size", "get_num_groups"
)  # fmt: skip
"""The functions that tell work-items apart; their numbers have no sign until a variable holds them."""


@dataclass(frozen=True)
class Stop:
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
    `wide` when all counters and constants of the kernel that may occur in an index are of type long.
    """

    all: tuple[Access, ...]
    meetings: tuple[Meeting, ...]
    stops: tuple[Stop, ...]
    whole: Mapping[str, str]
    wide: bool


def accesses_of(
    kernel: KernelText, cells: Mapping[str, Expression], sizes: Iterable[str] = ()
) -> Accesses:
    """The accesses of a kernel whose buffers have this many cells; raises `NotUnderstood`.

    Meetings are given for local memory only: barriers of this compiler order nothing else.

    >>> from relift.compiler.text.reader import read_kernels
    >>> [kernel] = read_kernels("kernel void f(global const float* x) { const float v = x[get_global_id(0)]; }")
    >>> [str(access) for access in accesses_of(kernel, {"x": Whole(8)}).all]
    ['read x[glb_0]']
    """
    return _Walker(kernel, cells, sizes).run()


UNIFORM = ("get_group_id", "get_global_size", "get_num_groups", "min", "max")
"""The functions with one value for all work-items of a group, if their arguments have one."""

_SOMEWHERE = "an array that is not known"


@dataclass
class _Walker:
    kernel: KernelText
    cells: Mapping[str, Expression]
    sizes: Iterable[str]
    arrays: dict[str, Array] = field(default_factory=dict)
    scope: dict[str, Expression] = field(default_factory=dict)
    pointers: dict[str, str] = field(default_factory=dict)
    place: Place = ()
    changing: set[str] = field(default_factory=set)
    uniform: set[str] = field(default_factory=set)
    found: list[Access] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    whole: dict[str, str] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)
    long: set[str] = field(default_factory=set)
    made: int = 0

    def run(self) -> Accesses:
        for size in self.sizes:
            self.scope[size] = Name(size)
            self.uniform.add(size)
        for p in self.kernel.parameters:
            if p.type.pointer:
                if p.name not in self.cells:
                    raise NotUnderstood(f"{p.name} is no buffer of the launch")
                self.arrays[p.name] = array = Array(p.name, p.type, self.cells[p.name])
                if array.constant and _is_whole(p.type):
                    self.whole[p.name] = "input"
            else:
                self.scope[p.name] = Name(p.name)
                if p.type.scalar == "long":
                    self.long.add(p.name)
                if _is_whole(p.type):
                    self.whole[p.name] = "data"
                self.uniform.add(p.name)
        flow = self.flow(self.kernel.body)
        local = tuple(dict.fromkeys(flow.meetings))
        return Accesses(
            tuple(dict.fromkeys(self.found)),
            local,
            tuple(self.stops),
            self.whole,
            self.numbers == {"long"},
        )

    # ---- control

    def flow(self, body: Sequence[Statement]) -> Flow:
        outer, pointers = (
            (dict(self.scope), dict(self.arrays), set(self.long)),
            tuple(self.pointers),
        )
        found = Flow()
        for statement in body:
            found = found.then(self.piece(statement))
        self.scope, self.arrays, self.long = outer
        self.pointers = {name: self.pointers[name] for name in pointers}
        return found

    def piece(self, statement: Statement) -> Flow:
        match statement:
            case Barrier(fences):
                differing = tuple(w for w in self.place if not self._same_for_all(w))
                sure = not any(
                    isinstance(w, Fact) and self._changes(w.condition) for w in self.place
                )
                self.stops.append(Stop(self.place, differing, sure))
                return Flow(ways=() if "local" in fences else FREE)
            case Loop():
                return self.loop(statement)
            case Guard(condition, body):
                asked = self.resolved(condition)
                found = self.reads(asked)
                before = dict(self.pointers)
                inside = self.around(Fact(asked), body)
                if self.pointers != before:
                    raise NotUnderstood("a pointer that is set under a condition")
                told = asked if self._fixed(asked) else None
                return straight(found).then(under(told, inside))
            case Declaration():
                return straight(self.declaration(statement))
            case Assignment(Name(name), "=", value) if name in self.pointers:
                self.pointers[name] = self.pointed(value)
                return Flow()
            case Assignment(target, operator, value):
                value = self.resolved(value)
                target = self.resolved(target)
                found = self.reads(value)
                if operator != "=":
                    found += self.reads(target)
                return straight(found + self.written(target))
            case Evaluation(Invocation(function, (value, n, pointer))) if width := _vector_function(
                function, "vstore"
            ):
                value, n, pointer = map(self.resolved, (value, n, pointer))
                array, offset = self.pointer(pointer)
                start = Binary("+", offset, Binary("*", n, Whole(width)))
                found = self.reads(value) + self.reads(start)
                return straight([*found, self.access("write", array, start, width)])
            case Evaluation(call):
                raise NotUnderstood(f"the statement {in_c(call)}")

    def around(self, where: Turn | Fact, body: Sequence[Statement]) -> Flow:
        outer = self.place
        self.place = (*outer, where)
        found = self.flow(body)
        self.place = outer
        return found

    def loop(self, loop: Loop) -> Flow:
        start, end, step = map(self.resolved, (loop.start, loop.end, loop.step))
        reads = [access for e in (start, end, step) for access in self.reads(e)]
        uniform = all(self._uniform(e) for e in (start, end, step))
        if any(map(self._changes, (start, end, step))):
            raise NotUnderstood(f"a loop to {in_c(loop.end)}, which changes")
        outer = self.scope.get(loop.counter)
        counter = self.fresh(loop.counter)
        self.whole[counter] = "counter"
        self.numbers.add(loop.type.scalar)
        if uniform:
            self.uniform.add(counter)
        turns = Turn(counter, start, end, step, step, uniform)
        bodies, last = self.bodies(loop, turns)
        if outer is None:
            del self.scope[loop.counter]
        else:
            self.scope[loop.counter] = outer
        surely = _turns(turns) > 0
        return straight(reads).then(repeated(bodies, last, turns, surely=surely))

    def bodies(self, loop: Loop, turns: Turn) -> tuple[list[Flow], int]:
        """The body of a loop, once for each way in which a turn finds the pointers, and which one is the last."""
        states = [dict(self.pointers)]
        states += self.exchanged(loop.body)
        period, count = len(states), _turns(turns)
        if period > 1 and not count:
            raise NotUnderstood("a loop that exchanges pointers, and has no known number of turns")
        every = Binary("*", turns.step, Whole(period)) if period > 1 else turns.step
        found, stops = [], len(self.stops)
        for k, state in enumerate(states):
            del self.stops[stops:]  # each turn meets the same barriers
            self.pointers = dict(state)
            late = Binary("*", turns.step, Whole(k))
            start = Binary("+", turns.start, late) if k else turns.start
            found.append(self.around(replace(turns, start=start, step=every), loop.body))
            assert self.pointers == states[(k + 1) % period], "cannot happen: other pointers"
        self.pointers = states[count % period]
        return found, (count - 1) % period

    def exchanged(self, body: Sequence[Statement]) -> list[dict[str, str]]:
        """How the second, third, ... turn of a loop finds the pointers, until one finds them as the first."""
        first, found = dict(self.pointers), list[dict[str, str]]()
        while True:
            self.set_pointers(body)
            if _SOMEWHERE in self.pointers.values():
                raise NotUnderstood("pointers that a block in a loop exchanges")
            if self.pointers == first:
                return found
            if self.pointers in found:
                raise NotUnderstood("a loop that never sets its pointers back")
            found.append(dict(self.pointers))

    def set_pointers(self, body: Sequence[Statement]) -> None:
        """Follow the pointers alone through a body."""
        kept = tuple(self.pointers)
        for statement in body:
            match statement:
                case Declaration(t, name, _, Name(value)) if t.pointer:
                    self.pointers[name] = self.pointers.get(value, value)
                case Assignment(Name(name), "=", Name(value)) if name in self.pointers:
                    self.pointers[name] = self.pointers.get(value, value)
                case Loop() | Guard():
                    before = dict(self.pointers)
                    self.set_pointers(statement.body)
                    changed = {name for name in before if self.pointers[name] != before[name]}
                    self.pointers |= dict.fromkeys(changed, _SOMEWHERE)
                case _:
                    pass
        self.pointers = {name: self.pointers[name] for name in kept}

    # ---- names

    def fresh(self, name: str) -> str:
        self.made += 1
        key = f"{name}#{self.made}"
        self.scope[name] = Name(key)
        self.arrays.pop(name, None)
        return key

    def declaration(self, d: Declaration) -> list[Access]:
        if d.type.pointer:
            if d.name in self.pointers or d.value is None:
                raise NotUnderstood(f"the pointer {d.name} without a value, or declared again")
            self.pointers[d.name] = name = self.pointed(d.value)
            if replace(self.arrays[name].type, pointer=True, constant=d.type.constant) != d.type:
                raise NotUnderstood(f"the pointer {d.name} into an array of another type")
            return []
        if d.name in self.pointers:
            raise NotUnderstood(f"{d.name}, which hides a pointer")
        if d.extent is not None:
            self.made += 1
            cells = self.resolved(d.extent)
            self.scope.pop(d.name, None)
            self.arrays[d.name] = Array(d.name, d.type, cells, self.made)
            return []
        wide = d.value is not None and self._is_long(d.value)
        value = None if d.value is None else self.resolved(d.value)
        found = [] if value is None else self.reads(value)
        cut = wide and d.type.scalar == "int"  # C drops the higher bits
        fixed = d.type.constant and _is_whole(d.type) and not cut
        if value is not None and fixed and self._fixed(value):
            self.numbers.add(d.type.scalar)
            self.scope[d.name] = value
            self.arrays.pop(d.name, None)
            (self.long.add if d.type.scalar == "long" else self.long.discard)(d.name)
        else:
            key = self.fresh(d.name)
            if _is_whole(d.type):
                self.whole[key] = "data"
            (self.long.add if d.type.scalar == "long" else self.long.discard)(d.name)
            if not d.type.constant:
                self.changing.add(key)
        return found

    def _is_long(self, e: Expression) -> bool:
        """Whether an expression may be of the type long; no name that ever was may be left out."""
        return any(
            (isinstance(u, Whole) and u.long)
            or (isinstance(u, Name) and u.name in self.long)
            or (isinstance(u, Cast) and u.type.scalar == "long")
            or (
                isinstance(u, Name)
                and u.name in self.arrays
                and self.arrays[u.name].type.scalar == "long"
            )
            for u in within(e)
        )

    def pointed(self, value: Expression) -> str:
        """The array to whose start a pointer is set."""
        match self.resolved(value):
            case Name(name) if name in self.arrays:
                return name
            case e:
                raise NotUnderstood(f"the pointer {shown(e)}, which is not the start of an array")

    def _fixed(self, e: Expression) -> bool:
        """Whether e has one value for a work-item and the turns around it, whenever it is computed."""
        return all(
            (not isinstance(u, Name) or u.name not in self.changing)
            and not isinstance(u, Real | Cast | Member)
            and (not isinstance(u, Element) or self._of_constant(u))
            for u in within(e)
        )

    def _changes(self, e: Expression) -> bool:
        """Whether e may have another value later: it reads a variable, or memory, that may be written."""
        return any(
            (isinstance(u, Name) and u.name in self.changing)
            or (isinstance(u, Prefix) and u.operator == "*")
            or (isinstance(u, Invocation) and _vector_function(u.function, "vload") > 0)
            or (isinstance(u, Element) and not self._of_constant(u))
            for u in within(e)
        )

    def _of_constant(self, e: Element) -> bool:
        return isinstance(e.array, Name) and self.arrays[e.array.name].constant

    def _uniform(self, e: Expression) -> bool:
        return all(
            isinstance(u, Whole | Binary | Prefix | Conditional)
            or (isinstance(u, Name) and u.name in self.uniform)
            or (isinstance(u, Invocation) and u.function in UNIFORM)
            for u in within(e)
        )

    def _same_for_all(self, where: Turn | Fact) -> bool:
        return where.uniform if isinstance(where, Turn) else self._uniform(where.condition)

    def resolved(self, e: Expression) -> Expression:
        """e with unique names, and constants in place of theirs."""
        if isinstance(e, Prefix | Binary) and any(map(_without_sign, parts(e))):
            raise NotUnderstood(f"the arithmetic without signs {in_c(e)}")
        match e:
            case Name(name):
                if name in self.pointers:
                    return Name(self.pointers[name])
                if name in self.arrays:
                    return e
                if name not in self.scope:
                    return e if name.isupper() else self._unknown(name)
                return self.scope[name]
            case Whole() | Real():
                return e
            case Element(array, index):
                return Element(self.resolved(array), self.resolved(index))
            case Member(of, name):
                return Member(self.resolved(of), name)
            case Prefix(operator, operand):
                return Prefix(operator, self.resolved(operand))
            case Binary(operator, left, right):
                return Binary(operator, self.resolved(left), self.resolved(right))
            case Conditional(condition, yes, no):
                return Conditional(*map(self.resolved, (condition, yes, no)))
            case Invocation(function, arguments):
                return Invocation(function, tuple(map(self.resolved, arguments)))
            case Cast(t, arguments):
                return Cast(t, tuple(map(self.resolved, arguments)))

    def _unknown(self, name: str) -> Expression:
        raise NotUnderstood(f"the name {name}")

    # ---- accesses

    def access(
        self, kind: Kind, array: Array, offset: Expression, width: int = 1, *, aligned: bool = False
    ) -> Access:
        if kind == "write" and array.constant:
            raise NotUnderstood(f"a write to {array.name}, which is constant")
        kept = tuple(w for w in self.place if isinstance(w, Turn) or not self._changes(w.condition))
        made = Access(kind, array, offset, width, aligned, kept, kept == self.place)
        self.found.append(made)
        return made

    def reads(self, e: Expression) -> list[Access]:
        """The reads that computing e makes, those in a branch under its condition."""
        match e:
            case Whole() | Real():
                return []
            case Name(name):
                if name in self.arrays:
                    raise NotUnderstood(f"the array {name} as a value")
                return []
            case Element():
                array, offset = self.pointer(Prefix("&", e))
                return [*self.reads(offset), self.access("read", array, offset)]
            case Prefix("*", pointer):
                return self.through(pointer, "read")
            case Prefix("&", _):
                raise NotUnderstood(f"the address {in_c(e)}")
            case Conditional(condition, yes, no):
                return [
                    *self.reads(condition),
                    *self.reads_under(condition, yes),
                    *self.reads_under(Prefix("!", condition), no),
                ]
            case Binary("&&", left, right):
                return [*self.reads(left), *self.reads_under(left, right)]
            case Binary("||", left, right):
                return [*self.reads(left), *self.reads_under(Prefix("!", left), right)]
            case Invocation(function, (n, pointer)) if width := _vector_function(function, "vload"):
                array, offset = self.pointer(pointer)
                start = Binary("+", offset, Binary("*", n, Whole(width)))
                return [*self.reads(start), self.access("read", array, start, width)]
            case _:
                return [access for part in parts(e) for access in self.reads(part)]

    def reads_under(self, condition: Expression, e: Expression) -> list[Access]:
        outer = self.place
        self.place = (*outer, Fact(condition))
        found = self.reads(e)
        self.place = outer
        return found

    def written(self, target: Expression) -> list[Access]:
        match target:
            case Name(name):
                if name not in self.changing:
                    raise NotUnderstood(f"an assignment to {shown(target)}, which is fixed")
                return []
            case Member(of, _):
                return self.written(of)
            case Element():
                array, offset = self.pointer(Prefix("&", target))
                return [*self.reads(offset), self.access("write", array, offset)]
            case Prefix("*", pointer):
                return self.through(pointer, "write")
            case _:
                raise NotUnderstood(f"an assignment to {in_c(target)}")

    def through(self, pointer: Expression, kind: Kind) -> list[Access]:
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
            case Name(name) if name in self.arrays:
                return self.arrays[name], Whole(0)
            case Binary("+" | "-" as operator, left, right):
                array, offset = self.pointer(left)
                moved = (
                    right
                    if operator == "+" and offset == Whole(0)
                    else Binary(operator, offset, right)
                )
                return array, moved
            case Prefix("&", Element(Name(name), index)) if name in self.arrays:
                return self.arrays[name], index
            case _:
                raise NotUnderstood(f"the pointer {shown(e)}")


def _without_sign(e: Expression) -> bool:
    """Whether a number of a work-item is computed with before a variable with a sign holds it."""
    match e:
        case Invocation(function, arguments):
            return function in NUMBERS_OF_ITEMS or (
                function in ("min", "max") and any(map(_without_sign, arguments))
            )
        case Conditional(_, yes, no):
            return _without_sign(yes) or _without_sign(no)
        case _:
            return False


def _is_whole(t: CType) -> bool:
    return t.scalar in ("int", "long") and t.width == 1


def _turns(w: Turn) -> int:
    """How many turns a loop surely has, 0 if that is not known."""
    match w.start, w.end, w.step:
        case Whole(start), Whole(end), Whole(step) if step > 0:
            return max(0, -((start - end) // step))
        case _:
            return 0


def _vector_function(function: str, stem: str) -> int:
    """The width of vloadN and vstoreN, else 0."""
    m = re.fullmatch(stem + r"(\d+)", function)
    return int(m[1]) if m else 0
