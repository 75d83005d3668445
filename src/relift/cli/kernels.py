"""The verbs that run kernels: run, verify."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias

import typer

from relift.cli.building import certificates_of, say_unknown
from relift.cli.options import (
    AllowOption,
    BudgetOption,
    FloatOption,
    JsonOption,
    OwnRulesOption,
    ProgramArgument,
    Refusal,
    SizeOption,
    TargetOption,
    own_rules_in,
    pairs_of,
    require_none,
    require_unasked,
    sizes_of,
)
from relift.cli.output import brief, print_json, progress_of
from relift.cli.searching import (
    compile_for,
    print_search,
    say_what_rounds_otherwise,
    search_or_refusal,
)

if TYPE_CHECKING:
    from relift.compiler.agreement.artefacts import Saved
    from relift.compiler.agreement.comparison import Agreement
    from relift.compiler.certificates.certificate import Certificate
    from relift.compiler.running.compiled import Compiled
    from relift.rewrites.derivation.own_rules import OwnRule
    from relift.rewrites.derivation.steps import Derivation
    from relift.semantics.language.programs import Program
    from relift.semantics.syntax.terms import Term

InputOption = Annotated[
    list[str] | None, typer.Option("--input", help="x=FILE.npy, or x=2.5 for a scalar.")
]
RandomOption = Annotated[
    int | None, typer.Option(help="Random inputs from this seed.", min=0, max=2**63 - 1)
]
KernelOption = Annotated[
    Path | None, typer.Option(help="A folder written by optimize --out; no search.")
]
CheckOption = Annotated[
    bool, typer.Option("--check", help="Compare with the interpreter and with NumPy.")
]
ResultOption = Annotated[Path | None, typer.Option(help="Write the result to this .npy file.")]


# ---- run


def run(
    program: ProgramArgument,
    size: SizeOption = None,
    given: InputOption = None,
    random: RandomOption = None,
    kernel: KernelOption = None,
    check: CheckOption = False,
    out: ResultOption = None,
    target: TargetOption = "cpu",
    budget: BudgetOption = 120.0,
    float_policy: FloatOption = "reassociate",
    rules: OwnRulesOption = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a program on a device: search for a kernel or take one, then execute it.

    A program that is low-level is its own kernel, compiled once for all sizes.
    """
    from relift.compiler.devices.naming import label
    from relift.compiler.devices.survey import find_device
    from relift.files import write_array
    from relift.rewrites.loading import load_program

    if kernel is None:
        require_none("steps of a folder use it; give its --kernel", rules=rules, allow=allow)
    loaded = load_program(program)
    sizes, arrays = _inputs(loaded, sizes_of(size), given, random)
    source = loaded.at(sizes)
    device = label(find_device(target))
    derivation: Derivation | None
    if kernel is not None:
        compiled, derivation = _saved_kernel(kernel, source, float_policy, (rules, allow))
    else:
        compiled, derivation = _found_kernel(
            loaded, sizes, target, budget, float_policy, quiet=as_json
        )
    say_unknown(compiled)
    say_what_rounds_otherwise([compiled], [device])
    result, seconds = _executed(loaded.name, compiled, arrays, sizes, device)
    own: list[Agreement] = []
    checks: list[Agreement] = []
    if check:
        own, steps = _checks_of_run(loaded, source, arrays, result, derivation, device)
        checks = [*own, *steps]
    if out is not None:
        write_array(out, result)
    if as_json:
        about = {"program": loaded.name, "sizes": sizes, "device": device, "seconds": seconds}
        print_json({**about, "checks": [c.to_json() for c in checks]})
    else:
        print(f"{loaded.name} on {device}: {seconds * 1e3:.3f} ms, result {brief(result)}")
        for c in checks:
            print(c.text())
        if out is not None:
            print(f"written to {out}")
    agreed = (
        any(c.ok for c in own) or not check
    )  # that its steps are right says nothing of this result
    raise typer.Exit(0 if agreed and not any(c.refuted for c in checks) else 1)


