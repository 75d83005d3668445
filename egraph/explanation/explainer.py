"""Explanation: from the log of an e-graph to a linear list of rule steps.

egglog gives no proofs.  Instead every firing left a row in its rule's log, which says what the metavariables
stood for as ground terms (`rep` of `encode.terms`).  Each row is a ground equation (`equations`).  The equations go into
a congruence closure with a proof forest (Nieuwenhuis and Oliveras, RTA 2005), which answers why two terms
are equal by a path of equations and congruences; laid out flat, that is a list of rule steps.

One equality of the e-graph is no rule and leaves no row: the component of a class that holds a tuple is the
tuple's part.  What follows only from it is `Unexplained`.

Every step is replayed by `rewrites.application.matching` while it is laid out, so what is returned is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from relift.egraph.encode.heads import head
from relift.egraph.encode.terms import literal_parameter_data
from relift.egraph.explanation.closure import Edge
from relift.egraph.explanation.equations import GroundEquations
from relift.egraph.process.saturation import Saturation
from relift.rewrites.application.matching import NoMatch, apply_filled
from relift.rewrites.application.parts import determines, parts_of
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.steps import Step
from relift.semantics.errors import ReliftError
from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.syntax.binding import Position, binders_at, canonical, substitute, term_at
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Get,
    Lambda,
    MakeTuple,
    Operator,
    OperatorMetavariable,
    Term,
    Var,
    Vectorized,
    children,
    subterms,
    unused,
)
from relift.semantics.syntax.types import AnyType, Type


class Unexplained(ReliftError):
    """The log of the e-graph does not show that two terms are equal."""


@dataclass(frozen=True)
class _Move:
    """One step of an explanation, before it is made concrete."""

    position: Position
    edge: Edge


class Explainer:
    """Answers how a member of the root class follows from the program, from one saturation."""

    def __init__(self, saturation: Saturation, rounds: int = 3, most: int = 200_000) -> None:
        self.snapshot = saturation.snapshot
        self.rules = saturation.request.rules
        self.policy: FloatPolicy = saturation.request.policy
        self.rounds = rounds
        self.equations = GroundEquations(saturation, most)
        self.ground, self.closure = self.equations.ground, self.equations.closure
        self._determined: dict[tuple[str, Direction], bool] = {}

    def explain(self, source: Term, target: Term) -> tuple[Step, ...]:
        """The steps from the program to a term of its class; raises `Unexplained`.

        The steps are replayed from `source` as they are laid out.
        """
        start = self._intern(source, self._source_names(), {})
        named = target if _knows(target, self._names) else self.snapshot.find(target)
        goal = None if named is None else self._intern(named, self._names, {})
        if goal is not None:
            self.closure.add(goal)
        self.closure.add(start)
        if goal is None or not self.closure.equal(start, goal):
            if self.snapshot.find(target) is None or goal is None:
                raise Unexplained("the term is not in the class of the program")
            while not self.closure.equal(start, goal) and self.equations.rounds < self.rounds:
                self.equations.close()
            if not self.closure.equal(start, goal):
                raise Unexplained("the log of the search does not lead to this term")
        moves = list(self._moves(start, goal, (), frozenset(), short=False))
        found = self._lay_out(source, start, moves)
        other = self._moves(start, goal, (), frozenset(), short=True)
        fewer = list(islice(other, 2 * len(moves) + 10))
        if len(fewer) == 2 * len(moves) + 10:
            return found
        return min(self._lay_out(source, start, fewer), found, key=self._clumsiness)

    def _price(self, edge: Edge) -> int:
        """A congruence counts as two steps; a step that cannot be matched anew as ten."""
        if edge.firing is None:
            return 2
        direction: Direction = "forward" if edge.kind == "forward" else "backward"
        key = (edge.firing.rule.rule, direction)
        if key not in self._determined:
            self._determined[key] = determines(self.rules[key[0]], direction)
        return 1 if self._determined[key] else 10

    def _clumsiness(self, steps: Sequence[Step]) -> tuple[int, int]:
        """The steps that cannot be matched anew at other sizes, then all of them."""
        hard = sum(not determines(self.rules[step.rule], step.direction) for step in steps)
        return hard, len(steps)

    # ---- terms with names

    @property
    def _names(self) -> dict[tuple[str, Type], int]:
        return {(x.name, x.type): n for n, x in self.snapshot.names.variables.items()}

    def _source_names(self) -> dict[tuple[str, Type], int]:
        """The names of the program's own binders."""
        names = self.snapshot.names
        rows = self.snapshot.dump.rows.get("V", ())
        return {(text, names.type(t)): number for text, t, number in rows}

    def _intern(
        self, t: Term, names: Mapping[tuple[str, Type], int], scope: Mapping[str, int]
    ) -> int:
        def scoped(f: Lambda) -> tuple[list[int], int]:
            numbers = [names[x.name, x.type] for x in f.parameters]
            own = dict(zip((x.name for x in f.parameters), numbers, strict=True))
            return numbers, self._intern(f.body, names, {**scope, **own})

        if isinstance(t, Var):
            return self.ground.variable(scope[t.name] if t.name in scope else names[t.name, t.type])
        return self.ground.of(t, _own_slots, lambda u: self._intern(u, names, scope), scoped)

    def _decode(self, t: int) -> Term:
        """A ground term as a typed one."""
        name, data = self.ground.labels[t]
        c = self.snapshot.constructors[name]
        values = [
            self.ground.variables[v] if slot.sort == "N" else v
            for slot, v in zip(c.slots, data, strict=True)
        ]
        parts = [self._decode(child) for child in self.ground.children[t]]
        return head(c, values, self.snapshot.functions).term(parts)

    # ---- the list of steps

    def _moves(
        self,
        t: int,
        u: int,
        position: Position,
        open_goals: frozenset[tuple[int, int]],
        *,
        short: bool,
    ) -> Iterator[_Move]:
        """The rule steps and changes of names from `t` to `u`, both at `position`, depth first.

        The proof forest always has an answer.  A `short` path may use a congruence that rests on the very
        equation it is to show; there the forest answers.
        """
        if t == u:
            return
        short = short and (t, u) not in open_goals
        inside = open_goals | {(t, u)}
        path = self.closure.short_path(t, u, self._price) if short else self.closure.path(t, u)
        for edge in path:
            if edge.kind == "congruence":
                c = self.snapshot.constructors[self.ground.labels[edge.source][0]]
                for i, a, b in zip(
                    c.terms,
                    self.ground.children[edge.source],
                    self.ground.children[edge.target],
                    strict=True,
                ):
                    place = c.slots[i].place
                    yield from self._moves(a, b, (*position, place), inside, short=short)
            else:
                yield _Move(position, edge)

    def _lay_out(self, source: Term, start: int, moves: Iterable[_Move]) -> tuple[Step, ...]:
        """The moves as steps from `source`, each replayed; detours that return to a term are cut."""
        terms, ground = [source], start
        seen = {canonical(source): 0}
        steps: list[Step] = []
        for move in moves:
            if move.edge.kind == "names":  # the same term, with other names for its binders
                ground = self._replaced(ground, move.position, move.edge.target)
                continue
            step = self._step(terms[-1], ground, move)
            rule = self.rules[step.rule]
            try:
                term = apply_filled(
                    rule, terms[-1], step.position, step.direction, step.substitution, self.policy
                )
            except (NoMatch, KeyError) as error:
                raise Unexplained(f"a step of the explanation does not replay: {error}") from None
            ground = self._replaced(ground, move.position, move.edge.target)
            key = canonical(term)
            if _expanded(term):
                terms.append(term)  # no detour is cut here: later moves go inside that tuple
                steps.append(step)
            elif key in seen:
                for dropped in terms[seen[key] + 1 :]:
                    if not _expanded(dropped):
                        del seen[canonical(dropped)]
                del terms[seen[key] + 1 :], steps[seen[key] :]
            else:
                seen[key] = len(terms)
                terms.append(term)
                steps.append(step)
        return tuple(steps)

    def _step(self, term: Term, ground: int, move: _Move) -> Step:
        """One move as a step; its substitution speaks of the binders that are around its place in `term`."""
        firing = move.edge.firing
        assert firing is not None, "cannot happen: only firings become steps"
        around = binders_at(term, move.position)
        names = [self.ground.variables[n].name for n in self._around(ground, move.position)]
        outer = dict(zip(names, around, strict=True))
        log = firing.rule.log
        functions: dict[str, Lambda] = {}
        for name, indices, body in zip(
            log.functions, log.parameters, firing.functions, strict=True
        ):
            parameters = tuple(self.ground.variables[firing.names[i]] for i in indices)
            functions[name] = _renamed(Lambda(parameters, self._decode(body)), outer)
        substitution = Substitution(
            dict(zip(log.types, firing.types, strict=True)),
            {n: Size.of(v) for n, v in zip(log.sizes, firing.sizes, strict=True)},
            functions,
            dict(zip(log.operators, firing.operators, strict=True)),
        )
        sizes = dict(zip(log.sizes, firing.sizes, strict=True))
        direction: Direction = "forward" if move.edge.kind == "forward" else "backward"
        choices = {n: sizes[n] for n in log.chosen} if direction == firing.rule.direction else {}
        rule, here = self.rules[firing.rule.rule], term_at(term, move.position)
        parts = parts_of(rule, direction, here, substitution, choices)
        return Step(rule.name, direction, move.position, substitution, choices, parts)

    def _around(self, t: int, position: Position) -> Iterator[int]:
        for place in position:
            name, data = self.ground.labels[t]
            c = self.snapshot.constructors[name]
            k = next(k for k, i in enumerate(c.terms) if c.slots[i].place == place)
            yield from (data[j] for j in c.bound(c.terms[k]))
            t = self.ground.children[t][k]

    def _replaced(self, t: int, position: Position, new: int) -> int:
        if not position:
            return new
        name, data = self.ground.labels[t]
        c = self.snapshot.constructors[name]
        k = next(k for k, i in enumerate(c.terms) if c.slots[i].place == position[0])
        children = list(self.ground.children[t])
        children[k] = self._replaced(children[k], position[1:], new)
        return self.ground.written(name, data, tuple(children))


