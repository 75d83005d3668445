"""Expressions with the functions, pointers and copies that people use."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from relift.compiler.foreign.atomics import is_atomic
from relift.compiler.foreign.attempts import given_back
from relift.compiler.foreign.expressions import ROW, refused
from relift.compiler.foreign.groups.sub_groups import is_of_sub_group, numbered
from relift.compiler.foreign.longhand.floats import dot_of, loaded_halves
from relift.compiler.foreign.longhand.whole_numbers import (
    joined,
    of_lanes,
    parts_of,
    saturated,
    without_wrapping,
)
from relift.compiler.text.c_types import (
    FLOATS,
    INT,
    LONG,
    RANGES,
    SIZES,
    ULONG,
    UNSIGNED,
    common,
    plain,
    size_of,
    without_sign,
)
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import (
    Binary,
    Cast,
    Conditional,
    CType,
    Element,
    Expression,
    Invocation,
    Member,
    Name,
    Prefix,
    Real,
    Whole,
)
from relift.compiler.validation.arithmetic import wrapped
from relift.compiler.validation.bits import ARGUMENTS, SIGNLESS, in_bits
from relift.compiler.validation.machine import Undecided
from relift.compiler.validation.operations import read_as
from relift.compiler.validation.symbols import Algebra, Symbol
from relift.compiler.validation.translation.expressions import Expressions
from relift.compiler.validation.translation.functions import extreme
from relift.compiler.validation.translation.operators import as_int, as_type, binary
from relift.compiler.validation.translation.python import Code, Writer, lanewise

EVENT = "event_t"
"""The type of what a copy of a group is waited for by."""

COPIES = {"async_work_group_copy": 4, "async_work_group_strided_copy": 5}
"""The copies of a group, and how many arguments each has."""

SHORT = {INT: (-(2**23), 2**23 - 1), CType("uint"): (0, 2**24 - 1)}
"""The numbers of 24 bits."""

_RELATIONS = {
    "isless": "<", "islessequal": "<=", "isgreater": ">", "isgreaterequal": ">=", "isequal": "==", "isnotequal": "!=",
}  # fmt: skip
_FAST = ("native_", "half_")
_SATURATED = re.compile(r"convert_(u?(?:char|short|int|long))(2|3|4|8|16)?_sat")
_TOWARDS_ZERO = re.compile(r"(convert_u?(?:char|short|int|long)(?:2|3|4|8|16)?(?:_sat)?)_rtz")
_PARTS_OF = re.compile(r"as_(u?(?:char|short|int|long))(2|4|8)?")
_BITS_OF = re.compile(r"as_(u?int|u?long|float|double)(2|4|8|16)?")


@dataclass
class Loosely(Expressions):
    """Expressions with the functions that people use; `contracted` takes `fma` for a product and a sum."""

    contracted: bool = True
    helpers: Mapping[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    sites: int = 0
    sub_group: int = 0

    def value(self, e: Expression) -> Code:
        """An expression, with the type that C gives it."""
        match e:
            case Element(array, index) if self._points(array) and self._is_event(array):
                memory, offset, t = self.pointer(Prefix("&", Element(array, index)))
                return Code(f"{memory}.load(it, {offset.text})", replace(t, pointer=False))
            case Binary("<" | "<=" | ">" | ">=" | "==" | "!=" | "-" as operator, a, b) if (
                self._points(a) and self._points(b)
            ):
                (m, i, _), (n, j, _) = self.pointer(a), self.pointer(b)
                places = [
                    Code(f"beside({m}, {n}, {i.text})", LONG, *_PLACES),
                    replace(j, type=LONG),
                ]
                return binary(self.w, operator, *places)
            case (
                Name() | Binary() | Prefix() | Whole() | Real() | Element() | Member()
                | Invocation() | Cast() | Conditional()
            ):  # fmt: skip
                return super().value(e)

    # ---- pointers

    def _points(self, e: Expression) -> bool:
        """Whether an expression is a pointer, or an array."""
        match e:
            case Name(name):
                v = self.w.known(name)
                return v is not None and v.kind in ("array", "pointer")
            case Binary("+" | "-", of, by):
                return self._points(of) and not self._points(by)
            case Prefix("&", _):
                return True
            case Cast(t, _):
                return t.pointer
            case Conditional(_, yes, no):
                return self._points(yes) and self._points(no)
            case Binary() | Prefix() | Whole() | Real() | Element() | Member() | Invocation():
                return False

    def _is_event(self, array: Expression) -> bool:
        return self.pointer(array)[2].scalar == EVENT

    def pointer(self, e: Expression) -> tuple[str, Code, CType]:
        """The memory into which a pointer points, where, and the type of an element."""
        match e:
            case Cast(t, (of,)) if t.pointer:
                return self._seen_as(t, *self.pointer(of))
            case Conditional(condition, yes, no):
                c = as_int(self.w, self.value(condition)).text
                (m, i, t), (n, j, other) = self.pointer(yes), self.pointer(no)
                if (plain(t), t.space) != (plain(other), other.space):
                    raise NotUnderstood("a pointer into one array or another of other cells")
                held = self.w.fresh("at")
                text = f"one_of(it, {c}, ({m}, {i.text}), ({n}, {j.text}))"
                both = f"({held} := {text})"
                constant = t.constant or other.constant
                return (
                    f"{both}[0]",
                    Code(f"{held}[1]", LONG),
                    replace(t, constant=constant),
                )
            case Name():
                memory, at, t = super().pointer(e)
                return memory, at if at.text == "0" else Code(at.text, LONG), t
            case (
                Binary()
                | Prefix()
                | Whole()
                | Real()
                | Element()
                | Member()
                | Invocation()
                | Cast()
            ):
                return super().pointer(e)

    def _seen_as(self, t: CType, memory: str, at: Code, of: CType) -> tuple[str, Code, CType]:
        """A pointer that is taken for one to vectors of the same scalars, or to scalars."""
        if t.scalar != of.scalar or 3 in (t.width, of.width):
            raise NotUnderstood(f"a pointer to {of.scalar}{of.width} as one to {t.scalar}{t.width}")
        if of.constant and not t.constant:
            raise NotUnderstood("a pointer from which const is taken away")
        found = replace(of, width=t.width, constant=t.constant)
        if t.width == of.width:
            return memory, at, found
        self.w.environment |= {"seen_as": seen_as, "seen_at": _seen_at}
        place = f"seen_at(it, {memory}, {at.text}, {of.width}, {t.width})"
        return f"seen_as({memory}, {t.width})", Code(place, LONG, *_PLACES), found

    # ---- functions

    def _invocation(self, function: str, arguments: tuple[Expression, ...]) -> Code:
        if function == ROW:
            outer, inner, extent = (self.value(a) for a in arguments)
            return Code(f"row(it, {outer.text}, {inner.text}, {extent.text})", INT)
        if function in self.helpers:
            if self.helpers[function].waits:
                raise refused(None, f"a call of {function}, which has barriers, in an expression")
            return self.helper_called(function, arguments)
        if is_of_sub_group(function):
            return self.value(numbered(function, arguments, self.sub_group))
        if COPIES.get(function) == len(arguments):
            return self._copied(function, arguments)
        if is_atomic(function):
            return given_back(self, Invocation(function, arguments))
        if (found := self._written_out(function, arguments)) is not None:
            return self.value(found)
        if function == "mul24" and len(arguments) == 2:
            return self._short_product(*arguments)
        if function == "mad24" and len(arguments) == 3:
            product = self._short_product(*arguments[:2])
            return binary(self.w, "+", product, self.value(arguments[2]))
        if function == "get_global_offset":
            return Code("0", ULONG, 0, 0)
        return self._of_values(function, arguments) or super()._invocation(function, arguments)

    def _written_out(self, function: str, arguments: tuple[Expression, ...]) -> Expression | None:
        """What functions stand for that are others written shortly."""
        match function, arguments:
            case (("mad" | "fma"), (a, b, c)) if self.contracted:
                self.notes.append(f"{function} is taken for a product and a sum")
                return Binary("+", Binary("*", a, b), c)
            case "dot", (a, b) if self.contracted:
                self.notes.append("dot is taken for a sum of products, in order")
                return dot_of(self.value(a).type.width, a, b)
            case "mix", (a, b, by) if self.contracted:
                self.notes.append("mix is taken for a + (b - a) * c")
                return Binary("+", a, Binary("*", Binary("-", b, a), by))
            case (("length" | "fast_length"), (a,)) if self.contracted:
                return Invocation("sqrt", (Invocation("dot", (a, a)),))
            case (("distance" | "fast_distance"), (a, b)) if self.contracted:
                return Invocation("length", (Binary("-", a, b),))
            case (("normalize" | "fast_normalize"), (a,)) if self.contracted:
                return Binary("/", a, Invocation("length", (a,)))
            case "bitselect", (a, b, c) if self.value(c).type.scalar not in FLOATS:
                kept = Binary("&", a, Prefix("~", c))
                return Binary("|", kept, Binary("&", b, c))
            case (("add_sat" | "sub_sat" | "mad_sat"), (a, *_)) if len(arguments) == 2 + (
                function[0] == "m"
            ):
                return without_wrapping(function, self.value(a).type, arguments)
            case "upsample", (high, low):
                return joined(self.value(high).type, high, low)
            case "step", (edge, x):
                return Conditional(Binary("<", x, edge), Real("0.0f"), Real("1.0f"))
            case "isnan", (x,):
                return Binary("!=", x, x)
            case (("any" | "all"), (x,)):
                return of_lanes(self.value(x).type, x, "||" if function == "any" else "&&")
            case _, (x,) if m := _SATURATED.fullmatch(function):
                return saturated(self.value(x).type.scalar, m[1], m[2] or "", x)
            case _, (_, p) if (halves := loaded_halves(function, arguments)) is not None:
                if self.pointer(p)[2].scalar != "half":
                    raise NotUnderstood(f"{function} of other cells than half")
                return halves
            case _, (x,) if m := _TOWARDS_ZERO.fullmatch(function):
                return Invocation(m[1], (x,))
            case _, (x,) if m := _PARTS_OF.fullmatch(function):
                return parts_of(self.value(x).type, CType(m[1], int(m[2] or 1)), x)
            case _, (a, b) if function in _RELATIONS:
                return Binary(_RELATIONS[function], a, b)
            case (("native_divide" | "half_divide"), (a, b)) if self.contracted:
                return Binary("/", a, b)
            case (("native_recip" | "half_recip"), (a,)) if self.contracted:
                return Binary("/", Real("1.0f"), a)
            case _ if function.startswith(_FAST) and self.contracted:
                self.notes.append(f"{function} is taken for the function that it is nearly")
                return Invocation(function.partition("_")[2], arguments)
            case (("get_local_linear_id" | "get_global_linear_id"), ()):
                return _linear(function.split("_")[1])
            case _:
                return None

    def _of_values(self, function: str, arguments: tuple[Expression, ...]) -> Code | None:
        """Functions of values that have been computed; None where it is none of them."""
        if {"shuffle": 2, "shuffle2": 3}.get(function) == len(arguments):
            *of, mask = map(self.value, arguments)
            return _shuffled(self.w, mask, of)
        if function == "clamp" and len(arguments) == 3:
            value, low, high = map(self.value, arguments)
            return self._extreme("min", self._extreme("max", value, low), high)
        if function in ("min", "max", "fmin", "fmax") and len(arguments) == 2:
            return self._extreme(function, *map(self.value, arguments))
        if (m := _BITS_OF.fullmatch(function)) and len(arguments) == 1:
            e, t = self.value(arguments[0]), CType(m[1], int(m[2] or 1))
            between = (e.type.scalar in FLOATS) != (t.scalar in FLOATS)
            if between and (size_of(e.type), e.type.width) == (size_of(t), t.width):
                return self.as_bits(t, e)
            return None
        if ARGUMENTS.get(function) == len(arguments):
            return self._of_known(function, [self.value(a) for a in arguments])
        return None

    def _extreme(self, function: str, a: Code, b: Code) -> Code:
        """The smaller or the larger of two; of floats as OpenCL defines it for what is a number."""
        t = common(a.type, b.type)
        if t.scalar not in FLOATS:
            return extreme(self.w, function, a, b)
        if not function.startswith("f"):
            self.notes.append(f"{function} of floats is left open by OpenCL where one is NaN")
        of = _larger if function.endswith("max") else _smaller
        one = _number_of(self.w.arithmetic.algebra, of, open_at_nan=not function.startswith("f"))
        name = self.w.bound(lanewise(one) if t.width > 1 else one)
        return Code(f"{name}({as_type(self.w, a, t).text}, {as_type(self.w, b, t).text})", t)

    def _of_known(self, function: str, values: list[Code]) -> Code:
        t = values[0].type
        if t.width > 1 or t.scalar in FLOATS or any(v.type.scalar != t.scalar for v in values):
            raise NotUnderstood(f"{function} of that")
        low, high = RANGES[t.scalar]
        bits = (high - low + 1).bit_length() - 1
        result = replace(t, scalar=without_sign(t.scalar)) if function == "abs_diff" else t
        unsigned = function in SIGNLESS and t.scalar in UNSIGNED
        operation = read_as(function, unsigned=unsigned)

        def known(*numbers: Any) -> Any:
            if any(isinstance(n, Symbol) for n in numbers):
                if bits < 32:
                    raise Undecided(f"{function} of data")
                a, kind = self.w.arithmetic.algebra, f"i{bits}"
                return a.made(operation, kind, *(a.lift(n, kind) for n in numbers))
            return wrapped(in_bits(function, bits, [int(n) for n in numbers]), result.scalar)

        ends = RANGES[result.scalar] if all(v.known for v in values) else (None, None)
        return Code(f"{self.w.bound(known)}({', '.join(v.text for v in values)})", result, *ends)

    def as_bits(self, t: CType, e: Code) -> Code:
        """The bits of a float as a whole number, or the other way round."""
        a = self.w.arithmetic.algebra
        if e.type.scalar in FLOATS:
            kind = f"i{8 * SIZES[e.type.scalar]}"

            def one(x: Any) -> Any:
                return wrapped_bits(a.bits_of(x, kind), t.scalar)
        else:
            kind = FLOATS[t.scalar]

            def one(x: Any) -> Any:
                return a.float_of(a.lift(x, f"i{8 * SIZES[t.scalar]}"), kind)

        return Code(f"{self.w.bound(lanewise(one) if t.width > 1 else one)}({e.text})", t)

    def _short_product(self, a: Expression, b: Expression) -> Code:
        """A product of numbers of 24 bits; OpenCL leaves open what it is of longer ones."""
        factors = self.value(a), self.value(b)
        if any(f.type not in SHORT for f in factors):
            raise refused(None, "a product of 24 bits of what are no two numbers")
        checked = [Code(f"short({f.text}, {SHORT[f.type]})", f.type) for f in factors]
        return binary(self.w, "*", *checked)

    def helper_called(self, function: str, arguments: tuple[Expression, ...]) -> Code:
        """A call of a function of the source."""
        helper = self.helpers[function]
        if len(helper.parameters) != len(arguments):
            raise refused(None, f"{len(arguments)} arguments of {function}")
        given: list[str] = []
        for t, a in zip(helper.parameters, arguments, strict=True):
            if t.pointer:
                memory, offset, of = self.pointer(a)
                if (of.scalar, of.width) != (t.scalar, t.width):
                    raise refused(None, f"a pointer to other cells than {function} takes")
                given.append(f"({memory}, {offset.text})")
            else:
                given.append(as_type(self.w, self.value(a), plain(t)).text)
        result = plain(helper.result) if helper.result else INT
        return Code(f"h_{function}(it, {', '.join(given)})", result)

    # ---- copies

    def _copied(self, function: str, arguments: tuple[Expression, ...]) -> Code:
        """A copy that all work-items of a group make together, and what it is waited for by."""
        (m, i, to), (n, j, of) = self.pointer(arguments[0]), self.pointer(arguments[1])
        if (
            plain(to) != plain(of)
            or to.constant
            or {to.space.owner, of.space.owner} != {"group", "device"}
        ):
            raise NotUnderstood(f"{function} between such arrays")
        count, *stride = (self.value(a).text for a in arguments[2:-1])
        steps = (1, 1) if not stride else (stride[0], 1) if to.space.of_device else (1, stride[0])
        event = "None" if arguments[-1] == Whole(0) else self.value(arguments[-1]).text
        self.sites += 1
        text = (
            f"copied(it, {self.sites}, ({m}, {i.text}), ({n}, {j.text}), {count}, "
            f"({steps[0]}, {steps[1]}), {event})"
        )
        return Code(text, CType(EVENT))


_PLACES = (-(2**62), 2**62)
"""Places in arrays."""


def _shuffled(w: Writer, mask: Code, of: list[Code]) -> Code:
    """Lanes of one vector or two, as numbers say that must be known."""
    lanes = sum(v.type.width for v in of)
    if mask.type.width == 1 or any(v.type != of[0].type or v.type.width in (1, 3) for v in of):
        raise NotUnderstood("shuffle of that")

    def found(places: tuple[Any, ...], *vectors: tuple[Any, ...]) -> tuple[Any, ...]:
        every = [x for v in vectors for x in v]
        return tuple([every[int(p.__index__()) % lanes] for p in places])

    given = ", ".join(v.text for v in (mask, *of))
    return Code(f"{w.bound(found)}({given})", replace(of[0].type, width=mask.type.width))


def _linear(which: str) -> Expression:
    """The number of a work-item among all, or of its group."""

    def of(word: str, d: int) -> Expression:
        return Invocation(f"get_{which}_{word}", (Whole(d),))

    rows = Binary("+", of("id", 1), Binary("*", of("size", 1), of("id", 2)))
    return Binary("+", of("id", 0), Binary("*", of("size", 0), rows))


def _larger(a: Algebra, x: Symbol, y: Symbol) -> Symbol:
    return a.select(a.lt(x, y), y, x)


def _smaller(a: Algebra, x: Symbol, y: Symbol) -> Symbol:
    return a.select(a.lt(y, x), y, x)


def _number_of(
    a: Algebra, of: Callable[[Algebra, Symbol, Symbol], Symbol], *, open_at_nan: bool
) -> Callable[[Symbol, Symbol], Symbol]:
    """What `fmin` and `fmax` give: where one is NaN, the other; `open_at_nan`: what `min` and `max` do."""

    def function(x: Symbol, y: Symbol) -> Symbol:
        found = of(a, x, y)
        if open_at_nan:
            return found
        return a.select(a.not_equal(x, x), y, a.select(a.not_equal(y, y), x, found))

    return function


def wrapped_bits(x: Any, scalar: str) -> Any:
    """Bits as a number of a type; of data, as they are."""
    if isinstance(x, Symbol) and x.op == "whole":
        return wrapped(x.args[0], scalar)
    return x


def seen_as(memory: Any, width: int) -> Any:
    """An array as one of vectors of so many cells, or of scalars."""
    from relift.compiler.foreign.ways.pointers import Either
    from relift.compiler.validation.machine import Vectors

    if isinstance(memory, Either):
        return memory.seen_by(lambda one: seen_as(one, width))
    cells = memory.memory if isinstance(memory, Vectors) else memory
    return cells if width == 1 else Vectors(cells, width)


def _seen_at(it: Any, memory: Any, at: Any, before: int, after: int) -> int:
    """Where a place is in an array that is seen as one of wider or narrower cells."""
    from relift.compiler.validation.machine import Fault

    cell = before * int(at.__index__())
    if cell % after:
        raise Fault("alignment", f"{it} takes cell {cell} for the start of {after} in a row")
    return cell // after
