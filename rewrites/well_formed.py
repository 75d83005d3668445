"""When two sides make a rule: of one type, closed, and with every metavariable on a side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relift.rewrites.conditions import Condition, IndexCondition
from relift.rewrites.metavariables import metavariables
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.signatures import Kind, Unproved
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Term, Var, subterms
from relift.semantics.syntax.types import Array, Tuple, Type, Vector


def require_lists(name: str, where: object, choose: object) -> None:
    """Users without a type checker give anything."""
    laws = where if isinstance(where, list | tuple) else [where]
    for law in laws:
        if not isinstance(law, Condition | IndexCondition):
            raise IllTyped(
                f'{name}: where is a list of laws, such as [associative("op")], and {law!r} is none'
            )
    sizes = choose if isinstance(choose, list | tuple) else [choose]
    for size in sizes:
        if not isinstance(size, Size):
            raise IllTyped(f"{name}: choose is a list of sizes of the rule, and {size!r} is none")


def require_one_type(name: str, left: Term, right: Term) -> None:
    if left.type == right.type:
        return
    message = f"{name}: the left side has type {left.type}, the right side {right.type}"
    for n, m in _size_pairs(left.type, right.type) or ():
        if n != m:
            raise Unproved(message, "equals", n, m)
    raise IllTyped(message)


def _size_pairs(left: Type, right: Type) -> list[tuple[Size, Size]] | None:
    """The sizes of two types place by place; None when the types differ in more than sizes."""
    if isinstance(left, Tuple) and isinstance(right, Tuple) and len(left.parts) == len(right.parts):
        pairs = [_size_pairs(p, q) for p, q in zip(left.parts, right.parts, strict=True)]
        return None if None in pairs else [pair for found in pairs for pair in found or ()]
    if isinstance(left, Array) and isinstance(right, Array):
        inner = _size_pairs(left.element, right.element)
        return None if inner is None else [(left.length, right.length), *inner]
    if isinstance(left, Vector) and isinstance(right, Vector):
        inner = _size_pairs(left.element, right.element)
        return None if inner is None else [(left.width, right.width), *inner]
    return [] if left == right else None


def require_used(
    name: str,
    parameters: Mapping[str, Kind],
    left: Term,
    right: Term,
    where: Sequence[Condition | IndexCondition],
) -> None:
    """Every metavariable stands on a side; a neutral element may stand in its condition alone."""
    used = metavariables(left) | metavariables(right)
    used.update(*(condition.metavariables for condition in where))
    for parameter in parameters:
        if parameter not in used:
            raise IllTyped(
                f"{name}: metavariable {parameter} is used on neither side; leave it out"
            )


def require_closed(name: str, side: str, term: Term) -> None:
    for t, bound in subterms(term):
        if isinstance(t, Var) and t not in bound:
            raise IllTyped(f"{name}: on the {side}, variable {t.name} is used outside its binder")
