"""What the functions of a replaced file call values and sizes, in C."""

from __future__ import annotations

import re
from collections.abc import Callable

from relift.compiler.idioms.facts.evolution import Quotient
from relift.compiler.idioms.facts.names import Counter, Length, bare
from relift.semantics.syntax.sizes import Size

C_TYPES = {"f32": "float", "f64": "double", "i32": "int", "i64": "long"}


class Kept(Exception):
    """Why a loop stays as it is."""


def letter(value: str) -> str:
    """The parameter that has a value of the function."""
    return "of_" + re.sub(r"\W", "_", bare(value))


def place_of(value: str) -> str:
    """The parameter that says where a field lies; a null pointer where it is not looked up."""
    return f"at_{letter(value)}"


def counter_of(name: Counter) -> str:
    """The variable that counts the turns of a loop."""
    return "c_" + letter(name.header)


def is_length(size: Size) -> bool:
    """Whether a size is the length of an array, of which C says nothing."""
    return any(isinstance(n, Length) for n in size.names())


def names_in(size: Size) -> set[str]:
    """What a polynomial is over, inside of its quotients too."""
    inner = (a.of for a in size.atoms() if isinstance(a, Quotient))
    return {*size.names()}.union(*map(names_in, inner))


def counted(size: Size, spelt: Callable[[str], str]) -> str:
    """A polynomial as C in `long long`; `spelt` says what an atom of it is there."""
    return _sum(size, lambda c, alone: [f"{c}LL"], spelt, lambda of: counted(of, spelt))


def polynomial(size: Size, *, in_sizes: bool, wide: bool = False) -> str:
    """A polynomial as C: over the sizes of the program, or over values of the function; products of many may be wide."""

    def number(c: int, alone: bool) -> list[str]:
        return ["(__int128)1"] * wide + ([str(c)] if c != 1 or alone else [])

    def spelt(atom: str) -> str:
        return f"size_{atom}" if in_sizes else letter(atom)

    return _sum(size, number, spelt, lambda of: polynomial(of, in_sizes=in_sizes))


def _sum(
    size: Size,
    number: Callable[[int, bool], list[str]],
    spelt: Callable[[str], str],
    inner: Callable[[Size], str],
) -> str:
    """A polynomial as C: how a coefficient begins a product, alone or not, what an atom is, and what stands in a quotient."""
    parts: list[str] = []
    for monomial, c in size.ordered():
        factors = number(c, not monomial)
        for atom, power in monomial:
            if isinstance(atom, Quotient):
                factors += [f"relift_up({inner(atom.of)}, {atom.by})"] * power
            elif isinstance(atom, str):
                factors += [spelt(atom)] * power
            else:
                raise Kept("a number of iterations is a power")
        parts.append(" * ".join(factors))
    return " + ".join(f"({p})" for p in parts) or "0"
