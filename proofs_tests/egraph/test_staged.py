"""A program as a chain of kernels: each is searched for itself, and what is found is put together by proved rules."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from proofs_tests.egraph.written_programs import PROGRAMS
from relift.compiler.agreement.inputs import random_inputs, whole_inputs
from relift.compiler.program import compile_program, refusal
from relift.device import CPU, GPU
from relift.egraph.cost.model import Cost
from relift.egraph.search.derived import after, alternatives
from relift.egraph.search.optimize import first_accepted, optimize
from relift.egraph.search.outcomes import Proposal
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.starts.forms import Form, choices_of
from relift.egraph.search.starts.promising import promising
from relift.egraph.search.starts.staged import kernels_of, lowered, shape_of, together
from relift.rewrites.derivation.files import from_json, read_json, to_json, write_json
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.batches import pairs_apart
from relift.rewrites.tactics.combinators import apply, derive, fuse, inside, then
from relift.rewrites.tactics.groups.tiles import tile_for_groups
from relift.rewrites.tactics.groups.tiling.sizes import Tiles
from relift.rewrites.tactics.sharing import storable, stored
from relift.semantics.language import multidimensional
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import as_term
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Map, Reduce, ScanSeq, ToGlobal
from relift.semantics.syntax.binding import alpha_equal, positions, term_at
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import MOST_PARTS, Input, MakeTuple, Term, parts_of, subterms
from relift.semantics.syntax.types import Vector, f32, i32

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


def test_a_kernel_goes_on_with_what_has_open_cells() -> None:
    """Rows of tiles are padded by cells that are open, which no rule copies: the product that reads them was derived before."""
    a, b = (Input(x, f32[Size.of(16), Size.of(16)]) for x in "ab")

    def product(rows: Any, columns: Any) -> Any:
        def dot(row: Any, column: Any) -> Any:
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, column)))

        return rl.map(lambda row: rl.map(lambda column: dot(row, column), columns), rows)

    first = rl.to_global(product(a, b))
    scaled = rl.map(
        lambda rows: rl.map(lambda p: p[0] * p[1], rl.zip(rows[0], rows[1])),
        rl.zip(product(first, b), a),
    )
    chain = Program("chain", (a, b), as_term(scaled))
    whole = Derivation(chain, {}, (), chain.body)
    kernels = kernels_of(chain)
    found = [derive(kernel.program, tile_for_groups(Tiles(8, 8, 4, 1, 1))) for kernel in kernels]

    derivation = together(whole, kernels, found)

    assert alpha_equal(derivation.replay(RULES)[-1], lowered(kernels, [d.result for d in found]))
    inputs = whole_inputs(chain, seed=0)
    low = replace(chain, body=derivation.result)
    np.testing.assert_array_equal(np.asarray(low(*inputs)), np.asarray(chain(*inputs)))


def test_a_value_that_stands_in_two_places_is_one_kernel() -> None:
    """Equal up to names is equal."""
    x = Input("x", f32[Size.of(8)])
    first = rl.to_global(rl.map(lambda u: u * u, x))
    second = rl.to_global(rl.map(lambda v: v * v, x))
    body = rl.map(lambda p: p[0] + p[1], rl.zip(first, rl.gather(lambda i: 7 - i, second)))
    kernels = kernels_of(Program("twice", (x,), body))

    assert [kernel.result for kernel in kernels] == ["twice_1", ""]


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


def test_folds_of_one_number_may_have_kernels_of_their_own() -> None:
    """Of `the sum of squares over the sum` both folds; what they go through stays in them."""
    x = Input("x", f32[Size.of(1 << 20)])
    squares = rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, x))
    body = squares / rl.reduce(rl.add, 0.0, x)
    folds = [each.value for each in storable(body) if each.value.type == f32]
    assert len(folds) == 2
    parted = derive(Program("share", (x,), body), stored(folds))
    assert [k.program.body.type for k in kernels_of(Program("share", (x,), parted.result))] == [
        f32
    ] * 3


def test_several_results_have_a_kernel_each() -> None:
    """The products of a matrix with its rows and its columns: each is searched for itself."""
    p, r = (Input(x, f32[Size.of(8192)]) for x in "pr")
    a = Input("a", f32[Size.of(8192), Size.of(8192)])

    def products(rows: Term, x: Term) -> Any:
        def dot(row: Term) -> Any:
            return rl.reduce(rl.add, 0.0, rl.map(lambda q: q[0] * q[1], rl.zip(row, x)))

        return rl.map(dot, rows)

    bicg = Program("bicg", (a, p, r), as_term((products(a, p), products(rl.transpose(a), r))))
    for device in (CPU, GPU):
        task = Proposals(bicg, {}, device)
        last = promising(task.forms())[-1]
        kernels = kernels_of(replace(task.source, body=last.parted.result))
        assert [(kernel.result, kernel.place) for kernel in kernels] == [
            ("", ("parts.0",)),
            ("", ("parts.1",)),
        ]


def test_results_that_share_a_long_fold_are_not_searched_with_it_in_each() -> None:
    """A step of conjugate gradients: each result needs a number that is folded of a product with a matrix."""
    a, x, p = (Input("a", f32[512, 512]), Input("x", f32[512]), Input("p", f32[512]))

    def dot(u: Term, v: Term) -> Any:
        return rl.reduce(rl.add, 0.0, rl.map(lambda q: q[0] * q[1], rl.zip(u, v)))

    length = dot(p, as_term(rl.map(lambda row: dot(row, p), a)))
    moved = [rl.map(lambda q, s=s: q[0] + s * length * q[1], rl.zip(x, p)) for s in (1.0, -1.0)]
    forms = Proposals(Program("step", (a, x, p), as_term(tuple(moved))), {}, GPU).forms()
    found = promising(forms)
    assert found
    assert forms[0] not in found


def test_the_kernels_of_several_results_are_put_together() -> None:
    """Products with the rows and with the columns, as a tuple: each has vectors, and the derivation replays."""
    a, x = Input("a", f32[Size.of(1024), Size.of(1024)]), Input("x", f32[Size.of(1024)])

    def products(rows: Term) -> Any:
        def dot(row: Term) -> Any:
            return rl.reduce(rl.add, 0.0, rl.map(lambda q: q[0] * q[1], rl.zip(row, x)))

        return rl.map(dot, rows)

    both = Program("both", (a, x), as_term((products(a), products(rl.transpose(a)))))
    found = optimize(both, {}, CPU)
    assert isinstance(found.term.body, MakeTuple)
    for part in found.term.body.parts:
        assert any(isinstance(u.type, Vector) for u, _ in subterms(part))
    assert alpha_equal(found.derivation.replay(RULES)[-1], found.term.body)
    inputs = random_inputs(both, 2)
    for result, rows in zip(
        compile_program(found.term)(*inputs), (inputs[0], inputs[0].T), strict=True
    ):
        np.testing.assert_allclose(result, rows @ inputs[1], rtol=1e-3, atol=1e-3)


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


def test_a_form_that_only_a_tactic_lowers_is_searched() -> None:
    """A nest reads columns without their means: with those alone stored no rule lowers it as it is, and it moves the least."""
    x = Input("x", f32[Size.of(8192), Size.of(1024)])

    def total(xs: Any) -> Any:
        return rl.reduce(rl.add, 0.0, xs)

    columns = rl.transpose(x)
    means = rl.map(lambda column: total(column) * 0.25, columns)
    centred = rl.map(lambda p: rl.map(lambda v: v - p[1], p[0]), rl.zip(columns, means))
    pairs = rl.map(
        lambda a: rl.map(lambda b: total(rl.map(lambda p: p[0] * p[1], rl.zip(a, b))), centred),
        centred,
    )
    task = Proposals(Program("pairs", (x,), as_term(pairs)), {}, GPU)
    forms = promising(task.forms())
    bare = [form for form in forms if not form.proposals]
    (kernels,) = (kernels_of(replace(task.source, body=form.parted.result)) for form in bare)
    assert [kernel.program.body.type for kernel in kernels] == [f32[1024], f32[1024, 1024]]
    assert forms[0].proposals


def test_kernels_of_one_shape_are_searched_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of three products the second is the first to the search; it has the derivation in the names of its own inputs."""
    program, sizes = PROGRAMS["three_products"][0], {"n": 32}
    searched: list[Term] = []
    floor = Proposals.floor

    def counted(task: Proposals) -> list[Proposal]:
        searched.append(shape_of(task.source))
        return floor(task)

    monkeypatch.setattr(Proposals, "floor", counted)
    _, found = Proposals(program, sizes, CPU, workers=1).all()
    assert 0 < len(searched) == len(set(searched))
    stores = (f for f in found if any(isinstance(t, ToGlobal) for t, _ in subterms(f.low.body)))
    values = whole_inputs(program.at(sizes), 1)
    expected = program.at(sizes)(*values)
    for each in itertools.islice(stores, 2):
        derivation = each.derive()
        assert alpha_equal(derivation.result, each.low.body)
        file = tmp_path / "derivation.json"
        file.write_text(write_json(derivation), encoding="utf-8")
        again = read_json(file, RULES)  # replays
        assert alpha_equal(again.result, derivation.result)
        low = replace(program.at(sizes), body=derivation.result)
        np.testing.assert_array_equal(compile_program(low)(*values), expected)


