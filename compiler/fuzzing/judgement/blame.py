"""Whose fault a difference is.

rule         the program that a derivation ends with has another value than the one that it begins with: the first step
             behind which the interpreter's value is another one
interpreter  the formulation in NumPy has another value than the interpreter
compiler     the text of the kernels is refuted: run on symbols, it is not what the interpreter says; or Relift fails,
             or does not write the text in the language of the device
device       the text is validated, and the device computes something else, or crashes; where the text is not followed
             by the validation, Oclgrind and a second device that agree with the interpreter speak for it

What is known and does not suffice is `nobody`, with the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from relift.compiler.agreement.simulator import NotAvailable, race_check
from relift.compiler.fuzzing.judgement.containment import Contained, NoResult, Ran
from relift.compiler.fuzzing.judgement.judging import Seen, judged
from relift.compiler.fuzzing.programs.subjects import Subject, same, valued
from relift.compiler.running.compiled import Compiled
from relift.compiler.validation.validate import Report, validate
from relift.rewrites.derivation.steps import Derivation, replayed
from relift.rewrites.library import RULES
from relift.semantics.errors import ReliftError
from relift.semantics.syntax.terms import Apply, Pattern, distinct

Culprit: TypeAlias = Literal["rule", "interpreter", "compiler", "device", "nobody"]


@dataclass(frozen=True)
class Blame:
    """Who is to blame, why, and by what cause findings are merged."""

    culprit: Culprit
    name: str
    because: tuple[str, ...]
    cause: str

    def text(self) -> str:
        """One line for a person."""
        return f"{self.culprit} {self.name}: {'; '.join(self.because)}"


def blamed(
    subject: Subject, seen: Seen, witnesses: Sequence[Contained] = (), *, simulate: bool = True
) -> Blame:
    """Who is to blame for what was seen; `witnesses` are other devices, and Oclgrind is asked too, if it may `simulate`."""
    match seen.sight:
        case "rule":
            assert subject.derivation is not None, "cannot happen: there are steps that differ"
            return _rule(subject, subject.derivation)
        case "formulation":
            return _said("interpreter", _innermost(subject), (seen.detail,), "")
        case "error":
            return of_error(seen.detail)
        case "text":
            return _of_text(seen.report, seen.detail)
        case "not printed":
            because = (f"Relift does not write the text for {seen.device}: {seen.detail}",)
            return _said("compiler", "not printed", because, _general(seen.detail))
        case "differs" | "not built" | "crashed" | "hangs":
            return _device(subject, seen, witnesses, simulate=simulate)
        case "right" | "refused" | "not made" | "undefined" | "too large":
            raise AssertionError(f"cannot happen: {seen.sight} is nobody's fault")


def of_error(detail: str) -> Blame:
    """The compiler, for an error that is none of Relift's own."""
    place = detail.rpartition("(")[2].rstrip(")")
    return _said("compiler", place, (detail,), _general(detail.rpartition("(")[0]))


def _said(culprit: Culprit, name: str, because: tuple[str, ...], more: str) -> Blame:
    return Blame(culprit, name, because, " ".join(filter(None, (culprit, name, more))))


def _general(detail: str) -> str:
    """A message without its numbers and names of data, which differ between findings of one cause."""
    return re.sub(r"[^a-z]+", " ", re.sub(r"\b\w*[\d_\[]\w*\]?", "", detail.lower())).strip()[:80]


def _rule(subject: Subject, derivation: Derivation) -> Blame:
    """The first step behind which the value is another one."""
    program = derivation.program
    t, rules = program.body, derivation.known(RULES)
    before = valued(program, t, subject.arguments)
    for number, step in enumerate(derivation.steps, 1):
        t = replayed(step, t, rules, derivation.policy)
        after = valued(program, t, subject.arguments)
        if not same(before, after):
            where = f"step {number} of {len(derivation.steps)}, {step.direction}"
            made = f"{where}, makes {after!r} of {before!r}"
            return _said("rule", step.rule, (made, str(rules[step.rule])), "")
    kept = "every step keeps the value, the result has another one"
    return _said("nobody", "in the derivation", (kept,), "")


def _innermost(subject: Subject) -> str:
    """The patterns and functions of a program."""
    kinds = {t.name for t in distinct(subject.program.body) if isinstance(t, Pattern)}
    kinds |= {t.function for t in distinct(subject.program.body) if isinstance(t, Apply)}
    return ", ".join(sorted(kinds)) or "data"


def _of_text(report: Report | None, detail: str) -> Blame:
    """The compiler, for what is wrong with the text."""
    fault = "values" if report is None or report.fault is None else report.fault
    because = (f"the text of the kernels is refuted: {detail}",)
    kind = "" if fault in ("values", "covered") else _general(detail.split(";")[0])
    return _said("compiler", str(fault), because, kind)


def _device(
    subject: Subject, seen: Seen, witnesses: Sequence[Contained], *, simulate: bool
) -> Blame:
    """The device, unless the text is not right."""
    compiled = subject.compiled()
    report = validate(compiled.source, compiled.plan, subject.here, subject.sizes)
    if report.verdict == "refuted":
        return _of_text(report, report.detail)
    expected = subject.value()
    others = [*_of_witnesses(subject, compiled, seen, witnesses, expected)]
    if simulate:
        others += _of_oclgrind(subject, compiled)
    because = (f"{seen.device} {_how(seen)}", report.text(), *(said for _, said in others))
    agree = [ok for ok, _ in others]
    more = f"{seen.sight} {_general(seen.detail) if seen.sight == 'not built' else ''}".strip()
    more = f"{more}: {_innermost(subject)}"
    if report.ok and (seen.sight != "not built" or not agree or any(agree)):
        return _said("device", seen.device, because, more)
    if len(agree) > 1 and all(agree):
        return _said("device", seen.device, because, more)
    if agree and not any(agree):
        return _said("compiler", seen.sight, because, more)
    return _said("nobody", "yet", because, more)


def _how(seen: Seen) -> str:
    match seen.sight:
        case "not built":
            return f"does not build it: {seen.detail.splitlines()[0] if seen.detail else ''}"
        case "crashed" | "hangs":
            return f"{seen.sight}: {seen.detail}"
        case (
            "differs"
            | "not printed"
            | "rule"
            | "formulation"
            | "error"
            | "text"
            | "right"
            | "refused"
            | "not made"
            | "undefined"
            | "too large"
        ):
            return "computes something else"


def _of_witnesses(
    subject: Subject,
    compiled: Compiled,
    seen: Seen,
    witnesses: Sequence[Contained],
    expected: object,
) -> list[tuple[bool, str]]:
    """What other devices say: whether they agree with the interpreter."""
    found: list[tuple[bool, str]] = []
    for witness in witnesses:
        try:
            if witness.name() == seen.device:
                continue
            answer = witness.run(compiled, subject.rows(compiled))
        except ReliftError:
            continue  # a witness that is not there says nothing
        assert isinstance(answer, Ran | NoResult)
        wrong = judged(answer, subject, witness.label, expected)
        said = "agrees with the interpreter" if wrong is None else _how(wrong)
        found.append((wrong is None, f"{witness.label} {said}"))
    return found


def _of_oclgrind(subject: Subject, compiled: Compiled) -> list[tuple[bool, str]]:
    """What the simulator objects to."""
    sizes = {n: subject.sizes[n] for n in compiled.plan.sizes}
    said = race_check(compiled, subject.arguments, sizes=sizes)
    if isinstance(said, NotAvailable):
        return []
    if said:
        return [(False, f"Oclgrind: {said[0]}")]
    return [(True, "Oclgrind finds nothing")]
