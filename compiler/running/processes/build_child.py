"""The process that builds kernels, so that a driver which crashes takes no other one along.

It is run as a script, with the number of a connection, and needs pyopencl only.  A request is (device, source,
options, seconds); the answer is `("built", binary)`, the binary empty where the driver has none, or
`("refused", log)`.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pyopencl as cl

Address: TypeAlias = tuple[str, str, str, int]
"""Name and version of the platform, name of the device, and its number among those of one name."""


UNCACHED: Any = False
"""What pyopencl takes for a folder of none, though its annotation does not say so: its own cache fails where the
home cannot be written."""


def main(channel: int) -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends when its parent does
    folder = os.environ["PYOPENCL_HOME"]
    import pyopencl as cl

    os.environ["PYOPENCL_HOME"] = folder  # importing it has forgotten what its parent registered
    opened: dict[Address, cl.Context] = {}
    with Connection(channel) as connection:
        while True:
            try:
                wanted, source, options, seconds = connection.recv()
            except EOFError:
                return
            signal.alarm(seconds)  # no parent may be left to end it
            if wanted not in opened:
                opened[wanted] = cl.Context([addressed()[wanted]])
            connection.send(built(opened[wanted], source, options))
            signal.alarm(0)


def addressed() -> dict[Address, cl.Device]:
    """The devices by what they are known by in another process."""
    import pyopencl as cl

    found: dict[Address, cl.Device] = {}
    for platform in cl.get_platforms():
        try:
            devices = platform.get_devices()
        except cl.Error:
            continue  # a driver without its device
        for device in devices:
            about = platform.name, platform.version, device.name
            found[(*about, sum(known[:-1] == about for known in found))] = device
    return found


def built(context: cl.Context, source: str, options: list[str]) -> tuple[str, Any]:
    """A program's binary, or why the driver refuses it."""
    import pyopencl as cl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the driver's compiler has to say of good code
        try:
            program = cl.Program(context, source).build(options, cache_dir=UNCACHED)
        except cl.Error as error:
            return "refused", said_of(error)
    try:
        binaries: Any = program.get_info(cl.program_info.BINARIES)
    except cl.Error:
        return "built", b""
    return "built", binaries[0]


def said_of(error: Exception) -> str:
    """What a driver says of a kernel that it refuses, without the copy of the source that pyopencl leaves behind."""
    text, _, copy = str(error).partition("\n(source saved as ")
    if copy:
        with suppress(OSError):
            os.unlink(copy.rstrip(")"))
    return text


if __name__ == "__main__":
    main(int(sys.argv[1]))
