"""The verbs for machines: bench, devices."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relift.cli.options import JsonOption
from relift.cli.output import print_json, print_table, progress_of

if TYPE_CHECKING:
    from relift.compiler.bench.report import Report
    from relift.compiler.lowering.analyses import Analyses

TargetsOption = Annotated[
    str,
    typer.Option(
        help="cpu, gpu, or part of a device's name; several, with commas, take turns; "
        "cpu or gpu for a bundle."
    ),
]
BundleOption = Annotated[
    Path | None,
    typer.Option(help="Write a folder to be run on another machine, and run nothing."),
]
ResultsOption = Annotated[
    Path | None, typer.Option(help="Print a results.json, or what --json printed; run nothing.")
]
CalibrateOption = Annotated[
    bool,
    typer.Option(
        "--calibrate",
        help="Measure what the devices do, for the cost model; time nothing else.",
    ),
]
RefitOption = Annotated[
    bool,
    typer.Option(
        "--refit",
        help="Fit the cost model to the times that --tune has kept of programs on the devices; time nothing.",
    ),
]
AblationOption = Annotated[
    bool,
    typer.Option("--ablation", help="Switch analyses of the compiler off; default variants."),
]


def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks; all if none.")] = None,
    target: TargetsOption = "cpu",
    folder: Annotated[Path, typer.Option(help="Files that list benchmarks.")] = Path(
        "examples/low_level"
    ),
    bundle: BundleOption = None,
    results: ResultsOption = None,
    calibration: CalibrateOption = False,
    refit: RefitOption = False,
    ablation: AblationOption = False,
    rounds: Annotated[
        int, typer.Option(min=5, help="Rounds in which kernels and NumPy take turns.")
    ] = 15,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the shares, as .png or .svg.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Time low-level programs against hand-written ones; print the share of the device that they use.

    A program for the CPU takes turns with NumPy and with OpenCL written by hand (examples/low_level/opencl), on
    each device of --target; one for the GPU is compared with the best hand-written OpenCL that was measured on an
    H200.  A text whose certificate is refuted does not run, whoever wrote it; what is unknown is said.
    """
    from relift.compiler.lowering.analyses import ABLATION, EVERYTHING

    settings = ABLATION if ablation else EVERYTHING
    if results is not None:
        _show(_report_of_file(results, folder), as_json, plot)
    elif bundle is not None:
        _write_bundle(bundle, folder, names or [], target, settings, as_json)
    elif calibration:
        _calibrate(_named(target), as_json)
    elif refit:
        _refit(_named(target), as_json)
    else:
        _show(_timed(folder, names or [], target, settings, rounds), as_json, plot)


def _named(target: str) -> dict[str, Any]:
    """The devices of `--target`, by their labels."""
    from relift.compiler.devices.naming import label
    from relift.compiler.devices.survey import find_device

    return {label(d): d for d in (find_device(n.strip()) for n in target.split(","))}


def _report_of_file(results: Path, folder: Path) -> Report:
    """Times that were measured before, with what the cost model says today."""
    from relift.compiler.bench.benchmarks import load_benchmarks
    from relift.compiler.bench.bundle import read_results
    from relift.compiler.bench.report import report_of
    from relift.compiler.bench.times import predicted_anew
    from relift.compiler.devices.survey import describe, find_device
    from relift.device import GPU
    from relift.egraph.prediction import predictor

    found = read_results(results)
    description = GPU if found["entries"][0]["target"] == "gpu" else describe(find_device())
    rows = found["entries"]
    if folder.is_dir():
        listed = load_benchmarks(folder, [], description.kind)
        rows = predicted_anew(rows, listed, predictor(description))
    return report_of(found["device"], rows, description)


def _write_bundle(
    bundle: Path,
    folder: Path,
    names: Sequence[str],
    target: str,
    settings: Mapping[str, Analyses],
    as_json: bool,
) -> None:
    from relift.compiler.bench.benchmarks import load_benchmarks
    from relift.compiler.bench.bundle import write_bundle
    from relift.device import preset
    from relift.egraph.prediction import predictor

    kind = preset(target)
    chosen = load_benchmarks(folder, names, kind.kind, defaults=len(settings) > 1)
    with progress_of("writing"):
        written = write_bundle(bundle, chosen, folder / "samples.py", predictor(kind), settings)
    if as_json:
        print_json({"bundle": str(bundle), "entries": written})
    else:
        print(f"written to {bundle}: {', '.join(written)}")
        print(f"there: python {bundle.name}/runner.py --device {target}; here: --results FILE")


