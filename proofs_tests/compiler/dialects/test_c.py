"""C with OpenMP computes what the interpreter says, and is a device like any other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import relift
from proofs_tests.compiler.dialects.test_cuda import WIDTHS, of_function
from proofs_tests.compiler.programs import CASES, typed
from proofs_tests.compiler.running.test_low_level import (
    benchmarks,
    compiled_with_inputs,
    error,
    shrunk,
)
from proofs_tests.compiler.validation.random_kernels import judged
from proofs_tests.portions import drawn, in_shares, portioned
from relift.compiler.agreement.comparison import agreed
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.bench.benchmarks import Benchmark
from relift.compiler.devices.drivers import ONLY
from relift.compiler.devices.naming import label
from relift.compiler.devices.survey import devices, find_device
from relift.compiler.dialects.backend import backend_of, backends
from relift.compiler.dialects.c import compiler as made_by
from relift.compiler.dialects.c.compiler import Compiler, compiler, drivers
from relift.compiler.dialects.c.session import CSession
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.fuzzing.judgement.containment import device_of
from relift.compiler.program import compile_program, kernels_of
from relift.compiler.running.arrays.buffers import unflatten
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.launch import Buffer, Kernel, Launch, Parameter
from relift.compiler.running.processes.isolated import Failed, run_apart
from relift.compiler.text.tree import Source
from relift.rewrites.checks.random.draws import KINDS, Kind
from relift.semantics.errors import Unsupported
from relift.semantics.language.programs import Program
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Scalar, f64, i32

AT_A_TIME = 12
"""Programs that are compiled together."""

MEETINGS = (1_000, 5_000)
"""Calls in which two threads write side by side: they are at it at the same time in few of them."""

SEEDS = 3
"""Random programs of each kind; `relift fuzz --device c` makes more."""


@pytest.fixture(scope="module")
def by() -> Compiler:
    """A C compiler of this machine."""
    for driver in drivers():
        if (found := compiler(driver.library)) is not None:
            return found
    pytest.fail("a C compiler is needed; apt-get install gcc")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled without much ado: what is computed is the same."""
    monkeypatch.setattr(made_by, "FLAGS", (*made_by.FLAGS, "-O0"))


def together(programs: list[Program]) -> tuple[str, list[Launch]]:
    """Many programs as one source, whose kernels are told apart, and how each is launched."""
    kernels: list[Any] = []
    functions: dict[str, Any] = {}
    plans: list[Launch] = []
    for i, program in enumerate(programs):
        source, plan = kernels_of(program, contract=False)
        kernels += [replace(k, name=f"{k.name}_{i}") for k in source.kernels]
        functions |= {f.name: f for f in source.functions}
        own = tuple(replace(k, name=f"{k.name}_{i}") for k in plan.kernels)
        plans.append(replace(plan, kernels=own))
    joined = Source(tuple(kernels), tuple(functions.values()), (f64.extension,), contract=False)
    return OpenCL().source(joined), plans


def results(programs: list[Program], by: Compiler) -> Iterator[tuple[Program, Any, Any]]:
    """Each program with what its kernels compute and what the interpreter says, on whole numbers."""
    for first in range(0, len(programs), AT_A_TIME):
        yield from _results(programs[first : first + AT_A_TIME], by)


def _results(programs: list[Program], by: Compiler) -> Iterator[tuple[Program, Any, Any]]:
    text, plans = together(programs)
    for i, (program, plan) in enumerate(zip(programs, plans, strict=True)):
        arrays = whole_inputs(program, seed=i)
        rows = Compiled(text, plan).rows(arrays)
        found = unflatten(CSession(text, plan, by).run(rows), plan.result.type)
        yield program, found, program(*arrays)


def of_the_suite() -> Iterator[Program]:
    """Every family of the suite at its small sizes; user functions of one name are different ones."""
    for case in CASES:
        for sizes in case.small:
            if not (program := case.make(*sizes)).sizes:
                yield program


@pytest.mark.usefixtures("quick")
@in_shares
def test_the_suite_is_computed(share: int) -> None:
    """Every small program, to the last bit where the interpreter is exact."""
    for number, program in enumerate(drawn(of_the_suite(), share)):
        arrays = whole_inputs(program, seed=number)
        found = compile_program(program, contract=False)(*arrays, device="c")
        said = agreed("the interpreter", program, found, program(*arrays))
        assert said.ok, f"{program}: {said.detail}"


