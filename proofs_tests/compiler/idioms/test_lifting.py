"""Idioms as programs: each agrees with the C, what means the same is one program, mistakes are noticed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import command, here
from proofs_tests.compiler.idioms.checks import FILES, FOLDER, expected, lifted
from proofs_tests.compiler.idioms.mutations import misplaced, mutants
from proofs_tests.portions import portioned
from relift.compiler.idioms.admitted import conditional
from relift.compiler.idioms.containing import contained
from relift.compiler.idioms.evidence import Evidence, evidence
from relift.compiler.idioms.execution import Compiled
from relift.compiler.idioms.facts.llvm.source import bitcode
from relift.compiler.idioms.lift import LiftedIdiom
from relift.compiler.idioms.lifting.conditions import About
from relift.compiler.idioms.rounding import Bounded, bounds, rounded_inputs
from relift.semantics.errors import Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.notation.parser import parse_term
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input

INSIDE = {  # what these find is used inside the function, or given there: it is not run alone
    "two_sums", "integral", "place_of_least", "place_of_most", "second_largest", "solve", "csr_onto_itself",
    "overlapping_rows", "scattered_rows", "norm_of_grid", "sum_of_batches", "moved_down_often",
    "of_no_use", "of_no_use_alone", "of_no_use_under_a_condition", "of_no_use_in_rows", "powers",
}  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_every_idiom_is_a_program_that_agrees(file: str) -> None:
    """What is found is lifted, and agrees with the compiled C wherever the function can be run alone."""
    found = lifted(file)
    assert sorted(i.idiom for i in found.idioms) == sorted(
        k for kinds in expected(file).values() for k in kinds
    )
    assert [(i.function, i.reason) for i in found.idioms if i.lifted is None] == []
    wrong = {i.function: str(i.evidence) for i in found.idioms if not i.evidence.ok}
    assert set(wrong) <= INSIDE, wrong
    assert all("DIFFERS" not in said for said in wrong.values())


@pytest.mark.parametrize(
    ("function", "leaves"),
    [
        ("scaled_by_short", False), ("up_to_a_byte", False), ("two_hundred", False), ("bytes_downwards", False),
        ("short_at_least_once", False), ("reversed_by_word", False), ("bounded_by_a_short", False),
        ("short_below_int", True), ("every_second_word", True), ("between_shorts", True), ("place_by_short", True),
    ],
)  # fmt: skip
def test_a_counter_of_few_bits_stays_in_them(function: str, leaves: bool) -> None:
    """That is a condition where the test of the loop does not show it."""
    (found,) = [i for i in lifted("counters").idioms if i.function == function]
    assert any("stays from -32768 to 32767" in said for said in found.conditions) is leaves


def test_inputs_have_the_sizes_that_their_numbers_give(tmp_path: Path) -> None:
    """A number below zero that a condition rules out is not drawn as another one."""
    file = tmp_path / "between.c"
    file.write_text(
        "void f(float *y, const float *x, unsigned lo, unsigned hi) "
        "{ for (unsigned i = lo; i <= hi; i++) y[i] = 2 * x[i]; }\n"
    )
    (found,) = rl.lift(file, runs=400).idioms
    assert str(found.evidence) == "agrees with the compiled C on 400 drawn inputs"


def test_a_field_that_is_looked_up_in_several_places_is_one_array() -> None:
    """What is read behind it in one branch is not taken for another array than what the other branch writes behind it."""
    found = rl.lift(
        "struct s { float *a, *b; };\n"
        "void f(struct s *p, const int *k, int n) "
        "{ for (int i = 1; i < n; i++) { if (k[i]) p->b[i] = p->a[i - 1]; else p->a[i] = 0; } }\n"
        "void g(struct s *p, float *y, int n) "
        "{ for (int i = 1; i < n; i++) { y[i] = p->a[i]; p->b[i] = p->a[i] * y[i]; } }\n",
        runs=0,
    )
    (cleared,), both = ([i for i in found.idioms if i.function == f] for f in "fg")
    assert cleared.conditions.count("p->a and p->b do not overlap") == 1
    assert all("p->a and p->a do not overlap" not in i.conditions for i in found.idioms)
    assert [*found.skipped] == [
        (
            "f",
            "the loop at line 2 is no idiom: it looks p->a up in several places, and writes there",
        )
    ]
    assert [len(i.lifted.program.parameters) for i in both if i.lifted] == [1, 1]


TABLES = """static const float weights[3] = {1, 2, 3};
static const struct { int n; double w[3]; } table = {3, {.25, .5, .25}};
struct walk { float *begin, *end; };
struct part { int lo, hi; float *in, *out; };
void filtered(const float *x, float *y, int n) { for (int i = 0; i < n - 2; i++) { float s = 0; for (int k = 0; k < 3; k++) s += weights[k] * x[i + k]; y[i] = s; } }
double weighted(const double *x) { double s = 0; for (int k = 0; k < table.n; k++) s += table.w[k] * x[k]; return s; }
float walked(const struct walk *p) { float s = 0; for (const float *q = p->begin; q != p->end; q++) s += *q; return s; }
void between(struct part *p) { for (int i = p->lo; i < p->hi; i++) p->out[i] = 2 * p->in[i]; }
"""


def test_constants_and_ends_of_walks_are_run() -> None:
    """Tables that the file defines hold what it says; a pointer to the end of an array lies behind another field."""
    found = rl.lift(TABLES, runs=30)
    assert [i.function for i in found.idioms] == ["filtered", "weighted", "walked", "between"]
    assert {str(i.evidence) for i in found.idioms} == {
        "agrees with the compiled C on 30 drawn inputs"
    }
    last = found.idioms[-1]
    assert last.said("n") == "-p->lo + p->hi"
    assert last.lifted is not None
    assert "(in_: f32[n + p])" in str(last.lifted.program)


@pytest.mark.parametrize(("function", "said"), [
    ("product_in_memory", ("k is a->w", "f32[n, k + p]", "c and c->at do not overlap")),
    ("all_pairs", ("n is p->n", "a: f32[n], b: f32[n]", "p and c do not overlap")),
    ("fields_by_value", ("n is p.n", "a: f32[n]", "p and p.b do not overlap")),
    ("layer_of_structures", ("n is l->weights->h", "at_: f32[m]", "l->weights and y do not overlap")),
    ("arrays_of_fields", ("n is p->n[1]", "v: f32[n], v_: f32[n]", "0 <= p->n[1]")),
    ("sum_of_a_global", ("n is top.n", "v: f64[n]", "0 <= top.n")),
    ("up_to_what_is_pointed_at", ("n is *n", "x: f32[n]", "n and y do not overlap")),
])  # fmt: skip
def test_fields_are_called_as_the_file_calls_them(
    function: str, said: tuple[str, str, str]
) -> None:
    """Sizes and conditions as in C, arrays of programs by the last word of that."""
    (found,) = [i for i in lifted("structures").idioms if i.function == function]
    assert found.lifted is not None
    sizes = [f"{n} is {found.said(n)}" for n in found.lifted.sizes]
    size, typed, condition = said
    assert size in sizes
    assert typed in str(found.lifted.program)
    assert condition in found.conditions


def program(file: str, function: str) -> str:
    """The text of a program without the name of its function."""
    (found,) = [i for i in lifted(file).idioms if i.function == function]
    assert found.lifted is not None
    return str(found.lifted.program).partition("(")[2]


@pytest.mark.parametrize(
    ("file", "functions"),
    [
        ("products", [f"gemm_{order}" for order in ("ijk", "ikj", "jik", "jki", "kij", "kji")]),
        ("products", ["gemm", "gemm"]),
        ("products", ["gemv_in_memory", "gemv_by_columns"]),
        ("maps", ["matrix_sum", "matrix_sum_by_columns"]),
        ("maps", ["transpose", "transpose_by_rows"]),
        ("reductions", ["sum", "sum_while", "sum_do"]),
    ],
)
def test_loops_that_mean_the_same_are_one_program(file: str, functions: list[str]) -> None:
    """The order of loops, pointers that walk, and the kind of loop leave no trace in the program."""
    assert len({program(file, f) for f in functions}) == 1


def mistakes(file: str) -> Iterator[tuple[LiftedIdiom, rl.Program]]:
    """Up to two mistakes in each lifted program of a file that can be run."""
    for idiom in lifted(file).idioms:
        if idiom.lifted is not None and idiom.evidence.ok:
            for mutant in list(mutants(idiom.lifted.program))[:2]:
                yield idiom, mutant


@pytest.mark.parametrize(
    ("file", "function"), [("walks", "place_from_the_end"), ("products", "jds_in_blocks")]
)
def test_mistakes_at_the_ends_of_long_inputs_are_noticed(file: str, function: str) -> None:
    """A loop that runs once more, or a row beyond what a program divides by, is among what is drawn."""
    (right,) = [i for i in lifted(file).idioms if i.function == function]
    assert right.lifted is not None
    compiled = Compiled(bitcode(FOLDER / f"{file}.c"))
    programs = [replace(right.lifted, program=m) for m in mutants(right.lifted.program)]
    for wrong in (*programs, *misplaced(right.lifted)):
        found = evidence(
            right.relations, right.found, wrong, compiled, 1000, 2,
            beside=right.lifted, others=right.others,
        )  # fmt: skip
        assert not found.ok, wrong


ROWS = """void rows(int n, float *y, const int *len, const float *v) {
  for (int i = 0; i < n; i++) { float s = 0; for (int k = 0; k < len[i]; k++) s += v[k]; y[i] = s; }
}
void whole(int n, int *y, const float *x) { for (int i = 0; i < n; i++) y[i] = (int)x[i]; }
float most(int n, const float *x) { float m = 0; for (int i = 0; i < n; i++) if (x[i] > m) m = x[i]; return m; }
"""


@pytest.mark.parametrize(
    ("function", "admitted", "refused"),
    [
        ("rows", {"len": [3, 0], "v": [1, 2, 4]}, {"len": [3, 4], "v": [1, 2, 4]}),
        ("whole", {"x": [2147483520, -1.5]}, {"x": [2147483648, 0]}),
        ("whole", {"x": [-2147483648, 0]}, {"x": [math.nan, 0]}),
        ("most", {"x": [math.inf, 0]}, {"x": [0, math.nan]}),
    ],
)
def test_inputs_that_the_conditions_exclude_have_no_value(
    function: str, admitted: dict[str, list[float]], refused: dict[str, list[float]]
) -> None:
    """The C is run on none of them: a row that goes on behind its array reads what happens to lie there."""
    (one,) = [i for i in rl.lift(ROWS, runs=0).idioms if i.function == function]
    assert one.lifted is not None
    asked: frozenset[About] = frozenset(c.about for c in one.lifted.conditions)
    sizes = {"n": Size.of(2), **dict.fromkeys(one.lifted.sizes.keys() - {"n"}, Size.of(3))}
    program = one.lifted.program.with_sizes(sizes)

    def value(arrays: dict[str, list[float]]) -> Any:
        kinds = {"len": np.int32}
        given = {n: list(np.array(x, kinds.get(n, np.float32))) for n, x in arrays.items()}
        return conditional(program, given, asked)

    value(admitted)
    with pytest.raises(Undefined):
        value(refused)


@portioned("file", FILES, 3)
def test_mistakes_in_programs_are_noticed(file: str) -> None:
    """A program with one number or function changed differs from the C on a drawn input."""
    compiled = Compiled(bitcode(FOLDER / f"{file}.c"))
    planted, missed = 0, list[str]()
    for idiom, mutant in mistakes(file):
        assert idiom.lifted is not None
        planted += 1
        wrong = replace(idiom.lifted, program=mutant)
        # a mistake below zero shows at few of the numbers that are drawn
        if all(
            evidence(
                idiom.relations,
                idiom.found,
                wrong,
                compiled,
                runs=runs,
                beside=idiom.lifted,
                others=idiom.others,
            ).ok
            for runs in (60, 1000)
        ):
            missed.append(f"{idiom.function}: {mutant}")
    assert planted >= 5
    assert not missed, missed


def test_the_command_line_prints_programs_and_conditions(tmp_path: Path) -> None:
    """`relift lift` says where, what, under which conditions, and what was run; 0, or 1 where nothing is found."""
    file = tmp_path / "f.c"
    file.write_text(
        "void twice(int n, float *y, const float *x) { for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }\n"
    )
    done = here("lift", str(file), "--runs", "5")
    assert done.returncode == 0
    for part in (
        f"{file}:1: twice: map",
        "twice(x: f32[n]) -> f32[n] =",
        "if x and y do not overlap",
        "agrees with the compiled C on 5 drawn inputs",
    ):
        assert part in done.stdout
    done = here("lift", str(file), "--json", "--runs", "0")
    assert json.loads(done.stdout)["idioms"][0]["idiom"] == "map"
    file.write_text("int f(void) { return 1; }\n")
    assert command("lift", str(file))[0] == 1


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("int f(void) { return x; }\n", (), "f.c:1:22: use of undeclared identifier 'x'"),
        ("int f(void) { return 1; }\n", ("--function", "g"), "there is no function g; it has: f"),
        (None, (), "there is no file "),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path, text: str | None, words: tuple[str, ...], said: str
) -> None:
    """C that does not compile, and names that are not there, are refused with status 2."""
    file = tmp_path / "f.c"
    if text is not None:
        file.write_text(text)
    status, found = command("lift", str(file), *words)
    assert status == 2
    assert said in found
    assert found.count("\n") == 1


def test_no_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the compiler that was asked for, it is named."""
    from relift.compiler.idioms.facts.llvm.source import front_end

    file = tmp_path / "f.c"
    file.write_text("int f(void) { return 1; }\n")
    monkeypatch.setenv("RELIFT_CLANG", "clang-of-nowhere")
    front_end.cache_clear()
    try:
        status, said = command("lift", str(file))
    finally:
        front_end.cache_clear()
    assert (status, "clang-of-nowhere" in said) == (2, True)


