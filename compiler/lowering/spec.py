"""What a low-level term may contain: checked before any code is generated.

A kernel computes one array, tuple or scalar.  Its work-items are `map_glb(d)`, or `map_lcl(d)` inside
`map_wrg(d)`, outermost and each dimension once; without `map_wrg(d)` there is one group.  What computes an array stands where the array has a
place: in the result, or under `to_local` (in a work-group, outside `map_lcl`) or `to_private`; everywhere
else only layouts stand.  Whatever is refused is named, with the hint.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from relift.compiler.codegen.values.scalars import WIDTHS
from relift.compiler.lowering.threads import Used, describe, fixed, number
from relift.compiler.lowering.updates import updating
from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.indices.inverses import invertible_data, permutes, stays_within
from relift.semantics.indices.views import is_layout, name_of
from relift.semantics.language.programs import Program
from relift.semantics.patterns import (
    Concat,
    EachInTurn,
    EachOf,
    Fold,
    Gather,
    Generate,
    Indexed,
    InOrder,
    InTurn,
    Iterate,
    Let,
    Map,
    MapGlb,
    MapLcl,
    MapSeqUnroll,
    MapVec,
    MapWrg,
    PadEmpty,
    Reduce,
    ReduceByIndex,
    ReduceWhile,
    ScanSeq,
    Scatter,
    Store,
    ToGlobal,
    Zip,
)
from relift.semantics.patterns.opencl import in_group_memory, shown_of_group
from relift.semantics.syntax import terms
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Power
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    holds_array,
    type_sizes,
    types_within,
)

UNROLL_LIMIT = 256
"""Elements of a loop that is written out."""

INDEX_LIMIT = 1 << 24
"""Elements of an array whose index function is checked one by one."""


@dataclass(frozen=True)
class Place:
    """Where a term stands in its kernel.

    `used` are all parallel maps of the kernel, `around` those that enclose the term, `target` the memory
    that its result goes to; `sequential` inside a loop of one work-item, `lanes` inside a vector operation.
    """

    used: Used
    around: Used = frozenset()
    target: Space = Space.GLOBAL
    sequential: bool = False
    lanes: bool = False

    def has(self, m: type[EachOf]) -> bool:
        """Whether such a map encloses the term."""
        return any(m is other for other, _ in self.around)


def check_sizes(program: Program) -> None:
    """Raise `Unsupported` when a size of the program is neither a number nor a sum of products."""
    types = [
        *(p.type for p in program.parameters),
        *(u.type for u, _ in terms.subterms(program.body)),
    ]
    for t in types:
        for size in type_sizes(t):
            if any(isinstance(atom, Power) for atom in size.atoms()):
                fixed(size, f"{program.name}: a power in the type {t}")


def check_kernel(t: terms.Term, used: Used, *, updates: bool = False) -> None:
    """Raise `Unsupported` unless t is the body of one kernel, with these parallel maps; `updates`: of cells that are stored already."""
    for u, _ in terms.subterms(t):
        _check_type(u.type, name_of(u))
        if isinstance(u, terms.Pattern):
            _check_pattern(u)
    maps = {m for m, _ in used}
    if MapGlb in maps and len(maps) > 1:
        raise Unsupported(
            f"one kernel has {describe(used)}; work-items are either global (map_glb) or in groups "
            "(map_wrg, map_lcl); put to_global between the two to make two kernels"
        )
    if updates and isinstance(t, ReduceByIndex):
        _update(t, Place(used), stored=True)
    else:
        _write(t, Place(used))


def _check_type(t: Type, name: str) -> None:
    match t:
        case Vector(element, width):
            if fixed(width, f"{name}: the vector {t}") not in WIDTHS:
                raise Unsupported(f"{name}: vectors of {width} lanes; OpenCL has 2, 3, 4, 8 and 16")
            if any(isinstance(inner, Vector) for inner in types_within(element)):
                raise Unsupported(f"{name}: {t} is a vector of vectors")
        case TypeVariable():
            raise IllTyped(f"{name} has the type {t}, which stands for any type")
        case Array(element, _):
            _check_type(element, name)
        case Tuple(parts):
            for part in parts:
                _check_type(part, name)
        case Scalar():
            pass


def _write(t: terms.Term, place: Place) -> None:
    """Check a term whose result has a place."""
    if is_layout(t) and not isinstance(t, PadEmpty):
        _check_owner(t, place)
        _read(t, place)
        return
    match t:
        case PadEmpty() if place.target.of_device:
            raise Unsupported(
                "pad_empty leaves cells of a global buffer open; write pad(left, right, clamp, xs), which fixes them"
            )
        case InTurn():
            _in_turn(t, place)
        case ScanSeq():
            _check_owner(t, place)
            _scan(t, place)
        case InOrder() if not isinstance(t, ReduceWhile):
            _check_owner(t, place)
            _go_through(t, place)
        case Fold() if isinstance(t.init, InTurn) and not place.target.of_item:
            _write_fold(t, place)
        case Let(f, x) if invertible_data(t) is None:
            _read(x, place)
            _write(f.body, place)
        case Concat(xs, ys):
            _write_each((xs, ys), place)
        case EachOf():
            _read(t.xs, place)
            _write(t.f.body, _under(t, place))
        case ToGlobal():
            _read(t, place)
        case MapVec(f, v) if holds_array(t.type):
            _read(v, place)
            _write(f.body, replace(place, lanes=True, sequential=True))
        case Zip(xs, ys):
            _write_each((xs, ys), place)
        case terms.MakeTuple(parts):
            _write_each(parts, place)
        case Store():
            _check_owner(t, place)
            _read(t, place)
        case terms.Pattern() if (data := invertible_data(t)) is not None:
            _write(data, place)
        case Map():
            raise _plain_map(t)
        case terms.Pattern() if t.layout and isinstance(t.type, Array):
            raise Unsupported(
                f"{t.name} of something that computes: nothing can be written through {t.name}; "
                "compute the array below it with to_global, to_local or to_private"
            )
        case (
            terms.Var() | terms.Input() | terms.Literal() | terms.Apply()
            | terms.Call() | terms.Combine() | terms.Get() | terms.Metavariable()
            | terms.Pattern()
        ):  # fmt: skip
            _check_owner(t, place)
            _read(t, place)


def _write_each(parts: Iterable[terms.Term], place: Place) -> None:
    """Check parts that are written one after the other, each where it lies."""
    for part in parts:
        _write(part, place)


def _write_fold(t: Fold, place: Place) -> None:
    """Check a fold in the array of its result: the first value and each step are written there by one work-item."""
    _check_owner(t, place)
    _write(t.init, place)
    _read(t.xs, place)
    _write(t.f.body, replace(place, sequential=True))


def _check_owner(t: terms.Term, place: Place) -> None:
    """Each cell of shared memory is written by one work-item; of a value that all of a group compute, by the first."""
    missing = frozenset((m, d) for m, d in place.used - place.around if place.target in m.shares)
    if place.target.of_device and not holds_array(t.type):
        missing = frozenset((m, d) for m, d in missing if m is not MapLcl)
    if missing:
        if isinstance(t, Iterate):
            raise Unsupported(
                f"iterate repeats {describe(missing)}, and a kernel is not repeated; write its steps one after the "
                "other, each under to_global"
            )
        raise Unsupported(
            f"{name_of(t)} is written to {place.target} memory by every work-item of "
            f"{describe(missing)} alike; put it under {describe(missing)}"
        )


def _under(t: EachOf, place: Place) -> Place:
    """The place inside a parallel map; raises `Unsupported` where it may not stand."""
    here = f"{t.name}({number(t.dim)})"
    key = type(t), number(t.dim)
    if place.lanes:
        raise Unsupported(f"{here} inside map_vec; a work-item has all lanes of its vectors")
    if place.sequential and not (isinstance(t, MapLcl) and not place.has(MapLcl)):
        raise Unsupported(f"{here} inside a sequential loop; work-items enclose what each one does")
    if key in place.around:
        raise Unsupported(f"{here} inside {here}; each dimension is used once, take another")
    match t.level:
        case "glb":
            pass
        case "wrg":
            if place.has(MapLcl):
                raise Unsupported(f"{here} inside map_lcl; work-groups enclose their work-items")
        case "lcl":
            if (MapWrg, number(t.dim)) in place.used - place.around:
                raise Unsupported(
                    f"{here} outside map_wrg({number(t.dim)}); a work-item of a group needs its group"
                )
        case "warp" | "lane":
            raise AssertionError(f"cannot happen: {t.name} is not compiled")
    return replace(place, around=place.around | {key}, sequential=False)


def _read(t: terms.Term, place: Place) -> None:
    """Check a term whose result is read where it stands."""
    match t:
        case terms.Metavariable(name):
            raise IllTyped(f"{name} is a metavariable; a program has none")
        case Reduce():
            raise Unsupported(
                "reduce has no order yet; lower it to reduce_seq, or let relift optimize find how"
            )
        case Map() if not is_layout(t.f.body):
            raise _plain_map(t)
        case terms.Pattern() if t.fills:
            raise Unsupported(
                f"{t.name} computes an array where none can be stored; put it under to_global, "
                "to_local or to_private"
            )
        case MapVec(f, v):
            _read(v, place)
            if holds_array(t.type) and not is_layout(f.body):
                raise Unsupported(
                    f"map_vec computes {t.type} where none can be stored; put what is around it under to_private"
                )
            _read(f.body, replace(place, lanes=True, sequential=True))
        case Scatter():
            raise Unsupported(
                "scatter is written through, never read; put it under to_global, to_local or "
                "to_private, or gather with the inverse"
            )
        case Iterate(_, f, x):
            _read(x, place)
            if holds_array(t.type):
                _write_state(f.body, x, place)
            else:
                _read(f.body, replace(place, sequential=True))
        case Fold(f, init, xs):
            _read(init, place)
            _read(xs, place)
            _step(f.body, init, place)
        case ToGlobal():
            raise Unsupported(
                "to_global inside a kernel; it stands outside all parallel maps and loops, "
                "between two kernels"
            )
        case Store(xs) if t.space.of_group:
            _check_group(t, place)
            _write(xs, replace(place, target=t.space))
        case ReduceByIndex():
            _update(t, place)
        case InOrder():
            _go_through(t, place)
        case Store(xs) if t.space.of_item and holds_array(xs.type):
            _write(xs, replace(place, target=t.space))
        case (
            terms.Var() | terms.Input() | terms.Literal() | terms.Apply()
            | terms.Call() | terms.Combine() | terms.MakeTuple() | terms.Get()
            | terms.Pattern()
        ):  # fmt: skip
            for _, child in terms.children(t):
                _read(child.body if isinstance(child, terms.Lambda) else child, place)


def _in_turn(t: InTurn, place: Place) -> None:
    """Check a loop; one over the results of a scan goes along with it."""
    if isinstance(t, EachInTurn) and isinstance(t.xs, ScanSeq):
        _scan(t.xs, place)
    else:
        _read(t.xs, place)
    _write(t.f.body, replace(place, sequential=True))


def _scan(t: ScanSeq, place: Place) -> None:
    """Check a scan, whose running results go where they are written."""
    _read(t.init, place)
    _read(t.xs, place)
    _step(t.f.body, t.init, place)


def _step(body: terms.Term, first: terms.Term, place: Place) -> None:
    """Check what a fold does with each element: it goes over an array, that of the first value, or into registers."""
    if holds_array(first.type):
        shared = shown_of_group(first)
        target = Space.PRIVATE if shared is None else shared.space
        _write(body, replace(place, target=target, sequential=True))
    else:
        _read(body, replace(place, sequential=True))


def _go_through(t: InOrder, place: Place) -> None:
    """Check what a work-item looks at in order, and what it asks of each element; one that it overwrites is written."""
    if place.lanes:
        raise Unsupported(f"{t.name} inside map_vec; the lanes of a vector go the same way")
    if isinstance(t, ReduceWhile):
        _check_registers(t, t.init.type)
    for name, child in terms.children(t):
        if isinstance(child, terms.Lambda):
            _read(child.body, replace(place, sequential=True))
        elif name == "into":
            _write(child, place)
        else:
            _read(child, place)


def _write_state(body: terms.Term, first: terms.Term, place: Place) -> None:
    """Check the step of an iteration on an array: it goes where the first value is."""
    if in_group_memory(first):
        _write(
            body.xs if in_group_memory(body) else body,
            replace(place, target=first.space, sequential=True),
        )
    else:
        _write(body, replace(place, target=Space.PRIVATE, sequential=True))


def _update(t: ReduceByIndex, place: Place, *, stored: bool = False) -> None:
    """Check what work-items combine with cells at once, of a group or, where these are `stored` already, of a kernel."""
    items = updating(t, stored=stored)
    _read(t.init, place)
    _read(items.xs, place)
    inside, body = replace(_under(items, place), sequential=True), items.f.body
    if isinstance(body, MapSeqUnroll):
        _read(body.xs, inside)
        body = body.f.body
    _read(body, inside)


def _check_registers(t: terms.Pattern, state: Type) -> None:
    if holds_array(state):
        raise Unsupported(
            f"{t.name} with an accumulator of type {state}; accumulators are scalars, "
            "vectors and tuples of them"
        )


def _check_unrolled(t: terms.Pattern, xs: terms.Term) -> None:
    """Refuse loops that are too long to be written out."""
    if fixed(t.solved["n"], f"{t.name} of {xs.type}") > UNROLL_LIMIT:
        raise Unsupported(
            f"{t.name} of {t.solved['n']} elements; at most {UNROLL_LIMIT} are written out"
        )


def _check_pattern(t: terms.Pattern) -> None:
    """Refuse what is not compiled, and index functions that leave their array."""
    if not t.compiled and not isinstance(t, Reduce):  # which a kernel waits for: see `_read`
        missing = "it is no layout with a view, and compiler/codegen writes no such pattern"
        raise Unsupported(f"{t.name} is not compiled yet; {t.instead or missing}")
    match t:
        case EachInTurn() if t.unrolled:
            _check_unrolled(t, t.xs)
        case Fold() if t.unrolled:
            _check_unrolled(t, t.xs)
        case Generate(_, f) if not is_layout(f.body):
            raise Unsupported(
                "generate computes, and says not where; write map_seq(f, generate(n, lambda i: i)), or "
                "another map that is not map"
            )
        case Indexed() if t.solved["n"] == 0:
            pass  # the index function is applied to nothing
        case Gather(idx) if t.solved["n"].constant is None and stays_within(idx, t.solved["n"]):
            pass
        case Scatter(idx) if t.solved["n"].constant is None and permutes(idx, t.solved["n"]):
            pass
        case Indexed():
            idx = t.idx
            length = fixed(t.solved["n"], f"{t.name} with the index function {idx} of {t.xs.type}")
            if length > INDEX_LIMIT:
                raise Unsupported(
                    f"{t.name} of {length} elements; index functions are checked up to {INDEX_LIMIT}"
                )
            found = np.asarray(idx.at(np.arange(length), {})) + np.zeros(length, np.int64)
            if length and (found.min() < 0 or found.max() >= length):
                raise IllTyped(f"{t.name}: {idx} leaves an array of {length} elements")
            if isinstance(t, Scatter) and len(np.unique(found)) < length:
                raise IllTyped(f"scatter: {idx} is no permutation of {length} indices")
        case terms.Pattern():
            pass


def _check_group(t: Store, place: Place) -> None:
    """Check who fills memory of a group: all work-items of one together."""
    if not place.has(MapWrg) and {m for m, _ in place.used} != {MapLcl}:
        raise Unsupported(f"{t.name} outside map_wrg; {t.space} memory belongs to a work-group")
    if place.has(MapLcl):
        raise Unsupported(
            f"{t.name} inside map_lcl; the work-items of a group fill {t.space} memory together, "
            f"outside the map_lcl that reads it: rl.let(lambda tile: map_lcl(...), {t.name}(...))"
        )
    if place.lanes:
        raise Unsupported(f"{t.name} inside map_vec; fill {t.space} memory before")


def _plain_map(t: Map) -> Unsupported:
    return Unsupported(
        f"map(lambda {t.f.parameters[0].name}: ...) computes, and says not where; lower it to "
        "map_seq, map_glb(d), map_wrg(d), map_lcl(d) or map_vec"
    )
