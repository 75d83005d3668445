"""Updates without interruption in kernels of others: what may be made in any order, and what is no such thing."""

from __future__ import annotations

from typing import Any

import pytest

from proofs_tests.compiler.foreign.habits import bins, count, imax, isum, saxpy, totals
from proofs_tests.compiler.foreign.kernels import program
from relift.compiler.foreign.comparison import validate_foreign
from relift.compiler.foreign.groups.launched import ByOthers
from relift.compiler.foreign.parameters import NotSaid
from relift.compiler.validation.validate import Report
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import i32

COUNTED = """kernel void h(global const int *x, global int *out) {
  local int own[8];
  int l = get_local_id(0);
  for (int i = l; i < 8; i += get_local_size(0)) own[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&own[x[get_global_id(0)] & 7]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = l; i < 8; i += get_local_size(0)) atomic_add(&out[i], own[i]);
}"""
FROM_ZERO = {"out": "out:0"}


def counted(before: str, after: str, out: str = "out:0") -> Report:
    """What is said of a histogram in which something is replaced."""
    assert before in COUNTED, before
    text = COUNTED.replace(before, after, 1)
    return validate_foreign(ByOthers(text, "h", (64,), (16,), {"out": out}), bins())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("atomic_inc", "atomic_inc"),
        ("atomic_inc(&own[x[get_global_id(0)] & 7])", "atom_add(own + (x[get_global_id(0)] & 7), 1)"),
        ("atomic_inc(&own[x[get_global_id(0)] & 7])", "atomic_sub(&own[x[get_global_id(0)] & 7], -1)"),
        (
            "atomic_inc(&own[x[get_global_id(0)] & 7])",
            "atomic_fetch_add_explicit((volatile local atomic_int *)&own[x[get_global_id(0)] & 7], 1, memory_order_relaxed)",
        ),
        ("own[i] = 0", "atomic_store((local atomic_int *)&own[i], 0)"),
        ("own[i]);", "atomic_load((local atomic_int *)&own[i]));"),
    ],
)  # fmt: skip
def test_a_histogram_of_private_and_shared_bins_is_validated(before: str, after: str) -> None:
    """Whichever names its updates have."""
    found = counted(before, after)
    assert found.verdict == "shown", found.text()


GUARDED = """kernel void h(global const int *x, global int *out) {
  local uint own[16];
  int l = get_local_id(0), v = x[get_global_id(0)];
  if (l < 16) own[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (v >= 0 && v < 16) atomic_inc(&own[v]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 16) out[l] = own[l];
}"""


def of_keys(x: Any) -> Any:
    """How often each of sixteen numbers is there."""

    def often(j: Any) -> Any:
        return pat.reduce(rl.add, 0, pat.map(lambda v: rl.select(rl.equal(v, j), 1, 0), x))

    return rl.generate(16, often)


@pytest.mark.parametrize(("limit", "verdict"), [("16", "shown"), ("15", "refuted")])
def test_bins_whose_range_is_asked_for_are_validated_for_all_data(limit: str, verdict: str) -> None:
    """Of 128 work-items: what is asked of a number is known where it is the number of a bin."""
    text = GUARDED.replace("v < 16", f"v < {limit}")
    sixteen = program("sixteen", of_keys, x=i32[128])
    found = validate_foreign(ByOthers(text, "h", (128,), (128,), {}), sixteen())
    assert found.verdict == verdict, found.text()
    assert verdict == "refuted" or "all data: equal to the last bit" in found.text()
    assert "drawn for" not in found.text()


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("  barrier(CLK_LOCAL_MEM_FENCE);\n  atomic_inc", "  atomic_inc", "race"),
        ("7]);\n  barrier(CLK_LOCAL_MEM_FENCE);", "7]);", "race"),
        ("atomic_inc(&own[x[get_global_id(0)] & 7])", "own[x[get_global_id(0)] & 7]++", "race"),
        ("atomic_add(&out[i], own[i])", "out[i] += own[i]", "race"),
        ("atomic_add(&out", "atomic_max(&out", "values"),
        ("& 7", "& 15", "bounds"),
        ("atomic_inc(", "atomic_dec(", "values"),
        ("own[i] = 0;", ";", "covered"),
    ],
)
def test_a_wrong_histogram_is_refuted(before: str, after: str, fault: str) -> None:
    """By a race with what is no such update, by a place that is none, or by its counts."""
    assert counted(before, after).fault == fault


