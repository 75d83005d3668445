"""OpenCL that a person wrote: what a benchmark's kernels are compared with on the same device, in the same run.

The text is launched as a compiled program is: it has the same inputs and results, under the names and in the order in
which the compiler stores them.  Sizes are macros, `N` for `n`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from relift.compiler.running.launch import Buffer, Kernel, Launch
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import f32


@dataclass(frozen=True)
class Step:
    """One launch: as many work-items, in groups of this size; without `arguments`, all inputs and results in order."""

    kernel: str
    items: tuple[int, ...]
    group: tuple[int, ...]
    arguments: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ByHand:
    """A file of OpenCL, how it is launched at given sizes, and how many numbers its temporaries have."""

    file: Path
    steps: Callable[..., Sequence[Step]]
    temporaries: Callable[..., Mapping[str, int]] = lambda **_: {}
    constants: Mapping[str, int] | None = None
    """Further macros, such as the sizes of tiles."""

    @property
    def source(self) -> str:
        """The text."""
        return self.file.read_text(encoding="utf-8")

    def options(self, sizes: Mapping[str, int]) -> tuple[str, ...]:
        """What the driver's compiler is told: the macros."""
        macros = {**{name.upper(): n for name, n in sizes.items()}, **(self.constants or {})}
        return tuple(f"-D{name}={value}" for name, value in macros.items())

    def plan(self, compiled: Launch, sizes: Mapping[str, int]) -> Launch:
        """The launch, for the inputs and results of a compiled program."""
        shared = [b for b in compiled.buffers if b.role != "temporary"]
        order = tuple(
            b.name
            for p in (*compiled.parameters, compiled.result)
            for b in shared
            if b.name in p.buffers
        )
        own = [
            Buffer(name, f32, Size.of(cells), "temporary")
            for name, cells in self.temporaries(**sizes).items()
        ]
        kernels = tuple(
            Kernel(
                step.kernel, step.arguments or order, tuple(map(Size.of, step.items)), step.group, 0
            )
            for step in self.steps(**sizes)
        )
        return replace(compiled, buffers=(*shared, *own), kernels=kernels)


def rows_of_groups(items: int, most: int = 64) -> tuple[int, ...]:
    """The size of a group that divides a number of work-items, at most `most`.

    >>> from relift.compiler.bench.by_hand import rows_of_groups
    >>> rows_of_groups(96), rows_of_groups(7)
    ((48,), (7,))
    """
    return (max(d for d in range(1, min(items, most) + 1) if items % d == 0),)