def _inputs(
    program: Program, sizes: dict[str, int], given: list[str] | None, random: int | None
) -> tuple[dict[str, int], tuple[Any, ...]]:
    """The sizes and the inputs of a run: drawn, or read from files, which may say the sizes."""
    from relift.compiler.agreement.inputs import random_inputs, read_inputs

    if random is None:
        return read_inputs(program, sizes, pairs_of(given, "--input", "x=FILE.npy"))
    if given:
        raise Refusal("give --input or --random, not both")
    return sizes, random_inputs(program.at(sizes), random)


def _saved_kernel(
    folder: Path, source: Program, float_policy: str, believed: _Believed
) -> tuple[Compiled, Derivation]:
    """What lies in a folder, if it is of this program."""
    from relift.compiler.agreement.artefacts import doubts, require_program

    saved = _read_saved(folder, believed, source)
    require_program(saved, source)
    _require_policy(saved, float_policy)
    for line in doubts(saved):
        print(line, file=sys.stderr)
    return saved.kernel, saved.derivation


def _found_kernel(
    program: Program,
    sizes: dict[str, int],
    target: str,
    budget: float,
    float_policy: str,
    *,
    quiet: bool,
) -> tuple[Compiled, Derivation | None]:
    """The program itself, compiled, if it is low-level; the best that a search finds if not."""
    from relift.compiler.program import is_low_level

    if is_low_level(program):
        return compile_for(program, float_policy), None
    best = search_or_refusal(program, sizes, target, budget, 1, float_policy)
    compiled = compile_for(best.term, float_policy)
    if not quiet:
        print_search(best)
    return compiled, best.derivation


def _executed(
    name: str, compiled: Compiled, arrays: tuple[Any, ...], sizes: dict[str, int], device: str
) -> tuple[Any, float]:
    """The result of a kernel on a device, and the seconds of the fastest of three more runs."""
    with progress_of("running") as report:
        report(f"{name} on {device}")
        known = {size: sizes[size] for size in compiled.plan.sizes if size in sizes}
        result = compiled(*arrays, device=device, sizes=known)
        return result, min(compiled.timed(arrays, device, 3, sizes=known))


def _checks_of_run(
    program: Program,
    source: Program,
    arrays: tuple[Any, ...],
    result: Any,
    derivation: Derivation | None,
    device: str,
) -> tuple[list[Agreement], list[Agreement]]:
    """What is said of the result of a run; and of the derivation of its kernel, and the functions in C that it calls."""
    from relift.compiler.agreement.functions_in_c import functions_agree
    from relift.compiler.agreement.verification import check_derivation, check_run

    with progress_of("comparing"):
        own = check_run(program, arrays, result, source)
        steps = [] if derivation is None else [check_derivation(derivation, device)]
        functions = functions_agree(source.body, device=device)
        return own, [*steps, *functions]


# ---- verify


@dataclass(frozen=True)
class _Tested:
    """A low-level term, and all that was said of its kernels."""

    term: Term
    certificates: tuple[Certificate, ...]
    checks: Sequence[Agreement]
    assumed: Sequence[OwnRule] = ()

    @property
    def verdicts(self) -> Iterator[tuple[bool, bool]]:
        """Of each: whether it is refuted, and whether it is a pass."""
        for certificate in self.certificates:
            yield certificate.refuted, certificate.ok
        for check in self.checks:
            yield check.refuted, check.passes

    def to_json(self) -> dict[str, Any]:
        from relift.semantics.notation.printer import show

        return {
            "term": show(self.term),
            "certificates": [c.to_json() for c in self.certificates],
            "checks": [c.to_json() for c in self.checks],
            "assumes": [own.rule.name for own in self.assumed],
        }

    def text(self) -> str:
        from relift.semantics.notation.printer import show

        certified = ("  " + c.text().replace("\n", "\n  ") for c in self.certificates)
        assumed = (f"  ASSUMED, not proved: {own.rule}" for own in self.assumed)
        checks = ("  " + c.text() for c in self.checks)
        return "\n".join((show(self.term), *certified, *checks, *assumed))


