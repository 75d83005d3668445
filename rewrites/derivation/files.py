"""Derivations as files: plain data, terms printed in the public language, and every leaf checked when it is read.

A step carries the hash of its rule's statement (that of the ledger), so that it does not replay under a rule
that has changed since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from relift.files import parsed_json, read_text
from relift.processes.collecting import uncollected
from relift.rewrites.checks.operator_uses import operator_uses
from relift.rewrites.declared_laws import OVER_OTHERS, float_policy, over_others
from relift.rewrites.derivation.own_rules import OwnRule
from relift.rewrites.derivation.steps import BrokenDerivation, Derivation, Step, replayed
from relift.rewrites.ledger.book import rule_hash
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError, Unsupported, in_a_line
from relift.semantics.indices.reader import read_index_function
from relift.semantics.interpreter import World, evaluate, operator_lambda
from relift.semantics.language.coercion import operator_name
from relift.semantics.language.programs import Program
from relift.semantics.language.vocabulary import VOCABULARY, operator
from relift.semantics.notation.parser import (
    names_used,
    parse_lambda,
    parse_operator,
    parse_term,
    parse_type,
)
from relift.semantics.notation.printer import show
from relift.semantics.notation.shadowing import unshadowed
from relift.semantics.syntax.binding import binders_at, canonical, substitute
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Input,
    Lambda,
    Term,
    UserFunction,
    Var,
    free_variables,
    unused,
)
from relift.semantics.syntax.types import Scalar, substitute_type

ONE_LINE = 10**9
"""As wide as a function's text: Python reads no lambda whose body begins on a line of its own."""

FORMAT = 3
"""The version of the file format; a file of another version is refused."""


def to_json(derivation: Derivation, rules: Mapping[str, Rule] = RULES) -> dict[str, Any]:
    """A derivation as plain data; terms are printed in the public language."""
    program = derivation.origin
    terms, rules = derivation.replay(rules), derivation.known(rules)
    names = names_used(program.body)
    everywhere = names_used(program.body, *terms)  # raises where a text cannot tell two apart
    return {
        "format": FORMAT,
        "program": program.name,
        "parameters": {p.name: str(p.type) for p in program.parameters},
        **_promises(program),
        "sizes": dict(derivation.sizes),
        "float": derivation.policy,
        "operators": [
            _operator_json(o, program.body, names)
            for o in _sums_first(names.values())
            if o != VOCABULARY.get(o.name)
        ],
        "user_functions": [
            _user_json(f) for f in everywhere.values() if isinstance(f, UserFunction)
        ],
        "source": show(unshadowed(program.body)),
        "own_rules": {own.rule.name: own.to_json() for own in derivation.used},
        "steps": [
            _step_json(step, t, rules[step.rule], {p.name for p in program.parameters})
            for step, t in zip(derivation.steps, terms, strict=False)
        ],
        "result": show(unshadowed(derivation.result)),
    }


def _promises(program: Program) -> dict[str, Any]:
    """What sizes are at least, where that is not 1, which the text of a type does not say."""
    least = {name: n for name, n in program.least_sizes.items() if n != 1}
    return {"least": least} if least else {}


def _operator_json(o: BinaryOperator, body: Term, names: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": o.name,
        "function": show(
            operator_lambda(o, next(of for used, of in operator_uses(body) if used == o)),
            width=ONE_LINE,
        ),
        "associative": o.laws.associative,
        "commutative": o.laws.commutative,
        "neutral": o.laws.neutral,
        "idempotent": o.laws.idempotent,
        **{
            law: [p.name for p in over if p in (names.get(p.name), VOCABULARY.get(p.name))]
            for law, over in over_others(o.laws).items()
        },
    }


def _sums_first(values: Iterable[Any]) -> list[BinaryOperator]:
    """The operators among these values, each after those over which it has laws."""
    ordered: dict[str, BinaryOperator] = {}

    def add(o: BinaryOperator) -> None:
        for other in chain.from_iterable(over_others(o.laws).values()):
            if other in operators:
                add(other)
        ordered[o.name] = o

    operators = [o for o in values if isinstance(o, BinaryOperator)]
    for o in operators:
        add(o)
    return list(ordered.values())


def _user_json(f: UserFunction) -> dict[str, Any]:
    return {
        "name": f.name,
        "parameters": dict(zip(f.parameters, map(str, f.types), strict=True)),
        "result": str(f.result),
        "c": f.c,
        "body": None if f.body is None else show(f.body, width=ONE_LINE),
    }


