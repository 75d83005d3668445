"""The child process in which rules are tried, one small e-graph after the other."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from relift.egraph.encode.constructors import constructors
from relift.egraph.encode.prelude import prelude
from relift.egraph.encode.rules import EncodedRule
from relift.egraph.encode.snapshot import Dump
from relift.egraph.process.children import Child, SearchFailed, leave, waiting
from relift.egraph.process.saturation import tables

ARITY = 5
"""Of how many arguments functions are that most rules have."""


@dataclass
class Bench:
    """A child process in which rules are tried, one small e-graph after the other."""

    seconds: float = 60.0
    arity: int = ARITY
    _child: Child | None = field(default=None, repr=False)

    @cached_property
    def _knows(self) -> dict[str, Any]:
        return {
            "program": prelude(self.arity),
            "tables": tables(self.arity, ()),
            "counted": list(constructors(self.arity)),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.__exit__() if kind is not None else leave(child, self._knows)

    def run(self, text: str, rule: EncodedRule) -> Dump:
        """The e-graph of a program on top of the prelude; the first that is asked for starts the process."""
        trial = {"program": text, "tables": {rule.log.relation: rule.log.sorts}}
        if self._child is None and (found := waiting(self._knows)) is not None:
            self._child = found
            with suppress(SearchFailed):  # what others left in it took the room
                return self._asked(found, trial)
        if self._child is None:
            self._child = Child(self._knows).__enter__()
        return self._asked(self._child, trial)

    def _asked(self, child: Child, trial: dict[str, Any]) -> Dump:
        try:
            return Dump(**child.ask(trial, self.seconds)["data"])
        except BaseException:  # its next answer would be to this
            child.__exit__()
            self._child = None
            raise
