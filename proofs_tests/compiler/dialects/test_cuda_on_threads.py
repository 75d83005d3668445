"""CUDA C++ computes what the interpreter says: run by threads of this machine, which need no GPU.

A few words of CUDA are defined away; the work-items of a group that waits are threads, all others follow each other.
"""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import CASES
from proofs_tests.portions import drawn, in_shares
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.dialects.cuda.printer import Cuda, prelude
from relift.compiler.program import compile_program, kernels_of
from relift.compiler.running.arrays.buffers import unflatten
from relift.compiler.running.launch import Launch
from relift.compiler.text.reader import read_source
from relift.compiler.text.tree import KernelText, Source
from relift.semantics.domains import DTYPES
from relift.semantics.language.programs import Program

WORDS = r"""
#include <barrier>
#include <climits>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>
#define __global__
#define __device__
#define __constant__ static
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(n)
struct numbers { unsigned x, y, z; };
static thread_local numbers threadIdx, blockIdx;
static numbers blockDim, gridDim;
static std::barrier<>* waiting;
#define __syncthreads() waiting->arrive_and_wait()
template <class T, class U> T to_zero(U x) {
  const double end = std::ldexp(1.0, 8 * sizeof(T) - 1);
  if (x != x) return 0;
  return x >= end ? (T)(~((T)1 << (8 * sizeof(T) - 1))) : x <= -end ? (T)((T)1 << (8 * sizeof(T) - 1)) : (T)x;
}
#define atomicAdd(p, x) __atomic_fetch_add(p, x, __ATOMIC_RELAXED)
inline int atomicCAS(int* p, int seen, int now) {
  __atomic_compare_exchange_n(p, &seen, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return seen;
}
inline float atomicExch(float* p, float x) {
  return __builtin_bit_cast(float, __atomic_exchange_n((int*)p, __builtin_bit_cast(int, x), __ATOMIC_RELAXED));
}
#define __float_as_int(x) __builtin_bit_cast(int, x)
#define __int_as_float(x) __builtin_bit_cast(float, x)
#define rsqrtf(x) (1.0f / std::sqrt(x))
#define rsqrt(x) (1.0 / std::sqrt(x))
#define __float2int_rz to_zero<int>
#define __double2int_rz to_zero<int>
#define __float2ll_rz to_zero<long long>
#define __double2ll_rz to_zero<long long>
"""
LAUNCH = """
template <class F> static void launch(bool waits, const int* offset, const unsigned* groups, const unsigned* local, F f) {
  for (int d = 0; d < 3; ++d) relift_offset[d] = offset[d];
  gridDim = {groups[0], groups[1], groups[2]};
  blockDim = {local[0], local[1], local[2]};
  const unsigned items = local[0] * local[1] * local[2], all = groups[0] * groups[1] * groups[2];
  for (unsigned g = 0; g < all; ++g) {
    auto item = [&](unsigned i) {
      blockIdx = {g % groups[0], g / groups[0] % groups[1], g / groups[0] / groups[1]};
      threadIdx = {i % local[0], i / local[0] % local[1], i / local[0] / local[1]};
      f();
    };
    if (!waits || items == 1) {
      std::barrier<> one(1);
      waiting = &one;
      for (unsigned i = 0; i < items; ++i) item(i);
      continue;
    }
    std::barrier<> together(items);
    waiting = &together;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < items; ++i) threads.emplace_back(item, i);
    for (auto& t : threads) t.join();
  }
}
"""


def entry(k: KernelText, number: int, text: str) -> str:
    """A function of C that launches a kernel."""
    given = ", ".join(
        f"({Cuda().type(p.type)})a[{i}]"
        if p.type.pointer
        else f"*(const {Cuda().type(p.type)}*)a[{i}]"
        for i, p in enumerate(k.parameters)
    )
    waits = "true" if "__syncthreads" in text else "false"
    return (
        f'extern "C" void run_{number}_{k.name}(void** a, const int* o, const unsigned* g, const unsigned* l) {{\n'
        f"  launch({waits}, o, g, l, [&] {{ source_{number}::{k.name}({given}); }});\n}}"
    )


