"""Kernels whose sizes are arguments: right at all sizes, certified for all, refused where a number is needed.

The numbers of work-items that a user gives are here as well: the same kernels run grid-stride loops.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import made, typed
from proofs_tests.compiler.races import complaints
from proofs_tests.compiler.running.test_kernels import arguments, assert_same
from relift.compiler.agreement.open_sizes import differential_at
from relift.compiler.certificates.claims import certificates
from relift.compiler.lowering import analyses
from relift.compiler.lowering.threads import Counts
from relift.compiler.program import compile_program, is_low_level, runs
from relift.compiler.running.compiled import load
from relift.compiler.running.launch import Kernel
from relift.compiler.validation.validate import validate
from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.indices.functions import reorder_stride, reverse, shift
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import Size, SizeLike, nat
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import f32, vec

k, m, n = nat("k"), nat("m"), nat("n")

OPEN: dict[str, tuple[SizeLike, ...]] = {
    "saxpy": (n,),
    "dot": (4, 8, 32 * n),
    "squares": (4 * n,),
    "stencil_clamp": (n,),
    "stencil_in_two_dimensions": (m, n),
    "tuples_out": (n,),
    "matmul": (m, k, n),
    "matmul_vectors": (4 * m, 4 * k, 4 * n),
    "transposed": (m, n),
    "transposed_by_tiles": (4 * m, 4 * n),
    "tiles_in_registers": (m, n, k),
    "tree": (16 * n,),
    "loop_over_tiles": (32 * n,),
    "tiles_fetched_ahead": (32 * n,),
    "long_group": (600 * n,),
    "sums_twice": (32 * n,),
}
"""Families of programs with open sizes; products where a tile or a vector must divide them."""

SIZES = (
    {"k": 1, "m": 1, "n": 1},
    {"k": 2, "m": 5, "n": 3},
    {"k": 7, "m": 2, "n": 65},
    {"k": 3, "m": 67, "n": 4},
)
"""Ones, primes, and one more than a group has work-items."""


@typed(x=f32[m], y=f32[n])
def sides(x: Any, y: Any) -> Any:
    """Nobody knows which of two maps is longer: the work-items that serve both run a grid-stride loop."""
    return rl.concat(rl.map_glb(0)(lambda v: v + v, x), rl.map_glb(0)(lambda v: v * v, y))


ALL = (*OPEN, "sides")


def family(name: str) -> Program:
    """An open family by its name."""
    return sides if name == "sides" else made(name, *OPEN[name])


def at(program: Program, sizes: dict[str, int]) -> Program:
    return program.at({name: sizes[name] for name in program.sizes})


@pytest.mark.parametrize("name", ALL)
def test_one_kernel_computes_at_all_sizes(name: str) -> None:
    """Compiled once, run at each of the sizes, bit for bit what the interpreter says."""
    program = family(name)
    compiled = compile_program(program)
    assert set(compiled.plan.sizes) == set(program.sizes)
    for sizes in SIZES:
        values = arguments(at(program, sizes))
        assert_same(compiled(*values), program(*values))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.no_device
def test_one_certificate_is_for_all_sizes(name: str) -> None:
    """No access leaves its buffer and no two work-items race, for all sizes and the work-items that they have."""
    for found in certificates(compile_program(family(name))):
        assert found.sizes == "all sizes"
        assert {c.verdict for c in found.claims} == {"proved"}, found.text()


@pytest.mark.parametrize(
    ("name", "old", "new", "kind"),
    [
        ("saxpy", "out[glb_0]", "out[glb_0 + 1]", "bounds"),
        ("saxpy", "out[glb_0]", "out[glb_0 / 2]", "races"),
        ("matmul", "glb_1*n + glb_0]", "glb_1*k + glb_0]", "races"),
        ("long_group", "600*wrg_0", "600*(wrg_0 + 1)", "bounds"),
        ("long_group", "i_2 += 256", "i_2 += 1", "races"),
        ("loop_over_tiles", "i < 4", "i < lcl_0", "barriers"),
        ("transposed_by_tiles", "barrier(CLK_LOCAL_MEM_FENCE);", "", "races"),
        ("sides", "i < m", "i < m + 1", "bounds"),
        ("sides", "int i = glb_0", "int i = 0", "races"),
        ("sides", "i += glb_0_count", "i += 1", "races"),
    ],
)
@pytest.mark.no_device
def test_a_wrong_kernel_gets_no_certificate(name: str, old: str, new: str, kind: str) -> None:
    """A place that another has or none, a loop that goes on too long, turns of others, a missing barrier."""
    compiled = compile_program(family(name))
    assert old in compiled.source
    broken = dataclasses.replace(compiled, source=compiled.source.replace(old, new))
    verdicts = {c.verdict for found in certificates(broken) for c in found.claims if c.kind == kind}
    assert verdicts - {"proved"}


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("saxpy", None),
        ("saxpy", 2),
        ("sides", None),
        ("transposed_by_tiles", None),
        ("transposed_by_tiles", (4, 4)),
        ("loop_over_tiles", 8),
        ("sums_twice", None),
    ],
)
@pytest.mark.no_device
def test_the_simulator_finds_no_race_at_open_sizes(name: str, counts: Counts) -> None:
    """On Oclgrind, also with one group that takes all turns: local memory is used again and again."""
    program = family(name)
    values = arguments(at(program, {"m": 2, "n": 3}))
    local = 2 if name == "saxpy" else None
    assert complaints(compile_program(program, local=local, global_=counts), values) == []


@pytest.mark.no_device
def test_the_simulator_sees_a_barrier_that_is_missing() -> None:
    """Between the turns of a group: without it the next turn overwrites what is still read."""
    program = family("transposed_by_tiles")
    compiled = compile_program(program, global_=(4, 4))
    end = "barrier(CLK_LOCAL_MEM_FENCE);\n    }"
    assert end in compiled.source
    broken = dataclasses.replace(compiled, source=compiled.source.replace(end, "}"))
    found = complaints(broken, arguments(at(program, {"m": 2, "n": 3})))
    assert any("race" in message for message in found)


def test_a_kernel_of_open_sizes_is_compared_at_some() -> None:
    """On each device and by the race checker, at the sizes given or small ones; a wrong kernel differs."""
    program = made("transposed", m, n)
    compiled = compile_program(program)
    found = differential_at(program, compiled, {"n": 70}, ["cpu"], lambda _: None)
    assert [c.ok for c in found] == [True, True, True], found
    assert "SKIPPED" in found[2].detail or "at n=70, m=3" in found[2].detail
    source = compiled.source.replace("glb_0*n", "glb_0*m")
    assert source != compiled.source
    wrong = dataclasses.replace(compiled, source=source, unchecked=True)
    text, kernel, _ = differential_at(program, wrong, {"n": 70}, ["cpu"], lambda _: None)
    assert not text.ok
    assert not kernel.ok


@pytest.mark.no_device
def test_what_is_low_level_says_what_runs_in_parallel() -> None:
    """A program that the compiler takes as it is, but in which nothing is parallel, is searched for."""

    @typed(x=f32[m, n])
    def turned(x: Any) -> Any:
        return rl.transpose(x)

    @typed(x=f32[n])
    def mapped(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v + v, x)

    assert runs(turned)
    assert not is_low_level(turned)
    assert is_low_level(mapped)


# ---- sizes


def test_some_sizes_may_be_fixed() -> None:
    """Those that are fixed are numbers in the kernel, the others arguments."""
    program = made("matmul", m, k, n)
    compiled = compile_program(program, {"k": 6})
    assert compiled.plan.kernels[0].arguments == ("a", "b", "out", "n")
    assert "i < 6" in compiled.source
    values = arguments(program.at({"m": 3, "k": 6, "n": 70}))
    assert_same(compiled(*values), program(*values))
    with pytest.raises(IllTyped, match="shape"):
        compiled(*arguments(program.at({"m": 3, "k": 5, "n": 70})))


def test_all_sizes_fixed_is_the_program_at_these_sizes() -> None:
    """Not a letter of a kernel differs."""
    program = made("matmul", m, k, n)
    sizes = {"m": 3, "k": 5, "n": 7}
    assert compile_program(program, sizes) == compile_program(program.at(sizes))


def test_an_empty_array_is_a_size_like_others() -> None:
    """No work-item is launched."""
    size = nat("n", least=0)

    @typed(x=f32[size])
    def doubled(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v + v, x)

    assert compile_program(doubled)(np.zeros(0, np.float32)).shape == (0,)


def test_a_size_that_no_shape_shows_is_given() -> None:
    """Of a product, the shape shows one factor when the other is known."""

    @typed(x=f32[m * n])
    def rows(x: Any) -> Any:
        return rl.map_glb(0)(lambda row: rl.reduce_seq(rl.add, 0.0, row), rl.split(n, x))

    compiled, x = compile_program(rows), np.arange(12, dtype=np.float32)
    np.testing.assert_array_equal(compiled(x, sizes={"n": 4}), x.reshape(3, 4).sum(1))
    assert len(compiled.timed((x,), repeats=3, sizes={"n": 4})) == 3
    with pytest.raises(
        IllTyped, match=r"rows: its sizes are not determined: 12 .* call with sizes="
    ):
        compiled(x)
    with pytest.raises(IllTyped, match="rows: 5 does not divide 12"):
        compiled(x, sizes={"n": 5})


def test_shapes_that_do_not_fit_are_refused() -> None:
    """With both sizes, and the shapes of all arguments."""
    a, b = np.zeros((3, 4), np.float32), np.zeros((5, 6), np.float32)
    with pytest.raises(
        IllTyped,
        match=r"matmul: length 4 is needed, but .* length 5; .*a: f32\[m, k\] has shape \(3, 4\), "
        r"b: f32\[k, n\] has shape \(5, 6\)",
    ):
        compile_program(made("matmul", m, k, n))(a, b)
    with pytest.raises(IllTyped, match="squares: 4 does not divide 6"):
        compile_program(made("squares", 4 * n))(np.zeros(6, np.float32))


def test_a_size_that_c_cannot_call_so_has_another_name() -> None:
    """A word of C, a number of a work-item, and a user's function."""

    @typed(x=f32[nat("long"), nat("glb_0"), nat("out")])
    def words(x: Any) -> Any:
        return rl.map_glb(0)(rl.map_seq(rl.map_seq(lambda v: v)), x)

    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(compile_program(words)(x), x)


