"""Values of symbols at numbers for their inputs, which are drawn in several ways, each time the same."""

from __future__ import annotations

import hashlib
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relift.compiler.meaning.folds_in_python import ALONE, FoldInPython, NotMade
from relift.compiler.meaning.numbers.constants import Constants
from relift.compiler.meaning.numbers.polynomials import Atom, Index, Whole
from relift.compiler.validation.arithmetic import quotient
from relift.compiler.validation.bits import ARGUMENTS, in_bits
from relift.compiler.validation.operations import Operation, Unsigned, name_of
from relift.compiler.validation.symbols import BITS, Symbol, value_of
from relift.semantics.domains import DTYPES
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.types import SCALARS, boolean

EFFORT = 300_000
"""Operations that may be computed for one choice of numbers."""

AS_FAST = 12
"""So many of those that are made for a fold count for one."""


class GivenUp(Exception):
    """A value cannot be computed here."""


class Exhausted(GivenUp):
    """It would take more operations than may be computed."""


def _whole_part(x: Any, number: Any, *, saturated: bool) -> Any:
    """A float without its fraction; beyond the type, its end, or nothing that could be known."""
    if not issubclass(number, np.integer):
        raise GivenUp
    if np.isnan(x):
        if not saturated:
            raise GivenUp
        return number(0)
    ends = np.iinfo(number)
    if not saturated and not ends.min <= x <= ends.max:
        raise GivenUp
    if np.isinf(x):
        return number(ends.max if x > 0 else ends.min)
    return number(min(max(int(x), int(ends.min)), int(ends.max)))


_WITHOUT_SIGN = frozenset(map(Unsigned, ("quotient", "rest", "shift", "minimum", "maximum")))
_OF_NATURALS: Mapping[str, Callable[..., Any]] = {
    "below": operator.lt, "at_most": operator.le, "extended": operator.pos, "unsigned": operator.pos,
}  # fmt: skip
"""What is computed of whole numbers without a sign, however they are held."""

_IN_C = _WITHOUT_SIGN | {"quotient", "rest", "shift"}
"""Operators of C on whole numbers, for which the language has no name."""


def _as_in_c(operation: Operation, x: int, y: int, ends: Any) -> int:
    """What C computes; nothing where it says that this is not defined."""
    name = name_of(operation)
    if operation in _WITHOUT_SIGN:
        above = 1 << ends.bits
        found = _of_naturals(name, x % above, y % above, ends.bits)
        return found - above if found > ends.max else found
    if name == "shift":
        if not 0 <= y < ends.bits:
            raise GivenUp
        return x >> y
    if y == 0 or (y == -1 and x == ends.min):
        raise GivenUp
    q = quotient(x, y)
    return q if name == "quotient" else x - y * q


def _in_bits(operation: Operation, values: list[int], ends: Any) -> int:
    """What a function of OpenCL C gives, as a number with a sign."""
    above, least = 1 << int(ends.bits), int(ends.min)
    held = [v % above for v in values] if isinstance(operation, Unsigned) else values
    return (in_bits(name_of(operation), int(ends.bits), held) - least) % above + least


def _of_naturals(name: str, x: int, y: int, bits: int) -> int:
    """The same of numbers without a sign."""
    if name in ("minimum", "maximum"):
        return min(x, y) if name == "minimum" else max(x, y)
    if y >= bits if name == "shift" else y == 0:
        raise GivenUp
    return x >> y if name == "shift" else x // y if name == "quotient" else x % y


