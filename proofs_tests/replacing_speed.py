"""`python -m proofs_tests.replacing_speed [NAME…] | --bundle FOLDER`: C with its loops replaced against the C that was there, both compiled at -O3.

It prints for each program the least time of several calls of the original and of the file with calls of kernels (C with OpenMP),
whether both computed the same, and whether a guard failed.  It returns 1 where results differ, a guard failed, nothing could
be replaced, or the replaced file is slower.  With `--bundle` it writes a folder whose `run.sh` compares, on a machine that has a C compiler
and a driver of OpenCL and nothing else, the original with calls of OpenCL, on the device that RELIFT_DEVICE names (gpu).
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import relift as rl
from relift.compiler.idioms.replacement.replacing import replacement
from relift.files import temporary_folder

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A program, and what it is called with: numbers and arrays, of which the last is what it computes."""

    text: str
    made: Callable[[np.random.Generator], Arguments]
    calls: int = 7
    large: tuple[int, int] = (1, 1)
    """The size that a device of its own is given, and how often the original is run at it."""


def _sgemm(rng: np.random.Generator, n: int = 512) -> Arguments:
    a, b, c = (rng.random((n, n), np.float32) for _ in range(3))
    return n, a, b, c


def _histogram(rng: np.random.Generator, n: int = 1 << 24) -> Arguments:
    return n, rng.integers(0, 4096, n, np.int32), np.zeros(4096, np.int32)


def _stencil(rng: np.random.Generator, n: int = 3000) -> Arguments:
    return n, rng.random((n, n), np.float32), np.zeros((n, n), np.float32)


def _csr(rng: np.random.Generator, n: int = 200_000, each: int = 32) -> Arguments:
    lengths = rng.integers(0, 2 * each, n)
    rows = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns = rng.integers(0, n, rows[-1], np.int32)
    values, x = rng.random(rows[-1], np.float32), rng.random(n, np.float32)
    return n, rows, columns, values, x, np.zeros(n, np.float32)


def _tpacf(rng: np.random.Generator, n: int = 3000, bins: int = 20) -> Arguments:
    points = rng.normal(size=(3, n))
    points /= np.linalg.norm(points, axis=0)
    x, y, z = points.astype(np.float32)
    bounds = np.cos(np.linspace(0, np.pi, bins + 1))[1:].astype(np.float32)
    return n, bins, x, y, z, bounds, np.zeros(bins + 1, np.int64)


CASES = {
    "sgemm": Case(
        """void f(int n, const float *a, const float *b, float *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float s = 0;
      for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
      c[i * n + j] = s;
    }
}
""",
        _sgemm,
        large=(1_024, 2),
    ),
    "histogram": Case(
        """void f(int n, const int *key, int *bins) {
  for (int i = 0; i < n; i++) bins[key[i]]++;
}
""",
        _histogram,
        large=(1 << 26, 5),
    ),
    "stencil": Case(
        """void f(int n, const float *a, float *b) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      b[i * n + j] = 0.2f * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] + a[(i - 1) * n + j] + a[(i + 1) * n + j]);
}
""",
        _stencil,
        large=(8_000, 5),
    ),
    "csr": Case(
        """void f(int n, const int *rows, const int *columns, const float *values, const float *x, float *y) {
  for (int r = 0; r < n; r++) {
    float s = 0;
    for (int k = rows[r]; k < rows[r + 1]; k++) s += values[k] * x[columns[k]];
    y[r] = s;
  }
}
""",
        _csr,
        large=(1_000_000, 5),
    ),
    "tpacf": Case(
        """void f(int n, int m, const float *x, const float *y, const float *z, const float *bounds, long *bins) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float d = x[i] * x[j] + y[i] * y[j] + z[i] * z[j];
      int k = 0;
      for (int b = 0; b < m; b++) k += d < bounds[b];
      bins[k]++;
    }
}
""",
        _tpacf,
        large=(10_000, 2),
    ),
}


def main(names: Sequence[str]) -> int:
    """The command."""
    if names[:1] == ["--bundle"] and len(names) == 2:
        return bundle(Path(names[1]))
    unknown = [n for n in names if n not in CASES]
    if unknown:
        print(f"there is no program {unknown[0]}; there are: {', '.join(CASES)}", file=sys.stderr)
        return 2
    print(f"{'':>10} {'original ms':>12} {'replaced ms':>12} {'times':>6}")
    return max(_one(name, CASES[name]) for name in names or CASES)


