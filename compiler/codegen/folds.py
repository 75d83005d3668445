"""Folds: loops that carry a value from step to step, in registers, in a private array, or in two local arrays; or update cells at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TypeAlias

from relift.compiler.codegen.arrays import exchanged, into_group, into_private, new_in_group
from relift.compiler.codegen.emission import Emission, Terms, fits_registers
from relift.compiler.codegen.loops import around_loop, copy, in_parallel, loop
from relift.compiler.codegen.passes.fetched_ahead import fetched_ahead
from relift.compiler.codegen.scope import Scope
from relift.compiler.codegen.unrolling import Unrolling, unrolling
from relift.compiler.codegen.values.scalars import CExpression
from relift.compiler.codegen.values.trees import Tree, widened
from relift.compiler.lowering.threads import fixed
from relift.compiler.lowering.updates import update_of, updating
from relift.compiler.text.tree import (
    Binary,
    Evaluation,
    Guard,
    Loop,
    Name,
    Prefix,
    Whole,
    bare,
    call,
)
from relift.semantics.errors import Unsupported
from relift.semantics.indices.atoms import Index, Loaded
from relift.semantics.indices.copies import same_cells
from relift.semantics.indices.views import (
    ArrayView,
    TupleView,
    View,
    array,
    cell,
    is_layout,
    memories_of,
)
from relift.semantics.interpreter import operator_lambda
from relift.semantics.patterns import (
    Accumulating,
    Fold,
    InTurn,
    Iterate,
    MapSeqUnroll,
    ReduceByIndex,
    ScanSeq,
    Stepping,
    Store,
)
from relift.semantics.patterns.opencl import in_group_memory, shown_of_group
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Combine,
    Input,
    Lambda,
    Term,
    free_variables,
    innermost,
    subterms,
)
from relift.semantics.syntax.types import Tuple, holds_array

Result: TypeAlias = Callable[[Index, Scope, View], None]
"""Emits what is made of the running result of a step, whose number is given."""

# ---- in registers


def accumulator_hint(f: Lambda) -> str:
    """What an accumulator is called: an operator as it stands in a file has no names, so its function's are not taken."""
    return "acc" if isinstance(f.body, Combine) else f.parameters[0].name


def reduce(g: Terms, t: Fold, scope: Scope) -> View:
    """Emit a loop that folds into registers."""
    start = _for_all_lanes(g.evaluate(t.init, scope), scope)
    data = array(g.view(t.xs, scope))
    accumulator = g.emission.hold(start, t.init.type, accumulator_hint(t.f), scope, fixed=False)
    _folded(g, t.f, accumulator, data, scope, unrolling(t), lambda i, inner, running: None)
    _fetch_ahead(g.emission, t)
    return accumulator


def _folded(
    g: Terms, f: Lambda, accumulator: View, data: ArrayView, scope: Scope, unroll: Unrolling, result: Result
) -> None:  # fmt: skip
    """Emit a loop that folds into registers, and what is made of each running result."""
    e = g.emission
    if unroll == "here" and _chooses(f.body):
        data = _read_before(e, data, f, scope)

    def step(i: Index, inner: Scope) -> None:
        value = g.evaluate(f.body, e.applied(f, inner, accumulator, data.at(i)))
        e.assign(accumulator, _for_all_lanes(value, scope))
        result(i, inner, accumulator)

    with around_loop(e, f.body):
        loop(e, data, scope, step, unroll=unroll)


def _chooses(t: Term) -> bool:
    """Whether a step chooses between values, for which a driver may branch."""
    for u, _ in subterms(t):
        if isinstance(u, Combine) and isinstance(operator := innermost(u.operator), BinaryOperator):
            if isinstance(u.type, Tuple) and _chooses(operator_lambda(operator, u.type).body):
                return True
        elif isinstance(u, Apply) and u.function == "select":
            return True
    return False


def _read_before(e: Emission, data: ArrayView, f: Lambda, scope: Scope) -> ArrayView:
    """Elements that are all read before the first step: no read goes past a branch, so each would wait for the one before.

    The places of the smallest of 8192 columns take an H200 197 us where each step reads, eight after one another.
    """
    element = f.parameters[1]
    if not fits_registers(element.type):
        return data
    each = range(data.length.constant or 0)
    read = [e.in_registers(data.at(Size.of(k)), element.type, element.name, scope) for k in each]
    return ArrayView(data.length, lambda k: read[k.constant or 0])


