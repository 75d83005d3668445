"""Sums of products of differences from what is folded of the same elements, in the pass that folds it.

    sum (map (\\x. (x - m) * (x - m)) xs)    where m = f (sum xs)
      =  sum (map (\\(c, (e, d)). (e + (p - m) * d) + ((p - m) * d + n * (p - m) * (p - m))) (zip chunks found))
         where found = map (\\c. (sum (map (\\x. (x - p) * (x - p)) c), sum (map (\\x. x - p) c))) chunks,  p of a chunk

A variance reads its elements twice otherwise, once for the mean and once for the deviations from it.  Of each chunk the
differences are those from the middle one of three elements: they are as exact as those from the mean, but for what the mean
of a chunk is away from that one in multiples of the deviation.
Source: Chan, Golub, LeVeque, Algorithms for computing the sample variance, The American Statistician 37 (1983).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.declared_laws import is_neutral
from relift.rewrites.rules.traversals.identities import operator_rule
from relift.rewrites.tactics.combinators import (
    Rewriting,
    apply,
    at_kinds,
    attempt,
    curried,
    first,
    fission,
    inside,
    repeat,
    then,
    topdown,
    under_a_name,
)
from relift.rewrites.tactics.folds.beside import is_innermost, named_together, paired
from relift.rewrites.tactics.folds.partial_results import OF_EACH_ARRAY, folded_in_chunks
from relift.rewrites.tactics.folds.remainders import fold_here_with_rest, length_of
from relift.rewrites.tactics.sharing import under_names
from relift.semantics.patterns import Let, Map, Reduce
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    places_of,
    positions,
    substitute,
    term_at,
)
from relift.semantics.syntax.terms import Apply, Combine, Input, Term, Var, free_variables, subterms


@curried
def moments_in_one_pass(at: Rewriting, place: Position, chunk: int) -> Rewriting:
    """Every sum of products of differences from what is folded of as many elements, of sums of chunks that need no other fold.

    Raises `NoMatch` where there is none of more than a chunk of elements, and of few enough chunks.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.passes.moments import moments_in_one_pass
    >>> @rl.program
    ... def squares(x: rl.f32[64]):
    ...     mean = rl.reduce(rl.add, 0.0, x) / 64.0
    ...     return rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - mean) * (v - mean), x))
    >>> of_chunks = derive(squares, moments_in_one_pass(16)).result.f.body.xs.xs.xs
    >>> print(rl.show(of_chunks))
    map(
      lambda x_:
        let(
          lambda x__:
            (
              reduce(add, 0.0, x_),
              (
                (
                  reduce(add, 0.0, map(lambda x: mul(sub(x, x__), sub(x, x__)), x_)),
                  reduce(add, 0.0, map(lambda x: sub(x, x__), x_))
                ),
                x__
              )
            ),
          maximum(minimum(x_[0], x_[8]), minimum(maximum(x_[0], x_[8]), x_[15]))
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


_MOST_CHUNKS = 1 << 16
"""What more came to takes as long to put together as to find."""


def _moments(t: Term, chunk: int) -> Iterator[tuple[Position, Reduce]]:
    """Sums of products of differences from what is folded of as many elements, more than a chunk."""
    for place, u in positions(t):
        if not isinstance(u, Reduce) or not is_neutral(u.op, u.init) or not _folds_in(u):
            continue
        if chunk < length_of(u.xs) <= _MOST_CHUNKS * chunk:
            yield place, u


def _folds_in(t: Reduce) -> list[Term]:
    """The folds of as many elements from whose results a sum of products is one of differences; none where it is no such sum."""
    length = length_of(t.xs)
    return [
        u
        for value in _subtracted(t)
        for u, _ in subterms(value)
        if isinstance(u, Reduce) and is_innermost(u) and length_of(u.xs) == length
    ]


def _subtracted(t: Reduce) -> list[Term]:
    """What is subtracted in each factor of a sum of products of differences; nothing where it is no such sum."""
    if not isinstance(t.xs, Map):
        return []
    body, own = t.xs.f.body, {x.name for x in t.xs.f.parameters}
    factors = body.arguments if isinstance(body, Apply) and body.function == "mul" else ()
    differences = [u for u in factors if isinstance(u, Apply) and u.function == "sub"]
    subtracted = [u.arguments[1] for u in differences]
    if len(subtracted) < 2 or not all(own.isdisjoint(free_variables(u)) for u in subtracted):
        return []
    return subtracted


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
    in_chunks = folded_in_chunks(chunk)
    main = ("left",) if length % chunk else ()
    if main:
        in_chunks = then(fold_here_with_rest(length - length % chunk), inside("left")(in_chunks))
    needed = {canonical(u): u for _, v in sums for u in _folds_in(v)}
    beside = _folds_beside(term_at(at.term, here), needed, length)
    inner = here
    if main or not around:  # the rest needs it, too; or sums that are found one after the other do
        at, inner = _subtracted_named(at, here, sums)
    for fold in (*needed.values(), *beside):
        for below in places_of(term_at(at.term, here), fold):
            try:
                at = in_chunks(at, (*here, *below))
            except NoMatch:
                if fold in needed.values():
                    raise
            else:
                of_chunks.append(term_at(at.term, (*here, *below, *main, "xs")))
    for below, _ in sorted(sums, key=lambda each: len(each[0]), reverse=True):  # innermost first
        fold_at = (*inner, *below[len(around) :])
        at = in_chunks(at, fold_at)
        each = (*fold_at, *main, "xs")
        at = _about_the_middle(at, (*each, "f"))
        at = _of_what_is_found(at, each)
        at = _named_once(at, (*each, "xs", "f"))
        of_chunks.append(term_at(at.term, (*each, "xs")))
    at, together = paired(at, here, of_chunks)
    for below in places_of(term_at(at.term, here), together):
        at = attempt(OF_EACH_ARRAY)(at, (*here, *below))
        at = _named_once(at, (*here, *below, "f"))
    return at


def _folds_beside(t: Term, needed: Mapping[Term, Term], length: int) -> list[Reduce]:
    """Other folds of as many elements of what those that are needed read, which need no result of another."""
    read = {u for fold in needed for u, _ in subterms(fold) if isinstance(u, Input | Var)}
    found: dict[Term, Reduce] = {}
    for place, u in positions(t):
        if not isinstance(u, Reduce) or length_of(u.xs) != length or not is_innermost(u):
            continue
        bound = {x.name for x in binders_at(t, place)}
        apart = canonical(u) not in needed and bound.isdisjoint(free_variables(u))
        if apart and any(v in read for v, _ in subterms(u.xs)):
            found.setdefault(canonical(u), u)
    return [*found.values()]


def _subtracted_named(
    at: Rewriting, place: Position, sums: Sequence[tuple[Position, Reduce]]
) -> tuple[Rewriting, Position]:
    """Names for what is subtracted in sums of products, one inside the other, and where what needs them stands then."""
    values = list(dict.fromkeys(value for _, u in sums for value in _subtracted(u)))
    for value in values:
        if not any(places_of(value, u) for _, u in sums):
            below, *_ = places_of(term_at(at.term, place), value)
            at = under_a_name(*below)(at, place)
            place = (*place, "f")
    return at, place


def _named_once(at: Rewriting, place: Position) -> Rewriting:
    """What differences of a chunk are from has a name around all that is found in it, where it had one around parts of that."""

    @at_kinds(Let)
    def written_out(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Let) or not _is_middle_one(t.x):
            raise NoMatch("no name of what differences are from")
        return apply("let_inline")(at, place)

    def middle(t: Term) -> Position | None:
        return next((below for below, u in positions(t) if below and _is_middle_one(u)), None)

    return then(attempt(repeat(topdown(written_out))), under_names(middle))(at, place)


def _is_middle_one(t: Term) -> bool:
    """Whether it is what `_middle_one` makes."""
    if not isinstance(t, Apply) or t.function != "maximum":
        return False
    least, rest = t.arguments
    if not isinstance(rest, Apply) or rest.function != "minimum":
        return False
    largest, _ = rest.arguments
    return isinstance(largest, Apply) and least == replace(largest, function="minimum")


_SUMS: tuple[Position, ...] = (
    ("left", "left"),
    ("left", "right", "right"),
    ("right", "left", "right"),
)
"""Where `_about_the_middle` leaves the sums that need no other fold: of the products, and of the differences on either side."""
_DIFFERENCES: tuple[Position, ...] = (("left", "right", "left"), ("right", "left", "left"))
"""And what the middle one differs by from what is folded of all, on either side."""


def _of_what_is_found(at: Rewriting, place: Position) -> Rewriting:
    """The sums of a chunk and what its differences are from are an array of tuples, of which the sum of all is one."""
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


def _about_the_middle(at: Rewriting, place: Position) -> Rewriting:
    """The sum of a chunk's products of differences, by those from what three of its elements give."""
    fold = term_at(at.term, place)
    assert isinstance(fold, Reduce), "cannot happen: a chunk's sum"
    assert isinstance(fold.xs, Map), "cannot happen: of what is computed of each element"
    body = (*place, "xs", "f")
    at = _by_operators(_by_operators(_by_operators(at, body), (*body, "left")), (*body, "right"))
    product, (x,) = term_at(at.term, body), fold.xs.f.parameters
    assert isinstance(product, Combine), "cannot happen: it is one of differences"
    given = {
        name: _middle_one(difference.left, x.name, fold.xs.xs)
        for name, difference in (("p", product.left), ("q", product.right))
        if isinstance(difference, Combine)
    }
    at = apply("reduce_products_about", given=given)(at, place)
    apart = apply("reduce_of_sums")
    at = then(apart, inside("left")(apart), inside("right")(apart))(at, place)
    of_middle = inside("xs", "f")(apply("operands_swapped"))
    at = inside("left", "right")(then(of_middle, apply("reduce_factor")))(at, place)
    at = inside("right", "left")(apply("reduce_factor"))(at, place)
    return inside("right", "right")(_OF_THE_SAME)(at, place)


def _middle_one(value: Term, name: str, chunk: Term) -> Term:
    """What is computed of the first, the middle and the last of some elements, and is neither the least nor the largest of it.

    One element that lies far from all others, wherever it stands, is none from which all others differ by much.
    """
    length = length_of(chunk)
    a, b, c = (substitute(value, {name: chunk[i]}) for i in (0, length // 2, length - 1))
    least, largest = (Apply(of, (a, b), value.type) for of in ("minimum", "maximum"))
    return Apply("maximum", (least, Apply("minimum", (largest, c), value.type)), value.type)


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
