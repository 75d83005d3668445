"""Explanation: from the log of an e-graph to a linear list of rule steps.

egglog gives no proofs.  Instead every firing left a row in its rule's log, which says what the metavariables
stood for as ground terms (see `rep` in `encoding`).  Each row is a ground equation.  The equations go into
a congruence closure with a proof forest (Nieuwenhuis and Oliveras, RTA 2005), which answers why two terms
are equal by a path of equations and congruences; laid out flat, that is a list of rule steps.

The e-graph pushes substitutions; here they are carried out.  When an equation holds for a term with a free
name, it is also needed where that name was substituted, so the log is closed under the substitutions that
the e-graph did.

One equality of the e-graph is no rule and leaves no row: the component of a class that holds a tuple is the
tuple's part.  What follows only from it is `Unexplained`.

Every step is replayed by `rewrites.matching` while it is laid out, so what is returned is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count, islice
from typing import Any

from relift.egraph.encode.heads import head
from relift.egraph.encode.rules import EncodedRule
from relift.egraph.encode.terms import Applied, Constructor, node_of, written_data
from relift.egraph.process.saturation import Saturation
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.derivation.steps import Step
from relift.rewrites.matching import FloatPolicy, NoMatch, apply_filled, determines
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError
from relift.semantics.indices.functions import Written
from relift.semantics.syntax.binding import Position, binders_at, canonical, substitute
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Expression,
    Get,
    Input,
    Lambda,
    Literal,
    MakeTuple,
    Metavariable,
    Operator,
    OperatorMetavariable,
    Pattern,
    Term,
    Var,
    Vectorized,
    children,
    subterms,
    unused,
)
from relift.semantics.syntax.types import Type


class Unexplained(ReliftError):
    """The log of the e-graph does not show that two terms are equal."""


class Ground:
    """Interned terms: numbers with a label and children; equal terms are one number.

    A label is a constructor and what its slots hold besides terms; names are numbers.  The component of a
    tuple that is written out is the part itself, as everywhere in Relift.
    """

    def __init__(self, constructors: Mapping[str, Constructor], variables: dict[int, Var]) -> None:
        self.constructors, self.variables = constructors, variables
        self.labels: list[tuple[str, tuple[Any, ...]]] = []
        self.children: list[tuple[int, ...]] = []
        self.free: list[frozenset[int]] = []
        self._numbers: dict[tuple[str, tuple[Any, ...], tuple[int, ...]], int] = {}

    def node(self, name: str, data: tuple[Any, ...], children: tuple[int, ...]) -> int:
        """The term with this constructor, data (None in the slots of terms) and children."""
        if name == "Get" and self.labels[children[0]][0].startswith("Tuple"):
            index: int = data[0]
            return self.children[children[0]][index]
        return self.written(name, data, children)

    def written(self, name: str, data: tuple[Any, ...], children: tuple[int, ...]) -> int:
        """The term as it is written: the component of a tuple stays one.

        Between two steps inside a component the tuple can be written out for a while.
        """
        key = (name, data, children)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.labels)
            self.labels.append((name, data))
            self.children.append(children)
            self.free.append(self._free(name, data, children))
        return number

    def _free(self, name: str, data: tuple[Any, ...], children: tuple[int, ...]) -> frozenset[int]:
        if name == "Var":
            return frozenset((data[0],))
        c = self.constructors[name]
        free: frozenset[int] = frozenset()
        for i, child in zip(c.terms, children, strict=True):
            free |= self.free[child] - {data[j] for j in c.bound(i)}
        return free

    def of(
        self,
        t: Applied,
        slots: Callable[[Size | Type | Operator | Written], Sequence[Any]],
        child: Callable[[Term], int],
        scoped: Callable[[Lambda], tuple[Sequence[int], int]],
    ) -> int:
        """The term that t is, from what its data are in their slots, its children, and the names and body of a scope."""
        constructor, fields = node_of(t)
        data: list[Any] = []
        children: list[int] = []
        for field in fields:
            match field:
                case str() | int():
                    data.append(field)
                case Lambda():
                    names, body = scoped(field)
                    data += [*names, None]
                    children.append(body)
                case Expression():
                    data.append(None)
                    children.append(child(field))
                case known:
                    data += slots(known)
        return self.node(constructor, tuple(data), tuple(children))

    def variable(self, name: int) -> int:
        return self.node("Var", (name,), ())

    def renamed(self, name: int) -> int:
        """A name of the same type that occurs nowhere."""
        fresh = -1 - len(self.variables)
        old = self.variables[name]
        self.variables[fresh] = Var(f"{old.name}_{-fresh}", old.type)
        return fresh

    def substitute(self, t: int, values: Mapping[int, int]) -> int:
        """Replace names by terms, all at once, without capture."""
        return self._substitute(t, {x: u for x, u in values.items() if u != self.variable(x)}, {})

    def _substitute(
        self,
        t: int,
        values: dict[int, int],
        done: dict[tuple[int, frozenset[tuple[int, int]]], int],
    ) -> int:
        values = {x: u for x, u in values.items() if x in self.free[t]}
        if not values:
            return t
        key = (t, frozenset(values.items()))
        if key in done:
            return done[key]
        name, data = self.labels[t]
        if name == "Var":
            return values[data[0]]
        c = self.constructors[name]
        changed: list[Any] = list(data)
        children: list[int] = []
        for i, child in zip(c.terms, self.children[t], strict=True):
            inner = {x: u for x, u in values.items() if x not in {data[j] for j in c.bound(i)}}
            wanted = {x: u for x, u in inner.items() if x in self.free[child]}
            for j in c.bound(i):
                if any(data[j] in self.free[u] for u in wanted.values()):
                    changed[j] = self.renamed(data[j])
                    inner[data[j]] = self.variable(changed[j])
            children.append(self._substitute(child, inner, done))
        done[key] = self.node(name, tuple(changed), tuple(children))
        return done[key]


@dataclass(frozen=True)
class Firing:
    """One row of a log: a rule, and what its metavariables, sizes, types and binders were."""

    rule: EncodedRule
    functions: tuple[int, ...]
    operators: tuple[Operator, ...]
    sizes: tuple[int, ...]
    types: tuple[Type, ...]
    names: tuple[int, ...]


class _Sides:
    """The two sides of a rule at a firing, as ground terms."""

    def __init__(self, ground: Ground, firing: Firing) -> None:
        self.ground, self.firing = ground, firing
        log = firing.rule.log
        self.sizes = dict(zip(log.sizes, firing.sizes, strict=True))
        self.substitution = Substitution(
            dict(zip(log.types, firing.types, strict=True)),
            {name: Size.of(n) for name, n in self.sizes.items()},
            {},
            dict(zip(log.operators, firing.operators, strict=True)),
        )
        self.functions = {
            name: (tuple(firing.names[i] for i in parameters), body)
            for name, parameters, body in zip(
                log.functions, log.parameters, firing.functions, strict=True
            )
        }

    def sides(self, rule: Rule) -> tuple[int, int]:
        """The matched side and the built side."""
        log = self.firing.rule.log
        matched, built = rule.side(self.firing.rule.direction)
        return self._side(matched, log.matched), self._side(built, log.built)

    def _side(self, t: Term, binders: Sequence[int]) -> int:
        self._binders = iter(binders)
        return self._term(t, {})

    def _term(self, t: Term, scope: Mapping[str, int]) -> int:
        match t:
            case Var(name):
                return self.ground.variable(scope[name])
            case Metavariable(name, arguments):
                parameters, body = self.functions[name]
                values = [self._term(u, scope) for u in arguments]
                return self.ground.substitute(body, dict(zip(parameters, values, strict=True)))
            case Input():
                raise AssertionError("cannot happen: a rule with an input is not searchable")
            case Literal() | Apply() | Call() | Combine() | MakeTuple() | Get() | Pattern():
                return self.ground.of(
                    t, self._slots, lambda u: self._term(u, scope), lambda f: self._scoped(f, scope)
                )

    def _scoped(self, f: Lambda, scope: Mapping[str, int]) -> tuple[list[int], int]:
        names = [self.firing.names[next(self._binders)] for _ in f.parameters]
        inner = dict(zip((x.name for x in f.parameters), names, strict=True))
        return names, self._term(f.body, {**scope, **inner})

    def _slots(self, value: Size | Type | Operator | Written) -> Sequence[Any]:
        """What the data of a side of the rule are in this firing."""
        match value:
            case Size():
                return [value.evaluate(self.sizes)]
            case Written():
                sizes = {name: Size.of(n) for name, n in self.sizes.items()}
                return written_data(value.substitute(sizes))
            case BinaryOperator() | OperatorMetavariable() | Vectorized():
                return [self.substitution.operator(value)]
            case of:
                return [self.substitution.type(of)]


@dataclass(frozen=True)
class _Edge:
    """Why two terms are equal: a firing (from its matched to its built side), or congruence, or names."""

    source: int
    target: int
    firing: Firing | None
    kind: str


class Closure:
    """Congruence closure over ground terms, with a proof forest."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._leader: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._users: dict[int, list[int]] = {}
        self._signatures: dict[tuple[Any, ...], int] = {}
        self._proof: dict[int, _Edge] = {}
        self._pending: list[_Edge] = []
        self._links: dict[int, list[_Edge]] = {}

    def add(self, t: int) -> None:
        """Make a term and all its subterms known."""
        if t in self._leader:
            return
        for child in self.ground.children[t]:
            self.add(child)
        self._leader[t] = t
        self._members[t] = [t]
        self._users[t] = []
        for child in self.ground.children[t]:
            self._users[self._leader[child]].append(t)
        self._enter(t)
        self._propagate()

    def merge(self, source: int, target: int, firing: Firing | None, kind: str) -> None:
        """Make two terms equal."""
        self.add(source)
        self.add(target)
        edge = _Edge(source, target, firing, kind)
        if self.equal(source, target):
            self._link(edge)
        else:
            self._pending.append(edge)
            self._propagate()

    def _link(self, edge: _Edge) -> None:
        self._links.setdefault(edge.source, []).append(edge)
        self._links.setdefault(edge.target, []).append(_turned(edge))

    def equal(self, t: int, u: int) -> bool:
        return self._leader[t] == self._leader[u]

    def members(self, t: int) -> list[int]:
        """All known terms that are equal to a known term."""
        return self._members[self._leader[t]]

    def _signature(self, t: int) -> tuple[Any, ...]:
        name, data = self.ground.labels[t]
        return (name, data, *(self._leader[child] for child in self.ground.children[t]))

    def _enter(self, t: int) -> None:
        other = self._signatures.setdefault(self._signature(t), t)
        if other == t:
            return
        edge = _Edge(t, other, None, "congruence")
        if not self.equal(other, t):
            self._pending.append(edge)
        elif edge not in self._links.get(t, ()):
            self._link(edge)  # one more reason, which may be the shorter one

    def _propagate(self) -> None:
        while self._pending:
            edge = self._pending.pop()
            small, large = self._leader[edge.source], self._leader[edge.target]
            if small == large:
                continue
            self._link(edge)
            if len(self._members[small]) > len(self._members[large]):
                small, large = large, small
                edge = _turned(edge)
            self._reroot(edge.source)
            self._proof[edge.source] = edge
            for t in self._members[small]:
                self._leader[t] = large
            self._members[large] += self._members.pop(small)
            users = self._users.pop(small)
            self._users[large] += users
            for t in users:
                self._enter(t)

    def _reroot(self, t: int) -> None:
        """Turn the edges above `t`, so that it becomes the root of its proof tree."""
        edge = self._proof.pop(t, None)
        while edge is not None:
            above = self._proof.pop(edge.target, None)
            self._proof[edge.target] = _turned(edge)
            edge = above

    def short_path(self, t: int, u: int, price: Callable[[_Edge], int]) -> list[_Edge]:
        """A cheapest path from `t` to `u` over all equations."""
        came: dict[int, _Edge | None] = {}
        queue: list[tuple[int, int, int, _Edge | None]] = [(0, 0, t, None)]
        order = count(1)
        while u not in came:
            cost, _, node, edge = heappop(queue)
            if node in came:
                continue
            came[node] = edge
            for link in self._links.get(node, ()):
                if link.target not in came:
                    heappush(queue, (cost + price(link), next(order), link.target, link))
        path: list[_Edge] = []
        while (edge := came[u]) is not None:
            path.append(edge)
            u = edge.source
        return path[::-1]

    def path(self, t: int, u: int) -> list[_Edge]:
        """The edges of the proof forest from `t` to `u`."""
        ancestors = {t: 0}
        up: list[_Edge] = []
        node = t
        while node in self._proof:
            up.append(self._proof[node])
            node = self._proof[node].target
            ancestors[node] = len(up)
        down: list[_Edge] = []
        node = u
        while node not in ancestors:
            down.append(_turned(self._proof[node]))
            node = self._proof[node].target
        return up[: ancestors[node]] + down[::-1]


