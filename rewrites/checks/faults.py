"""What goes wrong in a tier stays within that tier and its rule, and is one line."""

from __future__ import annotations

import os

from relift.rewrites.checks.isolation import Stopped
from relift.rewrites.checks.verdicts import TierName, TierResult
from relift.semantics.errors import ReliftError, in_a_line, users_line

NAMES: dict[TierName, str] = {
    "1": "types", "2": "random", "3": "free", "4a": "index", "4b": "kernel", "5": "search",
}  # fmt: skip
"""What the tiers are called."""


def unfinished(tier: TierName, error: Exception) -> TierResult:
    """What a tier that failed on a rule says of it, which is no verdict; with RELIFT_TRACEBACK the error goes on.

    >>> from relift.rewrites.checks.faults import unfinished
    >>> found = unfinished("4b", ValueError("no such lemma"))
    >>> found.status, found.detail.partition(" (")[0]
    ('unfinished', 'internal error: ValueError: no such lemma')
    """
    if os.environ.get("RELIFT_TRACEBACK"):
        raise error
    return TierResult(tier, NAMES[tier], "unfinished", _told(error))


def _told(error: Exception) -> str:
    match error:
        case ReliftError():
            return error.message
        case Stopped():
            return str(error)
        case RecursionError():
            return "the rule is nested too deeply for this tier"
        case MemoryError():
            return "it ran out of memory"
        case _:
            told = in_a_line(error)[:200]
            if (place := users_line(error)) is not None:
                return f"{place}: {told}"
            return f"internal error: {told} (a defect of Relift; RELIFT_TRACEBACK=1 shows where)"
