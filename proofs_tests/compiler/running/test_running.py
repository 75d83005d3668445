"""Compiled programs: arguments, results, saving, timing, devices, and what goes wrong."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import CASES, made, typed
from proofs_tests.compiler.races import complaints
from proofs_tests.compiler.running.test_kernels import arguments, assert_same
from proofs_tests.tampering import resealed
from relift.compiler import Compiled, compile_program
from relift.compiler.agreement.comparison import agreed
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.agreement.simulator import NotAvailable, race_check
from relift.compiler.devices.naming import label
from relift.compiler.devices.survey import describe, devices, find_device
from relift.compiler.running.compiled import load
from relift.compiler.running.launch import Launch, Packing
from relift.compiler.running.processes import building
from relift.rewrites.checks.random.kernels import random_kernel
from relift.semantics.errors import IllTyped, ReliftError, Unsupported
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import boolean, f32, i32, tup, vec

# ---- arguments


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((2.0, np.zeros(4), np.zeros(4, np.float32)), r"x: f32 is needed.*float64; .*astype"),
        ((2.0, np.zeros(3, np.float32), np.zeros(4, np.float32)), r"x: shape \(4,\) is needed"),
        ((2.0, np.zeros(4, np.float32)), "saxpy takes 3 arguments .a: f32, x: f32.4.*2 are given"),
        ((2.0, [0.0] * 4, np.zeros(4, np.float32)), "x: a NumPy array is needed, not list"),
        ((np.float64(2), np.zeros(4, np.float32), np.zeros(4, np.float32)), "a: f32 is needed"),
    ],
)
def test_wrong_arguments_are_refused(values: tuple[Any, ...], message: str) -> None:
    """Nothing is converted silently."""
    with pytest.raises(IllTyped, match=message):
        compile_program(made("saxpy", 4))(*values)


def test_every_kind_of_value_goes_in_and_out() -> None:
    """Truth values, tuples of scalars, arrays of vectors, nested tuples."""

    @typed(flags=boolean[4], pair=tup(f32, i32), vs=vec(f32, 2)[4], ps=tup(tup(f32, i32), f32)[4])
    def mixed(flags: Any, pair: Any, vs: Any, ps: Any) -> Any:
        return rl.map_glb(0)(
            lambda p: (
                p[0][0],
                rl.map_vec(lambda a: a * pair[0], p[0][1]),
                (p[1][0][1] + pair[1], p[1][1]),
            ),
            rl.zip(rl.zip(flags, vs), ps),
        )

    values = arguments(mixed)
    found = compile_program(mixed)(*values)
    assert_same(found[0], values[0])
    assert_same(found[1], values[2] * values[1][0])
    assert_same(found[2], (values[3][0][1] + values[1][1], values[3][1]))


def test_minimum_and_absolute_treat_nan_as_numpy_does() -> None:
    """OpenCL's fmin drops NaN; ours is the interpreter's."""

    @typed(x=f32[8], y=f32[8])
    def extremes(x: Any, y: Any) -> Any:
        def both(p: Any) -> Any:
            return rl.minimum(p[0], p[1]) + rl.absolute(rl.maximum(p[0], p[1]))

        vectors = rl.as_scalar(
            rl.map_glb(0)(lambda v: rl.map_vec(both, v), rl.as_vector(4, rl.zip(x, y)))
        )
        scalars = rl.join(rl.map_glb(0)(lambda c: rl.map_seq(both, c), rl.split(4, rl.zip(x, y))))
        return rl.zip(vectors, scalars)

    nan, inf = np.nan, np.inf
    x = np.array([1, nan, nan, -inf, inf, -1, 0, 3], np.float32)
    y = np.array([nan, 1, nan, 2, -inf, -2, 5, -3], np.float32)
    with np.errstate(invalid="ignore"):
        expected = np.minimum(x, y) + np.abs(np.maximum(x, y))
    for part in compile_program(extremes)(x, y):
        np.testing.assert_array_equal(part, expected)


def test_literals_are_exact() -> None:
    """Infinities, NaN, small and large numbers."""
    numbers = [0.1, -1e-40, 3.4e38, float("inf"), float("-inf"), float("nan"), 16777217.0]

    @typed(x=f32[1])
    def constants(x: Any) -> Any:
        return tuple(rl.reduce_seq(lambda acc, v: acc + v * 0.0, c, x) for c in numbers)

    found = compile_program(constants)(np.array([1], np.float32))
    np.testing.assert_array_equal(np.array(found), np.array(numbers, np.float32))


def test_empty_arrays() -> None:
    """Nothing is launched for nothing, and a fold of nothing is its start."""

    @typed(x=f32[0, 4], y=f32[0])
    def empty(x: Any, y: Any) -> Any:
        sums = rl.map_glb(0)(lambda r: rl.reduce_seq(rl.add, 0.0, r), x)
        return rl.reduce_seq(rl.add, 2.0, rl.to_global(sums))

    @typed(y=f32[0])
    def nothing(y: Any) -> Any:
        return rl.map_glb(0)(lambda v: v + 1.0, y)

    x, y = np.zeros((0, 4), np.float32), np.zeros(0, np.float32)
    assert compile_program(empty)(x, y) == np.float32(2)
    assert compile_program(nothing)(y).shape == (0,)


# ---- saving


def test_a_saved_program_runs_as_before(tmp_path: Path) -> None:
    """kernel.cl and launch.json are all that is needed; the certificate lies beside them."""
    program = made("tuple_accumulator", 16)
    compiled = compile_program(program)
    compiled.save(tmp_path / "bundle")
    again = load(tmp_path / "bundle")
    values = arguments(program)

    assert again.plan == compiled.plan
    assert_same(again(*values), compiled(*values))
    assert json.loads(json.dumps(compiled.launch)) == compiled.launch
    found = sorted(p.name for p in (tmp_path / "bundle").iterdir())
    assert found == ["certificate.json", "kernel.cl", "launch.json", "manifest.json"]


def test_a_broken_bundle_is_refused(tmp_path: Path) -> None:
    """Missing files and unknown versions."""
    with pytest.raises(ReliftError, match=r"has no manifest\.json: it holds no compiled"):
        load(tmp_path)
    compile_program(made("saxpy", 4)).save(tmp_path)
    (tmp_path / "launch.json").write_text('{"version": 99}', encoding="utf-8")
    with pytest.raises(ReliftError, match=r"launch\.json is not the file that was written"):
        load(tmp_path)
    resealed(tmp_path)
    with pytest.raises(IllTyped, match=r"launch\.json has version 99, 3 is known"):
        load(tmp_path)


# ---- devices


def test_runs_are_timed_on_the_device() -> None:
    """One number per run, in seconds, for all kernels together."""
    program = made("dot", 4, 4, 1 << 12)
    times = compile_program(program).timed(tuple(arguments(program)), repeats=3)
    assert len(times) == 3
    assert all(0 < t < 10 for t in times)


def test_devices_are_found_by_name() -> None:
    """`cpu`, a part of a name, and nothing else."""
    cpu = find_device("cpu")
    assert cpu == find_device()
    assert cpu in devices()
    assert cpu == find_device(label(cpu))
    with pytest.raises(Unsupported, match="no device is called 'toaster'; there are: "):
        find_device("toaster")


def test_a_device_is_described_for_the_cost_model() -> None:
    """What the driver says is taken from the driver."""
    device = find_device("cpu")
    description = describe(device)
    assert description.kind == "cpu"
    assert description.compute_units == device.max_compute_units


def test_a_refused_kernel_shows_the_log_and_keeps_the_source() -> None:
    """The C of a user function may be wrong: the message says where it is."""
    compiled = compile_program(made("saxpy", 4))
    broken = Compiled(compiled.source.replace("y[glb_0]", "z[glb_0]"), compiled.plan)
    with pytest.raises(
        Unsupported, match=r"refused the kernel; its source is in .*kernel\.cl"
    ) as e:
        broken.session()
    assert "undeclared identifier 'z'" in str(e.value)


@pytest.mark.parametrize("ends", [False, True])
def test_what_a_driver_says_with_braces_is_shown_as_it_is(
    ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log has lines of the source in it; the place of the source is said once, where it belongs."""
    log = "error: {0} {} {name"

    def ask(*_: Any) -> tuple[str, str]:
        if ends:
            raise building.Ended(f"ended on the kernel: {log}")
        return "refused", log

    monkeypatch.setattr("relift.compiler.running.processes.building._Child.ask", ask)
    compiled = compile_program(made("saxpy", 4))
    never_built = Compiled(f"{compiled.source}\n// {ends} {log}\n", compiled.plan)
    place = r"its source is in \S*kernel\.cl"
    said = rf"ended on the kernel: {re.escape(log)}; {place}$"
    with pytest.raises(Unsupported, match=said if ends else rf"{place}\n{re.escape(log)}$"):
        never_built.session()