def _step_json(step: Step, t: Term, rule: Rule, inputs: Collection[str]) -> dict[str, Any]:
    """A step from `t`.  What is read back may give binders other names, so those around it are listed.

    No variable has the name of an input in the text, which could not tell them apart.
    """
    substitution = step.substitution
    around = binders_at(t, step.position)
    taken = {*inputs, *(x.name for x in around)}
    apart = {x.name: unused(x.name, taken) for x in around if x.name in inputs}
    written = {
        name: _apart(
            f, inputs, {x.name: Var(apart[x.name], x.type) for x in around if x.name in apart}
        )
        for name, f in sorted(substitution.functions.items())
    }
    return {
        "rule": step.rule,
        "statement": rule_hash(rule),
        "direction": step.direction,
        "position": list(step.position),
        "around": [apart.get(x.name, x.name) for x in around],
        "types": {name: str(t) for name, t in sorted(substitution.types.items())},
        "sizes": {name: n.constant for name, n in sorted(substitution.sizes.items())},
        "functions": {
            name: {
                "parameters": {x.name: str(x.type) for x in f.parameters},
                "body": show(f.body),
            }
            for name, f in written.items()
        },
        "operators": {n: operator_name(o) for n, o in sorted(substitution.operators.items())},
        "indices": {n: str(f) for n, f in sorted(substitution.indices.items())},
        "choices": dict(sorted(step.choices.items())),
        "parts": {name: list(place) for name, place in sorted(step.parts.items())},
    }


def _apart(f: Lambda, inputs: Collection[str], around: Mapping[str, Term]) -> Lambda:
    """A function whose variables have the names of no input; `around`: those that are free in it."""
    own = {x.name for x in f.parameters}
    body = substitute(f.body, {name: x for name, x in around.items() if name not in own})
    taken = free_variables(body) | set(inputs) | own
    new = [Var(unused(x.name, taken), x.type) if x.name in inputs else x for x in f.parameters]
    renamed = zip((x.name for x in f.parameters), new, strict=True)
    return Lambda(tuple(new), unshadowed(substitute(body, dict(renamed))))


def from_json(
    data: Mapping[str, Any],
    rules: Mapping[str, Rule],
    own: Sequence[OwnRule] = (),
    functions: Sequence[UserFunction] = (),
) -> Derivation:
    """The derivation that `to_json` wrote, replayed; raises `BrokenDerivation` for anything else.

    Steps may be by rules of `own`, which the user gave again.  A file has the C of a function, its Python is that of the
    same one of `functions`; without it, the interpreter raises `Unsupported` where it is called.
    """
    with uncollected():
        found, names = steps_from_json(data, rules, own, functions)
    try:
        result = parse_term(data["result"], names)
    except MALFORMED as error:
        raise BrokenDerivation(f"not a derivation: {in_a_line(error)}") from None
    recorded = replace(found, result=result)
    recorded.require_result(found.result)
    return recorded


def steps_from_json(
    data: Mapping[str, Any],
    rules: Mapping[str, Rule],
    own: Sequence[OwnRule] = (),
    functions: Sequence[UserFunction] = (),
) -> tuple[Derivation, dict[str, Any]]:
    """The program and the steps of a file, each replayed, whatever it says of the result; and what names mean."""
    try:
        if data["format"] != FORMAT:
            raise BrokenDerivation(
                f"the derivation has format {data['format']}, this Relift reads format {FORMAT}"
            )
        _require_fields("the derivation", data, FIELDS, OPTIONAL)
        given = _own_rules(data, own)
        names = {**_named(data, functions), **_functions_of(given, data)}
        sizes = {name: _whole(name, n) for name, n in data["sizes"].items()}
        least = {name: _whole(name, n) for name, n in data.get("least", {}).items()}
        if unknown := [name for name in least if name not in sizes]:
            raise BrokenDerivation(f"the derivation has no size {unknown[0]}")
        symbolic = {name: nat(name, least.get(name, 1)) for name in sizes}
        parameters = tuple(
            Input(n, substitute_type(parse_type(t), {}, symbolic))
            for n, t in data["parameters"].items()
        )
        names.update({p.name: p for p in parameters})
        body = parse_term(data["source"], {**names, **symbolic})
        origin = Program(str(data["program"]), parameters, body)
        program = origin.at(sizes)
        names.update({p.name: p for p in program.parameters})
        policy = float_policy(data["float"])
        rules = {**rules, **{known.rule.name: known.rule for known in given}}
        steps: list[Step] = []
        t = program.body
        for number, entry in enumerate(data["steps"], 1):
            try:
                step = _step(entry, t, names, rules)
                t = replayed(step, t, rules, policy)
            except ReliftError as error:
                raise BrokenDerivation(f"step {number}: {error.message}") from None
            steps.append(step)
        return Derivation(origin, sizes, tuple(steps), t, policy, given), names
    except MALFORMED as error:
        raise BrokenDerivation(f"not a derivation: {in_a_line(error)}") from None
    except RecursionError:
        raise BrokenDerivation("not a derivation: its terms are nested too deeply") from None


