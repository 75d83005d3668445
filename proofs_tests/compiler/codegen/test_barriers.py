"""A work-group waits before it reads what others wrote, also after code that it may have skipped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from proofs_tests.compiler.races import complaints
from proofs_tests.compiler.texts import BARRIER
from proofs_tests.portions import portioned
from relift.compiler.certificates.claims import certificates
from relift.compiler.codegen.barriers import Barriers
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.semantics.indices.functions import reverse
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import SizeLike, nat
from relift.semantics.syntax.types import Array, f32

LANES = 8


def reversed_(xs: Any) -> Any:
    """Each work-item reads what another one wrote."""
    return rl.gather(reverse, xs)


def shifted(v: Any, s: Any) -> Any:
    """A tile of its own, read across the work-items."""
    return rl.let(
        lambda t: rl.map_lcl(0)(lambda q: q, reversed_(t)),
        rl.to_local(rl.map_lcl(0)(lambda q: q + v, reversed_(s))),
    )


def siblings() -> Program:
    @typed(x=f32[2, 64], a=f32[2], b=f32[5])
    def siblings(x: Any, a: Any, b: Any) -> Any:
        def row(c: Any) -> Any:
            def with_tile(s: Any) -> Any:
                def first(v: Any) -> Any:
                    moved = rl.to_local(rl.map_lcl(1)(lambda q: q + v, reversed_(s)))
                    return rl.let(lambda t: rl.map_lcl(1)(lambda q: q, reversed_(t)), moved)

                def second(v: Any) -> Any:
                    return rl.map_lcl(1)(lambda q: q + v, reversed_(s))

                return rl.concat(rl.map_wrg(0)(first, a), rl.map_wrg(0)(second, b))

            return rl.let(with_tile, rl.to_local(rl.map_lcl(1)(lambda v: v + 1.0, c)))

        return rl.map_wrg(1)(row, x)

    return siblings


def no_turn() -> Program:
    n = nat("n")

    @typed(x=f32[4, 64], y=f32[n])
    def no_turn(x: Any, y: Any) -> Any:
        def group(c: Any) -> Any:
            def with_tile(s: Any) -> Any:
                loop = rl.map_seq(lambda v: shifted(v, s), rl.tail(y))
                return loop, rl.map_lcl(0)(lambda q: q * 2.0, reversed_(s))

            return rl.let(with_tile, rl.to_local(rl.map_lcl(0)(lambda v: v + 1.0, c)))

        return rl.map_wrg(0)(group, x)

    return no_turn


def pending() -> Program:
    """A sum whose left side is read from local memory, and whose right side is a loop with barriers."""

    @typed(x=f32[4, 3, LANES])
    def pending(x: Any) -> Any:
        def turn(c: Any) -> Any:
            def with_tile(s: Any) -> Any:
                def inside(acc: Any, v: Any) -> Any:
                    tile = rl.to_local(rl.map_lcl(0)(lambda q: q + v, reversed_(s)))
                    return rl.let(lambda t: acc + t[1], tile)

                total = s[2] + rl.reduce_seq(inside, 0.0, rl.literal_array([1.0, 2.0]))
                return rl.let(lambda w: rl.map_lcl(0)(lambda q: w, c), total)

            return rl.let(with_tile, rl.to_local(rl.map_lcl(0)(lambda q: q + 1.0, reversed_(c))))

        return rl.map_wrg(0)(lambda rows: rl.map_seq(turn, rows), x)

    return pending


def drawn(program: Program, seed: int) -> tuple[Any, ...]:
    """Small whole numbers, on which sums of floats are exact."""
    generator = np.random.default_rng(seed)
    shapes = [[n.constant for n in _shape(p.type)] for p in program.parameters]
    return tuple(generator.integers(-8, 9, shape).astype(np.float32) for shape in shapes)


def _shape(t: Any) -> list[Any]:
    return [t.length, *_shape(t.element)] if isinstance(t, Array) else []


def same(left: Any, right: Any) -> bool:
    if isinstance(left, tuple):
        return all(same(a, b) for a, b in zip(left, right, strict=True))
    return np.array_equal(left, right)


def check_certificate(kernel: Compiled) -> None:
    """All that concerns local memory is proved; products of open sizes may be too hard elsewhere."""
    claims = [c for found in certificates(kernel) for c in found.claims]
    about_tiles = [
        c
        for c in claims
        if c.kind == "barriers" or (c.kind in ("bounds", "races") and "tile" in c.subject)
    ]
    assert about_tiles, "cannot happen: a kernel without local memory"
    assert [c for c in about_tiles if c.verdict != "proved"] == [], kernel.source
    assert [c for c in claims if c.verdict == "refuted"] == [], kernel.source


@pytest.mark.parametrize(
    ("make", "sizes"), [(siblings, {}), (no_turn, {"n": 1}), (no_turn, {"n": 3}), (pending, {})]
)
def test_what_a_group_may_skip_synchronises_nothing_after_it(
    make: Callable[[], Program], sizes: dict[str, int]
) -> None:
    """An `if` whose condition some groups miss, a loop of open length, and a value that is older than a barrier."""
    program = make()
    here = program.at(sizes)
    kernel, inputs = compile_program(program), drawn(here, seed=1)
    check_certificate(kernel)
    assert complaints(kernel, inputs) == []
    assert same(kernel(*inputs), here(*inputs))


def test_a_loop_that_surely_runs_synchronises_what_stands_after_it() -> None:
    """No barrier stands behind a loop of known length that has one in each turn."""
    fixed = compile_program(no_turn(), {"n": 3})
    assert fixed.source.count(BARRIER) == compile_program(no_turn()).source.count(BARRIER) - 1
    check_certificate(fixed)


def test_a_tile_is_written_anew_once_all_have_read_it() -> None:
    """A turn that writes a tile and then reads it has a barrier between, and another before the next turn writes."""

    @typed(x=f32[4, LANES], y=f32[3])
    def refilled(x: Any, y: Any) -> Any:
        return rl.map_wrg(0)(lambda c: rl.map_seq(lambda v: shifted(v, c), y), x)

    kernel = compile_program(refilled)
    _, _, turn = kernel.source.partition("for (")

    assert turn.count(BARRIER) == 2, kernel.source
    check_certificate(kernel)


# ---- generated nests of conditionals, loops and tiles


@dataclass
class Nests:
    """Random programs of groups: tiles in local memory, read and copied below siblings and loops."""

    random: Random

    def program(self, n: SizeLike) -> Program:
        siblings = self.random.random() < 0.7

        @typed(x=f32[2, LANES], a=f32[2], b=f32[3], y=f32[n])
        def nest(x: Any, a: Any, b: Any, y: Any) -> Any:
            loops = [y, rl.tail(y), rl.take(1, y), rl.drop(1, y)]
            groups = [a, b] if siblings else []

            def row(c: Any) -> Any:
                first = rl.to_local(rl.map_lcl(1)(lambda q: q + 1.0, c))
                return rl.let(lambda s: self.body([s], [], groups, loops, 5), first)

            return rl.map_wrg(1)(row, x)

        return nest

    def body(
        self, tiles: list[Any], numbers: list[Any], groups: list[Any], loops: list[Any], depth: int
    ) -> Any:
        """What one group computes from the tiles and numbers in scope; `groups` must still be shared out."""

        def below(tile: list[Any], number: list[Any], among: list[Any] = groups) -> Any:
            return self.body([*tiles, *tile], [*numbers, *number], among, loops, depth - 1)

        choices = ["tile", "pair", "pair", *(["groups"] if groups else ["loop"])]
        kind = self.random.choice(choices) if depth > 0 else "leaf"
        s, v = self.random.choice(tiles), self.random.choice([*numbers, 2.0])
        match kind:
            case "tile":
                moved = rl.to_local(rl.map_lcl(1)(lambda q: q + v, reversed_(s)))
                return rl.let(lambda t: below([t], []), moved)
            case "pair":
                return below([], []), below([], [])
            case "loop":
                return rl.map_seq(lambda w: below([], [w]), self.random.choice(loops))
            case _ if groups:
                return rl.map_wrg(0)(lambda w: below([], [w], []), self.random.choice(groups))
            case _:
                return rl.map_lcl(1)(lambda p: p[0] - p[1] * v, rl.zip(reversed_(s), tiles[-1]))


@portioned("seed", range(12), 3)
def test_generated_nests_mean_what_the_interpreter_says(seed: int) -> None:
    """To the bit, at sizes at which loops have no turn and at others; and the certificate proves it for all sizes."""
    kernel = compile_program(Nests(Random(seed)).program(nat("n")))
    check_certificate(kernel)
    for n in (1, 3):
        here = Nests(Random(seed)).program(n)
        inputs = drawn(here, seed)
        assert same(kernel(*inputs), here(*inputs)), kernel.source


def test_generated_nests_reach_what_may_be_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the care for it, several of the programs race, and their certificates say so."""
    monkeypatch.setattr(Barriers, "skippable", lambda _: nullcontext())
    kernels = (compile_program(Nests(Random(seed)).program(nat("n"))) for seed in range(12))
    racing = (kernel for kernel in kernels if any(c.refuted for c in certificates(kernel)))
    assert len(list(islice(racing, 2))) == 2
