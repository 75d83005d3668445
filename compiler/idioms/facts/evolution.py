"""Scalar evolution: integers and addresses as polynomials over the counters of loops and over what no loop changes.

The polynomials are those of sizes.  Their atoms are names: `$L` is the number of iterations done of the loop whose header
is L, `%x` and `@g` are values of the function, `Quotient` is a rounded-up quotient.  Arithmetic that wraps is opaque, unless
C calls it undefined (`nsw`) or the wrap is recorded as a condition.

>>> from relift.compiler.idioms.facts.evolution import trips
>>> from relift import nat
>>> print(trips("slt", nat("a"), 1, nat("n")), trips("sgt", nat("n"), -1, 0 * nat("n")), trips("slt", nat("a"), -1, nat("n")))
-a + n n None
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from relift.compiler.idioms.facts.control import Control, Loop
from relift.compiler.idioms.facts.fields import Fields, last_word
from relift.compiler.idioms.facts.llvm.ir import Function, Instruction, Module
from relift.compiler.idioms.facts.llvm.layout import NoLayout, member, size_in_bytes
from relift.compiler.idioms.facts.names import Counter, bare, is_constant
from relift.semantics.syntax.monomials import Atom
from relift.semantics.syntax.sizes import Size

T = TypeVar("T")
_WHOLE = re.compile(r"-?\d+$")
_SWAPPED = {"l": "g", "g": "l"}
_NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
PURE = frozenset(["llvm.fabs", "llvm.sqrt", "llvm.exp", "llvm.log", "llvm.sin", "llvm.cos", "llvm.pow", "llvm.fma", "llvm.fmuladd", "llvm.smax", "llvm.smin", "llvm.umax", "llvm.umin", "llvm.abs", "llvm.minnum", "llvm.maxnum", "llvm.uadd.sat", "llvm.usub.sat", "llvm.floor", "llvm.ceil", "fabs", "fabsf", "sqrt", "sqrtf", "exp", "expf", "log", "logf", "sin", "sinf", "cos", "cosf", "pow", "powf", "tan", "tanf", "tanh", "tanhf", "asin", "asinf", "acos", "acosf", "atan", "atanf", "atan2", "atan2f", "fmin", "fminf", "fmax", "fmaxf", "floor", "floorf", "ceil", "ceilf", "hypot", "hypotf", "abs", "labs"])  # fmt: skip
"""Functions of C's library that only compute their result."""


@dataclass(frozen=True)
class Quotient:
    """The atom `ceil(of / by)`; `exact` where a loop would not end if something were left over."""

    of: Size
    by: int
    exact: bool = False

    def __str__(self) -> str:
        if self.exact:
            return f"(({self.of})/{self.by})"
        return f"ceil(({self.of})/{self.by})"


def exact_quotients(size: Size) -> Iterator[Quotient]:
    """The quotients of a size of which nothing must be left over."""
    return (a for a in size.atoms() if isinstance(a, Quotient) and a.exact)


def library_name(callee: str) -> str:
    """The name of a function that is called, without the types of an intrinsic.

    >>> from relift.compiler.idioms.facts.evolution import library_name
    >>> library_name("@llvm.fabs.f32"), library_name("@sqrtf")
    ('llvm.fabs', 'sqrtf')
    """
    name = bare(callee).strip('"')
    return (
        re.sub(r"(?:\.(?:[fi]\d+|v\d+\w+|p\d+))+$", "", name) if name.startswith("llvm.") else name
    )