def scanned(g: Terms, t: ScanSeq, places: ArrayView, scope: Scope) -> None:
    """Emit a scan that writes each running result."""
    scan(g, t, scope, lambda i, inner, running: copy(g.emission, running, places.at(i), inner))


def scan(g: Terms, t: ScanSeq, scope: Scope, result: Result) -> None:
    """Emit a loop that folds into registers, or into an array, and what is made of each running result."""
    if holds_array(t.init.type):
        in_place(g, t, None, scope, result)
        return
    data = array(g.view(t.xs, scope))
    start = _for_all_lanes(g.evaluate(t.init, scope), scope)
    accumulator = g.emission.hold(start, t.init.type, accumulator_hint(t.f), scope, fixed=False)
    _folded(g, t.f, accumulator, data, scope, "no", result)


def iterate(g: Terms, t: Iterate, scope: Scope) -> View:
    """Emit a loop that applies f to registers."""
    e, f = g.emission, t.f
    start = _for_all_lanes(g.evaluate(t.x, scope), scope)
    state = e.hold(start, t.x.type, f.parameters[0].name, scope, fixed=False)

    def step(_: Index, inner: Scope) -> None:
        value = g.evaluate(f.body, e.applied(f, inner, state))
        e.assign(state, _for_all_lanes(value, scope))

    with around_loop(e, f.body):
        loop(e, ArrayView(t.m, lambda _: state), scope, step)
    return state


def _for_all_lanes(value: Tree, scope: Scope) -> Tree:
    """A value as a register holds it: inside a vector operation each lane has one."""
    return widened(value, None if scope.lane is None else scope.lane.width)


# ---- in private memory


def in_place(
    g: Terms,
    t: Stepping,
    target: View | None,
    scope: Scope,
    result: Result | None = None,
) -> View:
    """Emit a loop that folds into an array in private memory, or into a tuple that holds one, in place.

    The array is the one that `to_private` of the first value makes, that of the fold that gives the first value, at the
    end of the step of another fold the array of that one, or, where a `map_seq` computes the first value, the target.  With a target, the result is copied there unless it lies there
    already; what else is made of the result of each step may be given.
    """
    e, f = g.emission, t.f
    accumulator = _accumulator(g, t, target, scope)
    nothing = TupleView(())
    if isinstance(t, Iterate):
        data = ArrayView(t.m, lambda _: nothing)
    else:
        assert isinstance(t, Accumulating), "cannot happen: it goes through no array"
        data = array(g.view(t.xs, scope))
    own = frozenset(m.name for m in memories_of(accumulator))
    captured = free_variables(f.body) - {x.name for x in f.parameters}
    others = (data, *(scope.environment.variables[name] for name in captured))
    if any(m.name in own for v in others for m in memories_of(v)):
        raise _not_in_place(t, "also reads it by another name, while parts of it are new")
    with e.accesses.in_fold(own) as fold:

        def step(i: Index, inner: Scope) -> None:
            e.accesses.begin(fold)
            arguments = [accumulator] if isinstance(t, Iterate) else [accumulator, data.at(i)]
            g.write(f.body, accumulator, e.applied(f, inner, *arguments))
            if (read := fold.conflict()) is not None:
                raise _not_in_place(
                    t, f"reads element {read.offset} of it where others are written"
                )
            if result is not None:
                result(i, inner, accumulator)

        shared = any(m.space.of_group for m in memories_of(accumulator))
        with nullcontext() if shared else around_loop(e, f.body):
            loop(e, data, scope, step, unroll=unrolling(t))
    _fetch_ahead(e, t)
    if target is not None and target is not accumulator:
        copy(e, accumulator, target, scope)
    return accumulator


def _fetch_ahead(e: Emission, t: Stepping) -> None:
    """What was written last is the loop of a fold; where it is one that fetches ahead, its turns do."""
    if not (isinstance(t, Fold) and t.ahead) or t.solved["n"] == 1:
        return
    if not t.solved["n"].surely_at_least(1):
        raise Unsupported(
            f"reduce_seq_ahead of {t.solved['n']} elements, which may be none; use reduce_seq"
        )
    s = e.body.taken_back()
    assert isinstance(s, Loop), "cannot happen: a fold of several elements is a loop"
    ahead, e.local_arrays = fetched_ahead(s, e.local_arrays, e.body.fresh)
    e.body.add(ahead)


