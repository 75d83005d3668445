"""Iterations that change the length, written out: each step is a term of its own, at its own size.

>>> from relift.compiler.lowering.iterations import written_out
>>> from relift.semantics.language.vocabulary import iterate_sizes, partial_reduce, add
>>> from relift.semantics.notation.printer import show
>>> from relift.semantics.syntax.terms import Input
>>> from relift.semantics.syntax.types import f32
>>> halved = iterate_sizes(2, 2, partial_reduce(add, 0.0, 2), Input("xs", f32[12]))
>>> show(written_out(halved))
'partial_reduce(add, 0.0, 2, partial_reduce(add, 0.0, 2, xs))'
"""

from __future__ import annotations

from relift.semantics.errors import Unsupported
from relift.semantics.patterns import IterateSizes
from relift.semantics.syntax.binding import map_children, substitute
from relift.semantics.syntax.substitution import at_sizes
from relift.semantics.syntax.terms import Lambda, Term, Var, subterms


def written_out(t: Term) -> Term:
    """`t` without `iterate_sizes`; raises `Unsupported` where a step is not one term.

    How often it iterates must be a number, and each step uses the result of the one before once.
    """
    t = map_children(t, written_out, lambda f: Lambda(f.parameters, written_out(f.body)))
    if not isinstance(t, IterateSizes):
        return t
    if t.m.constant is None:
        raise Unsupported(f"iterate_sizes runs {t.m} times; a kernel needs a number of times")
    (x,), result = t.f.parameters, t.xs
    uses = sum(u == Var(x.name, x.type) for u, _ in subterms(t.f.body))
    if uses > 1:
        raise Unsupported(
            f"iterate_sizes: its function uses {x.name} {uses} times, so that a kernel would compute "
            "it as often; use it once, or let(lambda y: ..., to_local(...))"
        )
    size = t.bound_size("f")
    assert size is not None, "cannot happen: the signature binds it"
    for step in reversed(range(t.m.constant)):
        body = at_sizes(t.f.body, {size: t.solved["k"] * t.factor**step})
        result = substitute(body, {x.name: result})
    return result
