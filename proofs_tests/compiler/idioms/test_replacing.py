"""C with calls in the place of its loops: it compiles, links, does the same, and falls back where a guard fails."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import command
from proofs_tests.compiler.idioms.checks import FOLDER, lifted
from proofs_tests.compiler.idioms.replaced import Replaced, find_opencl, library
from proofs_tests.portions import portioned
from relift.compiler.idioms.evidence import evidence
from relift.compiler.idioms.replacement.replacing import DEVICE, KERNEL, Replacement, replacement


@portioned(
    "file,least",
    [
        ("reductions", 38),
        ("maps", 25),
        ("products", 20),
        ("walks", 24),
        ("turns", 13),
        ("searches", 8),
        ("bins", 9),
        ("bits", 5),
        ("structures", 22),
    ],
    {("products", 20), ("turns", 13), ("searches", 8), ("bins", 9), ("structures", 22)},
)
def test_files_with_their_loops_replaced_do_the_same(file: str, least: int, tmp_path: Path) -> None:
    """Each function with a call in the place of its loop agrees with the program, and no guard fails where the conditions hold."""
    source = FOLDER / f"{file}.c"
    found = lifted(file)
    written = replacement(found, source.read_text())
    made = library(tmp_path, written)
    compiled = Replaced(made)
    assert len(written.replaced) >= least, written.kept
    for idiom, name in written.replaced:
        assert idiom.lifted is not None
        if not idiom.evidence.ok:
            assert idiom.proof.ok
            continue  # among other statements, which the test of those runs
        shown = evidence(
            idiom.relations,
            idiom.found,
            idiom.lifted,
            compiled,
            runs=10,
            seed=1,
            others=idiom.others,
        )
        assert shown.ok, f"{idiom.function}: {shown}"
        assert ctypes.c_long.in_dll(made, f"{name}_refused").value == 0, idiom.function


ROUTINES = {"gemm": 14, "gemv": 6, "dot": 3, "axpy": 2}


def test_calls_of_a_blas_do_the_same(tmp_path: Path) -> None:
    """Products in every order of the loops and layout become calls, with the right strides, transpositions and factors."""
    met: dict[str, int] = dict.fromkeys(ROUTINES, 0)
    for file in ("products", "reductions", "maps"):
        found = lifted(file)
        written = replacement(found, (FOLDER / f"{file}.c").read_text(), "blas")
        folder = tmp_path / file
        folder.mkdir()
        made = library(folder, written, FOLDER.parent / "cblas.c")
        for idiom, name in written.replaced:
            body = written.kernels.partition(f"int {name}(")[2].partition("\n}")[0]
            called = re.search(r"cblas_[sd](\w+)\(", body)
            if called is None or not idiom.evidence.ok:
                continue
            met[called[1]] += 1
            assert idiom.lifted is not None
            own = replace(
                idiom.lifted,
                natural=tuple((size, max(1, least)) for size, least in idiom.lifted.natural),
            )
            shown = evidence(
                idiom.relations,
                idiom.found,
                own,
                Replaced(made),
                runs=10,
                seed=3,
                others=idiom.others,
            )
            assert shown.ok, f"{idiom.function}: {shown}"
            assert ctypes.c_long.in_dll(made, f"{name}_refused").value == 0, idiom.function
    assert all(met[name] >= least for name, least in ROUTINES.items()), met


SPARSE = """void plain(int n, float *y, const int *rs, const int *col, const float *v, const float *x) {
  for (int r = 0; r < n; r++) {
    float s = 0;
    for (int k = rs[r]; k < rs[r + 1]; k++) s += v[k] * x[col[k]];
    y[r] = s;
  }
}
void added(int n, double a, double *y, const int *rs, const int *col, const double *v, const double *x) {
  for (int r = 0; r < n; r++) {
    double s = 0;
    for (int k = rs[r]; k < rs[r + 1]; k++) s += v[k] * x[col[k]];
    y[r] += a * s;
  }
}
void from_one(int n, float *y, const int *rs, const int *col, const float *v, const float *x) {
  for (int r = 0; r < n; r++) {
    float s = 0;
    for (int k = rs[r] - 1; k < rs[r + 1] - 1; k++) s += v[k] * x[col[k] - 1];
    y[r] = s;
  }
}
void ends(int n, float b, float *y, const int *rs, const int *re, const int *col, const float *v, const float *x) {
  for (int r = 0; r < n; r++) {
    float s = 0;
    for (int k = rs[r]; k < re[r]; k++) s += x[col[k]] * v[k];
    y[r] = s + b * y[r];
  }
}
void squares(int n, float *y, const int *rs, const int *col, const float *v, const float *x) {
  for (int r = 0; r < n; r++) {
    float s = 0;
    for (int k = rs[r]; k < rs[r + 1]; k++) s += v[k] * v[k] * x[col[k]];
    y[r] = s;
  }
}
void every_other(int n, float *y, const int *rs, const int *col, const float *v, const float *x) {
  for (int r = 0; r < n; r++) {
    float s = 0;
    for (int k = rs[r]; k < rs[r + 1]; k++) s += v[k] * x[2 * col[k]];
    y[r] = s;
  }
}
void of_long(int n, float *y, const long *rs, const int *col, const float *v, const float *x) {
  for (int r = 0; r < n; r++) {
    float s = 0;
    for (long k = rs[r]; k < rs[r + 1]; k++) s += v[k] * x[col[k]];
    y[r] = s;
  }
}
"""


def test_calls_of_a_sparse_library_do_the_same(tmp_path: Path) -> None:
    """Products of a matrix in compressed rows become calls, with factors and from one on; what is none stays a loop."""
    found = rl.lift(SPARSE, runs=3)
    written = replacement(found, SPARSE, "sparse")
    ways = {i.function: written.ways[name] for i, name in written.replaced}
    s, d = "mkl_sparse_s_mv", "mkl_sparse_d_mv"
    others = dict.fromkeys(("squares", "every_other", "of_long"), KERNEL)
    assert ways == {"plain": s, "added": d, "from_one": s, "ends": s, **others}
    made = library(tmp_path, written, FOLDER.parent / "sparse.c")
    for idiom, name in written.replaced:
        assert idiom.lifted is not None
        shown = evidence(
            idiom.relations, idiom.found, idiom.lifted, Replaced(made), runs=10, seed=3
        )
        assert shown.ok, f"{idiom.function}: {shown}"
        assert ctypes.c_long.in_dll(made, f"{name}_refused").value < 10, idiom.function


DEVICES = """void padded(int n, int m, int l, int lda, const float *a, const float *b, float *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      float s = 0;
      for (int k = 0; k < l; k++) s += a[i * lda + k] * b[k * m + j];
      c[i * m + j] = s;
    }
}
void rows(int n, float *y, const int *rs, const int *col, const float *v, const float *x) {
  for (int r = 0; r < n; r++) {
    float s = 0;
    for (int k = rs[r]; k < rs[r + 1]; k++) s += v[k] * x[col[k]];
    y[r] = s;
  }
}
void bins(int n, int m, const int *k, long *h) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      if (k[i] > j) h[k[i]] += j + 1;
}
void two(int n, const float *x, float *y, int *z) {
  for (int i = 1; i < n - 1; i++) {
    y[i] = x[i - 1] + x[i + 1];
    z[i] = i;
  }
}
float summed(int n, const float *x) {
  float s = 0;
  for (int i = 0; i < n; i++) s += x[i];
  return s;
}
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> tuple[ctypes.CDLL, Replacement]:
    """Loops with calls of OpenCL in their place, at which a fold that stays in order is none."""
    written = replacement(rl.lift(DEVICES, runs=3), DEVICES, "opencl")
    return library(tmp_path_factory.mktemp("device"), written), written


