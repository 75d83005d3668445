"""What an operation on scalars costs, and a function of the user's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from relift.egraph.cost.accesses import Accesses
from relift.egraph.cost.fetched import SECTOR_BYTES
from relift.egraph.cost.kernel import BANKS, WARP
from relift.egraph.cost.library import GENERAL, LIBRARIES
from relift.egraph.cost.meter import LATENCY, Meter
from relift.egraph.cost.strides import stride_of
from relift.rewrites.declared_laws import holds_floats
from relift.semantics.errors import Unsupported
from relift.semantics.indices.atoms import Index, Loaded
from relift.semantics.indices.expressions import substitute
from relift.semantics.indices.views import CodeValue, Environment, Guarded, TupleView, View, array
from relift.semantics.interpreter import operand_type, operator_lambda
from relift.semantics.patterns import (
    AtRuntime,
    EachOf,
    Join,
    Let,
    MapLcl,
    MapSeqUnroll,
    MapVec,
    ReduceByIndex,
)
from relift.semantics.syntax.binding import inputs_in
from relift.semantics.syntax.scalars import IN_LIBRARY
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Get,
    Input,
    Lambda,
    Literal,
    MakeTuple,
    Metavariable,
    Pattern,
    Term,
    UserFunction,
    Var,
    children,
    free_variables,
    innermost,
    parts_of,
    subterms,
)
from relift.semantics.syntax.types import Scalar, Tuple, Vector, holds_array, i32, types_within

_EXPENSIVE = {"sqrt": 6.0, "div": 6.0, "rsqrt": 12.0, "left_shift": 4.0, "right_shift": 3.0}
_DIVIDED, _BY_A_CONSTANT = 20.0, 50.0
"""Instructions of a CPU for the quotient of whole numbers, rounded down, or what is left: of each lane, for vectors have none,
and of a vector of `i32` where what divides is a constant, by multiplication.

2^18 numbers eight times take two cores 3.2 to 4.3 ms, by a constant 0.5 to 1.0 (`i64` 1.0 to 2.2), and what is left of a power
of two, one instruction, 0.04."""
_OPAQUE = 4.0
_SPECIAL_UNIT = 4.0  # a GPU has a quarter as many units for these
_COMPARED = 4.0
"""Instructions of a GPU for the larger of two numbers: two comparisons, for NaN, at half the rate, and a choice.

Those of a CPU for the larger of two floats: two comparisons, what they have in common, and a choice.  501 by 300 by 400
smallest sums take two cores 3.1 ms, and would take 1.0 by one instruction."""
_ON_GPU = {
    **dict.fromkeys(("sqrt", "floor", "ceil"), _SPECIAL_UNIT),
    **dict.fromkeys(("maximum", "minimum"), _COMPARED),
    **dict.fromkeys(("sin", "cos", "tan"), 16.0),
    **dict.fromkeys(("arcsin", "arccos", "hypot"), 13.0),
    "exp": 10.0, "div": 5.5, "tanh": 20.0, "log": 18.5, "arctan": 21.0, "arctan2": 29.0, "power": 54.0,
    # of tanh both branches, for neighbours take either
    "rsqrt": 1.0,  # of 16,384 bodies it takes no longer than a multiply-add: the special units work beside
}  # fmt: skip
"""Multiply-adds in whose time an H200 computes a function, in a kernel of four chains of 64 that does nothing else.

A quotient by a constant is a product.  exp takes 6 there, and comes to 10 beside the comparisons of a softmax: with 6, rows of
8192 were given to groups of 128, which take 73 us, where groups of 256 take 66."""

_UPDATED, _ASKED_FOR = 8.0, 4.0
"""Instructions in whose time a unit of a GPU updates a cell of local memory for one work-item after the other, and what asks whether there is one."""
_EXCHANGED, _FOUND_OUT, _FOUND_AGAIN = 25.0, 600.0, 150.0
"""Instructions in whose time a unit exchanges a float of one cell for one after the other, and the cycles until these know what was there, and
whether somebody came between.

