"""The solutions of a constraint: backtracking over indexed relations, the most constrained part first.

Steps are counted and bounded: a search that comes to the bound raises `TooManySteps`, and is not taken for one
that found nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from relift.compiler.idioms.constraints import atoms
from relift.compiler.idioms.constraints.expansion import All, Any_, Collected, Expanded, Flat

MOST_STEPS = 200_000
Row: TypeAlias = tuple[str, ...]
Bound: TypeAlias = tuple[str | None, ...]
Environment: TypeAlias = Mapping[str, "str | tuple[str, ...]"]


class TooManySteps(Exception):
    """The search was given up; it is not known whether there are more solutions."""


class Relation(Protocol):
    """Which values an atom holds of."""

    def matching(self, bound: Bound) -> Sequence[Row] | None:
        """The rows with these values; None where they cannot be listed."""
        ...

    def holds(self, row: Row) -> bool:
        """Whether it holds of these values."""
        ...


class Facts(Protocol):
    """The relations of a function."""

    @property
    def universe(self) -> Sequence[str]:
        """All values."""
        ...

    def relation(self, name: str, word: str) -> Relation:
        """The relation that an atom names."""
        ...

    def of_sets(self, name: str, groups: Sequence[frozenset[str]]) -> bool:
        """Whether an atom holds of sets of values."""
        ...


@dataclass
class Solver:
    """The solutions of constraints over the facts of one function."""

    facts: Facts
    most: int = MOST_STEPS
    steps: int = 0

    def solutions(self, formula: Expanded) -> Iterator[dict[str, str | tuple[str, ...]]]:
        """Every solution once; raises `TooManySteps`."""
        met: set[frozenset[tuple[str, object]]] = set()
        for found in self._search([formula], {}):
            key = frozenset(found.items())
            if key not in met:
                met.add(key)
                yield found

    def _search(
        self, pending: list[Expanded], env: dict[str, str | tuple[str, ...]]
    ) -> Iterator[dict[str, str | tuple[str, ...]]]:
        self.steps += 1
        if self.steps > self.most:
            raise TooManySteps(f"{self.most} steps")
        state = _State(self.facts, env)
        if not state.take(pending):
            return
        if state.best is not None:
            for more in state.choices():
                yield from self._search(*more)
            return
        if state.collects:
            yield from self._collected(state)
        elif all(self._of_sets(atom, env) for atom in state.waiting):
            yield dict(env)

    def _collected(self, state: _State) -> Iterator[dict[str, str | tuple[str, ...]]]:
        first, *rest = state.collects
        found = list(self._search([first.body], dict(state.env)))
        names = sorted({n for s in found for n in s if n not in state.env})
        rows = sorted({tuple(str(s.get(n, "")) for n in names) for s in found})
        if len(rows) < first.least:
            return
        lists = {n: tuple(row[i] for row in rows) for i, n in enumerate(names)}
        yield from self._search([*rest, *state.waiting], {**state.env, **lists})

    def _of_sets(self, atom: Flat, env: Environment) -> bool:
        kind = atoms.known(atom.words)
        assert kind is not None, "cannot happen: the parser knows the atom"
        groups: list[frozenset[str]] = []
        for names in atom.arguments:
            values: set[str] = set()
            for name in names:
                value = env.get(name, ())
                values |= {value} if isinstance(value, str) else set(value)
            groups.append(frozenset(values))
        return self.facts.of_sets(kind[0].name, groups)


@dataclass
class _State:
    """What is left to be solved, and the part of it with the fewest choices."""

    facts: Facts
    env: dict[str, str | tuple[str, ...]]
    open: list[Expanded] = field(default_factory=list[Expanded])
    waiting: list[Flat] = field(default_factory=list[Flat])
    collects: list[Collected] = field(default_factory=list[Collected])
    best: Expanded | None = None
    cost: float = float("inf")
    rows: Sequence[Row] = ()

    def take(self, pending: Sequence[Expanded]) -> bool:
        """Sort what is left; false when something cannot hold."""
        stack = list(reversed(pending))
        while stack:
            part = stack.pop()
            match part:
                case All(parts):
                    stack += reversed(parts)
                case Any_(parts):
                    self.open.append(part)
                    self._offer(part, 1.5 * len(parts), ())
                case Collected():
                    self.collects.append(part)
                case Flat():
                    if not self._atom(part):
                        return False
        if self.best is None and self.open:
            self._enumerate()
        return True

    def _offer(self, part: Expanded, cost: float, rows: Sequence[Row]) -> None:
        if cost < self.cost:
            self.best, self.cost, self.rows = part, cost, rows

    def _atom(self, atom: Flat) -> bool:
        found = atoms.known(atom.words)
        assert found is not None, "cannot happen: the parser knows the atom"
        kind, word = found
        if kind.of_sets or any("*" in n and isinstance(self.env.get(n), tuple) for n in atom.names):
            self.waiting.append(atom)
            return True
        relation = self.facts.relation(kind.name, word)
        bound = tuple(self._value(n) for n in atom.names)
        if None not in bound:
            return relation.holds(tuple(v for v in bound if v is not None))
        rows = relation.matching(bound)
        self.open.append(atom)
        if rows is None:
            return True
        self._offer(atom, len(rows), rows)
        return bool(rows)

    def _value(self, name: str) -> str | None:
        value = self.env.get(name)
        return value if isinstance(value, str) else None

    def _enumerate(self) -> None:
        """Nothing lists the values of a variable: it may be any."""
        atom = next(a for a in self.open if isinstance(a, Flat))
        name = next(n for n in atom.names if n not in self.env)
        self.best, self.rows = Flat("", ((name,),)), [(v,) for v in self.facts.universe]

    def choices(self) -> Iterator[tuple[list[Expanded], dict[str, str | tuple[str, ...]]]]:
        """What is left after each choice."""
        rest = [p for p in self.open if p is not self.best]
        left: list[Expanded] = [*rest, *self.waiting, *self.collects]
        best = self.best
        if isinstance(best, Any_):
            for part in best.parts:
                yield [part, *left], dict(self.env)
        elif isinstance(best, Flat):
            for row in self.rows:
                more: dict[str, str | tuple[str, ...]] = dict(self.env)
                pairs = zip(best.names, row, strict=True)
                if all(more.setdefault(name, value) == value for name, value in pairs):
                    yield left, more
