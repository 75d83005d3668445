"""What is computed beside one another of the same elements: one map, and one loop.

map f xs, map g xs                          =  map (\\p. p[0]) h, map (\\p. p[1]) h    where h = map (\\x. (f x, g x)) xs
(reduce_seq f y xs, reduce_seq g z xs)      =  reduce_seq (f and g side by side) (y, z) xs
map (\\x. e x (fold f x) (fold g x)) xs     =  map (\\(x, (a, b)). e x a b) (zip xs (map (\\x. (fold f x, fold g x)) xs))

Source: Bird, theory of lists, tupling; Meijer, Fokkinga and Paterson, FPCA'91, banana split.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    curried,
    first,
    fission,
    inside,
    normalize,
    somewhere,
    the,
    then,
    topdown,
    under_a_name,
)
from relift.rewrites.tactics.folds.places import places_in_any_order, reduced_in_chunks
from relift.rewrites.tactics.nests.dimensions import row_by_row
from relift.rewrites.tactics.nests.zips import zipped_together
from relift.rewrites.tactics.sharing import apart, has_fold, is_read, named_pair
from relift.semantics.indices.inverses import taken_apart
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Reduce, Reduction, Zip
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    places_of,
    positions,
    substitute,
    term_at,
)
from relift.semantics.syntax.places import in_row
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Input,
    Lambda,
    MakeTuple,
    Term,
    Var,
    children,
    free_variables,
    parts_of,
    subterms,
)
from relift.semantics.syntax.types import Array, dimensions, holds_array

IN_ONE_LOOP = normalize("reduce_banana_split", "reduce_fusion_in_zip")
"""Folds in order that make a tuple are one loop, which reads what they have in common once."""

_TAKEN_APART = normalize("zip_unzip", "unzip_first", "unzip_second")


AnyTerm = TypeVar("AnyTerm", bound=Term)


@curried
def side_by_side(at: Rewriting, place: Position, maps: Sequence[Term]) -> Rewriting:
    """Maps of one length, none of which needs another, as one map of tuples, whose components stand wherever they stood.

    They stand below the place of the tactic, and need no variable that is bound there.  Raises `NoMatch` where one stands nowhere.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.beside import side_by_side
    >>> @rl.program
    ... def parts(x: rl.f32[8]):
    ...     return rl.zip(rl.map(lambda v: v * v, x), rl.map(lambda v: v + v, x))
    >>> rl.show(derive(parts, side_by_side([parts.body.xs, parts.body.ys])).result)
    'map(lambda x_: (x_ * x_, x_ + x_), x)'
    """
    return paired(at, place, maps)[0]


def paired(at: Rewriting, place: Position, maps: Sequence[Term]) -> tuple[Rewriting, Term]:
    """The same, and the one map."""
    found, *others = different(maps)
    for other in others:
        at, found = _beside(at, place, found, other)
    return at, found


def different(maps: Iterable[AnyTerm]) -> list[AnyTerm]:
    """Each of some maps once, whatever their variables are called."""
    return list({canonical(t): t for t in maps}.values())


def _beside(at: Rewriting, place: Position, left: Term, right: Term) -> tuple[Rewriting, Term]:
    named = then(
        named_pair(left, right),
        inside("x")(first(apply("unzip_map", "backward"), apply("map_outside_pair"))),
    )
    at = named(at, place)
    pairs = the(Map, at, (*place, "x", "ps"))
    return then(apply("let_inline"), _TAKEN_APART)(at, place), pairs


def folds_together(at: Rewriting, place: Position) -> Rewriting:
    """What folds of an array's elements give is an array of tuples, of which one pass over what they read may make all.

    They are folds in one map, or in several, of equally many elements of which none needs another's result; those that do are
    arrays apart, one after the other.  Raises `NoMatch` where there are no two such folds.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.beside import folds_together
    >>> @rl.program
    ... def spans(x: rl.f32[4, 8]):
    ...     return rl.map(lambda r: rl.reduce(rl.maximum, 0.0, r) - rl.reduce(rl.minimum, 0.0, r), x)
    >>> print(rl.show(derive(spans, folds_together).result))  # doctest: +NORMALIZE_WHITESPACE
    map(
      lambda p: p[1][1] - p[1][0],
      zip(x, map(lambda x_: (reduce(minimum, 0.0, x_), reduce(maximum, 0.0, x_)), x))
    )
    """
    at = attempt(places_in_any_order())(at, place)
    found = then(normalize(_of_what_maps_make), normalize(_in_one_map))(at, place)
    found = _maps_together(found, place)
    if found == at:
        raise NoMatch("no two folds of equally many elements stand beside one another")
    return attempt(apart())(found, place)


@at_kinds(Reduce)
def _of_what_maps_make(at: Rewriting, place: Position) -> Rewriting:
    """Folds of components of what a map makes are folds of what that goes through, if it folds nothing itself."""
    t = the(Reduce, at, place)
    if not isinstance(t.xs, Map) or not isinstance(t.xs.xs, Map) or has_fold(t.xs.xs.f.body):
        raise NoMatch("no fold of what a map makes of another's results")
    return inside("xs")(apply("map_fusion"))(at, place)


def _in_one_map(at: Rewriting, place: Position) -> Rewriting:
    """The folds in a map's function that are of equally many elements become an array of tuples."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or free_variables(t):
        raise NoMatch("no map over an array that needs no variable")
    folds = next((group for group in _alike(t.f) if len(group) > 1), [])
    if not folds:
        raise NoMatch("no two folds of equally many elements that are read here")
    at = named_together(at, (*place, "f"), folds)
    return then(fission("f", "x", beside=True), inside("f")(apply("let_inline")))(at, place)


