"""How kernels and their certificates are displayed: what is claimed stands at the lines that it is of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from relift.compiler.certificates.certificate import Certificate, Claim, Verdict
from relift.compiler.running.compiled import Compiled
from relift.display.blocks import Block, Code, Folded, Mood, Note, Table, Title, Words

MOODS: Mapping[Verdict, Mood] = {
    "proved": "good", "shown": "good", "refuted": "bad", "unknown": "open",
}  # fmt: skip


def of_certificate(found: Certificate) -> list[Block]:
    """A table of the claims of a kernel, and their sum."""
    mood: Mood = "bad" if found.refuted else "good" if found.ok else "open"
    rows = tuple(claim.row() for claim in found.claims)
    table = Table(("kind", "subject", "verdict", "time"), rows, _moods(found.claims))
    return [Title(found.kernel), table, Words(found.summary(), mood)]


def of_compiled(kernels: Compiled) -> list[Block]:
    """The source with what is claimed at its lines, and how it is launched."""
    found = kernels.certificates
    launched = tuple(
        (k.name, " x ".join(map(str, k.total)), " x ".join(map(str, k.local)))
        for k in kernels.plan.different
    )
    return [
        Title(f"Kernels of {kernels.plan.program}"),
        Code(kernels.source, notes=_notes(kernels.source, found)),
        Table(("kernel", "work-items", "in groups of"), launched),
        *(Folded(f"claims of {c.kernel}", of_certificate(c)) for c in found),
    ]


def _moods(claims: Sequence[Claim]) -> tuple[Mood, ...]:
    return tuple(MOODS[claim.verdict] for claim in claims)


def _notes(source: str, found: Sequence[Certificate]) -> dict[int, list[Note]]:
    """The claims at lines; what is of no line stands where its kernel begins."""
    lines = source.split("\n")
    notes: dict[int, list[Note]] = {}
    for certificate in found:
        begin = _begin(lines, certificate.kernel)
        end = next((n for n in range(begin + 1, len(lines)) if lines[n] == "}"), len(lines))
        for claim in certificate.claims:
            at = _line(lines, begin, end, claim.subject)
            notes.setdefault(at, []).append(
                Note(f"{claim.kind} {claim.verdict}", MOODS[claim.verdict])
            )
    return {at: list(dict.fromkeys(said)) for at, said in notes.items()}


def _begin(lines: Sequence[str], kernel: str) -> int:
    start = re.compile(rf"\bvoid {re.escape(kernel)}\b")
    return next((n for n, line in enumerate(lines) if start.search(line)), 0)


def _line(lines: Sequence[str], begin: int, end: int, subject: str) -> int:
    """The first line that accesses what a claim is about; that of the kernel where there is none."""
    named = re.match(r"(read|write) (\w+)\[(.*?)\](?: and|$)", subject)
    if named is None:
        return begin
    access, array, index = named.groups()
    is_write = re.compile(rf"\b{re.escape(array)}\b[^=]*=[^=]|vstore.*\b{re.escape(array)}\b")
    touching = [n for n in range(begin + 1, end) if re.search(rf"\b{re.escape(array)}\b", lines[n])]
    wanted = re.sub(r"\s", "", index)
    exact = [n for n in touching if wanted in re.sub(r"\s", "", lines[n])]
    written = [
        n for n in exact or touching if bool(is_write.search(lines[n])) == (access == "write")
    ]
    return next(iter(written or exact or touching), begin)
