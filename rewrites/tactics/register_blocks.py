"""Tactics for blocks in vector registers: all pairs of elements of two arrays, and a fold for each pair.

The programs are

    map (\\x. map (\\y. e x y (reduce_seq f z (zip (g x) (h y)))) ys) xs

for any e, f, g, h and z, alone or inside one more map: products of matrices, transposed or in batches, with
or without what is done to each element afterwards.  ys may be zipped with what belongs to x.  A work-item has
a block of the result, some rows by some vectors; it reads an element of g x once for all vectors, and a vector
of elements of h y once for all rows, while the block stays in registers:

    pairs_in_order      the folds as loops over zip (g x) (h y), in this order
    in_panels           an operand copied once in the order in which the blocks read it
    epilogue_apart      the folds of a block, and after them what is done with their results
    vector_accumulators the folds of a block as one fold with a table of vectors

The folds become folds of vectors before they are lifted out of the maps: so the accumulators are vectors, and
no driver has to make them from a table of scalars.
Source: Goto and van de Geijn, Anatomy of high-performance matrix multiplication, TOMS 2008, for the shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    first,
    fuse,
    inside,
    then,
)
from relift.rewrites.tactics.group_tiles import UNROLLED, copy, nest
from relift.rewrites.tactics.nest_blocks import TILE
from relift.semantics.patterns import Fold, Map, Reduce, ReduceSeq, Transpose, Zip
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Get, Term, Var, free_variables
from relift.semantics.syntax.types import dimensions


@dataclass(frozen=True)
class Block:
    """A block of `rows` by `vectors` vectors of `lanes` results.

    `packed` says whether the second operand is copied in the order in which the blocks read it.
    """

    rows: int
    vectors: int
    lanes: int
    packed: bool = True

    @property
    def columns(self) -> int:
        """How many results a row of the block has."""
        return self.vectors * self.lanes

    @property
    def registers(self) -> int:
        """The vectors that a work-item holds: results, a row of vectors, and one element for all lanes."""
        return self.rows * self.vectors + self.vectors + 1


@dataclass(frozen=True)
class Pairs:
    """Where the folds of all pairs are: the outer map, the maps around it, and the inner one in it."""

    outer: Map
    place: Position
    around: tuple[Position, ...]

    @property
    def inner(self) -> Map:
        """The map over the second element of the pairs."""
        assert isinstance(self.outer.f.body, Map), "cannot happen: `pairs_of` checks this"
        return self.outer.f.body

    @property
    def fold(self) -> Position:
        """Where the fold is in the function of the inner map."""
        (place,) = _folds(self.inner.f.body)
        return place

    @property
    def lengths(self) -> tuple[int, int]:
        """Of the outer and of the inner map."""
        rows, columns = (dimensions(t.xs.type)[0][0].constant for t in (self.outer, self.inner))
        assert rows is not None, "cannot happen: the sizes are fixed"
        assert columns is not None, "cannot happen: the sizes are fixed"
        return rows, columns


def _folds(t: Term) -> list[Position]:
    """Where the folds of a term are that no other function encloses."""
    found = [p for p, u in positions(t) if isinstance(u, Reduce | Fold)]
    outermost = [p for p in found if not any(p[: len(q)] == q and p != q for q in found)]
    return [p for p in outermost if not _below_function(t, p)]


def _below_function(t: Term, place: Position) -> bool:
    return any(
        isinstance(term_at(t, place[:i]), Map) and place[i] == "f" for i in range(len(place))
    )


def pairs_of(t: Term) -> Pairs | None:
    """The outermost folds of all pairs in a program.

    >>> from relift.rewrites.tactics.register_blocks import pairs_of
    >>> from relift.rewrites.loading import load_program
    >>> product = load_program("examples/matmul.py").at({"n": 32, "m": 64, "k": 8})
    >>> found = pairs_of(product.body)
    >>> found.place, found.lengths
    ((), (32, 64))
    """
    for place, u in positions(t):
        if not isinstance(u, Map) or not isinstance(inner := u.f.body, Map):
            continue
        if len(folds := _folds(inner.f.body)) == 1:
            read = term_at(inner.f.body, folds[0])
            assert isinstance(read, Reduce | Fold), "cannot happen: it is a fold"
            bound = {x.name for x in (*u.f.parameters, *inner.f.parameters)}
            if bound <= free_variables(read.xs):
                above = (place[:i] for i in range(len(place)))
                around = tuple(p for p in above if isinstance(term_at(t, p), Map))
                return Pairs(u, place, around)
    return None


def blocks_of_pairs(block: Block) -> Tactic:
    """A program of pairs as a low-level program, in which every work-item computes a block.

    >>> from relift.rewrites.tactics.register_blocks import Block, blocks_of_pairs
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> product = load_program("examples/matmul.py")
    >>> found = derive(product, blocks_of_pairs(Block(4, 2, 16)), {"n": 32, "m": 64, "k": 8})
    >>> "lift_reduce_seq_2d" in {step.rule for step in found.steps}
    True
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = attempt(fuse())(at, place)
        found = pairs_of(term_at(at.term, place))
        if found is None or len(found.around) > 1:
            raise NoMatch("blocks are for a fold of all pairs of elements of two arrays")
        here = inside(*found.place)
        at = here(pairs_in_order())(at, place)
        if block.packed:
            at = here(in_panels(block.columns))(at, place)
        at = here(_tiled(block))(at, place)
        for outside in found.around:
            at = inside(*outside)(apply("map_to_glb", d=2))(at, place)
        return at

    return tactic


