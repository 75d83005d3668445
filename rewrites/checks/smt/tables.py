"""What the index metavariables of a rule may stand for at given sizes: tables of indices.

An index function of `Index[n]` is any map of the indices below n to such indices, with the conditions of the
rule: a permutation where it is bijective, and one that the other undoes where it is an inverse.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from relift.rewrites.conditions import IndexCondition
from relift.rewrites.rule import Rule
from relift.semantics.errors import Undefined
from relift.semantics.syntax.signatures import IndexKind

Table: TypeAlias = tuple[int, ...]
"""The value at each index."""


def is_permutation(table: Sequence[int]) -> bool:
    """Whether each index is the value at one index.

    >>> from relift.rewrites.checks.smt.tables import is_permutation
    >>> is_permutation((2, 0, 1)), is_permutation((0, 0, 1))
    (True, False)
    """
    return sorted(table) == list(range(len(table)))


def inverse_of(table: Table) -> Table:
    """The permutation that undoes another."""
    return tuple(sorted(range(len(table)), key=table.__getitem__))


def holds(condition: IndexCondition, tables: Mapping[str, Sequence[int]]) -> bool:
    """Whether a condition of a rule holds of these tables."""
    table = tables[condition.function]
    if condition.inverse is None:
        return is_permutation(table)
    other = tables[condition.inverse]
    return len(table) == len(other) and all(other[table[i]] == i for i in range(len(table)))


def all_tables(rule: Rule, sizes: Mapping[str, int]) -> Iterator[dict[str, Table]]:
    """Every choice for the index metavariables of a rule; one empty choice when it has none.

    >>> from relift.rewrites.checks.smt.tables import all_tables
    >>> from relift.rewrites.conditions import bijective, naturals, type_variables
    >>> from relift.rewrites.rule import rule
    >>> from relift.semantics.language.vocabulary import gather
    >>> from relift.semantics.syntax.signatures import Index
    >>> (n,), (A,) = naturals("n"), type_variables("A")
    >>> @rule(where=[bijective("p")])
    ... def gather_twice(p: Index[n], xs: A[n]):
    ...     return gather(p, gather(p, xs)), gather(lambda i: p(p(i)), xs)
    >>> [tables["p"] for tables in all_tables(gather_twice, {"n": 2})]
    [(0, 1), (1, 0)]
    """
    lengths, derived = _lengths(rule, sizes), _derived(rule)
    chosen = [name for name in lengths if name not in derived]
    bijective = _permuted(rule)

    def options(name: str) -> Iterator[Table]:
        count = lengths[name]
        if name in bijective:
            return itertools.permutations(range(count))
        return itertools.product(range(count), repeat=count)

    for choice in itertools.product(*(list(options(name)) for name in chosen)):
        tables = _completed(rule, dict(zip(chosen, choice, strict=True)), derived)
        if tables is not None:
            yield tables


def draw_tables(
    rule: Rule, sizes: Mapping[str, int], choose: Callable[[Sequence[int]], int]
) -> dict[str, Table] | None:
    """One choice for the index metavariables; None when it does not meet the conditions."""
    derived, bijective = _derived(rule), _permuted(rule)
    drawn: dict[str, Table] = {}
    for name, count in _lengths(rule, sizes).items():
        if name in derived:
            continue
        left = list(range(count))
        values: list[int] = []
        for _ in range(count):
            values.append(choose(left))
            if name in bijective:
                left.remove(values[-1])
        drawn[name] = tuple(values)
    return _completed(rule, drawn, derived)


def looked_up(name: str, table: Sequence[int]) -> Callable[[int], int]:
    """A table as a function, which has no value at what is no index of it."""

    def value(i: int) -> int:
        if not 0 <= i < len(table):
            raise Undefined(f"{name} is applied to {i}, but it is known below {len(table)} only")
        return table[i]

    return value


def _lengths(rule: Rule, sizes: Mapping[str, int]) -> dict[str, int]:
    return {
        name: kind.length.evaluate(sizes)
        for name, kind in rule.parameters.items()
        if isinstance(kind, IndexKind)
    }


def _conditions(rule: Rule) -> list[IndexCondition]:
    return [c for c in rule.where if isinstance(c, IndexCondition)]


def _permuted(rule: Rule) -> set[str]:
    """The metavariables that stand for permutations."""
    return {name for c in _conditions(rule) for name in (c.function, c.inverse) if name}


def _derived(rule: Rule) -> dict[str, str]:
    """Metavariables that follow from another, whose inverse they are."""
    found: dict[str, str] = {}
    for condition in _conditions(rule):
        p, q = condition.function, condition.inverse
        if q is not None and p != q and q not in found and p not in found:
            found[q] = p
    return found


def _completed(
    rule: Rule, tables: dict[str, Table], derived: Mapping[str, str]
) -> dict[str, Table] | None:
    """The tables with those that follow; None where a condition fails."""
    for name, other in derived.items():
        tables[name] = inverse_of(tables[other])
    return tables if all(holds(c, tables) for c in _conditions(rule)) else None
