"""The log of an e-graph as equations: every firing left a row, which says what the metavariables stood for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from relift.egraph.encode.rules import EncodedRule
from relift.egraph.explanation.closure import Closure
from relift.egraph.explanation.firings import Firing, Sides
from relift.egraph.explanation.ground import Ground
from relift.egraph.process.saturation import Saturation


class GroundEquations:
    """The firings of one saturation as equations between ground terms, closed under congruence.

    The e-graph pushes substitutions; here they are carried out.  When an equation holds for a term with a free
    name, it is also needed where that name was substituted, so the log is closed under the substitutions that
    the e-graph did (`close`).
    """

    def __init__(self, saturation: Saturation, most: int) -> None:
        self.snapshot = saturation.snapshot
        self.rules = saturation.request.rules
        self.most = most
        self.ground = Ground(self.snapshot.constructors, dict(self.snapshot.names.variables))
        self.closure = Closure(self.ground)
        self.rounds = 0
        self._quoted: dict[int, int] = {}
        mirrors = {c.mirrored: c.name for c in self.snapshot.constructors.values()}
        self._rows = {
            row[-1]: (mirrors[name], row[:-1])
            for name, rows in self.snapshot.dump.rows.items()
            if name in mirrors
            for row in rows
        }
        self._substitutions: dict[tuple[int, int], None] = {}
        self._firings: dict[Firing, None] = {}
        self._captured: dict[Firing, None] = {}
        self._load(saturation.rules)

    def _load(self, encoded: Iterable[EncodedRule]) -> None:
        for number in list(self._rows):
            self.closure.add(self._term(number))
        names = self.snapshot.names
        rows = self.snapshot.dump.rows
        for rule in encoded:
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
        matched, built = Sides(self.ground, firing).sides(self.rules[firing.rule.rule])
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

    def close(self) -> None:
        """Add every equation under every substitution that the e-graph did."""
        self.rounds += 1
        self._tighten()
        substitutions = list(self._substitutions)
        for firing in list(self._firings):
            matched, built = Sides(self.ground, firing).sides(self.rules[firing.rule.rule])
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
