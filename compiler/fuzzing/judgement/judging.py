"""A subject on devices: what differs, if anything does.

What is cheap comes first, and what only a device can say last: the steps by rules, the formulation in NumPy, the text
of the kernels on symbols, and then the runs.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from relift.compiler.fuzzing.judgement.containment import Answer, Contained, NoResult, Ran
from relift.compiler.fuzzing.judgement.formulation import in_numpy
from relift.compiler.fuzzing.programs.subjects import LARGEST, Subject, same, valued
from relift.compiler.running.arrays.buffers import unflatten
from relift.compiler.running.compiled import Compiled
from relift.compiler.validation.validate import Report, validate
from relift.semantics.errors import ReliftError, Undefined, Unsupported, in_a_line

Sight: TypeAlias = Literal[
    "right", "refused", "not made", "undefined", "too large",
    "rule", "formulation", "text", "differs", "not printed", "not built", "crashed", "hangs", "error",
]  # fmt: skip
"""What became of a subject.  Behind `too large` are findings: a step that changes a value, an interpreter that differs
from NumPy, a text that is refuted, a device that differs or gives no result, an error that is none of Relift's own."""

FINDINGS: frozenset[Sight] = frozenset(
    [
        "rule",
        "formulation",
        "text",
        "differs",
        "not printed",
        "not built",
        "crashed",
        "hangs",
        "error",
    ]
)


@dataclass(frozen=True)
class Seen:
    """What was seen of a subject, and the evidence: the text as the device was given it, the results."""

    sight: Sight
    detail: str = ""
    device: str = ""
    text: str = ""
    result: Any = field(default=None, compare=False, repr=False)
    expected: Any = field(default=None, compare=False, repr=False)
    report: Report | None = None

    @property
    def is_finding(self) -> bool:
        """Whether somebody has to look at it."""
        return self.sight in FINDINGS


@dataclass(frozen=True)
class Court:
    """Who judges: a device, none where only texts are, and others that it is compared with beside the interpreter.

    The text of kernels is asked where `texts` says so, and NumPy where the program is to be `formulated`; where it is
    `strict`, a text that the validation does not follow is a finding, too.
    """

    device: Contained | None
    against: Sequence[Contained] = ()
    texts: bool = True
    formulated: bool = True
    strict: bool = False

    def seen(self, subject: Subject) -> Seen:
        """What becomes of a subject."""
        try:
            return self._seen(subject)
        except Undefined as error:
            return Seen("undefined", error.message)
        except ReliftError as error:
            return Seen("refused", error.message)
        except Exception as error:  # noqa: BLE001  # whatever is no refusal of Relift is a finding
            return Seen("error", told(error))

    def _seen(self, subject: Subject) -> Seen:
        compiled = subject.compiled()
        if sum(b.cells.evaluate(subject.sizes) for b in compiled.plan.buffers) > LARGEST:
            return Seen("too large")
        expected = subject.value()
        found = (
            _by_rules(subject, expected)
            or (self.formulated and _in_numpy(subject, expected))
            or (self.texts and _text(subject, compiled, strict=self.strict))
            or (self.device is not None and self.on(self.device, subject, compiled, expected))
        )
        if found:
            return found
        return next(
            (s for d in self.against if (s := self.on(d, subject, compiled, expected))),
            Seen("right", text=compiled.source),
        )

    def on(
        self, device: Contained, subject: Subject, compiled: Compiled, expected: Any
    ) -> Seen | None:
        """What a device does otherwise than the interpreter."""
        answer = device.run(compiled, subject.rows(compiled))
        return judged(answer, subject, device.label, expected)


def told(error: Exception) -> str:
    """An error that is none of Relift's own, and where it was raised."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    file = where.filename.rpartition("relift/")[2]
    return f"{in_a_line(error)} ({file}, {where.name})"


def judged(answer: Answer, subject: Subject, device: str, expected: Any) -> Seen | None:
    """What is not as it should be of the answer of a device."""
    match answer:
        case NoResult(how, detail):
            return Seen(how, detail, device, expected=expected)
        case Ran(rows, text):
            result = unflatten(rows, subject.here.body.type)
            if same(result, expected):
                return None
            detail = f"{result!r} instead of {expected!r}"
            return Seen("differs", detail, device, text, result, expected)


def _by_rules(subject: Subject, expected: Any) -> Seen | None:
    """Whether the program that a derivation begins with has another value."""
    if subject.derivation is None:
        return None
    origin = subject.derivation.program
    meant = valued(origin, origin.body, subject.arguments)
    if same(meant, expected):
        return None
    return Seen("rule", f"{expected!r} instead of {meant!r}", result=expected, expected=meant)


def _in_numpy(subject: Subject, expected: Any) -> Seen | None:
    """Whether the formulation in NumPy has another value."""
    try:
        found = in_numpy(subject.here, subject.arguments)
    except Unsupported:
        return None
    if same(found, expected):
        return None
    detail = f"the interpreter says {expected!r}, NumPy {found!r}"
    return Seen("formulation", detail, result=expected, expected=found)


def _text(subject: Subject, compiled: Compiled, *, strict: bool) -> Seen | None:
    """Whether the text of the kernels is refuted."""
    report = validate(compiled.source, compiled.plan, subject.here, subject.sizes)
    if report.verdict == "shown" or (report.verdict == "unknown" and not strict):
        return None
    return Seen("text", report.detail, text=compiled.source, report=report)
