"""The nearest cache of this machine's cores, as Linux describes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True)
class NearestCache:
    """Its bytes, and how many lines each of its sets has; under the names that a description of a device has for them."""

    nearest_bytes: int
    nearest_ways: int


@cache
def nearest_cache(described: Path = SYSTEM) -> NearestCache | None:
    """The data cache of the first level; None where the system does not describe it.

    >>> from pathlib import Path
    >>> from relift.compiler.devices.caches import nearest_cache
    >>> nearest_cache(Path("/nowhere")) is None
    True
    """
    for each in sorted(described.glob("index*")):
        try:
            level, kind, size, ways = (
                (each / name).read_text(encoding="ascii").strip()
                for name in ("level", "type", "size", "ways_of_associativity")
            )
        except OSError:
            continue
        if level == "1" and kind in ("Data", "Unified") and size.endswith("K") and int(ways) > 0:
            return NearestCache(int(size.removesuffix("K")) * 1024, int(ways))
    return None
