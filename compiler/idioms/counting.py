"""Histograms of whole numbers by several threads: each counts in bins of its own, which are added in the end.

Sums of whole numbers are the same in any order.  Nothing is written before all is counted, so a bin below the first, or bins
that lie over what is read, leave everything as it was.  How many bins there are is found out on the way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from relift.compiler.idioms.facts.folds import combination
from relift.compiler.idioms.facts.terms import (
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Index,
    Read,
    Value,
    all_of,
    both,
)
from relift.compiler.idioms.lift import LiftedIdiom
from relift.compiler.idioms.lifting.effects import OLD, Updates, effect_of
from relift.compiler.idioms.lifting.programs import Lifted
from relift.compiler.idioms.spelling import C_TYPES, Kept, counted, counter_of, letter
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Array

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "equal": "==", "not_equal": "!=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip
_CALLED = {"sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh",
           "power": "pow", "floor": "floor", "ceil": "ceil", "hypot": "hypot", "fma": "fma", "absolute": "fabs"}  # fmt: skip
_FLOATS = {"f32": "f", "f64": ""}
_LONGEST = 20_000


@dataclass(frozen=True)
class Counting:
    """The lines that count, and the values of the function in them."""

    lines: tuple[str, ...]
    values: frozenset[str]


def counting(idiom: LiftedIdiom, name: str) -> Counting | None:
    """What counts the bins of an idiom, where that is what it does; raises `Kept`."""
    found, lifted = idiom.found, idiom.lifted
    if lifted is None:
        return None
    effect = effect_of(idiom.relations, found.loop, found.result, found.idiom)
    if not isinstance(effect, Updates) or effect.type not in ("i32", "i64"):
        return None
    combined = combination(effect.value, Accumulator(OLD, effect.type))
    others = {p.value for p in lifted.parameters if p.first is not None} - {effect.base}
    data = [e for v in (effect.value, effect.guard, effect.cell) for e in all_of(v)]
    if combined is None or combined.operator != "add" or _are_gathered(lifted, others):
        return None
    guard = effect.guard if combined.condition is None else both(effect.guard, combined.condition)
    if any(isinstance(e, Read) and e.base == effect.base and e != effect.cell for e in data):
        return None
    writing = _Writing(lifted)
    lines = _lines(effect, guard, combined.element, writing, name)
    return Counting(tuple(lines), frozenset(writing.values))


def _lines(
    effect: Updates, guard: Expression, element: Expression, writing: _Writing, name: str
) -> list[str]:
    """What counts: each thread for itself, then one for all."""
    computed = {n: writing.text(e) for n, e in effect.cell.computed}
    at, kind = writing.polynomial(effect.cell.index, computed), C_TYPES[effect.type]
    loops: list[str] = []
    for turn in effect.turns:
        c, end = counter_of(turn.counter), writing.polynomial(turn.trips, {})
        loops.append(f"    for (long long {c} = 0; {c} < {end}; ++{c})")
    lines = [
        "  const int threads = relift_threads();",
        "  long long most = -1;",
        "  int failed = 0;",
        f"  unsigned {kind} **const counted = relift_malloc(threads * sizeof *counted);",
        f"  if (!counted) return relift_refuse(&{name}_refused);",
        "  for (int t = 0; t < threads; ++t) counted[t] = 0;",
        "  long long *const ends = relift_malloc(threads * sizeof *ends);",
        f"  if (!ends) {{ relift_free(counted); return relift_refuse(&{name}_refused); }}",
        "#pragma omp parallel num_threads(threads) reduction(max: most) reduction(|: failed)",
        "  {",
        "    struct relift_bins bins = {0, 0, 0};",
        "    unsigned long long room = 0;",
        f"    unsigned {kind} *own = 0;",
        "#pragma omp for schedule(static)",
    ]
    lines += [
        *loops,
        f"      if ({writing.text(guard)}) {{",
        f"        const long long at = {at};",
        "        if (__builtin_expect((unsigned long long)at >= room, 0)) {",
        "          bins = relift_room(bins, at, sizeof *own);",
        "          own = bins.memory;",
        "          room = bins.room;",
        "        }",
        "        if (__builtin_expect((unsigned long long)at >= room, 0)) failed = 1;",
        f"        else own[at] += (unsigned {kind})({writing.text(element)});",
        "      }",
        "    counted[relift_thread()] = own;",
        "    ends[relift_thread()] = (long long)room;",
        "    most = (long long)room - 1;",
        "  }",
        f"  {kind} *const first = ({kind} *)to;",
        *_overlaps(effect.base, writing),
        "  for (int t = 0; t < threads; ++t) {",
        "    if (!failed && counted[t])",
        "      for (long long b = 0; b < ends[t]; ++b)",
        f"        if (counted[t][b]) first[b] = ({kind})((unsigned {kind})first[b] + counted[t][b]);",
        "    relift_free(counted[t]);",
        "  }",
        "  relift_free(counted);",
        "  relift_free(ends);",
        f"  if (failed) return relift_refuse(&{name}_refused);",
    ]
    return lines


def _are_gathered(lifted: Lifted, arrays: set[str]) -> bool:
    """Whether of some arrays one is read at cells that data choose, so that it is not known how long it is."""
    lengths = {n for s in lifted.sizes.values() for n in s.names() if n.startswith("length of ")}
    return any(f"length of {base}" in lengths for base in arrays)


def _overlaps(written: str, writing: _Writing) -> list[str]:
    """That no bin lies over what is read."""
    lines: list[str] = []
    for p in writing.lifted.parameters:
        if p.first is None or p.value == written:
            continue
        kind, cells, t = "", "1", p.type
        while isinstance(t, Array):
            cells += f" * ({writing.of_sizes(t.length)})"
            t = t.element
        kind = C_TYPES[str(t)]
        begin = f"(const {kind} *)array_{p.name} + ({writing.polynomial(p.first, {})})"
        lines.append(
            f"  if ((const char *)first < (const char *)({begin} + ({cells})) && (const char *)({begin}) < (const char *)(first + most + 1)) failed = 1;"
        )
    return lines


@dataclass
class _Writing:
    """Expressions as C, in which nothing is read that the loops would not read."""

    lifted: Lifted
    values: set[str] = field(default_factory=set[str])
    carried: dict[str, str] = field(default_factory=dict[str, str])

    def text(self, e: Expression) -> str:
        """An expression; raises `Kept`."""
        found = self._text(e)
        if len(found) > _LONGEST:
            raise Kept("what is computed for each bin is too long to be written out")
        return found

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
                array = next((p.name for p in self.lifted.parameters if p.value == base), None)
                if array is None or kind not in C_TYPES:
                    raise Kept("what is read has no name where the loop stands")
                cells = {n: self.text(inner) for n, inner in computed}
                return f"((const {C_TYPES[kind]} *)array_{array})[{self.polynomial(index, cells)}]"
            case Accumulator(name, _) if name in self.carried:
                return self.carried[name]
            case Apply():
                return self._applied(e)
            case Fold():
                return self._fold(e)
            case Accumulator():
                raise Kept("a bin is computed from what it held")

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
        if function in _INFIX and kind in ("i32", "i64") and function in ("add", "sub", "mul"):
            t = C_TYPES[kind]
            return f"(({t})((unsigned {t}){given[0]} {_INFIX[function]} (unsigned {t}){given[1]}))"
        if function in _INFIX and (function != "div" or kind in _FLOATS):
            return f"({given[0]} {_INFIX[function]} {given[1]})"
        if function in C_TYPES:
            return f"(({C_TYPES[function]})({given[0]}))"
        if function == "neg" and kind in _FLOATS:
            return f"(-{given[0]})"
        if function == "neg" and kind in C_TYPES:
            return f"(({C_TYPES[kind]})(0u - (unsigned {C_TYPES[kind]}){given[0]}))"
        if function in _CALLED and kind in _FLOATS:
            return f"__builtin_{_CALLED[function]}{_FLOATS[kind]}({', '.join(given)})"
        raise Kept(f"{function} of {kind} is not written out for each bin")

    def _fold(self, e: Fold) -> str:
        """A loop inside, as an expression with statements in it."""
        if e.computed or e.type not in C_TYPES or any(a in self.carried for a in e.names):
            raise Kept("a loop inside is not counted before it begins")
        c, t = counter_of(f"${e.loop[1:]}"), C_TYPES[e.type]
        if len(e.names) > 1:
            raise Kept("a loop inside carries several values")
        start = self.text(e.starts[0])
        own = f"a_{letter(e.name)}"
        self.carried[e.name] = own
        update = self.text(e.updates[0])
        del self.carried[e.name]
        end = self.polynomial(e.trips, {})
        return f"({{ {t} {own} = {start}; for (long long {c} = 0; {c} < {end}; ++{c}) {own} = {update}; {own}; }})"

    def polynomial(self, size: Size, computed: Mapping[str, str]) -> str:
        """A polynomial over counters, values of the function and what is computed."""
        return counted(size, lambda name: self._atom(name, computed))

    def _atom(self, name: str, computed: Mapping[str, str]) -> str:
        if name in computed:
            return f"(long long){computed[name]}"
        if name.startswith("$"):
            return counter_of(name)
        self.values.add(name)
        return letter(name)

    def of_sizes(self, size: Size) -> str:
        """A polynomial over the sizes of the program, over values of the function."""
        return self.polynomial(size.substitute(dict(self.lifted.sizes)), {})


def _number(value: float) -> str:
    if math.isnan(value):
        return '__builtin_nan("")'
    if math.isinf(value):
        return "-__builtin_inf()" if value < 0 else "__builtin_inf()"
    return value.hex()
