"""The body of a kernel, from a low-level term.

A term is *viewed* where its value is read: layouts become index functions, and what computes is emitted
before the reader and viewed where its result lies.  It is *written* where its result has a place already:
parallel and sequential maps become work-items and loops around the writing of one element, and invertible
layouts change the place.  Scalars, vectors and tuples of them are *evaluated* to C expressions.

Equal terms that compute, with the same values of their variables, are computed once in a block.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from relift.compiler.codegen import evaluation, folds, in_order
from relift.compiler.codegen.arrays import into_group, into_private
from relift.compiler.codegen.body import Body
from relift.compiler.codegen.emission import Emission
from relift.compiler.codegen.loops import around_loop, by_the_first, copy, in_parallel, loop
from relift.compiler.codegen.scope import Scope
from relift.compiler.codegen.unrolling import unrolling
from relift.compiler.codegen.values.scalars import literal
from relift.compiler.codegen.values.trees import Tree, as_value
from relift.semantics.errors import Unsupported
from relift.semantics.indices.atoms import Index
from relift.semantics.indices.components import component_view
from relift.semantics.indices.inverses import invert_layout, invertible_data
from relift.semantics.indices.views import (
    ArrayView,
    TupleView,
    VectorView,
    View,
    Views,
    array,
    is_layout,
    name_of,
    tuple_view,
    vector,
    view,
)
from relift.semantics.patterns import (
    AtRuntime,
    Concat,
    EachInTurn,
    EachOf,
    Fold,
    InOrder,
    InTurn,
    Iterate,
    Let,
    MapSeqSlide,
    MapVec,
    ReduceByIndex,
    ScanSeq,
    Stepping,
    Store,
    ToGlobal,
    Zip,
)
from relift.semantics.patterns.layout import windows_viewed
from relift.semantics.patterns.opencl import in_group_memory
from relift.semantics.syntax.terms import (
    Apply,
    Call,
    Combine,
    Get,
    Input,
    Literal,
    MakeTuple,
    Metavariable,
    Pattern,
    Term,
    Var,
)
from relift.semantics.syntax.types import Array, Tuple, cells, holds_array


class Generator:
    """Emits the statements of one kernel, or of one C function."""

    def __init__(self, emission: Emission) -> None:
        self._emission = emission

    @property
    def emission(self) -> Emission:
        """What is written so far."""
        return self._emission

    def inside(self, body: Body) -> Generator:
        """One for a C function of its own."""
        return Generator(Emission(body, self._emission.functions))

    # ---- writing: the result has a place

    def write(self, t: Term, target: View, scope: Scope) -> None:
        """Emit what computes t into `target`."""
        if cells(t.type) == 0:
            return
        if is_layout(t):
            self._copy(t, target, scope)
            return
        match t:
            case InTurn():
                self._in_turn(t, target, scope)
            case ScanSeq():
                folds.scanned(self, t, array(target), scope)
            case InOrder():
                in_order.write(self, t, target, scope)
            case Stepping() if holds_array(t.type):
                if in_group_memory(t.first):
                    self._copy(t, target, scope)
                else:
                    folds.in_place(self, t, target, scope)
            case Let(f, x) if invertible_data(t) is None:
                self.write(f.body, target, scope.bind(f, self.view(x, scope)))
            case Concat(xs, ys):
                places, n = array(target), t.solved["n"]
                self.write(xs, ArrayView(n, places.at), scope)
                self.write(ys, ArrayView(t.solved["m"], lambda i: places.at(i + n)), scope)
            case EachOf():
                self._in_parallel(t, target, scope)
            case MapVec() if holds_array(t.type):
                self._in_lanes(t, vector(target), scope)
            case ToGlobal(xs):
                self.write(xs, target, scope)
            case Zip(xs, ys):
                self.write(xs, component_view(target, 0), scope)
                self.write(ys, component_view(target, 1), scope)
            case MakeTuple() if holds_array(t.type):
                self._part_by_part(t, tuple_view(target), scope)
            case Store() if holds_array(t.type):
                self._copy(t, target, scope)
            case ReduceByIndex(_, Input()):  # its cells lie there already
                folds.updated(self, t, scope)
            case ReduceByIndex():
                self._copy(t, target, scope)
            case Pattern() if (inverted := invert_layout(t, target)) is not None:
                self.write(*inverted, scope)
            case Get() if holds_array(t.type):
                self._copy(t, target, scope)  # one of several that are computed together and stored
            case Pattern() if isinstance(t.type, Tuple) and holds_array(t.type):
                self._copy(t, target, scope)  # one of several tuples, whose arrays are stored
            case (
                Var() | Input() | Literal() | Apply() | Call() | Combine() | MakeTuple() | Get()
                | Metavariable() | Pattern()
            ):  # fmt: skip
                assert not isinstance(t.type, Array), f"cannot happen: {name_of(t)} has no inverse"
                value = self.evaluate(t, scope)
                with by_the_first(self._emission, target):
                    self._emission.store(value, target, scope)

    def _part_by_part(self, t: MakeTuple, target: TupleView, scope: Scope) -> None:
        """Emit the parts of a tuple; where they go over the values that they are computed of, scalars are read first."""
        e, pairs = self._emission, list(zip(t.parts, target.parts, strict=True))
        if not e.accesses.folding:
            for part, place in pairs:
                self.write(part, place, scope)
            return
        held = {
            i: e.hold(self.evaluate(part, scope), part.type, "v", scope)
            for i, (part, _) in enumerate(pairs)
            if not holds_array(part.type)
        }
        for i, (part, place) in enumerate(pairs):
            if i not in held:
                self.write(part, place, scope)
        for i, value in held.items():
            e.store(e.read(value, scope), pairs[i][1], scope)

    def _copy(self, t: Term, target: View, scope: Scope) -> None:
        shown = self.view(t, scope)
        with nullcontext() if holds_array(t.type) else by_the_first(self._emission, target):
            copy(self._emission, shown, target, scope)

    def _in_turn(self, t: InTurn, target: View, scope: Scope) -> None:
        """Emit a loop over what a sequential map works on."""
        e, f, places = self._emission, t.f, array(target)
        if isinstance(t, EachInTurn) and isinstance(t.xs, ScanSeq):

            def result(i: Index, inner: Scope, running: View) -> None:
                self.write(f.body, places.at(i), e.applied(f, inner, running))

            folds.scan(self, t.xs, scope, result)
            return
        data = array(self.view(t.xs, scope))
        if isinstance(t, MapSeqSlide):
            data = array(windows_viewed(Views(t.name), t.solved["k"], t.size, t.step, data))

        def element(i: Index, inner: Scope) -> None:
            self.write(f.body, places.at(i), e.applied(f, inner, data.at(i)))

        with around_loop(e, f.body):
            loop(e, data, scope, element, unroll=unrolling(t))

    def _in_parallel(self, t: EachOf, target: View, scope: Scope) -> None:
        """Emit one element of a parallel map, for the work-item or work-group that has it."""
        e, f = self._emission, t.f
        data, places = array(self.view(t.xs, scope)), array(target)

        def element(i: Index, inner: Scope) -> None:
            self.write(f.body, places.at(i), e.applied(f, inner, data.at(i)))

        in_parallel(e, t, data.length, scope, element)

    def _in_lanes(self, t: MapVec, target: VectorView, scope: Scope) -> None:
        """Emit what all lanes compute at once: each has an array, of which an element is a vector then."""
        e, f = self._emission, t.f
        lane = e.fresh_lane(target.width, scope)
        element = vector(self.view(t.v, scope)).lane(lane.index)
        inside = e.applied(f, scope.in_lanes(lane), element)
        self.write(f.body, target.lane(lane.index), inside)

    # ---- reading: where a value lies

    def view(self, t: Term, scope: Scope) -> View:
        """Emit what t computes and say where its result lies."""
        if isinstance(t, AtRuntime) and t.computes_default and scope.lane is None:
            return self._shared(t, scope)
        return view(
            t, scope.environment, lambda u, env: self._shared(u, replace(scope, environment=env))
        )

    def _shared(self, t: Term, scope: Scope) -> View:
        """Emit a term that computes, unless an equal one was emitted in this block already."""
        if isinstance(t, Literal):
            return as_value(literal(t))
        bindings = scope.bindings(t)
        known = scope.known(t, bindings)
        if known is None:
            known = self._produced(t, scope)
            scope.note(t, bindings, known)
        return known

    def _produced(self, t: Term, scope: Scope) -> View:
        """Emit a term that computes."""
        match t:
            case Stepping() if holds_array(t.type) and not t.fills:
                return self._folded_array(t, scope)
            case Fold():
                return folds.reduce(self, t, scope)
            case Iterate():
                return folds.iterate(self, t, scope)
            case ReduceByIndex():
                return folds.updated(self, t, scope)
            case Store() if t.space.of_group:
                return into_group(self, t, scope)
            case Store(Stepping() as xs) if (
                t.space.of_item and holds_array(xs.type) and not xs.fills
            ):
                return self.view(xs, scope)
            case InOrder() if not t.fills:
                return in_order.shown(self, t, scope)
            case AtRuntime() if t.computes_default:
                return in_order.looked_up(self, t, scope)
            case Store(xs) if t.space.of_item and holds_array(xs.type):
                return into_private(self, xs, scope, t.space)
            case Store(xs) if t.space.of_item:
                return self._emission.hold(self.evaluate(xs, scope), t.type, "v", scope)
            case (
                Var() | Input() | Literal() | Apply() | Call() | Combine() | MakeTuple() | Get()
                | Metavariable() | Pattern()
            ):  # fmt: skip
                value = evaluation.computed(self, t, scope)
                if value is None:
                    raise Unsupported(
                        f"{name_of(t)} says that it is compiled, and no kernel computes it"
                    )
                return self._emission.hold(value, t.type, "v", scope)

    def _folded_array(self, t: Stepping, scope: Scope) -> View:
        if isinstance(t, Iterate) and in_group_memory(t.x):
            return folds.iterate_in_group(self, t, t.x, scope)
        return folds.in_place(self, t, None, scope)

    # ---- evaluating: values as C expressions

    def evaluate(self, t: Term, scope: Scope) -> Tree:
        """The C expressions of a value that is no array."""
        return evaluation.evaluate(self, t, scope)
