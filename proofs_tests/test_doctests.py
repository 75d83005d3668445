"""Every example in a docstring can be pasted: it imports what it uses, and pytest puts no name in."""

from __future__ import annotations

import ast
import builtins
import doctest
import symtable
from collections.abc import Iterator

import pytest

from proofs_tests.sizes import ROOT, sources


def examples() -> Iterator[tuple[str, str]]:
    """Each docstring with examples, and where it stands."""
    for file in sources():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node, clean=False) or ""
                if ">>>" in text:
                    name = getattr(node, "name", "")
                    yield f"{file.relative_to(ROOT).as_posix()}:{name}", text


def free_names(text: str) -> list[str]:
    """The names that the examples of a docstring use before they bind them."""
    bound = set(dir(builtins)) | {"__name__"}
    free: dict[str, None] = {}
    for example in doctest.DocTestParser().get_examples(text):
        table = symtable.symtable(example.source, "example", "exec")
        bound |= {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
        free |= dict.fromkeys(name for name in _used(table) if name not in bound)
    return list(free)


def _used(table: symtable.SymbolTable) -> Iterator[str]:
    """The names that code looks up outside of its functions."""
    for symbol in table.get_symbols():
        outermost = table.get_type() == "module" or symbol.is_global()
        if outermost and symbol.is_referenced():
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _used(inner)


def test_examples_import_what_they_use() -> None:
    """A reader who pastes an example into a fresh Python gets what stands below it."""
    missing = {place: names for place, text in examples() if (names := free_names(text))}

    assert not missing, f"import in the example: {missing}"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (">>> x + 1", ["x"]),
        (">>> x = 1\n>>> x + 1", []),
        (">>> from m import f\n>>> f(lambda y: y + z)", ["z"]),
        (">>> [i for i in range(3)]", []),
        (">>> g(1)\n>>> g = len", ["g"]),
    ],
)
def test_a_name_that_is_not_imported_is_seen(text: str, names: list[str]) -> None:
    assert free_names(text) == names