def test_a_product_in_the_function_of_a_row_is_a_kernel() -> None:
    """Squared lengths by a matrix: as it is lowered, a stored product is no better, but blocks make it so."""

    def dot(u: Any, v: Any) -> Any:
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))

    def squared(S: Any, x: Any) -> Any:
        doubled = rl.map(lambda v: v + v, x)
        return dot(doubled, rl.map(lambda row: dot(row, doubled), S))

    program = typed(X=f32[1024, 256], S=f32[256, 256])(
        lambda X, S: rl.map(lambda x: squared(S, x), X)
    )
    task = Proposals(program, {}, CPU, workers=1)
    forms = task.forms()
    assert not forms[0].nest
    assert any(form.nest for form in promising(forms))


def dot(u: Any, v: Any) -> Any:
    """The product of two vectors."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))


def attention_of(n: int) -> Proposals:
    """A search for rows that are weighted by the softmax of a product."""

    def row(q: Any, K: Any, V: Any) -> Any:
        scores = rl.map(lambda key: dot(q, key), K)
        top = rl.reduce(rl.maximum, float("-inf"), scores)
        powers = rl.map(lambda s: rl.exp(s - top), scores)
        whole = rl.reduce(rl.add, 0.0, powers)
        return rl.map(lambda column: dot(powers, column) / whole, rl.transpose(V))

    tables = dict.fromkeys("QKV", f32[n, 64])
    program = typed(**tables)(lambda Q, K, V: rl.map(lambda q: row(q, K, V), Q))
    return Proposals(program, {}, GPU, workers=1)


def test_what_computes_again_what_others_store_is_not_searched() -> None:
    """Its one nest seems to have half of the work: the rest is in what that nest reads, and far more."""
    forms = attention_of(4096).forms()
    assert any(not form.stores and form.nest for form in forms)
    found = promising(forms)
    assert found
    assert all(form.stores for form in found)


def test_kernels_of_rows_read_nothing_beside_what_they_need() -> None:
    """The folds of a softmax go through one table each, not through one that is zipped with it and not read."""
    task = attention_of(1024)
    for form in promising(task.forms()):
        kernels = kernels_of(replace(task.source, body=form.parted.result))
        folds = [
            k
            for k in kernels
            if isinstance(k.program.body, Map) and isinstance(k.program.body.f.body, Reduce)
        ]
        assert [len(kernel.program.parameters) for kernel in folds] == [1, 1]


def test_a_kernel_that_takes_little_time_is_tried_in_one_way() -> None:
    """The compiler is not asked of what is not tried."""

    def proposal(name: str, seconds: float) -> Proposal:
        low = typed(x=f32[8])(lambda x: rl.map_glb(0)(lambda v: v * seconds, x))
        task = Proposals(low, {}, CPU)
        return Proposal(Cost(0.0, 0.0, 0.0, seconds, 0.0), replace(low, name=name), task.said)

    asked: list[str] = []
    parts = [
        [proposal("long", t) for t in (1.0, 2.0)],
        [proposal("short", t) for t in (0.01, 0.02)],
    ]
    found = alternatives(parts, lambda low: asked.append(low.name))
    assert [len(part) for part in found] == [2, 1]
    assert asked.count("short") == 1


def test_of_equal_times_the_one_with_less_behind_memory_comes_first() -> None:
    """Where a cache keeps what is read, memory hides nothing; parts of a program are still in order of their size."""
    low = typed(x=f32[8])(lambda x: rl.map_glb(0)(lambda v: v + v, x))
    longer = replace(low, body=rl.map_glb(0)(lambda v: v * v, low.body))
    small, large = (
        Proposal(Cost(0.0, hidden, 1.0, 1.0, 0.0, hidden), each, Proposals(each, {}, CPU).said)
        for each, hidden in ((low, 0.9), (longer, 0.3))
    )
    assert large.rank_in_the_end < small.rank_in_the_end
    assert small.rank < large.rank


def test_what_becomes_too_long_when_it_is_fused_is_searched_as_it_is() -> None:
    """A map that reads each element eight times would have eight of what computes it."""

    def cell(v: Any) -> Any:
        for _ in range(5):
            v = v * v + v
        return v

    @typed(x=f32[64])
    def powers(x: Any) -> Any:
        return rl.map(lambda w: w * w * w * w * w * w * w * w, rl.map(cell, x))

    x = np.linspace(0.0, 0.1, 64, dtype=np.float32)
    found = optimize(powers, {}, CPU)
    np.testing.assert_allclose(compile_program(found.term)(x), powers(x), rtol=1e-5)


def test_long_folds_of_few_channels_are_kernels_of_their_own() -> None:
    """As they are lowered each is one work-item's, so that no form is near the one whose folds have names."""

    def normal(channel: Any) -> Any:
        numbers = rl.join(rl.join(channel))
        mean = rl.reduce(rl.add, 0.0, numbers) / 262144
        gaps = rl.map(lambda v: (v - mean) * (v - mean), numbers)
        spread = rl.rsqrt(rl.reduce(rl.add, 0.0, gaps) / 262144)
        row = rl.map(lambda v: (v - mean) * spread)
        return rl.map(rl.map(row), channel)

    program = typed(x=f32[64, 64, 64, 64])(lambda x: rl.transpose(rl.map(normal, rl.transpose(x))))
    task = Proposals(program, {}, GPU, workers=1)
    found = promising(task.forms())
    kernels = [kernels_of(replace(task.source, body=form.parted.result)) for form in found]
    stored = [[k.program.body.type for k in ks if k.result] for ks in kernels]
    assert [f32[64], f32[64]] in stored