class Evolution:
    """The evolution of each value of a function."""

    def __init__(self, function: Function, control: Control, module: Module) -> None:
        self.function, self.control, self.module = function, control, module
        self.wraps: dict[str, str] = {}
        """What is assumed of a value that may wrap, in words."""
        self.bounds: dict[str, tuple[int, int]] = {}
        """The least and the greatest number that it is then, where its type holds others."""
        self.endings: dict[str, int | None] = {}
        """How often loops go on at most that are not counted, by the blocks that enter them; None where that is not shown."""
        self._raw: dict[str, Size] = {}
        self._known: dict[str, Size] = {}
        self._computing = 0
        self._steps: dict[str, tuple[Size, Size] | None] = {}
        self._trips: dict[str, Size | None] = {}
        self._steady = _Steady(self)
        self.fields = Fields(function, module, lambda pointer: self.placed(self.of(pointer)))

    def _unsettled(self, compute: Callable[[], T]) -> T:
        """What is computed; what is found on the way may be opaque for the time."""
        self._computing += 1
        try:
            return compute()
        finally:
            self._computing -= 1

    # ---- values

    def of(self, value: str) -> Size:
        """A value as a polynomial."""
        if value in self._known:
            return self._known[value]
        is_first = self.is_settled
        found = self._unsettled(lambda: self._resolved(self.raw(value)))
        if is_first:
            self._known[value] = found
        return found

    def raw(self, value: str) -> Size:
        """A value as a polynomial in which the phis of loops are opaque."""
        if value in self._raw:
            return self._raw[value]
        if _WHOLE.match(value):
            return Size.of(int(value))
        if value in ("false", "null"):
            return Size.of(0)
        if value == "true":
            return Size.of(1)
        found = self.function.values.get(value)
        self._raw[value] = Size.atom(value)  # what is found in a circle is opaque
        if found is not None:
            self._raw[value] = self._computed(found)
        return self._raw[value]

    def _resolved(self, size: Size) -> Size:
        values: dict[str, Size] = {}
        for name in size.names():
            step = self.step(name)
            if step is not None:
                loop = self.control.loop_of[self.function.values[name].block]
                values[name] = self._resolved(step[0]) + step[1] * Size.atom(loop.counter)
        return size.substitute(values)

    def _computed(self, i: Instruction) -> Size:
        a = i.operands[0] if i.operands else ""
        opaque = Size.atom(i.name)
        match i.opcode:
            case "add" | "sub" | "mul" | "shl":
                return self._arithmetic(i)
            case "or" if "disjoint" in i.flags:
                return self.raw(a) + self.raw(i.operands[1])
            case "xor" if i.operands[1] == "-1":
                return -1 - self.raw(a)
            case "sext" | "zext":
                return self._extended(i)
            case "ashr" if "exact" in i.flags:
                return self._cut(i)
            case "getelementptr":
                return self._address(i)
            case "phi" if len(set(i.operands)) == 1:
                return self._left(i, a)
            case "freeze":
                return self.raw(a)
            case _:
                return opaque

    def _arithmetic(self, i: Instruction) -> Size:
        if i.type not in ("i32", "i64"):
            return Size.atom(i.name)
        a, b = (self.raw(x) for x in i.operands)
        if i.opcode == "shl":
            by = b.constant
            if by is None or not 0 <= by < 31:
                return Size.atom(i.name)
            b = Size.of(2**by)
        if i.name in self.function.limits:
            least, most = self.bounds[i.name] = self.function.limits[i.name]
            said = f"{self.spelled(i.name)} (line {i.line})"
            self.wraps[i.name] = f"{said} stays from {least} to {most}, as its type does"
        elif "nsw" not in i.flags and not (i.opcode == "add" and "nuw" in i.flags):
            self.wraps[i.name] = f"{self.spelled(i.name)} (line {i.line}) does not wrap"
        match i.opcode:
            case "add":
                return a + b
            case "sub":
                return a - b
            case _:
                return a * b

    def _cut(self, i: Instruction) -> Size:
        """The lower half of a number times a power of two, as LLVM writes an index of 32 bits that it computed with 64."""
        inner = self.function.values.get(i.operands[0])
        far = self.raw(i.operands[1]).constant
        if inner is None or inner.opcode != "shl" or inner.operands[1] != "32" or i.type != "i64":
            return Size.atom(i.name)
        if far is None or not 0 <= far <= 32:
            return Size.atom(i.name)
        times, of = 1 << (32 - far), inner.operands[0]
        self.bounds[i.name] = -(2**31) * times, (2**31 - 1) * times
        self.wraps[i.name] = f"{self.spelled(of)} (line {inner.line}) does not wrap"
        return self.raw(of) * times

    def _extended(self, i: Instruction) -> Size:
        """A wider integer: the same number, unless an unsigned one stands for a negative one."""
        if i.types[0] not in ("i32", "i64"):
            return Size.atom(i.name)
        value = self.raw(i.operands[0])
        if i.opcode == "zext" and "nneg" not in i.flags:
            constant = value.constant
            if constant is not None and constant < 0:
                return Size.atom(i.name)
            if constant is None:
                self.wraps[i.name] = (
                    f"{self.spelled(i.operands[0])} (line {i.line}) is not negative"
                )
        return value

    def _address(self, i: Instruction) -> Size:
        try:
            pointer, *indices = i.operands
            total = self.raw(pointer)
            type_ = i.about
            for number, index in enumerate(indices):
                if number == 0:
                    total = total + self.raw(index) * size_in_bytes(type_, self.module)
                    continue
                offset, type_ = member(type_, index, self.module)
                total = total + (self.raw(index) * offset if type_[0] != "=" else offset)
                type_ = type_.lstrip("=")
            return total
        except NoLayout:
            return Size.atom(i.name)

    def _left(self, i: Instruction, value: str) -> Size:
        """A value after the loop that computes it."""
        found = self.function.values.get(value)
        if found is None:
            return self.raw(value)
        inner = self.control.loop_of.get(found.block)
        if inner is None or i.block in inner.blocks:
            return self.raw(value)
        trips = self.trips(inner)
        step = self.step(value)
        if trips is None or step is None:
            total = self.raw(value)
            return total if self.invariant(total, inner) else Size.atom(i.name)
        if self.is_late(inner):
            return Size.atom(i.name)
        return step[0] + step[1] * trips

    def step(self, value: str) -> tuple[Size, Size] | None:
        """`(init, step)` of a phi at the head of a loop whose value is init + step * counter."""
        if value not in self._steps:
            self._steps[value] = None
            self._steps[value] = self._unsettled(lambda: self._found_step(value))
        return self._steps[value]

    def _found_step(self, value: str) -> tuple[Size, Size] | None:
        phi = self.function.values.get(value)
        if phi is None or phi.opcode != "phi" or phi.block not in self.control.loops:
            return None
        loop = self.control.loops[phi.block]
        if phi.type not in ("i32", "i64", "ptr") or len(phi.operands) != 2:
            return None
        incoming = dict(zip(phi.labels, phi.operands, strict=True))
        back = [v for label, v in incoming.items() if label in loop.blocks]
        entry = [v for label, v in incoming.items() if label not in loop.blocks]
        if len(back) != 1 or len(entry) != 1:
            return None
        change = self.raw(back[0]) - Size.atom(value)
        if value in change.names():
            return None
        step = self._resolved(change)
        if step == 0 or not self.invariant(step, loop):
            return None
        return self.raw(entry[0]), step

    # ---- loops

    def trips(self, loop: Loop) -> Size | None:
        """How often the body of a loop is run, where that is known when it begins, and is not negative."""
        if loop.header not in self._trips:
            self._trips[loop.header] = None
            self._trips[loop.header] = self._unsettled(lambda: self._counted(loop))
        return self._trips[loop.header]

    def is_late(self, loop: Loop) -> bool:
        """Whether the body of a loop is run before it is first asked whether to go on."""
        return self._exiting(loop) in loop.latches

    def _exiting(self, loop: Loop) -> str | None:
        exits = self.control.exits(loop)
        return exits[0][0] if len(exits) == 1 else None

    def _counted(self, loop: Loop) -> Size | None:
        exiting = self._exiting(loop)
        if exiting is None or len(loop.latches) != 1:
            return None
        if exiting not in (loop.header, loop.latches[0]):
            return None
        branch = self.function.blocks[exiting][-1]
        test = self.function.values.get(branch.operands[0]) if branch.operands else None
        if branch.opcode != "br" or test is None or test.opcode != "icmp":
            return None
        predicate = test.about.split()[-1]
        left, right = test.operands
        if "samesign" in test.flags or "samesign" in test.about:
            predicate = predicate.replace("u", "s") if predicate not in ("eq", "ne") else predicate
        if branch.labels[0] not in loop.blocks:
            predicate = negated(predicate)
        found = self._count(predicate, self.of(left), self.of(right), loop)
        if found is None:
            return None
        if self.is_late(loop):
            found = found + 1
        often = found.constant
        if often is not None and often < (1 if self.is_late(loop) else 0):
            return None  # what it waits for comes when its counter has wrapped
        return found if self.invariant(found, loop) else None

    def _count(self, predicate: str, left: Size, right: Size, loop: Loop) -> Size | None:
        if self.invariant(left, loop):
            left, right, predicate = right, left, swapped(predicate)
        linear = left.linear_in(loop.counter)
        if linear is None or not self.invariant(right, loop) or not self.invariant(linear[1], loop):
            return None
        step = linear[0].constant
        if step is None or step == 0:
            return None
        found = trips(predicate, linear[1], step, right)
        if found is None and predicate == "ne" and self.base(linear[1]) and self.base(right):
            way = right - linear[1] if step > 0 else linear[1] - right
            return Size.atom(Quotient(way, abs(step), exact=True))  # one array, and whole cells
        return found

    # ---- what changes

    def invariant(self, size: Size, loop: Loop) -> bool:
        """Whether a polynomial has one value while a loop runs."""
        return self._steady.invariant(size, loop)

    def stays(self, atom: Atom, loop: Loop) -> bool:
        """Whether an atom has one value while a loop runs."""
        return self._steady.stays(atom, loop)

    @property
    def is_settled(self) -> bool:
        """Whether nothing is being computed: what is found on the way may be opaque for the time."""
        return not self._computing and not self._steady.busy

    def base_of(self, pointer: str) -> str | None:
        """The array that an address is in: an argument, a global, a local array, or a pointer that was loaded."""
        return self.base(self.of(pointer))

    def base(self, address: Size) -> str | None:
        """The array of an address that is a polynomial."""
        placed = self.placed(address)
        return placed[0] if placed is not None else None

    def placed(self, address: Size) -> tuple[str, Size] | None:
        """The array of an address, and how many bytes behind its begin it is."""
        found = [
            name
            for name in address.names()
            if not isinstance(name, Counter) and self.function.type_of(name) == "ptr"
        ]
        linear = address.linear_in(found[0]) if len(found) == 1 else None
        return (found[0], linear[1]) if linear is not None and linear[0] == 1 else None

    def spelled(self, value: str) -> str:
        """A value as the C file calls it, where it does: a variable, or a field of a structure."""
        return self.fields.spelled(value) or bare(value)

    def named(self, value: str) -> str:
        """The name of a value without those of what it is in, as programs call their arrays and numbers."""
        spelled = self.fields.spelled(value)
        return bare(value) if spelled is None else last_word(spelled)