@dataclass(frozen=True)
class _Task:
    """What `verify` was asked for, but the program."""

    devices: Sequence[str]
    sizes: dict[str, int]
    float_policy: str


def verify(
    verb: typer.Context,
    program: Annotated[
        str,
        typer.Argument(metavar="PROGRAM|DIR", help="A program, or a folder of optimize --out."),
    ],
    size: SizeOption = None,
    devices: Annotated[
        str | None, typer.Option(help="Names of devices, with commas; all if not given.")
    ] = None,
    top: Annotated[int, typer.Option(help="How many candidates to test.", min=1)] = 4,
    target: TargetOption = "cpu",
    budget: BudgetOption = 120.0,
    float_policy: FloatOption = "reassociate",
    reference: Annotated[
        str | None,
        typer.Option(
            "--program",
            metavar="PROGRAM",
            help="Of a folder: its program, whose NumPy function judges large sizes.",
        ),
    ] = None,
    rules: OwnRulesOption = None,
    allow: AllowOption = None,
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="What could not be decided is no failure.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Certify every kernel; compare interpreter, low-level term, kernel on every device, race checker.

    Of a folder, the kernel that lies there is run at its own sizes.  A program that is low-level is certified
    for all sizes, and compared at those given, or at small ones.  What is unknown is a failure, too.
    """
    from relift.compiler.program import is_low_level
    from relift.rewrites.loading import load_program

    task = _Task(_chosen_devices(devices), sizes_of(size), float_policy)
    folder = Path(program).is_dir()
    if not folder:
        require_none(f"{program} is no folder", program=reference, rules=rules, allow=allow)
    if folder:
        require_unasked(
            verb,
            f"the kernel in {program} is run as it is, at its own sizes; optimize --out makes another",
            "size",
            "target",
        )
        judge = None if reference is None else load_program(reference)
        name, tested = _verify_saved(task, _read_saved(Path(program), (rules, allow), judge), judge)
    elif is_low_level(loaded := load_program(program)):
        name, tested = loaded.name, _verify_low_level(task, loaded)
    else:
        name, tested = loaded.name, _verify_found(task, loaded, target, budget, top)
    tested = [replace(t, checks=[*t.checks, *_functions(t.term, task)]) for t in tested]
    _say_tested(name, tested, allow_unknown=allow_unknown, as_json=as_json)


def _say_tested(
    name: str, tested: Sequence[_Tested], *, allow_unknown: bool, as_json: bool
) -> NoReturn:
    """Print what is known of each candidate; ends with the status of all."""
    if as_json:
        print_json({"program": name, "candidates": [t.to_json() for t in tested]})
    else:
        for t in tested:
            print(t.text())
    said = [verdict for t in tested for verdict in t.verdicts]
    refuted, unknown = any(no for no, _ in said), not all(yes for _, yes in said)
    if unknown and not refuted and not as_json:
        allowed = "allowed" if allow_unknown else "which is no pass; --allow-unknown lets it be"
        print(f"not everything could be decided, {allowed}")
    raise typer.Exit(1 if refuted or (unknown and not allow_unknown) else 0)


def _chosen_devices(names: str | None) -> list[str]:
    """The labels of the devices of `--devices`; of all but simulators without it."""
    from relift.compiler.devices.naming import is_simulator, label
    from relift.compiler.devices.survey import devices, find_device

    if names is not None:
        return [label(find_device(name.strip())) for name in names.split(",")]
    return [label(device) for device in devices() if not is_simulator(device)]


def _verify_saved(
    task: _Task, saved: Saved, reference: Program | None
) -> tuple[str, list[_Tested]]:
    """The kernel of a folder, with the name of its program."""
    from relift.compiler.agreement.artefacts import (
        require_program,
        values_of,
        verify_saved,
        with_what_is_proved,
    )
    from relift.semantics.syntax.binding import tidy

    _require_policy(saved, task.float_policy)
    say_what_rounds_otherwise([saved.kernel], task.devices)
    judge = None
    if reference is not None:
        judge = reference.at(saved.derivation.sizes)
        require_program(saved, judge)
    with progress_of("comparing") as report:
        values = values_of(saved)
        checks = list(verify_saved(saved, task.devices, report, judge, values))
    certified = certificates_of(saved.kernel, saved.low, [values])
    assumed = saved.derivation.assumed
    shown = with_what_is_proved(saved, checks, certified)
    tested = _Tested(tidy(saved.derivation.result), certified, shown, assumed)
    return saved.derivation.origin.name, [tested]


def _verify_low_level(task: _Task, program: Program) -> list[_Tested]:
    """A program that is its own kernel."""
    from relift.compiler.agreement.open_sizes import differential_at

    kernel = compile_for(program, task.float_policy)
    say_what_rounds_otherwise([kernel], task.devices)
    with progress_of("comparing") as report:
        checks = differential_at(program, kernel, task.sizes, task.devices, report)
    return [_Tested(program.body, certificates_of(kernel, program), checks)]


def _verify_found(
    task: _Task, program: Program, target: str, budget: float, top: int
) -> list[_Tested]:
    """The candidates of a search."""
    from relift.compiler.agreement.verification import differential
    from relift.semantics.syntax.binding import tidy

    sizes = task.sizes or dict.fromkeys(program.sizes, 1024)
    best = search_or_refusal(program, sizes, target, budget, top, task.float_policy)
    compiled = [compile_for(found.term, task.float_policy) for found in best.candidates]
    say_what_rounds_otherwise(compiled, task.devices)
    derivations = [found.derivation for found in best.candidates]
    with progress_of("comparing") as report:
        return [
            _Tested(
                tidy(d.result),
                _certified(kernel, d),
                differential(kernel, d, program, task.devices, report),
            )
            for kernel, d in zip(compiled, derivations, strict=True)
        ]


def _functions(term: Term, task: _Task) -> Iterator[Agreement]:
    """What becomes of the functions in C that a kernel calls, on the first device."""
    from relift.compiler.agreement.functions_in_c import functions_agree

    return functions_agree(term, device=task.devices[0] if task.devices else None)


def _certified(kernel: Compiled, derivation: Derivation) -> tuple[Certificate, ...]:
    """The certificates of a candidate."""
    from relift.semantics.language.programs import Program
    from relift.semantics.syntax.binding import tidy

    source = derivation.program
    return certificates_of(kernel, Program(source.name, source.parameters, tidy(derivation.result)))


# ---- a folder of optimize --out


def _require_policy(saved: Saved, float_policy: str) -> None:
    """What was searched with leave to regroup is not exact because it is asked for now."""
    if float_policy == "exact" and not (
        saved.derivation.policy == "exact" and saved.kernel.is_exact
    ):
        raise Refusal(
            f"--float exact: the kernel in {saved.folder} is none; write one with relift optimize --float exact --out"
        )


_Believed: TypeAlias = "tuple[Sequence[Path] | None, Sequence[str] | None]"
"""Files with the rules of the user's own that a folder uses, and names of rules that need not be PROVED."""


def _read_saved(folder: Path, believed: _Believed, program: Program | None) -> Saved:
    """A folder whose files belong together, and whose rules and laws are to be believed; of this program, if it is known."""
    from relift.compiler.agreement.artefacts import read_saved
    from relift.rewrites.checks.operator_uses import require_laws
    from relift.rewrites.derivation.steps import require_standing
    from relift.rewrites.library import RULES

    rules, allow = believed
    saved = read_saved(folder, own_rules_in(rules), program)
    require_standing(saved.derivation, RULES, allow or ())
    require_laws(saved.derivation.program.body)
    return saved
