"""Tactics for recurrences whose steps are affine in what they carry, such as `0.9 * s + 0.1 * v`: chunks go side by side.

    by_operators     steps such as `s + v * v` as those of an operator, on what is computed of each element before
    composed_steps   steps of which any number come to one: affine ones, those of an associative operator, or that begin anew
    affine_steps     steps as `plus (times (a x) acc) (b x)`, by the laws of both operators
    chunks_scanned   a scan in chunks: what the steps of a chunk come to is a pair, which takes its start to that of the next
    affine_folds_in_chunks  folds likewise: what the chunks of a row come to is an array of pairs, which may be stored

What a chunk comes to is found without what it starts from, as for a monoid; a pair takes twice the operations.
Source: Blelloch, prefix sums and their applications (1990), first-order recurrences.
"""

from __future__ import annotations

from contextlib import suppress

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.declared_laws import declared_over, has_law_over
from relift.rewrites.rules.folds import bins, places, recurrences
from relift.rewrites.rules.traversals import identities
from relift.rewrites.rules.traversals.identities import operator_rule
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    any_rule,
    apply,
    at_kinds,
    attempt,
    curried,
    everywhere,
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
from relift.rewrites.tactics.folds.remainders import length_of, rest_in_order
from relift.semantics.patterns import Map, ReduceSeq, ScanSeq, Zip
from relift.semantics.patterns.sequential import Accumulating
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.places import in_row
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Combine,
    MakeTuple,
    Term,
    Var,
    free_variables,
)


def by_operators() -> Tactic:
    """Folds and scans whose steps combine what they carry with what they compute of an element, as those of an operator.

    So its laws hold, whatever the function of a step is written as.  Raises `NoMatch` where there are none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.recurrences import by_operators
    >>> @rl.program
    ... def squares(x: rl.f32[64]):
    ...     return rl.scan_seq(lambda s, v: v * v + s, 0.0, x)
    >>> rl.show(derive(squares, by_operators()).result)
    'scan_seq(add, 0.0, map(lambda x_: x_ * x_, x))'
    """
    return somewhere(at_kinds(ScanSeq, ReduceSeq)(_by_operator))


def _by_operator(at: Rewriting, place: Position) -> Rewriting:
    t = term_at(at.term, place)
    assert isinstance(t, Accumulating), "cannot happen: it is asked for folds and scans"
    acc, x = t.f.parameters
    before = t.f.body
    if isinstance(t, ScanSeq) and isinstance(before, MakeTuple):
        with suppress(NoMatch):
            return _each_component(at, place)
        at = _KEPT(at, (*place, "f"))
    else:
        at = then(attempt(_chosen(acc)), _multiple_and_rest(acc))(at, (*place, "f"))
    step = term_at(at.term, (*place, "f"))
    if isinstance(step, Combine) and step.right == acc:
        at = apply("operands_swapped")(at, (*place, "f"))
        step = term_at(at.term, (*place, "f"))
    if not isinstance(step, Combine) or step.left != acc:
        raise NoMatch("a step does not combine what it carries with something else")
    if isinstance(t, ScanSeq):
        if step.right != x:
            return _computed_before("scan_map_fusion")(at, place)
        if step == before:
            raise NoMatch("an operator takes the steps already")
        return at
    if not isinstance(step.operator, BinaryOperator) or not step.operator.laws.associative:
        raise NoMatch("an operator without a law folds in order")
    if step.right == x:
        return apply("reduce_to_seq", "backward")(at, place)
    return _computed_before("reduce_operator_map_fusion")(at, place)


def _each_component(at: Rewriting, place: Position) -> Rewriting:
    """A scan of pairs outside all functions as two, where chunks of both are scanned side by side; raises `NoMatch` for others.

    One of a row reads the row once.
    """
    if free_variables(term_at(at.term, place)):
        raise NoMatch("a scan in the function of a map")
    at = apply("scan_pair_apart")(at, place)
    for part in ("xs", "ys"):
        here = (*place, part)
        at = attempt(_by_operator)(at, here)
        scan = here if isinstance(term_at(at.term, here), ScanSeq) else (*here, "xs")
        if not applies(blocked(1), at, scan):
            raise NoMatch("a component is scanned in order")
    return at


