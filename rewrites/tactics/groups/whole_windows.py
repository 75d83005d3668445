"""Windows of a stencil in whole tiles: of a longer array there are more windows than are needed, of which the first are taken.

    map f (slide s t xs)  =  take n (map f (slide s t (pad 0 r clamp xs)))

What is padded is what windows slide over, so that tiles overlap as if the array were longer; nobody reads the windows that
there are too many of.  They lie beyond the result: a tile at the end writes what is taken of it.  In each dimension for itself:
what is taken goes outward, past the maps, transpositions and windows around it, to the end of the program.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    apply,
    attempt,
    curried,
    fission,
    inside,
    normalize,
    then,
)
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.nests.padding import lengthened
from relift.semantics.patterns import Map, Slide, Take, Transpose, Zip
from relift.semantics.syntax.binding import Position, binders_at, positions, term_at
from relift.semantics.syntax.terms import Get, MakeTuple, Term, Var

_WHOLE = (256, 128, 64, 32, 16, 8)
"""Windows that tiles divide: the most that add few."""
_FEW = 16
"""Of so many windows one may be added."""


def whole_windows(at: Rewriting, place: Position) -> Rewriting:
    """The windows of a stencil as the first of so many that tiles divide; raises `NoMatch` where they are.

    >>> from relift.rewrites.tactics.groups.whole_windows import whole_windows
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift import add, f32, map, program, reduce, slide
    >>> @program
    ... def sums(a: f32[101]):
    ...     return map(lambda w: reduce(add, 0.0, w), slide(3, 1, a))
    >>> found = derive(sums, whole_windows)
    >>> [step.rule for step in found.steps]
    ['pad_clamp_removed', 'drop_nothing', 'take_slide', 'take_map']
    >>> found.result.type, found.result.xs.type
    (f32[99], f32[104])
    """
    left, root = 0, place
    while len(found := _windows(at, root)) > left:
        try:
            at = _first_of_more(at, *found[left], root)
        except NoMatch:
            left += 1
        else:
            root = (*root, "xs")
    if root == place:
        raise NoMatch("there are no windows, or tiles divide them")
    return at


def _windows(at: Rewriting, place: Position) -> list[tuple[Position, int]]:
    """Where windows are that tiles do not divide, and how many more there are to be."""
    found = ((below, t) for below, t in positions(term_at(at.term, place)) if isinstance(t, Slide))
    each = (((*place, *below), _more(length_of(t))) for below, t in found)
    return [(here, more) for here, more in each if more]


def _more(windows: int) -> int:
    """How many windows there are less than whole tiles have; none where that adds too many, or nothing."""
    return next((more for n in _WHOLE if (more := -windows % n) * _FEW <= windows), 0)


def _first_of_more(at: Rewriting, place: Position, more: int, root: Position) -> Rewriting:
    """Windows here as the first of so many more, of which what is made is taken in the end."""
    t = term_at(at.term, place)
    assert isinstance(t, Slide), "cannot happen: windows are a slide"
    at = inside("xs")(lengthened(more * (t.step.constant or 0)))(at, place)
    at = apply("take_slide", "backward")(at, place)
    at = inside(*_PADDED)(_PADDED_FIRST)(at, place)
    if place[-1:] == ("f",) and isinstance(term_at(at.term, (*place, *_PADDED, "xs")), Var):
        at = _ROWS_PADDED_FIRST(at, place[:-1])
    return _outward(at, place, more, 0, root)


_PADDED: Position = ("xs", "xs")
"""From the first windows to what they slide over."""
_PADDED_FIRST = normalize("pad_clamp_map", "pad_clamp_fusion")
"""What is padded is padded before anything is made of it."""
_ROWS_PADDED_FIRST = then(
    fission("f", *_PADDED),
    inside("xs")(attempt(then(apply("map_fusion"), inside("f")(apply("pad_clamp_fusion"))))),
)
"""Rows are padded before windows slide over one of them."""


def first_of_more(
    at: Rewriting, place: Position, more: int, depth: int, root: Position
) -> Rewriting:
    """An array, or at a depth what it consists of, as the first of so many more, of which what is made is taken in the end.

    Raises `NoMatch` where something needs the part.
    """
    at = _first_of_each(depth, more)(at, place)
    return _outward(at, place, more, depth, root)


def _outward(at: Rewriting, place: Position, more: int, depth: int, root: Position) -> Rewriting:
    """What is taken at a place, or there at a depth, as the last that happens to what is at the root.

    What is zipped with it is as long, and becomes the first of so many more as well.
    """
    while place != root:
        place, field = place[:-1], place[-1]
        t = term_at(at.term, place)
        match t:
            case Slide():
                at = apply("map_slide" if depth else "take_slide", "backward")(at, place)
                depth += bool(depth)
            case Transpose() if depth > 1:
                at = apply("map_map_transpose", "backward")(at, place)
            case Transpose() if depth:
                at, depth = apply("take_transpose", "backward")(at, place), 0
            case Transpose():
                at, depth = _OF_ROWS(at, place), 1
            case Zip():
                at = inside(_OTHER[field])(_first_of_each(depth, more))(at, place)
                at = _OF_PAIRS[bool(depth)](at, place)
            case Map() if field == "f":
                at = fission("f", "xs")(at, place)
                depth += 1
            case Map() if depth:
                at = apply("map_fusion")(at, place)
                if not isinstance(term_at(at.term, (*place, "f")), MakeTuple):
                    place, depth = _use(at, place), depth - 1
            case Map():
                at = apply("take_map", "backward")(at, place)
            case _:
                raise NoMatch(f"a part is taken of what {type(t).__name__} has")
    return at


_OTHER = {"xs": "ys", "ys": "xs"}
_OF_PAIRS = (apply("take_zip", "backward"), apply("zip_map_map"))
"""Pairs of the first of two arrays, or of each of two."""


@curried
def _first_of_each(at: Rewriting, place: Position, depth: int, more: int) -> Rewriting:
    """An array, or at a depth what it consists of, as the first of so many more; unless it is."""
    if _is_first_of_each(term_at(at.term, place), depth, more):
        return at
    if not depth:
        return lengthened(more)(at, place)
    at = apply("map_identity", "backward")(at, place)
    at = inside("f")(_first_of_each(depth - 1, more))(at, place)
    return fission("f", "xs")(at, place)


def _is_first_of_each(t: Term, depth: int, more: int) -> bool:
    if depth:
        return isinstance(t, Map) and _is_first_of_each(t.f.body, depth - 1, more)
    return isinstance(t, Take) and length_of(t.xs) == length_of(t) + more


def _use(at: Rewriting, place: Position) -> Position:
    """Where the function of a map takes parts of its argument: of all of it, or of the first component that it takes some of."""
    function = (*place, "f")
    argument, f = binders_at(at.term, function)[-1], term_at(at.term, function)
    uses = [p for p, u in positions(f) if u == argument and argument not in binders_at(f, p)]
    if not uses:
        raise NoMatch("a function takes no part of its argument")
    return (*function, *_above_components(f, uses[0]))


_OF_ROWS = then(
    inside("xss", "xs")(apply("transpose_transpose", "backward")),
    inside("xss")(apply("take_transpose")),
    apply("transpose_transpose"),
)
"""What is transposed of the first rows is the first of each of what is transposed of all."""


def _above_components(f: Term, place: Position) -> Position:
    """Where a part is taken of what is here, or of a component of it."""
    above = place[:-1]
    return _above_components(f, above) if isinstance(term_at(f, above), Get) else above
