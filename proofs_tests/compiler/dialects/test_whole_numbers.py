"""A type of whole numbers is one row of the table, whatever its width and whether or not it has a sign."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proofs_tests.portions import portioned
from proofs_tests.test_contributing import copy, run
from relift.semantics.syntax.types import INTEGERS, Scalar

__all__ = ["copy"]  # the fixture

ROWS = """
i8 = Scalar("i8", 1, "int8", "char")
i16 = Scalar("i16", 2, "int16", "short")
u8 = Scalar("u8", 1, "uint8", "uchar")
u16 = Scalar("u16", 2, "uint16", "ushort")
u32 = Scalar("u32", 4, "uint32", "uint")
u64 = Scalar("u64", 8, "uint64", "ulong")
"""

SCRIPT = '''
import itertools, sys, warnings
import numpy as np
import relift as rl
from relift.compiler.devices.naming import is_simulator, label
from relift.compiler.devices.survey import devices
from relift.compiler.program import compile_program
from relift.compiler.validation.validate import validate
from relift.semantics.language.coercion import scalar
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.types import SCALARS

warnings.simplefilter("ignore")  # NumPy's, of numbers that wrap
FUNCTIONS = [f for f in SCALAR_FUNCTIONS.values() if f.on != "floats" and f.name not in ("f16", "f64")]


def of_functions(functions, t, width):
    """What some functions make of a number and of another one, in one number."""

    def mixed(v):
        w, found = v * 5 + 2, v
        for f in functions:
            given = [v < w, v, w] if f.name == "select" else [v, w, v][: f.arity]
            result = scalar(f.name, *given)
            if result.type == rl.boolean:
                result = rl.select(result, v, w)
            found = found * 3 ^ (result if result.type == t else t(result))
        return found

    def each(x):
        if width == 1:
            return rl.map_glb(0)(mixed, x)
        return rl.as_scalar(rl.map_glb(0)(rl.map_vec(mixed), rl.as_vector(width, x)))

    each.__annotations__ = {"x": t[16]}
    return rl.program(each)


for name in sys.argv[1:]:
    t = SCALARS[name]
    least, greatest = t.range
    edges = [least, least + 1, 0, 1, 2, 3, 5, 7, greatest // 3, greatest // 2, greatest - 1, greatest]
    x = np.array([*edges, *edges[:4]], dtype=t.dtype)
    for width, first in itertools.product((1, 4), range(0, len(FUNCTIONS), 8)):
        program = of_functions(FUNCTIONS[first : first + 8], t, width)
        kernel = compile_program(program, contract=False)
        assert validate(kernel.source, kernel.plan, program).verdict != "refuted", (name, width, first)
        for device in devices():
            if not is_simulator(device):
                found = kernel(x, device=label(device))
                assert found.dtype == x.dtype, (name, width, first, label(device))
                assert np.array_equal(found, program(x)), (name, width, first, label(device))
'''

DRAWN = """
import sys
import relift as rl
from relift.compiler.agreement.user_functions import EDGES
from relift.rewrites.checks.laws import check_laws
from relift.rewrites.checks.random.edges import edges_of
from relift.rewrites.checks.random.exact_inputs import exact_inputs
from relift.semantics.language.programs import Program
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import SCALARS

for name in sys.argv[1:]:
    t = SCALARS[name]
    top = rl.operator(lambda x, y: rl.select(x < y, y, x), associative=True, neutral=t.range[0], name="top")
    assert check_laws(top, t) is None, name
    assert check_laws(rl.operator(lambda x, y: x - y, associative=True, name="minus"), t), name
    same = Program("same", (Input("x", t[9]),), Input("x", t[9]))
    given = [x for row in exact_inputs(same, 4) for x in row["x"]]
    for values in (given, [int(x) for x in edges_of(t)], EDGES[name].tolist()):
        assert t.held(values) == values, (name, values)
"""


@portioned(
    "script, names",
    {"u16": (SCRIPT, "u16"), "i8 u32": (SCRIPT, "i8 u32"), "drawn": (DRAWN, "u8 u32 i16 u64")},
    {"u16", "drawn"},
)
def test_a_row_is_all(copy: Path, script: str, names: str) -> None:
    """Functions of the table give what NumPy gives, on every device; what checks draw is of the type."""
    types = copy / "semantics/syntax/types.py"
    text = types.read_text(encoding="utf-8")
    types.write_text(text.replace("boolean = Scalar(", ROWS + "boolean = Scalar(", 1), "utf-8")
    (copy / "all_functions.py").write_text(script, encoding="utf-8")
    assert not run(f"python all_functions.py {names}", copy)


@pytest.mark.parametrize("t", INTEGERS.values(), ids=str)
def test_the_range_is_numpys(t: Scalar) -> None:
    """From the bytes and the sign alone."""
    assert t.range == (np.iinfo(t.dtype).min, np.iinfo(t.dtype).max)
