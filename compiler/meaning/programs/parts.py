"""Whether the parts of a program, which kernels compute one after the other, are the program put together.

What needs no variable is one value wherever it stands, and has a number: so what a hundred steps of an iteration come to
is as long as one.  Words on where something is stored are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from relift.semantics.patterns import Store
from relift.semantics.patterns.repeated import repeats_kernels
from relift.semantics.syntax.binding import canonical, map_children, substitute
from relift.semantics.syntax.terms import Input, Lambda, MakeTuple, Term, free_variables


@dataclass
class Parts:
    """Values by number, and which of them the buffers hold now.

    >>> from relift import f32, iterate, map_glb, program
    >>> from relift.compiler.lowering.stages import stages_of
    >>> from relift.compiler.meaning.programs.parts import Parts
    >>> @program
    ... def doubled(x: f32[8]):
    ...     return iterate(3, map_glb(0)(lambda v: v + v), x)
    >>> parts = Parts()
    >>> for stage in stages_of(doubled):
    ...     parts.held[stage.result] = parts.value(stage.body)
    >>> parts.held["out"] == parts.value(doubled.body)
    True
    """

    held: dict[str, Term] = field(default_factory=dict[str, Term])
    numbers: dict[Term, Input] = field(default_factory=dict[Term, Input])

    def value(self, t: Term) -> Term:
        """A term with a number for each value in it."""
        if isinstance(t, Store):
            return self.value(t.xs)
        if isinstance(t, Input):
            return self.held.get(t.name, t)
        if repeats_kernels(t):
            (x,) = t.f.parameters
            state = self.value(t.x)
            for _ in range(t.m.constant or 0):
                state = self.value(substitute(t.f.body, {x.name: state}))
            return state
        found = map_children(t, self.value, lambda f: Lambda(f.parameters, self.value(f.body)))
        if free_variables(found) or isinstance(found, Input | MakeTuple):
            return found  # it has a number, or each of its parts
        number = Input(f"value {len(self.numbers) + 1}", found.type)
        return self.numbers.setdefault(canonical(found), number)