def test_a_result_that_nobody_filled_is_no_sum() -> None:
    """Updates need something to begin with, which is said of the launch."""
    assert counted("h", "h", "out").fault == "covered"
    assert counted("h", "h", "out:1").fault == "values"
    assert counted("atomic_add(&out", "atomic_or(&out", "out:0").fault == "values"


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("atomic_inc(&own", "int k = atomic_inc(&own", "the result of atomic_inc, which depends on the order"),
        ("atomic_inc(&own[x[get_global_id(0)] & 7])", "out[atomic_inc(&own[0])] = 1", "the result of atomic_inc"),
        ("& 7])", "& 7], 1) ; (void)atomic_xchg(&own[0], 1)", "2 arguments of atomic_inc"),
        ("atomic_inc(&own[x[get_global_id(0)] & 7])", "atomic_xchg(&own[0], 2)", "the result of atomic_xchg"),
        ("atomic_inc(&own[x[get_global_id(0)] & 7])", "atomic_cmpxchg(&own[0], 2, 3)", "the result of atomic_cmpxchg"),
    ],
)  # fmt: skip
def test_what_depends_on_the_order_of_work_items_is_refused_by_name(
    before: str, after: str, why: str
) -> None:
    """An index of it above all; nothing is taken for one of the orders."""
    found = counted(before, after)
    assert found.verdict == "unknown"
    assert why in found.not_read


def test_two_operations_on_a_cell_have_an_order() -> None:
    """A sum and a maximum between two barriers may be made in either."""
    update = "atomic_inc(&own[x[get_global_id(0)] & 7]);"
    found = counted(update, f"{update} atomic_max(&own[x[get_global_id(0)] & 7], 1);")
    assert found.verdict == "unknown"
    assert "updated by two operations" in found.detail
    between = f"{update} barrier(CLK_LOCAL_MEM_FENCE); atomic_or(&own[l & 7], 0);"
    assert counted(update, between).verdict == "shown"


def test_what_one_group_wrote_no_other_may_update() -> None:
    """No barrier is between groups, however many there are within each."""
    text = """kernel void s(global const int *x, global int *out) {
      if (get_global_id(0) == 0) out[0] = 0;
      barrier(CLK_GLOBAL_MEM_FENCE);
      atomic_add(out, x[get_global_id(0)]);
    }"""
    assert validate_foreign(ByOthers(text, "s", (64,), (64,)), isum()).verdict == "shown"
    assert validate_foreign(ByOthers(text, "s", (64,), (16,)), isum()).fault == "race"


def test_sums_of_floats_need_leave_to_be_regrouped() -> None:
    """Those of whole numbers do not: they are one number in every order."""
    floats = "kernel void t(global const float *x, global float *out) { atomic_fetch_add((global atomic_float *)&out[get_global_id(0) / 32], x[get_global_id(0)]); }"
    launched = ByOthers(floats, "t", (64,), (16,), FROM_ZERO)
    assert validate_foreign(launched, totals()).verdict == "shown"
    exact = validate_foreign(launched, totals(), reassociate=False)
    assert "a sum of float in the order of atomic_fetch_add" in exact.not_read
    whole = "kernel void t(global const int *x, global int *out) { atomic_add(out, x[63 - get_global_id(0)]); }"
    launched = ByOthers(whole, "t", (64,), (16,), FROM_ZERO)
    assert validate_foreign(launched, isum(), reassociate=False).verdict == "shown"


@pytest.mark.parametrize(("condition", "verdict"), [("> 0.0f", "shown"), (">= 0.0f", "refuted")])
def test_an_update_under_a_condition_on_data(condition: str, verdict: str) -> None:
    """It changes nothing where the condition does not hold."""
    text = f"kernel void c(global const float *x, global int *out) {{ if (x[get_global_id(0)] {condition}) atomic_inc(out); }}"
    found = validate_foreign(ByOthers(text, "c", (64,), (16,), FROM_ZERO), count())
    assert found.verdict == verdict, found.text()


def test_a_largest_number_that_begins_too_high_is_shown_by_low_inputs() -> None:
    """Of inputs of either sign the largest is above 0, and hides it."""
    text = "kernel void m(global const int *x, global int *out) { atomic_max(out, x[get_global_id(0)]); }"
    found = validate_foreign(ByOthers(text, "m", (64,), (16,), FROM_ZERO), imax())
    assert found.inputs == "inputs below 0"
    least = ByOthers(text, "m", (64,), (16,), {"out": f"out:{-(2**31)}"})
    assert validate_foreign(least, imax()).verdict == "shown"


def test_a_result_may_lie_where_an_input_was() -> None:
    """By its name where no other array can be meant, else where it is said."""
    text = "kernel void s(float a, global CONST float *x, global float *y) { y[get_global_id(0)] += a * x[get_global_id(0)]; }"
    own = ByOthers(text.replace("CONST", "const"), "s", (32,), (8,))
    assert validate_foreign(own, saxpy()).verdict == "shown"
    both = ByOthers(text.replace("CONST", ""), "s", (32,), (8,))
    with pytest.raises(NotSaid, match="which array is the result is not known"):
        validate_foreign(both, saxpy())
    said = ByOthers(both.text, "s", (32,), (8,), {"y": "out:y"})
    assert validate_foreign(said, saxpy()).verdict == "shown"
    other = ByOthers(both.text, "s", (32,), (8,), {"y": "out:x"})
    assert validate_foreign(other, saxpy()).verdict == "refuted"
    with pytest.raises(NotSaid, match="y can not hold a before"):
        validate_foreign(ByOthers(both.text, "s", (32,), (8,), {"y": "out:a"}), saxpy())
