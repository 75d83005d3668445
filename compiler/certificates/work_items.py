"""One work-item in integer arithmetic: the expressions of a kernel as formulas of Z3.

Numbers are those of C: division rounds towards zero.  A quotient is a fresh number `q` with `a == q*m + r`,
so that only multiplication is left.  What is data, or not arithmetic on whole numbers, is a fresh unknown;
a conclusion that holds for every value of it holds, a counterexample that needs it tells nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relift.compiler.certificates.flows import Fact, Iteration, Place
from relift.compiler.text.expressions import in_c
from relift.compiler.text.tree import (
    Binary,
    Cast,
    Conditional,
    Element,
    Expression,
    Invocation,
    Member,
    Name,
    Prefix,
    Real,
    Whole,
)

Formula: TypeAlias = Any
"""A number or a truth value of Z3's, which ships no types."""

_ASKED_ONE_BY_ONE = 64
"""The numbers of a table of which each is told by its place."""


@dataclass(frozen=True)
class Grid:
    """How many work-groups there are and how large each is, by dimension.

    In the dimensions of `cut`, a launch has groups of several sizes: only the number of all work-items,
    `groups*local`, means something.  With `flat`, no kernel text mentions groups, and the global number is a
    variable of its own.
    """

    groups: tuple[Expression, ...]
    local: tuple[Expression, ...]
    cut: frozenset[int] = frozenset()
    flat: bool = False


class _Opaque(Exception):
    """An expression that is no arithmetic on whole numbers."""