def test_indices_that_int_cannot_hold_are_refused() -> None:
    """From the shapes, before anything is copied. With `wide`, indices are long."""
    program = made("transposed", m, n)
    plan = compile_program(program).plan
    large = np.broadcast_to(np.float32(0), (1 << 16, 1 << 15))
    with pytest.raises(
        IllTyped, match=r"transposed: m\*n is 2147483648; .* 2\*\*31 .*; compile with wide=True"
    ):
        plan.at(plan.solved((large,), {}))
    wide = compile_program(program, wide=True)
    assert "const long m" in wide.source
    assert "int " not in wide.source
    wide.plan.at({"m": 1 << 16, "n": 1 << 15})
    values = arguments(at(program, {"m": 3, "n": 70}))
    assert_same(wide(*values), program(*values))


def test_indices_inside_indices_fit_int_as_well() -> None:
    """What is divided may be larger than the array: in `pad` with `wrap` it is up to twice as long."""

    @typed(x=f32[n])
    def around(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v, rl.pad(1, 1, rl.wrap, x))

    large = {"n": 2**30 + 1}
    compile_program(made("saxpy", n)).plan.at(large)
    with pytest.raises(
        IllTyped, match=r"around: 2\*n \+ 1 is 2147483651; .* compile with wide=True"
    ):
        compile_program(around).plan.at(large)