def _expanded(t: Term) -> bool:
    """Whether `t` takes a component of a tuple that is written out; `canonical` takes the part itself."""
    return any(isinstance(u, Get) and isinstance(u.of, MakeTuple) for u, _ in subterms(t))


def _renamed(f: Lambda, outer: Mapping[str, Var]) -> Lambda:
    """A function with other names for the variables around it; its parameters keep out of their way."""
    taken = {x.name for x in outer.values()}
    values: dict[str, Term] = dict(outer)
    parameters: list[Var] = []
    for x in f.parameters:
        name = unused(x.name, taken)
        taken.add(name)
        parameters.append(Var(name, x.type))
        values[x.name] = parameters[-1]
    return Lambda(tuple(parameters), substitute(f.body, values))


def _knows(t: Term, names: Mapping[tuple[str, Type], int]) -> bool:
    """Whether all binders of `t` are names of the e-graph."""
    for _, child in children(t):
        if isinstance(child, Lambda):
            if any((x.name, x.type) not in names for x in child.parameters):
                return False
            child = child.body
        if not _knows(child, names):
            return False
    return True


def _own_slots(value: Size | Type | Operator | LiteralParameter) -> Sequence[Any]:
    """What the data of a program are in their slots."""
    match value:
        case Size():
            return [value.constant]
        case LiteralParameter():
            return literal_parameter_data(value)
        case AnyType() | BinaryOperator() | OperatorMetavariable() | Vectorized():
            return [value]
