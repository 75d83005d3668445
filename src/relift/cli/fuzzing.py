"""The verb that looks for mistakes: fuzz."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relift.cli.options import JsonOption, Refusal, SchedulerOption, WorkersOption
from relift.cli.output import print_json, progress_of

if TYPE_CHECKING:
    from relift.compiler.fuzzing.campaign import Settings, State


def fuzz(
    device: Annotated[
        str | None,
        typer.Option(help="What is tried, as in relift devices; none: only the text of kernels."),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(help="Beside the interpreter: another device, oclgrind, or c."),
    ] = None,
    count: Annotated[int | None, typer.Option(help="Programs that are tried.", min=1)] = None,
    seconds: Annotated[float | None, typer.Option(help="Or for so long.", min=0)] = None,
    seed: Annotated[int, typer.Option(help="What the programs are drawn by.", min=0)] = 0,
    kind: Annotated[
        list[str] | None, typer.Option(help="Only this kind of program, as 'groups'.")
    ] = None,
    plain: Annotated[
        bool,
        typer.Option("--plain", help="Kernels as written, no known defect of a device avoided."),
    ] = False,
    rules: Annotated[
        list[Path] | None,
        typer.Option(help="A file with rules to force in, believed whatever they say."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the log, and a report of each cause.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the campaign that --out holds.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(help="Seconds after which a program hangs.", min=0.1)
    ] = 60.0,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try random programs on a device, and say whose fault a difference is: interpreter, rule, compiler or device.

    Exit status: 0 no difference, 1 some were found; with --out, findings/ has a folder for each cause, with plain OpenCL
    and a script of NumPy and pyopencl only.
    """
    from relift.compiler.fuzzing.campaign import Settings
    from relift.compiler.fuzzing.programs.cases import ALL_KINDS

    if count is None and seconds is None:
        count = 1000
    if wrong := [k for k in kind or () if k not in ALL_KINDS]:
        raise Refusal(f"--kind {wrong[0]}: there are: {', '.join(ALL_KINDS)}")
    _require_campaign(out, resume=resume)
    files = tuple(str(file.resolve()) for file in rules or ())
    settings = Settings(
        device, tuple(against or ()), seed, tuple(kind or ALL_KINDS), plain, files, timeout
    )
    began = time.monotonic()
    state = _tried(settings, out, count, seconds, workers, scheduler)
    _print(state, out, time.monotonic() - began, as_json=as_json)
    raise typer.Exit(1 if state.findings else 0)


def _require_campaign(out: Path | None, *, resume: bool) -> None:
    """Refuse to mix two campaigns, and to go on with none."""
    from relift.compiler.fuzzing.campaign import has_campaign

    there = out is not None and has_campaign(out)
    if resume and not there:
        raise Refusal("--resume goes on with the campaign in --out DIR, and there is none")
    if there and not resume:
        raise Refusal(f"{out} holds a campaign; --resume goes on with it, or give another folder")


def _tried(
    settings: Settings,
    out: Path | None,
    count: int | None,
    seconds: float | None,
    workers: int,
    scheduler: str | None,
) -> State:
    """What a campaign finds, while a person watches."""
    from relift.compiler.fuzzing.campaign import campaign
    from relift.compiler.fuzzing.judgement.containment import end_all
    from relift.processes.executors import on

    try:
        with on(workers, scheduler) as executor, progress_of("fuzzing") as report:

            def heard(_: object, state: State) -> None:
                report(f"{state.programs} programs, {state.findings} findings")

            return campaign(
                settings, out, count=count, seconds=seconds, executor=executor, heard=heard
            )
    finally:
        end_all()


def _print(state: State, out: Path | None, seconds: float, *, as_json: bool) -> None:
    """What was tried and found, and how fast that was this time."""
    from relift.compiler.fuzzing.campaign import FOUND

    if as_json:
        causes = [
            {"cause": c, "culprit": state.culprits[c], "programs": n, "report": state.pages.get(c)}
            for c, n in state.causes.most_common()
        ]
        print_json(
            {"tried": state.tried, "programs": state.programs, "seconds": round(seconds, 1),
             "a second": round(state.here / seconds, 1), "sights": dict(state.sights), "causes": causes}
        )  # fmt: skip
        return
    for cause, number in state.causes.most_common():
        where = f"; {out / FOUND / state.pages[cause]}" if out and cause in state.pages else ""
        print(f"{number} x {cause}{where}")
    print(", ".join(f"{n} {sight}" for sight, n in sorted(state.sights.items())))
    print(f"{state.programs} programs run, {state.findings} findings of {len(state.causes)} causes")
    print(f"{state.here} of them in {seconds:.0f} s, {state.here / seconds:.1f} a second")
