"""Expressions as C, for loops that are written out: what kernels of the language cannot say of several threads, or in one pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.facts.values.terms import (
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Index,
    Read,
    Search,
    Value,
    all_of,
)
from relift.compiler.idioms.lifting.programs import Lifted
from relift.compiler.idioms.replacement.spelling import C_TYPES, Kept, counted, counter_of, letter
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import dimensions

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "equal": "==", "not_equal": "!=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip
_CALLED = {"sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh",
           "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
           "power": "pow", "floor": "floor", "ceil": "ceil", "hypot": "hypot", "fma": "fma", "absolute": "fabs"}  # fmt: skip
_FLOATS = {"f32": "f", "f64": ""}
_LONGEST = 20_000


@dataclass
class Writing:
    """Expressions as C, in which nothing is read that the loops would not read."""

    lifted: Lifted
    tracked: Mapping[str, str] = field(default_factory=dict[str, str])
    """Arrays of which is kept how far they are read, each with the name of that."""
    ends: set[Read] = field(default_factory=set[Read])
    """What is noted at the ends of a loop, and not each time."""
    values: set[str] = field(default_factory=set[str])
    carried: dict[str, str] = field(default_factory=dict[str, str])
    refuses: str = ""
    """What is done where a float that becomes a whole number is none, or too large for it."""

    def text(self, e: Expression) -> str:
        """An expression; raises `Kept`."""
        found = self._text(e)
        if len(found) > _LONGEST:
            raise Kept("what is computed for each bin is too long to be written out")
        return found

    def cell(self, array: str, kind: str, at: str) -> str:
        """A cell of an array that is read."""
        return f"((const {C_TYPES[kind]} *)array_{array})[{at}]"

    def library(self, function: str, kind: str) -> str:
        """The name of a function of the library of C."""
        return f"__builtin_{function}{_FLOATS[kind]}"

    def _text(self, e: Expression) -> str:
        match e:
            case Constant(value, kind) if kind in _FLOATS:
                return f"({_number(float(value))}{_FLOATS[kind] if math.isfinite(value) else ''})"
            case Constant(value, kind):
                return f"{int(value)}{'L' if kind == 'i64' else ''}"
            case Value(name, kind):
                return self._value(name, kind)
            case Index(size, kind):
                return f"(({C_TYPES[kind]})({self.polynomial(size, {})}))"
            case Read(base, index, computed, kind):
                array = self._array(base, kind)
                if array is None or kind not in C_TYPES:
                    raise Kept("what is read has no name where the loop stands")
                cells = {n: self.text(inner) for n, inner in computed}
                at = self.polynomial(index, cells)
                if base in self.tracked and e not in self.ends:
                    at = f"({{ const long long at = {at}; {self._noted(base)} at; }})"
                return self.cell(array, kind, at)
            case Accumulator(name, _) if name in self.carried:
                return self.carried[name]
            case Apply():
                return self._applied(e)
            case Fold():
                return self._fold(e)
            case Search():
                return self._search(e)
            case Accumulator():
                raise Kept("a bin is computed from what it held")

    def _array(self, base: str, kind: str) -> str | None:
        """The parameter that is an array of cells of a type."""
        arrays = (p for p in self.lifted.parameters if p.value == base and p.first is not None)
        return next((p.name for p in arrays if str(dimensions(p.type)[1]) == kind), None)

    def _value(self, name: str, kind: str) -> str:
        for p in self.lifted.parameters:
            if p.value == name and p.first is None and str(p.type) == kind:
                return f"value_{p.name}"
        if kind not in ("i32", "i64"):
            raise Kept("a value has no name where the loop stands")
        self.values.add(name)
        return f"(({C_TYPES[kind]}){letter(name)})"

    def _applied(self, e: Apply) -> str:
        given = [self.text(a) for a in e.arguments]
        function, kind = e.function, e.type
        if function == "select":
            return f"({given[0]} ? {given[1]} : {given[2]})"
        if kind == "boolean" and function in ("bitwise_and", "bitwise_or"):
            return f"({given[0]} {'&&' if function == 'bitwise_and' else '||'} {given[1]})"
        if kind in ("i32", "i64") and function in ("add", "sub", "mul"):
            t = C_TYPES[kind]
            return f"(({t})((unsigned {t}){given[0]} {_INFIX[function]} (unsigned {t}){given[1]}))"
        if function in _INFIX and (function != "div" or kind in _FLOATS):
            return f"({given[0]} {_INFIX[function]} {given[1]})"
        if function == "floor_divide":
            return f"(({C_TYPES[kind]})relift_floor({given[0]}, {given[1]}))"
        if self.refuses and becomes_whole(e):
            fits = f"if (!relift_fits_{kind}(whole)) {self.refuses}"
            return f"({{ const double whole = {given[0]}; {fits} ({C_TYPES[kind]})whole; }})"
        if function in C_TYPES:
            return f"(({C_TYPES[function]})({given[0]}))"
        if function == "neg" and kind in _FLOATS:
            return f"(-{given[0]})"
        if function == "neg" and kind in C_TYPES:
            return f"(({C_TYPES[kind]})(0u - (unsigned {C_TYPES[kind]}){given[0]}))"
        if function in _CALLED and kind in _FLOATS:
            return f"{self.library(_CALLED[function], kind)}({', '.join(given)})"
        raise Kept(f"{function} of {kind} is not written out for each bin")

    def _fold(self, e: Fold) -> str:
        """A loop inside, as an expression with statements in it."""
        if e.type not in C_TYPES or any(a in self.carried for a in e.names):
            raise Kept("a loop inside is not counted before it begins")
        c, t = counter_of(e.counter), C_TYPES[e.type]
        if len(e.names) > 1:
            raise Kept("a loop inside carries several values")
        start = self.text(e.starts[0])
        own = f"a_{letter(e.name)}"
        steady = self._steady(e)
        self.ends |= steady
        self.carried[e.name] = own
        update = self.text(e.updates[0])
        del self.carried[e.name]
        end = self.polynomial(e.trips, {n: self.text(inner) for n, inner in e.computed})
        loop = f"for (long long {c} = 0; {c} < end; ++{c}) {own} = {update};"
        self.ends -= steady
        noted = "".join(self._noted_at(r) for r in sorted(steady, key=str))
        first_and_last = (
            f"for (long long {c} = 0; {c} < end; {c} += end > 1 ? end - 1 : 1) {{ {noted} }}"
        )
        return f"({{ {t} {own} = {start}; const long long end = {end}; {first_and_last if noted else ''} {loop} {own}; }})"

    def _search(self, e: Search) -> str:
        """A loop inside that goes on while its test holds, as an expression with statements in it."""
        kinds = [C_TYPES.get(start.type) for start in e.starts]
        if None in kinds or any(name in self.carried for name in e.names):
            raise Kept("a loop inside is not counted before it begins")
        own = {name: f"a_{letter(name)}" for name in e.names}
        starts = [self.text(start) for start in e.starts]
        self.carried.update(own)
        updates, test = [self.text(u) for u in e.updates], self.text(e.test)
        for name in e.names:
            del self.carried[name]
        c, typed = counter_of(e.counter), list(zip(kinds, own.values(), strict=True))
        begin = " ".join(f"{t} {a} = {s};" for (t, a), s in zip(typed, starts, strict=True))
        once = " ".join(f"const {t} n{a} = {u};" for (t, a), u in zip(typed, updates, strict=True))
        after = " ".join(f"{a} = n{a};" for a in own.values())
        loop = f"for (long long {c} = 0; {test}; ++{c}) {{ {once} {after} }}"
        return f"({{ {begin} {loop} {own[e.result]}; }})"

    def _noted(self, base: str) -> str:
        """That a cell `at` of an array is read."""
        size = f"size_{self.tracked[base]}"
        return f"least_index = at < least_index ? at : least_index; {size} = at >= {size} ? at + 1 : {size};"

    def _noted_at(self, r: Read) -> str:
        cells = {n: self.text(inner) for n, inner in r.computed}
        return (
            f"{{ const long long at = {self.polynomial(r.index, cells)}; {self._noted(r.base)} }}"
        )

    def _steady(self, e: Fold) -> set[Read]:
        """What a loop inside reads in each iteration at cells a fixed distance apart: its first and its last say how far."""
        inside, counter = list(all_of(e.updates[0])), e.counter
        if any(
            isinstance(x, Fold | Search) or (isinstance(x, Apply) and x.function == "select")
            for x in inside
        ):
            return set()

        def changes(x: Expression) -> bool:
            names = (
                x.index.names()
                if isinstance(x, Read)
                else x.size.names()
                if isinstance(x, Index)
                else ()
            )
            return counter in names or isinstance(x, Accumulator | Fold | Search)

        return {
            r for r in inside
            if isinstance(r, Read) and r.base in self.tracked
            and not any(changes(x) for _, c in r.computed for x in all_of(c))
            and (linear := r.index.linear_in(counter)) is not None and counter not in linear[0].names()
        }  # fmt: skip

    def polynomial(self, size: Size, computed: Mapping[str, str]) -> str:
        """A polynomial over counters, values of the function and what is computed."""
        return counted(size, lambda name: self._atom(name, computed))

    def _atom(self, name: str, computed: Mapping[str, str]) -> str:
        if name in computed:
            return f"(long long){computed[name]}"
        if isinstance(name, Counter):
            return counter_of(name)
        self.values.add(name)
        return letter(name)

    def of_sizes(self, size: Size) -> str:
        """A polynomial over the sizes of the program, over values of the function."""
        return self.polynomial(size.substitute(dict(self.lifted.sizes)), {})


def becomes_whole(e: Apply) -> bool:
    """Whether a float becomes a whole number."""
    return e.function in ("i32", "i64") and e.arguments[0].type in _FLOATS


def _number(value: float) -> str:
    if math.isnan(value):
        return '__builtin_nan("")'
    if math.isinf(value):
        return "-__builtin_inf()" if value < 0 else "__builtin_inf()"
    return value.hex()
