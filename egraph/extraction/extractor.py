"""The dynamic programme over states: the best plans of each, and the terms that they stand for."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from relift.device import DeviceDescription
from relift.egraph.encode.term_graph import Classes
from relift.egraph.extraction.options import Options
from relift.egraph.extraction.states import Candidate, Choice, Lowering, Option, Place, Plan, State
from relift.rewrites.application.applied import applied
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.steps import Step
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.semantics.syntax.binding import Position
from relift.semantics.syntax.terms import Get, MakeTuple, Term


class Extractor:
    """Answers states over one e-graph; `width` plans are kept for each state.

    `demanded` says how the computing nodes of some classes have to be lowered.
    """

    def __init__(
        self,
        snapshot: Classes,
        device: DeviceDescription,
        width: int = 12,
        demanded: Mapping[int, Lowering] | None = None,
    ) -> None:
        self.plain = Solver(Options(snapshot, device, demanded or {}), width)
        self.generous = Solver(Options(snapshot, device, demanded or {}, generous=True), width)

    def candidates(
        self, policy: FloatPolicy, most: int, root: int | None = None
    ) -> list[Candidate]:
        """The cheapest low-level terms of the root, or of another class, one per plan, in order of estimated work."""
        for solver in (self.plain, self.generous):
            if found := solver.candidates(policy, most, root):
                return found
        return []


class Solver:
    """The best plans of states, by what their options come to; what was solved for one root stands for others."""

    def __init__(self, ways: Options, width: int) -> None:
        self.ways, self.width = ways, width
        self._options: dict[State, list[Option]] = {}
        self._best: dict[State, dict[Plan, tuple[float, Found]]] = {}
        self._tables: dict[State, _Table] = {}
        """The plans of each state, and what they cost."""
        self._plans: dict[Plan, Plan] = {}
        """Each plan, once: what is one object is equal at a look."""
        self._terms: dict[tuple[State, Plan], Term] = {}

    def candidates(
        self, policy: FloatPolicy, most: int, root: int | None = None
    ) -> list[Candidate]:
        """As `Extractor.candidates`."""
        start = self.root_state(root)
        self._solve(start)
        found = sorted(self._best[start].items(), key=lambda item: item[1][0])[:most]
        return [self._candidate(start, plan, policy) for plan, _ in found]

    def root_state(self, root: int | None = None) -> State:
        """The program's result: what is or has an array is written, anything else is a value."""
        at = self.ways.nodes.snapshot.root if root is None else root
        return State(at, self.ways.nodes.written(at), Place.HOST)

    # ---- the dynamic programme

    def _solve(self, root: State) -> None:
        """Best plans of every state reachable from the root, by rounds until nothing improves."""
        order = self._reachable(root)
        number = {state: i for i, state in enumerate(order)}
        tables = [self._tables.setdefault(state, []) for state in order]
        users: list[dict[int, None]] = [{} for _ in order]
        ways: list[list[tuple[Option, list[_Table]]]] = []
        for i, state in enumerate(order):
            ways.append([])
            for option in self._options[state]:
                ways[-1].append((option, [self._tables[child] for child in option.children]))
                for child in option.children:
                    if child in number:  # what others were solved with does not change
                        users[number[child]][i] = None
        pending = dict.fromkeys(reversed(range(len(order))))
        while pending:
            i = next(iter(pending))
            del pending[i]
            kept = self._improved(ways[i])
            table = [(plan, cost) for plan, (cost, _) in kept.items()]
            self._best[order[i]] = kept
            if table != tables[i] and dict(table) != dict(tables[i]):
                pending.update(users[i])
            tables[i][:] = table

    def _reachable(self, root: State) -> list[State]:
        """All states below the root that are not solved, a state before those it needs where there is no cycle."""
        if root in self._best:
            return []
        done: dict[State, None] = {}
        begun: dict[State, None] = {root: None}
        stack = [(root, iter(self._needed_by(root)))]
        while stack:
            state, needed = stack[-1]
            child = next((c for c in needed if c not in begun and c not in self._best), None)
            if child is None:
                done[state] = None
                stack.pop()
            else:
                begun[child] = None
                stack.append((child, iter(self._needed_by(child))))
        return list(reversed(done))

    def _needed_by(self, state: State) -> list[State]:
        """The states that the options of one ask for."""
        self._options[state] = list(self.ways.of(state))
        return [child for option in self._options[state] for child in option.children]

    def _improved(
        self, ways: Sequence[tuple[Option, Sequence[_Table]]]
    ) -> dict[Plan, tuple[float, Found]]:
        """The plans of a state, from what its options' children have."""
        cheapest = _Cheapest(self.width)
        for option, tables in ways:
            if all(tables):
                _combine(option, tables, cheapest)
        return {self._plans.setdefault(p, p): found for p, found in cheapest.kept()}

    # ---- terms and steps

    def _candidate(self, root: State, plan: Plan, policy: FloatPolicy) -> Candidate:
        cost, _ = self._best[root][plan]
        high = self._term(root, plan)
        steps: list[Step] = []
        low = high
        for position, lowering in self._lowerings(root, plan, ()):
            rule: Rule = RULES[lowering.rule]
            choices = dict(lowering.choices)
            low, substitution = applied(rule, low, position, "forward", {}, choices, policy)
            steps.append(Step(rule.name, "forward", position, substitution, choices))
        return Candidate(high, low, tuple(steps), plan, cost)

    def _choice(self, state: State, plan: Plan) -> Choice:
        return _choice_of(*self._best[state][plan][1])

    def _term(self, state: State, plan: Plan) -> Term:
        if (state, plan) not in self._terms:
            choice = self._choice(state, plan)
            parts = [self._term(*child) for child in choice.children]
            self._terms[state, plan] = choice.node.head.term(parts)
        return self._terms[state, plan]

    def _lowerings(
        self, state: State, plan: Plan, position: Position
    ) -> Iterator[tuple[Position, Lowering]]:
        """The lowering steps of a term, outermost first, each at its place when it is applied."""
        choice = self._choice(state, plan)
        for lowering in choice.lowerings:
            yield (*position, *lowering.inside), lowering
        position = (*position, *choice.moved)
        if (part := self._component(choice)) is not None:
            yield from self._lowerings(*part, position)
            return
        places = choice.node.head.places
        for place, child in zip(places, choice.children, strict=True):
            yield from self._lowerings(*child, (*position, place))

    def _component(self, choice: Choice) -> tuple[State, Plan] | None:
        """The part that is meant by a component of a tuple that is written out: a term has that part alone."""
        if choice.node.head.kind is not Get:
            return None
        (inner,) = choice.children
        whole = self._choice(*inner)
        if whole.node.head.kind is not MakeTuple:
            return None
        (index, _) = choice.node.head.holds
        assert isinstance(index, int), "cannot happen: a component has an index"
        return whole.children[index]


