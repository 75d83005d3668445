"""Where the elements of an array lie, read off its view: how far apart neighbours of each dimension are in memory.

A tactic that stages an array copies it in the order in which it lies.
"""

from __future__ import annotations

import itertools
from typing import TypeAlias

from relift.semantics.errors import Unsupported
from relift.semantics.indices.atoms import Variable, variables_of
from relift.semantics.indices.expressions import evaluate, variable
from relift.semantics.indices.stored import inputs, stored
from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    CodeValue,
    Environment,
    Guarded,
    TupleView,
    VectorView,
    View,
    array,
    is_layout,
    view,
)
from relift.semantics.patterns import Let, Map, ToGlobal
from relift.semantics.syntax.binding import Position, replaced
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input, Lambda, Term, children, subterms

SAMPLE = 65
"""So many elements of a dimension are looked at."""

Neighbours: TypeAlias = tuple[tuple[float, float], ...]
"""For each dimension, which share of its neighbours is adjacent in memory, and how many cells apart they are."""

Steps: TypeAlias = list[int]
"""How many cells each two neighbours of a dimension are apart, of those that are looked at."""


def neighbours(whole: Term, place: Position) -> Neighbours | None:
    """How neighbours in each dimension of an array in a term lie in memory; None for what shows no cell of one.

    What is computed lies in the order of its type.

    >>> from relift import f32
    >>> from relift.rewrites.tactics.reuse import neighbours
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xss = Input("xss", f32[4, 8])
    >>> neighbours(parse_term("transpose(xss)", xss=xss), ())
    ((1.0, 1.0), (0.0, 8.0))
    """
    apart = _steps_at(whole, place)
    if apart is None:
        return None
    return tuple((steps.count(1) / len(steps), sum(steps) / len(steps)) for steps in apart)


def distances(whole: Term, place: Position) -> tuple[int, ...]:
    """How many cells neighbours in each dimension of an array are apart, most of them; none for what shows no cell of one.

    >>> from relift import f32
    >>> from relift.rewrites.tactics.reuse import distances
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> distances(parse_term("pad(0, 2, clamp, xss)", xss=Input("xss", f32[4, 7])), ())
    (7, 1)
    """
    apart = _steps_at(whole, place) or ()
    return tuple(max(steps, key=steps.count) for steps in apart)


def _steps_at(whole: Term, place: Position) -> tuple[Steps, ...] | None:
    environment = inputs(*dict.fromkeys(t for t, _ in subterms(whole) if isinstance(t, Input)))
    try:
        return _steps(_shown_at(whole, place, environment, ()), ())
    except Unsupported:
        return None


def lies_across(whole: Term, place: Position) -> bool:
    """Whether an array of rows lies column by column, so that neighbours read it best down its columns.

    >>> from relift import f32
    >>> from relift.rewrites.tactics.reuse import lies_across
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xss = Input("xss", f32[4, 8])
    >>> [lies_across(parse_term(t, xss=xss), ()) for t in ("xss", "transpose(xss)")]
    [False, True]
    """
    found = neighbours(whole, place)
    if found is None or len(found) < 2:
        return False
    (near_across, apart_across), (near_along, apart_along) = found[:2]
    return (near_across, -apart_across) > (near_along, -apart_along)


def lie_together(whole: Term, place: Position) -> bool:
    """Whether elements of an array that follow one another do so in memory, or the numbers of which they are arrays.

    >>> from relift import f32
    >>> from relift.rewrites.tactics.reuse import lie_together
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xss = Input("xss", f32[4, 8])
    >>> [lie_together(parse_term(t, xss=xss), ()) for t in ("xss", "transpose(xss)", "join(xss)")]
    [False, True, True]
    """
    found = neighbours(whole, place)
    return found is not None and found[0] == (1.0, 1.0)


def only_rearranges(t: Term) -> bool:
    """Whether a term only moves what is given, or what a kernel has stored.

    >>> from relift import f32
    >>> from relift.rewrites.tactics.reuse import only_rearranges
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xs = Input("xs", f32[8])
    >>> doubled = "map_glb(0)(lambda x: x + x, xs)"
    >>> [only_rearranges(parse_term(t, xs=xs)) for t in (f"split(2, {doubled})", f"split(2, to_global({doubled}))")]
    [False, True]
    """
    return is_layout(
        replaced(t, lambda u: Input("", u.type) if isinstance(u, ToGlobal) else None, ToGlobal)
    )


def _shown_at(t: Term, place: Position, environment: Environment, path: Position) -> View:
    """What stands at a place, in the functions of which it is."""
    if not place:
        return view(t, environment, _stored)
    field, *rest = place
    child = dict(children(t))[field]
    if isinstance(child, Lambda):
        environment = environment.bind(child, _argument(t, environment, path))
        child = child.body
    return _shown_at(child, tuple(rest), environment, (*path, field))


def _argument(t: Term, environment: Environment, path: Position) -> View:
    """What the function of a map is given, or what has a name."""
    if isinstance(t, Let):
        return view(t.x, environment, _stored)
    if not isinstance(t, Map):
        raise Unsupported("only maps and names are gone into")
    data = array(view(t.xs, environment, _stored))
    return data.at(variable("_".join((*path, "i")), data.length))


def _stored(t: Term, environment: Environment) -> View:
    """What is computed, as if it were stored."""
    return stored("computed", t.type)


def _steps(shown: View, around: tuple[Size, ...]) -> tuple[Steps, ...] | None:
    match shown:
        case ArrayView(length, at):
            index = variable(f"d{len(around)}", length)
            return _steps(at(index), (*around, index))
        case TupleView(parts):
            return _steps(parts[0], around)
        case VectorView():
            return _steps(shown.lane(Size.of(0)), around)
        case Guarded():
            return _steps(shown.inside, around)
        case CodeValue():
            return None
        case Cell(_, offset):
            return _offsets(offset, around)


def _offsets(offset: Size, around: tuple[Size, ...]) -> tuple[Steps, ...]:
    """How far elements that follow one another in a dimension are apart in memory, the others being in the middle."""
    middle: dict[str, int] = {}
    lengths: dict[str, int] = {}
    for index in around:
        for atom in variables_of(index):
            assert isinstance(atom, Variable), "cannot happen: indices are variables"
            lengths[atom.name] = atom.extent.constant or 1
    for atom in variables_of(offset):
        if not isinstance(atom, Variable) or atom.extent.constant is None:
            raise Unsupported("what is read depends on data")
        middle[atom.name] = atom.extent.constant // 2
    found: list[Steps] = []
    for index in around:
        name = next((a.name for a in variables_of(index) if isinstance(a, Variable)), "")
        many = min(lengths.get(name, 1), SAMPLE)
        cells = [evaluate(offset, {**middle, name: i}) for i in range(many)]
        found.append([abs(b - a) for a, b in itertools.pairwise(cells)] or [0])
    return tuple(found)
