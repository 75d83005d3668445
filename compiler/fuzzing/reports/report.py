"""A finding as a folder: plain OpenCL, data, a host script of NumPy and pyopencl only, and a page for whoever mends it.

Every folder has the same files, whatever was found; a program that has no kernels has no script.
"""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from relift.compiler.fuzzing.programs.subjects import Subject
from relift.compiler.fuzzing.reports import host
from relift.compiler.fuzzing.reports.findings import Finding
from relift.compiler.running.arrays.buffers import Row, flatten
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.session import plan_at
from relift.semantics.domains import DTYPES
from relift.semantics.notation.printer import show
from relift.semantics.syntax.binding import tidy

PAGE, SOURCE, LAUNCH, DATA, HOST = "README.md", "kernel.cl", "launch.json", "data.npz", "host.py"
PROGRAM = "program.txt"
FILES = (PAGE, SOURCE, LAUNCH, DATA, HOST, PROGRAM)


def files_of(finding: Finding) -> dict[str, bytes]:
    """The files of the folder of a finding."""
    subject = finding.subject
    files = {PROGRAM: program_text(subject).encode()}
    try:
        compiled = subject.compiled()
    except Exception:  # noqa: BLE001  # what was found is that there are no kernels
        compiled = None
    if compiled is not None:
        files |= _runnable(subject, compiled, finding.seen.text or compiled.source)
    files[PAGE] = page(finding, has_kernels=compiled is not None).encode()
    return files


def program_text(subject: Subject) -> str:
    """The program, its sizes and how it was derived, as text."""
    program = subject.program
    parameters = ", ".join(f"{p.name}: {p.type}" for p in program.parameters)
    lines = [f"{program.name}({parameters}) =", show(tidy(program.body))]
    if subject.sizes:
        lines.append("at " + ", ".join(f"{n} = {v}" for n, v in subject.sizes.items()))
    lines += [
        f"{p.name} = {a!r}" for p, a in zip(program.parameters, subject.arguments, strict=True)
    ]
    if subject.derivation is not None:
        lines += ["", "which is what rules make of", show(tidy(subject.derivation.program.body))]
        lines += [f"  {s.rule}, {s.direction}" for s in subject.derivation.steps]
    return "\n".join(lines) + "\n"


def _runnable(subject: Subject, compiled: Compiled, text: str) -> dict[str, bytes]:
    """Kernels, launch, data and the script that runs them."""
    rows = subject.rows(compiled)
    plan = plan_at(compiled.plan, rows)
    expected = flatten(subject.value(), subject.here.body.type, "the result")
    outputs = [b.name for b in plan.buffers if b.role == "output"]
    buffers = [
        {
            "name": b.name,
            "role": b.role,
            "type": b.scalar.name,
            "bytes": DTYPES[b.scalar.name].itemsize * b.cells.evaluate({}),
        }
        for b in plan.buffers
    ]
    kernels = [
        {
            "name": k.name,
            "arguments": list(k.arguments),
            "pieces": [[list(p.offset), list(p.range), list(p.local)] for p in k.pieces],
        }
        for k in plan.kernels
    ]
    launch: dict[str, Any] = {"buffers": buffers, "kernels": kernels, "outputs": outputs}
    data: dict[str, Row] = {f"in_{name}": np.asarray(row) for name, row in rows.items()}
    data |= {f"out_{name}": row for name, row in zip(outputs, expected, strict=True)}
    stored = io.BytesIO()
    np.savez(stored, **data)  # type: ignore[arg-type]
    script = Path(host.__file__).read_bytes()
    return {
        SOURCE: text.encode(),
        LAUNCH: (json.dumps(launch, indent=1) + "\n").encode(),
        DATA: stored.getvalue(),
        HOST: script,
    }


_HOW = (
    f"`{SOURCE}` is plain OpenCL C, `{DATA}` has arguments and expected results, `{LAUNCH}` says how the kernels are "
    f"launched. `{HOST}` needs NumPy and pyopencl; its exit status is 1 where the device computes something else. "
    "A driver that comes with a Python package is found by `OCL_ICD_VENDORS`, which names its library (`relift doctor`)."
)


def page(finding: Finding, *, has_kernels: bool) -> str:
    """The page: what is wrong, how it is seen, and what speaks for whose fault it is."""
    blame, seen = finding.blame, finding.seen
    lines = [f"# {_title(finding)}", ""]
    lines += [f"Blamed: **{blame.culprit}** {blame.name}", ""]
    lines += [f"* {' '.join(said.split())}" for said in blame.because]
    lines += ["", "## What is seen", "", _fenced(f"{seen.sight}: {seen.detail}"[:2000])]
    if has_kernels:
        lines += [
            "",
            "## How to see it",
            "",
            _fenced(" ".join([f"python {HOST}", *map(shlex.quote, _words(seen.device))])),
            "",
            _HOW,
        ]
    lines += ["", "## The program", "", _fenced(program_text(finding.subject))]
    lines += ["", f"Found by `relift fuzz` as {finding.case}.", ""]
    return "\n".join(lines)


def _words(label: str | None) -> list[str]:
    """What a device is told by beside others of its name: `AMD EPYC [Intel, OpenCL 3.1 LINUX]`.

    >>> from relift.compiler.fuzzing.reports.report import _words
    >>> _words("AMD EPYC [Intel, OpenCL 3.1 LINUX]"), _words(None)
    (['AMD EPYC', 'Intel', 'OpenCL 3.1 LINUX'], [])
    """
    name, _, rest = (label or "").removesuffix("]").partition(" [")
    return [text for text in (name, *rest.split(", ")) if text]


def _title(finding: Finding) -> str:
    seen, blame = finding.seen, finding.blame
    match blame.culprit:
        case "device":
            said = {
                "differs": "computes a wrong result", "not built": "does not build a kernel",
                "crashed": "crashes on a kernel", "hangs": "does not finish a kernel",
            }.get(seen.sight, seen.sight)  # fmt: skip
            return f"{blame.name} {said}"
        case "rule":
            return f"The rule {blame.name} changes a value"
        case "interpreter":
            return f"The interpreter differs from NumPy on {blame.name}"
        case "compiler":
            return f"Relift's compiler: {blame.name}"
        case "nobody":
            return f"A difference that is nobody's yet: {seen.sight}"


def _fenced(text: str) -> str:
    return f"```\n{text.rstrip()}\n```"
