"""Programs that are no examples: every kind of result, type and operator goes through the search."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import relift as rl
from proofs_tests.portions import portioned
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.agreement.verification import check_derivation, check_run
from relift.rewrites.derivation.files import from_json, to_json
from relift.rewrites.library import RULES
from relift.semantics.language.programs import Program

n, m = rl.nat("n"), rl.nat("m")
larger = rl.operator(
    rl.maximum, associative=True, commutative=True, neutral=float("-inf"), name="larger"
)
shifted = rl.operator(lambda x, y: x * 2 + y, name="shifted")  # no law at all


def largest(x: rl.f32[n]):
    return rl.reduce(larger, float("-inf"), x)


def whole_sum(x: rl.i32[n]):
    return rl.reduce(rl.add, 0, x)


def double_dot(x: rl.f64[n], y: rl.f64[n]):
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


def pairs(x: rl.f32[n]):
    return rl.map(lambda v: (v + 1.0, v * 2.0), x)


def without_laws(x: rl.f32[n]):
    return rl.reduce(shifted, 0.0, x)


def scaled_rows(A: rl.f32[n, m]):
    return rl.map(lambda row: rl.map(lambda v: v / rl.reduce(rl.add, 0.0, row), row), A)


def normalised(x: rl.f32[n]):
    length = rl.sqrt(rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, x)))
    return rl.map(lambda v: v / length, x)


def sum_of_row_maxima(A: rl.f32[n, m]):
    return rl.reduce(rl.add, 0.0, rl.map(lambda row: rl.reduce(larger, float("-inf"), row), A))


def nine_points(A: rl.f32[n, m]):
    padded = rl.pad(1, 1, rl.clamp, rl.map(rl.pad(1, 1, rl.clamp), A))
    windows = rl.map(rl.transpose, rl.slide(3, 1, rl.map(rl.slide(3, 1), padded)))
    return rl.map(lambda row: rl.map(lambda w: rl.reduce(rl.add, 0.0, rl.join(w)), row), windows)


def central_differences(x: rl.f32[n]):
    return rl.map(lambda w: w[2] - w[0], rl.slide(3, 1, rl.pad(1, 1, 0.0, x)))


def unfused(x: rl.f32[n]):
    smooth = rl.map(lambda v: rl.exp(v), x)
    return rl.map(lambda w: w[0] + w[1], rl.slide(2, 1, rl.pad(0, 1, rl.clamp, smooth)))


def odd_product(A: rl.f32[n, m], B: rl.f32[m, n]):
    return rl.map(
        lambda row: rl.map(
            lambda column: rl.reduce(
                rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, column))
            ),
            rl.transpose(B),
        ),
        A,
    )


def unchanged(x: rl.f32[n]):
    return x


def numbers(a: rl.f32, b: rl.f32):
    return a * b


def sum_and_product(x: rl.f32[n]):
    return (rl.reduce(rl.add, 0.0, x), rl.reduce(rl.mul, 1.0, x))


PROGRAMS: tuple[Callable[..., Any], ...] = (
    largest, whole_sum, double_dot, pairs, without_laws, scaled_rows, normalised,
    sum_of_row_maxima, nine_points, central_differences, unfused, odd_product, unchanged, numbers,
    sum_and_product,
)  # fmt: skip


def test_an_operator_on_tuples_and_one_with_a_known_name_survive_the_file() -> None:
    """A derivation stores each operator at the type it combines, also one that is named like ours."""
    farther = rl.operator(
        lambda p, q: (rl.maximum(p[0], q[0]), p[1] + q[1]), associative=True, name="farther"
    )
    mul = rl.operator(lambda x, y: x + y, associative=True, commutative=True, neutral=0, name="mul")

    @rl.program
    def both(x: rl.f32[n]):
        ends = rl.reduce(farther, (0.0, 0.0), rl.map(lambda v: (v, v), x))
        return ends[0] + rl.reduce(mul, 0.0, x)

    derivation = rl.optimize(both, {"n": 16}).derivation
    again = from_json(to_json(derivation), RULES)
    x = np.arange(16, dtype=np.float32)

    assert again.program(x) == derivation.program(x) == 15 + 120


def test_two_operators_of_one_name_are_two() -> None:
    """The e-graph knows operators by name, so a program gives the second one a name of its own."""
    one = rl.operator(lambda x, y: x + y, associative=True, name="same")
    other = rl.operator(lambda x, y: x * y, associative=True, name="same")

    @rl.program
    def both(x: rl.f32[n]):
        return rl.reduce(one, 0.0, x) - rl.reduce(other, 1.0, x)

    best = rl.optimize(both, {"n": 8})
    x = np.array([1, 2] * 4, np.float32)

    assert rl.compile(best.term)(x) == both(x) == 12 - 16


BY_TURNS = [(f, (64, 100)[i % 2]) for i, f in enumerate(PROGRAMS)]
"""Each program at one of two sizes, what vectors divide and what leaves a rest by turns."""


@portioned(
    "function,size",
    itertools.product(PROGRAMS, (64, 100)),
    BY_TURNS,
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_found_kernel_agrees(function: Callable[..., Any], size: int) -> None:
    """The kernel that the search finds agrees with the interpreter at this and at small sizes."""
    program: Program = rl.program(function)
    sizes = {name: size if name == "n" else 32 for name in program.sizes}
    best = rl.optimize(program, sizes)
    arrays = random_inputs(program.at(sizes), seed=0)
    result = rl.compile(best.term)(*arrays)
    checks = check_run(program, arrays, result, program.at(sizes))
    checks.append(check_derivation(best.derivation, "cpu"))

    assert len(checks) == 2
    assert all(check.ok for check in checks), "\n".join(check.text() for check in checks)
