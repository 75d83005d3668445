"""What is taken of a result is written in its place, and what is beyond is written nowhere."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# pyright: reportGeneralTypeIssues=false
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import numpy as np
import pytest

from relift import (
    add,
    as_scalar,
    as_vector,
    f32,
    insertion_sort_seq,
    join,
    map,
    map_glb,
    map_lcl,
    map_seq,
    map_vec,
    map_wrg,
    nat,
    program,
    scan_seq,
    take,
    to_global,
    to_local,
    to_private,
)
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.certificates.claims import certificates
from relift.compiler.program import compile_program
from relift.semantics.errors import Unsupported
from relift.semantics.language.programs import Program

n = nat("n")


def further(v):
    return v * 2.0 + 1.0


def vectors(x):
    return as_scalar(map_glb(0)(lambda v: map_vec(further, v), as_vector(4, x)))


@program
def numbers(x: f32[16]):
    return take(5, map_glb(0)(further, x))


@program
def nothing(x: f32[16]):
    return take(0, map_glb(0)(further, x))


@program
def pairs(x: f32[16]):
    return take(5, map_glb(0)(lambda v: (v, v + 1.0), x))


@program
def corner(x: f32[8, 16]):
    groups = map_wrg(0)(lambda r: map_lcl(0)(further, r), x)
    return take(5, map(lambda r: take(7, r), groups))


@program
def whole_groups(x: f32[8, 4]):
    return join(take(3, map_wrg(0)(lambda r: map_lcl(0)(further, r), x)))


@program
def parts_of_groups(x: f32[8, 4]):
    kept = lambda r: map_lcl(0)(further, to_local(map_lcl(0)(further, r)))
    return take(10, join(map_wrg(0)(kept, x)))


@program
def whole_vectors(x: f32[16]):
    return take(12, vectors(x))


@program
def halves(x: f32[16]):
    return take(6, vectors(x))


@program
def lanes(x: f32[16]):
    return take(5, vectors(x))


@program
def in_local_memory(x: f32[4, 16]):
    kept = lambda r: map_lcl(0)(further, to_local(take(5, map_lcl(0)(further, r))))
    return map_wrg(0)(kept, x)


@program
def in_registers(x: f32[4, 16]):
    return map_glb(0)(lambda r: map_seq(further, to_private(take(5, map_seq(further, r)))), x)


@program
def running(x: f32[4, 16]):
    return map_glb(0)(lambda r: take(5, scan_seq(add, 0.0, r)), x)


@program
def between_kernels(x: f32[16]):
    return map_glb(0)(further, to_global(take(5, map_glb(0)(further, x))))


PROGRAMS = [
    numbers, nothing, pairs, corner, whole_groups, parts_of_groups, whole_vectors, halves, lanes,
    in_local_memory, in_registers, running, between_kernels,
]  # fmt: skip


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda p: p.name)
def test_what_is_taken_is_written_alone(source: Program) -> None:
    kernel = compile_program(source)
    arrays = whole_inputs(source, seed=1)

    got, wanted = kernel(*arrays), source(*arrays)
    for mine, theirs in zip(*(each if isinstance(each, tuple) else (each,) for each in (got, wanted)), strict=True):  # fmt: skip
        np.testing.assert_array_equal(mine, theirs)
    verdicts = {c.verdict for one in certificates(kernel) for c in one.claims}
    assert verdicts <= {"proved", "shown"}, verdicts


def test_vectors_that_lie_within_or_beyond_have_one_condition() -> None:
    texts = {p.name: compile_program(p).source for p in (whole_vectors, halves, lanes)}

    assert "if (4*glb_0 < 12)" in texts["whole_vectors"]
    assert texts["whole_vectors"].count("if (") == 1
    assert texts["halves"].count("if (") == texts["halves"].count("(global float2*)") == 2
    assert texts["lanes"].count("if (") == 1 + 1 + 4  # all of it, or what there is of four lanes


def test_where_the_rest_begins_may_be_known_when_the_kernel_runs() -> None:
    @program
    def some(x: f32[4 * n]):
        return take(n, vectors(x))

    x = np.arange(24, dtype=np.float32)
    np.testing.assert_array_equal(compile_program(some)(x), 2 * x[:6] + 1)


def test_what_is_read_where_it_is_written_is_not_written_in_part() -> None:
    @program
    def least(x: f32[4, 16]):
        return map_glb(0)(lambda r: take(5, insertion_sort_seq(lambda v, w: v < w, r)), x)

    with pytest.raises(Unsupported, match="nothing can be written through take"):
        compile_program(least)
