"""The interpreter is slow on purpose, but not slower than this; the limits leave room for a busy machine."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings

from relift.rewrites.checks.free.algebra import Algebra, Symbolic
from relift.semantics.errors import Unsupported
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program, program
from relift.semantics.syntax.terms import Pattern, subterms
from relift.semantics.syntax.types import f32, nat
from relift.testing import programs

n, m, k = nat("n"), nat("m"), nat("k")


def inner(x: Any, y: Any) -> Any:
    """The inner product of two terms."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


@program
def dot(x: f32[n], y: f32[n]):  # type: ignore[valid-type,no-untyped-def]
    """Inner product."""
    return inner(x, y)


@program
def product(a: f32[n, k], b: f32[k, m]):  # type: ignore[valid-type,no-untyped-def]
    """Matrix product."""
    return rl.map(lambda row: rl.map(lambda column: inner(row, column), rl.transpose(b)), a)


@program
def blocked(a: f32[2 * n, k], b: f32[k, m]):  # type: ignore[valid-type,no-untyped-def]
    """Matrix product, two rows at a time: ten patterns."""
    columns = rl.transpose(b)
    return rl.join(
        rl.map(
            lambda rows: rl.transpose(
                rl.map(lambda column: rl.map(lambda row: inner(row, column), rows), columns)
            ),
            rl.split(2, a),
        )
    )


def seconds(run: Callable[[], object], attempts: int = 3) -> float:
    """The best of a few runs."""
    taken: list[float] = []
    for _ in range(attempts):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


def on_free_symbols(program: Program, sizes: dict[str, int]) -> Any:
    """The value of a program whose inputs are symbols, all different."""
    algebra = Algebra()
    world = World(sizes=sizes, domain=Symbolic(algebra))
    inputs = {p.name: algebra.value(p.type, world.size, p.name) for p in program.parameters}
    return evaluate(program.body, World(sizes=sizes, inputs=inputs, domain=Symbolic(algebra)))


def test_a_matrix_product_of_64_takes_less_than_4_seconds() -> None:
    """262144 multiplications and as many additions, in f32."""
    a = np.eye(64, dtype=np.float32)

    assert seconds(lambda: product(a, a), attempts=1) < 4


def test_a_dot_product_of_a_million_takes_less_than_6_seconds() -> None:
    """A million of each, as one reduction."""
    x = np.ones(1_000_000, dtype=np.float32)

    assert seconds(lambda: dot(x, x), attempts=1) < 6


def test_free_symbols_take_less_than_50_ms() -> None:
    """A program of ten patterns, at every size up to 4."""
    assert sum(isinstance(t, Pattern) for t, _ in subterms(blocked.body)) == 10
    for sizes in itertools.product((1, 2, 4), repeat=3):
        named = dict(zip(("n", "m", "k"), sizes, strict=True))

        assert seconds(lambda at=named: on_free_symbols(blocked, at)) < 0.05  # type: ignore[misc]


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(programs(10))
def test_random_programs_on_free_symbols_take_less_than_50_ms(program: Program) -> None:
    """Random programs of up to ten patterns, at size 4."""
    sizes = dict.fromkeys(program.sizes, 4)
    try:
        taken = seconds(lambda: on_free_symbols(program, sizes))
    except Unsupported:  # what comes out depends on a comparison of symbols
        assume(False)
        raise

    assert taken < 0.05
