"""What a kernel does to values and memory, one work-item after another, and what no kernel may do.

Whole numbers are Python's where they are known, else symbols, as floating-point numbers always are (`symbols`).
Each cell of global and local memory remembers who wrote it and who read it last, and in which interval between
barriers, so a race is found whatever the order in which work-items run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias

import numpy as np

from relift.compiler.text.c_types import FLOATS, RANGES, UNSIGNED
from relift.compiler.validation.symbols import (
    OPEN,
    Algebra,
    DependsOnData,
    Scalar,
    Symbol,
    TooLarge,
)
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS

FaultKind: TypeAlias = Literal[
    "bounds", "alignment", "race", "divergence", "initialised", "overflow", "division", "loop",
    "launch", "covered", "values",
]  # fmt: skip


class Fault(Exception):
    """The kernel does what no kernel may, or computes something else than the program."""

    def __init__(self, kind: FaultKind, detail: str) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail


class Undecided(Exception):
    """What the kernel does cannot be told; the message says why."""


class Item:
    """A work-item: its numbers, and how many barriers of each kind it has passed."""

    __slots__ = ("gid", "global_epoch", "group", "grp", "gs", "lid", "local_epoch", "ls", "ng")

    gid: tuple[int, ...]
    lid: tuple[int, ...]
    grp: tuple[int, ...]
    ng: tuple[int, ...]
    gs: tuple[int, ...]
    ls: tuple[int, ...]
    group: object
    local_epoch: int
    global_epoch: int

    def __str__(self) -> str:
        return f"work-item {_numbers(self.gid)}"


def _numbers(of: tuple[int, ...]) -> str:
    return str(of[0]) if of[1:] == (0, 0) else str(of)


@dataclass
class Memory:
    """Cells of private memory, or of memory that a kernel only reads."""

    name: str
    cells: list[Any]
    aligned: bool = True
    constant: bool = False

    def place(self, it: Item, i: Any, does: str) -> int:
        """An index that lies in the array."""
        if i.__class__ is not int:
            if i is OPEN:
                raise Fault(
                    "initialised", f"{it} {does} {self.name} at a place that nothing was written to"
                )
            i = i.__index__()
        if not 0 <= i < len(self.cells):
            raise Fault("bounds", f"{it} {does} {self.name}[{i}] of {len(self.cells)}")
        return i  # type: ignore[no-any-return]

    def load(self, it: Item, i: Any) -> Any:
        """The value of a cell."""
        if i.__class__ is int and 0 <= i < len(self.cells):
            return self.cells[i]
        return self.cells[self.place(it, i, "reads")]

    def store(self, it: Item, i: Any, value: Any) -> None:
        """Set a cell."""
        i = self.place(it, i, "writes")
        if self.constant:
            raise Fault("bounds", f"{it} writes {self.name}, which is constant")
        self.cells[i] = value

    def load_vector(self, it: Item, i: Any, width: int, *, aligned: bool) -> tuple[Any, ...]:
        """Some cells in a row."""
        self._check_aligned(it, i, width if aligned else 1)
        return tuple([self.load(it, i + lane) for lane in range(width)])

    def store_vector(
        self, it: Item, i: Any, width: int, value: tuple[Any, ...], *, aligned: bool
    ) -> None:
        """Set some cells in a row."""
        self._check_aligned(it, i, width if aligned else 1)
        for lane in range(width):
            self.store(it, i + lane, value[lane])

    def _check_aligned(self, it: Item, i: Any, width: int) -> None:
        self.place(it, i, "reaches")
        if i % width:
            raise Fault(
                "alignment", f"{it} takes {self.name}[{i}] for the start of {width} in a row"
            )
        if width > 1 and not self.aligned:
            raise Undecided(f"{self.name} is not declared to be aligned to vectors of {width}")


class Shared(Memory):
    """Cells that other work-items see: each with its last writer, and its readers since.

    With `once`, no two work-items may write different values to a cell, barrier or not.
    """

    def __init__(
        self, name: str, cells: list[Any], *, local: bool, aligned: bool = True, once: bool = False
    ) -> None:
        super().__init__(name, cells, aligned)
        self.local = local
        self.once = once
        self.forget()

    def forget(self) -> None:
        """A kernel starts: nobody has read or written."""
        self.writers: list[tuple[Item, int] | None] = [None] * len(self.cells)
        self.readers: list[tuple[Item | None, object, int] | None] = [None] * len(self.cells)

    def _epoch(self, it: Item) -> int:
        return it.local_epoch if self.local else it.global_epoch

    def load(self, it: Item, i: Any) -> Any:
        """The value of a cell; nobody else may have written it since the last barrier."""
        if i.__class__ is not int or not 0 <= i < len(self.cells):
            i = self.place(it, i, "reads")
        epoch = it.local_epoch if self.local else it.global_epoch
        w = self.writers[i]
        if w is not None and w[0] is not it and not (w[0].group is it.group and w[1] < epoch):
            raise Fault("race", f"{self.name}[{i}] is read by {it} and written by {w[0]}")
        r = self.readers[i]
        if r is None:
            self.readers[i] = it, it.group, epoch
        elif r[0] is not it or r[2] != epoch:
            group = it.group if r[1] is it.group else None
            last = epoch if r[1] is it.group and epoch > r[2] else None
            # Readers of the interval before are apart from all that follows, if they are of this group.
            who = it if r[0] is it or last is not None else None
            self.readers[i] = who, group, epoch
        return self.cells[i]

    def store(self, it: Item, i: Any, value: Any) -> None:
        """Set a cell; nobody else may have read or written it since the last barrier."""
        i = self.place(it, i, "writes")
        epoch = self._epoch(it)
        w, r = self.writers[i], self.readers[i]
        if w is not None and w[0] is not it:
            if not (w[0].group is it.group and w[1] < epoch):
                both = f"{self.name}[{i}] is written by {it} and by {w[0]}"
                raise Fault("race", f"{both}: {_shown(value)} and {_shown(self.cells[i])}")
            if self.once and self.cells[i] is not value and self.cells[i] != value:
                both = f"{self.name}[{i}] is written by {w[0]} and later by {it}"
                raise Fault("covered", f"{both}: {_shown(self.cells[i])} and {_shown(value)}")
        if r is not None and r[0] is not it and not (r[1] is it.group and r[2] < epoch):
            reader = r[0] or "others"
            raise Fault("race", f"{self.name}[{i}] is written by {it} and read by {reader}")
        self.writers[i] = it, epoch
        self.cells[i] = value


def _shown(value: Any) -> str:
    return repr(value)


# ---- arithmetic

_NP = {"float": np.float32, "double": np.float64}
_KINDS = {"int": "i32", "uint": "i32", "long": "i64", "ulong": "i64", **FLOATS}
_SIMPLE = {
    f.c.partition("(")[0]: f
    for f in SCALAR_FUNCTIONS.values()
    if f.on in ("floats", "numbers") and f.c is not None and f.c[0].isalpha()
}
"""Functions of floats that C and the table of scalars share, by their names in C."""
ARITIES = {name: f.arity for name, f in _SIMPLE.items()}

Function: TypeAlias = Callable[..., Any]


class Arithmetic:
    """What operators and functions of C do to scalars of each type."""

    def __init__(self, algebra: Algebra, turns: int) -> None:
        self.algebra = algebra
        self.turns = turns
        self._operations: dict[tuple[str, str], Function] = {}

    def operation(self, operator: str, scalar: str) -> Function:
        """A binary operator on two scalars of one type; comparisons give the `int` 0 or 1."""
        key = operator, scalar
        if key not in self._operations:
            self._operations[key] = (
                self._of_floats(operator) if scalar in FLOATS else self._of_wholes(operator, scalar)
            )
        return self._operations[key]

    def held(self, b: Symbol) -> Symbol:
        """A truth value as C has it: an `int`."""
        return self.algebra.convert(b, "i32")

    def _of_floats(self, operator: str) -> Function:
        a = self.algebra
        if operator in "+-*/":
            return {"+": a.add, "-": a.sub, "*": a.mul, "/": a.div}[operator]
        compare = self._comparison(operator, signed=True)
        return lambda x, y: self.held(compare(x, y))

    def _comparison(self, operator: str, *, signed: bool) -> Callable[[Symbol, Symbol], Symbol]:
        a = self.algebra
        lt = a.lt if signed else partial(a.made, "below", "bool")
        le = a.le if signed else partial(a.made, "at_most", "bool")
        match operator:
            case "<":
                return lt
            case ">":
                return lambda x, y: lt(y, x)
            case "<=":
                return le
            case ">=":
                return lambda x, y: le(y, x)
            case "==":
                return a.equal
            case "!=":
                return a.not_equal
            case _:
                raise AssertionError(f"cannot happen: the operator {operator} on floats")

    def _of_wholes(self, operator: str, scalar: str) -> Function:
        known = self._known(operator, scalar)
        free = self._free(operator, scalar)
        lift, kind = self.algebra.lift, _KINDS[scalar]

        def function(x: Scalar, y: Scalar) -> Scalar:
            if x.__class__ is Symbol or y.__class__ is Symbol:
                if x is OPEN or y is OPEN:
                    return OPEN
                return free(lift(x, kind), lift(y, kind))
            return known(x, y)  # type: ignore[no-any-return]

        return function

    def _known(self, operator: str, scalar: str) -> Function:
        """On numbers that are known; what C leaves undefined is a fault."""
        plain: dict[str, Function] = {
            "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
            "/": quotient, "%": lambda x, y: x - y * quotient(x, y), "&": lambda x, y: x & y,
            "|": lambda x, y: x | y, "^": lambda x, y: x ^ y, "<<": partial(_shift, scalar, left=True),
            ">>": partial(_shift, scalar, left=False), "<": lambda x, y: x < y,
            "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
            "==": lambda x, y: x == y, "!=": lambda x, y: x != y,
        }  # fmt: skip
        function = plain[operator]
        if operator in ("+", "-", "*", "/"):
            return lambda x, y: fitted(function(x, y), scalar)
        if operator == "%":
            return lambda x, y: (fitted(quotient(x, y), scalar), function(x, y))[1]
        return function

    def _free(self, operator: str, scalar: str) -> Callable[[Symbol, Symbol], Symbol]:
        a, kind, signed = self.algebra, _KINDS[scalar], scalar not in UNSIGNED
        match operator:
            case "+" | "-" | "*" if not signed:
                return {"+": a.add, "-": a.sub, "*": a.mul}[operator]
            case "+" | "-" | "*" | "<<":
                return self._may_overflow(operator)
            case "/" | "%":
                name = ("quotient" if operator == "/" else "rest") + ("" if signed else "_unsigned")
                return partial(a.made, name, kind)
            case "&" | "|" | "^":
                return partial(a.bits, {"&": "and", "|": "or", "^": "xor"}[operator])
            case ">>":
                return partial(a.made, "shift" + ("" if signed else "_unsigned"), kind)
            case _:
                compare = self._comparison(operator, signed=signed)
                return lambda x, y: self.held(compare(x, y))

    def _may_overflow(self, operator: str) -> Callable[[Symbol, Symbol], Symbol]:
        def refuse(x: Symbol, y: Symbol) -> Symbol:
            raise Undecided(f"{x} {operator} {y}, with a sign, may overflow")

        return refuse

    def negative(self, scalar: str, x: Scalar) -> Scalar:
        """-x."""
        if isinstance(x, Symbol):
            truth = x.op in ("i32", "i64", "mask") and x.args[0].type == "bool"
            if scalar in FLOATS or scalar in UNSIGNED or truth or x is OPEN:
                return x if x is OPEN else self.algebra.neg(x)
            raise Undecided(f"-{x}, with a sign, may overflow")
        return fitted(-x, scalar)

    def inverted(self, scalar: str, x: Scalar) -> Scalar:
        """~x."""
        if isinstance(x, Symbol):
            return x if x is OPEN else self.algebra.invert(x)
        return wrapped(~int(x), scalar)

    def refused(self, scalar: str, x: Scalar) -> Scalar:
        """!x."""
        if isinstance(x, Symbol):
            return x if x is OPEN else self.held(self.algebra.invert(self.algebra.truth(x)))
        return not x

    def mask(self, scalar: str, x: Scalar) -> Scalar:
        """The result of a comparison as a lane: 0 or -1, of the bytes of `scalar`."""
        if isinstance(x, Symbol):
            return x if x is OPEN else self.algebra.neg(self.algebra.convert(x, _KINDS[scalar]))
        return -int(x)

    def converted(self, before: str, after: str, x: Scalar) -> Scalar:
        """A scalar of one type in another."""
        if x is OPEN:
            return x
        if after in FLOATS:
            if not isinstance(x, Symbol):
                return self.algebra.real(_NP[after](int(x)), FLOATS[after])
            if x.type == "bool" or before not in UNSIGNED:
                return self.algebra.convert(x, FLOATS[after])
            return self.algebra.made("unsigned", FLOATS[after], x)
        if not isinstance(x, Symbol):
            return wrapped(int(x), after)
        return self._to_whole(before, after, x)

    def _to_whole(self, before: str, after: str, x: Symbol) -> Symbol:
        a = self.algebra
        truth = x.type == "bool" or (x.op in ("i32", "i64") and x.args[0].type == "bool")
        if after in _KINDS:
            kind = _KINDS[after]
            if before == "uint" and kind == "i64" and not truth:
                return a.made("extended", kind, x)
            return a.convert(x, kind)
        if truth:
            return self.held(a.truth(x))
        if x.op == "mask" and after in ("char", "short"):
            return x
        raise Undecided(f"{x} as a {after}")

    def reinterpreted(self, before: str, after: str, x: Scalar) -> Scalar:
        """The bits of a whole number as another type of as many bytes."""
        return self.converted(before, after, x)

    def saturated(self, after: str, x: Scalar) -> Scalar:
        """A float as the nearest whole number that a type has, towards zero."""
        if x is OPEN or not isinstance(x, Symbol):
            return x
        return self.algebra.saturated(x, _KINDS[after])

    def extreme(self, which: str, scalar: str, x: Scalar, y: Scalar) -> Scalar:
        """`min` or `max` of whole numbers."""
        if not isinstance(x, Symbol) and not isinstance(y, Symbol):
            return min(x, y) if which == "min" else max(x, y)
        name = {"min": "minimum", "max": "maximum"}[which] + (
            "_unsigned" if scalar in UNSIGNED else ""
        )
        kind = _KINDS[scalar]
        return self.algebra.made(name, kind, self.algebra.lift(x, kind), self.algebra.lift(y, kind))

    def absolute(self, scalar: str, x: Scalar) -> Scalar:
        """`abs` of a whole number, which has no sign."""
        if isinstance(x, Symbol):
            return x if scalar in UNSIGNED else self.algebra.made("absolute", _KINDS[scalar], x)
        return abs(x)

    def called(self, function: str, scalar: str) -> Function | None:
        """A function of floats."""
        known = _SIMPLE.get(function)
        return None if known is None else partial(self.algebra.made, known.name, FLOATS[scalar])

    # ---- decisions

    def choose(self, c: Scalar, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """`c ? yes : no`; both, where c is data."""
        if not isinstance(c, Symbol):
            return yes() if c else no()
        try:
            x, y = yes(), no()
        except Fault as fault:
            raise Undecided(f"under a condition on data, {fault.detail}") from None
        if isinstance(x, tuple):
            return tuple([self.picked(c, p, q) for p, q in zip(x, y, strict=True)])
        return self.picked(c, x, y)

    def picked(self, c: Scalar, x: Scalar, y: Scalar) -> Scalar:
        """x where c is not 0, else y; all are computed already."""
        if not isinstance(c, Symbol):
            return x if c else y
        if c is OPEN or x is OPEN or y is OPEN:
            return OPEN
        kind = x.type if isinstance(x, Symbol) else y.type if isinstance(y, Symbol) else "i32"
        a = self.algebra
        if kind == "bool":
            kind, x, y = "i32", self._number(x), self._number(y)
        return a.select(a.truth(c), a.lift(x, kind), a.lift(y, kind))

    def _number(self, x: Scalar) -> Scalar:
        return self.held(x) if isinstance(x, Symbol) and x.type == "bool" else x

    def lane(self, c: Scalar, x: Scalar, y: Scalar) -> Scalar:
        """x where the highest bit of c is set, else y: what vectors do."""
        if not isinstance(c, Symbol):
            return x if c < 0 else y
        if c.op == "mask":
            return self.picked(self.held(c.args[0]), x, y)
        if c is OPEN:
            return OPEN
        return self.picked(self.held(self.algebra.lt(c, self.algebra.whole(0, c.type))), x, y)

    def both(self, x: Scalar, y: Callable[[], Scalar]) -> Scalar:
        """`x && y`."""
        return self._either(x, y, stops=False, operator="and")

    def either(self, x: Scalar, y: Callable[[], Scalar]) -> Scalar:
        """`x || y`."""
        return self._either(x, y, stops=True, operator="or")

    def _either(self, x: Scalar, y: Callable[[], Scalar], *, stops: bool, operator: str) -> Scalar:
        a = self.algebra
        if not isinstance(x, Symbol):
            if bool(x) == stops:
                return stops
            right = y()
            if not isinstance(right, Symbol):
                return bool(right)
            return right if right is OPEN else self.held(a.truth(right))
        try:
            right = y()
        except Fault as fault:
            raise Undecided(f"under a condition on data, {fault.detail}") from None
        if x is OPEN or right is OPEN:
            return OPEN
        other = a.truth(right) if isinstance(right, Symbol) else a.whole(int(bool(right)), "bool")
        return self.held(a.bits(operator, a.truth(x), other))

    def decided(self, it: Item, c: Scalar) -> bool:
        """A condition of control flow, which must be known."""
        if not isinstance(c, Symbol):
            return bool(c)
        if c is OPEN:
            raise Fault("initialised", f"{it} branches on what nothing was written to")
        raise DependsOnData(c, "a branch")

    def ahead(self, it: Item, counter: int, step: Any, scalar: str) -> int:
        """The counter of the next turn."""
        if step.__class__ is not int:
            step = 1 if self.decided(it, step) else 0
        if step < 1:
            raise Fault("loop", f"{it} is in a loop that does not advance: its step is {step}")
        self.turns -= 1
        if self.turns < 0:
            raise TooLarge("more turns of loops than the limit allows")
        return fitted(counter + step, scalar)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What the code of a kernel calls."""
        return {
            "arithmetic": self, "choose": self.choose, "lane": self.lane, "picked": self.picked,
            "both": self.both, "either": self.either, "decided": self.decided, "ahead": self.ahead,
            "converted": self.converted, "negative": self.negative, "mask": self.mask,
            "moved": moved, "fitted": fitted, "wrapped": wrapped, "quotient": quotient, "OPEN": OPEN,
            "Memory": Memory, "smallest": min, "largest": max,
        }  # fmt: skip


def moved(place: Scalar, by: Scalar) -> Scalar:
    """A place in an array, moved; one that is not known stays so."""
    if isinstance(place, Symbol) or isinstance(by, Symbol):
        return by if isinstance(by, Symbol) else place
    return place + by


def quotient(x: int, y: int) -> int:
    """x / y towards zero."""
    if y == 0:
        raise Fault("division", f"{x} is divided by zero")
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def fitted(x: int, scalar: str) -> int:
    """A result in its type: without a sign it wraps around, with one it must fit."""
    low, high = RANGES[scalar]
    if low <= x <= high:
        return x
    if scalar in UNSIGNED:
        return x & high
    raise Fault("overflow", f"{x} overflows {scalar}")


def wrapped(x: int, scalar: str) -> int:
    """A whole number converted to a type."""
    low, high = RANGES[scalar]
    return (x - low) % (high - low + 1) + low


def _shift(scalar: str, x: int, y: int, *, left: bool) -> int:
    if not 0 <= y < (64 if "long" in scalar else 32):
        raise Undecided(f"a shift by {y}")
    if left and scalar not in UNSIGNED and x < 0:
        raise Undecided(f"a shift of {x}")
    return fitted(x << y, scalar) if left else x >> y
