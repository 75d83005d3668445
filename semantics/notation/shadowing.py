"""What text cannot tell apart: variables that are called as inputs are."""

from __future__ import annotations

from relift.semantics.syntax.binding import inputs_in, map_children, substitute
from relift.semantics.syntax.terms import Lambda, Term, Var, free_variables, unused


def unshadowed(t: Term) -> Term:
    """`t` with no variable that has the name of an input where that is used; as text they would be one.

    >>> from relift import f32, show
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.notation.shadowing import unshadowed
    >>> from relift.semantics.syntax.binding import replace_at
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32)
    >>> t = parse_term("map(lambda x: x + 1.0, xs)", xs=Input("xs", f32[4]))
    >>> show(unshadowed(replace_at(t, ("f", "arguments.1"), x)))
    'map(lambda x_: x_ + x, xs)'
    """

    def under(f: Lambda) -> Lambda:
        inputs = inputs_in(f.body)
        if inputs.isdisjoint(x.name for x in f.parameters):
            return Lambda(f.parameters, unshadowed(f.body))
        taken = inputs | free_variables(f.body) | {x.name for x in f.parameters}
        new = tuple(
            Var(unused(x.name, taken), x.type) if x.name in inputs else x for x in f.parameters
        )
        renamed = dict(zip((x.name for x in f.parameters), new, strict=True))
        return Lambda(new, unshadowed(substitute(f.body, renamed)))

    return map_children(t, unshadowed, under)
