"""The verb for existing C: lift."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from relift.cli.options import JsonOption, Refusal, WorkersOption, require_none, require_unasked
from relift.cli.output import print_json, print_table, progress_of

if TYPE_CHECKING:
    from relift.compiler.idioms.collection import Collection, FileFinds
    from relift.compiler.idioms.lift import LiftedFile, LiftedIdiom
    from relift.compiler.idioms.replacement.replacing import Replacement

_Labels = Annotated[
    Path | None,
    typer.Option(
        metavar="FINDS.json",
        help="Of a folder: what --json wrote, with `right` filled in by hand; for the precision.",
    ),
]

_Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FINDS.json",
        help="Of a folder: write what --json prints, anew after each file.",
    ),
]

_Seconds = Annotated[
    float | None,
    typer.Option(
        help="Of a folder: what each file may take (60); what is cut is named.",
        min=0.1,
        max=31536000,
    ),
]

_Html = Annotated[
    Path | None,
    typer.Option(
        metavar="OUT", help="Write a page: the C with the finds in colour, beside the programs."
    ),
]

_Replace = Annotated[
    Path | None,
    typer.Option(
        metavar="OUT.c",
        help="Write the file with guarded calls; OUT.kernels.c has what they call.",
    ),
]


def lift(
    verb: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.c|FOLDER",
            help="A file in C; or a folder, whose finds are listed and counted.",
        ),
    ],
    function: Annotated[str | None, typer.Option(help="Look at this function only.")] = None,
    runs: Annotated[
        int, typer.Option(help="Drawn inputs on which each program is run against the C.", min=0)
    ] = 100,
    random: Annotated[
        int, typer.Option(help="Draw them from this seed.", min=0, max=2**63 - 1)
    ] = 0,
    replace: _Replace = None,
    calls: Annotated[
        str,
        typer.Option(
            metavar="kernels|blas|opencl|sparse",
            help="What --replace calls: kernels in C; or, where it does the work of a loop, a BLAS, OpenCL on the device that RELIFT_DEVICE names, or a sparse library like oneMKL.",
        ),
    ] = "kernels",
    html: _Html = None,
    labels: _Labels = None,
    out: _Out = None,
    seconds: _Seconds = None,
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Find reductions, histograms, stencils, linear algebra in C, and say them as programs."""
    if file.is_dir():
        require_none(f"{file} is a folder", function=function, replace=replace, html=html)
        _collect(file, labels, out, seconds, workers, as_json=as_json)
    several = workers if workers > 1 else None
    require_none(f"{file} is no folder", labels=labels, out=out, seconds=seconds, workers=several)
    if replace is None:
        require_unasked(verb, "it says what --replace calls; give it with --replace OUT.c", "calls")
    from relift.compiler.idioms.lift import lift as lifted

    with progress_of(f"lifting {file}"):
        found = lifted(file, function, runs=runs, seed=random)
    written = _replaced(found, file, replace, calls) if replace is not None else None
    if html is not None:
        _write_page(found, file, html)
    _say(found, written, replace, as_json=as_json)
    raise typer.Exit(0 if found.ok else 1)


def _say(
    found: LiftedFile, written: Replacement | None, out: Path | None, *, as_json: bool
) -> None:
    if as_json:
        said = {} if written is None else {"replaced": [name for _, name in written.replaced]}
        print_json({**found.to_json(), **said})
        return
    _print(found)
    if written is not None and out is not None:
        _print_replacement(written, out)


def _collect(
    folder: Path, labels: Path | None, out: Path | None, seconds: float | None, workers: int, *, as_json: bool
) -> NoReturn:  # fmt: skip
    """List what is found below a folder, file by file, and end; Ctrl-C ends it with what was found."""
    from relift.compiler.idioms.collection import (
        SECONDS,
        Collection,
        collected,
        labels_in,
        works_in,
    )
    from relift.files import write_text
    from relift.processes.executors import on

    known = labels_in(labels) if labels is not None else None
    works = works_in(folder, seconds or SECONDS)
    found, interrupted = Collection(tuple(w.name for w in works)), False
    try:
        with on(workers) as executor, progress_of(f"lifting {folder}") as report:
            for found in collected(works, known, executor):
                last = found.done[-1]
                report(
                    f"{len(found.done)} of {len(works)} files, {len(found.finds)} finds: {last.file}"
                )
                if out is not None:
                    write_text(out, json.dumps(found.to_json(), indent=1))
                if not as_json:
                    _print_finds(last)
    except KeyboardInterrupt:
        interrupted = True
    if as_json:
        print_json(found.to_json())
    else:
        _print_counts(found)
    if interrupted:
        sys.stdout.flush()
        raise KeyboardInterrupt
    raise typer.Exit(0 if found.finds and not found.cut else 1)


