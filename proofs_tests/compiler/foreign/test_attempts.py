"""Sums by attempts to exchange a cell, in the ways that people write them: those that lose an update are not validated."""

from __future__ import annotations

import pytest

from proofs_tests.compiler.foreign.habits import totals
from proofs_tests.compiler.foreign.kernels import program
from relift.compiler.foreign.comparison import validate_foreign
from relift.compiler.foreign.groups.launched import ByOthers
from relift.compiler.validation.validate import Report
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32

UNION = "union { uint i; float f; } seen, next; "
PUT = "atomic_cmpxchg((volatile global int *)p, "


def summed(body: str, *, reassociate: bool = True) -> Report:
    """What is said of sums of 32 numbers each, which a function with this body adds to a cell one by one."""
    text = f"""void add(volatile global float *p, const float v) {{ {body} }}
kernel void s(global const float *x, global float *y) {{ int i = get_global_id(0); add(&y[i / 32], x[i]); }}"""
    launched = ByOthers(text, "s", (64,), (16,), {"x": "x", "y": "out:0"})
    return validate_foreign(launched, totals(), reassociate=reassociate)


RIGHT = [
    f"float old; do {{ old = *p; }} while ({PUT}as_int(old), as_int(old + v)) != as_int(old));",
    f"while (1) {{ int old = as_int(p[0]); float n = v + as_float(old); if ({PUT}old, as_int(n)) == old) break; }}",
    f"int got, old = as_int(*p); while ((got = {PUT}old, as_int(as_float(old) + v))) != old) old = got;",
    f"int old = 0, was; do {{ was = old; old = {PUT}was, as_int(as_float(was) + v)); }} while (was != old);",
    f"{UNION}do {{ seen.f = *p; next.f = seen.f + v; }} while (atom_cmpxchg((volatile global uint *)p, seen.i, next.i) != seen.i);",
    f"for (;;) {{ float old = *p; int got = {PUT}as_int(old), as_int(old + v)); if (!(got != as_int(old))) break; }}",
    f"float old = *p; while ({PUT}as_int(old), as_int(old + v)) != as_int(old)) old = *p;",
]  # fmt: skip


@pytest.mark.parametrize("body", RIGHT)
def test_a_sum_by_attempts_is_validated(body: str) -> None:
    """Where + may be regrouped: the order of work-items is not known."""
    assert summed(body).verdict == "shown", summed(body).text()


@pytest.mark.parametrize("operator", ["-", "*"])
def test_another_update_is_refuted(operator: str) -> None:
    """One that is the same in any order, and one that shows in one of the orders."""
    found = summed(RIGHT[0].replace("+ v", f"{operator} v"))
    assert found.verdict == "refuted", found.text()


def test_attempts_are_in_no_order() -> None:
    """A sum of floats in no order is another sum where + may not be regrouped."""
    assert "in the order of attempts" in summed(RIGHT[0], reassociate=False).not_read


@pytest.mark.parametrize(
    "body",
    [
        RIGHT[0].replace("!= as_int(old)", "!= as_int(old + v)"),
        RIGHT[0].replace("!= as_int(old)", "== as_int(old)"),
        RIGHT[0].replace("as_int(old + v)", "as_int(*p + v)"),
        RIGHT[0].replace("as_int(old + v)", "as_int(old + old * v)"),
        RIGHT[1].replace("== old", "== old || old == 0"),
        f"int got, old = as_int(*p), n = as_int(as_float(old) + v); while ((got = {PUT}old, n)) != old) old = got;",
        f"float old; do {{ old = *p; }} while (as_float({PUT}as_int(old), as_int(old + v))) != old);",
        f"float old; do {{ old = *p; }} while ((char){PUT}as_int(old), as_int(old + v)) != (char)as_int(old));",
        f"float old = *p; {PUT}as_int(old), as_int(old + v));",
        f"float old, n = 0; do {{ old = *p; n += v; }} while ({PUT}as_int(old), as_int(old + n)) != as_int(old));",
        f"int old; float got; do {{ old = as_int(*p); got = {PUT}old, as_int(as_float(old) + v)); }} while (got != old);",
        f"int old; short got; do {{ old = as_int(*p); got = {PUT}old, as_int(as_float(old) + v)); }} while (got != old);",
        f"int k = 0; float old; do {{ old = *p; k++; }} while ({PUT}as_int(old), as_int(old + v)) != as_int(old)); if (k > 1) *p = 0;",
    ],
)  # fmt: skip
def test_attempts_that_may_lose_an_update_are_not_validated(body: str) -> None:
    """A loop that ends where it failed, puts back what it found before, or keeps something of what failed."""
    assert summed(body).verdict != "shown"


def largest(body: str) -> Report:
    """What is said of the largest of 8 numbers and 0 each, with which a function with this body updates a cell."""
    text = f"""void most(volatile global float *p, const float v) {{ {body} }}
kernel void s(global const float *x, global float *y) {{ int i = get_global_id(0); most(&y[i / 8], x[i]); }}"""
    launched = ByOthers(text, "s", (16,), (8,), {"x": "x", "y": "out:0"})
    return validate_foreign(launched, MOST())


MOST = program(
    "most",
    lambda x: pat.map(lambda r: pat.reduce(rl.maximum, 0.0, r), pat.split(8, x)),
    x=f32[16],
)

GUARDED = [
    f"float old = *p; while (old < v) {{ old = as_float({PUT}as_int(old), as_int(v))); }}",
    f"int old = as_int(*p), seen; while (as_float(old) < v) {{ seen = old; old = {PUT}seen, as_int(v)); if (old == seen) break; }}",
    f"for (;;) {{ float old = *p; if (old >= v) break; if ({PUT}as_int(old), as_int(v)) == as_int(old)) break; }}",
    f"float old = *p; while (v > old && {PUT}as_int(old), as_int(v)) != as_int(old)) old = *p;",
]  # fmt: skip


@pytest.mark.parametrize("body", GUARDED)
def test_attempts_only_while_less_is_there_are_validated(body: str) -> None:
    """Where no attempt is made, what is there stays, as if it had been exchanged for itself."""
    assert largest(body).verdict == "shown", largest(body).text()


@pytest.mark.parametrize(
    "body",
    [
        GUARDED[0].replace("old < v", "old > v"),
        GUARDED[0].replace("old < v", "old < 10.0f").replace("as_int(v)", "as_int(old + 1.0f)"),
        GUARDED[0].replace("{ old =", "{ old = v;"),
        GUARDED[1].replace("old == seen", "old != seen"),
        GUARDED[2].replace(">= v", ">= 0.5f"),
        GUARDED[3].replace(" old = *p;", ";").replace("float ;", "float old = *p;"),
        "float k = 0.0f; "
        + GUARDED[0].replace("{ old =", "{ k = v; old =")
        + " if (k > 0.0f) *p = k;",
    ],
)
def test_guards_that_let_an_update_be_lost_are_not_validated(body: str) -> None:
    """One that stops too early, asks the other way round, or leaves something of an attempt behind."""
    assert largest(body).verdict != "shown"
