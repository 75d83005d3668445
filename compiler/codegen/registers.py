"""Private arrays that are registers: where every index is a constant, each element has a name of its own.

Drivers differ in whether they keep an array in registers; a scalar or a vector with a name they all do.  An array with
one index that is known at run time only stays an array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_DECLARATION = re.compile(r"( *)(\w+) (\w+)\[(\d+)\];")


def named_registers(lines: Sequence[str], fresh: Callable[[str], str]) -> list[str]:
    """The lines of a kernel's body, where private arrays with constant indices are variables.

    `fresh` makes a name that nothing in the kernel has.  A variable is declared where it is first written, if that is
    in the block of the array.

    >>> body = ["float4 own[2];", "own[0] = x;", "for (...) {", "  own[1] = own[0] + own[0];", "}", "y[i] = 1;"]
    >>> print(*named_registers(body, lambda hint: hint), sep="\\n")
    float4 own1;
    float4 own0 = x;
    for (...) {
      own1 = own0 + own0;
    }
    y[i] = 1;
    """
    found = list(lines)
    for declaration in lines:
        if (m := _DECLARATION.fullmatch(declaration)) is not None:
            found = _named(found, found.index(declaration), m[3], int(m[4]), fresh)
    return found


def _named(
    lines: list[str], at: int, array: str, extent: int, fresh: Callable[[str], str]
) -> list[str]:
    """The same for one array, declared in line `at`; the lines as they are where it has to stay."""
    anywhere = re.compile(rf"(?<![\w.]){array}\b")
    constant = re.compile(rf"(?<![\w.]){array}\[(\d+)\]")
    rest = lines[at + 1 :]
    mentions = [line for line in rest if anywhere.search(line)]
    text = "\n".join(mentions)
    used = {int(m[1]) for m in constant.finditer(text)}
    if len(anywhere.findall(text)) != len(constant.findall(text)) or max(used, default=0) >= extent:
        return lines
    m = _DECLARATION.fullmatch(lines[at])
    assert m is not None, "cannot happen: no declaration"
    indent, t, between = m[1], m[2], "_" if array[-1].isdigit() else ""
    names = {k: fresh(f"{array}{between}{k}") for k in sorted(used)}
    written = [constant.sub(lambda m: names[int(m[1])], line) for line in rest]
    late = _declare_at_first_write(written, indent, t, names)
    declared = [f"{indent}{t} {', '.join(names[k] for k in late)};"] if late else []
    return [*lines[:at], *declared, *written]


def _declare_at_first_write(
    lines: list[str], indent: str, t: str, names: dict[int, str]
) -> list[int]:
    """Make the first mention of a name its declaration, in place; the elements for which it cannot be."""
    late = []
    for k, name in names.items():
        mention = re.compile(rf"(?<![\w.]){name}\b")
        first = next(i for i, line in enumerate(lines) if mention.search(line))
        start = f"{indent}{name} = "
        left = any(len(line) - len(line.lstrip()) < len(indent) for line in lines[:first])
        whole = lines[first].startswith(start) and not mention.search(lines[first][len(start) :])
        if whole and not left:
            lines[first] = f"{indent}{t} {lines[first][len(indent) :]}"
        else:
            late.append(k)
    return late
