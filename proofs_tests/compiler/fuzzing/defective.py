"""A device with a defect: a driver that builds something else than what it is given.

    stale       what follows a barrier sees what was written before the one before it (D1 of the review)
    regroups    folds of floats are taken in another order (D2)
    refuses     a kernel with a barrier is not built
    crashes     a kernel with a barrier ends the process
    hangs       a kernel with a barrier is never done

`device` is what a campaign asks; the process is `python -m proofs_tests.compiler.fuzzing.defective DEFECT …`.
"""

from __future__ import annotations

import os
import re
import signal
import sys

from relift.compiler.fuzzing.judgement.child import serve
from relift.compiler.fuzzing.judgement.containment import Contained

_BARRIER = re.compile(r"\bbarrier\([^)]*\);")


def device(defect: str, target: str | None = None, seconds: float = 60.0) -> Contained:
    """A device with a defect."""
    words = (sys.executable, "-m", __spec__.name if __spec__ else __name__, defect)
    return Contained(target, seconds=seconds, words=words)


def built(defect: str, text: str) -> tuple[str, tuple[str, ...]]:
    """What the driver builds for a text."""
    if defect == "stale":
        return _BARRIER.sub(";", text), ()
    if defect == "regroups":
        return text.replace("FP_CONTRACT OFF", "FP_CONTRACT ON"), ("-cl-fast-relaxed-math",)
    if _BARRIER.search(text):
        if defect == "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        if defect == "hangs":
            signal.pause()
        return f"{text}\n#error no barriers", ()
    return text, ()


if __name__ == "__main__":
    serve(lambda text: built(sys.argv[1], text))
