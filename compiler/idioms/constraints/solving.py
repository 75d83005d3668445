"""The solutions of a constraint: backtracking over indexed relations, the most constrained part first.

What is open is kept with the rows that it can still be, and looked at again only where a variable of it gets a value.  A
choice costs what its parts cost that can still hold: one that is left with one part is no choice, and one of which nothing
is known waits, so that no product is made of what has nothing to do with each other.

Steps are counted and bounded: a search that comes to the bound raises `TooManySteps`, and is not taken for one
that found nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple, Protocol, TypeAlias, cast

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


Values: TypeAlias = "dict[str, str | tuple[str, ...]]"


class _Open(NamedTuple):
    """An atom that is to be solved, and the rows that it can be."""

    part: Flat
    cost: float
    """How many rows there are."""
    rows: Sequence[Row] = ()


class _Either(NamedTuple):
    """Parts of which one holds, and how many choices they leave."""

    part: Any_
    cost: float


_cost_of = attrgetter("cost")
_UNKNOWN = float("inf")


@dataclass
class Solver:
    """The solutions of constraints over the facts of one function."""

    facts: Facts
    most: int = MOST_STEPS
    steps: int = 0
    _asked: tuple[str, ...] = ()
    _is_known: Callable[..., bool] | None = None
    _relations: dict[str, Relation] = field(default_factory=dict[str, Relation])

    def solutions(self, formula: Expanded) -> Iterator[Values]:
        """Every solution once; raises `TooManySteps`."""
        met: set[frozenset[tuple[str, object]]] = set()
        for found in self._search(self._state({}), [formula], frozenset()):
            key = frozenset(found.items())
            if key not in met:
                met.add(key)
                yield found

    def unknown(
        self, formula: Expanded, names: tuple[str, ...], is_known: Callable[..., bool],
        given: Mapping[str, str],
    ) -> Iterator[Values]:  # fmt: skip
        """Solutions whose values of some names are not known, where others are given; raises `TooManySteps`.

        As soon as these names have values that are known, what would follow from them is not looked for.  A solution makes its
        values known where who asks says so before the next.
        """
        self._asked, self._is_known = names, is_known
        try:
            yield from self._search(self._state(dict(given)), [formula], frozenset())
        finally:
            self._asked, self._is_known = (), None

    def _state(self, env: Values) -> _State:
        """These values, and nothing to be solved yet."""
        return _State(self.facts, env, self._relations)

    def _leads_nowhere(self, state: _State) -> bool:
        """Whether what would be found is known."""
        if self._is_known is None:
            return False
        values = tuple(map(state.env.get, self._asked))
        return None not in values and self._is_known(*values)

    def _search(
        self, state: _State, parts: Sequence[Expanded], names: frozenset[str]
    ) -> Iterator[Values]:
        """The solutions of a state, which is this search's own, with more parts, after some names were given values."""
        while True:
            self.steps += 1
            if self.steps > self.most:
                raise TooManySteps(f"{self.most} steps")
            if self._leads_nowhere(state) or not (state.again(names) and state.take(parts)):
                return
            settled = state.settle()
            if settled is None:
                return
            if not settled:
                break
            parts, names = (), settled
        best = state.best()
        if best is not None:
            for after, more, named in state.choices(best):
                yield from self._search(after, more, named)
        elif state.collects:
            yield from self._collected(state)
        elif all(self._of_sets(atom, state.env) for atom in state.waiting):
            yield state.env

    def _collected(self, state: _State) -> Iterator[Values]:
        first, *rest = state.collects
        inner = self._state(dict(state.env))
        found = list(self._search(inner, [first.body], frozenset()))
        names = sorted({n for s in found for n in s if n not in state.env})
        rows = sorted({tuple(str(s.get(n, "")) for n in names) for s in found})
        if len(rows) < first.least:
            return
        lists = {n: tuple(row[i] for row in rows) for i, n in enumerate(names)}
        after = self._state({**state.env, **lists})
        yield from self._search(after, [*rest, *state.waiting], frozenset())

    def _of_sets(self, atom: Flat, env: Environment) -> bool:
        groups: list[frozenset[str]] = []
        for names in atom.arguments:
            values: set[str] = set()
            for name in names:
                value = env.get(name, ())
                values |= {value} if isinstance(value, str) else set(value)
            groups.append(frozenset(values))
        return self.facts.of_sets(atom.kind[0].name, groups)