Found: TypeAlias = tuple[Option, tuple[Plan, ...]]
"""An option, and the plan of each of its children."""


_Table: TypeAlias = list[tuple[Plan, float]]
"""The plans of a state, and what each costs, in order of cost."""


class _Cheapest:
    """The cheapest way to each plan, of so many plans; of plans that cost the same those that came first."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._found: dict[Plan, tuple[float, Found]] = {}
        self._costs: list[float] = []
        self.most: float | None = None
        """What no plan that is kept costs more than; nothing while there is room."""

    def take(self, plan: Plan, cost: float, found: Found) -> None:
        """One more way to a plan."""
        known = self._found.get(plan)
        if known is not None:
            if cost >= known[0]:
                return
            del self._costs[bisect_left(self._costs, known[0])]
        self._found[plan] = cost, found
        insort(self._costs, cost)
        if len(self._costs) >= self.width:
            self.most = self._costs[self.width - 1]

    def kept(self) -> list[tuple[Plan, tuple[float, Found]]]:
        """The plans, in order of cost."""
        return sorted(self._found.items(), key=lambda item: item[1][0])[: self.width]


def _combine(option: Option, tables: Sequence[_Table], cheapest: _Cheapest) -> None:
    """Every choice of the children's plans, which are in order of cost, with what the option then costs.

    What costs more than all that is kept is passed over, with all that is dearer still.
    """
    start: Plan = (option.label,) if option.label else ()
    _further(option, tables, cheapest, (0, 0.0, start, ()))


def _further(
    option: Option,
    tables: Sequence[_Table],
    cheapest: _Cheapest,
    begun: tuple[int, float, Plan, tuple[Plan, ...]],
) -> None:
    """The same from a place on, with what is spent, the plan and the choices before it."""
    place, spent, plan, below = begun
    if place == len(tables):
        whole = plan[0] if len(plan) == 1 and not option.label else plan
        assert isinstance(whole, tuple), "cannot happen: a plan of one part is that part"
        cheapest.take(whole, option.own + spent, (option, below))
        return
    own, often = option.own, option.trips[place]
    for part, cost in tables[place][:1] if place in option.minor else tables[place]:
        now = spent + often * cost
        if (most := cheapest.most) is not None and own + now > most:
            return
        held = (*plan, part) if part else plan
        _further(option, tables, cheapest, (place + 1, now, held, (*below, part)))


def _choice_of(option: Option, below: tuple[Plan, ...]) -> Choice:
    children = tuple(zip(option.children, below, strict=True))
    return Choice(option.node, option.lowerings, option.moved, children)
