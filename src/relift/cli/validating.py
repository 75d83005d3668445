"""The verb for the text of kernels against programs: validate."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from relift.cli.options import (
    FloatOption,
    GlobalOption,
    JsonOption,
    LocalOption,
    Refusal,
    SchedulerOption,
    SizeOption,
    WorkersOption,
    counts_of,
    pairs_of,
    sizes_of,
)
from relift.cli.output import print_json, progress_of

if TYPE_CHECKING:
    from relift.compiler.meaning.evidence import Meaning
    from relift.compiler.validation.validate import Report
    from relift.semantics.language.programs import Program

STATUS = {"validated": 0, "refuted": 1, "unknown": 3}
NOT_READ = 2
MOST_SHOWN = 12
"""So many numbers of an input are shown."""
WORST = (0, 3, NOT_READ, 1)
"""The statuses of one program, the last of which is that of several."""


def validate(
    programs: Annotated[
        list[str],
        typer.Argument(metavar="PROGRAM|DIR...", help="Programs, and folders of optimize --out."),
    ],
    size: SizeOption = None,
    kernel: Annotated[
        Path | None,
        typer.Option(help="A file of OpenCL C that somebody wrote, instead of what is compiled."),
    ] = None,
    entry: Annotated[str | None, typer.Option(help="The name of its kernel.")] = None,
    global_: GlobalOption = None,
    local: LocalOption = None,
    argument: Annotated[
        list[str] | None,
        typer.Option(
            help="What a parameter is: N=64, src=x (of the program), dst=out, tile=256 (local cells)."
        ),
    ] = None,
    define: Annotated[list[str] | None, typer.Option(help="A macro, as TS=16.")] = None,
    requires: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE.py:NAME",
            help="What holds of the inputs: a program of some of them that gives bool, or an array of bool.",
        ),
    ] = None,
    device: Annotated[
        list[str] | None,
        typer.Option(help="Where a kernel of --kernel runs on inputs that would show it wrong."),
    ] = None,
    float_policy: FloatOption = "reassociate",
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the text of kernels with the program that they should compute, for all data.

    Of a folder, the text that lies there; of a low-level program, what it is compiled to, for all values of the sizes
    that are not given.  Status 0: validated; 1: refuted, with a work-item, a cell and both values; 2: the text has what
    Relift does not read; 3: unknown; of several, the first of 1, 2, 3 that one has.  A run on a --device changes no
    status.
    """
    launch = {
        "--entry": entry, "--global": global_, "--local": local, "--argument": argument, "--define": define,
        "--requires": requires,
    }  # fmt: skip
    if kernel is not None:
        if len(programs) > 1 or workers > 1 or scheduler is not None:
            raise Refusal(
                "--kernel compares one text with one program; give one PROGRAM, and neither --workers nor --scheduler"
            )
        _by_others(programs[0], size, kernel, launch, float_policy, device or [], as_json=as_json)
    for option in (name for name, value in {**launch, "--device": device}.items() if value):
        raise Refusal(
            f"{option} is about a kernel that somebody wrote; give it by --kernel FILE.cl"
        )
    _compiled(programs, sizes_of(size), float_policy, workers, scheduler, as_json=as_json)


def _compiled(
    programs: list[str],
    sizes: Mapping[str, int],
    float_policy: str,
    workers: int,
    scheduler: str | None,
    *,
    as_json: bool,
) -> NoReturn:
    """Programs and folders, each as its kernels are ready; ends with the status of the worst."""
    from relift.compiler.meaning.subjects import Subject, meanings
    from relift.processes.executors import on

    subjects = [Subject(p, sizes, exact=float_policy == "exact") for p in programs]
    found: list[Meaning] = []
    with progress_of("validating") as report, on(workers, scheduler) as executor:
        for where, meaning in zip(programs, meanings(subjects, executor, report), strict=True):
            found.append(meaning)
            if meaning.not_read:
                said_of_one = _not_read(f"the kernels of {where}", meaning.not_read)
                if len(programs) == 1:
                    raise said_of_one
                print(f"relift: {said_of_one}", file=sys.stderr)
            elif not as_json:
                print(meaning.text(), flush=True)
    said = Counter[str](meaning.verdict for meaning in found)
    statuses = {NOT_READ if meaning.not_read else STATUS[meaning.verdict] for meaning in found}
    if as_json:
        data = [meaning.to_json() for meaning in found]
        print_json({"programs": data} if len(data) > 1 else data[0])
    elif len(found) > 1:
        print(f"{len(found)} programs: {', '.join(f'{said[v]} {v}' for v in STATUS if said[v])}")
    raise typer.Exit(max(statuses, key=WORST.index))


