"""The sizes of a lifted program: each number of iterations has a name, and what the C file calls a length follows.

`for (i = 1; i < nx - 1; …)` runs `nx - 2` times: that is `n`, so `nx` is `n + 2`.  A row of `lda` cells of which `n` are used
is `n + p`.  What is not found out this way stays a size of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from relift.semantics.syntax.sizes import Name, Size

LETTERS = ("n", "m", "k", "l", "o", "q")


@dataclass
class Sizes:
    """The sizes of a program: what each stands for in the values of the function, and the values in sizes."""

    taken: frozenset[str] = frozenset()
    meaning: dict[str, Size] = field(default_factory=dict[str, Size])
    """By the name of a size, a polynomial in values of the function."""
    values: dict[str, Size] = field(default_factory=dict[str, Size])
    """By value of the function, a polynomial in sizes."""
    trips: dict[str, Size] = field(default_factory=dict[str, Size])
    """By counter, the number of iterations."""
    at_least: list[tuple[Size, int]] = field(default_factory=list[tuple[Size, int]])
    """What the values of the function must be for the sizes to be natural."""

    def fresh(self, letters: Sequence[str] = LETTERS) -> str:
        """A name that nothing has."""
        return next(
            name for name in _names(letters) if name not in self.taken and name not in self.meaning
        )

    def add(self, counter: str, trips: Size, least: int = 0) -> None:
        """A loop, whose number of iterations becomes a size where it is none yet."""
        if trips.constant is not None:
            self.trips[counter] = trips
            return
        for name, known in self.meaning.items():
            if known == trips:
                self.trips[counter] = Size.atom(Name(name, least))
                return
        name = self.fresh()
        self.meaning[name] = trips
        self.at_least.append((trips, least))
        here = Size.atom(Name(name, least))
        self.trips[counter] = here
        self._solve(trips, here)

    def _solve(self, trips: Size, here: Size) -> None:
        """One value of the function by the number of iterations, where it is linear; others become sizes."""
        for wanted in (1, -1):
            for value in sorted(trips.names() - self.values.keys()):
                linear = trips.linear_in(value)
                if linear is not None and linear[0].constant == wanted:
                    self.values[value] = self.of((here - linear[1]) * wanted)
                    return

    def of(self, size: Size) -> Size:
        """A polynomial in values of the function as one in sizes; those that are left become sizes."""
        for value in sorted(size.names() - self.values.keys() - self.meaning.keys()):
            self.values[value] = self._new(Size.atom(value))
        return size.substitute(self.values)

    def row(self, length: Size, used: Size) -> Size:
        """The length of a row of which so many cells are used: itself, or that and some more."""
        names = length.names() - self.values.keys() - self.meaning.keys()
        if len(names) == 1 and length == Size.atom(*names):
            [value] = names
            self.values[value] = used + self._new(length - self.back(used))
        known = self.of(length)
        if known.constant is None or (known - used).surely_at_least(0) or used.constant is not None:
            return known
        # the file says how long rows are, not that they are used whole
        rest = length - self.back(used)
        known_as = next((n for n, m in self.meaning.items() if m == rest), None)
        return used + (self._new(rest) if known_as is None else Size.atom(Name(known_as)))

    def _new(self, meaning: Size) -> Size:
        """A size of its own, which is at least zero where it means this."""
        name = self.fresh(("p", "r", "s", "t"))
        self.meaning[name] = meaning
        self.at_least.append((meaning, 0))
        return Size.atom(Name(name))

    def back(self, size: Size) -> Size:
        """A polynomial in sizes as one in values of the function."""
        return size.substitute(self.meaning)


def _names(letters: Sequence[str]) -> Iterator[str]:
    yield from letters
    number = 1
    while True:
        yield from (f"{letter}{number}" for letter in letters)
        number += 1
