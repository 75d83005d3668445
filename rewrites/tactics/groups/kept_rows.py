"""What the work-items of a group read of a row more than once stays in their registers.

    row  =  join(to_private(split(m, row)))      of which each of m members has its own share

Every loop of the group over the row gives a member the same share, so it keeps that share, and only that: the array
is spread over the members, and takes of each as many registers as its share has numbers.  Loops over it are written
out, for registers have no indices.  What m members do not share evenly, or have no registers for, is left where it is.
Source: Volkov, GTC'10 (registers before local memory).
"""

from __future__ import annotations

from collections.abc import Iterator

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    copy,
    curried,
    inside,
    then,
    under_a_name,
)
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.groups.rows.whole_turns import lanes_for
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Join, MapSeq, PadClamp, ReduceSeq, Split
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    places_of,
    positions,
    replaced,
    term_at,
)
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.nodes import argument
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Get,
    Input,
    Lambda,
    Pattern,
    Term,
    Var,
    free_variables,
    parts_of,
)
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    cells,
    dimensions,
)

_OF_A_UNIT = 32 * 1024
"""Numbers that the registers of a unit of a GPU hold beside what is computed with; of more, an H100 takes thrice the time."""

_FEWEST, _MOST = 16, 64
"""Numbers of a row for each member: fewer are near when they are read again, more are more text than they save time."""


