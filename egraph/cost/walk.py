"""The walk of the cost model: a low-level term is followed as its kernels would, counting instead of computing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import cache
from operator import is_

from relift.device import DeviceDescription
from relift.egraph.cost.accesses import Accesses
from relift.egraph.cost.buffers import Buffers, Lying, is_stored
from relift.egraph.cost.fetched import GROUP
from relift.egraph.cost.kernel import Kernel
from relift.egraph.cost.meter import Computed, Meter
from relift.egraph.cost.operations import Operations, updated
from relift.semantics.errors import Unsupported
from relift.semantics.indices.atoms import Loaded
from relift.semantics.indices.components import component_view
from relift.semantics.indices.copies import same_cells
from relift.semantics.indices.inverses import invert_layout, invertible_data
from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    CodeValue,
    Environment,
    TupleView,
    VectorView,
    View,
    Views,
    array,
    is_layout,
    memories_of,
    name_of,
    tuple_view,
    vector,
    view,
)
from relift.semantics.library_calls import calls_library
from relift.semantics.patterns import (
    Accumulating,
    AsScalar,
    AtRuntime,
    Concat,
    EachInTurn,
    EachOf,
    Fold,
    InOrder,
    InsertionSortSeq,
    InTurn,
    Iterate,
    Let,
    MapLcl,
    MapSeq,
    MapSeqSlide,
    MapVec,
    ReduceByIndex,
    ScanSeq,
    ScatterIndices,
    Splat,
    Stepping,
    Store,
    ToGlobal,
    Zip,
)
from relift.semantics.patterns.layout import windows_viewed
from relift.semantics.patterns.opencl import in_group_memory, shown_of_group
from relift.semantics.patterns.repeated import updates_stored
from relift.semantics.syntax import terms
from relift.semantics.syntax.binding import alpha_equal, outside
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    cells,
    holds_array,
)


class Walk:
    """Follows the parts of a program, one kernel after the other."""

    def __init__(self, device: DeviceDescription, environment: Environment) -> None:
        self._meter = Meter(device)
        self._accesses = Accesses(self._meter, environment)
        self._operations = Operations(self._meter)
        self._buffers = Buffers(self._meter, self._accesses, self._followed)
        self._ahead = False  # whether a step of a fold fills local memory for the next one

    def kernels(
        self, results: Sequence[terms.Term], around: Environment, stored: Iterable[terms.Input] = ()
    ) -> list[Kernel]:
        """What the kernels of some results come to, beside those that `stored` what they read."""
        self._buffers.results(results, around, Lying(stored))
        return self._meter.finished

    def _followed(self, name: str, t: terms.Term, environment: Environment) -> View:
        """What a kernel of its own computes into a memory of this name."""
        ahead, self._ahead = self._ahead, False
        with self._meter.kernel(self._members(t)):
            found = self._result(name, t, environment)
        self._ahead = ahead
        return found

    # ---- who computes

    def _members(self, t: terms.Term) -> float:
        """How many work-items of a group of a GPU compute what stands in a term around the maps that share it out."""
        return min(GROUP, _parallel(t, _of_group)) if self._meter.on_gpu else 1.0

    def _work_items(self, t: terms.Term) -> float:
        """How many work-items, beside those of a group, compute what stands around a term."""
        return _parallel(t, lambda u: not (self._meter.on_gpu and _of_group(u)))

    # ---- results

    def _result(self, name: str, t: terms.Term, environment: Environment) -> View:
        """A value computed into a memory of its own."""
        if _lies_in_cells(t):
            return self._view(t, environment)
        target = self._accesses.stored(name, t.type)
        self._write(t, target, environment)
        return target

    def _write(self, t: terms.Term, target: View, environment: Environment) -> None:
        if is_layout(t):
            self._accesses.copy(self._view(t, environment), target)
            return
        match t:
            case EachOf(_, f, xs):
                data = array(self._view(xs, environment))
                with self._meter.work_items(t, data.length, self._members(f.body)) as i:
                    self._write(f.body, array(target).at(i), environment.bind(f, data.at(i)))
            case EachInTurn(_, ScanSeq()):
                self._scan(t, array(target), environment)
            case EachInTurn(f, xs):
                data = array(self._view(xs, environment))
                with self._meter.loop(data.length, unrolled=t.unrolled) as i:
                    self._write(f.body, array(target).at(i), environment.bind(f, data.at(i)))
            case MapSeqSlide(size, step, f, xs):
                data = array(self._view(xs, environment))
                windows = array(windows_viewed(Views(t.name), t.solved["k"], size, step, data))
                with self._meter.loop(windows.length) as i:
                    self._write(f.body, array(target).at(i), environment.bind(f, windows.at(i)))
            case ScanSeq():
                self._scan(t, array(target), environment)
            case ScatterIndices():
                self._scatter(t, array(target), environment)
            case InOrder():
                self._in_order(t, environment)
                self._accesses.copy(_registers(t.type), target)
            case Stepping() if isinstance(t.first, InTurn):
                self._write(t.first, target, environment)
                self._fold(t, environment, target)
            case Let(f, x) if invertible_data(t) is None:
                with self._meter.repeated(self._work_items(f.body) / self._work_items(x)):
                    value = self._view(x, environment)
                self._write(f.body, target, environment.bind(f, value))
            case Concat(xs, ys):
                result, n = array(target), t.solved["n"]
                self._write(xs, ArrayView(n, result.at), environment)
                self._write(ys, ArrayView(t.solved["m"], lambda i: result.at(i + n)), environment)
            case Zip(left, right):
                self._write(left, component_view(target, 0), environment)
                self._write(right, component_view(target, 1), environment)
            case terms.MakeTuple(parts):
                for part, place in zip(parts, tuple_view(target).parts, strict=True):
                    self._write(part, place, environment)
            case ToGlobal(xs):
                self._write(xs, target, environment)
            case MapVec(f, v) if holds_array(t.type):
                of_lanes, places = vector(self._view(v, environment)), vector(target)
                self._meter.counted.has_lanes = True
                with self._meter.lanes(of_lanes.width) as i:
                    self._write(f.body, places.lane(i), environment.bind(f, of_lanes.lane(i)))
            case (
                terms.Var() | terms.Input() | terms.Literal() | terms.Apply()
                | terms.Call() | terms.Combine() | terms.Get() | terms.Metavariable()
                | terms.Pattern()
            ):  # fmt: skip
                if (inverted := invert_layout(t, target)) is not None:
                    self._write(*inverted, environment)
                else:
                    self._accesses.copy(self._view(t, environment), target)

    # ---- values

    def _view(self, t: terms.Term, environment: Environment) -> View:
        if isinstance(t, AtRuntime) and t.computes_default:
            # the default is computed where there is no cell, which is taken for the exception
            t = t.of_cells()
        return view(t, environment, self._produce_once)

    def _produce_once(self, t: terms.Term, environment: Environment) -> View:
        bindings = tuple(environment.variables[name] for name in sorted(terms.free_variables(t)))
        for known in (c for block in self._meter.scope.computed for c in block):
            same = len(known.bindings) == len(bindings) and all(map(is_, known.bindings, bindings))
            if same and alpha_equal(known.term, t):
                return known.result
        result = self._produce(t, environment)
        self._meter.scope.computed[-1].append(Computed(t, bindings, result))
        return result

    def _produce(self, t: terms.Term, environment: Environment) -> View:
        def touch(*read: terms.Term) -> None:
            for u in read:
                self._accesses.touch(self._view(u, environment))

        match t:
            case terms.Literal():
                pass
            case terms.Apply(function, arguments):
                touch(*arguments)
                self._operations.apply(function, arguments)
            case terms.Call(user, arguments):
                touch(*arguments)
                self._operations.call(user)
            case terms.Combine(_, left, right):
                touch(left, right)
                self._operations.combine(t)
            case Stepping() if holds_array(t.type) and not t.fills:
                return self._fold(t, environment)
            case Fold(f, init, xs):
                touch(init)
                data = array(self._view(xs, environment))
                with (
                    self._meter.chain(data.length, self._operations.latency(f)),
                    self._meter.loop(data.length, unrolled=t.unrolled) as i,
                ):
                    element = self._read(t.xs, data.at(i), f.parameters[1].type)
                    inner = environment.bind(f, _registers(t.type), element)
                    self._accesses.touch(self._view(f.body, inner))
            case Iterate(m, f, x):
                touch(x)
                inner = environment.bind(f, _registers(t.type))
                with self._meter.loop(m):
                    self._accesses.touch(self._view(f.body, inner))
            case InOrder():
                self._in_order(t, environment)
            case ReduceByIndex():
                return updated(t, environment, self._view, self._accesses, self._operations)
            case MapVec(f, v):
                lanes = vector(self._view(v, environment))
                self._meter.counted.has_lanes = True
                with self._meter.lanes(lanes.width) as i:
                    self._accesses.touch(self._view(f.body, environment.bind(f, lanes.lane(i))))
            case ToGlobal(xs) if self._meter.scope.host or is_stored(t):
                return self._buffers.of(xs, environment)
            case Store(xs) if holds_array(t.type):
                return self._stored(t, xs, environment)
            case Store(x) if t.space.of_item:
                touch(x)
            case Splat(_, x):
                touch(x)
            case terms.Pattern() if any(is_stored(u) for u, _ in terms.subterms(t)):
                return self._view(*self._buffers.read_by(t, environment))
            case (
                terms.Var() | terms.Input() | terms.MakeTuple() | terms.Get()
                | terms.Metavariable() | terms.Pattern()
            ):  # fmt: skip
                raise Unsupported(f"{name_of(t)} computes, where only a layout has a view")
        return _registers(t.type)

    def _stored(self, t: Store, xs: terms.Term, environment: Environment) -> View:
        """An array that the kernel itself holds, written where it stands."""
        target = self._accesses.stored(self._meter.fresh("m"), t.type, t.space)
        counted = self._meter.counted
        waits = counted.waits, counted.waited
        if t.space.of_item and self._meter.device.packs == "loop-free":
            self._write_each(xs, target, environment)
        else:  # what it may pack is the whole kernel
            self._write(xs, target, environment)
        if t.space.of_group:
            if self._ahead:  # it computes meanwhile
                counted.waits, counted.waited = waits
                counted.ahead += float(cells(t.type).constant or 0)
            elif not any(isinstance(u, Stepping) for u in outside(xs, is_stored)):
                self._meter.together(*waits)
            self._meter.barrier()
        elif t.space.of_item:
            self._meter.hold(_held(xs) * self._meter.scope.width)
        return target

    def _read(self, xs: terms.Term, v: View, t: Type) -> View:
        """What a fold takes of `xs`, in a register where it is a number in local memory: it may be an index."""
        if isinstance(xs, AsScalar) and _in_register(v):
            self._meter.take_lane()
        if isinstance(v, Cell) and v.memory.space.of_group and isinstance(t, Scalar):
            self._accesses.touch(v)
            return _registers(t)
        return v

    def _scan(self, whole: terms.Pattern, target: ArrayView, environment: Environment) -> None:
        """A loop that writes what it has accumulated, or what a map that goes along with it makes of that."""
        t = whole.xs if isinstance(whole, EachInTurn) else whole
        assert isinstance(t, ScanSeq), "cannot happen: it is one, or what such a map goes through"
        start, data = self._view(t.init, environment), array(self._view(t.xs, environment))
        arrays = holds_array(t.init.type)
        accumulator = start if arrays else _registers(t.init.type)
        if not arrays:
            self._accesses.touch(start)
        chain = self._meter.chain(data.length, self._operations.latency(t.f))
        waits = self._meter.counted.waits, self._meter.counted.waited
        with chain, self._meter.loop(data.length) as i:
            inner = environment.bind(t.f, accumulator, data.at(i))
            if arrays:
                self._write(t.f.body, accumulator, inner)
            else:
                self._accesses.touch(self._view(t.f.body, inner))
            if shown_of_group(t.init) is not None:  # before and after it is read by others
                self._meter.barrier()
                self._meter.barrier()
            if isinstance(whole, EachInTurn):
                self._write(whole.f.body, target.at(i), environment.bind(whole.f, accumulator))
            else:
                self._accesses.copy(accumulator, target.at(i))
        if arrays and shown_of_group(t.init) is None:
            self._meter.read_ahead(*waits)

    def _in_order(self, t: InOrder, environment: Environment) -> None:
        """What is asked of one element after the other; of a sort, beside each of those before."""
        shown = [
            self._view(u, environment)
            for _, u in terms.children(t)
            if not isinstance(u, terms.Lambda)
        ]
        data = array(shown[-1])
        for each in shown[:-1]:
            if not isinstance(each, ArrayView):
                self._accesses.touch(each)
        half = (data.length.constant or 2) // 2
        turns = Size.of(half if isinstance(t, InsertionSortSeq) else 1)
        n = data.length.constant
        looked_at = data.length if n is None else Size.of(t.looked_at(n))
        with self._meter.chain(looked_at), self._meter.loop(looked_at) as i:
            self._accesses.touch(data.at(i))
            for _, f in terms.children(t):
                if isinstance(f, terms.Lambda):
                    with self._meter.loop(turns):
                        arguments = (_registers(x.type) for x in f.parameters)
                        self._accesses.touch(self._view(f.body, environment.bind(f, *arguments)))

    def _scatter(self, t: ScatterIndices, places: ArrayView, environment: Environment) -> None:
        """A loop that writes cells at indices that are data, of an array that may lie in its place already."""
        if not (is_layout(t.into) and same_cells(self._view(t.into, environment), places)):
            self._write(t.into, places, environment)
        ids, xs = (array(self._view(u, environment)) for u in (t.ids, t.xs))
        algebra = Views(t.name)
        with self._meter.loop(xs.length) as j:
            self._accesses.touch(ids.at(j))
            held = ids.at(j)
            if isinstance(held, Cell):  # a variable holds what is read there, in whatever memory
                at = Size.atom(Loaded(held.memory.name, held.offset, places.length))
            else:
                at = algebra.within(held, places.length)
            self._accesses.copy(xs.at(j), places.at(at))

    def _fold(self, t: Stepping, environment: Environment, place: View | None = None) -> View:
        """A loop whose every run writes an array anew, in place: that of its first value, or one that holds this."""
        f, iterates = t.f, isinstance(t, Iterate)
        accumulator = self._view(t.first, environment) if place is None else place
        if isinstance(t, Iterate):
            data = ArrayView(t.m, lambda _: accumulator)
        else:
            assert isinstance(t, Accumulating), "cannot happen: it goes through no array"
            data = array(self._view(t.xs, environment))
        turns = data.length
        around, self._ahead = self._ahead, isinstance(t, Fold) and t.ahead
        with self._meter.chain(turns), self._meter.loop(turns, unrolled=t.unrolled) as i:
            arguments = (accumulator,) if iterates else (accumulator, data.at(i))
            body = f.body.xs if in_group_memory(f.body) else f.body
            self._write_each(body, accumulator, environment.bind(f, *arguments))
        self._ahead = around
        return accumulator

    def _write_each(self, t: terms.Term, target: View, environment: Environment) -> None:
        """Write what may be a loop of which a driver makes vectors."""
        with self._meter.packed() if _packs(self._meter, t, target) else nullcontext():
            self._write(t, target, environment)


def _packs(meter: Meter, t: terms.Term, target: View) -> bool:
    """Whether a driver makes vectors of a loop: of one over a work-item's own numbers, each of which has a turn for itself.

    The forces between 12,288 atoms and 128 neighbours of each take PoCL 1.5 ms where each atom's are stored and then summed up, and 2.2 where
    they are summed up in turn.  What is only moved gains nothing: 61 of every third number of 3001 rows take it 0.7 ms more where they are stored.
    """
    if meter.on_gpu or not isinstance(t, MapSeq) or _has_loop(t.f.body) or is_layout(t.f.body):
        return False
    if any(isinstance(u, Accumulating) for u in outside(t.xs, is_stored)):
        return False  # what it goes through is computed in order
    if meter.device.packs != "loops" and calls_library(t.f.body):
        return False
    private = all(m.space.of_item for m in memories_of(target))
    numbers = isinstance(t.f.body.type, Scalar | Tuple) and not holds_array(t.f.body.type)
    return private and numbers and (cells(t.type).constant or 0) >= meter.device.vector_width


def _lies_in_cells(t: terms.Term) -> bool:
    """Whether a result lies in cells that its kernel updates, seen in one way or another: nothing copies them."""
    while (data := invertible_data(t)) is not None:
        t = data
    return updates_stored(t)


def _in_register(v: View) -> bool:
    """Whether a number lies in a register, or in an array of registers."""
    return isinstance(v, CodeValue) or (isinstance(v, Cell) and v.memory.space.of_item)


def _has_loop(t: terms.Term) -> bool:
    """Whether something in a term is done again and again."""
    return any(
        isinstance(u, Stepping) or (isinstance(u, terms.Pattern) and u.loop == "map")
        for u in outside(t, is_stored)
    )


def _parallel(t: terms.Term, counts: Callable[[EachOf], bool]) -> float:
    """Over how many work-items a term shares out what it computes, by maps that count, one within the other.

    What a kernel of its own computes is not shared out here.
    """
    if not _shares_out(terms.kinds_in(t)) or is_stored(t):
        return 1.0
    within = max((_parallel(u, counts) for _, u, _ in terms.inside(t)), default=1.0)
    if isinstance(t, EachOf) and counts(t) and isinstance(t.type, Array):
        return within * float(t.type.length.constant or 1)
    return within


@cache
def _shares_out(kinds: int) -> bool:
    """Whether among kinds of terms are maps over work-items."""
    return any(kinds & terms.mask_of(kind) for kind in EachOf.__subclasses__())


def _of_group(t: EachOf) -> bool:
    return isinstance(t, MapLcl)


def _held(t: terms.Term) -> float:
    """Registers that a work-item has of a private array: a dimension over work-items takes none."""
    if isinstance(t, MapLcl):
        return _held(t.f.body)
    if isinstance(t, EachInTurn) and isinstance(t.type, Array):
        return float(t.type.length.constant or 0) * _held(t.f.body)
    return float(cells(t.type).constant or 0)


def _registers(t: Type) -> View:
    """The view of a value in registers."""
    match t:
        case Scalar():
            return CodeValue("register", t, known="register")
        case Tuple(parts):
            return TupleView(tuple(map(_registers, parts)))
        case Vector(element, width):
            return VectorView(width, lambda i: _registers(element))
        case Array(element, n):
            return ArrayView(n, lambda i: _registers(element))
        case TypeVariable():
            raise AssertionError(f"cannot happen: a register of type {t}")