def test_what_a_device_cannot_run_is_explained() -> None:
    """PoCL does not refuse too much local memory, but crashes."""

    @typed(x=f32[1 << 22])
    def greedy(x: Any) -> Any:
        def group(chunk: Any) -> Any:
            return rl.map_lcl(0)(lambda v: v, rl.to_local(rl.map_lcl(0)(lambda v: v, chunk)))

        return rl.join(rl.map_wrg(0)(group, rl.split(1 << 22, x)))

    with pytest.raises(Unsupported, match="greedy_1 needs 16777216 bytes of local memory"):
        compile_program(greedy)(np.zeros(1 << 22, np.float32))


@pytest.mark.parametrize("function", [rl.absolute, rl.sqrt], ids=["absolute", "sqrt"])
def test_a_long_fold_of_what_a_function_gives_is_built(function: Any) -> None:
    """Intel's compiler dies of one that it makes vectors of; it gets the loop in order then."""

    @typed(x=f32[100])
    def total(x: Any) -> Any:
        return rl.reduce_seq(lambda acc, v: acc + function(v), 0.0, x)

    xs = np.arange(100, dtype=np.float32)
    np.testing.assert_allclose(compile_program(total)(xs), total(xs), rtol=1e-5)


@pytest.mark.parametrize("size", [8, None], ids=["known", "open"])
def test_more_than_the_memory_of_a_device_is_refused(
    size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With how much is needed, before anything is allocated there; also where sizes are those of a call."""
    monkeypatch.setattr(Launch, "bytes", property(lambda _: 1 << 50))
    n = Size.atom("n") if size is None else size

    @typed(x=f32[n])
    def twice(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v + v, x)

    with pytest.raises(
        Unsupported, match=r"twice needs 1,048,576\.0 GiB of memory at these sizes, "
    ):
        compile_program(twice)(np.zeros(8, np.float32))


@pytest.mark.no_device
def test_importing_the_compiler_loads_no_opencl() -> None:
    """pyopencl takes long to load, and is needed only to run."""
    code = "import sys, relift.compiler; assert 'pyopencl' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": _package()})


def _package() -> str:
    import relift

    return str(Path(next(iter(relift.__path__))).parent)


# ---- races


@pytest.mark.parametrize(
    "name",
    [
        "tree",
        "loop_over_tiles",
        "tiles_fetched_ahead",
        "transposed_by_tiles",
        "long_group",
        "stencil_vectors",
        "padded_rows",
        "sums_in_registers",
        "tiles_in_registers",
        "pairs_in_registers",
        "iterated_in_local_memory",
        "iterated_in_a_loop",
        "pairs_iterated_in_local_memory",
        "read_after_other_arrays",
    ],
)
@pytest.mark.no_device
def test_kernels_are_free_of_races(name: str) -> None:
    """On the simulator, which also sees stray accesses and uninitialised values."""
    (case,) = [c for c in CASES if c.name == name]
    program = case.make(*case.small[:2][-1])
    assert complaints(compile_program(program), arguments(program)) == []


@pytest.mark.no_device
def test_planted_errors_are_found() -> None:
    """Each barrier is needed, and so is each bound."""
    program = made("loop_over_tiles", 64)
    compiled = compile_program(program)
    barrier = "barrier(CLK_LOCAL_MEM_FENCE);"
    assert compiled.source.count(barrier) == 2
    first = compiled.source.replace(barrier, "", 1)
    before, _, after = compiled.source.rpartition(barrier)
    stray = compiled.source.replace("out[8*wrg_0", "out[9*wrg_0")
    for source, complaint in [
        (first, "data race at local memory in loop_over_tiles_1; line"),
        (before + after, "data race at local memory in loop_over_tiles_1; line"),
        (stray, "Invalid write of size 4 at global memory in loop_over_tiles_1"),
    ]:
        found = complaints(dataclasses.replace(compiled, source=source), arguments(program))
        assert any(complaint in message for message in found), found


@pytest.mark.no_device
def test_without_a_simulator_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not available is not the same as free of races."""
    monkeypatch.setenv("RELIFT_OCLGRIND", "/nowhere/liboclgrind.so")
    program = made("saxpy", 4)
    found = race_check(compile_program(program), tuple(arguments(program)))
    assert found == NotAvailable(
        "Oclgrind is not installed; on Debian: apt-get install oclgrind", installed=False
    )


@pytest.mark.no_device
def test_a_cache_is_cleared_by_several_at_once(tmp_path: Path, monkeypatch: Any) -> None:
    """What another process has removed meanwhile is not looked for; the newer half stays."""
    names = [f"{i}.so" for i in range(8)]
    for age, name in enumerate(names):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    monkeypatch.setattr("os.listdir", lambda _: ["gone.so", *names])

    building.keep(tmp_path, 8)

    assert sorted(p.name for p in tmp_path.glob("*")) == names[4:]


@pytest.mark.parametrize("device", [label(d) for d in devices()])
@pytest.mark.no_device
def test_what_follows_a_barrier_that_some_groups_skip_is_done(device: str) -> None:
    """On every device: PoCL left it out where an `if` holds a barrier and does not end with one."""
    program = random_kernel(900440, "groups")
    assert program is not None
    inputs = random_inputs(program, 0)

    expected, found = program(*inputs), compile_program(program)(*inputs, device=device)

    assert agreed("the interpreter", program, found, expected).ok


@pytest.mark.parametrize("shape", [(0, 300), (300, 0), (0, 0), (1, 300), (300, 1), (17, 33)])
def test_few_or_no_work_items_in_one_dimension_are_launched(shape: tuple[int, int]) -> None:
    """Whole vectors along one dimension are for what the others have."""

    @typed(x=f32[shape])
    def doubled(x: Any) -> Any:
        return rl.map_glb(1)(lambda row: rl.map_glb(0)(lambda v: v + v, row), x)

    x = np.random.default_rng(0).random(shape, np.float32)
    np.testing.assert_array_equal(compile_program(doubled)(x), x + x)


@pytest.mark.parametrize("rows", [True, False], ids=["vectors in each row", "vectors of one row"])
@pytest.mark.parametrize(("n", "m"), [(3000, 31), (40, 40), (7, 4096), (5, 5000)])
def test_free_work_items_of_tables_are_launched_in_whole_rows(n: int, m: int, rows: bool) -> None:
    """All are launched once, no row is cut where units have enough groups, and no group is too large for the device."""
    units, most = 2, 4096

    @typed(x=f32[n, m])
    def doubled(x: Any) -> Any:
        return rl.map_glb(1)(lambda row: rl.map_glb(0)(lambda v: v + v, row), x)

    @typed(x=f32[n, m])
    def held(x: Any) -> Any:
        def total(v: Any) -> Any:
            return rl.reduce_seq(
                rl.add, 0.0, rl.to_private(rl.map_seq(lambda w: w + 1.0, rl.repeat(4, v)))
            )

        return rl.map_glb(1)(lambda row: rl.map_glb(0)(total, row), x)

    kernel = compile_program(doubled).plan.kernels[0]
    found = kernel.packed(Packing(16, units, most, rows))
    assert sum(math.prod(p.range) for p in found) == n * m
    assert all(math.prod(p.local) <= most for p in found)
    if n >= 8 * units:
        assert {p.local[0] for p in found} == {m}
        assert max(p.local[1] for p in found) > 1 if rows else len(found) == 1
        assert sum(math.prod(p.range) // math.prod(p.local) for p in found) >= 8 * units
    private = compile_program(held).plan.kernels[0].packed(Packing(16, units, most, rows))
    assert all(math.prod(p.local) <= 256 for p in private)


def test_free_work_items_are_launched_in_whole_vectors() -> None:
    """What is left over is a launch of its own; a kernel with vectors or groups of its own keeps them."""
    many, width = 300, 16

    @typed(A=f32[many, 8])
    def sums(A: Any) -> Any:
        return rl.map_glb(0)(lambda row: rl.reduce_seq(rl.add, 0.0, row), A)

    @typed(x=f32[many * 4])
    def vectors(x: Any) -> Any:
        return rl.as_scalar(rl.map_glb(0)(rl.map_vec(lambda v: v + v), rl.as_vector(4, x)))

    found = compile_program(sums).plan.kernels[0].packed(Packing(width, 2))
    assert sum(p.range[0] for p in found) == many
    assert [p.local[0] % width for p in found[:-1]] == [0]
    assert found[-1].range[0] < width
    for other in (compile_program(sums, local=20), compile_program(vectors)):
        assert other.plan.kernels[0].packed(Packing(width, 2)) == other.plan.kernels[0].pieces
