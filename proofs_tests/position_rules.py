"""True rules about positions, beside those of the library: rotations, reversed blocks, wrapped periods, flipped folds.

Independent reviewers wrote the first of each group; the others are one step beside it.
"""

from __future__ import annotations

from relift.rewrites.notation import MONOID, A, B, k, m, n, q, r, size, step, t
from relift.rewrites.rule import Rule, rule
from relift.semantics.indices.functions import reverse, shift
from relift.semantics.language.vocabulary import (
    concat,
    drop,
    gather,
    head,
    iterate,
    join,
    map,
    pad,
    reduce,
    reduce_seq,
    repeat,
    scatter,
    slide,
    split,
    tail,
    take,
    wrap,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Index, Op
from relift.semantics.syntax.sizes import nat

s = nat("s", least=1)

# ---- rotations


@rule()
def rotations_add(xs: A[n]):
    """Two rotations are one by the sum."""
    return gather(shift(t), gather(shift(r), xs)), gather(shift(t + r), xs)


@rule()
def rotations_swap(xs: A[n]):
    """Rotations may be swapped."""
    return gather(shift(t), gather(shift(r), xs)), gather(shift(r), gather(shift(t), xs))


@rule()
def rotation_of_concat(xs: A[t], ys: A[r]):
    """Rotating by the first part swaps the parts."""
    return gather(shift(t), concat(xs, ys)), concat(ys, xs)


@rule()
def rotation_back_of_concat(xs: A[t], ys: A[r]):
    """Rotating by the rest swaps the parts back."""
    return gather(shift(r), concat(ys, xs)), concat(xs, ys)


@rule()
def rotation_as_concat(xs: A[t + r]):
    """A rotation is what is dropped, then what is taken."""
    return gather(shift(t), xs), concat(drop(t, xs), take(t, xs))


@rule()
def rotation_by_one(xs: A[n + 1]):
    """A rotation by one puts the first element last."""
    return gather(shift(1), xs), concat(tail(xs), repeat(1, head(xs)))


@rule()
def rotation_all_around(xs: A[n]):
    """Going round some times changes nothing."""
    return gather(lambda i: (i + n * q) % n, xs), xs


@rule()
def rotation_all_around_and_more(xs: A[n]):
    """Going round some times more changes nothing."""
    return gather(shift(n * q + t), xs), gather(shift(t), xs)


@rule()
def rotation_undone(xs: A[t + r]):
    """A rotation by the rest undoes a rotation."""
    return gather(shift(r), gather(shift(t), xs)), xs


@rule()
def rotations_iterated(xs: A[n]):
    """Rotating by one again and again is one rotation."""
    return iterate(m, gather(shift(1)), xs), gather(shift(m), xs)


@rule()
def larger_rotations_iterated(xs: A[n]):
    """Rotating again and again is one rotation."""
    return iterate(m, gather(shift(t)), xs), gather(shift(m * t), xs)


@rule()
def rotation_map(f: Fun[A, B], xs: A[n]):
    """A rotation does not care about a map."""
    return map(f, gather(shift(t), xs)), gather(shift(t), map(f, xs))


# ---- reversed blocks


@rule()
def reverse_of_join(xss: A[n, m]):
    """Reversing joined rows is reversing the rows, and each of them."""
    return gather(reverse, join(xss)), join(gather(reverse, map(gather(reverse), xss)))


@rule()
def split_of_reverse(xs: A[k * m]):
    """The chunks of a reversed array are the reversed chunks, reversed."""
    return split(m, gather(reverse, xs)), gather(reverse, map(gather(reverse), split(m, xs)))


@rule()
def reverse_of_concat(xs: A[n], ys: A[m]):
    """Reversed parts, the last first."""
    return (
        gather(reverse, concat(xs, ys)),
        concat(gather(reverse, ys), gather(reverse, xs)),
    )


@rule()
def take_of_reverse(xs: A[m + r]):
    """The first of the reversed elements are the last ones, reversed."""
    return take(m, gather(reverse, xs)), gather(reverse, drop(r, xs))


@rule()
def slide_of_reverse(xs: A[size + k]):
    """Windows of a reversed array are the reversed windows, reversed."""
    return (
        slide(size, 1, gather(reverse, xs)),
        gather(reverse, map(gather(reverse), slide(size, 1, xs))),
    )


@rule()
def slide_with_step_of_reverse(xs: A[size + k * step]):
    """Windows with a step of a reversed array are the reversed windows, reversed."""
    return (
        slide(size, step, gather(reverse, xs)),
        gather(reverse, map(gather(reverse), slide(size, step, xs))),
    )


@rule()
def reverse_of_zip(xs: A[n], ys: B[n]):
    """Reversed pairs are pairs of reversed arrays."""
    return gather(reverse, zip(xs, ys)), zip(gather(reverse, xs), gather(reverse, ys))


@rule()
def scatter_of_reverse(xs: A[n]):
    """Writing backwards is reading backwards."""
    return scatter(lambda i: n - 1 - i, xs), gather(lambda i: n - 1 - i, xs)


# ---- whole periods


@rule()
def wrap_whole_periods(xs: A[n]):
    """Wrapping by whole periods repeats the array."""
    return pad(k * n, 0, wrap, xs), join(repeat(k + 1, xs))


@rule()
def wrap_whole_periods_right(xs: A[n]):
    """Wrapping on the right by whole periods repeats the array."""
    return pad(0, k * n, wrap, xs), join(repeat(k + 1, xs))


@rule()
def wrap_one_period(xs: A[n]):
    """Wrapping by one period is the array twice."""
    return pad(n, 0, wrap, xs), concat(xs, xs)


@rule()
def wrap_both_periods(xs: A[n]):
    """Wrapping by whole periods on both sides repeats the array."""
    return pad(k * n, m * n, wrap, xs), join(repeat(k + m + 1, xs))


# ---- folds from the other end


@rule(where=MONOID)
def fold_flipped(op: Op[A], z: A, xs: A[n]):
    """A fold with the operands swapped is a reduction of the reversed array."""
    return (
        reduce_seq(lambda acc, x: op(x, acc), z, xs),
        reduce(op, z, gather(reverse, xs)),
    )


@rule(where=MONOID)
def fold_flipped_map(op: Op[A], z: A, f: Fun[B, A], xs: B[n]):
    """A flipped fold of what a function gives."""
    return (
        reduce_seq(lambda acc, x: op(f(x), acc), z, xs),
        reduce(op, z, gather(reverse, map(f, xs))),
    )


@rule(where=MONOID)
def fold_flipped_reversed(op: Op[A], z: A, xs: A[n]):
    """A flipped fold of the reversed array is a reduction."""
    return (
        reduce_seq(lambda acc, x: op(x, acc), z, gather(reverse, xs)),
        reduce(op, z, xs),
    )


@rule(where=MONOID)
def reduce_flipped_reversed(op: Op[A], z: A, xs: A[n]):
    """A fold from the left of the reversed array is a flipped fold."""
    return (
        reduce_seq(lambda acc, x: op(acc, x), z, gather(reverse, xs)),
        reduce_seq(lambda acc, x: op(x, acc), z, xs),
    )


# ---- an index function inside blocks


@rule()
def gather_in_blocks(p: Index[m], xs: A[k * m]):
    """Reordering inside each chunk."""
    return (
        gather(lambda i: i // m * m + p(i % m), xs),
        join(map(gather(p), split(m, xs))),
    )


@rule()
def gather_of_blocks(p: Index[k], xs: A[k * m]):
    """Reordering the chunks."""
    return (
        gather(lambda i: p(i // m) * m + i % m, xs),
        join(gather(p, split(m, xs))),
    )


@rule()
def gather_of_and_in_blocks(p: Index[k], q: Index[m], xs: A[k * m]):
    """Reordering the chunks, and inside each."""
    return (
        gather(lambda i: p(i // m) * m + q(i % m), xs),
        join(map(gather(q), gather(p, split(m, xs)))),
    )


@rule()
def rotation_in_blocks(xs: A[k * s]):
    """Rotating inside each chunk."""
    return (
        gather(lambda i: i // s * s + (i + t) % s, xs),
        join(map(gather(shift(t)), split(s, xs))),
    )


TRUE_RULES: dict[str, Rule] = {
    name: found for name, found in list(globals().items()) if isinstance(found, Rule)
}
