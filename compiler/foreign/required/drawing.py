"""Inputs on which all that is required holds: those that are drawn in any case, brought into order.

What people require most, that numbers are in a range, ascend or are all different, is brought about without a solver;
whether it holds is computed of what is required itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from relift.compiler.foreign.required.facts import Facts
from relift.compiler.foreign.required.statements import NotRequired, Required
from relift.compiler.meaning.computed import DRAWN, GivenUp, Machine, drawn_as
from relift.compiler.validation.bits import Bits
from relift.compiler.validation.cells import nested, row_name, rows_of_type
from relift.compiler.validation.symbols import BITS, LIMIT, Algebra, Symbol
from relift.compiler.validation.validate import drawn_whole
from relift.semantics.domains import DTYPES
from relift.semantics.language.programs import Program

Row: TypeAlias = Sequence[Symbol]
"""The cells of one component of an input."""

DrawnNumbers: TypeAlias = dict[tuple[str, int], Any]
"""What cells of inputs are, by name and place."""

TRIED = 256
"""So many ways are tried to bring inputs into order that are spoken of together."""

EFFORT = 1_000_000
"""Operations that may be computed to see whether what is required holds."""


class Admitted:
    """The inputs of a program on which statements hold; raises `NotRequired` where there are none, or none are found."""

    def __init__(self, program: Program, required: Required) -> None:
        self.program, self.required = program, required
        self.algebra = Algebra(LIMIT)
        self.rows = [row for rows in self._cells(self.algebra).values() for row in rows]
        self.facts = Facts(self.algebra, self.conditions(self.algebra))
        self._known: dict[str, DrawnNumbers | None] = {}
        if required and not self.machines:
            raise NotRequired(self._why_none())

    def _cells(self, algebra: Algebra) -> dict[str, list[Row]]:
        """The cells of each input that is spoken of, by component."""
        found: dict[str, list[Row]] = {}
        for p in self.program.parameters:
            kinds = list(rows_of_type(p.type))
            for k, (scalar, cells) in enumerate(kinds if p.name in self.required.inputs else ()):
                name = row_name(p.name, k, len(kinds))
                kind = "bool" if str(scalar) == "boolean" else str(scalar)
                row = [algebra.cell(name, i, kind) for i in range(cells)]
                found.setdefault(p.name, []).append(row)
        return found

    def conditions(self, algebra: Algebra) -> list[Symbol]:
        """What is required, of the symbols of an algebra."""
        return self.required.conditions(algebra, self._values(algebra))

    def _values(self, algebra: Algebra) -> dict[str, Any]:
        """The inputs that are spoken of, as the interpreter takes them."""
        types = {p.name: p.type for p in self.program.parameters}
        rows = self._cells(algebra)
        return {name: nested(types[name], [iter(row) for row in own]) for name, own in rows.items()}

    def _why_none(self) -> str:
        """Why there are no inputs to try."""
        known = self.facts.conditions
        for p in self.required.programs:
            if any(
                b.op == "whole"
                for b in Required((p,)).conditions(self.algebra, self._values(self.algebra))
            ):
                return (
                    f"{p.name} is false whatever the inputs are, so that any kernel would do; "
                    "elements are compared by rl.equal or <, for == asks whether two terms are one"
                )
        never = any(b.op == "whole" for b in known) or Bits(ordered=True).contradict(known)
        said = "no inputs are" if never else "no inputs were found that are"
        return (
            f"{said} as is required by {self.required.names}, so that any kernel would do; "
            f"require what holds of inputs that {self.program.name} is called with"
        )

    # ---- inputs

    def drawn(self, called: str) -> type[Machine] | None:
        """Who draws inputs of a name such that what is required holds; None where there are none."""
        base = drawn_as(called)
        if not self.required:
            return base
        numbers = self.numbers(called)
        return None if numbers is None else given(base, numbers)

    @cached_property
    def machines(self) -> Mapping[str, type[Machine]]:
        """All that draw inputs, by what these are called."""
        found = ((called, self.drawn(called)) for called in DRAWN)
        return {called: machine for called, machine in found if machine is not None}

    @property
    def first(self) -> str:
        """What those inputs are called that are taken where any do."""
        return next(iter(self.machines))

    def whole(self, names: Collection[str], called: str) -> dict[str, list[list[Any]]]:
        """Inputs of whole numbers that are drawn, by component: those that are spoken of as they are there."""
        found = drawn_whole(self.program, names)
        known = (self.numbers(called) or self.numbers(self.first)) if self.required else None
        for name, rows in self._cells(self.algebra).items():
            if name in names and known is not None:
                found[name] = [[DTYPES[_named(c)].type(known[c.args]) for c in row] for row in rows]
        return found

    def numbers(self, called: str) -> DrawnNumbers | None:
        """What the cells are that statements speak of."""
        if called not in self._known:
            self._known[called] = self._found(called)
        return self._known[called]

    def _found(self, called: str) -> DrawnNumbers | None:
        wide = called in DRAWN and list(DRAWN).index(called) % 2 == 0
        drawer, found = drawn_as(called)({}, 0), DrawnNumbers()
        for row in self.rows:
            for c in row:
                name, place = c.args
                found[name, place] = drawer.drawn(name, place, _named(c))
        if self._holds(self.facts.conditions, found):
            return found
        if called not in DRAWN:
            return None
        for rows, conditions in self._together():
            if not conditions:
                continue
            here = self._ordered(rows, conditions, found, wide=wide)
            here = here if here is not None else self._solved(rows, conditions, found)
            if here is None:
                return None
            found |= here
        return found

    def _together(self) -> Iterator[tuple[list[Row], list[Symbol]]]:
        """The rows that conditions speak of together, and these conditions."""
        of = {c: k for k, row in enumerate(self.rows) for c in row}
        groups = {k: {k} for k in range(len(self.rows))}
        for b in self.facts.conditions:
            joined = {m for c in self.facts.cells[b] for m in groups[of[c]]}
            groups.update(dict.fromkeys(joined, joined))
        for k, group in groups.items():
            if k == min(group):
                conditions = [
                    b
                    for b in self.facts.conditions
                    if any(of[c] in group for c in self.facts.cells[b])
                ]
                yield [self.rows[m] for m in sorted(group)], conditions
        nowhere = [b for b in self.facts.conditions if not self.facts.cells[b]]
        if nowhere:
            yield [], nowhere

    def _holds(self, conditions: Sequence[Symbol], numbers: DrawnNumbers) -> bool:
        return holds(conditions, given(Machine, numbers))

    def _ordered(
        self, rows: Sequence[Row], conditions: Sequence[Symbol], drawn: DrawnNumbers, *, wide: bool
    ) -> DrawnNumbers | None:
        """The numbers that were drawn, brought into one order or another for which all conditions hold."""
        ways = [list(self._orders(row, [drawn[c.args] for c in row], wide=wide)) for row in rows]
        for chosen in itertools.islice(itertools.product(*ways), TRIED):
            here = {
                c.args: v for row, values in zip(rows, chosen, strict=True)
                for c, v in zip(row, values, strict=True)
            }  # fmt: skip
            if self._holds(conditions, drawn | here):
                return here
        return None

    def _orders(self, row: Row, drawn: list[Any], *, wide: bool) -> Iterator[list[Any]]:
        """Numbers of one row in several orders, each of them between the ends that it must be in."""
        if row[0].type == "bool":
            yield from (drawn, [True] * len(row), [False] * len(row))
            return
        places = sorted(range(len(row)), key=lambda k: (drawn[k], k))
        if row[0].type not in BITS:
            yield drawn
            yield sorted(drawn)
            yield sorted(drawn, reverse=True)
            yield [v + k for k, v in enumerate(sorted(drawn))]
            yield [abs(v) + 1 for v in drawn]
            yield [abs(v) / (1 + abs(v)) for v in drawn]
            return
        near = self._between(row, wide=False)
        spread = self._between(row, wide=True)
        yield near(drawn)
        for between in (spread, near) if wide else (near, spread):
            yield near(sorted(between(drawn)))
            yield near(sorted(between(drawn), reverse=True))
        ends = [e for c in row if (e := self.facts.ends(c)) is not None]
        low = min([e[0] for e in ends], default=0)
        yield [low + k for k in places]
        yield [low + k for k in sorted(range(len(row)), key=places.__getitem__)]
        yield [low + k for k in range(len(row))]

    def _between(self, row: Row, *, wide: bool) -> Callable[[list[Any]], list[Any]]:
        """Brings whole numbers into their ranges: those beyond, or all of them, spread over these."""
        ends = [self.facts.ends(c) for c in row]

        def one(k: int, v: Any) -> Any:
            known = ends[k]
            if known is None or (known[0] <= v <= known[1] and not wide):
                return v
            return known[0] + (int(v) + 40503 * k * wide) % (known[1] - known[0] + 1)

        return lambda values: [one(k, v) for k, v in enumerate(values)]

    def _solved(
        self, rows: Sequence[Row], conditions: Sequence[Symbol], drawn: DrawnNumbers
    ) -> DrawnNumbers | None:
        """Numbers that a solver finds."""
        cells = {c: drawn[c.args] for row in rows for c in row}
        model = Bits(ordered=True, summed=True).model(conditions)
        if model is None:
            return None
        found = {c.args: model.get(c, value) for c, value in cells.items()}
        return found if self._holds(conditions, drawn | found) else None


def holds(conditions: Sequence[Symbol], machine: type[Machine]) -> bool:
    """Whether conditions hold on the inputs that a machine draws."""
    drawer, computed = machine({}, EFFORT), dict[Symbol, Any]()
    try:
        return all(bool(drawer.remembered(b, computed)) for b in conditions)
    except (GivenUp, RecursionError):
        return False


def _named(c: Symbol) -> str:
    """What NumPy's types are called after."""
    return "boolean" if c.type == "bool" else c.type


def given(base: type[Machine], numbers: DrawnNumbers) -> type[Machine]:
    """Who draws these numbers, and others as they are drawn in any case."""

    class Given(base):  # type: ignore[misc, valid-type]
        def drawn(self, name: str, place: int, kind: str) -> Any:
            if (name, place) in numbers:
                return numbers[name, place]
            return super().drawn(name, place, kind)

    return Given
