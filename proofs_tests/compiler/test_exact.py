"""A program that grants no other rounding gets none on the device either."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from proofs_tests.command_line import relift
from relift.compiler.kernel import load

SOURCE = """
import relift as rl
n = rl.nat("n")

@rl.program
def square_and_more(x: rl.f32[n]):
    return rl.map(lambda v: v * v + v, x)
"""


def test_exact_kernels_are_exact_to_the_bit(tmp_path: Path) -> None:
    """`a*b + c` is rounded twice, as the interpreter does; contraction is off in the kernel that is written."""
    (tmp_path / "p.py").write_text(SOURCE)
    out = tmp_path / "out"
    done = relift(
        "optimize", str(tmp_path / "p.py"), "--size", "n=1000", "--float", "exact", "--budget", "3", "--out", str(out)
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder,) = {file.parent for file in out.rglob("kernel.cl")}
    kernel = load(folder)
    assert "#pragma OPENCL FP_CONTRACT OFF" in kernel.source
    x = np.random.default_rng(0).random(1000, dtype=np.float32)
    np.testing.assert_array_equal(kernel(x).view(np.int32), (x * x + x).view(np.int32))
