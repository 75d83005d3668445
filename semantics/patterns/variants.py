"""Patterns that are one idea with a parameter: one definition, whose field has a value in each of its variants.

A definition declares the field, and says all that does not depend on it; `variant` gives the field a value, and
the variant its name.  Whoever treats them alike speaks of the definition, and whoever does not of the field:

>>> from relift.semantics.patterns import PATTERNS, Pad
>>> [name for name, pattern in PATTERNS.items() if issubclass(pattern, Pad)]
['pad_clamp', 'pad_mirror', 'pad_wrap']
>>> PATTERNS["pad_wrap"].boundary
'wrap'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from relift.semantics.syntax.terms import Pattern

P = TypeVar("P", bound=Pattern)


def variant(pattern: type[P], name: str, page: str, **fields: Any) -> type[P]:
    """The pattern where its fields have these values: its name, and its docstring.

    The words of the fields are filled in where the definition's text for the prover names them in brackets.
    """
    rocq = pattern.rocq
    for field, value in fields.items():
        rocq = rocq.replace(f"{{{field}}}", str(value))
    own: dict[str, Any] = {"__module__": pattern.__module__}
    own |= {f: staticmethod(value) if callable(value) else value for f, value in fields.items()}
    own |= {"name": name, "rocq": rocq, "__doc__": page}
    made: Any = type("".join(map(str.capitalize, name.split("_"))), (pattern,), own)
    found: type[P] = made
    return found


def variants_of(
    pattern: type[P], field: str, patterns: Mapping[str, type[Pattern]]
) -> Mapping[Any, type[P]]:
    """The variants of a definition among all patterns, each by the value of a field."""
    return {
        getattr(found, field): found for found in patterns.values() if issubclass(found, pattern)
    }
