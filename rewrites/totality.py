"""Whether a term is defined whatever its data are, as far as its text tells.

Partial are the patterns that say so (`at_runtime_unsafe`, `gather_indices`, ..), but for index functions that
are seen to stay in range.  What branches or indexes is partial where there are unspecified cells: at a cell that
`pad_empty` leaves open it is undefined.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from relift.semantics.indices import expressions as indices
from relift.semantics.indices.functions import IndexFunction
from relift.semantics.indices.ranges import surely_within
from relift.semantics.interpreter import operand_type, operator_lambda
from relift.semantics.patterns import Gather, Scatter
from relift.semantics.syntax.signatures import OperatorKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Get,
    Input,
    Literal,
    MakeTuple,
    Metavariable,
    Operator,
    OperatorMetavariable,
    Pattern,
    Term,
    Var,
    Vectorized,
    subterms,
)
from relift.semantics.syntax.types import Type, Vector

LARGEST_TABLE = 1 << 20
"""An index function whose ranges do not tell is tried at all indices up to this many."""


def first_partial(t: Term, *, open_cells: bool = False) -> str | None:
    """What may be undefined in a term, by name; None where it is total.

    >>> from relift import i32
    >>> from relift.rewrites.totality import first_partial
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xs = Input("xs", i32[8])
    >>> first_partial(parse_term("map(lambda i: at_runtime_unsafe(i, xs), xs)", xs=xs))
    'at_runtime_unsafe'
    >>> first_partial(parse_term("gather(lambda i: 7 - i, xs)", xs=xs))
    """
    return next(_partial(t, open_cells), None)


@cache
def first_partial_operator(operator: Operator, element: Type, open_cells: bool) -> str | None:
    """The same of an operator, on elements of a type."""
    match operator:
        case OperatorMetavariable():
            return None
        case Vectorized(_, inner):
            assert isinstance(element, Vector), "cannot happen: vectorize works on vectors"
            return first_partial_operator(inner, element.element, open_cells)
        case BinaryOperator():
            return first_partial(operator_lambda(operator, element).body, open_cells=open_cells)


def has_open_cells(t: Term) -> bool:
    """Whether some cells of a term are left open."""
    return any(isinstance(u, Pattern) and u.leaves_open for u, _ in subterms(t))


def _partial(t: Term, open_cells: bool) -> Iterator[str]:
    for u, _ in subterms(t):
        match u:
            case Apply("select") if open_cells:
                yield "select"
            case Call(function) if function.body is not None:
                yield from _partial(function.body.body, open_cells)
            case Call(function) if open_cells:
                yield function.name
            case Gather(idx):
                if not stays(idx, u.solved["n"]):
                    yield u.name
            case Scatter(idx):
                if not permutes(idx, u.solved["n"]):
                    yield u.name
            case Pattern():
                if u.partial or (open_cells and u.branches):
                    yield u.name
            case Var() | Input() | Literal() | MakeTuple() | Get() | Metavariable():
                pass
            case Apply() | Call() | Combine():
                pass
    for operator, element in operators_in(t):
        if (found := first_partial_operator(operator, element, open_cells)) is not None:
            yield found


def operators_in(t: Term) -> Iterator[tuple[Operator, Type]]:
    """The operators of a term, each with the type of what it combines."""
    for u, _ in subterms(t):
        match u:
            case Combine(operator, left):
                yield operator, left.type
            case Pattern():
                for place, kind in u.signature.parameters.items():
                    if isinstance(kind, OperatorKind):
                        yield getattr(u, place), operand_type(u)
            case (
                Var()
                | Input()
                | Literal()
                | Apply()
                | Call()
                | MakeTuple()
                | Get()
                | Metavariable()
            ):
                pass


def stays(f: IndexFunction, n: Size) -> bool:
    """Whether an index function is seen to map the indices below n to such indices."""
    if f.metavariable is not None:
        return True
    if f.metavariables:
        return False
    if surely_within(f.of(indices.variable("an index", n)), n):
        return True
    return _tried(n) and f.escapes(n) is None


def permutes(f: IndexFunction, n: Size) -> bool:
    """Whether an index function is seen to be a permutation of the indices below n."""
    if f.metavariables or not _tried(n) or n.constant is None:
        return False
    return sorted(f.table(n.constant).tolist()) == list(range(n.constant))


def _tried(n: Size) -> bool:
    return n.constant is not None and n.constant <= LARGEST_TABLE