@dataclass
class _State:
    """The values that are chosen, and what is left to be solved."""

    facts: Facts
    env: Values
    relations: dict[str, Relation]
    """The relations of the atoms that were asked, by their words."""
    open: list[_Open] = field(default_factory=list[_Open])
    either: list[_Either] = field(default_factory=list[_Either])
    waiting: list[Flat] = field(default_factory=list[Flat])
    collects: list[Collected] = field(default_factory=list[Collected])

    def again(self, names: frozenset[str]) -> bool:
        """Look again at what names are in that have got values; false when something cannot hold."""
        if not names:
            return True
        is_apart = names.isdisjoint
        before, self.open = self.open, []
        atoms: list[Flat] = []
        for o in before:
            if is_apart(o.part.mentioned):
                self.open.append(o)
            else:
                atoms.append(o.part)
        for atom in atoms:  # what fails soon comes first
            if not self._atom(atom):
                return False
        if not self.either:
            return True
        touched = [o.part for o in self.either if not is_apart(o.part.mentioned)]
        if touched:
            self.either = [o for o in self.either if is_apart(o.part.mentioned)]
        return all(map(self._choice, touched))

    def take(self, parts: Sequence[Expanded]) -> bool:
        """Take parts in; false when something cannot hold."""
        return all(map(self._part, parts))

    def _part(self, part: Expanded) -> bool:
        match part:
            case All(parts):
                return self.take(parts)
            case Any_():
                return self._choice(part)
            case Collected():
                self.collects.append(part)
                return True
            case Flat():
                return self._atom(part)

    def _choice(self, part: Any_) -> bool:
        """Keep a choice with the parts that can hold; where there is one, that is what holds."""
        living = [(p, cost) for p in part.parts if (cost := self._cost(p))]
        if len(living) == 1:
            return self._part(living[0][0])
        left = part if len(living) == len(part.parts) else Any_(tuple(p for p, _ in living))
        self.either.append(_Either(left, sum(cost for _, cost in living)))
        return bool(living)

    def _cost(self, part: Expanded) -> float:
        """How many choices a part leaves: 0 where it cannot hold."""
        match part:
            case All(parts):
                least = _UNKNOWN
                for p in parts:
                    least = min(least, self._cost(p))
                    if not least:
                        break
                return least
            case Any_(parts):
                return sum(map(self._cost, parts))
            case Collected():
                return _UNKNOWN
            case Flat():
                if part.may_wait and self._waits(part):
                    return _UNKNOWN
                found = self._rows(part)
                return (
                    found if isinstance(found, bool) else _UNKNOWN if found is None else len(found)
                )

    def _waits(self, atom: Flat) -> bool:
        """Whether an atom that may wait is of sets, which are known at the end."""
        return atom.kind[0].of_sets or any(
            isinstance(self.env.get(n), tuple) for n in atom.names if "*" in n
        )

    def _rows(self, atom: Flat) -> bool | Sequence[Row] | None:
        """Whether an atom holds; where not all its names have values, the rows that it can be, None where they are not listed."""
        relation = self.relations.get(atom.words)
        if relation is None:
            kind, word = atom.kind
            relation = self.relations[atom.words] = self.facts.relation(kind.name, word)
        bound = cast("Bound", tuple(map(self.env.get, atom.names)))  # sets are waited for
        if None in bound:
            return relation.matching(bound)
        return relation.holds(cast("Row", bound))

    def _atom(self, atom: Flat) -> bool:
        if atom.may_wait and self._waits(atom):
            self.waiting.append(atom)
            return True
        found = self._rows(atom)
        if isinstance(found, bool):
            return found
        if found is None:
            self.open.append(_Open(atom, _UNKNOWN))
            return True
        self.open.append(_Open(atom, len(found), found))
        return bool(found)

    def best(self) -> _Open | _Either | None:
        """What leaves the fewest choices; of what nothing is known, a choice, else a variable that may be any value."""
        atom = min(self.open, key=_cost_of, default=None)
        choice = min(self.either, key=_cost_of, default=None) if self.either else None
        if atom is None or choice is None:
            return atom or choice
        return choice if choice.cost <= atom.cost else atom

    def choices(
        self, best: _Open | _Either
    ) -> Iterator[tuple[_State, Sequence[Expanded], frozenset[str]]]:
        """The states after each choice, the parts that it brings, and the names that it gives values to."""
        match best:
            case _Either(Any_(parts)):
                for part in parts:
                    yield self._after(best, {}), (part,), frozenset()
            case _Open(atom, _, rows):
                names = atom.names
                if best.cost == _UNKNOWN:  # nothing lists its values
                    names = (next(n for n in names if n not in self.env),)
                    rows = [(v,) for v in self.facts.universe]
                gone = None if best.cost == _UNKNOWN else best
                for row in rows:
                    more = self._named(names, row)
                    if more is not None:
                        yield self._after(gone, more), (), frozenset(more)

    def settle(self) -> frozenset[str] | None:
        """Give the names of atoms that have one row its values: the names; None where one would have two values."""
        only = [o for o in self.open if o.cost == 1]
        if not only:
            return frozenset()
        self.open = [o for o in self.open if o.cost != 1]
        settled: set[str] = set()
        for atom, _, (row,) in only:
            more = self._named(atom.names, row)
            if more is None:
                return None
            self.env.update(more)
            settled.update(more)
        return frozenset(settled)

    def _named(self, names: Sequence[str], row: Row) -> dict[str, str] | None:
        """The values that a row gives to names that have none; None where a name has another one, or would get two."""
        more: dict[str, str] = {}
        for name, value in zip(names, row, strict=True):
            known = self.env.get(name)
            if known is None:
                known = more.setdefault(name, value)
            if known != value:
                return None
        return more

    def _after(self, gone: _Open | _Either | None, more: Mapping[str, str]) -> _State:
        """A state of its own, without a part and with more values."""
        left = [o for o in self.open if o is not gone]
        either = [o for o in self.either if o is not gone]
        return _State(
            self.facts, {**self.env, **more}, self.relations, left, either,
            list(self.waiting), list(self.collects),
        )  # fmt: skip
