"""Steps written one after the other: a kernel for each, however long the program is without names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from proofs_tests.compiler.programs import typed
from relift.compiler.lowering.stages import stages_of
from relift.compiler.program import compile_program
from relift.device import CPU
from relift.egraph.cost.model import estimate
from relift.egraph.search.optimize import optimize
from relift.egraph.search.starts.named import joined_under_names, kernels_under_names, stores_named
from relift.egraph.search.starts.staged import (
    StagedKernel,
    done_again,
    filled,
    kernels_of,
    under_names,
    without_names,
)
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import apply, derive, inside
from relift.semantics.indices.functions import reverse
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.notation.parser import parse_term
from relift.semantics.notation.printer import show
from relift.semantics.patterns import Iterate
from relift.semantics.syntax.binding import alpha_equal, substitute
from relift.semantics.syntax.terms import Input, Lambda, Var, parts_of
from relift.semantics.syntax.types import Tuple, f32


def step(x: Any) -> Any:
    """What reads its array twice; no two elements of the result are alike, however often it is done."""
    return rl.map(lambda q: q[0] + 0.125 * q[1], rl.zip(x, rl.gather(reverse, x)))


def steps(count: int) -> Program:
    """So many steps, each of which reads the last one twice."""

    def written(x: Any) -> Any:
        for _ in range(count):
            x = step(x)
        return x

    return typed(x=f32[16])(written)


def chain(count: int) -> tuple[Derivation, list[StagedKernel], list[Derivation]]:
    """Such a program with a name for each of its steps, its kernels, and how each of them is lowered."""

    def written(x: Any, left: int = count) -> Any:
        if left == 1:
            return step(x)
        return rl.let(lambda v: written(v, left - 1), rl.to_global(step(x)))

    source = typed(x=f32[16])(lambda x: written(x))
    parted = Derivation(source, {}, (), source.body)
    kernels = kernels_under_names(source)
    assert len(kernels) == count
    return parted, kernels, [derive(k.program, apply("map_to_glb", d=0)) for k in kernels]


def test_kernels_of_names_come_together() -> None:
    """What is done to each kernel is done where its name is given, and the names go: that is the lowered whole."""
    parted, kernels, found = chain(6)
    whole = joined_under_names(parted, kernels, found)
    assert alpha_equal(whole.replay(RULES)[-1], without_names(kernels, [d.result for d in found]))


def test_long_steps_have_a_program() -> None:
    """A program of thousands of parts whose steps are few is searched step by step, and follows by rules."""
    source = steps(8)
    assert parts_of(source.body) > 2048
    best = optimize(source, {}, CPU).candidates[0]
    assert alpha_equal(best.derivation.replay(RULES)[-1], best.term.body)
    x = np.linspace(0, 1, 16, dtype=np.float32)
    np.testing.assert_allclose(compile_program(best.term)(x), source(x), rtol=1e-5)


def test_names_stay_where_they_are_kept() -> None:
    """With its names a lowered whole has a text as long as its kernels, and follows by rules too."""
    parted, kernels, found = chain(6)
    whole = joined_under_names(parted, kernels, found, keep=True)
    named = under_names(kernels, [d.result for d in found])
    assert alpha_equal(whole.replay(RULES)[-1], named)
    assert parts_of(named) < sum(parts_of(d.result) + 4 for d in found)


def test_what_is_stored_twice_gets_a_name() -> None:
    """A value that is stored wherever it is read has one name, and its kernel is derived once."""
    source = typed(x=f32[8])(
        lambda x: rl.zip(
            rl.to_global(rl.map(lambda v: v * v, x)),
            rl.gather(reverse, rl.to_global(rl.map(lambda v: v * v, x))),
        )
    )
    given = Derivation(source, {}, (), source.body)
    kernels = kernels_of(source)
    found = [derive(kernels[0].program, apply("map_to_glb", d=0)), *map(nothing_done, kernels[1:])]
    whole = joined_under_names(stores_named(given, kernels), kernels, found, keep=True)
    assert [step.rule for step in whole.steps] == ["let_inline", "map_to_glb"]
    named = under_names(kernels, [d.result for d in found])
    assert alpha_equal(whole.replay(RULES)[-1], named)


def nothing_done(kernel: StagedKernel) -> Derivation:
    return Derivation(kernel.program, {}, (), kernel.program.body)


def test_names_of_buffers_change_no_kernel_and_no_cost() -> None:
    """The kernels of a program are the same with names for what they store, and so is what they are estimated to cost."""
    _, kernels, found = chain(6)
    low, source = [d.result for d in found], steps(6)
    named, plain = (
        replace(source, body=build(kernels, low)) for build in (under_names, without_names)
    )
    assert parts_of(named.body) < parts_of(plain.body) / 2
    assert compile_program(named).source == compile_program(plain).source
    assert estimate(named, CPU) == estimate(plain, CPU)


def test_a_value_that_has_two_names_is_computed_and_counted_once() -> None:
    """As one that is stored in two places."""
    x = Input("x", f32[16])

    def stored() -> Any:
        return rl.to_global(rl.map_glb(0)(lambda v: v + 1.0, x))

    def difference(a: Any, b: Any) -> Any:
        return rl.map_glb(0)(lambda q: q[0] - 2.0 * q[1], rl.zip(a, rl.gather(reverse, b)))

    named = rl.let(lambda a: rl.let(lambda b: difference(a, b), stored()), stored())
    one, other = (Program("p", (x,), t) for t in (named, difference(stored(), stored())))
    assert len(stages_of(one)) == 2
    assert compile_program(one).source == compile_program(other).source
    assert estimate(one, CPU) == estimate(other, CPU)


def test_a_step_of_an_iteration_names_what_it_stores() -> None:
    """So does a step that a host launches again and again: its kernels are those of the same step without names."""

    def read_twice(w: Any) -> Any:
        return rl.map_glb(0)(lambda q: q[0] + 0.125 * q[1], rl.zip(w, rl.gather(reverse, w)))

    def stored(v: Any) -> Any:
        return rl.to_global(rl.map_glb(0)(lambda e: e * e, v))

    def repeated(x: Any) -> Any:
        return rl.iterate(5, lambda v: rl.let(read_twice, stored(v)), x)

    def without(x: Any) -> Any:
        return rl.iterate(5, lambda v: read_twice(stored(v)), x)

    named = typed(x=f32[16])(repeated)
    x = np.linspace(0.5, 1, 16, dtype=np.float32)
    np.testing.assert_allclose(compile_program(named)(x), named(x), rtol=1e-6)
    assert stages_of(named) == stages_of(typed(x=f32[16])(without))
    assert len(stages_of(named)) == 10


def test_a_state_may_be_called_as_an_input_that_its_step_reads() -> None:
    """What a step makes of the input alone is no other one in the next step."""
    x, y = Input("x", f32[16]), Input("y", f32[16])
    pair = Tuple((f32[16], f32[16]))

    def kernels(state: str) -> list[str]:
        def step(p: Any) -> Any:
            return (rl.map_glb(0)(lambda v: v + v, p[0]), rl.map_glb(0)(lambda v: v * 0.5, x))

        t = rl.iterate(4, step, (y, x))
        assert isinstance(t, Iterate)
        (v,) = t.f.parameters
        own = Var(state, pair)
        t = replace(t, f=Lambda((own,), substitute(t.f.body, {v.name: own})))
        return [
            f"{stage.result} = {show(stage.body)}" for stage in stages_of(Program("p", (x, y), t))
        ]

    assert kernels("x") == kernels("p")
    assert len(kernels("x")) == 7  # what the second step makes of the input is that of the third


def test_a_program_is_as_long_as_what_python_computes() -> None:
    """Steps of Python that read the last twice are thousands of parts each; the program has names for them, and is found."""
    source = steps(14)
    assert parts_of(source.body) < 1000
    best = optimize(source, {}, CPU).candidates[0]
    assert alpha_equal(best.derivation.replay(RULES)[-1], best.term.body)
    x = np.linspace(0, 1, 16, dtype=np.float32)
    want = x
    for _ in range(14):
        want = want + np.float32(0.125) * want[::-1]
    assert np.diff(want).min() > 1e-3 * want.max()
    np.testing.assert_allclose(compile_program(best.term)(x), want, rtol=1e-5)


def test_a_variable_of_a_value_is_told_from_one_of_a_function() -> None:
    """What an input of a kernel stands for may be called as a variable of the kernel's own, which stands for another one there."""
    c, a, xs = Input("c", f32), Input("a", f32[4, 8]), Input("xs", f32[8])
    inputs = {"c": c, "a": a, "xs": xs}
    body = parse_term(
        "map(lambda x_: map(lambda q: q * reduce(add, 0.0, x_) + c, map(lambda q: q * q, xs)), a)",
        inputs,
    )
    kernel = Program("kernel", (c, a, xs), body)
    found = derive(kernel, inside("f")(apply("map_fusion")))
    value = Var("x_", f32)
    t = filled(body, {"c": value})
    _, after_it = done_again(found, found.replay(RULES), t, (), {"c": value})
    assert alpha_equal(after_it, filled(found.result, {"c": value}))
