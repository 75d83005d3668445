"""Taking and dropping: parts of an array, and what they are parts of.

concat (take m xs) (drop m xs)  =  xs
take m . map f                  =  map f . take m                      so for drop, head, tail, index
take m (zip xs ys)              =  zip (take m xs) (take m ys)          so for drop
drop m . take (m + n)           =  take n . drop m
take (q + 1) . slide s t        =  slide s t . take (s + q t)
drop d . slide s t              =  slide s t . drop (d t)
join . take t                   =  take (t m) . join                    so for drop, split
map f (concat xs ys)            =  concat (map f xs) (map f ys)         so for join, split, zip, repeat
zip (concat xs ys) us           =  concat (zip xs (take n us)) (zip ys (drop n us))   so on the other side
"""

from __future__ import annotations

from relift.rewrites.families import Among
from relift.rewrites.notation import A, B, d, e, k, m, n, q, r, size, step, t
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    concat,
    drop,
    generate,
    head,
    join,
    map,
    repeat,
    slide,
    split,
    tail,
    take,
    transpose,
    zip,
)
from relift.semantics.syntax.signatures import Fun

Part = Among({"take": take, "drop": drop})


@rule(source="RISE takeAll")
def take_all(xs: A[n]):
    """Taking as many elements as there are changes nothing."""
    return take(n, xs), xs


@rule(source="RISE dropNothing")
def drop_nothing(xs: A[n]):
    """Dropping no element changes nothing."""
    return drop(0, xs), xs


@rule(source="RISE `*f >> {part} n -> {part} n >> *f`, {part}AfterMap")
def part_map(part: Part, f: Fun[A, B], xs: A[m + r]):
    """The results of a part are computed from that part ({part})."""
    return part(m, map(f, xs)), map(f, part(m, xs))


@rule(choose=(r,), source="Haskell: take n [0 ..] is [0 .. n-1]")
def take_indices():
    """Indices are the first of more."""
    return generate(n, lambda i: i), take(n, generate(n + r, lambda i: i))


@rule(source="RISE `{part} n (zip a b) -> zip ({part} n a) ({part} n b)`")
def part_zip(part: Part, xs: A[m + r], ys: B[m + r]):
    """A part of the pairs is pairs of the parts ({part})."""
    return part(m, zip(xs, ys)), zip(part(m, xs), part(m, ys))


@rule(source="RISE `take (n+m) >> drop m -> drop m >> take n`, takeBeforeDrop")
def drop_take(xs: A[m + n + r]):
    """A part in the middle is cut from the end or from the start first."""
    return drop(m, take(m + n, xs)), take(n, drop(m, xs))


@rule(source="Bird, theory of lists; RISE take of take")
def take_take(xs: A[m + n + r]):
    """Of two takes the smaller counts."""
    return take(m, take(m + n, xs)), take(m, xs)


@rule(source="Bird, theory of lists; RISE drop of drop")
def drop_drop(xs: A[m + n + r]):
    """Two drops are one."""
    return drop(m, drop(n, xs)), drop(m + n, xs)


@rule(source="RISE `slide n m >> take t -> take (m * (t - 1) + n) >> slide n m`")
def take_slide(xs: A[size + q * step + r * step]):
    """The first windows need the elements up to the end of the last of them."""
    return take(q + 1, slide(size, step, xs)), slide(size, step, take(size + q * step, xs))


@rule(source="RISE `slide n m >> drop d -> drop (d * m) >> slide n m`")
def drop_slide(xs: A[size + k * step + d * step]):
    """All but the first windows start where the first of them does."""
    return drop(d, slide(size, step, xs)), slide(size, step, drop(d * step, xs))


@rule(source="RISE takeInSlide, at every step")
def take_in_slide(xs: A[size + q * step + r * step]):
    """The first windows are what wider windows start with."""
    return (
        take(q + 1, slide(size, step, xs)),
        map(take(size), slide(size + r * step, step, xs)),
    )