def named_together(at: Rewriting, place: Position, values: Sequence[Term]) -> Rewriting:
    """Values in a term, none of them in another, are the components of a tuple that has a name around the rest."""
    for i, value in enumerate(values):
        (below, *_) = places_of(term_at(at.term, place), value)
        at = under_a_name(*below)(at, place)
        if i:
            at = apply("let_let_pair")(at, place)
    return at


def _alike(f: Lambda) -> Iterator[list[Term]]:
    """Folds of a function's argument to numbers, none of them in another: those of equally many elements together."""
    own = frozenset(x.name for x in f.parameters)
    found: dict[Size, dict[Term, Term]] = {}
    for below, u in positions(f.body):
        if not isinstance(u, Reduce) or free_variables(u) != own or holds_array(u.type):
            continue
        if is_innermost(u) and is_read(f.body, below):
            found.setdefault(_length(u.xs), {}).setdefault(canonical(u), u)
    for group in found.values():
        yield sorted(group.values(), key=parts_of)


def is_innermost(fold: Reduce) -> bool:
    """Whether a fold has no other in it.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.folds.beside import is_innermost
    >>> @rl.program
    ... def total(x: rl.f32[4, 8]):
    ...     return rl.reduce(rl.add, 0.0, rl.map(lambda r: rl.reduce(rl.add, 0.0, r), x))
    >>> is_innermost(total.body), is_innermost(total.body.xs.f.body)
    (False, True)
    """
    return not any(isinstance(u, Reduce) and u is not fold for u, _ in subterms(fold))


def _maps_together(at: Rewriting, place: Position) -> Rewriting:
    """Maps of one length, whose functions fold equally many elements of the same inputs, as one map of tuples."""
    body = term_at(at.term, place)
    groups: dict[object, dict[Term, Term]] = {}
    for below, u in positions(body):
        if isinstance(u, Map) and not free_variables(u) and not binders_at(body, below):
            folds = [v for v, _ in subterms(u.f.body) if isinstance(v, Reduce)]
            if len(folds) == 1 and not holds_array(u.f.body.type):
                read = frozenset(v for v, _ in subterms(u) if isinstance(v, Input))
                kind = (_length(u.xs), _length(folds[0].xs), read)
                groups.setdefault(kind, {}).setdefault(canonical(u), u)
    for group in groups.values():
        if len(group) > 1:
            at = side_by_side(list(group.values()))(at, place)
    return at


def _length(xs: Term) -> Size:
    return dimensions(xs.type)[0][0]


