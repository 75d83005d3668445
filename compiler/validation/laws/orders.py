"""Values that are the same one of several, in whichever way smallest and largest ones are taken.

What is made by minima and maxima alone is equal to another such value for all numbers if it is where each number is 0 or
1: a network that sorts is right if it sorts these (Knuth, The Art of Computer Programming, volume 3, section 5.3.4).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import pairwise

from relift.compiler.validation.operations import Operation, Variadic, read_as
from relift.compiler.validation.symbols import Symbol, parts_first, value_of

MOST_VALUES = 16
"""Of more values not all choices of 0 and 1 are tried."""

_ENDS: Mapping[Operation, tuple[bool, Callable[[int, int], int]]] = {
    Variadic(read_as(end, unsigned=unsigned)): (unsigned, where_1)
    for end, where_1 in (("minimum", operator.and_), ("maximum", operator.or_))
    for unsigned in (False, True)
}
"""Whether the smallest or largest of several is one without signs, and what it is where all are 0 or 1."""


def same_in_order(x: Symbol, y: Symbol) -> bool:
    """Whether two values are equal by the order of what they are chosen from alone; both are in a normal form.

    >>> from relift.compiler.validation.laws.orders import same_in_order
    >>> from relift.compiler.validation.operations import Variadic
    >>> from relift.compiler.validation.symbols import Algebra
    >>> a = Algebra()
    >>> x, y, z = (a.cell("x", i, "f32") for i in range(3))
    >>> def least(*v): return a.made(Variadic("minimum"), "f32", *v)
    >>> def most(*v): return a.made(Variadic("maximum"), "f32", *v)
    >>> same_in_order(most(x, least(y, z)), least(most(x, y), most(x, z)))
    True
    >>> same_in_order(most(x, least(y, z)), least(most(x, y), z))
    False
    """
    if x is y:
        return True
    orders = {_ENDS[v.op][0] for v in (x, y) if v.op in _ENDS}
    if len(orders) != 1:
        same = not orders and x.op == y.op and x.type == y.type and len(x.args) == len(y.args)
        return same and bool(x.args) and all(map(_same_part, x.args, y.args))
    [unsigned] = orders
    values = _values_of((x, y), unsigned)
    if len(values) > MOST_VALUES:
        return False
    all_ = (1 << (1 << len(values))) - 1
    known = {v: all_ // ((1 << (1 << i)) + 1) for i, v in enumerate(values)}
    a, b = (_where_1(v, known) for v in (x, y))
    return not (a ^ b) & _possible(values, known, all_, unsigned)


def _same_part(u: object, v: object) -> bool:
    return same_in_order(u, v) if isinstance(u, Symbol) and isinstance(v, Symbol) else u == v


def _is_chosen(v: Symbol, unsigned: bool) -> bool:
    return v.op in _ENDS and _ENDS[v.op][0] == unsigned


def _values_of(chosen: Sequence[Symbol], unsigned: bool) -> list[Symbol]:
    """What values are chosen from, up to one more than is tried."""
    found: dict[Symbol, None] = {}
    seen: set[Symbol] = set()
    todo = list(chosen)
    while todo and len(found) <= MOST_VALUES:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        if _is_chosen(v, unsigned):
            todo += v.args
        else:
            found[v] = None
    return list(found)


def _where_1(x: Symbol, known: dict[Symbol, int]) -> int:
    """For which choices of 0 and 1 a value is 1, a bit for each choice."""

    def made(v: Symbol) -> int:
        return reduce(_ENDS[v.op][1], [known[u] for u in v.args])

    return parts_first(x, known, lambda v: v.args, made)


def _possible(values: Sequence[Symbol], known: dict[Symbol, int], all_: int, unsigned: bool) -> int:
    """The choices in which no constant is above a larger one."""
    constants = [v for v in values if v.op == "real" or (v.op == "whole" and not unsigned)]
    constants = [v for v in constants if not math.isnan(value_of(v))]
    constants.sort(key=value_of)
    for low, high in pairwise(constants):
        all_ &= known[high] | ~known[low]
    return all_
