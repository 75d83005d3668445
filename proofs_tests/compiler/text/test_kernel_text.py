"""The reader of kernels: what C reads in another way is refused, and certifies nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from proofs_tests.compiler.programs import made
from relift.compiler.certificates.claims import certificates
from relift.compiler.certificates.overflow import spans_of
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import files_of, of_files
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.reader import read_expression, read_source
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.sizes import Size, nat

HIDDEN = {
    "a line joined by a backslash": "// wait \\\nbarrier(CLK_LOCAL_MEM_FENCE);",
    "a backslash before blanks": "// wait \\  \nbarrier(CLK_LOCAL_MEM_FENCE);",
    "a carriage return in a comment": "// wait \rout[9] = 0.0f;",
    "a trigraph": "// wait ??/\nbarrier(CLK_LOCAL_MEM_FENCE);",
    "a digraph": "out<:0:> = 0.0f;",
    "a comment that a pragma opens": "#pragma unroll /*\nout[0] = 0.0f; */",
    "an unknown pragma": "#pragma pack(1)",
    "a macro": "\n#define i 3\n",
    "an octal constant": "out[010] = 0.0f;",
    "a constant without sign by its size": "out[0xffffffff] = 0.0f;",
    "a float that is none": "out[0] = 1f;",
    "a counter without sign": "for (uint i = 0; i < 4; ++i) { out[i] = 0.0f; }",
    "a counter of size_t": "for (size_t i = 0; i < 4; ++i) { out[i] = 0.0f; }",
    "a chained comparison": "for (int i = 0; i < 4 < 9; ++i) { out[i] = 0.0f; }",
    "a condition after the end": "for (int i = 0; i < 4 && i < 9; ++i) { out[i] = 0.0f; }",
    "an end that counts": "for (int i = 0; i < i + 1; ++i) { out[0] = 0.0f; }",
    "two types": "long int n = 3;",
    "a second name after a pointer": "global float* p = out, q = out;",
    "a value of itself": "int t = t + 1;",
    "a comma": "out[0, 1] = 0.0f;",
    "an increment inside": "int i = 0; out[i++ + i] = 0.0f;",
    "an assignment inside": "int i; int j = i = 3;",
    "a lane of a cast": "out[0] = (float2)(1.0f, 2.0f).s0;",
    "a character": "out['a'] = 0.0f;",
    "sizeof": "out[sizeof(int)] = 0.0f;",
    "an unknown attribute": "float t[4] __attribute__((packed)); out[0] = 0.0f;",
    "a declaration without braces": "if (1 < 2) int t = 3;",
    "a condition of nothing": "if (1 < 2); out[0] = 0.0f;",
    "a loop of nothing": "for (int i = 0; i < 2; ++i); out[0] = 0.0f;",
    "an array that is a number": "int t[2] = 0; out[0] = 0.0f;",
    "more first values than elements": "int t[2] = {1, 2, 3}; out[0] = 0.0f;",
    "first values of themselves": "int t[2] = {1, t[0]}; out[0] = 0.0f;",
    "first values of no known number": "int t[n] = {1}; out[0] = 0.0f;",
    "first values of shared memory": "local int t[2] = {1, 2}; out[0] = 0.0f;",
    "rows of first values": "int t[2] = {{1}, {2}}; out[0] = 0.0f;",
    "an or of bits": "int t = 1; t |= 2;",
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_what_c_reads_in_another_way_is_refused(name: str) -> None:
    """One text for each way in which a reader and C may disagree."""
    with pytest.raises(NotUnderstood):
        read_source(f"kernel void k(global float* out) {{ {HIDDEN[name]} }}")


@pytest.mark.parametrize(
    "text",
    [
        "typedef float real;", "int table[3];", "constant int three = 3;", "#define N 3\n",
        "float f(float x) { return x; } float f(float y) { return y; }",
        "void set(global float* p) { p[0] = 0.0f; }",
    ],
)  # fmt: skip
def test_what_stands_between_kernels_is_read_as_well(text: str) -> None:
    """Nothing outside of a kernel may change what a kernel means."""
    with pytest.raises(NotUnderstood):
        read_source(text + " kernel void k(global float* out) { out[0] = 0.0f; }")


def test_functions_are_read_or_kept_as_tokens() -> None:
    """A body that is one expression is read; a loop is left to the C compiler, whole."""
    found = read_source(
        "int f(int x) { if (x < 0) return 0; return x; } int g(int x) { while (x > 3) { --x; } return x; }"
    )
    f, g = found.functions
    assert f.body is not None
    assert g.body is None
    assert g.tokens[0] == "while"


def test_constants_have_the_types_of_c() -> None:
    """A decimal constant that no int holds is a long."""
    found = read_expression("2147483648 + 2147483647")
    assert [getattr(e, "long", None) for e in (found.left, found.right)] == [True, False]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "body",
    [
        "int t[1]; t[0] = 0; if (t[0] < 8) { t[0] = 9; if (!(t[0] < 8)) { out[1000] = 1.0f; } }",
        "local int t[8]; t[0] = 0; if (t[0] < 8) { t[0] = 9; if (!(t[0] < 8)) { out[1000] = 1.0f; } }",
        "out[(1 < 2 ? get_global_id(0) : 0) - 1] = 1.0f;",
        "if (min(get_global_id(0), get_global_id(0)) - 1 >= 0) { out[0] = 1.0f; }",
        "int t[1]; t[0] = 4; for (int i = 0; i < t[0]; ++i) { t[0] = 90; out[i] = 1.0f; }",
        "const long a = get_global_id(0); const int b = a + 4294967296L; if (b < 0) { out[1000] = 1.0f; }",
    ],
)  # fmt: skip
def test_a_guard_on_what_changes_or_has_no_sign_proves_nothing(body: str) -> None:
    """Facts about cells that may be written, and numbers that wrap around, are not used."""
    compiled = compile_program(made("squares", 4))
    [kernel] = compiled.plan.kernels
    head = f"kernel void {kernel.name}(global const float* restrict x, global float* restrict out)"
    [found] = certificates(replace(compiled, source=f"{head} {{ {body} }}"))
    assert not found.ok, found.text()


def test_the_numbers_that_must_fit_are_those_of_the_text() -> None:
    """A launch.json that claims no spans is given those that the text has."""
    files = files_of(compile_program(made("matmul", nat("m"), 4, nat("n"))))
    assert '"m*n"' in files["launch.json"]
    data = json.loads(files["launch.json"])
    for kernel in data["kernels"]:
        kernel["spans"] = []
    loaded = of_files(files | {"launch.json": json.dumps(data)})
    with pytest.raises(IllTyped, match="computes with numbers below"):
        loaded.plan.at({"m": 1 << 16, "n": 1 << 15})


def test_the_step_beyond_the_last_turn_must_fit() -> None:
    """A counter ends a step beyond its last turn, in a number that `int` must hold as well."""
    [kernel] = read_source(
        "kernel void k(global float* out, int n) { for (int i = 0; i < n; i += 1000) { out[0] = 0.0f; } }"
    ).kernels
    n = nat("n")
    spans = spans_of(kernel, (Size.of(1),), (1,), {"n": n}, [n])

    assert any((span - n - 999).surely_at_least(0) for span in spans), spans


def test_the_numbers_of_an_index_must_fit() -> None:
    """What is computed on the way to a cell, though it may be more than any array has."""
    [kernel] = read_source(
        "kernel void k(global float* out, int n) { out[(3*n + 5) / 7] = 0.0f; }"
    ).kernels
    n = nat("n")
    spans = spans_of(kernel, (Size.of(1),), (1,), {"n": n}, [n])

    assert any((span - 3 * n - 5).surely_at_least(0) for span in spans), spans
