"""Updates of cells by attempts to exchange them (`reading.attempts`): what the attempt does that succeeds.

What it finds in the cell is a value of which nothing is known.  What it puts there must be a sum, a minimum, a maximum or
bits combined of that and of something else: then the order of work-items does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from relift.compiler.foreign.atomics import (
    Updating,
    in_no_order,
    in_unknown_order,
    larger,
    loaded,
    loaded_atomically,
    loaded_by,
    set_atomically,
)
from relift.compiler.foreign.reading.attempts import EXCHANGED, FOUND
from relift.compiler.text.c_types import FLOATS, SIZES, plain, with_sign
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import Cast, CType, Expression, Invocation
from relift.compiler.validation.arithmetic import Arithmetic, kind_of
from relift.compiler.validation.machine import Item, Shared, Undecided
from relift.compiler.validation.operations import CONNECTIVES, Operation
from relift.compiler.validation.symbols import Symbol
from relift.compiler.validation.translation.operators import as_type
from relift.compiler.validation.translation.python import Code

MOST_FAILED = 1000
"""Attempts that may fail where work-items run one after the other."""

_OPERATIONS: Mapping[Operation, str] = {"add": "add", **CONNECTIVES}


def given_back(values: Any, e: Invocation) -> Code:
    """What a function gives back that reads or updates a cell without interruption; raises `NotUnderstood`."""
    if e.function == FOUND:
        memory, at, cell, seen = _cell(values, e.arguments[0])
        text = f"as_found(it, {memory}, {at.text}, {kind_of(cell.scalar)!r})"
        return _taken_as(values, seen, Code(text, cell))
    if e.function == EXCHANGED:
        return _exchanged(values, *e.arguments)
    if (place := loaded_by(e)) is None:
        raise in_no_order(e.function)
    return loaded(values, place)


def _exchanged(values: Any, pointer: Expression, compared: Expression, new: Expression) -> Code:
    memory, at, cell, seen = _cell(values, pointer)
    if seen.scalar in FLOATS:
        raise NotUnderstood("an exchange of floats where one is compared")
    if cell.scalar in FLOATS and not values.contracted:
        raise in_unknown_order(cell.scalar, "attempts")
    there, put = (
        _taken_as(values, cell, as_type(values.w, values.value(v), seen)).text
        for v in (compared, new)
    )
    text = f"exchanged(it, {memory}, {at.text}, {cell.scalar!r}, {there}, {put})"
    return _taken_as(values, seen, Code(text, cell))


def _cell(values: Any, pointer: Expression) -> tuple[str, Code, CType, CType]:
    """A cell: its memory, its place, its type, and the type that it is taken for."""
    seen: CType | None = None
    while isinstance(pointer, Cast) and pointer.type.pointer:
        seen = seen or plain(pointer.type)
        (pointer,) = pointer.arguments
    memory, at, t = values.pointer(pointer)
    cell = plain(t)
    seen = seen or cell
    if t.constant or any(c.width > 1 or SIZES.get(with_sign(c.scalar)) != 4 for c in (cell, seen)):
        raise NotUnderstood("an exchange of such cells")
    return memory, at, cell, seen


def _taken_as(values: Any, t: CType, e: Code) -> Code:
    """The bits of a value as those of another type."""
    if (t.scalar in FLOATS) != (e.type.scalar in FLOATS):
        return values.as_bits(t, e)  # type: ignore[no-any-return]
    return as_type(values.w, e, t)


# ---- while a kernel runs


def without_interruption(arithmetic: Arithmetic, updating: Updating) -> dict[str, Any]:
    """What the code of kernels calls where cells are read, set and updated without interruption."""
    attempts = Attempts(arithmetic, updating)
    return {
        "as_found": attempts.as_found,
        "exchanged": attempts.exchanged,
        "updated": partial(updating.update, arithmetic),
        "loaded_atomically": loaded_atomically,
        "set_atomically": set_atomically,
    }


@dataclass
class Attempts:
    """What attempts have found, each once."""

    arithmetic: Arithmetic
    updating: Updating
    found: dict[Symbol, tuple[Item, Any, Any]] = field(
        default_factory=dict[Symbol, tuple[Item, Any, Any]]
    )
    failed: int = 0

    def as_found(self, it: Item, memory: Any, at: Any, kind: str) -> Any:
        """What lies in a cell when an attempt begins."""
        if it.ways.in_one_order and isinstance(memory, Shared):
            return memory.cells[memory.place(it, it.ways.place(at), "reads")]
        a = self.arithmetic.algebra
        value = a.made("found", kind, a.whole(len(a.table), "i64"))
        self.found[value] = it, memory, at
        return value

    def exchanged(
        self, it: Item, memory: Any, at: Any, scalar: str, compared: Any, new: Any
    ) -> Any:
        """The attempt that succeeds: it gives back what was found."""
        if it.ways.in_one_order and isinstance(memory, Shared):
            return self._in_one_order(it, memory, at, compared, new)
        here = self.found.pop(compared, None) if isinstance(compared, Symbol) else None
        if here is None or here[0] is not it or here[1] is not memory or here[2] != at:
            raise Undecided("a cell is exchanged where it holds what it was not found to hold")
        step = self._step(scalar, compared, new) if isinstance(new, Symbol) else None
        if step is None:
            raise Undecided(
                f"{memory.name} is exchanged for what is no sum, minimum or maximum of what it was"
            )
        self.updating.update(self.arithmetic, it, memory, at, step[0], scalar, step[1], False)
        return compared

    def _in_one_order(self, it: Item, memory: Shared, at: Any, compared: Any, new: Any) -> Any:
        """An attempt where nobody is in between, whatever it puts there."""
        i = memory.place(it, it.ways.place(at), "updates")
        was = memory.cells[i]
        if it.ways.value(was) == it.ways.value(compared):
            self.updating.ordered(it, memory, i, "exchange")
            memory.cells[i] = new
        else:
            self.failed += 1
            if self.failed > MOST_FAILED:
                raise Undecided("attempts to exchange a cell fail though nobody is in between")
        return was

    def _step(self, scalar: str, was: Symbol, new: Symbol) -> tuple[str, Symbol] | None:
        """The operation that makes the new value from the one before, and with what."""
        if new.op in _OPERATIONS and was in new.args:
            operand = new.args[new.args[0] is was]
            return None if _is_found(operand) else (_OPERATIONS[new.op], operand)
        if new.op == "sub" and new.args[0] is was:
            operand = new.args[1]
            return None if _is_found(operand) else ("add", self.arithmetic.algebra.neg(operand))
        for operand in _parts(new):
            if operand is not was and not _is_found(operand):
                for which in ("min", "max"):
                    if new in self._extremes(which, scalar, was, operand):
                        return which, operand
        return None

    def _extremes(self, which: str, scalar: str, x: Symbol, y: Symbol) -> Iterator[Any]:
        """The ways in which a minimum or a maximum of two is written."""
        a, least = self.arithmetic.algebra, which == "min"
        for one, other in ((x, y), (y, x)):
            if scalar not in FLOATS:
                yield self.arithmetic.extreme(which, scalar, one, other)
            found = larger(a, one, other, least=least)
            yield found
            yield a.select(
                a.not_equal(one, one), other, a.select(a.not_equal(other, other), one, found)
            )
            yield a.select(a.le(other, one) if least else a.le(one, other), other, one)


def _parts(x: Symbol) -> Iterator[Symbol]:
    """What a choice of values, or a function of two, is of."""
    for v in x.args[1:] if x.op == "select" else x.args:
        if isinstance(v, Symbol):
            yield v
            if v.op == "select":
                yield from _parts(v)


def _is_found(x: Symbol) -> bool:
    """Whether a value depends on what an attempt found."""
    seen: set[Symbol] = set()
    todo = [x]
    while todo:
        y = todo.pop()
        if y.op == "found":
            return True
        if y not in seen:
            seen.add(y)
            todo += [v for v in y.args if isinstance(v, Symbol)]
    return False
