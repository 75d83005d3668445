"""The command line: each verb calls one part of Relift and prints what it returns.

Exit status: 0 success, 1 the answer is "no" (refuted, mismatch), 2 bad input, 3 neither yes nor no (`check`: a
rule is tested only), 70 a defect of Relift, 130 interrupted.
"""

from __future__ import annotations

import difflib
import importlib
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from relift.semantics.errors import Refuted, ReliftError

if TYPE_CHECKING:
    from rich.table import Table

    from relift.compiler.agreement.artefacts import Saved
    from relift.compiler.agreement.verification import Agreement
    from relift.compiler.certificates.claims import Certificate
    from relift.compiler.running.compiled import Compiled
    from relift.device import DeviceDescription
    from relift.egraph.search.optimize import Optimized
    from relift.rewrites.checks.verdicts import TierName
    from relift.rewrites.derivation.steps import Derivation
    from relift.semantics.language.vocabulary import Program
    from relift.semantics.syntax.terms import Term

app = typer.Typer(
    name="relift",
    help="Validate rewrite rules, extract optimised kernels, test compilers and devices.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

ProgramArgument = Annotated[
    str, typer.Argument(metavar="PROGRAM", help="path.py, path.py:name or module:name")
]
SizeOption = Annotated[
    list[str] | None, typer.Option("--size", help="Sizes, as n=1024 or n=1024,m=64.")
]
TargetOption = Annotated[
    str, typer.Option(help="cpu, gpu, or part of a device's name (see relift devices).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
BudgetOption = Annotated[float, typer.Option(help="Seconds of search.", min=0.1, max=31536000)]
AllowOption = Annotated[
    list[str] | None,
    typer.Option(help="A rule that may be used though the ledger does not call it PROVED."),
]


def _float_policy(policy: str) -> str:
    if policy not in ("reassociate", "exact"):
        raise Refusal(f"--float {policy}: say reassociate or exact")
    return policy


FloatOption = Annotated[
    str,
    typer.Option(
        "--float",
        callback=_float_policy,
        help="reassociate: floating-point + may be regrouped; exact: never.",
    ),
]


def _show_version(wanted: bool) -> None:
    if wanted:
        import relift

        print(f"relift {relift.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Its version.")
    ] = False,
) -> None:
    """Validate rewrite rules, extract optimised kernels, test compilers and devices."""


class Refusal(ReliftError):
    """Bad input on the command line."""

    def __init__(self, message: str) -> None:
        super().__init__(message, place="")


def main() -> None:
    """Run the command line; every error is one message on standard error."""
    try:
        status = app(standalone_mode=False)  # the status of typer.Exit, or what the verb returned
        sys.exit(status if isinstance(status, int) else 0)
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted", 130)
    except SystemExit as stop:
        if stop.code == 130:  # how typer ends on Ctrl-C, without a word
            _fail("interrupted", 130)
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Refuted as error:
        _fail(str(error), 1)
    except ReliftError as error:
        _fail(str(error), 2)
    except Exception as error:
        usage = getattr(error, "format_message", None)  # what click's usage errors have
        if usage is not None:
            message = usage()
            sys.exit(2) if not message else _fail(message, 2)  # empty: the help has been printed
        if os.environ.get("RELIFT_TRACEBACK"):
            raise
        _fail(
            f"internal error: {type(error).__name__}: {error} "
            "(this is a defect of Relift; RELIFT_TRACEBACK=1 shows where)",
            70,
        )


def _fail(message: str, status: int) -> NoReturn:
    print(f"relift: {message}", file=sys.stderr)
    sys.exit(status)


# ---- check


@app.command()
def check(
    rules: Annotated[list[str] | None, typer.Argument(help="Names of rules; all if none.")] = None,
    file: Annotated[Path | None, typer.Option(help="A Python file with rules of your own.")] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this tier: 1 types, 2 random, 3 free, 4a index, 4b kernel proof, 5 search."
        ),
    ] = None,
    bound: Annotated[int, typer.Option(help="Tier 3 tries every size up to this.", min=1)] = 3,
    as_json: JsonOption = False,
) -> None:
    """Validate rewrite rules: types, random values, small sizes on free symbols, provers, search.

    Exit status: 0 all are proved for all sizes; 1 one has failed; 3 none has failed, but one is tested only;
    2 bad input, such as a rule whose Python fails.
    """
    from relift.egraph.checks.tiers import TIERS, check_all
    from relift.rewrites.checks.verdicts import EXIT_STATUS, summary
    from relift.rewrites.ledger.book import known_rules
    from relift.rewrites.library import RULES
    from relift.rewrites.loading import load_rules

    known = load_rules(file) if file else known_rules()
    for name in rules or ():
        if name not in known:
            where = f"in {file}" if file else "of that name"
            raise Refusal(f"there is no rule {name} {where}{_nearest(name, known)}")
    if wrong := [t for t in tier or () if t not in TIERS]:
        raise Refusal(f"there is no tier {wrong[0]}; there are: {', '.join(TIERS)}")
    tiers: tuple[TierName, ...] = tuple(t for t in TIERS if not tier or t in tier)
    chosen = [known[name] for name in rules or (known if file else RULES)]
    reports = []
    with _progress("checking") as progress:
        for r in check_all(chosen, tiers=tiers, bound=bound, progress=progress):
            reports.append(r)
            if not as_json:
                print(r.text() + "\n", flush=True)
    if as_json:
        _print_json({"rules": [r.to_json() for r in reports]})
    else:
        print(summary(reports))
    if any(r.malformed for r in reports):
        raise typer.Exit(2)
    raise typer.Exit(max((EXIT_STATUS[r.headline] for r in reports), key=(0, 3, 1).index))