def has_rows_to_keep(t: Type, members: int) -> bool:
    """Whether what the function of a row is given has a row of numbers, or a table of them, that so many members may keep.

    >>> from relift import f32
    >>> from relift.rewrites.tactics.groups.kept_rows import has_rows_to_keep
    >>> [has_rows_to_keep(f32[8192], members) for members in (64, 128, 512, 1024)]
    [False, True, True, False]
    """
    match t:
        case Array() if isinstance(dimensions(t)[1], Scalar):
            n = cells(t).constant
            return n is not None and _FEWEST <= -(-n // members) <= _MOST
        case Tuple(parts):
            return any(has_rows_to_keep(part, members) for part in parts)
        case Array() | Scalar() | Vector() | TypeVariable():
            return False


@curried
def kept_in_registers(at: Rewriting, place: Position, members: int, width: int) -> Rewriting:
    """The function of a row, lowered for a group of so many members that read vectors of `width`, which keep what they read again.

    Raises `NoMatch` where nothing is read again, or the registers do not suffice.
    """
    row = binders_at(at.term, place)[-1]
    found = _read_again(term_at(at.term, place), row, members)
    if not found:
        raise NoMatch(f"{members} members read no row twice that they should keep")
    room = _OF_A_UNIT // len(found)
    for t in found:
        if not places_of(term_at(at.term, place), t):
            continue  # it has a row that is kept by now, and is kept with it
        is_share = isinstance(t, Split)
        shares = _copied(t, room) if is_share else _shared_out(t, members, width, room)
        at = _named(t, shares)(at, place)
        place = (*place, "f")
    return at


def _read_again(body: Term, row: Var, members: int) -> list[Term]:
    """The rows of numbers of which loops of the group go through more than one; if others read them too, their shares."""
    found: list[Term] = []
    rows = dict.fromkeys(t for _, t in positions(body) if _is_row(t, row))
    for r in sorted(rows, key=parts_of, reverse=True):
        loops = sum(len(places_of(xs, r)) for _, _, xs in _loops(body))
        if loops > 1 and has_rows_to_keep(r.type, members):
            all_loops = loops == len(places_of(body, r))
            found += [r] if all_loops else _shares(body, r, members)
        body = _without(body, r)
    return list(dict.fromkeys(found))


def _without(body: Term, row: Term) -> Term:
    """A function in which something else stands for a row."""
    return replaced(body, lambda t: Input("", t.type) if t == row else None)


def _is_row(t: Term, row: Var) -> bool:
    """Whether a term is an array of numbers that the function of a row is given, or a part of what it is given.

    So are a table's rows, joined, and a row that goes on beyond its end.
    """
    of = _rearranged(t)
    while isinstance(of, Get):
        of = of.of
    return of == row and isinstance(t.type, Array) and isinstance(t.type.element, Scalar)


def _rearranged(t: Term) -> Term:
    """What is joined, or goes on beyond its end."""
    match t:
        case Join():
            return _rearranged(t.xss)
        case Split():
            return _rearranged(t.xs)
        case PadClamp():
            return _rearranged(t.xs)
        case _:
            return t


def _shares(body: Term, row: Term, members: int) -> list[Term]:
    """The ways in which loops share a row out, of those that more than one takes."""
    ways = (t for _, t in positions(body) if isinstance(t, Split) and t.m == Size.of(members))
    of_row = (t for t in dict.fromkeys(ways) if is_layout(t) and places_of(t, row))
    return [t for t in of_row if len(places_of(body, t)) > 1]


def _loops(body: Term) -> Iterator[tuple[Position, Pattern, Term]]:
    """The loops of the group whose elements are only rearranged, and what they go through."""
    for place, t in positions(body):
        if isinstance(t, Pattern) and t.loop == "map" and not is_layout(t):
            xs = argument(t, "xs")
            if isinstance(xs, Expression) and is_layout(xs):
                yield place, t, xs


def _shared_out(row: Term, members: int, width: int, room: int) -> Tactic:
    """A row as the shares of its members, of what there is room for, and the rest where it is.

    Raises `NoMatch` where there is no room for half of it.
    """
    length = length_of(row)
    lanes = 1 if isinstance(row, PadClamp) else lanes_for(length, members, width)
    kept = min(length, room)
    kept -= kept % (members * lanes)
    if 2 * kept < length:
        raise NoMatch(f"{members} members have registers for {kept} numbers of {length}")
    shares = then(apply("join_split", "backward", m=members), inside("xss")(_COPIED))
    if lanes > 1:
        shares = then(apply("as_scalar_as_vector", "backward", w=lanes), inside("vs")(shares))
    if kept < length:
        apart = apply("concat_take_drop", "backward", m=kept)
        shares = then(apart, inside("xs")(shares))
    return shares


_COPIED = then(copy(apply("map_to_seq_unroll"), apply("map_to_lcl", d=0)), apply("store_private"))
"""Shares, each copied to the registers of its member."""


def _copied(shares: Term, room: int) -> Tactic:
    """Shares in registers; raises `NoMatch` where there is no room for them."""
    if (numbers := cells(shares.type).constant or 0) > room:
        raise NoMatch(f"there are registers for {room} numbers, not {numbers}")
    return _COPIED


@curried
def _named(at: Rewriting, place: Position, t: Term, shares: Tactic) -> Rewriting:
    """A term under a name, as its shares, and the loops over it written out."""
    found = places_of(term_at(at.term, place), t)[0]
    at = under_a_name(*found)(at, place)
    at = shares(at, (*place, "x"))
    body = (*place, "f")
    (name,) = (x.name for x in binders_at(at.term, body)[-1:])
    for loop, rule in list(_loops_over(term_at(at.term, body), name)):
        at = apply(rule)(at, (*body, *loop))
    return at


def _loops_over(body: Term, name: str) -> Iterator[tuple[Position, str]]:
    """The loops of each member over a row of that name, and the rule that writes each out."""
    for place, t, xs in _loops(body):
        if name not in free_variables(xs):
            continue
        if isinstance(t, MapSeq):
            yield place, "map_seq_to_unroll"
            continue
        f = argument(t, "f")
        assert isinstance(f, Lambda), f"cannot happen: {t.name} applies no function"
        share = f.parameters[0].name
        for inner, u in positions(f.body):
            if isinstance(u, ReduceSeq) and is_layout(u.xs) and share in free_variables(u.xs):
                yield (*place, "f", *inner), "reduce_seq_to_unroll"