def test_calls_of_opencl_do_the_same(device: tuple[ctypes.CDLL, Replacement]) -> None:
    """Kernels on a device agree with the programs, and no guard failed; all work-items, rests, and rows that are padded."""
    made, written = device
    find_opencl("")
    ways = {i.function: written.ways[name] for i, name in written.replaced}
    on_device = dict.fromkeys(("padded", "rows", "bins", "two"), DEVICE)
    assert ways == {**on_device, "summed": KERNEL}
    for idiom, name in written.replaced:
        assert idiom.lifted is not None
        if idiom.evidence.ok:
            shown = evidence(
                idiom.relations,
                idiom.found,
                idiom.lifted,
                Replaced(made),
                runs=8,
                seed=3,
                others=idiom.others,
            )
            assert shown.ok, f"{idiom.function}: {shown}"
        said = (ctypes.c_char * 256).in_dll(made, "relift_opencl_said").value
        refused = ctypes.c_long.in_dll(made, f"{name}_refused").value
        few = 4 if idiom.function == "two" else 0  # a stencil of no cells, of which there are few
        assert refused <= few, (idiom.function, said)


@pytest.mark.parametrize(("test", "is_replaced"), [("x[i] > m", True), ("!(x[i] <= m)", False)])
def test_a_maximum_that_takes_nan_otherwise_stays(test: str, is_replaced: bool) -> None:
    """A kernel takes the place of a maximum where NaN is compared as the C does it, to the last bit."""
    text = f"float f(int n, const float *x) {{\n  float m = 0;\n  for (int i = 0; i < n; i++)\n    if ({test}) m = x[i];\n  return m;\n}}\n"
    written = replacement(rl.lift(text, runs=3), text)
    assert bool(written.replaced) == is_replaced, written.kept


