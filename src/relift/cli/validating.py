"""The verb for the text of kernels against programs: validate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relift.cli.options import (
    FloatOption,
    JsonOption,
    Refusal,
    SizeOption,
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
    float_policy: FloatOption = "reassociate",
    as_json: JsonOption = False,
) -> None:
    """Compare the text of kernels with the program that they should compute, for all data.

    Of a folder, the text that lies there; of a low-level program, what it is compiled to, for all values of the sizes
    that are not given.  Status 0: validated; 1: refuted, with a work-item, a cell and both values; 3: unknown.
    """
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
