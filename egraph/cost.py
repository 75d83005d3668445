"""The cost model: a roofline over the device description, read off the low-level term itself.

A kernel takes its launch, and then the longer of two times: moving every memory that it touches once
through the device's bandwidth, and issuing its instructions on the units that its work-items occupy.  The
instructions of all work-items are added up, and so are those of the busiest one: no device is faster than
either.  What an access costs depends on its stride, which the views give: contiguous lanes, or neighbouring
work-items, are one access, one cell for all is a broadcast, anything else is an access for each.

On a GPU the busiest work-item also waits for memory, registers are free, a product and the sum that takes it are one instruction, and a vector is an
access but no operation: each lane of it is an instruction.

A CPU starts two instructions of either kind in a cycle.  A loop that adds up has to wait for each sum before the
next, unless it has several to do or is so short that the next loop overlaps.  Some drivers pack work-items into
vectors by themselves (`DeviceDescription.packs`); what neighbouring work-items read apart is not packed.  A private
array is in registers where they suffice.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod

from relift.device import DeviceDescription
from relift.semantics.errors import Unsupported
from relift.semantics.indices.expressions import (
    Index,
    Loaded,
    Variable,
    depends_on,
    evaluate,
    linear_in,
    variable,
    variables_of,
)
from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    Environment,
    Guarded,
    Memory,
    TupleView,
    Value,
    VectorView,
    View,
    Views,
    array,
    component_view,
    inputs,
    is_layout,
    memories_of,
    name_of,
    peel,
    stored,
    tuple_view,
    vector,
    view,
)
from relift.semantics.language.vocabulary import Program
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
    Splat,
    ToGlobal,
    ToLocal,
    ToPrivate,
    Zip,
)
from relift.semantics.patterns.layout import windows_viewed
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    Call,
    Combine,
    Literal,
    MakeTuple,
    Term,
    UserFunction,
    free_variables,
    innermost,
    subterms,
)
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, Vector, cells

# Cycles of one core of a CPU, fitted to times of the examples' candidates on two implementations of OpenCL.
_ISSUE = 0.5  # two operations start in a cycle, and two loads
_STORE = 1.0
_FAR_STRIDE, _FAR_ACCESS = 16, 4.0  # cells of f32: every access is a cache line of its own
_PAGE, _NEW_PAGE = (
    1024,
    1.5,
)  # cells; what an access costs more when every step of a loop is in another page
_FAR_PAGE = 16.0  # what a scalar access costs when every step is in another page
_LOOP_STEP = 0.5
_WORK_ITEM = 2.0
_LATENCY = 4.0  # until a sum can be added to
_WINDOW = 100.0  # cycles of work that a core looks ahead
_SEEN = 0.1  # of the shorter of two times that overlap
_PACKED = 0.7  # how much of its lanes a driver uses that packs work-items
_EXPENSIVE = {"exp": 60.0, "log": 60.0, "sin": 120.0, "cos": 120.0, "sqrt": 6.0, "div": 6.0}
_LIBRARY = frozenset(_EXPENSIVE) - {"sqrt", "div"}  # no instructions of their own
_OPAQUE = 4.0
_SPECIAL_UNIT = 4.0  # a GPU has a quarter as many units for these

# Cycles that a work-item of a GPU waits, with about four accesses on their way at a time: an H200's memory
# answers after about 600 cycles, its caches after 40 to 200, local memory after 30.
_WAIT_MEMORY, _WAIT_CACHE, _WAIT_LOCAL, _WAIT_RESULT = 150.0, 30.0, 8.0, 2.0
_CACHED_BYTES = 1 << 20  # a memory of this many bytes stays close to the work-items
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
            f"{time_text(self.seconds)} (compute {time_text(self.compute)}, memory {time_text(self.memory)}, "
            f"launch {time_text(self.launch)})"
        )


def time_text(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def estimate(program: Program, device: DeviceDescription) -> Cost:
    """The estimated cost of a low-level program at concrete sizes.

    Raises `Unsupported` for a term that computes where only a layout can stand.
    """
    environment = inputs(*program.parameters)
    walk = _Walk(device, environment)
    with walk.kernel():
        walk.result("out", program.body, environment)
    launch = device.launch_seconds * len(walk.finished)
    compute = sum(k.seconds(device) for k in walk.finished)
    moved = sum(k.bytes for k in walk.finished)
    memory = moved / (device.bandwidth_gbs * 1e9)
    total = launch + sum(_together(k, device) for k in walk.finished)
    return Cost(launch, compute, memory, total, moved)


def _together(kernel: _Kernel, device: DeviceDescription) -> float:
    """Seconds of a kernel that computes and moves: of the shorter time, a part hides behind the longer one."""
    times = kernel.seconds(device), kernel.bytes / (device.bandwidth_gbs * 1e9)
    return max(times) + _SEEN * min(times) * (device.kind == "cpu")


@dataclass
class _Kernel:
    """One kernel: its work-items, what all and what the busiest of them issue, and the memories it touches.

    `waits` are the cycles that the busiest waits for memory, `waited` those of all; `registers` are those of
    the private arrays of one; `counts` are the work-items of each dimension, which a kernel in parts asks for their
    number.  `apart` is the part of `issued` that a driver cannot pack: neighbouring work-items access
    cells that lie apart.
    """

    items: float = 1.0
    issued: float = 0.0
    longest: float = 0.0
    waits: float = 0.0
    waited: float = 0.0
    registers: float = 0.0
    apart: float = 0.0
    touched: dict[str, Memory] = field(default_factory=dict)
    counts: dict[tuple[str, Size], Index] = field(default_factory=dict)
    has_loop: bool = False
    is_guarded: bool = False
    has_lanes: bool = False
    has_library: bool = False

    @property
    def bytes(self) -> float:
        return sum(_bytes(m) for m in self.touched.values() if m.space == "global")

    def seconds(self, device: DeviceDescription) -> float:
        """Instructions over the units that the work-items occupy.

        A GPU runs one work-item per lane always, and each waits for its own accesses while others run.
        """
        longest = self.longest + _WORK_ITEM
        busy = self.issued + _WORK_ITEM * self.items
        if device.kind == "gpu":
            slots = float(device.compute_units * 128)
            resident = min(_RESIDENT, _REGISTER_FILE / (self.registers + _OTHER_REGISTERS))
            together = (self.issued * _WAIT_RESULT + self.waited) / (
                device.compute_units * resident
            )
            longest = max(longest * _WAIT_RESULT + self.waits, together)
            return max(busy / slots, longest) / (device.clock_ghz * 1e9)
        if self._is_packed(device):
            lanes = max(1.0, min(device.vector_width, self.items) * _PACKED)
            busy = (busy - self.apart) / lanes + self.apart
        busy /= min(device.compute_units, self.items)
        return max(busy, longest) / (device.core_ghz * 1e9)

    def _is_packed(self, device: DeviceDescription) -> bool:
        """Whether a driver makes vectors of neighbouring work-items.

        Not where there are vectors already, and not where a part is for some of the work-items only.
        One that packs no loops does not pack functions of the library either.
        """
        plain = not (self.has_loop or self.has_library)
        packs = device.packs == "loops" or (device.packs == "loop-free" and plain)
        return packs and not (self.has_lanes or self.is_guarded)


def _bytes(m: Memory) -> float:
    return float(m.cells.constant or 0) * m.scalar.bytes


@dataclass(frozen=True)
class _Computed:
    """A term, what its free variables showed, and where its value lies: it is computed once in a block."""

    term: Term
    bindings: tuple[View, ...]
    result: View


@dataclass(frozen=True)
class _Scope:
    """How often a place is reached by how many work-items, and what is computed there already.

    The variables are those around it: of the innermost loop, of the fastest work-items, of the lanes.
    `unrolled` are the loops inside the innermost one that are written out, with their lengths.
    """

    loop: Index | None = None
    thread: Index | None = None
    lane: Index | None = None
    width: float = 1.0
    trips: float = 1.0
    items: float = 1.0
    host: bool = True
    unrolled: tuple[tuple[Index, float], ...] = ()
    computed: tuple[list[_Computed], ...] = ()


class _Walk:
    """Follows a low-level term as its kernels would, counting instead of computing."""

    def __init__(self, device: DeviceDescription, environment: Environment) -> None:
        self.device = device
        self.finished: list[_Kernel] = []
        self._on_gpu = device.kind == "gpu"
        self._memories = {m.name: m for v in environment.inputs.values() for m in memories_of(v)}
        self._kernel = _Kernel()
        self._scope = _Scope()
        self._storing = False
        self._count = 0
        self._buffers: dict[Term, View] = {}

    # ---- structure

    @contextmanager
    def kernel(self) -> Generator[None]:
        saved = (self._kernel, self._scope)
        self._kernel, self._scope = _Kernel(), _Scope(computed=([],))
        try:
            yield
        finally:
            self.finished.append(self._kernel)
            self._kernel, self._scope = saved

    @contextmanager
    def _inside(self, scope: _Scope) -> Generator[None]:
        saved, self._scope = self._scope, scope
        try:
            yield
        finally:
            self._scope = saved

    def _fresh(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def _stored(self, name: str, t: Type, space: Space = "global") -> View:
        target = stored(name, t, space)
        self._memories |= {m.name: m for m in memories_of(target)}
        return target

    def _charge(self, cycles: float, *, apart: bool = False) -> None:
        issued = cycles * self._scope.trips * self._scope.items
        self._kernel.issued += issued
        self._kernel.longest += cycles * self._scope.trips
        if apart:
            self._kernel.apart += issued

    def _wait(self, cycles: float) -> None:
        self._kernel.waits += cycles * self._scope.trips
        self._kernel.waited += cycles * self._scope.trips * self._scope.items

    # ---- results

    def result(self, name: str, t: Term, environment: Environment) -> View:
        """A value computed into a memory of its own."""
        target = self._stored(name, t.type)
        self._write(t, target, environment)
        return target

    def _write(self, t: Term, target: View, environment: Environment) -> None:
        if is_layout(t):
            self._copy(self._view(t, environment), target)
            return
        match t:
            case MapGlb(_, f, xs) | MapWrg(_, f, xs) | MapLcl(_, f, xs):
                data = array(self._view(xs, environment))
                with self._work_items(t, data.length) as i:
                    self._write(f.body, array(target).at(i), environment.bind(f, data.at(i)))
            case MapSeq(f, xs) | MapSeqUnroll(f, xs):
                data = array(self._view(xs, environment))
                with self._loop(data.length, unrolled=isinstance(t, MapSeqUnroll)) as i:
                    self._write(f.body, array(target).at(i), environment.bind(f, data.at(i)))
            case MapSeqSlide(size, step, f, xs):
                data = array(self._view(xs, environment))
                windows = array(windows_viewed(Views(t.name), t.solved["k"], size, step, data))
                with self._loop(windows.length) as i:
                    self._write(f.body, array(target).at(i), environment.bind(f, windows.at(i)))
            case ScanSeq(f, init, xs):
                self._touch(self._view(init, environment))
                data = array(self._view(xs, environment))
                with self._loop(data.length) as i:
                    inner = environment.bind(f, _registers(init.type), data.at(i))
                    self._touch(self._view(f.body, inner))
                    self._copy(_registers(init.type), array(target).at(i))
            case Let(f, x):
                self._write(f.body, target, environment.bind(f, self._view(x, environment)))
            case Concat(xs, ys):
                result, n = array(target), t.solved["n"]
                self._write(xs, ArrayView(n, result.at), environment)
                self._write(ys, ArrayView(t.solved["m"], lambda i: result.at(i + n)), environment)
            case Zip(left, right):
                self._write(left, component_view(target, 0), environment)
                self._write(right, component_view(target, 1), environment)
            case MakeTuple(parts):
                for part, place in zip(parts, tuple_view(target).parts, strict=True):
                    self._write(part, place, environment)
            case ToGlobal(xs):
                self._write(xs, target, environment)
            case _ if (peeled := peel(t, target)) is not None:
                self._write(*peeled, environment)
            case _:
                self._copy(self._view(t, environment), target)

    def _copy(self, source: View, target: View) -> None:
        if source is target:  # a fold in place
            return
        match source, target:
            case ArrayView(n), ArrayView(_, place):
                with self._loop(n) as i:
                    self._copy(source.at(i), place(i))
            case TupleView(parts), TupleView(places):
                for part, at in zip(parts, places, strict=True):
                    self._copy(part, at)
            case _:
                self._touch(source)
                waits = self._kernel.waits, self._kernel.waited
                self._storing = True
                self._touch(target)
                self._storing = False
                self._kernel.waits, self._kernel.waited = waits  # nobody waits for what is written

    @contextmanager
    def _work_items(self, t: MapGlb | MapWrg | MapLcl, length: Index) -> Generator[Index]:
        i = variable(self._fresh("i"), length)
        scope = self._scope
        items = scope.items * float(length.constant or 0)
        self._kernel.items = max(self._kernel.items, items)
        self._kernel.is_guarded |= (
            self._kernel.counts.setdefault((name_of(t), t.dim), length) != length
        )
        fastest = t.dim == 0 and not isinstance(t, MapWrg)
        thread = i if fastest else scope.thread
        block = (*scope.computed, [])
        with self._inside(replace(scope, thread=thread, items=items, host=False, computed=block)):
            yield i

    @contextmanager
    def _loop(self, length: Index, *, unrolled: bool = False) -> Generator[Index]:
        i = variable(self._fresh("i"), length)
        scope = self._scope
        n = float(length.constant or 0)
        if unrolled:
            around = (*scope.unrolled, (i, n))
        elif n == 1:  # no loop
            around = scope.unrolled
        else:
            self._kernel.has_loop = True
            self._charge(_LOOP_STEP * n)
            around = ()
        inner = replace(
            scope,
            loop=scope.loop if unrolled or n == 1 else i,
            trips=scope.trips * n,
            host=False,
            unrolled=around,
            computed=(*scope.computed, []),
        )
        with self._inside(inner):
            yield i

    @contextmanager
    def _chain(self, length: Index) -> Generator[None]:
        """A loop whose steps each need the result of the one before."""
        before = self._kernel.longest
        yield
        steps = float(length.constant or 0)
        if self._on_gpu or not steps:
            return
        own = (self._kernel.longest - before) / self._scope.trips
        alone = max(0.0, 1.0 - _WINDOW / max(own, 1.0))
        self._charge(max(0.0, _LATENCY * steps - own) * alone)

    @contextmanager
    def _lanes(self, width: Index) -> Generator[Index]:
        i = variable(self._fresh("i"), width)
        scope = self._scope
        block = (*scope.computed, [])
        lane = replace(scope, lane=i, width=float(width.constant or 1), computed=block)
        with self._inside(lane):
            yield i

    def _view(self, t: Term, environment: Environment) -> View:
        return view(t, environment, self._produce_once)

    def _produce_once(self, t: Term, environment: Environment) -> View:
        if self._on_gpu and self._scope.lane is not None:
            return self._produce(t, environment)
        bindings = tuple(environment.variables[name] for name in sorted(free_variables(t)))
        for known in (c for block in self._scope.computed for c in block):
            same = (a is b for a, b in zip(known.bindings, bindings, strict=True))
            if known.term == t and all(same):
                return known.result
        result = self._produce(t, environment)
        self._scope.computed[-1].append(_Computed(t, bindings, result))
        return result

    def _produce(self, t: Term, environment: Environment) -> View:
        def touch(*terms: Term) -> None:
            for u in terms:
                self._touch(self._view(u, environment))

        match t:
            case Literal():
                pass
            case Apply(function, arguments):
                touch(*arguments)
                self._charge(self._cycles(function, arguments) * self._issue())
            case Call(user, arguments):
                touch(*arguments)
                cycles = _SPECIAL_UNIT if self._on_gpu else self._cycles_of(user)
                self._charge(cycles * self._issue())
            case Combine(operator, left, right):
                touch(left, right)
                one = self._on_gpu or not self._is_fused(innermost(operator).name, (left, right))
                self._charge(one * self._issue(t.type))
            case ReduceSeq(f, init, xs) | ReduceSeqUnroll(f, init, xs):
                if isinstance(t.type, Array):
                    return self._fold(t, environment)
                touch(init)
                data = array(self._view(xs, environment))
                unrolled = isinstance(t, ReduceSeqUnroll)
                with self._chain(data.length), self._loop(data.length, unrolled=unrolled) as i:
                    inner = environment.bind(f, _registers(t.type), data.at(i))
                    self._touch(self._view(f.body, inner))
            case Iterate(m, f, x):
                if isinstance(t.type, Array):
                    return self._fold(t, environment)
                touch(x)
                with self._loop(m):
                    self._touch(self._view(f.body, environment.bind(f, _registers(t.type))))
            case MapVec(f, v):
                lanes = vector(self._view(v, environment))
                self._kernel.has_lanes = True
                with self._lanes(lanes.width) as i:
                    self._touch(self._view(f.body, environment.bind(f, lanes.lane(i))))
            case ToGlobal(xs) if self._scope.host or not free_variables(t):
                return self._buffer(xs, environment)
            case ToGlobal(xs) | ToLocal(xs) | ToPrivate(xs) if isinstance(t.type, Array):
                target = self._stored(self._fresh("m"), t.type, t.space)
                self._write(xs, target, environment)
                if isinstance(t, ToLocal):
                    self._wait(_BARRIER)
                elif isinstance(t, ToPrivate):
                    self._kernel.registers += _held(xs)
                return target
            case ToPrivate(x) | Splat(_, x):
                touch(x)
            case _:
                raise Unsupported(f"{name_of(t)} computes, where only a layout has a view")
        return _registers(t.type)

    def _buffer(self, xs: Term, environment: Environment) -> View:
        """What a kernel of its own computes before this one, once, wherever it is read."""
        if xs not in self._buffers:
            with self.kernel():
                self._buffers[xs] = self.result(self._fresh("buffer"), xs, environment)
        return self._buffers[xs]

    def _fold(self, t: ReduceSeq | ReduceSeqUnroll | Iterate, environment: Environment) -> View:
        """A loop whose every run writes an array anew, in place."""
        f, iterates = t.f, isinstance(t, Iterate)
        accumulator = self._view(t.x if isinstance(t, Iterate) else t.init, environment)
        if isinstance(t, Iterate):
            data = ArrayView(t.m, lambda _: accumulator)
        else:
            data = array(self._view(t.xs, environment))
        unrolled = isinstance(t, ReduceSeqUnroll)
        with self._chain(data.length), self._loop(data.length, unrolled=unrolled) as i:
            arguments = (accumulator,) if iterates else (accumulator, data.at(i))
            body = f.body.xs if isinstance(f.body, ToLocal) else f.body
            self._write(body, accumulator, environment.bind(f, *arguments))
        return accumulator

    def _cycles(self, function: str, arguments: tuple[Term, ...]) -> float:
        """Instructions of an operation on scalars."""
        if self._is_fused(function, arguments):
            return 0.0
        self._kernel.has_library |= function in _LIBRARY
        if not self._on_gpu:
            return _EXPENSIVE.get(function, 1.0)
        return _SPECIAL_UNIT if function in _EXPENSIVE else 1.0

    def _cycles_of(self, user: UserFunction) -> float:
        """Instructions of a function of the user's; of one in C, as of a few operations."""
        if user.body is None:
            return _OPAQUE
        total = 0.0
        for t, _ in subterms(user.body.body):
            match t:
                case Apply(function, arguments):
                    total += self._cycles(function, arguments)
                case Call(inner):
                    total += self._cycles_of(inner)
                case _:
                    pass
        return total

    def _is_fused(self, function: str, arguments: tuple[Term, ...]) -> bool:
        """Whether a sum is one instruction with a product that it takes."""
        return (
            self.device.fused_multiply_add
            and function in ("add", "sub")
            and any(_is_product(u) for u in arguments)
        )

    # ---- accesses

    def _issue(self, t: Type | None = None) -> float:
        """Instructions for one scalar operation at this place, or for one on a vector of type t."""
        width = self._scope.width
        if isinstance(t, Vector):
            width = float(t.width.constant or 1)
        if self._on_gpu:
            return width
        return _ISSUE * max(1.0, width / self.device.vector_width)

    def _touch(self, v: View) -> None:
        match v:
            case TupleView(parts):
                for part in parts:
                    self._touch(part)
            case VectorView():
                self._kernel.has_lanes = True
                with self._lanes(v.width) as i:
                    self._touch(v.lane(i))
            case Guarded(_, inside, outside):
                self._charge(2.0 * self._issue())
                self._touch(inside)
                self._touch(outside)
            case Cell(memory, offset):
                self._kernel.touched[memory.name] = memory
                # what all turns of a loop that is written out read at one address is read once
                again = prod(n for i, n in self._scope.unrolled if not depends_on(offset, i))
                cycles, waits = self._access(memory, offset)
                self._charge(cycles / again, apart=self._lies_apart(memory, offset))
                self._wait(waits / again)
                for atom in variables_of(offset):
                    if isinstance(atom, Loaded) and atom.offset is not None:
                        self._touch(Cell(self._memories[atom.name], atom.offset))
            case Value() | ArrayView():
                pass

    def _access(self, memory: Memory, offset: Index) -> tuple[float, float]:
        """Cycles that an access takes, and that a work-item waits for it."""
        if self._on_gpu:
            return self._access_together(memory, offset)
        scope = self._scope
        if scope.loop is not None and not self._storing and not depends_on(offset, scope.loop):
            return 0.0, 0.0  # read before the loop
        if memory.space == "private":
            vectors = self._kernel.registers / self.device.vector_width
            return (self._issue() if vectors > self.device.vector_registers else 0.0), 0.0
        arithmetic = _ISSUE * sum(1 for atom in offset.atoms() if not hasattr(atom, "name"))
        stride = self._step(offset)
        issue = _STORE if self._storing else _ISSUE
        turn = 0 if scope.loop is None else _stride(offset, scope.loop)
        elsewhere = turn is None or abs(turn) >= _PAGE
        if scope.lane is not None:
            match _stride(offset, scope.lane):
                case 0:
                    return issue + arithmetic, 0.0
                case 1:
                    vectors = max(1.0, scope.width / self.device.vector_width)
                    return (issue + _NEW_PAGE * elsewhere) * vectors + arithmetic, 0.0
                case apart:
                    near = stride is not None and abs(stride) < _FAR_STRIDE
                    page = apart is None or abs(apart) >= _PAGE
                    each = (2.0 if page else 1.0) if near else _FAR_PAGE if page else _FAR_ACCESS
                    return each * scope.width + arithmetic, 0.0
        far = stride is None or abs(stride) >= _FAR_STRIDE
        dear = _FAR_PAGE if stride is not None and abs(stride) >= _PAGE else _FAR_ACCESS
        return (dear if far else issue) + arithmetic, 0.0

    def _step(self, offset: Index) -> int | None:
        """How far an access is from the one before: in what is written out, in a loop, or by the work-item before."""
        scope = self._scope
        written_out = [_stride(offset, i) for i, _ in scope.unrolled]
        if moving := [stride for stride in written_out if stride]:
            return min(moving, key=abs)
        inner = scope.loop if scope.loop is not None else scope.thread
        return 0 if inner is None else _stride(offset, inner)

    def _lies_apart(self, memory: Memory, offset: Index) -> bool:
        """Whether neighbouring work-items access cells that are no neighbours, as far as a driver can see."""
        thread = self._scope.thread
        if memory.space == "private" or thread is None:
            return False
        linear = linear_in(offset, thread)
        return linear is None or linear[0].constant not in (0, 1)

    def _access_together(self, memory: Memory, offset: Index) -> tuple[float, float]:
        """An access by neighbouring work-items of a GPU: cheap when they read one row of cells, or one cell."""
        if memory.space == "private":
            return 0.0, 0.0
        scope, accesses, row = self._scope, 1.0, 1.0
        if scope.lane is not None:
            match _stride(offset, scope.lane):
                case 0:
                    pass
                case 1:
                    row = scope.width
                    accesses = max(1.0, scope.width / self.device.vector_width)
                case _:
                    accesses = scope.width
        if memory.space == "local":
            return accesses, _WAIT_LOCAL * accesses
        stride = 0 if scope.thread is None else _stride(offset, scope.thread)
        near = stride == 0 or _bytes(memory) <= _CACHED_BYTES
        apart = _SECTOR if stride is None else min(abs(stride) / row, _SECTOR)
        waits = (_WAIT_CACHE if near else _WAIT_MEMORY) * accesses
        return accesses * max(1.0, apart), waits


