"""A program as a chain of kernels: each is searched for itself, and what is found is put together by proved rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from proofs_tests.egraph.written_programs import PROGRAMS
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program, refusal
from relift.device import CPU, GPU
from relift.egraph.search.optimize import optimize
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.starts.forms import promising
from relift.egraph.search.starts.staged import kernels_of, lowered, together
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.sharing import storable, stored
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import as_term
from relift.semantics.language.programs import Program
from relift.semantics.patterns import ToGlobal
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input, Term, subterms
from relift.semantics.syntax.types import f32

CHAINS = ["atax", "gemver", "gesummv", "three_products", "let_array", "normalised", "prefix_blocks"]


def parted(name: str) -> Derivation:
    """The program with all that may be stored stored."""
    program, sizes = PROGRAMS[name]
    task = Proposals(program, sizes, CPU)
    prepared = task.prepared()
    values = [each.value for each in storable(prepared.result)]
    more = derive(replace(task.source, body=prepared.result), stored(values))
    return replace(prepared, steps=(*prepared.steps, *more.steps), result=more.result)


@pytest.mark.parametrize("name", CHAINS)
def test_kernels_are_programs_after_those_that_they_read(name: str) -> None:
    """Each reads inputs and results of kernels before it, stores nothing itself, and stands where it says."""
    whole = parted(name)
    kernels = kernels_of(replace(whole.program, body=whole.result))
    known = {p.name for p in whole.program.parameters}

    for kernel in kernels:
        read = {t.name for t, _ in subterms(kernel.program.body) if isinstance(t, Input)}
        assert read <= known
        assert not any(isinstance(t, ToGlobal) for t, _ in subterms(kernel.program.body))
        known.add(kernel.result)
    assert kernels[-1].places == ((),)
    assert len(kernels) > 1
    assert alpha_equal(lowered(kernels, [k.program.body for k in kernels]), whole.result)


@pytest.mark.parametrize("name", CHAINS)
def test_derivations_are_put_together(name: str) -> None:
    """At every place where a value stands, though its variables have other names there."""
    whole = parted(name)
    kernels = kernels_of(replace(whole.program, body=whole.result))
    found = [Proposals(kernel.program, {}, CPU).as_written()[0] for kernel in kernels]

    derivation = together(whole, kernels, [each.derive() for each in found])

    low = lowered(kernels, [each.low.body for each in found])
    assert alpha_equal(derivation.replay(RULES)[-1], low)
    require_proved((step.rule for step in derivation.steps), RULES)
    assert refusal(replace(whole.program, body=low)) is None


def test_a_value_that_stands_in_two_places_is_one_kernel() -> None:
    """Equal up to names is equal."""
    x = Input("x", f32[Size.of(8)])
    first = rl.to_global(rl.map(lambda u: u * u, x))
    second = rl.to_global(rl.map(lambda v: v * v, x))
    body = rl.map(lambda p: p[0] + p[1], rl.zip(first, rl.gather(lambda i: 7 - i, second)))
    kernels = kernels_of(Program("twice", (x,), body))

    assert [len(kernel.places) for kernel in kernels] == [2, 1]


def test_each_kernel_is_searched_for_itself() -> None:
    """What is found beats the floor, and each of the two products has vectors."""
    program, _ = PROGRAMS["atax"]
    sizes = {"n": 512, "m": 512}
    floor = Proposals(program, sizes, CPU).floor()[0]

    found = optimize(program, sizes, CPU, refused=refusal)

    kernels = compile_program(found.term).source.split("kernel void")[1:]
    assert found.cost.seconds < 0.5 * floor.cost.seconds
    assert len(kernels) == 2
    assert all("float16" in kernel for kernel in kernels)
    a, x = random_inputs(found.source, 1)
    result = compile_program(found.term)(a, x, device="cpu")
    np.testing.assert_allclose(result, a.T @ (a @ x), rtol=1e-3)


def test_several_results_have_a_kernel_each() -> None:
    """The products of a matrix with its rows and its columns: each is searched for itself."""
    p, r = (Input(x, f32[Size.of(8192)]) for x in "pr")
    a = Input("a", f32[Size.of(8192), Size.of(8192)])

    def products(rows: Term, x: Term) -> Any:
        def dot(row: Term) -> Any:
            return rl.reduce(rl.add, 0.0, rl.map(lambda q: q[0] * q[1], rl.zip(row, x)))

        return rl.map(dot, rows)

    bicg = Program("bicg", (a, p, r), as_term((products(a, p), products(rl.transpose(a), r))))
    task = Proposals(bicg, {}, GPU)
    (form,) = promising(task.forms())
    assert len(kernels_of(replace(task.source, body=form.parted.result))) == 3


def test_a_table_that_two_kernels_read_is_computed_by_both() -> None:
    """Where storing it is what takes the time: the columns of a matrix of rank one more, and its rows."""
    a = Input("a", f32[Size.of(8192), Size.of(8192)])
    u, v, x = (Input(name, f32[Size.of(8192)]) for name in "uvx")

    def product(rows: Any, y: Any) -> Any:
        def dot(row: Any) -> Any:
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, y)))

        return rl.map(dot, rows)

    rows = rl.map(lambda q: rl.map(lambda p: p[0] + q[1] * p[1], rl.zip(q[0], v)), rl.zip(a, u))
    twice = Program("twice", (a, u, v, x), as_term(product(rows, product(rl.transpose(rows), x))))
    task = Proposals(twice, {}, GPU)
    found = promising(task.forms())
    kernels = [kernels_of(replace(task.source, body=form.parted.result)) for form in found]
    stored = [[k.program.body.type for k in ks if k.result] for ks in kernels]
    assert [f32[8192]] in stored
