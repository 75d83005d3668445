"""Which cases of a test every run takes, and which it leaves to `python -m proofs_tests --long`.

A case may be left where another that stays is of the same property and goes the same way: a second size of a program,
one more instance of a statement, the samples after the first.  Which those are says a test itself, by `portioned`;
of tests that have many cases and take long, `shares.toml` says one in how many stays.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import pytest

T = TypeVar("T")

LONG = "long"
"""The marker of what is left out."""

SHORT = f"not {LONG}"
"""The expression over markers that leaves it out; where it does, `conftest.py` says how many tests that were."""

SHARES: Mapping[str, int] = tomllib.loads(
    Path(__file__).with_name("shares.toml").read_text("utf-8")
)
"""Of how many cases of a test one stays, by the test: `file::function`."""


def share_of(cases: Sequence[str], share: int) -> set[str]:
    """One of `share` cases, the same ones in every run, wherever in the row they stand.

    Neighbours often differ in one parameter only, and each so many would all have the same one.

    >>> from proofs_tests.portions import share_of
    >>> sorted(share_of(["1-1", "1-2", "2-1", "2-2", "3-1", "3-2"], 3))
    ['2-2', '3-2']
    """
    mixed = sorted(cases, key=lambda name: crc32(name.encode()))
    return set(mixed[: -(-len(mixed) // share)])


def portioned(
    names: str,
    cases: Mapping[str, Any] | Iterable[Any],
    always: Container[Any] | int,
    **options: Any,
) -> pytest.MarkDecorator:
    """`pytest.mark.parametrize` over `cases`, of which those that are not among `always` are marked `long`.

    A mapping gives the cases names.  `always`: the cases that every run takes, or their names; a number k takes each k-th.
    Raises `ValueError` when none of them is a case.
    """
    named = isinstance(cases, Mapping)
    made: list[Any] = []
    for at, case in enumerate(cases):
        value = cases[case] if isinstance(cases, Mapping) else case
        stays = at % always == 0 if isinstance(always, int) else case in always
        values = value if "," in names else (value,)
        made.append(
            pytest.param(
                *values, id=case if named else None, marks=() if stays else pytest.mark.long
            )
        )
    if all(case.marks for case in made):
        raise ValueError(f"{names}: no case would be left to every run")
    return pytest.mark.parametrize(names, made, **options)


def portion(cases: Iterable[T], always: Container[int]) -> list[Any]:
    """The cases as parameters of a fixture, of which those whose numbers are not among `always` are marked `long`."""
    return [
        pytest.param(case, marks=() if at in always else pytest.mark.long)
        for at, case in enumerate(cases)
    ]


def drawn(cases: Iterable[T], share: int) -> list[T]:
    """One of `share` cases, other ones in every run; at least one."""
    found = list(cases)
    return random.SystemRandom().sample(found, -(-len(found) // share))


in_shares = portioned("share", {"one in eight": 8, "all": 1}, {"one in eight"})
"""For a test that draws a share of its cases: every run a few, others each time, and the long run all."""
