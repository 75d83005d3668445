"""A memory of a device is one row: programs, rules, kernels, certificates and estimates take it from there."""

from __future__ import annotations

from pathlib import Path

from proofs_tests.test_contributing import copy, run
from relift.compiler.text.memories import SPACES, word_of
from relift.semantics.syntax.memory import Space

__all__ = ["copy"]  # the fixture

EDITS = (
    (
        "semantics/syntax/memory.py",
        '    PRIVATE = "private"',
        '    PAD = "pad", "group", "near", "a second memory of the work-group"\n    PRIVATE = "private"',
    ),
    ("semantics/patterns/opencl.py", "ToLocal = ", "ToPad = _into(Space.PAD)\nToLocal = "),
    ("compiler/text/memories.py", "case Space.LOCAL:", "case Space.LOCAL | Space.PAD:"),
)
"""The row, the pattern that stores there, and what OpenCL C calls it: by file, a line and what it becomes."""

SCRIPT = """
import numpy as np
import relift as rl
from relift.compiler.dialects.backend import backends
from relift.compiler.devices.naming import is_simulator, label
from relift.compiler.devices.survey import devices
from relift.compiler.program import compile_program, kernels_of
from relift.compiler.validation.validate import validate
from relift.device import CPU, GPU
from relift.egraph.cost.model import estimate
from relift.rewrites.library import RULES

n = rl.nat("n")


def shared(into):
    @rl.program
    def rows(x: rl.f32[8, 16]):
        def row(r):
            tile = into(rl.map_lcl(0)(lambda v: v * 2.0, r))
            return rl.let(lambda t: rl.map_lcl(0)(lambda v: v + 1.0, rl.gather(rl.reverse, t)), tile)

        return rl.map_wrg(0)(row, x)

    return rows


def exchanged(into):
    @rl.program
    def steps(x: rl.f32[8, 16]):
        def row(r):
            step = lambda t: into(rl.map_lcl(0)(lambda v: v + 1.0, rl.gather(rl.reverse, t)))
            whole = rl.iterate(3, step, into(rl.map_lcl(0)(lambda v: v, r)))
            return rl.let(lambda t: rl.map_lcl(0)(lambda v: v, t), whole)

        return rl.map_wrg(0)(row, x)

    return steps


x = np.arange(128, dtype=np.float32).reshape(8, 16)
for made in (shared, exchanged):
    program, known = made(rl.to_pad), made(rl.to_local)
    kernel = compile_program(program)
    for name, backend in backends().items():
        texts = [backend.text(kernels_of(p)[0]) for p in (program, known)]
        assert "to_pad" in texts[0] and texts[0].replace("to_pad", "to_local") == texts[1], name
    assert all(c.ok for c in kernel.certificates), kernel.certificates
    assert validate(kernel.source, kernel.plan, program).verdict == "shown"
    assert rl.validate(program).verdict == "validated"
    assert all(estimate(program, d).seconds == estimate(known, d).seconds for d in (CPU, GPU))
    for device in devices():
        if not is_simulator(device):
            assert np.array_equal(kernel(x, device=label(device)), program(x)), label(device)



@rl.program
def by_itself(x: rl.f32[8]):
    return rl.map_glb(0)(lambda v: v + 1.0, rl.to_pad(rl.map_seq(lambda v: v, x)))


try:
    compile_program(by_itself)
except rl.Unsupported as error:
    print(error)


for result in rl.check(RULES["store_pad"]).results:
    print(result.tier, result.status)
"""


def test_a_row_is_all(copy: Path) -> None:
    """A second memory of groups: kernels are those of `to_local`, and everything else says of them what it says of those."""
    for name, line, instead in EDITS:
        file = copy / name
        text = file.read_text(encoding="utf-8")
        assert line in text
        file.write_text(text.replace(line, instead, 1), encoding="utf-8")
    (copy / "second.py").write_text(SCRIPT, encoding="utf-8")
    said = run("python second.py", copy)
    refused, *tiers = said.splitlines()
    assert refused.endswith("to_pad outside map_wrg; pad memory belongs to a work-group")
    assert tiers == ["1 ok", "2 ok", "3 ok", "4a proved", "4b proved", "5 skipped"]


def test_every_memory_has_a_word() -> None:
    """A word means one memory, and each memory is among what its word may mean."""
    assert {word_of(space) for space in Space} == set(SPACES)
