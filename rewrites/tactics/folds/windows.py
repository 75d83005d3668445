"""Folds of windows from the folds of their parts, each of which is in several windows, and results that are computed of the same windows.

    map (map (\\w. fold (join w))) (windows xs)  =  map (map fold) (columns of windows of rows)      where rows = map (map fold . slide) xs
    (map (map f) ws, map (map g) ws)              =  (map (map first) ps, map (map second) ps)    where ps = map (map (\\w. (f w, g w))) ws

A sum or a largest value of n x n cells takes n steps along the rows and n down the columns so, and not n x n: in two kernels, or in the registers
of a work-item that has several windows behind one another.
Source: Bird, theory of lists, promotion of folds; separable filters of image processing, as in Halide, PLDI'13.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    UNROLLED,
    Rewriting,
    Tactic,
    apply,
    attempt,
    curried,
    everywhere,
    first,
    fission,
    fuse,
    inside,
    normalize,
    repeat,
    then,
    topdown,
    under_a_name,
)
from relift.rewrites.tactics.folds.beside import different, results_of_one_array
from relift.rewrites.tactics.folds.starts import from_neutral
from relift.rewrites.tactics.sharing import has_fold, named_pair
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Reduce, Slide, Transpose, Unzip
from relift.semantics.syntax.binding import Position, places_of, positions, term_at
from relift.semantics.syntax.terms import Term, subterms
from relift.semantics.syntax.types import holds_array

_IN_PARTS = then(
    attempt(inside("xs")(apply("map_join"))),
    apply("reduce_join"),
    inside("xs")(repeat(apply("map_fusion"))),
)
"""A fold of what is joined, of what its parts are folded to."""
_WRITTEN_OUT = then(
    everywhere(attempt(apply("reduce_to_seq"))),
    everywhere(then(repeat(apply("reduce_map_fusion")), apply("reduce_seq_to_unroll"))),
)


WINDOWS_FUSED = then(normalize("join_join"), normalize("map_fusion"))
"""Maps over windows of several dimensions with nothing computed in between, and windows joined from the inside."""


def parts_of_windows_apart(*, columns: bool = False) -> Tactic:
    """A map over windows of several dimensions that folds each: what the rows of all windows are folded to is a table that is stored.

    The windows of such a table of two dimensions go down its `columns`, one column after the other, or else row by row.
    Raises `NoMatch` where a window is not folded as a whole, or something else is done with it.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.windows import parts_of_windows_apart
    >>> n, m = rl.nat("n"), rl.nat("m")
    >>> @rl.program
    ... def sums(x: rl.f32[n + 4, m + 4]):
    ...     windows = rl.slide_nd((5, 5), (1, 1), x)
    ...     return rl.map_nd(2, lambda w: rl.reduce(rl.add, 0.0, rl.join(w)), windows)
    >>> print(rl.show(derive(sums, parts_of_windows_apart(columns=True), {"n": 8, "m": 8}).result))  # doctest: +NORMALIZE_WHITESPACE
    transpose(
      map(
        lambda col: map(lambda x_: reduce(add, 0.0, x_), slide(5, 1, col)),
        transpose(to_global(map(lambda x_: map(lambda x: reduce(add, 0.0, x), slide(5, 1, x_)), x)))
      )
    )
    """
    return then(WINDOWS_FUSED, topdown(_rows_apart(columns)))


@curried
def _rows_apart(at: Rewriting, place: Position, columns: bool) -> Rewriting:
    """The same of a map that stands here.  Raises `NoMatch` where none does."""
    maps = _maps_over_windows(term_at(at.term, place))
    body = (*place, *("f",) * maps)
    at, parts = _parts_in(at, body)
    below = ("f", *parts)
    for level in reversed(range(maps)):
        here = (*place, *("f",) * level)
        at = fission(*below)(at, here)
        if level:
            at = inside("xs")(apply("map_map_transpose"))(at, here)
            below = ("f", "xs", "xss")
        else:
            at = inside("xs")(apply("map_slide"))(at, here)
    computed = then(repeat(apply("map_fusion")), apply("store_global"))
    at = inside("xs", "xs")(computed)(at, place)
    return apply("window_map_exchange")(at, place) if columns and maps == 2 else at


def _maps_over_windows(t: Term) -> int:
    """How many maps go through windows here, each in the function of the one before; raises `NoMatch` for fewer than two."""
    if not isinstance(t, Map) or not isinstance(t.xs, Slide):
        raise NoMatch("no map over windows is here")
    maps, inner = 1, t.f.body
    while isinstance(inner, Map) and isinstance(inner.xs, Transpose):
        maps, inner = maps + 1, inner.f.body
    if maps < 2:
        raise NoMatch("the windows have one dimension")
    return maps


def _parts_in(at: Rewriting, body: Position) -> tuple[Rewriting, Position]:
    """What is computed of a window, whose fold is one of what its parts are folded to, and where these stand in it."""
    t = term_at(at.term, body)
    folds = [below for below, u in positions(t) if isinstance(u, Reduce)]
    if not folds or any(below[: len(folds[0])] != folds[0] for below in folds):
        raise NoMatch("the function of a window has no fold, or several")
    found: list[Position] = []

    def in_parts(at: Rewriting, place: Position) -> Rewriting:
        found.append((*place[len(body) :], "xs"))
        return at if len(folds) > 1 else _IN_PARTS(at, place)

    at = from_neutral(in_parts)(at, (*body, *folds[0]))
    return at, found[0]


def folded_by_parts(at: Rewriting, place: Position) -> Rewriting:
    """The windows of a strip, written out, of what their parts are folded to: once for all windows that they are in.

    Raises `NoMatch` where a window is not folded as a whole, or something else is done with it.
    """
    at, parts = _parts_in(at, (*place, "f"))
    kept = then(inside("f")(then(fuse(), _WRITTEN_OUT)), UNROLLED, apply("store_private"))
    return then(
        fission("f", *parts),
        inside("xs")(apply("map_slide")),
        inside("xs", "xs")(kept),
        inside("f")(_WRITTEN_OUT),
        UNROLLED,
    )(at, place)


# ---- several results


def results_of_windows(at: Rewriting, place: Position) -> Rewriting:
    """Several results that are tables of what is computed, without folds, of the same windows are one table of tuples: each window is read once.

    Raises `NoMatch` for others.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.windows import results_of_windows
    >>> @rl.program
    ... def haar(x: rl.f32[8]):
    ...     pairs = rl.slide(2, 2, x)
    ...     return rl.map(lambda w: w[0] + w[1], pairs), rl.map(lambda w: w[0] - w[1], pairs)
    >>> print(rl.show(derive(haar, results_of_windows).result))
    let(
      lambda x_: (map(lambda p: p[0], x_), map(lambda p: p[1], x_)),
      map(lambda x_: (x_[0] + x_[1], x_[0] - x_[1]), slide(2, 2, x))
    )
    """
    found, *others = different(results_of_one_array(term_at(at.term, place)))
    windows = is_layout(found.xs) and any(isinstance(u, Slide) for u, _ in subterms(found.xs))
    depth = min(map(_depth, (found, *others)))
    if not windows or not depth or not others or any(has_fold(t.f.body) for t in (found, *others)):
        raise NoMatch("no results that are computed of the same windows, without folds")
    table: Term = found
    for other in others:
        at, table = _tables_beside(at, place, table, other, depth)
    (one, *_) = places_of(term_at(at.term, place), table)
    return under_a_name(*one)(at, place)


def _depth(t: Term) -> int:
    """In how many maps, each over an element of the one around it, numbers are computed; none where there are others."""
    if not isinstance(t, Map) or not holds_array(t.f.body.type):
        return int(isinstance(t, Map))
    row = t.f.body
    inner = _depth(row) if isinstance(row, Map) and row.xs == t.f.parameters[0] else 0
    return inner and inner + 1


def _tables_beside(
    at: Rewriting, place: Position, left: Term, right: Term, depth: int
) -> tuple[Rewriting, Term]:
    """Two tables, computed in so many maps of one array, as one of pairs, of whose components both are tables wherever they stood."""
    table: Position = ("x", "ps", *("xs",) * (depth - 1))
    at = then(named_pair(left, right), inside("x")(_unzipped(depth)))(at, place)
    pairs = term_at(at.term, (*place, *table))
    named = then(under_a_name(*table), inside("f")(then(apply("let_inline"), _COMPONENTS)))
    return then(named, apply("let_inline"))(at, place), pairs


def _unzipped(depth: int) -> Tactic:
    """Two maps, each in so many, as one of what is taken apart of a table of pairs."""
    both = apply("unzip_map", "backward")
    if depth == 1:
        return both
    rows = then(inside("f")(_unzipped(depth - 1)), fission("f", "ps", *("xs",) * (depth - 2)))
    return then(both, inside("ps")(rows))


def _component(at: Rewriting, place: Position) -> Rewriting:
    """A component of what is taken apart, or of the rows of a table that are."""
    t = term_at(at.term, place)
    if isinstance(t, Map) and isinstance(t.xs, Map) and isinstance(t.xs.f.body, Unzip):
        return apply("map_fusion")(at, place)
    return first(apply("unzip_first"), apply("unzip_second"))(at, place)


_COMPONENTS = normalize(_component)