Sums of 2^24 floats by 12,000 keys take an H200 120 us with two groups of 256 for each of its units and 72 with four, by 1000 and 256 keys 71 and 87
with eight."""
_EXCHANGED_BY_SOME = 340.0
"""Instructions in whose time a unit exchanges floats for some of those that run as one: 65,536 keys in six blocks of cells take 1.2 to 1.5 ms."""
_UPDATED_AFAR, _CROWDED = 330.0, 1200.0
"""Instructions in whose time the second cache updates whole numbers of one sector for those that run as one, and in how many sectors it updates
them at a time.

Counts of 2^24 keys in one table of 1000, 12,000, 300,000 and 2^20 cells take an H200 1,460, 340, 190 and 181 us, and of 16 and 256 cells 3.1 and 4.3 ms."""
_EXCHANGED_AFAR, _EXCHANGED_AGAIN = 900.0, 35_000.0
"""The same of floats, which are exchanged, and of how many cells half are exchanged by others before.

Sums of 2^24 floats by 12,000, 65,536 and 2^20 keys take an H200 1,570, 880 and 490 us."""
_IN_ROWS = 0.5
"""What of the cells of a sector is updated as one where neighbours have them: sums of 2^18 rows of 64 by 188, 1024 and 16,384 keys take 45 us of whole
numbers, and 240, 170 and 95 of floats."""
_UPDATED_ALONE = 20.0
"""Cycles of a CPU in which a core updates a cell that others might."""

_WHOLE = 1.0
"""Cycles of a CPU until a sum of whole numbers can be added to: running sums of 4 million take a core 2.3 ms, of floats 3.5."""
_CHOSEN = 7.0
"""The same of the smaller or larger float: two comparisons, what they have in common, and a choice.

