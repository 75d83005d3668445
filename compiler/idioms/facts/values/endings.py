"""How often a loop goes on that is not counted: each iteration halves what is left.

The test is a comparison, and what is left is how far it is from failing: the distance of the ends of an interval in a binary
search, a number of which digits are taken away.  Z3 shows that an iteration leaves at most half; so there are no more of them than bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from relift.compiler.idioms.facts.values.folds import CONTRARY, replaced
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
    negation,
)

EFFORT = 200_000
"""How much Z3 works at one question."""
_BITS = {"i32": 32, "i64": 64}
_COMPARED = ("lt", "le", "gt", "ge", "not_equal")


def most_steps(search: Search) -> int | None:
    """How many iterations a loop has at most, where each halves what is left.

    >>> from relift.compiler.idioms.facts.values.endings import most_steps
    >>> from relift.compiler.idioms.facts.values.terms import Accumulator, Apply, Constant, Search, Value
    >>> x, ten = Accumulator("x", "i32"), Constant(10, "i32")
    >>> test, less = Apply("ge", (x, ten), "boolean"), Apply("floor_divide", (x, ten), "i32")
    >>> def loop(update):
    ...     return Search("L", ("x",), (Value("n", "i32"),), (update,), test, 0, "x", "i32")
    >>> most_steps(loop(less)), most_steps(loop(Apply("sub", (x, Constant(1, "i32")), "i32")))
    (33, None)
    """
    inside = [e for u in search.updates for e in all_of(u)]
    if not any(isinstance(e, Apply) and e.function == "floor_divide" for e in inside):
        return None
    return _Ending(search).most()


def without_signs(search: Search) -> Search:
    """A search in which what is shown to be no negative number is divided as such.

    C's quotients are cut towards zero: a program asks for the sign, which says nothing where there is none.
    """
    ending = _Ending(search)
    given = [*ending.ranges, ending.truth(search.test)]
    given += ending.kept(given)
    for e in {e: None for u in search.updates for e in all_of(u)}:
        plain = _if_natural(e)
        if plain is not None and ending.holds(given, ending.number(plain) >= 0):
            updates = (replaced(u, e, plain) for u in search.updates)
            search = replace(search, updates=tuple(updates))
    return search


def _if_natural(e: Expression) -> Expression | None:
    """What an expression is where that is no negative number; none where it asks for no sign."""
    if not isinstance(e, Apply) or e.function != "select":
        return None
    asked, _, natural = e.arguments
    is_below = asked == Apply("lt", (natural, Constant(0, natural.type)), "boolean")
    return natural if is_below and natural.type in _BITS else None


class _Ending:
    """A loop as whole numbers of Z3: what it carries before an iteration and after it."""

    def __init__(self, search: Search) -> None:
        import z3

        self.z3, self.search = z3, search
        self.known: dict[Expression, Any] = {}
        self.accumulators = [
            Accumulator(name, start.type)
            for name, start in zip(search.names, search.starts, strict=True)
        ]
        self.ranges = [
            z3.And(self.number(a) >= -(2 ** (_BITS[a.type] - 1)), self.number(a) < 2 ** (_BITS[a.type] - 1))
            for a in self.accumulators if a.type in _BITS
        ]  # fmt: skip

    def most(self) -> int | None:
        """The number of bits of what is left, and one."""
        goes_on = self.truth(self.search.test)
        given = [*self.ranges, goes_on]
        given += self.kept(given)
        for bits, left in self._measures(self.search.test):
            after = self.z3.substitute(left, *self._changes())
            if self.holds(given, self.z3.And(left > 0, 2 * after <= left)):
                return bits + 1
        return None

    def _changes(self) -> list[tuple[Any, Any]]:
        pairs = zip(self.accumulators, self.search.updates, strict=True)
        return [(self.number(a), self.number(u)) for a, u in pairs if a.type in _BITS]

    def kept(self, given: list[Any]) -> list[Any]:
        """What begins with no negative number and never becomes one."""
        starts = zip(self.accumulators, self.search.starts, strict=True)
        found = [
            a for a, s in starts if isinstance(s, Constant) and a.type in _BITS and s.value >= 0
        ]
        updates = dict(zip(self.accumulators, self.search.updates, strict=True))
        while True:
            facts = [self.number(a) >= 0 for a in found]
            rest = [a for a in found if self.holds([*given, *facts], self.number(updates[a]) >= 0)]
            if rest == found:
                return facts
            found = rest

    def _measures(self, test: Expression) -> Iterator[tuple[int, Any]]:
        """How far a test is from failing, in as many bits."""
        if not isinstance(test, Apply):
            return
        inner = negation(test)
        if (
            test.function == "bitwise_xor"
            and isinstance(inner, Apply)
            and inner.function in CONTRARY
        ):
            test = replace(inner, function=CONTRARY[inner.function])
        if test.function == "bitwise_and":
            for part in test.arguments:
                yield from self._measures(part)
        if test.function not in _COMPARED or test.arguments[0].type not in _BITS:
            return
        a, b = map(self.number, test.arguments)
        bits = _BITS[test.arguments[0].type]
        if test.function == "not_equal":
            distance = a - b
            yield bits, distance % 2**bits
            yield bits, self.z3.If(distance < 0, -distance, distance)
            return
        left = b - a if test.function in ("lt", "le") else a - b
        yield bits, left + (1 if test.function in ("le", "ge") else 0)

    def holds(self, given: list[Any], fact: Any) -> bool:
        """Whether a fact is shown to follow."""
        solver = self.z3.Solver()
        solver.set(rlimit=EFFORT, random_seed=1)
        solver.add(*given, self.z3.Not(fact))
        return bool(solver.check() == self.z3.unsat)

    def number(self, e: Expression) -> Any:
        """A whole number; of what is not understood nothing is known."""
        if e not in self.known:
            self.known[e] = self._number(e)
        return self.known[e]

    def _number(self, e: Expression) -> Any:
        z3 = self.z3
        match e:
            case Constant(value, "i32" | "i64"):
                return z3.IntVal(int(value))
            case Apply("add" | "sub" | "mul" as function, (a, b), "i32" | "i64"):
                x, y = self.number(a), self.number(b)
                return {"add": x + y, "sub": x - y, "mul": x * y}[function]
            case Apply("floor_divide", (a, Constant(by)), "i32" | "i64") if int(by) > 0:
                return self.number(a) / int(by)
            case Apply("bitwise_and", (a, Constant(ones)), "i32" | "i64") if _is_mask(int(ones)):
                return self.number(a) % (int(ones) + 1)
            case Apply("select", (condition, yes, no), "i32" | "i64"):
                return z3.If(self.truth(condition), self.number(yes), self.number(no))
            case Apply("i64", (a,)) if a.type == "i32":
                return self.number(a)
            case Apply("i32", (a,)) if a.type == "i64":
                return (self.number(a) + 2**31) % 2**32 - 2**31
            case (
                Constant()
                | Apply()
                | Accumulator()
                | Value()
                | Index()
                | Read()
                | Fold()
                | Search()
            ):
                return z3.Int(f"number {len(self.known)}")

    def truth(self, e: Expression) -> Any:
        """A truth value; of what is not understood nothing is known."""
        if e not in self.known:
            self.known[e] = self._truth(e)
        return self.known[e]

    def _truth(self, e: Expression) -> Any:
        z3 = self.z3
        match e:
            case Constant(value):
                return z3.BoolVal(bool(value))
            case Apply("bitwise_and" | "bitwise_or" as function, (a, b), "boolean"):
                return (z3.And if function == "bitwise_and" else z3.Or)(
                    self.truth(a), self.truth(b)
                )
            case Apply("bitwise_xor", (a, Constant(True)), "boolean"):
                return z3.Not(self.truth(a))
            case Apply("lt" | "le" | "gt" | "ge" | "equal" | "not_equal" as function, (a, b)) if (
                a.type in _BITS
            ):
                x, y = self.number(a), self.number(b)
                compared = {"lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y, "equal": x == y, "not_equal": x != y}  # fmt: skip
                return compared[function]
            case Apply() | Accumulator() | Value() | Index() | Read() | Fold() | Search():
                return z3.Bool(f"truth {len(self.known)}")


def _is_mask(ones: int) -> bool:
    return ones > 0 and ones & (ones + 1) == 0