@benchmarks
@pytest.mark.usefixtures("quick")
def test_the_examples_are_computed(b: Benchmark) -> None:
    """Every benchmark for CPUs and for GPUs, at its smallest size."""
    compiled, inputs = compiled_with_inputs(shrunk(b, b.small[0]))

    assert error(compiled(*inputs, device="c"), b.gold(*inputs)) <= b.tolerance


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("quick")
def test_random_programs_are_computed(kind: Kind) -> None:
    """Bit for bit."""
    for seed in range(SEEDS):
        outcome = judged(kind, seed, device_of("c"))
        assert not outcome.is_finding, outcome


@portioned("meetings", MEETINGS, {MEETINGS[0]})
def test_a_work_item_writes_nothing_but_its_own_cells(meetings: int) -> None:
    """A compiler that writes back what it read beside them undoes what another thread did meanwhile."""

    @typed(x=rl.f32[10])
    def windows(x: Any) -> Any:
        pairs = rl.map_vec(lambda w: rl.map_seq(lambda v: (v, rl.i32(v)), w))
        return rl.transpose(rl.as_scalar(rl.map_glb(0)(pairs, rl.as_vector(4, rl.slide(3, 1, x)))))

    x = np.arange(10, dtype=np.float32)
    kernel = compile_program(windows)
    meant = [np.asarray(part) for part in windows(x)]
    undone = 0
    for _ in range(meetings):
        undone += not all(map(np.array_equal, kernel(x, device="c"), meant))
    assert not undone


@pytest.mark.usefixtures("quick")
@in_shares
def test_functions_of_scalars_are_computed(by: Compiler, share: int) -> None:
    """Each of the table on scalars and on vectors of each type, within the rounding that the table allows."""
    programs = [
        of_function(name, f.arity, t, width)
        for name, f in SCALAR_FUNCTIONS.items()
        for t in (rl.f32, rl.f64, rl.i32, rl.i64)
        if not (f.on == "floats" and not t.is_float)
        and not (f.on in ("integers", "bits") and t.is_float)
        for width in WIDTHS
        if width < max(WIDTHS) or t in (rl.f32, rl.i64)  # wide vectors take a compiler long
    ]
    programs = [replace(p, name=f"each_{i}") for i, p in enumerate(drawn(programs, share))]
    for program, found, wanted in results(programs, by):
        assert np.allclose(found, wanted, rtol=4e-6, equal_nan=True), f"{program}"


@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize("of", [rl.f32, rl.f64, rl.i32], ids=str)
def test_one_condition_chooses_a_vector(by: Compiler, of: Scalar, width: int) -> None:
    """What is computed of vectors, or all lanes of a number: gcc took them for two types."""

    def chosen(x: Any, c: Any) -> Any:
        either = rl.map_vec(lambda v: rl.select(c > 0, (v + v) * v, of(1)))
        return rl.as_scalar(rl.map_glb(0)(either, rl.as_vector(width, x)))

    chosen.__annotations__ = {"x": of[24], "c": rl.i32}
    for program, found, wanted in results([rl.program(chosen)], by):
        assert np.array_equal(found, wanted), f"{program}"


# ---- barriers


def launched(text: str, by: Compiler, x: list[int], local: int) -> list[int]:
    """What a kernel `f` over one row of whole numbers makes of it, in two groups."""
    row = np.array(x, np.int32)
    buffers = (
        Buffer("x", i32, Size.of(len(x)), "input"),
        Buffer("out", i32, Size.of(len(x)), "output"),
    )
    kernel = Kernel("f", ("x", "out"), (Size.of(2 * local),), (local,), 0)
    given = (Parameter("x", i32[len(x)], ("x",)),)
    plan = Launch("f", given, Parameter("out", i32[len(x)], ("out",)), buffers, (kernel,))
    [found] = CSession(text, plan, by).run({"x": row})
    return [int(v) for v in found]


ROTATED = """
  local int t[8];
  const int l = get_local_id(0);
  const int g = get_global_id(0);
"""
BARRIERS = {
    "a uniform loop": """
  int s = x[g];
  for (int i = 0; i < 3; ++i) {
    t[l] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    s += t[(l + 1) % 4];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[g] = s;""",
    "a loop that starts elsewhere for each": """
  int s = x[g];
  for (int i = l; i < 12 + l; i += 4) {
    t[l] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    s += t[(i + 1) % 4];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[g] = s;""",
    "a guard by what was read": """
  int s = x[g];
  if (s * s >= 0) {
    t[l] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    s += t[(l + 1) % 4] + 2 * t[(l + 2) % 4] + 3 * t[(l + 3) % 4];
  }
  out[g] = s;""",
    "private arrays and pointers": """
  int own[2];
  own[0] = x[g];
  global int* to = out + g;
  t[l] = own[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  own[1] = t[(l + 1) % 4] + 2 * t[(l + 2) % 4] + 3 * t[(l + 3) % 4];
  barrier(CLK_LOCAL_MEM_FENCE);
  to[0] = own[0] + own[1];""",
}