def _print_finds(found: FileFinds) -> None:
    """What is found in a file, and what is in the way."""
    for f in found.finds:
        label = {True: "  right", False: "  WRONG", None: ""}[f.right]
        none = "" if f.lifted else "  no program"
        print(f"{f.file}:{f.line}: {f.function}: {f.kind} ({f.idiom}){none}{label}", flush=True)
    if found.refused is not None:
        print(f"{found.file}: skipped: {found.refused}", file=sys.stderr)
    if found.cut is not None:
        print(f"{found.file}: {found.cut}", file=sys.stderr)


def _print_counts(found: Collection) -> None:
    """How many finds of each kind every program has, in the files that are done."""
    from rich.table import Table

    from relift.compiler.idioms.collection import KINDS, OTHER

    kinds, counts = (*KINDS, OTHER), found.counts()
    table = Table("program", *kinds)
    for program, count in counts.items():
        table.add_row(program, *(str(count[k]) for k in kinds))
    total = sum(counts.values(), Counter[str]())
    table.add_row("all", *(str(total[k]) for k in kinds))
    if known := found.precision():
        said = {k: f"{r} of {n}" for k, (r, n) in known.items()}
        table.add_row("right", *(said.get(k, "") for k in kinds))
    print_table(table)
    if found.left:
        print(f"{len(found.left)} files are not looked at, from {found.left[0]} on")


def _replaced(found: LiftedFile, file: Path, out: Path, calls: str) -> Replacement:
    from relift.compiler.idioms.replacement.replacing import CALLS, replacement
    from relift.files import read_text, write_text

    if out.suffix != ".c" or out.resolve() == file.resolve():
        raise Refusal(f"--replace {out}: name another file that ends in .c")
    if calls not in CALLS:
        raise Refusal(f"--calls {calls}: there are: {', '.join(CALLS)}")
    written = replacement(found, read_text(file), CALLS[calls])
    write_text(out, written.text)
    write_text(_kernels(out), written.kernels)
    return written


def _write_page(found: LiftedFile, file: Path, out: Path) -> None:
    from relift.compiler.idioms.page import page
    from relift.files import write_text

    if out.resolve() == file.resolve():
        raise Refusal(f"--html {out}: name another file than the one in C")
    write_text(out, page(found, file.read_text(encoding="utf-8", errors="replace")))


def _kernels(out: Path) -> Path:
    return out.with_suffix(".kernels.c")


def _print_replacement(written: Replacement, out: Path) -> None:
    for idiom, name in written.replaced:
        way = written.ways[name]
        print(
            f"{idiom.function}: the loop at line {idiom.line} calls {name} ({way}) where its guard holds"
        )
    for idiom, reason in written.kept:
        print(f"{idiom.function}: the loop at line {idiom.line} stays: {reason}")
    print(f"written to {out} and {_kernels(out)}")


def _print(found: LiftedFile) -> None:
    for idiom in found.idioms:
        _print_idiom(found.file, idiom)
    for function, reason in found.skipped:
        print(f"{function}: skipped: {reason}", file=sys.stderr)
    count = len(found.idioms)
    print(
        f"{count} idiom{'s' * (count != 1)} found in {found.file} ({found.steps} steps of the solver)"
    )


def _print_idiom(file: str, idiom: LiftedIdiom) -> None:
    print(f"{file}:{idiom.line}: {idiom.function}: {idiom.idiom}")
    if idiom.lifted is None:
        print(f"  no program: {idiom.reason}\n")
        return
    print("  " + str(idiom.lifted.program).replace("\n", "\n  "))
    meanings = {n: idiom.said(n) for n in idiom.lifted.sizes}
    if named := [f"{n} is `{said}`" for n, said in meanings.items() if n != said]:
        print("  where " + ", ".join(named))
    for condition in idiom.conditions:
        print(f"  if {condition}")
    print(f"  {idiom.evidence}")
    print(f"  {idiom.proof}\n")