def test_a_scan_is_a_kernel_however_slow_all_forms_are_as_they_are_lowered() -> None:
    """One work-item scans in each of them, so that what else is stored says nothing."""

    def sums_of_16(x: Any) -> Any:
        sums = rl.pad(1, 0, 0.0, rl.scan_seq(rl.add, 0.0, x))
        ends = rl.zip(rl.drop(16, sums), rl.take((1 << 20) - 15, sums))
        return rl.take((1 << 20) - 16, rl.map(lambda p: p[0] - p[1], ends))

    task = Proposals(typed(x=f32[1 << 20])(sums_of_16), {}, GPU, workers=1)
    found = promising(task.forms())
    kernels = [kernels_of(replace(task.source, body=form.parted.result)) for form in found]
    assert any(isinstance(k.program.body, ScanSeq) for ks in kernels for k in ks)


def test_what_lies_between_scans_is_stored_where_groups_scan() -> None:
    """Sums of rows and then of columns: by a work-item for each, to store what lies between takes twice as long as to write it across."""

    def scanned(x: Any) -> Any:
        return rl.map(lambda row: rl.scan_seq(rl.add, 0.0, row), x)

    def both(x: Any) -> Any:
        return rl.transpose(scanned(rl.transpose(scanned(x))))

    task = Proposals(typed(x=f32[8192, 8192])(both), {}, GPU, workers=1)
    assert any(form.stores for form in promising(task.forms()))


