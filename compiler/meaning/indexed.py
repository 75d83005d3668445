"""The inputs whose numbers are indices as they are: a program means something only where these are in range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from relift.semantics.patterns import Zip
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Get,
    Input,
    Lambda,
    MakeTuple,
    Pattern,
    Term,
    Var,
    children,
)

Flow: TypeAlias = "str | tuple[Flow, ...]"
"""The input whose elements a value's are; nothing where they are computed, or of several."""

NOTHING = ""


def indexed_lengths(t: Term) -> dict[str, tuple[Size, ...]]:
    """Each such input, with the lengths that it indexes; not those of which an index is computed.

    >>> from relift import f32, i32, nat
    >>> from relift.compiler.meaning.indexed import indexed_lengths
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> ids, xs = Input("ids", i32[4]), Input("xs", f32[nat("n")])
    >>> indexed_lengths(parse_term("gather_indices(ids, xs)", ids=ids, xs=xs))
    {'ids': (n,)}
    >>> indexed_lengths(parse_term("gather_indices(map(lambda i: i - 1, ids), xs)", ids=ids, xs=xs))
    {}
    """
    found: dict[str, tuple[Size, ...]] = {}

    def flow_of(t: Term, around: Mapping[str, Flow]) -> Flow:
        if isinstance(t, Input):
            return t.name
        if isinstance(t, Var):
            return around.get(t.name, NOTHING)
        parts = list(children(t))
        data = {place: flow_of(u, around) for place, u in parts if not isinstance(u, Lambda)}
        given = list(data.values())
        if isinstance(t, Get):
            [of] = given
            return of[t.index] if isinstance(of, tuple) else NOTHING
        if isinstance(t, MakeTuple | Zip):
            return tuple(given)
        if not isinstance(t, Pattern):
            return NOTHING
        if t.partial:
            roles = zip(t.signature.term_fields, t.signature.roles, strict=True)
            for name in [data[place] for place, role in roles if role == "index"]:
                if isinstance(name, str) and name:
                    found[name] = tuple(dict.fromkeys((*found.get(name, ()), t.solved["n"])))
        inner = [
            (f, flow_of(f.body, {**around, **_elements(f, given)}))
            for _, f in parts
            if isinstance(f, Lambda)
        ]
        if len(given) != 1 or t.partial:
            return NOTHING
        if not inner:
            return given[0]
        [(f, made), *more] = inner
        return made if not more and len(f.parameters) == 1 else NOTHING

    flow_of(t, {})
    return found


def _elements(f: Lambda, given: list[Flow]) -> dict[str, Flow]:
    """What the parameters of a function are: the last one an element of the last array."""
    flows = [NOTHING] * (len(f.parameters) - 1) + [given[-1] if given else NOTHING]
    return {x.name: flow for x, flow in zip(f.parameters, flows, strict=True)}
