"""Rules and programs from the text in which they are printed: it is parsed and checked, and no Python of a user's runs.

A program is `dot(x: f32[n], y: f32[n]) = reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(x, y)))`, a rule
`again(xs: A[k * m]): join(split(m, xs)) == xs where ...`; both may take several lines.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from relift.rewrites.conditions import (
    Condition,
    IndexCondition,
    associative,
    bijective,
    commutative,
    distributive,
    idempotent,
    inverse,
    neutral,
)
from relift.rewrites.rule import RejectedRule, Rule, make_rule
from relift.semantics.errors import IllTyped
from relift.semantics.language.programs import Program, well_formed
from relift.semantics.language.vocabulary import VOCABULARY
from relift.semantics.notation.parser import Unreadable, parse_size, parse_term, parse_type
from relift.semantics.syntax.signatures import Fun, Index, Op
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import Type, nat, substitute_type, type_sizes

LONGEST = 20_000
"""Characters of a text."""

LAWS: Mapping[str, Callable[..., Condition | IndexCondition]] = {
    "associative": associative, "bijective": bijective, "commutative": commutative,
    "distributive": distributive, "idempotent": idempotent, "inverse": inverse, "neutral": neutral,
}  # fmt: skip

_HEAD = re.compile(r"\s*([^\W\d]\w*)\s*\(")
_VARIABLE = re.compile(r"[A-Z]\d?")
_Kind: TypeAlias = Any


def program_of(text: str) -> Program:
    """The program that a text prints; raises `IllTyped`.

    >>> from relift.web.printed import program_of
    >>> print(program_of("twice(x: f32[n]) = map(lambda v: v * 2.0, x)"))
    twice(x: f32[n]) -> f32[n] =
      map(lambda v: v * 2.0, x)
    """
    name, parameters, rest = _headed(text, "a program reads: name(x: f32[n]) = term")
    result, equals, body = rest.partition("=")
    if not equals or (result.strip() and not result.strip().startswith("->")):
        raise IllTyped(f"{name}: after its parameters stands = and a term", place="")
    inputs = {n: Input(n, parse_type(t)) for n, t in parameters.items()}
    term = parse_term(body.strip(), {**_sizes(text, inputs), **inputs})
    return Program(name, tuple(inputs.values()), well_formed(term, tuple(inputs.values())))


def rule_of(text: str) -> Rule | RejectedRule:
    """The rule that a text prints; one that does not type is rejected; raises `IllTyped` for what is no rule.

    >>> from relift.web.printed import rule_of
    >>> print(rule_of("again(xs: A[k * m]): join(split(m, xs)) == xs"))
    again: join(split(m, xs)) == xs
    """
    name, parameters, rest = _headed(text, "a rule reads: name(xs: A[n]): left == right")
    if not rest.lstrip().startswith(":"):
        raise IllTyped(
            f"{name}: after its metavariables stands a colon, and left == right", place=""
        )
    sides, _, laws = rest.lstrip()[1:].partition(" where ")
    left, sign, right = _split(name, sides)
    kinds = {n: _kind(n, t) for n, t in parameters.items()}
    where = [_law(law) for law in _calls(laws)] if laws.strip() else []

    def written(*arguments: Any) -> tuple[Any, Any]:
        names = dict(zip(kinds, arguments, strict=True))
        names = {**_sizes(text, names, _any_size), **names}
        return parse_term(left, names), parse_term(right, names)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    written.__name__ = name
    written.__annotations__ = dict(kinds)
    written.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, kind) for n in kinds]
    )
    try:
        return make_rule(written, where, lowering=sign == "->")
    except Unreadable as error:
        raise IllTyped(error.message, place="") from None
    except IllTyped as error:
        return RejectedRule(name, IllTyped(error.message, place=""))


def _headed(text: str, expected: str) -> tuple[str, dict[str, str], str]:
    """The name, the texts of the types of the parameters, and what follows."""
    if len(text) > LONGEST:
        raise IllTyped(f"the text has {len(text)} characters; at most {LONGEST} are read", place="")
    head = _HEAD.match(text)
    end = -1 if head is None else _closing(text, head.end() - 1)
    if head is None or end < 0:
        raise IllTyped(expected, place="")
    try:
        [made] = ast.parse(f"def f({text[head.end() : end]}): pass").body
    except (SyntaxError, ValueError):
        raise IllTyped(f"{head[1]}: its parameters cannot be read; {expected}", place="") from None
    assert isinstance(made, ast.FunctionDef), "cannot happen: it is the text of one"
    found: dict[str, str] = {}
    for argument in made.args.args:
        if argument.annotation is None or argument.arg in VOCABULARY:
            raise IllTyped(
                f"{head[1]}: {argument.arg} needs a type, and a name that no pattern has", place=""
            )
        found[argument.arg] = ast.unparse(argument.annotation)
    return head[1], found, text[end + 1 :]


def _closing(text: str, begin: int) -> int:
    depth = 0
    for place in range(begin, len(text)):
        depth += (text[place] in "([") - (text[place] in ")]")
        if depth == 0:
            return place
    return -1


def _sizes(
    text: str, known: Mapping[str, Any], size: Callable[[str], Size] = nat
) -> dict[str, Size]:
    """The sizes that a text may mean: its lower-case names that mean nothing else."""
    names = set(re.findall(r"\b[a-z]\w*\b", text)) - set(VOCABULARY) - set(known)
    bound = set(re.findall(r"\w+", " ".join(re.findall(r"lambda([^:]*):", text))))
    typed = set(re.findall(r"\w+", " ".join(re.findall(r"\[([^\[\]]*)\]", text))))
    return {name: size(name) for name in (names & typed) - bound}


def _split(name: str, sides: str) -> tuple[str, str, str]:
    for sign in ("==", "->"):
        left, found, right = sides.partition(sign)
        if found:
            return left.strip(), sign, right.strip()
    raise IllTyped(f"{name}: a rule has two sides, with == or -> between them", place="")


def _kind(name: str, text: str) -> _Kind:
    """The kind of a metavariable: `Fun[A, B]`, `Op[A]`, `Index[n]`, or a type."""
    variables = set(_VARIABLE.findall(text))
    node = ast.parse(text, mode="eval").body
    match node:
        case ast.Subscript(ast.Name("Fun" | "Op" | "Index" as head), of):
            parts = list(of.elts) if isinstance(of, ast.Tuple) else [of]
            if (len(parts) > 1) != (head == "Fun"):
                raise IllTyped(f"{name} is Fun[A, B], Op[A] or Index[n], not {text}", place="")
            if head == "Index":
                return Index[_any(parse_size(ast.unparse(parts[0])))]
            types = [_type(ast.unparse(part), variables) for part in parts]
            return Op[types[0]] if head == "Op" else Fun[tuple(types)]
        case _:
            return _type(text, variables)


def _any_size(name: str) -> Size:
    """The size of a rule, which may be 0."""
    return nat(name, least=0)


def _any(size: Size) -> Size:
    return size.substitute({name: _any_size(name) for name in size.names()})


def _type(text: str, variables: Collection[str]) -> Type:
    found = parse_type(text, variables)
    names = {name for size in type_sizes(found) for name in size.names()}
    return substitute_type(found, {}, {name: _any_size(name) for name in names})


def _calls(text: str) -> list[ast.expr]:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise IllTyped(f"not conditions: {text.strip()[:80]!r}", place="") from None
    return list(tree.elts) if isinstance(tree, ast.Tuple) else [tree]


def _law(node: ast.expr) -> Condition | IndexCondition:
    match node:
        case ast.Call(ast.Name(law), arguments) if law in LAWS:
            names = [a.id for a in arguments if isinstance(a, ast.Name)]
            try:
                return LAWS[law](*names)
            except TypeError:
                raise IllTyped(f"{law} takes other names than {names}", place="") from None
        case _:
            known = ", ".join(sorted(LAWS))
            raise IllTyped(
                f"{ast.unparse(node)[:80]} is no condition; there are: {known}", place=""
            )
