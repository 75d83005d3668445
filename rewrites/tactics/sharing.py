"""Tactics for sharing: what is needed more than once is computed once.

    named         what a function needs again, or for every element of an array, is computed before, under a name
    stored        what needs no variable is stored by a kernel of its own
    apart         what is computed of each element of an array becomes an array, which a kernel may store
    inlined       a name outside all functions goes: equal terms are shared by what stores them
    once_for_all  what functions compute of an element that is the same each time is computed once

A program is a tree; equal terms, up to the names of variables, are one value.  Which of the forms is best is not
decided here.  Source: lambda lifting (Johnsson, 1985), let-floating (Peyton Jones, Partain, Santos, ICFP'96).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    LONG,
    MOST_PARTS,
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    context_free,
    curried,
    everywhere,
    fission,
    normalize,
    somewhere,
    the,
    under_a_name,
)
from relift.semantics.indices.inverses import computes_itself, invertible_data, taken_apart
from relift.semantics.library_calls import calls_library
from relift.semantics.patterns import InOrder, Let, Map, Reduction, ScanSeq, Slide, ToGlobal, Zip
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    is_invariant,
    places_of,
    positions,
    substitute,
    term_at,
)
from relift.semantics.syntax.terms import (
    Get,
    Lambda,
    MakeTuple,
    Pattern,
    Term,
    Var,
    children,
    distinct,
    free_variables,
    parts_of,
    subterms,
)
from relift.semantics.syntax.types import Array, Scalar, cells, holds_array

MOST_FOLDED = 1 << 14
"""Elements that are folded where their result is read once, at most."""

MOST_KEPT = 64
"""Cells of an array that a work-item keeps under a name, at most."""

MOST_REPEATED = 512
"""Parts of a term that are written again, at most, where a name goes."""


def has_fold(t: Term) -> bool:
    """Whether a term is computed by a loop that needs all of an array for one value."""
    return any(
        isinstance(u, Pattern) and computes_itself(u) and not isinstance(u, Map)
        for u, _ in subterms(t)
    )


def has_scan(t: Term) -> bool:
    """Whether running results are computed in a term."""
    return any(isinstance(u, ScanSeq) for u, _ in subterms(t))


def in_parts(t: Term) -> bool:
    """Whether a result is written part by part."""
    return isinstance(t, MakeTuple) or (isinstance(t, Pattern) and t.parts)


# ---- values of kernels of their own


@dataclass(frozen=True)
class Storable:
    """A value that a kernel of its own may store, and the places where it is read."""

    value: Term
    places: tuple[Position, ...]


def storable(t: Term) -> list[Storable]:
    """What may be stored by a kernel of its own: arrays that are computed, and folds of which something is computed.

    A value that needs no variable is the same wherever it is read.  One work-item, or one group, computes with the numbers
    that are folded of whole arrays, but should not fold more than `MOST_FOLDED` elements for them.
    """
    found: dict[Term, list[Position]] = {}
    for place, u in _read(t, (), result=True, repeated=False):
        found.setdefault(canonical(u), []).append(place)
    stored_at = {place for places in found.values() for place in places}
    return [
        Storable(value, tuple(places))
        for value, places in found.items()
        if not all(_is_finished(t, place, stored_at) for place in places)
    ]


def made_of_once(t: Term) -> list[Term]:
    """Of what may be stored, that of which a result is made at once: the kernel that computes such a value may go on to the result.

    That is a number of which a number is made, or an array of which a map makes a number each.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.sharing import made_of_once
    >>> @rl.program
    ... def mean(x: rl.f32[65536]):
    ...     return rl.reduce(rl.add, 0.0, x) / 65536.0
    >>> [rl.show(value) for value in made_of_once(mean.body)]
    ['reduce(add, 0.0, x)']
    """
    of_numbers = isinstance(t, Map) and isinstance(t.xs, Map) and not holds_array(t.f.body.type)
    once = [found for found in storable(t) if len(found.places) == 1]
    if not holds_array(t.type):
        return [
            found.value
            for found in once
            if not holds_array(found.value.type) and not binders_at(t, found.places[0])
        ]
    return [found.value for found in once if of_numbers and found.places == (("xs",),)]


def _is_finished(t: Term, place: Position, stored_at: Collection[Position]) -> bool:
    """Whether what a map computes is read by a map alone that computes no folds, and is stored itself: one kernel does both."""
    above = term_at(t, place[:-1]) if place else t
    return (
        place[:-1] in stored_at
        and place[-1:] == ("xs",)
        and isinstance(above, Map)
        and isinstance(above.xs, Map)
        and not has_fold(above.f.body)
    )


def _read(
    t: Term, place: Position, *, result: bool, repeated: bool
) -> Iterator[tuple[Position, Term]]:
    """Values that are read, and need no variable; `result` where t is written, `repeated` in a function."""
    kept = isinstance(t, ToGlobal)
    computes = isinstance(t, Pattern) and computes_itself(t) and not free_variables(t)
    folds = computes and not isinstance(t, Map) and not _folds_few(t)
    if computes and not result and (repeated or folds or isinstance(t.type, Array)):
        yield place, t
    data = invertible_data(t) if result else None
    parts = in_parts(t)
    for field, child in children(t):
        inside = isinstance(child, Lambda)
        body = child.body if isinstance(child, Lambda) else child
        written = kept or (result and (parts or body is data))
        again = repeated or (inside and not isinstance(t, Let))
        yield from _read(body, (*place, field), result=written, repeated=again)


def _folds_few(t: Term) -> bool:
    """Whether a value is folded of so few elements that to store it takes longer than to fold them where it is read."""
    return isinstance(t, Reduction) and 0 < (cells(t.xs.type).constant or 0) <= MOST_FOLDED


@curried
def stored(at: Rewriting, place: Position, values: Collection[Term]) -> Rewriting:
    """Each of these values, as `storable` gives them, is stored by a kernel of its own."""
    here = term_at(at.term, place)
    places = [p for found in storable(here) if found.value in values for p in found.places]
    for below in sorted(places, key=len, reverse=True):
        at = apply("store_global")(at, (*place, *below))
    return at


@curried
def named_pair(at: Rewriting, place: Position, left: Term, right: Term) -> Rewriting:
    """Two values, neither of which needs the other, are the components of one pair that has a name, wherever they stand.

    Raises `NoMatch` where one of them stands nowhere.
    """
    for below, value in ((place, left), ((*place, "f"), right)):
        places = places_of(term_at(at.term, below), value)
        if not places:
            raise NoMatch("one of the values stands nowhere")
        at = under_a_name(*places[0])(at, below)
    return apply("let_let_pair")(at, place)


def parts_without_names(t: Term) -> int:
    """How many parts a term has where what is named outside all functions stands wherever it is read."""
    while isinstance(t, Let):
        (x,) = t.f.parameters
        t = substitute(t.f.body, {x.name: t.x})
    return parts_of(t)


def inlined() -> Tactic:
    """No name outside all functions: what it stands for stands at each of its places, unless it is long and they are many."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Let) or free_variables(t):
            raise NoMatch("no name that is outside all functions")
        if taken_apart(t):
            raise NoMatch("several results that are computed together")
        repeated = _parts_repeated(t)
        if repeated > MOST_REPEATED:
            raise NoMatch(f"a name of more than {MOST_REPEATED} parts, were it written out")
        if (stays := parts_without_names(at.term) > MOST_PARTS) and has_loops(t.x):
            raise NoMatch(f"a loop in a term of more than {MOST_PARTS} parts, were no name in it")
        if stays and parts_of(at.term) + repeated > LONG:
            raise NoMatch(f"a term of more than {LONG} parts, were the name written out")
        return apply("let_inline")(at, place)

    return normalize(tactic)


