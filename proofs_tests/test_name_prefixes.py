"""What a name is the name of is its type, never a sign before it: `?`, `%`, `$` and the like are only printed.

Where the text of another language is read or written, that language decides what its signs mean.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pytest

from proofs_tests.sizes import ROOT, nodes_of, sources

FOREIGN = {
    "compiler/idioms/facts/llvm/reading.py": "LLVM begins definitions with @ and %, notes with !",
    "compiler/idioms/facts/names.py": "LLVM writes @ before what a file defines, % before what a function computes",
    "compiler/idioms/replacement/replacing.py": "C's preprocessor begins a line with #",
    "compiler/foreign/reading/preprocessing.py": "C's preprocessor begins a line with #",
    "compiler/text/lexing.py": "C's preprocessor begins a line with #",
}
"""Files that ask for a sign in the text of another language."""

_ASKING = frozenset(
    ("startswith", "endswith", "removeprefix", "removesuffix", "lstrip", "rstrip", "strip", "partition", "rpartition")
)  # fmt: skip
_SIGNS = frozenset("?%$@#~&!^")


def signs(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """The lines where a name is asked for a sign: `x.startswith("?")`, `x[0] == "%"`, `"$" in x`, `x[:1] in "?%"`."""
    for node in nodes:
        match node:
            case ast.Call(ast.Attribute(attr=asked), [first, *_]) if asked in _ASKING:
                parts: list[ast.expr] = [*first.elts] if isinstance(first, ast.Tuple) else [first]
            case ast.Compare(left, comparisons, operands):
                parts = [left, *operands]
                one = isinstance(left, ast.Subscript) or isinstance(
                    comparisons[0], ast.In | ast.NotIn
                )
                parts = parts if one else []
            case _:
                parts = []
        if any(_begins_with_sign(part) for part in parts):
            yield node.lineno  # type: ignore[attr-defined]


def _begins_with_sign(e: ast.expr) -> bool:
    match e:
        case ast.Constant(str(text)) | ast.JoinedStr([ast.Constant(str(text)), *_]):
            return text[:1] in _SIGNS and text != ""
        case _:
            return False


FILES = {file.relative_to(ROOT).as_posix(): file for file in sources()}


def test_no_name_is_told_by_a_sign() -> None:
    """Of nothing that Relift makes itself the text is asked what it is."""
    found = {name: list(signs(nodes_of(file))) for name, file in FILES.items()}
    own = {name: lines for name, lines in found.items() if lines and name not in FOREIGN}

    assert not own, f"make it a type, as `Unknown`, `Depth` and `Counter` are: {own}"


def test_every_exception_is_one() -> None:
    """What asks no text of another language any more is off the list."""
    assert not [name for name in FOREIGN if not list(signs(nodes_of(ROOT / name)))]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x.startswith('?')", 1),
        ("x.startswith(('%', 'a'))", 1),
        ("x.removeprefix('$')", 1),
        ("x.lstrip('%@')", 1),
        ("x[0] == '%'", 1),
        ("x[:1] in '?%'", 1),
        ("'$' in x", 1),
        ("x.startswith(f'?{y}')", 1),
        ("x.startswith('a')", 0),
        ("x == '%'", 0),
        ("f'?{x}'", 0),
    ],
)
def test_a_sign_is_seen(text: str, count: int) -> None:
    """However it is asked for; an operator that is `%` is no name."""
    assert len(list(signs(ast.walk(ast.parse(text))))) == count
