"""Kernels as people write them: every right one is validated, every wrong one refuted with an input that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from proofs_tests.compiler.foreign.data_decides import DATA_DECIDES
from proofs_tests.compiler.foreign.given_by_the_language import GIVEN_BY_THE_LANGUAGE
from proofs_tests.compiler.foreign.habits import HABITS
from proofs_tests.compiler.foreign.in_sub_groups import IN_SUB_GROUPS
from proofs_tests.compiler.foreign.kernels import KERNELS, ByHandKernel
from proofs_tests.compiler.foreign.records import RECORDS
from proofs_tests.compiler.foreign.requiring import REQUIRING
from proofs_tests.compiler.foreign.styles import STYLES
from proofs_tests.compiler.foreign.textbooks import TEXTBOOKS
from proofs_tests.compiler.programs import typed
from proofs_tests.portions import portioned
from relift.compiler.foreign.comparison import validate_foreign
from relift.compiler.foreign.groups.launched import ByOthers
from relift.compiler.foreign.inputs import drawn_inputs
from relift.compiler.foreign.parameters import NotSaid
from relift.compiler.validation.validate import Report
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32, i32

EVERY = (
    KERNELS
    + STYLES
    + HABITS
    + GIVEN_BY_THE_LANGUAGE
    + DATA_DECIDES
    + RECORDS
    + IN_SUB_GROUPS
    + TEXTBOOKS
    + REQUIRING
)


SLOW = {
    "softmax of rows by a tree", "row maxima by fmax", "largest of each segment", "max pool with ifs", "insertion ints",
    "largest magnitudes by a macro", "scatter by a permutation", "double buffered product",
}  # fmt: skip
"""What others go the way of, too; that its wrong twin is refuted is seen in every run."""


@portioned("k", {k.name: k for k in EVERY}, {k.name for k in EVERY} - SLOW)
def test_a_right_kernel_is_validated(k: ByHandKernel) -> None:
    """For all data, up to the order of sums."""
    found = validate_foreign(k.right(), k.program(), k.required())
    assert found.verdict == "shown", found.text()
    if k.requires:
        assert "drawn" not in found.text()
        assert all(statement.name in found.text() for statement in k.required())


@pytest.mark.parametrize("k", EVERY, ids=lambda k: k.name)
def test_a_wrong_kernel_is_refuted(k: ByHandKernel) -> None:
    """By what no kernel may do, or by a cell."""
    found = validate_foreign(k.wrong(), k.program(), k.required())
    assert found.verdict == "refuted", found.text()


@pytest.mark.parametrize("name", ["tree in local memory", "scan in a group"])
def test_what_is_not_granted_is_not_used(name: str) -> None:
    """A sum in another order is another sum where + may not be regrouped."""
    [k] = [k for k in KERNELS if k.name == name]
    found = validate_foreign(k.right(), k.program(), reassociate=False)
    assert found.verdict == "refuted", found.text()


def test_a_refutation_names_inputs_that_show_it() -> None:
    """What devices are given: here numbers that are exactly the limit, of which others are hardly one."""
    [k] = [k for k in STYLES if k.name == "threshold, conditional store"]
    report = validate_foreign(k.wrong(), k.program())
    assert report.inputs
    assert report.inputs in report.detail
    [x] = drawn_inputs(k.program(), report.inputs).values()
    [usual] = drawn_inputs(k.program()).values()
    assert (0.5 in x, 0.5 in usual) == (True, False)


def test_one_cell_is_enough() -> None:
    """Where numbers show that a cell is wrong no other is compared; that one is not written is said all the same."""
    wrong = doubled("y[i] = i < 2 ? x[i] * 2 : x[i] * 3;")
    assert wrong.detail.startswith("y[2] is ") or wrong.detail.startswith("out[2] is ")
    assert "the cells after it were not compared" in wrong.detail
    assert doubled("if (i < 7) y[i] = x[i] * 3;").fault == "covered"


@typed(x=f32[8])
def double(x: Any) -> Any:
    """Twice each element."""
    return rl.map(lambda v: v * 2.0, x)


def doubled(
    body: str, before: str = "", entry: str = "twice", arguments: Mapping[str, str] | None = None
) -> Report:
    """What is said of a kernel for `double` with this body, in line 3, and these lines before it."""
    text = f"{before}\nkernel void twice(global const float *x, global float *y) {{ int i = get_global_id(0);\n{body} }}"
    return validate_foreign(ByOthers(text, entry, (8,), (4,), arguments or {}), double)


RIGHT = "y[i] = x[i] * 2;"


@pytest.mark.parametrize(
    ("body", "before", "why"),
    [
        ("end: goto end;", "", "Label in line 3"),
        ("struct { int a : 3; } s;", "", "the member a, a pointer or a field of bits, in line 3"),
        ("asm(1);", "", "line 3"),
        (RIGHT, "typedef struct { float a, b; } __attribute__((aligned(16))) P; float f(global const P *p) { return p[0].a; }", "a buffer of structs of several types or with an alignment, in line 1"),
        (RIGHT, "typedef struct { float a; int b; } P; float f(global const P *p) { return p[0].a; }", "p, a buffer of structs of several types"),
        (RIGHT, "typedef struct { float a, b; } P; float g(const P *p) { return p[1].a; } float f(global const P *p) { return g(&p[1]); }", "a pointer to a struct in a buffer, with no address space, in line 1"),
        (RIGHT, "typedef union { float a; uchar4 b; } P; float f(P p) { return p.a; }", "a union of other than numbers of 4 or 8 bytes in line 1"),
        ("struct p { float a; }; struct p f; y[i] = f.b;", "", "line 3"),
        ("y[i] = x[i] * 02;", "", "the constant 02 in line 3"),
        ("y[i] = z;", "", "the name z in line 3"),
        ("if (i) { y[i] = foo(x[i]); }", "", "the function foo of float in line 3"),
        ("y[i] = x[i] * 2", "", "} in line 3"),
        ("__attribute__((weird)) int q;", "", "the attribute __attribute__((weird)) in line 3"),
        ("image2d_t t;", "", "the type image2d_t in line 3"),
        (RIGHT, "#error no", "line 1: #error no"),
        (RIGHT, "#if 1", "line 1: Unterminated #if 1"),
        (RIGHT, '#include "none.h"', "line 1: Include file"),
        (f"y[i] = {'(' * 2000}1{')' * 2000};", "", "nested too deeply"),
        ("if (i >= 0) {" * 99 + RIGHT + "}" * 99, "", "nested too deeply"),
    ],
)  # fmt: skip
def test_what_is_outside_of_the_reader_is_said_with_its_line(
    body: str, before: str, why: str
) -> None:
    """It is unknown, nothing of it is overlooked, and the line is named where there is one."""
    found = doubled(body, before)
    assert found.verdict == "unknown"
    assert why in found.not_read
    assert "\n" not in found.not_read


def test_a_kernel_that_is_not_there_is_no_text_that_cannot_be_read() -> None:
    """What the command line has to say is asked for by name."""
    with pytest.raises(NotSaid, match="there is no kernel other; give --entry one of: twice"):
        doubled(RIGHT, entry="other")


def test_what_is_said_of_no_parameter_is_refused() -> None:
    """A name that was misspelt says nothing of any other."""
    with pytest.raises(NotSaid, match="twice has no parameter z; its parameters are: x, y"):
        doubled(RIGHT, arguments={"z": "3"})


def test_a_sum_as_deep_as_it_is_long_is_computed_on_numbers() -> None:
    """More turns than Python recurses: that the values differ is found all the same."""
    found = doubled("float s = 0; for (int k = 0; k < 3000; k++) s += x[(i + k) % 8]; y[i] = s;")
    assert found.verdict == "refuted", found.text()


@pytest.mark.parametrize(
    ("product", "verdict"),
    [
        ("mad24((int)get_group_id(0), 4, (int)get_local_id(0))", "shown"),
        ("mul24(0x800000u, 2u) - 0x1000000u + i", "shown"),
        ("mul24(0x800000, 2) - 0x1000000 + i", "unknown"),
        ("mul24(i, (int)x[0])", "refuted"),
    ],
)
def test_a_product_of_24_bits_is_one_of_such_numbers(product: str, verdict: str) -> None:
    """What OpenCL leaves open of longer ones is not taken for a product."""
    assert doubled(f"y[{product}] = x[i] * 2;").verdict == verdict


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("int j = i; y[j] = x[j++] * 2;", "unknown"),  # which j is written to
        ("int j = i; int k = j++; y[k] = x[j - 1] * 2;", "shown"),
        ("int j, k; j = k = i; y[j] = x[k] * 2;", "shown"),
        ("int j = 0; (j = i) && (j += 0); y[j] = x[i] * 2;", "unknown"),  # a value for nothing
        ("y[i] = FLT_MAX > 3.4e38f && MAXFLOAT == FLT_MAX && FLT_EPSILON == 1.1920929e-07f ? x[i] * (float)(UINT_MAX + 3u) : 0;", "shown"),
        ("y[i] = x[i] * (M_SQRT2_F > 1.4142f ? UCHAR_MAX - 252 : SHRT_MAX);", "refuted"),
        ("int j = -1; if (i > 8 && (j = 0) == 0) j = 1; y[i + j + 1] = x[i] * 2;", "shown"),
        ("switch ((int)x[i]) { case 0: y[i] = 0; break; default: y[i] = x[i] * 2; }", "refuted"),
        ("y[clamp(i, 0, 7)] = x[i] * 2;", "shown"),
        ("y[popcount(255 << i) - popcount(254 << i) + i - 1] = x[i] * 2;", "shown"),
        ("y[rotate((uint)i, 32u)] = x[i] * 2;", "shown"),
        ("y[i] = x[i] - -x[i];", "shown"),
        ("y[i] = x[i] / 0.5f;", "shown"),
        ("y[i] = mix(x[i], 3 * x[i], 0.5f);", "shown"),  # by the laws of sums and products
        ("y[i] = (x[i] + 1) * (x[i] + 1) - x[i] * x[i] - 1;", "shown"),  # as polynomials
        ("y[i] = (x[i] * x[i] - 1e6f) / (x[i] - 1e3f) - 1e3f + x[i];", "unknown"),  # but for rounding
        ("y[i] = x[i] * 2 + convert_char_sat(NAN);", "unknown"),  # of what is no number 0, not the least one
        ("y[i] = x[i] * 2 + convert_char_sat(NAN) + 128;", "refuted"),
        ("y[i] = x[i] != 0 ? x[i] * 2 : 0;", "shown"),
        ("y[i] = x[i] != 1 ? x[i] * 2 : 0;", "refuted"),
        ("if (x[i] < 0) { y[i] = x[i] * 2; } if (!(x[i] < 0)) { y[i] = x[i] + x[i]; }", "shown"),
        ("if (x[i] < 0) y[i] = x[i] * 2;", "refuted"),
        ("if (x[i] < 0) y[i] = x[i] * 2; else y[i + 8] = 0;", "refuted"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_line(body: str, verdict: str) -> None:
    """Effects inside of expressions, functions of known numbers, branches on data."""
    found = doubled(body)
    assert found.verdict == verdict, found.text()


WAITS = (
    "int met() { barrier(CLK_LOCAL_MEM_FENCE); return 2; } "
    "void went() { barrier(CLK_LOCAL_MEM_FENCE); } "
    "float turned(local float *s, int l, float v) { s[l] = v; barrier(CLK_LOCAL_MEM_FENCE); return s[3 - l]; } "
)


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("int k = met(); y[i] = x[i] * k;", "shown"),
        ("int k; k = met(); k *= met(); y[i] = x[i] * k;", "refuted"),
        ("int k = 0; while (met() == 2 && k == 0) k = 1; y[i] = x[i] * 2;", "shown"),
        ("int k = 0; while (k + met() < 5) k++; y[i] = x[i] * (k - 1);", "shown"),
        ("int k = 3 * met() - 4; y[i] = x[i] * k;", "shown"),
        ("int k = 3 * met() - 3; y[i] = x[i] * k;", "refuted"),
        ("int k = met() * met() / 2; y[i] = x[i] * k;", "unknown"),
        ("int k = i > 8 ? 2 : met(); y[i] = x[i] * k;", "unknown"),
        ("int k = i < 8 && met() == 2 ? 2 : 3; y[i] = x[i] * k;", "unknown"),
        ("if (met()) y[i] = x[i] * 2; else y[i] = 0;", "shown"),
        ("y[i] = x[i] * met();", "unknown"),  # beside what is read from memory
        ("y[i] = x[i]; y[i] *= met();", "unknown"),
        ("int k = went(); y[i] = x[i] * 2;", "unknown"),
        ("int k = 2; if (x[i] > 0) k = met(); y[i] = x[i] * k;", "refuted"),  # not met by all
        ("int k = 2; if (i < 2) k = met(); y[i] = x[i] * k;", "refuted"),  # not met by all
        ("int k = 2; if (i < 9) k = met(); y[i] = x[i] * k;", "shown"),
        ("local float s[4]; int l = get_local_id(0); float v = turned(s, 3 - l, 2 * x[i]); y[i + 3 - 2 * l] = v;", "shown"),
        ("local float s[4]; int l = get_local_id(0); turned(s, l, 2 * x[i]); y[i] = s[l];", "shown"),
        ("local float s[4]; int l = get_local_id(0); float v = turned(s, l, 2 * x[i]); y[i] = v;", "refuted"),
    ],
)  # fmt: skip
def test_what_a_function_with_barriers_gives(body: str, verdict: str) -> None:
    """It is run to its end before the expression, and refused beside anything whose order C leaves open."""
    found = doubled(body, before=WAITS)
    assert found.verdict == verdict, found.text()


@pytest.mark.parametrize(
    ("body", "verdict", "why"),
    [
        ("if (i < 2) { y[i] = work_group_reduce_max(x[i]); }", "refuted", "divergence"),
        ("y[i] = work_group_broadcast(x[i], get_local_id(0)) * 2;", "refuted", "several of them"),
        ("y[i] = work_group_broadcast(x[i], 4) * 2;", "refuted", "no work-item (4, 0, 0)"),
        ("if (x[i] > 0) y[i] = work_group_reduce_max(x[i]);", "refuted", "divergence"),
        ("y[i] = i ? work_group_reduce_max(x[i]) : 0;", "unknown", "in a part of ?:"),
        ("y[i] = work_group_all(i + 1) && work_group_any(i) ? x[i] * 2 : 0;", "shown", ""),
        ("y[i] = sub_group_reduce_max(x[i]);", "unknown", "sub_group_reduce_max, which is of as many work-items as a device decides, in line 3"),
        ("y[i] = x[i] * (get_sub_group_size() ? 2 : 3);", "unknown", "get_sub_group_size, which is of as many work-items as a device decides, in line 3"),
        ("y[i] = i > 8 ? fmin(x[i], 0.0f) : x[i] * 2;", "shown", ""),
    ],
)  # fmt: skip
def test_what_a_group_computes_together(body: str, verdict: str, why: str) -> None:
    """All of a group are there, and mean the same."""
    found = doubled(body)
    assert found.verdict == verdict, found.text()
    assert why in found.text() or why == found.fault


def test_a_sum_of_a_group_has_no_order() -> None:
    """So it is none where + may not be regrouped."""
    [k] = [k for k in GIVEN_BY_THE_LANGUAGE if k.name == "sums of groups"]
    found = validate_foreign(k.right(), k.program(), reassociate=False)
    assert found.verdict == "unknown"
    assert "a sum of float in the order of work_group_reduce_add" in found.text()


@pytest.mark.parametrize(("by", "verdict"), [("1u", "shown"), ("31u", "refuted"), ("k", "unknown")])
def test_bits_are_shifted_out(by: str, verdict: str) -> None:
    """By a known number it is a product; OpenCL C says so of numbers with a sign too, where C leaves open what is lost."""
    text = (
        "kernel void k(global const int *x, global int *y) { int i = get_global_id(0); uint k = x[0]; "
        f"uint u = x[i]; y[i] = (int)(u << {by}); }}"
    )
    assert validate_foreign(ByOthers(text, "k", (8,), (4,)), twice).verdict == verdict
    signed = text.replace(f"u << {by}", "x[i] << 1")
    assert validate_foreign(ByOthers(signed, "k", (8,), (4,)), twice).verdict == "shown"


@pytest.mark.parametrize(
    "value", ["(u << 30) >> 30", "u / 3u", "u % 5u", "min(u, 3u)", "max(u - 5u, 7u)"]
)
def test_a_wrong_value_without_a_sign_is_shown_on_numbers(value: str) -> None:
    """What has no name in the language is computed as C says, so that a fault is refuted."""
    text = (
        "kernel void k(global const int *x, global int *y) { int i = get_global_id(0); "
        f"uint u = x[i]; y[i] = (int)({value}); }}"
    )
    found = validate_foreign(ByOthers(text, "k", (8,), (4,)), twice)
    assert found.verdict == "refuted", found.text()
    assert "on the inputs of" in found.detail


@typed(x=i32[8])
def twice(x: Any) -> Any:
    """Twice each whole number."""
    return rl.map(lambda v: v * 2, x)


def test_what_is_assumed_of_data_is_said() -> None:
    """A sum of whole numbers may overflow, and a maximum may be of NaN."""
    notes = {
        k.name: validate_foreign(k.right(), k.program()).text()
        for k in STYLES
        if "int" in k.name or "ifs" in k.name
    }
    assert "overflows" in notes["integers, plain"], notes
    assert "NaN" in notes["max pool with ifs"], notes


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("  wait_group_events(1, &e);\n  for", "  for", "race"),
        ("  wait_group_events(1, &e);\n}", "}", "race"),
        ("in, x +", "in, x + 1 +", "bounds"),
        ("64, 0);\n  wait", "get_local_id(0) ? 64 : 63, 0);\n  wait", "divergence"),
    ],
)
def test_a_copy_of_a_group_is_waited_for(before: str, after: str, fault: str) -> None:
    """What is copied may not be used before, and all work-items ask for the same."""
    [k] = [k for k in STYLES if k.name == "async copies"]
    assert before in k.text
    kernel = replace(k.right(), text=k.text.replace(before, after, 1))
    assert validate_foreign(kernel, k.program()).fault == fault
