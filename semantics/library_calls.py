"""Which terms call functions that processors have no instruction for: drivers pack and price them apart."""

from __future__ import annotations

from relift.semantics.syntax.scalars import IN_LIBRARY
from relift.semantics.syntax.terms import Apply, Call, Term, subterms


def calls_library(t: Term) -> bool:
    """Whether a term calls such a function, or one of the user's in C, which may.

    >>> from relift import exp, f32, map_seq, program, sqrt
    >>> from relift.semantics.library_calls import calls_library
    >>> @program
    ... def roots(x: f32[8]):
    ...     return map_seq(sqrt, x)
    >>> @program
    ... def powers(x: f32[8]):
    ...     return map_seq(exp, x)
    >>> calls_library(roots.body), calls_library(powers.body)
    (False, True)
    """
    return any(
        (isinstance(u, Apply) and u.function in IN_LIBRARY)
        or (
            isinstance(u, Call) and (u.function.body is None or calls_library(u.function.body.body))
        )
        for u, _ in subterms(t)
    )


__all__ = ["calls_library"]