def test_a_saved_kernel_keeps_its_open_sizes(tmp_path: Path) -> None:
    """Read back, it is the same and runs the same."""
    size = nat("n", least=2)

    @typed(x=f32[2 * size + 1])
    def kept(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v + v, x)

    compiled = compile_program(kept)
    compiled.save(tmp_path)
    again, x = load(tmp_path), np.arange(7, dtype=np.float32)
    assert again.plan == compiled.plan
    assert json.loads(json.dumps(compiled.launch)) == compiled.launch
    np.testing.assert_array_equal(again(x), x + x)
    with pytest.raises(IllTyped, match="size n is 1, but it is at least 2"):
        again(x[:3])


# ---- what needs a number


def _rows(each: Any) -> Any:
    return lambda x: rl.map_glb(0)(each, x)


def _groups(each: Any) -> Any:
    return lambda x: rl.map_wrg(0)(each, x)


NEEDS_A_NUMBER: dict[str, tuple[Any, str]] = {
    "local array": (
        _groups(lambda r: rl.map_lcl(0)(lambda v: v, rl.to_local(rl.map_lcl(0)(lambda v: v, r)))),
        r"to_local of f32\[n\]",
    ),
    "private array": (
        _rows(lambda r: rl.map_seq(lambda v: v, rl.to_private(rl.map_seq(lambda v: v, r)))),
        r"to_private of f32\[n\]",
    ),
    "private array spread over work-items": (
        _groups(lambda r: rl.map_lcl(0)(lambda v: v, rl.to_private(rl.map_lcl(0)(lambda v: v, r)))),
        r"to_private of map_lcl\(0\) over f32\[n\]",
    ),
    "unrolled sum": (
        _rows(lambda r: rl.reduce_seq_unroll(rl.add, 0.0, r)),
        r"reduce_seq_unroll of f32\[n\]",
    ),
    "unrolled map": (
        _rows(lambda r: rl.map_seq_unroll(lambda v: v, r)),
        r"map_seq_unroll of f32\[n\]",
    ),
    "permutation": (
        _rows(lambda r: rl.scatter(lambda i: (3 * i) % n, rl.map_seq(lambda v: v, r))),
        r"scatter with the index function .* of f32\[n\]",
    ),
}