@dataclass
class _Steady:
    """What stays the same while a loop runs."""

    evolution: Evolution
    busy: set[str] = field(default_factory=set[str])
    """What is being looked at."""
    _stays: dict[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])
    """Whether a value stays the same in a loop."""
    _written: dict[str, frozenset[str | None]] = field(
        default_factory=dict[str, "frozenset[str | None]"]
    )
    """The arrays that each loop writes to."""

    def invariant(self, size: Size, loop: Loop) -> bool:
        """Whether a polynomial has one value while a loop runs."""
        return all(self.stays(atom, loop) for atom in size.atoms())

    def stays(self, atom: Atom, loop: Loop) -> bool:
        """Whether an atom has one value while a loop runs."""
        if isinstance(atom, Quotient):
            return self.invariant(atom.of, loop)
        if isinstance(atom, Counter):
            return atom.header not in loop.blocks
        name = str(atom)
        found = self.evolution.function.values.get(name)
        if found is None or found.block not in loop.blocks:
            return True
        key = (name, loop.header)
        if key in self._stays:
            return self._stays[key]
        if name in self.busy:
            return False
        is_first = self.evolution.is_settled
        if is_first and loop.header not in self._written:
            self._written[loop.header] = self._bases_written(loop)
        self.busy.add(name)
        try:
            stays = self._same_each_time(found, loop)
        finally:
            self.busy.discard(name)
        if is_first:
            self._stays[key] = stays
        return stays

    def _same_each_time(self, i: Instruction, loop: Loop) -> bool:
        """Whether an instruction inside of a loop gives the same each time: it looks at nothing that changes."""
        if i.opcode in ("phi", "alloca") and len(set(i.operands)) != 1:
            return False
        if i.opcode == "store" or (i.opcode == "call" and library_name(i.about) not in PURE):
            return False
        if i.opcode == "load" and self._may_be_written(i, loop):
            return False
        return all(
            self.invariant(self.evolution.of(v), loop) for v in i.operands if not is_constant(v)
        )

    def _may_be_written(self, load: Instruction, loop: Loop) -> bool:
        """Whether a loop writes to the array that is read; another array is another one (a condition that stays)."""
        base = self.evolution.base_of(load.operands[0])
        written = self._written.get(loop.header)
        if written is None:
            written = self._bases_written(loop)
        return base is None or base in written or None in written

    def _bases_written(self, loop: Loop) -> frozenset[str | None]:
        """The arrays that a loop writes to; None is among them where it may be any."""
        inside = [i for label in loop.blocks for i in self.evolution.function.blocks[label]]
        if any(i.opcode == "call" and not harmless(i) for i in inside):
            return frozenset((None,))
        addresses = dict.fromkeys(i.operands[1] for i in inside if i.opcode == "store")
        return frozenset(map(self.evolution.base_of, addresses))


