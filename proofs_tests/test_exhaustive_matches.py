"""A match over a closed union names every member: a new one is then seen by the type checker.

Which unions are closed is read from the sources: a `TypeAlias` of classes that Relift itself defines.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from proofs_tests.sizes import ROOT, nodes_of, sources, tree_of
from proofs_tests.test_pattern_lists import CLASSES


@cache
def _origins(file: Path) -> dict[str, str]:
    """What the names of a file stand for: a class or a union with the module that defines it."""
    module = file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    found: dict[str, str] = {}
    for node in nodes_of(file):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("relift."):
            source = str(node.module).removeprefix("relift.")
            found |= {name.asname or name.name: f"{source}.{name.name}" for name in node.names}
        elif isinstance(node, ast.ClassDef):
            found[node.name] = f"{module}.{node.name}"
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = f"{module}.{node.target.id}"
    return found


def _origin(name: str, origins: dict[str, str]) -> str:
    """What a name stands for, also one that is written with its module: `terms.Var`."""
    module, _, own = name.rpartition(".")
    return f"{origins.get(module, module)}.{own}" if module else origins.get(name, name)


@cache
def closed_unions() -> dict[str, frozenset[str]]:
    """The members of each union of Relift's own classes, unions in unions taken apart."""
    written: dict[str, list[str]] = {}
    classes: set[str] = set()
    for file in sources():
        origins = _origins(file)
        classes |= {origins[n.name] for n in nodes_of(file) if isinstance(n, ast.ClassDef)}
        for node in tree_of(file).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                members = [_origin(m, origins) for m in _members(node.value)]
                if len(members) > 1:
                    written[origins[node.target.id]] = members

    def flat(name: str, above: frozenset[str]) -> frozenset[str]:
        if name not in written or name in above:
            return frozenset((name,))
        return frozenset().union(*(flat(m, above | {name}) for m in written[name]))

    return {name: found for name in written if len(found := flat(name, frozenset()) & classes) > 1}


@cache
def enumerations() -> frozenset[str]:
    """The classes whose members are all there are."""
    return frozenset(
        _origins(file)[node.name]
        for file in sources()
        for node in nodes_of(file)
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).endswith("Enum") for base in node.bases)
    )


def _members(value: ast.expr | None) -> list[str]:
    """The names that a union joins, whether it is written as such or as text."""
    match value:
        case ast.BinOp(left, ast.BitOr(), right):
            return [*_members(left), *_members(right)]
        case ast.Name() | ast.Attribute(ast.Name()):
            return [ast.unparse(value)]
        case ast.Constant(str(text)):
            return _members(ast.parse(text, mode="eval").body)
        case _:
            return []


def swallowed(nodes: Iterable[ast.AST], closed: frozenset[str]) -> Iterator[int]:
    """The lines of wildcards in matches that otherwise name members of closed unions, as the file calls these."""
    for node in nodes:
        if isinstance(node, ast.Match):
            several = isinstance(node.subject, ast.Tuple)
            named = {name for case in node.cases for name in _classes(case.pattern, several)}
            for case in node.cases:
                if _matches_all(case.pattern) and named & closed and not _is_never(case):
                    yield case.pattern.lineno


def _is_never(case: ast.match_case) -> bool:
    """Whether the type checker is told that nothing is left: `case _: assert_never(x)`."""
    return ast.unparse(case.body[0]).startswith("assert_never(")


