"""No module needs, directly or by way of others, a module that needs it: imports inside functions count, too."""

from __future__ import annotations

import pkgutil
from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

import relift
from relift.display.displayed import Displayed
from relift.semantics.syntax import overloading


def cycle(needed: Mapping[str, Collection[str]]) -> list[str]:
    """A way along needed modules from one back to itself, or nothing."""
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_module_needs_itself() -> None:
    """What is only named in types is left out; what a function imports when it runs is not."""
    graph = grimp.build_graph(relift.__name__, exclude_type_checking_imports=True, cache_dir=None)
    needed = {m: graph.find_modules_directly_imported_by(m) for m in graph.modules}

    assert not cycle(needed), "define the upper part above, or have it given to the lower one"
    assert len(needed) > 400
    assert any("coercion" in m for m in needed["relift.semantics.language.tracing"])


@pytest.mark.parametrize(
    ("needed", "found"),
    [({"a": ["b"], "b": ["c"]}, []), ({"a": ["b"], "b": ["c"], "c": ["a"]}, ["a", "b", "c"])],
)
def test_a_cycle_is_seen(needed: dict[str, list[str]], found: list[str]) -> None:
    """However many modules it goes through."""
    assert sorted(set(cycle(needed))) == found


def test_what_shows_a_class_is_there() -> None:
    """Displays stand above the classes that they show, which name them by a text."""
    for part in ("semantics", "rewrites", "egraph", "compiler"):
        for found in pkgutil.walk_packages([f"{relift.__path__[0]}/{part}"], f"relift.{part}."):
            if found.name.rpartition(".")[2] == "displays":
                pkgutil.resolve_name(found.name)
    named = [c.shown_by for c in Displayed.__subclasses__() if "shown_by" in vars(c)]

    assert len(named) >= 12
    assert all(callable(pkgutil.resolve_name(name)) for name in named)


def test_what_notation_means_is_there() -> None:
    """Of each name that types and terms ask for, the definition is found above them."""
    given = list(overloading.__annotations__)

    assert {"scalar", "component", "combined"} <= set(given)
    assert all(callable(getattr(overloading, name)) for name in given)
