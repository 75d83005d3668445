"""Whole numbers of 8 and 16 bits, which programs do not have: they are i32 of which the lowest bits count.

A value of that many bits is the number without sign that its bits are; where C takes it for one with a sign, it is turned into that.
Which numbers an expression can be is found out by intervals, so nothing is cut off where nothing can be beyond.
"""

from __future__ import annotations

from relift.compiler.idioms.facts.values.terms import (
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Index,
    Read,
    Search,
    Value,
    select,
)

CELLS = {
    "u8": (0, 255), "s8": (-128, 127), "u16": (0, 65535), "s16": (-32768, 32767), "truth": (0, 1),
}  # fmt: skip
"""What cells of memory that are narrower than numbers of programs hold."""


def kept(e: Expression, bits: int) -> Expression:
    """The lowest bits of a number, as a number without sign.

    >>> from relift.compiler.idioms.facts.values.terms import Constant, Read
    >>> from relift.compiler.idioms.facts.values.narrow import kept, signed
    >>> kept(Constant(-1, "i32"), 8), signed(Constant(255, "i32"), 8)
    (Constant(value=255, type='i32'), Constant(value=-1, type='i32'))
    """
    mask = 2**bits - 1
    if isinstance(e, Constant):
        return Constant(int(e.value) & mask, "i32")
    if fits(e, 0, mask):
        return e
    if isinstance(e, Apply) and e.function == "bitwise_and" and _is_mask(e.arguments[1], mask):
        return kept(e.arguments[0], bits)
    return Apply("bitwise_and", (e, Constant(mask, "i32")), "i32")


def signed(e: Expression, bits: int) -> Expression:
    """What the lowest bits of a number are as a number with a sign."""
    half = 2 ** (bits - 1)
    if isinstance(e, Constant):
        return Constant((int(e.value) + half) % (2 * half) - half, "i32")
    if isinstance(e, Apply) and e.function == "bitwise_and" and _is_mask(e.arguments[1], half):
        inner = e.arguments[0]
        if fits(inner, -half, half - 1):
            return inner
    if fits(e, 0, half - 1):
        return e
    below = Apply("lt", (e, Constant(half, "i32")), "boolean")
    return select(below, e, Apply("sub", (e, Constant(2 * half, "i32")), "i32"))


def as_cell(e: Expression, cells: str) -> Expression:
    """A value of few bits as the number that a cell of memory holds."""
    if cells not in CELLS:
        return e
    least, most = CELLS[cells]
    return signed(e, (most - least).bit_length()) if least < 0 else e


def as_value(e: Expression, cells: str, bits: int) -> Expression:
    """The number that a cell of memory holds as a value of so many bits."""
    return kept(e, bits) if cells in CELLS else e


def fits(e: Expression, least: int, most: int) -> bool:
    """Whether a number is surely between two."""
    found = interval(e)
    return found is not None and least <= found[0] and found[1] <= most


def interval(e: Expression) -> tuple[int, int] | None:
    """The least and the greatest number that an expression can be, where that is seen; nothing wraps between them.

    >>> from relift.compiler.idioms.facts.values.terms import Apply, Constant, Value
    >>> from relift.compiler.idioms.facts.values.narrow import interval
    >>> interval(Apply("bitwise_and", (Value("%x", "i32"), Constant(15, "i32")), "i32"))
    (0, 15)
    """
    match e:
        case Constant(value, "i32" | "i64"):
            return int(value), int(value)
        case Read(cells=cells) if cells in CELLS:
            return CELLS[cells]
        case Apply(type="i32" | "i64"):
            return _of_function(e)
        case Constant() | Read() | Apply() | Value() | Index() | Accumulator() | Fold() | Search():
            return None


def _of_function(e: Apply) -> tuple[int, int] | None:
    ends = [interval(a) for a in e.arguments]
    if e.function == "bitwise_and":
        masks = [x[1] for x in ends if x is not None and x[0] >= 0]
        return (0, min(masks)) if masks else None
    if e.function == "select":
        yes, no = _chosen(e, ends[1], ends[2])
        return (min(yes[0], no[0]), max(yes[1], no[1])) if yes and no else None
    known = [x for x in ends if x is not None]
    if len(known) < len(ends):
        return None
    if e.function in ("i32", "i64"):
        return _within(known[0], e.type)
    if len(known) != 2:
        return None
    return _of_two(e, *known)


def _of_two(e: Apply, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int] | None:
    match e.function:
        case "add":
            return _within((a[0] + b[0], a[1] + b[1]), e.type)
        case "sub":
            return _within((a[0] - b[1], a[1] - b[0]), e.type)
        case "mul":
            products = [x * y for x in a for y in b]
            return _within((min(products), max(products)), e.type)
        case "minimum":
            return min(a[0], b[0]), min(a[1], b[1])
        case "maximum":
            return max(a[0], b[0]), max(a[1], b[1])
        case "floor_divide" if b[0] == b[1] and b[0] > 0:
            return a[0] // b[0], a[1] // b[0]
        case "bitwise_or" | "bitwise_xor" if a[0] >= 0 and b[0] >= 0:
            return 0, 2 ** max(a[1], b[1]).bit_length() - 1
        case _:
            return None


def _chosen(
    e: Apply, yes: tuple[int, int] | None, no: tuple[int, int] | None
) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """What both ways of a choice can be, where a comparison with a number decides it."""
    test, first, second = e.arguments
    if not isinstance(test, Apply) or len(test.arguments) != 2:
        return yes, no
    left, right = test.arguments
    bound = interval(right)
    if bound is None or test.function not in _LOWER:
        return yes, no
    lower, upper = _LOWER[test.function]
    huge = 2**63
    below, above = (-huge, bound[1] + lower), (bound[0] + upper, huge)
    if test.function in ("gt", "ge"):
        below, above = above, below
    if left == first:
        yes = _both(yes, below, e.type)
    if left == second:
        no = _both(no, above, e.type)
    return yes, no


_LOWER = {"lt": (-1, 0), "le": (0, 1), "gt": (0, 1), "ge": (-1, 0)}
"""Of each comparison with a number: the greatest below and the least above it, from that number on."""


def _both(
    known: tuple[int, int] | None, bound: tuple[int, int], kind: str
) -> tuple[int, int] | None:
    end = 2 ** (31 if kind == "i32" else 63)
    least, most = known or (-end, end - 1)
    least, most = max(least, bound[0]), min(most, bound[1])
    return (least, most) if least <= most else known


def _within(ends: tuple[int, int], kind: str) -> tuple[int, int] | None:
    bound = 2 ** (31 if kind == "i32" else 63)
    return ends if -bound <= ends[0] and ends[1] < bound else None


def _is_mask(e: Expression, least: int) -> bool:
    """Whether a number is all ones, and at least so large."""
    return (
        isinstance(e, Constant) and int(e.value) >= least and (int(e.value) + 1) & int(e.value) == 0
    )
