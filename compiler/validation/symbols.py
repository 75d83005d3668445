"""A free algebra of scalars: what a kernel and the interpreter compute from inputs that are nothing but names.

A `Symbol` is made once by its `Algebra`, so two values are equal for all inputs that can be told apart by no law
if they are one object.  Sums and products have no order of two, as in IEEE arithmetic, but brackets.  Symbols have the types of scalars, but `bool`; whole numbers have no sign here: `add`
wraps around, and what depends on the sign says so (`lt` and `below`).  A truth value that C holds in an `int` is
`i32(b)`; a lane of a mask, 0 or -1, is `mask(b)`.

>>> from relift.compiler.validation.symbols import Algebra, OPEN
>>> a = Algebra()
>>> x, y = a.cell("x", 0, "f32"), a.cell("x", 1, "f32")
>>> a.add(x, y) is a.add(x, y), a.add(x, y) is a.add(y, x), a.sub(x, y) is a.sub(y, x)
(True, True, False)
>>> a.add(x, OPEN) is OPEN
True
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from relift.compiler.validation.known import decided_where
from relift.compiler.validation.operations import CONNECTIVES, SIGNS, Operation
from relift.semantics.errors import Undefined
from relift.semantics.syntax.types import FLOATS, INTEGERS

T = TypeVar("T")
_Key: TypeAlias = tuple[Any, ...]

LIMIT = 2_000_000
"""Symbols that one comparison may make: some hundred megabytes, some seconds."""

BITS = {t.name: 8 * t.bytes for t in INTEGERS.values()}
FLOATING: dict[str, Any] = {t.name: np.dtype(t.dtype).type for t in FLOATS.values()}
_BITWISE = {word: function for function, word in CONNECTIVES.items()}
COMMUTING = frozenset(["add", "mul", "equal", "not_equal", *CONNECTIVES])
"""Operations of two values that mean the same in either order."""


class TooLarge(Exception):
    """More symbols, work-items or turns than are allowed."""


class DependsOnData(Exception):
    """A branch, an index or a number of turns depends on an input that is only a name."""

    def __init__(self, symbol: Symbol, what: str) -> None:
        super().__init__(f"{what} depends on {symbol}")
        self.symbol = symbol


class Symbol:
    """One value: `op` applied to `args`; a constant has its bits, an input its name and place as `args`."""

    __slots__ = ("args", "number", "op", "type")

    op: Operation
    type: str
    args: tuple[Any, ...]
    number: int

    def __bool__(self) -> bool:
        if self is OPEN:
            raise Undefined("a branch depends on a cell that is left open")
        raise DependsOnData(self, "a branch")

    def __index__(self) -> int:
        if self is OPEN:
            raise Undefined("an index depends on a cell that is left open")
        raise DependsOnData(self, "an index")

    def __repr__(self) -> str:
        return shown(self)


def _open() -> Symbol:
    found = Symbol()
    found.op, found.type, found.args, found.number = "open", "open", (), -1
    return found


OPEN = _open()
"""A cell that nothing was written to.  It absorbs all that is computed from it."""

Scalar: TypeAlias = Symbol | int
"""A value at run time: a symbol, or a whole number or truth value that is known."""


class Algebra:
    """Makes symbols, each once."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.table: dict[tuple[Any, ...], Symbol] = {}
        self.add = self._arithmetic("add")
        self.sub = self._arithmetic("sub")
        self.mul = self._arithmetic("mul")
        self._quotient = self._arithmetic("div")

    def _new(self, key: _Key, op: Operation, type_: str, args: tuple[Any, ...]) -> Symbol:
        found = Symbol()
        found.op, found.type, found.args, found.number = op, type_, args, len(self.table)
        self.table[key] = found
        if len(self.table) > self.limit:
            raise TooLarge(f"more than {self.limit} symbols")
        return found

    def _once(self, key: _Key, op: str, type_: str, args: tuple[Any, ...]) -> Symbol:
        found = self.table.get(key)
        return self._new(key, op, type_, args) if found is None else found

    # ---- constants and inputs

    def cell(self, name: str, place: int, type_: str) -> Symbol:
        """An element of an input."""
        key = ("cell", name, place, type_)
        return self._once(key, "cell", type_, (name, place))

    def real(self, value: Any, type_: str) -> Symbol:
        """A floating-point constant, told apart by its bits: -0.0 is not 0.0; all NaN are one."""
        number = float(FLOATING[type_](value))
        bits = struct.pack("<d", math.nan if math.isnan(number) else number)
        key = ("real", bits, type_)
        return self._once(key, "real", type_, (bits,))

    def whole(self, value: int, type_: str) -> Symbol:
        """A whole constant; or, of type bool, a truth value."""
        if type_ == "bool":
            value = int(bool(value))
        else:
            half = 1 << (BITS[type_] - 1)
            value = (int(value) + half) % (2 * half) - half
        key = ("whole", value, type_)
        return self._once(key, "whole", type_, (value,))

    def lift(self, value: Scalar, type_: str) -> Symbol:
        """A value of a type as a symbol."""
        return value if isinstance(value, Symbol) else self.whole(value, type_)

    # ---- functions

    def div(self, x: Symbol, y: Symbol) -> Symbol:
        """x / y; by a power of two it is a product, to the last bit.

        >>> from relift.compiler.validation.symbols import Algebra
        >>> a = Algebra()
        >>> x = a.cell("x", 0, "f32")
        >>> a.div(x, a.real(8, "f32")) is a.mul(x, a.real(0.125, "f32"))
        True
        """
        if y.op == "real" and x.op != "real" and (inverse := _inverse(value_of(y), y.type)):
            return self.mul(x, self.real(inverse, y.type))
        return self._quotient(x, y)

    def made(self, op: Operation, type_: str, *args: Symbol) -> Symbol:
        """An operation of which nothing is known but its name."""
        key = (op, type_, *args)
        found = self.table.get(key)
        if found is None and op in COMMUTING:
            found = self.table.get((op, type_, *reversed(args)))
        if found is None:
            if OPEN in args:
                self.table[key] = OPEN
                return OPEN
            found = self._new(key, op, type_, args)
        return found

    def reciprocal_root(self, x: Symbol) -> Symbol:
        """1 / sqrt(x), which `rsqrt` means."""
        if x is OPEN:
            return x
        return self.div(self.real(1.0, x.type), self.made("sqrt", x.type, x))

    def _arithmetic(self, op: str) -> Callable[[Symbol, Symbol], Symbol]:
        """A function of two values of one type, to this type."""
        table, commutes = self.table, op in COMMUTING

        def function(x: Symbol, y: Symbol) -> Symbol:
            found = table.get((op, x, y))
            if found is None and commutes:
                found = table.get((op, y, x))
            if found is None:
                if x is OPEN or y is OPEN:
                    return OPEN
                assert x.type == y.type, f"cannot happen: {op} of {x.type} and {y.type}"
                found = self._new((op, x, y), op, x.type, (x, y))
            return found

        return function

    def neg(self, x: Symbol) -> Symbol:
        """-x; of a constant the constant, of a truth value in a number the mask."""
        match x.op:
            case "real":
                return self.real(-value_of(x), x.type)
            case "whole":
                return self.whole(-x.args[0], x.type)
            case "i32" | "i64" if x.args[0].type == "bool":
                return self.made("mask", x.type, x.args[0])
            case "mask":
                return self.made(x.type, x.type, x.args[0])
            case _:
                return self.made("neg", x.type, x)

    def lt(self, x: Symbol, y: Symbol) -> Symbol:
        """Whether x < y, of whole numbers with signs; none is less than itself, NaN neither."""
        if x is y and x is not OPEN:
            return self.whole(0, "bool")
        return self.made("lt", "bool", x, y)

    def le(self, x: Symbol, y: Symbol) -> Symbol:
        """Whether x <= y, of whole numbers with signs."""
        return self.made("le", "bool", x, y)

    def equal(self, x: Symbol, y: Symbol) -> Symbol:
        """Whether x is y; of truth values in numbers, of these; of a number that is moved or widened, of the one before."""
        return self._compared("equal", x, y)

    def not_equal(self, x: Symbol, y: Symbol) -> Symbol:
        """Whether x is not y; of what `equal` compares."""
        return self._compared("not_equal", x, y)

    def _compared(self, op: Literal["equal", "not_equal"], x: Symbol, y: Symbol) -> Symbol:
        same = int(op == "equal")
        if truths := self._truths(x, y):
            _, x, y = truths
            for b, other in ((x, y), (y, x)):
                if other.op == "whole":
                    return b if bool(other.args[0]) == bool(same) else self.invert(b)
        if x is y and x.type in BITS:
            return self.whole(same, "bool")
        before = moved_back(self, x, y)
        return self.whole(1 - same, "bool") if before is None else self.made(op, "bool", *before)

    def bits(self, op: str, x: Symbol, y: Symbol) -> Symbol:
        """`and`, `or` or `xor`, bit by bit; of truth values in numbers, the number of what they give."""
        if x.type == y.type == "bool":
            return self._both(op, x, y)
        if truths := self._truths(x, y):
            kind, p, q = truths
            return self.made(kind, x.type, self._both(op, p, q))
        return self.made(_BITWISE[op], x.type, x, y)

    def _both(self, op: str, p: Symbol, q: Symbol) -> Symbol:
        for b, other in ((p, q), (q, p)):
            if other.op == "whole":
                known = bool(other.args[0])
                if op == "xor":
                    return self.invert(b) if known else b
                return b if known == (op == "and") else other
        for b, other in ((p, q), (q, p)) if op == "and" else ():
            if (holds := decided_where(b, other)) is not None:
                return other if holds else self.whole(0, "bool")
        return self.made(_BITWISE[op], "bool", p, q)

    def invert(self, x: Symbol) -> Symbol:
        """Not x; of whole numbers, bit by bit."""
        match x.op:
            case "whole" if x.type == "bool":
                return self.whole(1 - x.args[0], "bool")
            case "invert":
                return x.args[0]  # type: ignore[no-any-return]
            case "mask":
                return self.made("mask", x.type, self.invert(x.args[0]))
            case _:
                return self.made("invert", x.type, x)

    def select(self, condition: Symbol, x: Symbol, y: Symbol) -> Symbol:
        """x where the condition holds, else y."""
        if condition.op == "whole":
            return x if condition.args[0] else y
        if x is y:
            return x
        if condition.op == "invert":
            return self.select(condition.args[0], y, x)
        if truths := self._truths(x, y):
            kind, p, q = truths
            return self.made(kind, x.type, self.select(condition, p, q))
        return self.made("select", x.type, condition, x, y)

    def _truths(self, x: Symbol, y: Symbol) -> tuple[str, Symbol, Symbol] | None:
        """Two numbers of which one holds a truth value, and the other one as well: how they do, and which."""
        for kind, true in (("i32", 1), ("i64", 1), ("mask", -1)):
            held = [self._held(kind, true, v) for v in (x, y)]
            if (
                held[0] is not None
                and held[1] is not None
                and kind in (x.op, y.op)
                and x.type == y.type
            ):
                return kind, held[0], held[1]
        return None

    def _held(self, kind: str, true: int, x: Symbol) -> Symbol | None:
        if x.op == kind and x.args[0].type == "bool":
            return x.args[0]  # type: ignore[no-any-return]
        if x.op == "whole" and x.args[0] in (0, true):
            return self.whole(x.args[0], "bool")
        return None

    def truth(self, x: Symbol) -> Symbol:
        """Whether a value is not 0.

        >>> from relift.compiler.validation.symbols import Algebra
        >>> a = Algebra()
        >>> b = a.cell("b", 0, "bool")
        >>> a.truth(a.convert(b, "i32")) is b
        True
        """
        if x.type == "bool" or x is OPEN:
            return x
        if x.type in FLOATING:
            return self.not_equal(x, self.real(0.0, x.type))
        if x.op == "select" and all(v.op == "whole" and v.args[0] in (0, 1) for v in x.args[1:]):
            c, p, q = x.args
            return self.select(c, self.whole(p.args[0], "bool"), self.whole(q.args[0], "bool"))
        return self.not_equal(x, self.whole(0, x.type))

    def convert(self, x: Symbol, to: str) -> Symbol:
        """x in another type: a float to the nearest, a whole number by its bits or its sign.

        A float that becomes a whole number must be in range.
        """
        if x.type == to or x is OPEN:
            return x
        if x.op == "real" and to in FLOATING:
            with np.errstate(over="ignore"):
                return self.real(FLOATING[to](value_of(x)), to)
        if x.op == "whole" and to in BITS:
            return self.whole(x.args[0], to)
        if x.op == "whole" and to in FLOATING:
            return self.real(FLOATING[to](x.args[0]), to)
        if x.op in BITS and x.args[0].type == "bool":
            return self.made(to, to, x.args[0])
        if x.op == "mask" and to in BITS:
            return self.made("mask", to, x.args[0])
        if to == "bool":
            return self.truth(x)
        if x.type in FLOATING and to in BITS:
            return self.made("in_range", to, x)
        return self.made(to, to, x)

    def bits_of(self, x: Symbol, to: str) -> Symbol:
        """The bits of a float as a whole number of as many."""
        if x.op == "float_of_bits":
            return x.args[0]  # type: ignore[no-any-return]
        if x.op == "real" and not math.isnan(value_of(x)):
            return self.whole(int(FLOATING[x.type](value_of(x)).view(f"i{BITS[to] // 8}")), to)
        return self.made("bits_of_float", to, x)

    def float_of(self, x: Symbol, to: str) -> Symbol:
        """The float that has the bits of a whole number; where only its sign is changed, what that means.

        >>> from relift.compiler.validation.symbols import Algebra
        >>> a = Algebra()
        >>> x = a.cell("x", 0, "f32")
        >>> held = a.bits("and", a.bits_of(x, "i32"), a.whole(2**31 - 1, "i32"))
        >>> a.float_of(held, "f32") is a.made("absolute", "f32", x)
        True
        """
        if x.op == "bits_of_float":
            return x.args[0]  # type: ignore[no-any-return]
        if x.op == "select" and any(v.op == "bits_of_float" for v in x.args[1:]):
            return self.select(x.args[0], *(self.float_of(v, to) for v in x.args[1:]))
        if x.op == "whole":
            held = np.array(x.args[0], f"i{BITS[x.type] // 8}").view(FLOATING[to])
            return self.real(float(held), to)
        for y, mask in (x.args, x.args[::-1]) if x.op in CONNECTIVES else ():
            if y.op == "bits_of_float" and mask.op == "whole":
                number, sign = y.args[0], -(1 << (BITS[x.type] - 1))
                match x.op, mask.args[0]:
                    case "bitwise_and", m if m == -sign - 1:
                        return self.made("absolute", to, number)
                    case "bitwise_xor", m if m == sign:
                        return self.neg(number)
                    case "bitwise_or", m if m == sign:
                        return self.neg(self.made("absolute", to, number))
                    case _:
                        pass
        return self.made("float_of_bits", to, x)

    def saturated(self, x: Symbol, to: str) -> Symbol:
        """A float as a whole number, towards zero, and the end of the range beyond it."""
        return self.made("saturated", to, x)


