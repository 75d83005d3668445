"""Certificates: right kernels are proved, wrong ones never are, and what is unknown is said to be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.compiler.programs import CASES, Case, made, typed
from proofs_tests.compiler.texts import BARRIER
from proofs_tests.portions import portioned
from relift.compiler.bench.benchmarks import Benchmark, load_benchmarks
from relift.compiler.certificates.certificate import Certificate
from relift.compiler.certificates.claims import certificates, certify
from relift.compiler.certificates.effort import Effort
from relift.compiler.certificates.work_items import Grid
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.text.reader import read_expression, read_kernels
from relift.compiler.text.tree import Expression, Whole
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32, i32


@dataclass(frozen=True)
class Written:
    """A kernel with this body, whose inputs are `x`, `y` and `ids`; the other buffers it may write."""

    body: str
    cells: Mapping[str, str]
    groups: Sequence[str]
    local: Sequence[str]
    sizes: Sequence[str] = ()

    def certificate(self) -> Certificate:
        """Its certificate, for all sizes that are at least 1."""

        def declared(name: str) -> str:
            t = "int" if name == "ids" else "float"
            constant = "const " if name in ("x", "y", "ids") else ""
            return f"global {constant}{t}* restrict {name}"

        def numbers(texts: Sequence[str]) -> tuple[Expression, ...]:
            return tuple(map(read_expression, texts))

        parameters = ", ".join(map(declared, self.cells))
        [kernel] = read_kernels(f"kernel void k({parameters}) {{ {self.body} }}")
        cells = {name: read_expression(n) for name, n in self.cells.items()}
        grid = Grid(numbers(self.groups), numbers(self.local))
        return certify(kernel, cells, grid, dict.fromkeys(self.sizes, 1))


def failures(found: Sequence[Certificate]) -> list[str]:
    """The claims that are not proved."""
    return [" ".join(c.row()[:3]) for f in found for c in f.claims if c.verdict != "proved"]


# ---- right kernels


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_every_kernel_of_the_tests_is_certified(case: Case) -> None:
    """All claims at the large size, but for cells that another turn writes; those are shown at the small sizes."""
    small = case.small if case.name in NOT_COUNTED else case.small[:1]
    for sizes in (*small, case.large):
        found = certificates(compile_program(case.make(*sizes)))
        assert all(f.claims for f in found)
        not_counted = {line.split()[0] for line in failures(found)}
        assert not_counted <= {"initialised"} if case.name in NOT_COUNTED else not not_counted


NOT_COUNTED = {
    "padded_rows", "iterated_in_local_memory", "iterated_in_a_loop", "read_after_other_arrays",
    "pairs_iterated_in_local_memory",
}  # fmt: skip
"""The families with local memory that is read after another turn wrote it, or whose rows are padded on the left."""

LOW_LEVEL = load_benchmarks(Path(__file__).parents[3] / "examples" / "low_level", [], "gpu")
DATA = {
    "md": [
        "bounds read atoms[4*neighbours[73728*i + glb_0]] and 3 more unknown: the index depends on data"
    ],
}
"""What is not proved of the kernels that are timed, by name: neighbours that are data."""


@portioned("b", {b.name: b for b in LOW_LEVEL}, set(DATA) | {b.name for b in LOW_LEVEL[::2]})
def test_timed_kernels_are_certified(b: Benchmark) -> None:
    """The kernels of examples/low_level at the sizes at which they are timed, in one variant each."""
    found = certificates(compile_program(b.at(b.variants[0])))
    assert [line.split(": write")[0] for line in failures(found)] == DATA.get(b.name, [])


IDS = "const int g = get_global_id(0); const int h = get_global_id(1); "
GROUPS = "const int w = get_group_id(0); const int l = get_local_id(0); "

FOR_ALL_SIZES = {
    "Figure 6 of LIFT": Written(
        GROUPS + "out[l*n + w] = x[w*m + l];", {"x": "n*m", "out": "n*m"}, ["n"], ["m"], "nm"
    ),
    "matrix product": Written(
        IDS + "for (int i = 0; i < k; ++i) { out[h*m + g] = x[h*k + i] * y[i*m + g]; }",
        {"x": "n*k", "y": "k*m", "out": "n*m"},
        ["m", "n"],
        ["1", "1"],
        "nmk",
    ),
    "three digits": Written(
        IDS + "for (int c = 0; c < k; ++c) { out[(c*m + h)*n + g] = x[g*m*k + h*k + c]; }",
        {"x": "n*m*k", "out": "n*m*k"},
        ["n", "m"],
        ["1", "1"],
        "nmk",
    ),
    "transposition by quotient and remainder": Written(
        IDS + "out[(g % n)*m + g / n] = x[g];", {"x": "n*m", "out": "n*m"}, ["n*m"], ["1"], "nm"
    ),
    "a guard where there are more work-items than elements": Written(
        IDS + "if (g < n) { out[g] = x[g]; }", {"x": "n", "out": "n"}, ["(n + 63)/64"], ["64"], "n"
    ),
    "tiles in turn": Written(
        GROUPS + "local float tile[64]; for (int t = 0; t < n; ++t) { tile[l] = x[64*t + l]; "
        "barrier(CLK_LOCAL_MEM_FENCE); out[64*n*w + 64*t + l] = tile[63 - l]; "
        "barrier(CLK_LOCAL_MEM_FENCE); }",
        {"x": "64*n", "out": "64*m*n"},
        ["m"],
        ["64"],
        "nm",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOR_ALL_SIZES)
def test_index_maps_are_certified_for_all_sizes(name: str) -> None:
    """Sizes that stay symbolic: the indices are products, quotients and remainders of variables."""
    found = FOR_ALL_SIZES[name].certificate()
    assert failures([found]) == []
    assert found.summary().endswith("; all sizes")


# ---- wrong kernels


TILE = (
    GROUPS + "local float tile[8]; for (int t = 0; t < 4; ++t) { tile[l] = x[8*t + l]; "
    "barrier(CLK_LOCAL_MEM_FENCE); out[32*w + 8*t + l] = tile[7 - l]; "
    "barrier(CLK_LOCAL_MEM_FENCE); }"
)
X32: dict[str, str] = {"x": "32", "out": "64"}


def without(text: str, part: str, which: int) -> str:
    """The text without one occurrence of a part."""
    at = [m.start() for m in re.finditer(re.escape(part), text)][which]
    return text[:at] + text[at + len(part) :]


SWAP = (
    GROUPS + "local float a[8]; local float b[8]; a[l] = x[l]; barrier(CLK_LOCAL_MEM_FENCE); "
    "local float* old = a; local float* new = b; for (int i = 0; i < 3; ++i) { "
    "new[l] = old[7 - l]; barrier(CLK_LOCAL_MEM_FENCE); "
    "local float* const held = old; old = new; new = held; } out[l] = old[(l + 1) % 8];"
)

WRONG: dict[str, tuple[Written, str]] = {
    "no barrier after the writes": (
        Written(without(TILE, BARRIER, 0), X32, ["2"], ["8"]),
        r"races write tile\[lcl_0\] / read tile.* refuted: wrg_0 = \d, .*t = \d, lcl_0' = \d, t' = \d",
    ),
    "no barrier before the next turn overwrites": (
        Written(without(TILE, BARRIER, 1), X32, ["2"], ["8"]),
        r"races read tile\[7 - lcl_0\] / write tile\[lcl_0\] refuted: .*t = 0.*t' = 1",
    ),
    "a barrier that orders other memory": (
        Written(TILE.replace("LOCAL", "GLOBAL"), X32, ["2"], ["8"]),
        r"races write tile\[lcl_0\] / read",
    ),
    "a barrier that some work-items skip": (
        Written(TILE.replace(BARRIER, f"if (l < 4) {{ {BARRIER} }}"), X32, ["2"], ["8"]),
        r"barriers reached by the whole group refuted: .*lcl_0' = [4-7]",
    ),
    "a barrier that some skip at the second condition": (
        Written(TILE.replace(BARRIER, f"if (l < 8) {{ if (l > 0) {{ {BARRIER} }} }}"), X32, ["2"], ["8"]),
        r"barriers reached by the whole group refuted: .*lcl_0' = 0",
    ),
    "a barrier where data says so": (
        Written(TILE.replace(BARRIER, f"if (x[l] < 4.0f) {{ {BARRIER} }}"), X32, ["2"], ["8"]),
        r"barriers reached by the whole group unknown: in a loop or a condition that depends on",
    ),
    "a barrier in a loop of differing lengths": (
        Written(
            TILE.replace(BARRIER, f"for (int q = 0; q < l; ++q) {{ {BARRIER} }}"), X32, ["2"], ["8"]
        ),
        r"barriers reached by the whole group unknown: in a loop or a condition that depends on",
    ),
    "one cell too far": (
        Written(IDS + "out[g] = x[g + 1];", {"x": "8", "out": "8"}, ["8"], ["1"]),
        r"bounds read x\[glb_0 \+ 1\] refuted: glb_0 = 7",
    ),
    "one cell before": (
        Written(IDS + "out[g] = x[g - 1];", {"x": "8", "out": "8"}, ["8"], ["1"]),
        r"bounds read x\[glb_0 - 1\] refuted: glb_0 = 0",
    ),
    "a guard that lets one more in": (
        Written(IDS + "out[g] = g - 1 >= -1 ? x[g - 1] : 0.0f;", {"x": "8", "out": "8"}, ["8"], ["1"]),
        r"bounds read x\[glb_0 - 1\] refuted: glb_0 = 0",
    ),
    "the wrong branch": (
        Written(IDS + "out[g] = g < 4 ? 0.0f : x[g];", {"x": "4", "out": "8"}, ["8"], ["1"]),
        r"bounds read x\[glb_0\] refuted: glb_0 = [4-7]",
    ),
    "no guard where there are more work-items than elements": (
        Written(IDS + "out[g] = x[g];", {"x": "n", "out": "n"}, ["(n + 63)/64"], ["64"], "n"),
        r"bounds write out\[glb_0\] refuted: n = \d+, glb_0 = \d+",
    ),
    "two work-items write one cell": (
        Written(IDS + "out[g / 2] = x[g];", {"x": "8", "out": "8"}, ["8"], ["1"]),
        r"races write out\[glb_0 / 2\] refuted: glb_0 = \d, glb_0' = \d",
    ),
    "all work-items write one cell": (
        Written("out[0] = 0.0f;", {"out": "1"}, ["8"], ["1"]),
        r"races write out\[0\] refuted: glb_0 = \d, glb_0' = \d",
    ),
    "a cell is read that another work-item writes": (
        Written(IDS + "out[g] = out[7 - g];", {"out": "8"}, ["8"], ["1"]),
        r"races read out\[7 - glb_0\] / write out\[glb_0\] refuted",
    ),
    "vectors that overlap": (
        Written(IDS + "vstore4((float4)(0.0f), 0, out + 2*g);", {"out": "32"}, ["8"], ["1"]),
        r"races write out\[2\*glb_0 \+ 0\*4\] and 3 more refuted",
    ),
    "a vector that is not aligned": (
        Written(
            IDS + "*(global float4*)(out + 4*g + 2) = (float4)(0.0f);", {"out": "34"}, ["8"], ["1"]
        ),
        r"bounds write out\[4\*glb_0 \+ 2\] and 3 more refuted: not aligned at glb_0 = 0",
    ),
    "a vector that leaves its buffer": (
        Written(IDS + "out[g] = vload4(0, x + g).s0;", {"x": "10", "out": "8"}, ["8"], ["1"]),
        r"bounds read x\[glb_0 \+ 0\*4\] and 3 more refuted: glb_0 = 7",
    ),
    "an index that overflows": (
        Written(IDS + "out[(g*65536)/65536] = 0.0f;", {"out": "40000"}, ["40000"], ["1"]),
        r"bounds .* refuted: an index overflows at glb_0 = \d+",
    ),
    "a counter that overflows": (
        Written(
            "for (int i = 0; i < 2000000000; i += 900000000) { out[i] = 0.0f; }",
            {"out": "2000000000"}, ["1"], ["1"],
        ),
        r"bounds write out\[i\] refuted: an index overflows at glb_0 = 0, i = 1800000000",
    ),
    "a constant without a sign": (
        Written(
            IDS + "if (g - 1u < 4) { out[g] = 0.0f; }", {"out": "5"}, ["8"], ["1"]
        ),
        r"bounds write out\[glb_0\] unknown: the index depends on data",
    ),
    "rows and columns exchanged": (
        Written(GROUPS + "out[l*m + w] = 0.0f;", {"out": "n*m"}, ["n"], ["m"], "nm"),
        r"races write out\[lcl_0\*m \+ wrg_0\] refuted: n = \d+, m = \d+",
    ),
    "division in C rounds towards zero": (
        Written(IDS + "out[(g - 1)/2 + 1] = 0.0f;", {"out": "2"}, ["2"], ["1"]),
        r"races write out\[\(glb_0 - 1\) / 2 \+ 1\] refuted",
    ),
    "two arrays that are not exchanged": (
        Written(SWAP.replace("old = new;", ""), {"x": "8", "out": "8"}, ["1"], ["8"]),
        r"races the whole kernel unknown: .* a loop that never sets its pointers back",
    ),
    "one array under both names": (
        Written(SWAP.replace("new = b", "new = a"), {"x": "8", "out": "8"}, ["1"], ["8"]),
        r"races read a\[7 - lcl_0\] / write a\[lcl_0\] refuted",
    ),
    "exchanged arrays and no barrier": (
        Written(without(SWAP, BARRIER, 1), {"x": "8", "out": "8"}, ["1"], ["8"]),
        r"races write b\[lcl_0\] / read b\[7 - lcl_0\] refuted",
    ),
    "a loop that goes down": (
        Written("for (int i = 0; i < 8; i += -1) { out[i] = 0.0f; }", {"out": "8"}, ["1"], ["1"]),
        r"bounds the whole kernel unknown: .* a loop by -1, which is not known to be above 0",
    ),
    "a loop that goes down at one size": (
        Written(
            "for (int i = 0; i < n; i += n - 2) { out[i] = 0.0f; }", {"out": "n"}, ["1"], ["1"], "n"
        ),
        r"bounds the whole kernel unknown: .* a loop by n - 2, which is not known to be above 0",
    ),
    "a barrier in a loop that goes down": (
        Written(
            GROUPS + f"for (int i = 0; i < 8; i += -1) {{ {BARRIER} }} out[l] = 0.0f;",
            {"out": "8"}, ["1"], ["8"],
        ),
        r"bounds the whole kernel unknown: .* a loop by -1, which is not known to be above 0",
    ),
    "the same tile for both halves of a group": (
        Written(
            GROUPS + "local float tile[4]; tile[l % 4] = 0.0f;", {"out": "1"}, ["1"], ["8"]
        ),
        r"races write tile\[lcl_0 % 4\] refuted: wrg_0 = 0, lcl_0 = \d, lcl_0' = \d",
    ),
}  # fmt: skip


def test_pointers_that_turns_exchange() -> None:
    """One barrier a turn is enough for two arrays; after three turns, `old` is the second one."""
    found = Written(SWAP, {"x": "8", "out": "8"}, ["1"], ["8"]).certificate()
    assert failures([found]) == []
    assert "read b[(lcl_0 + 1) % 8]" in [c.subject for c in found.claims]


FILLED = GROUPS + "local float tile[8]; tile[l] = x[l]; "
WAITS = "barrier(CLK_LOCAL_MEM_FENCE); "
READS_TILE = "out[8*w + l] = tile[7 - l]; "
SKIPPED = {
    "where it was skipped": (FILLED + f"if (w < 2) {{ {WAITS} }} if (!(w < 2)) {{ {WAITS} }} {READS_TILE}", None),
    "where it was not skipped": (FILLED + f"if (w < 2) {{ {WAITS} }} if (w < 2) {{ {READS_TILE} }}", None),
    "in a loop that runs": (FILLED + f"for (int i = 0; i < n; ++i) {{ {WAITS} }} {READS_TILE}", None),
    "in a loop in a loop that runs": (
        FILLED + f"for (int i = 0; i < n; ++i) {{ for (int k = 0; k < n; ++k) {{ {WAITS} }} {READS_TILE} {WAITS} }}", None
    ),
    "in one branch": (FILLED + f"if (w < 2) {{ {WAITS} }} {READS_TILE}", r".*wrg_0 = [2-9]"),
    "in a loop that may have no turn": (
        FILLED + f"for (int i = 1; i < n; ++i) {{ {WAITS} }} {READS_TILE}", r"n = 1, "
    ),
    "in some turns only": (
        FILLED + f"for (int i = 0; i < n; ++i) {{ if (w < 2) {{ {WAITS} }} {READS_TILE} tile[l] = x[l]; }}",
        r".*wrg_0 = [2-9]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SKIPPED)
def test_a_barrier_keeps_apart_where_it_is_reached(name: str) -> None:
    """What is refuted names a group that does not wait, or sizes at which none does."""
    body, model = SKIPPED[name]
    found = Written(body, {"x": "8", "out": "8*n"}, ["n"], ["8"], "n").certificate()
    tile = [c for c in found.claims if c.kind == "races" and "tile" in c.subject]
    if model is None:
        assert {c.verdict for c in tile} == {"proved"}
    else:
        assert any(c.verdict == "refuted" and re.match(model, c.detail) for c in tile), tile


def test_a_barrier_in_turns_that_are_not_known_refutes_nothing() -> None:
    """Whether the first turns wait for all is not followed: what is not proved is unknown."""
    body = FILLED + f"for (int i = 0; i < 4; ++i) {{ if (i < 1) {{ {WAITS} }} {READS_TILE} }}"
    found = Written(body, {"x": "8", "out": "8*n"}, ["n"], ["8"], "n").certificate()
    tile = [c.verdict for c in found.claims if c.kind == "races" and "tile" in c.subject]
    assert set(tile) == {"proved", "unknown"}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_kernels_are_not_certified(name: str) -> None:
    """The claim that fails is named, with the sizes, work-items and turns for which it does."""
    kernel, message = WRONG[name]
    found = kernel.certificate()
    assert not found.ok
    assert any(re.match(message, line) for line in failures([found])), failures([found])


def mutants(compiled: Compiled, *, loops: bool) -> list[Compiled]:
    """The kernel without one barrier, without one guard, or, with `loops`, with one loop too long."""
    lines, found = compiled.source.split("\n"), []
    for i, line in enumerate(lines):
        longer = re.sub(r"< (\d+);", lambda m: f"< {int(m[1]) + 1};", line)
        new = None
        if "barrier(" in line:
            new = ""
        elif "if (" in line:
            new = re.sub(r"if \(.*\) \{", "if (0 < 1) {", line)
        elif loops and longer != line:
            new = longer
        if new is not None:
            found.append(replace(compiled, source="\n".join([*lines[:i], new, *lines[i + 1 :]])))
    return found


@pytest.mark.parametrize(
    ("name", "loops"),
    [
        ("dot", True),
        ("tree", False),  # its steps share two arrays, where a longer loop stays in bounds
        ("matmul", True),
        ("transposed_by_tiles", True),
        ("stencil_clamp", True),
    ],
)
def test_damaged_kernels_are_not_certified(name: str, *, loops: bool) -> None:
    """Each barrier, guard and loop bound of these kernels is needed."""
    sizes = next(case for case in CASES if case.name == name).small[-1]
    for mutant in mutants(compile_program(made(name, *sizes)), loops=loops):
        assert failures(certificates(mutant)), mutant.source


# ---- unknown is said to be unknown


def test_indices_that_are_data_are_unknown() -> None:
    """Unless a condition guards them; that two of them differ is never known."""
    unguarded = Written(
        IDS + "out[g] = x[ids[g]];", {"x": "9", "ids": "8", "out": "8"}, ["8"], ["1"]
    ).certificate()
    assert failures([unguarded]) == ["bounds read x[ids[glb_0]] unknown: the index depends on data"]
    guarded = Written(
        IDS + "out[g] = (ids[g] >= 0 && ids[g] < 9) ? x[ids[g]] : 0.0f;",
        {"x": "9", "ids": "8", "out": "8"}, ["8"], ["1"],
    ).certificate()  # fmt: skip
    assert failures([guarded]) == []
    scattered = Written(
        IDS + "const int v = ids[g]; if (v >= 0 && v < 9) { out[v] = x[g]; }",
        {"x": "8", "ids": "8", "out": "9"}, ["8"], ["1"],
    ).certificate()  # fmt: skip
    assert failures([scattered]) == [
        "races write out[ids[glb_0]] unknown: the index depends on data"
    ]


def test_a_variable_that_changes_is_no_guard() -> None:
    """What was compared may be another number when it is used."""
    found = Written(
        IDS + "int v = 0; if (v < 8) { v = 9; out[v] = 0.0f; }", {"out": "8"}, ["1"], ["1"]
    ).certificate()
    assert failures([found]) == ["bounds write out[v] unknown: the index depends on data"]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("while (1) { out[0] = 0.0f; }", "the statement while in line 1"),
        ("if (1 < 2) { return; } out[0] = 0.0f;", "the statement return in line 1"),
        ("int i = 1; global float* p = out + i; i = 9; p[0] = 0.0f;", "the pointer out + i"),
        ("global float* p = out + 1; p += 1; p[0] = 0.0f;", "the array out as a value"),
        (
            "local float a[9]; local float* p = a; { } p[8] = 0.0f;",
            "a block that no loop and no condition is before",
        ),
        (
            "local float a[2]; local float* p = a; if (1 < 2) { float a[9]; p[8] = 0.0f; }",
            "a, which hides an array",
        ),
        (
            "local float a[2]; local float* p = a + 1; if (1 < 2) { int a = 1; p[8] = 0.0f; }",
            "a, which hides",
        ),
        ("global float* p = x; p[0] = 0.0f;", "a write to x, which is constant"),
        ("float4 v[2]; out[0] = vload2(0, v).x;", "v as an array of scalars"),
        ("fill(out);", "the statement fill"),
        ("out[0] = total(x);", "the array x as a value"),
        ("x[0] = 0.0f;", "a write to x, which is constant"),
        ("for (int i = 0; i < 8; ++i) { i = 0; out[i] = 0.0f; }", "an assignment to i"),
        ("*(global double2*)(out) = (double2)(0.0);", "out as an array of other scalars"),
        ("out[z] = 0.0f;", "the name z"),
        ("out[get_global_id(0) - 1] = 0.0f;", "the arithmetic without signs"),
        ("\n#define out in\n out[0] = 0.0f;", "the line #define out in"),
    ],
)
def test_a_kernel_that_is_not_understood_is_unknown(body: str, what: str) -> None:
    """Nothing is certified by being overlooked."""
    text = f"kernel void k(global const float* x, global float* out) {{ {body} }}"
    compiled = compile_program(made("squares", 4), local=(4,))
    [kernel] = compiled.plan.kernels
    source = text.replace("void k", f"void {kernel.name}")
    [found] = certificates(replace(compiled, source=source))
    assert {c.verdict for c in found.claims} == {"unknown"}
    assert what in found.claims[0].detail


def test_a_kernel_that_is_missing_is_unknown() -> None:
    """The launch names a kernel that the source does not have."""
    [found] = certificates(replace(compile_program(made("saxpy", 7)), source=""))
    assert {c.verdict for c in found.claims} == {"unknown"}


def test_a_query_beyond_the_limit_is_unknown() -> None:
    """Z3's silence is no proof."""
    [kernel] = read_kernels(
        "kernel void k(global float* out) { const int g = get_global_id(0); "
        "out[(g*g*g*g + g) % 1000003] = 0.0f; }"
    )
    grid = Grid((Whole(1000),), (Whole(1),))
    found = certify(kernel, {"out": Whole(1000003)}, grid, effort=Effort(query=1_000))
    assert {"unknown"} == {c.verdict for c in found.claims if c.kind == "races"}