def built(sources: list[Source], folder: Path) -> ctypes.CDLL:
    """All kernels in one library."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.fail("a C++ compiler is needed; install g++")
    parts = [WORDS, prelude(), LAUNCH]
    for number, s in enumerate(sources):
        text = Cuda().definitions(s).replace('extern "C" ', "")
        parts += [f"namespace source_{number} {{\n{text}\n}}"]
        parts += [entry(k, number, text) for k in s.kernels]
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text("\n".join(parts), encoding="utf-8")
    flags = [
        "-std=c++20",
        "-O0",
        "-w",
        "-shared",
        "-fPIC",
        "-pthread",
        "-ffp-contract=off",
        "-fwrapv",
    ]
    subprocess.run([compiler, *flags, "-o", str(library), str(source)], check=True)
    return ctypes.CDLL(str(library))


def run(library: ctypes.CDLL, number: int, launch: Launch, rows: dict[str, Any]) -> Any:
    """The result of the kernels of a program."""
    memory: dict[str, Any] = {}
    for b in launch.buffers:
        cells, dtype = b.cells.constant, DTYPES[b.scalar.name]
        assert cells is not None
        if b.role in ("scalar", "size"):
            memory[b.name] = rows[b.name].astype(np.int32 if dtype == np.bool_ else dtype)
        else:
            memory[b.name] = aligned(max(1, cells), dtype)
            if b.role == "input":
                memory[b.name][:cells] = rows[b.name]
    for k in launch.kernels:
        given = (ctypes.c_void_p * len(k.arguments))(*(memory[a].ctypes.data for a in k.arguments))
        for p in k.pieces:
            local = (*p.local, 1, 1)[:3]
            groups = [n // m for n, m in itertools.zip_longest(p.range, p.local, fillvalue=1)]
            numbers = ((*p.offset, 0, 0)[:3], (*groups, 1, 1)[:3], local)
            types = (ctypes.c_int, ctypes.c_uint, ctypes.c_uint)
            three = [(t * 3)(*of) for t, of in zip(types, numbers, strict=True)]
            getattr(library, f"run_{number}_{k.name}")(given, *three)
    out = [memory[b.name][: b.cells.constant] for b in launch.buffers if b.role == "output"]
    return unflatten(out, launch.result.type)


def aligned(cells: int, dtype: Any) -> Any:
    """A row that starts where any vector may."""
    size = cells * np.dtype(dtype).itemsize
    memory = np.zeros(size + 128, np.uint8)
    start = -memory.ctypes.data % 128
    return memory[start : start + size].view(dtype)


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    """Every family of the suite, at its small sizes."""
    found = [case.make(*sizes) for case in CASES for sizes in case.small]
    return [p for p in found if not p.sizes]


@in_shares
def test_threads_compute_what_the_interpreter_says(
    programs: list[Program], share: int, tmp_path: Path
) -> None:
    """Every small program of the suite; whole inputs, so that sums are exact."""
    programs = drawn(programs, share)
    library = built([kernels_of(p, contract=False)[0] for p in programs], tmp_path)
    for number, program in enumerate(programs):
        arrays = whole_inputs(program, seed=number)
        compiled = compile_program(program, contract=False)
        found = run(library, number, compiled.plan, compiled.rows(arrays))
        wanted = program(*arrays)
        for x, y in zip(
            *(v if isinstance(v, tuple) else (v,) for v in (found, wanted)), strict=True
        ):
            np.testing.assert_allclose(x, y, rtol=1e-5, err_msg=f"{number}: {program}")


PICKED = {
    "s76543210fedcba98": (7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8),
    "lo": tuple(range(8)),
    "hi": tuple(range(8, 16)),
    "even": tuple(range(0, 16, 2)),
    "odd": tuple(range(1, 16, 2)),
    "sf3": (15, 3),
    "sA": (10,),
}
"""Members of a vector of 16 lanes, and the lanes that they name."""


def test_lanes_are_picked(tmp_path: Path) -> None:
    """Some lanes of a vector, by digits and by words."""
    stores, at = list[str](), 0
    for field, lanes in PICKED.items():
        type_ = f"float{len(lanes)}" if len(lanes) > 1 else "float"
        target = f"*(global {type_}*)(out + {at})" if len(lanes) > 1 else f"out[{at}]"
        stores.append(f"{target} = v.{field};")
        at += 16
    text = (
        "kernel void f(global const float* restrict x, global float* restrict out) {\n"
        f"  const float16 v = *(global const float16*)(x);\n  {chr(10).join(stores)}\n}}"
    )
    library = built([read_source(text)], tmp_path)
    x, out = aligned(16, DTYPES["f32"]), aligned(at, DTYPES["f32"])
    x[:] = np.arange(16)
    given = (ctypes.c_void_p * 2)(x.ctypes.data, out.ctypes.data)

    library.run_0_f(given, (ctypes.c_int * 3)(), (ctypes.c_uint * 3)(1, 1, 1), (ctypes.c_uint * 3)(1, 1, 1))  # fmt: skip

    for i, lanes in enumerate(PICKED.values()):
        assert tuple(out[16 * i : 16 * i + len(lanes)]) == lanes


def test_vectors_are_read_and_written_anywhere(tmp_path: Path) -> None:
    """Behind a pointer by whole vectors, and behind it by any expression."""
    text = (
        "kernel void f(global const float* restrict x, global float* restrict out, int n) {\n"
        "  for (int i = 0; i < n; ++i) {\n    vstore3(vload3(n - 1 - i, x), i, out);\n  }\n"
        "  vstore4(vload4(0, x + 1), 1 + 2, out + n);\n}"
    )
    library = built([read_source(text)], tmp_path)
    x, out = aligned(32, DTYPES["f32"]), aligned(32, DTYPES["f32"])
    x[:], out[:] = np.arange(32), -1
    given = (ctypes.c_void_p * 3)(
        x.ctypes.data, out.ctypes.data, np.array([3], np.int32).ctypes.data
    )

    library.run_0_f(given, (ctypes.c_int * 3)(), (ctypes.c_uint * 3)(1, 1, 1), (ctypes.c_uint * 3)(1, 1, 1))  # fmt: skip

    assert [*out[:9]] == [6, 7, 8, 3, 4, 5, 0, 1, 2]
    assert [*out[9:20]] == [-1] * 6 + [1, 2, 3, 4, -1]