@rule(source="RISE dropInSlide, at every step")
def drop_in_slide(xs: A[size + k * step + d * step]):
    """All but the first windows are what wider windows end with."""
    return (
        drop(d, slide(size, step, xs)),
        map(drop(d * step), slide(size + d * step, step, xs)),
    )


@rule(source="RISE takeBeforeJoin")
def take_join(xss: A[t + 1 + q, e + r]):
    """The first elements of joined rows need the first rows only."""
    return take(t * (e + r) + e, join(xss)), take(t * (e + r) + e, join(take(t + 1, xss)))


@rule(source="RISE dropBeforeJoin")
def drop_join(xss: A[t + 1 + q, e + r]):
    """Whole rows are dropped before the join, the rest after it."""
    return drop(t * (e + r) + e, join(xss)), drop(e, join(drop(t, xss)))


@rule(source="RISE {part}BeforeJoin, whole rows")
def join_part(part: Part, xss: A[t + r, m]):
    """Joining a part of the rows is that part of all elements ({part})."""
    return join(part(t, xss)), part(t * m, join(xss))


@rule(source="RISE {part}BeforeSlide, for split")
def part_split(part: Part, xs: A[(t + r) * m]):
    """A part of the chunks is chunks of that part of the elements ({part})."""
    return part(t, split(m, xs)), split(m, part(t * m, xs))


@rule(source="RISE padEmptyBeforeTranspose, for {part}")
def part_transpose(part: Part, xss: A[n, m + r]):
    """A part of the columns is that part of each row ({part})."""
    return part(m, transpose(xss)), transpose(map(part(m), xss))


@rule(source="Bird, theory of lists; RISE take, drop, concat")
def concat_take_drop(xs: A[m + r]):
    """The first elements and the others are all."""
    return concat(take(m, xs), drop(m, xs)), xs


@rule(source="Bird, theory of lists; RISE take of concat")
def take_concat(xs: A[n], ys: A[m]):
    """The first elements of two arrays are the first array."""
    return take(n, concat(xs, ys)), xs


@rule(source="Bird, theory of lists; RISE drop of concat")
def drop_concat(xs: A[n], ys: A[m]):
    """What follows the first array is the second."""
    return drop(n, concat(xs, ys)), ys


@rule(source="Bird, theory of lists, map promotion")
def map_concat(f: Fun[A, B], xs: A[n], ys: A[m]):
    """A map works on two arrays one by one."""
    return map(f, concat(xs, ys)), concat(map(f, xs), map(f, ys))


@rule(source="Bird, theory of lists")
def concat_associative(xs: A[n], ys: A[m], zs: A[k]):
    """Three arrays are put together from the left or from the right."""
    return concat(concat(xs, ys), zs), concat(xs, concat(ys, zs))


@rule(source="Bird, theory of lists")
def concat_empty(xs: A[n], x: A):
    """An empty array adds nothing."""
    return concat(xs, repeat(0, x)), xs


@rule(source="Bird, theory of lists; RISE concat")
def concat_zip(xs: A[n], ys: A[m], us: B[n], vs: B[m]):
    """Zips put together are a zip of what is put together."""
    return concat(zip(xs, us), zip(ys, vs)), zip(concat(xs, ys), concat(us, vs))


@rule(source="Bird, theory of lists")
def join_concat(xss: A[n, k], yss: A[m, k]):
    """Rows of two arrays are joined one array after the other."""
    return join(concat(xss, yss)), concat(join(xss), join(yss))


@rule(source="RISE concat, split")
def split_concat(xs: A[n * k], ys: A[m * k]):
    """Chunks do not cross from one array to the next if they fit."""
    return split(k, concat(xs, ys)), concat(split(k, xs), split(k, ys))


