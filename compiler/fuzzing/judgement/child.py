"""The process of a device: builds and runs what it is sent, until nothing more is sent or a driver ends it.

python -m relift.compiler.fuzzing.judgement.child DESCRIPTOR TARGET PLAIN
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from relift.compiler.bench.bundle_runner import EXACT, for_device, in_order
from relift.compiler.devices.naming import Device, label
from relift.compiler.devices.survey import REASSOCIATES, defects, find_device
from relift.compiler.dialects.backend import backend_of
from relift.compiler.dialects.reading import understood
from relift.compiler.running.compiled import LAUNCH, SOURCE, of_files
from relift.semantics.errors import ReliftError

Built: TypeAlias = Callable[[str], tuple[str, tuple[str, ...]]]
"""What is built for a text, and with which options: a device that is defective on purpose builds something else."""


class NotPrinted(ReliftError):
    """A text that Relift does not write in the language of a device, which never sees it."""


def require_printed(device: Device, text: str) -> None:
    """Raise `NotPrinted` for a text that Relift's own printer refuses; OpenCL is given the text as it is."""
    back_end = backend_of(device)
    if back_end.name == "opencl":
        return
    try:
        back_end.text(understood(text, back_end.title))
    except ReliftError as error:
        raise NotPrinted(error.message, place="") from None


def ran(
    device: Device, source: str, launch: str, rows: dict[str, Any], plain: bool, built: Built
) -> tuple[list[Any], str]:
    """The results of a program, and the text that the driver was given."""
    text = source
    if not plain and EXACT in source and REASSOCIATES in defects(device):
        text = in_order(source)
    plan = of_files({SOURCE: source, LAUNCH: launch}).plan
    given, options = built(text)
    require_printed(device, text)
    session = backend_of(device).session(given, plan, device, options, apart=False)
    found = [row.copy() for row in session.run(rows)]
    return found, for_device(text, device) if backend_of(device).name == "opencl" else text


def as_it_is(text: str) -> tuple[str, tuple[str, ...]]:
    """What a driver is given: the text, and no options."""
    return text, ()


def serve(built: Built = as_it_is) -> None:
    """Answer until the other end is closed; `built` says what is built for a text, and with which options."""
    descriptor, target, plain = sys.argv[-3:]
    connection = Connection(int(descriptor))
    _lost_with_its_parent()
    try:
        device = find_device(target or None)
    except ReliftError as error:
        connection.send(("refused", error.message))
        return
    connection.send(("device", label(device)))
    while True:
        try:
            request = connection.recv()
        except EOFError:
            os._exit(0)  # drivers have threads that may not end
        try:
            source, launch, rows = request
            answer = ran(device, source, launch, rows, plain == "1", built)
            connection.send(("results", answer))
        except NotPrinted as error:
            connection.send(("not printed", error.message))
        except ReliftError as error:
            connection.send(("refused", error.message))


def _lost_with_its_parent() -> None:
    """A crash leaves no file behind, and a program that hangs ends with whoever waited for it."""
    import ctypes
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux."""


if __name__ == "__main__":
    serve()
