"""Verifying a folder: *its* kernel, by *its* launch, at its own sizes, against what its derivation says.

Nothing is believed of the folder but that its files belong together (`artefact`).  The derivation is replayed and
confirmed; the text is run on symbols; the kernel runs on each device in a process of its own, and under
Oclgrind.  What was compiled anew at smaller sizes, because the interpreter or the simulator does not reach the
own ones, is called so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from relift.compiler.agreement.comparison import Agreement
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.agreement.own_sizes import at_own_sizes
from relift.compiler.agreement.simulator import NotAvailable, race_check
from relift.compiler.agreement.small_sizes import not_simulated
from relift.compiler.agreement.verification import steps_confirmed
from relift.compiler.certificates.certificate import Certificate, annotated
from relift.compiler.meaning.evidence import meaning_of
from relift.compiler.meaning.witness import on_inputs
from relift.compiler.program import compile_program
from relift.compiler.running.artefact import BrokenArtefact, Origin, read_artefact
from relift.compiler.running.compiled import CERTIFICATE, LAUNCH, SOURCE, Compiled, of_files
from relift.compiler.validation.validate import Report, validate
from relift.rewrites.checks.theorem.composed import general_theorem
from relift.rewrites.checks.theorem.proving import DERIVATION as PROOF
from relift.rewrites.checks.theorem.proving import RESULT, Checker, NotFinished, NotProved
from relift.rewrites.derivation.confirmation import Confirmation, confirm, work
from relift.rewrites.derivation.files import parse_json, program_hash
from relift.rewrites.derivation.own_rules import OwnRule
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.library import RULES
from relift.semantics.errors import Refuted, ReliftError
from relift.semantics.language.naming import named_in
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import tidy
from relift.semantics.syntax.terms import UserFunction

TERM, DERIVATION = "term.txt", "derivation.json"

PROVER = "the prover"
"""What judges the theorem of a folder."""

SIMULATED = 60_000
"""The same of a program that the simulator runs at its own sizes."""


@dataclass(frozen=True)
class Saved:
    """A folder of `optimize --out`, whose files belong together."""

    folder: Path
    kernel: Compiled
    derivation: Derivation
    theorem: Mapping[str, str] = field(default_factory=dict[str, str])
    """The files of `optimize --prove`, where there are such."""

    @property
    def low(self) -> Program:
        """The low-level program that the kernel was compiled from."""
        source = self.derivation.program
        return Program(source.name, source.parameters, tidy(self.derivation.result))


def origin_of(derivation: Derivation) -> Origin:
    """The program that a derivation starts from, at its sizes."""
    assumed = tuple(own.rule.name for own in derivation.assumed)
    return Origin(derivation.program.name, program_hash(derivation.program), assumed)


def read_saved(
    folder: Path,
    own: Callable[[str], Sequence[OwnRule]] = lambda _: (),
    program: Program | None = None,
) -> Saved:
    """A folder of `optimize --out`; raises `ReliftError` where its files do not belong together.

    `own` gives the rules of the user's own that the text of a derivation names; `program`, where it is known, the Python
    of functions whose C is in it.
    """
    files, origin = read_artefact(folder, (SOURCE, LAUNCH, CERTIFICATE, TERM, DERIVATION))
    text = files[DERIVATION]
    functions = [] if program is None else named_in(program.body)
    known = [f for f in functions if isinstance(f, UserFunction)]
    derivation = parse_json(text, folder / DERIVATION, RULES, own(text), known)
    kernel = of_files(files)
    made_of = origin_of(derivation)
    if origin is None or (origin.name, origin.sha256) != (made_of.name, made_of.sha256):
        raise BrokenArtefact(
            f"{folder}: {DERIVATION} is of another program than the manifest names; write the folder anew with --out"
        )
    if origin.assumed != made_of.assumed:
        raise BrokenArtefact(
            f"{folder}: {DERIVATION} assumes other rules than the manifest names; write the folder anew with --out"
        )
    program, plan = derivation.program, kernel.plan
    made = [(p.name, p.type) for p in plan.parameters], plan.result.type, plan.program
    wanted = [(p.name, p.type) for p in program.parameters], program.body.type, program.name
    if made != wanted or plan.sizes:
        raise BrokenArtefact(
            f"{folder}: {LAUNCH} is of a program with other parameters than {DERIVATION}; "
            "write the folder anew with --out"
        )
    theorem = {name: files[name] for name in (RESULT, PROOF) if name in files}
    return Saved(folder, kernel, derivation, theorem)


def require_program(saved: Saved, program: Program) -> None:
    """Raise `BrokenArtefact` unless the folder is of this program at these sizes."""
    if program_hash(program) == origin_of(saved.derivation).sha256:
        return
    own = saved.derivation.program
    if own.parameters != program.parameters:
        made, wanted = (
            ", ".join(f"{p.name}: {p.type}" for p in of.parameters) for of in (own, program)
        )
        raise BrokenArtefact(
            f"the kernel in {saved.folder} is for ({made}), the inputs are ({wanted})"
        )
    raise BrokenArtefact(
        f"the kernel in {saved.folder} computes another program than {program.name}, named {own.name}; "
        "relift explain on its derivation.json shows which"
    )


def verify_saved(
    saved: Saved,
    devices: Sequence[str],
    report: Callable[[str], None],
    program: Program | None = None,
    values: Report | None = None,
) -> Iterator[Agreement]:
    """All comparisons of a folder; `program`, at its sizes, may bring a NumPy function for what the interpreter cannot reach.

    `values` are what `values_of` says, where it was asked already.
    """
    anew = compiled_anew(saved)
    yield anew
    report("the derivation")
    steps, confirmed = steps_confirmed(saved.derivation)
    yield steps
    small = _Anew(saved, confirmed, anew.ok)
    if saved.theorem:
        report("the theorem")
        yield theorem_holds(saved)
    report("the text on symbols")
    yield _on_symbols(values or values_of(saved), small)
    source, reference = saved.derivation.program, program and program.reference
    runs = list(at_own_sizes(saved.kernel, source, devices, report, reference))
    yield from runs
    if any(run.refuted for run in runs):  # what runs wild would take the simulator along
        return
    report("race checker")
    yield _simulated(saved, small)


def with_what_is_proved(
    saved: Saved, checks: Sequence[Agreement], certified: Sequence[Certificate]
) -> list[Agreement]:
    """What a folder was compared with; what is beyond reach there passes where all of the chain is shown for all data.

    The theorem says at these sizes what a step by the interpreter shows at some inputs, and the validation of every
    kernel's text, with its certificate, what its cells and the race checker do.
    """
    proved = any(check.against == PROVER and check.ok for check in checks)
    means = [
        c.kernel
        for c in certified
        if c.ok and any(x.kind == "meaning" and x.verdict == "proved" for x in c.claims)
    ]
    if not proved or means != [k.name for k in saved.kernel.plan.different]:
        return list(checks)
    return [replace(check, instead=INSTEAD) if check.beyond else check for check in checks]


INSTEAD = "proved and validated at these sizes instead, for all data"


def theorem_holds(saved: Saved) -> Agreement:
    """Whether what lies in the folder states its derivation, and the prover accepts it."""
    against = PROVER
    if len(saved.theorem) < 2:
        return Agreement(against, False, f"of {RESULT} and {PROOF} one is missing")
    try:
        said = general_theorem(saved.derivation, RULES).result
        if said != saved.theorem[RESULT]:
            detail = f"{RESULT} is not what this Relift states of derivation.json"
            return Agreement(against, False, detail)
        checker = Checker.here()
    except NotProved as error:
        return Agreement(against, False, error.message)
    except ReliftError as error:
        return Agreement(against, False, error.message, known=False)
    try:
        checker.check_files(saved.theorem)
    except NotFinished as error:
        return Agreement(against, False, error.message, known=False)
    except NotProved as error:
        return Agreement(against, False, error.message)
    steps = len(saved.derivation.steps)
    detail = f"source = result is proved, {steps} steps, closed under the global context"
    return Agreement(against, True, detail)


def compiled_anew(saved: Saved) -> Agreement:
    """Whether text and launch are what this Relift compiles the derivation's result to."""
    against = "what its derivation compiles to"
    try:
        anew = compile_program(saved.low, contract=saved.derivation.policy != "exact")
    except ReliftError as error:
        return Agreement(against, False, error.message)
    if annotated(saved.kernel.source, ()) != annotated(anew.source, ()):
        return Agreement(
            against, False, "kernel.cl is another text than this Relift compiles", known=False
        )
    if saved.kernel.plan != anew.plan:
        return Agreement(against, False, "launch.json is another launch of the same text")
    return Agreement(against, True, "the same text and launch")