def test_a_product_beside_another_fold_of_a_row_is_a_kernel() -> None:
    """What a row is divided by is folded in its function: no form promises more, and this one's product is a nest."""

    def divided(q: Any, S: Any, w: Any) -> Any:
        return rl.map(lambda row: dot(q, row) / dot(q, w), S)

    tables = {"Q": f32[16384, 64], "S": f32[64, 64], "w": f32[64]}
    program = typed(**tables)(lambda Q, S, w: rl.map(lambda q: divided(q, S, w), Q))
    forms = Proposals(program, {}, GPU, workers=1).forms()
    fewest = min(form.steps_outside_nests for form in forms if form.stores and form.proposals)
    assert any(form.steps_outside_nests == fewest for form in promising(forms))


def test_the_form_that_computes_least_is_searched_where_all_are_slow_as_they_are_lowered() -> None:
    """Not only the one that stores most: another order of a table is computed anew for that."""
    kinds = f32[8, 8]

    def form(stored: int, steps: int) -> Form:
        return Form(parted("atax"), (kinds,) * stored, (), least=stored * 1e-3, steps=steps)

    written, least, most = form(0, 1 << 30), form(2, 1 << 20), form(3, 1 << 25)
    assert promising([written, least, most]) == [least, most]


def test_programs_of_one_shape_are_one_but_for_the_names_of_inputs() -> None:
    """Types, and which input stands where, are part of the shape."""
    x, y = Input("x", f32[8]), Input("y", f32[8])
    shapes = [
        shape_of(Program("p", inputs, rl.map(lambda p: p[0] - p[1], rl.zip(*body))))
        for inputs, body in [((x, y), (x, y)), ((y, x), (y, x)), ((x, y), (y, x)), ((x,), (x, x))]
    ]
    assert shapes[0] == shapes[1]
    assert len(set(shapes)) == 3


