"""The rules by which indices are simplified, as equations of whole numbers.

Each rule is applied by one function of `indices`, its step, which finds numbers that meet the conditions.
That the equations follow from the conditions is proved by Z3 for all whole numbers; that a step finds such
numbers is tested on random indices (proofs_tests/compiler/codegen/test_indices.py).

>>> from relift.semantics.indices.rules import table
>>> print(table())
parts by divisibility   (d*q + r) // d = q + r // d              where d >= 1
                        (d*q + r) % d = r % d
quotient by range       r // d = k                               where d >= 1, k*d <= r, r < (k + 1)*d
                        r % d = r - k*d
common factor           (g*x + s) // (g*c) = x // c              where g >= 1, c >= 1, s >= 0, s < g
                        (g*x + s) % (g*c) = g*(x % c) + s
recombination           d*(x // d) + x % d = x                   where d >= 1
shift                   r // d = (r + k*d) // d - k              where d >= 1
                        r % d = (r + k*d) % d
smaller by range        min(a, b) = a                            where a <= b
larger by range         max(a, b) = b                            where a <= b
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relift.semantics.indices import expressions as indices


@dataclass(frozen=True)
class IndexRule:
    """Each of `equations` holds for all whole numbers that meet `conditions`; division rounds down."""

    name: str
    step: Callable[..., Any]
    equations: tuple[tuple[str, str], ...]
    conditions: tuple[str, ...]


RULES: tuple[IndexRule, ...] = (
    IndexRule(
        "parts by divisibility",
        indices.parts_by_divisibility,
        (("(d*q + r) // d", "q + r // d"), ("(d*q + r) % d", "r % d")),
        ("d >= 1",),
    ),
    IndexRule(
        "quotient by range",
        indices.quotient_by_range,
        (("r // d", "k"), ("r % d", "r - k*d")),
        ("d >= 1", "k*d <= r", "r < (k + 1)*d"),
    ),
    IndexRule(
        "common factor",
        indices.common_factor,
        (("(g*x + s) // (g*c)", "x // c"), ("(g*x + s) % (g*c)", "g*(x % c) + s")),
        ("g >= 1", "c >= 1", "s >= 0", "s < g"),
    ),
    IndexRule(
        "recombination",
        indices.recombined,
        (("d*(x // d) + x % d", "x"),),
        ("d >= 1",),
    ),
    IndexRule(
        "shift",
        indices.shift,
        (("r // d", "(r + k*d) // d - k"), ("r % d", "(r + k*d) % d")),
        ("d >= 1",),
    ),
    IndexRule("smaller by range", indices.minimum, (("min(a, b)", "a"),), ("a <= b",)),
    IndexRule("larger by range", indices.maximum, (("max(a, b)", "b"),), ("a <= b",)),
)
"""All rules, in the order in which division tries them."""


def table() -> str:
    """The rules, one equation a line."""
    lines = []
    for rule in RULES:
        for k, (left, right) in enumerate(rule.equations):
            name = "" if k else rule.name
            where = "" if k else f"where {', '.join(rule.conditions)}"
            lines.append(f"{name:<24}{f'{left} = {right}':<41}{where}".rstrip())
    return "\n".join(lines)
