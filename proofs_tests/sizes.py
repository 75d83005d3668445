"""How long files, functions and classes are: `python -m proofs_tests.sizes` prints what is above the bars.

Tests and rules have no bar: they are lists of equations and of examples.  `python -m proofs_tests.sizes lines` counts
the lines of source, rules too, by chapter: those of code and those of imports, without blank lines, comments and
docstrings.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("semantics", "rewrites", "egraph", "compiler", "src/relift")
RULES = ("rewrites/rules/", "rewrites/ledger/refuted.py")
BARS = {"file": 500, "function": 60, "class": 300}
MOST_MODULES = 14
"""How many modules a folder holds at most: what is more is a chapter of several."""


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


@cache
def tree_of(path: Path) -> ast.Module:
    """What a file of Python says, read once."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, walked once for all tests that look at each."""
    return tuple(ast.walk(tree_of(path)))


def crowded() -> dict[str, int]:
    """By folder: how many modules are in it, where these are more than MOST_MODULES."""
    found: defaultdict[str, int] = defaultdict(int)
    for path in (*sources(), *rules()):
        found[path.parent.relative_to(ROOT).as_posix()] += not path.name.startswith("__")
    return {folder: count for folder, count in found.items() if count > MOST_MODULES}


def rules() -> list[Path]:
    """Every file of rules."""
    return sorted((ROOT / "rewrites" / "rules").rglob("*.py"))


def lengths(path: Path) -> Iterator[tuple[str, str, int]]:
    """What is counted in a file: `file`, `function` or `class`, where it stands, and its lines."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    yield "file", name, len(text.splitlines())
    yield from _inside(tree_of(path), f"{name}:")


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


@dataclass
class Lines:
    """Lines of code and of imports."""

    code: int = 0
    imports: int = 0


def lines_of(text: str) -> Lines:
    r"""The lines of a file that are no blank line, comment or docstring.

    >>> from proofs_tests.sizes import lines_of
    >>> lines_of("'What it is.'\n\nimport ast\n# why\nx = [\n    1,\n]\n")
    Lines(code=3, imports=1)
    """
    written: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _BLANK:
            written |= set(range(token.start[0], token.end[0] + 1))
    imports: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(ast.Constant(str())):
                assert node.end_lineno is not None
                written -= set(range(node.lineno, node.end_lineno + 1))
            case ast.Import() | ast.ImportFrom():
                assert node.end_lineno is not None
                imports |= set(range(node.lineno, node.end_lineno + 1))
            case _:
                pass
    return Lines(len(written - imports), len(imports))


_BLANK = frozenset(
    (
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
)  # fmt: skip


def by_chapter() -> dict[str, Lines]:
    """The lines of every folder of the source that holds files, and of all together."""
    found: defaultdict[str, Lines] = defaultdict(Lines)
    for path in (*sources(), *rules()):
        lines = lines_of(path.read_text(encoding="utf-8"))
        for chapter in (path.parent.relative_to(ROOT).as_posix(), "all"):
            found[chapter].code += lines.code
            found[chapter].imports += lines.imports
    return dict(sorted(found.items()))


if __name__ == "__main__":
    if sys.argv[1:] == ["lines"]:
        for chapter, of in by_chapter().items():
            print(f"{chapter:40} {of.code:6} code {of.imports:6} imports")
    else:
        for place, lines in above().items():
            print(f'    "{place}": {lines},')