def test_c_that_crashes_on_drawn_inputs_is_said() -> None:
    """The C runs in a process of its own: where it ends that, there is no evidence, and Relift goes on."""
    text = "void f(int n, float *x) { for (int i = 0; i < n; i++) x[i] = 1; __builtin_trap(); }\n"
    (found,) = rl.lift(text, runs=3).idioms
    assert "the C ended its process on drawn inputs (SIG" in str(found.evidence)
    assert found.proof.ok


def test_a_comparison_that_fails_is_not_laid_to_the_c() -> None:
    """What Relift itself does wrong while it compares is said as that, and the rest is looked at."""

    def fails() -> Evidence:
        raise OverflowError("too large")

    assert contained(fails).skipped == "the comparison failed: OverflowError: too large"


@pytest.mark.parametrize("file", FILES)
def test_no_comparison_of_the_fixtures_fails(file: str) -> None:
    """Whatever is drawn, each program is compared, or it is the C that cannot be run."""
    said = [str(i.evidence) for i in lifted(file).idioms]

    assert not [x for x in said if "the comparison failed" in x]


def test_a_cell_that_is_stored_twice_holds_what_is_stored_last() -> None:
    """What the later store puts there is said once, whichever way LLVM's graph says what it is computed from."""
    text = "void f(int n, float *y, float *x) {\nfor (int i = 0; i < n; i++) { y[i] *= 2; y[i] += x[i]; }\n}\n"
    (program,) = (i for i in rl.lift(text, runs=5).idioms if i.lifted is not None)
    assert program.evidence.ok
    assert program.proof.ok


