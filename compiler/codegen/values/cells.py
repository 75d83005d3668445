"""Reading and writing memory in C: one scalar, or all lanes of a vector at once.

Inside a vector operation an address may depend on the lane.  Where consecutive lanes lie in consecutive
cells the access is one vector instruction, where the address does not depend on the lane it is one scalar
that all lanes share, and else each lane is accessed on its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial, reduce

from relift.compiler.codegen.values.expressions import LARGEST_ARGUMENT, as_mask, converted
from relift.compiler.codegen.values.indices import address, index_code
from relift.compiler.codegen.values.scalars import (
    CExpression,
    c_type,
    lane_of,
    lane_value,
    memory_type,
    nonzero,
    spread,
)
from relift.compiler.text import tree
from relift.semantics.errors import Unsupported
from relift.semantics.indices.atoms import Index, depends_on, linear_in
from relift.semantics.indices.expressions import divide, modulo, variable
from relift.semantics.indices.lanes import (
    Lane,
    at_lane,
    away_from_borders,
    decided_by,
    in_whole_vectors,
    with_lane,
)
from relift.semantics.indices.ranges import surely_at_most
from relift.semantics.indices.views import Cell, CodeValue, Condition, Guarded, Leaf, Memory
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import boolean, f32, i32


@dataclass(frozen=True)
class Addressing:
    """How indices are written: in kernels that need it, as `long`."""

    long: bool = False

    @property
    def number(self) -> tree.CType:
        """The type of indices."""
        return tree.CType("long" if self.long else "int")

    def index(self, e: Index) -> tree.Expression:
        """An index in C."""
        return index_code(e, long=self.long)

    def load(self, leaf: Leaf, lane: Lane | None) -> CExpression:
        """The value of a leaf, for all lanes if there are lanes.

        >>> from relift import f32
        >>> from relift.compiler.codegen.values.cells import Addressing
        >>> from relift.semantics.indices.lanes import Lane
        >>> from relift.semantics.indices.views import Cell, Memory
        >>> from relift.semantics.syntax.memory import Space
        >>> from relift.semantics.syntax.sizes import Size
        >>> from relift.semantics.indices.expressions import variable
        >>> i, l = variable("i", 8), variable("l", 4)
        >>> x = Memory("x", f32, Size.of(32), Space.GLOBAL)
        >>> [str(Addressing().load(Cell(x, e), Lane(l, 4))) for e in (4 * i + l, 8 * l, 4 * i)]
        ['*(global const float4*)(x + 4*i)', '(float4)(x[0], x[8], x[16], x[24])', 'x[4*i]']
        """
        match leaf:
            case CodeValue(index=index) if index is not None:
                if lane is not None and depends_on(index, lane.index):
                    return self._counted(leaf, index, lane)
                return CExpression(self._number(index), leaf.scalar)
            case CodeValue():
                return _load_value(leaf, lane)
            case Guarded():
                leaf = in_whole_vectors(leaf, lane)
                if not isinstance(leaf, Guarded):
                    return self.load(leaf, lane)
                if lane is not None and decided_by(leaf, lane):
                    return self._gather(leaf, lane)
                inside, outside = leaf.inside, leaf.outside
                yes, no = self.load(inside, lane), self.load(outside, lane)
                # a condition that no lane decides chooses between whole vectors
                width = yes.width or no.width
                yes, no = spread(yes, width), spread(no, width)
                chosen = tree.Conditional(self.condition(leaf.condition), yes.code, no.code)
                return CExpression(tree.wrapped(chosen), yes.scalar, width)
            case Cell(memory, offset):
                base = _contiguous(leaf, lane)
                if lane is None or not depends_on(offset, lane.index):
                    return CExpression(self._place(leaf), memory.scalar)
                if base is None:
                    return self._gather(leaf, lane)
                if memory.width is not None:
                    return _from_memory(self._vector_place(memory, base), leaf, lane.width)
                return _from_memory(self._vector_load(leaf, base, lane.width), leaf, lane.width)

    def _number(self, index: Index) -> tree.Expression:
        """An index as a number that is computed with."""
        return tree.wrapped(tree.Cast(tree.CType("int"), (self.index(index),)))

    def _counted(self, leaf: CodeValue, index: Index, lane: Lane) -> CExpression:
        """The numbers of all lanes; where these lie evenly apart, the first of them and the constants between them.

        Drivers do not put such vectors together by themselves: they compute each lane.
        """
        linear = linear_in(index, lane.index)
        step = None if linear is None else linear[0].constant
        if linear is None or step is None or linear[1].constant is not None:
            return self._gather(leaf, lane)
        t = c_type(leaf.scalar, lane.width)
        first = tree.Cast(t, (self._number(linear[1]),))
        apart = tree.Cast(t, tuple(self.index(Size.of(step * k)) for k in range(lane.width)))
        total = tree.wrapped(tree.Binary("+", first, apart, set="spaced"))
        return CExpression(total, leaf.scalar, lane.width)

    def _gather(self, leaf: Leaf, lane: Lane) -> CExpression:
        if halves := _halves(leaf, lane):
            parts = [self.load(part, half) for part, half in halves]
            scalar = parts[0].scalar
            together = tree.Cast(memory_type(scalar, lane.width), tuple(p.code for p in parts))
            return CExpression(together, scalar, lane.width)
        each = [self.load(at_lane(leaf, lane, k), None) for k in range(lane.width)]
        scalar = each[0].scalar
        numbers = tree.Cast(
            c_type(scalar, lane.width), tuple(lane_value(number) for number in each)
        )
        if (found := away_from_borders(leaf, lane)) is None:
            return CExpression(numbers, scalar, lane.width)
        cell, bounds = found
        vector = self.load(cell, lane)
        if not bounds:
            return vector
        asked = (tree.Binary("<=", self.index(b.low), self.index(b.high)) for b in bounds)
        whole = reduce(partial(tree.Binary, "&&"), asked)
        chosen = tree.Conditional(whole, vector.code, numbers)
        return CExpression(tree.wrapped(chosen), scalar, lane.width)

    def _place(self, leaf: Cell) -> tree.Expression:
        """One cell in C; of a row of vectors, a lane."""
        memory = leaf.memory
        array = tree.Name(memory.name)
        if memory.width is None:
            return tree.Element(array, self.index(leaf.offset))
        lane = modulo(leaf.offset, memory.width).constant
        if lane is None:
            scalars = tree.Cast(replace(memory_type(memory.scalar), pointer=True), (array,))
            return tree.Element(tree.wrapped(scalars), self.index(leaf.offset))
        return tree.Member(self._vector_place(memory, leaf.offset - lane), f"s{lane:x}")

    def _vector_place(self, memory: Memory, base: Index) -> tree.Expression:
        """One vector of a row of vectors, by its lane 0."""
        assert memory.width is not None, "cannot happen: a row of scalars has no vectors"
        return tree.Element(tree.Name(memory.name), self.index(divide(base, memory.width)))

    def _address(self, memory: Memory, base: Index) -> tree.Expression:
        return address(tree.Name(memory.name), base, long=self.long)

    def _vector_load(self, leaf: Cell, base: Index, width: int) -> tree.Expression:
        memory = leaf.memory
        if _aligned(base, width):
            return self._pointed(leaf, base, width, constant=True)
        return self._unaligned_load(memory, base, width)

    def _unaligned_load(self, memory: Memory, base: Index, width: int) -> tree.Expression:
        if _too_wide(memory, width) and memory.scalar != f32:
            half = width // 2
            low, high = (self._unaligned_load(memory, base + i, half) for i in (0, half))
            return tree.Cast(memory_type(memory.scalar, width), (low, high))
        return tree.call(f"vload{width}", tree.Whole(0), self._address(memory, base))

    def _unaligned_store(
        self, memory: Memory, base: Index, width: int, value: tree.Expression
    ) -> list[tree.Statement]:
        if _too_wide(memory, width):
            half = width // 2
            parts = (tree.Member(value, "lo"), base), (tree.Member(value, "hi"), base + half)
            return [s for part, at in parts for s in self._unaligned_store(memory, at, half, part)]
        stored = tree.call(f"vstore{width}", value, tree.Whole(0), self._address(memory, base))
        return [tree.Evaluation(stored)]

    def _pointed(self, leaf: Cell, base: Index, width: int, *, constant: bool) -> tree.Expression:
        """The vector at an address that is a multiple of its size."""
        memory = leaf.memory
        t = replace(
            memory_type(memory.scalar, width), pointer=True, space=memory.space, constant=constant
        )
        return tree.Prefix("*", tree.Cast(t, (self._address(memory, base),)))

    def condition(self, c: Condition) -> tree.Expression:
        """A condition in C, without the side that the range of the index decides."""
        index = self.index(c.index)
        sides: list[tree.Expression] = []
        if not surely_at_most(Size.of(0), c.index):
            sides.append(tree.Binary(">=", index, tree.Whole(0)))
        if not surely_at_most(c.index, c.extent - 1):
            sides.append(tree.Binary("<", index, self.index(c.extent)))
        if len(sides) == 1:
            return sides[0]
        low, high = sides
        return tree.wrapped(tree.Binary("&&", low, high))

    def needs_name(self, leaf: Leaf, lane: Lane | None) -> bool:
        """Whether `store` writes a value part by part, so that a value with lanes should have a name."""
        if lane is None:
            return False
        leaf = in_whole_vectors(leaf, lane)
        if isinstance(leaf, Guarded):
            return decided_by(leaf, lane) or self.needs_name(leaf.inside, lane)
        if not isinstance(leaf, Cell):
            return False
        base = _contiguous(leaf, lane)
        return base is None or (
            _too_wide(leaf.memory, lane.width) and not _aligned(base, lane.width)
        )

    def store(self, leaf: Leaf, value: CExpression, lane: Lane | None) -> list[tree.Statement]:
        """The statements that put a value where the leaf is.

        >>> from relift import f32
        >>> from relift.compiler.codegen.values.cells import Addressing
        >>> from relift.semantics.indices.lanes import Lane
        >>> from relift.compiler.codegen.values.scalars import CExpression
        >>> from relift.semantics.indices.views import Cell
        >>> from relift.semantics.syntax.memory import Space
        >>> from relift.semantics.syntax.sizes import Size
        >>> from relift.semantics.indices.expressions import variable
        >>> from relift.semantics.indices.views import Memory
        >>> i, l = variable("i", 8), variable("l", 4)
        >>> out = Memory("out", f32, Size.of(32), Space.GLOBAL)
        >>> from relift.compiler.dialects.printing import Printer
        >>> from relift.compiler.text.tree import Name
        >>> def shown(cell, width):
        ...     stored = Addressing().store(cell, CExpression(Name("v"), f32, width), Lane(l, width))
        ...     return list(Printer().statements(stored, 0))
        >>> shown(Cell(out, 4 * i + l), 4)
        ['*(global float4*)(out + 4*i) = v;']
        >>> shown(Cell(out, 2 * l + 1), 2)
        ['out[1] = v.s0;', 'out[3] = v.s1;']
        """
        match leaf:
            case CodeValue(index=index) if index is not None:
                return []  # nowhere
            case CodeValue():
                width = None if lane is None or leaf.lane is None else lane.width
                return [assigned(code_of(leaf), spread(value, width).code)]
            case Guarded():
                return self._store_within(leaf, value, lane)
            case Cell(memory):
                if lane is None:
                    return [assigned(self._place(leaf), value.code)]
                base = _contiguous(leaf, lane)
                if base is None or _gathered(value, memory):
                    return self._each_lane(leaf, value, lane)
                code = _to_memory(spread(value, lane.width))
                if memory.width is not None:
                    return [assigned(self._vector_place(memory, base), code)]
                if _aligned(base, lane.width):
                    return [assigned(self._pointed(leaf, base, lane.width, constant=False), code)]
                if _too_wide(memory, lane.width) and not isinstance(code, tree.Name):
                    code = tree.wrapped(code)
                return self._unaligned_store(memory, base, lane.width, code)

    def _store_within(
        self, leaf: Guarded, value: CExpression, lane: Lane | None
    ) -> list[tree.Statement]:
        """What lies beyond a condition is written nowhere.

        >>> from relift import f32
        >>> from relift.compiler.codegen.values.cells import Addressing
        >>> from relift.semantics.indices.lanes import Lane
        >>> from relift.compiler.codegen.values.scalars import CExpression
        >>> from relift.compiler.dialects.printing import Printer
        >>> from relift.compiler.text.tree import Name
        >>> from relift.semantics.indices.expressions import variable
        >>> from relift.semantics.indices.views import Cell, Condition, Guarded, Memory, CodeValue
        >>> from relift.semantics.syntax.memory import Space
        >>> from relift.semantics.syntax.sizes import Size
        >>> i, l = variable("i", 8), variable("l", 4)
        >>> out, nowhere = Memory("out", f32, Size.of(32), Space.GLOBAL), CodeValue(None, f32, index=Size.of(0))
        >>> def shown(end, first=4 * i):
        ...     place = Guarded(Condition(first + l, Size.of(end)), Cell(out, first + l), nowhere)
        ...     stored = Addressing().store(place, CExpression(Name("v"), f32, 4), Lane(l, 4))
        ...     return list(Printer().statements(stored, 0))
        >>> shown(20)
        ['if (4*i < 20) {', '  *(global float4*)(out + 4*i) = v;', '}']
        >>> shown(18)[:3]
        ['if (4*i < 18) {', '  *(global float2*)(out + 4*i) = v.lo;', '}']
        >>> shown(17)[:6]
        ['if (4*i < 14) {', '  *(global float4*)(out + 4*i) = v;', '}', 'if (4*i >= 14) {', '  if (4*i < 17) {', '    out[4*i] = v.s0;']
        >>> shown(3, Size.of(0))
        ['out[0] = v.s0;', 'out[1] = v.s1;', 'out[2] = v.s2;']
        """
        whole = in_whole_vectors(leaf, lane)
        if not isinstance(whole, Guarded):
            return self.store(whole, value, lane)
        if lane is not None and decided_by(whole, lane):
            return self._at_the_end(whole, value, lane)
        kept = self.store(whole.inside, value, lane)
        dropped = self.store(whole.outside, value, lane)
        assert not dropped, "cannot happen: what is beyond has a place"
        return [tree.Guard(self.condition(whole.condition), tuple(kept))] if kept else []

    def _at_the_end(self, leaf: Guarded, value: CExpression, lane: Lane) -> list[tree.Statement]:
        """A vector as one where all of it is inside, and lane by lane where its end is not."""
        lanes = self._each_lane(leaf, value, lane)
        inside, index = leaf.inside, leaf.condition.index
        linear = linear_in(index, lane.index)
        vectors = isinstance(inside, Cell) and _contiguous(inside, lane) is not None
        if linear is None or linear[0] != 1 or not vectors or _halves(leaf, lane):
            return lanes
        beyond = leaf.condition.extent - (lane.width - 1)
        if surely_at_most(beyond, linear[1]):
            return lanes
        last = self.condition(Condition(linear[1], beyond))
        if not (isinstance(last, tree.Binary) and last.operator == "<"):
            return lanes
        not_whole = tree.Binary(">=", last.left, last.right)
        vector = self.store(inside, value, lane)
        return [tree.Guard(last, tuple(vector)), tree.Guard(not_whole, tuple(lanes))]

    def _each_lane(self, leaf: Leaf, value: CExpression, lane: Lane) -> list[tree.Statement]:
        """The lanes of a value, each written by itself, or its halves where these are whole vectors."""
        if (halves := _halves(leaf, lane)) and isinstance(value.code, tree.Name):
            return [
                statement
                for (part, half), name in zip(halves, ("lo", "hi"), strict=True)
                for statement in self.store(
                    part,
                    CExpression(tree.Member(value.code, name), value.scalar, half.width),
                    half,
                )
            ]
        return _together(
            statement
            for k in range(lane.width)
            for statement in self.store(at_lane(leaf, lane, k), lane_of(value, k), None)
        )


def _together(stores: Iterable[tree.Statement]) -> list[tree.Statement]:
    """Stores that follow each other under one condition, which none of them changes, under it once.

    >>> from relift.compiler.codegen.values.cells import _together, assigned
    >>> from relift.compiler.text.tree import Guard, Name, Whole
    >>> stores = [Guard(Name("inside"), (assigned(Name(x), Whole(0)),)) for x in "ab"]
    >>> [len(guard.body) for guard in _together(stores)]
    [2]
    """
    found: list[tree.Statement] = []
    for each in stores:
        before = found[-1] if found else None
        if (
            isinstance(each, tree.Guard)
            and isinstance(before, tree.Guard)
            and before.condition == each.condition
        ):
            found[-1] = tree.Guard(each.condition, (*before.body, *each.body))
        else:
            found.append(each)
    return found


def assigned(target: tree.Expression, value: tree.Expression) -> tree.Assignment:
    """`target = value;`."""
    return tree.Assignment(target, "=", tree.bare(value))


def code_of(leaf: CodeValue) -> tree.Expression:
    """What a scalar in registers is in C."""
    assert isinstance(leaf.code, tree.Expression), "cannot happen: a value that is no code"
    return leaf.code


def _load_value(leaf: CodeValue, lane: Lane | None) -> CExpression:
    code = code_of(leaf)
    if leaf.lane is None:
        return CExpression(code, leaf.scalar)
    if lane is not None and leaf.lane == lane.index and leaf.width in (None, lane.width):
        return CExpression(code, leaf.scalar, lane.width)
    if leaf.lane.constant is not None:
        return lane_of(CExpression(code, leaf.scalar, 2), leaf.lane.constant)
    picked = None if lane is None else _picked(leaf.lane, lane)
    if picked is None:
        raise Unsupported(
            f"lane {leaf.lane} of a vector in registers is read; only constant lanes, all in order, or evenly apart, can be"
        )
    # one by one: Oclgrind takes what is picked of a vector at once to have no value
    whole = CExpression(code, leaf.scalar, 2)
    each = tuple(lane_value(lane_of(whole, k)) for k in picked)
    return CExpression(tree.Cast(c_type(leaf.scalar, len(picked)), each), leaf.scalar, len(picked))


def _picked(index: Index, lane: Lane) -> list[int] | None:
    """The lanes of a wider vector that those of a narrower one are, where they lie evenly apart."""
    linear = linear_in(index, lane.index)
    if linear is None or (step := linear[0].constant) is None:
        return None
    first = linear[1].constant
    return None if first is None else [first + step * k for k in range(lane.width)]


def _contiguous(leaf: Cell, lane: Lane | None) -> Index | None:
    """The address of lane 0 when lanes are consecutive cells that one instruction accesses.

    Private arrays lie in registers, which have no addresses: there, only vectors that are stored as such, or in an
    array that is aligned for them.
    """
    linear = None if lane is None else linear_in(leaf.offset, lane.index)
    if lane is None or linear is None or linear[0] != 1:
        return None
    memory, base = leaf.memory, linear[1]
    if memory.space.of_item:
        at_once = lane.width in (memory.width, memory.alignment)
        return base if at_once and modulo(base, lane.width) == 0 else None
    return base


def _gathered(value: CExpression, memory: Memory) -> bool:
    """Whether a vector for a private array is put together from scalars of elsewhere, each stored by itself then.

    Of the vector PoCL makes a gather, which takes four times as long on an AMD EPYC as the loads and stores.
    """
    code = value.code
    apart = isinstance(code, tree.Cast) and len(code.arguments) == value.width
    elsewhere = memory.name not in tree.variables(
        code
    )  # else a store would change what is read after it
    return memory.space.of_item and value.scalar != boolean and apart and elsewhere


def _aligned(base: Index, width: int) -> bool:
    """Whether a vector at `base` is aligned; buffers and local arrays themselves are."""
    return width != 3 and modulo(base, width) == 0


def _too_wide(memory: Memory, width: int) -> bool:
    """Whether `vstore` takes a vector half by half, and `vload` one that is not of floats: they are functions of the library.

    `vload16` of floats is written anew for a driver that cannot do it: see `in_halves`.
    """
    return memory.scalar.bytes * width > LARGEST_ARGUMENT


def _halves(leaf: Leaf, lane: Lane) -> list[tuple[Leaf, Lane]] | None:
    """The halves of a vector, each with its lanes, where each is a vector in memory that one access reaches, or is not there."""
    width, odd = divmod(lane.width, 2)
    if odd or width < 2:
        return None
    half = Lane(variable(f"{lane.index} of a half", Size.of(width)), width)
    each = [with_lane(leaf, lane, half.index + first) for first in (0, width)]
    return [(part, half) for part in each] if all(_is_whole(p, half) for p in each) else None


def _is_whole(leaf: Leaf, lane: Lane) -> bool:
    """Whether one access reaches all lanes in memory, under a condition that none decides."""
    whole = in_whole_vectors(leaf, lane)
    match whole:
        case Guarded(_, inside, outside):
            beyond = isinstance(outside, CodeValue) and outside.index is not None
            return beyond and not decided_by(whole, lane) and _is_whole(inside, lane)
        case Cell(memory):
            base = _contiguous(whole, lane)
            plain = memory.space.of_device and memory.scalar != boolean
            return plain and base is not None and _aligned(base, lane.width)
        case CodeValue():
            return False


def _from_memory(code: tree.Expression, leaf: Cell, width: int) -> CExpression:
    """A vector read from memory; truth values become masks."""
    if leaf.memory.scalar == boolean:
        code = nonzero(converted(code, c_type(i32, width), i32.bytes))
    return CExpression(code, leaf.memory.scalar, width)


def _to_memory(value: CExpression) -> tree.Expression:
    """A vector as it is written to memory."""
    if value.scalar == boolean and value.width is not None:
        mask = tree.wrapped(tree.Prefix("-", as_mask(value, i32).code))
        return converted(mask, memory_type(boolean, value.width), i32.bytes)
    return value.code
