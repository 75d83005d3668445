"""Pictures of what was measured, searched and derived, by matplotlib (`pip install 'relift[plots]'`); `relift plot` draws them.

roofline      each program by its operations per byte, below what the device can do
shares        each program's share of that
ablation      how many times as long without some analyses of the compiler
predicted     what the cost model said, beside what was measured
growth        the nodes of each e-graph of a search by iteration, and what each rule matched
tuning        what was measured of a program, in the order in which it was, and the best so far
derivation    a strip: each step of a derivation, the part of the program that it changed marked
"""

from __future__ import annotations

import importlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relift.semantics.errors import ReliftError

if TYPE_CHECKING:
    from relift.compiler.bench.report import Report
    from relift.device import DeviceDescription
    from relift.rewrites.derivation.steps import Derivation
    from relift.semantics.syntax.terms import Term

FORMATS = (".png", ".svg", ".pdf")
MARKED, PLAIN, LINE = "#c0392b", "#4c78a8", "#222222"


@dataclass(frozen=True)
class Iteration:
    """One iteration of one e-graph: how many nodes it then had, and the seconds since its search began."""

    name: str
    nodes: int
    seconds: float


@contextmanager
def picture(
    file: Path, title: str, *, x: str = "", y: str = "", size: tuple[float, float] = (8, 5)
) -> Generator[Any]:
    """The axes of a picture that is written to a file at the end; what all pictures share is set here."""
    if file.suffix not in FORMATS:
        raise ReliftError(
            f"{file} is no picture; its name must end in {', '.join(FORMATS)}", place=""
        )
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
    except ImportError:
        message = "a plot needs matplotlib; pip install 'relift[plots]'"
        raise ReliftError(message, place="") from None
    matplotlib.use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    try:
        axes.set_title(title, fontsize=10, wrap=True)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
        yield axes
        # without a date, the same picture is the same file
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else {})
    except OSError as error:
        raise ReliftError(f"{file} cannot be written: {error.strerror}", place="") from None
    finally:
        pyplot.close(figure)


def _timed(report: Report) -> list[dict[str, Any]]:
    """The rows that have a right time; a picture of none is refused."""
    rows = [row for row in report.rows if "seconds" in row and row["ok"]]
    if not rows:
        raise ReliftError("there is no row with a right result to be drawn", place="")
    return rows


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [" ".join([r["name"], *(f"{k}={v}" for k, v in r["variant"].items())]) for r in rows]


def shares(report: Report, file: Path) -> None:
    """Bars: the share of the roofline of each benchmark."""
    rows = _timed(report)
    size = (8, 1 + 0.3 * len(rows))
    with picture(file, report.device, x="per cent of the roofline", size=size) as axes:
        axes.barh(range(len(rows)), [row["roofline"] * 100 for row in rows], color=PLAIN)
        axes.set_yticks(range(len(rows)), _names(rows))
        axes.invert_yaxis()
        axes.axvline(100, color=LINE, linewidth=1)


def roofline(report: Report, device: DeviceDescription, file: Path) -> None:
    """Each program's fastest variant at its operations per byte, below bandwidth and the rate of multiply-adds."""
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for row in _timed(report):
        key = row["name"], row.get("device", report.device)
        if row["flops"] and (key not in best or row["seconds"] < best[key]["seconds"]):
            best[key] = row
    if not best:
        raise ReliftError("no row has operations, of which a roofline is made", place="")
    x = [row["flops"] / row["moved"] for row in best.values()]
    low, high = min(*x, 0.1) / 2, max(*x, 10.0) * 2
    ridge = device.fma_gflops / device.bandwidth_gbs
    ends = [low, ridge, max(high, ridge)]
    with picture(file, report.device, x="operations per byte", y="GFLOP/s") as axes:
        axes.loglog(
            ends, [min(i * device.bandwidth_gbs, device.fma_gflops) for i in ends], color=LINE
        )
        for (name, _), row in best.items():
            at = row["flops"] / row["moved"], row["flops"] / row["seconds"] * 1e-9
            axes.plot(*at, "o", color=PLAIN)
            axes.annotate(name, at, xytext=(4, 3), textcoords="offset points", fontsize=7)


