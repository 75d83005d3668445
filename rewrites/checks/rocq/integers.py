"""Which functions of integers have a definition: comparisons, and the sums that count.

The integers of a machine wrap around: a sum is that of the whole numbers only where it is known to fit.  What starts at 0
and goes up by one with each step of a fold or an iteration does, as an index does, for it is never more than there are
steps.  All other sums have no definition in the statement of a rule.
"""

from __future__ import annotations

from collections.abc import Sequence

from relift.semantics.syntax import terms
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    Kind,
    NatKind,
    NumbersKind,
    OperatorKind,
    WrittenKind,
)
from relift.semantics.syntax.types import AnyType, Tuple, Type, TypeVariable, i32, i64, types_within


def infix(function: str, x: terms.Term, y: terms.Term) -> str | None:
    """The operator of Z for a function of two integers, if it may have a definition."""
    return _INFIX.get(function) if x.type == y.type and x.type in (i32, i64) else None


_INFIX = {"add": "+", "lt": "<?", "equal": "=?"}
"""What counts and compares indices."""


def counters(t: terms.Pattern, place: str) -> frozenset[terms.Term]:
    """The counters of a function of a pattern: components of its first parameter, or all of that.

    What the parameter is, is known by its type: the pattern has nothing else of it than one start and what the function
    gives.

    >>> from relift import reduce_seq, show
    >>> from relift.rewrites.checks.rocq.integers import counters
    >>> from relift.semantics.syntax.terms import Input
    >>> from relift.semantics.syntax.types import f32
    >>> for start, step in ((0, 1), (5, 1), (0, 2)):
    ...     fold = reduce_seq(lambda acc, x: (acc[0] + x, acc[1] + step), (0.0, start), Input("x", f32[8]))
    ...     print(*map(show, counters(fold, "f")))
    acc[1]
    <BLANKLINE>
    <BLANKLINE>
    """
    kinds, f = t.signature.parameters, getattr(t, place)
    kind = kinds[place]
    if not isinstance(kind, FunctionKind) or not isinstance(kind.result, TypeVariable):
        return frozenset()
    accumulated, *others = kind.arguments
    rest = {name: k for name, k in kinds.items() if name != place}
    starts = [name for name, k in rest.items() if k == accumulated]
    more = (_given(k) for name, k in rest.items() if name not in starts)
    known = accumulated == kind.result and not any(
        _mentions(k, accumulated) for k in (*others, *more)
    )
    if not known or len(starts) != 1:
        return frozenset()
    steps = zip(
        _parts(f.parameters[0]), _parts(getattr(t, starts[0])), _parts(f.body), strict=False
    )
    return frozenset(x for x, start, then in steps if _counts(x, start, then))


def _given(kind: Kind | WrittenKind) -> Kind | WrittenKind:
    """What a pattern is given of a kind: the results of a function."""
    return kind.result if isinstance(kind, FunctionKind) else kind


def _mentions(kind: Kind | WrittenKind, t: Type) -> bool:
    match kind:
        case FunctionKind(arguments, result):
            return any(_mentions(k, t) for k in (*arguments, result))
        case OperatorKind(element) | NumbersKind(element):
            return _mentions(element, t)
        case NatKind() | IndexKind():
            return False
        case AnyType():
            return t in types_within(kind)


def _parts(t: terms.Term) -> Sequence[terms.Term]:
    """The components of a tuple, as they are written or asked for; of another value itself."""
    if isinstance(t, terms.MakeTuple):
        return t.parts
    if not isinstance(t.type, Tuple):
        return [t]
    return [terms.Get(i, t, of) for i, of in enumerate(t.type.parts)]


def _counts(x: terms.Term, start: terms.Term, then: terms.Term) -> bool:
    """Whether a component is 0 and then itself and one."""
    zero, one = (terms.Literal(n, x.type) for n in (0, 1))
    return start == zero and then == terms.Apply("add", (x, one), x.type)
