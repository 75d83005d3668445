"""What several verbs take, and the values that their texts stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relift.plugins import PREFIX
from relift.semantics.errors import ReliftError

if TYPE_CHECKING:
    from relift.rewrites.derivation.own_rules import OwnRule


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
LocalOption = Annotated[
    str | None, typer.Option(help="Work-items of a group by dimension, as 64 or 16,4.")
]
GlobalOption = Annotated[
    str | None, typer.Option("--global", help="All work-items by dimension, as 4096 or 64,64.")
]
TargetOption = Annotated[
    str, typer.Option(help="cpu, gpu, or part of a device's name (see relift devices).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
WorkersOption = Annotated[
    int, typer.Option(help="Processes of this machine that share the work.", min=1)
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A scheduler of Dask, whose workers share the work."),
]
BudgetOption = Annotated[float, typer.Option(help="Seconds of search.", min=0.1, max=31536000)]
AllowOption = Annotated[
    list[str] | None,
    typer.Option(help="A rule that may be used though the ledger does not call it PROVED."),
]
RulesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rules",
        metavar="FILE|NAME",
        help="Rules of your own (a Python file, plugin:NAME), or one of the library (its name; NAME< right to left).",
    ),
]
OwnRulesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--rules", metavar="FILE", help="A Python file with the user's rules that it uses."
    ),
]
FloatOption = Annotated[
    str,
    typer.Option(
        "--float",
        callback=_float_policy,
        help="reassociate: floating-point + may be regrouped; exact: never.",
    ),
]


def given_rules(items: Sequence[str] | None) -> list[object]:
    """The rules of `--rules`: all that a file or a plug-in defines, or one of the library by its name."""
    from relift.rewrites.loading import load_rules

    found: list[object] = []
    for item in items or ():
        if item.endswith(".py") or "/" in item or item.startswith(PREFIX):
            found += load_rules(Path(item)).values()
        else:
            found.append(item)
    return found


def own_rules_in(files: Sequence[Path] | None) -> Callable[[str], Sequence[OwnRule]]:
    """The rules that the text of a derivation names, from these files, each checked again."""

    def found(text: str) -> Sequence[OwnRule]:
        from relift.checking import admitted
        from relift.rewrites.derivation.files import names_of_own_rules
        from relift.rewrites.loading import load_rules

        named = names_of_own_rules(text)
        there = {n: rule for file in files or () for n, rule in load_rules(file).items()}
        given = [there[name] for name in named if name in there]
        return admitted(given, [rule.name for rule in given]).own

    return found


def require_none(why: str, **options: object) -> None:
    """Refuse the options that are given though nothing would read them, and say why."""
    for name, value in options.items():
        if value:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            raise Refusal(f"--{name} {shown}: {why}")


def require_unasked(verb: typer.Context, why: str, *names: str) -> None:
    """Refuse the options of a verb that were given, whatever they say, though nothing would read them; say why."""
    for parameter in verb.command.params:
        given = verb.get_parameter_source(parameter.name or "")
        if parameter.name in names and given is not None and given.name == "COMMANDLINE":
            raise Refusal(f"{parameter.opts[0]}: {why}")


def require_words(words: Sequence[str]) -> None:
    """Refuse an argument that is the empty text, as a variable of the shell is that is not set; say after what it stands."""
    for before, word in zip(["", *words], words, strict=False):
        if not word or (word.startswith("--") and word.endswith("=")):
            option = word or (before if before.startswith("-") else "")
            where = (
                f"{option.rstrip('=')}: what it takes is empty"
                if option
                else "an argument is empty"
            )
            raise Refusal(f"{where}; a variable of the shell that is not set is the empty text")


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
