"""The body of a kernel, from a low-level term.

A term is *viewed* where its value is read: layouts become index functions, and what computes is emitted
before the reader and viewed where its result lies.  It is *written* where its result has a place already:
parallel and sequential maps become work-items and loops around the writing of one element, and invertible
layouts change the place.  Scalars, vectors and tuples of them are *evaluated* to C expressions.

Equal terms that compute, with the same values of their variables, are computed once in a block.
"""

from __future__ import annotations

from collections import Counter, abc
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from relift.compiler.codegen.barriers import Barriers
from relift.compiler.codegen.body import Body
from relift.compiler.codegen.cells import Addressing, Lane, assigned, code_of
from relift.compiler.codegen.expressions import (
    CExpression,
    c_type,
    literal,
    memory_type,
    spread,
)
from relift.compiler.codegen.functions import Functions, scalar_of
from relift.compiler.codegen.trees import (
    Tree,
    as_value,
    as_view,
    flattened,
    mapped,
    register_code,
    registers_of,
    widened,
)
from relift.compiler.codegen.unrolling import WRITTEN_OUT, Unrolling, unrolling
from relift.compiler.lowering.analyses import ALL, Analyses
from relift.compiler.lowering.distribution import (
    InPlace,
    PrivateArray,
    check_size,
    owners,
    work_item,
)
from relift.compiler.lowering.threads import Threads, fixed, number
from relift.compiler.text.names import Names
from relift.compiler.text.tree import (
    Advice,
    Assignment,
    Binary,
    CType,
    Declaration,
    Function,
    Guard,
    Loop,
    Name,
    Return,
    Statement,
    Whole,
    bare,
    call,
    statements_within,
    variables,
    words,
)
from relift.semantics.errors import Unsupported
from relift.semantics.indices.expressions import (
    Index,
    depends_on,
    linear_in,
    modulo,
    substitute,
    variable,
    variables_of,
)
from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    Environment,
    Guarded,
    Leaf,
    Memory,
    TupleView,
    Value,
    VectorView,
    View,
    Views,
    array,
    component_view,
    invertible_data,
    is_layout,
    leaves,
    memories_of,
    name_of,
    peel,
    same_cells,
    stored,
    tuple_view,
    turned,
    vector,
    view,
)
from relift.semantics.interpreter import operator_lambda
from relift.semantics.patterns import (
    Concat,
    Iterate,
    Let,
    MapGlb,
    MapLcl,
    MapSeq,
    MapSeqSlide,
    MapSeqUnroll,
    MapVec,
    MapWrg,
    ReduceSeq,
    ReduceSeqUnroll,
    ScanSeq,
    Scatter,
    Splat,
    ToGlobal,
    ToLocal,
    ToPrivate,
    Zip,
)
from relift.semantics.patterns.layout import windows_viewed
from relift.semantics.syntax.binding import map_children
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Get,
    Lambda,
    Literal,
    MakeTuple,
    Operator,
    Term,
    UserFunction,
    Var,
    Vectorized,
    free_variables,
    subterms,
)
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, Vector, cells, holds_array

Fold: TypeAlias = ReduceSeq | ReduceSeqUnroll | Iterate
"""What carries a value from step to step."""


@dataclass(frozen=True)
class Computed:
    """A term that was computed, the views of its free variables then, and the view of its result."""

    term: Term
    bindings: tuple[View, ...]
    result: View


@dataclass(frozen=True)
class Scope:
    """Where a term stands: its variables, the lanes around it, and what its block has computed already."""

    environment: Environment
    lane: Lane | None = None
    computed: tuple[list[Computed], ...] = field(default_factory=lambda: ([],))

    def bind(self, f: Lambda, *views: View) -> Scope:
        """The scope of the body of f."""
        return replace(self, environment=self.environment.bind(f, *views))

    def block(self) -> Scope:
        """The scope of one run of a body: what is computed there is unknown outside, and to the next."""
        return replace(self, computed=(*self.computed, []))

    def in_lanes(self, lane: Lane) -> Scope:
        """The scope of a body that is run in lanes: what is computed there is a vector, and unknown outside."""
        return replace(self.block(), lane=lane)

    def bindings(self, t: Term) -> tuple[View, ...]:
        """The views of the free variables of t."""
        return tuple(self.environment.variables[name] for name in sorted(free_variables(t)))