def kernel(body: str, *, group: bool) -> str:
    """A kernel around a body, which requires its groups of four or not."""
    said = "__attribute__((reqd_work_group_size(4, 1, 1)))\n" if group else ""
    head = "kernel void f(global const int* restrict x, global int* restrict out) {"
    return f"{said}{head}{ROTATED}{body}\n}}\n"


def expected(name: str, x: list[int]) -> list[int]:
    """The same on lists, group by group."""
    found: list[int] = []
    for s in (x[:4], x[4:]):
        if "loop" in name:
            for turn in range(3):
                at = [
                    (i + 1) % 4 if "uniform" in name else (i + 4 * turn + 1) % 4 for i in range(4)
                ]
                s = [s[i] + s[at[i]] for i in range(4)]
            found += s
        else:
            found += [sum(max(k, 1) * s[(i + k) % 4] for k in range(4)) for i in range(4)]
    return found


@pytest.mark.parametrize("name", BARRIERS)
@pytest.mark.parametrize("group", [True, False], ids=["of a known size", "of any size"])
def test_barriers_are_kept(name: str, group: bool, by: Compiler) -> None:
    """What one work-item writes before a barrier, others read behind it."""
    x = [5, -3, 7, 11, 2, 0, -9, 4]

    assert launched(kernel(BARRIERS[name], group=group), by, x, 4) == expected(name, x)


