"""Values as people read them: what lies deep is left out, folds say how often."""

from __future__ import annotations

from typing import Any

from relift.compiler.validation import symbols
from relift.compiler.validation.operations import SIGNS
from relift.compiler.validation.symbols import Symbol


def shown(x: Any, depth: int = 3) -> str:
    """A value in one line."""
    if not isinstance(x, Symbol):
        return str(x)
    match x.op:
        case "fold" if depth:
            trip, _, count = x.args[:3]
            return f"the fold of {trip} of {shown(x.args[3 + count], depth - 1)}"
        case "accumulator":
            return "acc" if x.args[1] == 0 else f"acc.{x.args[1]}"
        case "index":
            return str(x.args[0])
        case "nonneg":
            return f"{x.args[0]} >= 0"
        case op if op in SIGNS and depth:
            left, right = (shown(v, depth - 1) for v in x.args)
            left, right = (f"({t})" if " " in t else t for t in (left, right))
            return f"{left} {SIGNS[op]} {right}"
        case op if depth and op not in ("cell", "real", "whole", "open"):
            return f"{op}({', '.join(shown(v, depth - 1) for v in x.args)})"
        case _:
            return symbols.shown(x, depth)