def moved_back(a: Algebra, x: Symbol, y: Symbol) -> tuple[Symbol, Symbol] | None:
    """Two whole numbers that are equal where others are, one of them known; None where these never are.

    >>> from relift.compiler.validation.symbols import Algebra, moved_back
    >>> a = Algebra()
    >>> v = a.cell("v", 0, "i32")
    >>> place = a.add(a.whole(48, "i64"), a.made("extended", "i64", v))
    >>> moved_back(a, place, a.whole(50, "i64"))
    (v[0], 2)
    """
    if x.op == "whole":
        x, y = y, x
    while y.op == "whole" and x.type in BITS:
        number = y.args[0]
        moved = next((v for v in x.args if v.op == "whole"), None) if x.op == "add" else None
        if moved is not None:
            x = x.args[x.args[0] is moved]
            y = a.whole(number - moved.args[0], x.type)
        elif x.op in (*BITS, "extended") and BITS.get(x.args[0].type, 65) < BITS[x.type]:
            least = 0 if x.op == "extended" else -(1 << (BITS[x.args[0].type] - 1))
            x = x.args[0]
            if not 0 <= number - least < 1 << BITS[x.type]:
                return None
            y = a.whole(number, x.type)
        else:
            break
    return x, y


def _inverse(number: float, type_: str) -> float:
    """1 over a power of two, where both are normal numbers; 0 for another number."""
    if math.isinf(number) or abs(math.frexp(number)[0]) != 0.5:
        return 0.0
    least = float(np.finfo(FLOATING[type_]).tiny)
    return 1 / number if least <= abs(number) <= 1 / least else 0.0


