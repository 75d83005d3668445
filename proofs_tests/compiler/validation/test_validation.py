"""Validation: the text of every kernel equals the interpreter on symbols, and wrong texts do not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.compiler.programs import CASES, Case, made, typed
from proofs_tests.portions import portioned
from relift.compiler.bench.benchmarks import Benchmark, load_benchmarks
from relift.compiler.certificates.claims import certificates
from relift.compiler.meaning.evidence import meaning_of
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.validation.arithmetic import Arithmetic
from relift.compiler.validation.evidence import reports_of, small_sizes, with_values
from relift.compiler.validation.machine import Undecided
from relift.compiler.validation.symbols import Algebra
from relift.compiler.validation.validate import Report, validate
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.terms import UserFunction
from relift.semantics.syntax.types import f32, i32

LOW_LEVEL = [
    b
    for target in ("cpu", "gpu")
    for b in load_benchmarks(Path(__file__).parents[3] / "examples" / "low_level", [], target)
    if b.small
]


def compared(program: Program) -> Report:
    """The text of a program's kernels against the interpreter."""
    compiled = compile_program(program)
    return validate(compiled.source, compiled.plan, program)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_every_kernel_of_the_tests_is_right(case: Case) -> None:
    """To the last bit, for all data, at each small size; only C functions of the user are known by name, and only keys are drawn."""
    for sizes in case.small:
        found = compared(case.make(*sizes))
        assert found.ok, found.text()
        assert bool(found.notes) == (case.name in ("squares_in_c", "updated_by_all"))


@portioned("b", {f"{b.name}-{b.target}": b for b in LOW_LEVEL}, 2)
def test_kernels_that_are_timed_are_right_at_a_small_size(b: Benchmark) -> None:
    """The programs of examples/low_level, to the last bit, for all data."""
    found = compared(b.make(**b.small[0]))
    assert found.ok, found.text()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_what_is_not_proved_is_shown_by_a_run(case: Case) -> None:
    """Of every family nothing is unknown: claims are proved, or shown at the sizes that they name."""
    program = case.make(*case.small[0])
    k = compile_program(program)
    for found in with_values(certificates(k), reports_of(k, program)):
        assert found.ok, found.text()
        assert found.claims[-1].verdict == "shown"
        assert "proved" not in found.claims[-1].row()[2]


def test_open_sizes_are_shown_at_two_choices() -> None:
    """Different sizes, with two groups at least, and no two sizes of a choice alike."""
    m, k, n = nat("m"), nat("k"), nat("n")
    program = made("matmul", m, k, n)
    compiled = compile_program(program)
    reports = reports_of(compiled, program)
    assert len({r.sizes for r in reports}) == 2
    assert all(r.ok for r in reports)
    sizes = next(small_sizes(compiled.plan))
    assert len(set(sizes.values())) == 3


def test_a_wrong_text_is_refuted_with_the_cell_and_both_values() -> None:
    """A fault names the work-item; a wrong value the cell, and what it should be."""
    program = made("matvec", 6, 4)
    k = compile_program(program)
    wrong = Compiled(k.source.replace("acc + ", "acc - "), k.plan)
    (report,) = reports_of(wrong, program)
    assert report.verdict == "refuted"
    assert "out[0] is" in report.detail
    assert "instead of" in report.detail
    [found] = with_values(certificates(wrong), [report])
    assert found.refuted
    beyond = Compiled(k.source.replace("out[glb_0]", "out[glb_0 + 1]"), k.plan)
    assert "work-item 5 writes out[6] of 6" in reports_of(beyond, program)[0].detail


def test_what_is_too_large_gets_no_claim_about_values() -> None:
    """The bound is a number of symbols, and the report says so."""
    program = made("matvec", 6, 4)
    k = compile_program(program)
    reports = reports_of(k, program, limit=20)
    assert reports[0].too_large
    assert "20 symbols" in reports[0].text()
    certified = certificates(k)
    assert with_values(certified, reports) == certified


def test_sums_in_another_order_are_equal_up_to_reassociation_only() -> None:
    """The tree against the plain sum: not to the last bit, and the report says which it is."""
    n = 32

    @typed(x=f32[n])
    def sums(x: Any) -> Any:
        return rl.map_glb(0)(lambda c: rl.reduce_seq(rl.add, 0.0, c), rl.split(16, x))

    k = compile_program(made("tree", n))
    assert validate(k.source, k.plan, sums).verdict == "refuted"
    found = validate(k.source, k.plan, sums, reassociate=True)
    assert found.ok
    assert "up to reassociation" in found.text()


