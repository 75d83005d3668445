"""What the simulator says of a kernel; a test that needs it is skipped, with the reason, where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from relift.compiler.agreement.simulator import NotAvailable, race_check
from relift.compiler.running.compiled import Compiled


def complaints(compiled: Compiled, inputs: Iterable[Any]) -> list[str]:
    """The races, stray accesses and uses of what was not written, in a run on these inputs."""
    found = race_check(compiled, tuple(inputs))
    if isinstance(found, NotAvailable):
        pytest.skip(found.reason)
    return found
