"""No two names of a kernel are one, whatever a program calls its things, and none is a word of OpenCL C."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.text.opencl_words import FUNCTIONS, KEYWORDS, MACROS, is_taken
from relift.semantics.errors import IllTyped
from relift.semantics.indices.functions import reverse
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.language.tracing import trace
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.terms import UserFunction
from relift.semantics.syntax.types import Scalar, f32, i32, tup

BY_START = [
    "M_PI",
    "M_PI_F",
    "M_E_F",
    "FLT_MAX",
    "FLT_EPSILON",
    "FLT_DIG",
    "DBL_MAX",
    "HALF_MAX",
    "FP_FAST_FMA",
    "CL_VERSION_1_2",
    "cl_khr_fp64",
    "cl_mem_fence_flags",
    "CLK_LOCAL_MEM_FENCE",
    "__global",
    "__FILE__",
    "_Bool",
    "_Static_assert",
    "vload4",
    "vstore4",
    "convert_float4",
    "as_int",
    "as_float4",
    "get_global_id",
    "native_exp",
    "half_sin",
    "atomic_add",
    "atom_add",
    "async_work_group_copy",
    "read_imagef",
    "work_group_barrier",
    "sub_group_any",
    "memory_order_relaxed",
    "intel_sub_group_shuffle",
    "image2d_t",
    "enqueue_kernel",
    "ATOMIC_VAR_INIT",
    "bitfield_insert_signed",
]
VECTORS = [
    f"{t}{n}" for t in ("char", "uint", "long", "float", "double", "half") for n in (2, 3, 4, 8, 16)
]
OWN = ["out", "out_0", "out_1", "tmp", "tmp_1", "tmp_1_0", "glb_0", "glb_0_count", "wrg_1", "lcl_2", "x", "x_0", "x_1", "x_0_0", "i", "i_2", "at", "at_2", "tile", "tile_0", "tile_2", "own", "own_0", "own_1", "own_2", "old", "new", "held", "acc", "v", "v_2", "minimum_f32", "maximum_f32", "maximum_f32x4", "floor_divide_i32", "i32_from_f32", "f", "f_x4", "f_x4_2", "prog", "prog_1", "prog_2", "scaled", "scaled_2", "größe", "λ", "π", "é", "fabsf", "powf", "memcpy", "sinl", "n", "n_2"]  # fmt: skip
NAMES = sorted(
    name
    for name in {*KEYWORDS, *FUNCTIONS, *MACROS, *BY_START, *VECTORS, *OWN}
    if not keyword.iskeyword(name) and name not in ("rl", "f32", "tup")
)


TEXT = """
def {0}({1}, {2}, {3}):
    def first__({4}):
        {5} = {4}
        for function in functions__:
            {5} = function({5} + {3})
        return {5}, rl.maximum({4}, {3}), {4}
    def row__({6}):
        def each__({7}):
            own__ = rl.to_private(rl.map_seq(lambda {8}: {8}[1] * 2.0, {6}))
            return rl.reduce_seq(lambda {9}, {10}: {9} + {10}, {7}[0] + {7}[2], own__)
        tuples__ = rl.to_private(rl.map_seq(lambda {8}: ({8}[2], {8}[0] + {8}[1], {8}[1]), {6}))
        return rl.let(lambda {5}: rl.map_seq(each__, {5}), tuples__)
    stage__ = rl.to_global(rl.map_glb(0)(first__, {1}))
    return rl.map_glb(0)(row__, {2}), rl.map_glb(0)(lambda {10}: {10}[0] + {10}[1] * {10}[2], stage__)
