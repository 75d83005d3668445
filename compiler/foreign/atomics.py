"""Updates of cells that cannot be interrupted, which work-items may make in any order.

Of whole numbers a sum, a maximum, a minimum and what bits are combined by are one value in every order; of floats a sum
is where it may be regrouped.  What an update gives back depends on the order, so nothing follows it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from relift.compiler.foreign.ways.paths import certain
from relift.compiler.foreign.ways.pointers import Either
from relift.compiler.text.c_types import FLOATS, RANGES, plain
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import Expression, Invocation, Whole
from relift.compiler.validation.arithmetic import Arithmetic, wrapped
from relift.compiler.validation.machine import (
    Fault,
    Item,
    Memory,
    Several,
    Shared,
    Undecided,
    Vectors,
)
from relift.compiler.validation.symbols import OPEN, Algebra, Symbol
from relift.compiler.validation.translation.operators import as_type
from relift.compiler.validation.translation.python import Code

_ATOMIC = re.compile(r"atom(ic)?_[\w·]+")
_SHORT = re.compile(r"atom(?:ic)?_(add|sub|min|max|and|or|xor|inc|dec)")
_LONG = re.compile(r"atomic_fetch_(add|sub|min|max|and|or|xor)(_explicit)?")
_LOAD = re.compile(r"atomic_load(_explicit)?")
_STORE = re.compile(r"atomic_(?:store|init)(_explicit)?")

_ENDS = {"min": 1, "max": 0}
"""Which end of a type changes nothing."""


def is_atomic(function: str) -> bool:
    """Whether a function is called as those that cannot be interrupted are."""
    return _ATOMIC.fullmatch(function) is not None


@dataclass(frozen=True)
class Update:
    """The cell that is updated, by which operation, and with what."""

    pointer: Expression
    operation: str
    operand: Expression
    subtracted: bool = False


def update_of(e: Invocation) -> Update | None:
    """What a call updates; None where it does not."""
    if m := _LONG.fullmatch(e.function):
        fits = len(e.arguments) in ((3, 4) if m[2] else (2,))
    elif m := _SHORT.fullmatch(e.function):
        fits = len(e.arguments) == (1 if m[1] in ("inc", "dec") else 2)
    else:
        return None
    if not fits:
        raise NotUnderstood(f"{len(e.arguments)} arguments of {e.function}")
    operand = Whole(1) if m[1] in ("inc", "dec") else e.arguments[1]
    subtracted = m[1] in ("sub", "dec")
    operation = "add" if subtracted or m[1] == "inc" else m[1]
    return Update(e.arguments[0], operation, operand, subtracted)


def loaded_by(e: Invocation) -> Expression | None:
    """Where a call reads a cell without interruption; None where it does not."""
    m = _LOAD.fullmatch(e.function)
    return e.arguments[0] if m and len(e.arguments) in ((2, 3) if m[1] else (1,)) else None


def stored_by(e: Invocation) -> tuple[Expression, Expression] | None:
    """Where a call sets a cell without interruption, and to what."""
    m = _STORE.fullmatch(e.function)
    fits = m is not None and len(e.arguments) in ((3, 4) if m[1] else (2,))
    return (e.arguments[0], e.arguments[1]) if fits else None


def in_no_order(function: str) -> NotUnderstood:
    """Why the result of an update is not followed, nor one by what was there before."""
    return NotUnderstood(f"the result of {function}, which depends on the order of work-items,")


def in_unknown_order(scalar: str, function: str) -> NotUnderstood:
    """Why a sum of floats is not followed where + may not be regrouped."""
    return NotUnderstood(f"a sum of {scalar} in the order of {function}, which is not known,")


def updated(values: Any, e: Invocation) -> str | None:
    """The Python of a call that updates or sets a cell; None where it is none."""
    if (stored := stored_by(e)) is not None:
        memory, at, t = values.pointer(stored[0])
        value = as_type(values.w, values.value(stored[1]), plain(t))
        return f"set_atomically(it, {memory}, {at.text}, {value.text})"
    if (update := update_of(e)) is None:
        return None
    memory, at, t = values.pointer(update.pointer)
    scalar = plain(t).scalar
    if t.constant or t.width > 1:
        raise NotUnderstood(f"{e.function} of such cells")
    if scalar in FLOATS and update.operation != "add":
        raise NotUnderstood(f"{e.function} of {scalar}")
    if scalar in FLOATS and not values.contracted:
        raise in_unknown_order(scalar, e.function)
    value = as_type(values.w, values.value(update.operand), plain(t))
    known = f"{update.operation!r}, {scalar!r}, {value.text}, {update.subtracted}"
    return f"updated(it, {memory}, {at.text}, {known})"


def loaded(values: Any, pointer: Expression) -> Code:
    """A cell that is read without interruption."""
    memory, at, t = values.pointer(pointer)
    return Code(f"loaded_atomically(it, {memory}, {at.text})", plain(t))


# ---- while a kernel runs


@dataclass(frozen=True)
class _Updates:
    """The updates of a cell since it was last written: those since the last barrier, all, and who made the last one.

    `written`: the group that wrote the cell before, which no other group may have been in.
    """

    latest: frozenset[str]
    all: frozenset[str]
    writer: tuple[Item, int]
    written: object


@dataclass
class Updating:
    """What updates do to cells; all that may be made in no order must be of one operation."""

    made: dict[tuple[int, int], _Updates] = field(default_factory=dict[tuple[int, int], _Updates])

    def update(
        self,
        arithmetic: Arithmetic,
        it: Item,
        memory: Any,
        at: Any,
        operation: str,
        scalar: str,
        value: Any,
        subtracted: bool,
    ) -> None:
        """Combine a cell with a value; where data decide, where they do."""
        if isinstance(memory, Either):
            known = operation, scalar, value, subtracted
            memory.each(it, lambda one: self.update(arithmetic, it, one, at, *known))
            return
        if isinstance(memory, Vectors):
            raise Undecided("a lane of a vector in memory is updated")
        if subtracted:
            value = _negative(arithmetic, scalar, value)
        for path, place in it.ways.places(memory, it, at):
            with it.ways.at(it, path):
                i, here = memory.place(it, place, "updates"), value
                if it.under is not None:
                    here = _if(arithmetic, it.under.since(None), operation, scalar, value)
                found = _combined(arithmetic, operation, scalar, memory.cells[i], here)
            if isinstance(memory, Shared):
                ordered = partial(self.ordered, it, memory, i, operation)
                if path is None:
                    ordered()
                else:
                    with it.ways.at(it, path):
                        certain(it, ordered)
                memory.cells[i] = found
            else:
                with it.ways.at(it, None):
                    memory.store(it, i, found)

    def ordered(self, it: Item, memory: Shared, i: int, operation: str) -> None:
        """Nobody else may have read or written the cell since the last barrier, nor updated it otherwise."""
        if it.under is not None:
            memory.doubtful[i] = it.under.since(None)
        if i in memory.sometimes:
            it.ways.alone(memory, it, i, writes=True)
        epoch, w, r = memory.epoch(it), memory.writers[i], memory.readers[i]
        if r is not None and r[0] is not it and not (r[1] is it.group and r[2] < epoch):
            said = f"{memory.name}[{i}] is updated by {it} and read by {r[0] or 'others'}"
            raise memory.race(i, said)
        before = self.made.get((id(memory), i))
        if before is not None and before.writer is w:
            found = self._after(it, memory, i, epoch, operation, before)
        elif w is not None and w[0] is it and w[1] == epoch:
            return  # an update of what it wrote itself since the last barrier is one more write
        elif w is not None and not (w[0].group is it.group and w[1] < epoch):
            said = f"{memory.name}[{i}] is updated by {it} and written by {w[0]}"
            raise memory.race(i, said)
        else:
            own = frozenset([operation])
            found = _Updates(own, own, (it, epoch), None if w is None else it.group)
        self.made[id(memory), i] = found
        memory.writers[i] = found.writer

    def _after(
        self, it: Item, memory: Shared, i: int, epoch: int, operation: str, before: _Updates
    ) -> _Updates:
        """The updates of a cell, and one more."""
        last, when = before.writer
        own, one_group = frozenset([operation]), last.group is it.group
        if not one_group and before.written is not None:
            raise memory.race(
                i, f"{memory.name}[{i}] is updated by {it} and written in another group"
            )
        if one_group and (last is it or when < epoch):
            latest = before.latest | own if when == epoch else own
            return _Updates(latest, before.all | own, (it, epoch), before.written)
        if (before.latest if one_group else before.all) != own:
            said = f"{memory.name}[{i}] is updated by two operations, in the order of work-items"
            raise Undecided(said)
        several = Several(it.group if one_group else object())
        return _Updates(own, before.all, (several, epoch), before.written)


def _kind(scalar: str) -> str:
    return FLOATS.get(scalar) or ("i64" if "long" in scalar else "i32")


def larger(a: Algebra, x: Symbol, y: Symbol, *, least: bool = False) -> Symbol:
    """The larger of two floats, or the smaller: the first, unless the second is beyond it."""
    return a.select(a.lt(y, x) if least else a.lt(x, y), y, x)


def _negative(arithmetic: Arithmetic, scalar: str, value: Any) -> Any:
    return arithmetic.algebra.neg(value) if isinstance(value, Symbol) else wrapped(-value, scalar)


def _if(arithmetic: Arithmetic, under: Any, operation: str, scalar: str, value: Any) -> Any:
    """The value where a condition holds, else what changes nothing."""
    a, kind = arithmetic.algebra, _kind(scalar)
    if scalar in FLOATS:
        neutral = a.real({"add": -0.0, "max": -math.inf, "min": math.inf}[operation], kind)
    elif operation in _ENDS:
        neutral = a.whole(RANGES[scalar][_ENDS[operation]], kind)
    else:
        neutral = a.whole(-1 if operation == "and" else 0, kind)
    return arithmetic.picked(under, a.lift(value, kind), neutral)


def _combined(arithmetic: Arithmetic, operation: str, scalar: str, old: Any, value: Any) -> Any:
    if old is OPEN or value is OPEN:
        return OPEN
    if operation in _ENDS and scalar in FLOATS:
        return larger(arithmetic.algebra, old, value, least=operation == "min")
    if operation in _ENDS:
        return arithmetic.extreme(operation, scalar, old, value)
    a, kind = arithmetic.algebra, _kind(scalar)
    if isinstance(old, Symbol) or isinstance(value, Symbol):
        x, y = a.lift(old, kind), a.lift(value, kind)
        return a.add(x, y) if operation == "add" else a.bits(operation, x, y)
    if operation == "add":
        return wrapped(old + value, scalar)
    return arithmetic.operation({"and": "&", "or": "|", "xor": "^"}[operation], scalar)(old, value)


def loaded_atomically(it: Item, memory: Memory, at: Any) -> Any:
    """A cell, which others may have changed."""
    return _atomically(lambda: memory.load(it, at))


def set_atomically(it: Item, memory: Any, at: Any, value: Any) -> None:
    """Set a cell, which others may read or set."""
    if it.under is not None:
        raise Undecided("a cell is set without interruption under a condition on data")
    _atomically(lambda: memory.store(it, at, value))


def _atomically(access: Any) -> Any:
    """What is no race, but depends on the order of work-items."""
    try:
        return access()
    except Fault as fault:
        if fault.kind != "race":
            raise
        raise Undecided(f"{fault.detail}, without interruption but in no order") from None
