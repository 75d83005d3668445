"""The verb that proves derivations: prove."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from relift.cli.options import (
    JsonOption,
    Refusal,
    SchedulerOption,
    SizeOption,
    WorkersOption,
    sizes_of,
)
from relift.cli.output import fail, print_json, progress_of

if TYPE_CHECKING:
    from relift.rewrites.checks.theorem.proving import Proved
    from relift.rewrites.checks.theorem.shared import Answer
    from relift.rewrites.derivation.steps import Derivation


STATUS = {"proved": 0, "refused": 1, "not finished": 3}


def prove(
    derivations: Annotated[
        list[Path],
        typer.Argument(
            metavar="DERIVATION...", help="A derivation.json of optimize --out, or its folder."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write the theorem with its proof to this .v file.")
    ] = None,
    size: SizeOption = None,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Prove by Rocq that the source of a derivation equals its result, as one theorem; of several, each.

    It holds for all sizes that meet what is printed; --size does the derivation again at other sizes first.
    Exit status: 0 proved, 1 the prover refuses, 3 it did not come to an end, 2 bad input or no prover.
    """
    from relift.processes.executors import on
    from relift.rewrites.checks.theorem.shared import Asked, answers

    if out is not None and out.suffix != ".v":
        raise Refusal(f"--out {out}: a file of Rocq ends in .v")
    if out is not None and len(derivations) > 1:
        raise Refusal(f"--out {out}: holds one theorem; give one derivation")
    asked = [Asked(file, sizes_of(size)) for file in derivations]
    with progress_of("proving") as progress, on(workers, scheduler) as executor:
        found = answers(asked, executor, progress)
        if len(asked) > 1:
            _print_several(derivations, found, as_json=as_json)
        answer = next(found)
    _print_one(derivations[0], answer, out, as_json=as_json)


def _print_several(files: list[Path], found: Iterator[Answer], *, as_json: bool) -> NoReturn:
    """Each as it is ready; ends with the status of the worst."""
    data, said = [], Counter[str]()
    for file, answer in zip(files, found, strict=True):
        said[answer.verdict] += 1
        data.append({"file": str(file), **answer.to_json()})
        if not as_json:
            print(f"{file}: {answer.text()}", flush=True)
    if as_json:
        print_json({"derivations": data})
    else:
        print(f"{len(data)} derivations: {', '.join(f'{said[v]} {v}' for v in STATUS if said[v])}")
    raise typer.Exit(max((STATUS[verdict] for verdict in said), key=(0, 3, 1).index))


def _print_one(file: Path, answer: Answer, out: Path | None, *, as_json: bool) -> None:
    """The theorem, also to a file; where there is none, the command ends with the reason."""
    from relift.files import write_text

    if answer.verdict != "proved":
        fail(f"{file}: {answer.said}", STATUS[answer.verdict])
    if out is not None:
        write_text(out, answer.theorem)
    if as_json:
        print_json(answer.to_json())
        return
    print(answer.text())
    if out is not None:
        print(f"written to {out}")


def proved_or_end(derivation: Derivation, what: str) -> Proved:
    """The proof; where there is none, the command ends with the reason."""
    from relift.rewrites.checks.theorem.proving import NotFinished, NotProved
    from relift.rewrites.checks.theorem.proving import prove as proved

    try:
        with progress_of("proving") as report:
            return proved(derivation, progress=report)
    except NotFinished as error:
        fail(f"{what}: {error.message}", 3)
    except NotProved as error:
        fail(f"{what}: {error.message}", 1)
