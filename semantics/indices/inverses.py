"""Writing through layouts: where the data of a pattern are, given where its result is written."""

from __future__ import annotations

from relift.semantics.indices.algebra import asked_for
from relift.semantics.indices.views import View, Views, is_layout, name_of
from relift.semantics.patterns.algorithmic import Map
from relift.semantics.patterns.opencl import Store
from relift.semantics.syntax.nodes import argument
from relift.semantics.syntax.terms import Lambda, Pattern, Term, Var, children, inside, subterms
from relift.semantics.syntax.types import holds_array


def invert_layout(t: Term, target: View) -> tuple[Term, View] | None:
    """The data of an invertible layout pattern and where to write it, given where t is written; or None.

    >>> from relift import f32
    >>> from relift.semantics.indices.expressions import variable
    >>> from relift.semantics.indices.inverses import invert_layout
    >>> from relift.semantics.indices.stored import stored
    >>> from relift.semantics.indices.views import array, cell
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xss = Input("xss", f32[4, 8])
    >>> xs, target = invert_layout(parse_term("join(xss)", xss=xss), stored("out", f32[32]))
    >>> cell(array(array(target).at(variable("i", 4))).at(variable("j", 8))).offset
    8*i + j
    """
    data = invertible_data(t)
    if data is None or not isinstance(t, Pattern):
        return None

    def given(name: str) -> object:
        held = argument(t, name)
        if isinstance(held, Lambda):
            return lambda place: _through(held.body, place)
        return t.solved[name] if held is None else held

    place: View = t.inverse(Views(t.name), target, **{n: given(n) for n in asked_for(t.inverse)})
    return data, place


def invertible_data(t: Term) -> Term | None:
    """The data of t when t is a layout pattern that `invert_layout` inverts, else None.

    Where only a part of the data has a place, nothing of it may be read there while it is computed.

    >>> from relift import f32
    >>> from relift.semantics.indices.inverses import invertible_data
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[8])
    >>> computed = "map_glb(0)(lambda v: v + v, x)", "insertion_sort_seq(lambda v, w: v < w, x)"
    >>> [invertible_data(parse_term(f"take(3, {s})", x=x)) is None for s in computed]
    [False, True]
    """
    if not isinstance(t, Pattern) or not t.has_inverse():
        return None
    *functions, data = (child for _, child in children(t))
    assert not isinstance(data, Lambda), f"cannot happen: {t.name} has its data last"
    if not all(isinstance(f, Lambda) and _invertible(f) for f in functions):
        return None
    return None if _drops(t) and _read_back(data) else data


def _drops(t: Pattern) -> bool:
    """Whether something of what is written through t is written nowhere."""
    functions = (f.body for _, f in children(t) if isinstance(f, Lambda))
    below = (u for body in functions for u, _ in subterms(body))
    return t.drops or any(isinstance(u, Pattern) and u.drops for u in below)


def _read_back(t: Term) -> bool:
    """Whether something of a result is read where it is written."""
    if isinstance(t, Store) or is_layout(t):
        return False
    here = isinstance(t, Pattern) and t.reads_back and holds_array(t.type)
    return here or any(_read_back(u) for _, u, _ in inside(t))


def written_place(t: Term) -> tuple[str, ...]:
    """Where in t is what invertible layouts rearrange: what is computed there is written to where they put it.

    >>> from relift import f32
    >>> from relift.semantics.indices.inverses import written_place
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[4, 8])
    >>> written_place(parse_term("join(transpose(map(lambda row: map(lambda v: v + v, row), x)))", x=x))
    ('xss', 'xss')
    """
    data = invertible_data(t)
    if data is None or is_layout(t):
        return ()
    field = next(name for name, child in children(t) if child is data)
    return (field, *written_place(data))


def _invertible(f: Lambda) -> bool:
    """Whether f applies invertible layout patterns to its argument and nothing else."""
    body: Term | None = f.body
    while body is not None and body != f.parameters[0]:
        body = invertible_data(body)
    return body is not None


def _through(body: Term, target: View) -> View:
    """Where the argument of an invertible function is written, given where its result is."""
    while not isinstance(body, Var):
        inverted = invert_layout(body, target)
        assert inverted is not None, f"cannot happen: {name_of(body)} was found invertible"
        body, target = inverted
    return target


def computes_itself(t: Pattern) -> bool:
    """Whether a pattern itself computes, and not what it rearranges, names or stores.

    >>> from relift import f32, map, split
    >>> from relift.semantics.indices.inverses import computes_itself
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[8])
    >>> computes_itself(map(lambda v: v + v, x)), computes_itself(split(2, x))
    (True, False)
    """
    if t.keeps:
        return False
    if isinstance(t, Map):
        return not is_layout(t.f.body)
    return not t.layout and not t.has_inverse()
