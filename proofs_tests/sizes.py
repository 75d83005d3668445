"""How long files, functions and classes are: `python -m proofs_tests.sizes` prints what is above the bars.

Tests and rules are not counted: they are lists of equations and of examples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("semantics", "rewrites", "egraph", "compiler", "src/relift")
RULES = ("rewrites/rules/", "rewrites/ledger/refuted.py")
BARS = {"file": 500, "function": 60, "class": 300}


def sources() -> list[Path]:
    """Every Python file of the source, but the rules."""
    found: list[Path] = []
    for part in PARTS:
        for path in sorted((ROOT / part).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            linked = any(parent.is_symlink() for parent in path.parents if parent != ROOT)
            if not linked and not name.startswith(RULES):
                found.append(path)
    return found


def lengths(path: Path) -> Iterator[tuple[str, str, int]]:
    """What is counted in a file: `file`, `function` or `class`, where it stands, and its lines."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    yield "file", name, len(text.splitlines())
    yield from _inside(ast.parse(text), f"{name}:")


def _inside(node: ast.AST, place: str) -> Iterator[tuple[str, str, int]]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _inside(child, place)
            continue
        kind = "class" if isinstance(child, ast.ClassDef) else "function"
        assert child.end_lineno is not None
        yield kind, place + child.name, child.end_lineno - child.lineno + 1
        yield from _inside(child, f"{place}{child.name}.")


def above() -> dict[str, int]:
    """By place: the lines of everything that is above its bar."""
    found: dict[str, int] = {}
    for path in sources():
        for kind, place, lines in lengths(path):
            if lines > BARS[kind]:
                found[place] = max(lines, found.get(place, 0))
    return found


if __name__ == "__main__":
    for place, lines in above().items():
        print(f'    "{place}": {lines},')
