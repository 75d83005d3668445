"""A pattern: all that is known of it stands on its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from relift.extending.patterns import Algebra, Pattern, Signature, Term, letters

a, k = letters.a, letters.k


@dataclass(frozen=True)
class Evens(Pattern):
    """`evens(xs)`: the elements at even indices.

    Law: evens(map(f, xs)) == map(f, evens(xs)).
    Source: an example.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("evens(xs)", xs=[1, 2, 3, 4])
    [1, 3]
    """

    xs: Term
    name: ClassVar = "evens"
    rocq: ClassVar = (
        "(fun i => {xs} (2 * i))"  # no name, so that Relift's library need not define it
    )
    layout: ClassVar = True
    signature: ClassVar = Signature({"xs": a[2 * k]}, a[k])

    @staticmethod
    def meaning(xs: list[Any]) -> list[Any]:
        return xs[::2]

    @staticmethod
    def view(ix: Algebra, k: Any, xs: Any) -> Any:
        return ix.array(k, lambda i: ix.at(xs, i * 2))