def test_several_results_come_from_a_device(device: tuple[ctypes.CDLL, Replacement]) -> None:
    """Both are computed before either is stored; where one lies over what is read, the loop runs."""
    made, written = device
    find_opencl("")
    name = next(name for i, name in written.replaced if i.function == "two")
    before = ctypes.c_long.in_dll(made, f"{name}_refused").value
    x, y, z = np.arange(200, dtype=np.float32), np.zeros(200, np.float32), np.zeros(200, np.int32)
    for over, refused in ((False, 0), (True, 1)):
        to = x[1:] if over else y
        wanted = x.copy()
        for i in range(1, 149):
            wanted[i + over] = wanted[i - 1] + wanted[i + 1]
        made.two(150, *(ctypes.c_void_p(a.ctypes.data) for a in (x, to, z)))
        assert np.array_equal(to[1:149], wanted[1 + over : 149 + over]) or not over
        assert np.array_equal(z[1:149], np.arange(1, 149))
        assert ctypes.c_long.in_dll(made, f"{name}_refused").value == before + refused
    assert np.array_equal(y[1:149], 2 * np.arange(1, 149))


def test_no_cell_goes_to_a_device_that_the_loop_does_not_read(
    device: tuple[ctypes.CDLL, Replacement],
) -> None:
    """The last row of a padded matrix ends where memory does."""
    made, _ = device
    find_opencl("")
    page = mmap.PAGESIZE
    room = mmap.mmap(-1, 2 * page)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(room))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(begin + page), page, 0) == 0
    n, m, l, lda = 3, 2, 4, 9
    cells = (n - 1) * lda + l
    at = begin + page - 4 * cells
    a = np.ctypeslib.as_array((ctypes.c_float * cells).from_address(at))
    a[:] = np.arange(cells)
    b, c = np.ones((l, m), np.float32), np.zeros((n, m), np.float32)
    made.padded(n, m, l, lda, *(ctypes.c_void_p(p) for p in (at, b.ctypes.data, c.ctypes.data)))
    assert np.array_equal(c[:, 0], [a[i * lda : i * lda + l].sum() for i in range(n)])


