"""Patterns on nested arrays, as compositions of the one-dimensional ones and never patterns of their own.

Axis 0 is the outermost.  A tuple of sizes gives one for each of the outermost axes, and what is below them
stays as it is; so `slide_nd((3, 3), (1, 1), image)` works on an image of any kind of pixel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relift.semantics.errors import IllTyped
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.arguments import MOST_CELLS, one_for_each_axis, whole_number
from relift.semantics.language.coercion import as_term
from relift.semantics.syntax.sizes import SizeLike
from relift.semantics.syntax.types import Array, Type, dimensions


def map_nd(depth: int, f: Callable[[Any], Any], xs: Any) -> Any:
    """`f` on every element `depth` arrays deep.

    >>> from relift import f32, map_nd
    >>> from relift.semantics.syntax.terms import Input
    >>> map_nd(2, lambda x: x < 0, Input("image", f32[4, 6])).type
    boolean[4, 6]
    """
    _require("map_nd", depth, xs)
    return _at_depth(depth, f)(xs)


def zip_nd(depth: int, *arrays: Any) -> Any:
    """Tuples of the elements at the same indices of arrays that are at least `depth` deep.

    >>> from relift import f32, i32, zip_nd
    >>> from relift.semantics.syntax.terms import Input
    >>> zip_nd(2, Input("xs", f32[4, 6]), Input("ys", i32[4, 6])).type
    (f32, i32)[4, 6]
    """
    whole_number(depth, "zip_nd: depth", least=1)
    for xs in arrays:
        _require("zip_nd", depth, xs)
    zipped = rl.zip(*arrays)
    return zipped if depth == 1 else rl.map(lambda rows: zip_nd(depth - 1, *rows), zipped)


def transpose_axes(first: int, second: int, xs: Any) -> Any:
    """Two axes exchanged, the others where they are.

    >>> from relift import f32, transpose_axes
    >>> from relift.semantics.syntax.terms import Input
    >>> transpose_axes(0, 2, Input("xs", f32[4, 5, 6])).type
    f32[6, 5, 4]
    """
    low, high = sorted(
        whole_number(axis, "transpose_axes: an axis", least=-MOST_CELLS) for axis in (first, second)
    )
    if low < 0:
        raise IllTyped(f"transpose_axes: axes count from 0, so there is no axis {low}")
    _require("transpose_axes", high + 1, xs)
    return _move(high - 1, low, _move(low, high, xs)) if high > low else xs


def slide_nd(sizes: Sequence[SizeLike], steps: Sequence[SizeLike], xs: Any) -> Any:
    """Windows of the given extents, one every `steps`: first the axes that count windows, then the windows.

    >>> from relift import f32, slide_nd
    >>> from relift.semantics.syntax.terms import Input
    >>> slide_nd((3, 3), (1, 1), Input("image", f32[6, 8])).type
    f32[4, 6, 3, 3]
    """
    sizes, steps = _for_each_axis("slide_nd", sizes=sizes, steps=steps)
    _require("slide_nd", len(sizes), xs)
    return _cut([rl.slide(size, step) for size, step in zip(sizes, steps, strict=True)], xs)


def tile(sizes: Sequence[SizeLike], xs: Any) -> Any:
    """Blocks of the given extents: first the axes that count blocks, then the blocks; `untile` undoes it.

    >>> from relift import f32, tile
    >>> from relift.semantics.syntax.terms import Input
    >>> tile((2, 4), Input("image", f32[6, 8])).type
    f32[3, 2, 2, 4]
    """
    (sizes,) = _for_each_axis("tile", sizes=sizes)
    _require("tile", len(sizes), xs)
    return _cut([rl.split(size) for size in sizes], xs)


def untile(depth: int, blocks: Any) -> Any:
    """The array that `tile` with `depth` extents cut into blocks.

    >>> from relift import f32, untile
    >>> from relift.semantics.syntax.terms import Input
    >>> untile(2, Input("blocks", f32[3, 2, 2, 4])).type
    f32[6, 8]
    """
    _require("untile", 2 * whole_number(depth, "untile: depth"), blocks)
    rows = rl.join(_move(depth, 1, blocks))
    return rows if depth == 1 else rl.map(lambda row: untile(depth - 1, row), rows)


def pad_nd(left: Sequence[SizeLike], right: Sequence[SizeLike], boundary: Any, xs: Any) -> Any:
    """`pad` on each of the outermost axes; `boundary` is one of `pad`, or a constant.

    >>> from relift import f32, pad_nd
    >>> from relift.semantics.syntax.terms import Input
    >>> pad_nd((1, 2), (1, 2), 0, Input("image", f32[4, 6])).type
    f32[6, 10]
    """
    left, right = _for_each_axis("pad_nd", left=left, right=right)
    _require("pad_nd", len(left), xs)
    before, after = left[0], right[0]
    if len(left) > 1:
        inner = (left[1:], right[1:], boundary)
        xs = rl.map(lambda row: pad_nd(*inner, row), xs)
    if not isinstance(boundary, rl.Boundary):
        boundary = _filled(xs.type.element, boundary)
    return rl.pad(before, after, boundary, xs)


def _filled(t: Type, value: Any) -> Any:
    """An array of type t that holds `value` everywhere."""
    if isinstance(t, Array):
        return rl.repeat(t.length, _filled(t.element, value))
    return as_term(value, t)


def _cut(cuts: Sequence[Callable[[Any], Any]], xs: Any) -> Any:
    """One cut for each axis, then all counting axes before all axes inside the pieces."""
    first, *others = cuts
    if others:
        xs = rl.map(lambda row: _cut(others, row), xs)
    return _move(1, len(cuts), first(xs))


def _move(start: int, end: int, xs: Any) -> Any:
    """Axis `start` at place `end`; the axes between move up by one."""
    places = range(start, end) if start < end else reversed(range(end, start))
    for place in places:
        xs = _at_depth(place, rl.transpose)(xs)
    return xs


def _at_depth(depth: int, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return f if depth == 0 else lambda xs: rl.map(_at_depth(depth - 1, f), xs)


def _require(name: str, depth: int, xs: Any) -> None:
    if whole_number(depth, f"{name}: depth") < 1:
        raise IllTyped(f"{name}: at least one axis is needed")
    lengths, _ = dimensions(as_term(xs).type)
    if len(lengths) < depth:
        raise IllTyped(f"{name}: {as_term(xs).type} has {len(lengths)} axes, {depth} are needed")


def _for_each_axis(name: str, **given: Sequence[SizeLike]) -> list[tuple[SizeLike, ...]]:
    """What is given for the outermost axes, by the name of the parameter: each for equally many."""
    found = {each: one_for_each_axis(value, f"{name}: {each}") for each, value in given.items()}
    (first, some), *others = found.items()
    for second, more in others:
        if len(some) != len(more):
            raise IllTyped(
                f"{name}: {first} gives {len(some)} axes, {second} gives {len(more)}; one for each axis"
            )
    return list(found.values())
