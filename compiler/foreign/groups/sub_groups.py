"""Sub-groups, where the source says how large they are: the numbers of their work-items, and how these wait."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import Binary, Cast, CType, Expression, Invocation, Whole
from relift.compiler.validation.machine import Fault, Item

OF_SUB_GROUP = " in a sub-group"
"""Ends the number of a place where only the work-items of a sub-group wait for each other."""

_OF_SUB_GROUPS = (
    "sub_group_", "intel_sub_group_", "get_sub_group", "get_num_sub_groups", "get_max_sub_group",
)  # fmt: skip
_REQUIRED = re.compile(r"intel_reqd_sub_group_size\s*\(\s*(\d+)\s*\)")


def required_sub_group(text: str) -> int:
    """How many work-items a sub-group has by a source; 0 where it does not say."""
    m = _REQUIRED.search(text)
    return 0 if m is None else int(m[1])


def is_of_sub_group(function: str) -> bool:
    """Whether a function is one of sub-groups."""
    return function.startswith(_OF_SUB_GROUPS)


def as_device_decides(function: str) -> NotUnderstood:
    """Why a function of a sub-group is not followed."""
    return NotUnderstood(f"{function}, which is of as many work-items as a device decides,")


def numbered(function: str, arguments: tuple[Expression, ...], size: int) -> Expression:
    """What a function says of sub-groups of a size, each of work-items with the next numbers."""
    number = Invocation("get_local_linear_id", ())
    x, y, z = (Invocation("get_local_size", (Whole(d),)) for d in range(3))
    known: dict[str, Expression] = {
        "get_sub_group_size": Whole(size),
        "get_max_sub_group_size": Whole(size),
        "get_sub_group_local_id": Binary("%", number, Whole(size)),
        "get_sub_group_id": Binary("/", number, Whole(size)),
        "get_num_sub_groups": Binary("/", Binary("*", Binary("*", x, y), z), Whole(size)),
    }
    if not size or function not in known or arguments:
        raise as_device_decides(function)
    return Cast(CType("uint"), (known[function],))


def in_sub_groups(
    items: Sequence[Item], runs: Sequence[Iterator[Any]], size: int
) -> list[Iterator[Any]]:
    """Work-items of which those of a sub-group wait for each other where only they have to: their other stops."""
    found: list[Iterator[Any]] = []
    for first in range(0, len(runs), size):
        lanes = _Lanes(items[first : first + size], runs[first : first + size])
        found += [lanes.stops(k) for k in range(size)]
    return found


class _Lanes:
    """The work-items of a sub-group, run until each is where its whole group waits."""

    def __init__(self, items: Sequence[Item], runs: Sequence[Iterator[Any]]) -> None:
        self.items, self.runs = items, runs
        self.ahead: list[deque[Any]] = [deque() for _ in runs]

    def stops(self, k: int) -> Iterator[Any]:
        """Where one of them waits for its group."""
        while True:
            if not self.ahead[k]:
                self._run()
            stop = self.ahead[k].popleft()
            if stop is None:
                return
            yield stop

    def _run(self) -> None:
        while True:
            stops = [next(run, None) for run in self.runs]
            own = [stop is not None and str(stop[0]).endswith(OF_SUB_GROUP) for stop in stops]
            if not any(own):
                break
            if stops != stops[:1] * len(stops):
                other = next(k for k, stop in enumerate(stops) if stop != stops[0])
                raise Fault(
                    "divergence",
                    f"{self.items[0]} and {self.items[other]} part where their sub-group computes a value",
                )
        for row, stop in zip(self.ahead, stops, strict=True):
            row.append(stop)