def test_without_a_device_the_loops_run(
    device: tuple[ctypes.CDLL, Replacement], tmp_path: Path
) -> None:
    """Where there is no library of OpenCL, or no such device, the loop that was there runs, and that is counted and said."""
    _, written = device
    script = """import ctypes, sys
made = ctypes.CDLL(sys.argv[1])
x, y, z = (ctypes.c_float * 9)(*range(9)), (ctypes.c_float * 9)(), (ctypes.c_int * 9)()
made.two(9, x, y, z)
print(list(y)[1:8], ctypes.c_long.in_dll(made, sys.argv[2]).value, (ctypes.c_char * 256).in_dll(made, "relift_opencl_said").value.decode())
"""
    library(tmp_path, written)
    name = next(name for i, name in written.replaced if i.function == "two")
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "out.so"), f"{name}_refused"],
        env={**os.environ, "RELIFT_OPENCL": "/nowhere.so"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    sums = [float(2 * i) for i in range(1, 8)]
    assert done.stdout == f"{sums} 1 there is no library /nowhere.so\n"


def run(function: Any, n: int, y: np.ndarray[Any, Any], at_y: int, at_x: int) -> None:
    """Call `f(n, y + at_y, y + at_x)`."""
    p = y.ctypes.data
    function(ctypes.c_int(n), ctypes.c_void_p(p + 4 * at_y), ctypes.c_void_p(p + 4 * at_x))


@pytest.mark.parametrize(
    ("at_y", "at_x", "refused"), [(0, 8, 0), (1, 0, 1), (0, 1, 1), (0, 7, 1), (8, 0, 0)]
)
def test_arrays_that_overlap_take_the_loop(
    at_y: int, at_x: int, refused: int, tmp_path: Path
) -> None:
    """Where arrays share a cell, the loop that was there runs, and that is counted."""
    text = "void f(int n, float *y, const float *x) {\n  for (int i = 0; i < n; i++)\n    y[i] = x[i] + 1;\n}\n"
    written = replacement(rl.lift(text, runs=5), text)
    ((_, name),) = written.replaced
    made = library(tmp_path, written)
    got = np.arange(20, dtype=np.float32)
    wanted = got.copy()
    run(made.f, 8, got, at_y, at_x)
    for i in range(8):
        wanted[at_y + i] = wanted[at_x + i] + 1
    assert np.array_equal(got, wanted)
    assert ctypes.c_long.in_dll(made, f"{name}_refused").value == refused


CSR = """void f(int n, float *y, const int *rs, const int *col, const float *v, const float *x) {
  for (int r = 0; r < n; r++) {
    float s = 0;
    for (int k = rs[r]; k < rs[r + 1]; k++) s += v[k] * x[col[k]];
    y[r] = s;
  }
}
"""


@pytest.fixture(scope="module")
def csr(tmp_path_factory: pytest.TempPathFactory) -> tuple[ctypes.CDLL, str]:
    """A sparse product with a call in the place of its loops, and the name of that."""
    written = replacement(rl.lift(CSR, runs=5), CSR)
    ((_, name),) = written.replaced
    return library(tmp_path_factory.mktemp("csr"), written), name


FIELDS = """struct fields { float before[2]; int n; float after[5]; float *a, *b; };
struct none { double *v; };
void scaled(struct fields *p) { for (int i = 0; i < p->n; i++) p->b[i] = 2 * p->a[i]; }
void bins(struct fields *p, const int *x) { for (int i = 0; i < p->n; i++) ((int *)p->b)[x[i]]++; }
void both(struct fields *p, float *y) { for (int i = 0; i < p->n; i++) { p->b[i] = 2 * p->a[i]; y[i] = p->a[i]; } }
double sum(const struct none *p, int n) { double s = 0; for (int i = 0; i < n; i++) s += p->v[i]; return s; }
"""


class _Fields(ctypes.Structure):
    _fields_ = [
        ("before", ctypes.c_float * 2), ("n", ctypes.c_int), ("after", ctypes.c_float * 5),
        ("a", ctypes.c_void_p), ("b", ctypes.c_void_p),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "is_over"), [("scaled", True), ("scaled", False), ("bins", True), ("both", True)]
)
def test_fields_that_the_loop_writes_take_the_loop(
    function: str, is_over: bool, tmp_path: Path
) -> None:
    """A length that lies in what is written ends the loop when it changes, with a call in its place, too."""
    written = replacement(rl.lift(FIELDS, runs=3), FIELDS)
    (name,) = {name for i, name in written.replaced if i.function == function}
    made, results = library(tmp_path, written), list[list[Any]]()
    (tmp_path / "plain.c").write_text(FIELDS)
    plain = ["cc", "-O0", "-w", "-shared", "-fPIC", "-o", "plain.so", "plain.c"]
    subprocess.run(plain, cwd=tmp_path, check=True)
    for found in (made, ctypes.CDLL(str(tmp_path / "plain.so"))):
        given, y = np.array([1, 2, 2e-45, 4, 5, 6], np.float32), np.zeros(8, np.float32)
        own, elsewhere = _Fields(n=6), np.zeros(8, np.float32)
        at = np.array([2, 3, 3, 4, 4, 5, 5, 5], np.int32)
        own.a = given.ctypes.data
        own.b = ctypes.addressof(own) if is_over else elsewhere.ctypes.data
        more = {
            "bins": (at.ctypes.data_as(ctypes.c_void_p),),
            "both": (y.ctypes.data_as(ctypes.c_void_p),),
        }
        found[function](ctypes.byref(own), *more.get(function, ()))
        results.append([own.n, list(own.before), list(own.after), list(elsewhere), list(y)])
    assert results[0] == results[1]
    assert ctypes.c_long.in_dll(made, f"{name}_refused").value == is_over


