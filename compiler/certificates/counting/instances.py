"""How often a kernel makes an access: work-items times turns of loops, those for which its conditions hold."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from relift.compiler.certificates.flows import Fact, Iteration, Place
from relift.compiler.certificates.work_items import Grid
from relift.compiler.text import tree
from relift.semantics.syntax.sizes import Name as Atom
from relift.semantics.syntax.sizes import Size

Variable: TypeAlias = tuple[str, int | str]
"""A number that a work-item or a turn has for itself: its number in a dimension, or the counter of a loop."""

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

MOST_ASKED = 1 << 20
"""Of how many values at most it is asked one after the other whether a condition holds."""


class NotCounted(Exception):
    """How many cells are written is not known; the message says why."""


def number_of(e: tree.Expression, sizes: Mapping[str, int]) -> Size | None:
    """An expression in whole numbers and sizes as a size.

    >>> from relift.compiler.certificates.counting.instances import number_of
    >>> from relift.compiler.text.reader import read_expression
    >>> number_of(read_expression("4*n - n/1"), {"n": 1})
    3*n
    """
    match e:
        case tree.Whole(value):
            return Size.of(value)
        case tree.Name(name) if name in sizes:
            return Size.atom(Atom(name, sizes[name]))
        case tree.Binary("+" | "-" | "*" | "/" as sign, left, right):
            a, b = number_of(left, sizes), number_of(right, sizes)
            if a is None or b is None:
                return None
            if sign == "/":
                return a.divided_by(b)
            return a + b if sign == "+" else a - b if sign == "-" else a * b
        case (
            tree.Whole() | tree.Real() | tree.Name() | tree.Element()
            | tree.Member() | tree.Prefix() | tree.Binary() | tree.Conditional()
            | tree.Invocation() | tree.Cast()
        ):  # fmt: skip
            return None


@dataclass
class Instances:
    """How often an access is made: the work-items that make it, and the turns of some of the loops around it.

    `ranges` are the numbers of work-items and groups, by dimension, and `counted` those in which work-items take turns
    or are counted together, so that no condition asks for one of them; `first` are the numbers by which conditions leave
    only the first.  `loops` are the turns of the other loops, and `values` the counters of those whose turns are known.
    Other `conditions` are asked for each of the numbers in them.
    """

    grid: Grid
    sizes: Mapping[str, int]
    ranges: dict[Variable, Size] = field(default_factory=dict)
    turns: Size = field(default_factory=lambda: Size.of(1))
    counted: set[Variable] = field(default_factory=set)
    first: set[tuple[str, int]] = field(default_factory=set)
    loops: dict[Variable, Size] = field(default_factory=dict)
    values: dict[Variable, range] = field(default_factory=dict)
    conditions: list[tree.Expression] = field(default_factory=list)

    def start(self, *, local: bool) -> None:
        """All work-items, or those of a group."""
        grid = self.grid
        for d, (groups, items) in enumerate(zip(grid.groups, grid.local, strict=True)):
            self.ranges["lcl", d] = self.known(items)
            if not local:
                self.ranges["wrg", d] = self.known(groups)

    def known(self, e: tree.Expression) -> Size:
        found = number_of(e, self.sizes)
        if found is None:
            raise NotCounted("a number that is no polynomial of sizes")
        return found

    def total(self) -> Size:
        """How often in all."""
        found, free = self.turns, {**self.ranges, **self.loops}
        waiting = [({*self._variables(e)}, [e]) for e in self.conditions]
        while waiting:
            variables, conditions = waiting.pop()
            shared = [each for each in waiting if each[0] & variables]
            if shared:  # one number decides several of them: they are asked together
                waiting = [each for each in waiting if not each[0] & variables]
                together = variables.union(*(v for v, _ in shared))
                waiting.append((together, [*conditions, *(e for _, es in shared for e in es)]))
                continue
            found = found * self._held(sorted(variables), conditions)
            free = {v: n for v, n in free.items() if v not in variables}
        for n in free.values():
            found = found * n
        return found

    def _variables(self, e: tree.Expression) -> Iterator[Variable]:
        """The numbers that decide a condition."""
        for u in tree.within(e):
            if isinstance(u, tree.Name):
                yield "loop", u.name
            elif (identity := _identity(u)) is not None:
                function, d = identity
                if d in self.grid.cut and function != "get_global_id":
                    raise NotCounted("a condition on a group or in one, of groups of several sizes")
                yield from ((kind, d) for kind in _KINDS[function])

    def _held(self, variables: Sequence[Variable], conditions: Sequence[tree.Expression]) -> int:
        """For how many values of some numbers all of some conditions hold."""
        each = [self._values(v) for v in variables]
        if math.prod(map(len, each)) > MOST_ASKED:
            raise NotCounted("a condition on too many numbers")
        grid = np.meshgrid(*(np.arange(r.start, r.stop, r.step) for r in each), indexing="ij")
        at = dict(zip(variables, grid, strict=True))
        shape = tuple(map(len, each))
        held = np.ones(shape, bool)
        for e in conditions:
            held &= np.broadcast_to(at_all(e, at, self._local) != 0, shape)
        return int(held.sum())

    def _values(self, v: Variable) -> range:
        """The values that a number takes."""
        if v in self.values:
            return self.values[v]
        many = self.ranges[v].constant if v in self.ranges and v not in self.counted else None
        if many is None:
            raise NotCounted("a condition")
        return range(many)

    def _local(self, d: int) -> int | None:
        """How many work-items a group has."""
        return self.known(self.grid.local[d]).constant

    def along(self, place: Place) -> None:
        """The loops and conditions of a place."""
        for w in place:
            match w:
                case Iteration():
                    self.loop(w)
                case Fact(condition):
                    self.condition(condition)

    def loop(self, w: Iteration) -> None:
        step, end = number_of(w.step, self.sizes), number_of(w.end, self.sizes)
        if end is None:
            raise NotCounted("a loop whose end depends on the work-item, or on data")
        identity = _identity(w.start)
        if identity is not None:
            self.in_turns(*identity, w.step, end)
            return
        variable = "loop", w.counter
        if variable in self.loops:
            raise NotCounted("two loops with one name for their counters")
        start = number_of(w.start, self.sizes)
        if start is None or step is None:
            raise NotCounted("a loop whose start or step depends on the work-item, or on data")
        if not step.surely_at_least(1):
            raise NotCounted("a loop whose step may not be positive")
        many = end - start
        if not many.surely_at_least(0):
            raise NotCounted("a loop that may have no turn")
        count = many.divided_by(step)
        if count is None:
            if many.constant is None or step.constant is None:
                raise NotCounted("a loop whose step need not divide it")
            count = Size.of(-(-many.constant // step.constant))
        self.loops[variable] = count
        if start.constant is not None and end.constant is not None and step.constant is not None:
            self.values[variable] = range(start.constant, end.constant, step.constant)

    def in_turns(self, function: str, d: int, step: tree.Expression, end: Size) -> None:
        """A loop in which work-items take turns: all of them together count to its end."""
        variables = [(kind, d) for kind in _KINDS[function]]
        if not all(v in self.ranges for v in variables):
            raise NotCounted("a loop that starts with the number of a group")
        total = self._together(function, d)
        if total is None:
            raise NotCounted("a loop from a number that is not all that decides who is left")
        narrowed = {f for f, each in self.first if each == d and f in _DECIDING[function]}
        all_there_are = tree.Invocation(_ALL[function], (tree.Whole(d),))
        if (step != all_there_are or narrowed) and number_of(step, self.sizes) != total:
            raise NotCounted(
                "a loop from the number of a work-item, in other steps than there are work-items"
            )
        self.ranges |= dict.fromkeys(variables, Size.of(1))
        self.counted |= set(variables)
        self.first -= {(f, d) for f in narrowed}
        self.turns = self.turns * end

    def condition(self, e: tree.Expression) -> None:
        """A condition: one that leaves the first of the work-items of a dimension, or any."""
        identity = _identity(e.left) if isinstance(e, tree.Binary) and e.operator == "<" else None
        if identity is not None and isinstance(e, tree.Binary):
            function, d = identity
            end, total = number_of(e.right, self.sizes), self._together(function, d)
            some = None if end is None or total is None else (total - end, end)
            if end is not None and some is not None and all(n.surely_at_least(0) for n in some):
                variables = [(kind, d) for kind in _KINDS[function]]
                self.ranges |= {**dict.fromkeys(variables, Size.of(1)), variables[0]: end}
                self.counted |= set(variables if len(variables) > 1 else ())
                self.first.add((function, d))
                return
        self.conditions.append(e)

    def _together(self, function: str, d: int) -> Size | None:
        """How many are left, which are the first ones by this number; None where that is not all that decides.

        Who took turns is told by no number, nor is the group or the place in one of those that are the first of all; and
        the first of each group are not the first of all.
        """
        variables = [(kind, d) for kind in _KINDS[function]]
        other = "get_local_id" if function == "get_global_id" else "get_global_id"
        told = (function, d) in self.first or self.counted.isdisjoint(variables)
        if (other, d) in self.first or not told or not all(v in self.ranges for v in variables):
            return None
        return math.prod((self.ranges[v] for v in variables), start=Size.of(1))


def at_all(
    e: tree.Expression,
    at: Mapping[Variable, Numbers],
    local: Callable[[int], int | None],
    tables: Mapping[str, Numbers] = MappingProxyType({}),
) -> Numbers:
    """What an expression comes to at all values of the numbers in it; raises `NotCounted` where that is not known.

    `local` says how many work-items a group has in a dimension, and `tables` are arrays of constants.
    """

    def known(e: tree.Expression) -> Numbers:
        match e:
            case tree.Whole(value):
                return np.array(value)
            case tree.Name(name) if ("loop", name) in at:
                return at["loop", name]
            case tree.Invocation("get_global_id", (tree.Whole(d),)) if ("wrg", d) in at:
                many = local(d)
                if many is None:
                    raise NotCounted("a condition")
                return at["wrg", d] * many + at["lcl", d]
            case tree.Invocation("get_local_id" | "get_group_id", (tree.Whole(d),)) if (
                variable := (_KINDS[e.function][0], d)
            ) in at:
                return at[variable]
            case tree.Invocation("get_local_size", (tree.Whole(d),)) if local(d) is not None:
                return np.array(local(d))
            case tree.Invocation("min" | "max", (left, right)):
                return (np.minimum if e.function == "min" else np.maximum)(
                    known(left), known(right)
                )
            case tree.Element(tree.Name(array), index) if array in tables:
                row, places = tables[array], known(index)
                if (places < 0).any() or (places >= len(row)).any():
                    raise NotCounted("a number beyond a table")
                found: Numbers = row[places]
                return found
            case tree.Conditional(condition, yes, no):
                return np.where(known(condition) != 0, known(yes), known(no))
            case tree.Binary(sign, left, right) if sign in _OPERATORS:
                return _OPERATORS[sign](known(left), known(right))
            case tree.Binary("/" | "%", left, right):
                a, b = known(left), known(right)
                if (a < 0).any() or (b <= 0).any():
                    raise NotCounted("a condition")
                return a // b if e.operator == "/" else a % b
            case tree.Prefix("!", operand):
                return np.equal(known(operand), 0)
            case (
                tree.Real() | tree.Name() | tree.Element() | tree.Member() | tree.Prefix()
                | tree.Binary() | tree.Invocation() | tree.Cast()
            ):  # fmt: skip
                raise NotCounted("a condition")

    return known(e)


def _identity(e: tree.Expression) -> tuple[str, int] | None:
    """The function and the dimension of the number of a work-item."""
    if not isinstance(e, tree.Invocation) or e.function not in _KINDS:
        return None
    [d] = e.arguments
    return (e.function, d.value) if isinstance(d, tree.Whole) else None


_KINDS = {
    "get_global_id": ("wrg", "lcl"),
    "get_group_id": ("wrg",),
    "get_local_id": ("lcl",),
}
"""Of which numbers the one that a function gives is made."""
_DECIDING = {**{f: (f,) for f in _KINDS}, "get_global_id": ("get_global_id", "get_group_id")}
"""By which numbers conditions may have left the first ones by a number."""
_ALL = {
    "get_global_id": "get_global_size",
    "get_group_id": "get_num_groups",
    "get_local_id": "get_local_size",
}
"""The function that says how many there are."""

_OPERATORS: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne, "&&": np.logical_and, "||": np.logical_or,
}  # fmt: skip
