"""Parts of a term as variables: what a metavariable that is applied to more than variables is matched through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relift.semantics.syntax.binding import alpha_equal, map_children
from relift.semantics.syntax.terms import Get, Lambda, Term, Var, free_variables, subterms, unused
from relift.semantics.syntax.types import Tuple


def names_in(t: Term, names: Mapping[str, Var]) -> set[str]:
    """The names of variables in a term, bound ones too, for what takes a place in it must not be caught there."""
    bound = {x.name for _, around in subterms(t) for x in around}
    return bound | free_variables(t) | {x.name for x in names.values()} | set(names)


def component_of(u: Term, names: Mapping[str, Var]) -> Term | None:
    """A component of a bound variable of the rule as that of the term's; None for what is none."""
    if isinstance(u, Var):
        return names.get(u.name)
    of = component_of(u.of, names) if isinstance(u, Get) else None
    if of is None or not isinstance(u, Get) or not isinstance(of.type, Tuple):
        return None
    return Get(u.index, of, of.type.parts[u.index])


def named(part: Term, y: Var, t: Term) -> Term:
    """`t` with the variable in place of the part, wherever its variables mean the same."""
    if alpha_equal(part, t):
        return y
    free = free_variables(part)

    def under(f: Lambda) -> Lambda:
        if free & {x.name for x in f.parameters}:
            return f
        return replace(f, body=named(part, y, f.body))

    return map_children(t, lambda u: named(part, y, u), under)


def beside(y: Var, f: Lambda) -> Var:
    """A variable from around a function, which cannot name it where a parameter is called the same: as another one."""
    own = {x.name for x in f.parameters}
    if y.name not in own:
        return y
    return Var(unused(y.name, own | free_variables(f.body)), y.type)
