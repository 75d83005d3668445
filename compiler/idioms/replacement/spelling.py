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
    parts: list[str] = []
    for monomial, c in size.ordered():
        factors = [f"{c}LL"]
        for atom, power in monomial:
            if isinstance(atom, Quotient):
                factors += [f"relift_up({counted(atom.of, spelt)}, {atom.by})"] * power
                continue
            if not isinstance(atom, str):
                raise Kept("a number of iterations is a power")
            factors += [spelt(atom)] * power
        parts.append(" * ".join(factors))
    return " + ".join(f"({p})" for p in parts) or "0"


def polynomial(size: Size, *, in_sizes: bool, wide: bool = False) -> str:
    """A polynomial as C: over the sizes of the program, or over values of the function; products of many may be wide."""
    parts: list[str] = []
    for monomial, c in size.ordered():
        factors = [str(c)] if c != 1 or not monomial else []
        for atom, power in monomial:
            if isinstance(atom, Quotient):
                inner = polynomial(atom.of, in_sizes=in_sizes)
                factors += [f"relift_up({inner}, {atom.by})"] * power
                continue
            if not isinstance(atom, str):
                raise Kept("a number of iterations is a power")
            factors += [f"size_{atom}" if in_sizes else letter(atom)] * power
        parts.append(" * ".join(["(__int128)1"] * wide + factors))
    return " + ".join(f"({p})" for p in parts) or "0"
