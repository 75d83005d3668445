"""Derivations: how a program became another, rule by rule, so that anyone can replay it.

A step names a rule, its direction, the position, and what every metavariable stands for.  Replaying checks
each step with `matching`, which shares no code with the search that found it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, TypeAlias

from relift.display.displayed import Displayed
from relift.processes.collecting import uncollected
from relift.rewrites.application.applied import applied_again
from relift.rewrites.application.matching import apply_rule
from relift.rewrites.application.parts import given_values
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.declared_laws import FloatPolicy, float_policy
from relift.rewrites.derivation.own_rules import OwnRule
from relift.rewrites.ledger.book import Verdict, is_proved, verdict
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import Position, alpha_equal
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import Input, Term, subterms


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
    substitution: Substitution
    choices: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, Position] = field(default_factory=dict)


@dataclass(frozen=True)
class Derivation(Displayed):
    """A program, the sizes at which it was rewritten, and the steps from it to the result.

    `own` are the rules of the user's own that steps may name beside those of the library.
    """

    shown_by: ClassVar = "relift.rewrites.displays:of_derivation"

    origin: Program
    sizes: Mapping[str, int]
    steps: tuple[Step, ...]
    result: Term
    policy: FloatPolicy = "reassociate"
    own: tuple[OwnRule, ...] = ()

    def known(self, rules: Mapping[str, Rule]) -> Mapping[str, Rule]:
        """These rules, and the user's own."""
        return {**rules, **{own.rule.name: own.rule for own in self.own}} if self.own else rules

    @property
    def used(self) -> tuple[OwnRule, ...]:
        """The rules of the user's own that a step is by."""
        names = {step.rule for step in self.steps}
        return tuple(own for own in self.own if own.rule.name in names)

    @property
    def assumed(self) -> tuple[OwnRule, ...]:
        """The rules that a step is by and that nothing but the user's word stands for."""
        return tuple(own for own in self.used if own.is_assumed)

    @cached_property
    def program(self) -> Program:
        """The source at the sizes of the derivation."""
        return self.origin.at(self.sizes)

    def replay(self, rules: Mapping[str, Rule]) -> list[Term]:
        """Every term from the program's to the result; raises `BrokenDerivation` at the first bad step."""
        float_policy(self.policy)
        rules = self.known(rules)
        terms = [self.program.body]
        for number, step in enumerate(self.steps, 1):
            try:
                terms.append(replayed(step, terms[-1], rules, self.policy))
            except ReliftError as error:
                raise BrokenDerivation(f"step {number}: {error}") from None
        self.require_result(terms[-1])
        return terms

    def require_result(self, last: Term) -> None:
        """Raise `BrokenDerivation` unless what the last step gives is the result, and is about the parameters."""
        if not alpha_equal(last, self.result):
            raise BrokenDerivation("the last step does not give the recorded result")
        known = {p.name: p for p in self.program.parameters}
        for t, _ in subterms(last):
            if isinstance(t, Input) and known.get(t.name) != t:
                raise BrokenDerivation(f"the result uses {t.name}, which is no parameter")


def replayed(step: Step, t: Term, rules: Mapping[str, Rule], policy: FloatPolicy) -> Term:
    """The term that a step makes of `t`, every premise checked; raises `ReliftError`."""
    rule = rules.get(step.rule)
    if rule is None:
        raise BrokenDerivation(f"there is no rule {step.rule}")
    if step.direction not in ("forward", "backward"):
        raise BrokenDerivation(f"{step.direction!r} is no direction of a rule")
    for name, value in step.choices.items():
        if step.substitution.sizes.get(name) != Size.of(value):
            raise BrokenDerivation(
                f"{name} = {value} was chosen, but is not what {name} stands for"
            )
    if unknown := sorted(set(step.parts) - set(rule.parameters)):
        raise BrokenDerivation(f"{rule.name} has no metavariable {unknown[0]}")
    try:
        return applied_again(rule, t, step.position, step.direction, step.substitution, policy)
    except KeyError as error:
        raise BrokenDerivation(f"there is no place {error}") from None


def standing(derivation: Derivation, rules: Mapping[str, Rule]) -> list[Verdict]:
    """What is known of the rule of each step: by the ledger, or by the check of a rule of the user's own."""
    own: dict[str, Verdict] = {known.rule.name: known.standing for known in derivation.own}
    names = [step.rule for step in derivation.steps]
    said: dict[str, Verdict] = {
        name: own[name] if name in own else verdict(rules[name]) for name in set(names)
    }
    return [said[name] for name in names]


def require_standing(
    derivation: Derivation, rules: Mapping[str, Rule], allowed: Collection[str] = ()
) -> None:
    """Raise `BrokenDerivation` for a step by a rule that is not PROVED in the ledger, and not allowed by name."""
    if unknown := sorted(set(allowed) - set(derivation.known(rules))):
        raise BrokenDerivation(f"there is no rule {unknown[0]} to allow")
    for number, (step, said) in enumerate(
        zip(derivation.steps, standing(derivation, rules), strict=True), 1
    ):
        if not is_proved(said) and step.rule not in allowed:
            where = "" if said == "ASSUMED" else " in the ledger"
            raise BrokenDerivation(
                f"step {number} is by {step.rule}, which is {said}{where}, not PROVED; "
                f"--allow {step.rule} takes it anyway"
            )


def steps_at(
    derivation: Derivation, small: Program, rules: Mapping[str, Rule], choices: Mapping[int, int]
) -> Iterator[tuple[Term, Step]]:
    """Each step of the derivation at other sizes, matched anew, with the term that it gives."""
    t, rules = small.body, derivation.known(rules)
    for step in derivation.steps:
        chosen = {name: choices.get(value, value) for name, value in step.choices.items()}
        rule, filled = rules[step.rule], step.substitution
        given = {
            name: value
            for name, value in given_values(rule, step.direction, filled).items()
            if name not in step.parts
        }
        t, substitution = apply_rule(
            rule,
            t,
            step.position,
            direction=step.direction,
            choices=chosen,
            parts=step.parts,
            given=given,
            policy=derivation.policy,
        )
        yield t, replace(step, substitution=substitution, choices=chosen)


Redone: TypeAlias = tuple[Derivation, Sequence[Term]]
"""A derivation at other sizes, with its programs from the source to the result."""


def redone(
    derivation: Derivation,
    rules: Mapping[str, Rule],
    sizes: Mapping[str, int],
    choices: Mapping[int, int],
) -> Redone:
    """The derivation at other sizes, with `choices` saying what replaces each number chosen along the way.

    Raises `ReliftError` when the program, or a step, does not allow these sizes.
    """
    program = derivation.origin.at(sizes)
    with uncollected():
        again = list(steps_at(derivation, program, rules, choices))
    terms = [program.body, *(t for t, _ in again)]
    steps = tuple(step for _, step in again)
    return replace(derivation, sizes=sizes, steps=steps, result=terms[-1]), terms


def redo(
    derivation: Derivation,
    rules: Mapping[str, Rule],
    sizes: Mapping[str, int],
    choices: Mapping[int, int],
) -> Derivation:
    """The derivation alone, as `redone` gives it."""
    return redone(derivation, rules, sizes, choices)[0]
