"""The expressions in the text of a kernel, as they are shown to people."""

from __future__ import annotations

import re

from relift.compiler.text.reader import Expression, in_c

_SHOWN = {"get_global_id": "glb", "get_group_id": "wrg", "get_local_id": "lcl"}


def shown(e: Expression) -> str:
    """An expression as the kernel would write it."""
    text = re.sub(r"#\d+", "", in_c(e))
    return re.sub(r"\b(get_\w+_id)\((\d)\)", lambda m: f"{_SHOWN.get(m[1], m[1])}_{m[2]}", text)