def test_a_kernel_whose_variables_have_other_names_has_a_derivation() -> None:
    """Of the steps of an iteration each reads the one before: inputs and variables are called otherwise."""

    def step(grid: Any) -> Any:
        windows = multidimensional.slide_nd(
            (3, 3), (1, 1), multidimensional.pad_nd((1, 1), (1, 1), rl.clamp, grid)
        )
        return multidimensional.map_nd(
            2, lambda w: 0.25 * (w[0][1] + w[2][1] + w[1][0] + w[1][2]), windows
        )

    program = typed(x=f32[512, 512])(lambda x: rl.iterate(4, step, x))
    task = Proposals(program, {}, GPU, workers=1)
    _, found = task.all()
    stores = [f for f in found if any(isinstance(t, ToGlobal) for t, _ in subterms(f.low.body))]
    for each in stores[:3]:
        derivation = each.derive()
        assert alpha_equal(derivation.replay(RULES)[-1], derivation.result)
        assert alpha_equal(derivation.result, each.low.body)


def test_a_number_that_is_folded_and_used_has_a_kernel_of_its_own() -> None:
    """Whatever is computed of it: a mean, and what deviates from it, were one work-item's, a thousand times as slow."""

    x = Input("x", f32[1 << 20])
    total = rl.reduce(rl.add, 0.0, x)
    mean = total / (1 << 20)
    deviation = rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - mean) * (v - mean), x))
    variance = deviation / (1 << 20)
    found = [
        optimize(Program("found", (x,), as_term(t)), {}, GPU)
        for t in (total, variance, (mean, variance))
    ]
    of_total, of_variance, of_both = (best.candidates[0].cost.seconds for best in found)

    assert of_variance < 6 * of_total
    assert of_both < 1.1 * of_variance


