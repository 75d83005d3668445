"""Programs and searches that the tests of the e-graph share."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache

import pytest

import relift as rl
from relift.egraph.encode.equations import NotSearchable
from relift.egraph.encode.rules import encode_rule
from relift.egraph.process.saturation import Budget, Request, Saturation, Stage, saturate
from relift.egraph.search.guidance.planning import NORMAL_FORM
from relift.egraph.search.own_rules import STAGES
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.library import RULES
from relift.semantics.language.programs import Program

n, m, k = rl.nat("n"), rl.nat("m"), rl.nat("k")
taps = rl.f32[3]


@rl.program
def dot(x: rl.f32[n], y: rl.f32[n]):
    """The sum of products."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


@rl.program
def matvec(a: rl.f32[m, n], x: rl.f32[n]):
    """A dot product for each row."""
    return rl.map(
        lambda row: rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, x))), a
    )


@rl.program
def matmul(a: rl.f32[m, k], b: rl.f32[k, n]):
    """A dot product for each row and column."""

    def dot(row, column):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, column)))

    return rl.map(lambda row: rl.map(lambda column: dot(row, column), rl.transpose(b)), a)


@rl.program
def stencil(x: rl.f32[n]):
    """The sum of three neighbours."""
    windows = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, x))
    return rl.map(lambda w: w[0] + w[1] + w[2], windows)


@rl.program
def saxpy(a: rl.f32, x: rl.f32[n], y: rl.f32[n]):
    """Scale and add."""
    return rl.map(lambda p: a * p[0] + p[1], rl.zip(x, y))


@rl.program
def rows(a: rl.f32[m, n]):
    """The sum of squares of each row."""
    return rl.map(lambda row: rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, row)), a)


@rl.program
def cube(a: rl.f32[m, n, k]):
    """A function of every element of three dimensions."""
    return rl.map(lambda x: rl.map(lambda y: rl.map(lambda z: z * z + 1.0, y), x), a)


@rl.program
def gemv(a: rl.f32[m, n], x: rl.f32[n], y: rl.f32[m]):
    """A matrix-vector product that is added to a vector."""

    def dot(row):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, x)))

    return rl.map(lambda p: dot(p[0]) + p[1], rl.zip(a, y))


@rl.program
def outer(x: rl.f32[m], y: rl.f32[n]):
    """The product of every pair."""
    return rl.map(lambda u: rl.map(lambda v: u * v, y), x)


@rl.program
def weighted(x: rl.f32[n], w: taps):
    """A convolution with three weights."""
    windows = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, x))

    def dot(window):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(window, w)))

    return rl.map(dot, windows)


@dataclass(frozen=True)
class Case:
    """A program, small sizes for it, and the values for sizes that rules leave open."""

    program: Program
    sizes: Mapping[str, int]
    tiles: tuple[int, ...]
    lanes: tuple[int, ...]


CASES = {
    case.program.name: case
    for case in (
        Case(dot, {"n": 16}, (4,), (4,)),
        Case(matvec, {"m": 8, "n": 8}, (4,), (2,)),
        Case(matmul, {"m": 4, "n": 4, "k": 8}, (2, 4), (2,)),
        Case(stencil, {"n": 12}, (2, 4), (2,)),
        Case(saxpy, {"n": 16}, (4, 8), (4,)),
        Case(rows, {"m": 4, "n": 8}, (2,), (2,)),
        Case(cube, {"m": 4, "n": 2, "k": 4}, (2,), (2,)),
        Case(gemv, {"m": 4, "n": 4}, (2,), (2,)),
        Case(outer, {"m": 4, "n": 6}, (2,), (2,)),
        Case(weighted, {"n": 8}, (2, 4), (2,)),
    )
}


def searchable() -> tuple[str, ...]:
    """The rules of the stages, in all directions that search can use, without those of the normal form."""
    named = {name for stage in STAGES for name in stage.rules}
    found: list[str] = []
    directions: tuple[tuple[Direction, str], ...] = (("forward", ""), ("backward", "<"))
    for name in sorted(named - set(NORMAL_FORM)):
        for direction, mark in directions:
            try:
                encode_rule(RULES[name], direction)
            except NotSearchable:
                continue
            found.append(name + mark)
    return tuple(found)


@cache
def _searched(name: str) -> Saturation:
    case = CASES[name]
    stage = Stage("all", searchable(), 3)
    return saturate(
        Request(
            case.program.at(case.sizes), (stage,), NORMAL_FORM, case.tiles, case.lanes,
            budget=Budget(seconds=60, nodes=20_000),
        )
    )  # fmt: skip


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No search finds a child process that others have left."""
    nobodys: ContextVar[None] = ContextVar("nobody's", default=None)
    monkeypatch.setattr("relift.egraph.process.children._kept", nobodys)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    """Each of the programs."""
    return CASES[request.param]


@pytest.fixture
def searched() -> Callable[[Case], Saturation]:
    """Three iterations of all rules, in both directions, on a program; kept between tests."""
    return lambda case: _searched(case.program.name)


@pytest.fixture
def cases() -> Mapping[str, Case]:
    """The programs by name."""
    return CASES