def _nearest(name: str, known: Iterable[str]) -> str:
    """What may have been meant; a few names, however many there are."""
    found = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    if found:
        return f"; did you mean {' or '.join(found)}?"
    return "; relift ledger lists the library"


# ---- ledger


@app.command()
def ledger(
    rules: Annotated[
        list[str] | None, typer.Argument(help="Rules whose pages are printed, or that are checked.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write one self-contained page.")] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Check these rules, or all, again and record it.")
    ] = False,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit", help="Check these rules, or all, again and compare; 1 if it differs."
        ),
    ] = False,
    sample: Annotated[
        int | None, typer.Option(help="With --audit: only so many rules, drawn by --seed.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="What the sample is drawn by.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Every rule and what is known of it; or all that is known of some."""
    from relift.files import write_text
    from relift.rewrites.ledger import book, pages

    known = book.known_rules()
    if unknown := [name for name in rules or () if name not in known]:
        raise Refusal(f"there is no rule {unknown[0]}; relift ledger lists them")
    if update and audit:
        raise Refusal("--update records what --audit compares; give one of them")
    if sample is not None and (not audit or rules):
        raise Refusal("--sample draws the rules of --audit; give it with --audit and without names")
    if audit:
        _audit_ledger(rules or _sample(list(known), sample, seed), as_json)
    if update:
        _update_ledger(rules or [])
    if html is not None:
        write_text(html, pages.as_html())
    if as_json:
        _print_json({"rules": [pages.to_json(name) for name in rules or known]})
    elif rules:
        print("\n\n".join(map(pages.page, rules)))
    else:
        _print_ledger()
    if not as_json:
        for file in [book.FILE] * update + ([html] if html is not None else []):
            print(f"written to {file}")


def _print_ledger() -> None:
    from rich.table import Table

    from relift.rewrites.ledger.book import known_rules, summary
    from relift.rewrites.ledger.pages import row

    table = Table("rule", "family", "verdict", "search", "floating point", "under")
    for name in known_rules():
        table.add_row(*row(name))
    _print_table(table)
    print(summary())


def _sample(names: list[str], count: int | None, seed: int) -> list[str]:
    """So many of the names, the same for the same seed; all of them without a number."""
    from random import Random

    return names if count is None else Random(seed).sample(names, min(count, len(names)))


def _update_ledger(names: Sequence[str]) -> None:
    from relift.egraph.checks.tiers import checked_entries
    from relift.rewrites.ledger.book import record, require_prover, require_writable

    require_writable()
    require_prover()
    with _progress("checking") as progress:
        record(list(checked_entries(names, progress)))


def _audit_ledger(names: Sequence[str], as_json: bool) -> None:
    """Check rules again, print what the ledger says otherwise, and end with 1 if there is any."""
    from relift.egraph.checks.tiers import audit
    from relift.rewrites.ledger.book import require_prover

    require_prover()
    found: dict[str, list[str]] = {}
    with _progress("checking") as progress:
        for name, said in audit(names, progress):
            found[name] = said
            if said and not as_json:
                print(f"{name}: {'; '.join(said)}", flush=True)
    wrong = {name: said for name, said in found.items() if said}
    if as_json:
        _print_json({"checked": list(found), "differ": wrong})
    else:
        print(f"{len(found)} rules checked again: {len(found) - len(wrong)} as recorded")
    raise typer.Exit(1 if wrong else 0)


# ---- optimize


@app.command()
def optimize(
    program: ProgramArgument,
    size: SizeOption = None,
    target: TargetOption = "cpu",
    budget: BudgetOption = 120.0,
    top: Annotated[int, typer.Option(help="How many candidates to keep.", min=1)] = 1,
    float_policy: FloatOption = "reassociate",
    sketch: Annotated[
        str | None,
        typer.Option(help="A goal: file.py:name of an rl.sketch, or its text. Tiles: --size."),
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Time the best on the device.")] = False,
    times: Annotated[
        Path | None, typer.Option(help="Database of the times that were measured.", metavar="FILE")
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(help="Write the candidates as a folder to be timed on another machine."),
    ] = None,
    times_from: Annotated[
        Path | None,
        typer.Option(help="The results.json of such a folder: the fastest there first."),
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Print what each rule of the search matched and took.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for kernels and derivations.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Search for fast low-level programs; print the plan, its cost and how it was derived."""
    from relift.compiler.agreement.artefacts import DERIVATION, TERM, origin_of
    from relift.egraph.cost import time_text
    from relift.rewrites.derivation.files import write_json
    from relift.rewrites.loading import load_program
    from relift.semantics.notation.printer import show

    if times is not None and not tune and times_from is None:
        raise Refusal("--times keeps the times of --tune or --times-from; give one of them")
    if sum((tune, bundle is not None, times_from is not None)) > 1:
        raise Refusal("--tune times here, --bundle and --times-from elsewhere; give one of them")
    loaded, sizes = load_program(program), _sizes(size)
    timed_on = None
    if times_from is not None:
        timed_on = _keep_times(times_from, loaded, sizes, target, times)
    best = _search(
        loaded, sizes, target, budget, top, float_policy, sketch,
        tune=tune, times=times, timed_on=timed_on, elsewhere=bundle is not None or times_from is not None,
    )  # fmt: skip
    written: list[str] = []
    if bundle is not None:
        with _progress("computing what results must be"):
            written = _write_candidates(bundle, best, loaded, sizes, target)
    compiled = [_compile(found.term, float_policy) for found in best.candidates]
    if bundle is None and times_from is None:
        _say_what_rounds_otherwise(compiled, [target])
    pairs = list(zip(best.candidates, compiled, strict=True))
    if out is not None:
        for number, (found, kernel) in enumerate(pairs, 1):
            folder = out if len(pairs) == 1 else out / str(number)
            others = {
                TERM: show(found.term.body) + "\n",
                DERIVATION: write_json(found.derivation),
            }
            kernel.save(folder, others, origin_of(found.derivation))
    if as_json:
        _print_json(
            {
                "program": best.source.name,
                "stopped": best.stopped,
                "complete": best.complete,
                "nodes": best.nodes,
                "seconds": best.seconds,
                "timed_on": timed_on,
                "bundle": written,
                "profile": {
                    rule: {
                        "matches": best.firings.get(rule, 0),
                        "nodes_at_most": best.written.get(rule, 0),
                        "seconds": seconds,
                    }
                    for rule, seconds in best.profile.items()
                },
                "candidates": [
                    {
                        "term": show(found.term.body),
                        "estimated_seconds": found.cost.seconds,
                        "measured_seconds": found.measured,
                        "steps": [step.rule for step in found.derivation.steps],
                        "launch": kernel.launch,
                    }
                    for found, kernel in pairs
                ],
            }
        )
        return
    _print_search(best)
    if profile:
        _print_profile(best)
    for number, (found, _) in enumerate(pairs, 1):
        title = "best program" if number == 1 else f"candidate {number}"
        measured = "" if found.measured is None else f"measured {time_text(found.measured)}, "
        print(f"\n{title}, {measured}estimated {found.cost}:\n")
        print(show(found.term.body))
        print("\nderived by " + ", ".join(step.rule for step in found.derivation.steps))
    if out is not None:
        print(f"\nwritten to {out}")
    if bundle is not None:
        print(f"\nwritten to {bundle}: {', '.join(written)}")
        print(
            f"there: python {bundle.name}/runner.py --device {target}; here: --times-from results.json"
        )
    if timed_on is not None:
        known = sum(found.measured is not None for found, _ in pairs)
        print(f"\n{known} of {len(pairs)} candidates have a time on {timed_on}")


def _write_candidates(
    bundle: Path, best: Optimized, program: Program, sizes: Mapping[str, int], target: str
) -> list[str]:
    from relift.compiler.bench.candidates import write_candidates
    from relift.device import preset

    candidates = [found.term for found in best.candidates]
    return write_candidates(bundle, program, _own(sizes, program), candidates, preset(target).kind)


def _keep_times(
    file: Path, program: Program, sizes: Mapping[str, int], target: str, database: Path | None
) -> str:
    """Take a runner's times into the database of times; the device that they are of."""
    from relift.compiler.bench.candidates import read_times
    from relift.device import preset
    from relift.egraph.search.tuning import Timing, Timings, default_path

    device, found = read_times(file, program, _own(sizes, program), preset(target).kind)
    kept = Timings(database or default_path(), device)
    kept.keep(program.name, {t.term: Timing(t.seconds, t.failure) for t in found})
    return device


def _own(sizes: Mapping[str, int], program: Program) -> dict[str, int]:
    """The sizes of a program, without those of a sketch."""
    return {name: n for name, n in sizes.items() if name in program.sizes}


# ---- compile


@app.command(name="compile")
def compile_(
    program: ProgramArgument,
    size: SizeOption = None,
    local: Annotated[
        str | None, typer.Option(help="Work-items of a group by dimension, as 64 or 16,4.")
    ] = None,
    global_: Annotated[
        str | None, typer.Option("--global", help="All work-items by dimension, as 4096 or 64,64.")
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="Index with long.")] = False,
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove bounds and the absence of races.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the kernels.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the kernels of a low-level program; sizes that are not given become their arguments."""
    from relift.compiler.certificates.claims import certificates
    from relift.compiler.program import compile_program
    from relift.compiler.validation.evidence import reports_of, with_values
    from relift.rewrites.loading import load_program

    compiled = compile_program(
        load_program(program),
        _sizes(size),
        local=_counts("local", local),
        global_=_counts("global", global_),
        wide=wide,
    )
    found: tuple[Certificate, ...] = ()
    if certify:
        loaded = load_program(program)
        known = {name: n for name, n in _sizes(size).items() if name in loaded.sizes}
        reports = reports_of(compiled, loaded.at(known, partly=True))
        found = with_values(certificates(compiled), reports)
    else:
        _say_unknown(compiled)
    if out is not None:
        compiled.save(out)
    if as_json:
        certified = {"certificates": [c.to_json() for c in found]} if certify else {}
        _print_json({"source": compiled.source, "launch": compiled.launch, **certified})
    else:
        print(compiled.source)
        for c in found:
            print(c.text())
        if out is not None:
            print(f"written to {out}")
    raise typer.Exit(0 if all(c.ok for c in found) else 1)


def _say_unknown(compiled: Compiled) -> None:
    """What is not known of a program's kernels, a line for each reason; raises `Refuted` for wrong ones."""
    from relift.compiler.certificates.consultation import require_not_refuted, unknowns

    require_not_refuted(compiled)
    for line in unknowns(compiled.certificates):
        print(line, file=sys.stderr)


def _counts(option: str, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = text.split(",")
    if not all(_is_number(part) for part in parts):
        raise Refusal(f"--{option} {text}: say numbers with commas, such as 16,4")
    return tuple(map(int, parts))


# ---- run


@app.command()
def run(
    program: ProgramArgument,
    size: SizeOption = None,
    given: Annotated[
        list[str] | None, typer.Option("--input", help="x=FILE.npy, or x=2.5 for a scalar.")
    ] = None,
    random: Annotated[
        int | None, typer.Option(help="Random inputs from this seed.", min=0, max=2**63 - 1)
    ] = None,
    kernel: Annotated[
        Path | None, typer.Option(help="A folder written by optimize --out; no search.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the interpreter and with NumPy.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write the result to this .npy file.")] = None,
    target: TargetOption = "cpu",
    budget: BudgetOption = 120.0,
    float_policy: FloatOption = "reassociate",
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a program on a device: search for a kernel or take one, then execute it.

    A program that is low-level is its own kernel, compiled once for all sizes.
    """
    from relift.compiler.agreement.artefacts import require_program
    from relift.compiler.agreement.verification import (
        check_derivation,
        check_run,
        random_inputs,
        read_inputs,
    )
    from relift.compiler.devices.naming import label
    from relift.compiler.devices.survey import find_device
    from relift.compiler.program import is_low_level
    from relift.files import write_array
    from relift.rewrites.loading import load_program

    loaded = load_program(program)
    sizes = _sizes(size)
    if random is not None:
        if given:
            raise Refusal("give --input or --random, not both")
        arrays = random_inputs(loaded.at(sizes), random)
    else:
        sizes, arrays = read_inputs(loaded, sizes, _pairs(given, "--input", "x=FILE.npy"))
    source = loaded.at(sizes)
    device = label(find_device(target))
    derivation: Derivation | None = None
    if kernel is not None:
        saved = _read_saved(kernel, allow)
        require_program(saved, source)
        _require_policy(saved, float_policy)
        compiled, derivation = saved.kernel, saved.derivation
    elif is_low_level(loaded):
        compiled = _compile(loaded, float_policy)
    else:
        best = _search_or_refusal(loaded, sizes, target, budget, 1, float_policy)
        compiled, derivation = _compile(best.term, float_policy), best.derivation
        if not as_json:
            _print_search(best)
    _say_unknown(compiled)
    _say_what_rounds_otherwise([compiled], [device])
    with _progress("running") as report:
        report(f"{loaded.name} on {device}")
        known = {name: sizes[name] for name in compiled.plan.sizes if name in sizes}
        result = compiled(*arrays, device=device, sizes=known)
        seconds = min(compiled.timed(arrays, device, 3, sizes=known))
    checks = []
    if check:
        with _progress("comparing"):
            checks = check_run(loaded, arrays, result, source)
            if derivation is not None:
                checks.append(check_derivation(derivation, device))
    if out is not None:
        write_array(out, result)
    if as_json:
        _print_json(
            {
                "program": loaded.name,
                "sizes": sizes,
                "device": device,
                "seconds": seconds,
                "checks": [c.to_json() for c in checks],
            }
        )
    else:
        print(f"{loaded.name} on {device}: {seconds * 1e3:.3f} ms, result {_brief(result)}")
        for c in checks:
            print(c.text())
        if out is not None:
            print(f"written to {out}")
    agreed = any(c.ok for c in checks) or not checks
    raise typer.Exit(0 if agreed and not any(c.refuted for c in checks) else 1)


# ---- verify


@app.command()
def verify(
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
    from relift.compiler.agreement.artefacts import require_program, verify_saved
    from relift.compiler.agreement.verification import differential, differential_at
    from relift.compiler.certificates.claims import certificates
    from relift.compiler.devices.naming import is_simulator, label
    from relift.compiler.devices.survey import devices as all_devices
    from relift.compiler.devices.survey import find_device
    from relift.compiler.program import is_low_level
    from relift.compiler.validation.evidence import reports_of, with_values
    from relift.rewrites.loading import load_program
    from relift.semantics.notation.printer import show
    from relift.semantics.syntax.binding import tidy

    chosen = (
        [label(find_device(name)) for name in devices.split(",")]
        if devices is not None
        else [label(device) for device in all_devices() if not is_simulator(device)]
    )
    candidates: list[tuple[Compiled, Derivation]] = []
    tested: list[tuple[Term, tuple[Certificate, ...], list[Agreement]]] = []
    if Path(program).is_dir():
        saved = _read_saved(Path(program), allow)
        _require_policy(saved, float_policy)
        _say_what_rounds_otherwise([saved.kernel], chosen)
        name, judge = saved.derivation.origin.name, None
        if reference is not None:
            judge = load_program(reference).at(saved.derivation.sizes)
            require_program(saved, judge)
        with _progress("comparing") as report:
            checks = list(verify_saved(saved, chosen, report, judge))
        certified = _certified(saved.kernel, saved.derivation)
        tested.append((tidy(saved.derivation.result), certified, checks))
    elif reference is not None:
        raise Refusal(
            "--program says what a folder computes; without a folder the program itself is given"
        )
    elif is_low_level(loaded := load_program(program)):
        name, kernel = loaded.name, _compile(loaded, float_policy)
        _say_what_rounds_otherwise([kernel], chosen)
        with _progress("comparing") as report:
            checks = differential_at(loaded, kernel, _sizes(size), chosen, report)
        certified = with_values(certificates(kernel), reports_of(kernel, loaded))
        tested.append((loaded.body, certified, checks))
    else:
        name = loaded.name
        sizes = _sizes(size) or dict.fromkeys(loaded.sizes, 1024)
        best = _search_or_refusal(loaded, sizes, target, budget, top, float_policy)
        candidates = [
            (_compile(found.term, float_policy), found.derivation) for found in best.candidates
        ]
        _say_what_rounds_otherwise([kernel for kernel, _ in candidates], chosen)
    with _progress("comparing") as report:
        tested += [
            (tidy(d.result), _certified(kernel, d), differential(d, chosen, report))
            for kernel, d in candidates
        ]
    if as_json:
        _print_json(
            {
                "program": name,
                "candidates": [
                    {
                        "term": show(term),
                        "certificates": [c.to_json() for c in certified],
                        "checks": [c.to_json() for c in checks],
                    }
                    for term, certified, checks in tested
                ],
            }
        )
    else:
        for term, certified, checks in tested:
            print(show(term))
            for certificate in certified:
                print("  " + certificate.text().replace("\n", "\n  "))
            for c in checks:
                print("  " + c.text())
    said = [(c.refuted, c.ok) for _, certified, _ in tested for c in certified]
    said += [(c.refuted, c.ok) for _, _, checks in tested for c in checks]
    refuted, unknown = any(no for no, _ in said), not all(yes for _, yes in said)
    if unknown and not refuted and not as_json:
        allowed = "allowed" if allow_unknown else "which is no pass; --allow-unknown lets it be"
        print(f"not everything could be decided, {allowed}")
    raise typer.Exit(1 if refuted or (unknown and not allow_unknown) else 0)


def _certified(kernel: Compiled, derivation: Derivation) -> tuple[Certificate, ...]:
    """The certificates of a candidate, with what its text shows on symbols where that is not too much."""
    from relift.compiler.certificates.claims import certificates
    from relift.compiler.validation.evidence import reports_of, with_values
    from relift.semantics.language.vocabulary import Program
    from relift.semantics.syntax.binding import tidy

    source = derivation.program
    low = Program(source.name, source.parameters, tidy(derivation.result))
    return with_values(certificates(kernel), reports_of(kernel, low))


# ---- explain


@app.command()
def explain(
    derivation: Annotated[Path, typer.Argument(help="A derivation.json of optimize --out.")],
    html: Annotated[Path | None, typer.Option(help="Also write one self-contained page.")] = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay a derivation step by step, and confirm it by the interpreter.

    A step by a rule that is not PROVED in the ledger is an error unless it is allowed by name.
    """
    from relift.files import write_text
    from relift.rewrites.checks.operator_uses import require_laws
    from relift.rewrites.derivation.confirmation import confirm
    from relift.rewrites.derivation.files import read_json
    from relift.rewrites.derivation.pages import as_html, as_text
    from relift.rewrites.derivation.steps import BrokenDerivation, require_standing, standing
    from relift.rewrites.ledger.book import rule_hash
    from relift.rewrites.library import RULES

    loaded = read_json(derivation, RULES)
    require_standing(loaded, RULES, allow or ())
    require_laws(loaded.program.body)
    terms = loaded.replay(RULES)
    try:
        with _progress("confirming"):
            confirmed = confirm(loaded, RULES)
    except BrokenDerivation as error:
        _fail(f"{derivation}: {error.message}", 1)
    if html is not None:
        write_text(html, as_html(loaded, terms, RULES, confirmed))
    if as_json:
        _print_json(
            {
                "program": loaded.origin.name,
                "steps": [step.rule for step in loaded.steps],
                "verdicts": standing(loaded, RULES),
                "statements": [rule_hash(RULES[step.rule]) for step in loaded.steps],
                "replays": True,
                "confirmed_at": None if confirmed is None else dict(confirmed.sizes),
                "confirmed_recorded": confirmed is not None and confirmed.recorded,
                "inputs": 0 if confirmed is None else confirmed.inputs,
            }
        )
    else:
        print(as_text(loaded, terms, RULES, confirmed))
        if html is not None:
            print(f"written to {html}")
    raise typer.Exit(0 if confirmed is not None else 1)


# ---- bench


@app.command()
def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks; all if none.")] = None,
    target: Annotated[
        str,
        typer.Option(
            help="cpu, gpu, or part of a device's name; several, with commas, take turns; "
            "cpu or gpu for a bundle."
        ),
    ] = "cpu",
    folder: Annotated[Path, typer.Option(help="Files that list benchmarks.")] = Path(
        "examples/low_level"
    ),
    bundle: Annotated[
        Path | None,
        typer.Option(help="Write a folder to be run on another machine, and run nothing."),
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="Print a results.json, or what --json printed; run nothing.")
    ] = None,
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Measure what the devices do, for the cost model; time nothing else.",
        ),
    ] = False,
    ablation: Annotated[
        bool,
        typer.Option("--ablation", help="Switch analyses of the compiler off; default variants."),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the shares, as .png or .svg.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Time low-level programs against hand-written ones; print the share of the device that they use.

    A program for the CPU takes turns with NumPy and with OpenCL written by hand (examples/low_level/opencl), on
    each device of --target; one for the GPU is compared with the best hand-written OpenCL that was measured on an
    H200.
    """
    from relift.compiler.bench.benchmarks import load_benchmarks
    from relift.compiler.bench.bundle import read_results, write_bundle
    from relift.compiler.bench.times import predicted_anew, times_of
    from relift.compiler.devices.naming import label
    from relift.compiler.devices.survey import describe, find_device
    from relift.compiler.lowering.analyses import ABLATION, EVERYTHING
    from relift.device import GPU, preset

    if results is not None:
        found = read_results(results)
        description = GPU if found["entries"][0]["target"] == "gpu" else describe(find_device())
        rows = found["entries"]
        if folder.is_dir():
            listed = load_benchmarks(folder, [], description.kind)
            rows = predicted_anew(rows, listed, _predictor(description))
        _show_times(found["device"], rows, description, as_json, plot)
        return
    settings = ABLATION if ablation else EVERYTHING
    samples = folder / "samples.py"
    if bundle is not None:
        kind = preset(target)
        chosen = load_benchmarks(folder, names or [], kind.kind, defaults=ablation)
        with _progress("writing"):
            written = write_bundle(bundle, chosen, samples, _predictor(kind), settings)
        if as_json:
            _print_json({"bundle": str(bundle), "entries": written})
        else:
            print(f"written to {bundle}: {', '.join(written)}")
            print(f"there: python {bundle.name}/runner.py --device {target}; here: --results FILE")
        return
    found_devices = {label(d): d for d in (find_device(n.strip()) for n in target.split(","))}
    if calibration:
        _calibrate(found_devices, as_json)
        return
    descriptions = {name: describe(device) for name, device in found_devices.items()}
    description = next(iter(descriptions.values()))
    chosen = load_benchmarks(folder, names or [], description.kind, defaults=ablation)
    with _progress("timing") as report:
        predict = {name: _predictor(about) for name, about in descriptions.items()}
        rows = list(times_of(chosen, samples, predict, report, settings))
    _show_times("; ".join(descriptions), rows, description, as_json, plot)


def _calibrate(found: Mapping[str, Any], as_json: bool) -> None:
    """Measure devices, keep what was measured, and print it."""
    from dataclasses import asdict

    from relift.compiler.devices.calibration import calibrate, keep

    rows: dict[str, Any] = {}
    for name, device in found.items():
        with _progress("measuring") as report:
            report(name)
            measured = calibrate(device)
        file = keep(device, measured)
        rows[name] = {**asdict(measured), "file": str(file)}
        if not as_json:
            print(
                f"{name}: {measured.bandwidth_gbs:.0f} GB/s, {measured.fma_gflops:.0f} GFLOP/s, "
                f"{measured.launch_seconds * 1e6:.0f} us a launch; makes vectors of "
                f"{_PACKED[measured.packs]}; kept in {file}"
            )
    if as_json:
        _print_json({"devices": rows})


# ---- devices

_PACKED = {
    "nothing": "no work-items",
    "loop-free": "the work-items of kernels without loops",
    "loops": "the work-items of any kernel",
}


@app.command()
def devices(as_json: JsonOption = False) -> None:
    """The OpenCL devices: which work, what each gets wrong, and the description that the cost model uses.

    A device works if it passes its self-test. What failed before is tested again.
    """
    from dataclasses import asdict

    from relift.compiler.devices.calibration import kept
    from relift.compiler.devices.survey import DEFECTS, describe, find_device, survey
    from relift.compiler.devices.survey import devices as all_devices

    with _progress("testing"):
        found = survey(again=True)
    working = [(f, f.device) for f in found if f.works and f.device is not None]
    broken = [f for f in found if not f.works]
    if not working:
        all_devices()  # raises, with the reasons
    default = find_device(None) if any(d for f, d in working if f.kind == "cpu") else None
    if as_json:
        _print_json(
            {
                "devices": [
                    {
                        **asdict(describe(device)),
                        "label": f.name,
                        "default": device == default,
                        "defects": list(f.defects),
                    }
                    for f, device in working
                ],
                "broken": [{"label": f.name, "reason": f.failure} for f in broken],
            }
        )
        return
    for f, device in working:
        about = describe(device)
        print(f"{f.name}{' (the default)' if device == default else ''}")
        print(
            f"  {about.kind}, {about.compute_units} units, {about.vector_width} lanes, "
            f"{about.clock_ghz:.1f} GHz, {about.bandwidth_gbs:.0f} GB/s, "
            f"{about.local_memory_bytes // 1024} KiB of local memory"
        )
        if about.kind == "cpu":
            print(
                f"  {about.vector_registers} vector registers, {about.fma_gflops:.0f} GFLOP/s; makes vectors of "
                f"{_PACKED[about.packs]}; {'' if kept(device) is not None else 'not '}measured "
                "by relift bench --calibrate"
            )
        for defect in f.defects:
            print(f"  {DEFECTS[defect]}")
    for f in broken:
        print(f"{f.name} is broken\n  {f.failure}")


# ---- shared by the verbs


def _pairs(items: list[str] | None, option: str, form: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in items or []:
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise Refusal(f"{option} {item}: write it as {option} {form}")
        if name in found:
            raise Refusal(f"{option} {item}: {name} is given twice, first as {found[name]}")
        found[name] = value
    return found


def _is_number(text: str) -> bool:
    """Whether a text is a whole number of no more digits than any that is accepted."""
    return text.isascii() and text.isdecimal() and len(text) <= 18


def _sizes(items: list[str] | None) -> dict[str, int]:
    parts = [part for item in items or [] for part in item.split(",")]
    sizes: dict[str, int] = {}
    for name, text in _pairs(parts, "--size", "n=1024").items():
        if not _is_number(text):
            shown = text if len(text) <= 40 else f"{text[:37]}..."
            raise Refusal(
                f"--size {name}={shown}: a size is a whole number from 0 on, of at most 18 digits"
            )
        sizes[name] = int(text)
    return sizes


def _search(
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
) -> Optimized:
    """The search of a verb, for a device of this machine, or for any of its kind if `elsewhere`."""
    from relift.compiler.agreement.verification import failure_on_symbols
    from relift.compiler.program import runs
    from relift.compiler.running.timing import timer
    from relift.device import preset
    from relift.egraph.search.optimize import optimize as search
    from relift.egraph.sketches.language import load_sketch

    goal = None if sketch is None else load_sketch(sketch)
    tiles = () if goal is None else goal.names
    program.at({n: v for n, v in sizes.items() if n in program.sizes or n not in tiles})
    # a missing size is a better message than a missing device
    device = preset(target) if elsewhere else _description(target, tune=tune)
    with _progress("searching") as report:
        return search(
            program,
            sizes,
            device,
            budget=budget,
            top=top,
            sketch=goal,
            accepts=runs,
            varied=elsewhere,
            measure=timer(target) if tune else None,
            judge=failure_on_symbols,
            timed_on=timed_on,
            tuning=times,
            float=float_policy,  # type: ignore[arg-type]  # checked by its callback
            progress=lambda stage, nodes, seconds: report(f"{stage}: {nodes} nodes"),
        )


def _search_or_refusal(
    program: Program, sizes: Mapping[str, int], target: str, budget: float, top: int, policy: str
) -> Optimized:
    """A search; of what says itself what runs in parallel, the compiler's refusal is the better reason than the search's."""
    from relift.compiler.program import is_parallel

    try:
        return _search(program, sizes, target, budget, top, policy)
    except ReliftError:
        if is_parallel(program):
            _compile(program, policy)
        raise


def _description(target: str, *, tune: bool) -> DeviceDescription:
    """The device of this machine; where it has none and nothing is timed, what stands for its kind."""
    from relift.compiler.devices.survey import describe, find_device
    from relift.device import preset
    from relift.semantics.errors import Unsupported

    if not target:
        raise Refusal("--target is empty; say cpu, gpu, or part of a device's name")
    try:
        return describe(find_device(target))
    except Unsupported:
        if tune or target not in ("cpu", "gpu"):
            raise
        found = preset(target)
        print(f"there is no {target} here: searching for {found.name}", file=sys.stderr)
        return found


def _predictor(device: DeviceDescription) -> Callable[[Program], float | None]:
    """The cost model for a device; None for what it does not know."""
    from relift.egraph.cost import estimate
    from relift.semantics.errors import Unsupported

    def predict(program: Program) -> float | None:
        try:
            return estimate(program, device).seconds
        except Unsupported:
            return None

    return predict


def _show_times(
    device: str,
    rows: Sequence[dict[str, Any]],
    description: DeviceDescription,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Print a table of times, or JSON; exit status 1 when a result is wrong."""
    from relift.compiler.bench.times import (
        over_hand,
        predictions,
        rank_correlation,
        share_of_roofline,
        speedup,
    )

    complete = [row for row in rows if row["analyses"] == "all"]
    on: dict[str, list[dict[str, Any]]] = {}
    for row in complete:
        on.setdefault(row.get("device", device), []).append(row)
    correlations = {name: rank_correlation(predictions(known)) for name, known in on.items()}
    for row in rows:
        if "seconds" in row:
            row["roofline"] = share_of_roofline(row, description)
            row["speedup"] = speedup(row)
            row["over_hand"] = over_hand(row)
    if plot is not None:
        _plot_times(device, rows, plot)
    if as_json:
        shown = [{k: v for k, v in row.items() if k not in _HIDDEN} for row in rows]
        _print_json({"device": device, "rank_correlation": correlations, "entries": shown})
    elif len(complete) < len(rows):
        for name in on:
            _print_ablation(name, [row for row in rows if row.get("device", name) == name])
    else:
        for name, known in on.items():
            _print_times(name, known)
            if correlations[name] is not None:
                print(f"rank correlation of predicted and measured times: {correlations[name]:.2f}")
        threads = {row["numpy_threads"] for row in rows if row.get("numpy_threads") is not None}
        if threads:
            print(
                f"NumPy: single precision, {'/'.join(map(str, sorted(threads)))} threads for products of matrices"
            )
    right = all(row["ok"] and row.get("hand_ok", True) for row in rows)
    raise typer.Exit(0 if right else 1)


_HIDDEN = {"parameters", "outputs", "log"}
"""What a row of times carries for the runner only."""


def _print_times(device: str, rows: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table

    columns = (
        "benchmark",
        "variant",
        "us",
        "GFLOP/s",
        "GB/s",
        "% roof",
        "predicted us",
        "times as fast as",
        "by hand",
    )
    table = Table(*columns, title=device)
    for row in rows:
        variant = ",".join(f"{k}={v}" for k, v in row["variant"].items())
        if "seconds" not in row:
            table.add_row(row["name"], variant, f"failed: {row.get('failed', 'wrong result')}")
            continue
        seconds, ratio = row["seconds"], row["speedup"]
        against = "NumPy" if row.get("numpy_seconds") is not None else row["reference"]
        table.add_row(
            row["name"],
            variant,
            f"{seconds * 1e6:.1f}" if row["ok"] else f"WRONG by {row['error']:.1e}",
            f"{row['flops'] / seconds * 1e-9:.0f}",
            f"{row['moved'] / seconds * 1e-9:.0f}",
            f"{row['roofline'] * 100:.0f}",
            "-" if row["predicted"] is None else f"{row['predicted'] * 1e6:.1f}",
            "-" if ratio is None else f"{ratio:.2f} {against}",
            "WRONG"
            if not row.get("hand_ok", True)
            else "-"
            if row.get("over_hand") is None
            else f"{row['over_hand']:.2f}",
        )
    _print_table(table)


def _print_ablation(device: str, rows: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table

    from relift.compiler.bench.times import slowdowns
    from relift.compiler.lowering.analyses import ABLATION

    table = Table("times as long with", *ABLATION, title=device)
    found = slowdowns(rows)
    wrong = {(row["name"], row["analyses"]) for row in rows if not row["ok"]}
    for name, known in found.items():
        cells = (
            "WRONG" if (name, a) in wrong else f"{known[a]:.2f}" if a in known else "-"
            for a in ABLATION
        )
        table.add_row(name, *cells)
    _print_table(table)


def _plot_times(device: str, rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Bars: the share of the roofline of each benchmark."""
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
    except ImportError:
        raise Refusal("--plot needs matplotlib; pip install 'relift[plots]'") from None
    matplotlib.use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")

    timed = [row for row in rows if "seconds" in row]
    names = [
        " ".join([row["name"], *(f"{k}={v}" for k, v in row["variant"].items())]) for row in timed
    ]
    figure, axes = pyplot.subplots(figsize=(8, 1 + 0.3 * len(timed)), layout="constrained")
    axes.barh(names, [row["roofline"] * 100 for row in timed])
    axes.invert_yaxis()
    axes.axvline(100, color="black", linewidth=1)
    axes.set_xlabel("per cent of the roofline")
    axes.set_title(device)
    figure.savefig(file)
    pyplot.close(figure)


def _compile(program: Program, float_policy: str) -> Compiled:
    """The kernels; those of an exact program round every product and every sum."""
    from relift.compiler.program import compile_program

    return compile_program(program, contract=float_policy != "exact")


def _say_what_rounds_otherwise(kernels: Iterable[Compiled], targets: Iterable[str]) -> None:
    """A line for each device on which exact kernels may round otherwise all the same."""
    from relift.compiler.devices.survey import rounds_otherwise
    from relift.semantics.errors import Unsupported

    if not any(kernel.is_exact for kernel in kernels):
        return
    for target in targets:
        with suppress(Unsupported):  # no such device here: nothing runs on it
            if (said := rounds_otherwise(target)) is not None:
                print(f"--float exact: {said}", file=sys.stderr)


def _require_policy(saved: Saved, float_policy: str) -> None:
    """What was searched with leave to regroup is not exact because it is asked for now."""
    if float_policy == "exact" and not (
        saved.derivation.policy == "exact" and saved.kernel.is_exact
    ):
        raise Refusal(
            f"--float exact: the kernel in {saved.folder} is none; write one with relift optimize --float exact --out"
        )


def _read_saved(folder: Path, allow: Sequence[str] | None) -> Saved:
    """A folder whose files belong together, and whose rules and laws are to be believed."""
    from relift.compiler.agreement.artefacts import read_saved
    from relift.rewrites.checks.operator_uses import require_laws
    from relift.rewrites.derivation.steps import require_standing
    from relift.rewrites.library import RULES

    saved = read_saved(folder)
    require_standing(saved.derivation, RULES, allow or ())
    require_laws(saved.derivation.program.body)
    return saved


def _print_search(best: Optimized) -> None:
    ended = best.stopped if best.complete else f"{best.stopped}; this is the best found so far"
    print(f"searched {best.nodes} nodes in {best.seconds:.1f} s ({ended})")


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
    _print_table(table)
    dead = sorted(set(best.profile) - set(matched))
    print("never matched: " + (", ".join(dead) or "none"))


def _print_table(table: Table) -> None:
    """A table as wide as it is, where no terminal says how wide a line may be: nothing is cut in a file or a pipe."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 1000
    console.print(table)


def _brief(result: Any) -> str:
    if isinstance(result, tuple):
        return "(" + ", ".join(map(_brief, result)) + ")"
    shape = getattr(result, "shape", ())
    return f"{result}" if shape == () else f"{result.dtype}{list(shape)}"


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, default=str))


@contextmanager
def _progress(title: str) -> Generator[Callable[[str], None]]:
    """A line on standard error that says what goes on, where a person is watching."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda text: None
        return
    with console.status(title) as status:
        yield lambda text: status.update(f"{title}: {text}")