def _turned(edge: _Edge) -> _Edge:
    kinds = {"forward": "backward", "backward": "forward"}
    return _Edge(edge.target, edge.source, edge.firing, kinds.get(edge.kind, edge.kind))


@dataclass(frozen=True)
class _Move:
    """One step of an explanation, before it is made concrete."""

    position: Position
    edge: _Edge


class Explainer:
    """Answers how a member of the root class follows from the program, from one saturation."""

    def __init__(self, saturation: Saturation, rounds: int = 3, most: int = 200_000) -> None:
        self.snapshot = saturation.snapshot
        self.rules = saturation.request.rules
        self.policy: FloatPolicy = saturation.request.policy
        self.encoded = saturation.rules
        self.rounds, self.most = rounds, most
        names = self.snapshot.names
        self.ground = Ground(self.snapshot.constructors, dict(names.variables))
        self.closure = Closure(self.ground)
        self._quoted: dict[int, int] = {}
        self._rows = {
            row[-1]: (name[1:], row[:-1])
            for name, rows in self.snapshot.dump.rows.items()
            if name.startswith("Q")
            for row in rows
        }
        self._substitutions: dict[tuple[int, int], None] = {}
        self._firings: dict[Firing, None] = {}
        self._captured: dict[Firing, None] = {}
        self._closed = 0
        self._determined: dict[tuple[str, Direction], bool] = {}
        self._load()

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
            while not self.closure.equal(start, goal) and self._closed < self.rounds:
                self._close()
            if not self.closure.equal(start, goal):
                raise Unexplained("the log of the search does not lead to this term")
        moves = list(self._moves(start, goal, (), frozenset(), short=False))
        found = self._lay_out(source, start, moves)
        other = self._moves(start, goal, (), frozenset(), short=True)
        fewer = list(islice(other, 2 * len(moves) + 10))
        if len(fewer) == 2 * len(moves) + 10:
            return found
        return min(self._lay_out(source, start, fewer), found, key=self._clumsiness)

    def _price(self, edge: _Edge) -> int:
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

    # ---- the log as equations

    def _load(self) -> None:
        for number in list(self._rows):
            self.closure.add(self._term(number))
        names = self.snapshot.names
        rows = self.snapshot.dump.rows
        for rule in self.encoded:
            log = rule.log
            ends = [len(log.functions)]
            for part in (log.operators, log.sizes, log.types):
                ends.append(ends[-1] + len(part))
            for row in rows.get(log.relation, ()):
                self._fire(
                    Firing(
                        rule,
                        tuple(self._term(q) for q in row[: ends[0]]),
                        tuple(names.operator(o) for o in row[ends[0] : ends[1]]),
                        tuple(row[ends[1] : ends[2]]),
                        tuple(names.type(t) for t in row[ends[2] : ends[3]]),
                        tuple(row[ends[3] :]),
                    )
                )
        self._tighten()

    def _fire(self, firing: Firing) -> tuple[int, int] | None:
        """Add the equation of a firing; None when it is known, or not an instance of its rule."""
        if firing in self._firings:
            return None
        if self._forbidden(firing):
            self._captured[firing] = None
            return None
        self._firings[firing] = None
        matched, built = _Sides(self.ground, firing).sides(self.rules[firing.rule.rule])
        self.closure.merge(matched, built, firing, firing.rule.direction)
        return matched, built

    def _forbidden(self, firing: Firing) -> dict[int, set[int]]:
        """The binders of the rule that a metavariable mentions and may not use, by its index.

        A class may have members that mention a name on which the class does not depend; the log can name
        such a member.
        """
        log = firing.rule.log
        found: dict[int, set[int]] = {}
        for function, binder in (*firing.rule.scope, *firing.rule.moved):
            i = log.functions.index(function)
            own = {firing.names[j] for j in log.parameters[i]}
            if firing.names[binder] in self.ground.free[firing.functions[i]] - own:
                found.setdefault(i, set()).add(firing.names[binder])
        return found

    def _without(self, t: int, names: set[int]) -> int:
        """The term equal to `t` that mentions the fewest of the names."""
        self.closure.add(t)
        free = self.ground.free
        return min(self.closure.members(t), key=lambda u: (len(free[u] & names), len(free[u])))

    def _tighten(self) -> None:
        """Fire what is not an instance of its rule with equal terms that make it one."""
        progress = True
        while progress:
            progress = False
            for firing in list(self._captured):
                functions = list(firing.functions)
                for i, names in self._forbidden(firing).items():
                    functions[i] = self._without(functions[i], names)
                better = replace(firing, functions=tuple(functions))
                if not self._forbidden(better):
                    del self._captured[firing]
                    self._fire(better)
                    progress = True

    def _term(self, number: int) -> int:
        """The ground term that a quoted one denotes; substitutions are carried out."""
        if number in self._quoted:
            return self._quoted[number]
        name, slots = self._rows[number]
        names = self.snapshot.names
        if name == "Sub":
            x, value, body = slots[0], self._term(slots[1]), self._term(slots[2])
            if x in self.ground.free[body]:
                self._substitutions[x, value] = None
            found = self.ground.substitute(body, {x: value})
        else:
            c = self.snapshot.constructors[name]
            data = tuple(
                None if slot.sort == "E" else v if slot.sort == "N" else names.decode(slot.sort, v)
                for slot, v in zip(c.slots, slots, strict=True)
            )
            found = self.ground.node(name, data, tuple(self._term(slots[i]) for i in c.terms))
        self._quoted[number] = found
        return found

    def _close(self) -> None:
        """Add every equation under every substitution that the e-graph did."""
        self._closed += 1
        self._tighten()
        substitutions = list(self._substitutions)
        for firing in list(self._firings):
            matched, built = _Sides(self.ground, firing).sides(self.rules[firing.rule.rule])
            free = self.ground.free[matched] | self.ground.free[built]
            for x, value in substitutions:
                if x in free and len(self._firings) < self.most:
                    self._substituted(firing, x, value, matched, built)

    def _substituted(self, firing: Firing, x: int, value: int, matched: int, built: int) -> None:
        """The firing with `value` for the name x, which is free in its equation."""
        ground = self.ground
        renaming = {
            name: ground.renamed(name)
            for name in dict.fromkeys(firing.names)
            if name in ground.free[value] or name == x
        }
        values = {old: ground.variable(new) for old, new in renaming.items()}
        functions = []
        for body, parameters in zip(firing.functions, firing.rule.log.parameters, strict=True):
            own = {firing.names[i] for i in parameters}
            inner = {name: u for name, u in values.items() if name in own}
            if x not in own:
                inner[x] = value
            functions.append(ground.substitute(body, inner))
        new = replace(
            firing,
            functions=tuple(functions),
            names=tuple(renaming.get(name, name) for name in firing.names),
        )
        sides = self._fire(new)
        if sides is not None:
            for mine, theirs in zip(sides, (matched, built), strict=True):
                other = ground.substitute(theirs, {x: value})
                if other != mine:
                    self.closure.merge(mine, other, None, "names")

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
            if _spelled_out(term):
                terms.append(term)  # no detour is cut here: later moves go inside that tuple
                steps.append(step)
            elif key in seen:
                for dropped in terms[seen[key] + 1 :]:
                    if not _spelled_out(dropped):
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
        applied = "forward" if move.edge.kind == "forward" else "backward"
        choices = {n: sizes[n] for n in log.chosen} if applied == firing.rule.direction else {}
        return Step(
            firing.rule.rule,
            "forward" if applied == "forward" else "backward",
            move.position,
            substitution,
            choices,
        )

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


def _spelled_out(t: Term) -> bool:
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


__all__ = ["Explainer", "Unexplained"]


def _own_slots(value: Size | Type | Operator | Written) -> Sequence[Any]:
    """What the data of a program are in their slots."""
    match value:
        case Size():
            return [value.constant]
        case Written():
            return written_data(value)
        case _:
            return [value]
