"""Values that all work-items of a group, or of a sub-group, compute together."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from relift.compiler.foreign.groups.sub_groups import OF_SUB_GROUP
from relift.compiler.foreign.runtime import Stops
from relift.compiler.text.c_types import FLOATS, RANGES
from relift.compiler.validation.arithmetic import Arithmetic
from relift.compiler.validation.machine import Fault, Item, Undecided
from relift.compiler.validation.symbols import OPEN, Symbol

_OF_GROUP = re.compile(
    r"(?:work|sub)_group_(?:(reduce|scan_inclusive|scan_exclusive)_(add|min|max)|broadcast|all|any)"
    r"|(?:intel_)?sub_group_(shuffle(?:_xor|_up|_down)?)"
)


def is_of_group(function: str) -> bool:
    """Whether a function gives what all work-items of a group, or of a sub-group, hand to it."""
    return _OF_GROUP.fullmatch(function) is not None


@dataclass
class Together:
    """What work-items have handed to the functions of their group, by the call and the group."""

    arithmetic: Arithmetic
    given: dict[Any, dict[tuple[int, ...], tuple[Any, ...]]] = field(
        default_factory=dict[Any, dict[tuple[int, ...], tuple[Any, ...]]]
    )
    gave: dict[Any, Mapping[tuple[int, ...], Any]] = field(
        default_factory=dict[Any, Mapping[tuple[int, ...], Any]]
    )
    turns: dict[tuple[Any, int], int] = field(default_factory=dict[tuple[Any, int], int])
    sub_group: int = 0
    """How many work-items a sub-group has, each with the next number."""

    def found(self, it: Item, site: int, function: str, scalar: str, *given: Any) -> Stops:
        """What a call gives, once all of the group are there; it orders nothing in memory."""
        turn = self.turns.get((it, site), 0)
        self.turns[it, site] = turn + 1
        here: Any = it.group
        at, stop = it.lid[::-1], (str(site), False, False)
        if "sub_group" in function:
            x, y, z = it.lid
            number = x + it.ls[0] * (y + it.ls[1] * z)
            here, at = (it.group, number // self.sub_group), (0, 0, number % self.sub_group)
            stop = f"{site}{OF_SUB_GROUP}", False, False
        all_of_them = self.given.setdefault((here, site, turn), {})
        all_of_them[at] = given
        yield stop
        if (here, site, turn) not in self.gave:
            self.gave[here, site, turn] = self._given(function, scalar, all_of_them)
        return self.gave[here, site, turn][at]

    def _given(
        self, function: str, scalar: str, handed: Mapping[tuple[int, ...], tuple[Any, ...]]
    ) -> Mapping[tuple[int, ...], Any]:
        """What each work-item gets."""
        places = sorted(handed)
        values = [handed[at][0] for at in places]
        m = _OF_GROUP.fullmatch(function)
        assert m is not None, "cannot happen: a function of a group"
        if m[3] is not None:
            return {at: self._shuffled(m[3], at[-1], handed) for at in places}
        if OPEN in values:
            return dict.fromkeys(places, OPEN)
        if function.endswith("_group_broadcast"):
            return dict.fromkeys(places, self._broadcast(handed))
        if m[1] is None:
            return dict.fromkeys(places, self._truth(values, function.endswith("_all")))
        combine = self._combine(m[2], scalar)
        sums = list(itertools.accumulate(values, combine))
        if m[1] == "reduce":
            return dict.fromkeys(places, sums[-1])
        if m[1] == "scan_exclusive":
            sums = [self._neutral(m[2], scalar), *sums[:-1]]
        return dict(zip(places, sums, strict=True))

    def _broadcast(self, handed: Mapping[tuple[int, ...], tuple[Any, ...]]) -> Any:
        asked = [places for _, *places in handed.values()]
        if any(isinstance(n, Symbol) for places in asked for n in places):
            raise Undecided("whose value is broadcast depends on data")
        if any(places != asked[0] for places in asked):
            raise Fault("divergence", "work-items of one group ask for values of several of them")
        at = (*(int(n) for n in asked[0]), 0, 0)[:3]
        if at[::-1] not in handed:
            raise Fault("launch", f"no work-item {at} is in the group")
        return handed[at[::-1]][0]

    def _shuffled(
        self, how: str, lane: int, handed: Mapping[tuple[int, ...], tuple[Any, ...]]
    ) -> Any:
        """The value of another lane; open where there is none."""
        values, by = handed[0, 0, lane][:-1], handed[0, 0, lane][-1]
        if isinstance(by, Symbol):
            raise Undecided("from which lane a value is taken depends on data")
        other = {
            "shuffle": int(by), "shuffle_xor": lane ^ int(by),
            "shuffle_up": lane - int(by), "shuffle_down": lane + int(by),
        }[how]  # fmt: skip
        if len(values) == 2:  # Intel's take two values, and that of the other side beyond the ends
            outside = not 0 <= other < len(handed)
            return handed[0, 0, other % len(handed)][outside != (how == "shuffle_up")]
        beside = handed.get((0, 0, other))
        return OPEN if beside is None else beside[0]

    def _truth(self, values: Sequence[Any], every: bool) -> Any:
        joined = self.arithmetic.both if every else self.arithmetic.either
        found: Any = int(every)
        for v in values:
            found = joined(found, partial(_itself, v))
        return found if isinstance(found, Symbol) else int(bool(found))

    def _neutral(self, operation: str, scalar: str) -> Any:
        if scalar in FLOATS:
            number = {"add": 0.0, "min": math.inf, "max": -math.inf}[operation]
            return self.arithmetic.algebra.real(number, FLOATS[scalar])
        low, high = RANGES[scalar]
        return {"add": 0, "min": high, "max": low}[operation]

    def _combine(self, operation: str, scalar: str) -> Callable[[Any, Any], Any]:
        a = self.arithmetic.algebra
        if operation == "add":
            return self.arithmetic.operation("+", scalar)
        if scalar not in FLOATS:
            return lambda x, y: self.arithmetic.extreme(operation, scalar, x, y)
        if operation == "min":
            return lambda x, y: a.select(a.lt(y, x), y, x)
        return lambda x, y: a.select(a.lt(x, y), y, x)


def _itself(x: Any) -> Any:
    return x
