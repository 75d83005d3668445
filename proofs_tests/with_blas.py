"""`python -m proofs_tests.with_blas [LIBRARY]`: the fixtures of lifting with calls of a BLAS that is installed (openblas).

Each function whose loops became a call is run on drawn inputs against its program, linked with the library.  It prints how many calls of
each routine were run, and returns 1 where a result differs, a guard failed or nothing was called; 2 where there is no such library
(`apt-get install libopenblas-dev`).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from ctypes import c_long
from dataclasses import replace
from pathlib import Path

from proofs_tests.compiler.idioms.checks import FOLDER
from proofs_tests.compiler.idioms.test_replacing import Replaced, library
from relift.compiler.idioms.evidence import evidence
from relift.compiler.idioms.lift import lift
from relift.compiler.idioms.replacement.replacing import replacement
from relift.files import temporary_folder

RUNS = 50


def main(words: Sequence[str]) -> int:
    """The command."""
    name = words[0] if words else "openblas"
    ran, wrong = Counter[str](), 0
    for file in ("products", "reductions", "maps"):
        with temporary_folder() as folder:
            try:
                found, failed = _of_file(file, folder, f"-l{name}")
            except subprocess.CalledProcessError:
                print(f"the linker finds no library {name}", file=sys.stderr)
                return 2
        ran += found
        wrong += failed
    print(", ".join(f"{routine}: {n}" for routine, n in sorted(ran.items())) or "nothing is called")
    print(f"{wrong} of {sum(ran.values())} differ, or were refused")
    return int(wrong > 0 or not ran)


def _of_file(file: str, folder: Path, flag: str) -> tuple[Counter[str], int]:
    """How many calls of each routine were run, and how many of them are wrong."""
    source = FOLDER / f"{file}.c"
    written = replacement(lift(source, runs=3), source.read_text("utf-8"), "blas")
    made = library(folder, written, flags=("-Wl,--no-as-needed", flag))
    ran, wrong = Counter[str](), 0
    for idiom, name in written.replaced:
        body = written.kernels.partition(f"int {name}(")[2].partition("\n}")[0]
        called = re.search(r"cblas_(\w+)\(", body)
        if called is None or idiom.lifted is None or not idiom.evidence.ok:
            continue
        natural = tuple((size, max(1, least)) for size, least in idiom.lifted.natural)
        own = replace(idiom.lifted, natural=natural)
        shown = evidence(idiom.relations, idiom.found, own, Replaced(made), runs=RUNS, seed=4)
        refused = c_long.in_dll(made, f"{name}_refused").value
        ran[called[1]] += 1
        if not shown.ok or refused:
            wrong += 1
            print(f"{idiom.function}: {shown}, {refused} guards failed")
    return ran, wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
