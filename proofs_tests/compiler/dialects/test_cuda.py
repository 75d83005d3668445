"""CUDA C++: every kernel of the suite is compiled to PTX by NVRTC, with no GPU."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import relift as rl
from proofs_tests.compiler.codegen.test_constant_tables import ROWS, program_of
from proofs_tests.compiler.programs import CASES, typed
from proofs_tests.portions import portioned
from relift.compiler.bench.benchmarks import load_benchmarks
from relift.compiler.devices import self_test
from relift.compiler.dialects.cuda.nvrtc import NotCompiled, ptx
from relift.compiler.dialects.cuda.printer import Cuda, options, prelude
from relift.compiler.dialects.reading import understood
from relift.compiler.program import kernels_of
from relift.compiler.text.reader import read_source
from relift.compiler.text.tree import Source
from relift.rewrites.checks.random.draws import KINDS
from relift.rewrites.checks.random.kernels import random_kernel
from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.language.coercion import scalar
from relift.semantics.language.programs import Program
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.types import Scalar

EXAMPLES = Path(__file__).parents[3] / "examples" / "low_level"
WIDTHS = (1, 3, 16)
RANDOM = 10
"""Random programs of each kind."""


def together(sources: list[Source]) -> str:
    """Many sources as one: each in a namespace, where kernels of one name are told apart."""
    parts = [
        f"namespace source_{i} {{\n{Cuda().definitions(s)}\n}}".replace('extern "C" ', "")
        for i, s in enumerate(sources)
    ]
    return "\n".join([prelude(), *parts])


def entries(code: str) -> int:
    return len(re.findall(r"\.entry ", code))


def of_the_suite() -> Iterator[Program]:
    for case in CASES:
        yield from (case.make(*sizes) for sizes in case.small)


def of_examples() -> Iterator[Program]:
    for target in ("cpu", "gpu"):
        for b in load_benchmarks(EXAMPLES, [], target):
            yield from (b.make(**sizes) for sizes in b.small[:1])


def random_programs() -> Iterator[Program]:
    for kind in KINDS:
        found = (random_kernel(seed, kind) for seed in range(RANDOM))
        yield from (program for program in found if program is not None)


def functions_of_scalars() -> Iterator[Program]:
    """Each function of the table on scalars and on vectors, of each type that it takes, but for halves (see below)."""
    numbers = (rl.f32, rl.f64, rl.i32, rl.i64)
    for name, f in SCALAR_FUNCTIONS.items():
        for t in numbers:
            if name == rl.f16.name:
                continue
            if (f.on == "floats" and not t.is_float) or (
                f.on in ("integers", "bits") and t.is_float
            ):
                continue
            # wide vectors take a compiler long
            widths = WIDTHS if t in (rl.f32, rl.i64) else WIDTHS[:-1]
            yield from (of_function(name, f.arity, t, width) for width in widths)


def of_function(name: str, arity: int, t: Scalar, width: int) -> Program:
    """A function, element by element, or on vectors."""

    def called(v: Any) -> Any:
        arguments = [v < v * v, v, v] if name == "select" else [v] * arity
        result = scalar(name, *arguments)
        return rl.select(result, v, v) if result.type == rl.boolean else result

    def each(x: Any) -> Any:
        if width == 1:
            return rl.map_glb(0)(called, x)
        return rl.as_scalar(rl.map_glb(0)(rl.map_vec(called), rl.as_vector(width, x)))

    each.__annotations__ = {"x": t[48]}
    return rl.program(each)


@portioned(
    "programs",
    [of_the_suite, of_examples, random_programs, functions_of_scalars],
    {of_the_suite, random_programs, functions_of_scalars},
    ids=lambda f: f.__name__,
)
def test_every_kernel_compiles_to_ptx(programs: Callable[[], Iterator[Program]]) -> None:
    """All kernels of a set in one translation unit; each has an entry."""
    sources: list[Source] = []
    for program in programs():
        try:
            sources.append(kernels_of(program)[0])
        except (IllTyped, Unsupported):
            assert programs is random_programs
    assert entries(ptx(together(sources))) == sum(len(s.kernels) for s in sources) > 20


def test_names_of_cpp_are_not_taken() -> None:
    """OpenCL C leaves them to programs: parameters, sizes and user functions may be called so."""

    def saturate(this: Any) -> Any:
        return this * this

    saturate.__annotations__ = {"this": rl.f32, "return": rl.f32}
    called = rl.userfun(saturate)

    @typed(new=rl.f32[8], threadIdx=rl.f32)
    def dot(new: Any, threadIdx: Any) -> Any:
        return rl.map_glb(0)(lambda template: called(template) + threadIdx, new)

    assert entries(ptx(Cuda().source(kernels_of(dot)[0]))) == 1


@pytest.mark.parametrize("case", ROWS)
def test_tables_of_constants_are_in_constant_memory(case: str) -> None:
    """However they are read: the code has them, and no work-item fills an array."""
    code = ptx(Cuda().source(kernels_of(program_of(case))[0]))
    assert ".const" in code
    assert ".local" not in code


def test_rounding_is_an_option() -> None:
    """A program that may contract is given a fused multiply-add, one that may not is given none."""

    @typed(x=rl.f32[8], y=rl.f32[8])
    def axpy(x: Any, y: Any) -> Any:
        return rl.map_glb(0)(lambda p: p[0] * 3.0 + p[1], rl.zip(x, y))

    found = [kernels_of(axpy, contract=contract)[0] for contract in (True, False)]
    codes = [ptx(Cuda().source(s), options(s)) for s in found]
    assert ["fma.rn.f32" in code for code in codes] == [True, False]


def test_what_is_read_can_be_printed_in_cuda() -> None:
    """A kernel in OpenCL C, of this compiler or not, in another dialect."""
    text = "kernel void f(global const float4* restrict x, global float* restrict y) { y[0] = x[1].s3; }"
    assert "y[0] = x[1].s[3];" in Cuda().source(read_source(text))


def test_what_nvrtc_refuses_is_told() -> None:
    """The log of the compiler says where."""
    with pytest.raises(NotCompiled, match=r"kernels.cu\(1\): error"):
        ptx("void f() { return 1 }")


@pytest.mark.parametrize(
    "text",
    [
        "kernel void f(global half* restrict y) { y[get_global_id(0)] = y[0] * y[1]; }",
        "kernel void f(global float* restrict y) { y[0] = (float)((half)(y[1])); }",
        "kernel void f(global float* restrict y) { y[0] = (float)(0.1h); }",
        "kernel void f(global float4* restrict y) { y[0] = convert_float4(convert_half4(y[1])); }",
        "float g(float x) { half a = x; while (a < 2) { a = 3; } return a; }\nkernel void f(global float* y) { y[0] = g(y[1]); }",
    ],
    ids=["in memory", "in a cast", "in a constant", "in a conversion", "in C text"],
)
def test_what_cuda_does_not_compute_with_is_refused_by_name(text: str) -> None:
    """In one line, before NVRTC sees it: wherever in a kernel a half is."""
    with pytest.raises(Unsupported, match="kernels in CUDA do not compute with f16") as refused:
        Cuda().source(read_source(text))

    assert "\n" not in str(refused.value)


def test_a_function_in_c_text_is_printed_as_it_stands() -> None:
    """Where its body is not read, and it came with the text of a kernel."""
    text = (
        "float g(float x) { while (x < 2) { x = 3; } return x; }\n"
        "kernel void f(global float* restrict y) { y[0] = g(y[1]); }"
    )

    assert "while ( x < 2 ) { x = 3 ; } return x ;" in Cuda().source(read_source(text))


def test_a_program_with_f16_is_refused_in_cuda() -> None:
    """As the compiler writes it."""
    source, _ = kernels_of(of_function("mul", 2, rl.f16, 4))

    with pytest.raises(Unsupported, match="kernels in CUDA do not compute with f16"):
        Cuda().source(source)


def test_the_self_test_of_a_device_is_compiled() -> None:
    """A device of CUDA is used where the kernels of its self-test, which are written by hand, can be built."""
    for text in (self_test.BASICS, self_test.DEFECTS):
        tree = understood(text, "CUDA")
        code = ptx(Cuda().source(tree), options(tree))
        assert entries(code) == len(tree.kernels) > 0
