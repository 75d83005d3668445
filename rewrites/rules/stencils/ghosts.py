"""Ghost zones: steps of a stencil on what is longer than the array, so that several of them are done tile by tile.

map f (slide 3 1 (pad 1 1 clamp (take n (drop (a + 1) zs))))
    =  take n (drop a (map (\\(w, m). f (w where m, else its middle)) (zip (slide 3 1 zs) inside)))
pad a b d (map f (slide s 1 (pad l r c xs)))
    =  map (\\(w, m). if m then f w else d) (zip (slide s 1 (pad (a + l) (b + r) c xs)) inside)
pad a b wrap (map f (slide s 1 (pad l r wrap xs)))  =  map f (slide s 1 (pad (a + l) (b + r) wrap xs))
slide t d (map f (zip (slide s 1 xs) ys))
    =  map (\\(x, y). map f (zip (slide s 1 x) y)) (zip (slide (t + s - 1) d xs) (slide t d ys))

`inside` says of each cell, or of the cells of each window, whether it is one of the array.  What a step computes beyond an array
that goes on is read by nobody, so that it is the same for all cells, and the tiles of steps overlap as those of windows do.
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.checks.verdicts import WHERE_TOTAL, Direction
from relift.rewrites.conditions import naturals
from relift.rewrites.notation import A, B, C, k, left, n, q, right, size, step
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    at_runtime,
    at_runtime_unsafe,
    clamp,
    drop,
    join,
    make_array,
    map,
    pad,
    repeat,
    select,
    slide,
    split,
    take,
    wrap,
    zip,
)
from relift.semantics.syntax.signatures import Fun
from relift.semantics.syntax.sizes import Size

a, b = naturals("a b")
three = Size.of(3)

GHOSTS = "Meng and Skadron, ICS'09, ghost zones; Holewinski, Pouchet and Sadayappan, ICS'12, overlapped tiling"

GHOST_ZONE = """
assert (inside : ((0 <=? 0) && (0 <? Z.of_nat 1))%Z = true) by reflexivity.
assert (beyond : ((0 <=? 1) && (1 <? Z.of_nat 1))%Z = false) by reflexivity.
start. intros ? ?. reduced. try (intros ? ?; reduced).
repeat (match goal with
| |- _ (if (?x <? ?y)%nat then _ else _) _ => destruct (Nat.ltb_spec x y)
| |- _ ((if (?x <? ?y)%nat then _ else _) _) _ => destruct (Nat.ltb_spec x y)
end; reduced); rewrite ?inside, ?beyond; reduced; try assumption; try (exfalso; lia);
match goal with
| H : Rfun _ _ ?f ?g |- _ (?f _ _) (?g _ _) => apply H
| H : Rfun _ _ ?f ?g |- _ (?f _) (?g _) => apply H
end;
reduced; try (intros ? ?; reduced); try (intros ? ?; reduced);
repeat match goal with |- context [(?x <? 1)%nat] => destruct (Nat.ltb_spec x 1) end; reduced;
repeat match goal with |- context [(?x <? ?y)%nat] => destruct (Nat.ltb_spec x y) end;
reduced; try unfold nearest;
first [ assumption |
match goal with
| H : Rarr _ _ ?x ?y |- _ (?x ?p ?q) (?y ?r ?s) => replace r with p by lia; replace s with q by lia; apply H; lia
| H : Rarr _ _ ?x ?y |- _ (?x ?p) (?y ?r) => replace r with p by lia; apply H; lia
end | exfalso; lia ].
"""
"""Of a stencil on a longer array: every case of where a cell lies, and the index that is read there; of both axes in turn."""
GHOST_ZONE_WRAP = """
assert (round : forall a l n i j, 0 < n -> around l n (around a n i * 1 + j) = around (a + l) n (i * 1 + j)).
{ intros. unfold around. rewrite !Nat.mul_1_r, <- Nat.add_assoc, Nat.add_mod_idemp_l by lia. f_equal. ring. }
start. intros ? ?. reduced. try (intros ? ?; reduced).
match goal with
| H : Rfun _ _ ?f ?g |- _ (?f _ _) (?g _ _) => apply H
| H : Rfun _ _ ?f ?g |- _ (?f _) (?g _) => apply H
end;
reduced; try (intros ? ?; reduced); try (intros ? ?; reduced); rewrite ?round by lia;
match goal with H : Rarr _ _ ?x ?y |- _ (?x ?p) (?y ?p) => apply H
| H : Rarr _ _ ?x ?y |- _ (?x ?p ?q) (?y ?p ?q) => apply H end; apply around_below; lia.
"""
"""Of a stencil of what goes round: who goes round twice has gone round once."""
GHOST_ZONE_TOTAL: dict[Direction, str] = {"forward": WHERE_TOTAL, "backward": WHERE_TOTAL}
"""More windows are computed than are asked for."""
GHOST_ZONE_CHOSEN: dict[Direction, str] = {
    **GHOST_ZONE_TOTAL,
    "forward": f"""{WHERE_TOTAL}
