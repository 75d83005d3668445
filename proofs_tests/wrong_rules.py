"""Wrong rules, by the tier that must say so; the false rules of the literature are in `relift.rewrites.ledger.refuted`.

Every function below reads like a rule and is one only up to its docstring, which says what is wrong.
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.conditions import associative, neutral
from relift.rewrites.notation import MONOID, A, B, C, k, left, m, n, q, right, size, step, w
from relift.rewrites.rule import RejectedRule, Rule, rule
from relift.semantics.language.vocabulary import (
    as_scalar,
    as_vector,
    clamp,
    concat,
    drop,
    join,
    map,
    map_vec,
    mirror,
    pad,
    reduce,
    reduce_seq,
    repeat,
    slide,
    splat,
    split,
    take,
    transpose,
    vectorize,
    wrap,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.types import f32, i32

# ---- tier 1: the sides do not fit, or a variable escapes


@rule()
def interchange_without_transpose(h: Fun[A, B, C], xs: A[n], ys: B[m]):
    """Rows and columns are swapped and not swapped back."""
    return (
        map(lambda x: map(lambda y: h(x, y), ys), xs),
        map(lambda y: map(lambda x: h(x, y), xs), ys),
    )


@rule()
def interchange_capturing(h: Fun[A, B, C], g: Fun[A, B[m]], xs: A[n]):
    """The inner array depends on the outer variable, which is out of scope on the right."""
    escaped = []

    def inner(x):
        escaped.append(x)
        return map(lambda y: h(x, y), g(x))

    before = map(inner, xs)
    return before, transpose(map(lambda y: map(lambda z: h(z, y), xs), g(escaped[0])))


@rule()
def split_of_join_swapped(xss: A[k, m]):
    """The rows have length m, not k."""
    return split(k, join(xss)), xss


@rule()
def tiling_one_window_short(xs: A[size + k * step + q * (k + 1) * step]):
    """Tiles of k + 1 windows must advance by k + 1 steps."""
    return (
        slide(size, step, xs),
        join(map(lambda t: slide(size, step, t), slide(size + k * step, k * step, xs))),
    )


@rule()
def regions_forgetting_the_right(xs: A[size + k]):
    """The windows at the right border are missing."""
    windows = slide(size, 1, pad(left, right, clamp, xs))
    return windows, concat(take(left, windows), slide(size, 1, xs))


@rule()
def fusion_in_wrong_order(f: Fun[B, C], g: Fun[A, B], xs: A[n]):
    """f is applied before g."""
    return map(f, map(g, xs)), map(lambda x: g(f(x)), xs)


@rule()
def zip_of_different_lengths(xs: A[n], ys: B[m]):
    """A zip needs two arrays of one length."""
    return zip(xs, ys), map(lambda p: (p[0], p[1]), zip(xs, ys))


@rule(where=[neutral("op", "xs")])
def neutral_array(op: Op[A], z: A, xs: A[n]):
    """The neutral element must be an element."""
    return reduce(op, z, xs), reduce(op, z, xs)


# ---- tier 2: right at all small sizes, wrong beyond


@rule()
def third_and_fourth(xs: A[n]):
    """The third and the fourth element are only the same while the border hides the fourth."""
    padded = pad(0, 4, clamp, xs)
    return padded[2], padded[3]


# ---- tier 3: well typed and wrong


@rule()
def square_interchange_without_transpose(h: Fun[A, B, C], xs: A[n], ys: B[n]):
    """On squares the types do not show the missing transpose."""
    return (
        map(lambda x: map(lambda y: h(x, y), ys), xs),
        map(lambda y: map(lambda x: h(x, y), xs), ys),
    )


@rule()
def square_transpose_dropped(f: Fun[A, B], xss: A[n, n]):
    """A transpose is lost while a map moves over it."""
    return map(lambda r: map(f, r), transpose(xss)), map(lambda r: map(f, r), xss)


@rule()
def endomap_fusion_in_wrong_order(f: Fun[A, A], g: Fun[A, A], xs: A[n]):
    """f is applied before g, and the types do not show it."""
    return map(f, map(g, xs)), map(lambda x: g(f(x)), xs)


@rule(where=[neutral("op", "z")])
def chunks_without_associativity(op: Op[A], z: A, xs: A[k * m]):
    """Regrouping needs an associative operator."""
    return reduce(op, z, xs), reduce(op, z, map(lambda c: reduce(op, z, c), split(m, xs)))


@rule(where=[associative("op")])
def chunks_without_neutral(op: Op[A], z: A, xs: A[k * m]):
    """z is combined once on the left and once for each chunk on the right."""
    return reduce(op, z, xs), reduce(op, z, map(lambda c: reduce(op, z, c), split(m, xs)))


@rule(where=MONOID)
def strided_without_commutativity(op: Op[A], z: A, xs: A[k * m]):
    """Reducing every m-th element reorders."""
    return (
        reduce(op, z, xs),
        reduce(op, z, map(lambda c: reduce(op, z, c), transpose(split(m, xs)))),
    )


@rule(where=MONOID)
def vectorize_reduce_without_commutativity(op: Op[A], z: A, xs: A[k * w]):
    """Lanes reduce every w-th element, which reorders."""
    lanes = reduce(vectorize(w, op), splat(w, z), as_vector(w, xs))
    return reduce(op, z, xs), reduce(op, z, as_scalar(repeat(1, lanes)))


@rule()
def reduction_restarted(h: Fun[B, A, B], z: B, xs: A[k * m]):
    """Each chunk starts from z again, so that all but the last are lost."""
    return (
        reduce_seq(lambda acc, x: h(acc, x), z, xs),
        reduce_seq(lambda acc, c: reduce_seq(lambda inner, x: h(inner, x), z, c), z, split(m, xs)),
    )


@rule()
def fold_from_the_other_side(op: Op[A], z: A, xs: A[n]):
    """The accumulator becomes the right operand."""
    return reduce(op, z, xs), reduce_seq(lambda acc, x: op(x, acc), z, xs)


@rule()
def shadowed(h: Fun[A, A, C], xs: A[n], ys: A[n]):
    """The inner variable takes the place of the outer one."""
    return (
        map(lambda x: map(lambda y: h(x, y), ys), xs),
        map(lambda x: map(lambda y: h(y, y), ys), xs),
    )


@rule()
def constant_border_mapped(f: Fun[A, A], c: A, xs: A[n]):
    """f is applied to the border on one side only."""
    return map(f, pad(left, right, c, xs)), pad(left, right, c, map(f, xs))


@rule()
def border_on_the_other_side(xs: A[n]):
    """Left and right change places."""
    return pad(left, right, clamp, xs), pad(right, left, clamp, xs)


@rule()
def zip_swapped(f: Fun[A, A], xs: A[n], ys: A[n]):
    """f is applied to the other array."""
    return zip(map(f, xs), ys), map(lambda p: (p[0], f(p[1])), zip(xs, ys))


@rule()
def chunks_read_down(xs: A[k * m]):
    """Joining the transposed chunks reorders the array."""
    return join(transpose(split(m, xs))), xs


@rule()
def lanes_read_down(f: Fun[A, B], xs: A[w * w]):
    """The lanes of square blocks are taken in the wrong order."""
    vectors = as_vector(w, join(transpose(split(w, xs))))
    return map(f, xs), as_scalar(map(lambda v: map_vec(f, v), vectors))


@rule()
def first_window_for_last(xs: A[size + (k + 1) * step]):
    """Dropping a window at the end is not dropping one at the start."""
    return slide(size, step, take(size + k * step, xs)), drop(1, slide(size, step, xs))


def regions(kept: Any, inside: Any, padded: Any) -> Any:
    """Windows of a padded array: those at the left border, inside, and of all others the last `kept`."""
    windows = slide(size, 1, padded)
    return concat(take(left, windows), concat(slide(size, 1, inside), drop(kept, windows)))


@rule()
def regions_one_window_late(xs: A[1 + size + k]):
    """What is inside starts one element late, and ends one late."""
    padded = pad(left, right + 1, clamp, xs)
    inside = drop(1, xs)
    return slide(size, 1, padded), regions(left + k + 1, inside, padded)


@rule()
def regions_without_right_border(xs: A[size + k]):
    """The windows at the right border repeat those at the left."""
    padded = pad(left, left, wrap, xs)
    windows = slide(size, 1, padded)
    inside = slide(size, 1, xs)
    return windows, concat(take(left, windows), concat(inside, take(left, windows)))


@rule()
def regions_of_another_border(xs: A[size + k]):
    """The borders are mirrored instead of clamped."""
    mirrored = pad(left, right, mirror, xs)
    return slide(size, 1, pad(left, right, clamp, xs)), regions(left + k + 1, xs, mirrored)


@rule()
def columns_swapped(f: Fun[A, B[m]], g: Fun[A, B[m]], xs: A[k]):
    """The columns of the second part come first."""
    return (
        transpose(map(lambda x: concat(f(x), g(x)), xs)),
        concat(transpose(map(g, xs)), transpose(map(f, xs))),
    )


@rule()
def hoisted_although_it_depends(f: Fun[A, B], xs: A[n + 1]):
    """f of the first element is used for all."""
    return map(f, xs), repeat(n + 1, f(xs[0]))


@rule()
def another_start(op: Op[A], y: A, z: A, xs: A[n]):
    """The initial value is not the same."""
    return reduce(op, y, xs), reduce(op, z, xs)


@rule()
def double_for_square(xs: i32[n]):
    """Numbers have laws, but not this one."""
    return map(lambda x: x * x, xs), map(lambda x: x + x, xs)


@rule()
def subtraction_swapped(xs: f32[n], ys: f32[n]):
    """Subtraction does not commute."""
    return map(lambda p: p[0] - p[1], zip(xs, ys)), map(lambda p: p[1] - p[0], zip(xs, ys))


WRONG: dict[int, tuple[Rule | RejectedRule, ...]] = {
    1: (
        interchange_without_transpose,
        interchange_capturing,
        split_of_join_swapped,
        tiling_one_window_short,
        regions_forgetting_the_right,
        fusion_in_wrong_order,
        zip_of_different_lengths,
        neutral_array,
    ),
    2: (third_and_fourth,),
    3: (
        square_interchange_without_transpose,
        square_transpose_dropped,
        endomap_fusion_in_wrong_order,
        chunks_without_associativity,
        chunks_without_neutral,
        strided_without_commutativity,
        vectorize_reduce_without_commutativity,
        reduction_restarted,
        fold_from_the_other_side,
        shadowed,
        constant_border_mapped,
        border_on_the_other_side,
        zip_swapped,
        chunks_read_down,
        lanes_read_down,
        first_window_for_last,
        regions_one_window_late,
        regions_without_right_border,
        regions_of_another_border,
        columns_swapped,
        hoisted_although_it_depends,
        another_start,
        double_for_square,
        subtraction_swapped,
    ),
}
"""Each wrong rule under the first tier that can refuse it."""