def _matches_all(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchSequence(parts):
            return all(map(_matches_all, parts))
        case _:
            return False


def _classes(pattern: ast.pattern, several: bool) -> Iterator[str]:
    """The classes that a pattern asks its subject, or a part of `several` subjects, to be of."""
    match pattern:
        case ast.MatchClass(cls=named) | ast.MatchValue(ast.Attribute(named)):
            yield ast.unparse(named)
        case ast.MatchOr(parts):
            for part in parts:
                yield from _classes(part, several)
        case ast.MatchSequence(parts) if several:
            for part in parts:
                yield from _classes(part, several)
        case ast.MatchAs(pattern=ast.pattern() as inner):
            yield from _classes(inner, several)
        case _:
            pass


def _called(origins: dict[str, str], closed: frozenset[str]) -> frozenset[str]:
    """What a file calls the members of closed unions: by their names, or by those of their modules."""
    plain = {name for name, origin in origins.items() if origin in closed}
    modules = {origin: name for name, origin in origins.items()}
    split = (name.rpartition(".") for name in closed)
    return frozenset(plain | {f"{modules[m]}.{own}" for m, _, own in split if m in modules})


def _found() -> dict[str, list[int]]:
    closed: frozenset[str] = enumerations().union(*closed_unions().values())
    found: dict[str, list[int]] = {}
    for file in sources():
        here = _called(_origins(file), closed)
        if lines := sorted(swallowed(nodes_of(file), here)):
            found[file.relative_to(ROOT).as_posix()] = lines
    return found


def test_no_match_swallows_a_member_of_a_closed_union() -> None:
    """Each member of a union is named, so that a new one cannot be overlooked."""
    found = _found()

    assert not found, f"name the members that are left instead of `case _`: {found}"


LEFT_AS_IT_IS = {
    "egraph/search/guidance/planning.py": "no loop is planned for what is none of these, only for what is in it",
    "rewrites/tactics/groups/kept_rows.py": "a row that is rearranged otherwise is not kept, and read where it is",
}
"""Files where a pattern that a match does not name is rightly left alone."""


def forgotten(nodes: Iterable[ast.AST], patterns: Collection[str]) -> Iterator[int]:
    """The lines of wildcards in matches that name patterns, but for those that refuse the others or hand them on."""
    for node in nodes:
        if isinstance(node, ast.Match):
            several = isinstance(node.subject, ast.Tuple)
            named = {n for case in node.cases for n in _classes(case.pattern, several)}
            if not {name.rpartition(".")[2] for name in named} & {*patterns}:
                continue
            for case in node.cases:
                known = _refuses(case) or _hands_on(case, node.subject)
                if _matches_all(case.pattern) and not known:
                    yield case.pattern.lineno


def _refuses(case: ast.match_case) -> bool:
    return isinstance(case.body[-1], ast.Raise) or _is_never(case)


def _hands_on(case: ast.match_case, subject: ast.expr) -> bool:
    """Whether another function is asked about what no case names."""
    calls = (n for n in ast.walk(case.body[-1]) if isinstance(n, ast.Call))
    return any(ast.unparse(subject) in map(ast.unparse, call.args) for call in calls)


def test_no_match_forgets_a_pattern() -> None:
    """There may always be one more: a match that names some of them says what it does with the others."""
    found = {
        file.relative_to(ROOT).as_posix(): lines
        for file in sources()
        if (lines := list(forgotten(nodes_of(file), CLASSES)))
    }

    assert {*found} == {*LEFT_AS_IT_IS}, f"refuse what is not known, or hand it on: {found}"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("match t:\n case Join(): pass\n case _: return t", 1),
        ("match t:\n case p.Join(): pass\n case _: return max(map(f, parts))", 1),
        ("match t:\n case Join(): pass\n case _: raise NoMatch(t)", 0),
        ("match t:\n case Join(): pass\n case _: return self.other(t, v)", 0),
        ("match t:\n case Get(): pass\n case _: return t", 0),
    ],
)
def test_a_forgotten_pattern_is_seen(text: str, count: int) -> None:
    """Also where it is called by its module; what is handed on is asked for elsewhere."""
    assert len(list(forgotten(ast.walk(ast.parse(text)), {"Join"}))) == count


@cache
def choices() -> dict[str, tuple[frozenset[str], ...]]:
    """By the name of a field or a parameter: the texts of the `Literal`s that it is declared to be of."""
    aliases: dict[str, frozenset[str]] = {}
    for file in sources():
        for node in tree_of(file).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                aliases[node.target.id] = _texts(node.value)
    found: dict[str, set[frozenset[str]]] = {}
    for file in sources():
        for declared in nodes_of(file):
            match declared:
                case ast.AnnAssign(ast.Name(name), annotation) | ast.arg(name, annotation):
                    said = ast.unparse(annotation) if annotation is not None else ""
                    of = aliases.get(said, frozenset()) | _texts(annotation)
                    found.setdefault(name, set()).add(of)
                case _:
                    pass
    return {name: tuple(of - {frozenset()}) for name, of in found.items() if of != {frozenset()}}


def _texts(value: ast.expr | None) -> frozenset[str]:
    """The texts of a `Literal[...]`."""
    if not (isinstance(value, ast.Subscript) and ast.unparse(value.value).endswith("Literal")):
        return frozenset()
    parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
    return frozenset(
        p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)
    )