The smallest and the largest of 4 million numbers, chunk by chunk, take two cores 0.50 to 0.55 ms with one vector of accumulators, and 0.26 to 0.30
with four, between which nothing waits."""


def in_turn(places: float, share: float = 1.0) -> float:
    """How many of the work-items that run as one ask for one place, where most do, if each of a share of them asks for any of so many.

    >>> from relift.egraph.cost.operations import in_turn
    >>> [round(in_turn(places), 1) for places in (1, 8, 32)], round(in_turn(32, 0.25), 1)
    ([32.0, 8.1, 3.6], 1.6)
    """
    each = WARP * share / places
    return each + math.sqrt(2.0 * each * math.log(places))


def latency_of(f: Lambda) -> float:
    """The cycles of a CPU after which the next step of a fold has the result of one.

    >>> from relift import f32, i32, maximum, add, reduce_seq
    >>> from relift.egraph.cost.operations import latency_of
    >>> from relift.semantics.syntax.terms import Input
    >>> def of(op, t, zero):
    ...     return latency_of(reduce_seq(op, zero, Input("x", t[8])).f)
    >>> of(add, f32, 0.0), of(add, i32, 0), of(maximum, f32, 0.0)
    (4.0, 1.0, 7.0)
    """
    acc, step = f.parameters[0], f.body
    if not isinstance(step, Combine) or step.left != acc:
        return max(LATENCY, _of_steps(f))
    of = acc.type.element if isinstance(acc.type, Vector) else acc.type
    operator = innermost(step.operator)
    if not isinstance(of, Scalar) or not isinstance(operator, BinaryOperator):
        return LATENCY
    if of.is_float:
        return _CHOSEN if operator.laws.idempotent else LATENCY
    multiplies = bool(operator.laws.distributes_over)
    return LATENCY if multiplies or isinstance(acc.type, Vector) else _WHOLE


_STEPS = 8
"""Steps after which numbers that are carried on wait for one another as they do from then on."""
_FOLLOWED = 256
"""A step of more parts is not followed."""
_OF_FLOAT, _OF_WHOLE, _CHOICE = 2.5, 1.0, 1.0
_OF_FUNCTION = {"div": 8.0, "sqrt": 10.0, "rsqrt": 18.0}
"""Cycles until what is made of a number is there: 8.4 million steps of a Kalman filter, of a quotient after two sums, a difference and a product,
take two cores 26 ms row by row, and 3.8 where eight rows are filtered in turn."""

_Ready: TypeAlias = Mapping[str, "float | tuple[float, ...]"]
"""The cycle in which the value of a variable is there, of a tuple those of its components; what has none is there before."""


@lru_cache(512)
def _of_steps(f: Lambda) -> float:
    """The cycles of a CPU that each step of a fold takes where all else is there: of what it carries, the longest way around."""
    acc = f.parameters[0]
    if holds_array(acc.type) or parts_of(f.body) > _FOLLOWED:
        return 0.0
    many = len(acc.type.parts) if isinstance(acc.type, Tuple) else 0
    now: float | tuple[float, ...] = (0.0,) * many if many else 0.0
    ends = list[float]()
    for _ in range(2 * _STEPS):
        ready: _Ready = {acc.name: now}
        each = [_there(_component(f.body, i), ready) for i in range(many)]
        now = tuple(each) if many else _there(f.body, ready)
        ends.append(max(each) if many else _there(f.body, ready))
    whole = ends[-1] - ends[_STEPS - 1]
    return whole / _STEPS if math.isfinite(whole) else 0.0


def _component(t: Term, i: int) -> Term:
    if isinstance(t, MakeTuple):
        return t.parts[i]
    assert isinstance(t.type, Tuple), "cannot happen: it is what a fold of tuples carries"
    return Get(i, t, t.type.parts[i])


def _there(t: Term, ready: _Ready) -> float:
    """The cycle in which a value is there."""
    match t:
        case Var(name):
            there = ready.get(name, -math.inf)
            return max(there) if isinstance(there, tuple) else there
        case Get(i, Var(name)) if isinstance(parts := ready.get(name), tuple):
            return parts[i]
        case Get(i, MakeTuple() as made):
            return _there(made.parts[i], ready)
        case Let(g, x):
            return _there(g.body, {**ready, g.parameters[0].name: _there(x, ready)})
        case Apply(function, arguments):
            return _made(function, arguments, ready)
        case Combine(operator, left, right):
            return _made(innermost(operator).name, (left, right), ready)
        case Input() | Literal() | Call() | MakeTuple() | Get() | Metavariable() | Pattern():
            pass
    below = (u.body if isinstance(u, Lambda) else u for _, u in children(t))
    return max((_there(u, ready) for u in below), default=-math.inf)


def _made(function: str, arguments: Sequence[Term], ready: _Ready) -> float:
    """The cycle in which what a function makes is there; a sum is one instruction with a product that it takes."""
    if function == "select":
        return max(_there(u, ready) for u in arguments) + _CHOICE
    if function in ("add", "sub"):
        arguments = [v for u in arguments for v in (_factors(u) if _is_product(u) else (u,))]
    takes = _OF_FLOAT if any(holds_floats(u.type) for u in arguments) else _OF_WHOLE
    takes = _OF_FUNCTION.get(function, GENERAL.scalar.get(function, takes))
    return max((_there(u, ready) for u in arguments), default=-math.inf) + takes


def _factors(t: Term) -> Sequence[Term]:
    """What a product is made of."""
    if isinstance(t, Apply):
        return t.arguments
    return (t.left, t.right) if isinstance(t, Combine) else (t,)


class Operations:
    """Charges for operations where the meter stands."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def latency(self, f: Lambda) -> float:
        """`latency_of` a step, which matters to a CPU: a GPU has other work-items for that time."""
        return 0.0 if self.meter.on_gpu else latency_of(f)

    def apply(self, function: str, arguments: tuple[Term, ...]) -> None:
        """A scalar function."""
        cycles = self._cycles(function, arguments) * self.meter.issue()
        if self.meter.on_gpu and function in _ON_GPU:
            self.meter.call(cycles)
        else:
            self.meter.charge(cycles)

    def call(self, user: UserFunction) -> None:
        """A function of the user's."""
        cycles = _SPECIAL_UNIT if self.meter.on_gpu else self._cycles_of(user)
        self.meter.charge(cycles * self.meter.issue())

    def update(self, cells: float, share: float, *, whole: bool) -> None:
        """A cell of local memory is combined with a value while others are, each as likely as any other, by a share of the work-items.

        Where few keys are frequent, they wait for one another longer than is counted here.
        """
        if not self.meter.on_gpu:
            self.meter.charge_each(_UPDATED_ALONE * share)
            return
        turns = in_turn(min(cells, BANKS), share)
        if whole:
            self.meter.charge(_ASKED_FOR + _UPDATED * turns)
            self.meter.wait(_UPDATED * turns)
            return
        again = in_turn(cells, share)
        some = min(1.0, WARP * share)
        masked = _EXCHANGED_BY_SOME * some if share < 1.0 else 0.0
        self.meter.charge(_ASKED_FOR + _UPDATED * turns + _EXCHANGED * again + masked)
        self.meter.wait(_FOUND_OUT * some + _FOUND_AGAIN * again)

    def update_afar(self, cells: float, in_rows: bool, *, whole: bool) -> None:
        """A cell of global memory is combined with a value while others are, each as likely as any other, or those of rows next to one another."""
        if not self.meter.on_gpu:
            self.meter.charge_each(_UPDATED_ALONE)
            return
        together = SECTOR_BYTES / i32.bytes if in_rows else 1.0
        if not whole:
            again = _EXCHANGED_AGAIN / cells
            self.meter.charge(_EXCHANGED_AFAR * (1.0 + again) / max(1.0, _IN_ROWS * together))
            return
        sectors = max(1.0, cells * i32.bytes / SECTOR_BYTES)
        asked_for = sectors * (1.0 - (1.0 - 1.0 / sectors) ** WARP) / WARP
        self.meter.charge(
            _UPDATED_AFAR * asked_for * (1.0 + _CROWDED / sectors) / max(1.0, _IN_ROWS * together)
        )

    def combine(self, t: Combine) -> None:
        """An operator, on scalars or on vectors; one on tuples takes what its definition says."""
        of, operator = t.type, innermost(t.operator)
        while isinstance(of, Vector):
            of = of.element
        if isinstance(of, Tuple) and isinstance(operator, BinaryOperator):
            applied = [u for u, _ in subterms(operator_lambda(operator, of).body)]
            cycles = sum(
                self._cycles(u.function, u.arguments) for u in applied if isinstance(u, Apply)
            )
            self.meter.charge(cycles * self.meter.issue(t.type))
            return
        cycles = self._cycles(operator.name, (t.left, t.right))
        self.meter.charge(cycles * self.meter.issue(t.type))

    def _cycles(self, function: str, arguments: tuple[Term, ...]) -> float:
        """Instructions of an operation on scalars."""
        if self._is_fused(function, arguments):
            return 0.0
        if function in IN_LIBRARY and not self.meter.on_gpu:
            return self._called(function)
        if not self.meter.on_gpu:
            if function in ("floor_divide", "modulo"):
                return self._divided(arguments[1])
            compared = function in ("maximum", "minimum") and holds_floats(arguments[0].type)
            return _COMPARED if compared else _EXPENSIVE.get(function, 1.0)
        if function == "div" and isinstance(arguments[1], Literal):
            return _words(arguments)
        return _ON_GPU.get(function, 1.0) * _words(arguments)

    def _called(self, function: str) -> float:
        """Cycles of a function of the library of a CPU, beside those that are of each lane."""
        library = LIBRARIES.get(self.meter.device.library, GENERAL)
        self.meter.counted.has_library |= function not in library.packed
        if self.meter.scope.width <= 1:
            return library.scalar[function]
        if library.vector is None:
            self.meter.alone(library.scalar[function])
            return 0.0
        return library.vector[function]

    def _divided(self, by: Term) -> float:
        """Instructions of a CPU for a quotient of whole numbers, or what it leaves, beside those that are of each lane."""
        if not isinstance(by, Literal):
            self.meter.alone(_DIVIDED)
            return 0.0
        n = abs(int(by.value))
        if n & (n - 1) == 0:
            return 1.0  # a shift, or the lowest bits
        assert isinstance(by.type, Scalar), "cannot happen: it is a number"
        return _BY_A_CONSTANT * max(1.0, by.type.bytes / 4)

    def _cycles_of(self, user: UserFunction) -> float:
        """Instructions of a function of the user's; of one in C, as of a few operations."""
        if user.body is None:
            return _OPAQUE
        total = 0.0
        for t, _ in subterms(user.body.body):
            if isinstance(t, Apply):
                total += self._cycles(t.function, t.arguments)
            elif isinstance(t, Call):
                total += self._cycles_of(t.function)
        return total

    def _is_fused(self, function: str, arguments: tuple[Term, ...]) -> bool:
        """Whether a sum is one instruction with a product that it takes."""
        return (
            self.meter.device.fused_multiply_add
            and function in ("add", "sub")
            and any(_is_product(u) for u in arguments)
        )


