"""Constraints for clingo: the second solver, which shares nothing with the one of the idioms but the relations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import clingo

from relift.compiler.idioms.constraints import atoms
from relift.compiler.idioms.constraints.expansion import All, Any_, Collected, Expanded, Flat
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.structure import Listed

Solution = frozenset[tuple[str, str]]


def alternatives(formula: Expanded) -> list[tuple[Flat, ...]]:
    """The conjunctions of which one holds."""
    match formula:
        case Flat():
            return [(formula,)]
        case Any_(parts):
            return [c for part in parts for c in alternatives(part)]
        case All(parts):
            each = itertools.product(*map(alternatives, parts))
            return [tuple(atom for part in choice for atom in part) for choice in each]
        case Collected():
            raise AssertionError("cannot happen: what is collected is asked for by itself")


def solutions(formula: Expanded, relations: Relations) -> set[Solution]:
    """All solutions, as clingo finds them; what is collected for each is a second question, whose answers are joined."""
    plain, collected = _apart(formula)
    found = [dict(s) for s in _answers(plain, relations)]
    for part in collected:
        inner = [dict(s) for s in _answers(part.body, relations)]
        found = [both for s in found if (both := _joined(s, inner, part.least)) is not None]
    return {frozenset(s.items()) for s in found}


def _apart(formula: Expanded) -> tuple[Expanded, list[Collected]]:
    """A formula without what it collects, and that."""
    if not isinstance(formula, All):
        return formula, []
    parts = [_apart(p) for p in formula.parts if not isinstance(p, Collected)]
    own = [p for p in formula.parts if isinstance(p, Collected)]
    return All(tuple(p for p, _ in parts)), [*own, *(c for _, inner in parts for c in inner)]


def _joined(
    outer: dict[str, str], inner: list[dict[str, str]], least: int
) -> dict[str, str] | None:
    """A solution with the lists that the solutions which agree with it make; none where these are too few."""
    fitting = [s for s in inner if all(outer.get(n, v) == v for n, v in s.items())]
    names = sorted({n for s in fitting for n in s} - outer.keys())
    rows = sorted({tuple(s[n] for n in names) for s in fitting})
    if len(rows) < least:
        return None
    return outer | {n: str(tuple(row[i] for row in rows)) for i, n in enumerate(names)}


def _answers(formula: Expanded, relations: Relations) -> set[Solution]:
    """All solutions of a formula that collects nothing."""
    conjunctions = alternatives(formula)
    used = {a.words for c in conjunctions for a in c}
    predicate = {words: f"r{i}" for i, words in enumerate(sorted(used))}
    lines = [
        f"{predicate[words]}({', '.join(map(_quoted, row))})."
        for words in sorted(used)
        for row in _rows(words, relations)
    ]
    found: set[Solution] = set()
    variables: list[list[str]] = []
    for number, conjunction in enumerate(conjunctions):
        names = sorted({n for a in conjunction for n in a.names})
        variables.append(names)
        letter = {n: f"V{i}" for i, n in enumerate(names)}
        body = (
            f"{predicate[a.words]}({', '.join(letter[n] for n in a.names)})" for a in conjunction
        )
        head = ", ".join(letter[n] for n in names)
        lines.append(f"s{number}({head}) :- {', '.join(body)}.\n#show s{number}/{len(names)}.")
    control = clingo.Control(["--warn=none"])
    control.add("base", [], "\n".join(lines))
    control.ground([("base", [])])
    with control.solve(yield_=True) as handle:
        for symbol in next(iter(handle)).symbols(shown=True):
            names = variables[int(symbol.name[1:])]
            found.add(frozenset(zip(names, (s.string for s in symbol.arguments), strict=True)))
    return found


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _rows(words: str, relations: Relations) -> Iterator[tuple[str, ...]]:
    known = atoms.known(words)
    assert known is not None
    relation = relations.relation(known[0].name, known[1])
    if isinstance(relation, Listed):
        yield from relation.rows
        return
    begins = [row[0] for row in Listed(relations.relation("loop", "").matching((None,)) or ()).rows]
    last = begins if words.endswith("the loop at {}") else relations.universe
    places = [relations.universe] * (words.count("{}") - 1) + [last]
    yield from (row for row in itertools.product(*places) if relation.holds(row))
