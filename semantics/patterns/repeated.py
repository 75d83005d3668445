"""Iterations whose steps are kernels: a host launches them again and again."""

from __future__ import annotations

from typing import TypeGuard

from relift.semantics.patterns.algorithmic import Iterate
from relift.semantics.patterns.opencl import EachOf, Store
from relift.semantics.syntax.terms import Lambda, Term, children, free_variables


def repeats_kernels(t: Term) -> TypeGuard[Iterate]:
    """Whether a term is an iteration outside all functions, of whose steps each is one kernel or several.

    >>> from relift import f32, iterate, map_glb, map_seq, to_private
    >>> from relift.semantics.patterns.repeated import repeats_kernels
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[8])
    >>> repeats_kernels(iterate(3, map_glb(0)(lambda v: v + v), x))
    True
    >>> repeats_kernels(iterate(3, map_seq(lambda v: v + v), to_private(x)))
    False
    """
    return isinstance(t, Iterate) and not free_variables(t) and _has_kernels(t.f.body)


def _has_kernels(t: Term) -> bool:
    """Whether a step is more than what one work-item, or one group, does; what is the same in all steps is no part of it."""
    if isinstance(t, Store) and t.space.of_device:
        return bool(free_variables(t))
    if isinstance(t, EachOf) and t.level in ("glb", "wrg"):
        return True
    below = (u.body if isinstance(u, Lambda) else u for _, u in children(t))
    return any(map(_has_kernels, below))