def updated(
    t: ReduceByIndex,
    environment: Environment,
    view: Callable[[Term, Environment], View],
    accesses: Accesses,
    operations: Operations,
) -> View:
    """Cells, each of which whoever has a value for it combines with that: those of a group's memory, or of a kernel's."""
    meter, items = operations.meter, t.xs.xss if isinstance(t.xs, Join) else t.xs
    if not isinstance(items, EachOf):
        raise Unsupported(f"{t.name} of what no work-items compute")
    cells, data = (array(view(u, environment)) for u in (t.init, items.xs))
    of_group = isinstance(items, MapLcl)
    with meter.work_items(items, data.length, 1.0) as i:
        body, here, each = items.f.body, environment.bind(items.f, data.at(i)), Size.of(1)
        if isinstance(body, MapSeqUnroll):
            row = array(view(body.xs, here))
            each = row.length
            with meter.loop(each, unrolled=True) as k:
                pair = view(body.f.body, here.bind(body.f, row.at(k)))
                accesses.touch(pair)
        else:
            pair = view(body, here)
            accesses.touch(pair)
        share, whole = _share_of(body, cells.length), operand_type(t) == i32
        with meter.loop(each):
            number = float(cells.length.constant or 1)
            if of_group:
                operations.update(number, share, whole=whole)
            else:
                operations.update_afar(number, _side_by_side(pair, i), whole=whole)
    if of_group:
        meter.barrier()
    return cells


