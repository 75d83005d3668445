"""What a nest of loops does: to the cells of an array, or to a value that it carries."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from relift.compiler.idioms.facts.accesses import Access
from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.evolution import harmless
from relift.compiler.idioms.facts.llvm.numbers import BITS
from relift.compiler.idioms.facts.names import Counter, bare
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.expressions import SCALARS, Expressions, Paths, line_of
from relift.compiler.idioms.facts.values.folds import replaced
from relift.compiler.idioms.facts.values.narrow import as_cell, as_value
from relift.compiler.idioms.facts.values.terms import (
    TRUE,
    Accumulator,
    Expression,
    Fold,
    Opaque,
    Read,
    all_of,
    either,
    select,
)
from relift.compiler.idioms.lifting.choices import CHOSEN, asking, contains, either_cell, one_of
from relift.semantics.syntax.sizes import Size


@dataclass(frozen=True)
class Turn:
    """A loop of a nest: its counter, how often it runs, and what of that is read."""

    counter: Counter
    trips: Size


@dataclass(frozen=True)
class Cells:
    """Cells of an array, each computed for itself: cell `index` at each iteration of `turns` becomes `value`."""

    base: str
    type: str
    index: Size
    turns: tuple[Turn, ...]
    value: Expression
    cells: str = ""


@dataclass(frozen=True)
class Updates:
    """Updates of cells that data choose, one after the other."""

    base: str
    type: str
    cell: Read
    value: Expression
    guard: Expression
    turns: tuple[Turn, ...]
    """The loops; in the end, where an iteration makes several updates, which of them it is."""


@dataclass(frozen=True)
class Running:
    """The cells of an array, in order: each is stored with a fold so far."""

    base: str
    type: str
    index: Size
    turn: Turn
    name: str
    start: Expression
    update: Expression
    stored: Expression
    cells: str = ""


@dataclass(frozen=True)
class Result:
    """A value that a loop leaves."""

    fold: Fold


Effect = Cells | Updates | Running | Result
OLD = "(cell)"


class Dependent(Opaque):
    """What a nest does depends on what it stores elsewhere, or on what it calls: it is no idiom."""


def effect_of(relations: Relations, root: Loop, result: str, idiom: str) -> Effect:
    """What a nest does to its result; raises `Opaque`, and `Dependent` where that is not a function of what was there before."""
    effect = _effect_of(relations, root, result, idiom)
    _require_as_before(relations, root, relations.accesses.get(result), effect)
    return effect


def _effect_of(relations: Relations, root: Loop, result: str, idiom: str) -> Effect:
    if result not in relations.accesses:
        return _carried(relations, root, result)
    store = relations.accesses[result]
    if idiom == "scan":
        return _running(relations, root, store)
    expressions = relations.builder(root)
    atoms = [n for n in store.index.names() if not expressions.plain(n)]
    if atoms:
        return _updates(relations, root, store, expressions)
    return _cells(relations, root, store, expressions)


def _computed_from(effect: Effect) -> tuple[Expression, ...]:
    """The expressions that an effect is made of."""
    match effect:
        case Cells():
            return (effect.value,)
        case Updates():
            return (effect.value, effect.guard, effect.cell)
        case Running():
            return (effect.start, effect.update, effect.stored)
        case Result(fold):
            return (fold,)


def _require_as_before(
    relations: Relations, root: Loop, target: Access | None, effect: Effect
) -> None:
    """Raise `Dependent` where the nest writes, beside its result, what the result is computed from.

    What is stored elsewhere may be read at the same cell before that; then it is what was there before the nest.
    """
    apart = relations.evolution.apart
    reads = {r for e in _computed_from(effect) for r in all_of(e) if isinstance(r, Read)}
    bases, cells = {r.base for r in reads}, {(r.base, r.index) for r in reads}
    _require_looked_up_once(relations, root, {*bases, *([target.base] if target else [])})
    known = {a.instruction.position: a for _, a in relations.accesses_of(root)}
    loads_of: dict[str, list[Access]] = {}
    for a in known.values():
        if not a.is_store:
            loads_of.setdefault(a.base, []).append(a)
    for i in (i for label in sorted(root.blocks) for i in relations.function.blocks[label]):
        if i.opcode == "call" and not harmless(i):
            raise Dependent(f"it calls {bare(i.about)} (line {i.line})")
        if i.opcode != "store":
            continue
        store = known.get(i.position)
        if store is None:
            raise Dependent(f"it stores to an address that is not understood (line {i.line})")
        is_own = target is not None and store.base == target.base and not apart(store, target)
        if is_own or store.base not in bases:
            continue
        together = target is not None and (store.index - target.index).constant is not None
        loads = loads_of.get(store.base, [])
        own = [a for a in loads if (a.base, a.index) in cells]
        is_all = {(a.base, a.index) for a in own} >= {c for c in cells if c[0] == store.base}
        for load in (
            own if is_all else loads
        ):  # a cell of one of several arrays is no load of its own
            if not apart(load, store) and not comes_first(
                relations, root, load, store, together=together
            ):
                array, line = relations.evolution.spelled(store.base), load.instruction.line
                raise Dependent(f"it reads cells of {array} that it writes (line {line})")


def _require_looked_up_once(relations: Relations, root: Loop, bases: Collection[str]) -> None:
    """Raise `Dependent` where one field is two arrays here, one of them written: it is looked up in places none of which comes first."""
    written = {a.base for _, a in relations.accesses_of(root) if a.is_store}
    fields = {b for b in {*written, *bases} if relations.evolution.fields.place(b) is not None}
    called: dict[str, str] = {}
    for base in sorted(fields, key=lambda b: b not in written):
        name = relations.evolution.spelled(base)
        if called.setdefault(name, base) in written and called[name] != base:
            raise Dependent(f"it looks {name} up in several places, and writes there")


def comes_first(
    relations: Relations, root: Loop, load: Access, store: Access, *, together: bool
) -> bool:
    """Whether a cell is read in the one iteration that writes it, and before that.

    `together`: the store moves as that of the result does, of which it is a condition that no two iterations write one cell.
    """
    loops = [
        x for x in relations.control.around(store.instruction.block) if x.header in root.blocks
    ]
    return (
        (load.index, load.type) == (store.index, store.type)
        and (together or len(loops) == 1)
        and relations.control.instruction_dominates(load.instruction, store.instruction)
        and all(relations.evolution.stride(store, x) not in (None, 0) for x in loops)
    )


def written_beside(relations: Relations, root: Loop, target: str) -> Iterator[str]:
    """The other arrays that a nest writes to."""
    found = (a.base for _, a in relations.accesses_of(root) if a.is_store)
    return (base for base in dict.fromkeys(found) if base != target)


def looked_up(relations: Relations, root: Loop) -> Iterator[tuple[str, Loop]]:
    """The arrays in which a nest looks up what it does not change, fields of structures, and the loop that must not write there.

    That is a loop around the nest where it is there that the nest's fields are looked up first.
    """
    found = [
        (a.base, root)
        for name, a in relations.accesses_of(root)
        if not a.is_store and relations.evolution.stays(name, root)
    ]
    for first, block in relations.function.again.values():
        place = relations.evolution.fields.place(first)
        if block in root.blocks and place is not None:
            is_inside = relations.instructions[first].block in root.blocks
            outermost = relations.control.around(root.header)[0]
            found.append((place[0], root if is_inside else outermost))
    return iter(dict.fromkeys(found))


def _turns(relations: Relations, root: Loop, block: str) -> list[tuple[Loop, Turn]]:
    found: list[tuple[Loop, Turn]] = []
    for loop in relations.control.around(block):
        if loop.header in root.blocks:
            trips = relations.evolution.trips(loop)
            if trips is None:
                raise Opaque(
                    f"the loop at line {line_of(relations.evolution, loop)} is not counted"
                )
            found.append((loop, Turn(loop.counter, trips)))
    return found


def _cell(
    relations: Relations,
    access: Access,
    index: Size,
    computed: tuple[tuple[str, Expression], ...] = (),
) -> Read:
    """A cell of the array of an access."""
    cells = relations.evolution.cells(access.base, access.type)
    return Read(access.base, index, computed, SCALARS[access.type], cells=cells)


def _value(
    relations: Relations, store: Access, cell: Read, root: Loop
) -> tuple[Expression, Expression]:
    """What is stored, with the old content of the cell as an accumulator, and when."""
    i = store.instruction
    together = _together(relations, store)
    if sum(a.is_store for a in together) > 1:
        return _after_all(relations, together, cell, root), TRUE
    expressions = relations.builder(root)
    value = as_cell(expressions.of(i.operands[0], i.types[0]), cell.cells)
    guard = expressions.short(relations.paths(root).reached(i.block))
    old = Accumulator(OLD, cell.type)
    return replaced(value, cell, old), replaced(guard, cell, old)


def _together(relations: Relations, store: Access) -> list[Access]:
    """The accesses to the cell of a store that are made in the same iteration of the same loops, in order."""
    loop = relations.control.loop_of[store.instruction.block]
    found = [
        a for _, a in relations.accesses_of(loop)
        if (a.base, a.index, a.type) == (store.base, store.index, store.type)
        and relations.control.loop_of.get(a.instruction.block) == loop
    ]  # fmt: skip
    order = relations.control.order
    return sorted(found, key=lambda a: (order[a.instruction.block], a.instruction.position))


def _after_all(
    relations: Relations, together: Sequence[Access], cell: Read, root: Loop
) -> Expression:
    """What several stores leave in a cell, by what it held before them; a load gives what the stores before it left."""
    expressions, reached = relations.builder(root), relations.paths(root)
    if not all(a.is_store for a in together):
        expressions = Expressions(relations.evolution, root)
        reached = Paths(expressions, root.header)
    content: Expression = Accumulator(OLD, cell.type)
    for access in together:
        i = access.instruction
        if not access.is_store:
            bits = BITS.get(access.type, 0)
            expressions.carried[i.name] = as_value(content, cell.cells, bits)
            continue
        value = as_cell(expressions.of(i.operands[0], i.types[0]), cell.cells)
        content = select(expressions.short(reached.reached(i.block)), value, content)
    return content


def _cells(relations: Relations, root: Loop, store: Access, expressions: Expressions) -> Cells:
    turns = _turns(relations, root, store.instruction.block)
    kind = expressions.scalar(store.type)
    cell = _cell(relations, store, store.index)
    old = Accumulator(OLD, kind)
    value, guard = _value(relations, store, cell, root)
    value = select(guard, value, old)
    moving = [t for loop, t in turns if relations.evolution.stride(store, loop) != 0]
    staying = [t for loop, t in turns if relations.evolution.stride(store, loop) == 0]
    for _, turn in turns:
        changes = not all(expressions.plain(name) for name in turn.trips.names())
        if any(isinstance(n, Counter) for n in turn.trips.names()) or (changes and turn in moving):
            raise Opaque("the length of a loop changes with the loops around it")
    start = _before(relations, root, store, cell)
    reads_old = contains(value, old)
    if staying and not reads_old:
        raise Dependent("cells are overwritten; the last iteration stays")
    for depth, turn in enumerate(reversed(staying)):
        name = f"{OLD}{turn.counter}"
        outermost = depth == len(staying) - 1
        inner = Accumulator(name, kind)
        update = replaced(value, old, inner) if depth == 0 else value
        begin: Expression = (
            old
            if outermost
            else Accumulator(f"{OLD}{list(reversed(staying))[depth + 1].counter}", kind)
        )
        value = Fold(
            turn.counter.header,
            (name,),
            (begin,),
            (update,),
            kind,
            turn.trips,
            expressions.atoms(turn.trips),
        )
    value = replaced(value, old, start)
    _other_reads(relations, root, value, store, cell)
    return Cells(store.base, kind, store.index, tuple(moving), value, cell.cells)


def _before(
    relations: Relations,
    root: Loop,
    store: Access,
    cell: Read,
) -> Expression:
    """What the cell holds before: what it held before the loop, or what an earlier store of the nest put there."""
    together = _together(relations, store)
    known = {a.instruction.position for a in together}
    elsewhere = (
        a for _, a in relations.accesses_of(root)
        if a.is_store and a.base == store.base and a.instruction.position not in known and not relations.evolution.apart(a, store)
    )  # fmt: skip
    others = list(islice(elsewhere, 2))
    if not others:
        return cell
    if len(others) > 1 or others[0].index != store.index:
        raise Opaque("the array is written in several places")
    first = others[0]
    around = {x.header for x in relations.control.around(first.instruction.block)}
    own = [x.header for x in relations.control.around(store.instruction.block)]
    if own[: len(around)] != [x.header for x in relations.control.around(first.instruction.block)]:
        raise Opaque("the array is written in several loops")
    if not relations.control.instruction_dominates(first.instruction, store.instruction):
        raise Opaque("the array is written in several places")
    loads = [a for _, a in relations.accesses_of(root) if a.base == store.base and not a.is_store]
    before = [
        a
        for a in loads
        if relations.control.instruction_dominates(a.instruction, first.instruction)
    ]
    if before:
        raise Opaque("the array is written in several places")
    value, guard = _value(relations, first, cell, root)
    if guard != TRUE:
        raise Opaque("the array is written in several places, one of them under a condition")
    return replaced(value, Accumulator(OLD, cell.type), cell)


def _other_reads(
    relations: Relations, root: Loop, value: Expression, store: Access, cell: Read
) -> None:
    for e in all_of(value):
        if not isinstance(e, Read) or e.base != store.base or e == cell:
            continue
        access = relations.evolution.accesses.get(e.position)
        if access is not None and relations.evolution.reads_ahead(access, store, root):
            continue
        if access is None or not relations.evolution.apart(access, store):
            raise Opaque("cells are read that other iterations write")


def _updates(relations: Relations, root: Loop, store: Access, expressions: Expressions) -> Updates:
    turns = _turns(relations, root, store.instruction.block)
    kind = expressions.scalar(store.type)
    if not all(expressions.plain(n) for _, t in turns for n in t.trips.names()):
        raise Opaque("the length of a loop changes with the loops around it")
    updates, inside = relations.updates(store), tuple(t for _, t in turns)
    if len(updates) > 1:
        each = Turn(Counter(f"%{CHOSEN}{store.instruction.position}"), Size.of(len(updates)))
        found = [_update(relations, root, one, expressions) for one in updates]
        return Updates(store.base, kind, *one_of(each.counter, found), (*inside, each))
    (cell, value, guard), *others = (
        _update(relations, root, one, expressions) for one in relations.alternatives(store)
    )
    for other_cell, other_value, other_guard in others:
        cell = either_cell(guard, cell, other_cell)
        value, guard = select(guard, value, other_value), either(guard, other_guard)
    return Updates(store.base, kind, cell, value, guard, inside)


def _update(
    relations: Relations, root: Loop, store: Access, expressions: Expressions
) -> tuple[Read, Expression, Expression]:
    """The cell that a store updates, what it becomes, and when."""
    kind = expressions.scalar(store.type)
    cell = _cell(relations, store, store.index, expressions.atoms(store.index))
    value, guard = _value(relations, store, cell, root)
    _other_reads(relations, root, value, store, cell)
    own, guard = asking(guard, Accumulator(OLD, kind))
    if any(isinstance(e, Read) and e.base == store.base for e in all_of(guard)):
        raise Opaque("the condition reads the array that is written")
    return cell, select(own, value, Accumulator(OLD, kind)), guard


def _carried(relations: Relations, root: Loop, phi: str) -> Result:
    found = relations.instructions[phi]
    expressions = relations.builder(root)
    exiting = relations.control.exits(root)
    if not exiting:
        raise Opaque("the loop has no end")
    value = phi
    if relations.evolution.is_late(root):
        value = next(
            v for v, label in zip(found.operands, found.labels, strict=True) if label in root.blocks
        )
    return Result(expressions.fold(root, value, found))


def _running(relations: Relations, root: Loop, store: Access) -> Running:
    i = store.instruction
    (_, turn), *more = _turns(relations, root, i.block)
    if more:
        raise Opaque("a scan in a nest of loops")
    kind = relations.builder(root).scalar(store.type)
    stride = relations.evolution.stride(store, root)
    assert stride is not None, "cannot happen: a scan is found for affine stores"
    if relations.paths(root).reached(i.block) != TRUE:
        raise Opaque("a scan that stores under a condition")
    acc = Accumulator(OLD, kind)
    before = _cell(relations, store, store.index - stride)
    value = _plain_value(relations, root, store)
    if value is not None and contains(value, before):
        first = replace(before, index=before.index.substitute({turn.counter: Size.of(0)}))
        update = replaced(value, before, acc)
        own = [e for e in all_of(update) if isinstance(e, Read) and e.base == store.base]
        if any(e.index != store.index for e in own):  # its own cell is as it was
            raise Opaque("cells are read that other iterations write")
        return Running(
            store.base, kind, store.index, turn, OLD, first, update, update, before.cells
        )
    for phi, entry, back, begin in relations.carried():
        if relations.loop_at(begin) != root:
            continue
        expressions = Expressions(relations.evolution, root)
        acc = Accumulator(phi, expressions.scalar(relations.type_of(phi)))
        expressions.carried[phi] = acc
        try:
            update, stored = (
                expressions.of(back, i.types[0]),
                as_cell(expressions.of(i.operands[0], i.types[0]), before.cells),
            )
        except Opaque:
            continue
        if any(
            isinstance(e, Read) and e.base == store.base
            for x in (update, stored)
            for e in all_of(x)
        ):
            raise Opaque("cells are read that the loop writes")
        start = relations.builder(root).of(entry, i.types[0])
        return Running(
            store.base, kind, store.index, turn, phi, start, update, stored, before.cells
        )
    raise Opaque("what the scan carries is not understood")


def _plain_value(relations: Relations, root: Loop, store: Access) -> Expression | None:
    try:
        i = store.instruction
        value = relations.builder(root).of(i.operands[0], i.types[0])
        return as_cell(value, relations.evolution.cells(store.base, store.type))
    except Opaque:
        return None
