"""All rules, by name."""

from __future__ import annotations

from types import ModuleType

from relift.rewrites import (
    fusion,
    lowering,
    reduction,
    split_join,
    stencil,
    tiling,
    transposition,
    vectorization,
)
from relift.rewrites.rule import RejectedRule, Rule

FAMILIES: tuple[ModuleType, ...] = (
    fusion, split_join, transposition, reduction, tiling, stencil, vectorization, lowering,
)  # fmt: skip


def rules_of(module: ModuleType) -> dict[str, Rule | RejectedRule]:
    """The rules that a module defines, in its order."""
    return {r.name: r for r in vars(module).values() if isinstance(r, Rule | RejectedRule)}


def _all() -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for module in FAMILIES:
        for name, r in rules_of(module).items():
            assert isinstance(r, Rule), f"{name} is ill typed: {getattr(r, 'error', '')}"
            found[name] = r
    return found


RULES: dict[str, Rule] = _all()