def _tiled(block: Block) -> Tactic:
    """The outer map of pairs, block by block, each of which a work-item computes."""
    rows, columns = block.rows, block.columns
    tiles = first(
        apply("tile_map_map", m=rows, n=columns),
        apply("tile_map_map_zip", m=rows, n=columns),
        then(
            inside("f", "xs")(apply("zip_swap")),
            inside("f")(apply("map_fusion")),
            apply("tile_map_map_zip", m=rows, n=columns),
        ),
    )
    work_items = nest(apply("map_to_glb", d=0), apply("map_to_glb", d=1), _computed(block))
    return then(tiles, inside(*TILE)(work_items))


# ---- the folds


def pairs_in_order() -> Tactic:
    """The folds of pairs go through a zip of what belongs to the outer element, and then to the inner one."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        assert isinstance(t, Map), "cannot happen: `pairs_of` found it"
        pairs = Pairs(t, place, ())
        x, y = t.f.parameters[0].name, pairs.inner.f.parameters[0].name
        fold = term_at(pairs.inner.f.body, pairs.fold)
        if not isinstance(fold, ReduceSeq) or not isinstance(zipped := fold.xs, Zip):
            raise NoMatch("a block needs folds that go through two arrays at once")
        used = [free_variables(u) & {x, y} for u in (zipped.xs, zipped.ys)]
        if used == [{x}, {y}]:
            return at
        if used != [{y}, {x}]:
            raise NoMatch("a fold of pairs reads an array of either element")
        swap = then(inside("xs")(apply("zip_swap")), apply("reduce_map_fusion"))
        return inside("f", "f", *pairs.fold)(swap)(at, place)

    return tactic


def _part(rule: str, letter: str, where: Position, direction: Direction = "forward") -> Tactic:
    return apply(rule, direction, parts={letter: where})


def _innermost(wanted: Callable[[Term], bool], t: Term, below: str) -> Position:
    for place, u in positions(t):
        if place and place[0] == below and wanted(u):
            return place
    raise NoMatch("the tactic finds no part here")


def epilogue_apart() -> Tactic:
    """The folds of a block are computed first, then what is done with their results.

    Where nothing is done with them, nothing changes.
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        assert isinstance(t, Map), "cannot happen: it is a block"
        fold = Pairs(t, place, ()).fold
        if not fold:
            return at
        folds = ("f", "xs", "ys")  # of a row, zipped with what belongs to its elements
        return then(
            inside("f")(_part("map_fission_with_zip", "g", ("f", *fold))),
            _part("map_fission_with_zip", "g", folds),
        )(at, place)

    return tactic


