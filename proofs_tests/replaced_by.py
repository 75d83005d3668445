"""`python -m proofs_tests.replaced_by blas|sparse [LIBRARY] | opencl [DEVICE]`: the fixtures of lifting with calls of a library.

Each function whose loops became such a call is run on drawn inputs against its program: linked with a BLAS (openblas), or a sparse library
in the style of oneMKL (mkl_rt), that is installed; or on a device of OpenCL (gpu, cpu, or part of a name).  It prints how many calls
of each routine were run, and returns 1 where a result differs, a guard failed or nothing was called; 2 where there is no such library.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from ctypes import c_char, c_long
from dataclasses import replace
from pathlib import Path

from proofs_tests.compiler.idioms.checks import FOLDER
from proofs_tests.compiler.idioms.replaced import Replaced, find_opencl, library
from relift.compiler.idioms.evidence import evidence
from relift.compiler.idioms.lift import lift
from relift.compiler.idioms.replacement.replacing import CALLS, DEVICE, KERNEL, Calls, replacement
from relift.files import temporary_folder

RUNS = 50
LIBRARIES = {"blas": "openblas", "sparse": "mkl_rt", "opencl": ""}


def main(words: Sequence[str]) -> int:
    """The command."""
    if not words or words[0] not in LIBRARIES or len(words) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    calls, named = CALLS[words[0]], (*words, LIBRARIES[words[0]])[1]
    if calls == "opencl":
        find_opencl(named)
    ran, wrong = Counter[str](), 0
    for file in ("products", "reductions", "maps"):
        with temporary_folder() as folder:
            try:
                found, failed = _of_file(file, folder, calls, named)
            except subprocess.CalledProcessError:
                print(f"the linker finds no library {named}", file=sys.stderr)
                return 2
        ran += found
        wrong += failed
    print(", ".join(f"{routine}: {n}" for routine, n in sorted(ran.items())) or "nothing is called")
    print(f"{wrong} of {sum(ran.values())} differ, or were refused")
    return int(wrong > 0 or not ran)


def _of_file(file: str, folder: Path, calls: Calls, named: str) -> tuple[Counter[str], int]:
    """How many calls of each routine were run, and how many of them are wrong."""
    source = FOLDER / f"{file}.c"
    written = replacement(lift(source, runs=3), source.read_text("utf-8"), calls)
    linked = () if calls == "opencl" else ("-Wl,--no-as-needed", f"-l{named}")
    made = library(folder, written, flags=linked)
    ran, wrong = Counter[str](), 0
    for idiom, name in written.replaced:
        if written.ways[name] == KERNEL or idiom.lifted is None or not idiom.evidence.ok:
            continue
        natural = tuple((size, max(1, least)) for size, least in idiom.lifted.natural)
        own = replace(idiom.lifted, natural=natural)
        shown = evidence(
            idiom.relations,
            idiom.found,
            own,
            Replaced(made),
            runs=RUNS,
            seed=4,
            others=idiom.others,
        )
        refused = c_long.in_dll(made, f"{name}_refused").value
        ran[written.ways[name]] += 1
        # rows that end before they begin are drawn, too, and are nothing for a sparse library
        if not shown.ok or refused >= (RUNS if calls == "sparse" else 1):
            wrong += 1
            print(f"{idiom.function}: {shown}, {refused} guards failed")
    if DEVICE in written.ways.values():
        texts = [
            (c_char * 256).in_dll(made, f"relift_opencl_{what}").value
            for what in ("device", "said")
        ]
        print(f"{file}.c: {' '.join(t.decode() for t in texts)}")
    return ran, wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
