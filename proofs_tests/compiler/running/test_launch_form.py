"""A launch that could not be one is refused when it is read, whatever its text would make of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import relift as rl
from proofs_tests.compiler.programs import typed
from proofs_tests.tampering import resealed
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import LAUNCH, load
from relift.compiler.running.launch import launch_from_json
from relift.compiler.running.launch_form import require_form
from relift.compiler.running.processes.build_child import said_of
from relift.semantics.errors import IllTyped, ReliftError

Plan: TypeAlias = dict[str, Any]

m, k = rl.nat("m"), rl.nat("k")


@typed(x=rl.f32[m, k], w=rl.tup(rl.f32, rl.i32), c=rl.f32)
def weighed(x: Any, w: Any, c: Any) -> Any:
    """Two kernels, a tuple, scalars by value, open sizes."""
    rows = rl.to_global(rl.map_glb(0)(lambda r: rl.reduce_seq(rl.add, c, r), x))
    return rl.map_glb(0)(lambda v: (v * w[0], w[1]), rows)


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A launch with everything in it."""
    return compile_program(weighed).plan.as_json()


def changed(plan: Plan, path: tuple[Any, ...], value: Any) -> Plan:
    """A copy with another value at a place."""
    found = deepcopy(plan)
    at: Any = found
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return found


CHANGES = [
    (("kernels",), [], "has no kernel"),
    (("buffers",), [], "which there is not"),
    (("buffers", 0, "scalar"), "i64", "not those of a value of type"),
    (("buffers", 0, "cells"), 3, "not those of a value of type"),
    (("buffers", 0, "role"), "output", "not those of a value of type"),
    (("buffers", 0, "role"), "anything", "not those of a value of type"),
    (("buffers", 0, "name"), "w_0", "two buffers of one name"),
    (("parameters", 0, "type"), "f32", "not those of a value of type"),
    (("result", "type"), "f32[10]", "not those of a value of type"),
    (("result", "buffers"), ["x"], "not those of a value of type"),
    (("sizes",), {}, "its sizes"),
    (("kernels", 0, "arguments", 0), "nowhere", "is no buffer"),
    (("kernels", 0, "local"), [0], "groups of 0"),
    (("kernels", 0, "local"), ["a"], "groups of a"),
    (("kernels", 0, "local"), [True], "groups of True"),
    (("kernels", 0, "local"), [1, 1], "dimensions"),
    (("kernels", 1, "global"), [], "dimensions"),
    (("kernels", 1, "local_bytes"), -4, "local memory"),
    (("kernels", 1, "turns"), [3], "loops over dimensions"),
]


def names() -> Iterator[str]:
    """A name for each change."""
    return (f"{'.'.join(map(str, path))}={value}" for path, value, _ in CHANGES)


def test_what_the_compiler_makes_is_a_launch(plan: Plan) -> None:
    require_form(launch_from_json(plan), LAUNCH)


@pytest.mark.parametrize(("path", "value", "said"), CHANGES, ids=names())
def test_what_could_be_no_launch_is_refused(
    plan: Plan, path: tuple[Any, ...], value: Any, said: str
) -> None:
    """With what is wrong in it."""
    with pytest.raises(IllTyped, match=f"is no launch: .*{said}"):
        require_form(launch_from_json(changed(plan, path, value)), LAUNCH)


def test_a_folder_with_such_a_launch_is_not_loaded(tmp_path: Path) -> None:
    """Under a fitting manifest, too."""
    folder = compile_program(weighed).save(tmp_path / "folder")
    load(folder)
    data = json.loads((folder / LAUNCH).read_text())
    (folder / LAUNCH).write_text(json.dumps(changed(data, ("kernels",), [])))
    resealed(folder)
    with pytest.raises(IllTyped, match=r"launch\.json is no launch: it has no kernel"):
        load(folder)


def test_a_source_without_its_kernel_is_named() -> None:
    """Not by the driver's word for it."""
    compiled = compile_program(weighed)
    other = compiled.source.replace("void weighed_2(", "void weighed_3(")
    assert other != compiled.source
    with pytest.raises(ReliftError, match="has no kernel weighed_2"):
        replace(compiled, source=other, unchecked=True).session("cpu")


def test_what_a_driver_says_leaves_no_copy_behind(tmp_path: Path) -> None:
    """pyopencl writes the source to a file of its own, which nobody removes."""
    copy = tmp_path / "source.cl"
    copy.write_text("kernel")

    assert said_of(ValueError(f"error: no\n(source saved as {copy})")) == "error: no"
    assert not copy.exists()
    assert said_of(ValueError("error: no")) == "error: no"
