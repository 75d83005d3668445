"""Derivations: how a program became another, rule by rule, so that anyone can replay it.

A step names a rule, its direction, the position, and what every metavariable stands for.  Replaying checks
each step with `matching`, which shares no code with the search that found it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from relift.rewrites.library import RULES
from relift.rewrites.matching import FloatPolicy, NoMatch, apply_filled, apply_rule
from relift.rewrites.rule import Direction, Rule
from relift.semantics.binding import Position, alpha_equal, binders_at, tidy
from relift.semantics.errors import ReliftError
from relift.semantics.instantiation import Filling
from relift.semantics.interpreter import (
    Exact,
    World,
    evaluate,
    operand_type,
    operator_lambda,
    refines,
)
from relift.semantics.language import VOCABULARY, Program, operator
from relift.semantics.parser import names_used, parse_lambda, parse_operator, parse_term, parse_type
from relift.semantics.printer import show
from relift.semantics.sizes import Size, nat
from relift.semantics.terms import (
    BinaryOperator,
    Combine,
    Input,
    Lambda,
    Operator,
    Pattern,
    Term,
    UserFunction,
    Var,
    Vectorized,
    subterms,
)
from relift.semantics.tracing import operator_name
from relift.semantics.types import Array, Scalar, Tuple, Type, Vector
from relift.semantics.written import read_index_function

FORMAT = 1
"""The version of the file format; a file of another version is refused."""

LARGEST_TOTAL = 100
"""Below this is the sum of the small sizes at which a derivation is confirmed."""


class BrokenDerivation(ReliftError):
    """A derivation that does not replay."""


@dataclass(frozen=True)
class Step:
    """One rule applied at one place.

    `choices` are the sizes that matching leaves open, `parts` the places of what metavariables stand for
    where it leaves that open (see `apply_rule`).
    """

    rule: str
    direction: Direction
    position: Position
    filling: Filling
    choices: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, Position] = field(default_factory=dict)


@dataclass(frozen=True)
class Derivation:
    """A program, the sizes at which it was rewritten, and the steps from it to the result."""

    origin: Program
    sizes: Mapping[str, int]
    steps: tuple[Step, ...]
    result: Term
    policy: FloatPolicy = "reassociate"

    @cached_property
    def program(self) -> Program:
        """The source at the sizes of the derivation."""
        return self.origin.at(self.sizes)

    def replay(self, rules: Mapping[str, Rule]) -> list[Term]:
        """Every term from the program's to the result; raises `BrokenDerivation` at the first bad step."""
        terms = [self.program.body]
        for number, step in enumerate(self.steps, 1):
            rule = rules.get(step.rule)
            if rule is None:
                raise BrokenDerivation(f"step {number}: there is no rule {step.rule}")
            try:
                after = apply_filled(
                    rule, terms[-1], step.position, step.direction, step.filling, self.policy
                )
            except (NoMatch, KeyError) as error:
                raise BrokenDerivation(f"step {number}: {error}") from None
            terms.append(after)
        if not alpha_equal(terms[-1], self.result):
            raise BrokenDerivation("the last step does not give the recorded result")
        return terms


@dataclass(frozen=True)
class Confirmation:
    """All intermediate programs agreed with the source at these sizes, on exact integers."""

    sizes: Mapping[str, int]
    terms: tuple[Term, ...]


def confirm(
    derivation: Derivation, rules: Mapping[str, Rule], limit: int = 3000
) -> Confirmation | None:
    """Redo a derivation at small sizes and compare every intermediate program by the interpreter.

    Sizes, and the sizes chosen along the way, are made as small as the steps allow; None when none of the
    first `limit` assignments makes every step apply.  Raises `BrokenDerivation` when two programs differ.
    """
    for tried, (sizes, choices) in enumerate(_small_assignments(derivation)):
        if tried >= limit:
            return None
        try:
            small = derivation.origin.at(sizes)
            terms = [small.body, *(t for t, _ in _again(derivation, small, rules, choices))]
        except ReliftError:
            continue
        _compare(terms, small)
        return Confirmation(sizes, tuple(terms))
    return None