def _parts_repeated(t: Let) -> int:
    """How many parts there are more where what has a name stands at each of its places."""
    (name,) = t.f.parameters
    return (sum(u == name for u, _ in subterms(t.f.body)) - 1) * parts_of(t.x)


def without_names() -> Tactic:
    """No name in a function for what a loop computes, unless it is long and stands in many places: what is searched is as if written without.

    Raises `NoMatch` where there is no such name.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.sharing import without_names
    >>> @rl.program
    ... def shares(a: rl.f32[4, 8]):
    ...     return rl.map(lambda r: rl.let(lambda s: rl.map(lambda v: v / s, r), rl.reduce(rl.add, 0.0, r)), a)
    >>> rl.show(derive(shares, without_names()).result)
    'map(lambda r: map(lambda v: v / reduce(add, 0.0, r), r), a)'
    """

    @at_kinds(Let)
    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = the(Let, at, place)
        if not has_loops(t.x) or not free_variables(t) or taken_apart(t):
            raise NoMatch("no name in a function of what a loop computes")
        repeated = _parts_repeated(t)
        if repeated > MOST_REPEATED or parts_of(at.term) + repeated > LONG:
            raise NoMatch("a long term, were the name written out")
        return apply("let_inline")(at, place)

    return somewhere(tactic)