def scans_of_pairs_apart() -> Tactic:
    """Scans of pairs whose components do not need each other are two scans, also in functions; raises `NoMatch` where there are none.

    A scan of numbers whose steps are affine is done in chunks, and a row by many work-items, which read it twice.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.recurrences import scans_of_pairs_apart
    >>> @rl.program
    ... def both(x: rl.f32[4, 64]):
    ...     step = lambda s, v: (s[0] * 0.5 + v, rl.maximum(s[1], v))
    ...     return rl.map(lambda r: rl.scan_seq(step, (0.0, 0.0), r), x)
    >>> print(rl.show(derive(both, scans_of_pairs_apart()).result))
    map(
      lambda r:
        zip(
          scan_seq(lambda x, y_: (x * 0.5) + y_, 0.0, r),
          scan_seq(lambda x, y_: maximum(x, y_), 0.0, r)
        ),
      x
    )
    """
    pair = apply("scan_pair_apart")
    return then(topdown(pair), everywhere(attempt(pair)))


@curried
def _chosen(at: Rewriting, place: Position, acc: Var) -> Rewriting:
    """What is added where a condition holds, or else nothing, is added always: elsewhere a neutral element is."""
    t = term_at(at.term, place)
    if not isinstance(t, Apply) or t.function != "select":
        raise NoMatch("no step that chooses")
    condition, _, otherwise = t.arguments
    if otherwise != acc or _is_in(acc, condition):
        raise NoMatch("a step that chooses by what it carries, or keeps nothing")
    here = (*place, in_row("arguments", 1))
    at = _multiple_and_rest(acc)(at, here)
    added = term_at(at.term, here)
    if isinstance(added, Combine) and added.right == acc:
        at = apply("operands_swapped")(at, here)
    return _SELECTED(at, place)


_KEPT = then(
    any_rule(*(r.name for r in places.kept_by_operator_said_number.rules)),
    inside("right")(attempt(apply("pair_of_components"))),
)
"""Whichever pair has the better key is that of an operator."""

_SELECTED = first(*(apply(r.name, "backward") for r in bins.select_neutral_number.rules))


def _computed_before(fusion: str) -> Tactic:
    """What a step computes of an element is computed by a map."""
    return apply(fusion, "backward", parts={"g": ("f", "right")})


def affine_steps(at: Rewriting, place: Position) -> Rewriting:
    """The steps of a fold or a scan as a sum of a multiple of what they carry, and of what does not depend on it.

    Raises `NoMatch` where they are no such sum.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.recurrences import affine_steps
    >>> @rl.program
    ... def smoothed(x: rl.f32[64]):
    ...     return rl.scan_seq(lambda s, v: v + 0.5 * (s * 0.25) + 1.0, 0.0, x)
    >>> rl.show(derive(smoothed, affine_steps).result.f.body)
    'add(mul(mul(0.5, 0.25), s), add(v, 1.0))'
    """
    t = the(Accumulating, at, place)
    acc, _ = t.f.parameters
    at = _multiple_and_rest(acc)(at, (*place, "f"))
    step = term_at(at.term, (*place, "f"))
    if not isinstance(step, Combine) or not isinstance(step.left, Combine):
        raise NoMatch("a step adds nothing to a multiple of what it carries")
    if not has_law_over(step.left.operator, "distributive", step.operator):
        raise NoMatch("what multiplies does not distribute over what adds")
    return at


def composed_steps(at: Rewriting, place: Position) -> Rewriting:
    """The steps of a fold or a scan as those of which any number come to one, whatever they start from.

    They are affine, those of an associative operator, or combine by one where a condition holds and begin anew elsewhere.
    Raises `NoMatch` for others.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.recurrences import composed_steps
    >>> @rl.program
    ... def since(x: rl.i32[64]):
    ...     return rl.scan_seq(lambda s, v: rl.select(v > 0, 0, s + 1), 0, x)
    >>> rl.show(derive(since, composed_steps).result.f.body)
    'select(select(v > 0, False, True), add(s, 1), 0)'
    """
    t = term_at(at.term, place)
    if not isinstance(t, Accumulating):
        raise NoMatch("no fold or scan stands here")
    acc, x = t.f.parameters
    step = t.f.body
    if isinstance(step, Combine) and (step.left, step.right) == (acc, x):
        return at
    return first(affine_steps, _resets)(at, place)


def _resets(at: Rewriting, place: Position) -> Rewriting:
    """A step that combines by an operator, or keeps what there is, where a condition holds, or else begins anew."""
    here, t = (*place, "f"), term_at(at.term, place)
    assert isinstance(t, Accumulating), "cannot happen: it is asked for folds and scans"
    acc, _ = t.f.parameters
    step = t.f.body
    if not isinstance(step, Apply) or step.function != "select" or _is_in(acc, step.arguments[0]):
        raise NoMatch("no step that begins anew")
    if not _is_in(acc, step.arguments[1]):
        at = _SWAPPED(at, here)
    combined = (*here, in_row("arguments", 1))
    at = _multiple_and_rest(acc)(at, combined)
    found = term_at(at.term, combined)
    if isinstance(found, Combine) and found.right == acc:
        return apply("operands_swapped")(at, combined)
    return at


