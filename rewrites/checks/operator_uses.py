"""The operators that a term uses, each with the type of the values that it combines there, and their laws."""

from __future__ import annotations

from collections.abc import Iterator

from relift.semantics.errors import ReliftError
from relift.semantics.interpreter import operand_type
from relift.semantics.language.vocabulary import VOCABULARY, Elementary
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Laws,
    Term,
    Vectorized,
    operator_of,
    subterms,
)
from relift.semantics.syntax.types import Scalar, Type, Vector

EXAMPLES = 150
"""So many values are tried of each law."""


def operator_uses(t: Term) -> Iterator[tuple[BinaryOperator, Type]]:
    """Each use of an operator; of one that is spread over lanes, the operator and the type of a lane.

    >>> from relift import f32
    >>> from relift.rewrites.checks.operator_uses import operator_uses
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xs = Input("xs", f32[8])
    >>> [(op.name, str(of)) for op, of in operator_uses(parse_term("reduce(add, 0.0, xs)", xs=xs))]
    [('add', 'f32')]
    """
    for u, _ in subterms(t):
        used = operator_of(u)
        if used is None:
            continue
        of = operand_type(u)
        while isinstance(used, Vectorized) and isinstance(of, Vector):
            used, of = used.operator, of.element
        if isinstance(used, BinaryOperator):
            yield used, of


def require_laws(*terms: Term) -> None:
    """Raise `ReliftError` when an operator of the terms does not obey a law that is declared of it.

    What Relift declares of its own operators is tested by its tests.
    """
    for operator, of in dict.fromkeys(use for t in terms for use in operator_uses(t)):
        if _is_own(operator, of) or operator.laws == Laws():
            continue
        from relift.rewrites.checks.laws import check_laws  # loads Hypothesis

        if broken := check_laws(operator, of, examples=EXAMPLES):
            raise ReliftError(f"{broken}; declare only what the operator obeys", place="")


def _is_own(operator: BinaryOperator, of: Type) -> bool:
    """Whether Relift declares it; the infinities are neutral for the extremes of floats only."""
    known = VOCABULARY.get(operator.name)
    if isinstance(known, Elementary):
        return operator == known.operator and isinstance(of, Scalar) and of.is_float
    return bool(operator == known)