def _small_assignments(
    derivation: Derivation,
) -> Iterator[tuple[dict[str, int], dict[int, int]]]:
    """Small values for the program's sizes and for each number chosen along the way, smallest first."""
    chosen = sorted(
        {
            value
            for step in derivation.steps
            for value in step.choices.values()
            if value > 3  # smaller ones are already small, and may be dimensions
        }
    )
    originals = {**{str(value): value for value in chosen}, **derivation.sizes}
    rising = sorted(originals, key=lambda name: originals[name])
    values = [originals[name] for name in rising]
    for found in _by_total(values):
        small = dict(zip(rising, found, strict=True))
        yield (
            {name: small[name] for name in derivation.sizes},
            {value: small[str(value)] for value in chosen},
        )


def _by_total(originals: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Smaller numbers, of least total first, that are in order and divide each other as the originals do.

    >>> next(_by_total((4, 16, 64)))
    (2, 4, 8)
    """
    for total in range(2 * len(originals), LARGEST_TOTAL):
        yield from _in_order(originals, total, ())


def _in_order(
    originals: Sequence[int], total: int, before: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """What may follow the numbers `before`, which stand for the first originals, for a given total."""
    done = len(before)
    if done == len(originals):
        if total == 0:
            yield before
        return
    original = originals[done]
    step = math.lcm(
        *(b for b, o in zip(before, originals, strict=False) if o < original and original % o == 0)
    )
    least = 2 if done == 0 or originals[done - 1] == original else before[-1] + 1
    most = min(original, total - 2 * (len(originals) - done - 1))
    last = done == len(originals) - 1
    for value in range(total if last else -(-least // step) * step, most + 1, step):
        if value >= least and value % step == 0:
            yield from _in_order(originals, total - value, (*before, value))


def _again(
    derivation: Derivation, small: Program, rules: Mapping[str, Rule], choices: Mapping[int, int]
) -> Iterator[tuple[Term, Step]]:
    """Each step of the derivation at other sizes, matched anew, with the term that it gives."""
    t = small.body
    for step in derivation.steps:
        chosen = {name: choices.get(value, value) for name, value in step.choices.items()}
        t, filling = apply_rule(
            rules[step.rule],
            t,
            step.position,
            direction=step.direction,
            choices=chosen,
            parts=step.parts,
            policy=derivation.policy,
        )
        yield t, replace(step, filling=filling, choices=chosen)


def redo(
    derivation: Derivation,
    rules: Mapping[str, Rule],
    sizes: Mapping[str, int],
    choices: Mapping[int, int],
) -> Derivation:
    """The derivation at other sizes, with `choices` saying what replaces each number chosen along the way.

    Raises `ReliftError` when the program, or a step, does not allow these sizes.
    """
    program = derivation.origin.at(sizes)
    again = list(_again(derivation, program, rules, choices))
    result = again[-1][0] if again else program.body
    steps = tuple(step for _, step in again)
    return Derivation(derivation.origin, sizes, steps, result, derivation.policy)


def _compare(terms: Sequence[Term], program: Program) -> None:
    inputs = {p.name: _sample(p.type, [7 * i + 3]) for i, p in enumerate(program.parameters)}
    world = World(inputs=inputs, domain=Exact())
    expected = evaluate(terms[0], world)
    for number, t in enumerate(terms[1:], 1):
        if not refines(expected, evaluate(t, world), lambda x, y: bool(x == y)):
            raise BrokenDerivation(
                f"step {number} changes the result at small sizes; the term is now\n{show(tidy(t))}"
            )


def _sample(t: Type, state: list[int]) -> Any:
    """Small whole numbers, different ones in different cells."""
    match t:
        case Array(element, n) | Vector(element, n):
            return [_sample(element, state) for _ in range(n.constant or 0)]
        case Tuple(parts):
            return tuple(_sample(part, state) for part in parts)
        case _:
            state[0] = (state[0] * 31 + 17) % 101
            return state[0] - 50


# ---- files


def to_json(derivation: Derivation, rules: Mapping[str, Rule] = RULES) -> dict[str, Any]:
    """A derivation as plain data; terms are printed in the public language."""
    program = derivation.origin
    terms = derivation.replay(rules)
    names = names_used(program.body)
    return {
        "format": FORMAT,
        "program": program.name,
        "parameters": {p.name: str(p.type) for p in program.parameters},
        "sizes": dict(derivation.sizes),
        "float": derivation.policy,
        "operators": [
            _operator_json(o, program.body, names)
            for o in _sums_first(names.values())
            if o != VOCABULARY.get(o.name)
        ],
        "user_functions": [_user_json(f) for f in names.values() if isinstance(f, UserFunction)],
        "source": show(program.body),
        "steps": [_step_json(step, t) for step, t in zip(derivation.steps, terms, strict=False)],
        "result": show(derivation.result),
    }


def _operator_json(o: BinaryOperator, body: Term, names: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": o.name,
        "function": show(operator_lambda(o, _used_at(o, body))),
        "associative": o.laws.associative,
        "commutative": o.laws.commutative,
        "neutral": o.laws.neutral,
        "idempotent": o.laws.idempotent,
        "distributes_over": [
            plus.name
            for plus in o.laws.distributes_over
            if plus in (names.get(plus.name), VOCABULARY.get(plus.name))
        ],
    }


def _sums_first(values: Iterable[Any]) -> list[BinaryOperator]:
    """The operators among these values, each after those that it distributes over."""
    ordered: dict[str, BinaryOperator] = {}

    def add(o: BinaryOperator) -> None:
        for plus in o.laws.distributes_over:
            if plus in operators:
                add(plus)
        ordered[o.name] = o

    operators = [o for o in values if isinstance(o, BinaryOperator)]
    for o in operators:
        add(o)
    return list(ordered.values())


def _used_at(o: BinaryOperator, body: Term) -> Type:
    """The type of the values that a program combines with an operator."""
    for t, _ in subterms(body):
        used: Operator
        match t:
            case Combine(operator):
                used, of = operator, t.left.type
            case Pattern() if (op := getattr(t, "op", None)) is not None:
                used, of = op, operand_type(t)
            case _:
                continue
        while isinstance(used, Vectorized) and isinstance(of, Vector):
            used, of = used.operator, of.element
        if used == o:
            return of
    raise AssertionError(f"cannot happen: {o.name} was found in the program")


def _user_json(f: UserFunction) -> dict[str, Any]:
    return {
        "name": f.name,
        "parameters": dict(zip(f.parameters, map(str, f.types), strict=True)),
        "result": str(f.result),
        "c": f.c,
        "body": None if f.body is None else show(f.body),
    }


def _step_json(step: Step, t: Term) -> dict[str, Any]:
    """A step from `t`.  What is read back may give binders other names, so those around it are listed."""
    filling = step.filling
    return {
        "rule": step.rule,
        "direction": step.direction,
        "position": list(step.position),
        "around": [x.name for x in binders_at(t, step.position)],
        "types": {name: str(t) for name, t in sorted(filling.types.items())},
        "sizes": {name: n.constant for name, n in sorted(filling.sizes.items())},
        "functions": {
            name: {
                "parameters": {x.name: str(x.type) for x in f.parameters},
                "body": show(f.body),
            }
            for name, f in sorted(filling.functions.items())
        },
        "operators": {n: operator_name(o) for n, o in sorted(filling.operators.items())},
        "indices": {n: str(f) for n, f in sorted(filling.indices.items())},
        "choices": dict(sorted(step.choices.items())),
        "parts": {name: list(place) for name, place in sorted(step.parts.items())},
    }


def from_json(data: Mapping[str, Any], rules: Mapping[str, Rule]) -> Derivation:
    """The derivation that `to_json` wrote; raises `BrokenDerivation` for anything else."""
    try:
        if data["format"] != FORMAT:
            raise BrokenDerivation(
                f"the derivation has format {data['format']}, this Relift reads format {FORMAT}"
            )
        names: dict[str, Any] = {}
        for o in data["operators"]:
            names[o["name"]] = operator(
                parse_operator(o["function"]),
                associative=o["associative"],
                commutative=o["commutative"],
                neutral=o["neutral"],
                idempotent=o.get("idempotent", False),
                distributes_over=[
                    {**VOCABULARY, **names}[plus] for plus in o.get("distributes_over", ())
                ],
                name=o["name"],
            )
        for f in data["user_functions"]:
            names[f["name"]] = _user_function(f)
        parameters = tuple(Input(n, parse_type(t)) for n, t in data["parameters"].items())
        symbolic = {name: nat(name) for name in data["sizes"]}
        names.update({p.name: p for p in parameters})
        body = parse_term(data["source"], {**names, **symbolic})
        origin = Program(data["program"], parameters, body)
        program = origin.at(data["sizes"])
        names.update({p.name: p for p in program.parameters})
        steps: list[Step] = []
        t = program.body
        for number, entry in enumerate(data["steps"], 1):
            step = _step(entry, t, names)
            if step.rule not in rules:
                raise BrokenDerivation(f"step {number}: there is no rule {step.rule}")
            try:
                t = apply_filled(
                    rules[step.rule], t, step.position, step.direction, step.filling, data["float"]
                )
            except (NoMatch, KeyError) as error:
                raise BrokenDerivation(f"step {number}: {error}") from None
            steps.append(step)
        result = parse_term(data["result"], names)
        return Derivation(origin, data["sizes"], tuple(steps), result, data["float"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BrokenDerivation(f"not a derivation: {type(error).__name__} {error}") from None


def _step(entry: Mapping[str, Any], t: Term, names: Mapping[str, Any]) -> Step:
    position = tuple(entry["position"])
    around = binders_at(t, position)
    called = entry.get("around", [x.name for x in around])
    # both names are taken: the one in the text, and the one that a new binder must not capture
    scope = {**names, **{x.name: x for x in around}, **dict(zip(called, around, strict=True))}
    functions: dict[str, Lambda] = {}
    taken = {x.name for x in around}
    for name, f in entry["functions"].items():
        own: dict[str, Var] = {}
        for x, of in f["parameters"].items():
            new = x
            while new in taken:
                new += "_"
            own[x] = Var(new, parse_type(of))
        body = parse_term(f["body"], {**scope, **{y.name: y for y in own.values()}, **own})
        functions[name] = Lambda(tuple(own.values()), body)
    filling = Filling(
        {name: parse_type(of) for name, of in entry["types"].items()},
        {name: Size.of(n) for name, n in entry["sizes"].items()},
        functions,
        {name: parse_operator(text, names) for name, text in entry["operators"].items()},
        {name: read_index_function(text) for name, text in entry.get("indices", {}).items()},
    )
    parts = {name: tuple(place) for name, place in entry.get("parts", {}).items()}
    return Step(entry["rule"], entry["direction"], position, filling, entry["choices"], parts)


def _user_function(f: Mapping[str, Any]) -> UserFunction:
    types = [parse_type(t) for t in f["parameters"].values()]
    result = parse_type(f["result"])
    body = None
    if f["body"] is not None:
        traced = parse_lambda(f["body"], {}, types)
        body = Lambda(traced.parameters, traced.body)

    def twin(*values: Any) -> Any:
        if body is None:
            raise BrokenDerivation(f"{f['name']} is opaque C; run the program's own file instead")
        inputs = dict(zip((x.name for x in body.parameters), values, strict=True))
        return evaluate(body.body, World(), inputs)

    assert isinstance(result, Scalar), "cannot happen: userfun checks this"
    return UserFunction(f["name"], tuple(f["parameters"]), tuple(types), result, f["c"], body, twin)


def write_json(derivation: Derivation) -> str:
    """The text of a derivation file."""
    return json.dumps(to_json(derivation), indent=1) + "\n"


def read_json(path: Path, rules: Mapping[str, Rule]) -> Derivation:
    """The derivation in a file; raises `BrokenDerivation` when it is missing, foreign or does not replay."""
    try:
        data = json.loads(path.read_text())
    except OSError as error:
        raise BrokenDerivation(f"cannot read {path}: {error.strerror}", place="") from None
    except ValueError:
        raise BrokenDerivation(f"{path} is not a derivation: it is no JSON", place="") from None
    if not isinstance(data, dict):
        raise BrokenDerivation(f"{path} is not a derivation", place="")
    return from_json(data, rules)
