"""One work-group, or one work-item, that stands for all: numbers of groups stay open, those of work-items where they can.

A kernel without local memory and barriers is run for one work-item, whose numbers are not known; any other for all
work-items of a group whose number is not known, from barrier to barrier.  That the order of work-items between
barriers changes nothing is what the certificates of races and barriers say.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from relift.compiler.certificates.given import Misfit, given
from relift.compiler.meaning.kernels.loops import Folded, Loops, kind_of, waits
from relift.compiler.meaning.kernels.memory import Array, Ghost, Given, InVectors, Own, Result
from relift.compiler.meaning.kernels.shared import Slice, numbered
from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.arithmetic import Indices
from relift.compiler.meaning.numbers.constants import constants
from relift.compiler.meaning.numbers.polynomials import Index, Whole, number_of
from relift.compiler.running.launch import MOST_ITEMS, Kernel, Launch
from relift.compiler.text.tree import (
    Declaration,
    Expression,
    Function,
    Invocation,
    KernelText,
    Source,
    asked_of_groups,
    expressions_of,
    statements_within,
    within,
)
from relift.compiler.text.turned_back import turned_back
from relift.compiler.validation.machine import Fault, Item, Undecided, barriers
from relift.compiler.validation.symbols import OPEN, TooLarge
from relift.compiler.validation.translation.python import Opaque, Translated
from relift.semantics.syntax.sizes import Size

Way: TypeAlias = Literal["one", "one and all", "all"]
"""Who is run: one work-item that stands for all, all of a group, or one beside what all do to local memory."""

MOST_ITEMS_RUN = 4096
"""Work-items of one group that are run."""

BUDGET = 4_000_000
"""Turns of loops, of all work-items together, that are written out in one run."""


@dataclass
class Group:
    """One kernel of a launch, run once."""

    algebra: Folding
    arithmetic: Indices
    source: Source
    launch: Launch
    kernel: Kernel
    sizes: Mapping[str, Whole]
    unroll: int
    written_out: frozenset[int]
    way: Way
    tables: frozenset[str] = frozenset()
    opaque: Mapping[str, Opaque] = field(default_factory=dict)

    def __post_init__(self) -> None:
        texts = {k.name: k for k in self.source.kernels}
        if self.kernel.name not in texts:
            raise Fault("launch", f"the source has no kernel {self.kernel.name}")
        self.text: KernelText = turned_back(texts[self.kernel.name])
        self.loops = Loops(
            self.algebra, self.arithmetic, self.unroll, self.written_out, BUDGET,
            tables=self.tables,
        )  # fmt: skip
        self.strays: list[str] = []

    def size(self, n: Size) -> Whole:
        """A size as a number."""
        return number_of(n, self.sizes)

    # ---- work-items

    def grid(self) -> list[Item]:
        """The work-items that are run."""
        k = self.kernel
        local = _three(k.local, 1)
        total = tuple(_three([self.size(n) for n in k.total], 1))
        if self.text.group is not None and self.text.group != local:
            raise Fault("launch", f"{k.name} requires groups of {self.text.group}, not {local}")
        asked = self._asked()
        r = self.algebra.ranges
        ranges: list[tuple[Whole, int, Whole]] = []
        groups: list[Whole] = []
        for d in range(3):
            if d in k.turns:
                many = r.variable("size", f"groups_{d}", MOST_ITEMS // local[d] + 1, 1)
            elif local[d] == 1 or total[d] % local[d] == 0:
                many = total[d] // local[d]
            elif asked_of_groups(self.text):
                raise Undecided(f"groups of several sizes in dimension {d}")
            else:
                local = (*local[:d], 1, *local[d + 1 :])
                many = total[d]
            ranges.append((many, local[d], many * local[d]))
            groups.append(r.variable("group", f"wrg_{d}", many))
        self.joint: dict[Whole, Whole] = {}
        items: list[Item] = []
        if self.way != "all":
            flat = self.way == "one" and not asked & {"get_local_id", "get_group_id"}
            items.append(self._ghost(groups, ranges, flat=flat))
        if self.way != "one":
            items += self._all(groups, ranges)
        for it in items:
            it.ng = _numbers([many for many, _, _ in ranges])
            it.gs, it.ls = _numbers([n for _, _, n in ranges]), local
            it.group, it.local_epoch, it.global_epoch = None, 0, 0
        self.loops.joint = self.joint
        return items

    def _ghost(
        self, groups: Sequence[Whole], ranges: Sequence[tuple[Whole, int, Whole]], *, flat: bool
    ) -> Ghost:
        """The work-item whose numbers are not known; of a `flat` kernel only its global ones are asked for."""
        r = self.algebra.ranges
        ghost = Ghost()
        ghost.phase = 0
        lid: list[Whole] = []
        number: list[Whole] = []
        for d, (many, m, n) in enumerate(ranges):
            if flat:
                lid.append(0)
                number.append(r.variable("group", f"glb_{d}", n))
            else:
                lid.append(r.variable("group", f"lcl_{d}", m))
                number.append(groups[d] * m + lid[d])
            for start, step in ((lid[d], m), (groups[d], many), (number[d], n)):
                if isinstance(start, Index):
                    self.joint[start] = step
        ghost.lid, ghost.grp, ghost.gid = _numbers(lid), _numbers(groups), _numbers(number)
        return ghost

    def _all(
        self, groups: Sequence[Whole], ranges: Sequence[tuple[Whole, int, Whole]]
    ) -> Iterator[Item]:
        """The work-items of a group whose numbers are not known."""
        local = [m for _, m, _ in ranges]
        if math.prod(local) > MOST_ITEMS_RUN:
            raise TooLarge(f"a group of {local} work-items")
        for g, (many, _, _) in zip(groups, ranges, strict=True):
            if isinstance(g, Index):
                self.joint[g] = many
        for place in itertools.product(*(range(m) for m in reversed(local))):
            it = Item()
            it.lid, it.grp = place[::-1], _numbers(groups)
            it.gid = _numbers([g * m + n for g, m, n in zip(groups, local, it.lid, strict=True)])
            yield it

    def _asked(self) -> set[str]:
        """The functions that the text calls."""
        return {
            e.function for s in statements_within(self.text.body) for e in _every(expressions_of(s))
            if isinstance(e, Invocation)
        }  # fmt: skip

    # ---- the run

    def run(
        self, at: Callable[[str], Callable[[Whole], Any]], outputs: Mapping[str, Result]
    ) -> None:
        """Run it, where `at` is what buffers hold; what is written is noted in `outputs`."""
        items = self.grid()
        arguments, known = self._arguments(at, outputs)
        first = items[0]
        limits = {
            (name, d): (1 << 62) if isinstance(n, Index) else n
            for name, of in (("ng", first.ng), ("gs", first.gs), ("ls", first.ls))
            for d, n in enumerate(of)
        }
        for d in range(3):
            limits["gid", d] = limits["gs", d]
            limits["grp", d] = limits["ng", d]
            limits["lid", d] = first.ls[d] - 1

        def translated(text: KernelText, numbers: Mapping[int, int]) -> Translated:
            made = Folded(
                self.arithmetic, _functions(self.source), self.opaque, limits, known, numbers
            )
            made.w.environment |= {"loops": self.loops, "Memory": self._private}
            return made.kernel(text)

        kernel = translated(self.text, numbered(self.text.body))
        rest = kernel
        if self.way == "one and all":
            part = Slice(self.text)
            text = part.kernel()
            rest = translated(text, part.numbers)
        tiles = [
            Own(
                a.name,
                self.algebra,
                [_open(a.type)] * a.cells,
                aligned=a.aligned,
                shared=True,
                kind=kind_of(a.type.scalar) if a.type.width == 1 else "",
                table=self.loops.table,
            )
            for a in kernel.local
        ]
        runs = [
            (kernel if isinstance(item, Ghost) else rest).run(item, *arguments, *tiles)
            for item in items
        ]
        for _ in barriers(items, runs):
            if isinstance(items[0], Ghost):
                items[0].phase += 1

    def _private(
        self,
        name: str,
        cells: Sequence[Any],
        aligned: bool = True,
        constant: bool = False,
        kind: str = "",
    ) -> Array:
        if constant:
            row = constants(cells, kind)
            at = lambda i: self.algebra.cell_at(row, i, kind)
            return Given(name, self.algebra, at, len(cells), self.strays)
        return Own(name, self.algebra, cells, aligned=aligned, table=self.loops.table)

    def _arguments(
        self, at: Callable[[str], Callable[[Whole], Any]], outputs: Mapping[str, Result]
    ) -> tuple[list[Any], dict[str, int]]:
        try:
            buffers = given(self.text, self.kernel, {b.name: b for b in self.launch.buffers})
        except Misfit as error:
            raise Fault("launch", error.message) from None
        found: list[Any] = []
        known: dict[str, int] = {}
        for q in self.text.parameters:
            b = buffers[q.name]
            if b.role == "size":
                value = self.sizes[b.name]
                found.append(value)
                if not isinstance(value, Index):
                    known[q.name] = value
            elif not q.type.pointer:
                value = at(b.name)(0)
                found.append(self.arithmetic.held(value) if value.type == "bool" else value)
            elif b.name in outputs:
                if outputs[b.name].table is not None and (
                    waits(self.text.body) or q.type.width > 1
                ):
                    raise Undecided(f"{b.name}, which is written, is read")
                if q.type.constant:
                    raise Undecided(f"{b.name} is read by the kernel that writes it")
                found.append(_seen(outputs[b.name], q.type.width))
            else:
                count = self.size(b.cells)
                given_here = Given(b.name, self.algebra, at(b.name), count, self.strays)
                found.append(_seen(given_here, q.type.width))
        return found, known


def _seen(array: Array, width: int) -> Array:
    return array if width == 1 else InVectors(array, width)


def _functions(source: Source) -> dict[str, Function]:
    return {f.name: f for f in source.functions}


def needs_group(text: KernelText) -> bool:
    """Whether work-items of a group share anything."""
    local = any(
        isinstance(s, Declaration) and s.type.space.of_group for s in statements_within(text.body)
    )
    return local or waits(text.body)


def prepared(algebra: Folding, launch: Launch, kernel: Kernel) -> dict[str, Whole]:
    """The open sizes as numbers, and what a launch grants of them."""
    r = algebra.ranges
    sizes: dict[str, Whole] = {
        name: r.variable("size", name, None, least) for name, least in launch.sizes.items()
    }
    if sizes:
        r.below += [number_of(span, sizes) for span in kernel.spans]
    return sizes


def _every(es: Iterator[Expression]) -> Iterator[Expression]:
    for e in es:
        yield from within(e)


def _numbers(of: Sequence[Any]) -> tuple[Any, ...]:
    """Numbers of a work-item, of which some may not be known."""
    return tuple(of)


def _three(of: Sequence[Any], rest: Any) -> tuple[Any, ...]:
    return (*of, rest, rest, rest)[:3]


def _open(t: Any) -> Any:
    return OPEN if t.width == 1 else (OPEN,) * t.width
