"""Splitting and joining: chunks of an array, and maps over them.

map f                =  join . map (map f) . split m
join . split m       =  id            split m . join  =  id  (rows of length m)
split m . map f      =  map (map f) . split m
map f . join         =  join . map (map f)
map (map f)          =  split m . map f . join  (rows of length m)
join . join          =  join . map join
split k . split m    =  map (split m) . split (k m)
split m . join       =  join . map (split m)
split 1              =  map (repeat 1)      split n  =  repeat 1  (n the length)
"""

from __future__ import annotations

from relift.rewrites.notation import A, B, k, m, n
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import join, map, repeat, slide, split
from relift.semantics.syntax.signatures import Fun


@rule(
    source="LIFT, ICFP'15, split-join rule; LIFT splitJoin; RISE `*f -> S >> **f >> J`, split-join-n"
)
def split_join(f: Fun[A, B], xs: A[k * m]):
    """A map goes chunk by chunk."""
    return map(f, xs), join(map(lambda c: map(f, c), split(m, xs)))


@rule(source="LIFT, ICFP'15, simplification rules; LIFT joinSplitId; RISE splitJoin2")
def join_split(xs: A[k * m]):
    """Joining what was split gives the array back."""
    return join(split(m, xs)), xs


@rule(source="LIFT, ICFP'15, simplification rules; LIFT splitJoinId")
def split_of_join(xss: A[k, m]):
    """Splitting joined rows at their length gives the rows back."""
    return split(m, join(xss)), xss


@rule(source="RISE splitBeforeMap, `S >> **f -> *f >> S`; LIFT EnablingRules movingSplit")
def split_map(f: Fun[A, B], xs: A[k * m]):
    """A map moves over a split, one level down."""
    return split(m, map(f, xs)), map(lambda c: map(f, c), split(m, xs))


@rule(source="RISE `J >> *f -> **f >> J`; LIFT joinSwap, EnablingRules movingJoin")
def map_join(f: Fun[A, B], xss: A[k, m]):
    """A map over joined rows is a map over each row."""
    return map(f, join(xss)), join(map(lambda xs: map(f, xs), xss))


@rule(
    source="LIFT joinSplit, with its missing guard: f avoids the row; LIFT macro rule splitJoinId"
)
def map_map_flat(f: Fun[A, B], xss: A[k, m]):
    """A map over rows is one map over all elements, cut into rows again."""
    return map(lambda xs: map(f, xs), xss), split(m, map(f, join(xss)))


@rule(source="RISE `J >> J -> *J >> J`, `*J >> J -> J >> J`")
def join_join(xsss: A[k, m, n]):
    """Three levels are joined from the outside or from the inside."""
    return join(join(xsss)), join(map(join, xsss))


@rule(source="RISE joinBeforeJoin, for what it undoes; LIFT tiling of tiles")
def split_split(xs: A[n * k * m]):
    """Chunks of chunks are made from the outside or from the inside."""
    return split(k, split(m, xs)), map(split(m), split(k * m, xs))


@rule(source="LIFT splitJoinId across lengths; RISE split before join")
def split_join_rows(xss: A[n, k * m]):
    """Chunks do not cross rows whose length they divide."""
    return split(m, join(xss)), join(map(split(m), xss))


@rule(source="LIFT macro rule reshapeMapMap; RISE split before join")
def split_rows_join(xss: A[n * k, m]):
    """Chunks of whole rows are joined blocks of rows."""
    return split(k * m, join(xss)), map(join, split(k, xss))


@rule(source="LIFT splitJoinReduce, without its reduction")
def split_whole(xs: A[n]):
    """One chunk of all elements."""
    return split(n, xs), repeat(1, xs)


@rule(source="LIFT splitJoin at one; RISE slideAfter")
def split_one(xs: A[n]):
    """Chunks of one element."""
    return split(1, xs), map(lambda x: repeat(1, x), xs)


@rule(source="Bird, theory of lists, one-point rule")
def join_repeat(xs: A[n]):
    """Joining one row gives the row."""
    return join(repeat(1, xs)), xs


@rule(source="Bird, theory of lists, one-point rule")
def join_map_repeat(xs: A[n]):
    """Joining rows of one element gives the elements."""
    return join(map(lambda x: repeat(1, x), xs)), xs


@rule(source="LIFT ArrayFromValue")
def join_repeated_rows(x: A):
    """Joined copies of copies are copies."""
    return join(repeat(k, repeat(m, x))), repeat(k * m, x)


@rule(source="LIFT, CGO'18: windows that do not overlap are chunks")
def split_as_slide(xs: A[(k + 1) * m]):
    """Windows that advance by their size are chunks."""
    return slide(m, m, xs), split(m, xs)
