"""Where a child of a node is: the field that holds it, or the field of a row and a number.  Files hold places as texts.

>>> from relift.semantics.syntax.places import in_row, row_and_number
>>> in_row("parts", 1), row_and_number("parts.1"), row_and_number("xs")
('parts.1', ('parts', 1), None)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache


@cache
def in_row(field: str, number: int) -> str:
    """The place of one of the children that a field holds in a row."""
    return f"{field}.{number}"


@cache
def row_and_number(place: str) -> tuple[str, int] | None:
    """The field of a row, and which of its children a place is; None of a place that is a field."""
    field, _, number = place.partition(".")
    return (field, int(number)) if number.isdecimal() and str(int(number)) == number else None


def is_below(place: tuple[str, ...], others: Collection[tuple[str, ...]]) -> bool:
    """Whether a position is one of others, or inside."""
    return any(place[: len(other)] == other for other in others)


def outermost(found: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Of positions, outer ones before those inside, those that are in no other.

    >>> from relift.semantics.syntax.places import outermost
    >>> outermost([("xs",), ("xs", "f"), ("ys", "f")])
    [('xs',), ('ys', 'f')]
    """
    kept: list[tuple[str, ...]] = []
    for place in found:
        if not is_below(place, kept):
            kept.append(place)
    return kept