@dataclass
class WorkItem:
    """The formulas of one work-item; `mark` tells its variables from another's, `group` those of its group.

    `facts` holds what is known so far, `terms` all results of arithmetic, `data` whether a formula depends
    on data, `products` every product of two variable numbers, `ends` the numbers that variables stay below.
    """

    grid: Grid
    sizes: Mapping[str, int]
    whole: Mapping[str, str]
    mark: str = ""
    group: str = ""
    facts: list[Formula] = field(default_factory=list)
    terms: list[Formula] = field(default_factory=list)
    products: list[tuple[Formula, Formula]] = field(default_factory=list)
    ends: list[tuple[Formula, Formula]] = field(default_factory=list)
    data: bool = False
    ids: dict[str, Formula] = field(default_factory=dict)
    shown: dict[str, Formula] = field(default_factory=dict)
    tables: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    _quotients: dict[tuple[Formula, Formula], tuple[Formula, Formula]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        import z3

        for name, least in self.sizes.items():
            self.shown[name] = z3.Int(name)
            self.facts.append(z3.Int(name) >= least)
        for d, (groups, local) in enumerate(zip(self.grid.groups, self.grid.local, strict=True)):
            if self.grid.flat:
                self._id(f"glb_{d}", self.mark, self.number(Binary("*", groups, local)))
            else:
                self._id(f"wrg_{d}", self.group, self.number(groups))
                self._id(f"lcl_{d}", self.mark, self.number(local))

    def _id(self, name: str, mark: str, end: Formula) -> None:
        import z3

        self.ids[name] = self.shown[name + mark] = v = z3.Int(name + mark)
        self.facts += [v >= 0, v < end]
        self.ends.append((v, z3.simplify(end)))

    def enter(self, place: Place) -> None:
        """Assume the loops and conditions around an access."""
        import z3

        for w in place:
            match w:
                case Iteration(counter, start, end, step, _):
                    i, first, by = (
                        z3.Int(counter + self.mark),
                        self.number(start),
                        self.number(step),
                    )
                    self.shown[counter + self.mark] = i
                    self.facts += [i >= first, i < self.number(end)]
                    self.ends.append((i, z3.simplify(self.number(end))))
                    self.terms.append(i + by)
                    if step != Whole(1):
                        k = z3.Int(f"turn of {counter}{self.mark}")
                        self.facts += [i == first + self._product(k, by), k >= 0]
                case Fact(condition):
                    self.facts.append(self.truth(condition))

    def counter(self, name: str) -> Formula:
        """A loop counter of this work-item."""
        import z3

        return z3.Int(name + self.mark)

    # ---- numbers

    def number(self, e: Expression) -> Formula:
        """The whole number that e is; an unknown one where e is no arithmetic."""
        try:
            return self._number(e)
        except _Opaque:
            return self._unknown(e, truth=False)

    def _unknown(self, e: Expression, *, truth: bool) -> Formula:
        import z3

        self.data = True
        name = f"{in_c(e)}{self.mark}"
        return z3.Bool(name) if truth else z3.Int(name)

    def _number(self, e: Expression) -> Formula:
        import z3

        match e:
            case Whole(value):
                return z3.IntVal(value)
            case Name(name) if name in self.sizes:
                return z3.Int(name)
            case Name(name) if self.whole.get(name) == "counter":
                return self.counter(name)
            case Name(name) if name in self.whole:
                return self._unknown(e, truth=False)
            case Element(Name(array), index) if array in self.tables:
                return self._looked_up(array, self._number(index))
            case Element(Name(array), index) if self.whole.get(array) == "input":
                self.data = True
                return z3.Function(array, z3.IntSort(), z3.IntSort())(self._number(index))
            case Invocation("get_local_id" | "get_group_id" | "get_global_id", (Whole(d),)):
                return self._identity(e.function, d)
            case Invocation("get_num_groups" | "get_global_size", (Whole(d),)):
                return self._count(e.function, d)
            case Invocation("min" | "max", (left, right)):
                a, b = self._number(left), self._number(right)
                return z3.If((a <= b) if e.function == "min" else (a >= b), a, b)
            case Prefix("-", operand):
                return self._result(-self._number(operand))
            case Prefix("+", operand):
                return self._number(operand)
            case Binary("+", left, right):
                return self._result(self._number(left) + self._number(right))
            case Binary("-", left, right):
                return self._result(self._number(left) - self._number(right))
            case Binary("*", left, right):
                return self._result(self._product(self._number(left), self._number(right)))
            case Binary("/" | "%", left, right):
                quotient, rest = self._divided(self._number(left), self._number(right))
                return quotient if e.operator == "/" else rest
            case Conditional(condition, yes, no):
                return z3.If(self.truth(condition), self._number(yes), self._number(no))
            case Cast(t, (operand,)) if (t.scalar, t.width, t.pointer) == ("long", 1, False):
                return self._number(operand)
            case (
                Real() | Name() | Element() | Member() | Prefix() | Binary() | Conditional()
                | Invocation() | Cast()
            ):  # fmt: skip
                raise _Opaque

    def _looked_up(self, array: str, index: Formula) -> Formula:
        """A number of a table; of a long one, only that it lies between the least and the greatest."""
        import z3

        row = self.tables[array]
        if len(row) <= _ASKED_ONE_BY_ONE:
            found: Formula = z3.IntVal(row[-1])
            for k in range(len(row) - 1):
                found = z3.If(index == k, z3.IntVal(row[k]), found)
            return found
        self.data = True
        found = z3.Function(array, z3.IntSort(), z3.IntSort())(index)
        self.facts += [found >= min(row), found <= max(row)]
        return found

    def _identity(self, function: str, d: int) -> Formula:
        import z3

        if d >= len(self.grid.groups):
            return z3.IntVal(0)
        if function == "get_local_id":
            return self.ids[f"lcl_{d}"]
        if function == "get_group_id":
            return self.ids[f"wrg_{d}"]
        if self.grid.flat:
            return self.ids[f"glb_{d}"]
        local = self.number(self.grid.local[d])
        return self._product(self.ids[f"wrg_{d}"], local) + self.ids[f"lcl_{d}"]

    def _count(self, function: str, d: int) -> Formula:
        import z3

        if d >= len(self.grid.groups):
            return z3.IntVal(1)
        groups, local = self.grid.groups[d], self.grid.local[d]
        return self.number(groups if function == "get_num_groups" else Binary("*", groups, local))

    def _result(self, e: Formula) -> Formula:
        self.terms.append(e)
        return e

    def _product(self, a: Formula, b: Formula) -> Formula:
        import z3

        a, b = z3.simplify(a), z3.simplify(b)
        if not z3.is_int_value(a) and not z3.is_int_value(b):
            self.products.append((a, b))
        return a * b

    def _divided(self, a: Formula, m: Formula) -> tuple[Formula, Formula]:
        import z3

        a, m = z3.simplify(a), z3.simplify(m)
        key = a, m
        if key not in self._quotients:
            if z3.is_int_value(m) and m.as_long() < 1:
                raise _Opaque
            n = len(self._quotients)
            q, r = z3.Int(f"q{n}{self.mark}"), z3.Int(f"r{n}{self.mark}")
            whole = a == self._product(q, m) + r
            rounded = z3.If(a >= 0, z3.And(r >= 0, r < m), z3.And(r <= 0, r > -m))
            self.facts += [z3.Implies(m >= 1, z3.And(whole, rounded))]
            self._quotients[key] = q, r
        return self._quotients[key]

    # ---- conditions

    def truth(self, e: Expression) -> Formula:
        """Whether e holds; an unknown truth value where e is no comparison of whole numbers."""
        import z3

        match e:
            case Prefix("!", operand):
                return z3.Not(self.truth(operand))
            case Binary("&&", left, right):
                return z3.And(self.truth(left), self.truth(right))
            case Binary("||", left, right):
                return z3.Or(self.truth(left), self.truth(right))
            case Binary("<" | "<=" | ">" | ">=" | "==" | "!=" as operator, left, right):
                try:
                    a, b = self._number(left), self._number(right)
                except _Opaque:
                    return self._unknown(e, truth=True)
                return {
                    "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b
                }[operator]  # fmt: skip
            case (
                Whole() | Real() | Name() | Element() | Member() | Prefix() | Binary() | Conditional()
                | Invocation() | Cast()
            ):  # fmt: skip
                return self._unknown(e, truth=True)


def monotone(items: Sequence[WorkItem]) -> list[Formula]:
    """Multiplication keeps order, said for all products with one factor in common.

    Z3 knows it, but would have to find where to use it: `s >= 0` and `a < b` imply `a*s + s <= b*s`.
    """
    import z3

    by_factor: dict[int, tuple[Formula, dict[int, Formula]]] = {}
    ends = {v.get_id(): end for item in items for v, end in item.ends}
    for item in items:
        for a, b in item.products:
            for x, s in ((a, b), (b, a)):
                _, others = by_factor.setdefault(s.get_id(), (s, {}))
                others[x.get_id()] = x
                end = ends.get(x.get_id())
                if end is not None:
                    others[end.get_id()] = end
    return [
        z3.Implies(z3.And(s >= 0, a < b), a * s + s <= b * s)
        for s, others in by_factor.values()
        for a, b in itertools.permutations(others.values(), 2)
    ]