@pytest.mark.parametrize("name", NEEDS_A_NUMBER)
def test_a_number_that_is_open_is_refused(name: str) -> None:
    """With the pattern, the size and the hint; and what it says repairs it."""
    body, what = NEEDS_A_NUMBER[name]

    @typed(x=f32[m, n])
    def refused(x: Any) -> Any:
        return body(x)

    with pytest.raises(
        Unsupported, match=what + r' needs a number where it has the size n; .*sizes=\{"n": ...\}'
    ):
        compile_program(refused)
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    assert_same(compile_program(refused, {"n": 8})(x), refused(x))


def test_vectors_of_an_open_width_and_powers_are_refused() -> None:
    """OpenCL has neither."""

    @typed(x=vec(f32, n)[m])
    def lanes(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v, x)

    @typed(x=f32[2**n])
    def powers(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v, x)

    with pytest.raises(Unsupported, match="needs a number where it has the size n"):
        compile_program(lanes)
    with pytest.raises(Unsupported, match=r'size 2\*\*n; compile with sizes=\{"n": ...\}'):
        compile_program(powers)
    x = np.arange(8, dtype=np.float32)
    assert_same(compile_program(powers, {"n": 3})(x), x)


def test_an_index_that_may_be_negative_is_refused() -> None:
    """C rounds towards zero; that n is at least 2 is enough."""

    def around(size: SizeLike) -> Program:
        @typed(x=f32[size])
        def around(x: Any) -> Any:
            return rl.map_glb(0)(lambda v: v, rl.pad(2, 2, rl.wrap, x))

        return around

    with pytest.raises(Unsupported, match="may be negative; fix n, or state larger least values"):
        compile_program(around(n))
    program, x = around(nat("n", least=2)), np.arange(5, dtype=np.float32)
    assert_same(compile_program(program)(x), program(x))


# ---- numbers of work-items


@pytest.mark.parametrize(
    "name", ["saxpy", "matmul", "transposed_by_tiles", "squares", "tuples_out"]
)
@pytest.mark.no_device
def test_each_element_has_a_work_item_of_its_own(name: str) -> None:
    """The work-items are as many as the elements: nobody asks for the end of a parallel map."""
    source = compile_program(family(name)).source
    assert "_count" not in source
    assert "if (" not in source


@pytest.mark.parametrize("total", [(0,), (1,), (63,), (64,), (150,), (5, 0), (65, 7), (130, 9, 5)])
@pytest.mark.no_device
def test_pieces_are_the_work_items_of_a_launch(total: tuple[int, ...]) -> None:
    """Each number of a work-item is in one piece, and groups are whole."""
    kernel = Kernel("k", (), tuple(map(Size.of, total)), (64, 2, 3)[: len(total)], 0)
    found = list[tuple[int, ...]]()
    for p in kernel.pieces:
        assert all(size % m == 0 for size, m in zip(p.range, p.local, strict=True))
        along = (range(o, o + size) for o, size in zip(p.offset, p.range, strict=True))
        found += itertools.product(*along)
    assert sorted(found) == list(itertools.product(*map(range, total)))


def test_without_control_flow_all_take_turns() -> None:
    """What the analysis saves at open sizes, an ablation has: the same results, through loops."""
    program = made("saxpy", n)
    compiled = compile_program(
        program, analyses=dataclasses.replace(analyses.ALL, control_flow=False)
    )
    assert "i += glb_0_count" in compiled.source
    values = arguments(program.at({"n": 70}))
    assert_same(compiled(*values), program(*values))
    assert all(found.ok for found in certificates(compiled))


