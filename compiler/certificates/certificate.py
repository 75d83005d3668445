"""What a certificate is: statements about a kernel, what became of each, and how that is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from relift.compiler.text.lexing import NotUnderstood
from relift.display.displayed import Displayed

COMMENT = "// certificate: "
"""What a summary in a kernel's source begins with."""

VERSION = 2
"""The version of the format of certificate.json."""

Kind: TypeAlias = Literal[
    "bounds", "races", "barriers", "initialised", "covered", "values", "meaning"
]
Verdict: TypeAlias = Literal["proved", "shown", "refuted", "unknown"]

KINDS: tuple[Kind, ...] = (
    "bounds",
    "races",
    "barriers",
    "initialised",
    "covered",
    "values",
    "meaning",
)
"""All kinds, in the order in which they are summed up."""


@dataclass(frozen=True)
class Claim:
    """One statement about a kernel, and what became of it.

    `detail` is a model, why nothing is known, or of what is only `shown` the sizes at which it is; `reads` and
    `writes` are the arrays whose accesses it is about.
    """

    kind: Kind
    subject: str
    verdict: Verdict
    detail: str
    seconds: float
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def row(self) -> tuple[str, str, str, str]:
        """The columns of a table: kind, subject, verdict, seconds."""
        verdict = f"{self.verdict}: {self.detail}" if self.detail else self.verdict
        return self.kind, self.subject, verdict, f"{self.seconds:.2f} s"


@dataclass(frozen=True)
class Certificate(Displayed):
    """All statements about one kernel; `sizes` says for which sizes they were made."""

    shown_by: ClassVar = "relift.compiler.running.displays:of_certificate"

    kernel: str
    sizes: str
    claims: tuple[Claim, ...]

    @property
    def ok(self) -> bool:
        """Whether everything was proved, or at least shown at some sizes."""
        return all(claim.verdict in ("proved", "shown") for claim in self.claims)

    @property
    def refuted(self) -> bool:
        """Whether anything was refuted."""
        return any(claim.verdict == "refuted" for claim in self.claims)

    def summary(self) -> str:
        """One line: `bounds: 12 of 12 proved, races: 7 of 7 proved; at these sizes`."""
        counts = []
        for kind in KINDS:
            of_kind = [claim.verdict for claim in self.claims if claim.kind == kind]
            shown = of_kind.count("shown")
            if kind == "values" and of_kind:
                counts.append(f"values: {', '.join(dict.fromkeys(of_kind))}")
            elif of_kind or kind in ("bounds", "races"):
                more = f", {shown} shown" if shown else ""
                counts.append(f"{kind}: {of_kind.count('proved')} of {len(of_kind)} proved{more}")
        at = dict.fromkeys(claim.detail for claim in self.claims if claim.verdict == "shown")
        return "; ".join([", ".join(counts), self.sizes, *(f"shown {sizes}" for sizes in at)])

    def text(self) -> str:
        """The kernel, a table of its claims, and the summary."""
        rows = [claim.row() for claim in self.claims]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(4)]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([self.kernel, *(f"  {line}" for line in table), f"  {self.summary()}"])

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"ok": self.ok, "summary": self.summary(), **asdict(self)}


def certificate_json(found: Sequence[Certificate]) -> str:
    """The text of certificate.json."""
    data = {"version": VERSION, "certificates": [c.to_json() for c in found]}
    return json.dumps(data, indent=1) + "\n"


def annotated(source: str, found: Sequence[Certificate]) -> str:
    """The source with the summary of each certificate in a comment above its kernel, instead of an older one."""
    lines = [line for line in source.split("\n") if not line.startswith(COMMENT)]
    for c in found:
        for start, line in enumerate(lines):
            if line.startswith(f"kernel void {c.kernel}("):
                attribute = start > 0 and lines[start - 1].startswith("__attribute__")
                lines.insert(start - attribute, f"{COMMENT}{c.summary()}")
                break
    return "\n".join(lines)


def not_understood(kernel: str, error: NotUnderstood) -> Certificate:
    """What is known of a kernel whose text is not understood: nothing."""
    detail = f"the kernel has {error}, which is not understood"
    kinds: tuple[Kind, ...] = ("bounds", "races", "barriers")
    return Certificate(
        kernel,
        "at these sizes",
        tuple(Claim(kind, "the whole kernel", "unknown", detail, 0.0) for kind in kinds),
    )
