"""Planning: the stages between a program and a sketch, derived from the loops of both.

The loops of a program are the nest of maps and reductions around its innermost computation; the loops of a
sketch are those that it states.  Each loop of the program is split into the loops of the sketch whose
lengths multiply to its own; then neighbours change places until the order is the sketch's.  Every one of
these moves is a stage of its own, with few rules and a sketch that its result must satisfy (a waypoint), so
each e-graph stays small.

Sizes are searched at *model sizes*: every tile is a prime of its own, and so is what is left of each size.
Two loops never have one length by accident then, and tiles stay variables: the derivation is redone at any
other sizes that the tiles divide.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from relift.device import DeviceDescription
from relift.egraph.process.saturation import Stage
from relift.egraph.sketches.language import (
    Anything,
    BadSketch,
    Containing,
    OfPattern,
    Part,
    Shape,
    Sketch,
    lengths,
)
from relift.semantics.patterns import PATTERNS, Map, MapVec, Reduce, ReduceSeq, Reduction
from relift.semantics.syntax.terms import Apply, Call, Combine, LoopKind, Pattern, Term, inside
from relift.semantics.syntax.types import Array, Scalar, Tuple, TypeVariable, Vector

NORMAL_FORM = (
    "transpose_transpose", "join_split", "split_of_join", "as_vector_as_scalar", "map_identity",
    "zip_first", "zip_second",
)  # fmt: skip
"""Rules that run in every iteration: they only remove."""

PURPOSES: Mapping[str, tuple[str, ...]] = {
    "normalise": ("map_fusion", "reduce_to_seq", "reduce_map_fusion"),
    "split and tile": ("split_join", "reduce_seq_chunks"),
    "reorder": (
        "map_interchange", "map_interchange_rows", "lift_reduce_seq", "map_join_fission",
        "map_transpose_fission",
    ),
    "vectorise": ("vectorize_map", "as_vector_map"),
    "stage into memory": ("split_transpose", "map_fusion"),
}  # fmt: skip
"""The named rule sets.  Lowering is the last: it is done by context, see `extraction`."""


@dataclass(frozen=True)
class Loop:
    """A map, a sequential reduction, or the lanes of a vector, of some length."""

    kind: LoopKind
    length: int

    def __str__(self) -> str:
        return f"{self.kind}[{self.length}]"


@dataclass(frozen=True)
class UserStage:
    """A stage that a user gives: names of rules, and a sketch that its result must satisfy."""

    rules: tuple[str, ...]
    sketch: Sketch

    def waypoint(self, number: int, sizes: Mapping[str, int]) -> Waypoint:
        """The stage at these sizes; its rules may choose the lengths that the sketch writes."""
        shape = self.sketch.at(sizes)
        chosen = tuple(sorted(set(lengths(shape))))
        return Waypoint(Stage(f"stage {number}", self.rules, 6), shape, chosen, chosen)


@dataclass(frozen=True)
class Waypoint:
    """A stage and what its result must look like; `tiles` and `lanes` are the sizes that its rules may choose."""

    stage: Stage
    shape: Shape
    tiles: tuple[int, ...] = ()
    lanes: tuple[int, ...] = ()


def loops_of(t: Term) -> tuple[Loop, ...]:
    """The nest of loops around the innermost computation of a term."""
    match t:
        case Map(f, xs) if _computes(f.body):
            return (Loop("map", _length(xs)), *loops_of(f.body))
        case ReduceSeq(f, _, xs):
            return (Loop("fold", _length(xs)), *loops_of(f.body))
        case Reduce(_, _, xs):
            return (Loop("fold", _length(xs)),)
        case MapVec(f, v):
            return (Loop("lanes", _length(v)), *loops_of(f.body))
        case _:
            parts = [u for _, u, _ in inside(t)]
            return max(map(loops_of, parts), key=len, default=())


def _computes(t: Term) -> bool:
    """Whether the body of a map computes: a scalar, or a loop that does."""
    if isinstance(t, Apply | Call | Combine | Reduction):
        return True
    return any(_computes(u) for _, u, _ in inside(t))


def _length(t: Term) -> int:
    match t.type:
        case Array(_, n) | Vector(_, n):
            return n.constant or 0
        case Scalar() | Tuple() | TypeVariable():
            raise AssertionError(f"cannot happen: {t.type} is mapped over")


def loops_wanted(shape: Shape) -> tuple[tuple[Loop, ...], Shape]:
    """The loops that a sketch states, outermost first, and what it wants inside them."""
    found: list[Loop] = []
    while True:
        if isinstance(shape, Containing):
            shape = shape.part
            continue
        kind = shape.pattern.loop if isinstance(shape, OfPattern) else None
        if not isinstance(shape, OfPattern) or kind is None or shape.length is None:
            return tuple(found), shape
        found.append(Loop(kind, shape.length))
        shape = next((p.shape for p in shape.parts if p.place == "f"), Anything())


_LOOPS: Mapping[LoopKind, type[Pattern]] = {
    p.loop: p for p in reversed(PATTERNS.values()) if p.loop is not None and p.searched
}
"""The first pattern that is a loop of each kind: that which the e-graph has."""


def nest(loops: Sequence[Loop], core: Shape) -> Shape:
    """The sketch of a nest of loops around `core`."""
    shape: Shape = core if isinstance(core, Anything) else Containing(core)
    for loop in reversed(loops):
        part = Part("f", shape)
        shape = Containing(OfPattern(_LOOPS[loop.kind], (part,), loop.length))
    return shape


def assign(source: Sequence[Loop], wanted: Sequence[Loop]) -> list[list[int]] | None:
    """For each loop of the program, the loops of the sketch that it is split into; None when there is none.

    >>> from relift.egraph.search.guidance.planning import Loop, assign
    >>> assign([Loop("map", 6), Loop("fold", 10)],
    ...        [Loop("map", 2), Loop("fold", 10), Loop("map", 3)])
    [[0, 2], [1]]

    A loop that the sketch does not speak of has an empty group.
    """
    groups: list[list[int]] = [[] for _ in source]

    def place(i: int) -> bool:
        if i == len(wanted):
            return all(
                not group or _product(wanted[j].length for j in group) == loop.length
                for loop, group in zip(source, groups, strict=True)
            )
        kind = "map" if wanted[i].kind == "lanes" else wanted[i].kind
        for loop, group in zip(source, groups, strict=True):
            so_far = _product(wanted[j].length for j in group) * wanted[i].length
            if loop.kind == kind and loop.length % so_far == 0:
                group.append(i)
                if place(i + 1):
                    return True
                group.pop()
        return False

    return groups if place(0) else None


def _product(numbers: Iterator[int]) -> int:
    total = 1
    for n in numbers:
        total *= n
    return total


def waypoints(source: Sequence[Loop], shape: Shape) -> list[Waypoint] | None:
    """The stages from a program with these loops to a sketch; None when the loops do not correspond.

    Loops that the sketch does not speak of stay inside those that it does.
    """
    spelled, core = loops_wanted(shape)
    groups = assign(source, spelled)
    if groups is None:
        return None
    wanted = list(spelled)
    for loop, group in zip(source, groups, strict=True):
        if not group:
            group.append(len(wanted))
            wanted.append(loop)
    lanes = [i for i, loop in enumerate(wanted) if loop.kind == "lanes"]
    # a vectorised loop and the loop over its vectors are one until the end
    joined = {i: _partner(i, groups) for i in lanes}
    found: list[Waypoint] = []
    now: list[tuple[int, ...]] = [tuple(group) for group in groups]

    def length(part: tuple[int, ...]) -> int:
        return _product(wanted[i].length for i in part)

    def goal() -> Shape:
        return nest([Loop(_plain(wanted[part[0]].kind), length(part)) for part in now], core)

    while (k := next((k for k, part in enumerate(now) if _splits(part, joined)), None)) is not None:
        first, rest = now[k][:1], now[k][1:]
        now[k : k + 1] = [first, rest]
        rule = "split_join" if wanted[first[0]].kind != "fold" else "reduce_seq_chunks"
        found.append(Waypoint(Stage("split and tile", (rule,), 3), goal(), tiles=(length(rest),)))
    order = [part[0] for part in now]
    while (
        k := next((k for k in range(len(order) - 1) if order[k] > order[k + 1]), None)
    ) is not None:
        order[k : k + 2] = reversed(order[k : k + 2])
        now[k : k + 2] = reversed(now[k : k + 2])
        found.append(Waypoint(Stage("reorder", PURPOSES["reorder"], 4), goal()))
    if lanes:
        (width,) = {wanted[i].length for i in lanes}
        stage = Stage("vectorise", PURPOSES["vectorise"], 3)
        found.append(Waypoint(stage, nest(wanted, core), lanes=(width,)))
    return found


def _plain(kind: LoopKind) -> LoopKind:
    return "map" if kind == "lanes" else kind


def _partner(lanes: int, groups: Sequence[Sequence[int]]) -> int | None:
    """The loop over the vectors whose lanes these are."""
    (group,) = [g for g in groups if lanes in g]
    return group[group.index(lanes) - 1] if group.index(lanes) else None


def _splits(part: Sequence[int], joined: Mapping[int, int | None]) -> bool:
    return len(part) > 2 or (len(part) == 2 and joined.get(part[1]) != part[0])


# ---- model sizes


def model_sizes(sizes: Sequence[str], *sketches: Sketch) -> dict[str, int] | None:
    """Primes for the names of the sketches and the other sizes; None when a length is a number there."""
    names = (name for sketch in sketches for name in sketch.names)
    divisors: dict[str, set[str]] = {name: set() for name in (*sizes, *names)}
    for sketch in sketches:
        for node in ast.walk(ast.parse(sketch.text.strip(), mode="eval")):
            match node:
                case ast.Subscript(ast.Name(name), ast.Constant(int())) if name != "array":
                    return None
                case ast.BinOp(ast.Name(name), ast.FloorDiv(), by) if name in divisors:
                    inside = {n.id for n in ast.walk(by) if isinstance(n, ast.Name)}
                    if any(isinstance(n, ast.Constant) for n in ast.walk(by)):
                        return None
                    divisors[name] |= inside
                case _:
                    pass
    primes = iter((5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73))
    own = {name: next(primes) for name in divisors}

    def factors(name: str) -> frozenset[str]:
        return frozenset((name,)).union(*(factors(by) for by in divisors[name]))

    return {name: _product(own[f] for f in factors(name)) for name in divisors}


# ---- tiles

_MOST_CHOICES = 64


def tile_choices(
    sketch: Sketch, sizes: Mapping[str, int], device: DeviceDescription
) -> Iterator[dict[str, int]]:
    """Values for the tiles that a sketch leaves open: powers of two that divide what they must.

    Those come first whose product is closest to what the registers of the device hold.

    >>> from relift.egraph.search.guidance.planning import tile_choices
    >>> from relift.egraph.sketches.language import sketch
    >>> blocked = sketch("map[n // t](map[t // w](map_vec[w](...)))")
    >>> from relift.device import CPU
    >>> [(c["t"], c["w"]) for c in tile_choices(blocked, {"n": 64}, CPU)][:3]
    [(64, 16), (64, 8), (32, 16)]
    """
    open_names = [name for name in sketch.names if name not in sizes]
    widths = {
        n.id
        for node in ast.walk(ast.parse(sketch.text.strip(), mode="eval"))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).startswith("map_vec")
        for n in ast.walk(node.slice)
        if isinstance(n, ast.Name)
    }
    tiles = (64, 32, 16, 8, 4, 2)
    lanes = tuple(w for w in (16, 8, 4, 2) if w <= device.vector_width)
    options = [lanes if name in widths else tiles for name in open_names]

    def rank(values: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        product = _product(iter(values))
        return abs(math.log2(product) - 10) if product else 0.0, tuple(-v for v in values)

    found = 0
    for values in sorted(itertools.product(*options), key=rank):
        chosen = {**sizes, **dict(zip(open_names, values, strict=True))}
        try:
            sketch.at(chosen)
        except BadSketch:
            continue
        yield chosen
        found += 1
        if found == _MOST_CHOICES:
            return
