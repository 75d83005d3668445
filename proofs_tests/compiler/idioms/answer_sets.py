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
            raise NotImplementedError("collect is not asked of clingo")


def solutions(formula: Expanded, relations: Relations) -> set[Solution]:
    """All solutions, as clingo finds them."""
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
