"""Kernels that are right for inputs of which something is required: rows by pointers, permutations, what is in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofs_tests.compiler.foreign.kernels import ByHandKernel, program
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import f32, i32

ROWS, STORED, WIDE = 3, 6, 4
"""A sparse matrix: rows, elements, columns."""


def numbered(xs: Any, n: int) -> Any:
    """Elements with their places."""
    return rl.zip(rl.generate(n, lambda i: i), xs)


def of_rows(term: Callable[[Any], Any], first: Any, plus: Any, n: int) -> Callable[..., Any]:
    """For each row, what the terms of its elements come to: those from one pointer up to the next."""

    def body(pointers: Any, rows: int, *values: Any) -> Any:
        def row(ends: Any) -> Any:
            def here(e: Any) -> Any:
                return rl.select((ends[0] <= e[0]) & (e[0] < ends[1]), term(e), first)

            return pat.reduce(
                plus, first, pat.map(here, rl.zip(rl.generate(n, lambda i: i), *values))
            )

        return pat.map(row, rl.zip(pat.take(rows, pointers), pat.drop(1, pointers)))

    return body


def _sparse(ptr: Any, col: Any, val: Any, x: Any) -> Any:
    def term(e: Any) -> Any:
        return e[2] * rl.at_runtime_unsafe(e[1], x)

    return of_rows(term, 0.0, rl.add, STORED)(ptr, ROWS, col, val)


def _in_order(xs: Any, n: int) -> Any:
    return pat.map(lambda p: p[0] <= p[1], rl.zip(pat.take(n - 1, xs), pat.drop(1, xs)))


def in_order(name: str, t: Any, n: int) -> Callable[[], Program]:
    """None of n elements is less than the one before."""
    return program(f"{name}_in_order", lambda xs: _in_order(xs, n), **{name: t[n]})


def within(name: str, n: int, end: int) -> Callable[[], Program]:
    """n numbers from 0 up to an end."""
    return program(
        f"{name}_within",
        lambda xs: pat.map(lambda v: (v >= 0) & (v < end), xs),
        **{name: i32[n]},
    )


def no_two(name: str, n: int) -> Callable[[], Program]:
    """No two of n numbers are one."""

    def body(xs: Any) -> Any:
        def apart(p: Any, q: Any) -> Any:
            return rl.select(p[0] < q[0], rl.not_equal(p[1], q[1]), True)

        return pat.map(lambda p: pat.map(lambda q: apart(p, q), numbered(xs, n)), numbered(xs, n))

    return program(f"no_two_of_{name}_are_one", body, **{name: i32[n]})


def from_to(name: str, n: int, end: int) -> Callable[[], Program]:
    """The first of n numbers is 0, the last one an end."""

    def body(xs: Any) -> Any:
        first = pat.map(lambda v: rl.equal(v, 0), pat.take(1, xs))
        return pat.concat(first, pat.map(lambda v: rl.equal(v, end), pat.drop(n - 1, xs)))

    return program(f"{name}_from_0_to_{end}", body, **{name: i32[n]})


POINTERS = (in_order("ptr", i32, ROWS + 1), from_to("ptr", ROWS + 1, STORED))
COLUMNS = within("col", STORED, WIDE)
SPARSE = program(
    "sparse", _sparse, ptr=i32[ROWS + 1], col=i32[STORED], val=f32[STORED], x=f32[WIDE]
)

REQUIRING = [
    ByHandKernel(
        "sparse rows, one work-item each",
        SPARSE,
        """
kernel void csr(global const int *ptr, global const int *col, global const float *val, global const float *x,
                global float *y, int rows) {
  int r = get_global_id(0);
  if (r < rows) {
    float sum = 0.0f;
    for (int j = ptr[r]; j < ptr[r + 1]; j++) sum += val[j] * x[col[j]];
    y[r] = sum;
  }
}""",
        (4,),
        (4,),
        ("j = ptr[r]", "j = ptr[r] + 1"),
        {"rows": "3", "y": "out"},
        (*POINTERS, COLUMNS),
    ),
    ByHandKernel(
        "sparse rows, several work-items each",
        SPARSE,
        """
#define LANES 4
kernel void csr_vector(global const int *ptr, global const int *col, global const float *val,
                       global const float *x, global float *y, const int rows) {
  local float part[8];
  int t = get_local_id(0), lane = t & (LANES - 1), r = get_global_id(0) / LANES;
  float sum = 0;
  if (r < rows) {
    int lo = ptr[r], hi = ptr[r + 1];
    for (int j = lo + lane; j < hi; j += LANES) sum += val[j] * x[col[j]];
  }
  part[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < 2) part[t] += part[t + 2];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane == 0 && r < rows) y[r] = part[t] + part[t + 1];
}""",
        (16,),
        (8,),
        ("j += LANES", "j += LANES - 1"),
        {"rows": "3", "y": "out"},
        (*POINTERS, COLUMNS),
    ),
    ByHandKernel(
        "largest of each segment",
        program(
            "largest",
            lambda ptr, x: of_rows(lambda e: e[1], -1000, rl.maximum, 8)(ptr, 3, x),
            ptr=i32[4],
            x=i32[8],
        ),
        """
kernel void segments(global const int *ptr, global const int *x, global int *y) {
  int r = get_global_id(0), most = -1000, j = ptr[r];
  while (j < ptr[r + 1]) { most = max(most, x[j]); ++j; }
  y[r] = most;
}""",
        (3,),
        (3,),
        ("++j", "j += 2"),
        {"y": "out"},
        (in_order("ptr", i32, 4), within("ptr", 4, 9)),
    ),
    ByHandKernel(
        "gather by a permutation",
        program(
            "gathered",
            lambda p, x: pat.map(lambda i: rl.at_runtime_unsafe(i, x), p),
            p=i32[8],
            x=f32[8],
        ),
        """
kernel void gather(global const int *p, global const float *x, global float *y) {
  int i = get_global_id(0);
  y[i] = x[p[i]];
}""",
        (8,),
        (4,),
        ("y[i]", "y[p[i]]"),
        {"y": "out"},
        (within("p", 8, 8), no_two("p", 8)),
    ),
    ByHandKernel(
        "scatter by a permutation",
        program(
            "scattered",
            lambda p, x: pat.map(
                lambda c: pat.reduce(
                    rl.add,
                    0.0,
                    pat.map(lambda e: rl.select(rl.equal(e[0], c), e[1], 0.0), rl.zip(p, x)),
                ),
                rl.generate(8, lambda i: i),
            ),
            p=i32[8],
            x=f32[8],
        ),
        """
kernel void scatter(global const int *p, global const float *x, global float *y) {
  int i = get_global_id(0);
  y[p[i]] = x[i];
}""",
        (8,),
        (4,),
        ("= x[i]", "= x[p[i]]"),
        {"y": "out"},
        (within("p", 8, 8), no_two("p", 8)),
    ),
    ByHandKernel(
        "search in what is in order",
        program(
            "below",
            lambda a, key: pat.map(
                lambda v: pat.reduce(rl.add, 0, pat.map(lambda e: rl.select(e < v, 1, 0), a)), key
            ),
            a=f32[12],
            key=f32[4],
        ),
        """
kernel void search(global const float *a, global const float *key, global int *y, int n) {
  int lo = 0, hi = n;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (a[mid] < key[get_global_id(0)]) lo = mid + 1; else hi = mid;
  }
  y[get_global_id(0)] = lo;
}""",
        (4,),
        (4,),
        ("hi = mid;", "hi = mid - 1;"),
        {"n": "12", "y": "out"},
        (in_order("a", f32, 12),),
    ),
]