def test_a_structure_is_not_looked_at_before_a_loop_that_does_nothing(tmp_path: Path) -> None:
    """There may be none."""
    written = replacement(rl.lift(FIELDS, "sum", runs=3), FIELDS)
    assert len(written.replaced) == 1
    found = library(tmp_path, written)["sum"]
    found.restype, found.argtypes = ctypes.c_double, (ctypes.c_void_p, ctypes.c_int)
    assert found(None, 0) == 0


@pytest.mark.parametrize(
    ("rows", "columns", "onto_itself", "refused"),
    [
        ([0, 2, 2, 5], [0, 3, 1, 2, 3], False, 0),
        ([0, 0, 0, 0], [], False, 0),
        ([0, 3, 1, 5], [0, 3, 1, 2, 3], False, 0),  # a row that ends before it begins is empty
        ([0, 2, 2, 5], [0, 3, 1, 2, 3], True, 1),
        ([0, 2, 2, 5], [0, 3, -1, 2, 3], False, 1),
    ],
)
def test_sparse_products_look_at_their_indices_first(
    rows: list[int],
    columns: list[int],
    onto_itself: bool,
    refused: int,
    csr: tuple[ctypes.CDLL, str],
) -> None:
    """How long the arrays are is found out from the indices; a negative one, and a product onto itself, take the loop."""
    made, name = csr
    rng = np.random.default_rng(0)
    rs, col = np.array(rows, np.int32), np.array([*columns, 0], np.int32)
    v, room = rng.random(6, np.float32), rng.random(12, np.float32)
    x, y = room[1:5], room[1:4] if onto_itself else room[8:11]
    wanted = room.copy()
    for r in range(3):
        total = np.float32(0)
        for k in range(rows[r], rows[r + 1]):
            total += v[k] * wanted[1 + columns[k]]
        wanted[(1 if onto_itself else 8) + r] = total
    before = ctypes.c_long.in_dll(made, f"{name}_refused").value
    made.f(ctypes.c_int(3), *(ctypes.c_void_p(a.ctypes.data) for a in (y, rs, col, v, x)))
    assert np.array_equal(room, wanted)
    assert ctypes.c_long.in_dll(made, f"{name}_refused").value - before == refused


BINS = (
    "void f(int n, int *h, const int *k) {\n  for (int i = 0; i < n; i++)\n    h[k[i]] += 2;\n}\n"
)


@pytest.fixture(scope="module")
def bins(tmp_path_factory: pytest.TempPathFactory) -> tuple[ctypes.CDLL, str]:
    """A histogram with a call in the place of its loop, and the name of that."""
    written = replacement(rl.lift(BINS, runs=5), BINS)
    ((_, name),) = written.replaced
    return library(tmp_path_factory.mktemp("bins"), written), name


