"""The index of errors: every message that the source can raise, by kind.

`python -m proofs_tests.error_index` writes `ERRORS.md` anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from proofs_tests.sizes import ROOT, nodes_of, sources

FILE = ROOT / "ERRORS.md"
HEAD = """# Index of errors

Every message that Relift raises, by the class of its error; `{name}` and `{…}` stand for
what is named. An error is one line,
with the place in the user's file in front of it where there is one. `python -m proofs_tests.error_index` writes
this page from the source.
"""


@dataclass(frozen=True)
class ErrorClass:
    """A class of errors, its base, and the first sentence of what it says of itself."""

    name: str
    base: str
    summary: str


@cache
def classes() -> dict[str, ErrorClass]:
    """The classes of errors by name: `ReliftError`, and all that derive from it."""
    declared: dict[str, ErrorClass] = {}
    for path in sources():
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef) and node.bases:
                base = ast.unparse(node.bases[0])
                summary = (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
                declared[node.name] = ErrorClass(node.name, base, summary)
    return {name: c for name, c in declared.items() if _derives(c, declared)}


def _derives(c: ErrorClass, declared: dict[str, ErrorClass]) -> bool:
    seen = set[str]()
    while c.name != "ReliftError":
        if c.name in seen or c.base not in declared:
            return False
        seen.add(c.name)
        c = declared[c.base]
    return True


def messages() -> Iterator[tuple[str, str, str]]:
    """Of every error that is made: its class, its message, and the file that makes it."""
    known = classes()
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        for function in nodes_of(path):
            if not isinstance(function, ast.FunctionDef):
                continue
            inside = tuple(ast.walk(function))
            texts = _assigned(inside)
            for call in inside:
                if not isinstance(call, ast.Call) or not call.args:
                    continue
                kind, text = _called(call), _text(call.args[0], texts)
                if kind in known and text:
                    yield kind, text, name


def _called(call: ast.Call) -> str:
    """The name of a class that is called, which may stand in `errors`; empty where something else is."""
    match call.func:
        case ast.Name(name) | ast.Attribute(ast.Name("errors"), name):
            return name
        case _:
            return ""


def _assigned(inside: Iterable[ast.AST]) -> dict[str, ast.expr]:
    """The texts that a function gives names to, before it raises them, by the nodes in it."""
    return {
        target.id: node.value
        for node in inside
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _text(e: ast.expr, texts: dict[str, ast.expr]) -> str:
    """A message as it is read, with `{…}` for what it names; empty where it is no text."""
    match e:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(parts):
            return "".join(map(_part, parts))
        case ast.BinOp(left, ast.Add(), right):
            before, after = _text(left, texts), _text(right, texts)
            return (before or "{…}") + (after or "{…}") if before or after else ""
        case ast.Name(name) if name in texts and not isinstance(texts[name], ast.Name):
            return _text(texts[name], {})
        case _:
            return ""


def _part(part: ast.expr) -> str:
    """A piece of a formatted text: itself, or the name of what stands there where it has one."""
    match part:
        case ast.Constant(text):
            return str(text)
        case ast.FormattedValue(ast.Name(name)):
            return f"{{{name}}}"
        case _:
            return "{…}"


def page() -> str:
    """The whole index."""
    found = sorted(set(messages()))
    parts = [HEAD]
    for name, c in sorted(classes().items()):
        rows = [(text, file) for kind, text, file in found if kind == name]
        if rows:
            parts.append(f"## {name}\n\n{c.summary}\n\n| message | raised in |\n|---|---|")
            parts[-1] += "".join(f"\n| {_cell(text)} | `{file}` |" for text, file in rows) + "\n"
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def write() -> None:
    """Write the index anew."""
    FILE.write_text(page(), encoding="utf-8")
    print(f"written to {FILE.name}")


if __name__ == "__main__":
    write()
