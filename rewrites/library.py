"""All rules, by name."""

from __future__ import annotations

from types import ModuleType

from relift.rewrites.rule import RejectedRule, Rule, RuleFamily
from relift.rewrites.rules.folds import bins, moments, places, recurrences, reduction, scans
from relift.rewrites.rules.layout import (
    gather_scatter,
    padding,
    products,
    split_join,
    take_drop,
    transposition,
)
from relift.rewrites.rules.machine import lookups, lowering, vectorization
from relift.rewrites.rules.stencils import boundaries, ghosts, ghosts_2d, separable, stencil, tiling
from relift.rewrites.rules.traversals import fission, fusion, identities, interchange, iteration

FAMILIES: tuple[ModuleType, ...] = (
    fusion, fission, interchange, split_join, transposition, identities, products, take_drop,
    padding, gather_scatter, reduction, places, bins, scans, recurrences, moments, iteration, stencil, separable, tiling, ghosts,
    ghosts_2d,

    boundaries, vectorization, lookups, lowering,
)  # fmt: skip


def rules_of(module: ModuleType) -> dict[str, Rule | RejectedRule]:
    """The rules that a module defines, in its order."""
    found: list[Rule | RejectedRule] = []
    for r in vars(module).values():
        if isinstance(r, RuleFamily):
            found += r.rules
        elif isinstance(r, Rule | RejectedRule):
            found.append(r)
    return {r.name: r for r in found}


def _all() -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for module in FAMILIES:
        for name, r in rules_of(module).items():
            assert isinstance(r, Rule), f"{name} is ill typed: {getattr(r, 'error', '')}"
            assert name not in found, f"two rules are called {name}"
            found[name] = r
    return found


RULES: dict[str, Rule] = _all()

CHOICES: dict[str, RuleFamily] = {
    r.name: r for module in FAMILIES for r in vars(module).values() if isinstance(r, RuleFamily)
}
"""What stands for several rules, one for every value of a choice, by the name of its function."""
