"""Within a chapter one word means one thing: no two of its modules give a class, or a type, the same name.

Chapters are the parts, and each folder of the compiler; what is private to a module is its own affair.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from proofs_tests.sizes import ROOT, sources, tree_of


def named(tree: ast.Module) -> Iterator[str]:
    """The classes and the types that a module names for others."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                pass
            case ast.AnnAssign(ast.Name(name), ast.Name("TypeAlias")):
                pass
            case _:
                continue
        if not name.startswith("_"):
            yield name


def chapter(path: str) -> str:
    """The part that a file is of; of the compiler the folder in it."""
    part, *rest = path.split("/")
    return f"{part}/{rest[0]}" if part == "compiler" else part


def named_twice(files: Iterable[tuple[str, ast.Module]]) -> dict[tuple[str, str], list[str]]:
    """By chapter and name: the files that give the name to something, where these are several."""
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for path, tree in files:
        for name in named(tree):
            found[chapter(path), name].append(path)
    return {word: paths for word, paths in found.items() if len(paths) > 1}


def test_a_word_means_one_thing_in_its_chapter() -> None:
    """Who reads a name there need not ask which one is meant."""
    found = named_twice((p.relative_to(ROOT).as_posix(), tree_of(p)) for p in sources())

    assert not found, f"call them by what tells them apart: {found}"


def test_a_word_with_two_meanings_is_seen() -> None:
    """Of a class as of a type; what is private is left out, and so is another chapter."""
    files = {
        "egraph/a.py": "class Plan: ...\nclass _Own: ...",
        "egraph/search/b.py": "Plan: TypeAlias = tuple[int, ...]\nclass _Own: ...",
        "compiler/text/c.py": "class Kernel: ...",
        "compiler/running/d.py": "class Kernel: ...",
    }

    assert named_twice((path, ast.parse(text)) for path, text in files.items()) == {
        ("egraph", "Plan"): ["egraph/a.py", "egraph/search/b.py"]
    }
