"""The free algebra of declared laws: symbols, words of operators, and what one word may stand for."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from relift.semantics.domains import Numeric, Value
from relift.semantics.errors import Unsupported
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import UserFunction
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

OPEN = "unspecified"
"""The owner of the symbols that stand for unspecified cells."""


@dataclass(frozen=True, eq=False)
class Symbol:
    """An element of the free algebra, made once, so it equals only itself.

    `owner` made it and keeps equal heads of different kinds apart; a generator has no arguments; `path` is
    the place of a component in what a name stands for.
    """

    owner: object
    head: str
    arguments: tuple[Any, ...] | None
    path: tuple[int, ...]
    number: int

    def __bool__(self) -> bool:
        return self._known("True", "False") == "True"

    def __index__(self) -> int:
        return int(self._known())

    def _known(self, *heads: str) -> str:
        """The literal that this is; patterns that branch on other symbols have no value on them."""
        literal = self.owner == "meaning" and self.arguments is None
        if literal and (self.head in heads or (not heads and self.head.lstrip("-").isdigit())):
            return self.head
        raise Unsupported(f"{self} is free, and a branch depends on it", place="")

    def __repr__(self) -> str:
        # a stack of its own: the symbol of a fold is as deep as its array is long
        text: list[str] = []
        left: list[str | Symbol | tuple[Any, ...]] = [self]
        while left:
            piece = left.pop()
            if isinstance(piece, str):
                text.append(piece)
            elif isinstance(piece, tuple):
                text.append(piece[0])
                left += _listed(piece[1:-1], piece[-1])
            elif piece.arguments is None:
                text.append(piece.head + "_".join(map(str, piece.path)))
            else:
                text.append(f"{piece.head}(")
                left += _listed(piece.arguments, ")" + "".join(f"[{i}]" for i in piece.path))
        return "".join(text)


def _listed(values: Sequence[Any], closing: str) -> list[str | Symbol | tuple[Any, ...]]:
    """Values with commas between them and what closes them, last first."""
    pieces: list[str | Symbol | tuple[Any, ...]] = []
    for value in values:
        pieces += [", ", value if isinstance(value, Symbol | tuple) else repr(value)]
    return [closing, *reversed(pieces[1:])]


def freeze(value: Value) -> Any:
    """A value as a key: the brackets keep lists and tuples apart."""
    if isinstance(value, list):
        return ("[", *map(freeze, value), "]")
    if isinstance(value, tuple):
        return ("(", *map(freeze, value), ")")
    return value


class Algebra:
    """Makes the symbols of one instance, each once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Symbol] = {}
        self.work = 0
        """How often a symbol was asked for, which is what a run costs."""

    def symbol(
        self,
        owner: object,
        head: str,
        arguments: tuple[Any, ...] | None = None,
        path: tuple[int, ...] = (),
    ) -> Symbol:
        self.work += 1
        key = (owner, head, arguments, path)
        if key not in self._known:
            self._known[key] = Symbol(owner, head, arguments, path, len(self._known))
        return self._known[key]

    def value(
        self,
        t: Type,
        size: Callable[[Size], int],
        head: str,
        arguments: tuple[Any, ...] | None = None,
        path: tuple[int, ...] = (),
    ) -> Value:
        """A value of type t with one symbol in each cell."""
        match t:
            case Array(element, n) | Vector(element, n):
                return [
                    self.value(element, size, head, arguments, (*path, i)) for i in range(size(n))
                ]
            case Tuple(parts):
                return tuple(
                    self.value(part, size, head, arguments, (*path, i))
                    for i, part in enumerate(parts)
                )
            case Scalar() | TypeVariable():
                return self.symbol("metavariable", head, arguments, path)


