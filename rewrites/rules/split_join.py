"""Splitting and joining: chunks of an array, and maps over them.

map f                =  join . map (map f) . split m
join . split m       =  id            split m . join  =  id  (rows of length m)
split m . map f      =  map (map f) . split m
map f . join         =  join . map (map f)
"""

from __future__ import annotations

from relift.rewrites.notation import A, B, k, m
from relift.rewrites.rule import rule
from relift.semantics.language import join, map, split
from relift.semantics.signatures import Fun


@rule(source="LIFT, ICFP'15, split-join rule")
def split_join(f: Fun[A, B], xs: A[k * m]):
    """A map goes chunk by chunk."""
    return (
        map(f, xs),
        join(map(lambda c: map(f, c), split(m, xs))),
    )


@rule(source="LIFT, ICFP'15, simplification rules")
def join_split(xs: A[k * m]):
    """Joining what was split gives the array back."""
    return join(split(m, xs)), xs


@rule(source="LIFT, ICFP'15, simplification rules")
def split_of_join(xss: A[k, m]):
    """Splitting joined rows at their length gives the rows back."""
    return split(m, join(xss)), xss


@rule(source="RISE, movement rules")
def split_map(f: Fun[A, B], xs: A[k * m]):
    """A map moves over a split, one level down."""
    return split(m, map(f, xs)), map(lambda c: map(f, c), split(m, xs))


@rule(source="RISE, movement rules")
def map_join(f: Fun[A, B], xss: A[k, m]):
    """A map over joined rows is a map over each row."""
    return map(f, join(xss)), join(map(lambda xs: map(f, xs), xss))