@pytest.mark.no_device
def test_work_items_that_take_turns_are_limited() -> None:
    """To 2**24 in a dimension; that number counts for what `int` can hold, that of others does not."""
    (kernel,) = compile_program(sides).plan.at({"m": 2**30, "n": 2**27}).kernels
    assert kernel.range == (1 << 24,)
    most = 2**31 - 1 - 2**24
    compile_program(sides).plan.at({"m": most - 2**27, "n": 2**27})
    with pytest.raises(IllTyped, match=r"sides: m \+ n is .* with 16777216 work-items in a turn"):
        compile_program(sides).plan.at({"m": most - 2**27 + 1, "n": 2**27})
    (kernel,) = compile_program(made("saxpy", n)).plan.at({"n": 2**31 - 65}).kernels
    assert kernel.range == (2**31 - 65,)
    with pytest.raises(IllTyped, match=r"saxpy: n is 2147483584; .* compile with wide=True"):
        compile_program(made("saxpy", n)).plan.at({"n": 2**31 - 64})


@pytest.mark.parametrize(
    "call", ["get_global_size(0)", "get_local_id(0)", "get_group_id(0)", "get_num_groups(0)"]
)
@pytest.mark.no_device
@pytest.mark.parametrize(("free", "verdict"), [(False, "unknown"), (True, "refuted")])
def test_numbers_that_differ_between_pieces_get_no_certificate(
    call: str, free: bool, verdict: str
) -> None:
    """The last group of a launch may be smaller, and a driver may take groups of any size: these numbers are not those of the proof."""
    compiled = compile_program(made("saxpy", n))
    source = compiled.source.replace("{\n", f"{{\n  const int other = {call};\n")
    source = source.replace("x[glb_0]", "x[other]")
    (kernel,) = compiled.plan.kernels
    plan = dataclasses.replace(compiled.plan, kernels=(dataclasses.replace(kernel, free=free),))
    (found,) = certificates(dataclasses.replace(compiled, source=source, plan=plan))
    assert {c.verdict for c in found.claims} == {verdict}
    assert call.partition("(")[0] in found.text()


@pytest.mark.parametrize("sizes", [None, {"n": 100}])
def test_work_items_take_turns_where_too_few_are_given(sizes: dict[str, int] | None) -> None:
    """64 work-items for 100 elements, of an open number or of a fixed one."""
    program = made("saxpy", n)
    compiled = compile_program(program, sizes, local=32, global_=64)
    (kernel,) = compiled.plan.kernels
    assert kernel.local == (32,)
    assert kernel.range == (64,)
    assert "i += 64" in compiled.source
    values = arguments(program.at({"n": 100}))
    assert_same(compiled(*values), program(*values))
    assert all(found.ok for found in certificates(compiled))


def test_work_items_that_are_too_many_are_guarded() -> None:
    """128 work-items for 100 elements: no loop."""
    program = made("saxpy", n)
    compiled = compile_program(program, {"n": 100}, local=64, global_=128)
    assert "if (glb_0 < 100)" in compiled.source
    assert "for (" not in compiled.source
    values = arguments(program.at({"n": 100}))
    assert_same(compiled(*values), program(*values))


def test_a_group_that_takes_turns_waits_between_them() -> None:
    """One group for all tiles: it reads the last tile before it fills the next."""
    program = made("transposed_by_tiles", 12, 8)
    compiled = compile_program(program, local=(2, 4), global_=(2, 4))
    values = arguments(program)
    assert_same(compiled(*values), program(*values))
    assert all(found.ok for found in certificates(compiled))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"local": 0}, "local is one to three positive whole numbers, not 0"),
        ({"local": (1, 1, 1, 1)}, "local is one to three positive whole numbers"),
        (
            {"local": (8, 2)},
            "local has 2 work-items in dimension 1, where no kernel has a parallel map",
        ),
        (
            {"local": 48, "global_": 64},
            "global_ has 64 work-items .* no whole number of groups of 48",
        ),
    ],
)
@pytest.mark.no_device
def test_numbers_of_work_items_that_do_not_fit_are_refused(options: Any, message: str) -> None:
    """Each with what would fit."""
    with pytest.raises(IllTyped, match=message):
        compile_program(made("saxpy", n), **options)


