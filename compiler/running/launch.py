"""What a compiled program needs besides its source: buffers, kernels, sizes; as data that JSON can hold.

Types are written as Relift prints them, and read back.  Sizes that are still open are arguments of the kernels;
`Launch.at` is the launch at the sizes of a call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from relift.compiler.bench.bundle_runner import pieces
from relift.compiler.lowering.threads import GROUP_LIMIT, number
from relift.device import bytes_text
from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped
from relift.semantics.language.programs import Program, substituted
from relift.semantics.notation.parser import parse_size, parse_type
from relift.semantics.syntax.signatures import Undetermined
from relift.semantics.syntax.sizes import Name, Size
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import SCALARS, Scalar, Type, substitute_type

VERSION = 3
"""The version of the format; a reader refuses others."""

INT_LIMIT = 2**31
"""Kernels with a buffer of this many cells, or an array of this length, index with `long`."""

MOST_ITEMS = 1 << 24
"""Work-items of a dimension where they run a grid-stride loop, and no number of them was asked for."""

ROWS_OF_GROUP = 2048
"""Work-items of a group of several rows, at most, of a driver that makes vectors of the neighbours in each."""

LONGEST_ROW = 4096
"""Work-items of a row that is a group, at most."""

SHARES = 8
"""Groups for each unit of a CPU, at least: the last ones leave few units idle."""

Role: TypeAlias = Literal["input", "scalar", "size", "temporary", "output"]


@dataclass(frozen=True)
class Buffer:
    """One argument of the kernels: a row of scalars, or one scalar by value (roles `scalar` and `size`)."""

    name: str
    scalar: Scalar
    cells: Size
    role: Role

    @cached_property
    def row(self) -> tuple[int, np.dtype[Any]]:
        """How many cells it has at concrete sizes, and their type."""
        return number(self.cells), DTYPES[self.scalar.name]


@dataclass(frozen=True)
class Parameter:
    """One argument of the program, and the buffers that hold its components in order."""

    name: str
    type: Type
    buffers: tuple[str, ...]


@dataclass(frozen=True)
class Piece:
    """Work-items that are launched together: the number of the first, how many, and how many in a group."""

    offset: tuple[int, ...]
    range: tuple[int, ...]
    local: tuple[int, ...]


MOST_KNOWN = 64
"""The choices of sizes that a launch remembers itself at."""


def groups_along(items: Sequence[int], units: int) -> int:
    """How many groups there are to be of the first dimension, so that each unit of a CPU has `SHARES` of all.

    >>> from relift.compiler.running.launch import groups_along
    >>> groups_along((300,), 2), groups_along((300, 5), 2), groups_along((300, 100), 2)
    (16, 4, 1)
    """
    return max(1, -(-SHARES * units // prod(items[1:])))


@dataclass(frozen=True)
class Packing:
    """How a CPU's driver makes vectors of work-items: of so many `lanes`, on so many units, in groups of `most` at most.

    Those with `rows` do so along the first dimension, of whatever rows a group has.
    """

    lanes: int
    units: int
    most: int = GROUP_LIMIT
    rows: bool = False


def _dividing(length: int, most: int, step: int) -> int:
    """The largest multiple of a step that divides a length, of those that are no less than half of `most`; that one, if none does."""
    return next((m for m in range(most, most // 2, -step) if length % m == 0), most)


@dataclass(frozen=True)
class Kernel:
    """One launch: the buffers in the order of the arguments, how many work-items, how much local memory.

    There are exactly `total` work-items in each dimension.  Only in those of `turns`, whose loops are grid-stride, any
    whole number of groups will do.  `spans` are the largest numbers that the kernel computes with `int`, where
    sizes are open (see the module `spans`).  A kernel that is `free` asks nothing of groups and has no vectors: a CPU's driver may make
    vectors of its work-items.  Of those that have private `arrays` it keeps those of a group at once.
    """

    name: str
    arguments: tuple[str, ...]
    total: tuple[Size, ...]
    local: tuple[int, ...]
    local_bytes: int
    turns: tuple[int, ...] = ()
    spans: tuple[Size, ...] = ()
    free: bool = False
    arrays: bool = True

    @property
    def range(self) -> tuple[int, ...]:
        """The global size of a launch at concrete sizes."""
        return tuple(map(number, self.total))

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """A launch at concrete sizes: whole groups, and the work-items that are left, in smaller groups.

        A kernel without groups asks nobody whether a work-item has an element, so none has not.  On a CPU,
        the driver makes vectors of work-items only where there is no such question.

        >>> from relift.compiler.running.launch import Kernel
        >>> from relift.semantics.syntax.sizes import Size
        >>> [(p.offset, p.range, p.local) for p in Kernel("f", (), (Size.of(150),), (64,), 0).pieces]
        [((0,), (128,), (64,)), ((128,), (22,), (22,))]
        """
        return tuple(Piece(*p) for p in pieces(self.range, self.local))

    def packed(self, by: Packing) -> tuple[Piece, ...]:
        """A launch on a CPU whose driver makes vectors of work-items: in groups of whole rows, or of whole vectors.

        In other groups drivers compute all work-items, or those that are left, one after the other: 300 sums of 256 exponentials take
        Intel's two cores 4 times as long in groups of 15 as in groups of 16.  A group takes them 0.1 us: 3000 rows of 1000 quotients
        0.5 ms in groups of 250, and 0.2 where a group has two rows.

        >>> from relift.compiler.running.launch import Kernel, Packing
        >>> from relift.semantics.syntax.sizes import Size
        >>> def groups(rows, *total):
        ...     k = Kernel("f", (), tuple(map(Size.of, total)), (15, 1)[: len(total)], 0, free=True, arrays=False)
        ...     return [(p.range, p.local) for p in k.packed(Packing(16, 2, 8192, rows))]
        >>> groups(True, 300)
        [((288,), (16,)), ((12,), (12,))]
        >>> groups(False, 300, 90), groups(True, 300, 90)
        ([((300, 90), (300, 1))], [((300, 90), (300, 5))])
        """
        neighbours, *others = self.range
        if not self.free or neighbours < by.lanes or not all(others):
            return self.pieces
        shares = groups_along(self.range, by.units)
        longest = LONGEST_ROW if others and not self.arrays else GROUP_LIMIT
        most = min(longest, by.most, max(by.lanes, neighbours // shares))
        if others and neighbours <= most and not self.arrays:
            group, rows = neighbours, self._rows_beside(by)
        else:
            group, rows = _dividing(neighbours, most // by.lanes * by.lanes, by.lanes), 1
        local = (group, rows, *(1 for _ in others[1:])) if others else (group,)
        return tuple(Piece(*p) for p in pieces(self.range, local))

    def _rows_beside(self, by: Packing) -> int:
        """Rows of work-items that are one group, of which all units still have enough."""
        neighbours, along, *others = self.range
        shares = groups_along((along, *others), by.units)
        most = min(ROWS_OF_GROUP, by.most) // neighbours
        return _dividing(along, max(1, min(most, along // shares)), 1) if by.rows else 1

    def at(self, values: Mapping[str, int], program: str) -> Kernel:
        """The launch at concrete sizes; raises `IllTyped` where they are too large for `int`."""
        total = [n.evaluate(values) for n in self.total]
        step = 0
        for d, (asked, m) in enumerate(zip(self.total, self.local, strict=True)):
            if d in self.turns:
                # one group at least: what it counts may be nothing, where another map has elements
                total[d] = max(1, min(-(-total[d] // m), MOST_ITEMS // m)) * m
            exact = asked.constant is None and d not in self.turns
            step = max(step, m if exact else total[d])
        here = replace(self, total=tuple(map(Size.of, total)), turns=(), spans=())
        for span in self.spans:
            n = span.evaluate(values)
            if n + step >= INT_LIMIT:
                raise IllTyped(
                    f"{program}: {span} is {n}; with {step} work-items in a turn, {self.name} computes "
                    f"with numbers below 2**31 = {INT_LIMIT} only; compile with wide=True"
                )
        return here


@dataclass(frozen=True)
class Launch:
    """All that is needed to run the kernels of a program, in order."""

    program: str
    parameters: tuple[Parameter, ...]
    result: Parameter
    buffers: tuple[Buffer, ...]
    kernels: tuple[Kernel, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    """The open sizes, and the least value of each."""
    _known: dict[tuple[int, ...], Launch] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @property
    def different(self) -> tuple[Kernel, ...]:
        """Its kernels, each once: those of an iteration are launched again and again."""
        return tuple(dict.fromkeys(self.kernels))

    @cached_property
    def bytes(self) -> int:
        """What its buffers take at concrete sizes: what is given, what kernels leave to others, and the result."""
        return sum(cells * dtype.itemsize for cells, dtype in (b.row for b in self.buffers))

    def beyond(self, memory: int, device: str) -> str | None:
        """What it needs of memory, where a device has so many bytes and they are less, at concrete sizes; of 0 nobody knows how many.

        >>> from relift import compile, f32, map_glb, program
        >>> @program
        ... def twice(x: f32[1 << 28]):
        ...     return map_glb(0)(lambda v: v + v, x)
        >>> compile(twice).plan.beyond(1 << 30, "a small device")
        'twice needs 2.0 GiB of memory at these sizes, a small device has 1.0 GiB'
        """
        if not memory or self.bytes <= memory:
            return None
        needed, present = bytes_text(self.bytes), bytes_text(memory)
        return f"{self.program} needs {needed} of memory at these sizes, {device} has {present}"

    def too_large(self, local_bytes: int, group: int, device: str) -> str | None:
        """What a kernel needs more of than the device has, whose groups have so many bytes and work-items at most.

        >>> from relift import compile, f32, map_lcl, map_wrg, program, to_local
        >>> @program
        ... def twice(x: f32[4, 64]):
        ...     return map_wrg(0)(lambda row: map_lcl(0)(lambda v: v + v, to_local(map_lcl(0)(lambda v: v, row))), x)
        >>> compile(twice).plan.too_large(128, 64, "a small device")
        'twice_1 needs 256 bytes of local memory, a small device has 128; take smaller tiles'
        """
        for kernel in self.different:
            for wanted, limit, what in (
                (kernel.local_bytes, local_bytes, "bytes of local memory"),
                (prod(kernel.local), group, "work-items in a group"),
            ):
                if wanted > limit:
                    return (
                        f"{kernel.name} needs {wanted} {what}, {device} has {limit}; "
                        "take smaller tiles"
                    )
        return None

    def solved(self, arguments: tuple[Any, ...], given: Mapping[str, int]) -> dict[str, int]:
        """The open sizes, as far as given, else from the shapes of the arguments; raises `IllTyped`."""
        if not self.sizes and not given:
            return {}
        types = Program(
            self.program,
            tuple(Input(p.name, p.type) for p in self.parameters),
            Input(self.result.name, self.result.type),
        ).at(given, partly=True)
        try:
            found = {**given, **types.solve_sizes(arguments)}
        except IllTyped as error:
            shapes = ", ".join(
                f"{p.name}: {p.type} has shape {_shape(argument)}"
                for p, argument in zip(self.parameters, arguments, strict=False)
            )
            hint = '; call with sizes={"name": ...}' if isinstance(error, Undetermined) else ""
            raise IllTyped(f"{error.message} ({shapes}){hint}", error.place) from None
        missing = [name for name in self.sizes if name not in found]
        if missing:
            raise IllTyped(
                f"{self.program}: no argument says what size {missing[0]} is; "
                f'call with sizes={{"{missing[0]}": ...}}'
            )
        return found

    def at(self, values: Mapping[str, int]) -> Launch:
        """The launch at concrete sizes; raises `IllTyped` where they are too large for `int`."""
        if not self.sizes:
            return self
        # a call of a kernel asks for it, and would else wait longer for it than for a small kernel
        at = tuple(values[name] for name in self.sizes)
        if (before := self._known.get(at)) is not None:
            return before
        known = {name: Size.of(value) for name, value in values.items()}
        kernels = {k: k.at(values, self.program) for k in self.different}
        found = Launch(
            self.program,
            tuple(replace(p, type=substituted(p.type, known)) for p in self.parameters),
            replace(self.result, type=substituted(self.result.type, known)),
            tuple(replace(b, cells=Size.of(b.cells.evaluate(values))) for b in self.buffers),
            tuple(kernels[k] for k in self.kernels),
        )
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[at] = found
        return found

    def as_json(self) -> dict[str, Any]:
        """The launch as dictionaries, lists, strings and numbers."""
        return {
            "version": VERSION,
            "program": self.program,
            "sizes": dict(self.sizes),
            "parameters": [_parameter_json(p) for p in self.parameters],
            "result": _parameter_json(self.result),
            "buffers": [
                {
                    "name": b.name,
                    "scalar": str(b.scalar),
                    "cells": _size_json(b.cells),
                    "role": b.role,
                }
                for b in self.buffers
            ],
            "kernels": [
                {
                    "name": k.name,
                    "arguments": list(k.arguments),
                    "global": list(map(_size_json, k.total)),
                    "local": list(k.local),
                    "local_bytes": k.local_bytes,
                    "turns": list(k.turns),
                    "spans": [_size_json(n) for n in k.spans],
                    "free": k.free,
                    "arrays": k.arrays,
                }
                for k in self.kernels
            ],
        }


class Launched(Protocol):
    """OpenCL C and how it is launched, which is all that can be said to be right or wrong of kernels."""

    @property
    def source(self) -> str:
        """The text of all kernels."""
        ...

    @property
    def plan(self) -> Launch:
        """How they are launched."""
        ...


def launch_from_json(data: Mapping[str, Any]) -> Launch:
    """The inverse of `as_json`; raises `IllTyped` when the data is of another version or broken."""
    if data.get("version") != VERSION:
        raise IllTyped(f"launch.json has version {data.get('version')!r}, {VERSION} is known")
    try:
        sizes = {name: Size.atom(Name(name, least)) for name, least in data["sizes"].items()}
        return Launch(
            data["program"],
            tuple(_parameter_from(p, sizes) for p in data["parameters"]),
            _parameter_from(data["result"], sizes),
            tuple(
                Buffer(b["name"], SCALARS[b["scalar"]], _size_from(b["cells"], sizes), b["role"])
                for b in data["buffers"]
            ),
            tuple(
                Kernel(
                    k["name"],
                    tuple(k["arguments"]),
                    tuple(_size_from(n, sizes) for n in k["global"]),
                    tuple(k["local"]),
                    k["local_bytes"],
                    tuple(k["turns"]),
                    tuple(_size_from(n, sizes) for n in k["spans"]),
                    k.get("free", False),
                    k.get("arrays", True),
                )
                for k in data["kernels"]
            ),
            data["sizes"],
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise IllTyped(f"launch.json is broken: {error!r}") from None


def _shape(argument: Any) -> str:
    if isinstance(argument, tuple):
        return f"({', '.join(map(_shape, argument))})"
    return str(np.shape(argument))


def _parameter_json(p: Parameter) -> dict[str, Any]:
    return {"name": p.name, "type": str(p.type), "buffers": list(p.buffers)}


def _parameter_from(data: Mapping[str, Any], sizes: Mapping[str, Size]) -> Parameter:
    t = substitute_type(parse_type(data["type"]), {}, sizes)
    return Parameter(data["name"], t, tuple(data["buffers"]))


def _size_json(n: Size) -> int | str:
    return str(n) if n.constant is None else n.constant


def _size_from(data: int | str, sizes: Mapping[str, Size]) -> Size:
    return parse_size(str(data)).substitute(sizes)
