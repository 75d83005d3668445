"""The operations of random models, each with exactly the laws that it obeys, and the data that they are on."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

Leaf: TypeAlias = Literal["number", "text", "truth"]
"""What a cell holds: scalars hold numbers or truth values, a type variable may hold texts."""

LEAF_VALUES: dict[Leaf, Sequence[Any]] = {
    "number": (0, 1, 2, -1, 3, -2, 5, 7),
    "text": ("", "a", "b", "c", "ab", "ba"),
    "truth": (False, True),
}
"""The data that a model is made of, simplest first."""


@dataclass(frozen=True)
class Operation:
    """A binary operation on one kind of leaf, and exactly the laws that it obeys.

    `over` names the operations of the table that it distributes over, `telescopes` those that it telescopes over.
    """

    text: str
    function: Callable[[Any, Any], Any]
    associative: bool = False
    commutative: bool = False
    neutral: Any = None
    idempotent: bool = False
    over: tuple[str, ...] = ()
    telescopes: tuple[str, ...] = ()

    def holds_over(self, law: str) -> tuple[str, ...]:
        """The operations over which it has such a law."""
        return {"distributive": self.over, "telescoping": self.telescopes}[law]

    def obeys(self, laws: Collection[str]) -> bool:
        """Whether it obeys all these laws of one operator."""
        return (
            (self.associative or "associative" not in laws)
            and (self.commutative or "commutative" not in laws)
            and (self.neutral is not None or "neutral" not in laws)
            and (self.idempotent or "idempotent" not in laws)
        )


WORDS: tuple[str, ...] = ("", "a", "b", "c", "ab", "ba", "ac", "ca", "bc", "cb",
                          "abc", "acb", "bac", "bca", "cab", "cba")  # fmt: skip
"""The words over three letters in which no letter stands twice."""


def _band(keep: Callable[[str], str], words: Sequence[Any], x: Any, y: Any) -> Any:
    """Two words after each other, of each letter one kept; of other values, the last.

    This is associative and idempotent, and neither x nor y alone decides it: the free left (or right) regular
    band, with all else as an ideal.
    """
    if x in words and y in words:
        return words[WORDS.index(keep(WORDS[words.index(x)] + WORDS[words.index(y)]))]
    return x if y in words else y


def _first_of_each(word: str) -> str:
    return "".join(dict.fromkeys(word))


def _last_of_each(word: str) -> str:
    return "".join(dict.fromkeys(reversed(word)))[::-1]


def _bands(words: Sequence[Any], shown: str) -> tuple[Operation, ...]:
    """Idempotent monoids that do not commute, on values that stand for words."""
    kept = (("first", _first_of_each), ("last", _last_of_each))
    return tuple(
        Operation(
            f"xy{shown}, of each letter the {which}",
            partial(_band, keep, words),
            associative=True,
            neutral=words[0],
            idempotent=True,
        )
        for which, keep in kept
    )


def _with_unit(unit: Any, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: y if x == unit else x if y == unit else function(x, y)


def _longer(x: str, y: str) -> str:
    """The longer of two texts; of those of one length the greater: so two words before or after both leave the order as it is."""
    return max(x, y, key=lambda text: (len(text), text))


def _letter_by_letter(x: str, y: str) -> str:
    """A letter of each in turn, and the rest of the longer one."""
    both = "".join(p + q for p, q in zip(x, y, strict=False))
    return both + x[len(y) :] + y[len(x) :]


_PROJECTIONS = ("x", "y")
"""What every operation distributes over."""

_SUMS = (
    *_PROJECTIONS, "x + y", "x - y", "x - y, or the other when one is 0", "2*x - y", "2*x - y, or the other when one is 0",
    "x, or y when x is 0",
)  # fmt: skip
"""Sums over which products of numbers distribute, also those that do not commute, or that no brackets may be moved in."""

OPERATIONS: dict[Leaf, tuple[Operation, ...]] = {
    "number": (
        Operation("x - y", lambda x, y: x - y, telescopes=("x + y",)),
        Operation(
            "x - y, or the other when one is 0", _with_unit(0, lambda x, y: x - y), neutral=0
        ),
        Operation("0", lambda x, y: 0, True, True, telescopes=("x - y", "|x - y|", "2*x - y")),
        Operation("|x - y|", lambda x, y: abs(x - y), commutative=True),
        Operation("2*x - y", lambda x, y: 2 * x - y, idempotent=True),
        Operation(
            "2*x - y, or the other when one is 0",
            _with_unit(0, lambda x, y: 2 * x - y),
            neutral=0,
            idempotent=True,
        ),
        Operation("(x + y) // 2", lambda x, y: (x + y) // 2, commutative=True, idempotent=True),
        Operation(
            "(x + y) // 2, or the other when one is 0",
            _with_unit(0, lambda x, y: (x + y) // 2),
            commutative=True,
            neutral=0,
            idempotent=True,
        ),
        Operation(
            "(x*x + y*y) mod 97, or the other when one is 0",
            _with_unit(0, lambda x, y: (x * x + y * y) % 97),
            commutative=True,
            neutral=0,
        ),
        Operation(
            "x",
            lambda x, y: x,
            associative=True,
            idempotent=True,
            over=("max(x, y)", "min(x, y)"),
            telescopes=("x",),
        ),
        Operation(
            "y",
            lambda x, y: y,
            associative=True,
            idempotent=True,
            over=("max(x, y)", "min(x, y)"),
            telescopes=("y",),
        ),
        Operation(
            "x, or y when x is 0",
            _with_unit(0, lambda x, y: x),
            associative=True,
            neutral=0,
            idempotent=True,
        ),
        *_bands(range(len(WORDS)), " of the words with numbers x and y"),
        Operation("x + y + 1", lambda x, y: x + y + 1, True, True, -1, over=("max(x, y)",)),
        Operation("x + y", lambda x, y: x + y, True, True, neutral=0, over=("max(x, y)",)),
        Operation("x * y", lambda x, y: x * y, True, True, neutral=1, over=_SUMS),
        Operation("x * y * y", lambda x, y: x * y * y),
        Operation("2*x + y", lambda x, y: 2 * x + y, over=("max(x, y)", *_PROJECTIONS)),
        Operation("2*x + 2*y", lambda x, y: 2 * x + 2 * y, commutative=True, over=("max(x, y)",)),
        Operation("2*x*y", lambda x, y: 2 * x * y, True, True, over=("x + y",)),
        Operation("max(x, y)", max, True, True, -math.inf, True, over=("min(x, y)",)),
        Operation("min(x, y)", min, True, True, math.inf, True, over=("max(x, y)",)),
        Operation("x xor y", lambda x, y: x ^ y, True, True, neutral=0, telescopes=("x xor y",)),
        Operation(
            "the last bit of x and the one before of y",
            lambda x, y: x & y >> 1 & 1,
            over=("x xor y",),
        ),
        Operation("x and y bit by bit", lambda x, y: x & y, True, True, -1, True),
    ),
    "text": (
        Operation("xy backwards", lambda x, y: (x + y)[::-1]),
        Operation(
            "xy backwards, or the other when one is empty",
            _with_unit("", lambda x, y: (x + y)[::-1]),
            neutral="",
        ),
        Operation("max(x, y) + 'a'", lambda x, y: max(x, y) + "a", commutative=True),
        Operation(
            "max(x, y) + 'a', or the other when one is empty",
            _with_unit("", lambda x, y: max(x, y) + "a"),
            commutative=True,
            neutral="",
        ),
        Operation("x", lambda x, y: x, associative=True, idempotent=True, over=("max(x, y)",)),
        Operation("y", lambda x, y: y, associative=True, idempotent=True),
        *_bands(WORDS, ""),
        Operation("xy", lambda x, y: x + y, associative=True, neutral="", over=("the longer one",)),
        Operation(
            "x and y letter by letter", _letter_by_letter, neutral="", over=("the longer one",)
        ),
        Operation("the longer one", _longer, True, True, neutral="", idempotent=True),
        Operation("max(x, y)", max, True, True, neutral="", idempotent=True),
    ),
    "truth": (
        Operation("x implies y", lambda x, y: not x or y),
        Operation("not both x and y", lambda x, y: not (x and y), commutative=True),
        Operation(
            "x", lambda x, y: x, associative=True, idempotent=True, over=("x or y", "x and y")
        ),
        Operation("y", lambda x, y: y, associative=True, idempotent=True),
        Operation("x is not y", lambda x, y: x != y, True, True, neutral=False),
        Operation("x or y", lambda x, y: x or y, True, True, False, True, over=("x and y",)),
        Operation(
            "x and y",
            lambda x, y: x and y,
            True,
            True,
            True,
            True,
            over=("x or y", "x is not y"),
        ),
    ),
}
"""Operations with few laws first: they break what a rule does not state."""
