"""A graph of classes as SVG: boxes in layers below the first one, in each the nodes of a class, and lines to what they use.

The layers are those of the shortest way from the first class; in a layer, classes stand below those that use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from relift.display.blocks import Graph

LETTER, LINE, GAP, ROOM, MARGIN, ROWS = 7.0, 22.0, 18.0, 46.0, 8.0, 6


@dataclass(frozen=True)
class Box:
    """Where a class stands, and where its nodes do: the middle of each, and its width."""

    x: float
    y: float
    width: float
    height: float
    nodes: tuple[tuple[float, float, float], ...]


def svg(graph: Graph) -> str:
    """The picture.

    >>> from relift.display.blocks import Graph
    >>> from relift.display.graphs import svg
    >>> drawn = svg(Graph("two", {0: (("map", (1,)),), 1: (("xs", ()),)}))
    >>> drawn.count("<rect"), drawn.count('class="edge"')
    (4, 1)
    """
    boxes = placed(graph.classes)
    width = max((b.x + b.width for b in boxes.values()), default=0.0) + MARGIN
    height = max((b.y + b.height for b in boxes.values()), default=0.0) + MARGIN
    lines = "".join(line for number in boxes for line in _lines(graph.classes, boxes, number))
    drawn = "".join(_box(graph.classes[number], box, number) for number, box in boxes.items())
    return (
        f'<svg class="graph" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" '
        f'aria-label="{escape(graph.title)}">{lines}{drawn}</svg>'
    )


Classes = Mapping[int, Sequence[tuple[str, tuple[int, ...]]]]
"""The nodes of each class: what a node is called, and the classes that it uses."""


def layers(classes: Classes) -> list[list[int]]:
    """The classes by how far they are from the first one; those that it does not use are left out.

    >>> from relift.display.graphs import layers
    >>> layers({0: (("f", (2, 1)),), 1: (("g", (0,)),), 2: ()})
    [[0], [2, 1]]
    """
    found: list[list[int]] = []
    seen = dict.fromkeys(list(classes)[:1])
    layer = list(seen)
    while layer:
        found.append(layer)
        used = dict.fromkeys(c for n in layer for _, below in classes[n] for c in below)
        layer = [c for c in used if c in classes and c not in seen]
        seen.update(dict.fromkeys(layer))
    return found


def placed(classes: Classes) -> dict[int, Box]:
    """A box for each class; those of a layer do not overlap."""
    boxes: dict[int, Box] = {}
    sizes = {number: _size(classes[number]) for number in classes}
    found = layers(classes)
    widest = max((sum(sizes[c][0] + GAP for c in layer) for layer in found), default=0.0)
    y = MARGIN
    for layer in found:
        x = MARGIN + (widest - sum(sizes[c][0] + GAP for c in layer)) / 2
        for number in layer:
            boxes[number] = _at(classes[number], x, y)
            x += sizes[number][0] + GAP
        y += max(sizes[c][1] for c in layer) + ROOM
    return boxes


def _columns(nodes: Sequence[tuple[str, tuple[int, ...]]]) -> list[list[str]]:
    labels = [label for label, _ in nodes] or [""]
    return [labels[i : i + ROWS] for i in range(0, len(labels), ROWS)]


def _breadth(column: Sequence[str]) -> float:
    return max(map(len, column)) * LETTER + 12


def _size(nodes: Sequence[tuple[str, tuple[int, ...]]]) -> tuple[float, float]:
    columns = _columns(nodes)
    return sum(_breadth(c) + 4 for c in columns) + 8, len(columns[0]) * LINE + 8


def _at(nodes: Sequence[tuple[str, tuple[int, ...]]], x: float, y: float) -> Box:
    width, height = _size(nodes)
    middles: list[tuple[float, float, float]] = []
    left = x + 6
    for column in _columns(nodes):
        breadth = _breadth(column)
        middles += [
            (left + breadth / 2, y + 4 + (row + 0.5) * LINE, breadth) for row in range(len(column))
        ]
        left += breadth + 4
    return Box(x, y, width, height, tuple(middles))


def _box(nodes: Sequence[tuple[str, tuple[int, ...]]], box: Box, number: int) -> str:
    frame = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    parts = [f'<rect class="class" {frame} rx="6"><title>class {number}</title></rect>']
    for (label, _), (x, y, breadth) in zip(nodes, box.nodes, strict=False):
        parts.append(
            f'<rect class="node" x="{x - breadth / 2:.1f}" y="{y - 9:.1f}" width="{breadth:.1f}" height="18" rx="3"/>'
            f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{escape(label)}</text>'
        )
    return "".join(parts)


def _lines(classes: Classes, boxes: Mapping[int, Box], number: int) -> Iterator[str]:
    """From each node to the classes that it uses; what goes up, or stays in its layer, goes around."""
    for (_, used), (x, y, breadth) in zip(classes[number], boxes[number].nodes, strict=False):
        for part, below in enumerate(used):
            if below not in boxes:
                continue
            to = boxes[below]
            start = x + (part + 1) / (len(used) + 1) * breadth - breadth / 2
            end, top = to.x + to.width / 2, to.y
            bend = (top - y) / 2 if top > y else -40
            yield (
                f'<path class="edge" d="M{start:.1f} {y + 9:.1f}C{start:.1f} {y + 9 + abs(bend):.1f} '
                f'{end:.1f} {top - abs(bend):.1f} {end:.1f} {top:.1f}"/>'
            )
