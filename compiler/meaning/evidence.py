"""Whether the text of a program's kernels means the program: kernel by kernel, at its sizes or at all sizes.

The program is cut where it is stored between kernels.  That the parts together are the program is checked here:
put back into one term, they are what the program is without a word on where it is stored.  Each kernel is then
compared with its part (`judge`), whose inputs are what the kernels before it have computed.  What remains unknown is
run on symbols by all its work-items, where that is not too much: a launch that leaves a kernel or a group out is no
fault of any kernel's text, and a run shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from relift.compiler.agreement.comparison import Agreement
from relift.compiler.agreement.functions_in_c import functions_agree
from relift.compiler.certificates import consultation
from relift.compiler.certificates.certificate import Certificate, Claim
from relift.compiler.certificates.certificate import Verdict as Claimed
from relift.compiler.codegen.interface import buffers
from relift.compiler.lowering.iterations import written_out
from relift.compiler.lowering.stages import OUT, stages_of
from relift.compiler.meaning.indexed import indexed_lengths
from relift.compiler.meaning.judge import Finding, Judge, Stage, Verdict
from relift.compiler.meaning.programs.parts import Parts
from relift.compiler.meaning.witness import on_inputs
from relift.compiler.running.launch import Launch, Launched
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.reader import read_source
from relift.compiler.text.tree import Source
from relift.compiler.validation.evidence import ENOUGH, reports_of
from relift.compiler.validation.symbols import LIMIT
from relift.compiler.validation.validate import Report, misfit
from relift.semantics.errors import ReliftError
from relift.semantics.indices.stored import component_name
from relift.semantics.language.programs import Program, a_program
from relift.semantics.language.vocabulary import zip as zipped
from relift.semantics.syntax.sizes import Name, Size
from relift.semantics.syntax.terms import MakeTuple, Term
from relift.semantics.syntax.types import Array, Tuple, Type, Vector, component_count


@dataclass(frozen=True)
class KernelMeaning:
    """What became of one kernel.

    It is `validated` where every value that it writes is that of the program at the place where it is written, and
    its certificate proves the rest: every cell is written, nothing races, no access strays, barriers are met by all.
    `refuted` comes with a work-item, a cell and both values, or with what no kernel may do; `unknown` with what is left.
    """

    kernel: str
    verdict: Verdict
    sizes: str
    detail: str
    finding: Finding
    taken: tuple[str, ...] = ()
    """What is taken of data that are indices: elsewhere the program means nothing."""

    def text(self) -> str:
        """One line for a person."""
        f = self.finding
        if self.verdict == "validated":
            cases = f", in {f.cases} cases" if f.cases > 1 else ""
            notes = "".join(f"; {note}" for note in f.notes)
            return (
                f"{self.kernel}: validated, {self.sizes}, all data: "
                f"{f.cells} cells of one work-item or group stand for all{cases}{notes}"
            )
        return f"{self.kernel}: {self.verdict}, {self.sizes}: {self.detail}"

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        f = self.finding
        return {
            "kernel": self.kernel,
            "verdict": self.verdict,
            "sizes": self.sizes,
            "detail": self.detail,
            "cells": f.cells,
            "cases": f.cases,
            "questions": f.questions,
            "notes": list(f.notes),
        }


@dataclass(frozen=True)
class Meaning:
    """What became of all kernels of a program.

    Kernels call a function in C by its name; `functions` says whether the C means the Python that the program means.
    Where a kernel is unknown, `run` is what running all of them together at some sizes says.
    """

    program: str
    kernels: tuple[KernelMeaning, ...]
    functions: tuple[Agreement, ...] = ()
    run: Report | None = None

    @property
    def verdict(self) -> Verdict:
        """`refuted` if one kernel, or a function, or the run of all is; `validated` if all kernels are."""
        if self.refutations:
            return "refuted"
        return "validated" if {k.verdict for k in self.kernels} == {"validated"} else "unknown"

    @property
    def refutations(self) -> tuple[str, ...]:
        """What is refuted, a line each."""
        kernels = [k.text() for k in self.kernels if k.verdict == "refuted"]
        functions = [f.text() for f in self.functions if f.refuted]
        refuted = self.run is not None and self.run.verdict == "refuted"
        return (*kernels, *functions, *([self._of_run()] if refuted else []))

    @property
    def not_read(self) -> str:
        """What the text has that nobody here understands, and where; nothing where it was read."""
        return "" if self.run is None else self.run.not_read

    def _of_run(self) -> str:
        return f"all kernels together: {self.run.text()}" if self.run is not None else ""

    @property
    def ok(self) -> bool:
        """Whether all kernels are validated, and no function is refuted."""
        return self.verdict == "validated"

    def text(self) -> str:
        """A line for each kernel, and the verdict."""
        lines = [k.text() for k in self.kernels] + [f.text() for f in self.functions]
        lines += [self._of_run()] if self.run is not None else []
        return "\n".join([*lines, f"{self.program}: {self.verdict}"])

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "program": self.program,
            "verdict": self.verdict,
            "kernels": [k.to_json() for k in self.kernels],
            "functions": [f.to_json() for f in self.functions],
            "run": None if self.run is None else self.run.text(),
        }


def meaning_of(
    compiled: Launched,
    program: Program,
    certified: Sequence[Certificate] | None = None,
    *,
    report: Callable[[str], None] = lambda name: None,
) -> Meaning:
    """Compare the text of all kernels with a low-level program, at its sizes or, where they are open, at all.

    >>> from dataclasses import replace
    >>> from relift import f32, map_glb, nat, program
    >>> from relift.compiler.meaning.evidence import meaning_of
    >>> from relift.compiler.program import compile_program
    >>> n = nat("n")
    >>> @program
    ... def double(x: f32[n]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> k = compile_program(double)
    >>> meaning_of(k, double).verdict
    'validated'
    >>> wrong = replace(k, source=k.source.replace("v + v", "v * v"))
    >>> print(meaning_of(wrong, double).kernels[0].detail)
    out[0] is 5.047679424285889 instead of 4.493408203125: work-item 0 writes x[glb_0] * x[glb_0] instead of x[glb_0] + x[glb_0], n = 1
    """
    found = _by_kernels(compiled, program, certified, report)
    if found.verdict != "unknown":
        return found
    report("all kernels together")
    [*_, last] = reports_of(compiled, program, limit=min(LIMIT, ENOUGH), witness=on_inputs)
    return replace(found, run=last)


def _by_kernels(
    compiled: Launched,
    program: Program,
    certified: Sequence[Certificate] | None,
    report: Callable[[str], None],
) -> Meaning:
    """What is found of each kernel, for itself."""
    sizes = "all sizes" if compiled.plan.sizes else "these sizes"

    def whole(detail: str, verdict: Verdict = "unknown") -> Meaning:
        names = [k.name for k in compiled.plan.different] or [program.name]
        found = Finding(verdict, detail)
        return Meaning(
            program.name,
            tuple(KernelMeaning(name, verdict, sizes, detail, found) for name in names),
        )

    try:
        source = read_source(compiled.source)
        here = _with_sizes_of(program, compiled.plan)
        if wrong := misfit(here, compiled.plan):
            return whole(wrong, "refuted")
        filled = [b for b in compiled.plan.buffers if b.role == "output" and b.cells.constant != 0]
        if filled and not compiled.plan.kernels:
            return whole(f"{filled[0].name}[0] is not written: no kernel is run", "refuted")
        body = written_out(here.body)
        stages = _stages(replace(here, body=body), compiled.plan)
    except NotUnderstood as error:
        return whole(f"the text has {error}, which is not understood")
    except ReliftError as error:
        return whole(error.message)
    certified = consultation.certified(compiled) if certified is None else certified
    inputs = {
        p.name: (p.type, q.buffers)
        for p, q in zip(here.parameters, compiled.plan.parameters, strict=True)
    }
    bounds = {name: _shortest(lengths) for name, lengths in indexed_lengths(body).items()}
    found: list[KernelMeaning] = []
    for stage, name in stages:
        report(stage.kernel.name)
        judge = Judge(source, compiled.plan, stage, inputs, bounds, body, LIMIT)
        own = next((c for c in certified if c.kernel == stage.kernel.name), None)
        one = _together(judge, own, sizes)
        taken = [
            f"where 0 <= {of} < {bounds[of]}"
            for of, (_, buffers) in inputs.items()
            if of in bounds and set(buffers) & set(stage.kernel.arguments)
        ]
        finding = replace(one.finding, notes=(*one.finding.notes, *taken))
        found.append(replace(one, finding=finding, taken=tuple(taken)))
        inputs[name] = (stage.body.type, stage.outputs)
    return Meaning(program.name, tuple(found), tuple(functions_agree(program.body)))


def _shortest(lengths: Sequence[Size]) -> Size:
    """The length that is surely least; where none is, the first."""
    least = [n for n in lengths if all((m - n).surely_at_least(0) for m in lengths)]
    return (least or list(lengths))[0]


def validate(
    program: Program, sizes: Mapping[str, int] | None = None, *, kernel: Launched | None = None
) -> Meaning:
    """Compare a kernel with the low-level program that it should compute; without one, what the compiler makes of it.

    >>> import relift as rl
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def total(x: rl.f32[n, 64]):
    ...     return rl.map_glb(0)(lambda row: rl.reduce_seq(rl.add, 0.0, row), x)
    >>> rl.validate(total).verdict, rl.validate(total, {"n": 4096}).kernels[0].sizes
    ('validated', 'these sizes')
    """
    here = a_program(program).at(sizes or {}, partly=True)
    if kernel is None:
        from relift.compiler.program import compile_program

        kernel = compile_program(here)
    return meaning_of(kernel, here)


def _together(judge: Judge, certificate: Certificate | None, sizes: str) -> KernelMeaning:
    """The values of a kernel and its certificate: each alone says nothing."""
    finding, kernel = judge.finding(), judge.stage.kernel.name
    if finding.verdict == "refuted":
        return KernelMeaning(kernel, "refuted", sizes, finding.detail, finding)
    needed = ("bounds", "races", "barriers", "covered")
    claims = [c for c in certificate.claims if c.kind in needed] if certificate else []
    for verdict in ("refuted", "unknown"):
        for c in claims:
            if c.verdict == verdict and not _read_in_bounds(c, finding):
                detail = f"{c.kind} of {c.subject} {verdict}: {c.detail}"
                return KernelMeaning(kernel, verdict, sizes, detail, finding)
    covered = any(c.kind == "covered" and c.verdict == "proved" for c in claims)
    if finding.verdict == "validated" and judge.filled and not covered:
        detail = "that every cell is written is not proved"
        return KernelMeaning(kernel, "unknown", sizes, detail, finding)
    return KernelMeaning(kernel, finding.verdict, sizes, finding.detail, finding)


def _read_in_bounds(claim: Claim, finding: Finding) -> bool:
    """Whether it is only not known that a read by data is in bounds, and the run has shown that it is.

    The program has no meaning for indices out of range, so they are within what they index.
    """
    return (
        claim.kind == "bounds"
        and claim.verdict == "unknown"
        and not claim.writes
        and claim.detail == "the index depends on data"
        and finding.verdict == "validated"
        and not finding.strays
    )


def _with_sizes_of(program: Program, plan: Launch) -> Program:
    """The program with its open sizes called as the kernels call them."""
    own = program.least_sizes
    if list(own.values()) != list(plan.sizes.values()):
        raise ReliftError(
            f"the program leaves open ({', '.join(own)}), the launch ({', '.join(plan.sizes)})",
            place="",
        )
    renamed = {
        name: Size.atom(Name(c, least))
        for (name, least), c in zip(own.items(), plan.sizes, strict=True)
        if name != c
    }
    return program.with_sizes(renamed) if renamed else program


def _stages(program: Program, plan: Launch) -> list[tuple[Stage, str]]:
    """What each kernel of a launch is to compute, and what that is called; raises `ReliftError`."""
    stages = stages_of(program)
    launched = [stage for stage in stages if not stage.lies]
    if len(launched) != len(plan.kernels):
        raise ReliftError(
            f"the program is computed by {len(launched)} kernels, the launch has {len(plan.kernels)}",
            place="",
        )
    parts = Parts()
    for stage in stages:
        parts.held[stage.result] = parts.value(stage.body)
    written = _written(program, plan)
    one = _result_of(OUT, program.body.type, parts)
    parts.held.clear()
    if one != parts.value(program.body):
        raise ReliftError("the parts of the program are not the program", place="")
    temporary = iter([b.name for b in plan.buffers if b.role == "temporary"])
    results = {m: b for stage in stages for place, m in stage.lies for b in written[place]}
    found: dict[tuple[str, Term, tuple[str, ...]], tuple[Stage, str]] = {}
    for stage, k in zip(launched, plan.kernels, strict=True):
        if stage.result not in written:
            wanted = [b.name for b in buffers(stage.result, stage.body.type, "temporary")]
            held = (results[name] if name in results else next(temporary, None) for name in wanted)
            written[stage.result] = tuple(name for name in held if name is not None)
        names = written[stage.result]
        # one that is launched again computes the same of the same buffers
        found.setdefault((k.name, stage.body, names), (Stage(k, stage.body, names), stage.result))
    return list(found.values())


def _result_of(name: str, t: Type, parts: Parts) -> Term:
    """A result of a type, from those of its parts that are held under its name, or under those of its components."""
    if name in parts.held:
        return parts.held[name]
    array = isinstance(t, Array)
    of = t.element if isinstance(t, Array) else t
    if not isinstance(of, Tuple):
        raise ReliftError("no kernel computes a part of the program", place="")
    types = [Array(part, t.length) if isinstance(t, Array) else part for part in of.parts]
    held = tuple(_result_of(component_name(name, i), part, parts) for i, part in enumerate(types))
    return parts.value(zipped(*held)) if array else MakeTuple(held, t)


def _written(program: Program, plan: Launch) -> dict[str, tuple[str, ...]]:
    """The buffers of the result, and of each of its parts, by what a stage calls them."""
    return dict(_parts_of(OUT, program.body.type, plan.result.buffers))


def _parts_of(name: str, t: Type, held: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A result and its parts, each with the buffers of its components."""
    yield name, held
    while isinstance(t, Array | Vector):
        t = t.element
    if isinstance(t, Tuple):
        for i, part in enumerate(t.parts):
            yield from _parts_of(component_name(name, i), part, held[: component_count(part)])
            held = held[component_count(part) :]


def _as_the_program_means(claim: Claim, k: KernelMeaning) -> Claim:
    """A claim of reads by data, which are in bounds where the program means something, with what that asks of them."""
    if not k.taken or not _read_in_bounds(claim, k.finding):
        return claim
    return replace(claim, verdict="proved", detail=", ".join(k.taken))


_CLAIMED: Mapping[Verdict, Claimed] = {
    "validated": "proved", "refuted": "refuted", "unknown": "unknown",
}  # fmt: skip


def with_meaning(certified: Sequence[Certificate], meaning: Meaning) -> tuple[Certificate, ...]:
    """Certificates with the claim that the text means the program.

    Where that is not known, and the text was run on symbols at some sizes, it is shown at these.
    """
    by_name = {k.kernel: k for k in meaning.kernels}
    wrong = next((f for f in meaning.functions if f.refuted), None)
    found: list[Certificate] = []
    for c in certified:
        k = by_name.get(c.kernel)
        if k is None:
            found.append(c)
            continue
        verdict, detail = _CLAIMED[k.verdict], k.detail
        if wrong is not None and verdict == "proved":
            verdict, detail = "refuted", f"{wrong.against}: {wrong.detail}"
        shown = next((v for v in c.claims if v.kind == "values" and v.verdict == "shown"), None)
        if verdict == "unknown" and shown is not None:
            verdict, detail = "shown", shown.detail
        if verdict == "unknown" and meaning.run is not None and meaning.run.verdict == "refuted":
            verdict, detail = "refuted", meaning.run.text()
        claim = Claim("meaning", "the text against the program", verdict, detail, 0.0)
        own = (
            [_as_the_program_means(one, k) for one in c.claims] if verdict == "proved" else c.claims
        )
        found.append(replace(c, claims=(*own, claim)))
    return tuple(found)


__all__ = ["KernelMeaning", "Meaning", "Source", "meaning_of", "with_meaning"]
