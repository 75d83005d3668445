"""What the names in a polynomial stand for: values and globals, as LLVM writes them, and what has names of its own here."""

from __future__ import annotations

from typing import Self


class Counter(str):
    """How many iterations of a loop are done: 0, 1, …; LLVM gives nothing such a name.

    >>> from relift.compiler.idioms.facts.names import Counter
    >>> Counter("%for.cond"), Counter("%for.cond").header
    ('$for.cond', '%for.cond')
    """

    header: str

    def __new__(cls, header: str) -> Self:
        name = super().__new__(cls, f"${header[1:]}")
        name.header = header
        return name

    def __getnewargs__(self) -> tuple[str]:
        return (self.header,)


class Length(str):
    """The number of cells of an array, of which C says nothing.

    >>> from relift.compiler.idioms.facts.names import Length
    >>> Length("%x"), Length("%x").array
    ('length of %x', '%x')
    """

    array: str

    def __new__(cls, array: str) -> Self:
        name = super().__new__(cls, f"length of {array}")
        name.array = array
        return name

    def __getnewargs__(self) -> tuple[str]:
        return (self.array,)


def is_global(operand: str) -> bool:
    """Whether an operand is what a file defines or declares outside of functions, as LLVM writes such names.

    >>> from relift.compiler.idioms.facts.names import is_global, is_value
    >>> is_global("@f"), is_global("%x"), is_value("@f"), is_value("%x"), is_value("1.0")
    (True, False, False, True, False)
    """
    return operand.startswith("@")


def is_value(operand: str) -> bool:
    """Whether an operand is an argument or the result of an instruction, as LLVM writes such names."""
    return operand.startswith("%")


def is_constant(operand: str) -> bool:
    """Whether an operand has no name."""
    return not (is_global(operand) or is_value(operand))


def bare(name: str) -> str:
    """A name without what LLVM writes before it."""
    return name.lstrip("%@")
