"""What a loop carries and nothing uses: sums of which a program has no use stay, though LLVM's passes drop them.

A value that goes only into its own update is marked by a call that nothing defines, in the text, before the passes that
would drop it; the marks are taken out of the text when they are done.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

_VALUE = re.compile(r'%(?:"[^"]*"|[\w.$-]+)')
_PHI = re.compile(rf"^  ({_VALUE.pattern}) = phi (float|double|i\d+) ", re.MULTILINE)
_RECORD = re.compile(r"^    #dbg_.*\n", re.MULTILINE)
_FUNCTION = re.compile(r"^define .*?^\}$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"^ .*call void @relift\.unused\.\w+\(.*\n", re.MULTILINE)


def marked(text: str) -> str | None:
    """The text of a module with its unused sums marked; none where there are none."""
    after: dict[str, str] = {}
    kinds: set[str] = set()
    for function in _FUNCTION.finditer(text):
        if " = phi " in function[0]:
            for line, update, kind in _unused(_RECORD.sub("", function[0])):
                after[line] = f"{line}  call void @relift.unused.{kind}({kind} {update})\n"
                kinds.add(kind)
    if not after:
        return None
    lines = (after.get(line, line) for line in text.splitlines(keepends=True))
    declared = (
        f"declare void @relift.unused.{kind}({kind}) nounwind willreturn memory(inaccessiblemem: readwrite)\n"
        for kind in sorted(kinds)
    )
    return "".join((*lines, *declared))


def unmarked(text: str) -> str:
    """The text without the marks."""
    return _MARK.sub("", text)


def _unused(function: str) -> Iterator[tuple[str, str, str]]:
    """The line that computes an update that only its own phi uses, of which it is the only user; the update, its type."""
    met = Counter(_VALUE.findall(function))
    carried = {m[1]: m[2] for m in _PHI.finditer(function) if met[m[1]] == 2}
    if not carried:
        return
    lines = function.splitlines(keepends=True)
    computed = {m[0]: line for line in lines if (m := _VALUE.match(line.lstrip()))}
    for phi, kind in carried.items():
        for update in _VALUE.findall(computed[phi])[1:]:
            line = computed.get(update, "")
            if met[update] == 2 and phi in _VALUE.findall(line)[1:] and " = phi " not in line:
                yield line, update, kind
