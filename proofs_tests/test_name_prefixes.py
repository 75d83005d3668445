"""What a name is the name of is its type, never a sign or a word before or after it, which are only printed.

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

WRITTEN = {
    "get_": "OpenCL C begins with it what a work-item asks of the launch",
    "vstore": "OpenCL C begins with it what stores lanes",
    "lambda ": "the printer breaks its own lines",
    ".v": "a file of Rocq",
    "Lemma ": "Rocq's word for what is proved, in what its compiler says",
    "Theorem ": "Rocq's word for what is proved, in what its compiler says",
    ".icd": "a file of OpenCL's loader",
    "-D": "an option of compilers of C",
    "0x": "numbers of C and of LLVM",
    "relift.": "groups of entry points, in the metadata of packages",
}
"""What is put before or after names here and asked for there, because texts of others have it."""

SPELLED = {
    "rewrites/checks/rocq/tier.py": "what Rocq's compiler printed for one claim",
    "compiler/certificates/certificate.py": "the line of a kernel's text that begins it",
    "compiler/validation/opaque.py": "the functions of a kernel's text",
    "src/relift/cli/building.py": "the first line of a file that was written before",
}
"""Files that ask for a text with a name in it, which is not Relift's own."""

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


def written(nodes: Iterable[ast.AST]) -> Iterator[tuple[bool, str]]:
    """What f-strings put before a value, True, or after it: words, no signs."""
    for node in nodes:
        match node:
            case ast.JoinedStr([ast.Constant(str(text)), _, *_]) if _is_word(text):
                yield True, text
            case _:
                pass
        match node:
            case ast.JoinedStr([*_, _, ast.Constant(str(text))]) if _is_word(text):
                yield False, text
            case _:
                pass


_BEFORE = {"startswith": True, "removeprefix": True, "endswith": False, "removesuffix": False}


def asked(nodes: Iterable[ast.AST]) -> Iterator[tuple[bool, str, int]]:
    """The words that names are asked for, before them, True, or after them."""
    for node in nodes:
        match node:
            case ast.Call(ast.Attribute(attr=asked), [first, *_]) if asked in _BEFORE:
                for part in first.elts if isinstance(first, ast.Tuple) else [first]:
                    if isinstance(part, ast.Constant) and _is_word(str(part.value)):
                        yield _BEFORE[asked], str(part.value), node.lineno
            case _:
                pass


def spelled(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """The lines where a name is asked for what an f-string makes."""
    for node in nodes:
        match node:
            case ast.Call(ast.Attribute(attr=asked), [ast.JoinedStr(), *_]) if asked in _ASKING:
                yield node.lineno
            case _:
                pass


def _is_word(text: str) -> bool:
    return sum(map(str.isalpha, text)) >= 1 and len(text) > 1


FILES = {file.relative_to(ROOT).as_posix(): file for file in sources()}


PRODUCT = {n: f for n, f in FILES.items() if not n.startswith(("proofs_tests/", "examples/"))}


def test_no_name_is_told_by_a_word_before_or_after_it() -> None:
    """What an f-string makes of a name and a word is not taken apart again: it is a type with a field."""
    made = {word for file in PRODUCT.values() for word in written(nodes_of(file))}
    found: list[str] = []
    for name, file in PRODUCT.items():
        words = ((line, text) for b, text, line in asked(nodes_of(file)) if (b, text) in made)
        found += [f"{name}:{line} {text!r}" for line, text in words if text not in WRITTEN]
        found += [f"{name}:{line}" for line in spelled(nodes_of(file)) if name not in SPELLED]

    assert not found, f"make it a type, as `Unsigned`, `Variadic` and `FirstOf` are: {found}"


@pytest.mark.parametrize(
    ("made", "question", "seen"),
    [
        ("f'any_{x}'", "y.startswith('any_')", True),
        ("f'any_{x}'", "y.removeprefix(('any_', 'b_'))", True),
        ("f'{x}_unsigned'", "y.removesuffix('_unsigned')", True),
        ("f'{x}_unsigned'", "y.startswith('_unsigned')", False),
        ("f'any_{x}'", "y == 'any_'", False),
        ("'any_'", "y.startswith('any_')", False),
    ],
)
def test_a_word_is_seen(made: str, question: str, seen: bool) -> None:
    """Where one f-string writes it and another place asks for it."""
    words = set(written(ast.walk(ast.parse(made))))
    assert seen == any((b, t) in words for b, t, _ in asked(ast.walk(ast.parse(question))))


def test_a_made_question_is_seen() -> None:
    """A prefix that is itself made of a name."""
    assert list(spelled(ast.walk(ast.parse("x.removeprefix(f'{y}·')")))) == [1]


def test_no_name_is_told_by_a_sign() -> None:
    """Of nothing that Relift makes itself the text is asked what it is."""
    found = {name: list(signs(nodes_of(file))) for name, file in FILES.items()}
    own = {name: lines for name, lines in found.items() if lines and name not in FOREIGN}

    assert not own, f"make it a type, as `Unknown`, `Depth` and `Counter` are: {own}"


def test_every_exception_is_one() -> None:
    """What asks no text of another language any more is off the lists."""
    questions = {text for file in PRODUCT.values() for _, text, _ in asked(nodes_of(file))}
    assert not [name for name in FOREIGN if not list(signs(nodes_of(ROOT / name)))]
    assert not [name for name in SPELLED if not list(spelled(nodes_of(ROOT / name)))]
    assert WRITTEN.keys() <= questions


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
