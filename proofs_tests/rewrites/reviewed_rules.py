"""Rules that reviewers held against the checker, and rules of the same kinds: each with the verdict that is right.

`TRUE`: right, with the tiers that show it; `FALSE`: a tier must refute it.  A rule that is false from some size on,
or at a value that is thrown away, is as false as any other.
"""

import relift as rl
from relift import (
    associative,
    binary_search,
    concat,
    drop,
    gather,
    gather_indices,
    head,
    idempotent,
    iterate,
    join,
    linear_search,
    map,
    neutral,
    pad,
    reduce,
    reduce_seq,
    repeat,
    scatter,
    scatter_indices,
    split,
    take,
    transpose,
    zip,
)

A, B, C = rl.type_variables("A B C")
k, m, n, p, q, r, t = rl.naturals("k m n p q r t")
s = rl.nat("s")
Fun, Op = rl.Fun, rl.Op


class TRUE:
    """Rules that hold."""

    @rl.rule()
    def reverse_of_join(xss: A[n, m]):
        return gather(rl.reverse, join(xss)), join(
            map(lambda row: gather(rl.reverse, row), gather(rl.reverse, xss))
        )

    @rl.rule()
    def split_of_reverse(xs: A[k * m]):
        return split(m, gather(rl.reverse, xs)), map(
            lambda c: gather(rl.reverse, c), gather(rl.reverse, split(m, xs))
        )

    @rl.rule()
    def rotations_add(xs: A[n]):
        return gather(lambda i: (i + p) % n, gather(lambda i: (i + q) % n, xs)), gather(
            lambda i: (i + (p + q)) % n, xs
        )

    @rl.rule()
    def rotation_of_concat(xs: A[t], ys: A[r]):
        return gather(lambda i: (i + t) % (r + t), concat(xs, ys)), concat(ys, xs)

    @rl.rule()
    def rotation_by_whole_periods(xs: A[n]):
        return gather(lambda i: (i + n * p) % n, xs), xs

    @rl.rule()
    def split_at_least_one(xs: A[n * s]):
        return join(split(s, xs)), xs

    @rl.rule()
    def head_and_rest(xs: A[s]):
        return concat(repeat(1, head(xs)), drop(1, xs)), xs

    @rl.rule()
    def map_through_gather(f: Fun[A, B], ids: rl.i32[m], xs: A[n]):
        return gather_indices(ids, map(f, xs)), map(f, gather_indices(ids, xs))

    @rl.rule(where=[associative("op"), neutral("op", "z")])
    def reduce_of_concat(op: Op[A], z: A, xs: A[n], ys: A[m]):
        return reduce(op, z, concat(xs, ys)), op(reduce(op, z, xs), reduce(op, z, ys))

    @rl.rule(where=[associative("op"), idempotent("op")])
    def doubled(op: Op[A], z: A, x: A, y: A):
        return op(op(x, y), op(x, y)), op(x, y)

    @rl.rule()
    def many_of_one(x: A):
        return repeat(10**9, x), concat(repeat(10**9 - 1, x), repeat(1, x))

    @rl.rule()
    def long_chunks(xs: A[10**12 * n]):
        return join(split(10**12, xs)), xs

    @rl.rule()
    def whole_numbers_regrouped(x: rl.i32, y: rl.i32, z: rl.i32):
        return (x + y) + z, x + (y + z)

    @rl.rule(where=[associative("op"), neutral("op", "z")])
    def flipped_fold(op: Op[A], z: A, xs: A[n]):
        return reduce_seq(lambda acc, x: op(x, acc), z, xs), reduce(op, z, gather(rl.reverse, xs))

    @rl.rule()
    def rotated_again_and_again(xs: A[n]):
        return iterate(m, lambda ys: gather(lambda i: (i + 1) % n, ys), xs), gather(
            lambda i: (i + m) % n, xs
        )

    @rl.rule()
    def wrapped_by_whole_periods(xs: A[s]):
        return pad(k * s, 0, rl.wrap, xs), join(repeat(k + 1, xs))

    @rl.rule()
    def reverse_of_concat(xs: A[n], ys: A[m]):
        return gather(rl.reverse, concat(xs, ys)), concat(
            gather(rl.reverse, ys), gather(rl.reverse, xs)
        )

    @rl.rule()
    def dropped_twice(xs: A[p + q + n]):
        return drop(p, drop(q, xs)), drop(p + q, xs)

    @rl.rule()
    def rows_of_columns(f: Fun[A, B], xss: A[n, m]):
        return transpose(map(lambda row: map(f, row), xss)), map(
            lambda column: map(f, column), transpose(xss)
        )


