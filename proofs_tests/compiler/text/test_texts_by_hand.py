"""Ordinary OpenCL C by hand is read for what it is: right texts are certified and shown, wrong ones are neither."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.certificates.claims import certificates
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.reader import read_kernels
from relift.compiler.validation.validate import validate
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import f32

ROWS, COLUMNS = 4, 8


@typed(x=f32[ROWS, COLUMNS])
def doubled(x: Any) -> Any:
    return rl.map_glb(0)(lambda row: rl.map_seq(lambda v: v + v, row), x)


HEAD = "kernel void k({x}* restrict x, {out}* restrict out) {{ const int g = get_global_id(0); {body} }}"
SCALARS = {"x": "global const float", "out": "global float"}
QUADS = {"x": "global const float4", "out": "global float4"}

RIGHT = {
    "a loop without braces": (SCALARS, "for (int j = 0; j < 8; ++j) out[8*g + j] = x[8*g + j] + x[8*g + j];"),
    "loops and conditions without braces": (
        SCALARS, "for (int j = 0; j < 9; ++j) if (j < 8) if (j >= 0) out[8*g + j] = x[8*g + j] + x[8*g + j];",
    ),
    "a pointer to a row": (
        SCALARS,
        ("global const float* row = x + 8*g; global float* to = out + 8*g; "
        "for (int j = 0; j < 8; ++j) to[j] = row[j] + row[j];"),
    ),
    "pointers from pointers, in one declaration": (
        SCALARS,
        ("global const float *up = x + 8*g + 3, *here = up + 2, *const down = here - 5; "
        "for (int j = 0; j < 3; ++j) out[8*g + j] = down[j] + down[j]; "
        "for (int j = 0; j < 2; ++j) out[8*g + 3 + j] = up[j] + up[j]; "
        "for (int j = 0; j < 3; ++j) *(out + 8*g + 5 + j) = here[j] + here[j];"),
    ),
    "a pointer that is moved back": (
        SCALARS,
        "for (int j = 2; j < 10; ++j) *(out + 8*g + j - 2) = *(x + 8*g + j - 2) + (x + 8*g - 2)[j];",
    ),
    "a pointer in a loop": (
        SCALARS,
        "for (int j = 0; j < 8; ++j) { global float* to = out + 8*g + j; to[0] = x[8*g + j] + *(x + (8*g + j)); }",
    ),
    "vectors behind a pointer": (
        SCALARS,
        ("global const float* row = x + 8*g; "
        "for (int j = 0; j < 2; ++j) vstore4(vload4(j, row) + vload4(0, row + 4*j), j, out + 8*g);"),
    ),
    "buffers of vectors": (QUADS, "for (int j = 0; j < 2; ++j) out[2*g + j] = x[2*g + j] + x[2*g + j];"),
    "rows of vectors": (
        QUADS, "global const float4* row = x + 2*g; for (int j = 0; j < 2; ++j) out[2*g + j] = row[j] + row[j];",
    ),
    "vectors in, scalars out": (
        {**SCALARS, "x": "global const float4"},
        "for (int j = 0; j < 2; ++j) { const float4 v = x[2*g + j]; vstore4(v + v, 2*g + j, out); }",
    ),
    "the first values of an array": (
        SCALARS,
        ("float s[8] = {x[8*g]}; const float two[2] = {x[8*g + 1], x[8*g + 2]}; "
        "for (int j = 1; j < 3; ++j) s[j] = two[j - 1]; for (int j = 3; j < 8; ++j) s[j] = x[8*g + j]; "
        "for (int j = 0; j < 8; ++j) out[8*g + j] = s[j] + s[j];"),
    ),
    "a condition and its opposite": (
        SCALARS,
        ("for (int j = 0; j < 8; ++j) if (j < 3) out[8*g + j] = x[8*g + j] + x[8*g + j]; "
        "else if (j == 3) { out[8*g + 3] = x[8*g + 3] + x[8*g + 3]; } else { out[8*g + j] = x[8*g + j] + x[8*g + j]; }"),
    ),
    "first values that are vectors": (
        SCALARS,
        ("const float4 s[2] = {vload4(0, x + 8*g), (float4)(x[8*g + 4], x[8*g + 5], x[8*g + 6], x[8*g + 7])}; "
        "for (int j = 0; j < 2; ++j) vstore4(s[j] + s[j], j, out + 8*g);"),
    ),
}  # fmt: skip

WRONG = {
    "a statement after a loop without braces": (
        SCALARS,
        "for (int j = 0; j < 8; ++j) out[8*g + j] = x[8*g + j] + x[8*g + j]; out[8*g] = 0.0f;",
    ),
    "a row too far": (
        SCALARS, "global float* to = out + 8*g + 1; for (int j = 0; j < 8; ++j) to[j] = x[8*g + j] + x[8*g + j];",
    ),
    "a row of the next work-item": (
        SCALARS, "global float* to = out + 7*g; for (int j = 0; j < 8; ++j) to[j] = x[8*g + j] + x[8*g + j];",
    ),
    "a pointer before the array": (
        SCALARS, "global const float* r = x - 1; for (int j = 0; j < 8; ++j) out[8*g + j] = r[8*g + j] + r[8*g + j];",
    ),
    "as many vectors as scalars": (
        QUADS, "for (int j = 0; j < 8; ++j) out[8*g + j] = x[8*g + j] + x[8*g + j];",
    ),
    "one lane of each": (
        QUADS, "for (int j = 0; j < 2; ++j) { const float4 v = x[2*g + j] + x[2*g + j]; out[2*g + j].s0 = v.s0; }",
    ),
    "lanes in the other order": (
        QUADS, "for (int j = 0; j < 2; ++j) out[2*g + j] = x[2*g + 1 - j] + x[2*g + 1 - j];",
    ),
    "nothing where the condition fails": (
        SCALARS,
        "for (int j = 0; j < 8; ++j) if (j < 7) out[8*g + j] = x[8*g + j] + x[8*g + j]; else { float v = 0.0f; }",
    ),
    "an opposite of the nearest condition": (
        SCALARS,
        "for (int j = 0; j < 8; ++j) if (j < 7) if (j < 8) out[8*g + j] = x[8*g + j] + x[8*g + j]; else out[8*g + j] = 0.0f;",
    ),
    "both where it holds": (
        SCALARS,
        "for (int j = 0; j < 8; ++j) { if (j < 9) out[8*g + j] = 0.0f; else out[8*g + j] = x[8*g + j] + x[8*g + j]; }",
    ),
    "an opposite out of bounds": (
        SCALARS,
        ("for (int j = 0; j < 8; ++j) { out[8*g + j] = x[8*g + j] + x[8*g + j]; } "
        "if (g < 2) { float v = 0.0f; } else { out[8*g + 800] = 0.0f; }"),
    ),
    "a lane that has no first value": (
        SCALARS,
        "float4 s[1]; s[0].x = 0.0f; for (int j = 0; j < 8; ++j) out[8*g + j] = x[8*g + j] + x[8*g + j] + s[0].y;",
    ),
    "other first values": (
        SCALARS, "float s[8] = {2.0f}; for (int j = 0; j < 8; ++j) out[8*g + j] = x[8*g + j] * s[j];",
    ),
}  # fmt: skip

IN_BOUNDS = (
    "lanes in the other order", "other first values",
    "a statement after a loop without braces", "both where it holds",  # cells are filled, and then written again
)  # fmt: skip
"""Only their values are wrong, which is no claim of a certificate."""


def written(types: dict[str, str], body: str) -> Compiled:
    """The program compiled, with a text by hand in place of its own."""
    k = compile_program(doubled)
    [kernel] = k.plan.kernels
    text = HEAD.format(**types, body=body)
    return replace(k, source=text.replace("void k(", f"void {kernel.name}("))


def shown(k: Compiled, program: Program = doubled) -> str:
    """What a run on symbols says of the text."""
    return validate(k.source, k.plan, program).verdict


@pytest.mark.parametrize("name", RIGHT)
def test_what_a_person_writes_is_certified_and_shown(name: str) -> None:
    """Bounds and races are proved, and the values are the interpreter's."""
    k = written(*RIGHT[name])
    [found] = certificates(k, written=False)
    assert found.ok, found.text()
    assert shown(k) == "shown"