class Machine:
    """Values of symbols, at numbers for their atoms."""

    def __init__(self, numbers: Mapping[Atom, int], effort: int) -> None:
        self.numbers = numbers
        self.left: float = effort
        self.cells: Mapping[str, Whole] = {}
        self.bound: dict[str, int] = {}
        self.accumulators: dict[tuple[int, int], Any] = {}
        self.made: dict[Symbol, FoldInPython | None] = {}
        """Folds as Python, for all who compute the same values."""

    def whole(self, x: Whole) -> int:
        """A number of indices."""
        if not isinstance(x, Index):
            return int(x)
        total = 0
        for m, c in x.terms.items():
            part = c
            for a in m:
                part *= self._atom(a)
            total += part
        return total

    def _atom(self, a: Atom) -> int:
        if a.kind in ("div", "mod", "min", "max"):
            u, v = map(self.whole, a.args)
            if a.kind in ("min", "max"):
                return min(u, v) if a.kind == "min" else max(u, v)
            if v == 0:
                raise GivenUp
            return u // v if a.kind == "div" else u % v
        if a.kind == "data":
            return int(self.value(a.args[0]))
        known = self.bound.get(a.name) if a.kind == "bound" else self.numbers.get(a)
        if known is None:
            raise GivenUp
        return known

    def value(self, x: Symbol) -> Any:
        """A value in the precision of its type."""
        with np.errstate(all="ignore"):
            return self._value(x, {})

    def remembered(self, x: Symbol, memo: dict[Symbol, Any]) -> Any:
        """The same, where others have been computed before."""
        with np.errstate(all="ignore"):
            return self._value(x, memo)

    def _value(self, x: Any, memo: dict[Symbol, Any]) -> Any:
        """A value whose parts are computed first, without recursion: a sum is as deep as it is long."""
        waiting = [x]
        while waiting:
            now = waiting[-1]
            needed = [] if now in memo else [v for v in _needed(now, memo) if v not in memo]
            if needed:
                waiting += needed
                continue
            waiting.pop()
            if now not in memo:
                self.left -= 1
                if self.left < 0:
                    raise Exhausted
                memo[now] = self._computed(now, memo)
        return memo[x]

    def _computed(self, x: Symbol, memo: dict[Symbol, Any]) -> Any:
        kind = "boolean" if x.type == "bool" else x.type
        number = self.number(kind)
        match x.op:
            case "open" | "looked":
                raise GivenUp
            case "cell":
                return number(self._drawn_within(x.args[0], self.whole(x.args[1]), kind))
            case "real" | "whole":
                return number(value_of(x))
            case "index":
                return number(self.whole(x.args[0]))
            case "nonneg":
                return np.bool_(self.whole(x.args[0]) >= 0)
            case "accumulator":
                if x.args not in self.accumulators:
                    raise GivenUp
                return self.accumulators[x.args]
            case "fold":
                return self._fold(x)
            case "select":
                c, yes, no = x.args
                return memo[yes if memo[c] else no]
            case _:
                return self._applied(x, [memo[v] for v in x.args], number)

    def number(self, kind: str) -> Any:
        """Who makes numbers of a type."""
        return DTYPES[kind].type if kind in DTYPES else float

    def _applied(self, x: Symbol, values: list[Any], number: Any) -> Any:
        if x.op in SCALARS and x.op != boolean.name:
            return number(values[0])
        if x.op == "mask":
            return number(-int(values[0]))
        if x.op in ("in_range", "saturated"):
            return _whole_part(values[0], number, saturated=x.op == "saturated")
        name = name_of(x.op)
        if name == "invert" and x.type == "bool":
            return not values[0]
        if name in ("bits_of_float", "float_of_bits"):
            return np.asarray(values[0]).view(number)[()]
        if name in ARGUMENTS:
            return number(_in_bits(x.op, [int(v) for v in values], np.iinfo(number)))
        if x.op in _IN_C:
            return number(_as_in_c(x.op, int(values[0]), int(values[1]), np.iinfo(number)))
        if name in _OF_NATURALS:
            naturals = [int(v) % (1 << BITS[u.type]) for u, v in zip(x.args, values, strict=True)]
            return number(_OF_NATURALS[name](*naturals))
        if name not in SCALAR_FUNCTIONS:
            raise GivenUp
        return SCALAR_FUNCTIONS[name].meaning(*values)

    def _drawn_within(self, name: str, place: int, kind: str) -> Any:
        if name in self.cells and not 0 <= place < self.whole(self.cells[name]):
            raise GivenUp
        if isinstance(name, Constants):
            if not 0 <= place < len(name.row):
                raise GivenUp
            found = name.row[place]
            return value_of(found) if isinstance(found, Symbol) else found
        return self.drawn(name, place, kind)

    def _fold(self, x: Symbol) -> Any:
        if x not in self.made:
            try:
                self.made[x] = FoldInPython(x)
            except NotMade:
                self.made[x] = None
        made = self.made[x]
        if made is None or self.accumulators:
            return self._turn_by_turn(x)
        begun = self.left
        try:
            return made.run(self._drawn_within, self._alone, self._atom, self._spend)
        except (GivenUp, ZeroDivisionError) as error:
            if isinstance(error, Exhausted):
                raise
            self.left = begun
            return self._turn_by_turn(x)

    def _spend(self, operations: int) -> None:
        """So many operations, of those that are made for a fold."""
        self.left -= operations / AS_FAST
        if self.left < 0:
            raise Exhausted

    def _alone(self, x: Symbol, values: Sequence[Any]) -> Any:
        """An operation on values; of a constant, itself."""
        kind = "boolean" if x.type == "bool" else x.type
        number = DTYPES[kind].type
        return number(value_of(x)) if not values else self._applied(x, list(values), number)

    def _turn_by_turn(self, x: Symbol) -> Any:
        trip, height, count = self.whole(x.args[0]), x.args[1], x.args[2]
        values = [self._value(v, {}) for v in x.args[3 : 3 + count]]
        nexts = x.args[3 + count :]
        before = dict(self.accumulators), self.bound.get(f"i{height}")
        for turn in range(trip):
            self.bound[f"i{height}"] = turn
            for k, v in enumerate(values):
                self.accumulators[height, k] = v
            memo: dict[Symbol, Any] = {}
            values = [self._value(v, memo) for v in nexts]
        self.accumulators = before[0]
        if before[1] is None:
            self.bound.pop(f"i{height}", None)
        else:
            self.bound[f"i{height}"] = before[1]
        return values[0]

    def drawn(self, name: str, place: int, kind: str) -> Any:
        """An input: always the same at the same place."""
        digest = hashlib.sha256(f"{name} {place}".encode()).digest()
        n = int.from_bytes(digest[:4], "big")
        if kind == "boolean":
            return n % 2 == 0
        return n % 8 if kind in BITS else (n % 2**16 - 2**15) / 2**13