def _side_by_side(pair: View, i: Index) -> bool:
    """Whether neighbours update cells next to one another: of rows, whose columns they have."""
    key = pair.parts[0] if isinstance(pair, TupleView) else pair
    while isinstance(key, Guarded):
        key = key.inside
    index = key.index if isinstance(key, CodeValue) else None
    if index is None:
        return False
    for atom in index.atoms():
        if isinstance(atom, Loaded):  # neighbours mostly have the same row
            index = substitute(index, Size.atom(atom), Size.of(0))
    return stride_of(index, i) == 1


def _share_of(pair: Term, cells: Size) -> float:
    """Which part of what has keys has one of some cells: where keys are looked up in a longer table, of which these are a block."""
    lookups = [u for u, _ in subterms(pair) if isinstance(u, AtRuntime)]
    of_places = (u.solved["n"] for u in lookups if not inputs_in(u.xs) | free_variables(u.xs))
    longest = max((n.constant or 0 for n in of_places), default=0)
    return min(1.0, (cells.constant or 1) / max(longest, 1))


def _words(arguments: tuple[Term, ...]) -> float:
    """How many instructions of a GPU an operation takes for the sake of the longest number that it takes: a unit computes with half as many long ones."""
    scalars = (t for of in arguments for t in types_within(of.type) if isinstance(t, Scalar))
    return max(1.0, max((t.bytes for t in scalars), default=4) / 4)


def _is_product(t: Term) -> bool:
    if isinstance(t, Apply):
        return t.function == "mul"
    if isinstance(t, Combine):
        return innermost(t.operator).name == "mul"
    return isinstance(t, MapVec) and _is_product(t.f.body)