@pytest.mark.parametrize(
    ("chosen", "at_keys", "refused"),
    [
        ([3, 0, 3, 3, 1], 8, 0),
        ([0], 8, 0),
        ([3, -1, 3], 8, 1),
        ([3, 0, 2], 3, 1),  # the bin that is counted last is a key
        ([2, 0, 2], 3, 0),
    ],
)
def test_histograms_look_at_their_indices_first(
    chosen: list[int], at_keys: int, refused: int, bins: tuple[ctypes.CDLL, str]
) -> None:
    """How many bins there are is found out; a bin below the first, and keys among the bins, take the loop."""
    made, name = bins
    room = np.arange(20, dtype=np.int32)
    room[2 + at_keys : 2 + at_keys + len(chosen)] = chosen
    wanted = room.copy()
    for i in range(len(chosen)):
        wanted[2 + wanted[2 + at_keys + i]] += 2
    before = ctypes.c_long.in_dll(made, f"{name}_refused").value
    run(made.f, len(chosen), room, 2, 2 + at_keys)
    assert np.array_equal(room, wanted)
    assert ctypes.c_long.in_dll(made, f"{name}_refused").value - before == refused


COUNTED = """void f(int n, int m, const float *x, const float *bounds, int *h) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float d = x[i] * x[j];
      int k = 0;
      for (int b = 0; b < m; b++) k += d < bounds[b];
      if (d > -2) h[k] += 3;
    }
}
"""


def test_bins_are_counted_by_several_threads(tmp_path: Path) -> None:
    """Whole numbers in bins that are computed, under a condition, by threads that count for themselves."""
    written = replacement(rl.lift(COUNTED, runs=5), COUNTED)
    ((_, name),) = written.replaced
    assert "omp parallel" in written.kernels
    made = library(tmp_path, written, flags=["-fopenmp"])
    x = np.random.default_rng(0).normal(size=60).astype(np.float32)
    bounds = np.array([2, 1, 0, -1], np.float32)
    d = np.multiply.outer(x, x)
    bins = np.arange(7, dtype=np.int32)
    wanted = bins.copy()
    np.add.at(wanted, (d[..., None] < bounds).sum(-1)[d > -2], 3)
    arrays = (ctypes.c_void_p(a.ctypes.data) for a in (x, bounds, bins))
    made.f(ctypes.c_int(len(x)), ctypes.c_int(len(bounds)), *arrays)
    assert np.array_equal(bins, wanted)
    assert ctypes.c_long.in_dll(made, f"{name}_refused").value == 0


def test_an_array_of_two_types_stays_on_the_host() -> None:
    """A device is given each array once; one that is read as floats and as whole numbers is for kernels in C."""
    written = replacement(lifted("bits"), (FOLDER / "bits.c").read_text(), "opencl")
    ways = {i.function: written.ways[name] for i, name in written.replaced}
    assert ways["zero_where_flagged"] == KERNEL
    assert ways["signs"] == DEVICE


def test_a_histogram_of_nothing_needs_no_bins(bins: tuple[ctypes.CDLL, str]) -> None:
    """Where the loop does nothing, neither does the call: its arrays may be nowhere."""
    made, name = bins
    before = ctypes.c_long.in_dll(made, f"{name}_refused").value
    made.f(ctypes.c_int(0), ctypes.c_void_p(None), ctypes.c_void_p(None))
    assert ctypes.c_long.in_dll(made, f"{name}_refused").value == before


_WHOLE = """void whole(int *y, const float *x, int n) { for (int i = 0; i < n; i++) y[i] = (int)(x[i] * 3.0f); }
void fractions(float *y, const float *x, int n) { for (int i = 0; i < n; i++) y[i] = x[i] - (float)(int)x[i]; }
void sums(int *y, const float *x, int n) {
  for (int i = 0; i < n; i++) { int s = 0; for (int j = 0; j < 4; j++) s += (int)x[i * 4 + j]; y[i] = s; }
}
"""


