"""Tactics: rules composed into longer rewrites, whose result is a derivation like any other.

    use("split_join", m=32)     apply a rule here, with the sizes that it leaves open
    backward("map_fusion")      apply it from right to left
    s >> t                      first s, then t; t starts where s started
    s | t                       s, or t where s does not apply
    attempt(s)                  s, or nothing
    repeat(s)                   s as often as it applies
    at("xs.f", s)               s at a place below
    first(s)                    s at the outermost place, from the left, where it applies

Nothing here is trusted: every step is made by `matching`, and `derive` returns the steps.

>>> x = Input("x", f32[Size.atom("n")])
>>> double = Program("double", (x,), parse("map(lambda v: v * 2.0, x)", x=x))
>>> found = derive(first(use("split_join", m=4)) >> attempt(use("join_split")), double, {"n": 8})
>>> [step.rule for step in found.steps]
['split_join']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from relift.rewrites.derivation import Derivation, Step
from relift.rewrites.library import RULES
from relift.rewrites.matching import FloatPolicy, NoMatch, apply_rule
from relift.rewrites.rule import Direction, Rule
from relift.semantics.binding import Position, positions, term_at
from relift.semantics.errors import ReliftError
from relift.semantics.language import Program
from relift.semantics.terms import Term

MOST = 100
"""How often `repeat` repeats at most; a tactic that still applies then does not end."""


@dataclass(frozen=True)
class Rewriting:
    """A term, the steps that led to it, and the rules that may be used."""

    term: Term
    steps: tuple[Step, ...]
    rules: Mapping[str, Rule]
    policy: FloatPolicy


@dataclass(frozen=True)
class Tactic:
    """A rewriting of the term at a position; it raises `NoMatch` where it does not apply."""

    name: str
    run: Callable[[Rewriting, Position], Rewriting]

    def __rshift__(self, then: Tactic) -> Tactic:
        return Tactic(
            f"{self.name} >> {then.name}", lambda r, position: then.run(self.run(r, position), position)
        )

    def __or__(self, other: Tactic) -> Tactic:
        def either(r: Rewriting, position: Position) -> Rewriting:
            try:
                return self.run(r, position)
            except NoMatch:
                return other.run(r, position)

        return Tactic(f"({self.name} | {other.name})", either)

    def __str__(self) -> str:
        return self.name


def use(rule: str, **choices: int) -> Tactic:
    """The rule, from left to right; `choices` are the sizes that matching leaves open."""
    return _rule(rule, "forward", choices)


def backward(rule: str, **choices: int) -> Tactic:
    """The rule, from right to left."""
    return _rule(rule, "backward", choices)


def _rule(name: str, direction: Direction, choices: Mapping[str, int]) -> Tactic:
    def run(r: Rewriting, position: Position) -> Rewriting:
        if name not in r.rules:
            raise ReliftError(f"there is no rule {name}", place="")
        term, filling = apply_rule(
            r.rules[name], r.term, position, direction=direction, choices=choices, policy=r.policy
        )
        step = Step(name, direction, position, filling, choices)
        return Rewriting(term, (*r.steps, step), r.rules, r.policy)

    shown = ", ".join([repr(name), *(f"{size}={n}" for size, n in choices.items())])
    return Tactic(f"{'use' if direction == 'forward' else 'backward'}({shown})", run)


def attempt(tactic: Tactic) -> Tactic:
    """The tactic, or nothing where it does not apply."""
    return Tactic(f"attempt({tactic})", (tactic | Tactic("nothing", lambda r, _: r)).run)


def repeat(tactic: Tactic) -> Tactic:
    """The tactic as often as it applies; raises `ReliftError` when that does not end."""

    def run(r: Rewriting, position: Position) -> Rewriting:
        for _ in range(MOST):
            try:
                r = tactic.run(r, position)
            except NoMatch:
                return r
        raise ReliftError(f"repeat({tactic}) still applies after {MOST} times", place="")

    return Tactic(f"repeat({tactic})", run)


def at(path: str, tactic: Tactic) -> Tactic:
    """The tactic at a place below: `xs.f` is the body of the data; `f` is the body of a map."""
    places = tuple(path.split("."))

    def run(r: Rewriting, position: Position) -> Rewriting:
        try:
            term_at(r.term, (*position, *places))
        except KeyError:
            raise NoMatch(f"there is no place {path} in the term", place="") from None
        return tactic.run(r, (*position, *places))

    return Tactic(f"at({path!r}, {tactic})", run)


def first(tactic: Tactic) -> Tactic:
    """The tactic at the outermost place, from the left, where it applies."""

    def run(r: Rewriting, position: Position) -> Rewriting:
        for below, _ in positions(term_at(r.term, position)):
            try:
                return tactic.run(r, (*position, *below))
            except NoMatch:
                continue
        raise NoMatch(f"{tactic} applies nowhere in the term", place="")

    return Tactic(f"first({tactic})", run)


def derive(
    tactic: Tactic,
    program: Program,
    sizes: Mapping[str, int] | None = None,
    *,
    rules: Mapping[str, Rule] = RULES,
    float: FloatPolicy = "reassociate",
) -> Derivation:
    """The derivation that a tactic makes of a program; raises `NoMatch` when it does not apply."""
    given = sizes or {}
    done = tactic.run(Rewriting(program.at(given).body, (), rules, float), ())
    return Derivation(program, given, done.steps, done.term, float)
