"""The cost model: a roofline over the device description, read off the low-level term itself.

A kernel takes its launch, and then the longer of two times: moving every memory that it touches once
through the device's bandwidth, and issuing its instructions on the units that its work-items occupy.  What
an access costs depends on its stride, which the views give: contiguous lanes are one vector access, one
cell for all lanes is a broadcast, anything else is an access per lane.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod

from relift.semantics.device import DeviceDescription
from relift.semantics.errors import Unsupported
from relift.semantics.indices import Index, depends_on, linear_in, variable
from relift.semantics.language import Program
from relift.semantics.patterns import (
    Concat,
    MapGlb,
    MapLcl,
    MapSeq,
    MapSeqUnroll,
    MapVec,
    MapWrg,
    ReduceSeq,
    ReduceSeqUnroll,
    ToGlobal,
    ToLocal,
    ToPrivate,
)
from relift.semantics.terms import Apply, Call, Combine, Lambda, Literal, Term
from relift.semantics.types import Array, Scalar, Tuple, Type, Vector
from relift.semantics.views import (
    ArrayView,
    Cell,
    Environment,
    Guarded,
    Memory,
    Space,
    TupleView,
    Value,
    VectorView,
    View,
    array,
    inputs,
    name_of,
    peel,
    stored,
    vector,
    view,
)

# Cycles of one work-item, measured in order of magnitude on the embedded CPU device.
_FAR_STRIDE = 16  # cells: every access is a cache line of its own
_FAR_ACCESS = 8.0
_LOOP_STEP = 1.0
_WORK_ITEM = 4.0
_EXPENSIVE = {"exp": 20.0, "log": 20.0, "sin": 20.0, "cos": 20.0, "sqrt": 6.0, "div": 6.0}


@dataclass(frozen=True)
class Cost:
    """Estimated seconds: of launches, of instructions, of memory traffic; and their combination."""

    launch: float
    compute: float
    memory: float
    seconds: float
    bytes: float

    def __str__(self) -> str:
        return (
            f"{_time(self.seconds)} (compute {_time(self.compute)}, memory {_time(self.memory)}, "
            f"launch {_time(self.launch)})"
        )


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def estimate(program: Program, device: DeviceDescription) -> Cost:
    """The estimated cost of a low-level program at concrete sizes.

    Raises `Unsupported` for a term that computes where only a layout can stand.
    """
    walk = _Walk(device)
    environment = inputs(*program.parameters)
    with walk.kernel():
        walk.result("out", program.body, environment)
    launch = device.launch_seconds * len(walk.finished)
    compute = sum(k.seconds(device) for k in walk.finished)
    moved = sum(k.bytes for k in walk.finished)
    memory = moved / (device.bandwidth_gbs * 1e9)
    total = launch + sum(
        max(k.seconds(device), k.bytes / (device.bandwidth_gbs * 1e9)) for k in walk.finished
    )
    return Cost(launch, compute, memory, total, moved)


@dataclass
class _Kernel:
    """One kernel: its work-items, what one of them issues, and the memories it touches."""

    items: float = 1.0
    cycles: float = 0.0
    touched: dict[str, Memory] = field(default_factory=dict)
    has_loop: bool = False
    has_lanes: bool = False

    @property
    def bytes(self) -> float:
        return sum(
            float(m.cells.constant or 0) * m.scalar.bytes
            for m in self.touched.values()
            if m.space == "global"
        )

    def seconds(self, device: DeviceDescription) -> float:
        """Instructions over the units that the work-items occupy.

        A CPU's compiler packs the work-items of a kernel without loops into vectors; a GPU runs one
        work-item per lane always.
        """
        if device.kind == "gpu":
            slots = float(device.compute_units * 128)
        else:
            packed = device.vector_width * 0.5 if not (self.has_loop or self.has_lanes) else 1.0
            slots = device.compute_units * packed
        per_item = self.cycles + _WORK_ITEM
        waves = max(self.items / slots, 1.0)
        return per_item * waves / (device.clock_ghz * 1e9)


@dataclass(frozen=True)
class _Scope:
    """The loop variables around a place: of the innermost loop, of the fastest thread, of the lanes.

    `unrolled` are the loops inside it that are written out, with their lengths.
    """

    loop: Index | None = None
    thread: Index | None = None
    lane: Index | None = None
    width: float = 1.0
    host: bool = True
    unrolled: tuple[tuple[Index, float], ...] = ()


class _Walk:
    """Follows a low-level term as its kernels would, counting instead of computing."""

    def __init__(self, device: DeviceDescription) -> None:
        self.device = device
        self.finished: list[_Kernel] = []
        self._kernel = _Kernel()
        self._trips = 1.0
        self._scope = _Scope()
        self._count = 0

    # ---- structure

    @contextmanager
    def kernel(self) -> Generator[None]:
        saved = (self._kernel, self._trips, self._scope)
        self._kernel, self._trips, self._scope = _Kernel(), 1.0, _Scope()
        try:
            yield
        finally:
            self.finished.append(self._kernel)
            self._kernel, self._trips, self._scope = saved

    @contextmanager
    def _inside(self, scope: _Scope, trips: float = 1.0) -> Generator[None]:
        saved = (self._trips, self._scope)
        self._trips, self._scope = self._trips * trips, scope
        try:
            yield
        finally:
            self._trips, self._scope = saved

    def _variable(self, t: ArrayView | VectorView) -> Index:
        self._count += 1
        length = t.length if isinstance(t, ArrayView) else t.width
        return variable(f"i{self._count}", length)

    def _charge(self, cycles: float) -> None:
        self._kernel.cycles += cycles * self._trips

    # ---- results

    def result(self, name: str, t: Term, environment: Environment) -> View:
        """A value computed into a memory of its own."""
        target = stored(name, t.type)
        self._write(t, target, environment)
        return target

    def _write(self, t: Term, target: View, environment: Environment) -> None:
        match t:
            case MapGlb(_, f, xs) | MapWrg(_, f, xs) | MapLcl(_, f, xs):
                self._map_threads(t, f, xs, target, environment)
            case MapSeq(f, xs) | MapSeqUnroll(f, xs):
                data = array(self._view(xs, environment))
                i = self._variable(data)
                n = float(data.length.constant or 0)
                scope = replace(self._scope, host=False)
                if isinstance(t, MapSeq):
                    self._kernel.has_loop = True
                    self._charge(_LOOP_STEP * n)
                    scope = replace(scope, loop=i, unrolled=())
                else:
                    scope = replace(scope, unrolled=(*scope.unrolled, (i, n)))
                with self._inside(scope, n):
                    self._write(f.body, array(target).at(i), environment.bind(f, data.at(i)))
            case ReduceSeq() | ReduceSeqUnroll():
                self._touch(self._view(t, environment))
                self._touch(target)
            case Concat(xs, ys):
                cells, first = array(target), t.solved["n"]
                self._parts(
                    (xs, ArrayView(first, cells.at)),
                    (ys, ArrayView(t.solved["m"], lambda i: cells.at(i + first))),
                    environment,
                )
            case _ if isinstance(t.type, Array):
                peeled = peel(t, target)
                if peeled is None:
                    raise Unsupported(f"{name_of(t)} has no place to write to")
                self._write(peeled[0], peeled[1], environment)
            case _:
                self._touch(self._view(t, environment))
                self._touch(target)

    def _parts(
        self, first: tuple[Term, View], second: tuple[Term, View], environment: Environment
    ) -> None:
        """Parts of a result that the same work-items write: the longer one occupies all of them."""
        kernel = self._kernel
        around, before = kernel.items, kernel.cycles
        issued: list[tuple[float, float]] = []
        for part, target in (first, second):
            kernel.items, kernel.cycles = around, 0.0
            self._write(part, target, environment)
            issued.append((kernel.items, kernel.cycles))
        kernel.items = max(items for items, _ in issued)
        kernel.cycles = before + sum(items * cycles for items, cycles in issued) / kernel.items

    def _map_threads(
        self, t: Term, f: Lambda, xs: Term, target: View, environment: Environment
    ) -> None:
        data = array(self._view(xs, environment))
        i = self._variable(data)
        self._kernel.items *= float(data.length.constant or 0)
        fastest = getattr(t, "dim") == 0 and not isinstance(t, MapWrg)  # noqa: B009
        scope = replace(self._scope, thread=i if fastest else self._scope.thread, host=False)
        with self._inside(scope):
            self._write(f.body, array(target).at(i), environment.bind(f, data.at(i)))

    def _view(self, t: Term, environment: Environment) -> View:
        return view(t, environment, self._produce)

    def _produce(self, t: Term, environment: Environment) -> View:
        match t:
            case Literal():
                pass
            case Apply(function, arguments):
                for u in arguments:
                    self._touch(self._view(u, environment))
                self._charge(_EXPENSIVE.get(function, 1.0) * self._issue())
            case Call(_, arguments):
                for u in arguments:
                    self._touch(self._view(u, environment))
                self._charge(2.0 * self._issue())
            case Combine(_, left, right):
                self._touch(self._view(left, environment))
                self._touch(self._view(right, environment))
                self._charge(self._issue(t.type))
            case ReduceSeq(f, init, xs) | ReduceSeqUnroll(f, init, xs):
                self._touch(self._view(init, environment))
                data = array(self._view(xs, environment))
                i = self._variable(data)
                n = float(data.length.constant or 0)
                scope = replace(self._scope, host=False)
                if isinstance(t, ReduceSeq):
                    self._kernel.has_loop = True
                    self._charge(_LOOP_STEP * n)
                    scope = replace(scope, loop=i, unrolled=())
                else:
                    scope = replace(scope, unrolled=(*scope.unrolled, (i, n)))
                accumulator = _registers(t.type)
                with self._inside(scope, n):
                    self._write(
                        f.body, accumulator, environment.bind(f, accumulator, data.at(i))
                    )
            case MapVec(f, v):
                lanes = vector(self._view(v, environment))
                i = self._variable(lanes)
                self._kernel.has_lanes = True
                width = float(lanes.width.constant or 1)
                with self._inside(replace(self._scope, lane=i, width=width)):
                    self._touch(self._view(f.body, environment.bind(f, lanes.lane(i))))
            case ToGlobal(xs) if self._scope.host:
                self._count += 1
                name = f"buffer{self._count}"
                with self.kernel():
                    return self.result(name, xs, environment)
            case ToGlobal(xs) | ToLocal(xs) | ToPrivate(xs):
                self._count += 1
                target = stored(f"m{self._count}", t.type, _SPACES[type(t)])
                self._write(xs, target, environment)
                return target
            case _:
                raise Unsupported(f"{name_of(t)} computes, where only a layout has a view")
        return _registers(t.type)

    # ---- accesses

    def _issue(self, t: Type | None = None) -> float:
        """Instructions for one scalar operation at this place, or for one on a vector of type t."""
        width = self._scope.width
        if isinstance(t, Vector):
            width = float(t.width.constant or 1)
        return max(1.0, width / self.device.vector_width)

    def _touch(self, v: View) -> None:
        match v:
            case TupleView(parts):
                for part in parts:
                    self._touch(part)
            case VectorView():
                i = self._variable(v)
                width = float(v.width.constant or 1)
                with self._inside(replace(self._scope, lane=i, width=width)):
                    self._touch(v.lane(i))
            case Guarded(_, inside, outside):
                self._charge(2.0 * self._issue())
                self._touch(inside)
                self._touch(outside)
            case Cell(memory, offset):
                self._kernel.touched[memory.name] = memory
                # what is read at one address by all turns of a loop that is written out is read once
                again = prod(n for i, n in self._scope.unrolled if not depends_on(offset, i))
                self._charge(self._access(memory, offset) / again)
            case Value() | ArrayView():
                pass

    def _access(self, memory: Memory, offset: Index) -> float:
        scope = self._scope
        if memory.space == "private":
            return 0.5 * self._issue()
        index_arithmetic = 0.5 * sum(1 for atom in offset.atoms() if not hasattr(atom, "name"))
        if scope.lane is not None:
            stride = _stride(offset, scope.lane)
            if stride == 0:
                return 0.5 + index_arithmetic
            if stride == 1:
                return self._issue() + index_arithmetic
            return (2.0 if stride is not None else 4.0) * scope.width + index_arithmetic
        if self.device.kind == "gpu" and scope.thread is not None:
            stride = _stride(offset, scope.thread)
            return (1.0 if stride in (0, 1) else _FAR_ACCESS) + index_arithmetic
        inner = scope.loop if scope.loop is not None else scope.thread
        stride = 0 if inner is None else _stride(offset, inner)
        far = stride is None or abs(stride) >= _FAR_STRIDE
        return (_FAR_ACCESS if far else 1.0) + index_arithmetic


_SPACES: dict[type[Term], Space] = {ToGlobal: "global", ToLocal: "local", ToPrivate: "private"}


def _stride(offset: Index, v: Index) -> int | None:
    """How far the offset moves when `v` grows by one; None when that is not a constant."""
    linear = linear_in(offset, v)
    return None if linear is None else linear[0].constant


def _registers(t: Type) -> View:
    """The view of a value in registers."""
    match t:
        case Scalar():
            return Value("register", t)
        case Tuple(parts):
            return TupleView(tuple(map(_registers, parts)))
        case Vector(element, width):
            return VectorView(width, lambda i: _registers(element))
        case Array(element, n):
            return ArrayView(n, lambda i: _registers(element))
        case _:
            raise AssertionError(f"cannot happen: a register of type {t}")
