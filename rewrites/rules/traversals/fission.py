"""Fission: one traversal becomes two, with what both need in a zip or under a name.

map (\\x. f x (g x)) xs      =  map (\\(x, y). f x y) (zip xs (map g xs))
map (map e . zip h u) xs    =  map (map e . zip) (zip (map (map h) xs) (map (map u) xs))
map (reduce op z . g) xs     =  map (reduce op z) (map g xs), also where g is not total
map (\\x. g (h x) x) xs      =  join (map (\\x. map (\\y. g y x) (repeat 1 (h x))) xs)
map (\\x. f x y) xs          =  let y in map (\\x. f x y) xs
map f (zip xs ys)          =  let y = ys in map f (zip xs y)
reduce_seq (\\a y. h a y x) z ys  =  reduce_seq (\\a (y, x). h a y x) z (zip ys (repeat n x))
f (let y = t in g y)        =  let y = t in f (g y)
let x = s in let y = t in h x y  =  let y = t in let x = s in h x y
let (x, ..) = (s, ..) in let y = t in h x .. y  =  let (x, .., y) = (s, .., t) in h x .. y
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relift.rewrites.notation import A, B, C, D, E, F, G, k, m, n
from relift.rewrites.rule import rule
from relift.semantics.language.multidimensional import map_nd, zip_nd
from relift.semantics.language.vocabulary import (
    join,
    let,
    map,
    reduce,
    reduce_seq,
    repeat,
    transpose,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.types import tup


@rule(source="LIFT mapFissionCreateZip")
def map_fission_with_zip(f: Fun[A, B, C], g: Fun[A, B], xs: A[n]):
    """An element that is still needed after the first function goes along in a zip."""
    return (
        map(lambda x: f(x, g(x)), xs),
        map(lambda p: f(p[0], p[1]), zip(xs, map(g, xs))),
    )


@rule(source="LIFT mapFissionCreateZip, of what is done with each cell of a table")
def map_map_fission_with_zip(
    e: Fun[C, D, E], h: Fun[A, B, C], u: Fun[A, B, D], g: Fun[A, B[m]], xs: A[n]
):
    """Two functions of all pairs, of which a third needs the results, each have a table of their own."""
    return (
        map(lambda x: map(lambda y: e(h(x, y), u(x, y)), g(x)), xs),
        map_nd(
            2,
            lambda p: e(p[0], p[1]),
            zip_nd(
                2,
                map(lambda x: map(lambda y: h(x, y), g(x)), xs),
                map(lambda x: map(lambda y: u(x, y), g(x)), xs),
            ),
        ),
    )


@rule(
    source="LIFT mapFissionCreateZip, of what has a name: a name computes its value, so it need not be total"
)
def map_let_fission(f: Fun[A, B, C], g: Fun[A, B], xs: A[n]):
    """What has a name in the function of a map is computed by a map of its own."""
    return (
        map(lambda x: let(lambda y: f(x, y), g(x)), xs),
        map(lambda p: f(p[0], p[1]), zip(xs, map(lambda x: g(x), xs))),
    )


@rule(source="LIFT mapFission; RISE mapFission, of an argument that has a name")
def map_let_fission_alone(f: Fun[B, C], g: Fun[A, B], xs: A[n]):
    """The same where the function needs nothing else of the element."""
    return (
        map(lambda x: let(lambda y: f(y), g(x)), xs),
        map(lambda y: f(y), map(lambda x: g(x), xs)),
    )


@rule(source="LIFT mapFissionWithZipInside")
def map_fission_with_zip_inside(h: Fun[A, B, C, D], g: Fun[A, B[m]], xs: A[n], ys: C[m]):
    """An inner zip takes its array from the outer zip."""
    return (
        map(lambda x: map(lambda p: h(x, p[0], p[1]), zip(g(x), ys)), xs),
        map(
            lambda q: map(lambda p: h(q[0], p[0], p[1]), zip(q[1], ys)),
            zip(xs, map(g, xs)),
        ),
    )


@rule(source="LIFT mapFissionWithZipOutside, mapFusionWithZip")
def map_fission_with_zip_outside(h: Fun[C, B, D], f: Fun[A, C], xs: A[n], ys: B[n]):
    """A function of one component of a zip is applied before the zip."""
    return (
        map(lambda p: h(f(p[0]), p[1]), zip(xs, ys)),
        map(lambda p: h(p[0], p[1]), zip(map(f, xs), ys)),
    )


@rule(source="LIFT mapFission, of what is folded: a fold takes all of it, so it need not be total")
def map_reduce_fission(op: Op[B], g: Fun[A, B[m]], z: B, xs: A[n]):
    """Rows that are folded are computed by a map of their own."""
    return (
        map(lambda x: reduce(op, z, g(x)), xs),
        map(lambda ys: reduce(op, z, ys), map(lambda x: g(x), xs)),
    )


@rule(source="LIFT, ICFP'15, the split-join rule for chunks of one, with map fission")
def map_one_by_one(g: Fun[B, A, C], h: Fun[A, B], xs: A[n]):
    """What is computed first of each element stands in front of a map over one element."""
    return (
        map(lambda x: g(h(x), x), xs),
        join(map(lambda x: map(lambda y: g(y, x), repeat(1, h(x))), xs)),
    )


@rule(source="LIFT tupleFission")
def tuple_fission(f: Fun[A, C], g: Fun[B, D], x: A, y: B):
    """What is inside the components is named first."""
    return (f(x), g(y)), let(lambda p: (f(p[0]), g(p[1])), (x, y))


@rule(source="LIFT extractFromMap")
def extract_from_map(f: Fun[A, B, C], y: B, xs: A[n]):
    """What does not depend on the element is computed once, before the map."""
    return map(lambda x: f(x, y), xs), let(lambda v: map(lambda x: f(x, v), xs), y)


@rule(source="LIFT extractFromMap, of what a map is zipped with")
def name_zipped(f: Fun[tup(A, B), C], xs: A[n], ys: B[n]):
    """What the elements of an array are paired with is computed once, before the map."""
    return map(f, zip(xs, ys)), let(lambda zs: map(f, zip(xs, zs)), ys)


@rule(source="LIFT mapFissionCreateZip, for what the steps of a fold take from around it")
def reduce_seq_beside(h: Fun[B, A, C, B], z: B, x: C, xs: A[n]):
    """What every step of a fold uses may stand beside each element."""
    return (
        reduce_seq(lambda acc, y: h(acc, y, x), z, xs),
        reduce_seq(lambda acc, p: h(acc, p[0], p[1]), z, zip(xs, repeat(n, x))),
    )


@rule(source="LIFT lambdaInline; RISE beta")
def let_inline(f: Fun[A, B], x: A):
    """A name stands for its value."""
    return let(f, x), f(x)


@rule(source="RISE gentleBetaReduction, of a variable that is not used")
def let_unused(x: A, y: B):
    """A name that nobody uses may go."""
    return let(lambda _: y, x), y


@rule(source="RISE let-same")
def let_same(h: Fun[A, A, C], x: A):
    """Two names of one value are one."""
    return let(lambda u: let(lambda v: h(u, v), x), x), let(lambda u: h(u, u), x)


@rule(source="RISE hoist-let-app")
def let_out_of_function(f: Fun[B, C], g: Fun[A, B], x: A):
    """A name moves out of the argument of a function."""
    return f(let(g, x)), let(lambda y: f(g(y)), x)


@rule(source="RISE hoist-let-lam, with its missing guard: the value is that of every element")
def let_out_of_map(h: Fun[A, B, C], y: B, xs: A[n]):
    """A name for a value that all elements share moves out of the map."""
    return (
        map(lambda x: let(lambda v: h(x, v), y), xs),
        let(lambda v: map(lambda x: h(x, v), xs), y),
    )


@rule(source="tuples for nested lets, as in lambda lifting, Johnsson 1985")
def let_let_pair(h: Fun[A, B, C], x: A, y: B):
    """Two names that do not depend on each other are one name of a pair."""
    return (
        let(lambda u: let(lambda v: h(u, v), y), x),
        let(lambda p: h(p[0], p[1]), (x, y)),
    )


def _names_of_one(h: Any, xs: Sequence[Any], y: Any) -> tuple[Any, Any]:
    """What is named after a tuple of others, and does not depend on it, and all of them under one name."""
    before = tuple(range(len(xs)))
    return (
        let(lambda p: let(lambda v: h(*(p[i] for i in before), v), y), tuple(xs)),
        let(lambda p: h(*(p[i] for i in before), p[len(xs)]), (*xs, y)),
    )


@rule(source="tuples for nested lets, as in lambda lifting, Johnsson 1985, of three")
def let_let_triple(h: Fun[A, B, C, D], x: A, y: B, z: C):
    """A name for two values, and one that depends on none of them, are one name of a tuple."""
    return _names_of_one(h, (x, y), z)


@rule(source="tuples for nested lets, as in lambda lifting, Johnsson 1985, of four")
def let_let_tuple_of_four(h: Fun[A, B, C, D, E], x: A, y: B, z: C, v: D):
    """A name for three values, and one that depends on none of them, are one name of a tuple."""
    return _names_of_one(h, (x, y, z), v)


@rule(source="tuples for nested lets, as in lambda lifting, Johnsson 1985, of five")
def let_let_tuple_of_five(h: Fun[A, B, C, D, E, F], x: A, y: B, z: C, v: D, w: E):
    """A name for four values, and one that depends on none of them, are one name of a tuple."""
    return _names_of_one(h, (x, y, z, v), w)


@rule(source="tuples for nested lets, as in lambda lifting, Johnsson 1985, of six")
def let_let_tuple_of_six(h: Fun[A, B, C, D, E, F, G], x: A, y: B, z: C, v: D, w: E, u: F):
    """A name for five values, and one that depends on none of them, are one name of a tuple."""
    return _names_of_one(h, (x, y, z, v, w), u)


@rule(source="RISE let-swap, with the indices of its body exchanged")
def let_swap(h: Fun[A, B, C], x: A, y: B):
    """Two names that do not depend on each other may change places."""
    return (
        let(lambda u: let(lambda v: h(u, v), y), x),
        let(lambda v: let(lambda u: h(u, v), x), y),
    )


@rule(source="RISE, mapFission for layouts")
def map_join_fission(h: Fun[A, B[k, m]], xs: A[n]):
    """Joining rows may wait until all of them are there."""
    return (
        map(lambda x: join(h(x)), xs),
        map(join, map(h, xs)),
    )


@rule(source="RISE, mapFission for layouts")
def map_transpose_fission(h: Fun[A, B[k, m]], xs: A[n]):
    """Transposing may wait until all arrays are there."""
    return (
        map(lambda x: transpose(h(x)), xs),
        map(transpose, map(h, xs)),
    )