def names_what_is_kept(t: Term) -> bool:
    """Whether an array has a name for which a work-item may have room."""
    named = (u.x for u, _ in subterms(t) if isinstance(u, Let))
    return any(isinstance(x.type, Array) and has_loops(x) and not _is_long(x) for x in named)


def has_loops(t: Term) -> bool:
    """Whether a loop computes something of a term, so that a kernel may."""
    return any(isinstance(u, Pattern) and computes_itself(u) for u in distinct(t))


# ---- values of a work-item


def named() -> Tactic:
    """What a function needs again, or for every element of an array, has a name in it.

    Only values that take a loop, and that are no arrays, so that a work-item has room for them.
    """
    return everywhere(attempt(_named_here))


def _named_here(at: Rewriting, place: Position) -> Rewriting:
    """All such values of the functions at a place."""
    for field, child in children(term_at(at.term, place)):
        if isinstance(child, Lambda):
            own = frozenset(x.name for x in child.parameters)
            at = under_names(partial(_repeated, own=own))(at, (*place, field))
    return at


@curried
def under_names(
    at: Rewriting, place: Position, part: Callable[[Term], Position | None]
) -> Rewriting:
    """As long as a part is found in what stands below them all, it has a name there: names one inside the other."""
    while (found := part(term_at(at.term, place))) is not None:
        at, place = under_a_name(*found)(at, place), (*place, "f")
    return at


def _repeated(t: Term, own: frozenset[str]) -> Position | None:
    """The smallest value below that some function repeats though it does not need its variables."""
    found = [
        (parts_of(u), place)
        for place, u in positions(t)
        if place and not holds_array(u.type) and isinstance(u, Pattern) and computes_itself(u)
        if own & free_variables(u) and _is_repeated(t, place, u)
    ]
    return min(found, default=(0, None))[1]


def _is_repeated(t: Term, place: Position, u: Term) -> bool:
    """Whether a function around a place repeats what is there, or it stands in two places."""
    if not is_invariant(t, place):
        return False
    return not only_named(t, place) or len(places_of(t, u)) > 1


def only_named(t: Term, place: Position) -> bool:
    """Whether all functions around a place are those of names, which are applied once."""
    for i, field in enumerate(place):
        above = term_at(t, place[:i])
        if isinstance(dict(children(above))[field], Lambda) and not isinstance(above, Let):
            return False
    return True


def apart(*, within: bool = False, rows: bool = False) -> Tactic:
    """What functions of the elements of an array compute by folds, or need as a whole and have no room for, becomes an array of
    its own, one after the other.

    Such a value may be an array, too, one fold for each element: it becomes rows.  `within`: also in the functions of
    other maps, from the innermost out; with `rows`, also the arrays there that are read more than once.
    """

    here = at_kinds(Map)(partial(_apart_here, within=within, rows=rows))
    return normalize(context_free(here))


def _apart_here(at: Rewriting, place: Position, *, within: bool, rows: bool) -> Rewriting:
    t = term_at(at.term, place)
    if not isinstance(t, Map) or (free_variables(t.xs) and not within):
        raise NoMatch("no map over an array that needs no variable")
    inner = bool(free_variables(t.xs))
    (x,) = t.f.parameters
    body = t.f.body
    found = [
        (parts_of(u), below)
        for below, u in _read_in(t)
        if inner or free_variables(u) == frozenset((x.name,))
        if has_fold(u)
        or (not inner and _has_no_room(body, below, u))
        or ((not inner or (rows and isinstance(u.type, Array))) and _is_read_again(body, below, u))
    ]
    if not found:
        raise NoMatch("no part of a function that is computed by a fold, or read again")
    _, below = min(found)
    at = fission("f", *below, beside=True)(at, place)
    return everywhere(_said_twice)(at, (*place, "f"))


def lacks_room(t: Map) -> bool:
    """Whether what a map computes of an element is needed as a whole, and no work-item has room for it."""
    return any(_has_no_room(t.f.body, below, u) for below, u in _read_in(t))


def _read_in(t: Map) -> Iterator[tuple[Position, Term]]:
    """What the function of a map computes of its element alone, and reads."""
    (x,) = t.f.parameters
    body = t.f.body
    for below, u in positions(body):
        if not below or not isinstance(u, Pattern) or x.name not in free_variables(u):
            continue
        computed = computes_itself(u) or isinstance(u, Let)
        computed = computed or isinstance(u, InOrder)
        if computed and is_read(body, below) and is_invariant(body, below):
            yield below, u


