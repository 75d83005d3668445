"""Checks that whole numbers stay in their types: indices are computed as if they could not wrap around.

C's unsigned numbers wrap, and a size is read as a number of 32 or 64 bits.  Before a kernel runs it is checked that no counter, index or
bound of the loops leaves the numbers that both readings share.
"""

from __future__ import annotations

from dataclasses import dataclass

from relift.compiler.idioms.facts.llvm.ir import INTEGERS, Instruction
from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.lift import LiftedIdiom
from relift.compiler.idioms.replacement.spelling import Kept, counted, letter, names_in
from relift.semantics.syntax.sizes import Size

_WIDENED = frozenset(["zext", "uitofp"])
_BITS = {"i32": 32, "i64": 64}


@dataclass(frozen=True)
class Ranges:
    """What must not be, as C, over values of the function; `unsigned` says whether a loop compares without signs."""

    checks: tuple[str, ...]
    values: frozenset[str]
    unsigned: bool


def range_checks(idiom: LiftedIdiom) -> Ranges:
    """The checks for what an idiom's loops compute; raises `Kept` where that is data, of which nothing is known before."""
    relations = idiom.relations
    used = _used(relations, idiom.found.loop.blocks)
    if any(_loses_half(relations.function.values[name]) for name in used):
        raise Kept("a float becomes a number without sign, of which a kernel knows the lower half")
    checks, values = list[str](), set[str]()
    for name in sorted(relations.evolution.wraps.keys() & used):
        i = relations.function.values[name]
        of = i.operands[0] if i.opcode in _WIDENED else name
        size = relations.evolution.of(of)
        if all(
            isinstance(n, Counter) or relations.evolution.stays(n, idiom.found.loop)
            for n in names_in(size)
        ):
            check, needed = _outside(size, i, relations)
            checks.append(check)
            values |= needed
        elif not _is_own_cell(i, relations):
            if _reaches_address(i, relations):
                raise Kept("an index may wrap around")
            if i.opcode in _WIDENED or i.opcode in ("icmp", "call"):
                raise Kept("a number without sign may be one that a kernel takes for negative")
    compared = (relations.function.values.get(n) for n in used)
    unsigned = any(
        i is not None and i.opcode == "icmp" and i.about.split()[-1][0] == "u" for i in compared
    )
    return Ranges(tuple(dict.fromkeys(checks)), frozenset(values), unsigned or bool(checks))


def fitting(relations: Relations, values: list[str], ranges: Ranges) -> list[str]:
    """That what the call is given is what the loops see, and not negative where they compare without signs."""
    found = list[str]()
    for v in values:
        kind = relations.type_of(v)
        if kind == "i32":
            found.append(f"{letter(v)} != (int){letter(v)}")
        if kind in _BITS and ranges.unsigned:
            found.append(f"{letter(v)} < 0")
    return found


def _loses_half(i: Instruction) -> bool:
    """Whether a float becomes a number without sign that numbers with one do not all hold."""
    return i.opcode == "fptoui" and i.type in _BITS


def _used(relations: Relations, blocks: frozenset[str]) -> set[str]:
    """The values that some blocks compute, and all that those are computed from."""
    stack = [i.name for b in blocks for i in relations.function.blocks[b] if i.name]
    found: set[str] = set()
    while stack:
        name = stack.pop()
        i = relations.function.values.get(name)
        if name not in found and i is not None:
            found.add(name)
            stack += i.operands
    return found


def _outside(size: Size, i: Instruction, relations: Relations) -> tuple[str, set[str]]:
    """That a polynomial leaves the numbers of its type, whatever the counters in it are."""
    values: set[str] = set()

    def value(name: str) -> str:
        values.add(name)
        return letter(name)

    low, high, runs = list[str](), list[str](), list[str]()
    for monomial, c in size.ordered():
        factors, counters = [f"(__int128){c}"], False
        for atom, power in monomial:
            if not isinstance(atom, str):
                raise Kept("an index may wrap around")
            if not isinstance(atom, Counter):
                text = value(atom)
            else:
                counters = True
                trips = relations.evolution.trips(relations.control.loops[atom.header])
                if trips is None or any(isinstance(n, Counter) for n in names_in(trips)):
                    raise Kept("an index may wrap around")
                last = trips
                if not _asks_again(relations, atom, i):
                    last = trips - 1
                    runs.append(f"{counted(trips, value)} > 0 && ")
                text = f"({counted(last, value)})"
            factors += [text] * power
        product = " * ".join(factors)
        low.append(f"relift_below({product})" if counters else product)
        high.append(f"relift_above({product})" if counters else product)
    kind = i.types[0] if i.opcode in _WIDENED else i.type
    bounds = relations.evolution.bounds.get(i.name)
    end = bounds[1] if bounds else (1 << (_BITS[kind] - 1)) - 1
    most = f"0x{end:x}LL"
    least = "0" if i.opcode in _WIDENED or (bounds and not bounds[0]) else f"-{most} - 1"
    leaves = f"{' + '.join(low) or '0'} < {least} || {' + '.join(high) or '0'} > {most}"
    return (f"{''.join(runs)}({leaves})" if runs else leaves), values


def _asks_again(relations: Relations, counter: Counter, i: Instruction) -> bool:
    """Whether a number counts when a loop has done all its iterations, too: it decides that, or is used behind the loop."""
    loop = relations.control.loops[counter.header]
    if i.block not in loop.blocks:
        return True
    if relations.evolution.is_late(loop) or i.block != loop.header:
        return False
    met, stack = {i.name}, [i]
    while stack:
        for user in relations.function.users.get(stack.pop().name, ()):
            again = user.block == loop.header and user.opcode != "phi"
            if user.block not in loop.blocks or (again and not user.name) or user.opcode == "icmp":
                return True
            if again and user.name not in met:
                met.add(user.name)
                stack.append(user)
    return False


def _reaches_address(i: Instruction, relations: Relations) -> bool:
    """Whether a number is part of an address, or of what a loop is counted by."""
    met, stack = set[str](), [i.name]
    while stack:
        for user in relations.function.users.get(stack.pop(), ()):
            if user.opcode in ("getelementptr", "icmp"):
                return True
            passes = user.opcode in INTEGERS or user.opcode in (
                "zext",
                "sext",
                "trunc",
                "phi",
                "select",
                "freeze",
            )
            if passes and user.name not in met:
                met.add(user.name)
                stack.append(user.name)
    return False


def _is_own_cell(i: Instruction, relations: Relations) -> bool:
    """Whether it is a number that was read and is an index as it is: a negative one is noticed when it is looked at."""
    read = relations.function.values.get(i.operands[0])
    only = all(u.opcode == "getelementptr" for u in relations.function.users.get(i.name, ()))
    return i.opcode == "zext" and read is not None and read.opcode == "load" and only
