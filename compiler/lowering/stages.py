"""Which kernels a program needs: one for the result, and one before it for each `to_global`.

A `to_global` ends a kernel, and the next one reads its buffer.  Inside a lambda it does so when it depends on
no variable: what is the same for every element is computed once.  Equal ones share a buffer.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from relift.semantics.indices.inverses import invertible_data
from relift.semantics.language.programs import Program
from relift.semantics.patterns import ToGlobal
from relift.semantics.syntax.binding import canonical, map_children
from relift.semantics.syntax.terms import Input, Lambda, Term, free_variables


@dataclass(frozen=True)
class Stage:
    """One kernel: the term it computes and the name of what it computes."""

    result: str
    body: Term


def stages_of(program: Program) -> tuple[Stage, ...]:
    """The kernels of a program in the order in which they run; the last computes `out`.

    >>> from relift import add, f32, map_glb, program, reduce_seq, show, split, to_global
    >>> from relift.compiler.lowering.stages import stages_of
    >>> @program
    ... def total(x: f32[8]):
    ...     partial = map_glb(0)(lambda c: reduce_seq(add, 0.0, c), split(2, x))
    ...     return reduce_seq(add, 0.0, to_global(partial))
    >>> for stage in stages_of(total):
    ...     print(stage.result, "=", show(stage.body))
    tmp_1 = map_glb(0)(lambda c: reduce_seq(add, 0.0, c), split(2, x))
    out = reduce_seq(add, 0.0, tmp_1)
    """
    taken = {p.name for p in program.parameters}
    free = (name for k in itertools.count(1) if (name := f"tmp_{k}") not in taken)
    found: dict[Term, Stage] = {}

    def lift(t: Term) -> Term:
        if not isinstance(t, ToGlobal) or free_variables(t):
            return map_children(t, lift, lambda f: Lambda(f.parameters, lift(f.body)))
        body = _result(t.xs)
        key = canonical(body)
        if key not in found:
            found[key] = Stage(next(free), body)
        return Input(found[key].result, t.type)

    def _result(t: Term) -> Term:
        """A result has a buffer already, so `to_global` around it adds nothing."""
        if isinstance(t, ToGlobal):
            return _result(t.xs)
        data = invertible_data(t)
        if data is None:
            return lift(t)
        return map_children(t, lambda u: _result(u) if u is data else u, lambda f: f)

    body = _result(program.body)
    return (*found.values(), Stage("out", body))