def value_of(x: Symbol) -> float:
    """The number that a constant is."""
    return x.args[0] if x.op == "whole" else struct.unpack("<d", x.args[0])[0]  # type: ignore[no-any-return]


def shown(x: Any, depth: int = 3) -> str:
    """A value for a person; what lies deep is left out.

    >>> from relift.compiler.validation.symbols import Algebra, OPEN
    >>> a = Algebra()
    >>> a.mul(a.add(a.cell("x", 3, "f32"), a.real(1.5, "f32")), OPEN), a.add(a.real(2, "f32"), a.cell("x", 3, "f32"))
    (nothing, 2.0 + x[3])
    """
    if not isinstance(x, Symbol):
        return str(x)
    match x.op:
        case "open":
            return "nothing"
        case "cell":
            return f"{x.args[0]}[{x.args[1]}]"
        case "real" | "whole":
            return repr(value_of(x))
        case _ if depth == 0:
            return "…"
        case op if op in SIGNS:
            sides = (shown(v, depth - 1) for v in x.args)
            return f" {SIGNS[op]} ".join(f"({t})" if " " in t else t for t in sides)
        case op:
            return f"{op}({', '.join(shown(v, depth - 1) for v in x.args)})"


def parts_first(
    x: Symbol,
    known: dict[Symbol, T],
    parts: Callable[[Symbol], Iterable[Symbol]],
    made: Callable[[Symbol], T],
) -> T:
    """What is made of a symbol after what is made of its parts, without recursion; nothing that is `known` is made again."""
    waiting = [x]
    while waiting:
        now = waiting[-1]
        if now in known:
            waiting.pop()
        elif needed := [v for v in parts(now) if v not in known]:
            waiting += needed
        else:
            known[now] = made(now)
    return known[x]


def symbols_within(*symbols: Symbol, most: float = math.inf) -> set[Symbol]:
    """Some symbols, and all that they are made from; of more than `most` some."""
    seen, waiting = set[Symbol](), list(symbols)
    while waiting and len(seen) <= most:
        if (x := waiting.pop()) not in seen:
            seen.add(x)
            waiting += [v for v in x.args if isinstance(v, Symbol)]
    return seen


def cells_within(*symbols: Symbol) -> list[Symbol]:
    """The cells of inputs that some symbols are made from, in the order in which they were made."""
    return sorted((x for x in symbols_within(*symbols) if x.op == "cell"), key=lambda x: x.number)


def inputs_within(*symbols: Symbol) -> set[str]:
    """The inputs that some symbols are made from."""
    return {x.args[0] for x in symbols_within(*symbols) if x.op == "cell"}
