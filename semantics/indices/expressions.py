"""Index expressions: polynomials (see `sizes`) over bounded variables, quotients, remainders, min and max.

An index says which cell is accessed.  Every constructor simplifies as it builds, by divisibility of the
coefficients and by the range of values, so that the layout patterns of a term leave no trace in its kernel:
the transposed access of Lift's Figure 6 becomes `l_id*N + wg_id`.

>>> from relift import nat
>>> from relift.semantics.indices.expressions import divide, modulo, variable
>>> n, m = nat("n"), nat("m")
>>> wg_id, l_id = variable("wg_id", n), variable("l_id", m)
>>> i = wg_id * m + l_id
>>> divide(i, m) + modulo(i, m) * n
l_id*n + wg_id

Division rounds down.  The rules are stated in the module `rules`; each is a function here, which finds where the
rule applies.  Before an index is divided that may be negative, a multiple of the divisor is added.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from relift.semantics.indices.atoms import (
    Index,
    IndexAtom,
    Larger,
    Loaded,
    Quotient,
    Remainder,
    Smaller,
    Variable,
    depends_on,
    index_atom,
)
from relift.semantics.indices.ranges import (
    Bounds,
    bounded_once,
    bounds,
    surely_at_most,
    surely_within,
)
from relift.semantics.kept import Kept
from relift.semantics.syntax.monomials import Atom, Monomial
from relift.semantics.syntax.sizes import Size, SizeLike

_simplifying: ContextVar[bool] = ContextVar("whether indices are simplified", default=True)


@contextmanager
def simplifying(on: bool) -> Generator[None]:
    """With `on` false only constants are divided, and nothing is recombined: to see what the rules are worth.

    >>> from relift.semantics.indices.expressions import divide, simplifying, variable
    >>> from relift.semantics.syntax.sizes import Size
    >>> i = variable("i", 8)
    >>> with simplifying(False):
    ...     divide(4 * i, 4), divide(Size.of(9), 4)
    (((4*i) / 4), 2)
    """
    token = _simplifying.set(on)
    try:
        yield
    finally:
        _simplifying.reset(token)


def variable(name: str, extent: SizeLike) -> Index:
    """The index that is just a variable; the constant 0 when that is its only value.

    >>> from relift.semantics.indices.expressions import variable
    >>> variable("i", 4), variable("i", 1)
    (i, 0)
    """
    extent = Size.of(extent)
    return Size.of(0) if extent == 1 else Size.atom(Variable(name, extent))


def divide(e: Index, d: SizeLike) -> Index:
    """`e / d` rounded down, simplified; d is at least 1.

    >>> from relift.semantics.indices.expressions import divide, variable
    >>> i, j = variable("i", 8), variable("j", 4)
    >>> divide(4 * i + j, 4), divide(8 * i + j, 16), divide(i, 3)
    (i, ((i) / 2), ((i) / 3))
    """
    return divide_with_remainder(e, Size.of(d))[0]


def modulo(e: Index, d: SizeLike) -> Index:
    """`e % d`, never negative, simplified; d is at least 1.

    >>> from relift.semantics.indices.expressions import modulo, variable
    >>> i, j = variable("i", 8), variable("j", 4)
    >>> modulo(4 * i + j, 4), modulo(8 * i + j, 16), modulo(i - 1, 8)
    (j, 8*((i) % 2) + j, ((i + 7) % 8))
    """
    return divide_with_remainder(e, Size.of(d))[1]


_divided: Kept[tuple[Index, Size, bool], tuple[Index, Index]] = Kept("indices that were divided")


@contextmanager
def indexed_once() -> Generator[None]:
    """An index is divided once inside, and its range found once: kernels that differ in little else have the same.

    Indices are equal whatever the sizes that they name are at least; so inside are kernels for one program.

    >>> from relift.semantics.indices.expressions import divide, indexed_once, variable
    >>> with indexed_once():
    ...     [divide(variable("i", 8), 3) for _ in range(2)]
    [((i) / 3), ((i) / 3)]
    """
    with _divided.once(), bounded_once():
        yield


def divide_with_remainder(e: Index, d: Size) -> tuple[Index, Index]:
    """`(q, r)` with `e == d*q + r` and `0 <= r < d`: all rules, in the order of `rules.RULES`."""
    return _divided.known((e, d, _simplifying.get()), lambda: _divided_by(e, d))


def _divided_by(e: Index, d: Size) -> tuple[Index, Index]:
    if d == 0:  # no element of an array of no elements is ever asked for
        return Size.of(0), e
    if not _simplifying.get() and e.constant is None and d != 1:
        dividend = e + shift(e, d) * d
        return Size.atom(Quotient(dividend, d)) - shift(e, d), Size.atom(Remainder(dividend, d))
    quotient, rest = parts_by_divisibility(recombined(e), d)
    k = quotient_by_range(rest, d)
    if k is not None:
        return quotient + k, rest - k * d
    factored = common_factor(rest, d)
    if factored is not None:
        g, x, s = factored
        q, r = divide_with_remainder(x, d // g)
        return recombined(quotient + q), recombined(g * r + s)
    shifted = shift(rest, d)
    dividend = rest + shifted * d
    q, r = Size.atom(Quotient(dividend, d)), Size.atom(Remainder(dividend, d))
    return recombined(quotient + q - shifted), r


def parts_by_divisibility(e: Index, d: Size) -> tuple[Index, Index]:
    """`(q, r)` with `e == d*q + r`, where q takes every term that the leading term of d divides.

    >>> from relift import nat
    >>> from relift.semantics.indices.expressions import parts_by_divisibility, variable
    >>> n, i, j = nat("n"), variable("i", 8), variable("j", 4)
    >>> parts_by_divisibility(n * i + i + j, n + 1)
    (i, j)
    """
    lead = d.ordered()[0]
    quotient, rest = Size.of(0), Size.of(0)
    remaining = e
    while remaining.terms:
        monomial, c = remaining.ordered()[0]
        step = _term_quotient((monomial, c), lead)
        if step is None:
            term = Size({monomial: c})
            rest, remaining = rest + term, remaining - term
        else:
            quotient, remaining = quotient + step, remaining - step * d
    return quotient, rest


def _term_quotient(term: tuple[Monomial, int], lead: tuple[Monomial, int]) -> Size | None:
    """The exact quotient of two terms; of two constants the one rounded down."""
    (monomial, c), (divisor, by) = term, lead
    if not monomial and not divisor:
        return Size.of(c // by) if c // by else None
    if not divisor and c % by:
        return None
    return Size({monomial: c}).divided_by(Size({divisor: by}))


def quotient_by_range(r: Index, d: Size) -> Size | None:
    """The k with `k*d <= r < (k+1)*d` for all values of the variables, or None."""
    low = bounds(r).low
    if low is None:
        return None
    k = Size.of(0)
    if low.constant is not None and d.constant is not None:
        k = Size.of(low.constant // d.constant)
    return k if surely_within(r - k * d, d) else None


def common_factor(r: Index, d: Size) -> tuple[Size, Index, Index] | None:
    """`(g, x, s)` with `r == g*x + s`, g a divisor of d and `0 <= s < g`, for the largest such g; or None."""
    if len(d.terms) != 1:
        return None
    candidates = {_term_gcd(term, next(iter(d.terms.items()))) for term in r.terms.items()}
    for g in sorted(candidates - {Size.of(1), d}, key=lambda g: -max(g.terms.values())):
        x, s = parts_by_divisibility(r, g)
        if x.terms and surely_within(s, g):
            return g, x, s
    return None


def _term_gcd(left: tuple[Monomial, int], right: tuple[Monomial, int]) -> Size:
    powers = dict(right[0])
    shared = tuple((a, min(p, powers[a])) for a, p in left[0] if a in powers)
    return Size({shared: math.gcd(left[1], right[1])})


def shift(r: Index, d: Size) -> int:
    """The least k with `r + k*d >= 0`, 0 when r is never negative or nothing is known."""
    low = bounds(r).low
    if low is None or low.surely_at_least(0):
        return 0
    if low.constant is None or d.constant is None:
        return 1 if (low + d).surely_at_least(0) else 0
    return -(low.constant // d.constant)


def recombined(e: Index) -> Index:
    """`d*(x / d) + x % d = x`, wherever both occur with fitting coefficients.

    >>> from relift.semantics.indices.expressions import divide, modulo, recombined, variable
    >>> i = variable("i", 12)
    >>> recombined(5 * divide(i, 5) + modulo(i, 5))
    i
    """
    if not _simplifying.get():
        return e
    for monomial, c in e.ordered():
        for atom, power in monomial:
            if not isinstance(atom, Remainder) or power != 1:
                continue
            others = Size({tuple(item for item in monomial if item[0] != atom): c})
            whole = others * atom.divisor * Size.atom(Quotient(atom.dividend, atom.divisor))
            if all(e.terms.get(m) == k for m, k in whole.terms.items()):
                return recombined(e - whole - Size({monomial: c}) + others * atom.dividend)
    return e


def minimum(a: Index, b: Index) -> Index:
    """The smaller of two indices; one of them when their ranges decide.

    >>> from relift.semantics.indices.expressions import variable
    >>> from relift.semantics.syntax.sizes import Size
    >>> from relift.semantics.indices.expressions import minimum
    >>> i = variable("i", 8)
    >>> minimum(i, Size.of(9)), minimum(i, Size.of(3))
    (i, min(i, 3))
    """
    if surely_at_most(a, b):
        return a
    return b if surely_at_most(b, a) else Size.atom(Smaller(a, b))


def maximum(a: Index, b: Index) -> Index:
    """The larger of two indices; one of them when their ranges decide.

    >>> from relift.semantics.indices.expressions import variable
    >>> from relift.semantics.syntax.sizes import Size
    >>> from relift.semantics.indices.expressions import maximum
    >>> i = variable("i", 8)
    >>> maximum(i, Size.of(0)), maximum(i - 1, Size.of(0))
    (i, max(i - 1, 0))
    """
    if surely_at_most(b, a):
        return a
    return b if surely_at_most(a, b) else Size.atom(Larger(a, b))


def clamp(e: Index, extent: Size) -> Index:
    """The index in `[0, extent)` that is nearest to e; extent is at least 1."""
    return minimum(maximum(e, Size.of(0)), extent - 1)


def calculated(function: str, of: Sequence[Index]) -> Index | None:
    """What a scalar function of 32-bit whole numbers gives of indices; None where another number may come of it, which wraps around.

    >>> from relift.semantics.indices.expressions import calculated, variable
    >>> i = variable("i", 8)
    >>> calculated("add", [i, i - 1]), calculated("add", [i, i + 2**31 - 8]), calculated("modulo", [i - 1, i])
    (2*i - 1, None, None)
    """
    if function in ("floor_divide", "modulo"):
        e, d = of
        if not surely_at_most(Size.of(0), e) or (d.constant or 0) < 1:
            return None
    found = _CALCULATED[function](*of) if function in _CALCULATED else None
    fits = found is not None and _fits(bounds(found))
    return found if fits else None


_CALCULATED: Mapping[str, Callable[..., Index]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "minimum": minimum, "maximum": maximum,
    "floor_divide": divide, "modulo": modulo, "i32": lambda same: same,
}  # fmt: skip


def _fits(range: Bounds) -> bool:
    """Whether whole numbers of 32 bits hold all of a range."""
    low, high = (None if end is None else end.constant for end in (range.low, range.high))
    return low is not None and high is not None and low >= -(2**31) and high < 2**31


def substitute(e: Index, v: Index, value: Index) -> Index:
    """e with the variable v replaced, simplified again.

    >>> from relift.semantics.indices.expressions import divide, variable
    >>> from relift.semantics.syntax.sizes import Size
    >>> from relift.semantics.indices.expressions import substitute
    >>> i = variable("i", 8)
    >>> substitute(divide(i, 3) + i, i, Size.of(5))
    6
    """
    if not v.terms or v.constant is not None or not depends_on(e, v):
        return e
    result = Size.of(0)
    for monomial, c in e.terms.items():
        product = Size.of(c)
        for atom, power in monomial:
            factor = value if atom in v.atoms() else _rebuilt(atom, v, value)
            for _ in range(power):
                product = product * factor
        result = result + product
    return recombined(result)


def _rebuilt(atom: Atom, v: Index, value: Index) -> Index:
    if not isinstance(atom, IndexAtom):
        return Size.atom(atom)
    match atom:
        case Quotient(e, d):
            return divide(substitute(e, v, value), d)
        case Remainder(e, d):
            return modulo(substitute(e, v, value), d)
        case Smaller(left, right):
            return minimum(substitute(left, v, value), substitute(right, v, value))
        case Larger(left, right):
            return maximum(substitute(left, v, value), substitute(right, v, value))
        case Loaded(memory, Size() as offset, extent):
            return Size.atom(Loaded(memory, substitute(offset, v, value), extent))
        case Variable() | Loaded():
            return Size.atom(atom)


def evaluate(e: Index, values: Mapping[str, int]) -> int:
    """The number that e is when each variable and each size has the given value.

    >>> from relift.semantics.indices.expressions import divide, variable
    >>> from relift.semantics.indices.expressions import evaluate
    >>> evaluate(divide(variable("i", 8) - 9, 3), {"i": 1})
    -3
    """
    total = 0
    for monomial, c in e.terms.items():
        for atom, power in monomial:
            c *= _evaluate_atom(atom, values) ** power
        total += c
    return total


def _evaluate_atom(atom: Atom, values: Mapping[str, int]) -> int:
    if isinstance(atom, str):
        return values[atom]
    match index_atom(atom):
        case Variable(name):
            return values[name]
        case Quotient(e, d):
            return evaluate(e, values) // evaluate(d, values)
        case Remainder(e, d):
            return evaluate(e, values) % evaluate(d, values)
        case Smaller(left, right):
            return min(evaluate(left, values), evaluate(right, values))
        case Larger(left, right):
            return max(evaluate(left, values), evaluate(right, values))
        case Loaded(name):
            assert name in values, f"cannot happen: {atom} is known when the kernel runs"
            return values[name]
