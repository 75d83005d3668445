"""Values of whole numbers that are equal whatever their bits are, by Z3: tricks with shifts, masks and signs.

What is computed of floats is a function of which nothing is known but that equal values give equal ones.

>>> from relift.compiler.validation.bits import Bits
>>> from relift.compiler.validation.operations import Unsigned
>>> from relift.compiler.validation.symbols import Algebra
>>> a = Algebra()
>>> x, one, high = a.cell("x", 0, "i32"), a.whole(1, "i32"), a.whole(31, "i32")
>>> lowest = a.made(Unsigned("shift"), "i32", a.mul(x, a.whole(2**31, "i32")), high)
>>> Bits().same(lowest, a.bits("and", x, one)), Bits().same(lowest, x)
(True, False)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Any, Protocol

from relift.compiler.validation.operations import (
    ANY_SUM,
    CONNECTIVES,
    FirstOf,
    Operation,
    Unsigned,
    name_of,
    plain,
)
from relift.compiler.validation.symbols import (
    BITS,
    Symbol,
    cells_within,
    parts_first,
    symbols_within,
    value_of,
)

MOST_DIFFERENT = 8
"""After so many values that are not shown to be equal, no other one is asked for."""

MOST_WIDE = 32
"""After so many questions that more facts do not answer either, no other one is asked with them."""

MOST_SYMBOLS = 2_000
"""A value that is made of more is not asked for."""


class Facts(Protocol):
    """Conditions on inputs, all of which hold."""

    conditions: list[Symbol]

    def about(self, cells: Iterable[Symbol]) -> Iterator[list[Symbol]]:
        """Some of them for a question about some inputs: those that speak of these alone, then more."""
        ...

    def fails(self, b: Symbol) -> bool:
        """Whether inputs are known on which a truth value does not hold."""
        ...


def in_bits(function: str, bits: int, values: list[int]) -> int:
    """What functions of OpenCL C are of numbers with so many bits, before they wrap around.

    >>> from relift.compiler.validation.bits import in_bits
    >>> in_bits("popcount", 32, [-1]), in_bits("clz", 32, [1]), in_bits("rotate", 32, [-2**31, 1]) % 2**32
    (32, 31, 1)
    """
    return _KNOWN[function](bits, *values)


_KNOWN: Mapping[str, Callable[..., int]] = {
    "popcount": lambda bits, x: (x % 2**bits).bit_count(),
    "clz": lambda bits, x: bits - (x % 2**bits).bit_length(),
    "ctz": lambda bits, x: bits if not x else (x & -x).bit_length() - 1,
    "rotate": lambda bits, x, y: (x % 2**bits << y % bits) | (x % 2**bits >> bits - y % bits),
    "abs_diff": lambda bits, x, y: abs(x - y),
    "hadd": lambda bits, x, y: (x + y) >> 1,
    "rhadd": lambda bits, x, y: (x + y + 1) >> 1,
    "mul_hi": lambda bits, x, y: x * y >> bits,
}

ARGUMENTS = {name: 1 if name in ("popcount", "clz", "ctz") else 2 for name in _KNOWN}
"""Such functions, and how many arguments each has."""

SIGNLESS = frozenset(["abs_diff", "hadd", "rhadd", "mul_hi"])
"""Those of them to which a sign makes a difference."""


class Bits:
    """Questions to Z3 whether values are equal for all inputs; with `ordered`, floats are in an order, and none is NaN.

    With `summed`, their sums and products are those of real numbers, as is good enough to look for inputs.  What is
    asked is asked where `facts` hold.
    """

    def __init__(
        self, *, ordered: bool = False, summed: bool = False, facts: Facts | None = None
    ) -> None:
        import z3

        from relift.rewrites.checks.smt.goals import EFFORT

        self.z3, self.effort = z3, EFFORT
        self.ordered, self.summed, self.facts = ordered, summed, facts
        self.different = 0
        self.wide = MOST_WIDE
        self.known: dict[Symbol, Any] = {}
        self.answers: dict[tuple[Any, ...], bool] = {}
        """What was found of values of a shape, whatever inputs they are of, and of some values with all facts."""

    def same(self, x: Symbol, y: Symbol) -> bool:
        """Whether two values of one type are surely equal."""
        if self.different >= MOST_DIFFERENT or x.type != y.type or not _short(x, y):
            return False
        before = len(self.answers)
        same = self._decided(partial(self._same_by_parts, x, y), x, None, y)
        self.different += not same and len(self.answers) > before
        return same

    def _same_by_parts(self, x: Symbol, y: Symbol, facts: Sequence[Symbol]) -> bool:
        """Whether two values are equal; of sums of whole numbers, those parts that have the same inputs."""
        pairs = _by_inputs(x, y)
        if len(pairs) > 1 and all(self._same_sums(*pair) for pair in pairs):
            return True
        return self._never(self._of(x) != self._of(y), facts)

    def _same_sums(self, x: Sequence[Symbol], y: Sequence[Symbol]) -> bool:
        """Whether the sums of some values are equal."""
        if not x or not y:
            return False
        sums = [reduce(operator.add, map(self._of, side)) for side in (x, y)]
        return self._decided(partial(self._never, sums[0] != sums[1]), *x, None, *y)

    def always(self, b: Symbol) -> bool:
        """Whether a truth value surely holds."""
        if not _short(b) or (self.facts is not None and self.facts.fails(b)):
            return False
        return self._decided(partial(self._never, self.z3.Not(self._of(b))), b)

    def _decided(self, found: Callable[[Sequence[Symbol]], bool], *values: Symbol | None) -> bool:
        """What is found with some facts: of values of one shape once, with those facts that speak of their inputs alone."""
        if self.facts is None:
            shape = shape_of(*values)
            if shape not in self.answers:
                self.answers[shape] = found(())
            return self.answers[shape]
        cells = cells_within(*(v for v in values if v is not None))
        own, *wider = self.facts.about(cells)
        shape = shape_of(*values, None, None, *own)
        if shape not in self.answers:
            self.answers[shape] = found(own)
        if not self.answers[shape] and values not in self.answers:
            self.answers[values] = self.wide > 0 and any(map(found, wider))
            self.wide -= bool(wider) and not self.answers[values]
        return self.answers[shape] or self.answers[values]

    def told_apart(self, x: Symbol, y: Symbol) -> dict[Symbol, float] | None:
        """Cells of inputs, and numbers for them at which two values may differ; None where none are found."""
        if x.type != y.type or not _short(x, y):
            return None
        return self._numbers(self._of(x) != self._of(y), x, y)

    def where(self, b: Symbol) -> dict[Symbol, float] | None:
        """Cells of inputs, and numbers for them at which a truth value may hold; None where none are found."""
        return self._numbers(self._of(b), b) if _short(b) else None

    def model(self, conditions: Sequence[Symbol]) -> dict[Symbol, float] | None:
        """Cells of inputs, and numbers for them at which some conditions may all hold; None where none are found."""
        return self._numbers(self.z3.And(*map(self._of, conditions)), *conditions)

    def contradict(self, conditions: Sequence[Symbol]) -> bool:
        """Whether some conditions surely do not all hold."""
        return self._never(self.z3.BoolVal(True), conditions)

    def _numbers(self, goal: Any, *made_of: Symbol) -> dict[Symbol, float] | None:
        """Numbers for the inputs of some values, and for those that facts speak of, at which something may hold."""
        facts = self.facts.conditions if self.facts is not None else []
        solver = self._solver(facts, goal)
        if solver.check() != self.z3.sat:
            return None
        model, found = solver.model(), dict[Symbol, float]()
        for cell in dict.fromkeys(
            [*cells_within(*made_of), *(c for b in facts for c in cells_within(b))]
        ):
            value: Any = model.eval(self.known[cell]) if cell in self.known else None
            if self.z3.is_bv_value(value):
                found[cell] = value.as_signed_long()
            elif self.z3.is_true(value) or self.z3.is_false(value):
                found[cell] = int(self.z3.is_true(value))
            elif self.z3.is_rational_value(value):
                found[cell] = float(value.as_fraction())
        return found

    def _solver(self, facts: Sequence[Symbol], goal: Any) -> Any:
        solver = self.z3.Solver()
        solver.set(rlimit=self.effort, random_seed=1)
        solver.add(goal, *map(self._of, facts))
        return solver

    def _never(self, goal: Any, facts: Sequence[Symbol] = ()) -> bool:
        return bool(self._solver(facts, goal).check() == self.z3.unsat)

    def _of(self, x: Symbol) -> Any:
        """A value as a term of Z3, its parts first."""
        return parts_first(x, self.known, _parts, self._made)

    def _sort(self, type_: str) -> Any:
        if type_ == "bool":
            return self.z3.BoolSort()
        if type_ in BITS:
            return self.z3.BitVecSort(BITS[type_])
        return self.z3.RealSort() if self.ordered else self.z3.DeclareSort(type_)

    def _made(self, x: Symbol) -> Any:
        values = [self.known[v] for v in x.args if isinstance(v, Symbol)]
        if not values and x.op == "whole":
            whole = x.args[0]
            return (
                self.z3.BoolVal(bool(whole))
                if x.type == "bool"
                else self.z3.BitVecVal(whole, BITS[x.type])
            )
        if self.ordered and x.op == "real" and math.isfinite(value_of(x)):
            return self.z3.RealVal(str(Fraction(value_of(x))))
        if len(values) != len(x.args) or not values:
            return self.z3.Const(f"value{x.number}", self._sort(x.type))
        kinds = {v.type for v in x.args[1:] or x.args}
        found = None
        if isinstance(x.op, FirstOf) and (self.ordered or x.args[0].type in BITS):
            return self._first(x.op.extreme, values)
        if x.op == "select" or kinds <= BITS.keys() | {"bool"}:
            found = self._meant(x, values)
        elif self.ordered:
            found = self._by_order(x, values)
        if found is not None:
            return found
        sorts = [self._sort(v.type) for v in x.args]
        name = f"{x.op} of {', '.join(v.type for v in x.args)}"
        return self.z3.Function(name, *sorts, self._sort(x.type))(*values)

    def _first(self, extreme: Operation, values: list[Any]) -> Any:
        """What belongs to the first of some values than which no other one is smaller, or larger (`without_nan`)."""
        before = self._comparison(extreme)
        best, found = values[:2]
        for value, one in zip(values[2::2], values[3::2], strict=True):
            here = before(value, best)
            best, found = self.z3.If(here, value, best), self.z3.If(here, one, found)
        return found

    def _comparison(self, extreme: Operation) -> Callable[[Any, Any], Any]:
        """When one value is taken instead of another."""
        z3 = self.z3
        known: dict[str, Callable[[Any, Any], Any]] = {
            "<": operator.lt, ">": operator.gt, "u<": z3.ULT, "u>": z3.UGT,
        }  # fmt: skip
        return known[_ENDS[extreme]]

    def _by_order(self, x: Symbol, values: list[Any]) -> Any:
        """What the order of floats means; sums and products are functions of which nothing is known."""
        z3, op = self.z3, plain(x.op)
        if op in ("minimum", "maximum"):
            before = self._comparison(op)
            return reduce(lambda a, b: z3.If(before(a, b), a, b), values)
        if op == "mul" and len(values) == 2:
            for factor, other in (x.args, x.args[::-1]):
                if factor.op == "real" and value_of(factor) == -1.0:
                    return -self.known[other]
        if self.summed and op in ("add", "mul", "sub"):
            return reduce(getattr(operator, str(op)), values)
        known: dict[Operation, Callable[..., Any]] = {
            "lt": operator.lt, "le": operator.le, "equal": operator.eq, "not_equal": operator.ne,
            "absolute": lambda v: z3.If(v < 0, -v, v), "neg": operator.neg,
        }  # fmt: skip
        return known[op](*values) if op in known else None

    def _meant(self, x: Symbol, values: list[Any]) -> Any:
        """An operation on whole numbers or truth values; None where it is not known."""
        z3, op = self.z3, plain(x.op)
        if x.type == "bool" and op in (*CONNECTIVES, "invert"):
            of_truths: dict[Operation, Callable[..., Any]] = {
                "bitwise_and": z3.And,
                "bitwise_or": z3.Or,
                "bitwise_xor": lambda *v: reduce(z3.Xor, v),
                "invert": z3.Not,
            }
            return of_truths[op](*values)
        if op in ("mask", *BITS) or op == "extended":
            return self._converted(x, values[0])
        if op in _ENDS:
            before = self._comparison(op)
            return reduce(lambda a, b: z3.If(before(a, b), a, b), values)
        if name_of(op) in _KNOWN:
            return self._of_function(op, BITS[x.type], values)
        known: dict[Operation, Callable[..., Any]] = {
            "add": lambda *v: reduce(operator.add, v), "mul": lambda *v: reduce(operator.mul, v),
            "bitwise_and": lambda *v: reduce(operator.and_, v), "bitwise_or": lambda *v: reduce(operator.or_, v),
            "bitwise_xor": lambda *v: reduce(operator.xor, v), "invert": operator.invert, "sub": operator.sub,
            "neg": operator.neg, "shift": operator.rshift, Unsigned("shift"): z3.LShR, "quotient": operator.truediv,
            Unsigned("quotient"): z3.UDiv, "rest": z3.SRem, Unsigned("rest"): z3.URem, "lt": operator.lt, "le": operator.le,
            "below": z3.ULT, "at_most": z3.ULE, "equal": operator.eq, "not_equal": operator.ne, "select": z3.If,
            "absolute": lambda v: z3.If(v < 0, -v, v), "floor_divide": self._floor, "modulo": self._modulo,
            "left_shift": operator.lshift, "right_shift": operator.rshift,
        }  # fmt: skip
        return known[op](*values) if op in known else None

    def _floor(self, x: Any, y: Any) -> Any:
        """The quotient, rounded down; 0 by 0."""
        z3 = self.z3
        rest = z3.SRem(x, y)
        down = z3.If(z3.And(rest != 0, (rest < 0) != (y < 0)), x / y - 1, x / y)
        return z3.If(y == 0, 0, down)

    def _modulo(self, x: Any, y: Any) -> Any:
        return x - self._floor(x, y) * y

    def _converted(self, x: Symbol, value: Any) -> Any:
        z3, before, bits = self.z3, x.args[0].type, BITS[x.type]
        if before == "bool":
            one = z3.BitVecVal(-1 if x.op == "mask" else 1, bits)
            return z3.If(value, one, z3.BitVecVal(0, bits))
        more = bits - BITS[before]
        if more <= 0:
            return z3.Extract(bits - 1, 0, value)
        return z3.ZeroExt(more, value) if x.op == "extended" else z3.SignExt(more, value)

    def _of_function(self, op: Operation, bits: int, values: list[Any]) -> Any:
        """A function of OpenCL C; None where it is left as one of which nothing is known."""
        z3, name = self.z3, name_of(op)
        if name == "rotate":
            return z3.RotateLeft(*values)
        if name == "popcount":
            lanes = [z3.ZeroExt(bits - 1, z3.Extract(k, k, values[0])) for k in range(bits)]
            return reduce(operator.add, lanes)
        if name in ("clz", "ctz"):
            places = range(bits) if name == "clz" else reversed(range(bits))
            found = z3.BitVecVal(bits, bits)
            for k in places:
                here = z3.BitVecVal(bits - 1 - k if name == "clz" else k, bits)
                found = z3.If(z3.Extract(k, k, values[0]) == 1, here, found)
            return found
        longer = z3.ZeroExt if isinstance(op, Unsigned) else z3.SignExt
        a, b = (longer(bits, v) for v in values)
        wide = {
            "abs_diff": lambda: z3.If(a < b, b - a, a - b), "hadd": lambda: (a + b) >> 1,
            "rhadd": lambda: (a + b + 1) >> 1, "mul_hi": lambda: z3.LShR(a * b, bits),
        }[name]()  # fmt: skip
        return z3.Extract(bits - 1, 0, wide)


_ENDS: Mapping[Operation, str] = {
    "minimum": "<",
    "maximum": ">",
    Unsigned("minimum"): "u<",
    Unsigned("maximum"): "u>",
}


def shape_of(*values: Symbol | None) -> tuple[Any, ...]:
    """How values are computed, with numbers for their inputs: equal for values that differ in what inputs they are of."""
    numbered: dict[Symbol, int] = {}
    found: list[Any] = []
    for value in values:
        todo = [value] if isinstance(value, Symbol) else []
        while todo:
            x = todo[-1]
            missing = [v for v in x.args if isinstance(v, Symbol) and v not in numbered]
            if missing and x not in numbered:
                todo += missing
                continue
            todo.pop()
            if x in numbered:
                continue
            parts = [numbered[v] if isinstance(v, Symbol) else ("", v) for v in x.args]
            found.append((x.op, x.type, *(() if x.op == "cell" else parts)))
            numbered[x] = len(numbered)
        found.append(None if value is None else numbered[value])
    return tuple(found)


def _by_inputs(x: Symbol, y: Symbol) -> list[tuple[list[Symbol], list[Symbol]]]:
    """The parts of two sums of whole numbers that are of the same inputs; nothing where they are no sums."""
    if x.type not in BITS or ANY_SUM not in (x.op, y.op):
        return []
    found: dict[Symbol | None, tuple[list[Symbol], list[Symbol]]] = {}
    for k, side in enumerate((x, y)):
        for part in side.args if side.op == ANY_SUM else (side,):
            cells = cells_within(part)
            if len(cells) > 1:
                return []
            found.setdefault(cells[0] if cells else None, ([], []))[k].append(part)
    return list(found.values())


def _parts(x: Symbol) -> list[Symbol]:
    return [v for v in x.args if isinstance(v, Symbol)]


def _short(*values: Symbol) -> bool:
    """Whether values are made of few others."""
    return len(symbols_within(*values, most=MOST_SYMBOLS)) <= MOST_SYMBOLS
