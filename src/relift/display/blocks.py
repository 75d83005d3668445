"""The kinds of blocks that a display is made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Mood: TypeAlias = Literal["plain", "good", "bad", "open"]
"""What a text says of its subject: nothing, that it holds, that it fails, or that nobody knows."""

Span: TypeAlias = tuple[int, int]
"""Where a part of a text begins, and where it ends."""

Nested: TypeAlias = "str | Sequence[Nested]"
"""A value as cells: a text, or a row of cells."""

Place: TypeAlias = tuple[int, ...]
"""Where a cell is: an index for each dimension."""


@dataclass(frozen=True)
class Title:
    """The name of what follows."""

    text: str
    mood: Mood = "plain"


@dataclass(frozen=True)
class Words:
    """A paragraph."""

    text: str
    mood: Mood = "plain"


@dataclass(frozen=True)
class Note:
    """What is said of a line."""

    text: str
    mood: Mood = "plain"


@dataclass(frozen=True)
class Code:
    """A text in its own lines; `marked` parts stand out, `notes` stand at the lines that they are of, counted from 0."""

    text: str
    marked: tuple[Span, ...] = ()
    notes: Mapping[int, Sequence[Note]] = field(default_factory=dict[int, Sequence[Note]])


@dataclass(frozen=True)
class Table:
    """Rows under a heading; `moods` colours rows."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    moods: tuple[Mood, ...] = ()


@dataclass(frozen=True)
class Cells:
    """A named value drawn as an array; the cells at `marked` stand out."""

    name: str
    value: Nested
    marked: Collection[Place] = ()


@dataclass(frozen=True)
class Bars:
    """Amounts beside each other, each with its own words."""

    title: str
    rows: tuple[tuple[str, float, str], ...]


@dataclass(frozen=True)
class Roof:
    """Programs under the roofs of a device: GB/s, GFLOP/s, and for each its name, FLOP a byte, and GFLOP/s."""

    device: str
    bandwidth: float
    peak: float
    programs: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True)
class Graph:
    """Classes of nodes, the first of them on top: of each node what it is called, and the classes that it uses."""

    title: str
    classes: Mapping[int, Sequence[tuple[str, tuple[int, ...]]]]


@dataclass(frozen=True)
class Folded:
    """What is shown when it is asked for."""

    title: str
    blocks: Sequence[Block]


Block: TypeAlias = Title | Words | Code | Table | Cells | Bars | Roof | Graph | Folded
