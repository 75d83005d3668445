"""What a driver need not find out by itself: registers have names, vectors are announced, remainders are launched apart."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.compiler.texts import body_of, lines_of
from relift.compiler.bench.benchmarks import load_benchmarks
from relift.compiler.bench.bundle_runner import in_halves, with_short_ids
from relift.compiler.certificates.claims import certificates
from relift.compiler.codegen.passes.registers import named_registers
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled

FOLDER = Path(__file__).parents[3] / "examples" / "low_level"
FEW, ODD, ROWS, ITEMS, LANES, MANY = 4, 5, 6, 8, 16, 64
_ARRAY = re.compile(r"^ *\w+ (\w+)\[\d+\];$", re.MULTILINE)


def arrays(source: str) -> dict[str, list[str]]:
    """The private arrays of a source, each with its indices that are no constants."""
    return {
        name: [i for i in re.findall(rf"\b{name}\[([^\]]*)\]", source) if not i.isdigit()]
        + re.findall(rf"\*\){name}\b", source)
        for name in _ARRAY.findall(source)
    }


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_an_array_remains_only_for_an_index_of_run_time(target: str) -> None:
    """In all low-level programs, at small sizes, an array with constant indices alone is named variables."""
    for b in load_benchmarks(FOLDER, [], target):
        for sizes in b.small:
            found = arrays(compile_program(b.make(**sizes)).source)
            assert all(found.values()), (b.name, found)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("parts", [1, 3])
def test_accumulators_are_variables(width: int, parts: int) -> None:
    """Arrays of scalars, of vectors and of tuples that a fold keeps are named, and the kernel is exact."""
    plus = rl.add if width == 1 else rl.vectorize(width, rl.add)
    zero = 0.0 if width == 1 else rl.splat(width, 0.0)

    @rl.program
    def sums(A: rl.f32[ROWS, 4 * parts]):
        def item(rows):
            start = rl.map_seq_unroll(lambda v: (v, v), rl.repeat(4 * parts // width, zero))

            def step(acc, row):
                values = row if width == 1 else rl.as_vector(width, row)
                return rl.map_seq_unroll(
                    lambda p: (plus(p[0][0], p[1]), plus(p[1], p[0][1])), rl.zip(acc, values)
                )

            both = rl.reduce_seq(step, rl.to_private(start), rows)
            done = rl.map_seq_unroll(lambda p: plus(p[0], p[1]), both)
            return done if width == 1 else rl.as_scalar(done)

        return rl.map_glb(0)(item, rl.split(3, A))

    compiled = compile_program(sums)
    x = np.arange(24 * parts, dtype=np.float32).reshape(6, 4 * parts)
    assert arrays(compiled.source) == {}
    np.testing.assert_array_equal(compiled(x), sums(x))
    assert all(c.ok for c in certificates(compiled))


@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize(
    ("written", "order", "declared"),
    [
        (rl.map_seq_unroll, "as it is", "float own0 = 0.0f;"),  # registers have no addresses
        (rl.map_seq, "as it is", "float own[{0}] __attribute__((aligned(64)));"),
        (rl.map_seq, "reversed", "float own[{0}];"),  # no lanes in the order of memory
    ],
)
def test_an_array_in_memory_that_lanes_access_together_is_aligned(
    width: int, written: Any, order: str, declared: str
) -> None:
    """A fold that adds whole vectors to an array of scalars adds all lanes at once, where they lie in one place."""
    part = 2 * width
    reversed_ = order == "reversed"

    @rl.program
    def sums(A: rl.f32[ROWS, part]):
        def added(acc, row):
            vectors = rl.as_vector(
                width, rl.zip(rl.gather(rl.reverse, acc) if reversed_ else acc, row)
            )
            both = written(lambda v: rl.map_vec(lambda p: p[0] + p[1], v), vectors)
            flat = rl.as_scalar(both)
            return rl.scatter(rl.reverse, flat) if reversed_ else flat

        def item(rows):
            zeros = rl.to_private(written(lambda v: v, rl.repeat(part, 0.0)))
            return written(lambda v: v, rl.reduce_seq(added, zeros, rows))

        return rl.map_glb(0)(item, rl.split(3, A))

    compiled = compile_program(sums)
    x = np.arange(ROWS * part, dtype=np.float32).reshape(ROWS, part)
    assert declared.format(part) in compiled.source
    np.testing.assert_array_equal(compiled(x), sums(x))
    assert all(c.ok for c in certificates(compiled))


def test_lanes_from_cells_apart_are_stored_one_by_one() -> None:
    """Of a vector of them PoCL makes a gather; the array is read by whole vectors all the same."""
    side = 8

    @rl.program
    def sums(A: rl.f32[side, side]):
        def item(rows):
            columns = rl.map_seq(
                lambda column: rl.as_scalar(rl.map_seq_unroll(copied, rl.as_vector(4, column))),
                rl.transpose(rows),
            )
            return rl.as_scalar(
                rl.map_seq(
                    lambda lanes: rl.map_vec(
                        lambda values: rl.reduce_seq(rl.add, 0.0, values), lanes
                    ),
                    rl.as_vector(4, rl.transpose(rl.to_private(columns))),
                )
            )

        def copied(v):
            return rl.map_vec(lambda x: x, v)

        return rl.join(rl.map_glb(0)(item, rl.split(4, A)))

    compiled = compile_program(sums)
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    assert "own[4*i + 3] = A[" in compiled.source
    assert "*(private const float4*)(own + 4*" in compiled.source
    np.testing.assert_array_equal(compiled(x), sums(x))
    assert all(c.ok for c in certificates(compiled))


def test_an_index_of_run_time_keeps_the_array() -> None:
    """An array that a loop indexes stays one, beside one that has names."""

    @rl.program
    def turned(A: rl.f32[ITEMS, ODD]):
        def item(row):
            looped = rl.to_private(rl.map_seq(lambda v: v + 1.0, row))
            named = rl.to_private(rl.map_seq_unroll(lambda v: v * 2.0, row))
            return rl.let(
                lambda a: rl.let(
                    lambda b: rl.concat(
                        rl.map_seq(lambda v: v, a), rl.map_seq_unroll(lambda v: v, b)
                    ),
                    named,
                ),
                looped,
            )

        return rl.map_glb(0)(item, A)

    compiled = compile_program(turned)
    x = np.arange(40, dtype=np.float32).reshape(8, 5)
    assert list(arrays(compiled.source)) == ["own"]
    assert "own_2[" not in compiled.source
    np.testing.assert_array_equal(compiled(x), turned(x))


def test_a_register_is_declared_where_all_that_use_it_see_it() -> None:
    """A first write inside an inner block is no declaration; one in the block of the array is."""
    lines = ["  float own[3];", "  own[0] = 1.0f;", "  if (a) {", "    own[1] = own[0];", "  }"]
    lines += ["  own[1] = own[1];", "  own[2] = own[2] + 1.0f;", "  y[0] = own[1] + z.own;"]
    assert lines_of(named_registers(body_of(lines), lambda hint: hint)) == [
        "float own1, own2;",
        "float own0 = 1.0f;",
        "if (a) {",
        "  own1 = own0;",
        "}",
        "own1 = own1;",
        "own2 = own2 + 1.0f;",
        "y[0] = own1 + z.own;",
    ]


def test_names_of_registers_are_free() -> None:
    """An argument that is called like an element keeps its name."""

    @rl.program
    def copied(own0: rl.f32[FEW], own1: rl.f32[FEW]):
        own = rl.to_private(rl.map_seq_unroll(lambda p: p[0] + p[1], rl.zip(own0, own1)))
        return rl.let(lambda a: rl.map_seq_unroll(lambda v: v, a), own)

    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(compile_program(copied)(x, x), 2 * x)


# ---- vectors


def scaled(n: int, width: int) -> Compiled:
    @rl.program
    def twice(x: rl.f32[n]):
        vectors = rl.map_glb(0)(rl.map_vec(lambda v: v + v), rl.as_vector(width, x))
        return rl.as_scalar(vectors)

    return compile_program(twice)


@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_a_kernel_with_vectors_says_so(width: int) -> None:
    """The hint names the longest vectors; a kernel of scalars gives none."""
    assert f"__attribute__((vec_type_hint(float{width})))\nkernel" in scaled(64, width).source

    @rl.program
    def plain(x: rl.f32[MANY]):
        return rl.map_glb(0)(lambda v: v + v, x)

    assert "vec_type_hint" not in compile_program(plain).source


@pytest.mark.parametrize(
    ("along", "of"), [("rows", "sums"), ("columns", "sums"), ("rows", "exponentials")]
)
def test_a_kernel_whose_loops_write_along_rows_says_so(along: str, of: str) -> None:
    """Vectors of work-items would scatter to as many rows; along columns they write what lies side by side.

    What a function of the library computes is worth it.
    """
    f = rl.exp if of == "exponentials" else lambda v: v + v

    @rl.program
    def each(A: rl.f32[MANY, MANY]):
        lines = A if along == "rows" else rl.transpose(A)
        found = rl.map_glb(0)(lambda line: rl.map_seq(f, line), lines)
        return found if along == "rows" else rl.transpose(found)

    compiled = compile_program(each, contract=False)
    x = np.random.default_rng(0).random((64, 64), dtype=np.float32)
    assert ("vec_type_hint(float4)" in compiled.source) == (along == "rows" and of == "sums")
    if of == "sums":
        np.testing.assert_array_equal(compiled(x), each(x))
    else:
        np.testing.assert_allclose(compiled(x), each(x), rtol=1e-6)


def test_a_kernel_that_only_reads_along_rows_leaves_its_work_items_to_the_driver() -> None:
    """A fold goes in turns, and is packed over work-items alone."""

    @rl.program
    def sums(A: rl.f32[MANY, MANY]):
        return rl.map_glb(0)(lambda row: rl.reduce_seq(rl.add, 0.0, row), A)

    compiled = compile_program(sums, contract=False)
    x = np.random.default_rng(0).random((64, 64), dtype=np.float32)
    assert "vec_type_hint" not in compiled.source
    np.testing.assert_array_equal(compiled(x), sums(x))


@pytest.mark.parametrize("length", [2, 16])
def test_a_loop_of_few_turns_keeps_no_driver_from_packing_work_items(length: int) -> None:
    """Two numbers of a work-item fill no vector."""

    @rl.program
    def copied(x: rl.f32[MANY, length]):
        return rl.map_glb(0)(lambda row: rl.map_seq(lambda v: v + v, row), x)

    assert ("vec_type_hint" in compile_program(copied).source) == (length == 16)


def test_the_lanes_of_a_private_vector_are_constants() -> None:
    """The sum of the lanes of accumulators takes no address of a register."""

    @rl.program
    def total(A: rl.f32[FEW, LANES]):
        def item(row):
            zeros = rl.to_private(rl.map_seq_unroll(lambda v: v, rl.repeat(2, rl.splat(4, 0.0))))
            pairs = rl.split(2, rl.as_vector(4, row))
            step = rl.vectorize(4, rl.add)
            sums = rl.reduce_seq(
                lambda acc, p: rl.map_seq_unroll(lambda q: step(q[0], q[1]), rl.zip(acc, p)),
                zeros,
                pairs,
            )
            return rl.reduce_seq(rl.add, 0.0, rl.as_scalar(sums))

        return rl.map_glb(0)(item, A)

    compiled = compile_program(total)
    x = np.arange(64, dtype=np.float32).reshape(4, 16)
    assert "private float*" not in compiled.source
    assert arrays(compiled.source) == {}
    np.testing.assert_array_equal(compiled(x), total(x))


FUNCTIONS: list[Any] = [rl.exp, rl.sqrt, rl.absolute]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("t", [rl.f32, rl.f64], ids=str)
def test_a_call_on_long_vectors_can_be_made_in_halves(function: Any, t: Any) -> None:
    """For a library without vectors of 64 bytes the text is written anew, and computes the same."""
    width = 64 // t.bytes

    @rl.program
    def wide(x: t[4 * width]):
        return rl.as_scalar(rl.map_glb(0)(rl.map_vec(function), rl.as_vector(width, x)))

    whole = compile_program(wide)
    halved = Compiled(in_halves(whole.source), whole.plan)
    x = np.linspace(-1, 4, 4 * width).astype(str(t).replace("f", "float"))
    assert ".lo" not in whole.source
    assert ".lo" in halved.source
    np.testing.assert_allclose(halved(x), whole(x), rtol=1e-6)


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_wide_vectors_of_a_memory_are_read_alike(lanes: int) -> None:
    """Aligned or not, where both are read, by a function that can be called for halves; those of a GPU are not touched."""

    @rl.program
    def neighbours(x: rl.f32[5 * lanes]):
        windows = rl.slide(3, 1, x)
        inside = rl.take(4 * lanes, windows)
        return rl.as_scalar(
            rl.map_glb(0)(
                rl.map_vec(lambda w: w[0] - 2.0 * w[1] + w[2]), rl.as_vector(lanes, inside)
            )
        )

    whole = compile_program(neighbours)
    assert f"vload{lanes}" in whole.source
    assert ("*(global const float" in whole.source) == (lanes == 4)
    halved = Compiled(in_halves(whole.source), whole.plan)
    assert ("relift_vload16" in halved.source) == (lanes == 16)
    x = np.linspace(-1, 4, 5 * lanes, dtype=np.float32)
    for compiled in (whole, halved):
        np.testing.assert_allclose(compiled(x), neighbours(x), rtol=1e-4, atol=1e-5)


def test_a_driver_can_be_told_that_ids_are_short() -> None:
    """The text with ids that are no longer than `int` says computes the same, in both dimensions and in strides."""

    @rl.program
    def neighbours(x: rl.f32[MANY, ODD]):
        def row(w):
            return rl.map_glb(0)(lambda p: p[0] - 2.0 * p[1], rl.zip(w[0], w[2]))

        return rl.map_glb(1)(row, rl.slide(3, 1, rl.pad(1, 1, rl.clamp, x)))

    whole = compile_program(neighbours, local=(1, 4), global_=(2, 8))
    told = Compiled(with_short_ids(whole.source), whole.plan)
    x = np.arange(MANY * ODD, dtype=np.float32).reshape(MANY, ODD)
    assert "__builtin_assume" in told.source
    np.testing.assert_array_equal(told(x), whole(x))


# ---- remainders


@pytest.mark.parametrize("shape", [(257,), (1009,), (67, 71), (5, 7, 263)], ids=str)
def test_a_fixed_remainder_is_a_launch_of_its_own(shape: tuple[int, ...]) -> None:
    """Lengths that no group divides: no work-item is asked whether it has an element, and none is left out."""

    @rl.program
    def twice(x: rl.f32[shape]):
        def nest(d, xs):
            return rl.map_glb(d)(lambda v: nest(d - 1, v) if d else v + v, xs)

        return nest(len(shape) - 1, x)

    compiled = compile_program(twice)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (kernel,) = compiled.plan.kernels
    assert "if (" not in compiled.source
    assert "for (" not in compiled.source
    assert kernel.range == shape[::-1]
    assert all(p.range[d] % p.local[d] == 0 for p in kernel.pieces for d in range(len(shape)))
    np.testing.assert_array_equal(compiled(x), x + x)
    assert all(c.ok for c in certificates(compiled))