def test_a_map_is_carried_out_where_another_has_no_elements() -> None:
    """Two maps of one kernel share its work-items; there are some, also where the longer map is empty."""
    n = nat("n", least=0)

    @typed(x=f32[2], y=f32[4 * n])
    def both(x: Any, y: Any) -> Any:
        return rl.map_glb(0)(lambda v: v + 1.0, x), rl.map_glb(0)(lambda v: v * 2.0, y)

    kernel = compile_program(both)
    for count in (0, 1, 3):
        arrays = (np.ones(2, np.float32), np.arange(4 * count, dtype=np.float32))
        for got, wanted in zip(kernel(*arrays), both(*arrays), strict=True):
            assert np.array_equal(got, wanted), count


@pytest.mark.no_device
def test_the_turn_after_the_last_must_fit() -> None:
    """A counter goes one turn beyond what it counts, and `int` must hold that as well."""
    n = nat("n")
    kernel = Kernel("f", (), (Size.of(64),), (64,), 0, spans=(n,))

    kernel.at({"n": 2**31 - 65}, "program")
    for count in (2**31 - 64, 2**31 - 1):
        with pytest.raises(IllTyped, match="with 64 work-items in a turn"):
            kernel.at({"n": count}, "program")


PERMUTED: dict[str, tuple[Any, bool]] = {
    "reverse": (reverse, True),
    "reverse, written out": (lambda i: n - 1 - i, True),
    "nothing": (lambda i: i, True),
    "doubled": (lambda i: i // 2, False),
    "beyond": (lambda i: n - i, False),
    "in a circle": (shift(1), True),
    "far in a circle": (shift(70), True),
    "back in a circle": (lambda i: (2 * n - 1 - i) % n, True),
    "twice as far in a circle": (lambda i: (i + i) % n, False),
    "in a smaller circle": (lambda i: (i + 1) % 2, False),
}
"""Index functions of an open length; what is no permutation, or not seen to be one, is refused."""


def assert_one_to_one(program: Program, sizes: Sequence[int], accepted: bool) -> None:
    """A scatter that is accepted gives what the interpreter has at these numbers; another is refused by name."""
    if not accepted:
        with pytest.raises(Unsupported, match="scatter with the index function"):
            compile_program(program)
        return
    kernel = compile_program(program)
    for size in sizes:
        report = validate(kernel.source, kernel.plan, program, {"n": size})
        assert report.ok, report.detail


@pytest.mark.parametrize(("permuted", "accepted"), PERMUTED.values(), ids=PERMUTED)
@pytest.mark.parametrize("rows", [False, True], ids=["cells", "rows"])
def test_a_scatter_of_an_open_length(permuted: Any, accepted: bool, rows: bool) -> None:
    """As at any number: each cell is written once, where the interpreter has it."""

    def scattered(x: Any) -> Any:
        if rows:
            each = rl.map_glb(0)(lambda r: rl.map_seq(lambda v: v + 1.0, r), rl.split(4, x))
            return rl.join(rl.scatter(permuted, each))
        return rl.scatter(permuted, rl.map_glb(0)(lambda v: v + 1.0, x))

    x = Input("x", f32[4 * n] if rows else f32[n])
    assert_one_to_one(Program("scattered", (x,), scattered(x)), (1, 2, 7, 65), accepted)


STRIDES: dict[str, tuple[Any, bool]] = {
    "by stride": (reorder_stride(4), True),
    "by rows": (lambda i: i // 4 + n * (i % 4), True),
    "half of the circle": (lambda i: (i + 1) % n, False),
    "rows beside each other": (lambda i: i // 4 + (i % 4), False),
    "rows turned": (lambda i: i // 4 + n * ((i + 1) % 4), False),
    "rows that overlap": (lambda i: i // 4 + (n - 1) * (i % 4), False),
}
"""The same of a length of 4 * n."""


@pytest.mark.parametrize(("permuted", "accepted"), STRIDES.values(), ids=STRIDES)
def test_a_scatter_by_strides_of_an_open_length(permuted: Any, accepted: bool) -> None:
    """What counts columns instead of rows is one to one, and other sums of quotients and remainders are not seen to be."""
    x = Input("x", f32[4 * n])
    body = rl.scatter(permuted, rl.map_glb(0)(lambda v: v + 1.0, x))
    assert_one_to_one(Program("scattered", (x,), body), (1, 2, 7, 17), accepted)