def test_a_function_in_c_is_known_by_its_text() -> None:
    """Another text is another function: its body is read, and its value differs."""
    program = made("squares_in_c", 4)
    k = compile_program(program)
    wrong = k.source.replace("float y = x * x;", "float y = x + x;")
    assert validate(wrong, k.plan, program).verdict == "refuted"


def test_a_division_that_is_wrong_somewhere_is_found() -> None:
    """The functions that kernels bring along are compared with their meaning."""

    @typed(x=i32[4], y=i32[4])
    def quotients(x: Any, y: Any) -> Any:
        return rl.map_glb(0)(lambda p: p[0] // p[1], rl.zip(x, y))

    k = compile_program(quotients)
    found = validate(k.source, k.plan, quotients)
    assert found.ok
    assert "pairs of numbers" in found.text()
    wrong = k.source.replace("if (y == 0) return 0;", "if (y == 0) return 1;")
    assert wrong != k.source
    assert validate(wrong, k.plan, quotients).verdict == "refuted"


def groups_of_two(body: str) -> tuple[str, Compiled, Program]:
    """The program that doubles 4 numbers, with another body of its kernel, in groups of 2."""

    @typed(x=f32[4])
    def doubled(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v + v, x)

    k = compile_program(doubled, local=2)
    [name] = [kernel.name for kernel in k.plan.kernels]
    head = f"kernel void {name}(global const float* restrict x, global float* restrict out)"
    return f"{head} {{ {body} }}", k, doubled


RIGHT = "out[get_global_id(0)] = x[get_global_id(0)] + x[get_global_id(0)];"


def test_a_remainder_of_what_is_below_zero_is_followed() -> None:
    """Mirrored borders are indices such as -(i + 129) % 130 + 129; C rounds towards zero, and takes the sign along."""

    @typed(x=f32[65])
    def mirrored(x: Any) -> Any:
        windows = rl.slide(3, 1, rl.pad(1, 1, rl.mirror, x))
        return rl.map_glb(0)(lambda w: w[1] - w[0] * w[2], windows)

    k = compile_program(mirrored)
    text = "".join(k.source.split())
    assert "-(glb_0+129)%130" in text, k.source
    found = meaning_of(k, mirrored)
    assert found.verdict == "validated", found
    wrong = k.source.replace("-(glb_0 + 129) % 130", "(-(glb_0 + 129) - 1) % 130")
    assert wrong != k.source
    assert meaning_of(replace(k, source=wrong), mirrored).verdict == "refuted"


def test_two_barriers_are_not_one() -> None:
    """Work-items of a group that wait in different places do not wait for each other."""
    wait, place = "barrier(CLK_LOCAL_MEM_FENCE);", "get_local_id(0)"
    together, k, program = groups_of_two(f"{wait} {RIGHT}")
    apart, _, _ = groups_of_two(
        f"if ({place} < 1) {{ {wait} }} if ({place} >= 1) {{ {wait} }} {RIGHT}"
    )

    assert validate(together, k.plan, program).ok
    found = validate(apart, k.plan, program)
    assert found.verdict == "refuted"
    assert "waits at barrier" in found.text()


def test_two_values_for_one_cell_are_refuted() -> None:
    """A cell of the result to which two work-items give different values, in order though they are."""
    text = (
        "const int g = get_global_id(0); const int l = get_local_id(0); const int other = g + 1 - 2*l; "
        "out[g] = START; barrier(CLK_GLOBAL_MEM_FENCE); out[other] = x[other] + x[other];"
    )
    twice, k, program = groups_of_two(text.replace("START", "x[g] + x[g]"))
    other, _, _ = groups_of_two(text.replace("START", "0.0f"))

    assert validate(twice, k.plan, program).ok
    assert validate(other, k.plan, program).verdict == "refuted"


def test_one_buffer_is_given_once() -> None:
    """A kernel promises that its buffers are apart."""
    source, k, program = groups_of_two(RIGHT)
    [kernel] = k.plan.kernels
    plan = replace(k.plan, kernels=(replace(kernel, arguments=("out", "out")),))

    found = validate(source, plan, program)
    assert found.verdict == "refuted"
    assert "twice" in found.text()


def test_minimum_keeps_not_a_number() -> None:
    """The text without the case of NaN is another function, on symbols too."""

    @typed(x=f32[2], y=f32[2])
    def smaller(x: Any, y: Any) -> Any:
        return rl.map_glb(0)(lambda p: rl.minimum(p[0], p[1]), rl.zip(x, y))

    k = compile_program(smaller)
    [name] = [kernel.name for kernel in k.plan.kernels]
    head = f"kernel void {name}(global const float* restrict x, global const float* restrict y, global float* restrict out)"
    i = "get_global_id(0)"
    wrong = f"{head} {{ out[{i}] = x[{i}] < y[{i}] ? x[{i}] : y[{i}]; }}"

    assert validate(k.source, k.plan, smaller).ok
    assert validate(wrong, k.plan, smaller).verdict == "refuted"


def opaque_difference(name: str, *parameters: str) -> UserFunction:
    """x - y in C that is not read, of parameters in some order."""
    text, python = "float t = x; return t - y;", (lambda x, y: x - y)
    return UserFunction(name, parameters, (f32, f32), f32, text, None, python)


def test_a_function_in_c_is_known_by_its_parameters_too() -> None:
    """Text that only calls its parameters another way computes something else."""
    f, g = opaque_difference("f", "x", "y"), opaque_difference("g", "x", "y")

    @typed(x=f32[4], y=f32[4])
    def both(x: Any, y: Any) -> Any:
        return rl.map_glb(0)(lambda p: f(p[0], p[1]) + g(p[1], p[0]), rl.zip(x, y))

    k = compile_program(both)
    assert validate(k.source, k.plan, both).ok  # one text under two names
    swapped = k.source.replace("f(float x, float y)", "f(float y, float x)")
    assert swapped != k.source
    assert not validate(swapped, k.plan, both).ok
    assert meaning_of(replace(k, source=swapped), both).verdict != "validated"


def test_two_functions_in_c_of_one_name_are_two() -> None:
    """Loops are not read: a function that has one is known by its text, and not by its name alone."""

    def turns(count: int) -> UserFunction:
        text = f"int i = 0; while (i < {count}) {{ x = x * x; ++i; }} return x;"
        return UserFunction("turns", ("x",), (f32,), f32, text, None, lambda x: x ** (2**count))

    @typed(x=f32[4])
    def both(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: (turns(1)(v), turns(2)(v)), x)

    k = compile_program(both)
    assert validate(k.source, k.plan, both).ok
    names = sorted(set(re.findall(r"\bturns\w*", k.source)))
    assert len(names) == 2
    head, body = k.source.split("kernel void", 1)
    swapped = re.sub(r"\bturns\w*", lambda m: names[m.group() == names[0]], body)
    assert validate(f"{head}kernel void{swapped}", k.plan, both).verdict == "refuted"


@typed(x=f32[8])
def roots(x: Any) -> Any:
    """One over the root of one more than the square."""
    return rl.map_glb(0)(lambda v: rl.rsqrt(v * v + 1.0), x)


@pytest.mark.parametrize(
    ("told", "as_well", "verdict"),
    [
        ("rsqrt(", "rsqrt(", "shown"),
        ("rsqrt(", "1.0f / sqrt(", "shown"),
        ("rsqrt(", "sqrt(", "refuted"),
        ("(v * v)", "(v + v)", "refuted"),
        ("(v * v) + 1.0f", "1.0f + (v * v)", "shown"),
        ("(v * v) + 1.0f", "(v + 1.0f) * v", "refuted"),
        ("const float v = x[glb_0];", "float v;", "refuted"),
    ],
)
def test_equal_texts_of_a_root_are_equal(told: str, as_well: str, verdict: str) -> None:
    """`rsqrt` is one over `sqrt`, and a sum of two has no order; what is another value is refuted, in both ways."""
    k = compile_program(roots)
    assert told in k.source
    text = k.source.replace(told, as_well)
    assert validate(text, k.plan, roots).verdict == verdict
    by_meaning = meaning_of(Compiled(text, k.plan), roots).verdict
    assert by_meaning == ("validated" if verdict == "shown" else verdict)


@pytest.mark.parametrize("scalar", ["char", "uchar", "ushort"])
def test_lanes_that_are_narrower_than_an_int_are_unknown(scalar: str) -> None:
    """No vector of them is followed: a type of whole numbers may be added that has such."""
    with pytest.raises(Undecided, match=f"lanes of {scalar}"):
        Arithmetic(Algebra(), 100).operation("<", scalar)
