"""Planted faults: every class of fault in a kernel or its launch is found by running the text on symbols."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from proofs_tests.compiler.faults import Planted, planted
from proofs_tests.compiler.programs import made
from proofs_tests.compiler.texts import BARRIER
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.launch import Launch
from relift.compiler.text.reader import read_source
from relift.compiler.validation.validate import validate

# Two groups of two work-items at least in each dimension, or an error in a number of a work-item has no effect.
PROGRAMS: dict[str, tuple[tuple[int, ...], tuple[int, ...] | None]] = {
    "transposed_by_tiles": ((12, 8), None),
    "tree": ((32,), None),
    "dot": ((2, 6, 36), (2,)),
    "matmul": ((4, 4, 6), (2, 2)),
    "matvec": ((6, 4), (2,)),
    "stencil_clamp": ((12,), (2,)),
    "stencil_in_two_dimensions": ((4, 6), (2, 2)),
    "iterated_in_local_memory": ((3, 8), None),
    "private_array": ((16,), (2,)),
    "two_maps": ((18,), (2,)),
    "loop_over_tiles": ((64,), None),
    "tiles_fetched_ahead": ((64,), None),
    "sums_twice": ((128,), (2,)),
    "tiles_in_registers": ((2, 2, 2), None),
    "integers": ((16,), (2,)),
    "sums_in_registers": ((3, 4), None),
    "pairs_in_registers": ((4, 4), (2,)),
    "saxpy": ((18,), (2,)),
}

EQUIVALENT = {
    "tree_1 (10, 'condition', 'right'): 3",
    "tree_1 (10, 'condition'): lcl_0 <= 2",
    (
        "tiles_fetched_ahead_1 (4, 'body', 2, 'body', 1, 'body', 0, 'value', 'arguments', 0, 'right', 'arguments', 0, "
        "'index', 'left', 'right', 'left'): i - 1"
    ),
}
"""Faults that change nothing: a work-item more writes a cell that nobody reads, or `i - 1` is even where `i + 1` is."""


def equivalent(fault: Planted, source: str) -> bool:
    """Whether a fault changes nothing: it is listed, makes groups smaller of which no kernel knows, or swaps factors."""
    if fault.kind == "launch: smaller groups":
        return "get_local_id" not in source and "get_group_id" not in source
    if fault.kind == "launch: arguments swapped":
        first = fault.launch.kernels[0]
        return first.name == "dot_1" and first.arguments[:2] == ("y", "x")
    return fault.where in EQUIVALENT


def compiled(name: str) -> Compiled:
    """A program of the table at its sizes, in groups of its size."""
    sizes, local = PROGRAMS[name]
    return compile_program(made(name, *sizes), local=local)


def faults_of(name: str) -> list[Planted]:
    """Up to eight faults of each class in a program, from one seed."""
    k = compiled(name)
    return planted(read_source(k.source), k.plan, each=8, seed=1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_planted_fault_is_found(name: str) -> None:
    """All are refuted or not understood but those that change nothing, and these are shown to be right."""
    k, program = compiled(name), made(name, *PROGRAMS[name][0])
    assert validate(k.source, k.plan, program).ok
    for fault in faults_of(name):
        report = validate(fault.source, fault.launch, program)
        assert report.ok == equivalent(fault, k.source), (fault.kind, fault.where, report)


def test_there_are_faults_of_every_class() -> None:
    """More than five hundred, of all classes that are known."""
    kinds = Counter(fault.kind for name in PROGRAMS for fault in faults_of(name))
    assert kinds.total() > 500
    assert len(kinds) == 24, sorted(kinds)


Edit = tuple[str, tuple[int, ...], str, str]

# The bugs that a review planted in the kernels of the compiler, by what they change.
REVIEWED: dict[str, Edit] = {
    "barrier dropped": ("transposed_by_tiles", (12, 8), BARRIER, ""),
    "wrong fence": ("transposed_by_tiles", (12, 8), "CLK_LOCAL", "CLK_GLOBAL"),
    "swapped strides": (
        "transposed_by_tiles", (12, 8), "12*lcl_1 + 4*wrg_0 + lcl_0]", "12*lcl_0 + 4*wrg_0 + lcl_1]",
    ),
    "tile read untransposed": (
        "transposed_by_tiles", (12, 8), "tile[4*lcl_0 + lcl_1];", "tile[4*lcl_1 + lcl_0];",
    ),
    "off by one in local memory": (
        "transposed_by_tiles", (12, 8), "tile[4*lcl_0 + lcl_1];", "tile[4*lcl_0 + lcl_1 + 1];",
    ),
    "off by one in global memory": ("matmul", (4, 4, 6), "a[4*glb_1 + i]", "a[4*glb_1 + i + 1]"),
    "loop one short": ("matmul", (4, 4, 6), "i < 4", "i < 3"),
    "loop one long": ("matmul", (4, 4, 6), "i < 4", "i < 5"),
    "guard dropped": ("tree", (48,), "if (lcl_0 < 8) {", "if (lcl_0 < 16) {"),
    "guard too tight": ("tree", (48,), "if (lcl_0 < 8) {", "if (lcl_0 < 7) {"),
    "overlapping writes": ("matmul", (4, 4, 6), "out[6*glb_1 + glb_0]", "out[6*glb_1 + glb_0/2]"),
    "accumulator not initialised": ("matmul", (4, 4, 6), "float acc = 0.0f;", "float acc;"),
    "local cell not initialised": (
        "transposed_by_tiles", (12, 8), "tile[4*lcl_1 + lcl_0] =", "if (lcl_0 < 3) { tile[4*lcl_1 + lcl_0] =",
    ),
    "misaligned vector": ("dot", (2, 5, 30), "(x + 6*glb_0 + 2*i)", "(x + 6*glb_0 + 2*i + 1)"),
    "vector past the end": ("dot", (2, 5, 30), "i < 3", "i < 4"),
    "barrier in divergent flow": ("tree", (48,), "if (lcl_0 < 8) {", "if (lcl_0 < 8) { " + BARRIER),
    "turns that differ around a barrier": ("iterated_in_local_memory", (3, 8), "i < 3;", "i < 3 + lcl_0;"),
    "exchange forgotten": ("iterated_in_local_memory", (3, 8), "old = new;", ""),
    "clamp dropped": ("stencil_clamp", (32,), "max(glb_0 - 1, 0)", "glb_0 - 1"),
    "clamp on the wrong side": ("stencil_clamp", (32,), "min(glb_0 + 1, 31)", "min(glb_0 + 1, 30)"),
    "wrong operator": ("matmul", (4, 4, 6), "* b[", "+ b["),
    "wrong constant": ("stencil_clamp", (32,), "2.0f", "2.5f"),
    "tile made private": ("transposed_by_tiles", (12, 8), "local float tile[16]", "float tile[16]"),
    "tile too small": ("transposed_by_tiles", (12, 8), "local float tile[16]", "local float tile[15]"),
    "other required group": (
        "transposed_by_tiles", (12, 8), "reqd_work_group_size(4, 4, 1)", "reqd_work_group_size(2, 8, 1)",
    ),
    "last element missing": ("stencil_clamp", (32,), "out[glb_0] = ", "if (glb_0 < 31) { out[glb_0] = "),
    "barrier behind a spliced comment": ("transposed_by_tiles", (12, 8), BARRIER, "// wait \\\n" + BARRIER),
    "counter without sign": (
        "stencil_clamp", (32,), "out[glb_0] = ",
        "for (uint i = 0; i < 1; ++i) { if (i - 1 >= 0) { out[glb_0] = x[i - 1]; } } out[glb_0] = ",
    ),
    "stale guard": (
        "stencil_clamp", (32,), "out[glb_0] = ",
        "int t[1]; t[0] = 0; if (t[0] < 8) { t[0] = 9; if (!(t[0] < 8)) { out[5000] = 1.0f; } } out[glb_0] = ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REVIEWED)
def test_the_bugs_that_a_review_planted_are_found(name: str) -> None:
    """Each is refuted by its text alone, or not understood; none is certified or shown."""
    family, sizes, before, after = REVIEWED[name]
    program = made(family, *sizes)
    k = compile_program(program)
    assert before in k.source
    source = k.source.replace(before, after, 1)
    if "{" in after and "}" not in after and "{" not in before:
        source = re.sub(rf"({re.escape(after)}[^;]*;)", r"\1 }", source, count=1)
    assert not validate(source, k.plan, program).ok


LAUNCHES: dict[str, tuple[str, tuple[int, ...], Callable[[Launch], Launch]]] = {
    "kernels in the wrong order": (
        "dot", (2, 5, 30), lambda plan: replace(plan, kernels=plan.kernels[::-1])
    ),
    "a kernel that is not launched": (
        "dot", (2, 5, 30), lambda plan: replace(plan, kernels=plan.kernels[:1])
    ),
    "too few work-items": (
        "matmul", (4, 4, 6),
        lambda plan: replace(
            plan, kernels=tuple(replace(k, total=(k.total[0] - 1, *k.total[1:])) for k in plan.kernels)
        ),
    ),
    "a buffer too small": (
        "dot", (2, 5, 30),
        lambda plan: replace(
            plan,
            buffers=tuple(
                replace(b, cells=b.cells - 1) if b.role == "temporary" else b for b in plan.buffers
            ),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAUNCHES)
def test_the_wrong_launches_of_a_review_are_found(name: str) -> None:
    """The launch is judged as the text is."""
    family, sizes, edit = LAUNCHES[name]
    program = made(family, *sizes)
    k = compile_program(program)
    report = validate(k.source, edit(k.plan), program)
    assert report.verdict == "refuted", report.text()
