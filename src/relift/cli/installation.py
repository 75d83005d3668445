"""The verbs for this installation: doctor, cache."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from relift.cli.options import JsonOption, Refusal
from relift.cli.output import print_json, print_table, progress_of


def doctor(as_json: JsonOption = False) -> None:
    """What works here, what is missing, and how to get it: packages, devices, prover, simulator, ledger, cache.

    Exit status 1 when something is wrong without which Relift does not work.
    """
    from relift.installation import environment, findings

    found = []
    with progress_of("looking") as report:
        for finding in findings():
            report(finding.name)
            found.append(finding)
    if as_json:
        print_json({"environment": environment(), "findings": [asdict(f) for f in found]})
    else:
        for f in found:
            fix = f" ({f.fix})" if f.fix else ""
            print(f"{f.state:8} {f.name}: {f.detail}{fix}")
    raise typer.Exit(1 if any(f.is_fatal for f in found) else 0)


def cache(
    clear: Annotated[
        list[str] | None, typer.Option(help="Remove what is kept under this name.", metavar="NAME")
    ] = None,
    clear_all: Annotated[bool, typer.Option("--clear-all", help="Remove everything.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List what is kept in the user's cache, or remove it; all of it is made anew when it is needed, but measured times."""
    from rich.table import Table

    from relift.files import user_cache
    from relift.installation import clear as remove
    from relift.installation import kept

    if clear and clear_all:
        raise Refusal("--clear names what is removed, --clear-all removes everything; give one")
    removed = remove(clear or ()) if clear or clear_all else []
    if as_json:
        rows = {"kept": [asdict(k) for k in kept()], "removed": [asdict(k) for k in removed]}
        print_json({"folder": str(user_cache()), **rows})
        return
    for k in removed:
        print(f"removed {k.name}: {k.files} files, {k.size / 1e6:.1f} MB")
    if removed:
        return
    table = Table("kept", "files", "MB", "what", title=str(user_cache()))
    for k in kept():
        table.add_row(k.name, str(k.files), f"{k.size / 1e6:.1f}", k.purpose or "(not known)")
    print_table(table)
