"""Tampered derivations: every leaf of the file of a derivation changed, and what is accepted judged by the interpreter.

    python -m proofs_tests.tampering              all rules, all leaves
    python -m proofs_tests.tampering --sample 500 --seed 7

Each rule of the library is one step of a derivation of its own, from its ground instance, in each direction
that it holds in.  A change is *wrong* when the changed file is still read, replayed and believed, and its source
and its result differ on some input.  Who changes a step writes the result that it gives: that is done, too.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import random
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from relift.egraph.checks.search_tier import lawful_operators
from relift.rewrites.application.matching import apply_filled
from relift.rewrites.checks.operator_uses import require_laws
from relift.rewrites.checks.random.exact_inputs import exact_inputs
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.derivation.files import from_json, steps_from_json, to_json
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.semantics.domains import Exact
from relift.semantics.errors import ReliftError, Undefined
from relift.semantics.indices.reader import read_index_function
from relift.semantics.interpreter import World, evaluate, refines
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import as_term
from relift.semantics.language.programs import Program
from relift.semantics.notation.printer import show
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import Input, Lambda, Literal, Term, Var
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, Vector, boolean, i32

SIZES = ((2, 3), (3, 2), (4, 2), (2, 2), (2, 3, 4), (4, 2, 2), (2, 4, 3))
INDICES = ("lambda i: i", "lambda i: 0")
CHARACTERS = (
    "0",
    "1",
    "2",
    "x",
    "y",
    "+",
    "-",
    "*",
    "<",
    " i",
    "map",
    "add",
    "mul",
    "[0]",
    "[1]",
    ")",
)


# ---- one derivation for each rule


def ground(
    rule: Rule, sizes: tuple[int, ...], index: str
) -> tuple[Substitution, tuple[Input, ...]]:
    """What fills a rule at these sizes: inputs for data, functions that use all their arguments, lawful operators."""
    operators = lawful_operators(rule)
    functions: dict[str, Lambda] = {}
    for c in rule.laws():
        neutral = operators[c.operator].laws.neutral
        if c.element is not None and neutral is not None:
            functions[c.element] = Lambda((), Literal(neutral, i32))
    values = {
        name: Size.of(max(n, rule.least.get(name, 0)))
        for name, n in zip(rule.sizes, itertools.cycle(sizes), strict=False)
    }
    typed = Substitution(dict.fromkeys(rule.types, i32), values)
    inputs: list[Input] = []
    indices = {
        name: read_index_function(index)
        for name, kind in rule.parameters.items()
        if isinstance(kind, IndexKind)
    }
    for name, kind in rule.parameters.items():
        match kind:
            case FunctionKind(arguments, result):
                xs = tuple(Var(f"p{i}", typed.type(t)) for i, t in enumerate(arguments))
                functions[name] = Lambda(xs, value_of(typed.type(result), xs))
            case OperatorKind() | IndexKind() | NatKind():
                pass
            case _:
                if name not in functions:
                    inputs.append(Input(name, typed.type(kind)))
                    functions[name] = Lambda((), inputs[-1])
    return Substitution(typed.types, values, functions, operators, indices), tuple(inputs)


def value_of(t: Type, given: tuple[Term, ...]) -> Term:
    """A term of a type that depends on everything that is given."""
    match t:
        case Tuple(parts):
            return as_term(tuple(value_of(part, given) for part in parts))
        case Array(element, n):
            return as_term(rl.generate(n, lambda i: value_of(element, (*given, i))))
        case Vector(element, n):
            row = rl.as_vector(n, value_of(Array(element, n), given))
            return as_term(row[0])
        case _:
            total: Any = Literal(1, i32)
            for x in given:
                total = total * 3 + number_of(x)
            return as_term(total > 7 if t == boolean else total)


def number_of(x: Term) -> Term:
    """One whole number that depends on all of a value."""
    match x.type:
        case Tuple(parts):
            total: Any = Literal(0, i32)
            for i in range(len(parts)):
                total = total * 5 + number_of(x[i])
            return as_term(total)
        case Array():
            return as_term(rl.reduce_seq(lambda a, y: a * 2 + number_of(y), Literal(0, i32), x))
        case Scalar() if x.type == boolean:
            return as_term(rl.select(x, Literal(1, i32), Literal(0, i32)))
        case _:
            return x


def derivation_of(rule: Rule, direction: Direction) -> dict[str, Any] | None:
    """A derivation of one step by a rule, as a file; None where no ground instance of it is a program."""
    before, _ = rule.side(direction)
    for sizes, index in itertools.product(SIZES, INDICES):
        try:
            substitution, inputs = ground(rule, sizes, index)
            source = substitution.term(before)
            result = apply_filled(rule, source, (), direction, substitution, "reassociate")
            step = Step(rule.name, direction, (), substitution)
            made = Derivation(Program("tampered", inputs, source), {}, (step,), result)
            data: dict[str, Any] = json.loads(json.dumps(to_json(made)))
            from_json(data, RULES)
        except (ReliftError, KeyError, TypeError):
            continue
        return data
    return None


def derivations(only: frozenset[str] = frozenset()) -> Iterator[tuple[str, dict[str, Any]]]:
    """The derivation of each rule, or of some, and of each direction, by name."""
    for rule in (r for name, r in RULES.items() if not only or name in only):
        directions: tuple[Direction, ...] = ("forward", "backward")
        for direction in directions[: 1 if rule.refinement else 2]:
            if (data := derivation_of(rule, direction)) is not None:
                yield f"{rule.name} {direction}", data


# ---- changes


Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Change:
    """Another value at a place of a file."""

    path: Place
    value: Any

    def of(self, data: dict[str, Any]) -> dict[str, Any]:
        """The file with the change."""
        changed = copy.deepcopy(data)
        at: Any = changed
        for key in self.path[:-1]:
            at = at[key]
        at[self.path[-1]] = self.value
        return changed


def changes(data: Any, path: Place = ()) -> Iterator[Change]:
    """Changes of every leaf, and of every list and mapping as a whole."""
    match data:
        case dict():
            for key, value in data.items():
                yield from changes(value, (*path, key))
            if path:
                yield Change(path, {**data, "another": 0})
                yield from (
                    Change(path, {k: v for k, v in data.items() if k != key}) for key in data
                )
                if len(data) > 1:
                    values = list(data.values())
                    yield Change(path, dict(zip(data, values[1:] + values[:1], strict=True)))
        case list():
            for i, value in enumerate(data):
                yield from changes(value, (*path, i))
            yield Change(path, [*data, "xs"])
            yield from (Change(path, data[:i] + data[i + 1 :]) for i in range(len(data)))
            yield from (Change(path, [*data[:i], data[i], *data[i:]]) for i in range(len(data)))
        case bool():
            yield Change(path, not data)
        case int() | float():
            others: tuple[Any, ...] = (data + 1, data - 1, 2 * data, 0, -1, None, "1", data + 0.5)
            yield from (Change(path, other) for other in others if other != data)
        case str():
            yield from (Change(path, text) for text in _texts(data, path))
        case _:
            anything: tuple[Any, ...] = (0, 1, "x", [])
            yield from (Change(path, other) for other in anything)


def _texts(text: str, path: Place) -> Iterator[str]:
    match path[-1]:
        case "rule":
            yield from random.Random(text).sample(sorted(RULES), 3)
        case "direction":
            yield from {"forward", "backward", "sideways"} - {text}
        case "statement":
            yield text[::-1]
            yield ""
        case "float":
            yield from ("exact", "whatever", "Exact")
        case _:
            yield ""
            for old, new in itertools.permutations(CHARACTERS, 2):
                if (at := text.find(old)) >= 0:
                    yield text[:at] + new + text[at + len(old) :]


# ---- judging


def accepted(data: Mapping[str, Any], change: Change) -> Derivation | None:
    """The derivation, where the changed file is believed; whatever is not refused by a `ReliftError` is a defect."""
    changed = change.of(dict(data))
    try:
        if change.path[0] != "result":  # who changes a step writes down what it gives
            forged, _ = steps_from_json(changed, RULES)
            changed["result"] = show(forged.result)
        found = from_json(changed, RULES)
        if "operators" in change.path or "user_functions" in change.path:
            require_laws(found.program.body)
        return found
    except ReliftError:
        return None


def separated(derivation: Derivation) -> str | None:
    """An input on which source and result differ; None where none was found."""
    for inputs in exact_inputs(derivation.program, 6):
        world = World(inputs=inputs, domain=Exact())
        try:
            expected = evaluate(derivation.program.body, world)
        except (Undefined, ZeroDivisionError):
            continue
        try:
            result = evaluate(derivation.result, world)
        except (Undefined, ZeroDivisionError) as error:
            return f"undefined on {inputs}: {error}"
        if not refines(expected, result, lambda x, y: bool(x == y)):
            return f"{expected} is not {result} on {inputs}"
    return None


def resealed(folder: Path) -> None:
    """Write the manifest that fits the files of a folder, as a forger would."""
    file = folder / "manifest.json"
    data = json.loads(file.read_text())
    for name in data["files"]:
        data["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    file.write_text(json.dumps(data))


@dataclass
class Tally:
    """How many changes were tried, how many of them believed, and which of these wrongly."""

    derivations: int = 0
    tried: int = 0
    believed: int = 0
    wrong: tuple[str, ...] = ()


def campaign(sample: int | None = None, seed: int = 0, only: frozenset[str] = frozenset()) -> Tally:
    """Change the derivations of all rules, or of some; at `sample` leaves drawn by the seed, or at all."""
    drawn = random.Random(seed)
    known = list(derivations(only) if sample is None else _some(drawn, max(sample // 20, 1)))
    tally = Tally(len(known))
    everything = [(name, data, change) for name, data in known for change in changes(data)]
    if sample is not None:
        everything = drawn.sample(everything, min(sample, len(everything)))
    for name, data, change in everything:
        tally.tried += 1
        if (found := accepted(data, change)) is not None:
            tally.believed += 1
            if said := separated(found):
                tally.wrong += (f"{name}: {change.path} = {change.value!r}: {said}",)
    return tally


def _some(drawn: random.Random, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for rule in drawn.sample(sorted(RULES), len(RULES)):
        direction: Direction = drawn.choice(("forward", "backward"))
        if RULES[rule].refinement:
            direction = "forward"
        data = derivation_of(RULES[rule], direction)
        if data is not None:
            yield f"{rule} {direction}", data
            count -= 1
            if not count:
                return


def main(
    sample: Annotated[int | None, typer.Option(help="So many changes; all if not given.")] = None,
    seed: Annotated[int, typer.Option(help="What they are drawn by.")] = 0,
) -> None:
    """Change every leaf of derivations over all rules; 1 if a wrong one is believed."""
    warnings.simplefilter("ignore", SyntaxWarning)  # a changed text may call a number
    tally = campaign(sample, seed)
    for line in tally.wrong:
        print(f"WRONG {line}")
    print(
        f"{tally.derivations} derivations, {tally.tried} changes: {tally.tried - tally.believed} refused, "
        f"{tally.believed} believed, {len(tally.wrong)} of them wrongly"
    )
    raise typer.Exit(bool(tally.wrong))


if __name__ == "__main__":
    typer.run(main)
