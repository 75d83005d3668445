"""What a part of Relift has to know of a pattern stands on its class: no other file lists patterns.

A list is a tuple, a set, a list, the keys of a dictionary, a union, or the alternatives of one case of a `match`,
that holds two classes of patterns or more, two of the functions that make them, or two names of them as text.  A case of its own for each pattern is none:
it says what is done with that pattern.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from proofs_tests.sizes import ROOT, rules, sources
from relift.semantics import patterns
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.terms import Pattern

CLASSES = {
    name for name, of in vars(patterns).items() if isinstance(of, type) and issubclass(of, Pattern)
} - {"Pattern"}

NO_PATTERNS = {
    "rewrites/rule.py": "functions that Python has from the start, which are called alike",
    "compiler/text/opencl_words.py": "functions of OpenCL C, which are called alike",
    "rewrites/rules/layout/take_drop.py": "rules of both halves of an array, of which neither is the other with a parameter",
    "src/relift/__init__.py": "the public names, which design.md fixes",
}
"""Files where two names of patterns stand together and mean something else."""

FILES = [
    file
    for file in (*sources(), *rules())
    if not file.is_relative_to(ROOT / "semantics" / "patterns")
    and file.relative_to(ROOT).parts[0] not in ("proofs_tests", "examples")
]


def members(node: ast.AST) -> list[ast.AST]:
    """What stands in a list, whatever its form; nothing in what is none."""
    match node:
        case ast.Tuple(elts) | ast.Set(elts) | ast.List(elts):
            return [*elts]
        case ast.Dict(keys, values):
            return [*(key for key in keys if key is not None), *values]
        case ast.BinOp(left, ast.BitOr(), right):
            return [*(members(left) or [left]), *(members(right) or [right])]
        case ast.MatchOr(alternatives):
            return [*alternatives]
        case _:
            return []


def named(node: ast.AST, imported: set[str]) -> str | None:
    """The pattern that a member of a list names; that which a pair or a case begins with."""
    match node:
        case ast.Name(name) if name in imported:
            return name
        case ast.Attribute(ast.Name(module), name) if module in imported and name in CLASSES:
            return name
        case ast.MatchClass(cls):
            return named(cls, imported)
        case ast.MatchAs(inner) if inner is not None:
            return named(inner, imported)
        case ast.Tuple([first, *_]):
            return named(first, imported)
        case ast.Constant(str() as name) if name in PATTERNS:
            return name
        case _:
            return None


def lists(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The lists of patterns in a file, each with its line; of a union of unions the whole."""
    tree = ast.parse(text)
    imported = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if (node.module == "relift.semantics" and name.name == "patterns")
        or (str(node.module).startswith("relift.semantics.patterns") and name.name in CLASSES)
        or (str(node.module).startswith("relift.semantics.language") and name.name in PATTERNS)
    }
    parts: set[ast.AST] = set()
    for node in ast.walk(tree):
        if node in parts:
            continue
        if isinstance(node, ast.BinOp):
            parts |= set(ast.walk(node))
        found = tuple(name for m in members(node) if (name := named(m, imported)) is not None)
        if len(found) > 1:
            yield getattr(node, "lineno", 0), found


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_file_lists_patterns(file: Path) -> None:
    """What two patterns have in common is a fact that both state, or a class that both are of."""
    found = list(lists(file.read_text()))
    if str(file.relative_to(ROOT)) in NO_PATTERNS:
        assert found, "says nothing of patterns any more: take it off the list"
    else:
        assert not found


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(t, Map | Zip)",
        "isinstance(t, Map | Zip | Input)",
        "x in (Map, Zip)",
        "x = {Map: 1, Zip: 2}",
        "x = [(Map, 1), (Zip, 2)]",
        "match t:\n  case Map(f) | Zip():\n    pass",
        "x = ['map_glb', 'to_local']",
    ],
)
def test_a_list_is_seen_in_every_form(text: str) -> None:
    """Else the test above would not see it."""
    assert list(lists(f"from relift.semantics.patterns import Map, Zip\n{text}"))
    module = text.replace("Map", "p.Map").replace("Zip", "p.Zip")
    assert list(lists(f"from relift.semantics import patterns as p\n{module}"))


def test_a_list_of_what_makes_patterns_is_seen() -> None:
    """As the choices of a rule were."""
    text = "Space = Among({'global': to_global, 'local': to_local})"

    assert list(
        lists(f"from relift.semantics.language.vocabulary import to_global, to_local\n{text}")
    )
