"""Values as nested cells: from what NumPy or the interpreter holds, and from the text of a counterexample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from relift.display.blocks import Nested, Place

MOST = 64
"""More cells of one row are not drawn."""


def cells_of(value: Any) -> Nested:
    """A value of NumPy's or of the interpreter's as cells.

    >>> from relift.display.cells import cells_of
    >>> cells_of([[1, 2], [3, 4]])
    (('1', '2'), ('3', '4'))
    """
    if getattr(value, "shape", None) == ():
        return number(value)
    if hasattr(value, "tolist"):
        return cells_of(list(value))
    if isinstance(value, list):
        shown = tuple(cells_of(v) for v in value[:MOST])
        return shown if len(value) <= MOST else (*shown, f"... {len(value) - MOST} more")
    if isinstance(value, tuple):
        return "(" + ", ".join(map(flat, map(cells_of, value))) + ")"
    return number(value)


def number(value: Any) -> str:
    """A number, as short as a person reads it."""
    return (
        f"{value:.6g}"
        if hasattr(value, "is_integer") and not isinstance(value, int)
        else str(value)
    )


def flat(value: Nested) -> str:
    """Cells as one text."""
    return value if isinstance(value, str) else "[" + ", ".join(map(flat, value)) + "]"


def read(text: str) -> Nested:
    """The cells of a value from its text; a text that is no list is one cell.

    >>> from relift.display.cells import read
    >>> read("[[h(x0, y0), x1], [(1, 2), z]]")
    (('h(x0, y0)', 'x1'), ('(1, 2)', 'z'))
    """
    text = text.strip()
    if not (text.startswith("[") and _closed_by(text) == len(text) - 1):
        return text
    return tuple(read(part) for part in _parts(text[1:-1]))


def _closed_by(text: str) -> int:
    """Where the bracket is that closes the first one."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return place
    return -1


def _parts(text: str) -> Iterator[str]:
    depth, begin = 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            yield text[begin:place]
            begin = place + 1
    if text[begin:].strip():
        yield text[begin:]


def differing(left: Nested, right: Nested, at: Place = ()) -> Iterator[Place]:
    """Where two values have different cells; where one has no cell, that of the other.

    >>> from relift.display.cells import differing, read
    >>> list(differing(read("[[a, b], [c, d]]"), read("[[a, c], [b, d]]")))
    [(0, 1), (1, 0)]
    """
    if isinstance(left, str) or isinstance(right, str):
        if left != right:
            yield at
        return
    for i in range(max(len(left), len(right))):
        if i < len(left) and i < len(right):
            yield from differing(left[i], right[i], (*at, i))
        else:
            yield (*at, i)


def depth(value: Nested) -> int:
    """How many dimensions are drawn."""
    if isinstance(value, str):
        return 0
    rows: Sequence[Nested] = value
    return 1 + max(map(depth, rows), default=0)