_SWAPPED = any_rule(*(r.name for r in recurrences.select_swapped_number.rules))


@curried
def _multiple_and_rest(at: Rewriting, place: Position, acc: Var) -> Rewriting:
    """A term as a variable, as a multiple of it, or as a sum of either and of what it is not in; raises `NoMatch`.

    Of a sum the variable stands on the left, of a product on the right, as in `recurrence_as_one_step`.
    """
    t = term_at(at.term, place)
    if t == acc:
        return at
    if (rule := operator_rule(t)) is not None:
        at = apply(rule)(at, place)
    t = term_at(at.term, place)
    if not isinstance(t, Combine) or _is_in(acc, t.left) == _is_in(acc, t.right):
        raise NoMatch(f"{acc.name} is not added or multiplied once")
    side = "right" if _is_product(t) else "left"
    if not _is_in(acc, term_at(t, (side,))):
        at = apply("operands_swapped")(at, place)
    at = _multiple_and_rest(acc)(at, (*place, side))
    inner = term_at(at.term, (*place, side))
    if not isinstance(inner, Combine):
        return at
    if not _is_product(t) and inner.operator != t.operator:
        return at if _is_product(inner) else attempt(_tropical(acc))(at, (*place, side))
    if not _is_product(t):
        return apply("operands_regrouped")(at, place)
    return apply("operands_regrouped", "backward")(at, place)


@curried
def _tropical(at: Rewriting, place: Position, acc: Var) -> Rewriting:
    """A sum of floats with a variable as a tropical product, on whose right that stands."""
    t = term_at(at.term, place)
    if isinstance(t, Combine) and t.left == acc:
        at = apply("operands_swapped")(at, place)
    return then(_AS_COMPUTED, _TROPICAL)(at, place)


_AS_COMPUTED = first(
    *(apply(r.name, "backward") for r in identities.computed_by_operator_number.rules)
)
_TROPICAL = any_rule(*(r.name for r in identities.sum_by_tropical_product_float.rules))


def _is_in(x: Var, t: Term) -> bool:
    return x.name in free_variables(t)


def _is_product(t: Combine) -> bool:
    """Whether an operator distributes over another."""
    return bool(declared_over(t.operator, "distributive"))


def chunks_scanned(m: int, each: int = 0) -> Tactic:
    """A scan whose steps compose in chunks of `m`; what each comes to is found apart, as a pair if they are affine, and that is scanned, too.

    That is found of what so many steps of `each` chunk come to, if they are given.  Raises `NoMatch` for other scans.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.recurrences import chunks_scanned
    >>> @rl.program
    ... def smoothed(x: rl.f32[64]):
    ...     return rl.scan_seq(lambda s, v: 0.9 * s + 0.1 * v, 0.0, x)
    >>> starts = derive(smoothed, chunks_scanned(16)).result.xss.xs.xs.xs.ys
    >>> print(rl.show(starts.f.body), starts.xs.type)
    add(mul(y[0], x_), y[1]) (f32, f32)[4]
    """
    in_pairs = (apply("reduce_seq_chunks", m=each), *_pairs("reduce_map_fusion"))
    starts = then(inside("f")(then(*(in_pairs if each else ()))), *_pairs("scan_map_fusion"))

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if not isinstance(term_at(at.term, place), ScanSeq):
            raise NoMatch("no scan stands here")
        return then(composed_steps, apply("scan_split", m=m), inside(*STARTS)(starts))(at, place)

    return tactic


_AS_ONE_STEP = first(
    then(
        apply("reduce_to_seq", "backward"),
        apply("reduce_start", "backward"),
        under_a_name("right"),
    ),
    apply("recurrence_as_one_step"),
    *(apply(r.name) for r in recurrences.resets_as_one_step_number.rules),
    *(apply(r.name) for r in recurrences.fills_as_one_step_number.rules),
    apply("fold_from_first"),
)
"""What any number of steps come to, apart from what they start from."""


def composed_with_rest(chunk: int, main: int) -> Tactic:
    """A scan whose steps compose as that of its first `main` elements, in chunks, and of the others from the last result of what these come to.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.recurrences import composed_with_rest
    >>> @rl.program
    ... def largest(x: rl.f32[11]):
    ...     return rl.scan_seq(rl.maximum, 0.0, x)
    >>> print(rl.show(derive(largest, composed_with_rest(4, 8)).result.ys))
    scan_seq(
      maximum,
      scan_seq(maximum, 0.0, map(lambda x_: reduce(maximum, -inf, x_), split(4, take(8, x))))[1],
      drop(8, x)
    )
    """
    come_to = then(
        apply("reduce_seq_chunks", m=chunk),
        *_pairs("reduce_map_fusion"),
        apply("scan_last", "backward"),
    )
    split = inside("xs")(apply("concat_take_drop", "backward", m=main))
    parts = normalize("take_map", "drop_map")
    return then(composed_steps, split, apply("scan_concat"), inside("ys", "init")(come_to), parts)


