"""The verbs that search, and that replay what a search found: optimize, explain."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relift.cli.options import (
    AllowOption,
    BudgetOption,
    FloatOption,
    JsonOption,
    OwnRulesOption,
    ProgramArgument,
    Refusal,
    RulesOption,
    SchedulerOption,
    SizeOption,
    TargetOption,
    WorkersOption,
    given_rules,
    own_rules_in,
    sizes_of,
)
from relift.cli.output import fail, print_json, print_table, progress_of
from relift.semantics.errors import ReliftError

if TYPE_CHECKING:
    from relift.compiler.meaning.evidence import Meaning
    from relift.compiler.running.compiled import Compiled
    from relift.device import DeviceDescription
    from relift.egraph.search.optimize import Optimized
    from relift.egraph.search.outcomes import FoundProgram
    from relift.rewrites.checks.theorem.proving import Proved
    from relift.semantics.language.programs import Program

TopOption = Annotated[int, typer.Option(help="How many candidates to keep.", min=1)]
SketchOption = Annotated[
    str | None,
    typer.Option(help="A goal: file.py:name of an rl.sketch, or its text. Tiles: --size."),
]
TuneOption = Annotated[bool, typer.Option("--tune", help="Time the best on the device.")]
TimesOption = Annotated[
    Path | None, typer.Option(help="Database of the times that were measured.", metavar="FILE")
]
BundleOption = Annotated[
    Path | None,
    typer.Option(help="Write the candidates as a folder to be timed on another machine."),
]
TimesFromOption = Annotated[
    Path | None,
    typer.Option(help="The results.json of such a folder: the fastest there first."),
]
AssumeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="A rule of --rules that may be used though nothing proves it."
    ),
]
StrategyOption = Annotated[
    list[str] | None, typer.Option(metavar="FILE:NAME", help="A strategy of relift.strategies.")
]
ProfileOption = Annotated[
    bool, typer.Option("--profile", help="Print what each rule of the search matched and took.")
]
ProveOption = Annotated[
    bool, typer.Option("--prove", help="Prove each derivation by Rocq, as one theorem.")
]
ValidateOption = Annotated[
    bool,
    typer.Option(
        "--validate", help="Compare the text of each kernel with its program, for all data."
    ),
]
FolderOption = Annotated[Path | None, typer.Option(help="Folder for kernels and derivations.")]


def optimize(
    program: ProgramArgument,
    size: SizeOption = None,
    target: TargetOption = "cpu",
    budget: BudgetOption = 120.0,
    top: TopOption = 1,
    float_policy: FloatOption = "reassociate",
    sketch: SketchOption = None,
    rules: RulesOption = None,
    assume: AssumeOption = None,
    strategy: StrategyOption = None,
    tune: TuneOption = False,
    times: TimesOption = None,
    bundle: BundleOption = None,
    times_from: TimesFromOption = None,
    profile: ProfileOption = False,
    prove: ProveOption = False,
    validate: ValidateOption = False,
    out: FolderOption = None,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search for fast low-level programs; print the plan, its cost and how it was derived."""
    from relift.rewrites.loading import load_program, load_strategy

    _require_one_place(tune, times, bundle, times_from)
    loaded, sizes = load_program(program), sizes_of(size)
    timed_on = None
    if times_from is not None:
        timed_on = _keep_times(times_from, loaded, sizes, target, times, float_policy)
    elsewhere = bundle is not None or times_from is not None
    best = search(
        loaded, sizes, target, budget, top, float_policy, sketch,
        tune=tune, times=times, timed_on=timed_on, elsewhere=elsewhere, shared=(workers, scheduler),
        rules=given_rules(rules), assumed=assume or (), strategies=list(map(load_strategy, strategy or ())),
    )  # fmt: skip
    written: list[str] = []
    if bundle is not None:
        with progress_of("computing what results must be"):
            written = _write_candidates(bundle, best, loaded, sizes, target, float_policy)
    compiled = [compile_for(found.term, float_policy) for found in best.candidates]
    if not elsewhere:
        say_what_rounds_otherwise(compiled, [target])
    answer = _Answer(
        best,
        list(zip(best.candidates, compiled, strict=True)),
        [_proof(found) if prove else None for found in best.candidates],
        list(map(_meaning, best.candidates, compiled)) if validate else None,
        written,
        timed_on,
    )
    if out is not None:
        _save(out, answer.pairs, answer.proofs)
    if as_json:
        print_json(answer.to_json())
    else:
        answer.print(target, out, bundle, profile=profile)
    _end_by(answer.meanings or ())


