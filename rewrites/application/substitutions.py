"""Whether what fills a rule's metavariables is what their declarations promise; independent of who filled them in.

Comparing the filled side of a rule with a term says nothing of what stands on the other side alone: a size, a type
or a function there is free.  So every entry is checked by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import get_args

from relift.rewrites.checks.smt.tables import holds
from relift.rewrites.conditions import Condition, IndexCondition
from relift.rewrites.declared_laws import neutral_of
from relift.rewrites.rule import Rule
from relift.semantics.errors import IllTyped
from relift.semantics.indices.inverses import permutes
from relift.semantics.interpreter import operator_lambda
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Lambda,
    Literal,
    Operator,
    OperatorMetavariable,
    Vectorized,
    innermost,
)
from relift.semantics.syntax.types import AnyType, Scalar, Type, Vector, least_values, type_sizes


def with_neutral_elements(rule: Rule, substitution: Substitution) -> Substitution:
    """What a side leaves open, and a condition says is neutral, as the neutral element that its operator declares.

    >>> import relift as rl
    >>> from relift import f32, show
    >>> from relift.rewrites.application.matching import apply_rule
    >>> from relift.rewrites.library import RULES
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> t = parse_term("reduce(add, 7.0, xs)", xs=Input("xs", f32[8]))
    >>> show(apply_rule(RULES["reduce_start"], t, direction="backward")[0])
    'add(7.0, reduce(add, 0.0, xs))'
    """
    functions = dict(substitution.functions)
    for law in rule.where:
        if not isinstance(law, Condition) or law.law != "neutral" or law.element is None:
            continue
        operator, kind = substitution.operators.get(law.operator), rule.parameters.get(law.element)
        if not isinstance(operator, BinaryOperator) or not isinstance(kind, AnyType):
            continue
        element = substitution.type(kind)
        value = neutral_of(operator.laws, element)
        if law.element in functions or not isinstance(element, Scalar) or value is None:
            continue
        if element.is_float or isinstance(value, int):  # 0.5 is no whole number
            number = float(value) if element.is_float else value
            functions[law.element] = Lambda((), Literal(number, element))
    return replace(substitution, functions=functions)


def require_fits(rule: Rule, substitution: Substitution) -> None:
    """Raise `IllTyped` unless all metavariables, and no others, are filled as they are declared.

    A size is a natural number (what else it promises is a bound of the rule); a term has the declared type at the filled
    sizes and types; a function takes and gives the declared types, and so does an operator.
    """
    functions, operators, indices = set[str](), set[str](), set[str]()
    for name, kind in rule.parameters.items():
        match kind:
            case OperatorKind():
                operators.add(name)
            case IndexKind():
                indices.add(name)
            case NatKind():
                pass
            case FunctionKind() | AnyType():
                functions.add(name)
    _require_names("type", substitution.types, rule.types)
    _require_names("size", substitution.sizes, rule.sizes)
    _require_names("metavariable", substitution.functions, functions)
    _require_names("operator", substitution.operators, operators)
    _require_names("index function", substitution.indices, indices)
    for size in rule.sizes:
        if not substitution.sizes[size].surely_at_least(0):
            raise IllTyped(
                f"size {size} is {substitution.sizes[size]}, and must be a natural number"
            )
    for t in substitution.types.values():
        for n in type_sizes(t):
            if not n.surely_at_least(0):
                raise IllTyped(f"{t} has a length that may be negative")
    for name, kind in rule.parameters.items():
        match kind:
            case FunctionKind(arguments, result):
                _require_function(
                    name, substitution.functions[name], arguments, result, substitution
                )
            case OperatorKind(element):
                require_operator(substitution.operators[name], substitution.type(element))
            case IndexKind() | NatKind():
                pass  # an index function is tried on all indices, see `matching`
            case AnyType():
                _require_function(name, substitution.functions[name], (), kind, substitution)


def _require_names(what: str, filled: Iterable[str], declared: Collection[str]) -> None:
    found = set(filled)
    for name in sorted(found - set(declared)):
        raise IllTyped(f"it has no {what} {name}")
    for name in sorted(set(declared) - found):
        raise IllTyped(f"its {what} {name} is not determined")


def _require_function(
    name: str, f: Lambda, arguments: tuple[Type, ...], result: Type, substitution: Substitution
) -> None:
    takes, gives = tuple(map(substitution.type, arguments)), substitution.type(result)
    if tuple(x.type for x in f.parameters) != takes:
        found = ", ".join(str(x.type) for x in f.parameters)
        raise IllTyped(f"{name} takes ({found}), and must take ({', '.join(map(str, takes))})")
    if len({x.name for x in f.parameters}) != len(f.parameters):
        raise IllTyped(f"{name} has two parameters of one name")
    if f.body.type != gives:
        raise IllTyped(f"{name} has type {f.body.type}, and must have type {gives}")


def require_operator(operator: Operator, element: Type) -> None:
    """Raise `IllTyped` unless an operator, which a file may say, is one, and combines two values of a type to one."""
    if not isinstance(operator, get_args(Operator)):
        raise IllTyped(f"{str(operator)[:60]} is no operator")
    _require_operator(operator, element, tuple(least_values(element).items()))


@lru_cache(maxsize=1024)
def _require_operator(
    operator: Operator, element: Type, _least: tuple[tuple[str, int], ...]
) -> None:
    """Types are equal whatever their sizes are at least, but what is well-typed hangs on it."""
    match operator:
        case Vectorized(width, inner):
            fits = isinstance(element, Vector) and width == element.width
            if isinstance(element, Vector) and fits:
                require_operator(inner, element.element)
        case OperatorMetavariable(_, of):
            fits = of == element
        case BinaryOperator():
            fits = operator_lambda(operator, element).body.type == element
    if not fits:
        raise IllTyped(
            f"the operator {innermost(operator).name} does not combine values of type {element}"
        )


def broken_index_law(rule: Rule, substitution: Substitution) -> str | None:
    """What does not hold of index functions, which stay in their array and obey the rule's conditions; None where all does.

    What a permutation is by its form is one of any length; else both are decided by trying all indices, so only at a length
    that is a number.
    """
    tables: dict[str, Sequence[int]] = {}
    laws = [c for c in rule.where if isinstance(c, IndexCondition)]
    inverses = {name for c in laws if c.inverse is not None for name in (c.function, c.inverse)}
    for name, kind in rule.parameters.items():
        if not isinstance(kind, IndexKind):
            continue
        if name not in substitution.indices:
            return f"the index function {name} is not determined"
        f, length = substitution.indices[name], kind.length.substitute(substitution.sizes)
        if length.constant is None:
            return (
                f"{name} is an index function of {length} elements; whether it stays "
                "among them is known for a number of elements only"
            )
        if name not in inverses and permutes(f, length):
            continue
        if (i := f.escapes(length)) is not None:
            return f"{name} takes index {i} out of {length} elements"
        tables[name] = f.table(length.constant).tolist()
    for law in laws:
        if law.function in tables and not holds(law, tables):
            return f"{law} does not hold of {substitution.indices[law.function]}"
    return None
