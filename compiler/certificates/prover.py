"""Z3, asked about two work-items of a kernel: bounds, races, and barriers that some of a group do not reach."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from relift.compiler.certificates.accesses import Accesses, BarrierSite
from relift.compiler.certificates.certificate import Claim, Kind, Verdict
from relift.compiler.certificates.counting.enumerated import Group
from relift.compiler.certificates.effort import Effort
from relift.compiler.certificates.flows import Access, ConflictPair, Fact, Iteration, Place
from relift.compiler.certificates.work_items import Formula, Grid, WorkItem, monotone
from relift.compiler.text.tree import Expression, Invocation, within

LARGEST = {"int": 2**31 - 1, "long": 2**63 - 1}
"""The largest numbers of the types of indices."""


class Prover:
    """Z3, asked about two work-items of one kernel."""

    def __init__(
        self, found: Accesses, grid: Grid, sizes: Mapping[str, int], effort: Effort
    ) -> None:
        self.found = found
        self.sizes = sizes
        self.effort = effort
        groups = any(stop.differing for stop in found.stops) or any(
            map(_mentions_groups, found.all)
        )
        self.grid = replace(grid, flat=not groups)
        self.group = Group(self.grid, found.tables)

    def item(self, mark: str = "", group: str = "") -> WorkItem:
        """A work-item of this kernel."""
        found = self.found
        return WorkItem(self.grid, self.sizes, found.whole, mark, group, tables=found.tables)

    # ---- bounds

    def bounds(self, access: Access) -> Claim:
        """The access lies in its array, and is aligned if it must be."""
        import z3

        one = self.item()
        one.enter(access.place)
        offset, cells = one.number(access.offset), one.number(access.array.cells)
        wrong = {"": z3.Or(offset < 0, offset + access.width > cells)}
        if access.aligned:
            wrong["not aligned at "] = offset % access.width != 0
        if not self.sizes:
            largest = LARGEST["long" if self.found.wide else "int"]
            wrong["an index overflows at "] = z3.Or(
                [z3.Or(t < -largest, t > largest) for t in one.terms]
            )
        found = self.claim("bounds", str(access), wrong, one, sure=access.sure)
        return _about(found, [access])

    # ---- races

    def global_races(self) -> list[Claim]:
        """No two work-items write, or write and read, one cell of global memory."""
        shared = [
            a for a in self.found.all if a.array.type.space.of_device and not a.array.constant
        ]
        bundles = _bundled(shared)
        return [
            self.race(a, b, self.item(), self.item("'", "'"))
            for a, b in itertools.combinations_with_replacement(bundles, 2)
            if a[0].conflicts_with(b[0])
        ]

    def local_races(self) -> list[Claim]:
        """No two work-items of a group do so in local memory with no barrier between them."""
        found = []
        for alike in _of_two_places(self.found.conflicts):
            start = time.perf_counter()
            apart = self.group.keeps_apart(alike)
            seconds = (time.perf_counter() - start) / len(alike)
            for pair in alike:
                left, right = (pair.left.access,), (pair.right.access,)
                if apart:
                    claim = Claim("races", _of_both(left, right), "proved", "", seconds)
                    found.append(_about(claim, [*left, *right]))
                else:
                    found.append(self.race(left, right, self.item(), self.item("'"), pair))
        return found

    def race(
        self,
        left: tuple[Access, ...],
        right: tuple[Access, ...],
        one: WorkItem,
        other: WorkItem,
        pair: ConflictPair | None = None,
    ) -> Claim:
        """No cell is accessed by one of the left accesses and, by another work-item, by one of the right."""
        import z3

        one.enter(left[0].place)
        other.enter(right[0].place)
        if pair is not None:
            one.facts += _conflict_facts(pair, one, other)
        cell = z3.Int("cell")
        both = [
            z3.Or([z3.And(start <= cell, cell < start + a.width) for a, start in starts])
            for starts in (
                [(a, one.number(a.offset)) for a in left],
                [(b, other.number(b.offset)) for b in right],
            )
        ]
        different = z3.Or([v != other.ids[name] for name, v in one.ids.items()])
        subject = _of_both(left, right)
        sure = pair.sure if pair is not None else _surely(*left, *right)
        found = self.claim("races", subject, {"": z3.And(different, *both)}, one, other, sure=sure)
        return _about(found, [*left, *right])

    # ---- barriers

    def reached(self, stop: BarrierSite) -> Claim:
        """All work-items of a group stand in the same turns and under the same conditions.

        Where a condition depends on the work-item, one that reaches the barrier and one of its group that turns off
        at that condition refute it.
        """
        import z3

        subject = "reached by the whole group"
        if not stop.differing:
            return Claim("barriers", subject, "proved", "", 0.0)
        unknown = "in a loop or a condition that depends on the work-item"
        first = stop.place.index(stop.differing[0])
        together, rest = stop.place[:first], stop.place[first:]
        if isinstance(rest[0], Iteration) or not stop.sure:
            return Claim("barriers", subject, "unknown", unknown, 0.0)
        one, other = self.item(), self.item("'")
        one.enter(stop.place)
        other.enter(together)
        one.facts += [
            one.counter(w.counter) == other.counter(w.counter)
            for w in together
            if isinstance(w, Iteration)
        ]
        conditions = list(itertools.takewhile(lambda w: isinstance(w, Fact), rest))
        truths = [other.truth(w.condition) for w in conditions if isinstance(w, Fact)]
        off = {"": z3.Or([z3.And(*truths[:k], z3.Not(t)) for k, t in enumerate(truths)])}
        said = self.claim("barriers", subject, off, one, other, sure=True)
        if said.verdict == "refuted" or (said.verdict == "proved" and len(conditions) == len(rest)):
            return said
        return replace(said, verdict="unknown", detail=unknown)

    # ---- Z3

    def impossible(self, wrong: Formula, *items: WorkItem) -> bool:
        """Whether Z3 shows that something cannot be."""
        import z3

        solver = z3.Solver()
        for item in items:
            solver.add(*item.facts)
        solver.add(*monotone(items), wrong)
        return bool(self.effort.check(solver) == z3.unsat)

    def claim(
        self,
        kind: Kind,
        subject: str,
        wrong: Mapping[str, Formula],
        *items: WorkItem,
        sure: bool,
    ) -> Claim:
        """What Z3 says about the absence of all that is `wrong`, each with the words for it.

        Only where the accesses are made for `sure`, whenever what is known of them holds, is a model a refutation.
        """
        import z3

        start = time.perf_counter()
        solver = z3.Solver()
        for item in items:
            solver.add(*item.facts)
        solver.add(*monotone(items), z3.Or(list(wrong.values())))
        answer = self.effort.check(solver)
        verdict: Verdict = "proved"
        detail = ""
        if answer == z3.sat and any(item.data for item in items):
            verdict, detail = "unknown", "the index depends on data"
        elif answer == z3.sat and not sure:
            verdict, detail = "unknown", "it depends on a condition that is not known"
        elif answer == z3.sat:
            model = solver.model()
            words = next(w for w, f in wrong.items() if z3.is_true(model.eval(f, True)))
            verdict, detail = "refuted", words + _model_text(model, items)
        elif answer != z3.unsat:
            verdict, detail = "unknown", self.effort.why
        return Claim(kind, subject, verdict, detail, time.perf_counter() - start)


def _conflict_facts(m: ConflictPair, one: WorkItem, other: WorkItem) -> list[Formula]:
    """In which turns of the loops around two accesses meet."""
    turns = {w.counter: w for w in m.left.access.place if isinstance(w, Iteration)}
    facts = [one.counter(name) == other.counter(name) for name in m.same]
    if m.follows is not None:
        step = one.number(turns[m.follows].stride)
        facts.append(other.counter(m.follows) == one.counter(m.follows) + step)
    if m.later is not None:
        step = one.number(turns[m.later].stride)
        facts.append(other.counter(m.later) > one.counter(m.later) + step)
    for point, item in ((m.left, one), (m.right, other)):
        turns = {w.counter: w for w in point.access.place if isinstance(w, Iteration)}
        facts += map(item.truth, point.way.conditions)
        for name in point.first:
            facts.append(item.counter(name) == item.number(turns[name].start))
        for name in point.last:
            step, end = item.number(turns[name].stride), item.number(turns[name].end)
            facts.append(item.counter(name) + step >= end)
    return facts


def _bundled(accesses: Sequence[Access]) -> list[tuple[Access, ...]]:
    """Accesses of one kind to one array in one place, together."""
    found: dict[Any, list[Access]] = {}
    for a in accesses:
        found.setdefault((a.array, a.kind, a.by, a.place), []).append(a)
    return [tuple(bundle) for bundle in found.values()]


def _surely(*accesses: Access) -> bool:
    """Whether all are made, and to all lanes of their elements."""
    return all(a.sure and not a.partial for a in accesses)


def _about(claim: Claim, accesses: Sequence[Access]) -> Claim:
    """The claim, with the arrays of the accesses that it is about."""
    reads, writes = (
        tuple(dict.fromkeys(a.array.name for a in accesses if a.kind in (kind, "update")))
        for kind in ("read", "write")
    )
    return replace(claim, reads=reads, writes=writes)


def _together(bundle: Sequence[Access]) -> str:
    more = f" and {len(bundle) - 1} like it" if len(bundle) > 1 else ""
    return f"{bundle[0]}{more}"


def _of_both(left: tuple[Access, ...], right: tuple[Access, ...]) -> str:
    """Which accesses a claim about a race is about."""
    return _together(left) if left == right else f"{_together(left)} / {_together(right)}"


def _of_two_places(conflicts: Iterable[ConflictPair]) -> list[list[ConflictPair]]:
    """Conflicts that differ in nothing but which cells are accessed, together."""
    found: dict[Any, list[ConflictPair]] = {}
    for pair in conflicts:
        sides = [
            (p.access.array, p.access.kind, p.access.by, p.access.place, p.first, p.last, p.way)
            for p in (pair.left, pair.right)
        ]
        found.setdefault((*sides, pair.same, pair.follows, pair.later), []).append(pair)
    return [*found.values()]


def _mentions_groups(access: Access) -> bool:
    return access.array.type.space.of_group or any(
        u.function in ("get_group_id", "get_local_id")
        for u in invocations(access.place, access.offset)
    )


def invocations(place: Place, offset: Expression) -> Iterator[Invocation]:
    """The functions of OpenCL on which depends where something is done, and to which cell."""
    expressions = [offset]
    for w in place:
        expressions += [w.start, w.end, w.step] if isinstance(w, Iteration) else [w.condition]
    return (u for e in expressions for u in within(e) if isinstance(u, Invocation))


def _model_text(model: Any, items: Sequence[WorkItem]) -> str:
    """Sizes, numbers of work-items and turns: `n = 2, glb_0 = 1, glb_0' = 0`."""
    values = {name: v for item in items for name, v in item.shown.items()}
    return ", ".join(
        f"{re.sub('#[0-9]+', '', name)} = {model.eval(v, model_completion=True)}"
        for name, v in values.items()
    )