def doubts(saved: Saved) -> list[str]:
    """What is not known of a folder's kernel before it runs; raises `Refuted` where it computes something else.

    A text and a launch that this Relift makes of the derivation need no more than that; others, of another version or
    of another hand, are compared with what they have to mean.
    """
    anew = compiled_anew(saved)
    if anew.ok:
        return []
    if anew.refuted:
        raise _refuted(saved, anew.detail)
    meaning = meaning_of(saved.kernel, saved.low)
    if meaning.refutations:
        raise _refuted(saved, meaning.refutations[0])
    if meaning.ok:
        return []
    values = values_of(saved)
    if values.verdict == "refuted":
        raise _refuted(saved, values.text())
    if values.ok:
        return []
    return [
        f"what {saved.folder} computes: unknown: {anew.detail}; relift verify {saved.folder} compares it with the interpreter"
    ]


def _refuted(saved: Saved, detail: str) -> Refuted:
    return Refuted(
        f"the kernel in {saved.folder} is not run: {detail}; write the folder anew with --out",
        place="",
    )


@dataclass(frozen=True)
class _Small:
    at: str
    source: Program
    kernel: Compiled


@dataclass
class _Anew:
    """The derivation compiled anew at small sizes, once somebody asks; it says nothing where the text is another one."""

    saved: Saved
    confirmed: Confirmation | None
    same: bool

    @cached_property
    def small(self) -> _Small | None:
        """What was compiled; None where there are no such sizes."""
        found = self.confirmed
        if not self.same:
            return None
        derivation = self.saved.derivation
        try:
            if found is None or found.recorded:
                found = confirm(derivation, RULES, reach=0)
        except ReliftError:
            return None
        if found is None:
            return None
        at = ", ".join(f"{name}={value}" for name, value in found.sizes.items())
        source = derivation.origin.at(found.sizes)
        low = Program(source.name, source.parameters, tidy(found.terms[-1]))
        return _Small(at, source, compile_program(low, contract=derivation.policy != "exact"))


