"""What is said of rows of times: their shares of a device, tables of text, JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from relift.compiler.bench.times import (
    Times,
    over_hand,
    predictions,
    rank_correlation,
    share_of_roofline,
    slowdowns,
    speedup,
)
from relift.compiler.lowering.analyses import ABLATION
from relift.device import DeviceDescription
from relift.display.blocks import Block, Table, Title, Words
from relift.display.displayed import Displayed

HIDDEN = {"parameters", "outputs", "log"}
"""What a row of times carries for the runner only."""

COLUMNS = (
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


@dataclass(frozen=True)
class Report(Displayed):
    """Rows of times, each with its share of the device where it has a time; `device` names what all ran on."""

    device: str
    rows: Sequence[Times]

    def display(self) -> Sequence[Block]:
        """The table of times, and how well the model orders them."""
        rows = tuple(tuple(cells(row)) for row in self.rows)
        said = [
            Words(f"{name}: rank correlation of predicted and measured times {found:.2f}")
            for name, found in self.correlations.items()
            if found is not None
        ]
        return [Title(f"Times on {self.device}"), Table(COLUMNS, rows), *said]

    @property
    def is_ablation(self) -> bool:
        """Whether some ran without all analyses of the compiler."""
        return any(row["analyses"] != "all" for row in self.rows)

    @property
    def right(self) -> bool:
        """Whether every result was what it must be."""
        return all(row["ok"] and row.get("hand_ok", True) for row in self.rows)

    @property
    def numpy_threads(self) -> list[int]:
        """With how many threads NumPy ran, where it did."""
        found = {row["numpy_threads"] for row in self.rows if row.get("numpy_threads") is not None}
        return sorted(found)

    @cached_property
    def complete(self) -> Mapping[str, Sequence[Times]]:
        """By device: the rows of kernels for which the compiler did all analyses."""
        found: dict[str, list[Times]] = {}
        for row in self.rows:
            if row["analyses"] == "all":
                found.setdefault(row.get("device", self.device), []).append(row)
        return found

    @cached_property
    def correlations(self) -> Mapping[str, float | None]:
        """By device: how alike the predicted and the measured times order the programs."""
        return {name: rank_correlation(predictions(known)) for name, known in self.complete.items()}

    @property
    def unknown(self) -> list[str]:
        """What certificates leave open of the kernels, each once, and of which programs by hand they do."""
        found = (line for row in self.rows for line in row.get("unknown", ()))
        by_hand = dict.fromkeys(row["name"] for row in self.rows if row.get("hand_unknown"))
        said = f"written by hand and not certified: {', '.join(by_hand)}"
        return [*dict.fromkeys(found), *([said] if by_hand else [])]

    def of_device(self, name: str) -> list[Times]:
        """The rows of a device, whatever the compiler did."""
        return [row for row in self.rows if row.get("device", name) == name]

    def to_json(self) -> dict[str, Any]:
        """The report for a program that reads it."""
        shown = [{k: v for k, v in row.items() if k not in HIDDEN} for row in self.rows]
        about = {"device": self.device, "rank_correlation": dict(self.correlations)}
        return {**about, "entries": shown}


def report_of(device: str, rows: Sequence[Times], description: DeviceDescription) -> Report:
    """The report of rows as they were measured."""
    return Report(device, [_with_shares(row, description) for row in rows])


def _with_shares(row: Times, description: DeviceDescription) -> Times:
    if "seconds" not in row:
        return row
    shares = {
        "roofline": share_of_roofline(row, description),
        "speedup": speedup(row),
        "over_hand": over_hand(row),
    }
    return {**row, **shares}


def cells(row: Times) -> list[str]:
    """A row of the table whose `COLUMNS` these are."""
    variant = ",".join(f"{k}={v}" for k, v in row["variant"].items())
    if "seconds" not in row:
        return [row["name"], variant, f"failed: {row.get('failed', 'wrong result')}"]
    seconds, ratio = row["seconds"], row["speedup"]
    against = "NumPy" if row.get("numpy_seconds") is not None else row["reference"]
    by_hand = "-" if row["over_hand"] is None else f"{row['over_hand']:.2f}"
    return [
        row["name"],
        variant,
        f"{seconds * 1e6:.1f}" if row["ok"] else f"WRONG by {row['error']:.1e}",
        f"{row['flops'] / seconds * 1e-9:.0f}",
        f"{row['moved'] / seconds * 1e-9:.0f}",
        f"{row['roofline'] * 100:.0f}",
        "-" if row["predicted"] is None else f"{row['predicted'] * 1e6:.1f}",
        "-" if ratio is None else f"{ratio:.2f} {against}",
        by_hand if row.get("hand_ok", True) else "WRONG",
    ]


def ablation_cells(rows: Sequence[Times]) -> list[list[str]]:
    """By benchmark: how many times as long it takes with each of `ABLATION`."""
    wrong = {(row["name"], row["analyses"]) for row in rows if not row["ok"]}

    def cell(name: str, known: Mapping[str, float], analyses: str) -> str:
        if (name, analyses) in wrong:
            return "WRONG"
        return f"{known[analyses]:.2f}" if analyses in known else "-"

    return [
        [name, *(cell(name, known, analyses) for analyses in ABLATION)]
        for name, known in slowdowns(rows).items()
    ]
