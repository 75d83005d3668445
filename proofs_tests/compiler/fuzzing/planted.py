"""Defects that are planted: `python -m proofs_tests.compiler.fuzzing.planted [NAME…]`.

W1, W2 and W3 of the review are planted back into a copy of the compiler, D1 and D2 into a device, a wrong rule among
the right ones; `relift fuzz` has to find each, and to blame the compiler, the device, the rule.  Exit status 1 where
it does not, within `--seconds` for each; `--seed` starts it elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from proofs_tests.compiler.fuzzing.defective import device
from proofs_tests.planted_mutants import copied, mutants
from relift.compiler.fuzzing.campaign import Settings, State, Task, outcome_of, round_of
from relift.compiler.fuzzing.judgement.containment import device_of, end_all
from relift.compiler.fuzzing.judgement.judging import Court
from relift.compiler.fuzzing.programs.cases import case_of

COMPILER = {
    "W1": "what a group may skip keeps apart what stands behind it, as random kernels see it",
    "W2": "components take no names, as random kernels see it",
    "W3": "of two functions of one name the first is called, as random kernels see it",
}
DEVICE = {"D1": "stale", "D2": "regroups"}
WRONG_RULE = '''
import relift as rl
A, B = rl.type_variables("A B")
(n,) = rl.naturals("n")

@rl.rule()
def backwards(f: rl.Fun[A, B], xs: A[n]):
    """Wrong: the elements come in another order."""
    return rl.map(f, xs), rl.gather(rl.reverse, rl.map(f, xs))
'''


def in_the_compiler(name: str, seconds: float, seed: int) -> str:
    """What a campaign in a copy with a mistake blames first; the text of kernels shows it, without a device."""
    [mutant] = [m for m in mutants() if m.name == COMPILER[name]]
    with tempfile.TemporaryDirectory(prefix="relift-planted-") as folder:
        root = copied(Path(folder))
        file = root / mutant.file
        file.write_text(mutant.applied(file.read_text(encoding="utf-8")), encoding="utf-8")
        words = ["--device", "none", "--seed", str(seed)]
        return _found(root, seconds, Path(folder) / "campaign", *words)


def in_a_rule(seconds: float, seed: int) -> str:
    """What a campaign blames first when a wrong rule is forced in."""
    with tempfile.TemporaryDirectory(prefix="relift-planted-") as folder:
        rules = Path(folder) / "rules.py"
        rules.write_text(WRONG_RULE, encoding="utf-8")
        root = Path(__file__).resolve().parents[3]
        kinds = ["--kind", "high", "--kind", "varied items"]
        words = ["--device", "none", "--seed", str(seed), "--rules", str(rules), *kinds]
        return _found(root, seconds, Path(folder) / "campaign", *words)


def _found(root: Path, seconds: float, out: Path, *words: str) -> str:
    """The first cause that the log of a campaign in a checkout has; the campaign ends with it."""
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    command = [sys.executable, "-m", "relift", "fuzz", "--seconds", str(seconds), "--out", str(out)]
    running = subprocess.Popen([*command, *words], cwd=root, env=environment)
    try:
        while running.poll() is None:
            if cause := _first(out / "log.jsonl"):
                return cause
            time.sleep(0.5)
        return _first(out / "log.jsonl")
    finally:
        running.kill()
        running.wait()


def _first(log: Path) -> str:
    if not log.exists():
        return ""
    whole = [line for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
    found = [line for line in map(json.loads, whole) if "cause" in line]
    return next((f"{line['cause']} ({line['case']}: {line['detail']})" for line in found), "")


def in_a_device(name: str, seconds: float, seed: int) -> str:
    """What is blamed first when a device has a defect: it computes something else."""
    court = Court(device(DEVICE[name], "pocl"), (device_of("c"),))
    assert court.device is not None
    court.device.name()
    settings, state, began = Settings(seed=seed), State(), time.monotonic()
    for number in range(10**6):
        for case in round_of(settings, number, state.corpus):
            if time.monotonic() - began > seconds:
                return ""
            outcome = outcome_of(case_of(case), court, Task(settings, (case,)))
            if outcome.cause and outcome.sight != "differs":
                print(f"{name}: beside it, {outcome.cause} ({case}: {outcome.detail})", flush=True)
            elif outcome.cause:
                court.device.end()
                return outcome.cause
    raise AssertionError("cannot happen: time is up before")


def main() -> int:
    """Plant each defect; see the module."""
    parser = argparse.ArgumentParser(description="Planted defects, and who is blamed for them.")
    parser.add_argument("name", nargs="*", help="W1, W2, W3, D1, D2, rule; all if none")
    parser.add_argument("--seconds", type=float, default=1800.0, help="for each")
    parser.add_argument("--seed", type=int, default=0, help="of the campaigns")
    given = parser.parse_args()
    wanted: dict[str, tuple[str, Callable[[], str]]] = {}
    for name in COMPILER:
        wanted[name] = ("compiler", partial(in_the_compiler, name, given.seconds, given.seed))
    for name in DEVICE:
        wanted[name] = ("device", partial(in_a_device, name, given.seconds, given.seed))
    wanted["rule"] = ("rule backwards", partial(in_a_rule, given.seconds, given.seed))
    failed = 0
    for name in given.name or wanted:
        culprit, search = wanted[name]
        began = time.monotonic()
        cause = search()
        ok = cause.startswith(culprit)
        failed += not ok
        told = cause or "nothing found"
        print(
            f"{name}: {'ok' if ok else 'FAILED'}, {time.monotonic() - began:.0f} s: {told}",
            flush=True,
        )
    end_all()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
