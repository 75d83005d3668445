"""Where a term stands while its kernel is generated: its variables, its lanes, and what was computed around it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from relift.semantics.indices.lanes import Lane
from relift.semantics.indices.views import Environment, View
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.terms import Lambda, Term, free_variables


@dataclass(frozen=True)
class Computed:
    """A term that was computed, the views of its free variables then, and the view of its result."""

    term: Term
    bindings: tuple[View, ...]
    result: View


@dataclass(frozen=True)
class Scope:
    """Where a term stands: its variables, the lanes around it, and what its block has computed already."""

    environment: Environment
    lane: Lane | None = None
    computed: tuple[list[Computed], ...] = field(default_factory=lambda: ([],))

    def bind(self, f: Lambda, *views: View) -> Scope:
        """The scope of the body of f."""
        return replace(self, environment=self.environment.bind(f, *views))

    def block(self) -> Scope:
        """The scope of one run of a body: what is computed there is unknown outside, and to the next."""
        return replace(self, computed=(*self.computed, []))

    def in_lanes(self, lane: Lane) -> Scope:
        """The scope of a body that is run in lanes: what is computed there is a vector, and unknown outside."""
        return replace(self.block(), lane=lane)

    def bindings(self, t: Term) -> tuple[View, ...]:
        """The views of the free variables of t."""
        return tuple(self.environment.variables[name] for name in sorted(free_variables(t)))

    def known(self, t: Term, bindings: tuple[View, ...]) -> View | None:
        """Where the result of a term lies, equal up to the names of its binders, that this block or one around it has computed."""
        for c in (c for block in self.computed for c in block):
            if len(c.bindings) != len(bindings) or type(c.term) is not type(t):
                continue
            same = all(a is b for a, b in zip(c.bindings, bindings, strict=True))
            if same and alpha_equal(c.term, t):
                return c.result
        return None

    def note(self, t: Term, bindings: tuple[View, ...], result: View) -> None:
        """Note where the result of a term lies that this block has computed."""
        self.computed[-1].append(Computed(t, bindings, result))
