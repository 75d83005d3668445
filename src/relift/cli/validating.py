"""The verb for the text of kernels against programs: validate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from relift.cli.options import (
    FloatOption,
    GlobalOption,
    JsonOption,
    LocalOption,
    Refusal,
    SizeOption,
    counts_of,
    pairs_of,
    sizes_of,
)
from relift.cli.output import print_json, progress_of

if TYPE_CHECKING:
    from relift.compiler.meaning.evidence import Meaning

STATUS = {"validated": 0, "refuted": 1, "unknown": 3}


def validate(
    program: Annotated[
        str,
        typer.Argument(metavar="PROGRAM|DIR", help="A program, or a folder of optimize --out."),
    ],
    size: SizeOption = None,
    kernel: Annotated[
        Path | None,
        typer.Option(help="A file of OpenCL C that somebody wrote, instead of what is compiled."),
    ] = None,
    entry: Annotated[str | None, typer.Option(help="The name of its kernel.")] = None,
    global_: GlobalOption = None,
    local: LocalOption = None,
    argument: Annotated[
        list[str] | None,
        typer.Option(
            help="What a parameter is: N=64, src=x (of the program), dst=out, tile=256 (local cells)."
        ),
    ] = None,
    define: Annotated[list[str] | None, typer.Option(help="A macro, as TS=16.")] = None,
    float_policy: FloatOption = "reassociate",
    as_json: JsonOption = False,
) -> None:
    """Compare the text of kernels with the program that they should compute, for all data.

    Of a folder, the text that lies there; of a low-level program, what it is compiled to, for all values of the sizes
    that are not given.  Status 0: validated; 1: refuted, with a work-item, a cell and both values; 3: unknown.
    """
    launch = {
        "--entry": entry, "--global": global_, "--local": local, "--argument": argument, "--define": define,
    }  # fmt: skip
    if kernel is not None:
        _by_others(program, size, kernel, launch, float_policy, as_json=as_json)
    for option in (name for name, value in launch.items() if value is not None):
        raise Refusal(f"{option} says how a kernel is launched; give it by --kernel FILE.cl")
    found = (
        _of_folder(Path(program))
        if Path(program).is_dir()
        else _of_program(program, size, float_policy)
    )
    if as_json:
        print_json(found.to_json())
    else:
        print(found.text())
    raise typer.Exit(STATUS[found.verdict])


def _by_others(
    program: str,
    size: list[str] | None,
    kernel: Path,
    launch: Mapping[str, Any],
    float_policy: str,
    *,
    as_json: bool,
) -> NoReturn:
    """A kernel that somebody wrote; ends with its status."""
    from relift.compiler.foreign.comparison import ByOthers, validate_foreign
    from relift.rewrites.loading import load_program

    entry, global_, local, argument, define = launch.values()
    if entry is None or global_ is None:
        raise Refusal(
            "--kernel needs --entry NAME and --global N; --local N where work-items share anything"
        )
    loaded = load_program(program)
    here = loaded.at(sizes_of(size))
    try:
        text = kernel.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(
            f"cannot read {kernel}: {getattr(error, 'strerror', 'it is no text')}"
        ) from None
    range_ = counts_of("global", global_) or ()
    group = counts_of("local", local) or (1,) * len(range_)
    if len(group) != len(range_) or len(range_) > 3 or 0 in (*range_, *group):
        raise Refusal(
            f"--local {local}: as many numbers as --global {global_}, up to three, none of them 0"
        )
    launched = ByOthers(
        text, entry, range_, group, pairs_of(argument, "--argument", "N=64"), str(kernel),
        pairs_of(define, "--define", "TS=16"),
    )  # fmt: skip
    with progress_of("validating"):
        report = validate_foreign(launched, here, reassociate=float_policy != "exact")
    verdict = "validated" if report.ok else report.verdict
    how = "up to the order of sums" if report.reassociated else "to the last bit"
    if as_json:
        print_json(
            {"program": here.name, "kernel": entry, "verdict": verdict, "equal": how if report.ok else None,
             "detail": report.detail, "fault": report.fault, "notes": list(report.notes)}
        )  # fmt: skip
    else:
        said = f"these sizes, all data, {how}" if report.ok else report.detail
        print("; ".join([f"{entry}: {verdict}: {said}", *report.notes]))
    raise typer.Exit(STATUS[verdict])


def _of_folder(folder: Path) -> Meaning:
    from relift.compiler.agreement.artefacts import read_saved
    from relift.compiler.meaning.evidence import meaning_of

    saved = read_saved(folder)
    with progress_of("validating") as report:
        return meaning_of(saved.kernel, saved.low, report=report)


def _of_program(program: str, size: list[str] | None, float_policy: str) -> Meaning:
    from relift.cli.searching import compile_for
    from relift.compiler.meaning.evidence import meaning_of
    from relift.compiler.program import is_parallel
    from relift.rewrites.loading import load_program

    loaded = load_program(program)
    sizes = sizes_of(size)
    here = loaded.at({name: n for name, n in sizes.items() if name in loaded.sizes}, partly=True)
    if unknown := [name for name in sizes if name not in loaded.sizes]:
        raise Refusal(
            f"{loaded.name} has no size {unknown[0]}; it has: {', '.join(loaded.sizes) or 'none'}"
        )
    if not is_parallel(here):
        raise Refusal(
            f"{loaded.name} is not low-level, so it has no kernel; validate a folder of relift optimize --out, "
            "or give --kernel FILE.cl --entry NAME"
        )
    kernel = compile_for(here, float_policy)
    with progress_of("validating") as report:
        return meaning_of(kernel, here, report=report)