def test_numbers_are_stored_together_and_arrays_by_choice() -> None:
    """Each number that is left to the kernel that reads it is folded by one work-item there."""
    x, y = Input("x", f32[64]), Input("y", f32[64])
    numbers = tuple(rl.reduce(rl.add, 0.0, xs) for xs in (x, y))
    arrays = tuple(rl.map(rl.sqrt, xs) for xs in (x, y))

    assert choices_of((*numbers, *arrays), 2) == [
        (),
        numbers,
        (*numbers, arrays[0]),
        (*numbers, arrays[1]),
        (*numbers, *arrays),
    ]
    assert choices_of((numbers[0], arrays[0]), 2, numbers) == [
        (),
        (numbers[0],),
        (numbers[0], arrays[0]),
        (arrays[0],),
    ]


@typed(x=f32[20001, 200])
def mean_of_roots(x: Term) -> Any:
    """A number of which another one is made."""
    norms = rl.map(lambda r: rl.sqrt(rl.reduce(rl.add, 0.0, r)), x)
    return rl.reduce(rl.add, 0.0, norms) * 0.5


@typed(x=f32[20000, 256])
def halved_spreads(x: Term) -> Any:
    """An array of which a number each is made."""

    def column(c: Term) -> Any:
        mean = rl.reduce(rl.add, 0.0, c) * 5e-5
        return rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - mean) * (v - mean), c)) * 0.5

    return rl.map(column, rl.transpose(x))


@pytest.mark.parametrize(("program", "kernels"), [(mean_of_roots, 3), (halved_spreads, 4)])
def test_the_kernel_that_folds_goes_on_to_the_result(program: Program, kernels: int) -> None:
    """What is done with a number that is folded, or with each, has no kernel of its own on a GPU."""
    found = optimize(program, {}, GPU)

    assert compile_program(found.term).source.count("kernel void") == kernels


@typed(x=f32[2, 3, 4])
def middle(x: Term) -> Any:
    """Columns of several tables: what their folds give is zipped with each table, under a name that they have, too."""

    def column(v: Term) -> Any:
        top = rl.reduce(rl.maximum, float("-inf"), v)
        return rl.map(lambda u: u - top, rl.map(lambda w: w * 2.0, v))

    return rl.map(lambda table: rl.transpose(rl.map(column, rl.transpose(table))), x)


def test_a_derivation_goes_on_from_a_name_that_hides_another() -> None:
    """It replays, and so does what is read of its file."""
    columns = term_at(middle.body, ("f", "xss"))
    fold = next(place for place, u in positions(columns) if isinstance(u, Reduce))
    fission = "map_fission_with_zip"
    apart = then(
        inside("f", "xss")(apply(fission, parts={"g": fold})),
        apply(fission, parts={"g": ("f", "xss", "xs", "ys")}),
    )
    found = after(middle, derive(middle, apart), fuse())

    assert [step.rule for step in found.steps][2:] == ["map_fusion", "reduce_to_seq"]
    assert found.replay(RULES)[-1] == found.result
    assert from_json(to_json(found), RULES).replay(RULES)