def _needed(x: Symbol, memo: Mapping[Symbol, Any]) -> Sequence[Any]:
    """The values that an operation is computed from; of a selection the one that is chosen."""
    if x.op in ALONE:
        return ()
    if x.op == "select":
        c, yes, no = x.args
        return (c,) if c not in memo else (yes if memo[c] else no,)
    return x.args


class Falling(Machine):
    """The same on floats of which the first are the largest, with either sign: that one was left out is seen."""

    def drawn(self, name: str, place: int, kind: str) -> Any:
        """An input: always the same at the same place."""
        value = super().drawn(name, place, kind)
        return math.copysign(1 / (1 + abs(place)), value) if isinstance(value, float) else value


class Rising(Machine):
    """The same on floats of which the last are the largest."""

    def drawn(self, name: str, place: int, kind: str) -> Any:
        """An input: always the same at the same place."""
        value = super().drawn(name, place, kind)
        return math.copysign(1 + abs(place), value) if isinstance(value, float) else value


class Rough(Machine):
    """The same on floats of many magnitudes, whose sums depend on their order."""

    def drawn(self, name: str, place: int, kind: str) -> Any:
        """An input: always the same at the same place."""
        if kind == "boolean" or kind in BITS:
            return super().drawn(name, place, kind)
        digest = hashlib.sha256(f"{name} {place} rough".encode()).digest()
        fraction = int.from_bytes(digest[:4], "big") / 2**32 - 0.5
        return fraction * 2.0 ** (digest[4] % 12)


class Few(Machine):
    """The same on few numbers, both signs: many are equal, and those that choose a cell are in small arrays, too."""

    def drawn(self, name: str, place: int, kind: str) -> Any:
        """An input: always the same at the same place."""
        n = _number_of(name, place, "few")
        if kind == "boolean":
            return n % 2 == 0
        return n % 2 if kind in BITS else (n % 5 - 2) / 2


