"""Tier 4a: right rules are proved for all sizes, wrong ones never, and what Z3 cannot tell is no proof."""

from __future__ import annotations

from dataclasses import replace

import pytest
import z3

from proofs_tests.portions import portioned
from proofs_tests.rewrites.folds_of_places import (
    ANEW,
    BETTER_KEYS,
    BINS,
    CHOSEN,
    COUNTED,
    GHOSTS,
    KEPT,
    LAST,
    MASKED,
    PLACES,
    SWAPPED,
)
from proofs_tests.wrong_rules import WRONG
from relift.rewrites.checks.free.tier import check_free
from relift.rewrites.checks.smt.tier import check_index
from relift.rewrites.conditions import associative, bijective, commutative
from relift.rewrites.ledger.refuted import REFUTED
from relift.rewrites.library import CHOICES, RULES
from relift.rewrites.notation import COMMUTATIVE_MONOID, MONOID, A, B, C, k, left, m, n, right, step
from relift.rewrites.rule import Rule, rule
from relift.semantics.indices.functions import reverse
from relift.semantics.language.vocabulary import (
    add,
    concat,
    filter_seq,
    gather,
    iterate,
    join,
    let,
    map,
    pad,
    pad_empty,
    reduce,
    reduce_seq,
    repeat,
    scan_seq,
    scatter,
    slide,
    split,
    tail,
    take,
    transpose,
    wrap,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Index, Op
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import f32

none, one, two, three = (Size.of(i) for i in range(4))


@rule(where=COMMUTATIVE_MONOID)
def columns_then_rows(op: Op[A], z: A, xss: A[k, m]):
    """A reduction of a table runs in any order of its dimensions."""
    return (
        reduce(op, z, join(xss)),
        reduce(op, z, map(lambda c: reduce(op, z, c), transpose(xss))),
    )


@rule(where=MONOID)
def three_levels(op: Op[A], z: A, xs: A[k * m * n]):
    chunks = split(m, split(n, xs))
    rows = map(lambda c: reduce(op, z, map(lambda r: reduce(op, z, r), c)), chunks)
    return reduce(op, z, xs), reduce(op, z, rows)


@rule(where=[bijective("p")])
def scattered_and_gathered(p: Index[n], f: Fun[A, B], xs: A[n]):
    return gather(p, map(f, scatter(p, xs))), map(f, xs)


@rule()
def fused_into_the_step(f: Fun[B, A, B], g: Fun[A, A], z: B, xs: A[n]):
    return (
        reduce_seq(lambda acc, x: f(acc, x), z, map(g, xs)),
        reduce_seq(lambda acc, x: f(acc, g(x)), z, xs),
    )


@rule()
def taken_from_both(xs: A[n], ys: A[m]):
    """By cases: an index is in the one array or in the other."""
    return take(n, concat(xs, ys)), xs


@rule()
def wrapped_windows(xs: A[n * step]):
    return take(n * step, pad(0, step, wrap, xs)), xs


@rule()
def stride_back_and_forth(xs: A[k * m]):
    """The inverse of a permutation that is written out."""
    return gather(lambda i: i // m + k * (i % m), scatter(lambda i: i // m + k * (i % m), xs)), xs


@rule()
def rows_of_a_join(xss: A[k, m, n]):
    """Quotients of quotients."""
    return join(join(xss)), join(map(lambda xs: join(xs), xss))


@rule()
def sums_of_columns(f: Fun[B, A, B], z: B, xss: A[m, n]):
    """A reduction of rows, cell by cell."""
    return (
        map(lambda c: reduce_seq(f, z, c), transpose(xss)),
        reduce_seq(lambda t, r: map(lambda p: f(p[0], p[1]), zip(t, r)), repeat(n, z), xss),
    )


@rule()
def chunk_by_chunk(f: Fun[B, A, B], z: B, xs: A[k * m]):
    return reduce_seq(lambda t, c: reduce_seq(f, t, c), z, split(m, xs)), reduce_seq(f, z, xs)


@rule(where=MONOID)
def blocks_of_another_shape(op: Op[A], z: A, xs: A[k * m * n]):
    """Two boxes of one size."""
    return (
        reduce(op, z, map(lambda r: reduce(op, z, r), split(n, xs))),
        reduce(op, z, map(lambda r: reduce(op, z, r), split(m * n, xs))),
    )


@rule(where=[associative("op"), commutative("op")])
def backwards(op: Op[A], z: A, xs: A[n]):
    return reduce(op, z, gather(reverse, xs)), reduce(op, z, xs)


@rule(refinement=True)
def pairs_of_one_open_cell(c: A, xs: A[n]):
    return (
        map(lambda x: (x, x), pad_empty(1, 0, xs)),
        concat(repeat(1, (c, c)), map(lambda x: (x, x), xs)),
    )


@rule()
def total_in_both(h: Fun[A, A, A, A], z: A, xs: A[k * m]):
    """No reduction over a larger box, but the same one on both sides."""
    return (
        reduce_seq(lambda t, c: reduce_seq(lambda a, x: h(a, x, t), t, c), z, split(m, xs)),
        reduce_seq(
            lambda t, c: reduce_seq(lambda a, x: h(a, x, t), t, c), z, split(m, join(split(m, xs)))
        ),
    )


@rule(where=MONOID)
def prefixes_of_both(op: Op[A], z: A, xs: A[k * m]):
    return (
        reduce(op, z, scan_seq(op, z, xs)),
        reduce(op, z, scan_seq(op, z, join(split(m, xs)))),
    )


@rule(where=MONOID)
def one_neutral_element(op: Op[A], z: A, xs: A[n]):
    return reduce(op, z, concat(xs, repeat(1, z))), reduce(op, z, pad(1, 1, z, xs))


@rule(refinement=True, where=MONOID)
def open_cells_dropped(op: Op[A], z: A, xs: A[n]):
    """The cells of the left side may hold neutral elements."""
    return reduce(op, z, pad_empty(1, 0, xs)), reduce(op, z, xs)


RIGHT = [
    columns_then_rows, three_levels, scattered_and_gathered, fused_into_the_step, taken_from_both,
    wrapped_windows, stride_back_and_forth, rows_of_a_join, sums_of_columns, chunk_by_chunk,
    blocks_of_another_shape, backwards, pairs_of_one_open_cell, total_in_both, prefixes_of_both, open_cells_dropped,
    one_neutral_element,
]  # fmt: skip


# ---- wrong rules, each next to a step that the tier may take


@rule()
def inner_iteration_of_the_outer(g: Fun[A, A, A], x: A):
    return (
        iterate(m, lambda a: iterate(m, lambda b: g(a, b), x), x),
        iterate(m, lambda a: iterate(m, lambda b: g(b, a), x), x),
    )


@rule()
def neighbouring_cells(f: Fun[A, A, A], zs: A[n], xss: A[m, n]):
    """The step reads the cell at the other end."""
    return (
        reduce_seq(lambda t, r: map(lambda p: f(p[0], p[1]), zip(gather(reverse, t), r)), zs, xss),
        map(lambda p: reduce_seq(f, p[0], p[1]), zip(zs, transpose(xss))),
    )


@rule()
def crossed_components(f: Fun[A, A, A], g: Fun[A, A, A], z: A, xs: A[n]):
    return (
        reduce_seq(lambda t, x: (f(t[0], x), g(t[0], x)), (z, z), xs),
        (reduce_seq(f, z, xs), reduce_seq(g, z, xs)),
    )


@rule()
def other_component_started_elsewhere(g: Fun[A, A, A], w: A, y: A, z: A, xs: A[n]):
    step = lambda t, x: (x, g(t[0], x))
    return reduce_seq(step, (w, z), xs)[1], reduce_seq(step, (y, z), xs)[1]


@rule()
def first_ones_only(f: Fun[B, A, B], z: B, xs: A[m + n]):
    return reduce_seq(f, z, take(m, xs)), reduce_seq(f, z, xs)


@rule()
def more_often(f: Fun[A, A], x: A):
    return iterate(m, f, x), iterate(m + 1, f, x)


@rule()
def a_step_after_none(f: Fun[A, A], x: A):
    return iterate(m, f, x), f(iterate(m, f, x))


@rule()
def the_last_of_none(g: Fun[A, B], z: B, x: A):
    """Of no step at all, there is no last one."""
    return reduce_seq(lambda a, e: g(e), z, repeat(n, x)), g(x)


@rule()
def cells_of_a_state_exchanged(f: Fun[A, A, A], zs: A[n], xss: A[m, n]):
    """A step that reads other cells: the cells of the result are told apart anyway."""
    state = reduce_seq(
        lambda t, r: map(lambda p: f(p[0], p[1]), zip(gather(reverse, t), r)), zs, xss
    )
    return gather(reverse, state), state


@rule()
def first_step_forgotten(f: Fun[B, A, B], z: B, xs: A[n + 1]):
    return reduce_seq(f, z, xs), reduce_seq(f, z, tail(xs))


@rule()
def the_second_array_first(f: Fun[B, A, B], z: B, xs: A[n], ys: A[m]):
    return reduce_seq(f, z, concat(xs, ys)), reduce_seq(f, reduce_seq(f, z, ys), xs)


@rule()
def border_without_a_law(op: Op[A], z: A, xs: A[n]):
    return reduce(op, z, pad(left, right, z, xs)), reduce(op, z, xs)


@rule()
def total_in_the_inner_step(h: Fun[A, A, A, A], z: A, xs: A[k * m]):
    return (
        reduce_seq(lambda t, c: reduce_seq(lambda a, x: h(a, x, t), t, c), z, split(m, xs)),
        reduce_seq(lambda a, x: h(a, x, a), z, xs),
    )


@rule()
def loops_exchanged(h: Fun[A, B, C, A], z: A, xs: B[n], ys: C[m]):
    return (
        reduce_seq(lambda t, x: reduce_seq(lambda a, y: h(a, x, y), t, ys), z, xs),
        reduce_seq(lambda t, y: reduce_seq(lambda a, x: h(a, x, y), t, xs), z, ys),
    )


@rule(where=MONOID)
def started_in_each_chunk(op: Op[A], z: A, c: A, xs: A[k * m]):
    """The partial results do not start from the neutral element."""
    return reduce(op, c, map(lambda r: reduce(op, c, r), split(m, xs))), reduce(op, c, xs)


@rule(where=MONOID)
def border_of_others(op: Op[A], z: A, c: A, xs: A[n]):
    return reduce(op, z, pad(left, right, c, xs)), reduce(op, z, xs)


@rule(where=COMMUTATIVE_MONOID)
def sums_of_prefixes(op: Op[A], z: A, xs: A[n]):
    """The length of what is reduced depends on the index: no box."""
    return reduce(op, z, scan_seq(op, z, xs)), reduce(op, z, scan_seq(op, z, gather(reverse, xs)))


@rule(where=[associative("op"), commutative("op")])
def gathered_by_any_map(op: Op[A], z: A, p: Index[n], xs: A[n]):
    return reduce(op, z, gather(p, xs)), reduce(op, z, xs)


@rule(where=[associative("op"), commutative("op")])
def to_be_gathered_by_any_map(op: Op[A], z: A, p: Index[n], xs: A[n]):
    return reduce(op, z, xs), reduce(op, z, gather(p, xs))


@rule()
def undefined_but_dropped(xs: A[n]):
    return map(lambda p: p[0], zip(xs, gather(lambda i: i + 1, xs))), xs


@rule()
def written_twice(xs: A[n]):
    return scatter(lambda i: 0 * i, xs), xs


@rule(refinement=True)
def two_contents_of_one_cell(c: A, d: A, xs: A[n]):
    return (
        map(lambda x: (x, x), pad_empty(1, 0, xs)),
        concat(repeat(1, (c, d)), map(lambda x: (x, x), xs)),
    )


@rule(refinement=True)
def windows_of_open_cells(xs: A[one], yss: A[three, two]):
    return take(3, slide(2, 1, pad_empty(4, 0, xs))), yss


@rule(refinement=True)
def another_content_in_each_step(f: Fun[A, A, A], z: A, xs: A[none]):
    """The cell is open, but does not change while a value is iterated."""
    return (
        let(lambda cells: iterate(m, lambda a: f(a, cells[0]), z), pad_empty(1, 0, xs)),
        iterate(m, lambda a: f(a, a), z),
    )


@rule(refinement=True)
def opened_again(c: A, xs: A[n]):
    return pad(1, 0, c, xs), pad_empty(1, 0, xs)


@rule(refinement=True, where=MONOID)
def open_cells_added(op: Op[A], z: A, xs: A[n]):
    """The cells of the right side may hold anything."""
    return reduce(op, z, xs), reduce(op, z, pad_empty(1, 0, xs))


@rule()
def open_both_ways(c: A, xs: A[n]):
    """A refinement is no equation."""
    return pad_empty(1, 0, xs), pad(1, 0, c, xs)


WRONG_STEPS = [
    inner_iteration_of_the_outer, neighbouring_cells, crossed_components,
    a_step_after_none, the_last_of_none, cells_of_a_state_exchanged, first_step_forgotten, the_second_array_first, border_without_a_law,
    other_component_started_elsewhere, first_ones_only, more_often, total_in_the_inner_step,
    loops_exchanged, started_in_each_chunk, border_of_others, sums_of_prefixes,
    gathered_by_any_map, to_be_gathered_by_any_map, undefined_but_dropped, written_twice, two_contents_of_one_cell,
    windows_of_open_cells, another_content_in_each_step, opened_again, open_both_ways,
    open_cells_added,
]  # fmt: skip


BEYOND = {
    "reduce_pairs": "two reductions interleaved",
    "reduce_twice": "idempotence",
    "reduce_common_factor": "distributivity",
    "reduce_factor": "distributivity",
    "reduce_of_sums": "two reductions interleaved",
    "reduce_products_about": "distributivity",
    "separate_dot_hv": "distributivity",
    "separate_dot_vh": "distributivity",
    "reduce_scan_fusion": "induction with an invariant",
    "reduce_scan_fusion_in_zip": "induction with an invariant",
    "iterate_transposed": "induction with an invariant",
    "reduce_seq_rolled": "induction with an invariant",
    "scan_seq_rolled": "induction with an invariant",
    "scan_seq_chunks": "induction with an invariant",
    **{
        f"{steps}_{which}_alone": "one of two accumulators, by induction"
        for steps in ("reduce_seq", "scan_seq", "iterate")
        for which in ("first", "second")
    },
    "reduce_iterate": "sizes that are powers",
    "iterate_sizes_none": "sizes that are powers",
    "iterate_sizes_once": "sizes that are powers",
    "iterate_sizes_add": "sizes that are powers",
    "at_runtime_of_map": "indices that are data",
    "gather_indices_of_map": "indices that are data",
    "reduce_seq_iterate": "indices that are data, by induction",
    "pad_empty_transpose": "open cells that are told apart by the row that they are in",
    "reduce_chunks_idempotent": "idempotence",
    "reduce_strided_idempotent": "idempotence",
    "reduce_concat_idempotent": "idempotence",
    "reduce_pad_clamp_idempotent": "idempotence",
    "select_same": "a choice between equal values",
    "looked_up_across": "indices that are data",
    "looked_up_in_turn": "indices that are data",
    "looked_up_or_computed": "indices that are data",
    "operands_swapped": "commutativity",
    "operands_regrouped": "associativity",
    "recurrence_as_one_step": "distributivity, by induction",
    "fold_from_first": "associativity, by induction",
    **dict.fromkeys(ANEW | LAST, "a choice in a step, by induction"),
    **dict.fromkeys(SWAPPED, "a choice between two values"),
    **dict.fromkeys(BETTER_KEYS, "what a tie-breaking operator chooses"),
    **{
        one.name: "what an operator is called"
        for name, family in CHOICES.items()
        if name.startswith(("computed_by_operator", "sum_by_tropical_product"))
        for one in family.rules
    },
    **dict.fromkeys(KEPT, "a choice in an operator"),
    **dict.fromkeys(CHOSEN, "a choice between elements"),
    **dict.fromkeys(BINS, "indices that are data, by induction"),
    **dict.fromkeys(COUNTED, "folds of other types, by induction"),
    **dict.fromkeys(MASKED, "a choice by an index, by induction"),
    **dict.fromkeys(GHOSTS, "indices that are chosen"),
    **dict.fromkeys(PLACES, "what a tie-breaking operator chooses, by induction"),
}
"""The rules that are left to tier 4b, and what they would take."""


@portioned("right", RULES, BEYOND.keys() | set(list(RULES)[1::2]))
def test_every_rule_of_the_library_is_proved_or_known_to_be_beyond(right: Rule) -> None:
    result = check_index(right)

    if right.name in BEYOND:
        assert result.status in ("unproved", "skipped"), f"{right.name} is beyond no more"
    else:
        assert result.status == "proved", result.text()


@pytest.mark.parametrize(
    "wrong", [r for r in REFUTED.values() if isinstance(r, Rule)], ids=lambda r: r.name
)
def test_no_refuted_rule_of_the_literature_is_proved(wrong: Rule) -> None:
    assert check_index(wrong).status != "proved"


@pytest.mark.parametrize("wrong", WRONG_STEPS, ids=lambda r: r.name)
def test_no_step_is_taken_too_far(wrong: Rule) -> None:
    assert check_free(wrong, bound=3).status == "refuted"
    assert check_index(wrong).status != "proved"


@pytest.mark.parametrize("right", RIGHT, ids=lambda r: r.name)
def test_proved_for_all_sizes(right: Rule) -> None:
    assert check_index(right).status == "proved", check_index(right).text()


@pytest.mark.parametrize(
    "wrong",
    [r for rules in WRONG.values() for r in rules if isinstance(r, Rule)],
    ids=lambda r: r.name,
)
def test_no_wrong_rule_is_proved(wrong: Rule) -> None:
    assert check_index(wrong).status != "proved"


@pytest.mark.parametrize(
    "right",
    [
        columns_then_rows, three_levels, scattered_and_gathered, blocks_of_another_shape, backwards,
    ],
    ids=lambda r: r.name,
)  # fmt: skip
def test_no_law_is_redundant(right: Rule) -> None:
    """Without any one of its conditions, the same rule is not proved."""
    for condition in right.where:
        weaker = replace(right, where=tuple(c for c in right.where if c != condition))
        assert check_index(weaker).status != "proved", condition


def test_a_counterexample_is_the_interpreters() -> None:
    """What Z3 finds is shown only when the interpreter confirms it, with data."""
    wrong = next(r for r in WRONG[3] if r.name == "border_on_the_other_side")
    assert isinstance(wrong, Rule)
    found = check_index(wrong).counterexample

    assert found is not None
    assert found.left != found.right


def test_what_z3_cannot_tell_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that answers `unknown` to everything proves only what the normal form decides."""
    monkeypatch.setattr(z3.Solver, "check", lambda self: z3.unknown)
    result = check_index(RULES["join_split"])

    assert result.status == "unproved"
    assert result.detail.startswith("Z3 cannot tell whether ")


def test_a_rule_without_sizes_is_not_proved() -> None:
    """Of what is defined for no size, anything could be shown."""

    @rule()
    def by_a_negative_number(xs: A[n]):
        return gather(lambda i: i // -1, xs), xs

    assert check_index(by_a_negative_number).detail == "no sizes make both sides defined"


def test_a_pattern_without_an_index_function_is_skipped_by_name() -> None:
    @rule()
    def partial(xs: f32[n]):
        return filter_seq(lambda x: x < 1.0, 0.0, xs), filter_seq(lambda x: x < 1.0, 0.0, xs)

    result = check_index(partial)
    assert (result.status, result.detail) == ("skipped", "filter_seq is not known to this tier")


def test_concrete_operators_are_left_uninterpreted() -> None:
    """That + is associative is no matter of indices: nothing is assumed of an operator without a law."""

    @rule()
    def regrouped(xs: f32[k * m]):
        return reduce(add, 0.0, xs), reduce(
            add, 0.0, map(lambda c: reduce(add, 0.0, c), split(m, xs))
        )

    assert check_index(regrouped).status == "unproved"


def test_windows_beyond_the_end_are_not_in_range() -> None:
    @rule()
    def one_more(xs: A[m + k * step]):
        return slide(m, step, xs), slide(m, step, gather(lambda i: i + 1, xs))

    assert check_index(one_more).status != "proved"
