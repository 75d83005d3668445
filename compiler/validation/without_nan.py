"""Values that are equal where nothing is NaN: maxima and minima, however they are written."""

from __future__ import annotations

from collections import Counter
from typing import Any

from relift.compiler.validation.regrouping import Reassociation, in_both, parts_beside
from relift.compiler.validation.symbols import BITS, Symbol, value_of

NOTE = "where nothing that is compared is NaN, and 0 and -0 are one"
"""What is assumed of such values."""


class WithoutNaN(Reassociation):
    """The normal form of `Reassociation`, in which the larger of two is one thing: `maximum`, `fmax` or a selection.

    >>> from relift.compiler.validation.symbols import Algebra
    >>> from relift.compiler.validation.without_nan import WithoutNaN
    >>> a = Algebra()
    >>> x, y, z = (a.cell("x", i, "f32") for i in range(3))
    >>> def larger(x, y):
    ...     return a.select(a.lt(x, y), y, x)
    >>> normal = WithoutNaN(a)
    >>> normal(larger(larger(x, y), z)) is normal(larger(x, larger(z, y)))
    True
    >>> size = a.made("absolute", "f32", x)
    >>> normal(larger(a.real(0, "f32"), size)) is normal(size)
    True
    """

    def _made(self, x: Symbol, inner: Any) -> Symbol:
        made = super()._made(x, inner)
        if made.type in BITS:
            return made
        match made.op, made.args:
            case "not_equal" | "equal" as op, (a, b) if a is b:
                return self.algebra.whole(int(op == "equal"), "bool")
            case "any_mul", word if (truth := _truth_in(word)) is not None:
                rest = [v for v in word if v is not truth]
                return self._selected(
                    truth.args[0], self._chain(made.type, rest), self.algebra.real(0.0, made.type)
                )
            case "any_add", word:
                return self._without_opposites(made, word)
            case "select", (c, a, b):
                return self._selected(c, a, b)
            case "maximum" | "minimum" as op, (a, b):
                return self._extreme(op, a, b)
            case _:
                return made

    def _without_opposites(self, x: Symbol, word: tuple[Symbol, ...]) -> Symbol:
        """A sum without what is added and taken away again."""
        counts = Counter(word)
        for v in filter(_is_negative, list(counts)):
            if (other := self._negated(v)) in counts and other is not v:
                common = min(counts[v], counts[other])
                counts[v] -= common
                counts[other] -= common
        kept = list(counts.elements())
        return x if len(kept) == len(word) else self._sum(x.type, kept)

    def _selected(self, c: Symbol, a: Symbol, b: Symbol) -> Symbol:
        if c.op in ("lt", "le") and {*c.args} == {a, b}:
            return self._extreme("maximum" if c.args[0] is b else "minimum", a, b)
        if common := in_both(a, b):
            rest = [self._sum(a.type, parts_beside(v, common)) for v in (a, b)]
            return self._sum(a.type, [*common.elements(), self._selected(c, *rest)])
        return self.algebra.select(c, a, b)

    def _extreme(self, op: str, a: Symbol, b: Symbol) -> Symbol:
        """The largest or the smallest of several, of which each counts once."""
        parts = {p for v in (a, b) for p in (v.args if v.op == f"any_{op}" else (v,))}
        least = self._neutral(op, a.type)
        left = {v for v in self._without_least(op, parts) if v is not least}
        kept = sorted(left or parts, key=lambda v: v.number)
        return kept[0] if len(kept) == 1 else self.algebra.made(f"any_{op}", a.type, *kept)

    def _without_least(self, op: str, parts: set[Symbol]) -> set[Symbol]:
        """What is left where numbers up to 0 stand beside a magnitude, which is never the smaller."""
        if op == "minimum" or not any(v.op == "absolute" for v in parts):
            return parts
        return {v for v in parts if v.op != "real" or value_of(v) > 0}

    def _neutral(self, op: str, type_: str) -> Symbol | None:
        """What never is the larger, or the smaller, of two."""
        if not type_.startswith("f"):
            return None
        return self.algebra.real(float("-inf" if op == "maximum" else "inf"), type_)


def _is_negative(v: Symbol) -> bool:
    """Whether a part of a sum has a number below 0 as a factor: of what is taken away one side has."""
    word = v.args if v.op == "any_mul" else (v,)
    return any(u.op == "real" and value_of(u) < 0 for u in word)


def _truth_in(word: tuple[Symbol, ...]) -> Symbol | None:
    """A factor that is 1 where a condition holds, and 0 elsewhere."""
    return next((v for v in word if v.op == v.type and v.args[0].type == "bool"), None)