def test_a_form_that_is_as_slow_as_it_is_written_is_searched_where_that_says_nothing() -> None:
    """The transposed rows of a rank-one update: by columns no driver packs anything, whichever array is transposed."""
    whole, row = f32[4096, 4096], f32[4096]
    for packs in ("loops", "loop-free"):
        program = typed(a=whole, u=row, v=row, y=row)(updated_and_transposed)
        forms = promising(Proposals(program, {}, replace(CPU, packs=packs)).forms())
        assert any(not form.stores for form in forms)


def updated_and_transposed(a: Any, u: Any, v: Any, y: Any) -> Any:
    plus = lambda q: rl.map(lambda p: p[0] + q[1] * p[1], rl.zip(q[0], v))
    times = lambda r: rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(r, y)))
    return rl.map(times, rl.transpose(rl.map(plus, rl.zip(a, u))))


def test_forms_that_are_lowered_to_one_program_are_searched_once() -> None:
    """Lowering stores the steps of a stencil that the other form leaves open: that is no second program to search."""

    def step(y: Any) -> Any:
        windows = rl.slide(3, 1, rl.pad(1, 1, rl.clamp, y))
        return rl.map(lambda w: w[0] + w[1] + w[2], windows)

    x = Input("x", f32[1 << 20])
    task = Proposals(Program("steps", (x,), rl.iterate(3, step, x)), {}, CPU)
    forms = task.forms()

    def cost(form: Form) -> float:
        return min(each.cost.seconds for each in form.proposals)

    open_forms = [form for form in forms[1:] if not form.stores and form.proposals]
    chosen = promising(forms)

    assert [form.stores for form in chosen] == [True]
    assert min(map(cost, open_forms)) == cost(chosen[0])


def test_a_proposal_whose_steps_do_not_apply_to_the_whole_is_passed_over() -> None:
    """What reads a value under a name may do to it what is not allowed of a lookup that data choose."""
    n, m = 1 << 12, 1 << 10
    x, places = Input("x", f32[n, m]), Input("places", i32[n])

    def loss(p: Any) -> Any:
        of = rl.reduce(rl.add, 0.0, rl.map(rl.exp, p[0]))
        return of - rl.at_runtime_unsafe(p[1], p[0])

    body = rl.reduce(rl.add, 0.0, rl.map(loss, rl.zip(x, places))) * 0.5
    found = optimize(Program("losses", (x, places), as_term(body)), {}, GPU)

    assert alpha_equal(found.derivation.replay(RULES)[-1], found.term.body)


@typed(x=f32[4, 8, 8])
def pairs_of_arrays(x: Any) -> Any:
    """Two results of each element of a batch."""

    def along(t: Any) -> Any:
        return rl.map(lambda row: rl.reduce(rl.add, 0.0, row), t)

    return rl.map(lambda t: (along(t), rl.map(lambda row: row[0] * 2.0, t)), x)


def test_arrays_that_are_zipped_are_results_with_a_kernel_each() -> None:
    """A map to pairs of arrays is two maps, each of which is searched for itself, and put together again."""
    found = derive(pairs_of_arrays, pairs_apart)
    kernels = kernels_of(replace(pairs_of_arrays, body=found.result))

    assert [kernel.place for kernel in kernels] == [("xs",), ("ys",)]
    assert lowered(kernels, [kernel.program.body for kernel in kernels]) == found.result
    forms = Proposals(pairs_of_arrays, {}, GPU).forms()
    assert any(alpha_equal(form.parted.result, found.result) for form in promising(forms))


@pytest.mark.parametrize("zipped", [True, False])
def test_rows_and_columns_whose_folds_are_pairs_have_a_kernel_each(zipped: bool) -> None:
    """One work-item for both read a matrix by rows and by columns: products of 3001 x 3001 numbers took a CPU 7.1 ms, NumPy 1.4."""
    n = 3001

    @typed(a=f32[n, n], x=f32[n], y=f32[n])
    def products(a: Any, x: Any, y: Any) -> Any:
        columns = rl.transpose(a)
        if zipped:
            return rl.zip(rl.map(lambda r: dot(r, x), a), rl.map(lambda c: dot(c, y), columns))
        return rl.map(lambda p: (dot(p[0], x), dot(p[1], y)), rl.zip(a, columns))

    forms = Proposals(products, {}, CPU).forms()
    kernels = [kernels_of(replace(products, body=f.parted.result)) for f in promising(forms)]
    assert [("xs",), ("ys",)] in [[kernel.place for kernel in each] for each in kernels]


