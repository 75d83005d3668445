"""`f16` is rounded after each operation, whether a device computes in `half` or only stores it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.compiler.dialects.test_cuda import of_function
from proofs_tests.compiler.programs import typed
from relift.compiler.devices.naming import is_simulator, label
from relift.compiler.devices.survey import devices
from relift.compiler.dialects.opencl.halves import without_halves
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.program import compile_program
from relift.compiler.text.reader import read_source
from relift.compiler.validation.validate import validate
from relift.semantics.language.programs import Program
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS

DEVICES = [label(d) for d in devices() if not is_simulator(d)]
ROOT = Path(__file__).parents[3]
X = np.linspace(-4, 60, 48).astype(np.float16)


def tiles() -> Program:
    """Sums of products through local memory, and a scalar by value."""

    @typed(x=rl.f16[48], a=rl.f16)
    def tiles(x: Any, a: Any) -> Any:
        def group(part: Any) -> Any:
            return rl.let(
                lambda tile: rl.map_lcl(0)(lambda v: rl.reduce_seq(rl.add, v, tile), part),
                rl.to_local(rl.map_lcl(0)(lambda v: v * a, part)),
            )

        return rl.join(rl.map_wrg(0)(group, rl.split(8, x)))

    return tiles


def same(found: Any, wanted: Any) -> bool:
    return found.dtype == wanted.dtype and bool(np.array_equal(found, wanted, equal_nan=True))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["mul", "div", "fma", "sqrt", "select", "minimum", "f32", "i32"])
def test_functions_round_as_the_interpreter(device: str, name: str) -> None:
    """On scalars and on vectors, bit for bit."""
    for width in (1, 4):
        program = of_function(name, SCALAR_FUNCTIONS[name].arity, rl.f16, width)
        found = compile_program(program, contract=False)(X, device=device)
        assert same(found, program(X)), width


@pytest.mark.parametrize("device", DEVICES)
def test_folds_in_local_memory_round_as_the_interpreter(device: str) -> None:
    """Each of the sums is rounded, and a single half is an argument."""
    program = tiles()
    a = np.float16(0.3)

    assert same(compile_program(program, contract=False)(X, a, device=device), program(X, a))


def test_the_text_is_validated_on_symbols() -> None:
    """Where halves are computed with, the text says what the program does."""
    compiled = compile_program(tiles(), contract=False)

    assert compiled.source.startswith("#pragma OPENCL EXTENSION cl_khr_fp16 : enable")
    assert validate(compiled.source, compiled.plan, tiles()).verdict == "shown"


@pytest.mark.parametrize("operator", ["&", "-", "!", "~"])
def test_only_a_cell_is_stored_by_a_call(operator: str) -> None:
    """What stands behind another prefix than `*` is no place of a half, and stays as it is written."""
    text = f"kernel void f(global half* restrict x) {{ {operator}x = 1.0h; }}"

    assert "vstore_half_rte(1.0f" not in OpenCL().source(without_halves(read_source(text)))


def test_few_places_know_it() -> None:
    """Its row and its public name; beyond these only what computes without it."""
    sources = [
        p
        for part in ("semantics", "rewrites", "egraph", "compiler")
        for p in (ROOT / part).rglob("*.py")
    ]
    naming = {
        str(p.relative_to(ROOT))
        for p in (*sources, ROOT / "src/relift/__init__.py")
        if re.search(r"\bf16\b", p.read_text(encoding="utf-8"))
    }

    assert naming == {
        "semantics/syntax/types.py",
        "src/relift/__init__.py",
        "compiler/dialects/opencl/halves.py",
    }