def _is_product(t: Term) -> bool:
    match t:
        case Apply(function):
            return function == "mul"
        case Combine(operator):
            return innermost(operator).name == "mul"
        case MapVec(f):
            return _is_product(f.body)
        case _:
            return False


def _held(t: Term) -> float:
    """Registers that a work-item has of a private array: a dimension over work-items takes none."""
    match t, t.type:
        case MapLcl(_, f), _:
            return _held(f.body)
        case ((MapSeq(f) | MapSeqUnroll(f)), Array(_, n)):
            return float(n.constant or 0) * _held(f.body)
        case _, other:
            return float(cells(other).constant or 0)


def _stride(offset: Index, v: Index) -> int | None:
    """How far the offset moves when `v` grows by one; None when that is not a constant.

    Where it is clamped or goes round, as at the border of a stencil, how far it moves inside.
    """
    linear = linear_in(offset, v)
    if linear is not None:
        return linear[0].constant
    inside: dict[str, int] = {}
    for atom in variables_of(offset):
        if not isinstance(atom, Variable) or atom.extent.constant is None:
            return None
        inside[atom.name] = atom.extent.constant // 2
    moved = {atom.name for atom in variables_of(v) if isinstance(atom, Variable)}
    after = {name: n + (name in moved) for name, n in inside.items()}
    return evaluate(offset, after) - evaluate(offset, inside)


def _registers(t: Type) -> View:
    """The view of a value in registers."""
    match t:
        case Scalar():
            return Value("register", t, known="register")
        case Tuple(parts):
            return TupleView(tuple(map(_registers, parts)))
        case Vector(element, width):
            return VectorView(width, lambda i: _registers(element))
        case Array(element, n):
            return ArrayView(n, lambda i: _registers(element))
        case _:
            raise AssertionError(f"cannot happen: a register of type {t}")