# ---- where they are written


def test_certificates_are_saved_beside_the_kernel(tmp_path: Path) -> None:
    """As JSON, and as one line above each kernel, which saving again does not repeat."""
    compiled = compile_program(made("dot", 2, 5, 30))
    compiled.save(tmp_path)
    data = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
    assert [c["kernel"] for c in data["certificates"]] == [k.name for k in compiled.plan.kernels]
    assert all(claim["verdict"] == "proved" for c in data["certificates"] for claim in c["claims"])

    from relift.compiler.running.compiled import load

    again = load(tmp_path)
    again.save(tmp_path)
    text = (tmp_path / "kernel.cl").read_text(encoding="utf-8")
    assert re.findall(r"// certificate: (.*)\n(?:__attribute.*\n)?kernel void dot_1", text) == [
        "bounds: 3 of 3 proved, races: 1 of 1 proved, covered: 1 of 1 proved; at these sizes"
    ]
    assert text.count("// certificate: ") == len(compiled.plan.kernels)


def test_gathering_compiles_to_what_is_certified_or_unknown() -> None:
    """Checked accesses by data are certified, unchecked ones are not."""

    @typed(ids=i32[8], x=f32[5])
    def checked(ids: Any, x: Any) -> Any:
        return rl.map_glb(0)(lambda i: rl.at_runtime(i, 0.0, x), ids)

    @typed(ids=i32[8], x=f32[5])
    def unchecked(ids: Any, x: Any) -> Any:
        return rl.map_glb(0)(lambda i: rl.at_runtime_unsafe(i, x), ids)

    assert failures(certificates(compile_program(checked))) == []
    assert len(failures(certificates(compile_program(unchecked)))) == 1


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [("l < 8", "proved"), ("l < 7", "refuted"), ("t < 2", "proved"), ("l < c", "unknown"), ("l + t < 11", "proved"), ("l + t < 10", "refuted")],
)  # fmt: skip
def test_a_barrier_in_a_condition_of_the_work_item(condition: str, verdict: str) -> None:
    """Of two work-items of a group in the same turn, both reach it or none; what changes meanwhile is not known."""
    text = TILE.replace("tile[l] =", "int c = 9; c = c + l; tile[l] =")
    text = text.replace(BARRIER, f"if ({condition}) {{ {BARRIER} }}", 1)
    found = Written(text, X32, ["2"], ["8"]).certificate()

    assert next(c.verdict for c in found.claims if c.kind == "barriers") == verdict, found.text()


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [("glb < 4", "proved"), ("glb < 3", "refuted"), ("l < 4", "proved"), ("l < 3", "refuted"), ("wrg < 1", "proved")],
)  # fmt: skip
def test_a_barrier_in_a_condition_of_a_kernel_that_else_asks_for_no_group(
    condition: str, verdict: str
) -> None:
    """Which work-items are in one group decides, where no access depends on it."""
    ids = "const int glb = get_global_id(0); const int l = get_local_id(0); const int wrg = get_group_id(0);"
    body = f"{ids} if ({condition}) {{ {BARRIER} }} out[glb] = x[glb];"
    found = Written(body, {"x": "8", "out": "8"}, ["2"], ["4"]).certificate()

    assert next(c.verdict for c in found.claims if c.kind == "barriers") == verdict, found.text()