def _not_read(what: str, why: str) -> Refusal:
    """The error of a text that is not understood."""
    return Refusal(f"cannot read {what}: {why} is not understood; write it without that")


def _by_others(
    program: str,
    size: list[str] | None,
    kernel: Path,
    launch: Mapping[str, Any],
    float_policy: str,
    devices: list[str],
    *,
    as_json: bool,
) -> NoReturn:
    """A kernel that somebody wrote; ends with its status."""
    from relift.compiler.foreign.comparison import validate_foreign
    from relift.compiler.foreign.groups.launched import ByOthers
    from relift.compiler.foreign.on_device import on_device
    from relift.files import read_text
    from relift.rewrites.loading import load_program

    entry, global_, local, argument, define, requires = launch.values()
    if entry is None or global_ is None:
        raise Refusal(
            "--kernel needs --entry NAME and --global N; --local N where work-items share anything"
        )
    loaded = load_program(program)
    here = loaded.at(sizes_of(size))
    statements = [load_program(_beside(program, name)) for name in requires or ()]
    text = read_text(kernel)
    range_ = counts_of("global", global_) or ()
    group = counts_of("local", local) or (1,) * len(range_)
    if len(group) != len(range_) or len(range_) > 3 or 0 in (*range_, *group):
        raise Refusal(
            f"--local {local}: as many numbers as --global {global_}, up to three, none of them 0"
        )
    launched = ByOthers(
        text, entry, range_, group, pairs_of(argument, "--argument", "N=64"), str(kernel),
        pairs_of(define, "--define", "TS=16"),
    )  # fmt: skip
    with progress_of("validating"):
        report = validate_foreign(launched, here, statements, reassociate=float_policy != "exact")
        if report.not_read:
            raise _not_read(str(kernel), report.not_read)
        ran = [on_device(launched, here, device, report.inputs, statements) for device in devices]
    decides = _deciding(report, here, statements)
    verdict = "validated" if report.ok else report.verdict
    how = "up to the order of sums" if report.reassociated else "to the last bit"
    if as_json:
        print_json(
            {"program": here.name, "kernel": entry, "verdict": verdict, "equal": how if report.ok else None,
             "detail": report.detail, "fault": report.fault, "notes": list(report.notes), "decides": decides,
             "requires": [{"name": s.name, "says": str(s)} for s in statements],
             "devices": [{"device": r.device, "differs": r.differs, "detail": r.text()} for r in ran]}
        )  # fmt: skip
    else:
        data = "all data that are as is required" if statements else "all data"
        said = f"these sizes, {data}, {how}" if report.ok else report.detail
        print("; ".join([f"{entry}: {verdict}: {said}", *report.notes]))
        for each in ran:
            print(f"  {each.text()}")
        if decides and not report.ok:
            print(f"  {_hint(decides)}")
    raise typer.Exit(STATUS[verdict])


def _beside(program: str, name: str) -> str:
    """A statement that is called by its name alone stands where the program does."""
    if not name.isidentifier():
        return name
    where = program if program.endswith(".py") else program.rpartition(":")[0]
    return f"{where}:{name}"


def _deciding(
    report: Report, program: Program, statements: Sequence[Program]
) -> dict[str, list[int]]:
    """The inputs by which a kernel branches or finds a cell, of which nobody said what holds, as they are where it is wrong."""
    from relift.compiler.foreign.inputs import drawn_inputs

    said = {p.name for s in statements for p in s.parameters}
    names = [name for name in report.decides if name not in said]
    if not names or not report.inputs:
        return {name: [] for name in names}
    rows = drawn_inputs(program, report.inputs, statements)
    return {n: list(map(int, rows[n])) for n in names if n in rows}


def _hint(decides: Mapping[str, list[int]]) -> str:
    """How to say what holds of inputs."""
    rows = [
        f"{name} = [{', '.join(map(str, row[:MOST_SHOWN]))}{', …' * (len(row) > MOST_SHOWN)}]"
        for name, row in decides.items()
        if row
    ]
    there = f" ({'; '.join(rows)})" if rows else ""
    names = ", ".join(decides)
    return (
        f"{names} decide{'s' * (len(decides) == 1)} where it goes{there}; if no caller gives such numbers, say what holds: "
        f"--requires NAME, a program of {names} that gives bool, or an array of bool"
    )