MALFORMED = (
    LookupError, ArithmeticError, TypeError, ValueError, AttributeError, SyntaxError, NameError,
)  # fmt: skip
"""What reading data of another form raises."""

FIELDS = (
    "format", "program", "parameters", "sizes", "float", "operators", "user_functions", "source",
    "own_rules", "steps", "result",
)  # fmt: skip
OPTIONAL = ("least",)
"""What stands in a file where there is something to say."""

STEP_FIELDS = (
    "rule", "statement", "direction", "position", "around", "types", "sizes", "functions", "operators",
    "indices", "choices", "parts",
)  # fmt: skip


def _require_fields(
    what: str, data: Mapping[str, Any], fields: Collection[str], optional: Collection[str] = ()
) -> None:
    """No field is missing, and none is there that nobody checks."""
    if missing := [name for name in fields if name not in data]:
        raise BrokenDerivation(f"{what} has no field {missing[0]}")
    if unknown := [name for name in data if name not in fields and name not in optional]:
        raise BrokenDerivation(f"{what} has an unknown field {unknown[0]}")


def _whole(name: str, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise BrokenDerivation(f"{name} = {value!r} is no natural number")
    return value


def _named(data: Mapping[str, Any], functions: Sequence[UserFunction]) -> dict[str, Any]:
    """The operators and user functions of a derivation, by name."""
    names: dict[str, Any] = {}
    for o in data["operators"]:
        known = {**VOCABULARY, **names}
        names[o["name"]] = operator(
            parse_operator(o["function"]),
            associative=_truth(o, "associative"),
            commutative=_truth(o, "commutative"),
            neutral=_neutral(o),
            idempotent=_truth(o, "idempotent"),
            name=o["name"],
            **{w: [known[p] for p in o.get(w, ())] for w in OVER_OTHERS.values()},
        )
    for f in data["user_functions"]:
        there = (known for known in functions if _user_json(known) == f)
        names[f["name"]] = next(there, None) or _user_function(f, names)
    return names


def _own_rules(data: Mapping[str, Any], own: Sequence[OwnRule]) -> tuple[OwnRule, ...]:
    """The rules of the user's own that the steps are by: those that were given again, if they are the same."""
    given = {known.rule.name: known for known in own}
    used = {entry["rule"] for entry in data["steps"]}
    found: list[OwnRule] = []
    for name, said in data["own_rules"].items():
        known = given.get(name)
        if name not in used:
            raise BrokenDerivation(
                f"{name} is called a rule of the user's own, but no step is by it"
            )
        if known is None:
            raise BrokenDerivation(
                f"{name} is a rule of the user's own; give the file that it is in by --rules FILE"
            )
        if said != known.to_json():
            raise BrokenDerivation(
                f"{name} is {known}, and was {said.get('equation')} ({said.get('standing')}) when this was "
                "derived; derive it anew"
            )
        found.append(known)
    return tuple(found)


def _functions_of(own: Sequence[OwnRule], data: Mapping[str, Any]) -> dict[str, UserFunction]:
    """The user functions that rules of the user's own bring into a derivation, as their file has them."""
    sides = (side for known in own for side in (known.rule.left, known.rule.right))
    found = {f.name: f for f in names_used(*sides).values() if isinstance(f, UserFunction)}
    said = {f["name"]: f for f in data["user_functions"]}
    for name, function in found.items():
        if name in said and said[name] != _user_json(function):
            raise BrokenDerivation(
                f"{name} is another function than when this was derived; derive it anew"
            )
    return {name: function for name, function in found.items() if name in said}


def _neutral(o: Mapping[str, Any]) -> float | None:
    said = o["neutral"]
    if said is not None and not isinstance(said, int | float):
        raise BrokenDerivation(f"{o['name']} is declared neutral: {said!r}; say a number or null")
    return said


def _truth(o: Mapping[str, Any], law: str) -> bool:
    said = o[law]
    if not isinstance(said, bool):
        raise BrokenDerivation(f"{o['name']} is declared {law}: {said!r}; say true or false")
    return said


def _step(
    entry: Mapping[str, Any], t: Term, names: Mapping[str, Any], rules: Mapping[str, Rule]
) -> Step:
    _require_fields("it", entry, STEP_FIELDS)
    if entry["rule"] not in rules:
        raise BrokenDerivation(f"there is no rule {entry['rule']}")
    if entry["statement"] != (now := rule_hash(rules[entry["rule"]])):
        raise BrokenDerivation(
            f"{entry['rule']} is another rule than when this was derived: its statement is {now[:16]}, "
            f"the step names {str(entry['statement'])[:16]}; derive it anew"
        )
    position = tuple(entry["position"])
    try:
        around = binders_at(t, position)
    except KeyError as error:
        raise BrokenDerivation(f"there is no place {error}") from None
    called = entry["around"]
    if len(called) != len(around):
        raise BrokenDerivation(f"{len(around)} variables are bound around it, not {len(called)}")
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
    substitution = Substitution(
        {name: parse_type(of) for name, of in entry["types"].items()},
        {name: Size.of(_whole(name, n)) for name, n in entry["sizes"].items()},
        functions,
        {name: parse_operator(text, names) for name, text in entry["operators"].items()},
        {name: read_index_function(text) for name, text in entry["indices"].items()},
    )
    parts = {name: tuple(place) for name, place in entry["parts"].items()}
    choices = {name: _whole(name, n) for name, n in entry["choices"].items()}
    return Step(entry["rule"], entry["direction"], position, substitution, choices, parts)


def _user_function(f: Mapping[str, Any], names: Mapping[str, Any]) -> UserFunction:
    types = [parse_type(t) for t in f["parameters"].values()]
    result = parse_type(f["result"])
    body = None
    if f["body"] is not None:
        traced = parse_lambda(f["body"], names, types)
        body = Lambda(traced.parameters, traced.body)

    def reference(*values: Any) -> Any:
        if body is None:
            raise Unsupported(
                f"{f['name']} is opaque C, and its Python is not here; where there is --program, give it the program's own file"
            )
        inputs = dict(zip((x.name for x in body.parameters), values, strict=True))
        return evaluate(body.body, World(), inputs)

    assert isinstance(result, Scalar), "cannot happen: userfun checks this"
    return UserFunction(
        f["name"], tuple(f["parameters"]), tuple(types), result, f["c"], body, reference
    )


def write_json(derivation: Derivation) -> str:
    """The text of a derivation file."""
    return json.dumps(to_json(derivation), indent=1) + "\n"


def program_hash(program: Program) -> str:
    """sha256 of what a program says: its parameters, its term up to the names of binders, its operators.

    >>> from relift.rewrites.derivation.files import program_hash
    >>> import relift as rl
    >>> @rl.program
    ... def double(x: rl.f32[4]):
    ...     return rl.map(lambda v: v + v, x)
    >>> @rl.program
    ... def again(x: rl.f32[4]):
    ...     return rl.map(lambda w: w + w, x)
    >>> program_hash(double) == program_hash(again)
    True
    """
    names = names_used(program.body)
    said = {
        "parameters": {p.name: str(p.type) for p in program.parameters},
        **_promises(program),
        "operators": [_operator_json(o, program.body, names) for o in _sums_first(names.values())],
        "user_functions": [_user_json(f) for f in names.values() if isinstance(f, UserFunction)],
        "source": show(canonical(program.body)),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def file_of(path: Path) -> Path:
    """Where the derivation is that a path names: it may name the folder that holds it."""
    inside = path / "derivation.json"
    return inside if inside.is_file() else path


def read_json(
    path: Path,
    rules: Mapping[str, Rule],
    own: Callable[[str], Sequence[OwnRule]] = lambda _: (),
) -> Derivation:
    """The derivation in a file, where `own` gives the rules of the user's own that its text names; raises `BrokenDerivation` when it is missing, foreign or does not replay."""
    text = read_text(path, BrokenDerivation)
    return parse_json(text, path, rules, own(text))


def names_of_own_rules(text: str) -> list[str]:
    """The rules of the user's own that the text of a derivation names; none where it is no derivation."""
    try:
        named = json.loads(text)["own_rules"]
    except (*MALFORMED, RecursionError):
        return []
    return list(named) if isinstance(named, dict) else []


def parse_json(
    text: str,
    path: Path,
    rules: Mapping[str, Rule],
    own: Sequence[OwnRule] = (),
    functions: Sequence[UserFunction] = (),
) -> Derivation:
    """The derivation that a text holds, which was read from a file."""
    data = parsed_json(text, path, "a derivation", BrokenDerivation)
    if not isinstance(data, dict):
        raise BrokenDerivation(f"{path} is not a derivation", place="")
    try:
        return from_json(data, rules, own, functions)
    except BrokenDerivation as error:
        raise BrokenDerivation(f"{path}: {error.message}", place="") from None