def parts_apart(at: Rewriting, place: Position) -> Rewriting:
    """Each of several results that is computed by folds is stored by a kernel of its own, and copied."""

    def part(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if isinstance(t, MakeTuple):
            for field, _ in children(t):
                at = part(at, (*place, field))
        elif isinstance(t.type, Array) and has_fold(t):
            at = then(apply("insert_copy"), inside("xs")(apply("store_global")))(at, place)
        return at

    found = part(at, place) if isinstance(term_at(at.term, place), MakeTuple) else at
    if found == at:
        raise NoMatch("no results of which several are computed by folds")
    return found


def results_together(at: Rewriting, place: Position) -> Rewriting:
    """Several results that are maps of one array, which is computed by folds, are computed as one array of tuples, and taken apart.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.beside import results_together
    >>> @rl.program
    ... def spans(x: rl.f32[4, 8]):
    ...     both = rl.map(lambda r: rl.reduce_seq(lambda a, v: (a[0] + v, a[1] * v), (0.0, 1.0), r), x)
    ...     return rl.map(lambda p: p[0], both), rl.map(lambda p: p[1], both)
    >>> found = derive(spans, results_together).result
    >>> rl.show(found.f.body), found.x.type
    ('(map(lambda p: p[0], x_), map(lambda p: p[1], x_))', (f32, f32)[4])
    """
    maps = results_of_one_array(term_at(at.term, place))
    if not _is_folded(maps[0].xs):
        raise NoMatch("results of what is read, or takes no loops")
    named = under_a_name(in_row("parts", 0), "xs")(at, place)
    if taken_apart(term_at(named.term, place)):
        return named
    return _zipped_results(len(maps))(at, place)


@curried
def results_that_share(at: Rewriting, place: Position, *, rows: bool = False) -> Rewriting:
    """Several results that are maps of one array, whose functions have a fold in common, are one array of tuples, taken apart.

    With `rows` also those of which one computes rows that others fold, be they maps of that result.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.beside import results_that_share
    >>> @rl.program
    ... def centred(x: rl.f32[4, 8]):
    ...     total = lambda r: rl.reduce(rl.add, 0.0, r)
    ...     return rl.map(total, x), rl.map(lambda r: total(rl.map(lambda v: v * total(r), r)), x)
    >>> print(rl.show(derive(centred, results_that_share()).result.x))
    map(
      lambda x_: (reduce(add, 0.0, x_), reduce(add, 0.0, map(lambda v: v * reduce(add, 0.0, x_), x_))),
      x
    )
    """
    at = _of_what_is_mapped(at, place) if rows else at
    maps = results_of_one_array(term_at(at.term, place))
    first_of_all, *others = map(_folds_in, maps)
    if not first_of_all.intersection(*others) and not (rows and _share_rows(maps)):
        raise NoMatch("results that have no fold in common")
    return _zipped_results(len(maps))(at, place)


def totals_beside(at: Rewriting, place: Position) -> Rewriting:
    """Several results, some maps of one array and some folds of all of its elements, are made by one kernel, chunk by chunk.

    That is a map to tuples, of which each result that is a map is a component, and others are the folds of the chunks; of rows each is a chunk.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.beside import totals_beside
    >>> @rl.program
    ... def stepped(w: rl.f32[4096]):
    ...     return rl.map(lambda v: v * v, w), rl.reduce(rl.add, 0.0, w)
    >>> squares, total = derive(stepped, totals_beside).result.parts
    >>> rl.show(total.xs.f), rl.show(squares.xss.f), total.xs.xs == squares.xss.xs
    ('lambda p: p[1]', 'lambda p: p[0]', True)
    >>> rl.show(total.xs.xs)
    'map(lambda x: (map(lambda x: x * x, x), reduce(add, 0.0, x)), split(1024, w))'
    """
    t = term_at(at.term, place)
    given = t.parts if isinstance(t, MakeTuple) else ()
    maps = sum(isinstance(part, Map) for part in given)
    folds = sum(isinstance(part, Reduce) for part in given)
    if not maps or not folds or maps + folds < len(given):
        raise NoMatch("no results of which some are maps, and others folds")
    fused = normalize(_without_folds(apply("map_fusion")))
    at = then(fused, attempt(topdown(row_by_row)))(at, place)
    parts = [term_at(at.term, (*place, in_row("parts", i))) for i in range(len(given))]
    data = [u for part in parts if (u := _mapped_or_folded(part)) is not None]
    if len(data) < len(parts) or len({canonical(u) for u in data}) > 1:
        raise NoMatch("no results that are made of the elements of one array")
    rows = holds_array(dimensions(data[0].type)[1]) or len(dimensions(data[0].type)[0]) > 1
    beside: list[Term] = []
    for i, part in enumerate(parts):
        within = (*place, in_row("parts", i))
        if not rows:
            at = _in_chunks(part, _chunk_of(_length(data[0])))(at, within)
        found = term_at(at.term, within)
        beside.append(found if rows and isinstance(part, Map) else _joined_or_folded(found))
    return side_by_side(beside)(at, place)


def _joined_or_folded(t: Term) -> Term:
    """The map whose rows are joined, or whose elements are folded."""
    *_, xs = (u for _, u in children(t) if not isinstance(u, Lambda))
    return xs


@curried
def _without_folds(at: Rewriting, place: Position, tactic: Tactic) -> Rewriting:
    """For a map of what another map computes of each element, without folds."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not isinstance(t.xs, Map) or has_fold(t.xs.f.body):
        raise NoMatch("no map of a map without folds")
    return tactic(at, place)


def _mapped_or_folded(t: Term) -> Term | None:
    """The array of which a result is a map or a fold to a number."""
    if isinstance(t, Map):
        return None if free_variables(t) or is_layout(t) else t.xs
    if not isinstance(t, Reduce) or free_variables(t) or holds_array(t.type):
        return None
    return t.xs.xs if isinstance(t.xs, Map) else t.xs


_CHUNK, _LEAST_CHUNK, _LARGEST_CHUNK = 1024, 128, 8192
"""Elements of a chunk, if the length has such a divisor: a group of a GPU folds it at once, and a core of a CPU keeps it in its nearest cache."""


def _chunk_of(length: Size) -> int:
    """The divisor of a length that is nearest to a chunk; raises `NoMatch` where none is near."""
    n = length.constant or 0
    near = [c for c in range(_LEAST_CHUNK, _LARGEST_CHUNK + 1) if n % c == 0 and n // c > 1]
    if not near:
        raise NoMatch(f"{length} elements are no chunks of {_LEAST_CHUNK} to {_LARGEST_CHUNK}")
    return min(near, key=lambda c: abs(math.log(c / _CHUNK)))


def _in_chunks(part: Term, size: int) -> Tactic:
    """A map, or a fold, chunk by chunk: what is joined, or folded, is a map of chunks."""
    if isinstance(part, Map):
        return apply("split_join", m=size)
    mapped = then(inside("xs")(apply("split_map")), apply("map_fusion"))
    return then(reduced_in_chunks("partial_reduce_chunks", size), inside("xs")(attempt(mapped)))


def zipped_of_one_array() -> Tactic:
    """What is zipped of one array, which is computed by folds, is one map of it: its folds are computed once.  Raises `NoMatch` where nothing is.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.beside import zipped_of_one_array
    >>> @rl.program
    ... def spread(x: rl.f32[4, 8]):
    ...     both = rl.map(lambda r: rl.reduce_seq(lambda a, v: (a[0] + v, a[1] * v), (0.0, 1.0), r), x)
    ...     return rl.map(lambda p: p[0] - p[1], rl.zip(rl.map(lambda p: p[0], both), rl.map(lambda p: p[1], both)))
    >>> rl.show(derive(spread, zipped_of_one_array()).result.xs.f.body)
    '(x_[0], x_[1])'
    """

    @at_kinds(Zip)
    def together(at: Rewriting, place: Position) -> Rewriting:
        t = the(Zip, at, place)
        maps = [u for u in (t.xs, t.ys) if isinstance(u, Map)]
        if len(maps) < 2 or len({canonical(u.xs) for u in maps}) > 1 or not _is_folded(maps[0].xs):
            raise NoMatch("no maps of one array that folds compute")
        return apply("zip_of_maps")(at, place)

    return somewhere(together)


def _is_folded(t: Term) -> bool:
    return isinstance(t, Map) and has_fold(t.f.body)


def _of_what_is_mapped(at: Rewriting, place: Position) -> Rewriting:
    """Results that are maps of another result, which is a map, are maps of what that one maps."""
    t = term_at(at.term, place)
    parts = t.parts if isinstance(t, MakeTuple) else ()
    others = {canonical(part) for part in parts if isinstance(part, Map)}
    for i, part in enumerate(parts):
        if isinstance(part, Map) and isinstance(part.xs, Map) and canonical(part.xs) in others:
            at = apply("map_fusion")(at, (*place, in_row("parts", i)))
    return at


_ENOUGH_ROWS = 256
"""So many rows keep all groups of a GPU busy that have one each: of fewer, long ones, each result is better made for itself."""


def _share_rows(maps: Sequence[Map]) -> bool:
    """Whether a row that is computed, as a result or a part of it, is folded for others of the results, and there are many rows."""
    (n, *_), _ = dimensions(maps[0].xs.type)
    first_of_all, *others = map(_rows_in, maps)
    folded = any(has_fold(each.f.body) for each in maps)
    return folded and (n.constant or 0) >= _ENOUGH_ROWS and bool(first_of_all.intersection(*others))


def _rows_in(t: Map) -> frozenset[Term]:
    """The arrays that the function of a map computes of each element of arrays in its own element, and nothing else."""
    found = (u for u, _ in subterms(t.f.body) if isinstance(u, Map) and not is_layout(u))
    return _of_its_element(t, found)


def results_of_one_array(t: Term) -> list[Map]:
    """Several results, all of which are maps of one array; raises `NoMatch` for others."""
    parts = t.parts if isinstance(t, MakeTuple) else ()
    maps = [part for part in parts if isinstance(part, Map)]
    if len(maps) < len(parts) or len({canonical(each.xs) for each in maps}) != 1:
        raise NoMatch("no results that are maps of one array")
    return maps


def _zipped_results(count: int) -> Tactic:
    return then(zipped_together(count), inside("x")(normalize("zip_of_maps")))


def _folds_in(t: Map) -> frozenset[Term]:
    """What the function of a map folds of its element alone."""
    return _of_its_element(t, (u for u, _ in subterms(t.f.body) if isinstance(u, Reduction)))


def _of_its_element(t: Map, found: Iterable[Term]) -> frozenset[Term]:
    """Of some terms in the function of a map those that need its element alone, with one name for that."""
    (x,) = t.f.parameters
    element = {x.name: Var("element", x.type)}
    own = (u for u in found if free_variables(u) == frozenset((x.name,)))
    return frozenset(canonical(substitute(u, element)) for u in own)