def test_what_would_be_too_long_is_refused_by_name() -> None:
    """Forty branches on one value are a tree of 2 to the 40 parts: no program is written, and it is said why."""
    branches = "".join(f"if (t > {k}) t = t * t - {k}; " for k in range(40))
    text = f"void f(int n, float *y, const float *x) {{\n  for (int i = 0; i < n; i++) {{ float t = x[i]; {branches}y[i] = t; }}\n}}\n"
    (found,) = rl.lift(text, runs=0).idioms
    assert found.reason == "what is computed has more than 2000 parts, written out"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("int f(volatile int *x, int n) { int s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n", "a volatile access"),
        ("void f(int n, ...) { }\n", "variable number of arguments"),
        ("void f(int *x) { __asm__(\"nop\"); for (int i = 0; i < 9; i++) x[i] = 0; }\n", "inline assembly"),
        ("int f(int n) { return n ? f(n - 1) : 0; }\n", "it calls itself"),
        ("float f(float *x, int n) { float s = 0; for (int i = 0; i < n; i++) { if (x[i] < 0) break; s += x[i]; } return s; }\n", "has several exits (line 1)"),
        ("void f(int n, float *y, const int *k) { for (int i = 0; i < n; i++) y[k[i]] = i; }\n", "which cells of y it stores to is read or computed (line 1)"),
        ("void f(int n, float a, float *y, const float *x) { float s = 0; for (int i = 0; i < n; i++) { s = s * a + x[i]; y[i] = s; } }\n", "is made from s, which each iteration makes from the one before: it is no sum"),
        ("void f(int n, short *y, const short *x) { short s = 0; for (int i = 0; i < n; i++) { s += x[i]; y[i] = s; } }\n", "it is cut to 16 bits each time"),
        ("void f(int n, float *y, const float *x) { for (int i = 0; i < n; i++) y[0] = x[i] / y[0]; }\n", "the same cell of y again and again (line 1)"),
        ("float f(float *x) { float s = 0; for (int i = 0; x[i] > 0; i++) s += x[i]; return s; }\n", "is not counted before it begins (line 1)"),
        ("void f(int *h, int *g, const int *a, int n) { for (int i = 0; i < n; i++) { h[a[i]]++; g[h[a[i]]]++; } }\n", "it reads cells of h that it writes"),
        ("void g(int); void f(int n) { for (int i = 0; i < n; i++) g(i); }\n", "the loop at line 1 is no idiom: it calls g"),
        ("__int128 f(int n, const __int128 *x) { __int128 s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n", "its cells are of type i128"),
        ("void f(int n, _Float16 *x) { for (int i = 0; i < n; i++) x[i] = 1; }\n", "the loop at line 1 is no idiom"),
        ("int f(int n, const int *x) { int s = 0; for (int i = 0; i < n; i++) switch (s) { case 1: s += 3; break; case 5: s += x[i]; } return s; }\n", "what s becomes (line 1) depends on the order of the iterations"),
        ("void f(float *y, float *z, const float *x, int n) { for (int i = 1; i < n; i++) { y[i] = x[i] + 1; z[i] = y[i - 1] * 2; } }\n", "it reads cells of y that it writes"),
        ("float f(float *y, const float *x, int n) { float s = 0; for (int i = 1; i < n; i++) { y[i] = x[i]; s += y[i - 1]; } return s; }\n", "it reads cells of y that it writes"),
        ("void f(int n, float *x) { for (int i = 1; i < n; i++) x[i] = x[i - 1] * x[i - 1] + x[i]; }\n", "reads cells of x that other iterations write"),
    ],
)  # fmt: skip
def test_what_is_left_alone_is_named(text: str, reason: str) -> None:
    """A function or a loop in which nothing is looked for is skipped by name, with the reason."""
    found = rl.lift(text, runs=0)
    assert not found.idioms
    assert any(reason in said for _, said in found.skipped), found.skipped


