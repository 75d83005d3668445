"""What the code of translated kernels calls beside `arithmetic` and `machine`."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

from relift.compiler.foreign.ways.ways import Ways
from relift.compiler.validation.arithmetic import Arithmetic
from relift.compiler.validation.machine import Fault, Item, Undecided, Vectors
from relift.compiler.validation.symbols import OPEN, Symbol

Stops: TypeAlias = Generator[tuple[Any, bool, bool], None, Any]
"""A work-item that runs from barrier to barrier, and what it gives in the end."""


def placed(ways: Ways, it: Item, at: Any) -> Any:
    """Where a pointer points: one place, or one of several."""
    if at.__class__ is Symbol and at is not OPEN:
        found = ways.leaves(it, at)
        return found[0][1] if len(found) == 1 else at
    return int(at.__index__())


def beside(one: Any, other: Any, at: Any) -> Any:
    """A place in the first of two arrays, which are to be one."""
    if one is not other and (not isinstance(one, Vectors) or one != other):
        raise Undecided("pointers into two arrays are compared")
    return at


def sited(site: int, stops: Stops) -> Stops:
    """The barriers of a function, as those of one call of it; what it gives."""
    while True:
        try:
            number_, local, everywhere = next(stops)
        except StopIteration as end:
            return end.value
        yield f"{site}.{number_}", local, everywhere


def everywhere(it: Item) -> None:
    """Refuse a barrier where a work-item may be or not."""
    if it.under is not None:
        raise Undecided(f"{it} may be at a barrier or not, which depends on data")


SHORT = "where factors of mul24 and mad24 have 24 bits, without which OpenCL C leaves open what they give"
"""What is assumed of factors that data decide on."""


def short(arithmetic: Arithmetic, x: Any, ends: tuple[int, int]) -> Any:
    """A number that is checked to have 24 bits, or taken to have no more."""
    if isinstance(x, Symbol):
        if arithmetic.in_range is None:
            raise Undecided("a product of 24 bits depends on data")
        arithmetic.in_range.append(SHORT)
        return x
    if not ends[0] <= x <= ends[1]:
        raise Undecided(f"{x} has more than the 24 bits that are multiplied")
    return int(x)


def row(ways: Ways, it: Item, outer: Any, inner: Any, extent: int) -> Any:
    """The place of an element of a row of an array of rows."""
    if OPEN in (outer, inner):
        raise Fault("initialised", f"{it} indexes by what nothing was written to")
    if isinstance(inner, Symbol):
        for _, n in ways.leaves(it, inner, extent):
            if not 0 <= n < extent:
                raise Undecided(f"{it} may be at {n} of a row of {extent}, which depends on data")
    elif not 0 <= inner < extent:
        raise Fault("bounds", f"{it} is at {inner} of a row of {extent}")
    if isinstance(outer, Symbol):
        ways.leaves(it, outer)
        a = ways.algebra
        return ways.moved(a.mul(a.convert(outer, "i64"), a.whole(extent, "i64")), inner)
    return ways.moved(outer * extent, inner)
