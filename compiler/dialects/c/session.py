"""Kernels in C on the processor of this machine: printed, compiled, loaded, and called on rows where they lie."""

from __future__ import annotations

import ctypes
import itertools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from relift.compiler.devices.naming import label
from relift.compiler.dialects.backend import Session
from relift.compiler.dialects.c.compiler import TITLE, Compiler, built
from relift.compiler.dialects.c.printer import C, entry
from relift.compiler.dialects.reading import HALVES, understood
from relift.compiler.lowering.threads import number
from relift.compiler.running.arrays.buffers import Held, Row, on_host
from relift.compiler.running.arrays.device_array import Resident
from relift.compiler.running.launch import Buffer, Launch, Piece, groups_along
from relift.compiler.running.session import check_limits, memory, plan_at, poisoned
from relift.semantics.domains import DTYPES
from relift.semantics.errors import Unsupported

_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "-cl-fast-relaxed-math": ("-ffast-math",),
    "-cl-denorms-are-zero": (),
    "-cl-mad-enable": (),
    "-cl-no-signed-zeros": ("-fno-signed-zeros",),
}
"""What C compilers call an option of OpenCL, which allows something; nothing where they make no use of it."""

MOST = 1024
"""The work-items that are in a group at most, where any groups will do."""


@cache
def _first() -> int:
    """The process that started threads: what is forked of it has none of them."""
    return os.getpid()


@dataclass(frozen=True, eq=False)
class CRow:
    """A row in the memory of this process, which is done when a call returns."""

    memory: Row
    cells: int

    @property
    def is_shared(self) -> bool:
        """Whether it is the memory itself that is read."""
        return True

    def read(self) -> Row:
        """The cells, in place."""
        return self.memory[: self.cells]

    @property
    def is_ready(self) -> bool:
        """Nothing is left to be done."""
        return True

    def wait(self) -> None:
        """Nothing is left to be done."""


class CMemory:
    """The memory of this process."""

    def put(self, row: Row) -> CRow:
        """A copy of a row, aligned for any vector."""
        found = memory(max(1, len(row)), row.dtype)
        found[: len(row)] = row
        return CRow(found, len(row))


class CSession(Session):
    """A program built by a C compiler, with options named as OpenCL does; raises `Unsupported` when that fails."""

    def __init__(
        self, source: str, plan: Launch, by: Compiler, options: Sequence[str] = ()
    ) -> None:
        check_limits(plan, by)
        self.unknown: list[str] = []
        unknown = [o for o in options if o not in _OPTIONS and not o.startswith("-D")]
        if unknown:
            raise Unsupported(
                f"C with OpenMP has no option for {unknown[0]} of OpenCL; known: {', '.join(_OPTIONS)}"
            )
        flags = [flag for option in options for flag in _OPTIONS.get(option, ())]
        tree = understood(source, TITLE, options)
        flags.append(f"-ffp-contract={'fast' if tree.contract else 'off'}")
        if HALVES.search(source):
            flags.append(by.halves_as_they_are)
        library = built(by, C().file(tree), flags)
        self._by, self._plan = by, plan
        entries = {k.name: entry(k) for k in tree.kernels}
        missing = [k.name for k in plan.kernels if k.name not in entries]
        if missing:
            raise Unsupported(f"the source has no kernel {missing[0]}")
        self._kernels = [
            (getattr(library, entries[k.name].name), entries[k.name].free) for k in plan.kernels
        ]

    @property
    def device(self) -> Compiler:
        """The compiler that stands for the processor."""
        return self._by

    def enqueue(self, rows: Mapping[str, Held], *, in_place: bool = False) -> dict[str, Resident]:
        """Run all kernels; the results are where they were written."""
        plan, arguments = self._placed(rows, filled=in_place)
        self._launch(plan, arguments)
        return {
            b.name: CRow(arguments[b.name], number(b.cells))
            for b in plan.buffers
            if b.role == "output"
        }

    def timed(self, rows: Mapping[str, Held], repeats: int) -> list[float]:
        """Seconds of each run; a first run is not counted."""
        plan, arguments = self._placed(rows)
        self._launch(plan, arguments)
        times: list[float] = []
        for _ in range(repeats):
            started = time.perf_counter()
            self._launch(plan, arguments)
            times.append(time.perf_counter() - started)
        return times

    def _placed(
        self, rows: Mapping[str, Held], *, filled: bool = False
    ) -> tuple[Launch, dict[str, Row]]:
        """The launch at the sizes of the rows, and memory for each buffer."""
        plan = plan_at(self._plan, rows, self._by)
        return plan, {b.name: _cells(b, rows.get(b.name), filled=filled) for b in plan.buffers}

    def _launch(self, plan: Launch, arguments: Mapping[str, Row]) -> None:
        units = self._by.max_compute_units
        threads = units if _first() == os.getpid() else 1
        for k, (kernel, free) in zip(plan.kernels, self._kernels, strict=True):
            places = (arguments[name].ctypes.data for name in k.arguments)
            given = (ctypes.c_void_p * len(k.arguments))(*places)
            for piece in _whole(k.pieces, units) if free else k.pieces:
                self._piece(k.name, kernel, piece, given, threads)

    def _piece(self, name: str, kernel: Any, piece: Piece, given: Any, threads: int) -> None:
        if max(o + n for o, n in zip(piece.offset, piece.range, strict=True)) >= 2**31:
            raise Unsupported(f"{name}: {label(self._by)} counts fewer than 2**31 work-items")
        if not all(piece.range):
            return
        three = [
            (ctypes.c_int * 3)(*itertools.islice((*of, *[rest] * 3), 3))
            for of, rest in ((piece.offset, 0), (piece.range, 1), (piece.local, 1))
        ]
        if kernel(given, *three, threads):
            raise Unsupported(f"{name}: not all work-items of a group come to one of its barriers")


def _cells(b: Buffer, given: Held | None, *, filled: bool) -> Row:
    """The memory of a buffer: that of a row which lies there, else its own."""
    dtype = DTYPES[b.scalar.name]
    if given is not None and b.role in ("scalar", "size"):
        return on_host(given).astype(np.int32 if dtype == np.bool_ else dtype)
    if isinstance(given, CRow):
        return given.memory
    cells = max(1, number(b.cells))
    if given is None:
        return poisoned(cells, dtype) if filled else memory(cells, dtype)
    found = memory(cells, dtype)
    found[: number(b.cells)] = on_host(given)
    return found


def _whole(pieces: Sequence[Piece], units: int) -> list[Piece]:
    """All work-items of a launch, in groups that suit the processors; nothing where there are none.

    >>> from relift.compiler.dialects.c.session import _whole
    >>> from relift.compiler.running.launch import Piece
    >>> halves = [Piece((0,), (128,), (64,)), Piece((128,), (22,), (22,))]
    >>> _whole(halves, 2)
    [Piece(offset=(0,), range=(150,), local=(10,))]
    """
    pieces = [p for p in pieces if all(p.range)]
    if not pieces:
        return []
    first = tuple(map(min, zip(*(p.offset for p in pieces), strict=True)))
    ends = ([o + n for o, n in zip(p.offset, p.range, strict=True)] for p in pieces)
    items = tuple(max(end) - a for *end, a in zip(*ends, first, strict=True))
    own = min(MOST, -(-items[0] // groups_along(items, units)))
    return [Piece(first, items, (own, *(1 for _ in items[1:])))]
