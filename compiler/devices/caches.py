"""The two nearest caches of this machine's cores, as Linux describes them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")

_LEVELS = {"1": "nearest", "2": "second"}


@cache
def nearest_caches(described: Path = SYSTEM) -> dict[str, int]:
    """The bytes and the ways of the data caches of the first two levels, called as a description of a device calls them.

    Of a level that the system does not describe, nothing.

    >>> from pathlib import Path
    >>> from relift.compiler.devices.caches import nearest_caches
    >>> nearest_caches(Path("/nowhere"))
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
            found |= {
                f"{name}_bytes": int(size.removesuffix("K")) * 1024,
                f"{name}_ways": int(ways),
            }
    return found