class Generator:
    """Emits the statements of one kernel, or of one C function."""

    def __init__(
        self,
        emitted: Body,
        functions: Functions,
        threads: Threads | None = None,
        addressing: Addressing | None = None,
        analyses: Analyses = ALL,
    ) -> None:
        self.analyses = analyses
        self.emitted = emitted
        self.functions = functions
        self.threads = threads or Threads((1,), (1,), frozenset())
        self.addressing = addressing or Addressing()
        self.barriers = Barriers(emitted, active=self.threads.group_size > 1)
        self.local_arrays: list[Memory] = []
        self.pointed_to: frozenset[str] = frozenset()  # the local arrays that have pointers
        self.indexed: dict[
            str, Index
        ] = {}  # the private arrays with an index known at run time only
        self.walks: Counter[str] = Counter()  # the accesses of neighbours: in a loop, by work-items
        self._private: dict[str, PrivateArray] = {}
        self._work_items: frozenset[str] = frozenset()  # of the `map_lcl` around
        self._loops: tuple[str, ...] = ()  # the counters of the loops around
        self._unrolled: frozenset[str] = (
            frozenset()
        )  # the counters of loops that the driver unrolls
        self._folds: list[InPlace] = []
        self._lanes = 0

    # ---- writing: the result has a place

    def write(self, t: Term, target: View, scope: Scope) -> None:
        """Emit what computes t into `target`."""
        if cells(t.type) == 0:
            return
        if is_layout(t):
            self.copy(self.view(t, scope), target, scope)
            return
        match t:
            case MapSeq(f) | MapSeqUnroll(f) | MapSeqSlide(_, _, f):
                data = self.elements(t, scope)
                places = array(target)

                def element(i: Index, inner: Scope) -> None:
                    self.write(f.body, places.at(i), self.applied(f, inner, data.at(i)))

                with self.around_loop(f.body):
                    self.loop(data, scope, element, unroll=unrolling(t))
            case ScanSeq():
                self.scan(t, array(target), scope)
            case ReduceSeq() | ReduceSeqUnroll() | Iterate() if isinstance(t.type, Array):
                if isinstance(first_value(t), ToLocal):
                    self.copy(self.view(t, scope), target, scope)
                else:
                    self.fold(t, array(target), scope)
            case Let(f, x):
                self.write(f.body, target, scope.bind(f, self.view(x, scope)))
            case Concat(xs, ys):
                places, n = array(target), t.solved["n"]
                self.write(xs, ArrayView(n, places.at), scope)
                self.write(ys, ArrayView(t.solved["m"], lambda i: array(target).at(i + n)), scope)
            case MapGlb() | MapWrg() | MapLcl():
                self.parallel(t, target, scope)
            case ToGlobal(xs):
                self.write(xs, target, scope)
            case Zip(xs, ys):
                self.write(xs, component_view(target, 0), scope)
                self.write(ys, component_view(target, 1), scope)
            case MakeTuple(parts) if holds_array(t.type):
                for part, place in zip(parts, tuple_view(target).parts, strict=True):
                    self.write(part, place, scope)
            case ToLocal() | ToPrivate() if isinstance(t.type, Array):
                self.copy(self.view(t, scope), target, scope)
            case _ if (peeled := peel(t, target)) is not None:
                self.write(*peeled, scope)
            case _:
                assert not isinstance(t.type, Array), f"cannot happen: {name_of(t)} has no inverse"
                self.store(self.evaluate(t, scope), target, scope)

    def copy(self, source: View, target: View, scope: Scope) -> None:
        """Emit loops that copy what a view shows."""
        match source, target:
            case ArrayView(), ArrayView(_, place):
                self.loop(source, scope, lambda i, inner: self.copy(source.at(i), place(i), inner))
            case TupleView(parts), TupleView(places):
                for part, at in zip(parts, places, strict=True):
                    self.copy(part, at, scope)
            case VectorView(), VectorView():
                inside, outside = turned(source), turned(target)
                if inside is None or outside is None:
                    self.store(self.read(source, scope), target, scope)
                else:
                    self.copy(inside, outside, scope)
            case _:
                self.store(self.read(source, scope), target, scope)

    def parallel(self, t: MapGlb | MapWrg | MapLcl, target: View, scope: Scope) -> None:
        """Emit one element of a parallel map, for the work-item or work-group that has it."""
        data, places = array(self.view(t.xs, scope)), array(target)
        n, count = data.length, self.threads.count(t)
        name = f"{t.name.removeprefix('map_')}_{number(t.dim)}"
        end, simple = self.addressing.index(n), self.analyses.control_flow
        enough = count is not None and (count - n).surely_at_least(0)
        always = count is not None and (n - count).surely_at_least(0)
        inner = scope if n == count and simple else scope.block()

        def element(i: Index) -> None:
            self.write(t.f.body, places.at(i), self.applied(t.f, inner, data.at(i)))

        with self.work_items(t):
            if n == count and simple:
                element(variable(name, n))
            elif enough and simple:
                with (
                    self.barriers.skippable(),
                    self.emitted.block(lambda body: Guard(Binary("<", Name(name), end), body)),
                ):
                    element(variable(name, n))
            else:
                i = self.emitted.fresh("i")
                step = Name(f"{name}_count") if count is None else self.addressing.index(count)
                with (
                    nullcontext() if always else self.barriers.skippable(),
                    self.emitted.block(
                        lambda body: Loop(self.addressing.number, i, Name(name), end, step, body)
                    ),
                    nullcontext() if enough else self.barriers.loop_body(),
                ):
                    element(variable(name if enough else i, n))

    @contextmanager
    def work_items(self, t: MapGlb | MapWrg | MapLcl) -> abc.Generator[None, None, None]:
        """In a `map_lcl`, the work-items of the group go different ways, and none waits for another."""
        if not isinstance(t, MapLcl):
            yield
            return
        around = self._work_items
        if self.threads.count(t) != 1:
            self._work_items |= {work_item(t)}
        with self.barriers.unit():
            yield
        if not self.analyses.barriers:
            self.barriers.here()
        self._work_items = around

    def elements(self, t: MapSeq | MapSeqUnroll | MapSeqSlide, scope: Scope) -> ArrayView:
        """The view of what a sequential map works on."""
        data = array(self.view(t.xs, scope))
        if not isinstance(t, MapSeqSlide):
            return data
        return array(windows_viewed(Views(t.name), t.solved["k"], t.size, t.step, data))

    def loop(
        self,
        data: ArrayView,
        scope: Scope,
        body: Callable[[Index, Scope], None],
        *,
        unroll: Unrolling = "no",
    ) -> None:
        """Emit `body` for each element; no loop for one element, and none over lanes in registers."""
        n = data.length.constant
        if n == 1 and self.analyses.control_flow:
            body(Size.of(0), scope.block())
        elif unroll == "here" or (n is not None and n <= WRITTEN_OUT and _over_lanes(data)):
            for k in range(number(data.length)):
                with self.barriers.loop_body():
                    body(Size.of(k), scope.block())  # the accumulator has changed: compute again
        elif n != 0:
            i = self.emitted.fresh("i")
            self.barriers.before_statement()
            around, self._loops = self._loops, (*self._loops, i)
            if unroll == "by the driver":
                self._unrolled |= {i}
            end = self.addressing.index(data.length)
            always = data.length.surely_at_least(1)

            def looped(inside: tuple[Statement, ...]) -> Loop:
                number, start, step = self.addressing.number, Whole(0), Whole(1)
                advice = _advice(unroll, inside)
                return Loop(number, i, start, end, step, inside, advice)

            with (
                nullcontext() if always else self.barriers.skippable(),
                self.emitted.block(looped),
                self.barriers.loop_body(),
            ):
                body(variable(i, data.length), scope.block())
            self._loops = around

    def around_loop(self, body: Term) -> AbstractContextManager[None]:
        """A loop without `to_local` needs no barrier inside, so one before it is enough."""
        fills = any(isinstance(u, ToLocal) for u, _ in subterms(body))
        return nullcontext() if fills or not self.analyses.barriers else self.barriers.unit()

    def applied(self, f: Lambda, scope: Scope, *arguments: View) -> Scope:
        """The scope of the body of f, where what is read from memory more than once has a register."""
        views: list[View] = []
        for x, v in zip(f.parameters, arguments, strict=True):
            if _reused(x, f.body) and all(isinstance(leaf, Cell | Guarded) for leaf in leaves(v)):
                v = self.hold(self.read(v, scope), x.type, x.name, scope)
            views.append(v)
        return scope.bind(f, *views)

    def store(self, value: Tree, target: View, scope: Scope) -> None:
        """Emit the writing of an evaluated value."""
        match value, target:
            case tuple(parts), TupleView(places):
                later = set[str]().union(*(words(e.code) for e in flattened(parts[1:])))
                written = {m.name for m in memories_of(target)}
                written |= set[str]().union(*(variables(code_of(r)) for r in registers_of(target)))
                if later & written:  # read before any is written, be it no more than a name
                    keep = lambda e: self.named(e, "v", anew=bool(words(e.code) & written))
                    parts = tuple(mapped(part, keep) for part in parts)
                for part, place in zip(parts, places, strict=True):
                    self.store(part, place, scope)
            case _, VectorView(width, at):
                lane = self.fresh_lane(width, scope)
                self.store(value, at(lane.index), scope.in_lanes(lane))
            case CExpression(), (Cell() | Value() | Guarded()):
                if value.width is not None and self.addressing.needs_name(target, scope.lane):
                    value = self.named(value, "v")
                if isinstance(target, Cell):
                    self._note_write(target, scope)
                for statement in self.addressing.store(target, value, scope.lane):
                    self.statement(statement)
            case _:
                raise AssertionError(f"cannot happen: {value} does not fit {target}")

    # ---- reading: where a value lies

    def view(self, t: Term, scope: Scope) -> View:
        """Emit what t computes and say where its result lies."""
        return view(
            t, scope.environment, lambda u, env: self.produce(u, replace(scope, environment=env))
        )

    def produce(self, t: Term, scope: Scope) -> View:
        """Emit a term that computes, unless an equal one was emitted in this block already."""
        if isinstance(t, Literal):
            return as_value(literal(t))
        bindings = scope.bindings(t)
        for known in (c for block in scope.computed for c in block):
            if known.term == t and all(
                a is b for a, b in zip(known.bindings, bindings, strict=True)
            ):
                return known.result
        result = self._produce(t, scope)
        scope.computed[-1].append(Computed(t, bindings, result))
        return result

    def _produce(self, t: Term, scope: Scope) -> View:
        match t:
            case ReduceSeq() | ReduceSeqUnroll():
                if isinstance(t.type, Array):
                    return self.fold(t, None, scope)
                return self.reduce(t, scope)
            case Iterate():
                if not isinstance(t.type, Array):
                    return self.iterate(t, scope)
                if isinstance(t.x, ToLocal):
                    return self.iterate_locally(t, scope)
                return self.fold(t, None, scope)
            case ToLocal(xs):
                return self.into_local(xs, scope)
            case ToPrivate(ReduceSeq() | ReduceSeqUnroll() | Iterate() as xs) if isinstance(
                xs.type, Array
            ):
                return self.view(xs, scope)
            case ToPrivate(xs) if isinstance(xs.type, Array):
                return self.into_private(xs, scope)
            case ToPrivate(xs):
                return self.hold(self.evaluate(xs, scope), xs.type, "v", scope)
            case _:
                return self.hold(self.evaluate(t, scope), t.type, "v", scope)

    def into_local(self, t: Term, scope: Scope) -> View:
        """Emit t into new local memory, in the order of its type."""
        where = stored(self.emitted.fresh("tile", t.type), t.type, "local")
        for m in memories_of(where):
            fixed(m.cells, f"to_local of {t.type}")
        self.local_arrays += memories_of(where)
        self.write(t, where, scope)
        return where

    def into_private(self, t: Term, scope: Scope) -> View:
        """Emit t into new private memory, in the order in which it is computed: registers have no addresses."""
        data = invertible_data(t)
        if data is not None and not isinstance(t, Scatter):  # which is written through, not read
            hole = Var("?own", data.type)
            layout = map_children(t, lambda u: hole if u is data else u, lambda f: f)
            below = Environment(variables={hole.name: self.into_private(data, scope)})
            return view(layout, below)
        spread = owners(t, self.threads)
        where = stored(self.emitted.fresh("own", t.type), t.type, "private", spread)
        check_size(memories_of(where), t.type)
        for m in memories_of(where):
            self._private[m.name] = PrivateArray(t.type, spread, self._work_items)
            length = max(1, number(m.cells) // (m.width or 1))  # C has no arrays of no cells
            t_ = memory_type(m.scalar, m.width)
            self.statement(Declaration(t_, m.name, Whole(length), None))
        self.write(t, where, scope)
        return where

    def fold(self, t: Fold, target: ArrayView | None, scope: Scope) -> ArrayView:
        """Emit a loop that folds into an array in private memory, in place.

        The array is the one that `to_private` of the first value makes, or, at the end of the step of another
        fold, the array of that one.  With a target, the result is copied there unless it lies there already.
        """
        f = t.f
        accumulator = self._accumulator(t, target, scope)
        nothing = TupleView(())
        if isinstance(t, Iterate):
            data = ArrayView(t.m, lambda _: nothing)
        else:
            data = array(self.view(t.xs, scope))
        own = frozenset(m.name for m in memories_of(accumulator))
        captured = free_variables(f.body) - {x.name for x in f.parameters}
        others = (data, *(scope.environment.variables[name] for name in captured))
        if any(m.name in own for v in others for m in memories_of(v)):
            raise _not_in_place(t, "also reads it by another name, while parts of it are new")
        fold = InPlace(own)
        self._folds.append(fold)

        def step(i: Index, inner: Scope) -> None:
            fold.begin(self._loops)
            arguments = [accumulator] if isinstance(t, Iterate) else [accumulator, data.at(i)]
            self.write(f.body, accumulator, self.applied(f, inner, *arguments))
            if (read := fold.conflict()) is not None:
                raise _not_in_place(
                    t, f"reads element {read.offset} of it where others are written"
                )

        with self.around_loop(f.body):
            self.loop(data, scope, step, unroll=unrolling(t))
        self._folds.pop()
        if target is not None and target is not accumulator:
            self.copy(accumulator, target, scope)
        return accumulator

    def _accumulator(self, t: Fold, target: ArrayView | None, scope: Scope) -> ArrayView:
        """Where the array of a fold lies, with its first value in it."""
        first = first_value(t)
        if isinstance(first, ToPrivate):
            return array(self.into_private(first.xs, scope))
        if target is not None and is_layout(first) and same_cells(self.view(first, scope), target):
            return target
        raise Unsupported(
            f"{t.name} with an accumulator of type {first.type} that has no memory; write to_private "
            "around the computation of its first value"
        )

    def iterate_locally(self, t: Iterate, scope: Scope) -> View:
        """Emit a loop that applies f to an array in local memory: each run reads one array and writes another.

        The two change their roles by an exchange of pointers.
        """
        assert isinstance(t.x, ToLocal), "cannot happen: the first value lies in local memory"
        first = self.into_local(t.x.xs, scope)
        second = stored(self.emitted.fresh("tile", t.type), t.type, "local")
        self.local_arrays += memories_of(second)
        old, new = (
            stored(self.emitted.fresh(name, t.type), t.type, "local") for name in ("old", "new")
        )
        for m in memories_of(first):
            self.barriers.on_read(m)
        both = list(zip(memories_of(first), memories_of(second), strict=True))
        for pointers, place in ((old, 0), (new, 1)):
            for p, arrays in zip(memories_of(pointers), both, strict=True):
                self.pointed_to |= {arrays[place].name}
                self.barriers.point(p, (m.name for m in arrays))
                self.statement(Declaration(_local(p), p.name, None, Name(arrays[place].name)))

        def step(_: Index, inner: Scope) -> None:
            f = t.f
            body = f.body.xs if isinstance(f.body, ToLocal) else f.body
            self.write(body, new, self.applied(f, inner, old))
            for p, q in zip(memories_of(old), memories_of(new), strict=True):
                held = self.emitted.fresh("held")
                fixed = replace(_local(p), fixed=True)
                self.emitted.add(Declaration(fixed, held, None, Name(p.name)))
                self.emitted.add(Assignment(Name(p.name), "=", Name(q.name)))
                self.emitted.add(Assignment(Name(q.name), "=", Name(held)))

        self.loop(ArrayView(t.m, lambda _: old), scope, step)
        return old

    def reduce(self, t: ReduceSeq | ReduceSeqUnroll, scope: Scope) -> View:
        """Emit a loop that folds into registers."""
        f = t.f
        hint = "acc" if isinstance(f.body, Combine) else f.parameters[0].name
        start = self.evaluate(t.init, scope)
        data = array(self.view(t.xs, scope))
        width = None if scope.lane is None else scope.lane.width
        accumulator = self.hold(widened(start, width), t.init.type, hint, scope, fixed=False)

        def step(i: Index, inner: Scope) -> None:
            value = self.evaluate(f.body, self.applied(f, inner, accumulator, data.at(i)))
            self.assign(accumulator, widened(value, width), inner)

        with self.around_loop(f.body):
            self.loop(data, scope, step, unroll=unrolling(t))
        return accumulator

    def scan(self, t: ScanSeq, places: ArrayView, scope: Scope) -> None:
        """Emit a loop that folds into registers and writes each result."""
        f = t.f
        data = array(self.view(t.xs, scope))
        start = self.evaluate(t.init, scope)
        accumulator = self.hold(start, t.init.type, f.parameters[0].name, scope, fixed=False)

        def step(i: Index, inner: Scope) -> None:
            value = self.evaluate(f.body, self.applied(f, inner, accumulator, data.at(i)))
            self.assign(accumulator, value, inner)
            self.copy(accumulator, places.at(i), inner)

        with self.around_loop(f.body):
            self.loop(data, scope, step)

    def iterate(self, t: Iterate, scope: Scope) -> View:
        """Emit a loop that applies f to registers."""
        f = t.f
        start = self.evaluate(t.x, scope)
        state = self.hold(start, t.x.type, f.parameters[0].name, scope, fixed=False)

        def step(_: Index, inner: Scope) -> None:
            self.assign(state, self.evaluate(f.body, self.applied(f, inner, state)), inner)

        with self.around_loop(f.body):
            self.loop(ArrayView(t.m, lambda _: state), scope, step)
        return state

    def assign(self, registers: View, value: Tree, scope: Scope) -> None:
        """Emit the assignment of all registers at once: no component sees another's new value."""
        targets = registers_of(registers)
        values = flattened(value)
        for j, target in enumerate(targets):
            later = set[str]().union(*(words(w.code) for w in values[j + 1 :]))
            if variables(code_of(target)) <= later:  # a value that is but a register needs another
                anew = set[str]().union(*(variables(code_of(r)) for r in targets))
                values = [self.named(w, "v", anew=bool(words(w.code) & anew)) for w in values]
                break
        for target, v in zip(targets, values, strict=True):
            if target.code != v.code:
                self.statement(assigned(code_of(target), register_code(v)))

    def hold(self, value: Tree, t: Type, hint: str, scope: Scope, *, fixed: bool = True) -> View:
        """Emit registers with a value; `fixed` ones keep it, so a constant or a register needs no new one."""

        def held(part: Tree, name: str) -> Tree:
            if isinstance(part, tuple):
                return tuple(held(p, f"{name}_{i}") for i, p in enumerate(part))
            return self.named(part, name, fixed=fixed)

        return as_view(held(value, hint), t, None if scope.lane is None else scope.lane.index)

    def named(
        self, e: CExpression, hint: str, *, fixed: bool = True, anew: bool = False
    ) -> CExpression:
        """e as a register of its own; e itself when it is one already, or a scalar constant, unless `anew`."""
        known = isinstance(e.code, Name) or (e.width is None and not words(e.code))
        if fixed and known and not anew:
            return e
        name = self.emitted.fresh(hint)
        t = replace(c_type(e.scalar, e.width), constant=fixed)
        self.statement(Declaration(t, name, None, bare(register_code(e))))
        return CExpression(Name(name), e.scalar, e.width)

    # ---- evaluating: values as C expressions

    def evaluate(self, t: Term, scope: Scope) -> Tree:
        """The C expressions of a value that is no array."""
        match t:
            case Literal():
                return literal(t)
            case Apply(function, arguments):
                return self.functions.apply(function, [self.scalar(u, scope) for u in arguments])
            case Call(function, arguments):
                values = [self.scalar(u, scope) for u in arguments]
                return self.call(function, values)
            case Combine(operator, left, right):
                return self.combine(operator, left, right, scope)
            case MakeTuple(parts):
                return tuple(self.evaluate(part, scope) for part in parts)
            case MapVec(f, v) if not is_layout(f.body):
                assert isinstance(v.type, Vector), "cannot happen: map_vec of no vector"
                lane = self.fresh_lane(v.type.width, scope)
                element = vector(self.view(v, scope)).lane(lane.index)
                inside = self.applied(f, scope.in_lanes(lane), element)
                return widened(self.evaluate(f.body, inside), lane.width)
            case Splat(width, x):
                return widened(self.evaluate(x, scope), number(width))
            case _:
                return self.read(self.view(t, scope), scope)

    def scalar(self, t: Term, scope: Scope) -> CExpression:
        """The C expression of a scalar."""
        e = self.evaluate(t, scope)
        assert isinstance(e, CExpression), f"cannot happen: {name_of(t)} is no scalar"
        return e

    def combine(self, operator: Operator, left: Term, right: Term, scope: Scope) -> Tree:
        """An operator's function, with its arguments in place of its parameters."""
        match operator:
            case BinaryOperator():
                f = operator_lambda(operator, left.type)
                arguments = [self.argument(f, i, u, scope) for i, u in enumerate((left, right))]
                return self.evaluate(f.body, self.applied(f, scope, *arguments))
            case Vectorized(width, inner):
                lane = self.fresh_lane(width, scope)
                views = [self.argument(None, i, u, scope) for i, u in enumerate((left, right))]
                lanes = [vector(v).lane(lane.index) for v in views]
                value = self.lanewise(inner, lanes, left.type, scope.in_lanes(lane))
                return widened(value, lane.width)
            case _:
                raise AssertionError("cannot happen: a metavariable in a program")

    def lanewise(self, operator: Operator, lanes: list[View], t: Type, scope: Scope) -> Tree:
        """One operation on all lanes."""
        assert isinstance(t, Vector), "cannot happen: lanes of no vector"
        if not isinstance(operator, BinaryOperator):
            raise Unsupported("a vector of vectors; vectorize an operator on scalars once")
        f = operator_lambda(operator, t.element)
        return self.evaluate(f.body, self.applied(f, scope, *lanes))

    def call(self, function: UserFunction, values: Sequence[CExpression]) -> CExpression:
        """A user function, applied to scalars or to all lanes."""
        width = next((e.width for e in values if e.width is not None), None)
        if function.body is None:
            if width is not None:
                values = [self.named(e, "v") for e in values]
            return self.functions.call_opaque(function, values, width)
        name = self.functions.name_of(function, width)
        if name not in self.functions.definitions:
            self.functions.define(self._traced(function, function.body, width))
        code = call(name, *(spread(e, width).code for e in values))
        return CExpression(code, scalar_of(function.result), width)

    def _traced(self, function: UserFunction, body: Lambda, width: int | None) -> Function:
        """The definition of a traced user function, for scalars or for vectors."""
        inside = Body(Names(self.functions.names))
        parameters = [inside.fresh(p) for p in function.parameters]
        lane = None if width is None else Lane(variable("lane", width), width)
        views = [
            as_view(
                CExpression(Name(p), scalar_of(t), width), t, None if lane is None else lane.index
            )
            for p, t in zip(parameters, function.types, strict=True)
        ]
        scope = Scope(Environment(), lane).bind(body, *views)
        result = spread(Generator(inside, self.functions).scalar(body.body, scope), width)
        returned = Return(None, bare(register_code(result)))
        head = self.functions.head(function, width, parameters)
        return replace(head, body=(*inside.statements, returned))

    def argument(self, f: Lambda | None, index: int, t: Term, scope: Scope) -> View:
        """An argument as a view; in a register where it is long and used more than once."""
        if is_layout(t):
            return self.view(t, scope)
        value = self.evaluate(t, scope)
        if f is None or _uses(f, index) <= 1:
            return as_view(value, t.type, None if scope.lane is None else scope.lane.index)
        return self.hold(value, t.type, "v", scope)

    def read(self, v: View, scope: Scope) -> Tree:
        """The C expressions of what a view shows."""
        match v:
            case TupleView(parts):
                return tuple(self.read(part, scope) for part in parts)
            case VectorView(width, at):
                lane = self.fresh_lane(width, scope)
                value = self.read(at(lane.index), scope.in_lanes(lane))
                return widened(value, lane.width)
            case Cell() | Value() | Guarded():
                self._note_reads(v, scope)
                return self.addressing.load(v, scope.lane)
            case ArrayView():
                raise AssertionError("cannot happen: an array is no expression")

    def _note_reads(self, leaf: Leaf, scope: Scope) -> None:
        match leaf:
            case Cell(memory):
                self.barriers.on_read(memory)
                if memory.name in self._private:
                    self._private[memory.name].check(leaf)
                    self._note_index(leaf, scope)
                self._note_in_folds(leaf, scope, writes=False)
                self._note_walk(leaf, scope)
            case Guarded(_, inside, outside):
                self._note_reads(inside, scope)
                self._note_reads(outside, scope)
            case Value():
                pass

    def _note_write(self, cell: Cell, scope: Scope) -> None:
        self.barriers.on_write(cell.memory)
        if cell.memory.name in self._private:
            self._private[cell.memory.name].check_write(cell, self._work_items)
            self._note_index(cell, scope)
        self._note_in_folds(cell, scope, writes=True)
        self._note_walk(cell, scope)

    def _note_index(self, cell: Cell, scope: Scope) -> None:
        """Registers have no addresses: note an index that is not a constant once loops are unrolled."""
        constant = set(self._unrolled)
        if scope.lane is not None:
            constant |= {str(scope.lane.index)}
        if any(str(atom) not in constant for atom in variables_of(cell.offset)):
            self.indexed.setdefault(cell.memory.name, cell.offset)

    def _note_walk(self, cell: Cell, scope: Scope) -> None:
        """Note who has neighbouring cells in a loop: its turns, or work-items side by side."""
        if cell.memory.space != "global" or scope.lane is not None or not self._loops:
            return
        items = [f"{kind}_0" for kind in ("glb", "lcl")]
        for walker, names in (("loop", self._loops[-1:]), ("items", items)):
            for atom in variables_of(cell.offset):
                linear = linear_in(cell.offset, Size.atom(atom)) if str(atom) in names else None
                self.walks[walker] += linear is not None and linear[0] == 1

    def _note_in_folds(self, cell: Cell, scope: Scope, *, writes: bool) -> None:
        """Note an access of the array of a fold, in the innermost fold that has it."""
        fold = next((f for f in reversed(self._folds) if cell.memory.name in f.memories), None)
        if fold is not None:
            offset = cell.offset
            if (
                scope.lane is not None
            ):  # all lanes at once: a vector is read whole before it is written
                each = variable("?lane", scope.lane.width)
                offset = substitute(offset, scope.lane.index, each)
            fold.note(cell.memory.name, offset, self._loops, writes=writes)

    # ---- small things

    def statement(self, s: Statement) -> None:
        """Emit one statement, after the barrier that it may need."""
        self.barriers.on_statement(s)
        self.barriers.before_statement()
        self.emitted.add(s)

    def fresh_lane(self, width: Size, scope: Scope) -> Lane:
        """A lane variable for a new vector operation."""
        if scope.lane is not None:
            raise Unsupported(
                "a vector inside a vector operation; OpenCL has no vectors of vectors"
            )
        self._lanes += 1
        return Lane(variable(f"lane_{self._lanes}", width), number(width))


def _local(m: Memory) -> CType:
    """The type of a pointer to a local array."""
    return replace(memory_type(m.scalar), pointer=True, space="local")


def _advice(unroll: Unrolling, inside: tuple[Statement, ...]) -> Advice | None:
    """What the driver is told of a loop: to keep one as it is around another that it should write out."""
    if unroll == "by the driver":
        return "unroll"
    nested = (s.unroll for s in statements_within(inside) if isinstance(s, Loop))
    return "keep" if unroll == "no" and "unroll" in nested else None


def _over_lanes(data: ArrayView) -> bool:
    """Whether an element of the array is a lane of a register, chosen by its index."""
    i = variable("?each", data.length)
    return any(_is_lane(leaf, i) for leaf in leaves(data.at(i)))


def _is_lane(leaf: Leaf, i: Index) -> bool:
    """Whether i says which lane of a vector a leaf is: of one with a name, or of one in a private array."""
    match leaf:
        case Value(lane=lane):
            return lane is not None and depends_on(lane, i)
        case Cell(memory, offset):
            vectors = memory.space == "private" and memory.width is not None
            return vectors and depends_on(modulo(offset, memory.width or 1), i)
        case Guarded(_, inside, outside):
            return _is_lane(inside, i) or _is_lane(outside, i)


def first_value(t: Fold) -> Term:
    """What a fold starts with."""
    return t.x if isinstance(t, Iterate) else t.init


def _not_in_place(t: Fold, why: str) -> Unsupported:
    return Unsupported(
        f"{t.name} updates its accumulator of type {t.type} in place, but its step {why}; "
        "read each element where it is written, or copy the array first with to_private"
    )


def _uses(f: Lambda, index: int) -> int:
    """How often a parameter occurs; under a lambda it may be used any number of times."""
    x = f.parameters[index]
    return sum(2 if bound else 1 for u, bound in subterms(f.body) if u == x)


def _reused(x: Var, body: Term) -> bool:
    """Whether a scalar, or a component of a tuple of scalars, is used more than once."""
    if isinstance(x.type, Scalar):
        return sum(2 if bound else 1 for u, bound in subterms(body) if u == x) > 1
    if not isinstance(x.type, Tuple) or not all(isinstance(t, Scalar) for t in x.type.parts):
        return False
    found = [(u.index, bound) for u, bound in subterms(body) if isinstance(u, Get) and u.of == x]
    return any(bound for _, bound in found) or len(found) > len({index for index, _ in found})