@pytest.mark.parametrize(
    "body",
    [
        "if (l < 3) { barrier(CLK_LOCAL_MEM_FENCE); } out[g] = t[0];",
        "for (int i = l; i < 4; ++i) { barrier(CLK_LOCAL_MEM_FENCE); } out[g] = t[0];",
    ],
    ids=["guard", "loop"],
)
def test_a_barrier_for_some_is_told(body: str, by: Compiler) -> None:
    """It is not computed as if all came to it."""
    with pytest.raises(
        Unsupported, match="not all work-items of a group come to one of its barriers"
    ):
        launched(kernel(body, group=True), by, [0] * 8, 4)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("for (int i = x[g]; i < 4; ++i) { barrier(CLK_LOCAL_MEM_FENCE); }", "the loop over i"),
        ("if (l < 3) { local int u[4]; u[l] = 0; }", "a local array in a block"),
        ("out[g] = mystery(x[g]);", "no function mystery of int"),
        ("while (l < 3) { }", "only what this compiler writes can be printed anew"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(body: str, reason: str, by: Compiler) -> None:
    """Before anything is compiled."""
    with pytest.raises(Unsupported, match=reason):
        launched(kernel(body, group=True), by, [0] * 8, 4)


# ---- names


def test_names_of_c_are_not_taken() -> None:
    """OpenCL C leaves them to programs; so do the names of the parts of the dialect's own text."""

    def twice(inline: Any) -> Any:
        return inline * inline

    twice.__annotations__ = {"inline": rl.f32, "return": rl.f32}
    called = rl.userfun(twice)

    @typed(typedef=rl.f32[8], item=rl.tup(rl.f32, rl.f32), linux=rl.f32)
    def exp(typedef: Any, item: Any, linux: Any) -> Any:
        return rl.map_glb(0)(lambda v: called(v) + linux + item[0] * item[1], typedef)

    x = np.arange(8, dtype=np.float32)
    found = compile_program(exp)(x, (np.float32(2), np.float32(3)), np.float32(1), device="c")

    assert np.array_equal(found, x * x + 7)


def test_a_function_in_c_may_call_the_library_of_opencl() -> None:
    """Though its body is not read: as it stands, it is C on scalars."""

    def peak(x: Any, y: Any) -> Any:
        return type(x)(2 * (min(max(max(x, y), 0.0), 3.0) + abs(x)))

    peak.__annotations__ = {"x": rl.f32, "y": rl.f32, "return": rl.f32}
    text = "float s = 0.0f; for (int i = 0; i < 2; ++i) { s += clamp(max(x, y), 0.0f, 3.0f) + fabs(x); } return s;"
    f = rl.userfun(peak, c=text)

    @typed(x=rl.f32[8])
    def peaks(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: f(v, v + 1.0), x)

    x = np.arange(-4, 4, dtype=np.float32)

    assert np.array_equal(compile_program(peaks)(x, device="c"), peaks(x))


# ---- the device


DOUBLED = "import relift as rl\n\n\n@rl.program\ndef doubled(x: rl.f32[4]):\n    return rl.map_glb(0)(lambda v: v + v, x)\n"


@pytest.fixture
def doubled(tmp_path: Path) -> str:
    """A program that needs no search."""
    (tmp_path / "doubled.py").write_text(DOUBLED, encoding="utf-8")
    return str(tmp_path / "doubled.py")


def test_it_stands_in_where_no_driver_of_opencl_works(doubled: str) -> None:
    """And nowhere else: it is not the default where one does."""
    assert backend_of(find_device("cpu")).name == "opencl"
    ran = relift("run", doubled, "--random", "0", "--check", **{ONLY: ""})

    assert ran.returncode == 0, ran.stderr
    assert "[C with OpenMP, " in ran.stdout
    assert "agrees with the interpreter" in ran.stdout


def test_it_is_named_by_its_back_end(doubled: str) -> None:
    """`--target c`, also to verify."""
    assert backend_of(find_device("c")).name == "c"
    assert label(find_device("c")) in [label(d) for d in devices()]
    ran = relift("verify", doubled, "--devices", "c")

    assert ran.returncode == 0, ran.stderr
    assert "C with OpenMP" in ran.stdout


def test_without_a_compiler_one_line_says_what_to_install(doubled: str) -> None:
    """Where it is asked for by name."""
    ran = relift("run", doubled, "--random", "0", "--target", "c", PATH="/nowhere")

    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "there is no device of C with OpenMP; install one: apt-get install gcc" in ran.stderr


def test_every_back_end_prints_every_kernel() -> None:
    """A back end is a folder; what is in none prints nothing."""
    source, _ = kernels_of(CASES[0].make(*CASES[0].small[0]))
    texts = {name: b.text(source) for name, b in backends().items()}

    assert {"opencl", "c", "cuda"} <= texts.keys()
    assert all(source.kernels[0].name in text for text in texts.values())


def test_what_was_built_is_kept(
    by: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A damaged library is built again, and not loaded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = "int relift_test(void) { return 7; }"
    assert made_by.built(by, text).relift_test() == 7
    (kept,) = (tmp_path / "relift" / "libraries").iterdir()

    def unwanted(*_: object) -> bytes:
        raise AssertionError("it was built again")

    monkeypatch.setattr(made_by, "_compiled", unwanted)
    assert made_by.built(by, text).relift_test() == 7
    content = kept.read_bytes()
    kept.unlink()  # what is loaded stays as it is
    kept.write_bytes(content[:-1])
    with pytest.raises(AssertionError, match="built again"):
        made_by.built(by, text)


def test_a_text_that_takes_too_long_is_built_without_optimisation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """At the first level the compiler has no time left; it is not asked for the levels between."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    driver = tmp_path / "slow"
    driver.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n'
        'for last in "$@"; do case "$last" in -O0) exec gcc "$@";; esac; done\n'
        "while :; do :; done\n"
    )
    driver.chmod(0o755)
    monkeypatch.setattr(made_by, "PATIENCE", 1)
    slow = Compiler(str(driver), "slow 1.0")
    assert made_by.built(slow, "int relift_test(void) { return 7; }").relift_test() == 7
    assert len((tmp_path / "asked").read_text().splitlines()) == 2


def test_a_text_that_the_compiler_refuses_is_one_message(by: Compiler) -> None:
    """With its first error, and where the source is kept."""
    with pytest.raises(
        Unsupported, match=r"refused the kernel; its source is in .*kernel\.c\n.*error"
    ):
        made_by.built(by, "int f( {")


def test_a_crash_takes_a_process_of_its_own_along() -> None:
    """A kernel that is run unchecked, and apart."""

    @typed(x=rl.f32[8])
    def doubled(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v + v, x)

    compiled = compile_program(doubled)
    text = compiled.source.replace("= get_global_id(0)", "= 1000000000 + get_global_id(0)")
    assert text != compiled.source
    row = np.ones(8, np.float32)
    found = run_apart(replace(compiled, source=text, unchecked=True), (row,), "c")

    assert isinstance(found, Failed)
    assert "it crashed: SIGSEGV" in found.reason


def test_a_forked_process_computes() -> None:
    """With one thread: it has not those of the process that it was forked from."""
    code = (
        "import os, sys, numpy as np, relift as rl\n"
        "def double(x: rl.f32[4096]): return rl.map_glb(0)(lambda v: v + v, x)\n"
        "kernel = rl.compile(rl.program(double))\n"
        "x = np.ones(4096, np.float32)\n"
        "kernel(x, device='c')\n"
        "if os.fork(): sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "import signal; signal.alarm(60)\n"
        "os._exit(0 if kernel(x, device='c').sum() == 8192 else 1)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, timeout=120, check=False)

    assert done.returncode == 0