def test_floats_that_are_no_whole_numbers_take_the_loop(tmp_path: Path) -> None:
    """What C does not define a kernel is not asked for: NaN, infinities and numbers that are too large are left to the loop."""
    file = tmp_path / "whole.c"
    file.write_text(_WHOLE)
    written = replacement(rl.lift(file, runs=3), _WHOLE)
    made = library(tmp_path, written)
    assert len(written.replaced) == 3
    for times, odd in enumerate((2.5, float("nan"), 3e9, float("-inf"))):
        x = np.arange(400, dtype=np.float32) / 8
        x[41] = odd
        for idiom, name in written.replaced:
            y = np.zeros(100, np.float32 if idiom.function == "fractions" else np.int32)
            made[idiom.function](
                y.ctypes.data_as(ctypes.c_void_p), x.ctypes.data_as(ctypes.c_void_p), 100
            )
            assert ctypes.c_long.in_dll(made, f"{name}_refused").value == times, idiom.function
            if not times and idiom.function == "whole":
                assert (y == (x[:100] * 3).astype(np.int32)).all()


def test_negative_lengths_take_the_loop(tmp_path: Path) -> None:
    """A length below zero fails the guard, and the loop does nothing."""
    text = (
        "void f(int n, float *y, const float *x) { for (int i = 0; i < n; i++) y[i] = x[i] + 1; }\n"
    )
    made = library(tmp_path, replacement(rl.lift(text, runs=5), text))
    y = np.arange(20, dtype=np.float32)
    run(made.f, -3, y, 0, 10)
    assert np.array_equal(y, np.arange(20, dtype=np.float32))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("void f(int n, float *y, float *x) { for (int i = 0; i < n; i++) if (x[i] > 0) y[i] = x[i]; }\n", "under a condition"),
        ("int f(int n, float *y) { int i; for (i = 0; i < n; i++) y[i] = 1; return i; }\n", "is used after it"),
        ("void f(int n, float *x) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; }\n", "nothing uses what it computes"),
        ("void f(int n, float *h, int *k) { for (int i = 0; i < n; i++) if (k[i] < 9) h[k[i]]++; }\n", "under a condition"),
        ("void f(int n, float *y, float *x) { y = y + 2; for (int i = 0; i < n; i++) y[i] = x[i]; }\n", "no name where the loop stands"),
        ("void f(int n, float *x) { float *e = x + n; n = 5; for (float *p = x; p != e; p++) *p = n; }\n", "n has no name"),
        ("void f(int n, float *s, float *x) { int i; for (*s = 0, i = 0; i < n; i++) *s += x[i]; }\n", "the head of the loop stores"),
        ("float f(int n, float *x) { register float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n", "register variable"),
        ("void f(int n, float *x) {\n#pragma omp parallel for\n  for (int i = 0; i < n; i++) x[i] = 1; }\n", "a pragma before it"),
        ("void f(int n, float *x) { _Pragma(\"GCC ivdep\") for (int i = 0; i < n; i++) x[i] = 1; }\n", "a pragma before it"),
        ("int m(void); void f(float *x) { for (int i = 0, n = m(); i < n; i++) x[i] = 1; }\n", "the head of the loop calls"),
        ("void f(int m, float *x) { int i, n; for (i = 0, n = m, m = 3; i < n; i++) x[i] = 1; }\n", "m has no name"),
        ("void f(int n, unsigned *y, float *x) { for (int i = 0; i < n; i++) y[i] = (unsigned)x[i]; }\n", "a number without sign"),
        ("long f(int n, unsigned *x) { long s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n", "takes for negative"),
        ("void f(int n, unsigned *x) { for (int i = 0; i < n; i++) x[i] = x[i] > 9 ? 9 : x[i]; }\n", "takes for negative"),
        ("void f(int n, float *x) { for (int i = 0; i < n; i++) x[i] = x[i + 1]; }\n", "cells that it writes later"),
        ("#define EACH for (int i = 0; i < n; i++)\nvoid f(int n, float *y, float *x) { EACH y[i] = x[i]; }\n", "of a macro"),
    ],
)  # fmt: skip
def test_loops_that_stay_say_why(text: str, reason: str) -> None:
    """A loop that a call cannot stand for stays as it is."""
    written = replacement(rl.lift(text, runs=5), text)
    assert not written.replaced
    assert any(reason in said for _, said in written.kept), written.kept


