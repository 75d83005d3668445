"""What the tests of the prover share."""

from __future__ import annotations

import pytest

from relift.rewrites.checks.rocq import tier


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a proof gets minutes: what a test asks is whether there is one, not how soon."""
    monkeypatch.setattr(tier, "BUSY_FACTOR", 60)