_LEAST_CHUNKS = 16
"""Of a fold that is shared out; fewer are folded sooner than they are written and read."""


def affine_folds_in_chunks(m: int) -> Tactic:
    """Long folds of affine steps, in chunks of `m`, whose pairs are an array that does not depend on any other fold.

    Raises `NoMatch` where there are none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.recurrences import affine_folds_in_chunks
    >>> @rl.program
    ... def last(x: rl.f32[4, 1024]):
    ...     return rl.map(lambda r: rl.reduce_seq(lambda s, v: 0.9 * s + 0.1 * v, 0.0, r), x)
    >>> found = derive(last, affine_folds_in_chunks(32)).result
    >>> print(rl.show(found.f.body.f.body), found.xs.type)
    add(mul(y[0], acc), y[1]) (f32, f32)[4, 32]
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        length = length_of(term_at(at.term, (*place, "xs")))
        if length < _LEAST_CHUNKS * m:
            raise NoMatch(f"{length} elements are few chunks of {m}")
        at = affine_steps(at, place)
        if left := length % m:
            at = rest_in_order(left)(at, place)
            place = (*place, "init")
        at = then(apply("reduce_seq_chunks", m=m), *_pairs("reduce_map_fusion"))(at, place)
        return _outside(at, (*place, "xs"))

    return somewhere(at_kinds(ReduceSeq)(tactic))


def _pairs(fusion: str) -> tuple[Tactic, ...]:
    """What the chunks come to is computed by a map, and the fold, or the scan, is of that."""
    return (
        inside("f")(_AS_ONE_STEP),
        apply(fusion, "backward", parts={"g": ("f", "x")}),
        inside("f")(apply("let_inline")),
    )


def _outside(at: Rewriting, place: Position) -> Rewriting:
    """What is computed in the functions of maps as an array of these, outside all of them."""
    for i in reversed(range(len(place))):
        above, below = place[:i], place[i:]
        if below[0] == "f" and isinstance(term_at(at.term, above), Map):
            lifted = first(
                fission(*below),
                fission(*below, beside=True),
            )
            at = lifted(at, above)
            xs = term_at(at.term, (*above, "xs"))
            place = (*above, "xs", "ys") if isinstance(xs, Zip) else (*above, "xs")
    return at


def has_composed_steps(at: Rewriting, place: Position) -> bool:
    """Whether the scan at a place goes in chunks as its steps compose, by laws that are declared and granted, and by no neutral element.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import Rewriting
    >>> from relift.rewrites.tactics.folds.recurrences import has_composed_steps
    >>> @rl.program
    ... def smoothed(x: rl.f32[64]):
    ...     return rl.scan_seq(lambda s, v: 0.9 * s + 0.1 * v, 0.0, x)
    >>> [has_composed_steps(Rewriting(smoothed.body, policy), ()) for policy in ("reassociate", "exact")]
    [True, False]
    """
    return not applies(_FROM_NEUTRAL, at, place) and applies(chunks_scanned(1), at, place)


def goes_in_chunks(at: Rewriting, place: Position) -> bool:
    """Whether the scan at a place goes in chunks by an operator with a neutral element, or as its steps are affine.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import Rewriting
    >>> from relift.rewrites.tactics.folds.recurrences import goes_in_chunks
    >>> @rl.program
    ... def sums(x: rl.f32[64]):
    ...     return rl.scan_seq(rl.add, 0.0, x)
    >>> goes_in_chunks(Rewriting(sums.body, "reassociate"), ())
    True
    """
    return applies(first(_FROM_NEUTRAL, then(affine_steps, chunks_scanned(1))), at, place)


_FROM_NEUTRAL = first(apply("scan_blocked", m=1), apply("scan_start", "backward"))
"""A scan by an operator that has a neutral element."""


def applies(tactic: Tactic, at: Rewriting, place: Position) -> bool:
    """Whether a tactic applies at a place."""
    try:
        tactic(at, place)
    except NoMatch:
        return False
    return True


STARTS: Position = ("xss", "xs", "xs", "xs", "ys")
"""From a scan in chunks to the scan of what the chunks come to."""


def blocked(m: int) -> Tactic:
    """A scan in chunks of `m`, each from what those before it come to: of an operator with laws, or with affine steps."""
    return first(apply("scan_blocked", m=m), chunks_scanned(m))
