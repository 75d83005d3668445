"""Which of several cells of an array it is, and when: as one cell whose index is computed, of one value under one condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.facts.values.terms import (
    TRUE,
    Apply,
    Expression,
    Index,
    Read,
    all_of,
    both,
    constant,
    select,
)
from relift.semantics.syntax.sizes import Size

CHOSEN = "(chosen cell)"
ZERO, ONE = constant(0, "i32"), constant(1, "i32")


def one_of(
    counter: Counter, updates: Sequence[tuple[Read, Expression, Expression]]
) -> tuple[Read, Expression, Expression]:
    """The update that a counter chooses."""
    *others, (cell, value, guard) = updates
    for number, (other_cell, other_value, other_guard) in reversed([*enumerate(others)]):
        here = Index(Size.atom(counter), "i32"), constant(number, "i32")
        now = Apply("equal", here, "boolean")
        cell = either_cell(now, other_cell, cell)
        value, guard = select(now, other_value, value), select(now, other_guard, guard)
    return cell, value, guard


def either_cell(condition: Expression, yes: Read, no: Read) -> Read:
    """One of two cells of an array."""
    place = select(condition, _place(yes), _place(no))
    return replace(no, index=Size.atom(CHOSEN), computed=((CHOSEN, place),))


def _place(cell: Read) -> Expression:
    """Which cell it is, as a number."""
    computed = dict(cell.computed)
    own = {m: c for m, c in cell.index.ordered() if any(str(atom) in computed for atom, _ in m)}
    rest = cell.index - Size(own)
    found: Expression = Index(rest, "i32") if rest.names() else constant(rest.constant or 0, "i32")
    for monomial, c in own.items():
        product: Expression = constant(c, "i32")
        for atom, power in monomial:
            factor = computed.get(str(atom), Index(Size.atom(atom), "i32"))
            if factor.type != "i32":
                factor = Apply("i32", (factor,), "i32")
            for _ in range(power):
                product = factor if product == ONE else Apply("mul", (product, factor), "i32")
        found = product if found == ZERO else Apply("add", (found, product), "i32")
    return found


def asking(guard: Expression, old: Expression) -> tuple[Expression, Expression]:
    """The part of a condition that asks for what the cell holds, and the rest."""
    if not contains(guard, old):
        return TRUE, guard
    if isinstance(guard, Apply) and guard.function == "bitwise_and":
        (a, b), (c, d) = (asking(part, old) for part in guard.arguments)
        return both(a, c), both(b, d)
    return guard, TRUE


def contains(e: Expression, part: Expression) -> bool:
    return any(inner == part for inner in all_of(e))
