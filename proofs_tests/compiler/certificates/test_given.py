"""A kernel is certified for what its launch gives it: buffers in the order of the arguments, whatever they are called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.certificates.claims import certificates
from relift.compiler.certificates.consultation import require_not_refuted
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.semantics.errors import Refuted
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32, nat

n, m = nat("n"), nat("m")


@typed(x=f32[8], y=f32[64])
def short_and_long(x: Any, y: Any) -> Any:
    return rl.map_glb(0)(
        lambda p: p[0] + p[1], rl.zip(rl.join(rl.map(lambda v: rl.repeat(8, v), x)), y)
    )


@typed(x=f32[n], y=f32[n, m])
def two_sizes(x: Any, y: Any) -> Any:
    return rl.map_glb(0)(lambda p: rl.reduce_seq(rl.add, p[0], p[1]), rl.zip(x, y))


def given(compiled: Compiled, change: Callable[[list[str]], list[str]]) -> Compiled:
    """The same text, launched with other arguments."""
    (kernel,) = compiled.plan.kernels
    arguments = tuple(change(list(kernel.arguments)))
    return replace(
        compiled, plan=replace(compiled.plan, kernels=(replace(kernel, arguments=arguments),))
    )


def swapped(one: str, other: str) -> Callable[[list[str]], list[str]]:
    """Two arguments in the place of each other."""
    return lambda found: [{one: other, other: one}.get(a, a) for a in found]


WRONG: list[tuple[str, Any, Callable[[list[str]], list[str]], str]] = [
    ("arrays of other lengths", short_and_long, swapped("x", "y"), "bounds are refuted"),
    ("sizes", two_sizes, swapped("n", "m"), "is given the size"),
    ("an array for a number", two_sizes, swapped("n", "x"), "is given"),
    ("one less", short_and_long, lambda found: found[:-1], "3 parameters, 2 are given"),
    ("no buffer", short_and_long, lambda found: [*found[:-1], "z"], "is no buffer"),
]


@pytest.mark.parametrize(
    ("program", "change", "said"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG]
)
def test_arguments_in_another_order_are_refuted(
    program: Any, change: Callable[[list[str]], list[str]], said: str
) -> None:
    """What an array may hold is what is given in its place, not what has its name."""
    require_not_refuted(compile_program(program))
    with pytest.raises(Refuted, match=said):
        require_not_refuted(given(compile_program(program), change))


def test_one_buffer_under_two_names_is_unknown() -> None:
    """Two parameters promise to be apart (`restrict`); what they do to one buffer is not looked into."""
    twice = given(compile_program(short_and_long), lambda found: ["y", *found[1:]])
    (found,) = certificates(twice)
    assert not found.ok
    assert "given one buffer twice" in found.claims[0].detail


def test_a_wider_element_is_refuted_and_a_vector_has_fewer() -> None:
    """A pointer to doubles leaves an array of floats; of vectors there are fewer, and those of 3 are not looked into."""
    compiled = compile_program(short_and_long)
    doubles = compiled.source.replace("global float*", "global double*")
    assert doubles != compiled.source
    with pytest.raises(Refuted, match="takes double out, it is given out of type f32"):
        require_not_refuted(replace(compiled, source=doubles))
    threes = compiled.source.replace("global float*", "global float3*")
    (found,) = certificates(replace(compiled, source=threes))
    assert {c.verdict for c in found.claims} == {"unknown"}
    require_not_refuted(replace(compiled, source=threes))
    vectors = compiled.source.replace("global float*", "global float4*")
    with pytest.raises(Refuted, match="bounds are refuted: write out"):
        require_not_refuted(replace(compiled, source=vectors))