@dataclass(frozen=True)
class _Answer:
    """What a search found, and all that was asked to be said of it; `meanings` is `None` if that was not asked."""

    best: Optimized
    pairs: Sequence[tuple[FoundProgram, Compiled]]
    proofs: Sequence[Proved | None]
    meanings: Sequence[Meaning] | None
    bundled: Sequence[str]
    timed_on: str | None

    def to_json(self) -> dict[str, Any]:
        """The result of the search, and the launch and the theorem of each candidate."""
        candidates = [
            {**found.to_json(), "launch": kernel.launch}
            | ({} if proof is None else {"theorem": proof.to_json()})
            for (found, kernel), proof in zip(self.pairs, self.proofs, strict=True)
        ]
        about = {"timed_on": self.timed_on, "bundle": self.bundled, "candidates": candidates}
        if self.meanings is not None:
            about["meanings"] = [m.to_json() for m in self.meanings]
        return self.best.to_json() | about

    def print(self, target: str, out: Path | None, bundle: Path | None, *, profile: bool) -> None:
        """The same for people, and what was written where."""
        print_search(self.best)
        if profile:
            _print_profile(self.best)
        _print_candidates(self.best.candidates, self.proofs)
        for m in self.meanings or ():
            print(m.text())
        if out is not None:
            print(f"\nwritten to {out}")
        if bundle is not None:
            print(f"\nwritten to {bundle}: {', '.join(self.bundled)}")
            print(
                f"there: python {bundle.name}/runner.py --device {target}; here: --times-from results.json"
            )
        if self.timed_on is not None:
            known = sum(found.measured is not None for found in self.best.candidates)
            print(f"\n{known} of {len(self.pairs)} candidates have a time on {self.timed_on}")


def _require_one_place(
    tune: bool, times: Path | None, bundle: Path | None, times_from: Path | None
) -> None:
    """Candidates are timed here or elsewhere, or not at all."""
    if times is not None and not tune and times_from is None:
        raise Refusal("--times keeps the times of --tune or --times-from; give one of them")
    if sum((tune, bundle is not None, times_from is not None)) > 1:
        raise Refusal("--tune times here, --bundle and --times-from elsewhere; give one of them")


def _meaning(found: FoundProgram, kernel: Compiled) -> Meaning:
    """The text of a candidate's kernels against its low-level program."""
    from relift.compiler.meaning.evidence import meaning_of

    with progress_of("validating") as report:
        return meaning_of(kernel, found.term, report=report)


def _end_by(meanings: Sequence[Meaning]) -> None:
    """The status of `validate`, where a text is not validated."""
    if any(m.verdict == "refuted" for m in meanings):
        raise typer.Exit(1)
    if not all(m.ok for m in meanings):
        raise typer.Exit(3)


def _proof(found: FoundProgram) -> Proved:
    """The theorem of a candidate's derivation; the command ends where there is none."""
    from relift.cli.proving import proved_or_end

    return proved_or_end(found.derivation, found.derivation.origin.name)


def _save(
    out: Path,
    candidates: Sequence[tuple[FoundProgram, Compiled]],
    proofs: Sequence[Proved | None],
) -> None:
    """The kernels, the terms, the derivations and their proofs; a folder each where there are several."""
    from relift.compiler.agreement.artefacts import DERIVATION, TERM, origin_of
    from relift.rewrites.derivation.files import write_json
    from relift.semantics.notation.printer import show

    for number, ((found, kernel), proof) in enumerate(zip(candidates, proofs, strict=True), 1):
        folder = out if len(candidates) == 1 else out / str(number)
        others = {
            TERM: show(found.term.body) + "\n",
            DERIVATION: write_json(found.derivation),
            **({} if proof is None else {**proof.files, **_page(found, kernel, proof)}),
        }
        kernel.save(folder, others, origin_of(found.derivation))


def _page(found: FoundProgram, kernel: Compiled, proof: Proved) -> dict[str, str]:
    """The chain from the program to its kernel, as files."""
    from relift.chain import PAGE, TEXT, chain_of

    chain = chain_of(found.derivation, kernel, proof)
    return {TEXT: chain.text(), PAGE: chain.html()}


