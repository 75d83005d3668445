"""Rules that reviewers held against the checker, and rules of the same kinds: each with the verdict that is right.

`TRUE`: right, with the tiers that show it; `FALSE`: a tier must refute it.  A rule that is false from some size on,
or at a value that is thrown away, is as false as any other.  `python -m proofs_tests.rewrites.reviewed_rules` checks all
of them by all tiers.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import relift as rl
from relift import (
    associative,
    binary_search,
    commutative,
    concat,
    distributive,
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
    slide,
    split,
    take,
    transpose,
    zip,
)

A, B, C = rl.type_variables("A B C")
k, m, n, p, q, r, t = rl.naturals("k m n p q r t")
s = rl.nat("s")
Fun, Index, Op = rl.Fun, rl.Index, rl.Op


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
    def doubled(op: Op[A], x: A, y: A):
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

    @rl.rule()
    def reversed_wrap(xs: A[s]):
        return gather(rl.reverse, pad(p, q, rl.wrap, xs)), pad(
            q, p, rl.wrap, gather(rl.reverse, xs)
        )

    @rl.rule()
    def reversed_mirror(xs: A[s]):
        return gather(rl.reverse, pad(p, q, rl.mirror, xs)), pad(
            q, p, rl.mirror, gather(rl.reverse, xs)
        )

    @rl.rule()
    def reversed_clamp(xs: A[s]):
        return gather(rl.reverse, pad(p, q, rl.clamp, gather(rl.reverse, xs))), pad(
            q, p, rl.clamp, xs
        )

    @rl.rule(where=[associative("op"), commutative("op"), neutral("op", "z")])
    def fold_of_a_rotation(op: Op[A], z: A, xs: A[n]):
        return reduce(op, z, gather(lambda i: (i + p) % n, xs)), reduce(op, z, xs)

    @rl.rule(where=[associative("op"), commutative("op")])
    def mapped_fold_of_a_rotation(op: Op[A], f: Fun[B, A], z: A, xs: B[n]):
        return reduce(op, z, map(f, xs)), reduce(
            op, z, map(f, gather(lambda i: (i + p + q) % n, xs))
        )

    @rl.rule()
    def rotation_of_rows(xss: A[n, m]):
        return gather(lambda i: (i + p * m) % (n * m), join(xss)), join(
            gather(lambda i: (i + p) % n, xss)
        )

    @rl.rule()
    def rotated_there_and_back(xs: A[n]):
        return scatter(lambda i: (i + p) % n, gather(lambda i: (i + p) % n, xs)), xs

    @rl.rule()
    def rotated_back_and_there(xs: A[n]):
        return gather(lambda i: (i + p) % n, scatter(lambda i: (i + p) % n, xs)), xs

    @rl.rule()
    def permuted_in_blocks(f: Index[m], xs: A[k * m]):
        return join(map(lambda c: gather(f, c), split(m, xs))), gather(
            lambda i: i // m * m + f(i % m), xs
        )

    @rl.rule()
    def take_outside_pair(xs: A[n + m], ys: B[n + m]):
        return zip(take(n, xs), take(n, ys)), take(n, zip(xs, ys))

    @rl.rule()
    def transposed_twice_inside(xsss: A[k, n, m]):
        return map(transpose, map(transpose, xsss)), xsss

    @rl.rule()
    def split_before_map(f: Fun[A, B], xs: A[k * m]):
        return split(m, map(f, xs)), map(lambda c: map(f, c), split(m, xs))

    @rl.rule()
    def fold_of_rows_by_columns(f: Fun[A, B, A], z: A, xss: B[n, m]):
        return map(lambda row: reduce_seq(f, z, row), xss), reduce_seq(
            lambda acc, column: map(lambda both: f(both[0], both[1]), zip(acc, column)),
            repeat(n, z),
            transpose(xss),
        )

    @rl.rule()
    def head_of_equals(x: A):
        return head(repeat(s, x)), x

    @rl.rule(where=[associative("op"), idempotent("op")])
    def fold_of_equals(op: Op[A], z: A, x: A):
        return reduce(op, z, repeat(s, x)), op(z, x)

    @rl.rule(where=[associative("op"), commutative("op"), neutral("op", "z")])
    def folds_of_rows_and_of_columns(op: Op[A], z: A, xss: A[n, m]):
        return reduce(op, z, map(lambda row: reduce(op, z, row), xss)), reduce(
            op, z, map(lambda column: reduce(op, z, column), transpose(xss))
        )

    @rl.rule()
    def heads_of_windows(xs: A[m + 1 + k]):
        return map(head, slide(m + 1, 1, xs)), take(k + 1, xs)

    @rl.rule()
    def transposed_windows(xs: A[m + 1 + k]):
        return transpose(slide(m + 1, 1, xs)), slide(k + 1, 1, xs)

    @rl.rule()
    def windows_of_the_reversed(xs: A[m + 1 + k]):
        return slide(m + 1, 1, gather(rl.reverse, xs)), map(
            lambda w: gather(rl.reverse, w), gather(rl.reverse, slide(m + 1, 1, xs))
        )

    @rl.rule()
    def windows_side_by_side(xs: A[s + k * s]):
        return slide(s, s, xs), split(s, xs)

    @rl.rule()
    def borders_of_rows_and_columns(xss: A[s, s]):
        return map(lambda row: pad(p, q, rl.clamp, row), pad(r, t, rl.clamp, xss)), pad(
            r, t, rl.clamp, map(lambda row: pad(p, q, rl.clamp, row), xss)
        )

    @rl.rule()
    def mapped_border(f: Fun[A, B], z: A, xs: A[n]):
        return map(f, pad(p, q, z, xs)), pad(p, q, f(z), map(f, xs))

    @rl.rule()
    def narrow_mirror_is_clamp(xs: A[s]):
        return pad(1, 1, rl.mirror, xs), pad(1, 1, rl.clamp, xs)

    @rl.rule()
    def rest_of_concat(xs: A[n], ys: A[m]):
        return drop(n, concat(xs, ys)), ys

    @rl.rule()
    def iterated_in_two_parts(f: Fun[A, A], x: A):
        return iterate(m + p, f, x), iterate(m, f, iterate(p, f, x))

    @rl.rule()
    def floats_swapped(x: rl.f32, y: rl.f32):
        return x + y, y + x

    @rl.rule()
    def one_of_two_sizes(xs: A[n * m]):
        return join(split(n, xs)), join(split(m, xs))


def _of_one_name(j: int) -> Any:
    @rl.userfun(c=f"return x == 123.0f ? {j}.0f : x;")  # type: ignore[untyped-decorator,unused-ignore]
    def f(x: rl.f32) -> rl.f32:
        return np.float32(j) if x == 123 else x

    return f


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

    @rl.rule(where=[associative("op"), neutral("op", "z")])
    def columns_first_without_commutativity(op: Op[A], z: A, xss: A[n, m]):
        return reduce(op, z, map(lambda row: reduce(op, z, row), xss)), reduce(
            op, z, map(lambda column: reduce(op, z, column), transpose(xss))
        )

    @rl.rule()
    def heads_of_windows_with_steps(xs: A[m + 1 + k * s]):
        return map(head, slide(m + 1, s, xs)), take(k + 1, xs)

    @rl.rule()
    def heads_of_windows_that_skip(xs: A[m + 1 + k * (s + 1)]):
        return map(head, slide(m + 1, s + 1, xs)), take(k + 1, xs)

    @rl.rule()
    def wide_mirror_is_clamp(xs: A[s]):
        return pad(2, 0, rl.mirror, xs), pad(2, 0, rl.clamp, xs)

    @rl.rule(where=[distributive("times", "plus")])
    def start_that_is_not_scaled(times: Op[A], plus: Op[A], c: A, z: A, xs: A[n]):
        return reduce(plus, z, map(lambda x: times(c, x), xs)), times(c, reduce(plus, z, xs))

    @rl.rule(where=[associative("op"), idempotent("op")])
    def fold_of_no_equals(op: Op[A], z: A, x: A):
        return reduce(op, z, repeat(n, x)), op(z, x)

    @rl.rule()
    def only_the_first(op: Op[A], z: A, xs: A[s]):
        return reduce(op, z, xs), op(z, head(xs))

    @rl.rule()
    def rows_taken_for_columns(xs: A[n * m]):
        return join(transpose(split(m, xs))), xs

    @rl.rule()
    def pairs_swapped(xs: A[n], ys: A[n]):
        return zip(xs, ys), zip(ys, xs)

    @rl.rule()
    def rows_reversed_by_themselves(xss: A[n, m]):
        return join(map(lambda row: gather(rl.reverse, row), xss)), gather(rl.reverse, join(xss))

    @rl.rule()
    def once_more(f: Fun[A, A], x: A):
        return iterate(m, f, x), iterate(m + 1, f, x)

    @rl.rule()
    def the_other_part(xs: A[m], ys: A[n]):
        return take(n, concat(xs, ys)), ys

    @rl.rule()
    def rotated_the_other_way(xs: A[n]):
        return scatter(lambda i: (i + p) % n, xs), gather(lambda i: (i + p) % n, xs)

    @rl.rule()
    def reversed_wrap_on_the_same_side(xs: A[s]):
        return gather(rl.reverse, pad(p, q, rl.wrap, xs)), pad(
            p, q, rl.wrap, gather(rl.reverse, xs)
        )

    @rl.rule()
    def reversed_mirror_on_the_same_side(xs: A[s]):
        return gather(rl.reverse, pad(p, q, rl.mirror, xs)), pad(
            p, q, rl.mirror, gather(rl.reverse, xs)
        )

    @rl.rule(where=[associative("op"), neutral("op", "z")])
    def rotated_without_commutativity(op: Op[A], z: A, xs: A[n]):
        return reduce(op, z, gather(lambda i: (i + p) % n, xs)), reduce(op, z, xs)

    @rl.rule(where=[associative("op"), commutative("op"), neutral("op", "z")])
    def every_other_twice(op: Op[A], z: A, xs: A[n]):
        return reduce(op, z, gather(lambda i: (2 * i) % n, xs)), reduce(op, z, xs)

    @rl.rule()
    def rotated_by_elements_for_rows(xss: A[n, m]):
        return gather(lambda i: (i + p) % (n * m), join(xss)), join(
            gather(lambda i: (i + p) % n, xss)
        )

    @rl.rule()
    def permuted_across_blocks(f: Index[m], xs: A[k * m]):
        return join(map(lambda c: gather(f, c), split(m, xs))), gather(
            lambda i: i // m + k * f(i % m), xs
        )

    @rl.rule()
    def two_functions_of_one_name(xs: rl.f32[n]):
        return map(_of_one_name(1), xs), map(_of_one_name(2), xs)

    @rl.rule()
    def halved_sum(x: rl.i32):
        return (x + x) // 2, x

    @rl.rule()
    def more_than_itself(x: rl.i32):
        return rl.select(x + 1 > x, x, 0), x

    @rl.rule()
    def never_negative(x: rl.i64):
        return rl.maximum(rl.maximum(-x, x), 0), rl.maximum(-x, x)

    @rl.rule()
    def narrowed(x: rl.i64):
        return rl.i64(rl.i32(x)), x

    @rl.rule()
    def halves_of_all(xs: rl.i32[n]):
        return map(lambda v: (v + v) // 2, xs), xs

    @rl.rule()
    def below_a_constant(x: rl.i32):
        return rl.minimum(x, 100000), x

    @rl.rule()
    def another_at_one_number(x: rl.f32):
        return rl.select(rl.equal(x, 8191.5), 0.0, x), x

    @rl.rule()
    def last_that_is_first(xs: A[s]):
        return xs[s - 1], head(xs)


def rules_of(kind: type) -> dict[str, rl.Rule]:
    """The rules of a class, by name; all of them must be rules at all."""
    found = {name: rule for name, rule in vars(kind).items() if not name.startswith("__")}
    for name, rule in found.items():
        assert isinstance(rule, rl.Rule), f"{name}: {rule}"
    return found


RIGHT, WRONG = rules_of(TRUE), rules_of(FALSE)

IN_ROCQ = (
    "reversed_wrap", "reversed_mirror", "reversed_clamp", "fold_of_a_rotation", "mapped_fold_of_a_rotation",
    "rotation_of_rows", "rotated_there_and_back", "rotated_back_and_there", "permuted_in_blocks",
)  # fmt: skip
"""Right rules that need lemmas of their own in Rocq, and are proved there."""


def main() -> None:
    """Check all of them by all tiers, and say of which the verdict is not the right one."""
    from relift.checking import check

    wrong = 0
    for name, rule in {**RIGHT, **WRONG}.items():
        report = check(rule)
        tiers = {r.tier: r.status for r in report.results}
        right = report.ok if name in RIGHT else report.headline == "failed"
        right &= name not in IN_ROCQ or tiers["4b"] == "proved"
        wrong += not right
        print("right" if right else "WRONG", name, report.headline, tiers, flush=True)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
