"""A derivation to be read: as text, as one self-contained HTML page, and as JSON for a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from relift.display.blocks import Block, Code, Folded, Mood, Title, Words
from relift.display.printing import document
from relift.rewrites.derivation.confirmation import Confirmation
from relift.rewrites.derivation.steps import Derivation, Step, standing
from relift.rewrites.ledger.book import is_proved, rule_hash, verdict
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError
from relift.semantics.notation.marked import marked
from relift.semantics.notation.printer import show
from relift.semantics.syntax.binding import tidy
from relift.semantics.syntax.terms import Term


def as_text(
    derivation: Derivation,
    terms: Sequence[Term],
    rules: Mapping[str, Rule],
    confirmed: Confirmation | None,
) -> str:
    """Every step with its rule and the program after it."""
    rules = derivation.known(rules)
    lines = [str(derivation.origin), "", f"at {_sizes(derivation.sizes)}:", show(tidy(terms[0]))]
    for number, (step, t) in enumerate(zip(derivation.steps, terms[1:], strict=True), 1):
        lines += [
            "",
            f"{number}. {_title(step, rules)}",
            _standing(step, derivation, rules),
            show(tidy(t)),
        ]
    lines += _assumptions(derivation)
    lines += ["", _ending(derivation, confirmed)]
    return "\n".join(lines)


def to_json(
    derivation: Derivation, rules: Mapping[str, Rule], confirmed: Confirmation | None
) -> dict[str, Any]:
    """What is known of a derivation that has been replayed."""
    known = derivation.known(rules)
    return {
        "program": derivation.origin.name,
        "assumes": [own.rule.name for own in derivation.assumed],
        "steps": [step.rule for step in derivation.steps],
        "verdicts": standing(derivation, rules),
        "statements": [rule_hash(known[step.rule]) for step in derivation.steps],
        "replays": True,
        "confirmed_at": None if confirmed is None else dict(confirmed.sizes),
        "confirmed_recorded": confirmed is not None and confirmed.recorded,
        "inputs": 0 if confirmed is None else confirmed.inputs,
    }


def as_html(
    derivation: Derivation,
    terms: Sequence[Term],
    rules: Mapping[str, Rule],
    confirmed: Confirmation | None,
) -> str:
    """The same as a page: the program after each step, what changed in it marked, with the rule's equation."""
    known = derivation.known(rules)
    before: list[Block] = [Title(f"Derivation of {derivation.origin.name}")]
    before += [Code(str(derivation.origin)), Words(f"at {_sizes(derivation.sizes)}:")]
    after = [Words(line) for line in _assumptions(derivation) if line]
    shown = [
        *before,
        Code(show(tidy(terms[0]))),
        *of_steps(derivation, terms, known),
        *after,
        Words(_ending(derivation, confirmed)),
    ]
    return document(f"Derivation of {derivation.origin.name}", shown)


def of_steps(
    derivation: Derivation, terms: Sequence[Term], rules: Mapping[str, Rule]
) -> Iterator[Block]:
    """Each step: its rule, what is known of that, and the program with what changed marked."""
    said = standing(derivation, rules)
    for number, step in enumerate(derivation.steps, 1):
        rule, mood = rules[step.rule], "good" if is_proved(said[number - 1]) else "open"
        before, after = (_part(terms[n], step) for n in (number - 1, number))
        yield Words(f"{number}. {_title(step, rules)}")
        yield Words(_standing(step, derivation, rules).strip(), cast(Mood, mood))
        yield after
        yield Folded("before, and the rule", [before, Code(rule.equation()), Words(rule.doc)])


def _part(t: Term, step: Step) -> Code:
    """The program with the place of a step marked."""
    try:
        text, span = marked(t, step.position)
    except (KeyError, ReliftError):
        return Code(show(t))
    return Code(text, (span,))


def _title(step: Step, rules: Mapping[str, Rule]) -> str:
    backward = ", right to left" if step.direction == "backward" else ""
    chosen = ", ".join(f"{name} = {value}" for name, value in step.choices.items())
    first = rules[step.rule].doc.split("\n")[0]
    return f"{step.rule}{backward}{' with ' + chosen if chosen else ''}: {first}"


def _assumptions(derivation: Derivation) -> list[str]:
    """A line for each rule that nothing but the user's word stands for."""
    told = [f"ASSUMED, not proved: {own.rule}" for own in derivation.assumed]
    return ["", *told] if told else []


def _standing(step: Step, derivation: Derivation, rules: Mapping[str, Rule]) -> str:
    """What is known of the rule of a step, and of which statement."""
    rule = rules[step.rule]
    for own in derivation.own:
        if own.rule is rule:
            said = "the user's own rule, not proved" if own.is_assumed else "the user's own rule"
            return f"   {own.standing}: {said}, statement {rule_hash(rule)[:16]}"
    return f"   {verdict(rule)} in the ledger, statement {rule_hash(rule)[:16]}"


def _ending(derivation: Derivation, confirmed: Confirmation | None) -> str:
    replayed = f"{len(derivation.steps)} steps replayed"
    if confirmed is None:
        return f"{replayed}; NOT CONFIRMED: the interpreter could run them at no sizes and inputs that were tried"
    which = "" if confirmed.recorded else ", derived again"
    inputs = "1 input" if confirmed.inputs == 1 else f"{confirmed.inputs} inputs"
    return (
        f"{replayed}; the interpreter confirms each of the {len(confirmed.terms)} programs "
        f"at {_sizes(confirmed.sizes)}{which}, on {inputs}"
    )


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items()) or "fixed sizes"
