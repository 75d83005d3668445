"""Loops: of one work-item over the elements of an array, and of work-items over those of a parallel map.

What is done with an element is given as a function; where no loop is needed, for one element or one that each
work-item has, there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial

from relift.compiler.codegen.emission import Emission
from relift.compiler.codegen.scope import Scope
from relift.compiler.codegen.unrolling import WRITTEN_OUT, Unrolling
from relift.compiler.lowering.distribution import work_item
from relift.compiler.lowering.threads import number
from relift.compiler.text.tree import (
    Advice,
    Binary,
    Guard,
    Loop,
    Name,
    Statement,
    Whole,
    statements_within,
)
from relift.semantics.indices.atoms import Index, depends_on
from relift.semantics.indices.components import turned
from relift.semantics.indices.expressions import modulo, variable
from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    CodeValue,
    Guarded,
    Leaf,
    TupleView,
    VectorView,
    View,
    array,
    leaves,
    memories_of,
    tuple_view,
    vector,
)
from relift.semantics.patterns import EachOf, MapLcl
from relift.semantics.patterns.opencl import in_group_memory
from relift.semantics.syntax.sizes import Size, Unknown
from relift.semantics.syntax.terms import Term, subterms


def loop(
    e: Emission,
    data: ArrayView,
    scope: Scope,
    body: Callable[[Index, Scope], None],
    *,
    unroll: Unrolling = "no",
) -> None:
    """Emit `body` for each element; no loop for one element, and none over lanes in registers."""
    n = data.length.constant
    if n == 1 and e.analyses.control_flow:
        body(Size.of(0), scope.block())
    elif unroll == "here" or (n is not None and n <= WRITTEN_OUT and _over_lanes(data)):
        for k in range(number(data.length)):
            with e.barriers.loop_body():
                body(Size.of(k), scope.block())  # the accumulator has changed: compute again
    elif n != 0:
        i = e.body.fresh("i")
        e.barriers.before_statement()
        end = e.addressing.index(data.length)
        always = data.length.surely_at_least(1)

        def looped(inside: tuple[Statement, ...]) -> Loop:
            t, advice = e.addressing.number, _advice(unroll, inside)
            return Loop(t, i, Whole(0), end, Whole(1), inside, advice)

        with (
            e.accesses.in_loop(i, data.length, unroll),
            nullcontext() if always else e.barriers.skippable(),
            e.body.block(looped),
            e.barriers.loop_body(),
        ):
            body(variable(i, data.length), scope.block())


def around_loop(e: Emission, body: Term) -> AbstractContextManager[None]:
    """A loop that fills no memory of its group needs no barrier inside, so one before it is enough."""
    fills = any(in_group_memory(u) for u, _ in subterms(body))
    return nullcontext() if fills or not e.analyses.barriers else e.barriers.unit()


def in_parallel(
    e: Emission,
    t: EachOf,
    length: Size,
    scope: Scope,
    body: Callable[[Index, Scope], None],
) -> None:
    """Emit `body` for the element of a parallel map that the work-item or work-group has."""
    count = e.threads.count(t)
    name = f"{t.level}_{number(t.dim)}"
    end, simple = e.addressing.index(length), e.analyses.control_flow
    enough = count is not None and (count - length).surely_at_least(0)
    always = count is not None and (length - count).surely_at_least(0)
    with _work_items(e, t):
        if length == count and simple:
            body(variable(name, length), scope)
        elif enough and simple:
            with (
                e.barriers.skippable(),
                e.body.block(lambda inside: Guard(Binary("<", Name(name), end), inside)),
            ):
                body(variable(name, length), scope.block())
        else:
            i, first = e.body.fresh("i"), Name(name)
            step = Name(f"{name}_count") if count is None else e.addressing.index(count)
            with (
                nullcontext() if always else e.barriers.skippable(),
                e.body.block(lambda inside: Loop(e.addressing.number, i, first, end, step, inside)),
                nullcontext() if enough else e.barriers.loop_body(),
            ):
                body(variable(name if enough else i, length), scope.block())


@contextmanager
def _work_items(e: Emission, t: EachOf) -> Generator[None, None, None]:
    """In a `map_lcl`, the work-items of the group go different ways, and none waits for another."""
    if not isinstance(t, MapLcl):
        yield
        return
    with e.accesses.in_work_items(None if e.threads.count(t) == 1 else work_item(t)):
        with e.barriers.unit():
            yield
        if not e.analyses.barriers:
            e.barriers.here()


@contextmanager
def by_the_first(e: Emission, target: View) -> Generator[None, None, None]:
    """What all work-items of a group compute alike is written for all groups by the first of them."""
    items = {f"{m.level}_{d}" for m, d in e.threads.used if m is MapLcl and e.threads.local[d] > 1}
    alike = sorted(items - e.accesses.work_items)
    if not alike or not any(memory.space.of_device for memory in memories_of(target)):
        yield
        return
    first = [Binary("<", Name(item), Whole(1)) for item in alike]
    with e.barriers.unit(), ExitStack() as guards:
        for condition in first:
            guards.enter_context(e.body.block(partial(Guard, condition)))
        yield


def copy(e: Emission, source: View, target: View, scope: Scope) -> None:
    """Emit loops that copy what a view shows."""
    match source:
        case ArrayView(_, element):
            place = array(target).at
            loop(e, source, scope, lambda i, inner: copy(e, element(i), place(i), inner))
        case TupleView(parts):
            for part, at in zip(parts, tuple_view(target).parts, strict=True):
                copy(e, part, at, scope)
        case VectorView() if (both := _arrays_of(source, target)) is not None:
            copy(e, *both, scope)
        case VectorView() | Cell() | CodeValue() | Guarded():  # lanes all at once
            e.store(e.read(source, scope), target, scope)


def _arrays_of(source: VectorView, target: View) -> tuple[View, View] | None:
    """Vectors of arrays as arrays of vectors."""
    inside, outside = turned(source), turned(vector(target))
    return None if inside is None or outside is None else (inside, outside)


def _advice(unroll: Unrolling, inside: tuple[Statement, ...]) -> Advice | None:
    """What the driver is told of a loop: to keep one as it is around another that it should write out."""
    if unroll == "by the driver":
        return "unroll"
    nested = (s.unroll for s in statements_within(inside) if isinstance(s, Loop))
    return "keep" if unroll == "no" and "unroll" in nested else None


def _over_lanes(data: ArrayView) -> bool:
    """Whether an element of the array is a lane of a register, chosen by its index."""
    i = variable(Unknown("each"), data.length)
    return any(_is_lane(leaf, i) for leaf in leaves(data.at(i)))


def _is_lane(leaf: Leaf, i: Index) -> bool:
    """Whether i says which lane of a vector a leaf is: of one with a name, or of one in a private array."""
    match leaf:
        case CodeValue(lane=lane):
            return lane is not None and depends_on(lane, i)
        case Cell(memory, offset):
            vectors = memory.space.of_item and memory.width is not None
            return vectors and depends_on(modulo(offset, memory.width or 1), i)
        case Guarded(_, inside, outside):
            return _is_lane(inside, i) or _is_lane(outside, i)