def swallowed_texts(
    nodes: Iterable[ast.AST], known: dict[str, tuple[frozenset[str], ...]]
) -> Iterator[int]:
    """The lines of wildcards in matches over what is called as a field or parameter that is a `Literal` of these words."""
    for node in nodes:
        if not isinstance(node, ast.Match):
            continue
        subject = node.subject
        name = subject.id if isinstance(subject, ast.Name) else getattr(subject, "attr", "")
        words = {w for case in node.cases for w in _words(case.pattern)}
        if words and any(words <= of for of in known.get(name, ())):
            for case in node.cases:
                if _matches_all(case.pattern) and case.guard is None and not _is_never(case):
                    yield case.pattern.lineno


def _words(pattern: ast.pattern) -> Iterator[str]:
    match pattern:
        case ast.MatchValue(ast.Constant(str(word))):
            yield word
        case ast.MatchOr(parts):
            for part in parts:
                yield from _words(part)
        case _:
            pass


def test_no_match_swallows_a_choice() -> None:
    """What is one of several words is asked for each of them."""
    found = {
        file.relative_to(ROOT).as_posix(): lines
        for file in sources()
        if (lines := list(swallowed_texts(nodes_of(file), choices())))
    }

    assert not found, f"name the words that are left instead of `case _`: {found}"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("match seen.sight:\n case 'a': pass\n case _: pass", 1),
        ("match sight:\n case 'a': pass\n case other: pass", 1),
        ("match seen.sight:\n case 'a' | 'b': pass", 0),
        ("match seen.sight:\n case 'c': pass\n case _: pass", 0),
        ("match seen.sight:\n case 'a': pass\n case _: assert_never(seen.sight)", 0),
        ("match opcode:\n case 'a': pass\n case _: pass", 0),
    ],
)
def test_a_swallowed_choice_is_seen(text: str, count: int) -> None:
    """Of a field as of a parameter; what may be any text is none."""
    known: dict[str, tuple[frozenset[str], ...]] = {"sight": (frozenset(("a", "b")),)}

    assert len(list(swallowed_texts(ast.walk(ast.parse(text)), known))) == count


def test_choices_are_read_from_their_declarations() -> None:
    """The words that a subject may be seen as are one choice."""
    assert any({"differs", "hangs"} <= of for of in choices()["sight"])
    assert "egraph.extraction.states.Want" in enumerations()


def test_the_unions_of_the_language_are_seen() -> None:
    """Terms, types, kinds of parameters, index expressions and statements of kernels are closed."""
    unions = {name.rpartition(".")[2]: members for name, members in closed_unions().items()}
    terms, types = "semantics.syntax.terms", "semantics.syntax.types"

    assert {"Term", "Type", "Kind", "Operator", "IndexExpression", "View", "Statement"} <= {*unions}
    assert {f"{terms}.{name}" for name in ("Var", "Pattern", "Metavariable")} <= unions["Term"]
    assert f"{types}.Array" in unions["Kind"], "a union in a union is taken apart"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("match t:\n case Var(): pass\n case _: pass", 1),
        ("match t:\n case Var() | Get(): pass\n case other: pass", 1),
        ("match t:\n case Var() as x: pass\n case _ if x: pass", 1),
        ("match p, t:\n case Var(), Get(): pass\n case _: pass", 1),
        ("match p, t:\n case Var(), Get(): pass\n case _, _: pass", 1),
        ("match t:\n case Var(): pass\n case Get(): pass", 0),
        ("match t:\n case Var(): pass\n case _: assert_never(t)", 0),
        ("match ts:\n case [Var()]: pass\n case _: pass", 0),
        ("match t:\n case terms.Var(): pass\n case _: pass", 1),
        ("match t:\n case ast.Var(): pass\n case _: pass", 0),
        ("match t:\n case 'a' | int(): pass\n case _: pass", 0),
        ("match t:\n case Var.HERE: pass\n case _: pass", 1),
    ],
)
def test_a_wildcard_is_seen(text: str, count: int) -> None:
    """However the wildcard is written, and whatever else the subject is a tuple of."""
    members = frozenset(("Var", "Get", "terms.Var"))
    assert len(list(swallowed(ast.walk(ast.parse(text)), members))) == count
