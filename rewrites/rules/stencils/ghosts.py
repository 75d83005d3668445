"""Ghost zones: steps of a stencil on what is longer than the array, so that several of them are done tile by tile.

map f (slide 3 1 (pad 1 1 clamp (take n (drop (a + 1) zs))))
    =  take n (drop a (map (\\(w, m). f (w where m, else its middle)) (zip (slide 3 1 zs) inside)))
map f (slide s 1 (pad l r c (take n (drop (a + l) zs))))
    =  take n (drop a (map (\\(w, m). f (w where m, else c)) (zip (slide s 1 zs) inside)))
slide t d (map f (zip (slide s 1 xs) ys))
    =  map (\\(x, y). map f (zip (slide s 1 x) y)) (zip (slide (t + s - 1) d xs) (slide t d ys))

`inside` says of each cell of each window whether it is one of the array.  What is computed beyond the array is read by nobody, so
that a step is the same for all cells, and the tiles of steps overlap as those of windows do.
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.conditions import naturals
from relift.rewrites.notation import A, B, C, k, left, n, q, right, size, step
from relift.rewrites.proof_scripts import GHOST_ZONE
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    at_runtime,
    clamp,
    drop,
    generate,
    join,
    map,
    pad,
    repeat,
    select,
    slide,
    split,
    take,
    zip,
)
from relift.semantics.syntax.signatures import Fun
from relift.semantics.syntax.sizes import Size

a, b = naturals("a b")
three = Size.of(3)

_GHOSTS = "Meng and Skadron, ICS'09, ghost zones; Holewinski, Pouchet and Sadayappan, ICS'12, overlapped tiling"


def _inside(size: Any, before: Any, after: Any) -> Any:
    """Of each cell of each window whether it is one of the array."""
    return slide(size, 1, pad(before, after, False, repeat(n + 1, True)))


def _where(inside: Any, size: Any, window: Any, other: Any) -> Any:
    """A window, but something else where its cells are not those of the array."""
    cells = zip(generate(size, lambda i: i), inside)
    return map(lambda cell: at_runtime(select(cell[1], cell[0], size), other, window), cells)


def _nearest(inside: Any, window: Any) -> Any:
    return _where(inside, 3, window, window[1])


@rule(source=_GHOSTS, proof=GHOST_ZONE)
def ghost_zone_clamp(f: Fun[A[three], B], zs: A[a + 1 + n + 1 + 1 + b]):
    """A step that sees the ends go on is done in the middle of a longer array."""
    return (
        map(f, slide(3, 1, pad(1, 1, clamp, take(n + 1, drop(a + 1, zs))))),
        take(
            n + 1,
            drop(
                a,
                map(
                    lambda p: f(_nearest(p[1], p[0])),
                    zip(slide(3, 1, zs), _inside(3, a + 1, b + 1)),
                ),
            ),
        ),
    )


@rule(source=_GHOSTS, proof=GHOST_ZONE)
def ghost_zone_clamp_beside(
    f: Fun[A[three], B, C], zs: A[a + 1 + n + 1 + 1 + b], ys: B[n + 1]
):  # fmt: skip
    """The same beside what stays as it is."""
    return (
        map(
            lambda p: f(p[0], p[1]),
            zip(slide(3, 1, pad(1, 1, clamp, take(n + 1, drop(a + 1, zs)))), ys),
        ),
        take(
            n + 1,
            drop(
                a,
                map(
                    lambda p: f(_nearest(p[1][1], p[0]), p[1][0]),
                    zip(
                        slide(3, 1, zs),
                        zip(pad(a, b, clamp, ys), _inside(3, a + 1, b + 1)),
                    ),
                ),
            ),
        ),
    )


@rule(source=_GHOSTS, proof=GHOST_ZONE)
def ghost_zone_constant(
    c: A, f: Fun[A[left + 1 + right], B], zs: A[a + left + n + 1 + right + b]
):  # fmt: skip
    """A step that sees a constant beyond the ends is done in the middle of a longer array."""
    s = left + 1 + right
    return (
        map(f, slide(s, 1, pad(left, right, c, take(n + 1, drop(a + left, zs))))),
        take(
            n + 1,
            drop(
                a,
                map(
                    lambda p: f(_where(p[1], s, p[0], c)),
                    zip(slide(s, 1, zs), _inside(s, a + left, b + right)),
                ),
            ),
        ),
    )


@rule(source=_GHOSTS, proof=GHOST_ZONE)
def ghost_zone_constant_beside(
    c: A, f: Fun[A[left + 1 + right], B, C], zs: A[a + left + n + 1 + right + b], ys: B[n + 1]
):
    """The same beside what stays as it is."""
    s = left + 1 + right
    return (
        map(
            lambda p: f(p[0], p[1]),
            zip(slide(s, 1, pad(left, right, c, take(n + 1, drop(a + left, zs)))), ys),
        ),
        take(
            n + 1,
            drop(
                a,
                map(
                    lambda p: f(_where(p[1][1], s, p[0], c), p[1][0]),
                    zip(
                        slide(s, 1, zs),
                        zip(pad(a, b, clamp, ys), _inside(s, a + left, b + right)),
                    ),
                ),
            ),
        ),
    )


@rule(source="LIFT stencils, CGO'18: overlapped tiles, beside what stays as it is")
def slide_stencil_beside(
    f: Fun[A[size], B, C], xs: A[size + k + q * step], ys: B[k + 1 + q * step]
):
    """Overlapping tiles of what a stencil gives are what it gives of wider ones."""
    return (
        slide(k + 1, step, map(lambda p: f(p[0], p[1]), zip(slide(size, 1, xs), ys))),
        map(
            lambda t: map(lambda p: f(p[0], p[1]), zip(slide(size, 1, t[0]), t[1])),
            zip(slide(size + k, step, xs), slide(k + 1, step, ys)),
        ),
    )


@rule(source="LIFT stencils, CGO'18: overlapped tiles, beside what stays as it is")
def stencil_tiling_beside(
    f: Fun[A[size], B, C], xs: A[size + k + q * (k + 1)], ys: B[(q + 1) * (k + 1)]
):  # fmt: skip
    """A stencil that also reads one cell of another array runs tile by tile."""
    return (
        map(lambda p: f(p[0], p[1]), zip(slide(size, 1, xs), ys)),
        join(
            map(
                lambda t: map(lambda p: f(p[0], p[1]), zip(slide(size, 1, t[0]), t[1])),
                zip(slide(size + k, k + 1, xs), split(k + 1, ys)),
            )
        ),
    )
