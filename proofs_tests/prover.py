"""What needs the Rocq prover: skipped where there is none, except in CI, where its absence is a failure."""

from __future__ import annotations

import os
import shutil

import pytest

PROVER = shutil.which("coqc")
needs_prover = pytest.mark.skipif(
    PROVER is None and "CI" not in os.environ, reason="coqc is not installed"
)