keep_defined_start;
repeat match goal with |- context [(?x <? ?y)%nat] => destruct (Nat.ltb_spec x y) end; unfold in_range; lia.
""",
}
"""The cell that is seen instead of another is one of the window."""


def windows_inside(length: Any, before: Any, after: Any) -> Any:
    """Of the cells of each window of three whether they are of the array, which has so many before it and after."""
    return slide(3, 1, cells_inside(length, before, after))


def cells_inside(length: Any, before: Any, after: Any) -> Any:
    """Of each cell whether it is one of the array, which has so many before it and after."""
    return pad(before, after, False, repeat(length, True))


def nearest(inside: Any, window: Any) -> tuple[Any, Any, Any]:
    """The cells of a window of three, but its middle where its ends are not inside."""
    first, last = (at_runtime_unsafe(select(inside[i], i, 1), window) for i in (0, 2))
    return first, window[1], last


def where(inside: Any, cell: Any, other: Any) -> Any:
    """A cell that is inside, or something else."""
    return at_runtime(select(inside, 0, 1), other, repeat(1, cell))


@rule(source=GHOSTS, proof=GHOST_ZONE, defined=GHOST_ZONE_CHOSEN)
def ghost_zone_clamp(f: Fun[A[three], B], zs: A[a + 1 + n + 1 + 1 + b]):
    """A step that sees the ends go on is done in the middle of a longer array."""
    windows = zip(slide(3, 1, zs), windows_inside(n + 1, a + 1, b + 1))
    return (
        map(f, slide(3, 1, pad(1, 1, clamp, take(n + 1, drop(a + 1, zs))))),
        take(n + 1, drop(a, map(lambda p: f(make_array(*nearest(p[1], p[0]))), windows))),
    )


@rule(source=GHOSTS, proof=GHOST_ZONE, defined=GHOST_ZONE_CHOSEN)
def ghost_zone_clamp_beside(
    f: Fun[A[three], B, C], zs: A[a + 1 + n + 1 + 1 + b], ys: B[n + 1]
):  # fmt: skip
    """The same beside what stays as it is."""
    beside = zip(pad(a, b, clamp, ys), windows_inside(n + 1, a + 1, b + 1))
    windows = zip(slide(3, 1, zs), beside)
    padded = pad(1, 1, clamp, take(n + 1, drop(a + 1, zs)))
    return (
        map(lambda p: f(p[0], p[1]), zip(slide(3, 1, padded), ys)),
        take(
            n + 1, drop(a, map(lambda p: f(make_array(*nearest(p[1][1], p[0])), p[1][0]), windows))
        ),
    )


@rule(source=GHOSTS, proof=GHOST_ZONE, defined=GHOST_ZONE_TOTAL)
def ghost_zone_constant(c: A, d: B, f: Fun[A[left + 1 + right], B], xs: A[n + 1]):
    """What a step gives, and something else around it, is done on more around what it reads."""
    s = left + 1 + right
    windows = slide(s, 1, pad(a + left, b + right, c, xs))
    return (
        pad(a, b, d, map(f, slide(s, 1, pad(left, right, c, xs)))),
        map(lambda p: where(p[1], f(p[0]), d), zip(windows, cells_inside(n + 1, a, b))),
    )


@rule(source=GHOSTS, proof=GHOST_ZONE, defined=GHOST_ZONE_TOTAL)
def ghost_zone_constant_beside(
    c: A, d: C, f: Fun[A[left + 1 + right], B, C], xs: A[n + 1], ys: B[n + 1]
):
    """The same beside what stays as it is."""
    s = left + 1 + right
    windows = slide(s, 1, pad(a + left, b + right, c, xs))
    beside = zip(pad(a, b, clamp, ys), cells_inside(n + 1, a, b))
    stepped = map(lambda p: f(p[0], p[1]), zip(slide(s, 1, pad(left, right, c, xs)), ys))
    return (
        pad(a, b, d, stepped),
        map(lambda p: where(p[1][1], f(p[0], p[1][0]), d), zip(windows, beside)),
    )


@rule(source=GHOSTS, proof=GHOST_ZONE_WRAP, defined=GHOST_ZONE_TOTAL)
def ghost_zone_wrap(f: Fun[A[left + 1 + right], B], xs: A[n + 1]):
    """What a step gives of an array that goes round, and more of that, is done on more around what it reads."""
    s = left + 1 + right
    windows = slide(s, 1, pad(a + left, b + right, wrap, xs))
    return (
        pad(a, b, wrap, map(f, slide(s, 1, pad(left, right, wrap, xs)))),
        map(lambda p: f(p[0]), zip(windows, repeat(a + n + 1 + b, True))),
    )


@rule(source=GHOSTS, proof=GHOST_ZONE_WRAP, defined=GHOST_ZONE_TOTAL)
def ghost_zone_wrap_beside(f: Fun[A[left + 1 + right], B, C], xs: A[n + 1], ys: B[n + 1]):
    """The same beside what stays as it is."""
    s = left + 1 + right
    windows = slide(s, 1, pad(a + left, b + right, wrap, xs))
    stepped = map(lambda p: f(p[0], p[1]), zip(slide(s, 1, pad(left, right, wrap, xs)), ys))
    return (
        pad(a, b, wrap, stepped),
        map(lambda p: f(p[0], p[1]), zip(windows, pad(a, b, wrap, ys))),
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