def ablation(report: Report, file: Path) -> None:
    """For each program, how many times as long it takes with fewer analyses of the compiler."""
    from relift.compiler.bench.times import slowdowns
    from relift.compiler.lowering.analyses import ABLATION

    found = slowdowns(_timed(report))
    settings = [name for name in ABLATION if any(name in known for known in found.values())]
    if len(settings) < 2:
        raise ReliftError(
            "these times are with all analyses only; relift bench --ablation measures the others",
            place="",
        )
    width = 0.8 / len(settings)
    size = (2 + 0.6 * len(found), 5)
    with picture(file, report.device, y="times as long as with all", size=size) as axes:
        for number, setting in enumerate(settings):
            places = [i + number * width for i in range(len(found))]
            heights = [known.get(setting, float("nan")) for known in found.values()]
            axes.bar(places, heights, width, label=setting)
        axes.set_xticks(
            [i + 0.4 - width / 2 for i in range(len(found))],
            list(found),
            rotation=60,
            ha="right",
        )
        axes.axhline(1, color=LINE, linewidth=1)
        axes.legend(fontsize=8)


def predicted(report: Report, file: Path) -> None:
    """What the cost model says, beside what was measured; on the line they are the same."""
    from relift.compiler.bench.times import predictions, rank_correlation

    pairs = predictions(_timed(report))
    if not pairs:
        raise ReliftError("no row has a predicted time", place="")
    found = rank_correlation(pairs)
    said = "" if found is None else f", rank correlation {found:.2f}"
    us = [(1e6 * guess, 1e6 * taken) for guess, taken in pairs]
    ends = [min(min(pair) for pair in us) / 2, max(max(pair) for pair in us) * 2]
    with picture(file, report.device + said, x="predicted us", y="measured us") as axes:
        axes.loglog(ends, ends, color=LINE, linewidth=1)
        axes.plot(*zip(*us, strict=True), "o", color=PLAIN, alpha=0.7)


def growth(
    name: str, iterations: Sequence[Iteration], matches: Mapping[str, int], file: Path
) -> None:
    """The nodes of the e-graphs of a search, iteration by iteration; what its rules matched stands beside, most first."""
    graphs = in_graphs(iterations)
    if not graphs:
        raise ReliftError(f"the search for {name} had no e-graph that grew", place="")
    most = sorted(matches.items(), key=lambda item: -item[1])[:8]
    ruled = "; ".join(f"{rule} {count}" for rule, count in most)
    title = f"{name}: {sum(matches.values())} matches ({ruled})"
    with picture(file, title, x="iteration", y="nodes") as axes:
        for graph in graphs:
            axes.plot(range(len(graph)), [i.nodes for i in graph], "o-", markersize=3)
        axes.set_yscale("log")


def in_graphs(iterations: Sequence[Iteration]) -> list[list[Iteration]]:
    """The iterations of each e-graph: a new one begins where there are fewer nodes, or the clock starts again.

    >>> from relift.pictures import Iteration, in_graphs
    >>> seen = [Iteration("a 1", 5, 0.1), Iteration("a 2", 9, 0.2), Iteration("b 1", 4, 0.1)]
    >>> [[i.nodes for i in graph] for graph in in_graphs(seen)]
    [[5, 9], [4]]
    """
    graphs: list[list[Iteration]] = []
    for now in iterations:
        if now.nodes <= 0:
            continue
        last = graphs[-1][-1] if graphs else None
        if last is None or now.nodes < last.nodes or now.seconds < last.seconds:
            graphs.append([])
        graphs[-1].append(now)
    return graphs


def tuning(name: str, seconds: Sequence[float], device: str, file: Path) -> None:
    """What was measured of the candidates of a program, in order, and the best until then."""
    best = [min(seconds[: i + 1]) * 1e6 for i in range(len(seconds))]
    title = f"{name} on {device}"
    with picture(file, title, x="candidate, in the order of measuring", y="us") as axes:
        axes.plot(range(1, len(best) + 1), [s * 1e6 for s in seconds], "o", color=PLAIN)
        axes.step(range(1, len(best) + 1), best, where="post", color=MARKED)
        axes.set_yscale("log")


def derivation(found: Derivation, terms: Sequence[Term], file: Path) -> None:
    """A column for each step: the program before it, from its root on top to its last part, and the part that it changed."""
    from relift.semantics.syntax.binding import term_at
    from relift.semantics.syntax.terms import parts_of, subterms

    size = (2 + 0.5 * len(found.steps), 5)
    title = f"{found.program.name}, {len(found.steps)} steps"
    with picture(file, title, y="parts of the program", size=size) as axes:
        for number, (step, before) in enumerate(zip(found.steps, terms, strict=False)):
            parts = [id(t) for t, _ in subterms(before)]
            part = term_at(before, step.position)
            axes.bar(number, len(parts), 0.8, color=PLAIN, alpha=0.5)
            inside = parts_of(part)
            axes.bar(number, inside, 0.8, bottom=parts.index(id(part)), color=MARKED)
        rules = [step.rule for step in found.steps]
        axes.set_xticks(range(len(rules)), rules, rotation=60, ha="right", fontsize=8)
        axes.invert_yaxis()