class FALSE:
    """Rules that do not hold."""

    @rl.rule()
    def undefined_and_thrown_away(x: A):
        return gather(lambda i: i + i // 1000, repeat(n, x)), repeat(n, x)

    @rl.rule()
    def no_permutation_of_equals(x: A):
        return repeat(n, x), scatter(lambda i: i - i // 1000, repeat(n, x))

    @rl.rule()
    def undefined_component(xs: A[n], ys: B[n]):
        return map(lambda p: p[0], zip(xs, gather(lambda i: i + i // 1000, ys))), xs

    @rl.rule()
    def no_permutation_in_a_component(xs: A[n], ys: B[n]):
        return xs, map(lambda p: p[0], zip(xs, scatter(lambda i: i - i // 7, ys)))

    @rl.rule()
    def right_up_to_20(op: Op[A], z: A, xs: A[n]):
        return reduce(op, z, gather(lambda i: i - i // 20, xs)), reduce(op, z, xs)

    @rl.rule()
    def right_up_to_5(xs: A[n]):
        return gather(lambda i: i - i // 5, xs), xs

    @rl.rule(where=[associative("op"), idempotent("op")])
    def right_in_most_bands(op: Op[A], z: A, xs: A[n]):
        return reduce(op, z, map(lambda x: op(z, x), xs)), reduce(op, z, xs)

    @rl.rule(where=[associative("op"), idempotent("op")])
    def swapped_in_a_band(op: Op[A], x: A, y: A):
        return op(op(x, y), x), op(y, op(x, y))

    @rl.rule(where=[associative("op"), neutral("op", "z")])
    def reordered_without_commutativity(op: Op[A], z: A, xs: A[n]):
        return reduce(op, z, gather(rl.reverse, xs)), reduce(op, z, xs)

    @rl.rule()
    def elements_that_are_not_mapped(f: Fun[A, A], ids: rl.i32[m], xs: A[m], into: A[n]):
        return scatter_indices(ids, map(f, xs), into), map(f, scatter_indices(ids, xs, into))

    @rl.rule()
    def any_index_of_equals(ids: rl.i32[m], x: A):
        return gather_indices(ids, repeat(n, x)), repeat(m, x)

    @rl.rule()
    def search_in_any_order(f: Fun[A, rl.i32], e: A, xs: A[n]):
        return binary_search(f, e, xs), linear_search(f, e, xs)

    @rl.rule()
    def mapped_in_the_other_order(f: Fun[A, A], g: Fun[A, A], xs: A[n]):
        return map(f, map(g, xs)), map(g, map(f, xs))

    @rl.rule()
    def borders_swapped(xs: A[s]):
        return pad(1, 2, rl.clamp, xs), pad(2, 1, rl.clamp, xs)

    @rl.rule()
    def mirror_is_wrap(xs: A[s]):
        return pad(1, 1, rl.mirror, xs), pad(1, 1, rl.wrap, xs)

    @rl.rule()
    def rows_for_columns(h: Fun[A, B, C], xs: A[n], ys: B[n]):
        return map(lambda x: map(lambda y: h(x, y), ys), xs), map(
            lambda y: map(lambda x: h(x, y), xs), ys
        )

    @rl.rule()
    def taken_too_early(xs: A[n + m]):
        return take(n, gather(rl.reverse, xs)), gather(rl.reverse, take(n, xs))

    @rl.rule()
    def mirrored_twice(xs: A[s]):
        return pad(p, q, rl.mirror, pad(r, t, rl.mirror, xs)), pad(p + r, t + q, rl.mirror, xs)

    @rl.rule()
    def wrapped_twice(xs: A[s]):
        return pad(p, q, rl.wrap, pad(r, t, rl.wrap, xs)), pad(p + r, t + q, rl.wrap, xs)

    @rl.rule()
    def border_that_is_not_mapped(f: Fun[A, A], z: A, xs: A[n]):
        return map(f, pad(p, q, z, xs)), pad(p, q, z, map(f, xs))

    @rl.rule(where=[associative("op")])
    def start_taken_twice(op: Op[A], z: A, xs: A[n], ys: A[m]):
        return reduce(op, z, concat(xs, ys)), op(reduce(op, z, xs), reduce(op, z, ys))

    @rl.rule()
    def function_of_a_sum(op: Op[A], f: Fun[A, A], z: A, xs: A[n]):
        return reduce(op, z, map(f, xs)), f(reduce(op, z, xs))

    @rl.rule()
    def reversed_in_place(xs: A[n], ys: A[n]):
        return gather(rl.reverse, concat(xs, ys)), concat(
            gather(rl.reverse, xs), gather(rl.reverse, ys)
        )

    @rl.rule()
    def square_that_is_its_transpose(xss: A[n, n]):
        return join(xss), join(transpose(xss))

    @rl.rule()
    def rotated_once_for_twice(xs: A[n]):
        return gather(lambda i: (i + p) % n, gather(lambda i: (i + p) % n, xs)), gather(
            lambda i: (i + p) % n, xs
        )


def rules_of(kind: type) -> dict[str, rl.Rule]:
    """The rules of a class, by name."""
    return {name: rule for name, rule in vars(kind).items() if isinstance(rule, rl.Rule)}


RIGHT, WRONG = rules_of(TRUE), rules_of(FALSE)