@rule(source="RISE concat, transpose")
def transpose_concat(xss: A[n, k], yss: A[m, k]):
    """Columns of rows put together are columns put together."""
    return (
        transpose(concat(xss, yss)),
        map(lambda p: concat(p[0], p[1]), zip(transpose(xss), transpose(yss))),
    )


@rule(source="Bird, theory of lists; RISE concat, zip")
def zip_concat_left(xs: A[n], ys: A[m], us: B[n + m]):
    """Pairs with one part after the other are the pairs of the first part, then those of the second."""
    return zip(concat(xs, ys), us), concat(zip(xs, take(n, us)), zip(ys, drop(n, us)))


@rule(source="Bird, theory of lists; RISE concat, zip")
def zip_concat_right(us: A[n + m], xs: B[n], ys: B[m]):
    """Pairs with one part after the other are the pairs of the first part, then those of the second."""
    return zip(us, concat(xs, ys)), concat(zip(take(n, us), xs), zip(drop(n, us), ys))


@rule(source="Bird, theory of lists; RISE concat")
def repeat_concat(x: A):
    """Copies and more copies are copies."""
    return repeat(m + n, x), concat(repeat(m, x), repeat(n, x))


@rule(source="Bird, theory of lists; LIFT Head")
def head_map(f: Fun[A, B], xs: A[1 + r]):
    """The first result is the result of the first element."""
    return head(map(f, xs)), f(head(xs))


@rule(source="Bird, theory of lists; LIFT Tail")
def tail_map(f: Fun[A, B], xs: A[1 + r]):
    """All but the first result are the results of all but the first element."""
    return tail(map(f, xs)), map(f, tail(xs))


@rule(source="Bird, theory of lists; LIFT Head, Tail")
def concat_head_tail(xs: A[1 + r]):
    """The first element and the others are all."""
    return concat(repeat(1, head(xs)), tail(xs)), xs


@rule(source="LIFT, CGO'17, views: access through head")
def head_as_index(xs: A[1 + r]):
    """The first element is that at index 0."""
    return head(xs), xs[0]


@rule(source="LIFT, CGO'17, views: access through tail")
def tail_as_drop(xs: A[1 + r]):
    """All but the first element."""
    return tail(xs), drop(1, xs)


@rule(source="LIFT, CGO'17, views: access through map")
def index_map(f: Fun[A, B], xs: A[m + 1 + r]):
    """One result is the result of one element."""
    return map(f, xs)[m], f(xs[m])


@rule(source="LIFT, CGO'17, views: access through zip")
def index_zip(xs: A[m + 1 + r], ys: B[m + 1 + r]):
    """One pair has one element of each array."""
    return zip(xs, ys)[m], (xs[m], ys[m])


@rule(source="LIFT, CGO'17, views: access through split")
def index_split(xs: A[(n + 1 + r) * m]):
    """One chunk is a part of the array."""
    return split(m, xs)[n], take(m, drop(n * m, xs))


@rule(source="LIFT, CGO'17, views: access through join")
def index_join(xss: A[n + 1 + q, m + 1 + r]):
    """One element of joined rows is an element of a row."""
    return join(xss)[n * (m + 1 + r) + m], xss[n][m]


@rule(source="LIFT, CGO'17, views: access through transpose")
def index_transpose(xss: A[n, m + 1 + r]):
    """One column has one element of each row."""
    return transpose(xss)[m], map(lambda xs: xs[m], xss)


@rule(source="LIFT stencils, CGO'18, definition of slide")
def index_slide(xs: A[size + n * step + r * step]):
    """One window is a part of the array."""
    return slide(size, step, xs)[n], take(size, drop(n * step, xs))


@rule(source="RISE take, idx")
def index_take(xs: A[m + 1 + k + r]):
    """An element among the first."""
    return take(m + 1 + k, xs)[m], xs[m]


@rule(source="RISE drop, idx")
def index_drop(xs: A[n + m + 1 + r]):
    """An element behind the first."""
    return drop(n, xs)[m], xs[n + m]
