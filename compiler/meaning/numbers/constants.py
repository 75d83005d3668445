"""Arrays of constants at indices that are not known: two are one where they hold the same numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from relift.compiler.validation.symbols import Symbol


class Constants(str):
    """The name of an array of constants, which says what they are, and these.

    >>> from relift.compiler.meaning.numbers.algebra import Folding
    >>> from relift.compiler.meaning.numbers.constants import constants
    >>> from relift.compiler.meaning.numbers.ranges import Ranges
    >>> a = Folding(Ranges(), 1000)
    >>> row, i = constants([3, 5], "i32"), a.ranges.variable("turn", "i", 2)
    >>> row == constants([3, 5], "i32"), a.cell_at(row, 1, "i32"), a.cell_at(row, i, "i32").op
    (True, 5, 'cell')
    """

    row: tuple[Any, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The whole numbers that they are; none where one is no such."""
        plain = tuple(int(v) for v in self.row if not isinstance(v, Symbol))
        return plain if len(plain) == len(self.row) else ()


def constants(row: Sequence[Any], kind: str) -> Constants:
    """The name of an array that is these values, symbols of reals or whole numbers."""
    said = ",".join(str((v.type, v.args)) if isinstance(v, Symbol) else str(int(v)) for v in row)
    made = Constants(f"constants_{hashlib.sha256(f'{kind}:{said}'.encode()).hexdigest()}")
    made.row = tuple(row)
    return made