def test_a_product_whose_rows_become_several_results_is_a_kernel() -> None:
    """Blocks are for a table that is the result: rows with something beside them are computed from a stored one."""
    n, k, m = 501, 64, 12

    @typed(x=f32[n, k], w=f32[k, m])
    def shares(x: Any, w: Any) -> Any:
        def row(r: Any) -> Any:
            scores = rl.map(lambda c: dot(r, c), rl.transpose(w))
            return rl.let(
                lambda s: (
                    rl.map(lambda v: v / rl.reduce(rl.add, 0.0, s), s),
                    rl.reduce(rl.maximum, 0.0, s),
                ),
                scores,
            )

        rows = rl.map(row, x)
        return rl.map(lambda p: p[0], rows), rl.map(lambda p: p[1], rows)

    found = promising(Proposals(shares, {}, CPU).forms())
    assert any(f32[n, m] in form.stored and form.nest for form in found)


def test_what_the_library_computes_alike_for_all_rows_is_stored() -> None:
    """So many logarithms as there are weights, and not as many for every row."""
    n, k = 1_000_001, 5

    @typed(x=f32[n], w=f32[k])
    def largest(x: Any, w: Any) -> Any:
        def score(v: Any) -> Any:
            return rl.reduce(rl.maximum, 0.0, rl.map(lambda u: v * u - rl.log(u), w))

        return rl.map(score, x)

    best = optimize(largest, target=CPU).candidates[0]
    stages = [t.xs.type for t, _ in subterms(best.term.body) if isinstance(t, ToGlobal)]
    assert f32[k] in stages


def test_a_proposal_whose_text_would_be_too_long_is_passed_over() -> None:
    """What is stored and read twice, again and again, is small as a graph, and no text."""

    x = given = Input("x", f32[8])
    for _ in range(20):
        stored_once = rl.to_global(rl.map_glb(0)(lambda v: v + v, x))
        x = rl.map(lambda p: p[0] + p[1], rl.zip(stored_once, stored_once))
    doubled = Program("doubled", (given,), rl.map_glb(0)(lambda v: v, x))

    task = Proposals(typed(x=f32[8])(lambda x: rl.map(lambda v: v, x)), {}, CPU)
    right = task.as_written()[0]
    long = replace(right, low=doubled)
    assert parts_of(doubled.body) > MOST_PARTS
    (found,) = first_accepted(task, [long, right], 1, "")
    assert alpha_equal(found.term.body, right.low.body)


@pytest.mark.parametrize(
    "around",
    [
        pytest.param(lambda t: t, id="nothing"),
        pytest.param(rl.transpose, id="transpose"),
        pytest.param(lambda t: rl.gather(lambda i: 63 - i, t), id="gather"),
    ],
)
def test_what_the_user_stores_has_a_schedule_of_its_own(around: Any) -> None:
    """Sums of columns that are stored and then moved were computed as they are written, three times as slowly as without a word."""
    x = Input("x", f32[64, 64, 2048])
    sums = rl.map(
        lambda t: rl.map(lambda c: rl.reduce(rl.add, 0.0, c), rl.transpose(t)), as_term(x)
    )
    stored = Program("stored", (x,), as_term(around(rl.to_global(sums))))
    plain = optimize(Program("plain", (x,), as_term(sums)), {}, CPU, refused=refusal)
    assert optimize(stored, {}, CPU, refused=refusal).cost.seconds < 1.2 * plain.cost.seconds