def without_cells() -> Tactic:
    """A map over a zip, of which its function needs the first part only, is one over that part."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Map) or not isinstance(t.xs, Zip):
            return at
        (y,) = t.f.parameters
        component = next(
            (
                p
                for p, u in positions(t.f.body)
                if isinstance(u, Get) and u.of == Var(y.name, y.type) and u.index == 0
            ),
            None,
        )
        if component is None:
            return at
        apart = _part("map_fusion", "g", ("f", *component), "backward")
        return then(apart, inside("xs")(apply("zip_first")), tactic)(at, place)

    return attempt(tactic)


def vector_accumulators(lanes: int) -> Tactic:
    """Folds of all pairs as one fold with a table of vectors, which are taken apart row by row."""

    def rows(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        where = _innermost(lambda u: isinstance(u, Map), t, "f")
        return _part("map_fusion", "g", where, "backward")(at, place)

    straight = then(
        inside("xss")(attempt(apply("map_identity"))), attempt(apply("transpose_transpose"))
    )
    lifted = then(
        apply("lift_reduce_seq_2d"),
        inside("xs")(then(inside("xs")(straight), inside("ys")(straight))),
        inside("init")(then(copy(UNROLLED, UNROLLED), apply("store_private"))),
        inside("f")(nest(UNROLLED, UNROLLED)),
    )
    vectors = then(
        apply("as_scalar_as_vector", "backward", w=lanes),
        inside("vs")(apply("as_vector_map_fold")),
    )
    return then(inside("f")(then(without_cells(), vectors)), rows, inside("xs")(lifted))


def _computed(block: Block) -> Tactic:
    """A block: its folds, and with their results what is done there, vector by vector."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        assert isinstance(t, Map), "cannot happen: it is a block"
        if not Pairs(t, place, ()).fold:
            stored = inside("xs")(copy(UNROLLED, UNROLLED))
            return then(vector_accumulators(block.lanes), stored)(at, place)
        vectors = then(apply("vectorize_map", w=block.lanes), inside("vs")(UNROLLED))
        return then(
            epilogue_apart(),
            inside("xs", "ys")(vector_accumulators(block.lanes)),
            nest(UNROLLED, vectors),
        )(at, place)

    return tactic


# ---- what the folds read


def in_panels(width: int) -> Tactic:
    """The rows that the folds read of the second operand are copied: so many of them side by side.

    Raises `NoMatch` where the data depend on a variable, for then no kernel comes before.
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        assert isinstance(t, Map), "cannot happen: `pairs_of` found it"
        where = _operand(t)
        rows = term_at(t, where)
        if free_variables(rows):
            raise NoMatch("what is copied before depends on a variable")
        vector = next((w for w in (16, 8, 4, 2) if width % w == 0), 1)
        if isinstance(rows, Transpose) and vector > 1:
            cells = then(
                apply("as_scalar_as_vector", "backward", w=vector),
                inside("vs")(copy(UNROLLED)),
            )
        else:
            cells = copy(apply("map_to_seq"))
        copied = then(
            copy(apply("map_to_glb", d=0), apply("map_to_glb", d=1), rest=cells),
            apply("store_global"),
        )
        panels = then(
            apply("join_split", "backward", m=width),
            inside("xss")(
                then(
                    apply("map_identity", "backward"),
                    inside("f")(apply("transpose_transpose", "backward")),
                    _part("map_fusion", "g", ("f", "xss"), "backward"),
                    inside("xs")(copied),
                )
            ),
        )
        return inside(*where)(panels)(at, place)

    return tactic


def _operand(t: Map) -> Position:
    """Where, in the data of the inner map of pairs, the rows are that the folds read."""
    pairs = Pairs(t, (), ())
    fold = term_at(pairs.inner.f.body, pairs.fold)
    assert isinstance(fold, ReduceSeq), "cannot happen: `pairs_in_order` checks this"
    assert isinstance(fold.xs, Zip), "cannot happen: `pairs_in_order` checks this"
    read = fold.xs.ys
    path: list[int] = []
    while isinstance(read, Get):
        path.insert(0, read.index)
        read = read.of
    if not isinstance(read, Var):
        raise NoMatch("the folds compute what they read")
    where: Position = ("f", "xs")
    for index in path:
        if not isinstance(term_at(t, where), Zip):
            raise NoMatch("what the folds read is no array of its own")
        where = (*where, ("xs", "ys")[index])
    return where
