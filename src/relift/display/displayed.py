"""What has a display: notebooks ask it for HTML."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from typing import Any, ClassVar

from relift.display.blocks import Block


class Displayed:
    """What notebooks show as HTML, with its text beside.

    >>> from relift import f32
    >>> f32[4]._repr_mimebundle_()["text/plain"]
    'f32[4]'
    """

    shown_by: ClassVar[str]
    """The function that says what there is to be seen, in a module above, which is imported when it is asked."""

    def display(self) -> Sequence[Block]:
        """What there is to be seen of it."""
        shown: Sequence[Block] = pkgutil.resolve_name(self.shown_by)(self)
        return shown

    def _repr_html_(self) -> str:
        from relift.display.printing import fragment

        return fragment(self.display())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook keeps: HTML, and text for those that show none."""
        text = getattr(self, "text", None)
        plain = str(text() if callable(text) else self)
        return {"text/plain": plain, "text/html": self._repr_html_()}
