"""The verb that proves a derivation: prove."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relift.cli.options import JsonOption, Refusal, SizeOption, sizes_of
from relift.cli.output import fail, print_json, progress_of

if TYPE_CHECKING:
    from relift.rewrites.checks.theorem.proving import Proved
    from relift.rewrites.derivation.steps import Derivation


def prove(
    derivation: Annotated[
        Path, typer.Argument(help="A derivation.json of optimize --out, or its folder.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write the theorem with its proof to this .v file.")
    ] = None,
    size: SizeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Prove by Rocq that the source of a derivation equals its result, as one theorem.

    It holds for all sizes that meet what is printed; --size does the derivation again at other sizes first.
    Exit status: 0 proved, 1 the prover refuses, 3 it did not come to an end, 2 bad input or no prover.
    """
    from relift.files import write_text

    if out is not None and out.suffix != ".v":
        raise Refusal(f"--out {out}: a file of Rocq ends in .v")
    loaded = _loaded(derivation, sizes_of(size))
    proved = proved_or_end(loaded, str(derivation))
    if out is not None:
        write_text(out, proved.theorem.whole)
    if as_json:
        print_json({"program": loaded.origin.name, "sizes": dict(loaded.sizes), **proved.to_json()})
        return
    print(proved.text())
    if out is not None:
        print(f"written to {out}")


def _loaded(file: Path, sizes: dict[str, int]) -> Derivation:
    """A derivation whose laws are to be believed, at its sizes or at others."""
    from relift.rewrites.checks.operator_uses import require_laws
    from relift.rewrites.derivation.files import read_json
    from relift.rewrites.derivation.steps import redo
    from relift.rewrites.library import RULES

    if file.is_dir():
        file = file / "derivation.json"
    loaded = read_json(file, RULES)
    require_laws(loaded.program.body)
    if not sizes:
        return loaded
    if unknown := sorted(sizes.keys() - loaded.sizes.keys()):
        raise Refusal(f"{loaded.origin.name} has no size {unknown[0]}")
    return redo(loaded, RULES, {**loaded.sizes, **sizes}, {})


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