def values_of(saved: Saved) -> Report:
    """The text at its own sizes against the interpreter, on symbols."""
    return validate(saved.kernel.source, saved.kernel.plan, saved.low, witness=on_inputs)


def _on_symbols(own: Report, anew: _Anew) -> Agreement:
    """The text at its own sizes, or compiled anew at small ones where it is too large for that."""
    against = "the interpreter on free symbols"
    if own.verdict != "unknown":
        return Agreement(against, own.ok, own.text())
    if (small := anew.small) is not None:
        again = validate(small.kernel.source, small.kernel.plan, small.source, reassociate=True)
        if again.verdict != "unknown":
            detail = f"the text compiled anew at {small.at}: {again.text()}"
            return Agreement(against, again.ok, detail)
    return Agreement(against, False, own.text(), known=False, beyond=not own.not_read)


def _simulated(saved: Saved, anew: _Anew) -> Agreement:
    """This kernel under Oclgrind, or one compiled anew at small sizes where it would take too long."""
    against = "the race checker"
    own = work(saved.derivation.program.body) <= SIMULATED
    small = None if own else anew.small
    if not own and small is None:
        large = "it is too large, and nothing small stands for it"
        return Agreement(against, False, large, known=False, beyond=True)
    kernel, source, at = saved.kernel, saved.derivation.program, "its own sizes"
    if not own and small is not None:
        kernel, source, at = small.kernel, small.source, f"{small.at}, compiled anew"
    races = race_check(kernel, whole_inputs(source, seed=0))
    if isinstance(races, NotAvailable):
        return not_simulated(races)
    return Agreement(against, not races, "; ".join(races) or f"no race, no stray access at {at}")
