"""Ways through a kernel that data decide on: what is said of them, right or wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proofs_tests.compiler.foreign.at_once import RIGHT, WRONG
from proofs_tests.compiler.foreign.data_decides import DATA_DECIDES, MORE_FAULTS
from proofs_tests.compiler.foreign.test_foreign import doubled
from proofs_tests.compiler.programs import typed
from relift.compiler.foreign.comparison import validate_foreign
from relift.compiler.foreign.groups.launched import ByOthers
from relift.compiler.foreign.inputs import drawn_inputs
from relift.compiler.validation.validate import Report
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32, i32, i64


@pytest.mark.parametrize(("name", "fault"), MORE_FAULTS, ids=str)
def test_other_faults_are_refuted(name: str, fault: tuple[str, str]) -> None:
    """By a cell or by what no kernel may do, with inputs that show it."""
    [k] = [k for k in DATA_DECIDES if k.name == name]
    found = validate_foreign(replace(k, fault=fault).wrong(), k.program())
    assert found.verdict == "refuted", found.text()
    assert found.inputs or found.fault != "values", found.text()


@pytest.mark.parametrize(
    ("body", "verdict", "why"),
    [
        ("float v = x[i]; while (v > 1) v *= 0.5f; y[i] = x[i] * 2;", "unknown", "a loop depends on"),
        ("float v = x[i]; int n = 0; while (v > 1 && n < 9) { v *= 0.5f; n++; } y[i] = x[i] * (n < 10 ? 2 : 3);", "shown", ""),
        ("global const float *p = x + i; if (x[i] > 0) p = x; y[i] = (x[i] > 0 ? p[i] : p[0]) * 2;", "shown", ""),
        ("global const float *p = x[i] > 0 ? x : x + 1; y[i] = (x[i] > 0 ? p[i] : p[i]) * 2;", "refuted", ""),
        ("float a[1], b[1]; float *p = x[i] > 0 ? a : b; *p = x[i]; y[i] = (x[i] > 0 ? a[0] : b[0]) * 2;", "shown", ""),
        ("float a[1], b[1]; float *p = x[i] > 0 ? a : b; *p = x[i]; y[i] = (x[i] > 1 ? a[0] : b[0]) * 2;", "refuted", "not written"),
        ("float4 a = (float4)(x[i]), b = a + a; float v[4], w[4]; vstore4(a, 0, v); vstore4(b, 0, w); float *p = x[i] > 0 ? v : w; float4 q = vload4(0, p); y[i] = x[i] > 0 ? q.x * 2 : q.y;", "shown", ""),
        ("local int a[1], b[1]; if (i % 4 == 0) a[0] = b[0] = 0; barrier(CLK_LOCAL_MEM_FENCE); local int *p = x[i] > 0 ? a : b; atomic_inc(p); barrier(CLK_LOCAL_MEM_FENCE); y[i] = a[0] + b[0] == 4 ? x[i] * 2 : 0;", "shown", ""),
        ("float a[2]; if (x[i] > 0) a[0] = x[i]; else a[1] = x[i]; y[i] = (x[i] > 0 ? a[0] : a[1]) * 2;", "shown", ""),
        ("float a[2]; if (x[i] > 0) a[0] = x[i]; else a[1] = x[i]; y[i] = (x[i] > 1 ? a[0] : a[1]) * 2;", "refuted", "not written"),
        ("float a[1]; if (x[i] > 0) a[0] = x[i]; if (x[i] > 1) a[0] = 0; if (x[i] > 0) y[i] = a[0] * 2; else y[i] = x[i] * 2;", "refuted", "instead of"),
        ("float a[1]; if (x[i] > 0) a[0] = 1; if (x[i] > 1) a[0] = x[i]; a[0] = x[i]; y[i] = a[0] * 2;", "shown", ""),
        ("int k = x[i] > 0 ? 0 : 1; float a[2] = {x[i], x[i]}; y[i] = a[k] + a[1 - k];", "shown", ""),
        ("int k = x[i] > 0 ? 0 : 1; float a[2] = {x[i], x[i]}; y[i] = a[k] + a[k + 1];", "refuted", "a[2] of 2"),
        ("int k = x[i] > 0 ? 0 : 1; float a[2] = {x[i], 0}; if (k <= 0) y[i] = a[k] + a[k]; else y[i] = x[i] + a[k - 1];", "shown", ""),
        ("int k = 0; k += x[i] > 0; k += x[i] > 1; float a[3][1] = {x[i], x[i], x[i]}; y[i] = a[k][0] * 2;", "shown", ""),
        ("uint k = x[i] > 0; float a[2] = {x[i], x[i]}; y[i] = a[k - 1u] * 2;", "refuted", "bounds"),
        ("int n = 0; if (x[i] > 0 || (n = 1)) n++; y[i] = n ? x[i] * 2 : 0;", "shown", ""),
        ("for (int k = 0; ; k++) { if (x[k] > 0 || k == 7) { y[i] = x[i] * 2; break; } }", "shown", ""),
        ("for (int k = 0; k < 8; k++) { if (x[k] > 0) { y[i] = x[i] * 2; break; } }", "refuted", "not written"),
        ("do { if (x[i] > 0) break; if (x[i] > -1) continue; } while (0); y[i] = x[i] * 2;", "shown", ""),
        ("if (x[i] > 0) { y[i] = x[i] * 2; return; } barrier(CLK_LOCAL_MEM_FENCE); y[i] = x[i] * 2;", "refuted", "barrier"),
        ("if (x[i] > 0) y[0] = 1; y[i] = x[i] * 2;", "refuted", "out[0] is written by"),
    ],
)  # fmt: skip
def test_what_is_said_where_data_decide(body: str, verdict: str, why: str) -> None:
    """Cells that are written on some ways only, numbers that are one of a few, ways that end."""
    found = doubled(body)
    assert found.verdict == verdict, found.text()
    assert why in found.text() or why == found.fault


def test_inputs_that_a_solver_finds_can_be_drawn() -> None:
    """So a device can be given them."""
    [k] = [k for k in DATA_DECIDES if k.name == "bool arr"]
    found = validate_foreign(k.wrong(), k.program())
    assert "x[7] = -1.0" in found.inputs
    assert drawn_inputs(k.program(), found.inputs)["x"] == [0] * 7 + [-1.0] + [0] * 8


@pytest.mark.parametrize("n", ["n", "n[1]"])
@pytest.mark.parametrize(("number", "verdict"), [("5000000000", "shown"), ("705032704", "refuted")])
def test_numbers_that_are_chosen_keep_their_type(number: str, verdict: str, n: str) -> None:
    """No 64 bits are lost where two ways meet."""

    @typed(x=f32[4])
    def large(x: Any) -> Any:
        return rl.map(lambda v: rl.select(v > 0.0, i64(5000000000), i64(1)), x)

    cell = n.replace("1", "0")
    text = (
        "kernel void k(global const float *x, global long *y) { int i = get_global_id(0); "
        f"long {n}; {cell} = 1; if (x[i] > 0) {cell} = {number}; y[i] = {cell}; }}"
    )
    found = validate_foreign(ByOthers(text, "k", (4,), (4,)), large)
    assert found.verdict == verdict, found.text()


@typed(n=i32[8], x=f32[8])
def beside_numbers(n: Any, x: Any) -> Any:
    """Twice each element; n only says who does what."""
    return rl.map(lambda v: v * 2.0, x)


def said_of(body: str) -> Report:
    """What is said of a kernel for `beside_numbers` with this body."""
    text = f"kernel void k(global const int *n, global const float *x, global float *y) {{ int i = get_global_id(0); {body} }}"
    return validate_foreign(ByOthers(text, "k", (8,), (4,)), beside_numbers)


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_never_happens_at_once_is_no_race(body: str) -> None:
    """A refutation would be wrong; all of these are even validated, for all numbers."""
    found = said_of(body)
    assert found.verdict == "shown", found.text()
    assert not any("drawn" in note for note in found.notes), found.text()


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_what_may_happen_at_once_is_shown_by_inputs(body: str) -> None:
    """They are named, so that they can be drawn again, and a device can be given them."""
    found = said_of(body)
    assert found.verdict == "refuted", found.text()
    assert found.inputs, found.text()
    drawn = drawn_inputs(beside_numbers, found.inputs)
    assert [len(row) for row in drawn.values()] == [8, 8]