def _accumulator(g: Terms, t: Stepping, target: View | None, scope: Scope) -> View:
    """Where the array of a fold lies, with its first value in it."""
    first = t.first
    if isinstance(first, Store) and first.space.of_item:
        return into_private(g, first.xs, scope, first.space)
    if shown_of_group(first) is not None:
        return g.view(first, scope)
    if isinstance(first, Stepping) and not first.fills:
        return in_place(g, first, None, scope)  # nobody else reads what it comes to
    if target is not None and is_layout(first) and same_cells(g.view(first, scope), target):
        return target
    if target is not None and isinstance(first, InTurn):
        g.write(first, target, scope)
        return target
    raise Unsupported(
        f"{t.name} with an accumulator of type {first.type} that has no memory; write to_private "
        "around the computation of its first value"
    )


def _not_in_place(t: Stepping, why: str) -> Unsupported:
    return Unsupported(
        f"{t.name} updates its accumulator of type {t.type} in place, but its step {why}; "
        "read each element where it is written, or copy the array first with to_private"
    )


# ---- in local memory


def iterate_in_group(g: Terms, t: Iterate, first: Store, scope: Scope) -> View:
    """Emit a loop that applies f to an array in local memory: each run reads one array and writes another.

    The two change their roles by an exchange of pointers.
    """
    e, f = g.emission, t.f
    start = into_group(g, first, scope)
    old, new, exchange = exchanged(e, start, new_in_group(e, t.type, first.space), t.type)

    def step(_: Index, inner: Scope) -> None:
        body = f.body.xs if in_group_memory(f.body) else f.body
        g.write(body, new, e.applied(f, inner, old))
        exchange()

    loop(e, ArrayView(t.m, lambda _: old), scope, step)
    return old


# ---- in cells that many update at once


def updated(g: Terms, t: ReduceByIndex, scope: Scope) -> View:
    """Emit a loop of work-items, in which each combines what it has with the cells that it is for.

    The memory is that of the first values, and of this fold alone: nobody else reads what lies there before.  It is that of a
    group, or what an earlier kernel has stored, which all work-items of this one update.
    """
    stored = isinstance(t.init, Input)
    e, items = g.emission, updating(t, stored=stored)
    cells = array(_first_cells(g, t.init, scope))
    function = update_of(t, Space.GLOBAL if stored else Space.LOCAL)
    assert function is not None, "cannot happen: what updates cells was checked"
    data = array(g.view(items.xs, scope))

    end, body = e.addressing.index(cells.length), items.f.body

    def named(pair: Tree) -> tuple[Name, CExpression]:
        assert isinstance(pair, tuple), "cannot happen: a fold of pairs"
        key, value = e.named(_scalar(pair[0]), "at", anew=True), e.named(_scalar(pair[1]), "v")
        assert isinstance(key.code, Name), "cannot happen: a register has a name"
        return key.code, value

    def element(i: Index, inner: Scope) -> None:
        here = e.applied(items.f, inner, data.at(i))
        if isinstance(body, MapSeqUnroll):  # all are read before the first cell is updated
            row = array(g.view(body.xs, here))
            each = range(fixed(row.length, body.name))
            own = [
                g.evaluate(body.f.body, e.applied(body.f, here, row.at(Size.of(k)))) for k in each
            ]
        else:
            own = [g.evaluate(body, here)]
        for key, value in [named(pair) for pair in own]:
            place = cells.at(Size.atom(Loaded(key.name, None, cells.length)))
            inside = Binary("&&", Binary(">=", key, Whole(0)), Binary("<", key, end))
            with e.barriers.skippable(), e.body.block(partial(Guard, inside)):
                code = bare(_scalar(e.read(place, inner)).code)
                e.accesses.written(cell(place), None)
                e.statement(Evaluation(call(function, Prefix("&", code), value.code)))

    in_parallel(e, items, data.length, scope, element)
    return cells


def _first_cells(g: Terms, t: Term, scope: Scope) -> View:
    """Where cells lie that are updated, with their first values."""
    if isinstance(t, ReduceByIndex):
        return updated(g, t, scope)
    if isinstance(t, Input):
        return g.view(t, scope)
    assert isinstance(t, Store), "cannot happen: what updates cells was checked"
    return into_group(g, t, scope)


def _scalar(value: Tree) -> CExpression:
    assert isinstance(value, CExpression), "cannot happen: a key and a value are scalars"
    return value
