"""What C can say where a loop stands: the variables that are in scope there, and which value each holds.

A call in the place of a loop is given what the loop works on.  That is values of LLVM's graph, and a variable of C may be
several of them, one after the other; so it is followed which one reaches the loop, whichever way it is come to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from relift.compiler.idioms.facts.control import Control, Loop
from relift.compiler.idioms.facts.evolution import harmless
from relift.compiler.idioms.facts.llvm.ir import Extent, Function, Instruction
from relift.compiler.idioms.facts.names import bare, is_global
from relift.compiler.idioms.replacement.spelling import Kept

_UNKNOWN = ""
_OPERATIONS = {"sdiv": "/", "srem": "%", "ashr": ">>", "and": "&"}
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


class Standing:
    """Where one loop stands in the text of its file."""

    def __init__(
        self, function: Function, control: Control, loop: Loop, extent: Extent, text: str
    ) -> None:
        self.function, self.control, self.loop, self.extent = function, control, loop, extent
        self.head, self.text = head_of(text, (extent.line, extent.column)), text

    def require_plain_head(self) -> None:
        """Raise `Kept` where the first part of a `for` does more than to set what the loop counts with."""
        if re.search(r"[A-Za-z_]\w*\s*\(", self.head):
            raise Kept("the head of the loop calls something")
        begin, end = (
            (self.extent.line, self.extent.column),
            (self.extent.last_line, self.extent.last_column),
        )
        for i in self.function.instructions():
            is_within = begin <= (i.line, i.column) <= end and i.block not in self.loop.blocks
            writes = i.opcode == "store" or (i.opcode == "call" and not harmless(i))
            if is_within and writes and self.control.dominates(i.block, self.loop.header):
                raise Kept(f"the head of the loop stores (line {i.line})")

    def spelled(self, value: str) -> str:
        """A value as C says it before the loop; raises `Kept`."""
        found = self._said(value)
        if found is None:
            names = self.function.variables.get(value, (bare(value),))
            raise Kept(f"{names[0]} has no name where the loop stands")
        return found

    def result(self, phi: str) -> str:
        """The variable that holds what the loop carries; raises `Kept`."""
        given = self.function.assigned.get(self.loop.header, ())
        names = {self._visible[v] for v, value in given if value == phi and v in self._visible}
        if len(names) != 1:
            raise Kept("the variable that holds the result is not known")
        (name,) = names
        if re.search(rf"\bregister\b[^;{{]*\b{re.escape(name)}\b", self.text):
            raise Kept(f"{name} is a register variable, which has no address")
        return name

    # ---- values

    def _said(self, value: str) -> str | None:
        if is_global(value):
            of_file = bare(value)
            return of_file if of_file.isidentifier() and of_file not in self._locals else None
        for variable, held in sorted(self._held.items()):
            name = self._visible.get(variable)
            if held == value and name is not None and not self._is_set_in_head(name):
                return name
        i = self.function.values.get(value)
        return None if i is None else self._computed(i)

    def _computed(self, i: Instruction) -> str | None:
        """A value that has no name, from one that has: what follows a loop, and whole numbers with constants."""
        is_before = i.block not in self.loop.blocks
        if is_before and ((i.opcode == "phi" and len(set(i.operands)) == 1) or i.opcode == "sext"):
            return self._said(i.operands[0])
        if i.opcode not in _OPERATIONS or not re.match(r"\d+$", i.operands[-1]):
            return None
        if int(i.operands[-1]) == 0 or i.type not in ("i32", "i64"):
            return None
        inner = self._said(i.operands[0])
        return None if inner is None else f"({inner} {_OPERATIONS[i.opcode]} {i.operands[-1]})"

    def _is_set_in_head(self, name: str) -> bool:
        set_to = rf"(?<![\w.>]){re.escape(name)}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)"
        counted = rf"(?:\+\+|--)\s*{re.escape(name)}\b|(?<![\w.>]){re.escape(name)}\s*(?:\+\+|--)"
        return bool(re.search(f"{set_to}|{counted}", self.head))

    # ---- variables

    @cached_property
    def _locals(self) -> frozenset[str]:
        return frozenset(v.name for v in self.function.declared.values())

    @cached_property
    def _visible(self) -> Mapping[str, str]:
        """The names of the variables that are in scope and that no other one hides, by variable."""
        depth = {scope: number for number, scope in enumerate(self.extent.scopes)}
        nearest: dict[str, tuple[int, str]] = {}
        for variable, v in self.function.declared.items():
            if v.scope in depth and v.line <= self.extent.line:
                known = nearest.get(v.name)
                if known is None or depth[v.scope] < known[0]:
                    nearest[v.name] = (depth[v.scope], variable)
        declared = re.match(r"\s*(?:[A-Za-z_]\w*[\s*]+)+(\w+)\s*=", self.head)
        own = {declared[1]} if declared is not None else set[str]()
        return {variable: name for name, (_, variable) in nearest.items() if name not in own}

    @cached_property
    def _held(self) -> Mapping[str, str]:
        """The value that each variable holds where the loop is come to, by variable."""
        outside = [
            b
            for b in self.control.function.predecessors[self.loop.header]
            if b not in self.loop.blocks
        ]
        return merged([self._after[b] for b in outside if b in self._after])

    @cached_property
    def _after(self) -> Mapping[str, Mapping[str, str]]:
        """What each variable holds at the end of each block."""
        found: dict[str, Mapping[str, str]] = {}
        blocks = list(self.control.dominator)
        changed = True
        while changed:
            changed = False
            for block in blocks:
                before = [found[b] for b in self.function.predecessors[block] if b in found]
                held = {**merged(before), **dict(self.function.assigned.get(block, ()))}
                if found.get(block) != held:
                    found[block], changed = held, True
        return found


def merged(states: list[Mapping[str, str]]) -> dict[str, str]:
    """What variables hold where several ways meet: a value where it is the same on all of them."""
    names = {name for state in states for name in state}
    values = {name: {state.get(name, _UNKNOWN) for state in states} for name in names}
    return {name: found.pop() if len(found) == 1 else _UNKNOWN for name, found in values.items()}


def head_of(text: str, place: tuple[int, int]) -> str:
    """The first part of the `for` at a line and a column, without comments; nothing of another loop.

    >>> from relift.compiler.idioms.replacement.standing import head_of
    >>> head_of("for (i = 0, s = 0; i < n; i++) s += x[i];", (1, 1))
    'i = 0, s = 0'
    """
    rest = "\n".join(text.split("\n")[place[0] - 1 :])
    rest = _COMMENT.sub(" ", rest.encode()[place[1] - 1 :].decode(errors="replace"))
    m = re.match(r"for\s*\(([^;]*);", rest)
    return m[1] if m is not None else ""
