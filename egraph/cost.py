"""The cost model: a roofline over the device description, read off the low-level term itself.

A kernel takes its launch, and then the longer of two times: moving every memory that it touches once
through the device's bandwidth, and issuing its instructions on the units that its work-items occupy; on a
GPU also waiting for memory, unless enough other work-items run meanwhile.  What an access costs depends on
its stride, which the views give: contiguous lanes, or neighbouring work-items, are one access, one cell for
all is a broadcast, anything else is an access for each.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias

from relift.semantics.device import DeviceDescription
from relift.semantics.errors import Unsupported
from relift.semantics.indices import Index, depends_on, linear_in, variable
from relift.semantics.language import Program
from relift.semantics.patterns import (
    Concat,
    Iterate,
    Let,
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
from relift.semantics.terms import Apply, Call, Combine, Lambda, Literal, Term, children
from relift.semantics.types import Array, Scalar, Tuple, Type, Vector, cells
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

# Cycles of one work-item on a CPU, measured in order of magnitude on the embedded device.
_FAR_STRIDE = 16  # cells: every access is a cache line of its own
_FAR_ACCESS = 8.0
_LOOP_STEP = 1.0
_WORK_ITEM = 4.0
_EXPENSIVE = {"exp": 20.0, "log": 20.0, "sin": 20.0, "cos": 20.0, "sqrt": 6.0, "div": 6.0}
_SPECIAL = 8.0  # cycles of each of these on a GPU, which has a unit for them on every eighth lane

# Cycles that a work-item of a GPU waits, with about four accesses on their way at a time; an H200's memory
# answers after about 600 cycles, its caches after 40 to 200, local memory after 30.
_WAIT_MEMORY, _WAIT_CACHE, _WAIT_LOCAL, _WAIT_RESULT = 150.0, 30.0, 8.0, 2.0
_CACHED_BYTES = 1 << 20  # a memory of so many bytes stays close to the work-items
_BARRIER = 30.0
_SECTOR = 8  # cells of f32: the least that memory sends
_RESIDENT, _REGISTER_FILE, _OTHER_REGISTERS = 2048, 65_536, 32  # of a unit; registers of 32 bits


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
    with walk.kernel(program.body):
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
    """One kernel: its work-items, what one of them issues and waits for, and the memories it touches.

    `counts` are the work-items or groups of each dimension.  What fewer of them do counts for all in part.
    """

    counts: Mapping[Dimension, float]
    cycles: float = 0.0
    waits: float = 0.0
    registers: float = 0.0
    touched: dict[str, Memory] = field(default_factory=dict)
    has_loop: bool = False
    has_lanes: bool = False

    @property
    def items(self) -> float:
        return prod(self.counts.values())

    @property
    def bytes(self) -> float:
        return sum(_bytes(m) for m in self.touched.values() if m.space == "global")

    def seconds(self, device: DeviceDescription) -> float:
        """Instructions over the units that the work-items occupy.

        A CPU's compiler packs the work-items of a kernel without loops into vectors; a GPU runs one
        work-item per lane always, and each waits for its own accesses while others run.
        """
        per_item = self.cycles + _WORK_ITEM
        if device.kind == "cpu":
            packed = device.vector_width * 0.5 if not (self.has_loop or self.has_lanes) else 1.0
            waves = max(self.items / (device.compute_units * packed), 1.0)
            return per_item * waves / (device.clock_ghz * 1e9)
        issued = per_item * self.items / (device.compute_units * 128)
        resident = min(_RESIDENT, _REGISTER_FILE / (self.registers + _OTHER_REGISTERS))
        waves = max(self.items / (device.compute_units * resident), 1.0)
        waited = (per_item * _WAIT_RESULT + self.waits) * waves
        return max(issued, waited) / (device.clock_ghz * 1e9)


def _bytes(m: Memory) -> float:
    return float(m.cells.constant or 0) * m.scalar.bytes


Dimension: TypeAlias = tuple[type[Term], int]
"""A dimension of work-items or groups, by the map that it serves."""


_GROUP_LIMIT = 256.0
"""Work-items of a group at most; where a map is longer, each takes several elements in turn."""


def _counts(t: Term) -> dict[Dimension, float]:
    """The longest map of each dimension in a kernel; what `to_global` stores on the host has its own."""
    found: dict[Dimension, float] = {}

    def visit(u: Term, *, host: bool) -> None:
        if host and isinstance(u, ToGlobal):
            return
        inside = host
        if isinstance(u, MapGlb | MapWrg | MapLcl):
            key = (type(u), u.dim.constant or 0)
            found[key] = max(found.get(key, 1.0), float(u.solved["n"].constant or 0))
            inside = False
        for _, child in children(u):
            if isinstance(child, Lambda):
                visit(child.body, host=inside)
            else:
                visit(child, host=host)

    visit(t, host=True)
    room = _GROUP_LIMIT
    for key in sorted((key for key in found if key[0] is MapLcl), key=lambda key: key[1]):
        found[key] = max(1.0, min(found[key], room))
        room //= found[key]
    return found


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
        self._kernel = _Kernel({})
        self._trips = 1.0
        self._turns = 1.0
        self._scope = _Scope()
        self._count = 0

    # ---- structure

    @contextmanager
    def kernel(self, t: Term) -> Generator[None]:
        saved = (self._kernel, self._trips, self._turns, self._scope)
        self._kernel, self._trips, self._turns, self._scope = (
            _Kernel(_counts(t)),
            1.0,
            1.0,
            _Scope(),
        )
        try:
            yield
        finally:
            self.finished.append(self._kernel)
            self._kernel, self._trips, self._turns, self._scope = saved

    @contextmanager
    def _inside(self, scope: _Scope, trips: float = 1.0) -> Generator[None]:
        """A part that every work-item runs so often; a share of them, where that is less than once."""
        saved = (self._trips, self._turns, self._scope)
        self._trips, self._turns = self._trips * trips, self._turns * max(1.0, trips)
        self._scope = scope
        try:
            yield
        finally:
            self._trips, self._turns, self._scope = saved

    def _variable(self, t: ArrayView | VectorView) -> Index:
        self._count += 1
        length = t.length if isinstance(t, ArrayView) else t.width
        return variable(f"i{self._count}", length)

    def _charge(self, cycles: float) -> None:
        self._kernel.cycles += cycles * self._trips

    def _wait(self, cycles: float) -> None:
        self._kernel.waits += cycles * self._turns

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
                with self._loop(data, unrolled=isinstance(t, MapSeqUnroll)) as i:
                    self._write(f.body, array(target).at(i), environment.bind(f, data.at(i)))
            case Let(f, x):
                self._write(f.body, target, environment.bind(f, self._view(x, environment)))
            case Concat(xs, ys):
                place, n = array(target), t.solved["n"]
                self._write(xs, ArrayView(n, place.at), environment)
                self._write(ys, ArrayView(t.solved["m"], lambda i: place.at(i + n)), environment)
            case ReduceSeq() | ReduceSeqUnroll():
                self._touch(self._view(t, environment))
                self._store(target)
            case _ if isinstance(t.type, Array):
                peeled = peel(t, target)
                if peeled is None:
                    raise Unsupported(f"{name_of(t)} has no place to write to")
                self._write(peeled[0], peeled[1], environment)
            case _:
                self._touch(self._view(t, environment))
                self._store(target)

    @contextmanager
    def _loop(self, data: ArrayView, *, unrolled: bool) -> Generator[Index]:
        """The body of a loop over an array, which may be written out."""
        i = self._variable(data)
        n = float(data.length.constant or 0)
        scope = replace(self._scope, host=False)
        if unrolled:
            scope = replace(scope, unrolled=(*scope.unrolled, (i, n)))
        else:
            self._kernel.has_loop = True
            self._charge(_LOOP_STEP * n)
            scope = replace(scope, loop=i, unrolled=())
        with self._inside(scope, n):
            yield i

    def _map_threads(
        self,
        t: MapGlb | MapWrg | MapLcl,
        f: Lambda,
        xs: Term,
        target: View,
        environment: Environment,
    ) -> None:
        data = array(self._view(xs, environment))
        i = self._variable(data)
        dimension = (type(t), t.dim.constant or 0)
        share = float(data.length.constant or 0) / self._kernel.counts[dimension]
        fastest = dimension[1] == 0 and not isinstance(t, MapWrg)
        scope = replace(self._scope, thread=i if fastest else self._scope.thread, host=False)
        with self._inside(scope, share):
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
                if not (function in ("add", "sub") and any(map(_is_product, arguments))):
                    self._charge(self._operation(function) * self._issue())
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
                accumulator = _registers(t.type)
                with self._loop(data, unrolled=isinstance(t, ReduceSeqUnroll)) as i:
                    inner = environment.bind(f, accumulator, data.at(i))
                    self._write(f.body, accumulator, inner)
            case Iterate(m, f, x):
                first = self._view(x, environment)
                with self._inside(self._scope, float(m.constant or 0)):
                    return self._view(f.body, environment.bind(f, first))
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
                with self.kernel(xs):
                    return self.result(name, xs, environment)
            case ToGlobal(xs) | ToLocal(xs) | ToPrivate(xs):
                self._count += 1
                target = stored(f"m{self._count}", t.type, _SPACES[type(t)])
                self._write(xs, target, environment)
                if isinstance(t, ToLocal):
                    self._wait(_BARRIER)
                elif isinstance(t, ToPrivate):
                    self._kernel.registers += self._held(xs)
                return target
            case _:
                raise Unsupported(f"{name_of(t)} computes, where only a layout has a view")
        return _registers(t.type)

    # ---- accesses

    def _issue(self, t: Type | None = None) -> float:
        """Instructions for one scalar operation at this place, or for one on a vector of type t.

        A GPU has vectors in its accesses only.
        """
        width = self._scope.width
        if isinstance(t, Vector):
            width = float(t.width.constant or 1)
        return width if self.device.kind == "gpu" else max(1.0, width / self.device.vector_width)

    def _operation(self, function: str) -> float:
        """Cycles of a scalar function."""
        cycles = _EXPENSIVE.get(function, 1.0)
        return min(cycles, _SPECIAL) if self.device.kind == "gpu" else cycles

    def _held(self, t: Term) -> float:
        """Registers that a work-item has of a private array: a dimension over work-items takes none."""
        match t:
            case MapLcl(_, f):
                return self._held(f.body)
            case _:
                match t.type:
                    case Array(_, n) if isinstance(t, MapSeq | MapSeqUnroll):
                        return float(n.constant or 0) * self._held(t.f.body)
                    case other:
                        return float(cells(other).constant or 0)

    def _store(self, v: View) -> None:
        """What is written is not waited for."""
        waits = self._kernel.waits
        self._touch(v)
        self._kernel.waits = waits

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
        if self.device.kind == "gpu":
            return self._access_together(memory, offset)
        if memory.space == "private":
            return 0.5 * self._issue()
        scope = self._scope
        index_arithmetic = 0.5 * sum(1 for atom in offset.atoms() if not hasattr(atom, "name"))
        if scope.lane is not None:
            stride = _stride(offset, scope.lane)
            if stride == 0:
                return 0.5 + index_arithmetic
            if stride == 1:
                return self._issue() + index_arithmetic
            return (2.0 if stride is not None else 4.0) * scope.width + index_arithmetic
        inner = scope.loop if scope.loop is not None else scope.thread
        stride = 0 if inner is None else _stride(offset, inner)
        far = stride is None or abs(stride) >= _FAR_STRIDE
        return (_FAR_ACCESS if far else 1.0) + index_arithmetic

    def _access_together(self, memory: Memory, offset: Index) -> float:
        """An access by neighbouring work-items of a GPU: cheap when they read one row of cells, or one cell."""
        if memory.space == "private":
            return 0.0
        scope, accesses, row = self._scope, 1.0, 1
        if scope.lane is not None:
            match _stride(offset, scope.lane):
                case 0:
                    pass
                case 1:
                    row = round(scope.width)
                    accesses = max(1.0, scope.width / self.device.vector_width)
                case _:
                    accesses = scope.width
        if memory.space == "local":
            self._wait(_WAIT_LOCAL * accesses)
            return accesses
        stride = 0 if scope.thread is None else _stride(offset, scope.thread)
        near = stride == 0 or _bytes(memory) <= _CACHED_BYTES
        self._wait((_WAIT_CACHE if near else _WAIT_MEMORY) * accesses)
        apart = _SECTOR if stride is None else min(abs(stride) / row, _SECTOR)
        return accesses * max(1.0, apart)


_SPACES: dict[type[Term], Space] = {ToGlobal: "global", ToLocal: "local", ToPrivate: "private"}


def _is_product(t: Term) -> bool:
    """Whether adding t takes no instruction of its own."""
    return isinstance(t, Apply) and t.function == "mul"


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
