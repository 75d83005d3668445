"""What a search leaves out: wholes that compute again what others keep, forms that are there twice, e-graphs that gain nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.device import CPU, DeviceDescription
from relift.egraph.search.allotted import SearchJob, allotted
from relift.egraph.search.outcomes import NOTHING, soonest
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.pruning import worth_by, worth_growing
from relift.egraph.search.starts.forms import Form
from relift.egraph.search.starts.promising import is_worth_searching, promising
from relift.semantics.language import multidimensional
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import f32


def total(xs: Any) -> Any:
    return rl.reduce(rl.add, 0.0, xs)


def means(x: Any) -> Any:
    windows = multidimensional.slide_nd(
        (9, 9), (1, 1), multidimensional.pad_nd((4, 4), (4, 4), rl.clamp, x)
    )
    return multidimensional.map_nd(2, lambda w: total(rl.join(w)), windows)


def spread(x: Any) -> Any:
    """Means of what is computed of means, which are read three times."""
    mean = means(x)
    square = multidimensional.map_nd(2, lambda v: v * v, mean)
    read = multidimensional.zip_nd(2, means(mean), means(square), mean)
    return multidimensional.map_nd(2, lambda p: p[1] - p[0] * p[2], read)


def program_of(function: Any) -> Program:
    return typed(x=f32[256, 256])(function)


@pytest.mark.parametrize(
    ("program", "searched"), [(program_of(spread), False), (program_of(means), True)]
)
def test_a_whole_that_computes_again_what_a_form_keeps_is_not_searched(
    program: Program, searched: bool
) -> None:
    """Means that are read three times are folded three times where nothing is stored."""
    forms = _forms(program, CPU)
    assert is_worth_searching(forms, promising(forms)) == searched


def test_what_may_go_along_rows_is_searched_so_where_a_driver_packs_work_items() -> None:
    """Powers of a softmax of columns: as they are lowered they are as fast where a driver makes vectors of them, which are faster along rows."""

    def powers(x: Any, most: Any) -> Any:
        column = lambda p: rl.map(lambda v: rl.exp(v - p[1]), p[0])
        plane = lambda p: rl.transpose(rl.map(column, rl.zip(rl.transpose(p[0]), p[1])))
        return rl.map(plane, rl.zip(x, most))

    program = typed(x=f32[20, 120, 303], most=f32[20, 303])(powers)
    assert any(form.along_rows for form in promising(_forms(program, replace(CPU, packs="loops"))))


def _forms(program: Program, device: DeviceDescription) -> list[Form]:
    return Proposals(program, {}, device).forms()


def test_forms_that_store_and_take_the_same_are_searched_once() -> None:
    """They differ in how what is read is zipped: that is no other program to search."""
    forms = _forms(program_of(spread), CPU)
    chosen = promising(forms)
    assert len(chosen) == len({(len(form.stored), form.least) for form in chosen})


def test_an_e_graph_is_grown_where_it_may_gain_something() -> None:
    """Of four kernels of a chain: one may be faster, one is as fast as it can be, one is short, and one has no program yet."""
    found, least = [9.0, 1.0, 0.1, math.inf], [1.0, 1.0, 0.01, 1.0]
    assert worth_growing([[0, 1, 2, 3]], found, least, known=20.0) == {0, 3}


def test_no_e_graph_is_grown_for_a_chain_that_is_far_slower_than_what_is_known() -> None:
    assert worth_growing([[0], [1]], [9.0, 2.0], [0.1, 0.1], known=2.0) == {1}


def test_graphs_come_after_the_rest_and_only_where_they_are_worth_it() -> None:
    done: list[str] = []

    def job(number: int, name: str, *, grows: bool) -> SearchJob:
        return SearchJob(number, lambda _: done.append(name) or (NOTHING, []), grows)  # type: ignore[func-returns-value]

    jobs = [
        job(0, "graph 0", grows=True),
        job(1, "graph 1", grows=True),
        job(1, "floor", grows=False),
    ]
    do = lambda works: (work(None) for work in works)
    allotted(jobs, do, NOTHING, 100, 2, worth=lambda outcomes: {1})
    assert done == ["floor", "graph 1"]


def test_the_whole_has_an_e_graph_unless_a_chain_is_far_faster() -> None:
    """However near it is to the least that it takes; nothing but its form is known of it here."""
    forms = Proposals(program_of(means), {}, CPU).forms()
    seconds = soonest(forms[0].proposals)
    assert worth_by([[0]], [seconds], math.inf, forms, [[]]) == {0}
    assert worth_by([[0]], [seconds], seconds / 8, forms, [[]]) == set()
