"""Indices in C: polynomials of sizes and variables as expressions of the tree, large strides first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from relift.compiler.text.tree import (
    Binary,
    Element,
    Expression,
    Name,
    Prefix,
    Whole,
    bare,
    call,
    wrapped,
)
from relift.semantics.errors import Unsupported
from relift.semantics.indices.atoms import (
    Index,
    IndexAtom,
    Larger,
    Loaded,
    Quotient,
    Remainder,
    Smaller,
    Variable,
)
from relift.semantics.indices.ranges import surely_at_most
from relift.semantics.syntax.monomials import Atom, Monomial
from relift.semantics.syntax.sizes import Size


def index_code(e: Index, *, long: bool = False) -> Expression:
    """e in C; with `long`, so are the constants of `min` and `max`, whose arguments need one type.

    Raises `Unsupported` when something divided may be negative: C rounds towards zero, indices down.

    >>> from relift.compiler.codegen.values.indices import index_code
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.semantics.indices.expressions import modulo, variable
    >>> i = variable("i", 8)
    >>> [Printer().expression(index_code(e)) for e in (16 * i + modulo(i, 3) - 1, -2 * i)]
    ['16*i + i % 3 - 1', '-2*i']
    """
    return _sum(_terms(e, long), None)


def address(array: Name, e: Index, *, long: bool = False) -> Expression:
    """The pointer to cell e of an array."""
    return array if e == 0 else _sum(_terms(e, long), array)


def _terms(e: Index, long: bool) -> Iterator[tuple[bool, Expression]]:
    """The terms of a sum, and whether each is subtracted."""
    for monomial, c in sorted(e.ordered(), key=_printed_order):
        factors = [_atom(atom, long) for atom, power in monomial for _ in range(power)]
        if len(factors) == 1 and abs(c) == 1:
            factors = [bare(factors[0])]  # / and % bind closer than + and -
        if abs(c) != 1 or not factors:
            factors.insert(0, Whole(abs(c)))
        yield c < 0, reduce(lambda x, y: Binary("*", x, y), factors)


def _sum(terms: Iterator[tuple[bool, Expression]], start: Expression | None) -> Expression:
    total = start
    for negative, term in terms:
        if total is None:
            total = negated(term) if negative else term
        elif negative:
            total = Binary("-", total, term, set="signed" if total is start else "tight")
        else:
            total = Binary("+", total, term)
    return Whole(0) if total is None else total


def negated(e: Expression) -> Expression:
    """A product with its first factor negated."""
    if isinstance(e, Binary) and not e.parentheses:
        return replace(e, left=negated(e.left))
    return Prefix("-", e)


def unsigned(e: Expression) -> Expression | None:
    """A product without the sign of its first factor; None where it has none."""
    if e.parentheses:
        return None
    if isinstance(e, Binary) and e.operator not in ("+", "-"):
        first = unsigned(e.left)
        return None if first is None else replace(e, left=first)
    return e.operand if isinstance(e, Prefix) and e.operator == "-" else None


def _printed_order(term: tuple[Monomial, int]) -> tuple[bool, int]:
    """Large strides first, then constants: how one reads an address."""
    monomial, c = term
    return not monomial, -abs(c)


def _atom(atom: Atom, long: bool) -> Expression:
    if not isinstance(atom, IndexAtom):
        return Name(str(atom))
    match atom:
        case Quotient(e, d) | Remainder(e, d):
            if not surely_at_most(Size.of(0), e):
                names = ", ".join(sorted(e.names() | d.names()))
                hint = f"; fix {names}, or state larger least values" if names else ""
                raise Unsupported(f"the index {atom} divides {e}, which may be negative{hint}")
            sign = "/" if isinstance(atom, Quotient) else "%"
            return wrapped(Binary(sign, _operand(e, long), _operand(d, long)))
        case Smaller(left, right) | Larger(left, right):
            name = "min" if isinstance(atom, Smaller) else "max"
            return call(name, _argument(left, long), _argument(right, long))
        case Loaded(memory, Size() as offset):
            return Element(Name(memory), index_code(offset, long=long))
        case Variable() | Loaded():
            return Name(str(atom))


def _operand(e: Index, long: bool) -> Expression:
    code = index_code(e, long=long)
    return code if isinstance(code, Name | Whole) else wrapped(code)


def _argument(e: Index, long: bool) -> Expression:
    if e.constant is None:
        return index_code(e, long=long)
    value = Whole(abs(e.constant), long)
    return negated(value) if e.constant < 0 else value
