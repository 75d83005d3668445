"""The verbs that write kernels: compile, build; and what is said of a kernel's text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relift.cli.options import (
    BudgetOption,
    FloatOption,
    GlobalOption,
    JsonOption,
    LocalOption,
    ProgramArgument,
    Refusal,
    SizeOption,
    TargetOption,
    counts_of,
    require_unasked,
    sizes_of,
)
from relift.cli.output import print_json, progress_of
from relift.cli.searching import search_or_refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from relift.compiler.certificates.certificate import Certificate
    from relift.compiler.running.compiled import Compiled
    from relift.compiler.validation.validate import Report
    from relift.semantics.language.programs import Program


def compile_(
    program: ProgramArgument,
    size: SizeOption = None,
    local: LocalOption = None,
    global_: GlobalOption = None,
    wide: Annotated[bool, typer.Option("--wide", help="Index with long.")] = False,
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove bounds and the absence of races.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the kernels.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the kernels of a low-level program; sizes that are not given become their arguments."""
    from relift.compiler.program import compile_program
    from relift.rewrites.loading import load_program

    loaded, sizes = load_program(program), sizes_of(size)
    compiled = compile_program(
        loaded,
        sizes,
        local=counts_of("local", local),
        global_=counts_of("global", global_),
        wide=wide,
    )
    found: tuple[Certificate, ...] = ()
    if certify:
        known = {name: n for name, n in sizes.items() if name in loaded.sizes}
        found = certificates_of(compiled, loaded.at(known, partly=True))
    else:
        say_unknown(compiled)
    if out is not None:
        compiled.save(out)
    if as_json:
        certified = {"certificates": [c.to_json() for c in found]} if certify else {}
        print_json({"source": compiled.source, "launch": compiled.launch, **certified})
    else:
        print(compiled.source)
        for c in found:
            print(c.text())
        if out is not None:
            print(f"written to {out}")
    raise typer.Exit(0 if all(c.ok for c in found) else 1)


def build(
    verb: typer.Context,
    program: ProgramArgument,
    out: Annotated[Path, typer.Option(help="Folder for the library.")],
    size: SizeOption = None,
    budget: BudgetOption = 120.0,
    float_policy: FloatOption = "reassociate",
    wheel: Annotated[
        str | None,
        typer.Option(
            metavar="PACKAGE",
            help="Write a Python wheel of this name instead: it needs NumPy and pyopencl only.",
        ),
    ] = None,
    spirv: Annotated[
        bool,
        typer.Option(
            "--spirv", help="In a wheel: the kernels in SPIR-V, too, for devices that take it."
        ),
    ] = False,
    target: TargetOption = "cpu",
    as_json: JsonOption = False,
) -> None:
    """Write a library in C: header, source with the kernels, CMake file and a test; nothing of Relift is needed there.

    A program in low-level patterns is taken as it is, with sizes that are not given as arguments; for others a search
    at the given sizes finds one.
    """
    from relift.compiler.ahead.wheel import write_wheel
    from relift.compiler.program import compile_program, is_low_level
    from relift.rewrites.loading import load_program

    if spirv and wheel is None:
        raise Refusal("--spirv puts SPIR-V into a wheel; give it with --wheel PACKAGE")
    if wheel is None:
        require_unasked(verb, "a library in C is for CPUs; give it with --wheel PACKAGE", "target")
    loaded, sizes = load_program(program), sizes_of(size)
    low = loaded.at(sizes, partly=True)
    if is_low_level(low):
        require_unasked(verb, f"{loaded.name} is low-level, and taken as it is", "target")
    else:
        where = "c" if wheel is None else target
        low = search_or_refusal(loaded, sizes, where, budget, 1, float_policy).term
    if wheel is not None:
        compiled = compile_program(low, contract=float_policy != "exact")
        say_unknown(compiled)
        place = write_wheel(out, {loaded.name: (low, compiled)}, wheel, spirv=spirv)
        _say_wheel(place, loaded.name, wheel, as_json)
        return
    _write_library(low, out, float_policy, as_json=as_json)


def _write_library(low: Program, out: Path, float_policy: str, *, as_json: bool) -> None:
    """The library in C of a program in low-level patterns, and how it is built and tested."""
    from relift.compiler.ahead.c_library import CMAKE, c_library, owner
    from relift.files import read_text, write_folder

    with progress_of("asking the interpreter for the test"):
        library = c_library(low, contract=float_policy != "exact")
    there = out / CMAKE
    if there.exists() and not read_text(there).startswith(f"{owner(library.name)}\n"):
        raise Refusal(
            f"{there} is not of the library {library.name}; name another folder, {out / library.name} say, "
            f"and add_subdirectory({library.name}) there"
        )
    write_folder(out, {n: text.encode() for n, text in library.files.items()}, last=CMAKE)
    if as_json:
        print_json({"name": library.name, "files": sorted(library.files), "tested": library.tested})
        return
    print(
        f"written to {out}: {', '.join(sorted(library.files))}; the test compares {library.tested}"
    )
    print(
        f"cmake -S {out} -B {out}/build && cmake --build {out}/build && ctest --test-dir {out}/build"
    )


def _say_wheel(place: Path, name: str, package: str, as_json: bool) -> None:
    """Where the wheel of one function is, and how it is used."""
    if as_json:
        print_json({"wheel": str(place), "package": package, "functions": [name]})
    else:
        print(
            f"written to {place}; pip install {place} && python -c 'from {package} import {name}'"
        )


def say_unknown(compiled: Compiled) -> None:
    """What is not known of a program's kernels, a line for each reason; raises `Refuted` for wrong ones."""
    from relift.compiler.certificates.consultation import require_not_refuted, unknowns

    require_not_refuted(compiled)
    for line in unknowns(compiled.certificates):
        print(line, file=sys.stderr)


def certificates_of(
    kernel: Compiled, program: Program, values: Sequence[Report] | None = None
) -> tuple[Certificate, ...]:
    """The certificates of a kernel, with what its text shows on symbols where that is not too much.

    `values`: what it shows, where that is known already.
    """
    from relift.compiler.certificates.consultation import certified
    from relift.compiler.meaning.evidence import meaning_of, with_meaning
    from relift.compiler.meaning.witness import on_inputs
    from relift.compiler.validation.evidence import reports_of, with_values

    proved = certified(kernel)
    reports = reports_of(kernel, program, witness=on_inputs) if values is None else values
    shown = with_values(proved, reports)
    return with_meaning(shown, meaning_of(kernel, program, proved))
