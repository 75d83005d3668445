"""A program with names outside all functions as a chain of kernels: one for each name, and one for each result.

Where steps are written one after the other, each of which reads the last more than once, the program is many times as long without
names.  So it is derived under them: the steps of a kernel's derivation are done where the name is given, once.  The names go in the end
where the program is not many times as long without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relift.egraph.search.starts.staged import (
    StagedKernel,
    done_again,
    filled,
    program_of,
    results_of,
)
from relift.rewrites.application.matching import apply_rule
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.library import RULES
from relift.semantics.language.programs import Program
from relift.semantics.language.vocabulary import to_global
from relift.semantics.patterns import Let, ToGlobal
from relift.semantics.patterns.repeated import without_names_of_buffers
from relift.semantics.syntax.binding import Position, places_of, term_at
from relift.semantics.syntax.terms import Input, Term, Var, unused


def kernels_under_names(whole: Program) -> list[StagedKernel]:
    """The kernels of a program whose names outside all functions are stored, each after those whose values it reads.

    >>> from relift import f32, let, map, program, show, to_global
    >>> from relift.egraph.search.starts.named import kernels_under_names
    >>> @program
    ... def powers(x: f32[8]):
    ...     return let(lambda s: map(lambda v: v * v, s), to_global(map(lambda v: v * v, x)))
    >>> for kernel in kernels_under_names(powers):
    ...     print(kernel.result, show(kernel.program.body))
    powers_1 map(lambda v: v * v, x)
     map(lambda v: v * v, powers_1)
    """
    taken = {p.name for p in whole.parameters}
    found: list[StagedKernel] = []

    def read(value: Term) -> Term:
        assert isinstance(value, ToGlobal), "cannot happen: that is how it is stored"
        name = unused(f"{whole.name}_{len(found) + 1}", taken)
        taken.add(name)
        found.append(StagedKernel(name, program_of(whole, name, value.xs, {})))
        return Input(name, value.type)

    rest = without_names_of_buffers(whole.body, read)
    assert not isinstance(rest, Let), "cannot happen: what has such a name is stored"
    return [*found, *results_of(replace(whole, body=rest), {})]


def stores_named(whole: Derivation, kernels: Sequence[StagedKernel]) -> Derivation:
    """The derivation of a whole, as `kernels_of` cuts it, that goes on until the value of each kernel has a name outside all functions.

    >>> from relift import add, f32, map, program, reduce, show, to_global
    >>> from relift.egraph.search.starts.named import stores_named
    >>> from relift.egraph.search.starts.staged import kernels_of
    >>> from relift.rewrites.derivation.steps import Derivation
    >>> @program
    ... def total(x: f32[8]):
    ...     return reduce(add, 0.0, to_global(map(lambda v: v * v, x)))
    >>> derivation = Derivation(total, {}, (), total.body)
    >>> show(stores_named(derivation, kernels_of(total)).result)
    'let(lambda x_: reduce(add, 0.0, x_), to_global(map(lambda v: v * v, x)))'
    """
    t, steps = whole.result, list(whole.steps)
    values: dict[str, Term] = {}
    place: Position = ()
    for kernel in kernels:
        if kernel.result:
            stored = to_global(filled(kernel.program.body, values))
            below = places_of(term_at(t, place), stored)
            parts = {"x": below[0]}
            t, named = apply_rule(RULES["let_inline"], t, place, direction="backward", parts=parts)
            steps.append(Step("let_inline", "backward", place, named, parts=parts))
            values[kernel.result] = _name_at(t, len(place))
            place = (*place, "f")
    return replace(whole, steps=tuple(steps), result=t)


def joined_under_names(
    whole: Derivation,
    kernels: Sequence[StagedKernel],
    found: Sequence[Derivation],
    *,
    keep: bool = False,
) -> Derivation:
    """The derivation of a whole that goes on with that of each of its kernels, and then without the names, unless it shall keep them."""
    t, steps = whole.result, list(whole.steps)
    values: dict[str, Term] = {}
    place: Position = ()
    for kernel, derivation in zip(kernels, found, strict=True):
        inside = (*place, "x", "xs") if kernel.result else (*place, *kernel.place)
        again, t = done_again(derivation, derivation.replay(RULES), t, inside, values)
        steps += again
        if kernel.result:
            values[kernel.result] = _name_at(t, len(place))
            place = (*place, "f")
    for _ in () if keep else place:
        t, substitution = apply_rule(RULES["let_inline"], t, ())
        steps.append(Step("let_inline", "forward", (), substitution))
    return replace(whole, steps=tuple(steps), result=t)


def _name_at(t: Term, depth: int) -> Var:
    """The name that is given below so many others."""
    for _ in range(depth):
        assert isinstance(t, Let), "cannot happen: kernels keep the names around them"
        t = t.f.body
    assert isinstance(t, Let), "cannot happen: it is that of a kernel"
    return t.f.parameters[0]