def test_the_command_writes_both_files(tmp_path: Path) -> None:
    """`--replace OUT.c` writes it and OUT.kernels.c, and refuses to write over its input."""
    file = tmp_path / "f.c"
    file.write_text(
        "void f(int n, float *y, float *x) { for (int i = 0; i < n; i++) y[i] = x[i]; }\n"
    )
    assert command("lift", str(file), "--runs", "3", "--replace", str(tmp_path / "g.c"))[0] == 0
    assert "if (relift_f_1_" in (tmp_path / "g.c").read_text()
    assert (tmp_path / "g.kernels.c").is_file()
    status, said = command("lift", str(file), "--replace", str(file))
    assert (status, "name another file" in said) == (2, True)


INSIDE = """#include <stddef.h>
void either(int n, int c, float *x) { if (c > 1) for (int i = 0; i < n; i++) x[i] = 1; else for (int i = 0; i < n; i++) x[i] = 2; }
void renamed(int n, int c, float *x) { float b = c; c = 2; for (int i = 0; i < n; i++) x[i] = c * x[i] + b; }
void hidden(int n, int c, float *x) { if (c) { int n = 3; for (int i = 0; i < n; i++) x[i] = n; } for (int i = 0; i < n; i++) x[i] += 5; }
void one_after_the_other(int n, int c, float *x) { float s = 0; register int i; for (i = 0; i < n; i++) s += x[i]; for (i = 0; i < n; i++) x[i] = x[i] / (s + c); }
void turned(int n, int c, float *x) { float *y = x + 20; for (int i = 0; i < n; i++) { float t = c * x[i] + 3 * y[i]; y[i] = c * y[i] - 3 * x[i]; x[i] = t; } }
void both(int n, int c, float *x, float *y) { for (int i = 0; i < n; i++) { float t = x[i]; x[i] = y[i] * c; y[i] = t; } }
float kept(int n, int c, float *x, float *y) { float s = 0; for (int i = 0; i < n; i++) { y[i] = x[i] + c; s += x[i] * x[i]; } return s; }
void unsigned_counter(unsigned n, int c, float *x, float *y) { for (unsigned i = 0; i < n; i++) y[i] = x[i] * c; }
void without_last(size_t n, int c, float *x, float *y) { for (size_t i = 0; i < n - 1; i++) y[i] = x[i + 1] - c * x[i]; }
void every_fourth(int n, int c, float *x, float *y) { for (int i = 0; i < n; i += 4) y[i] = x[i] * c; }
void down(int n, int c, float *x, float *y) { for (int i = n - 1; i >= 0; i--) y[i] = x[i] + c; }
void half(int n, int c, float *x, float *y) { int m = n / 2; for (int i = 0; i < m; i++) y[i] = x[i + m] + c; }
"""


@pytest.mark.parametrize("shared", [False, True])
def test_loops_among_other_statements_do_the_same(shared: bool, tmp_path: Path) -> None:
    """What a call is given are the values that variables hold there, and all results of a loop are computed before one is stored."""
    written = replacement(rl.lift(INSIDE, runs=3), INSIDE)
    assert not written.kept, [(idiom.function, said) for idiom, said in written.kept]
    made = library(tmp_path, written)
    (tmp_path / "plain.c").write_text(INSIDE)
    subprocess.run(
        ["cc", "-O1", "-w", "-shared", "-fPIC", "-ffp-contract=off", "-o", "plain.so", "plain.c"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    plain = ctypes.CDLL(str(tmp_path / "plain.so"))
    for name in re.findall(r"^\w+ (\w+)\(", INSIDE, re.MULTILINE):
        for n, c in ((8, 2), (5, 0), (1, 3)):
            seen = []
            for found in (plain, made):
                room = np.arange(80, dtype=np.float32) / 8
                function = getattr(found, name)
                function.restype = ctypes.c_float
                x = room.ctypes.data
                left = function(
                    n, c, ctypes.c_void_p(x), ctypes.c_void_p(x + (8 if shared else 160))
                )
                seen.append((room, left if name == "kept" else None))
            assert np.array_equal(seen[0][0], seen[1][0]), (name, n, c)
            assert seen[0][1] == seen[1][1], (name, n, c)
