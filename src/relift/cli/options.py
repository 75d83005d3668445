"""What several verbs take, and the values that their texts stand for."""

from __future__ import annotations

from typing import Annotated

import typer

from relift.semantics.errors import ReliftError


class Refusal(ReliftError):
    """Bad input on the command line."""

    def __init__(self, message: str) -> None:
        super().__init__(message, place="")


def _float_policy(policy: str) -> str:
    if policy not in ("reassociate", "exact"):
        raise Refusal(f"--float {policy}: say reassociate or exact")
    return policy


ProgramArgument = Annotated[
    str, typer.Argument(metavar="PROGRAM", help="path.py, path.py:name or module:name")
]
SizeOption = Annotated[
    list[str] | None, typer.Option("--size", help="Sizes, as n=1024 or n=1024,m=64.")
]
TargetOption = Annotated[
    str, typer.Option(help="cpu, gpu, or part of a device's name (see relift devices).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
BudgetOption = Annotated[float, typer.Option(help="Seconds of search.", min=0.1, max=31536000)]
AllowOption = Annotated[
    list[str] | None,
    typer.Option(help="A rule that may be used though the ledger does not call it PROVED."),
]
FloatOption = Annotated[
    str,
    typer.Option(
        "--float",
        callback=_float_policy,
        help="reassociate: floating-point + may be regrouped; exact: never.",
    ),
]


def counts_of(option: str, text: str | None) -> tuple[int, ...] | None:
    """The numbers of `--option 16,4`."""
    if text is None:
        return None
    parts = text.split(",")
    if not all(_is_number(part) for part in parts):
        raise Refusal(f"--{option} {text}: say numbers with commas, such as 16,4")
    return tuple(map(int, parts))


def sizes_of(items: list[str] | None) -> dict[str, int]:
    """The sizes of `--size n=1024,m=64 --size k=8`."""
    parts = [part for item in items or [] for part in item.split(",")]
    sizes: dict[str, int] = {}
    for name, text in pairs_of(parts, "--size", "n=1024").items():
        if not _is_number(text):
            shown = text if len(text) <= 40 else f"{text[:37]}..."
            raise Refusal(
                f"--size {name}={shown}: a size is a whole number from 0 on, of at most 18 digits"
            )
        sizes[name] = int(text)
    return sizes


def pairs_of(items: list[str] | None, option: str, form: str) -> dict[str, str]:
    """What an option that stands several times gives each name; `form` shows how it is written."""
    found: dict[str, str] = {}
    for item in items or []:
        name, equals, value = item.partition("=")
        if not equals or not name or not value:
            raise Refusal(f"{option} {item}: write it as {option} {form}")
        if name in found:
            raise Refusal(f"{option} {item}: {name} is given twice, first as {found[name]}")
        found[name] = value
    return found


def _is_number(text: str) -> bool:
    """Whether a text is a whole number of no more digits than any that is accepted."""
    return text.isascii() and text.isdecimal() and len(text) <= 18
