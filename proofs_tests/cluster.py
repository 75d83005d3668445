"""A cluster of Dask on this machine, and calls that its workers make in tests.

python -m proofs_tests.cluster [--rules 48]    how much faster two workers check rules of the ledger than one
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proofs_tests.calls import waited_for
from relift.egraph.checks.shared import Portion, entries_shared, recorded
from relift.processes.executors import each, on
from relift.rewrites.ledger.book import Entry, differences
from relift.rewrites.library import RULES

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Generator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler, and its process followed by those of its workers."""
    file = folder / "scheduler.json"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    known = ["--scheduler-file", str(file)]
    commands = [["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *known]]
    own = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder)]
    commands += [["worker", *known, *own] for _ in range(workers)]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for words in commands:
            running.append(
                subprocess.Popen(
                    [sys.executable, "-m", "dask", *words],
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            waited_for(file)
        yield json.loads(file.read_text())["address"], running
    finally:
        for process in running:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Measured:
    """What so many workers say of rules, in how many seconds, and how many of the processor each of them took."""

    entries: list[Entry]
    seconds: float
    computed: list[float]


def _computed(process: subprocess.Popen[bytes]) -> float:
    """The seconds of the processor that a worker and the provers that it started have taken."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def measured(workers: int, names: Sequence[str]) -> Measured:
    """How long so many workers take to check rules as the ledger does; they have started before."""
    with (
        tempfile.TemporaryDirectory(prefix="relift-cluster-") as folder,
        cluster(Path(folder), workers) as (address, (_, *running)),
        on(scheduler=address) as executor,
    ):
        assert executor is not None
        list(each(recorded, [Portion((name,)) for name in names[: 2 * workers]], executor))
        before, began = [*map(_computed, running)], time.monotonic()
        found = list(entries_shared(names, executor))
        seconds = time.monotonic() - began
        took = [_computed(p) - b for p, b in zip(running, before, strict=True)]
        return Measured(found, seconds, took)


def main() -> None:
    """Measure; see the module."""
    parser = argparse.ArgumentParser(description="Two workers of Dask against one.")
    parser.add_argument("--rules", type=int, default=48)
    count = parser.parse_args().rules
    names = random.Random(0).sample(list(RULES), count)
    one, two = measured(1, names), measured(2, names)
    same = [differences(x, y) for x, y in zip(one.entries, two.entries, strict=True)]
    print(
        f"{count} rules: {one.seconds:.1f} s by one worker, {two.seconds:.1f} s by two: "
        f"{one.seconds / two.seconds:.2f} times"
    )
    longer = max(two.computed)
    shares = " and ".join(f"{s:.1f}" for s in two.computed)
    print(
        f"of the processor {one.computed[0]:.1f} s by one, {shares} by two: "
        f"{one.computed[0] / longer:.2f} times where each has a core"
    )
    print("the same entries" if not any(same) else f"entries differ: {same}")


if __name__ == "__main__":
    main()
