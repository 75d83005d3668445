"""Sums that indices share: where they are computed, what stays as it is, and that no kernel gets longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs_tests.compiler.texts import body_of, lines_of
from relift.compiler.bench.benchmarks import Benchmark, load_benchmarks
from relift.compiler.codegen.passes.shared_indices import share_indices
from relift.compiler.lowering.analyses import Analyses
from relift.compiler.program import compile_program
from relift.compiler.text.names import Names
from relift.compiler.text.tree import CType

FOLDER = Path(__file__).parents[3] / "examples" / "low_level"
SUM = "4096*wrg_0 + 128*lcl_1 + 8*lcl_0"


def shared(*lines: str) -> list[str]:
    """The lines after sharing, without their indentation."""
    fresh = Names().fresh
    if any("at[" in line for line in lines):
        fresh("at")
    known = ["wrg_0", "lcl_0", "lcl_1", "n"]
    found = share_indices(body_of(lines), known, CType("int"), fresh)
    return [line.strip() for line in lines_of(found)]


def uses(index: str, count: int = 4) -> list[str]:
    return [f"  x{k}[{index}] = y{k}[{index} + {k + 1}];" for k in range(count)]


def test_a_sum_is_computed_at_the_start_of_its_block() -> None:
    """With a counter in it, in the loop of the counter; without, at the start of the kernel."""
    for index, home in ((SUM, 0), (f"{SUM} + 512*i", 1)):
        found = shared("  for (int i = 0; i < 8; ++i) {", *uses(index), "  }")
        assert found[home] == f"const int at = {index};"
        assert found[2] == "x0[at] = y0[at + 1];"


def test_what_is_left_of_an_index_keeps_its_sign() -> None:
    """Constants and what is subtracted are not shared."""
    found = shared(*(f"  x{k}[{SUM} - n + {k}] = 0.0f;" for k in range(1, 6)))
    assert found[:2] == [f"const int at = {SUM};", "x1[at - n + 1] = 0.0f;"]


def test_sums_inside_quotients_are_shared() -> None:
    """The outer sum and the one in parentheses."""
    found = shared(*(f"  x{k}[{SUM}] = y{k}[({SUM}) / {k + 3} + {SUM}];" for k in range(4)))
    assert found[1] == "x0[at] = y0[at + at / 3];"


def test_addresses_of_vectors_are_shared() -> None:
    """Behind a pointer, and as the last argument of a load and a store."""
    found = shared(
        f"  *(global float4*)(out + {SUM}) = *(global const float4*)(x + {SUM});",
        f"  vstore4(vload4(0, x + {SUM} + 1), 0, out + {SUM} + 1);",
        f"  vstore4(vload4(0, x + {SUM} + 5), 0, out + {SUM} + 5);",
    )
    assert found == [
        f"const int at = {SUM};",
        "*(global float4*)(out + at) = *(global const float4*)(x + at);",
        "vstore4(vload4(0, x + at + 1), 0, out + at + 1);",
        "vstore4(vload4(0, x + at + 5), 0, out + at + 5);",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "  x[4*lcl_1 + n] = y[4*lcl_1 + n];",  # a declaration is longer
        f"  x[{SUM}] = 1.0f;",
        f"  acc = acc + ({SUM} + ({SUM} + ({SUM} + ({SUM} + {SUM}))));",  # no index
        "  x[ids[lcl_0]*4096 + ids[lcl_1]*1024] = y[ids[lcl_0]*4096 + ids[lcl_1]*1024];",  # data
        "  x[4096*changing + 1024*another + 77*third] = 1.0f;",  # registers may change
    ],
)
def test_what_is_not_shared(line: str) -> None:
    lines = [line] * (1 if SUM in line and "acc" not in line else 2)
    assert shared(*lines) == [text.strip() for text in lines]


def test_registers_have_no_addresses() -> None:
    """The index of a private array is a constant once loops are unrolled: it stays where it is."""
    index = "1024*i + 128*j + 16*k"
    head = [f"  for (int {c} = 0; {c} < 8; ++{c}) {{" for c in "ijk"]
    lines = ["  float own[64];", *head, *(f"  own[{index}] = own[{index} + 1];" for _ in range(4))]
    assert shared(*lines, "  }", "  }", "  }")[:8] == [line.strip() for line in lines]


def test_a_bound_that_no_turn_changes_is_computed_before_the_loop() -> None:
    """Though it is used once, and where it is needed first; one that changes with the turn stays."""
    loop, bound = "for (int i = 0; i < 8; ++i) {", "64*min(4*wrg_0 + lcl_0, 99)"
    found = shared("  x[lcl_0] = 0.0f;", f"  {loop}", f"  x[i] = y[{bound} + i];", "  }")
    assert found == [
        "x[lcl_0] = 0.0f;", f"const int at = {bound};", loop, "x[i] = y[at + i];", "}"
    ]  # fmt: skip
    turning = [loop, "x[i] = y[min(4*wrg_0 + i, 99) + i];", "}"]
    assert shared(*(f"  {line}" for line in turning)) == turning
    outside = [f"x[lcl_0] = y[{bound}];", f"x[lcl_1] = y[{bound}];"]
    assert shared(*(f"  {line}" for line in outside)) == outside


def test_names_do_not_clash() -> None:
    """An array may be called like the sum."""
    found = shared(*(f"  at[{SUM} + {k}] = x[{SUM}];" for k in range(4)))
    assert found[:2] == [f"const int at_2 = {SUM};", "at[at_2 + 0] = x[at_2];"]


@pytest.mark.parametrize("b", load_benchmarks(FOLDER, [], "gpu"), ids=lambda b: b.name)
def test_no_kernel_gets_longer(b: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that are timed; and each is what it was without sharing, where nothing is shared."""
    program = b.at(b.variants[0])
    with_sums = compile_program(program).source
    monkeypatch.setattr("relift.compiler.codegen.kernel.share_indices", lambda body, *_: body)
    without = compile_program(program).source
    assert len(with_sums) < len(without) or with_sums == without


def test_it_is_part_of_the_analysis_of_indices() -> None:
    """Switched off with it."""
    (b,) = load_benchmarks(FOLDER, ["transpose"], "gpu")
    program = b.at(b.variants[0])
    assert "const int at = " in compile_program(program).source
    switched_off = compile_program(program, analyses=Analyses(indices=False)).source
    assert "const int at = " not in switched_off
