"""The C that is compared in a process of its own: what is drawn may be what it was never meant for."""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import warnings
from collections.abc import Callable
from typing import IO

from relift.compiler.idioms.evidence import Evidence
from relift.semantics.errors import in_a_line


def contained(work: Callable[[], Evidence]) -> Evidence:
    """What a run shows, in a process of its own where there can be one: C that crashes on what is drawn ends that one."""
    if not hasattr(os, "fork"):
        return work()
    reading, writing = os.pipe()
    with warnings.catch_warnings():  # the child runs nothing that other threads may hold
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        faulthandler.disable()  # the parent says how it ended
        status = 1
        try:
            with os.fdopen(writing, "wb") as out:
                _compare(work, out)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        found = said.read()
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if found:
        shown: Evidence = pickle.loads(found)  # what this process's own child has written
        return shown
    return Evidence(skipped=f"the C ended its process on drawn inputs ({_ending(ended)})")


def _compare(work: Callable[[], Evidence], out: IO[bytes]) -> None:
    """Write what a run shows; where it is not the C that fails, that is said before it is raised."""
    try:
        pickle.dump(work(), out)
    except Exception as error:
        said = f"the comparison failed: {in_a_line(error)}"
        pickle.dump(Evidence(skipped=said), out)
        raise


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"status {status}"