def test_what_is_read_in_two_widths_is_named_and_large_arrays_are_not_drawn() -> None:
    """Cells of two widths in one array are no program; an array of millions of cells is proved and not run."""
    text = "void f(int n, double *y, const double *x) { for (int i = 0; i < n; i++) y[i] = ((const int *)x)[2 * i] & 1 ? x[i] : 0; }\n"
    (found,) = rl.lift(text, runs=0).idioms
    assert found.reason == "x is read as f64 and as i32"
    text = "float y[30000000], x[30000000]; void f(void) { for (int i = 0; i < 30000000; i++) y[i] = x[i]; }\n"
    (found,) = rl.lift(text, runs=5).idioms
    assert str(found.evidence) == "not run: an array of 30000000 cells is not drawn"
    assert found.proof.ok


def test_reasons_call_values_as_c_does() -> None:
    """What is said of strides is said in the names of the file."""
    text = "void f(int n, int m, int r, int s, float *y, const float *x) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i * r + j * s] = x[i * m + j]; }\n"
    said = [reason for _, reason in rl.lift(text, runs=0).skipped]
    assert any("the strides s and r of one array" in reason for reason in said), said


def test_the_page_shows_the_c_beside_the_programs_and_is_escaped(tmp_path: Path) -> None:
    """What stands in the file is text of the page, never its markup; each find has a colour and a link to its line."""
    file = tmp_path / "f.c"
    file.write_text(
        "/* <script>alert(1)</script> */\nint f(int n, int *x) {\n  int s = 0;\n  for (int i = 0; i < n; i++)\n    s += x[i];\n  return s; }\n"
    )
    out = tmp_path / "f.html"
    assert command("lift", str(file), "--runs", "3", "--html", str(out))[0] == 0
    shown = out.read_text()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert 'href="#line-4"' in shown
    assert shown.count('style="background:') == 2
    assert "reduce(add, 0, x)" in shown
    assert "proved for all sizes" in shown
    assert command("lift", str(file), "--runs", "3", "--html", str(file))[0] == 2


def test_rounding_is_bounded_by_what_is_computed() -> None:
    """The bound of a sum is that of any order of it: reached by none here, and far below what one wrong cell changes."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=300).astype(np.float32)
    x_exact = float(np.sum(x.astype(np.float64)))
    term = parse_term("reduce(add, 0.0, x)", x=Input("x", rl.f32[300]))
    inputs = {"x": rounded_inputs(list(x))}
    found = evaluate(term, World(inputs=inputs, domain=Bounded()))
    apart = float(bounds(found))
    for order in (x, x[::-1], np.sort(x)):
        other = np.float32(0)
        for cell in order:
            other = np.float32(other + cell)
        assert abs(float(other) - x_exact) <= apart / 2
    assert 0 < apart < 0.02
