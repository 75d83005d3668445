"""A derivation to be read: as text, as one self-contained HTML page, and as JSON for a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from relift.rewrites.derivation.confirmation import Confirmation
from relift.rewrites.derivation.steps import Derivation, Step, standing
from relift.rewrites.ledger.book import rule_hash, verdict
from relift.rewrites.rule import Rule
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
    """The same as a page: the program before and after each step, with the rule's equation."""
    name, rules = escape(derivation.origin.name), derivation.known(rules)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        f"<title>Derivation of {name}</title>",
        "<style>body{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}",
        "pre{background:#f5f5f5;padding:1em;overflow-x:auto}.rule{background:#eef4fb}</style>",
        f"<h1>Derivation of {name}</h1><pre>{escape(str(derivation.origin))}</pre>",
        f"<p>At {escape(_sizes(derivation.sizes))}:</p><pre>{escape(show(tidy(terms[0])))}</pre>",
    ]
    for number, (step, t) in enumerate(zip(derivation.steps, terms[1:], strict=True), 1):
        rule = rules[step.rule]
        parts += [
            f"<h2>{number}. {escape(_title(step, rules))}</h2>",
            f"<p>{escape(_standing(step, derivation, rules))}</p>",
            f"<pre class=rule>{escape(rule.equation())}</pre>",
            f"<pre>{escape(show(tidy(t)))}</pre>",
        ]
    parts += [f"<p>{escape(line)}</p>" for line in _assumptions(derivation) if line]
    parts.append(f"<p>{escape(_ending(derivation, confirmed))}</p></html>\n")
    return "\n".join(parts)


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
        return f"{replayed}; NOT CONFIRMED: no sizes and inputs were found at which the interpreter could run them"
    which = "" if confirmed.recorded else ", derived again"
    inputs = "1 input" if confirmed.inputs == 1 else f"{confirmed.inputs} inputs"
    return (
        f"{replayed}; the interpreter confirms each of the {len(confirmed.terms)} programs "
        f"at {_sizes(confirmed.sizes)}{which}, on {inputs}"
    )


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items()) or "fixed sizes"
