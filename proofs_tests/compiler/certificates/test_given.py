"""A kernel is certified for what its launch gives it: buffers in the order of the arguments, whatever they are called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.certificates.claims import certificates
from relift.compiler.certificates.consultation import require_not_refuted
from relift.compiler.meaning.evidence import meaning_of
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.validation.validate import validate
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


@typed(x=f32[192])
def one_more(x: Any) -> Any:
    return rl.map_glb(0)(lambda v: v + 1.0, x)


@typed(x=f32[n])
def one_more_each(x: Any) -> Any:
    return rl.map_glb(0)(lambda v: v + 1.0, x)


ASKS = {
    "places": "const int l = get_local_id(0); const int w = get_group_id(0); out[{m}*w + l] = x[{m}*w + l] + 1.0f;",
    "a value that a place decides": "const int l = get_local_id(0); out[i] = x[i] + (l < {m} ? 1.0f : 2.0f);",
    "how many there are": "const int many = get_global_size(0); out[i] = x[i] + (many == 192 ? 1.0f : 2.0f);",
    "shared memory": "local float t[1]; t[0] = x[i] + 1.0f; out[i] = t[0];",
    "waiting": "if (i < {m}) {{ barrier(CLK_LOCAL_MEM_FENCE); }} out[i] = x[i] + 1.0f;",
}
"""Kernels that are right in the groups that the compiler chose, or would be in groups of one."""


@pytest.mark.parametrize("body", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize("program", [one_more, one_more_each], ids=["a number", "a size"])
def test_a_kernel_that_asks_for_its_group_is_refuted_where_groups_have_any_size(
    program: Any, body: str
) -> None:
    """A driver for CPUs is given groups of whole vectors wherever the launch says that any will do."""
    compiled = compile_program(program)
    (kernel,) = compiled.plan.kernels
    text = body.format(m=kernel.local[0])
    head = compiled.source[: compiled.source.index("{")]
    wrong = replace(compiled, source=f"{head}{{ const int i = get_global_id(0); {text} }}")

    with pytest.raises(Refuted, match="it is launched in groups of any size"):
        require_not_refuted(wrong)
    found = meaning_of(wrong, program)
    assert found.verdict == "refuted", found.text()
    assert "groups of any size" in found.kernels[0].detail
    at_sizes = {} if program is one_more else {"n": 192}
    assert validate(wrong.source, wrong.plan, program, at_sizes).verdict == "refuted"


@pytest.mark.parametrize("body", ASKS.values(), ids=ASKS)
def test_a_kernel_that_asks_for_its_group_is_unknown_where_groups_have_several_sizes(
    body: str,
) -> None:
    """Of a launch whose last group is smaller, only the numbers of all work-items mean something."""
    compiled = compile_program(one_more_each)
    (kernel,) = compiled.plan.kernels
    plan = replace(compiled.plan, kernels=(replace(kernel, free=False),))
    head = compiled.source[: compiled.source.index("{")]
    text = body.format(m=kernel.local[0]).replace("192", "n")
    other = Compiled(f"{head}{{ const int i = get_global_id(0); {text} }}", plan)

    assert meaning_of(other, one_more_each).kernels[0].verdict == "unknown"
