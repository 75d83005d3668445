"""What the kernels of a program come to: those that compute what has a name, those of iterations, each as often as it is launched, and the rest."""

from __future__ import annotations

from dataclasses import replace

from relift.device import DeviceDescription
from relift.egraph.cost.kernel import Kernel
from relift.egraph.cost.walk import Walk
from relift.semantics.indices.stored import inputs
from relift.semantics.indices.views import Environment, is_layout
from relift.semantics.patterns import Iterate, Let, ToGlobal
from relift.semantics.patterns.repeated import (
    names_a_buffer,
    repeats_kernels,
    results_of,
    without_names_of_buffers,
)
from relift.semantics.syntax.binding import canonical, replaced, substitute
from relift.semantics.syntax.terms import Input, MakeTuple, Term, distinct, parts_of


def launched(t: Term, environment: Environment, device: DeviceDescription) -> list[Kernel]:
    """What all kernels of a low-level term come to; raises `Unsupported` for a term that computes where it cannot.

    >>> from relift import f32, iterate, map_glb
    >>> from relift.device import preset
    >>> from relift.egraph.cost.repeated import launched
    >>> from relift.semantics.indices.stored import inputs
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[8])
    >>> len(launched(iterate(5, map_glb(0)(lambda v: v + v), x), inputs(x), preset("cpu")))
    5
    """
    found: list[Kernel] = []
    named: dict[Term, Input] = {}
    known: dict[Term, Input] = {}

    def buffer(value: Term) -> Term:
        nonlocal environment
        if (key := canonical(value)) not in named:
            named[key] = Input(f"named {len(environment.inputs)}", value.type)
            found.extend(launched(_stored(value), environment, device))
            views = {**environment.inputs, **inputs(named[key]).inputs}
            environment = replace(environment, inputs=views)
        return named[key]

    t = without_names_of_buffers(t, buffer)

    def read(u: Term) -> Term | None:
        if names_a_buffer(u):
            return replaced(without_names_of_buffers(u), read, Let, Iterate, ToGlobal)
        if isinstance(u, ToGlobal) and repeats_kernels(u.xs):
            return read(u.xs)  # the last step stored it
        if not repeats_kernels(u):
            return None
        if (key := canonical(u)) not in known:
            known[key] = Input(f"iterated {len(environment.inputs)} {len(known)}", u.type)
            found.extend(_of_iteration(u, known[key], environment, device))
        return known[key]

    rest = replaced(t, read, Let, Iterate, ToGlobal)
    if rest not in known.values():
        views = {**environment.inputs, **inputs(*known.values()).inputs}
        inner = replace(environment, inputs=views)
        results = results_of(rest)
        without = [_stored(part) for part in results] if len(results) > 1 else results
        found += Walk(device, inner).kernels(without, inner, named.values())
    return found


def _of_iteration(
    t: Iterate, state: Input, environment: Environment, device: DeviceDescription
) -> list[Kernel]:
    """The kernels of an iteration: of its first value, and those of a step, again and again."""
    first = [k for part in _parts(t.x) for k in launched(part, environment, device)]
    views = {**environment.inputs, **inputs(state).inputs}
    inner = replace(environment, inputs=views)
    (x,) = t.f.parameters
    body = without_names_of_buffers(substitute(t.f.body, {x.name: state}))
    parts = sorted(_parts(body), key=parts_of)
    if any(repeats_kernels(u) for part in parts for u in distinct(part)):
        step = [k for part in parts for k in launched(part, inner, device)]
    else:  # one part may be stored for another one
        step = Walk(device, inner).kernels(parts, inner)
    return first + step * (t.m.constant or 0)


def _parts(t: Term) -> list[Term]:
    """What has kernels of its own: views have none."""
    parts = t.parts if isinstance(t, MakeTuple) else (t,)
    return [part for part in map(_stored, parts) if not is_layout(part)]


def _stored(t: Term) -> Term:
    """A result, which is stored whether it says so or not."""
    return t.xs if isinstance(t, ToGlobal) else t
