"""What one work-item computes in loops that look at one element after the other: searches, filters, sorts, scattering.

    search        the number of the first element that is found; then the element, or the default
    reduce_while  as many elements as were taken say whether to go on: it stops at the first that is not
    filtered      each element that is kept goes where the count says, and the count goes on
    sorted_       each element goes along those before it, which are in order, and takes the place of the first that it
                  must be before; that one goes on, and so do all after it
    scattered     each element goes where its index says
    looked_up     a cell, or where an index has none a default, of which the loops run only then

No loop is left early: what is after the end of a search does nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from relift.compiler.codegen.emission import Terms
from relift.compiler.codegen.folds import accumulator_hint
from relift.compiler.codegen.loops import around_loop, copy, loop
from relift.compiler.codegen.scope import Scope
from relift.compiler.codegen.values.scalars import CExpression, c_type
from relift.compiler.codegen.values.trees import Tree, as_view
from relift.compiler.lowering.distribution import PRIVATE_LIMIT
from relift.compiler.text.tree import (
    Assignment,
    Binary,
    Declaration,
    Expression,
    Guard,
    Name,
    Whole,
    bare,
    wrapped,
)
from relift.semantics.errors import Unsupported
from relift.semantics.indices.atoms import Index, Loaded
from relift.semantics.indices.copies import same_cells
from relift.semantics.indices.stored import stored
from relift.semantics.indices.views import (
    ArrayView,
    Condition,
    TupleView,
    View,
    array,
    guarded,
    is_layout,
    tuple_view,
)
from relift.semantics.patterns import (
    AtRuntime,
    BinarySearch,
    FilterSeq,
    InOrder,
    InsertionSortSeq,
    LinearSearch,
    ReduceWhile,
    ScatterIndices,
    Search,
)
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Lambda
from relift.semantics.syntax.types import Array, holds_array, i32

_MOST_BITS = 31


def write(g: Terms, t: InOrder, target: View, scope: Scope) -> None:
    """Emit what computes an array, or a tuple that holds one, into its place."""
    match t:
        case FilterSeq():
            _filtered(g, t, target, scope)
        case InsertionSortSeq():
            _sorted(g, t, array(target), scope)
        case ScatterIndices():
            _scattered(g, t, array(target), scope)
        case InOrder():
            copy(g.emission, shown(g, t, scope), target, scope)


def shown(g: Terms, t: InOrder, scope: Scope) -> View:
    """Emit what computes a value, and say where it is."""
    if isinstance(t, ReduceWhile):
        return _reduced(g, t, scope)
    assert isinstance(t, Search), f"cannot happen: {t.name} has its place in memory"
    data = array(g.view(t.xs, scope))
    default = g.view(t.default, scope)
    place = _first(g, t, data, scope)
    found = data.at(Size.atom(Loaded(place, None, data.length)))
    return guarded(Condition(Size.atom(Loaded(place, None, None)), data.length), found, default)


# ---- registers and conditions


def _counter(g: Terms, hint: str, start: Expression) -> CExpression:
    """A new whole number that changes."""
    e = g.emission
    name = e.body.fresh(hint)
    e.statement(Declaration(c_type(i32), name, None, start))
    return CExpression(Name(name), i32)


def _set(g: Terms, counter: CExpression, value: Expression, operator: str = "=") -> None:
    g.emission.statement(Assignment(counter.code, operator, value))


def _now(g: Terms, counter: CExpression, n: Size) -> Index:
    """What a counter is here, as an index below n: a name of its own, which does not change."""
    held = g.emission.named(counter, "at", anew=True)
    return Size.atom(Loaded(_name(held), None, n))


def _name(e: CExpression) -> str:
    assert isinstance(e.code, Name), "cannot happen: a register has a name"
    return e.code.name


@contextmanager
def _where(g: Terms, condition: Expression) -> Generator[None]:
    """What is emitted inside happens where the condition holds."""
    e = g.emission
    with e.barriers.skippable(), e.body.block(lambda inside: Guard(condition, inside)):
        yield


def _scalar(value: Tree) -> CExpression:
    assert isinstance(value, CExpression), "cannot happen: a condition is a scalar"
    return value


def _holds(g: Terms, f: Lambda, scope: Scope, *arguments: View) -> Expression:
    """The condition that f computes."""
    return bare(_scalar(g.evaluate(f.body, g.emission.applied(f, scope, *arguments))).code)


def _number(g: Terms, n: Size) -> Expression:
    return g.emission.addressing.index(n)


# ---- searches


def _first(g: Terms, t: Search, data: ArrayView, scope: Scope) -> str:
    """The name of the number of the element that is found; of none, the length of the array."""
    match t:
        case LinearSearch():
            place = _linear(g, t.f, data, scope)
        case BinarySearch():
            place = _binary(g, t.f, data, scope)
        case Search():
            raise AssertionError(f"cannot happen: {t.name} is compiled")
    return _name(g.emission.named(place, "place", anew=True))


def _linear(g: Terms, f: Lambda, data: ArrayView, scope: Scope) -> CExpression:
    e = g.emission
    place = _counter(g, "found", _number(g, data.length))

    def step(i: Index, inner: Scope) -> None:
        with _where(g, Binary("==", place.code, _number(g, data.length))):
            block = inner.block()
            value = _scalar(g.evaluate(f.body, e.applied(f, block, data.at(i))))
            with _where(g, Binary("==", e.named(value, "v").code, Whole(0))):
                _set(g, place, _number(g, i))

    with around_loop(e, f.body):
        loop(e, data, scope, step)
    return place


def _binary(g: Terms, f: Lambda, data: ArrayView, scope: Scope) -> CExpression:
    """What is sought is at `low` or after it, and before `high`, which stands on it or after it."""
    e, n = g.emission, data.length
    low, high = _counter(g, "low", Whole(0)), _counter(g, "high", _number(g, n))
    found = _counter(g, "found", _number(g, n))
    turns = Size.of(_MOST_BITS if n.constant is None else n.constant.bit_length())

    def step(_: Index, inner: Scope) -> None:
        with _where(g, Binary("<", low.code, high.code)):
            block = inner.block()
            half = Binary("/", wrapped(Binary("-", high.code, low.code)), Whole(2))
            middle = e.named(CExpression(Binary("+", low.code, half), i32), "middle")
            at = Size.atom(Loaded(_name(middle), None, n))
            value = _scalar(g.evaluate(f.body, e.applied(f, block, data.at(at))))
            value = e.named(value, "v")
            with _where(g, Binary(">", value.code, Whole(0))):
                _set(g, low, Binary("+", middle.code, Whole(1)))
            with _where(g, Binary("<=", value.code, Whole(0))):
                _set(g, high, middle.code)
            with _where(g, Binary("==", value.code, Whole(0))):
                _set(g, found, middle.code)

    with around_loop(e, f.body):
        loop(e, ArrayView(turns, lambda _: TupleView(())), scope, step)
    return found


# ---- folds that stop


def _reduced(g: Terms, t: ReduceWhile, scope: Scope) -> View:
    e, f = g.emission, t.f
    data = array(g.view(t.xs, scope))
    first = g.evaluate(t.init, scope)
    accumulator = e.hold(first, t.init.type, accumulator_hint(f), scope, fixed=False)
    taken = _counter(g, "taken", Whole(0))

    def step(i: Index, inner: Scope) -> None:
        with _where(g, Binary("==", taken.code, _number(g, i))):
            block = inner.block()
            with _where(g, _holds(g, t.p, block, accumulator, data.at(i))):
                further = block.block()
                value = g.evaluate(f.body, e.applied(f, further, accumulator, data.at(i)))
                e.assign(accumulator, value)
                _set(g, taken, Whole(1), "+=")

    with around_loop(e, f.body):
        loop(e, data, scope, step)
    return TupleView((as_view(taken, i32, None), accumulator))


# ---- lookups with a default that takes long


def looked_up(g: Terms, t: AtRuntime, scope: Scope) -> View:
    """Emit a lookup whose default is computed only where there is no such cell."""
    e, n = g.emission, t.solved["n"]
    index = e.named(_scalar(g.evaluate(t.index, scope)), "place")
    cell = g.evaluate(t.of_cells(), scope)
    found = e.hold(cell, t.type, "found", scope, fixed=False)
    before = Binary("<", index.code, Whole(0))
    with _where(g, Binary("||", before, Binary(">=", index.code, _number(g, n)))):
        e.assign(found, g.evaluate(t.default, scope.block()))
    return found


# ---- filters, sorts, scattering


def _filtered(g: Terms, t: FilterSeq, target: View, scope: Scope) -> None:
    e = g.emission
    count, places = tuple_view(target).parts
    places, data = array(places), array(g.view(t.xs, scope))
    n = data.length
    fill = g.view(t.fill, scope)
    kept = _counter(g, "kept", Whole(0))

    def step(i: Index, inner: Scope) -> None:
        (x,) = t.p.parameters
        element = data.at(i)
        if not holds_array(x.type):
            element = e.hold(e.read(element, inner), x.type, x.name, inner)
        with _where(g, _holds(g, t.p, inner, element)):
            copy(e, element, places.at(_now(g, kept, n)), inner.block())
            _set(g, kept, Whole(1), "+=")

    def rest(i: Index, inner: Scope) -> None:
        with _where(g, Binary(">=", _number(g, i), kept.code)):
            copy(e, fill, places.at(i), inner.block())

    with around_loop(e, t.p.body):
        loop(e, data, scope, step)
    loop(e, data, scope, rest)
    e.store(kept, count, scope)


def _sorted(g: Terms, t: InsertionSortSeq, places: ArrayView, scope: Scope) -> None:
    data = array(g.view(t.xs, scope))
    assert isinstance(t.type, Array), "cannot happen: a sort is of an array"
    if not holds_array(t.type.element):
        _inserted(g, t, data, places, scope)
        return
    order = _order(g, data.length)  # elements that fill memory stay where they are until the end
    numbers = ArrayView(data.length, lambda i: as_view(CExpression(_number(g, i), i32), i32, None))
    _inserted(g, t, numbers, order, scope, of=data)

    def step(i: Index, inner: Scope) -> None:
        copy(g.emission, _chosen(g, data, order.at(i), inner), places.at(i), inner)

    loop(g.emission, data, scope, step)


def _order(g: Terms, n: Size) -> ArrayView:
    """Private memory for the numbers of n elements."""
    e = g.emission
    if n.constant is None or n.constant * i32.bytes > PRIVATE_LIMIT:
        raise Unsupported(
            f"insertion_sort_seq of {n} arrays: their order needs {4 * n} bytes in a work-item, at most {PRIVATE_LIMIT} "
            "are supported; sort chunks of them"
        )
    found = array(stored(e.body.fresh("order"), Array(i32, n), Space.PRIVATE))
    e.statement(Declaration(c_type(i32), _memory(found), Whole(n.constant), None))
    return found


def _memory(v: ArrayView) -> str:
    from relift.semantics.indices.views import memories_of

    (memory,) = memories_of(v)
    return memory.name


def _chosen(g: Terms, data: ArrayView, number: View, scope: Scope) -> View:
    """The element of this number."""
    held = g.emission.named(_scalar(g.emission.read(number, scope)), "at", anew=True)
    return data.at(Size.atom(Loaded(_name(held), None, data.length)))


def _inserted(
    g: Terms,
    t: InsertionSortSeq,
    data: ArrayView,
    places: ArrayView,
    scope: Scope,
    of: ArrayView | None = None,
) -> None:
    """Sort what `data` shows into places: elements, or the numbers of elements `of` an array."""
    e = g.emission
    assert isinstance(t.type, Array), "cannot happen: a sort is of an array"
    kind = t.type.element if of is None else i32

    def before(x: View, y: View, inner: Scope) -> Expression:
        if of is not None:
            x, y = (_chosen(g, of, v, inner) for v in (x, y))
        return _holds(g, t.before, inner, x, y)

    def insert(i: Index, outer: Scope) -> None:
        moving = e.hold(e.read(data.at(i), outer), kind, "moving", outer, fixed=False)
        open_ = _counter(g, "open", Whole(1))

        def step(j: Index, inner: Scope) -> None:
            here = e.hold(e.read(places.at(j), inner), kind, "here", inner)
            with _where(g, Binary("==", open_.code, Whole(1))):
                block = inner.block()
                with _where(g, before(moving, here, block)):
                    _set(g, open_, Whole(0))
            with _where(g, Binary("==", open_.code, Whole(0))):
                e.store(e.read(moving, inner), places.at(j), inner)
                e.assign(moving, e.read(here, inner))

        loop(e, ArrayView(i, places.at), outer, step)
        e.store(e.read(moving, outer), places.at(i), outer)

    loop(e, data, scope, insert)


def _scattered(g: Terms, t: ScatterIndices, places: ArrayView, scope: Scope) -> None:
    e = g.emission
    if not (is_layout(t.into) and same_cells(g.view(t.into, scope), places)):
        g.write(t.into, places, scope)
    ids, xs = array(g.view(t.ids, scope)), array(g.view(t.xs, scope))

    def step(j: Index, inner: Scope) -> None:
        held = e.named(_scalar(e.read(ids.at(j), inner)), "at", anew=True)
        copy(e, xs.at(j), places.at(Size.atom(Loaded(_name(held), None, places.length))), inner)

    loop(e, xs, scope, step)
