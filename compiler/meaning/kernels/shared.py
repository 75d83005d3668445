"""What is left of a kernel when only local memory matters: who writes what there, and the barriers.

The work-items of a group run this, and one whose numbers are not known runs the kernel: it stands for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from relift.compiler.text.tree import (
    Assignment,
    Barrier,
    Declaration,
    Element,
    Evaluation,
    Guard,
    Invocation,
    KernelText,
    Loop,
    Prefix,
    Statement,
    expressions_of,
    root_of,
    statements_within,
    variables,
)


def numbered(body: Sequence[Statement]) -> dict[int, int]:
    """The loops of a kernel by their identity."""
    loops = (s for s in statements_within(body) if isinstance(s, Loop))
    return {id(s): k for k, s in enumerate(loops, start=1)}


@dataclass
class Slice:
    """The part of a kernel that says what local memory holds; `numbers` has its loops, too."""

    text: KernelText
    numbers: dict[int, int] = field(default_factory=dict)
    kept: list[Loop] = field(default_factory=list)

    def kernel(self) -> KernelText:
        """That part as a kernel."""
        self.numbers = numbered(self.text.body)
        self.local = {
            s.name
            for s in statements_within(self.text.body)
            if isinstance(s, Declaration) and s.type.space.of_group
        }
        self.needed: set[str] = set()
        while True:
            before = len(self.needed)
            body = self._body(self.text.body)
            if len(self.needed) == before:
                return replace(self.text, body=body)

    def _body(self, body: Sequence[Statement]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for s in body:
            kept = self._statement(s)
            if kept is not None:
                found.append(kept)
        return tuple(found)

    def _statement(self, s: Statement) -> Statement | None:
        match s:
            case Barrier():
                return s
            case Declaration(_, name, _, _):
                keep = name in self.needed or name in self.local
            case Assignment(target, _, _):
                keep = bool(root_of(target) & (self.needed | self.local))
            case Evaluation(Invocation(_, (_, _, pointer))):
                keep = bool(root_of(pointer) & (self.needed | self.local))
            case Evaluation(Invocation(_, (Prefix("&", Element() as cell), _))):
                keep = bool(root_of(cell) & (self.needed | self.local))
            case Evaluation():
                keep = True
            case Loop() | Guard():
                inner = self._body(s.body)
                if not inner:
                    return None
                self._need(s)
                made = replace(s, body=inner)
                if isinstance(made, Loop):
                    self.numbers[id(made)] = self.numbers[id(s)]
                    self.kept.append(made)
                return made
        if not keep:
            return None
        self._need(s)
        return s

    def _need(self, s: Statement) -> None:
        for e in expressions_of(s):
            self.needed |= variables(e)
