"""The memories of a device, as programs name them."""

from __future__ import annotations

from typing import Literal, TypeAlias

Space: TypeAlias = Literal["global", "local", "private"]
"""Of the device, of a work-group, of a work-item."""
