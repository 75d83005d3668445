"""Cells of local memory that are found one after the other: what is concluded from them, Z3 says, too."""

from __future__ import annotations

import random

import pytest

from relift.compiler.certificates.certificate import Certificate
from relift.compiler.certificates.claims import certify
from relift.compiler.certificates.counting.enumerated import Group
from relift.compiler.certificates.effort import Effort
from relift.compiler.certificates.work_items import Grid
from relift.compiler.text.reader import read_kernels
from relift.compiler.text.tree import Whole

MOST_INDICES = [
    "l",
    "7 - l",
    "l / 2",
    "2 * l",
    "l + 8 * (i % 2)",
    "l + 8 * ((i + 1) % 2)",
    "l + 4 * (i % 3)",
]
MORE_INDICES = ["(l + i) % 8", "8 * (i % 2) + (l + 1) % 8", "min(l + i, 23)", "l + i"]
INDICES = [*MOST_INDICES, *MORE_INDICES]
GUARDS = ["if (l < 8) ", "if (i > 0) ", "if (l < 4) ", "if (i % 2 < 1) "]
BARRIERS = ["", "barrier(CLK_LOCAL_MEM_FENCE);"]


def turns(seed: int) -> str:
    """A kernel whose work-items write a cell and read one in each turn of a loop, with barriers or without."""
    rng = random.Random(seed)
    write, read = rng.choice(INDICES), rng.choice(INDICES)
    return f"""kernel void f(global float* out) {{
      local float t[64];
      const int l = get_local_id(0);
      const int g = get_group_id(0);
      float sum = 0.0f;
      for (int i = 0; i < {rng.choice([1, 3, 12])}; ++i) {{
        {rng.choice(GUARDS)}{{ t[{write}] = 1.0f; }}
        {rng.choice(BARRIERS)}
        {rng.choice(GUARDS)}{{ sum = sum + t[{read}]; }}
        {rng.choice(BARRIERS)}
      }}
      out[8 * g + l] = sum;
    }}"""


def certificate(text: str, effort: Effort | None = None) -> Certificate:
    [kernel] = read_kernels(text)
    grid = Grid((Whole(2),), (Whole(8),))
    return certify(kernel, {"out": Whole(16)}, grid, effort=effort, full=())


def races(found: Certificate) -> list[tuple[str, str]]:
    return [(c.subject, c.verdict) for c in found.claims if c.kind == "races"]


@pytest.mark.parametrize("seed", range(24))
def test_z3_says_the_same_of_races(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = races(certificate(turns(seed)))
    monkeypatch.setattr(Group, "keeps_apart", lambda *_: False)

    assert len(found) > 1
    assert found == races(certificate(turns(seed)))


def test_z3_is_not_asked_about_local_memory() -> None:
    """Tiles whose halves take turns, in more turns than are asked."""
    text = """kernel void f(global float* out) {
      local float t[16];
      const int l = get_local_id(0);
      const int g = get_group_id(0);
      float sum = 0.0f;
      for (int i = 0; i < 1000000; ++i) {
        if (i > 0) { sum = sum + t[8 * ((i + 1) % 2) + 7 - l]; }
        t[8 * (i % 2) + l] = 1.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      out[8 * g + l] = sum;
    }"""
    local = [
        verdict
        for subject, verdict in races(certificate(text, Effort(total=-1)))
        if " t[" in subject
    ]

    assert len(local) > 1
    assert set(local) == {"proved"}