class Bands:
    """The free band: words in which a part may be doubled or halved, `w w = w`, each class of them once.

    Two words are equal in every associative and idempotent operation exactly when they have the same letters
    and, of their shortest beginnings with all letters, the last letters are the same and what comes before is
    equal, and so of their shortest ends (Green and Rees, 1952).
    """

    def __init__(self) -> None:
        self._classes: dict[tuple[int, int, int, int], int] = {}
        self._words: dict[tuple[int, ...], int] = {(): 0}
        self._first: dict[int, tuple[Symbol, ...]] = {}

    def word(self, letters: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
        """The word of the same class that was met first."""
        return self._first.setdefault(self._class(tuple(x.number for x in letters)), letters)

    def _class(self, word: tuple[int, ...]) -> int:
        """The number of the class of a word."""
        if word not in self._words:
            beginning, end = _missing_one(word), _missing_one(word[::-1])[::-1]
            key = (
                self._class(beginning),
                word[len(beginning)],
                word[-1 - len(end)],
                self._class(end),
            )
            self._words[word] = self._classes.setdefault(key, len(self._classes) + 1)
        return self._words[word]


def _missing_one(word: tuple[int, ...]) -> tuple[int, ...]:
    """The longest beginning of a word in which one of its letters is missing."""
    seen: set[int] = set()
    last = 0
    for i, letter in enumerate(word):
        if letter not in seen:
            seen.add(letter)
            last = i
    return word[:last]


class FreeOperator:
    """An operator that obeys its laws and nothing else; its results are in normal form."""

    def __init__(
        self,
        algebra: Algebra,
        name: str,
        laws: Collection[str],
        neutral: Symbol | None,
        over: FreeOperator | None = None,
    ) -> None:
        self.algebra, self.name, self.neutral, self.over = algebra, name, neutral, over
        self.associative = "associative" in laws
        self.commutative = "commutative" in laws
        self.idempotent = "idempotent" in laws
        self.bands = Bands()

    def __call__(self, x: Symbol, y: Symbol) -> Symbol:
        if self.over is None:
            return self.product(x, y)
        over = self.over
        return over.mapped(x, lambda p: over.mapped(y, lambda q: self.product(p, q)))

    def mapped(self, x: Symbol, f: Callable[[Symbol], Symbol]) -> Symbol:
        """f on everything that x combines by this operator."""
        if x.owner is not self or x.arguments is None:
            return f(x)
        return functools.reduce(self, (self.mapped(letter, f) for letter in x.arguments))

    def product(self, x: Symbol, y: Symbol) -> Symbol:
        """Both combined, where neither is a sum that this operator distributes over."""
        letters = (*self.letters(x), *self.letters(y))
        self.algebra.work += len(letters)
        if self.commutative:
            letters = tuple(sorted(letters, key=lambda symbol: symbol.number))
        if self.idempotent:
            letters = tuple(letter for letter, _ in itertools.groupby(letters))
            if self.associative and not self.commutative:
                self.algebra.work += len(letters) ** 2
                letters = self.bands.word(letters)
        if not letters:
            assert self.neutral is not None, (
                "cannot happen: only the neutral element has no letters"
            )
            return self.neutral
        return letters[0] if len(letters) == 1 else self.algebra.symbol(self, self.name, letters)

    def letters(self, x: Symbol) -> tuple[Symbol, ...]:
        """The word that x is; of an operator that is not associative, at most x itself."""
        if x is self.neutral:
            return ()
        if self.associative and x.owner is self and x.arguments is not None:
            return x.arguments
        return (x,)

    def describe(self) -> str:
        laws = ["associative"] * self.associative + ["commutative"] * self.commutative
        laws += ["idempotent"] * self.idempotent
        unit = f" with neutral element {self.neutral}" if self.neutral is not None else ""
        over = f" that distributes over {self.over.name}" if self.over is not None else ""
        return "any " + ", ".join(laws) + " " * bool(laws) + "operator" + unit + over


def covers(left: Value, right: Value, fills: dict[Symbol, Symbol] | None = None) -> bool:
    """Whether some content of the left's unspecified cells makes it equal the right, whatever is in the right's.

    `fills` is what is in the unspecified cells so far; each unspecified cell has one content wherever it is seen.  An open
    cell inside a word of an operator is not searched for: then it may say no where a content exists.
    """
    known: dict[Symbol, Symbol] = {} if fills is None else fills
    pairs: list[tuple[Value, Value]] = [(left, right)]
    while pairs:
        x, y = pairs.pop()
        if isinstance(x, list | tuple) and isinstance(y, list | tuple):
            if len(x) != len(y):
                return False
            pairs += reversed(list(zip(x, y, strict=True)))
        elif not isinstance(x, Symbol) or not isinstance(y, Symbol):
            if x != y:
                return False
        elif x.owner == OPEN:
            if known.setdefault(x, y) is not y:
                return False
        elif x is not y:
            alike = (x.owner, x.head, x.path) == (y.owner, y.head, y.path)
            if not alike or x.arguments is None or y.arguments is None:
                return False
            pairs.append((x.arguments, y.arguments))
    return True


def open_in_words(value: Value) -> bool:
    """Whether an unspecified cell is combined by an operator, where `covers` does not search."""
    return any(
        isinstance(symbol.owner, FreeOperator) and has_open_symbols(symbol.arguments)
        for symbol in _symbols(value, enter=lambda s: not isinstance(s.owner, FreeOperator))
    )


def has_open_symbols(value: Value) -> bool:
    """Whether a symbol, or one that it is made of, stands for an unspecified cell."""
    return any(symbol.owner == OPEN for symbol in _symbols(value))


def _symbols(value: Value, enter: Callable[[Symbol], bool] = lambda _: True) -> Iterator[Symbol]:
    """The symbols in a value and in the arguments of those to be entered, each once."""
    met: set[Symbol] = set()
    left: list[Value] = [value]
    while left:
        match left.pop():
            case Symbol() as symbol if symbol not in met:
                met.add(symbol)
                yield symbol
                if symbol.arguments is not None and enter(symbol):
                    left += symbol.arguments
            case list() | tuple() as items:
                left += items
            case _:
                pass


class Symbolic(Numeric):
    """Scalar functions, user functions and literals without a meaning of their own."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.open_cells = 0

    def unspecified(self) -> Value:
        self.open_cells += 1
        return self.algebra.symbol(OPEN, f"open{self.open_cells}")

    def literal(self, value: float, t: Type) -> Value:
        return self.algebra.symbol("meaning", repr(value))

    def function(self, name: str) -> Callable[..., Value]:
        return lambda *xs: self.algebra.symbol("meaning", name, tuple(map(freeze, xs)))

    def reference(self, function: UserFunction) -> Callable[..., Value]:
        """A function is known by all that it is: another one of its name is another one."""
        return lambda *xs: self.algebra.symbol(function, function.name, tuple(map(freeze, xs)))
