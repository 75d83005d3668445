"""All kernels of a program, in order, on symbols: each group's work-items in lockstep from barrier to barrier.

What runs is the text, at the sizes of its launch.  A race, an access out of bounds or out of alignment, a barrier
that part of a group meets, an `int` that overflows, a division by zero or a loop that does not advance is a
`Fault`; what depends on data that is only a name is `Undecided`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relift.compiler.certificates.given import GivenTwice, Misfit, given
from relift.compiler.running.launch import Kernel, Launch, Piece
from relift.compiler.text.tree import CType, Function, KernelText, Source
from relift.compiler.validation.arithmetic import Arithmetic, kind_of
from relift.compiler.validation.machine import (
    Fault,
    Item,
    Memory,
    Shared,
    Undecided,
    Vectors,
    barriers,
)
from relift.compiler.validation.symbols import OPEN, Algebra, Symbol, TooLarge
from relift.compiler.validation.translation.python import Opaque, Translated
from relift.compiler.validation.translation.statements import Translator

TURNS = 8
"""Turns of loops and work-items that may be run for each symbol that may be made."""


@dataclass
class Run:
    """One run of a launch: its memory, and how many work-items have run."""

    algebra: Algebra
    source: Source
    launch: Launch
    opaque: Mapping[str, Opaque] = field(default_factory=dict)
    memory: dict[str, Memory] = field(default_factory=dict)
    items: int = 0
    ways: Any = None
    """What follows the ways that data decide on, if they are."""

    def __post_init__(self) -> None:
        self.arithmetic = Arithmetic(self.algebra, TURNS * self.algebra.limit)
        self.functions: dict[str, Function] = {f.name: f for f in self.source.functions}

    def all_kernels(self, inputs: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """The cells of each buffer after the last kernel; raises `Fault`, `Undecided` and `NotUnderstood`."""
        texts = {k.name: k for k in self.source.kernels}
        for b in self.launch.buffers:
            if b.name in inputs:
                self.memory[b.name] = Memory(b.name, list(inputs[b.name]), constant=True)
            else:
                cells = b.cells.constant
                assert cells is not None, "cannot happen: an open size"
                if cells > self.algebra.limit:
                    raise TooLarge(f"{b.name} has {cells} cells, {self.algebra.limit} are allowed")
                once = b.role == "output"
                self.memory[b.name] = Shared(b.name, [OPEN] * cells, local=False, once=once)
        for k in self.launch.kernels:
            if k.name not in texts:
                raise Fault("launch", f"the source has no kernel {k.name}")
            self.kernel(k, texts[k.name])
        return {name: m.cells for name, m in self.memory.items()}

    def kernel(self, k: Kernel, text: KernelText) -> None:
        """One kernel, all its pieces."""
        arguments, known = self.arguments(k, text)
        for m in self.memory.values():
            if isinstance(m, Shared):
                m.forget()
        pieces = k.pieces
        self.items += math.prod(k.range)
        if self.items > TURNS * self.algebra.limit:
            raise TooLarge(f"{self.items} work-items")
        translated: dict[tuple[tuple[int, ...], ...], Translated] = {}
        for piece in pieces:
            if text.group is not None and text.group != _three(piece.local, 1):
                raise Fault(
                    "launch",
                    f"{k.name} requires groups of {text.group}, it is launched in groups of {piece.local}",
                )
            key = (piece.offset, piece.range, piece.local)
            if key not in translated:
                limits = limits_of(piece)
                made = Translator(self.arithmetic, self.functions, self.opaque, limits, known)
                translated[key] = made.kernel(text)
            self.piece(piece, translated[key], arguments)

    def arguments(self, k: Kernel, text: KernelText) -> tuple[list[Any], dict[str, int]]:
        """What a kernel is given, and the whole numbers among it; raises `Fault` where it does not fit."""
        try:
            buffers = given(text, k, {b.name: b for b in self.launch.buffers})
        except Misfit as error:
            if not error.wrong and not isinstance(error, GivenTwice):
                raise Undecided(error.message) from None
            raise Fault("launch", error.message) from None
        found: list[Any] = []
        known: dict[str, int] = {}
        for p in text.parameters:
            m = self.memory[buffers[p.name].name]
            if not p.type.pointer:
                value = m.cells[0]
                if isinstance(value, Symbol):
                    found.append(self.arithmetic.held(value) if value.type == "bool" else value)
                else:
                    found.append(int(value))
                    known[p.name] = int(value)
                continue
            seen = Memory(p.name, m.cells, constant=True) if p.type.constant else m
            found.append(seen if p.type.width == 1 else Vectors(seen, p.type.width))
        return found, known

    def piece(self, piece: Piece, kernel: Translated, arguments: Sequence[Any]) -> None:
        """All work-groups of a piece of a launch."""
        local, size = _three(piece.local, 1), _three(piece.range, 1)
        counts = tuple(n // m for n, m in zip(size, local, strict=True))
        offset = _three(piece.offset, 0)
        for group in itertools.product(*(range(n) for n in reversed(counts))):
            self.group(group[::-1], offset, counts, size, local, kernel, arguments)

    def together(self, items: Sequence[Item], runs: Sequence[Any]) -> Sequence[Any]:
        """The work-items of a group, each until it waits for all others."""
        return runs

    def group(
        self,
        group: tuple[int, ...],
        offset: tuple[int, ...],
        counts: tuple[int, ...],
        size: tuple[int, ...],
        local: tuple[int, ...],
        kernel: Translated,
        arguments: Sequence[Any],
    ) -> None:
        """One work-group, from barrier to barrier."""
        identity = object()
        tiles = [
            Shared(
                a.name,
                [_open(a.type)] * a.cells,
                local=True,
                aligned=a.aligned,
                kind=kind_of(a.type.scalar),
            )
            for a in kernel.local
        ]
        items: list[Item] = []
        for place in itertools.product(*(range(n) for n in reversed(local))):
            it = Item()
            it.lid, it.grp, it.ng, it.gs, it.ls = place[::-1], group, counts, size, local
            it.gid = tuple(
                o + g * m + p for o, g, m, p in zip(offset, group, local, it.lid, strict=True)
            )
            it.group, it.local_epoch, it.global_epoch = identity, 0, 0
            it.ways = self.ways
            items.append(it)
        runs = self.together(items, [kernel.run(it, *arguments, *tiles) for it in items])
        for _, is_local, is_global in barriers(items, runs):
            for it in items:
                it.local_epoch += is_local
                it.global_epoch += is_global


def _open(t: CType) -> Any:
    return OPEN if t.width == 1 else (OPEN,) * t.width


def _three(of: Iterable[int], rest: int) -> tuple[int, ...]:
    return (*of, rest, rest, rest)[:3]


def limits_of(piece: Piece) -> dict[tuple[str, int], int]:
    """The largest value of each number of a work-item."""
    found: dict[tuple[str, int], int] = {}
    size, local = _three(piece.range, 1), _three(piece.local, 1)
    for d, (n, m, offset) in enumerate(zip(size, local, _three(piece.offset, 0), strict=True)):
        found |= {
            ("gid", d): offset + n - 1, ("lid", d): m - 1, ("grp", d): n // m - 1, ("ng", d): n // m,
            ("gs", d): n, ("ls", d): m,
        }  # fmt: skip
    return found
