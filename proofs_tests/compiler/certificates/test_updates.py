"""Cells that many update at once: one update is no race with another like it, and one with anything else that no barrier keeps apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from proofs_tests.compiler.programs import made
from proofs_tests.compiler.texts import BARRIER
from relift.compiler.certificates.claims import certificates
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.reader import read_source
from relift.compiler.validation.validate import validate

UPDATE = "atomic_add(&tile[at], v);"
ROWS = (2, 300)


@cache
def counted() -> Compiled:
    """The kernel of a family that updates cells in every turn of a loop."""
    found = compile_program(made("updated_at_once", *ROWS))
    return Compiled(found.source, found.plan)


def not_proved(text: str) -> set[str]:
    """The kinds of what is not proved of a kernel with this text."""
    found = certificates(replace(counted(), source=text))
    return {c.kind for f in found for c in f.claims if c.verdict != "proved"}


def without(barrier: int) -> Callable[[str], str]:
    """What takes one of its barriers out of a text."""
    return lambda text: "".join(
        part + BARRIER * (i != barrier and i < text.count(BARRIER))
        for i, part in enumerate(text.split(BARRIER))
    )


def beside(more: str) -> Callable[[str], str]:
    """What puts more beside the update."""
    return lambda text: text.replace(UPDATE, f"{UPDATE} {more}")


FAULTS: dict[str, Callable[[str], str]] = {
    "no barrier before cells are updated": without(0),
    "no barrier before cells are read": without(1),
    "a sum that others come between": lambda text: text.replace(
        UPDATE, "tile[at] = as_int(as_uint(tile[at]) + as_uint(v));"
    ),
    "another operation beside": beside("atomic_max(&tile[at], v);"),
    "a read of what others update": beside("out[0] = tile[0];"),
}


def test_updates_by_one_operation_are_no_race() -> None:
    assert not not_proved(counted().source)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_comes_between_updates_is_a_race(fault: str) -> None:
    """No certificate says that there is none."""
    text = FAULTS[fault](counted().source)
    assert text != counted().source
    assert "races" in not_proved(text)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_on_symbols_meets_what_comes_between_updates(fault: str) -> None:
    """Two work-items, at a cell that is known."""
    text = FAULTS[fault](counted().source)
    found = validate(text, counted().plan, made("updated_at_once", *ROWS))
    assert found.fault == "race"


def test_an_update_of_a_cell_that_is_not_there_is_out_of_bounds() -> None:
    assert "bounds" in not_proved(counted().source.replace("at < 5", "at < 6"))


def test_an_update_of_floats_is_known_by_its_text() -> None:
    """A function of its name that does something else is none."""
    updated = "kernel void f(local float* x) { maximum_f32_at_once(&x[0], 1.0f); }"
    text = OpenCL().source(read_source(updated))
    assert "atomic_cmpxchg" in text
    assert OpenCL().source(read_source(text)) == text
    with pytest.raises(NotUnderstood):
        read_source(text.replace("old > x", "old < x"))


@cache
def of_all() -> Compiled:
    """Kernels of which the second updates what the first has stored."""
    found = compile_program(made("updated_by_all", 300))
    return Compiled(found.source, found.plan)


def test_what_a_kernel_has_stored_is_updated_by_all_groups_of_the_next() -> None:
    """All is proved, and shown where the text is run; cells of which another kernel stores none have no value."""
    assert {c.verdict for f in certificates(of_all()) for c in f.claims} == {"proved"}
    assert validate(of_all().source, of_all().plan, made("updated_by_all", 300)).ok
    alone = replace(of_all(), source=of_all().source.replace("out[glb_0] = 0;", ""))
    found = [c.kind for f in certificates(alone) for c in f.claims if c.verdict != "proved"]
    assert "initialised" in found


BY_ALL = "atomic_add(&out[at], v);"
BESIDE_ALL = {
    "another operation beside": f"{BY_ALL} atomic_max(&out[at], v);",
    "a read of what others update": f"{BY_ALL} if (v == out[0]) {{ atomic_add(&out[1], 1); }}",
    "a sum that others come between": "out[at] = as_int(as_uint(out[at]) + as_uint(v));",
}


@pytest.mark.parametrize("fault", BESIDE_ALL)
def test_what_others_do_with_a_cell_that_all_update_is_a_race(fault: str) -> None:
    source = of_all().source.replace(BY_ALL, BESIDE_ALL[fault])
    assert source != of_all().source
    faulty = replace(of_all(), source=source)
    kinds = {c.kind for f in certificates(faulty) for c in f.claims if c.verdict != "proved"}
    assert "races" in kinds
    assert not validate(source, of_all().plan, made("updated_by_all", 300)).ok