def harmless(i: Instruction) -> bool:
    """Whether a call changes no memory of the program."""
    name = library_name(i.about)
    return name in PURE or name.startswith(
        ("llvm.lifetime", "llvm.dbg", "llvm.assume", "llvm.expect")
    )


def negated(predicate: str) -> str:
    """The comparison that holds where this does not.

    >>> from relift.compiler.idioms.facts.evolution import negated, swapped
    >>> negated("slt"), swapped("slt"), negated("eq")
    ('sge', 'sgt', 'ne')
    """
    if predicate in ("eq", "ne"):
        return _NEGATED[predicate]
    return predicate[0] + _NEGATED[predicate[1:]]


def swapped(predicate: str) -> str:
    """The same comparison of its operands the other way around."""
    if predicate in ("eq", "ne"):
        return predicate
    return predicate[0] + _SWAPPED[predicate[1]] + predicate[2]


def trips(predicate: str, first: Size, step: int, bound: Size) -> Size | None:
    """How often `first + step * i` meets the predicate for i = 0, 1, … before it first does not."""
    way = bound - first if step > 0 else first - bound
    kind = predicate if predicate == "ne" else predicate[1:]
    if kind == "ne":
        return way.divided_by(Size.of(abs(step)))
    if kind in ("le", "ge"):
        way = way + 1
    if kind not in (("lt", "le") if step > 0 else ("gt", "ge")):
        return None
    return rounded_up(way, abs(step))


def rounded_up(size: Size, by: int) -> Size:
    """A quotient, rounded up."""
    exact = size.divided_by(Size.of(by))
    if exact is not None:
        return exact
    if size.constant is not None:
        return Size.of(-(-size.constant // by))
    return Size.atom(Quotient(size, by))


def counters(size: Size) -> Iterator[Counter]:
    """The counters of loops that a polynomial is over."""
    return (a for a in size.atoms() if isinstance(a, Counter))
