"""A constraint with all that it inherits written out: and, or, collect, and atoms over plain names.

A name is the text of a variable at numbers, `loop[0].begin`; the index of a `collect` stays open and is written `*`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from relift.compiler.idioms.constraints import syntax as s
from relift.compiler.idioms.constraints.atoms import AtomKind, known
from relift.compiler.idioms.constraints.parsing import WrongConstraint

_DEEPEST = 40
_NOWHERE = s.Place("constraint", 1, 1)


@dataclass(frozen=True)
class Flat:
    """An atom over names; a name with `*` stands for all that were collected."""

    words: str
    arguments: tuple[tuple[str, ...], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(name for group in self.arguments for name in group)

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """All names."""
        return frozenset(self.names)

    @cached_property
    def kind(self) -> tuple[AtomKind, str]:
        """The atom that the words say, and the word that is part of it."""
        found = known(self.words)
        assert found is not None, "cannot happen: the parser knows the atom"
        return found

    @cached_property
    def is_open(self) -> bool:
        """Whether a name of it stands for all that were collected."""
        return any("*" in n for n in self.names)

    @cached_property
    def may_wait(self) -> bool:
        """Whether it may be about sets of values, which are known at the end."""
        return self.is_open or self.kind[0].of_sets


@dataclass(frozen=True)
class All:
    """All hold."""

    parts: tuple[Expanded, ...]

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """All names in it."""
        return frozenset[str]().union(*(p.mentioned for p in self.parts))


@dataclass(frozen=True)
class Any_:
    """One holds."""

    parts: tuple[Expanded, ...]

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """All names in it."""
        return frozenset[str]().union(*(p.mentioned for p in self.parts))


@dataclass(frozen=True)
class Collected:
    """All solutions of a formula; the names with `*` are lists."""

    body: Expanded
    least: int

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """All names in it."""
        return self.body.mentioned


Expanded: TypeAlias = Flat | All | Any_ | Collected


def expand(name: str, known: Mapping[str, s.Constraint]) -> Expanded:
    """A constraint written out; raises `WrongConstraint`."""
    return _Expansion(known).formula(known[name].formula, {}, _Names())


@dataclass(frozen=True)
class _Names:
    """What a variable of an inherited constraint is called: renamed, else below the place."""

    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    prefix: str = ""

    def of(self, name: str) -> str:
        """The name outside, by the longest part of it that is renamed."""
        for end in range(len(name), 0, -1):
            whole = end == len(name) or name[end] in ".["
            if whole and name[:end] in self.renamed:
                return self.renamed[name[:end]] + name[end:]
        return f"{self.prefix}.{name}" if self.prefix else name


@dataclass
class _Expansion:
    known: Mapping[str, s.Constraint]
    depth: int = 0

    def formula(self, f: s.Formula, given: Mapping[str, int | str], names: _Names) -> Expanded:
        match f:
            case s.Atom(words, arguments, place):
                groups = tuple(
                    tuple(n for v in group for n in self.variable(v, given, names, place))
                    for group in arguments
                )
                return Flat(words, groups)
            case s.Conjunction(parts):
                return All(tuple(self.formula(p, given, names) for p in parts))
            case s.Disjunction(parts):
                return Any_(tuple(self.formula(p, given, names) for p in parts))
            case s.ForAll(body, name, first, last, some):
                ends = self.number(first, given), self.number(last, given)
                each = tuple(
                    self.formula(body, {**given, name: i}, names)
                    for i in range(ends[0], ends[1] + 1)
                )
                return Any_(each) if some else All(each)
            case s.Where(body, name, value, default):
                if default and name in given:
                    return self.formula(body, given, names)
                return self.formula(body, {**given, name: self.number(value, given)}, names)
            case s.Conditional(left, right, yes, no):
                same = self.number(left, given) == self.number(right, given)
                return self.formula(yes if same else no, given, names)
            case s.Collect(index, least, body, _):
                return Collected(self.formula(body, {**given, index: "*"}, names), least)
            case s.Inherits():
                return self.inherited(f, given, names)

    def inherited(self, f: s.Inherits, given: Mapping[str, int | str], names: _Names) -> Expanded:
        if f.name not in self.known:
            raise WrongConstraint(
                f.place, f"there is no constraint {f.name}; known: {', '.join(self.known)}"
            )
        self.depth += 1
        if self.depth > _DEEPEST:
            raise WrongConstraint(
                f.place, f"{f.name} inherits itself, or {_DEEPEST} others in each other"
            )
        own = {n: self.number(v, given) for n, v in f.given}
        renamed = {
            self.one(inner, own, _Names(), f.place): self.one(outer, given, names, f.place)
            for outer, inner in f.renamed
        }
        if f.at is not None:
            inside = _Names(renamed, self.one(f.at, given, names, f.place))
        else:
            inside = _Names({**names.renamed, **renamed}, names.prefix)
        found = self.formula(self.known[f.name].formula, own, inside)
        self.depth -= 1
        return found

    def one(
        self, v: s.Variable, given: Mapping[str, int | str], names: _Names, place: s.Place
    ) -> str:
        found = self.variable(v, given, names, place)
        if len(found) != 1:
            raise WrongConstraint(
                place, f"{v.base} with a range stands for several variables, and one is named here"
            )
        return found[0]

    def variable(
        self, v: s.Variable, given: Mapping[str, int | str], names: _Names, place: s.Place
    ) -> list[str]:
        found = [v.base]
        for part in v.parts:
            match part:
                case s.Member(name):
                    found = [f"{f}.{name}" for f in found]
                case s.At(index):
                    found = [f"{f}[{self.place_of(index, given, place)}]" for f in found]
                case s.Range(first, last):
                    if any(isinstance(t, str) and t not in given for _, t in last.terms):
                        found = [f"{f}[*]" for f in found]  # all that were collected
                        continue
                    ends = self.number(first, given, place), self.number(last, given, place)
                    found = [f"{f}[{i}]" for f in found for i in range(ends[0], ends[1] + 1)]
        return [names.of(f) for f in found]

    def number(
        self, c: s.Calculation, given: Mapping[str, int | str], place: s.Place | None = None
    ) -> int:
        total = self.place_of(c, given, place)
        if isinstance(total, int):
            return total
        raise WrongConstraint(place or _NOWHERE, "the index of a collect is no number")

    def place_of(
        self, c: s.Calculation, given: Mapping[str, int | str], place: s.Place | None = None
    ) -> int | str:
        """A number, or `*` for the open index of a collect."""
        total = 0
        for sign, term in c.terms:
            value = given.get(term) if isinstance(term, str) else term
            if value is None:
                raise WrongConstraint(
                    place or _NOWHERE,
                    f"the parameter {term} has no value; give it with inherits NAME({term}=…)",
                )
            if isinstance(value, str):
                return value
            total += sign * value
        return total