"""
"""Two kernels; in the second, arrays of tuples lie in private memory beside others."""


def program_of(names: Sequence[str]) -> Program:
    """A program that calls its size, parameters, variables, functions and theirs by twelve names."""
    scope: dict[str, Any] = {"rl": rl, "f32": f32, "functions__": []}
    for k, name in enumerate(names):
        parameter = names[k - 1]
        made: dict[str, Any] = {}
        exec(f"def {name}({parameter}): return {parameter} * {k + 1}.0", made)  # noqa: S102 - names are text
        scope["functions__"].append(named(name, made[name], parameter=parameter))
    exec(TEXT.format(*names), scope)  # noqa: S102
    n = nat(names[-1])
    types: dict[str, Any] = {names[1]: f32[n], names[2]: tup(f32, f32, f32)[n, 3], names[3]: f32}
    return typed(**types)(scope[names[0]])


def rotated(names: Sequence[str]) -> Iterator[list[str]]:
    """Twelve at a time, so that each name is given to several kinds of things."""
    padded = [*names, *names[: -len(names) % 12]]
    for start in range(0, len(padded), 12):
        twelve = padded[start : start + 12]
        for by in (0, 5):
            yield [*twelve[by:], *twelve[:by]]


def drawn(seed: int) -> tuple[Any, ...]:
    generator = np.random.default_rng(seed)
    x = generator.integers(-4, 5, (2,)).astype(np.float32)
    rows = tuple(generator.integers(-4, 5, (2, 3)).astype(np.float32) for _ in range(3))
    return x, rows, np.float32(2.0)


def declared_twice(kernel: Compiled) -> set[str]:
    """The names that are declared more than once in a function, a block inside another included."""
    found: set[str] = set()
    for function in re.split(r"\n(?=\S)", kernel.source):
        names = re.findall(
            r"\b(?:float|int|long)\d*\*?(?: restrict)? (\w+)(?= = |\[\d+\]|, |\))", function
        )
        found |= {name for name in names if names.count(name) > 1}
    return found


@pytest.mark.parametrize("names", list(rotated(NAMES)), ids=lambda names: names[0])
def test_whatever_things_are_called(names: list[str]) -> None:
    """Keywords, types, functions, constants and macros of OpenCL, and the names that the compiler itself gives."""
    program = program_of(names)
    kernel = compile_program(program)
    assert declared_twice(kernel) == set()
    assert not {p for p in kernel.plan.buffers if is_taken(p.name) and p.role == "input"}


@pytest.mark.parametrize("seed", range(8))
def test_kernels_with_odd_names_are_built_and_right(seed: int) -> None:
    """To the bit, on the device that is there."""
    names = [str(name) for name in np.random.default_rng(seed).permutation(NAMES)]
    program = program_of(names[:12])
    check(program, *drawn(seed))


# ---- what was found wrong


def named(
    name: str,
    function: Callable[[Any], Any],
    c: str | None = None,
    parameter: str = "x",
    of: Scalar = f32,
) -> UserFunction:
    """A user function of one scalar."""
    body = None if c else trace(function, [of], of)
    return UserFunction(name, (parameter,), (of,), of, c, body, function)


def scaled(c: float, t: Scalar = f32) -> UserFunction:
    """One of many functions that are all called f."""
    return named("f", lambda x: x * c, of=t)


def test_two_functions_of_one_name_keep_their_bodies() -> None:
    """On scalars, on vectors, on two types, and where one calls the other."""
    two, three, whole = scaled(2.0), scaled(3.0), scaled(5, i32)

    both = named("f", lambda x: two(three(x)) + 1.0)

    @typed(x=f32[8], k=i32[8])
    def functions(x: Any, k: Any) -> Any:
        def lanes(v: Any) -> Any:
            return rl.map_vec(lambda q: two(q) - three(q) * both(q), v)

        vectors = rl.as_scalar(rl.map_glb(0)(lanes, rl.as_vector(4, x)))
        scalars = rl.map_glb(0)(lambda p: two(p[0]) + three(p[0]) + both(p[0]), rl.zip(x, k))
        return vectors, scalars, rl.map_glb(0)(whole, k)

    check(functions, np.arange(8, dtype=np.float32), np.arange(8, dtype=np.int32))


def test_a_function_beside_the_vector_version_of_another() -> None:
    """What is called like the version on vectors is not it."""

    f = named("f", lambda x: x * 2.0)
    f_x4 = named("f_x4", lambda x: x * 3.0)

    @typed(x=f32[8])
    def functions(x: Any) -> Any:
        return rl.as_scalar(
            rl.map_glb(0)(lambda v: rl.map_vec(lambda q: f(q) + f_x4(q), v), rl.as_vector(4, x))
        )

    check(functions, np.arange(8, dtype=np.float32))


def test_arrays_of_tuples_beside_others_in_local_memory() -> None:
    """The third component of one tile is not the second tile."""

    @typed(x=f32[4, 8])
    def tiles(x: Any) -> Any:
        def group(r: Any) -> Any:
            triples = rl.to_local(rl.map_lcl(0)(lambda v: (v, (v + 1.0, v)), r))
            single = rl.to_local(rl.map_lcl(0)(lambda v: v * 2.0, r))

            def read(a: Any, b: Any) -> Any:
                return rl.map_lcl(0)(
                    lambda p: p[0][0] + p[0][1][1] - p[1],
                    rl.zip(rl.gather(reverse, a), rl.gather(reverse, b)),
                )

            return rl.let(lambda a: rl.let(lambda b: read(a, b), single), triples)

        return rl.map_wrg(0)(group, x)

    check(tiles, np.arange(32, dtype=np.float32).reshape(4, 8))


def test_a_function_that_c_has_too_is_the_programs() -> None:
    """A compiler knows what the C library's functions do, and computes that."""

    fabsf = named("fabsf", lambda x: x + 10.0)

    @typed(x=f32[4])
    def calls(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: fabsf(v) + fabsf(v * 0.0), x)

    check(calls, np.arange(4, dtype=np.float32))


def test_a_word_of_opencl_is_no_parameter_of_c_text() -> None:
    """C text names its parameters, so they cannot be renamed; the message says how to call one."""

    f = named("f", lambda x: x + 1.0, "return NULL + 1.0f;", "NULL")

    @typed(x=f32[4])
    def calls(x: Any) -> Any:
        return rl.map_glb(0)(f, x)

    with pytest.raises(
        IllTyped, match=r"userfun f: its C text cannot have a parameter NULL.*call it NULL_"
    ):
        compile_program(calls)


def check(program: Program, *inputs: Any) -> None:
    """The kernel means what the program means, to the bit."""
    kernel = compile_program(program)
    result, expected = kernel(*inputs), program(*inputs)
    parts = (
        zip(result, expected, strict=True) if isinstance(result, tuple) else [(result, expected)]
    )
    for left, right in parts:
        np.testing.assert_array_equal(left, right, kernel.source)


@pytest.mark.parametrize(
    "folded",
    [
        lambda f: lambda xs: rl.map_glb(0)(lambda x: rl.reduce_seq(f, 0.0, x), xs),
        lambda f: lambda xs: rl.map_glb(0)(lambda x: rl.scan_seq(f, 0.0, x), xs),
        lambda f: (
            lambda xs: rl.map_glb(0)(
                lambda x: rl.reduce_while(f, lambda s, _: s < 9.0, 0.0, x)[1], xs
            )
        ),
    ],
    ids=["reduce", "scan", "reduce_while"],
)
def test_names_of_an_operator_as_a_function_do_not_show(folded: Callable[[Any], Any]) -> None:
    """A derivation's file has the operator alone: what is read of it has to be compiled to the same text."""
    named = [lambda acc, x: rl.add(acc, x), lambda x5, x6: rl.add(x5, x6)]
    texts = {compile_program(typed(xs=f32[64, 8])(folded(f))).source for f in named}

    assert len(texts) == 1
