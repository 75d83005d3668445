"""Kernels of open sizes are compared where they break: at the edges of their sizes, and beside a group."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from proofs_tests.command_line import command
from proofs_tests.compiler.programs import made, typed
from relift.compiler.agreement import open_sizes
from relift.compiler.agreement.open_sizes import cases, choices, differential_at
from relift.compiler.devices.survey import find_device
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import f32, nat

n, m = nat("n", least=0), nat("m")


@typed(x=f32[n])
def total(x: Any) -> Any:
    return rl.map_glb(0)(lambda s: rl.reduce_seq(rl.add, s, x), rl.repeat(1, 0.0))


@typed(x=f32[n, m])
def rows(x: Any) -> Any:
    return rl.map_glb(0)(lambda r: rl.reduce_seq(rl.add, 0.0, r), x)


def wrong_where(program: Program, cell: str, condition: str) -> Compiled:
    """The kernel of a program, one too much in its cells where a condition holds."""
    kernel = compile_program(program)
    before = f"{cell} = "
    assert before in kernel.source
    fault = f"{before}({condition} ? 1.0f : 0.0f) + "
    return dataclasses.replace(kernel, source=kernel.source.replace(before, fault))


def compared(
    program: Program, kernel: Compiled, sizes: Mapping[str, int] | None = None
) -> dict[str, Any]:
    found = differential_at(program, kernel, sizes or {}, ["cpu"], lambda _: None)
    return dict(zip(("text", "kernel", "checker"), found, strict=True))


@pytest.mark.parametrize(
    ("program", "cell", "condition"),
    [
        (total, "out[0]", "n == 0"), (total, "out[0]", "n == 1"), (total, "out[0]", "n == 2"),
        (total, "out[0]", "n % 2 == 0"), (made("saxpy", n), "out[glb_0]", "glb_0 == 64"),
    ],
)  # fmt: skip
def test_what_is_wrong_at_some_sizes_only_differs(
    monkeypatch: pytest.MonkeyPatch, program: Program, cell: str, condition: str
) -> None:
    """On symbols and on the device, which see the same sizes."""
    monkeypatch.setattr(open_sizes, "race_check", lambda *_, **__: [])
    found = compared(program, wrong_where(program, cell, condition))

    assert found["text"].refuted, found
    assert found["kernel"].refuted, found
    assert "at n=" in found["kernel"].detail


def test_what_is_right_agrees_at_all_sizes() -> None:
    found = compared(total, compile_program(total))

    assert all(a.ok for a in found.values()), found
    assert "n=3; n=0; n=1; n=2; " in found["kernel"].detail
    assert found["checker"].detail.endswith("at n=3; n=0")


def test_every_size_has_its_edges_alone_and_with_the_others() -> None:
    found = list(choices({"n": 0, "m": 2}, [64]))

    assert len({tuple(c.items()) for c in found}) == len(found)
    assert {"n": 0, "m": 2} in found
    for name, least in (("n", 0), ("m", 2)):
        for edge in (least, least + 1, 65):
            alone = [
                c
                for c in found
                if c[name] == edge and all(v > 2 for k, v in c.items() if k != name)
            ]
            assert alone, (name, edge)
    assert all(c["n"] >= 0 and c["m"] >= 2 for c in found)


def test_sizes_that_are_given_stay() -> None:
    plan = compile_program(rows).plan

    assert {case.sizes["m"] for case in cases(rows, plan, {"m": 4})} == {4}
    assert [case.at for case in cases(rows, plan, {"n": 2, "m": 4})] == ["n=2, m=4"]
    with pytest.raises(IllTyped, match="has no size k"):
        differential_at(rows, compile_program(rows), {"k": 3}, [], lambda _: None)


def test_one_choice_is_left_where_all_are_too_much() -> None:
    [case] = cases(total, compile_program(total).plan, {}, effort=1)

    assert case.sizes == {"n": 0}


@pytest.mark.parametrize(
    ("name", "why"),
    [("", "--devices: what it takes is empty"), ("  ", "the name of a device is empty")],
)
def test_a_device_without_a_name_is_none(name: str, why: str) -> None:
    with pytest.raises(Unsupported, match="the name of a device is empty"):
        find_device(name)
    status, said = command("verify", "examples/dot.py", "--devices", name)
    assert status == 2
    assert why in said
