"""What a user copies from an example is public: `relift` and its modules that name what they offer."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from proofs_tests.sizes import ROOT

FILES = sorted((ROOT / "examples").rglob("*.py"))
PUBLIC = {
    "relift", "relift.bench", "relift.device", "relift.extending.backends", "relift.extending.idioms",
    "relift.extending.patterns", "relift.strategies", "relift.testing",
}  # fmt: skip


def imported(text: str) -> Iterator[tuple[str, str]]:
    """What a file imports of Relift: the module, and a name of it, or none."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names):
                yield from ((n.name, "") for n in names if n.name.split(".")[0] == "relift")
            case ast.ImportFrom(str(module), names) if module.split(".")[0] == "relift":
                yield from ((module, n.name) for n in names)
            case _:
                pass


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.relative_to(ROOT / "examples").as_posix())
def test_an_example_imports_what_is_public(file: Path) -> None:
    """No example reaches into a part, nor for what a module does not offer."""
    for module, name in imported(file.read_text()):
        assert module in PUBLIC, (
            f"offer {name} in one of {sorted(PUBLIC)} instead of importing {module}"
        )
        offered = getattr(importlib.import_module(module), "__all__", None)
        assert not name or offered is None or name in offered, f"{module} does not offer {name}"


@pytest.mark.parametrize("module", sorted(PUBLIC - {"relift", "relift.device"}))
def test_what_is_offered_is_said(module: str) -> None:
    """Each name exists, is listed once, in order; the module says what it is for."""
    of = importlib.import_module(module)

    assert of.__doc__
    assert [name for name in of.__all__ if not hasattr(of, name)] == []
    assert len(set(of.__all__)) == len(of.__all__)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import relift as rl", [("relift", "")]),
        (
            "from relift.compiler.program import compile_program",
            [("relift.compiler.program", "compile_program")],
        ),
        ("import numpy", []),
    ],
)
def test_an_import_is_seen(text: str, found: list[tuple[str, str]]) -> None:
    """Else the test above would see none."""
    assert list(imported(text)) == found
