"""Loops without a loop: written out where they are short, else left to the driver under a pragma.

A private array lies in registers where all its indices are constants.  The patterns `map_seq_unroll` and
`reduce_seq_unroll` make them so: the short ones are written out, with the index of each element in its
place, and so are those that they enclose.  A nest that would fill more lines stays a loop outside, with the
promise to the driver's compiler that each run of the body may be written out.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from relift.compiler.lowering.threads import number
from relift.semantics.patterns import AsScalar, Fold
from relift.semantics.syntax.terms import Lambda, Pattern, Term, children, inside

WRITTEN_OUT = 128
"""Copies of the innermost body that are written out: what the registers of a work-item can hold."""

Unrolling: TypeAlias = Literal["no", "here", "by the driver"]
"""Who writes a loop out."""


def unrolling(t: Term) -> Unrolling:
    """Who writes out the loop that computes t.

    >>> from relift import f32
    >>> from relift.compiler.codegen.unrolling import unrolling
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xs = Input("xs", f32[16, 16])
    >>> inner = "map_seq_unroll(lambda x: x, row)"
    >>> [unrolling(parse_term(f"{f}(lambda row: {inner}, xs)", xs=xs)) for f in ("map_seq", "map_seq_unroll")]
    ['no', 'by the driver']
    """
    if not isinstance(t, Pattern) or not t.unrolled:
        return "no"
    return "here" if _copies(t) <= WRITTEN_OUT else "by the driver"


def _copies(t: Pattern) -> int:
    """How often the innermost body of a nest of unrolled loops is written.

    What a loop works on is computed before it, and written once.  The lanes of a vector are in one register, and count as one.
    """
    inside = (_most(f.body) for _, f in children(t) if isinstance(f, Lambda))
    if isinstance(t, Fold) and isinstance(t.xs, AsScalar):
        turns = number(t.xs.solved["k"])
    else:
        turns = number(t.solved["n"])
    return turns * max(inside, default=1)


def _most(t: Term) -> int:
    """The copies of the largest nest of unrolled loops in a term."""
    found = [_most(u) for _, u, _ in inside(t)]
    if isinstance(t, Pattern) and t.unrolled:
        found.append(_copies(t))
    return max(found, default=1)