@at_kinds(Let)
def _said_twice(at: Rewriting, place: Position) -> Rewriting:
    """A variable, or a component of one, needs no name: a fold of what it names is one of the variable then.

    But for a short array, which a work-item keeps.
    """
    t = the(Let, at, place)
    read = t.x
    while isinstance(read, Get):
        read = read.of
    if not isinstance(read, Var) or (isinstance(t.x.type, Array) and not _is_long(t.x)):
        raise NoMatch("no name of what has another, or of a short array")
    return apply("let_inline")(at, place)


def _is_read_again(body: Term, place: Position, u: Term) -> bool:
    """Whether a value stands in two places, or in one of which windows read each element again."""
    above = (term_at(body, place[:i]) for i in range(len(place)))
    return any(isinstance(t, Slide) for t in above) or len(places_of(body, u)) > 1


def _has_no_room(body: Term, place: Position, u: Term) -> bool:
    """Whether no work-item has room for an array, of more than `MOST_KEPT` cells, that is needed as a whole."""
    return _is_long(u) and (_is_shared(body, place) or _is_whole(body, place, u))


def _is_shared(body: Term, place: Position) -> bool:
    """Whether it has a name that is read in several places, or by each turn of a map."""
    above = term_at(body, place[:-1])
    if not isinstance(above, Let) or place[-1] != "x":
        return False
    (name,) = above.f.parameters
    uses = places_of(above.f.body, name)
    return len(uses) > 1 or any(not only_named(above.f.body, use) for use in uses)


def _is_whole(body: Term, place: Position, u: Term) -> bool:
    """Whether it is read in another order than it is computed in, or it or what reads it is a loop that none is fused with."""
    above = (term_at(body, place[:i]) for i in reversed(range(len(place))))
    reader = next((t for t in above if not isinstance(t, Zip)), body)
    in_order = isinstance(u, InOrder) or isinstance(reader, InOrder)
    return in_order or (isinstance(reader, Pattern) and reader.layout)


def _is_long(t: Term) -> bool:
    return isinstance(t.type, Array) and not 0 < (cells(t.type).constant or 0) <= MOST_KEPT


def is_read(t: Term, place: Position) -> bool:
    """Whether what stands at a place is read by what is around it, and is no part of the result."""
    for i, field in enumerate(place):
        above = term_at(t, place[:i])
        if not in_parts(above) and invertible_data(above) is not dict(children(above))[field]:
            return True
    return False


def once_for_all() -> Tactic:
    """What maps within functions compute by functions of the library, of their elements alone, is an array of its own.

    It needs no variable, so a kernel of its own may store it: what is the same each time is computed once.  Raises `NoMatch` where there is no such map.
    Source: loop-invariant code motion (Allen and Cocke, 1972), across two loops.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.sharing import once_for_all
    >>> @rl.program
    ... def scaled(x: rl.f32[100], s: rl.f32[4]):
    ...     return rl.map(lambda v: rl.map(lambda w: v * rl.exp(w), s), x)
    >>> print(rl.show(derive(scaled, once_for_all()).result))
    map(lambda v: map(lambda p: v * p[1], zip(s, map(lambda x: exp(x), s))), x)
    """
    return normalize(_once)


def _once(at: Rewriting, place: Position) -> Rewriting:
    t = term_at(at.term, place)
    if not isinstance(t, Map) or free_variables(t.xs) or not _is_in_a_loop(at.term, place):
        raise NoMatch("no map over an array that needs no variable, in a function of elements")
    (x,) = t.f.parameters
    found = [
        (parts_of(u), below)
        for below, u in positions(t.f.body)
        if isinstance(u.type, Scalar)
        and free_variables(u) == frozenset((x.name,))
        and calls_library(u)
        if x.name not in {y.name for y in binders_at(t.f.body, below)}
    ]
    if not found or () in [below for _, below in found]:
        raise NoMatch("no part of its function calls the library for its element alone")
    _, below = max(found)
    return fission("f", *below, beside=True)(at, place)


def _is_in_a_loop(t: Term, place: Position) -> bool:
    """Whether what is at a place is computed for each element of something."""
    above = ((term_at(t, place[:i]), field) for i, field in enumerate(place))
    return any(isinstance(u, Pattern) and u.loop and field == "f" for u, field in above)
