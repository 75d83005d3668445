"""What running the text on symbols adds to certificates: values, and what could not be proved for all sizes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from relift.compiler.certificates.certificate import Certificate, Claim, Verdict
from relift.compiler.running.launch import Launch
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.reader import read_source
from relift.compiler.validation.symbols import LIMIT
from relift.compiler.validation.validate import Report, Witness, not_read, validate
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program

if TYPE_CHECKING:
    from relift.compiler.running.launch import Launched

VALUES = (2, 3, 5, 8, 13, 21, 34, 67, 131, 260, 517)
"""The sizes that are tried: small, and none a multiple of the one before."""

ENOUGH = 50_000
"""Symbols that a run at small sizes may make before smaller sizes are taken."""


TRIES = 6
"""Choices of small sizes that are tried until two were small enough."""


def reports_of(
    compiled: Launched,
    program: Program,
    *,
    limit: int = LIMIT,
    witness: Witness = lambda report, apart: report,
) -> tuple[Report, ...]:
    """The text against the interpreter: at its sizes, or where they are open at two choices of small ones.

    `witness` may ask for numbers at which cells that differ in form differ.

    >>> from relift import f32, map_glb, nat, program
    >>> from relift.compiler.validation.evidence import reports_of
    >>> from relift.compiler.program import compile_program
    >>> n = nat("n")
    >>> @program
    ... def double(x: f32[n]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> [r.sizes for r in reports_of(compile_program(double), double)]
    ['n = 131', 'n = 260']
    """
    try:
        text = read_source(compiled.source)
    except NotUnderstood as error:
        return (not_read(error, "these sizes"),)
    found: list[Report] = []
    for sizes in small_sizes(compiled.plan):
        most = min(limit, ENOUGH) if sizes else limit
        report = validate(
            text,
            compiled.plan,
            program,
            sizes,
            limit=most,
            witness=witness,
        )
        found.append(report)
        ran = [r for r in found if not r.too_large]
        if report.verdict == "refuted" or len(ran) == 2 or len(found) == TRIES:
            break
    return tuple(r for r in found if not r.too_large) or tuple(found[:1])


def small_sizes(plan: Launch) -> Iterator[dict[str, int]]:
    """Choices for the open sizes: first those with several groups of several work-items in each dimension.

    No two sizes of a choice are equal, so that none stands for another by chance.
    """
    if not plan.sizes:
        yield {}
        return
    names = list(plan.sizes)
    choices: list[tuple[bool, int, dict[str, int]]] = []
    for start in range(len(VALUES)):
        for wide in itertools.islice(_subsets(names), 16):
            values = _values(plan.sizes, start, wide)
            try:
                here = plan.at(values)
            except ReliftError:
                continue
            work = sum(_product(k.range) for k in here.kernels)
            work += sum(b.cells.constant or 0 for b in here.buffers)
            choices.append((not _several(here), work, values))
    choices.sort(key=lambda c: c[:2])
    seen: list[dict[str, int]] = []
    for _, _, values in choices:
        if values not in seen:
            seen.append(values)
            yield values


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All sets of names, small ones first."""
    for n in range(1, len(names) + 1):
        yield from itertools.combinations(names, n)


def _values(least: Mapping[str, int], start: int, wide: Sequence[str]) -> dict[str, int]:
    """A value for each size, of the `wide` ones from a place in `VALUES` on; the others are small."""
    found: dict[str, int] = {}
    for i, (name, low) in enumerate(least.items()):
        place = start + i if name in wide else i
        options = itertools.chain(VALUES[place:], itertools.count(max(VALUES[-1], low) + 1))
        found[name] = next(v for v in options if v >= low and v not in found.values())
    return found


def _several(plan: Launch) -> bool:
    """Whether each kernel has two groups or more, of as many work-items as it can, in each dimension."""
    return all(
        n >= 2 * m for k in plan.kernels for n, m in zip(k.range, k.local, strict=True) if n > 1
    )


def _product(of: Sequence[int]) -> int:
    found = 1
    for n in of:
        found *= n
    return found


def with_values(
    certificates: Sequence[Certificate], reports: Sequence[Report]
) -> tuple[Certificate, ...]:
    """Certificates with what the reports say: a claim about values, and what else they show at their sizes.

    A text that was too large to run at its sizes gets no claim about values.
    """
    told = [r for r in reports if not r.too_large]
    if not told:
        return tuple(certificates)
    verdict, detail = _together(told)
    claim = Claim("values", "all kernels together", verdict, detail, 0.0)
    return tuple(
        replace(c, claims=(*(_raised(claim, verdict, detail) for claim in c.claims), claim))
        for c in certificates
    )


def _together(reports: Sequence[Report]) -> tuple[Verdict, str]:
    for r in sorted(reports, key=lambda r: r.verdict != "refuted"):
        if r.verdict != "shown":
            return r.verdict, f"at {r.sizes}: {r.detail}"
    at = " and ".join(r.sizes for r in reports)
    how = ", up to reassociation" if any(r.reassociated for r in reports) else ""
    notes = dict.fromkeys(note for r in reports for note in r.notes)
    return "shown", "; ".join([f"at {at}, all data{how}", *notes])


def _raised(claim: Claim, verdict: str, detail: str) -> Claim:
    """What a run shows of initialised and covered cells, where that was not known."""
    if (
        verdict == "shown"
        and claim.verdict == "unknown"
        and claim.kind in ("initialised", "covered")
    ):
        return replace(claim, verdict="shown", detail=detail)
    return claim
