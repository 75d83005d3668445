"""Kernels as people write them: every right one is validated, every wrong one refuted with an input that shows it."""

from __future__ import annotations

import pytest

from proofs_tests.compiler.foreign.kernels import KERNELS, ByHandKernel
from relift.compiler.foreign.comparison import validate_foreign


@pytest.mark.parametrize("k", KERNELS, ids=lambda k: k.name)
def test_a_right_kernel_is_validated(k: ByHandKernel) -> None:
    """For all data, up to the order of sums."""
    found = validate_foreign(k.right(), k.program())
    assert found.verdict == "shown", found.text()


@pytest.mark.parametrize("k", KERNELS, ids=lambda k: k.name)
def test_a_wrong_kernel_is_refuted(k: ByHandKernel) -> None:
    """By what no kernel may do, or by a cell."""
    found = validate_foreign(k.wrong(), k.program())
    assert found.verdict == "refuted", found.text()


@pytest.mark.parametrize("name", ["tree in local memory", "scan in a group"])
def test_what_is_not_granted_is_not_used(name: str) -> None:
    """A sum in another order is another sum where + may not be regrouped."""
    [k] = [k for k in KERNELS if k.name == name]
    found = validate_foreign(k.right(), k.program(), reassociate=False)
    assert found.verdict == "refuted", found.text()
