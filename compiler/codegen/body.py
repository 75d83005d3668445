"""The body of a kernel while it grows: statements, and blocks of them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from relift.compiler.text.names import Names, alone, stored_as
from relift.compiler.text.tree import Statement
from relift.semantics.syntax.types import Type


@dataclass(frozen=True)
class Mark:
    """A place in a block that is being written."""

    block: list[Statement]
    index: int


class Body:
    """The statements of a function body.

    >>> from relift.compiler.codegen.body import Body
    >>> from relift.compiler.text.names import Names
    >>> from relift.compiler.text.tree import Evaluation, Guard, Name, call
    >>> body = Body(Names())
    >>> with body.block(lambda inside: Guard(Name("x"), inside)):
    ...     body.add(Evaluation(call("f")))
    >>> body.statements
    (Guard(condition=Name(name='x'), body=(Evaluation(call=Invocation(function='f', arguments=())),)),)
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        self._blocks: list[list[Statement]] = [[]]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements of the block that is being written."""
        return tuple(self._blocks[-1])

    def fresh(self, hint: str, t: Type | None = None) -> str:
        """A name like `hint` that was not used before in this function, for what has components if t has."""
        return self.names.fresh(hint, alone if t is None else stored_as(t))

    def add(self, s: Statement) -> None:
        """One more statement."""
        self._blocks[-1].append(s)

    def taken_back(self) -> Statement:
        """The statement that was added last, which is there no longer."""
        return self._blocks[-1].pop()

    @contextmanager
    def block(
        self, made: Callable[[tuple[Statement, ...]], Statement]
    ) -> Generator[None, None, None]:
        """The statements added inside are the body of the statement that is `made` of them."""
        self._blocks.append([])
        try:
            yield
        finally:
            inside = self._blocks.pop()
        self.add(made(tuple(inside)))

    def mark(self) -> Mark:
        """This place."""
        return Mark(self._blocks[-1], len(self._blocks[-1]))

    def insert(self, mark: Mark, s: Statement) -> None:
        """One more statement at an earlier place."""
        mark.block.insert(mark.index, s)
