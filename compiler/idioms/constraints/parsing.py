"""Constraint files as formulas; what is wrong is said with its line and column.

>>> from relift.compiler.idioms.constraints.parsing import parse
>>> from relift.compiler.idioms.constraints.atoms import ATOMS
>>> text = "Constraint Doubled ( {x} is load instruction and {x} has data flow to {y} ) End"
>>> list(parse(text, "doubled.idl"))
['Doubled']
>>> parse("Constraint Odd {x} is lode End", "odd.idl")
Traceback (most recent call last):
    ...
relift.compiler.idioms.constraints.parsing.WrongConstraint: odd.idl:1:16: no atom reads "{} is lode"; near: "{} is a float", "{} is a pointer"
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib.resources import files
from typing import Any

from relift.compiler.idioms.constraints import atoms
from relift.compiler.idioms.constraints import syntax as s
from relift.semantics.errors import ReliftError


class WrongConstraint(ReliftError):
    """A constraint file that is not understood."""

    def __init__(self, place: s.Place, message: str) -> None:
        super().__init__(message, place=str(place))


def parse(text: str, file: str) -> dict[str, s.Constraint]:
    """The constraints of a file by name; raises `WrongConstraint`."""
    import lark

    try:
        tree = _parser().parse(text)
    except lark.UnexpectedInput as error:
        line, column = getattr(error, "line", 1), getattr(error, "column", 1)
        if line < 1:  # at the end
            line, column = text.count("\n") + 1, len(text.rpartition("\n")[2]) + 1
        raise WrongConstraint(s.Place(file, line, column), _said(error, text)) from None
    found: dict[str, s.Constraint] = {}
    for constraint in tree.children:
        c = _Reader(file).constraint(constraint)
        if c.name in found:
            raise WrongConstraint(
                c.place, f"{c.name} is defined twice, first at {found[c.name].place}"
            )
        found[c.name] = c
    return found


def _said(error: Any, text: str) -> str:
    token = getattr(error, "token", None)
    shown = str(token) if token is not None else text[getattr(error, "pos_in_stream", 0) :][:1]
    expected = sorted(getattr(error, "accepts", None) or getattr(error, "expected", None) or ())
    words = [w for w in (_TOKENS.get(name, name.lower()) for name in expected) if w]
    if not shown:
        return f"the file ends here, where one of {', '.join(words[:8])} is expected"
    return f"{shown!r} is not expected here; expected: {', '.join(words[:8])}"


_TOKENS = {
    "LPAR": "(", "RPAR": ")", "LBRACE": "{", "RBRACE": "}", "LSQB": "[", "RSQB": "]", "EQUAL": "=", "COMMA": ",",
    "DOT": ".", "__ANON_0": "..", "END": "End", "CONSTRAINT": "Constraint", "NAME": "a name", "INT": "a number",
    "WORD": "a word", "ALL": "all", "AT": "at", "SOME": "some", "SIGN": "+ or -", "IF_NOT": "if not otherwise specified", "AND_AS": "", "$END": "",
}  # fmt: skip


@cache
def _parser() -> Any:
    import lark

    grammar = (
        files("relift.compiler.idioms.constraints").joinpath("grammar.lark").read_text("utf-8")
    )
    return lark.Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def _parts(tree: Any) -> list[Any]:
    """What a tree is made of, without the words that only separate."""
    return [c for c in tree.children if getattr(c, "type", "") not in _SEPARATING]


_SEPARATING = frozenset(("ALL", "AT", "SOME", "AND_AS", "IF_NOT"))


class _Reader:
    """Lark's trees as formulas."""

    def __init__(self, file: str) -> None:
        self.file = file

    def constraint(self, tree: Any) -> s.Constraint:
        name, formula = tree.children
        return s.Constraint(str(name), self.formula(formula), self._place(tree))

    def formula(self, tree: Any) -> s.Formula:
        c = _parts(tree)
        match tree.data:
            case "atom":
                return self._atom(tree)
            case "conjunction" | "disjunction":
                parts = tuple(map(self.formula, c))
                return s.Conjunction(parts) if tree.data == "conjunction" else s.Disjunction(parts)
            case "for_all" | "for_some":
                some = tree.data == "for_some"
                return s.ForAll(
                    self.formula(c[0]), str(c[1]), self._sum(c[2]), self._sum(c[3]), some
                )
            case "for_one" | "for_default":
                default = tree.data == "for_default"
                return s.Where(self.formula(c[0]), str(c[1]), self._sum(c[2]), default)
            case "collect":
                least = int(c[1]) if str(c[1]).isdigit() else 1
                return s.Collect(str(c[0]), least, self.formula(c[2]), self._place(tree))
            case "conditional":
                return s.Conditional(self._sum(c[0]), self._sum(c[1]), *map(self.formula, c[2:]))
            case "inherits":
                return self._inherits(tree)
            case _:
                raise AssertionError(f"cannot happen: the grammar has no {tree.data}")

    def _inherits(self, tree: Any) -> s.Inherits:
        name, *rest = tree.children
        given: list[tuple[str, s.Calculation]] = []
        renamed: list[tuple[s.Variable, s.Variable]] = []
        at = None
        for part in rest:
            if part.data == "given":
                pairs = part.children
                given = [
                    (str(n), self._sum(v)) for n, v in zip(pairs[::2], pairs[1::2], strict=True)
                ]
            elif part.data == "renaming":
                named = [self._variable(v.children[0]) for v in _parts(part)]
                renamed = list(zip(named[::2], named[1::2], strict=True))
            else:
                at = self._variable(_parts(part)[0].children[0])
        return s.Inherits(str(name), tuple(given), tuple(renamed), at, self._place(tree))

    def _atom(self, tree: Any) -> s.Atom:
        words: list[str] = []
        arguments: list[tuple[s.Variable, ...]] = []
        for part in tree.children:
            if getattr(part, "data", "") == "variables":
                words.append("{}")
                arguments.append(tuple(map(self._variable, part.children)))
            else:
                words.append(str(part))
        text = " ".join(words)
        place = self._place(tree)
        if atoms.known(text) is None:
            near = difflib.get_close_matches(text, [a.words for a in atoms.ATOMS], 2, 0.0)
            shown = ", ".join(f'"{n}"' for n in near)
            raise WrongConstraint(place, f'no atom reads "{text}"; near: {shown}')
        return s.Atom(text, tuple(arguments), place)

    def _variable(self, tree: Any) -> s.Variable:
        base, *parts = tree.children
        return s.Variable(str(base), tuple(map(self._part, parts)))

    def _part(self, tree: Any) -> s.Member | s.At | s.Range:
        match tree.data:
            case "member":
                return s.Member(str(tree.children[0]))
            case "index":
                return s.At(self._sum(tree.children[0]))
            case _:
                return s.Range(*map(self._sum, tree.children))

    def _sum(self, tree: Any) -> s.Calculation:
        sign, terms = 1, list[tuple[int, int | str]]()
        for part in tree.children:
            if getattr(part, "data", "") == "term":
                text = str(part.children[0])
                terms.append((sign, int(text) if text.isdigit() else text))
            else:
                sign = 1 if str(part) == "+" else -1
        return s.Calculation(tuple(terms))

    def _place(self, tree: Any) -> s.Place:
        return s.Place(self.file, tree.meta.line, tree.meta.column)