@pytest.mark.parametrize("name", WRONG)
def test_what_a_person_writes_wrongly_is_not(name: str) -> None:
    """No claim holds that should not, and a run on symbols refutes each."""
    k = written(*WRONG[name])
    assert shown(k) == "refuted"
    [found] = certificates(k)
    assert found.ok == (name in IN_BOUNDS), found.text()


def test_lanes_of_one_vector_are_no_race() -> None:
    """Work-items that write lanes of their own are not told apart, and are not said to race."""
    body = "if (g < 2) { if (g < 1) out[0].x = 1.0f; if (g >= 1) out[0].y = 1.0f; }"
    [found] = certificates(written(QUADS, body))
    assert not found.refuted
    assert not found.ok


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("int i = g; if (i < 1) { i = 5; } else { out[i] = 0.0f; }", "i may have changed"),
        ("int i = g; int* p = &(i); if (i < 1) { p[0] = 5; } else { out[i] = 0.0f; }", "i may have changed"),
        ("int s[1]; s[0] = g; if (s[0] < 1) { s[0] = 5; } else { out[g] = 0.0f; }", "more than variables"),
        ("if (x[g] < 1.0f) { out[g] = 5.0f; } else { out[g] = 0.0f; }", "more than variables"),
        ("int i = g; if (i < 1) { for (int i = 0; i < 2; ++i) out[i] = 0.0f; } else { out[i] = 0.0f; }", "i may"),
    ],
)  # fmt: skip
def test_an_opposite_of_what_may_have_changed_is_not_read(body: str, said: str) -> None:
    """What is asked once in C would be asked twice."""
    with pytest.raises(NotUnderstood, match=said):
        read_kernels(HEAD.format(**SCALARS, body=body))