class Wide(Machine):
    """The same on whole numbers of any size, with either sign."""

    def drawn(self, name: str, place: int, kind: str) -> Any:
        """An input: always the same at the same place."""
        if not kind in BITS:
            return super().drawn(name, place, kind)
        n = _number_of(name, place, "wide")
        bits = 31 if n % 2 else 5
        return (n >> 8) % 2 ** (bits + 1) - 2**bits


class Edges(Wide):
    """The same where most floats are no ordinary numbers."""

    every = 8

    def drawn(self, name: str, place: int, kind: str) -> Any:
        """An input: always the same at the same place."""
        if kind == "boolean" or kind in BITS:
            return super().drawn(name, place, kind)
        n = _number_of(name, place, "edge") % self.every
        edges = (math.nan, math.inf, -math.inf, 0.0, 1.0, -float(np.finfo(DTYPES[kind]).max))
        return edges[n] if n < len(edges) else super().drawn(name, place, kind)


class Rare(Edges):
    """The same where one float of many is no ordinary number."""

    every = 199


class Zeros(Machine):
    """The same where all is 0: a value that others hide is seen."""

    def drawn(self, name: str, place: int, kind: str) -> Any:
        """An input."""
        return 0


class Above(Machine):
    """The same above 0: a smallest number that begins at 0 is seen."""

    sign = 1

    def drawn(self, name: str, place: int, kind: str) -> Any:
        """An input: always the same at the same place."""
        value = super().drawn(name, place, kind)
        return value if isinstance(value, bool) else self.sign * (abs(value) + 1)


class Below(Above):
    """The same below 0: a largest number that begins at 0 is seen."""

    sign = -1


def _number_of(name: str, place: int, why: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{name} {place} {why}".encode()).digest()[:8], "big")


_SAID = re.compile(r"([\w.]+)\[(\d+)\] = (\S+)(?:,|$)")


def drawn_as(called: str) -> type[Machine]:
    """The machine that draws inputs of a name; numbers that are said are these, and all others 0.

    >>> from relift.compiler.meaning.computed import drawn_as
    >>> machine = drawn_as("inputs of 0 but x[1] = -2.5, k[0] = 7")({}, 0)
    >>> machine.drawn("x", 1, "f32"), machine.drawn("x", 0, "f32"), machine.drawn("k", 0, "i32")
    (-2.5, 0, 7)
    """
    if called in DRAWN:
        return DRAWN[called]
    said = {(m[1], int(m[2])): m[3] for m in _SAID.finditer(called)}

    class Said(Zeros):
        def drawn(self, name: str, place: int, kind: str) -> Any:
            text = said.get((name, place), "0")
            return int(text) if text.lstrip("-").isdecimal() else float(text)

    return Said


def unrounded(machine: type[Machine]) -> type[Machine]:
    """Who draws the same, and computes with floats that are hardly rounded; what is done to the bits of one is given up.

    >>> from relift.compiler.meaning.computed import Machine, unrounded
    >>> from relift.compiler.validation.symbols import Algebra
    >>> a = Algebra()
    >>> one, small = a.real(1.0, "f32"), a.real(2.0**-40, "f32")
    >>> lost = a.sub(a.add(one, small), one)
    >>> [float(m({}, 9).value(lost)) for m in (Machine, unrounded(Machine))] == [0.0, 2.0**-40]
    True
    """

    class Unrounded(machine):  # type: ignore[misc, valid-type]
        def number(self, kind: str) -> Any:
            found = super().number(kind)
            return np.longdouble if issubclass(found, float | np.floating) else found

        def _fold(self, x: Symbol) -> Any:
            return self._turn_by_turn(x)

        def _applied(self, x: Symbol, values: list[Any], number: Any) -> Any:
            if x.op in ("bits_of_float", "float_of_bits"):
                raise GivenUp
            return super()._applied(x, values, number)

    return Unrounded


ORDINARY = "the inputs of drawn_inputs"
DRAWN: Mapping[str, type[Machine]] = {
    ORDINARY: Machine,
    "inputs that round": Rough,
    "inputs that fall": Falling,
    "inputs that rise": Rising,
    "inputs of few values": Few,
    "large inputs": Wide,
    "inputs above 0": Above,
    "inputs below 0": Below,
}
"""Inputs that are the same whenever they are drawn, by what they are called."""
