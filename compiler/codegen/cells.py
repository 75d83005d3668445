"""Reading and writing memory in C: one scalar, or all lanes of a vector at once.

Inside a vector operation an address may depend on the lane.  Where consecutive lanes lie in consecutive
cells the access is one vector instruction, where the address does not depend on the lane it is one scalar
that all lanes share, and else each lane is accessed on its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from relift.compiler.codegen.expressions import (
    LARGEST_ARGUMENT,
    CExpression,
    as_mask,
    bare,
    c_type,
    converted,
    lane_of,
    memory_type,
    spread,
)
from relift.semantics.errors import Unsupported
from relift.semantics.indices.expressions import (
    Index,
    as_c,
    depends_on,
    divide,
    linear_in,
    modulo,
    substitute,
    surely_at_most,
)
from relift.semantics.indices.views import Cell, Condition, Guarded, Leaf, Memory, Value, guarded
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import boolean, i32


@dataclass(frozen=True)
class Lane:
    """The lane variable of the vector operation that is being emitted, and how many lanes there are."""

    index: Index
    width: int


@dataclass(frozen=True)
class Addressing:
    """How indices are written: `suffix` is `L` in kernels whose indices are `long`."""

    suffix: str = ""

    def text(self, e: Index) -> str:
        """An index in C."""
        return as_c(e, self.suffix)

    def load(self, leaf: Leaf, lane: Lane | None) -> CExpression:
        """The value of a leaf, for all lanes if there are lanes.

        >>> from relift.semantics.indices.expressions import variable
        >>> from relift.semantics.indices.views import Memory
        >>> i, l = variable("i", 8), variable("l", 4)
        >>> x = Memory("x", f32, Size.of(32), "global")
        >>> [Addressing().load(Cell(x, e), Lane(l, 4)).text for e in (4 * i + l, 8 * l, 4 * i)]
        ['*(global const float4*)(x + 4*i)', '(float4)(x[0], x[8], x[16], x[24])', 'x[4*i]']
        """
        match leaf:
            case Value(index=index) if index is not None:
                if lane is not None and depends_on(index, lane.index):
                    return self._gather(leaf, lane)
                return CExpression(f"((int)({self.text(index)}))", leaf.scalar)
            case Value():
                return _load_value(leaf, lane)
            case Guarded(condition, inside, outside):
                if lane is not None and _depends(leaf, lane.index):
                    return self._gather(leaf, lane)
                yes, no = self.load(inside, lane), self.load(outside, lane)
                text = f"({self.condition(condition)} ? {yes.text} : {no.text})"
                return CExpression(text, yes.scalar)
            case Cell(memory, offset):
                base = _contiguous(leaf, lane)
                if lane is None or not depends_on(offset, lane.index):
                    return CExpression(self._place(leaf), memory.scalar)
                if base is None:
                    return self._gather(leaf, lane)
                if memory.width is not None:
                    return _from_memory(self._vector_place(memory, base), leaf, lane.width)
                return _from_memory(self._vector_load(leaf, base, lane.width), leaf, lane.width)

    def _gather(self, leaf: Leaf, lane: Lane) -> CExpression:
        each = [self.load(_at_lane(leaf, lane, k), None) for k in range(lane.width)]
        scalar = each[0].scalar
        texts = [f"-({e.text})" if scalar == boolean else e.text for e in each]
        return CExpression(
            f"({c_type(scalar, lane.width)})({', '.join(texts)})", scalar, lane.width
        )

    def _place(self, leaf: Cell) -> str:
        """One cell in C; of a row of vectors, a lane."""
        memory = leaf.memory
        if memory.width is None:
            return f"{memory.name}[{self.text(leaf.offset)}]"
        lane = modulo(leaf.offset, memory.width).constant
        if lane is None:
            t = memory_type(memory.scalar)
            return f"((private {t}*){memory.name})[{self.text(leaf.offset)}]"
        return f"{self._vector_place(memory, leaf.offset - lane)}.s{lane:x}"

    def _vector_place(self, memory: Memory, base: Index) -> str:
        """One vector of a row of vectors, by its lane 0."""
        assert memory.width is not None, "cannot happen: a row of scalars has no vectors"
        return f"{memory.name}[{self.text(divide(base, memory.width))}]"

    def _vector_load(self, leaf: Cell, base: Index, width: int) -> str:
        memory = leaf.memory
        if _aligned(base, width):
            return "*" + self._pointer(leaf, base, width, "const ")
        return self._unaligned_load(memory, base, width)

    def _unaligned_load(self, memory: Memory, base: Index, width: int) -> str:
        if _too_wide(memory, width):
            half = width // 2
            low, high = (self._unaligned_load(memory, base + i, half) for i in (0, half))
            return f"({memory_type(memory.scalar)}{width})({low}, {high})"
        return f"vload{width}(0, {_sum(memory.name, self.text(base))})"

    def _unaligned_store(self, memory: Memory, base: Index, width: int, text: str) -> list[str]:
        if _too_wide(memory, width):
            half = width // 2
            parts = (f"{text}.lo", base), (f"{text}.hi", base + half)
            return [
                line for part, at in parts for line in self._unaligned_store(memory, at, half, part)
            ]
        return [f"vstore{width}({text}, 0, {_sum(memory.name, self.text(base))});"]

    def _pointer(self, leaf: Cell, base: Index, width: int, qualifier: str) -> str:
        memory = leaf.memory
        t = f"{memory.space} {qualifier}{memory_type(memory.scalar)}{width}*"
        return f"({t})({_sum(memory.name, self.text(base))})"

    def condition(self, c: Condition) -> str:
        """A condition in C, without the side that the range of the index decides."""
        index = self.text(c.index)
        sides = []
        if not surely_at_most(Size.of(0), c.index):
            sides.append(f"{index} >= 0")
        if not surely_at_most(c.index, c.extent - 1):
            sides.append(f"{index} < {self.text(c.extent)}")
        return sides[0] if len(sides) == 1 else "(" + " && ".join(sides) + ")"

    def needs_name(self, leaf: Leaf, lane: Lane | None) -> bool:
        """Whether `store` writes a value part by part, so that a value with lanes should have a name."""
        if lane is None or not isinstance(leaf, Cell):
            return False
        base = _contiguous(leaf, lane)
        return base is None or (
            _too_wide(leaf.memory, lane.width) and not _aligned(base, lane.width)
        )

    def store(self, leaf: Leaf, value: CExpression, lane: Lane | None) -> list[str]:
        """The statements that put a value where the leaf is.

        >>> from relift.semantics.indices.expressions import variable
        >>> from relift.semantics.indices.views import Memory
        >>> i, l = variable("i", 8), variable("l", 4)
        >>> out = Memory("out", f32, Size.of(32), "global")
        >>> Addressing().store(Cell(out, 4 * i + l), CExpression("v", f32, 4), Lane(l, 4))
        ['*(global float4*)(out + 4*i) = v;']
        >>> Addressing().store(Cell(out, 2 * l + 1), CExpression("v", f32, 2), Lane(l, 2))
        ['out[1] = v.s0;', 'out[3] = v.s1;']
        """
        match leaf:
            case Value(text):
                width = None if lane is None or leaf.lane is None else lane.width
                return [f"{text} = {bare(spread(value, width).text)};"]
            case Guarded():
                raise AssertionError("cannot happen: nothing is written to a padded array")
            case Cell(memory):
                if lane is None:
                    return [f"{self._place(leaf)} = {bare(value.text)};"]
                base = _contiguous(leaf, lane)
                if base is None:
                    return [
                        statement
                        for k in range(lane.width)
                        for statement in self.store(
                            _at_lane(leaf, lane, k), lane_of(value, k), None
                        )
                    ]
                text = _to_memory(spread(value, lane.width))
                if memory.width is not None:
                    return [f"{self._vector_place(memory, base)} = {bare(text)};"]
                if _aligned(base, lane.width):
                    return [f"*{self._pointer(leaf, base, lane.width, '')} = {bare(text)};"]
                if _too_wide(memory, lane.width) and not text.isidentifier():
                    text = f"({text})"
                return self._unaligned_store(memory, base, lane.width, text)


def _load_value(leaf: Value, lane: Lane | None) -> CExpression:
    if leaf.lane is None:
        return CExpression(leaf.text, leaf.scalar)
    if lane is not None and leaf.lane == lane.index:
        return CExpression(leaf.text, leaf.scalar, lane.width)
    if leaf.lane.constant is not None:
        return lane_of(CExpression(leaf.text, leaf.scalar, 2), leaf.lane.constant)
    raise Unsupported(
        f"lane {leaf.lane} of a vector in registers is read; only constant lanes, or all in order, can be"
    )


def _contiguous(leaf: Cell, lane: Lane | None) -> Index | None:
    """The address of lane 0 when lanes are consecutive cells that one instruction accesses.

    Private arrays lie in registers, which have no addresses: there, only vectors that are stored as such.
    """
    linear = None if lane is None else linear_in(leaf.offset, lane.index)
    if lane is None or linear is None or linear[0] != 1:
        return None
    memory, base = leaf.memory, linear[1]
    if memory.space == "private" and (memory.width != lane.width or modulo(base, lane.width) != 0):
        return None
    return base


def _aligned(base: Index, width: int) -> bool:
    """Whether a vector at `base` is aligned; buffers and local arrays themselves are."""
    return width != 3 and modulo(base, width) == 0


def _too_wide(memory: Memory, width: int) -> bool:
    """Whether `vload` and `vstore` take a vector half by half: they are functions of the library."""
    return memory.scalar.bytes * width > LARGEST_ARGUMENT


def _depends(leaf: Leaf, v: Index) -> bool:
    match leaf:
        case Cell(_, offset):
            return depends_on(offset, v)
        case Value(_, _, lane, index):
            return any(e is not None and depends_on(e, v) for e in (lane, index))
        case Guarded(condition, inside, outside):
            return depends_on(condition.index, v) or _depends(inside, v) or _depends(outside, v)


def _at_lane(leaf: Leaf, lane: Lane, k: int) -> Leaf:
    """The leaf of lane k alone."""
    at = Size.of(k)
    match leaf:
        case Cell(memory, offset, shares):
            return Cell(memory, substitute(offset, lane.index, at), shares)
        case Value(text, scalar, of, index):
            of, index = (None if e is None else substitute(e, lane.index, at) for e in (of, index))
            return Value(text, scalar, of, index)
        case Guarded(condition, inside, outside):
            index = substitute(condition.index, lane.index, at)
            chosen = guarded(
                Condition(index, condition.extent),
                _at_lane(inside, lane, k),
                _at_lane(outside, lane, k),
            )
            assert isinstance(chosen, Cell | Value | Guarded), "cannot happen: a choice of scalars"
            return chosen


def _from_memory(text: str, leaf: Cell, width: int) -> CExpression:
    """A vector read from memory; truth values become masks."""
    if leaf.memory.scalar == boolean:
        text = f"({converted(text, c_type(i32), width, i32.bytes)} != 0)"
    return CExpression(text, leaf.memory.scalar, width)


def _to_memory(value: CExpression) -> str:
    """A vector as it is written to memory."""
    if value.scalar == boolean and value.width is not None:
        mask = f"(-{as_mask(value, i32).text})"
        return converted(mask, memory_type(boolean), value.width, i32.bytes)
    return value.text


def _sum(name: str, index: str) -> str:
    return name if index == "0" else f"{name} + {index}" if index[0] != "-" else f"{name} {index}"
