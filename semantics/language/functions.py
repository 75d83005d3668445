"""The patterns as functions of a program, each under its pattern's name.

What a type checker sees of them is `functions.pyi`, which `python -m relift.semantics.language.functions` prints.
"""

from __future__ import annotations

import inspect

from relift.semantics.language.tracing import PartialApplication
from relift.semantics.patterns import PATTERNS

_FUNCTIONS = {
    name: PartialApplication(pattern) for name, pattern in PATTERNS.items() if not pattern.spelled
}
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)  # pyright: ignore[reportUnsupportedDunderAll]  # see the stub


def _hover(name: str) -> str:
    """What an editor shows of a pattern: what it says of itself before its laws and examples."""
    said = inspect.cleandoc(PATTERNS[name].__doc__ or "").split("\n\n")[0]
    return f'"""{" ".join(said.split())}"""'.replace("\\", "\\\\")


def stub() -> str:
    """The text of `functions.pyi`."""
    lines = [
        '"""Printed by `python -m relift.semantics.language.functions`: the patterns as functions."""',
        "",
        "from typing import Final",
        "",
        "from relift.semantics.language.tracing import PartialApplication",
        "",
        *(f"{name}: Final[PartialApplication]\n{_hover(name)}" for name in sorted(__all__)),
        "",
        "def stub() -> str: ...",
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in sorted(__all__)),
        "]",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(stub(), end="")
