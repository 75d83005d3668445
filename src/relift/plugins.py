"""What other packages add to Relift: entry points of the groups `relift.rules`, `relift.patterns` and so on.

A package declares them in its `pyproject.toml`, and has installed them when it is installed:

    [project.entry-points."relift.rules"]
    evens = "relift_evens.rules"

Each is loaded when its group is first asked for.  One that fails to load, or is not what its group holds, is skipped:
one line on standard error names it, its package and the reason, and `relift doctor` ends with status 1.  Nothing that a
plug-in brings is believed for that: its rules are checked before a search uses them, its devices pass the self-test.
`examples/plugin` is such a package.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from typing import Any, Literal, TypeAlias

Group: TypeAlias = Literal["patterns", "rules", "idioms", "devices", "backends", "schedulers"]

GROUPS: Mapping[str, str] = {
    "patterns": "a module that defines patterns",
    "rules": "a module that defines rules",
    "idioms": "a relift.extending.idioms.Idioms",
    "devices": "a relift.device.DeviceDescription",
    "backends": "a module with a BACKEND, or a relift.extending.backends.Backend",
    "schedulers": "a strategy, made by the functions of relift.strategies",
}
"""Every group, and what its entry points name."""

OFF = "RELIFT_PLUGINS"
"""The variable that is `off` where no plug-in is to be loaded."""

PREFIX = "plugin:"
"""How the command line names a plug-in where it takes a file, too."""


@dataclass(frozen=True)
class Plugin:
    """One entry point: its name, the package that it is of, and what it names, or why that is not used."""

    group: str
    name: str
    package: str
    value: Any = None
    failure: str = ""

    def __str__(self) -> str:
        return f"the plug-in {self.name} ({self.group}) of {self.package}"


AWAITED: dict[str, Callable[[Any], None]] = {}
"""By the name of a module of patterns that is just being imported, and so imports Relift: who takes its patterns."""

_judged: dict[str, tuple[Plugin, ...]] = {}
_loading: set[str] = set()
"""The groups whose plug-ins are just being imported."""


@cache
def _entry_points() -> tuple[tuple[metadata.EntryPoint, str], ...]:
    """All entry points of Relift's groups, each with its package, in the order of their names."""
    if os.environ.get(OFF) == "off":
        return ()
    found = {
        (point.group, point.name, str(each.name)): point
        for each in metadata.distributions()
        for point in each.entry_points
        if point.group.startswith("relift.")
    }
    return tuple((point, package) for (_, _, package), point in sorted(found.items()))


def plugins(group: Group, unfit: Callable[[Any], str | None]) -> tuple[Plugin, ...]:
    """The plug-ins of a group, those that failed among them; `unfit` says what is wrong with a value.

    A plug-in that asks for its own group while it is imported finds it empty.
    """
    if group in _loading:
        return ()
    if group not in _judged:
        _loading.add(group)
        found: list[Plugin] = []
        for point, package in _entry_points():
            if point.group == f"relift.{group}":
                taken = next((p for p in found if p.name == point.name and not p.failure), None)
                found.append(_loaded(Plugin(group, point.name, package), point, unfit, taken))
        _judged[group] = tuple(found)
        _loading.discard(group)
        for plugin in found:
            if plugin.failure:
                print(f"relift: {plugin} is skipped: {plugin.failure}", file=sys.stderr)
    return _judged[group]


def working(group: Group, unfit: Callable[[Any], str | None]) -> dict[str, Any]:
    """What the plug-ins of a group name that can be used, by their names."""
    return {p.name: p.value for p in plugins(group, unfit) if not p.failure}


def judged() -> tuple[Plugin, ...]:
    """All plug-ins of the groups that were asked for until now.

    >>> from relift.plugins import GROUPS, judged
    >>> {plugin.group for plugin in judged()} <= {*GROUPS}
    True
    """
    return tuple(plugin for group in GROUPS for plugin in _judged.get(group, ()))


def unknown_groups() -> tuple[Plugin, ...]:
    """Entry points of groups that there are not, as of a plug-in that is misspelt or newer than this Relift."""
    return tuple(
        Plugin(
            point.group.removeprefix("relift."),
            point.name,
            package,
            failure=f"there is no group {point.group}; there are: {', '.join(f'relift.{g}' for g in GROUPS)}",
        )
        for point, package in _entry_points()
        if point.group.removeprefix("relift.") not in GROUPS
    )


def _loaded(
    plugin: Plugin,
    point: metadata.EntryPoint,
    unfit: Callable[[Any], str | None],
    taken: Plugin | None,
) -> Plugin:
    if taken is not None:
        return replace(plugin, failure=f"{taken.package} has one of that name")
    try:
        value = point.load()
        wrong = unfit(value)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever the code of others raises
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return replace(plugin, failure=said[:300])
    if wrong is not None:
        return replace(plugin, failure=f"{wrong}; it must name {GROUPS[plugin.group]}")
    return replace(plugin, value=value)