def bundle(folder: Path) -> int:
    """Write the programs as they are and with calls of OpenCL, what times both, and `run.sh`."""
    folder.mkdir(parents=True, exist_ok=True)
    driver = Path(__file__).with_name("replacing_driver.c")
    (folder / driver.name).write_text(driver.read_text("utf-8"), encoding="utf-8")
    lines = [
        "#!/bin/sh",
        "# run.sh [N]: sizes divided by N; RELIFT_DEVICE names the device (gpu); what is there already is not compiled again",
        'cd "$(dirname "$0")"',
        'export RELIFT_DEVICE="${RELIFT_DEVICE:-gpu}"',
        "status=0",
    ]
    for name, case in CASES.items():
        written = replacement(rl.lift(case.text, runs=20), case.text, "opencl")
        ((_, called),) = written.replaced
        texts = {"": case.text, "_replaced": written.text, "_replaced.kernels": written.kernels}
        for suffix, text in texts.items():
            (folder / f"{name}{suffix}.c").write_text(text, encoding="utf-8")
        size, calls = case.large
        said = f"-DCASE={name} -DNAME='\"{name}\"' -DLARGE={size} -DCALLS={calls} -DREFUSED={called}_refused"
        flags = "${CC:-gcc} -O3 ${TUNED:--march=native} -w"
        linked = f"{name}_original.o {name}_replaced.c {name}_replaced.kernels.c -ldl -lpthread -lm"
        lines.append(
            f"[ -x {name}_bench ] || {{ {flags} -Df=f_original -c -o {name}_original.o {name}.c &&"
        )
        lines.append(
            f"{flags} -fopenmp -ffp-contract=off {said} -o {name}_bench {driver.name} {linked}; }} || status=1"
        )
        lines.append(f"./{name}_bench $1 || status=1")
    run = folder / "run.sh"
    run.write_text("\n".join([*lines, "exit $status", ""]), encoding="utf-8")
    run.chmod(0o755)
    return 0


def _one(name: str, case: Case) -> int:
    with temporary_folder() as folder:
        found = rl.lift(case.text, runs=20)
        written = replacement(found, case.text)
        if not written.replaced:
            reasons = "; ".join(said for _, said in written.kept) or f"{found.skipped}"
            print(f"{name:>10} nothing is replaced: {reasons}")
            return 1
        flags = ("-O3", "-march=native")
        original = _library(folder, "original", {"original.c": case.text}, flags)
        files = {"replaced.c": written.text, "kernels.c": written.kernels}
        replaced = _library(folder, "replaced", files, (*flags, "-fopenmp", "-ffp-contract=off"))
        given = case.made(np.random.default_rng(0))
        before, wanted = _timed(original, given, case.calls)
        after, got = _timed(replaced, given, case.calls)
        counts = [
            ctypes.c_long.in_dll(replaced, f"{kernel}_refused").value
            for _, kernel in written.replaced
        ]
    same = np.allclose(got, wanted, rtol=1e-5)
    verdict = "" if same else "  DIFFERS"
    verdict += f"  {sum(counts)} guards failed" if sum(counts) else ""
    print(
        f"{name:>10} {before * 1e3:>12.2f} {after * 1e3:>12.2f} {before / after:>6.2f}{verdict}",
        flush=True,
    )
    return int(not same or sum(counts) > 0 or after > before)


def _library(folder: Path, name: str, files: dict[str, str], flags: Sequence[str]) -> ctypes.CDLL:
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    out = folder / f"{name}.so"
    subprocess.run(
        ["cc", *flags, "-w", "-shared", "-fPIC", "-o", str(out), *files, "-lm"],
        cwd=folder, check=True,
    )  # fmt: skip
    return ctypes.CDLL(str(out))


def _timed(made: ctypes.CDLL, given: Arguments, calls: int) -> tuple[float, Any]:
    """The least time of some calls, and what the first of them computed."""
    best, first = float("inf"), None
    for _ in range(calls):
        own = [g.copy() if isinstance(g, np.ndarray) else g for g in given]
        passed = [
            ctypes.c_void_p(g.ctypes.data) if isinstance(g, np.ndarray) else ctypes.c_int(g)
            for g in own
        ]
        begin = perf_counter()
        made.f(*passed)
        best = min(best, perf_counter() - begin)
        first = own[-1] if first is None else first
    return best, first


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
