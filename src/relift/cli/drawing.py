"""The verb that draws: plot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relift.cli.options import Refusal, SizeOption, TargetOption, sizes_of
from relift.cli.output import progress_of

if TYPE_CHECKING:
    from relift.compiler.bench.report import Report
    from relift.device import DeviceDescription

KINDS = ("roofline", "shares", "ablation", "predicted", "growth", "tuning", "derivation")


def plot(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of: {', '.join(KINDS)}.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="roofline, shares, ablation, predicted: results of bench --json; growth: a PROGRAM; "
            "tuning: the name of one that was tuned; derivation: a derivation.json, or its folder.",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="The picture: .png, .svg, .pdf.")] = None,
    size: SizeOption = None,
    target: TargetOption = "cpu",
    times: Annotated[
        Path | None, typer.Option(help="Database of the times that were measured.", metavar="FILE")
    ] = None,
) -> None:
    """Draw a picture: what was measured, how a search grew, what tuning tried, how a program was derived."""
    if kind not in KINDS:
        raise Refusal(f"there is no picture {kind}; there are: {', '.join(KINDS)}")
    file = out or Path(f"{kind}.png")
    match kind:
        case "growth":
            _growth(source, sizes_of(size), target, file)
        case "tuning":
            _tuning(source, target, times, file)
        case "derivation":
            _derivation(Path(source), file)
        case _:
            _times(kind, Path(source), file)
    print(f"written to {file}")


def _times(kind: str, results: Path, file: Path) -> None:
    """A picture of rows that `relift bench --json` printed, or that a bundle brought back."""
    from relift import pictures
    from relift.compiler.bench.bundle import read_results
    from relift.compiler.bench.report import report_of
    from relift.device import preset

    found = read_results(results)
    about = preset(found["entries"][0]["target"])
    drawn: dict[str, Callable[[Report, DeviceDescription, Path], None]] = {
        "roofline": pictures.roofline,
        "shares": lambda report, _, to: pictures.shares(report, to),
        "ablation": lambda report, _, to: pictures.ablation(report, to),
        "predicted": lambda report, _, to: pictures.predicted(report, to),
    }
    drawn[kind](report_of(found["device"], found["entries"], about), about, file)


def _growth(program: str, sizes: dict[str, int], target: str, file: Path) -> None:
    from relift import pictures
    from relift.optimization import optimize
    from relift.rewrites.loading import load_program

    seen: list[pictures.Iteration] = []
    loaded = load_program(program)
    with progress_of("searching") as report:

        def heard(name: str, nodes: int, seconds: float) -> None:
            report(name)
            seen.append(pictures.Iteration(name, nodes, seconds))

        best = optimize(loaded, sizes, target, progress=heard)
    pictures.growth(loaded.name, seen, best.firings, file)


def _tuning(program: str, target: str, times: Path | None, file: Path) -> None:
    from relift import pictures
    from relift.egraph.search.tuning import Timings, default_path

    path = times or default_path()
    known = Timings(path, "").history(program) if path.exists() else {}
    fitting = {d: s for d, s in known.items() if target == "cpu" or target.lower() in d.lower()}
    if not fitting:
        there = (
            f"there are times on: {', '.join(known)}"
            if known
            else "relift optimize --tune measures"
        )
        raise Refusal(f"nothing was measured of {program} on {target} in {path}; {there}")
    device = max(fitting, key=lambda d: len(fitting[d]))
    pictures.tuning(program, fitting[device], device, file)


def _derivation(path: Path, file: Path) -> None:
    from relift import pictures
    from relift.rewrites.derivation.files import file_of, read_json
    from relift.rewrites.library import RULES

    found = read_json(file_of(path), RULES)
    pictures.derivation(found, found.replay(RULES), file)