CHANGES = "kernel void f() { int n = 8, s = 0; int t[2]; int* p = &n; int* q = t;"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "void put(global int* p) { p[0] = 1; }\n",
            "the function put, which gives nothing in line 1",
        ),
        (
            "int get_global_id(int d) { return 0; }",
            "a definition of get_global_id, which OpenCL C has in line 1",
        ),
        (
            "float sqrt(float x) { return x + 1.0f; }",
            "a definition of sqrt, which OpenCL C has in line 1",
        ),
        (
            "\nint sum(const int* t) { return t[0]; }",
            "the function sum, which is given pointers in line 2",
        ),
        (
            "kernel void f() {\n/* a\nb */ for (; 0 < 1;) { } }",
            "declares no counter of its own in line 3",
        ),
        ("kernel void f() {\nfor (int i = 0; ; ++i) { } }", "over i without an end in line 2"),
        ("kernel void f() {\nfor (int i = 0; i < 3; ) { } }", "over i that says no step in line 2"),
        (
            f"{CHANGES}\nfor (int i = 0; i < n; ++i) {{ s += i; n -= 1; }} }}",
            "over i, in which n may change in line 2",
        ),
        (
            f"{CHANGES}\nfor (int i = 0; i < 9; i += n) {{ if (s < 2) n = 2; }} }}",
            "in which n may change in line 2",
        ),
        (
            f"{CHANGES}\nfor (int i = 0; i < t[0]; ++i) t[s] = 1; }}",
            "in which t may change in line 2",
        ),
        (f"{CHANGES}\nfor (int i = 0; i < n; ++i) *p = 1; }}", "in which n may change in line 2"),
        ("kernel void f() {\nint i = 0;\nwhile (i < 3) i += 1; }", "the statement while in line 3"),
        (
            "kernel void f() {\n{ int i = 0; } }",
            "a block that no loop and no condition is before in line 2",
        ),
        ("kernel void f() {\nint a = 0;\n++a; }", r"\+\+ for its effect in line 3"),
    ],
)
def test_what_is_not_read_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(NotUnderstood, match=f"{said}$"):
        read_kernels(text)
