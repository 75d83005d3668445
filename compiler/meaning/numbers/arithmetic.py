"""What C does to whole numbers that are not known, on the tables of `validation.arithmetic` for all else.

That a number with a sign stays in its type, and that a division rounds as C does, is proved here, or the kernel is
not decided.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.polynomials import Index, Whole
from relift.compiler.meaning.numbers.ranges import Split, is_free
from relift.compiler.text.c_types import FLOATS, RANGES
from relift.compiler.validation.arithmetic import Arithmetic, Function, fitted, quotient, wrapped
from relift.compiler.validation.machine import Fault, Item, Undecided
from relift.compiler.validation.symbols import BITS, OPEN, Scalar, Symbol


def split_by(truth: Symbol) -> None:
    """Raise `Split` where a condition was taken as one that splits a run, as no branch can take it."""
    if truth.op == "nonneg" and is_free(truth.args[0]):
        raise Split(truth.args[0])
    if truth.op in ("bitwise_and", "bitwise_or", "invert"):
        for part in truth.args:
            split_by(part)


class Indices(Arithmetic):
    """Arithmetic on numbers of which some are polynomials."""

    algebra: Folding

    def fits(self, x: Index, scalar: str) -> bool:
        """Whether a number surely lies in a type."""
        r = self.algebra.ranges
        low, high = RANGES[scalar]
        data = self.algebra.data_of(x)
        if data is not None and data.type in BITS:
            half = 1 << (BITS[data.type] - 1)
            if low <= -half and half - 1 <= high:
                return True
        below, above = r.interval(x)
        bounds = r.below if high >= RANGES["int"][1] else ()
        if (below is None or below < low) and not (
            r.nonnegative(x - low)
            or (low <= RANGES["int"][0] and any(r.nonnegative(n + x) for n in bounds))
        ):
            return False
        if above is not None and above <= high:
            return True
        return any(r.nonnegative(n - x) for n in bounds) or r.nonnegative(high - x)

    def fitted(self, x: Any, scalar: str) -> Any:
        """A result in its type."""
        if not isinstance(x, Index):
            return fitted(int(x), scalar)
        if not self.fits(x, scalar):
            raise Undecided(f"{x} may overflow {scalar}")
        return x

    def wrapped(self, x: Any, scalar: str) -> Any:
        """A number converted to a type."""
        return self.fitted(x, scalar) if isinstance(x, Index) else wrapped(int(x), scalar)

    def quotient(self, x: Any, y: Any) -> Any:
        """x / y towards zero."""
        if not isinstance(x, Index) and not isinstance(y, Index):
            return quotient(x, y)
        return self._towards_zero(x, y, lambda n: n // y)

    def _towards_zero(self, x: Any, y: Any, computed: Callable[[Any], Any]) -> Any:
        """What is computed of x and a divisor, where x has one sign: of -x it is the opposite."""
        r = self.algebra.ranges
        if not r.nonnegative(y - 1):
            raise Undecided(f"the divisor {y} may be 0")
        if r.nonnegative(x):
            return computed(x)
        if r.nonnegative(-x):
            return -computed(-x)
        raise Undecided(f"{x}, which is divided, may be below 0, or above")

    def compared(self, operator: str, x: Any, y: Any) -> Any:
        """A comparison of whole numbers: known, or the `int` of a condition."""
        if isinstance(x, Symbol) or isinstance(y, Symbol):
            return self.operation(operator, "long")(x, y)
        found = self.order(operator, x, y)
        return self.held(found) if isinstance(found, Symbol) else found

    def order(self, operator: str, x: Any, y: Any) -> Any:
        """Whether two numbers stand so; a condition where it is not known."""
        if not isinstance(x, Index) and not isinstance(y, Index):
            return self._known(operator, "long")(x, y)
        match operator:
            case "<":
                return x < y
            case "<=":
                return x <= y
            case ">":
                return x > y
            case ">=":
                return x >= y
            case "==" | "!=":
                equal = self._equal(x - y)
                if operator == "==":
                    return equal
                return self.algebra.invert(equal) if isinstance(equal, Symbol) else not equal
            case _:
                raise AssertionError(f"cannot happen: the comparison {operator}")

    def _equal(self, d: Whole) -> Any:
        r = self.algebra.ranges
        if not isinstance(d, Index):
            return d == 0
        if r.nonnegative(d - 1) or r.nonnegative(-1 - d):
            return False
        return self.neither_below(d, -d)

    def neither_below(self, x: Whole, y: Whole) -> Any:
        """Whether neither of two numbers is below 0: a truth value, or a condition."""
        first, second = map(self.algebra.ranges.decided, (x, y))
        if first is False or second is False:
            return False
        if first is True or second is True:
            return second if first is True else first
        return self.algebra.bits("and", first, second)

    def _of_wholes(self, operator: str, scalar: str) -> Function:
        plain = super()._of_wholes(operator, scalar)
        compares = operator in ("<", "<=", ">", ">=", "==", "!=")

        def function(x: Any, y: Any) -> Any:
            if x.__class__ is not Index and y.__class__ is not Index:
                return plain(x, y)
            if isinstance(x, Symbol) or isinstance(y, Symbol):
                return plain(x, y)
            if compares:
                return self.compared(operator, x, y)
            if operator in ("+", "-", "*"):
                value = x + y if operator == "+" else x - y if operator == "-" else x * y
                return self.fitted(value, scalar)
            if operator == "/":
                return self.quotient(x, y)
            if operator == "%":
                return self._towards_zero(x, y, lambda n: n % y)
            return self._bits(operator, scalar, x, y)

        return function

    def _bits(self, operator: str, scalar: str, x: Any, y: Any) -> Any:
        """Shifts and masks by known powers of two."""
        r = self.algebra.ranges
        if not isinstance(y, Index) and r.nonnegative(x):
            if operator == "<<" and 0 <= y < 31:
                return self.fitted(x * (1 << y), scalar)
            if operator == ">>" and 0 <= y < 63:
                return x // (1 << y)
            if operator == "&" and y >= 0 and y & (y + 1) == 0:
                return x % (y + 1) if y else 0
        raise Undecided(f"{x} {operator} {y}")

    def _may_overflow(self, operator: str) -> Callable[[Symbol, Symbol], Symbol]:
        def computed(x: Symbol, y: Symbol) -> Symbol:
            u, v = self.algebra.number(x), self.algebra.number(y)
            if operator not in ("+", "-", "*"):
                raise Undecided(f"{x} {operator} {y}, with a sign, may overflow")
            value = u + v if operator == "+" else u - v if operator == "-" else u * v
            if isinstance(value, Index) and not self.fits(value, "int"):
                raise Undecided(f"{x} {operator} {y}, with a sign, may overflow")
            return self.algebra.whole(value, x.type)

        return computed

    def negative(self, scalar: str, x: Scalar) -> Scalar:
        """-x."""
        return self.fitted(-x, scalar) if isinstance(x, Index) else super().negative(scalar, x)

    def refused(self, scalar: str, x: Scalar) -> Scalar:
        """!x."""
        if isinstance(x, Index):
            return self.compared("==", x, 0)
        if isinstance(x, Symbol) and x is not OPEN:
            return self.held(self.algebra.invert(self.algebra.truth(x)))
        return super().refused(scalar, x)

    def mask(self, scalar: str, x: Scalar) -> Scalar:
        """The result of a comparison as a lane."""
        return super().mask(scalar, x)

    def converted(self, before: str, after: str, x: Scalar) -> Scalar:
        """A scalar of one type in another."""
        if isinstance(x, Index):
            if after in FLOATS:
                kind = "i64" if "long" in before else "i32"
                return self.algebra.convert(self.algebra.whole(x, kind), FLOATS[after])
            return self.wrapped(x, after)
        return super().converted(before, after, x)

    def extreme(self, which: str, scalar: str, x: Any, y: Any) -> Any:
        """`min` or `max` of whole numbers."""
        data = isinstance(x, Symbol) or isinstance(y, Symbol)
        if not data and (isinstance(x, Index) or isinstance(y, Index)):
            u, v = self.algebra.number(x), self.algebra.number(y)
            return self.algebra.ranges.extreme("min" if which == "min" else "max", u, v)
        return super().extreme(which, scalar, x, y)

    def absolute(self, scalar: str, x: Any) -> Any:
        """`abs` of a whole number."""
        if isinstance(x, Index):
            return x if x >= 0 else -x
        return super().absolute(scalar, x)

    # ---- decisions

    def choose(self, c: Scalar, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """`c ? yes : no`; both, where c is not known."""
        if isinstance(c, Index):
            c = self.compared("!=", c, 0)
        if isinstance(c, Symbol) and c.op == "i32" and c.args[0].op == "whole":
            c = int(c.args[0].args[0])
        if not isinstance(c, Symbol):
            return yes() if c else no()
        x, y = yes(), no()
        if isinstance(x, tuple):
            return tuple([self.picked(c, p, q) for p, q in zip(x, y, strict=True)])
        return self.picked(c, x, y)

    def picked(self, c: Scalar, x: Scalar, y: Scalar) -> Scalar:
        """x where c is not 0, else y."""
        if isinstance(c, Symbol) and (isinstance(x, Index) or isinstance(y, Index)):
            kinds = [v.type for v in (x, y) if isinstance(v, Symbol)]
            kind = kinds[0] if kinds else "i64"
            a = self.algebra
            x, y = a.lift(x, kind), a.lift(y, kind)
        return super().picked(c, x, y)

    def _either(self, x: Scalar, y: Callable[[], Scalar], *, stops: bool, operator: str) -> Scalar:
        if isinstance(x, Index):
            x = self.compared("!=", x, 0)
        if not isinstance(x, Symbol):
            if bool(x) == stops:
                return stops
            return y()
        right = y()
        if isinstance(right, Index):
            right = self.compared("!=", right, 0)
        a = self.algebra
        other = a.truth(right) if isinstance(right, Symbol) else a.whole(int(bool(right)), "bool")
        if x is OPEN or other is OPEN:
            return OPEN
        return self.held(a.bits(operator, a.truth(x), other))

    def decided(self, it: Item, c: Scalar) -> bool:
        """A condition of control flow, which must be known, or split into cases."""
        found = self.asked(it, c)
        if isinstance(found, Symbol):
            raise Undecided(f"a branch depends on {c}")
        return found

    def asked(self, it: Item, c: Scalar) -> bool | Symbol:
        """A condition of control flow: known, split into cases, or left to data."""
        if isinstance(c, Index):
            c = self.compared("!=", c, 0)
        if not isinstance(c, Symbol):
            return bool(c)
        if c is OPEN:
            raise Fault("initialised", f"{it} branches on what nothing was written to")
        truth = self.algebra.truth(c)
        if truth.op == "whole":
            return bool(truth.args[0])
        split_by(truth)
        return truth

    def moved(self, place: Any, by: Any) -> Any:
        """A place in an array, moved."""
        if place is OPEN or by is OPEN:
            return OPEN
        return self.algebra.number(place) + self.algebra.number(by)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What the code of a kernel calls."""
        return {
            **super().environment,
            "asked": self.asked, "moved": self.moved, "moved_back": lambda p, by: self.moved(p, -self.algebra.number(by)),
            "fitted": self.fitted, "wrapped": self.wrapped,
            "quotient": self.quotient, "compared": self.compared,
            "smallest": lambda x, y: self.algebra.ranges.extreme("min", x, y),
            "largest": lambda x, y: self.algebra.ranges.extreme("max", x, y),
        }  # fmt: skip
