"""The caches of this machine's cores, as Linux describes them, and what they are known for."""

from __future__ import annotations

from functools import cache
from pathlib import Path

SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")

_LEVELS = {"1": "nearest", "2": "second", "3": "third"}

KNOWN: tuple[tuple[str, range, str, dict[str, float]], ...] = (
    ("", range(1, 65), "Intel", {"turned_cycles": 0.55}),
    ("Intel", range(1, 17), "", {"refetch_cycles": 0.5, "unseen_rows": 0.0}),
    ("AMD", range(1, 9), "", {"bandwidth_gbs": 25.0}),
    ("AMD", range(16, 17), "", {"third_gbs": 50.0}),
    ("AMD", range(16, 17), "PoCL", {"turned_cycles": 2.8}),
)
"""By a part of a CPU's name, the numbers that its vectors have, and the implementation of OpenCL if it matters: what is known of its caches,
of its memory and of how a driver reads rows (see `DeviceDescription`).

An Intel Xeon whose sets have 12 lines reads 24 rows that share sets in 0.9 cycles a line, and 0.7 where they do not; a blur of 7 by 7 of
three images of 2048^2 takes 4.4 ms in strips of 8 rows, of which 22 lines share a set, 5.3 and 7.0 in strips of 4 and 2.  Rows of 512 bytes to 8 KB are
added up in 2.0 to 2.5 ms for 2^24 numbers, be it 1, 2, 4 or 8 rows at a time.

Two cores of an AMD EPYC of the third generation, whose vectors have 8, add two arrays of 2^24 numbers up at 22 to 25 GB/s, through Intel's driver
and PoCL; those of the fourth, whose have 16, at 57 to 66, and run stencils on rows of 16 KB at 32 to 40.  Their last cache, of 32 MB, sends the two
120 to 170 GB/s of 4 to 32 MB that are read, and 100 to 150 of what is added up and written; of 64 MB, 104 and 70.

Intel's driver turns squares of rows in registers where lanes each go along a row of their own.  PoCL's LLVM gathers them where vectors have 16
numbers, and nothing fetches what is gathered before: `relift bench --calibrate` measures 2.8 cycles a number on an EPYC.  Through Intel's it measures
0.4, beside sums that hide some of it: of 100,003 rows of 49 and 63 numbers, in the last cache, a number takes 0.6 in all."""


@cache
def data_caches(described: Path = SYSTEM) -> dict[str, int]:
    """The bytes of the data caches, and the ways of those of the first two levels, called as a description of a device calls them.

    Of a level that the system does not describe, nothing.

    >>> from pathlib import Path
    >>> from relift.compiler.devices.caches import data_caches
    >>> data_caches(Path("/nowhere"))
    {}
    """
    found: dict[str, int] = {}
    for each in sorted(described.glob("index*")):
        try:
            level, kind, size, ways = (
                (each / name).read_text(encoding="ascii").strip()
                for name in ("level", "type", "size", "ways_of_associativity")
            )
        except OSError:
            continue
        if (
            level in _LEVELS
            and kind in ("Data", "Unified")
            and size.endswith("K")
            and int(ways) > 0
        ):
            name = _LEVELS[level]
            found[f"{name}_bytes"] = int(size.removesuffix("K")) * 1024
            if name != "third":
                found[f"{name}_ways"] = int(ways)
    return found