def _print_candidates(candidates: Sequence[FoundProgram], proofs: Sequence[Proved | None]) -> None:
    from relift.egraph.cost.model import time_text
    from relift.semantics.notation.printer import show

    for number, (found, proof) in enumerate(zip(candidates, proofs, strict=True), 1):
        title = "best program" if number == 1 else f"candidate {number}"
        measured = "" if found.measured is None else f"measured {time_text(found.measured)}, "
        print(f"\n{title}, {measured}estimated {found.cost}:\n")
        print(show(found.term.body))
        print("\nderived by " + ", ".join(step.rule for step in found.derivation.steps))
        for own in found.derivation.used:
            print(
                f"your own rule {own}" if not own.is_assumed else f"ASSUMED, not proved: {own.rule}"
            )
        if proof is not None:
            print(f"\n{proof.text()}")


def _write_candidates(
    bundle: Path,
    best: Optimized,
    program: Program,
    sizes: Mapping[str, int],
    target: str,
    float_policy: str,
) -> list[str]:
    from relift.compiler.bench.candidates import write_candidates
    from relift.device import preset

    candidates, kind = [found.term for found in best.candidates], preset(target).kind
    contract = float_policy != "exact"
    return write_candidates(
        bundle, program, _own(sizes, program), candidates, kind, contract=contract
    )


def _keep_times(
    file: Path,
    program: Program,
    sizes: Mapping[str, int],
    target: str,
    database: Path | None,
    float_policy: str,
) -> str:
    """Take a runner's times into the database of times; the device that they are of."""
    from relift.compiler.bench.candidates import read_times
    from relift.device import preset
    from relift.egraph.search.tuning import Timing, Timings, default_path

    device, found = read_times(file, program, _own(sizes, program), preset(target).kind)
    kept = Timings(database or default_path(), device, exact=float_policy == "exact")
    kept.check()
    kept.keep(program.name, {t.term: Timing(t.seconds, t.failure) for t in found})
    return device


def _own(sizes: Mapping[str, int], program: Program) -> dict[str, int]:
    """The sizes of a program, without those of a sketch."""
    return {name: n for name, n in sizes.items() if name in program.sizes}


def _print_profile(best: Optimized) -> None:
    """The rules that matched, those that took longest first, and those that never did.

    Nodes are what the matches wrote, before the e-graph shared it: egglog does not say who was first.
    """
    from rich.table import Table

    table = Table("rule", "matches", "nodes at most", "seconds")
    for column in table.columns[1:]:
        column.justify = "right"
    matched = [rule for rule in best.profile if best.firings.get(rule)]
    for rule in sorted(matched, key=lambda r: (-best.profile[r], -best.firings[r], r)):
        numbers = str(best.firings[rule]), str(best.written[rule]), f"{best.profile[rule]:.3f}"
        table.add_row(rule, *numbers)
    print_table(table)
    dead = sorted(set(best.profile) - set(matched))
    print("never matched: " + (", ".join(dead) or "none"))


