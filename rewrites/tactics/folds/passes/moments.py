"""Sums of products of differences from what is folded of the same elements, in the pass that folds it.

    sum (map (\\x. (x - m) * (x - m)) xs)    where m = f (sum xs)
      =  sum (map (\\(c, (e, d)). (e + (p - m) * d) + ((p - m) * d + n * (p - m) * (p - m))) (zip chunks found))
         where found = map (\\c. (sum (map (\\x. (x - p) * (x - p)) c), sum (map (\\x. x - p) c))) chunks,  p the first of a chunk

A variance reads its elements twice otherwise, once for the mean and once for the deviations from it.  Of each chunk the
differences are those from its first element: they are as exact as those from the mean, but for what the mean of a chunk is
away from its first element in multiples of the deviation.
Source: Chan, Golub, LeVeque, Algorithms for computing the sample variance, The American Statistician 37 (1983).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.declared_laws import is_neutral
from relift.rewrites.rules.traversals.identities import operator_rule
from relift.rewrites.tactics.combinators import (
    Rewriting,
    apply,
    curried,
    first,
    fission,
    inside,
    then,
    under_a_name,
)
from relift.rewrites.tactics.folds.beside import is_innermost, named_together, paired
from relift.rewrites.tactics.folds.partial_results import folded_in_chunks
from relift.rewrites.tactics.folds.remainders import fold_followed_by_rest, length_of
from relift.semantics.patterns import Map, Reduce
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    places_of,
    positions,
    substitute,
    term_at,
)
from relift.semantics.syntax.terms import Apply, Combine, Term, free_variables, subterms


@curried
def moments_in_one_pass(at: Rewriting, place: Position, chunk: int) -> Rewriting:
    """Every sum of products of differences from what is folded of as many elements, of sums of chunks that need no other fold.

    Raises `NoMatch` where there is none of more than a chunk of elements.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.passes.moments import moments_in_one_pass
    >>> @rl.program
    ... def squares(x: rl.f32[64]):
    ...     mean = rl.reduce(rl.add, 0.0, x) / 64.0
    ...     return rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - mean) * (v - mean), x))
    >>> of_chunks = derive(squares, moments_in_one_pass(16)).result.xs.xs.xs
    >>> print(rl.show(of_chunks))
    map(
      lambda x_:
        (
          reduce(add, 0.0, x_),
          (
            (
              reduce(add, 0.0, map(lambda x__: mul(sub(x__, x_[0]), sub(x__, x_[0])), x_)),
              reduce(add, 0.0, map(lambda x__: sub(x__, x_[0]), x_))
            ),
            x_[0]
          )
        ),
      split(16, x)
    )
    """
    changed = at
    while found := [*_moments(term_at(changed.term, place), chunk)]:
        changed = _in_one_pass(changed, place, found, chunk)
    if changed is at:
        raise NoMatch("no products are summed of differences from what is folded")
    return changed


def _moments(t: Term, chunk: int) -> Iterator[tuple[Position, Reduce]]:
    """Sums of products of differences from what is folded of as many elements, more than a chunk."""
    for place, u in positions(t):
        if not isinstance(u, Reduce) or not is_neutral(u.op, u.init) or not _folds_in(u):
            continue
        if length_of(u.xs) > chunk:
            yield place, u


def _folds_in(t: Reduce) -> list[Term]:
    """The folds of as many elements from whose results a sum of products is one of differences; none where it is no such sum."""
    if not isinstance(t.xs, Map):
        return []
    body, own = t.xs.f.body, {x.name for x in t.xs.f.parameters}
    factors = body.arguments if isinstance(body, Apply) and body.function == "mul" else ()
    differences = [u for u in factors if isinstance(u, Apply) and u.function == "sub"]
    subtracted = [u.arguments[1] for u in differences]
    if len(subtracted) < 2 or not all(own.isdisjoint(free_variables(u)) for u in subtracted):
        return []
    length = length_of(t.xs)
    return [
        u
        for value in subtracted
        for u, _ in subterms(value)
        if isinstance(u, Reduce) and is_innermost(u) and length_of(u.xs) == length
    ]


def _in_one_pass(
    at: Rewriting, place: Position, found: Sequence[tuple[Position, Reduce]], chunk: int
) -> Rewriting:
    """The first of these sums, all of its length beside it, and the folds that they need: one map of what each finds in a chunk."""
    t = term_at(at.term, place)
    around = _scope_of(t, found[0][0])
    sums = [(p, u) for p, u in found if _scope_of(t, p) == around]
    length = length_of(sums[0][1].xs)
    sums = [(p, u) for p, u in sums if length_of(u.xs) == length]
    here, of_chunks = (*place, *around), list[Term]()
    in_chunks = fold_followed_by_rest(chunk, folded_in_chunks(chunk))
    main = ("init",) if length % chunk else ()
    for fold in {canonical(u): u for _, v in sums for u in _folds_in(v)}.values():
        for below in places_of(term_at(at.term, here), fold):
            at = in_chunks(at, (*here, *below))
            of_chunks.append(term_at(at.term, (*here, *below, *main, "xs")))
    for below, _ in sorted(sums, key=lambda each: len(each[0]), reverse=True):  # innermost first
        at = in_chunks(at, (*place, *below))
        each = (*place, *below, *main, "xs")
        at = _about_the_first(at, (*each, "f"))
        at = _of_what_is_found(at, each)
        of_chunks.append(term_at(at.term, (*each, "xs")))
    return paired(at, here, of_chunks)[0]


_SUMS: tuple[Position, ...] = (
    ("left", "left"),
    ("left", "right", "right"),
    ("right", "left", "right"),
)
"""Where `_about_the_first` leaves the sums that need no other fold: of the products, and of the differences on either side."""
_DIFFERENCES: tuple[Position, ...] = (("left", "right", "left"), ("right", "left", "left"))
"""And what the first element differs by from what is folded of all, on either side."""


def _of_what_is_found(at: Rewriting, place: Position) -> Rewriting:
    """The sums of a chunk and its first element are an array of tuples, of which the sum of all is one."""
    here = (*place, "f")
    t = term_at(at.term, here)
    at = named_together(at, here, [term_at(t, below) for below in _each_once(t, _SUMS)])
    for below in _each_once(term_at(at.term, (*here, "f")), [(*d, "left") for d in _DIFFERENCES]):
        at = under_a_name(*below)(at, (*here, "f"))
        at = apply("let_let_pair")(at, here)
    at = then(fission("f", "x"), inside("f")(apply("let_inline")))(at, place)
    rest = here
    for below in _each_once(term_at(at.term, here), _DIFFERENCES):
        at = under_a_name(*below)(at, rest)
        rest = (*rest, "f")
    return at


def _each_once(t: Term, places: Sequence[Position]) -> list[Position]:
    """The first of places with equal terms."""
    return [*{canonical(term_at(t, place)): place for place in reversed(places)}.values()]


def _about_the_first(at: Rewriting, place: Position) -> Rewriting:
    """The sum of a chunk's products of differences, by those from what its first element gives."""
    fold = term_at(at.term, place)
    assert isinstance(fold, Reduce), "cannot happen: a chunk's sum"
    assert isinstance(fold.xs, Map), "cannot happen: of what is computed of each element"
    body = (*place, "xs", "f")
    at = _by_operators(_by_operators(_by_operators(at, body), (*body, "left")), (*body, "right"))
    product, (x,) = term_at(at.term, body), fold.xs.f.parameters
    assert isinstance(product, Combine), "cannot happen: it is one of differences"
    given = {
        name: substitute(difference.left, {x.name: fold.xs.xs[0]})
        for name, difference in (("p", product.left), ("q", product.right))
        if isinstance(difference, Combine)
    }
    at = apply("reduce_products_about", given=given)(at, place)
    apart = apply("reduce_of_sums")
    at = then(apart, inside("left")(apart), inside("right")(apart))(at, place)
    of_first = inside("xs", "f")(apply("operands_swapped"))
    at = inside("left", "right")(then(of_first, apply("reduce_factor")))(at, place)
    at = inside("right", "left")(apply("reduce_factor"))(at, place)
    return inside("right", "right")(_OF_THE_SAME)(at, place)


def _by_operators(at: Rewriting, place: Position) -> Rewriting:
    """A product or a difference as what an operator gives, which has laws."""
    rule = operator_rule(term_at(at.term, place))
    if rule is None:
        raise NoMatch("neither a product nor a difference")
    return apply(rule)(at, place)


def _halved(at: Rewriting, place: Position) -> Rewriting:
    """A sum of the same value again and again, of two halves as long as there are such."""
    at = apply("reduce_repeat_twice")(at, place)
    return inside("x")(first(_halved, apply("reduce_one")))(at, place)


_OF_THE_SAME = then(inside("xs")(apply("map_constant")), first(_halved, apply("reduce_one")))


def _scope_of(t: Term, place: Position) -> Position:
    """The outermost place above one where all that it depends on has a name."""
    free = free_variables(term_at(t, place))
    for depth in range(len(place)):
        above, below = place[:depth], place[depth:]
        if free.isdisjoint(x.name for x in binders_at(term_at(t, above), below)):
            return above
    return place
