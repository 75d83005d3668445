"""Before a kernel runs its certificate is asked: what is refuted is not run, and what is unknown can be said.

Only claims that can be refuted are made, those about bounds, races and barriers, and Z3 has less for them than in
`certificates`: an unknown here may be proved there.  What was found is kept in the process, and where it was dear in
the user's cache, by the hash of text, launch and prover.  `Compiled.unchecked` runs a kernel anyway.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from relift.compiler.certificates.certificate import (
    Certificate,
    Claim,
    certificate_json,
    not_understood,
)
from relift.compiler.certificates.claims import certificates
from relift.compiler.certificates.effort import Effort
from relift.compiler.running.launch import Launch, Launched
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.macros import expanded
from relift.files import writable_cache, write_text
from relift.semantics.errors import Refuted, ReliftError

QUERY, TOTAL = 1_500_000, 12_000_000
"""What Z3 may spend on one claim and on all of a program: a little more than any kernel of the tests takes."""

DEAR = 0.2
"""Seconds of the processor from which on a certificate is worth a file."""

MOST = 4096
"""Certificates that are kept in the process."""

_known: dict[str, tuple[Certificate, ...]] = {}
_made: dict[str, tuple[Certificate, ...]] = {}
_whole: dict[str, tuple[Certificate, ...]] = {}
"""What is known, what of it this process has found itself, and the certificates with all that is claimed."""


def consulted(compiled: Launched) -> tuple[Certificate, ...]:
    """What is known of the kernels of a compiled program before they run; found once for a text and its launch."""
    key = _key(compiled)
    if key in _known:
        return _known[key]
    found = _read(key)
    if found is None:
        start = time.process_time()
        found = certificates(compiled, effort=Effort(QUERY, TOTAL), written=False)
        if time.process_time() - start > DEAR:
            with suppress(ReliftError):  # a cache that cannot be written is none
                write_text(_place(key), certificate_json(found))
        _keep(_made, key, found)
    _keep(_known, key, found)
    return found


def certified(compiled: Launched) -> tuple[Certificate, ...]:
    """The whole certificates of a compiled program; what was consulted is not found twice, nor believed of a file."""
    key = _key(compiled)
    if key not in _whole:
        _keep(_whole, key, certificates(compiled, known=_made.get(key, ())))
    return _whole[key]


def _keep(
    kept: dict[str, tuple[Certificate, ...]], key: str, found: tuple[Certificate, ...]
) -> None:
    """Keep what was found, and of too much not what is oldest."""
    if len(kept) >= MOST:
        kept.pop(next(iter(kept)))
    kept[key] = found


def require_not_refuted(compiled: Launched) -> None:
    """Raise `Refuted` for a program of which a kernel is known to leave its arrays or to race.

    >>> from relift import f32, map_glb, program
    >>> from relift.compiler.certificates.consultation import require_not_refuted
    >>> from dataclasses import replace
    >>> from relift.compiler.program import compile_program
    >>> @program
    ... def double(x: f32[64]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> good = compile_program(double)
    >>> require_not_refuted(good)
    >>> require_not_refuted(replace(good, source=good.source.replace("out[glb_0]", "out[glb_0 + 1]")))
    Traceback (most recent call last):
        ...
    relift.semantics.errors.Refuted: kernel double_1 is not run, its bounds are refuted: write out[glb_0 + 1] ...
    """
    for certificate in consulted(compiled):
        for claim in certificate.claims:
            if claim.verdict == "refuted":
                raise Refuted(
                    f"kernel {certificate.kernel} is not run, its {claim.kind} are refuted: "
                    f"{claim.subject} at {claim.detail}; compile {compiled.plan.program} anew",
                    place="",
                )


@dataclass(frozen=True)
class Text:
    """A text that somebody wrote, and how it is launched."""

    source: str
    plan: Launch


def require_text_not_refuted(
    source: str, plan: Launch, options: Sequence[str] = ()
) -> tuple[Certificate, ...]:
    """The same for a text that somebody wrote, built with these options; gives back what is known of it."""
    try:
        compiled = Text(expanded(source, options), plan)
    except NotUnderstood as error:
        return tuple(not_understood(k.name, error) for k in plan.different)
    require_not_refuted(compiled)
    return consulted(compiled)


def unknowns(found: Iterable[Certificate]) -> list[str]:
    """A line for each reason why something about a kernel is unknown, and what that is."""
    lines = []
    for certificate in found:
        reasons: dict[str, list[Claim]] = {}
        for claim in certificate.claims:
            if claim.verdict == "unknown":
                reasons.setdefault(claim.detail, []).append(claim)
        for reason, claims in reasons.items():
            kinds = ", ".join(dict.fromkeys(claim.kind for claim in claims))
            subjects = list(dict.fromkeys(claim.subject for claim in claims))
            more = f" and {len(subjects) - 1} more" if len(subjects) > 1 else ""
            lines.append(
                f"{kinds} of kernel {certificate.kernel}: unknown: {reason} ({subjects[0]}{more})"
            )
    return lines


# ---- what is kept


def _key(compiled: Launched) -> str:
    said = [compiled.source, json.dumps(compiled.plan.as_json(), sort_keys=True)]
    return hashlib.sha256(json.dumps([*said, _prover()]).encode()).hexdigest()[:32]


@cache
def _prover() -> str:
    """What a certificate depends on beside text and launch: the sources that make it, Z3, and its limits."""
    from importlib.metadata import version

    compiler = Path(__file__).parent.parent
    sources = sorted([*compiler.rglob("*.py"), *(compiler.parent / "semantics").rglob("*.py")])
    texts = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()
    return f"{texts} {version('z3-solver')} {QUERY} {TOTAL}"


def _place(key: str) -> Path:
    return writable_cache() / "certificates" / f"{key}.json"


def _read(key: str) -> tuple[Certificate, ...] | None:
    """What a file of the cache says; None where there is none, or it is damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError, ReliftError):
        data = json.loads(_place(key).read_text(encoding="utf-8"))
        return _certificates(data["certificates"])
    return None


def _certificates(data: Sequence[dict[str, Any]]) -> tuple[Certificate, ...]:
    return tuple(
        Certificate(c["kernel"], c["sizes"], tuple(_claim(claim) for claim in c["claims"]))
        for c in data
    )


def _claim(data: dict[str, Any]) -> Claim:
    found = Claim(**data)
    return replace(found, reads=tuple(found.reads), writes=tuple(found.writes))