def _timed(
    folder: Path,
    names: Sequence[str],
    target: str,
    settings: Mapping[str, Analyses],
    rounds: int,
) -> Report:
    """Times of the benchmarks on each device of `--target`."""
    from relift.compiler.bench.benchmarks import load_benchmarks
    from relift.compiler.bench.report import report_of
    from relift.compiler.bench.times import times_of
    from relift.compiler.devices.survey import describe
    from relift.egraph.prediction import predictor

    descriptions = {name: describe(device) for name, device in _named(target).items()}
    first = next(iter(descriptions.values()))
    chosen = load_benchmarks(folder, names, first.kind, defaults=len(settings) > 1)
    with progress_of("timing") as report:
        predict = {name: predictor(about) for name, about in descriptions.items()}
        rows = list(times_of(chosen, folder / "samples.py", predict, report, settings, rounds))
    return report_of("; ".join(descriptions), rows, first)


def _calibrate(found: Mapping[str, Any], as_json: bool) -> None:
    """Measure devices, keep what was measured, and print it."""
    from dataclasses import asdict

    from relift.compiler.devices.calibration import calibrate, keep
    from relift.compiler.devices.report import measured_line

    rows: dict[str, Any] = {}
    for name, device in found.items():
        with progress_of("measuring") as report:
            report(name)
            measured = calibrate(device)
        file = keep(device, measured)
        rows[name] = {**asdict(measured), "file": str(file)}
        if not as_json:
            print(measured_line(name, measured, file))
    if as_json:
        print_json({"devices": rows})


def _refit(found: Mapping[str, Any], as_json: bool) -> None:
    """Fit what devices do in a second to the programs that were tuned there, keep it, and print it."""
    from dataclasses import asdict

    from relift.compiler.devices.calibration import keep_fit
    from relift.compiler.devices.report import fitted_line
    from relift.compiler.devices.survey import without_fit
    from relift.egraph.search.fitting import fitted
    from relift.egraph.search.tuning import Timings, default_path

    rows: dict[str, Any] = {}
    for name, device in found.items():
        about = without_fit(device)
        fit = fitted(about, Timings(default_path(), about.name).worked())
        file = keep_fit(device, fit.bandwidth_gbs, fit.fma_gflops)
        rows[name] = {**asdict(fit), "file": str(file)}
        if not as_json:
            print(fitted_line(name, about, fit.bandwidth_gbs, fit.fma_gflops))
            print(
                f"of {fit.programs} programs estimates were {fit.off_before:.2f} times off, "
                f"and are {fit.off:.2f} times; kept in {file}"
            )
    if as_json:
        print_json({"devices": rows})


def _show(report: Report, as_json: bool, plot: Path | None) -> None:
    """Print a table of times, or JSON; exit status 1 when a result is wrong."""
    if plot is not None:
        from relift.pictures import shares

        shares(report, plot)
    if as_json:
        print_json(report.to_json())
    elif report.is_ablation:
        _print_ablation(report)
    else:
        _print_times(report)
    for line in report.unknown:
        print(line, file=sys.stderr)
    raise typer.Exit(0 if report.right else 1)


def _print_times(report: Report) -> None:
    from rich.table import Table

    from relift.compiler.bench.report import COLUMNS, cells

    for name, rows in report.complete.items():
        table = Table(*COLUMNS, title=name)
        for row in rows:
            table.add_row(*cells(row))
        print_table(table)
        if (correlation := report.correlations[name]) is not None:
            print(f"rank correlation of predicted and measured times: {correlation:.2f}")
    if threads := report.numpy_threads:
        shown = "/".join(map(str, threads))
        print(f"NumPy: single precision, {shown} threads for products of matrices")


def _print_ablation(report: Report) -> None:
    from rich.table import Table

    from relift.compiler.bench.report import ablation_cells
    from relift.compiler.lowering.analyses import ABLATION

    for name in report.complete:
        table = Table("times as long with", *ABLATION, title=name)
        for row in ablation_cells(report.of_device(name)):
            table.add_row(*row)
        print_table(table)


# ---- devices


def devices(as_json: JsonOption = False) -> None:
    """The OpenCL devices: which work, what each gets wrong, and the description that the cost model uses.

    A device works if it passes its self-test. What failed before is tested again.
    """
    from relift.compiler.devices.report import lines, to_json
    from relift.compiler.devices.survey import devices as all_devices
    from relift.compiler.devices.survey import survey

    with progress_of("testing"):
        found = survey(again=True)
    if not any(f.works for f in found):
        all_devices()  # raises, with the reasons
    if as_json:
        print_json(to_json(found))
        return
    for line in lines(found):
        print(line)