def explain(
    derivation: Annotated[
        Path,
        typer.Argument(
            metavar="DERIVATION", help="A derivation.json of optimize --out, or its folder."
        ),
    ],
    html: Annotated[Path | None, typer.Option(help="Also write one self-contained page.")] = None,
    rules: OwnRulesOption = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay a derivation step by step, and confirm it by the interpreter.

    A step by a rule that is not PROVED in the ledger is an error unless it is allowed by name.
    """
    from relift.files import write_text
    from relift.rewrites.checks.operator_uses import require_laws
    from relift.rewrites.checks.theorem.proving import told_beside
    from relift.rewrites.derivation.confirmation import confirm
    from relift.rewrites.derivation.files import file_of, read_json
    from relift.rewrites.derivation.pages import as_html, as_text, to_json
    from relift.rewrites.derivation.steps import BrokenDerivation, require_standing
    from relift.rewrites.library import RULES
    from relift.semantics.errors import Unsupported

    derivation = file_of(derivation)
    loaded = read_json(derivation, RULES, own_rules_in(rules))
    require_standing(loaded, RULES, allow or ())
    require_laws(loaded.program.body)
    terms = loaded.replay(RULES)
    try:
        with progress_of("confirming"):
            confirmed = confirm(loaded, RULES)
    except BrokenDerivation as error:
        fail(f"{derivation}: {error.message}", 1)
    except Unsupported as error:
        print(f"{derivation}: {error.message}", file=sys.stderr)
        confirmed = None
    if html is not None:
        write_text(html, as_html(loaded, terms, RULES, confirmed))
    if as_json:
        print_json(to_json(loaded, RULES, confirmed))
    else:
        print(as_text(loaded, terms, RULES, confirmed))
        if (told := told_beside(loaded, derivation, RULES)) is not None:
            print(told)
        if html is not None:
            print(f"written to {html}")
    raise typer.Exit(0 if confirmed is not None else 1)


def search(
    program: Program,
    sizes: Mapping[str, int],
    target: str,
    budget: float,
    top: int,
    float_policy: str,
    sketch: str | None = None,
    *,
    tune: bool = False,
    times: Path | None = None,
    timed_on: str | None = None,
    elsewhere: bool = False,
    shared: tuple[int, str | None] = (1, None),
    rules: Sequence[object] = (),
    assumed: Sequence[str] = (),
    strategies: Sequence[Callable[..., Any]] = (),
) -> Optimized:
    """The search of a verb, for a device of this machine, or for any of its kind if `elsewhere`.

    Workers, or those of a scheduler, judge what is timed, if that is `shared`.
    """
    if shared != (1, None) and not tune:
        raise Refusal("--workers and --scheduler judge what --tune times; give --tune as well")
    from relift.device import preset
    from relift.egraph.sketches.language import load_sketch
    from relift.optimization import compilable
    from relift.processes.executors import on

    goal = None if sketch is None else load_sketch(sketch)
    tiles = () if goal is None else goal.names
    program.at({n: v for n, v in sizes.items() if n in program.sizes or n not in tiles})
    # a missing size is a better message than a missing device
    device = preset(target) if elsewhere else _description(target, tune=tune)
    with progress_of("searching") as report, on(*shared) as executor:
        return compilable(
            program,
            sizes,
            device,
            timed_here=target if tune else None,
            executor=executor,
            budget=budget,
            top=top,
            sketch=goal,
            varied=elsewhere,
            timed_on=timed_on,
            tuning=times,
            float=float_policy,
            rules=rules,
            assumed=assumed,
            strategies=strategies,
            progress=lambda stage, nodes, seconds: report(f"{stage}: {nodes} nodes"),
        )


def search_or_refusal(
    program: Program, sizes: Mapping[str, int], target: str, budget: float, top: int, policy: str
) -> Optimized:
    """A search; of what says itself what runs in parallel, the compiler's refusal is the better reason than the search's."""
    from relift.compiler.program import is_parallel

    try:
        return search(program, sizes, target, budget, top, policy)
    except ReliftError:
        if is_parallel(program):
            compile_for(program, policy)
        raise


def _description(target: str, *, tune: bool) -> DeviceDescription:
    """The device of this machine; where it has none and nothing is timed, what stands for its kind."""
    from relift.compiler.devices.survey import describe, find_device
    from relift.optimization import device_for

    if not target:
        raise Refusal("--target is empty; say cpu, gpu, or part of a device's name")
    if tune:
        return describe(find_device(target))

    def missing(found: DeviceDescription) -> None:
        print(f"there is no {target} here: searching for {found.name}", file=sys.stderr)

    return device_for(target, missing)


def compile_for(program: Program, float_policy: str) -> Compiled:
    """The kernels; those of an exact program round every product and every sum."""
    from relift.compiler.program import compile_program

    return compile_program(program, contract=float_policy != "exact")


def say_what_rounds_otherwise(kernels: Iterable[Compiled], targets: Iterable[str]) -> None:
    """A line for each device on which exact kernels may round otherwise nevertheless."""
    from relift.compiler.devices.survey import rounds_otherwise
    from relift.semantics.errors import Unsupported

    if not any(kernel.is_exact for kernel in kernels):
        return
    for target in targets:
        with suppress(Unsupported):  # no such device here: nothing runs on it
            if (said := rounds_otherwise(target)) is not None:
                print(f"--float exact: {said}", file=sys.stderr)


def print_search(best: Optimized) -> None:
    ended = best.stopped if best.complete else f"{best.stopped}; this is the best found so far"
    print(f"searched {best.nodes} nodes in {best.seconds:.1f} s ({ended})")
