"""Tactics for nests that are equal to their transposes: what lies below the diagonal is read from what lies above it.

    map (\\a. map (g a) xs) xs  =  concat S (transpose (concat (map (drop m) S) (transpose R)))      g a b = g b a
        where S = map (\\a. map (g a) xs) (take m xs),  R = map (\\a. map (g a) (drop m xs)) (drop m xs)

R is such a nest again, or in two parts one that is computed whole: three quarters of the cells are computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.rules.traversals.identities import operator_rule
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    curried,
    first,
    fission,
    inside,
    normalize,
    the,
    then,
    topdown,
)
from relift.rewrites.tactics.folds.remainders import length_of, map_here_with_rest
from relift.rewrites.tactics.nests.edges import around_folds
from relift.rewrites.tactics.nests.normal_form import apart as folds_apart
from relift.rewrites.tactics.nests.normal_form import bare
from relift.rewrites.tactics.sharing import apart, storable, stored
from relift.rewrites.tactics.transpositions import tables_by_rows
from relift.rewrites.tactics.vectors.register_blocks import in_panels
from relift.semantics.patterns import Map, Zip
from relift.semantics.syntax.binding import Position, alpha_equal, substitute, term_at
from relift.semantics.syntax.terms import Lambda, Term, children, free_variables

PARTS = 2
"""Parts of the rows of such a nest, of which each is searched and launched: two save a quarter of the work, and all half of it.

Of 2048 x 4096 x 2048 four parts are estimated to take a GPU no less time."""

LEAST = 256
"""A part has so many rows at least: each takes a search, and a launch."""

WIDTH = 16
"""What divides the rows of a part, so that blocks of registers divide them too."""


def mirrored(parts: int = PARTS, least: int = LEAST, panels: Sequence[int] = ()) -> Tactic:
    """The outermost nest that is equal to its transpose, in parts of its rows, each stored by a kernel of its own.

    So is what all parts read, where it is computed, and where the first of `panels` that divides its rows says so, it is copied so many
    rows side by side, as blocks in vector registers read it: each part would copy it else.  What is done with the results of a cell's folds is done afterwards
    where it makes a nest unequal to its transpose, as to add a table does.
    Raises `NoMatch` where there is none outside all functions, or none of so many rows.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.symmetric import mirrored
    >>> @rl.program
    ... def gram(x: rl.f32[4, 8]):
    ...     def dot(a, b):
    ...         return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(a, b)))
    ...     return rl.map(lambda a: rl.map(lambda b: dot(a, b), x), x)
    >>> found = derive(gram, mirrored(parts=2, least=1))
    >>> [step.rule for step in found.steps if step.rule in ("operands_swapped", "store_global")]
    ['store_global', 'operands_swapped', 'store_global', 'store_global']
    """

    def whole(at: Rewriting, place: Position) -> Rewriting:
        at = normalize("transpose_transpose")(at, place)
        rows = _rows(term_at(at.term, place))
        part = max(least, -(-rows // parts))
        part = -(-part // WIDTH) * WIDTH if part >= WIDTH else part
        if rows < 2 * least or part >= rows:
            raise NoMatch(f"{rows} rows are no two parts of {least} at least")
        at = then(attempt(apart()), attempt(tables_by_rows))(at, place)
        read = [each.value for each in storable(term_at(at.term, place))]
        at = stored(read)(at, place)
        for width in [w for w in panels if rows % w == 0 and part % w == 0][:1]:
            at = then(inside("xs")(in_panels(width)), inside("f", "xs")(in_panels(width)))(
                at, place
            )
        return _parted(part)(at, place)

    return topdown(first(whole, then(folds_apart(), inside("xs", "xs", "xs")(then(bare(), whole)))))


_STORED: Tactic = apply("store_global")


def _rows(t: Term) -> int:
    """The rows of a nest of two maps over one array, around folds of the elements of both."""
    maps = None if free_variables(t) else around_folds(t)
    if maps is None or not alpha_equal(maps[0].xs, maps[1].xs):
        raise NoMatch("no nest of two maps over one array, around folds of the elements of both")
    return length_of(maps[0].xs)


def _parted(part: int) -> Tactic:
    """The first rows stored, and of the others what lies right of them; as often as there are more rows than a part has."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if length_of(_map_at(at, place).xs) <= part:
            return _STORED(at, place)
        at = map_here_with_rest(part)(at, place)
        others = (*place, "ys")
        columns = then(
            inside("f")(map_here_with_rest(part)),
            apply("transpose_transpose", "backward"),
            inside("xss")(apply("transpose_map_concat")),
        )
        at = columns(at, others)
        left, right = (*others, "xss", "xs"), (*others, "xss", "ys", "xss")
        at = then(inside("xss")(apply("map_interchange")), apply("transpose_transpose"))(at, left)
        return then(inside(*right[len(place) :])(tactic), _above(left))(at, place)

    def _above(left: Position) -> Tactic:
        """What lies left of other rows, as the transpose of what lies below the first ones."""

        def found(at: Rewriting, place: Position) -> Rewriting:
            first = _map_at(at, (*place, "xs"))
            ((a,), (x,)) = first.f.parameters, _map_at(at, left).f.parameters
            row = substitute(first.f.body, {a.name: x})
            below = then(
                inside("f")(apply("drop_map", "backward")),
                inside("f", "xs")(_aligned(row)),
                fission("f", "xs"),
                inside("xs")(_STORED),
            )
            return then(inside(*left[len(place) :])(below), inside("xs")(_STORED))(at, place)

        return found

    return tactic


def _map_at(at: Rewriting, place: Position) -> Map:
    t = the(Map, at, place)
    return t


# ---- one term made of another by exchanging operands


@curried
def _aligned(at: Rewriting, place: Position, target: Term) -> Rewriting:
    """What stands here as another term, from which it differs in the order of operands; raises `NoMatch` where it does in more."""
    here = term_at(at.term, place)
    if alpha_equal(here, target):
        return at
    try:
        return _below(target)(at, place)
    except NoMatch:
        return then(_exchanged, _below(target))(at, place)


@curried
def _below(at: Rewriting, place: Position, target: Term) -> Rewriting:
    """Terms of one kind, all of whose parts are aligned."""
    here = term_at(at.term, place)
    wanted = list(children(target))
    if type(here) is not type(target) or len(wanted) != len(list(children(here))):
        raise NoMatch("more than the order of operands differs")
    for field, child in wanted:
        own = dict(children(here))[field]
        if isinstance(own, Lambda) and isinstance(child, Lambda):
            pairs = zip(child.parameters, own.parameters, strict=True)
            child = Lambda(own.parameters, substitute(child.body, {x.name: y for x, y in pairs}))
        at = _aligned(child.body if isinstance(child, Lambda) else child)(at, (*place, field))
    if not alpha_equal(term_at(at.term, place), target):
        raise NoMatch("more than the order of operands differs")
    return at


def _exchanged(at: Rewriting, place: Position) -> Rewriting:
    """The operands of what stands here exchanged: of an operator, or of the zip that a map goes through."""
    t = term_at(at.term, place)
    if isinstance(t, Map) and isinstance(t.xs, Zip):
        return then(inside("xs")(apply("zip_swap")), apply("map_fusion"))(at, place)
    if (rule := operator_rule(t)) is not None:
        return then(apply(rule), apply("operands_swapped"), apply(rule, "backward"))(at, place)
    return apply("operands_swapped")(at, place)
