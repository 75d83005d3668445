"""Counters of 8 and 16 bits, and the arguments that bound them, as numbers of 32.

C computes with `short` and `char` as with `int`; LLVM takes that back where the lowest bits are all that counts.  A counter of few bits
stands for its number as long as adding to it does not leave these bits.  That is seen by the test that an iteration begins with (what is
less than another number of these bits is not the greatest), or it is a condition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from relift.compiler.idioms.facts.control import Control, Loop
from relift.compiler.idioms.facts.evolution import negated, swapped
from relift.compiler.idioms.facts.llvm.ir import Function, Instruction
from relift.compiler.idioms.facts.llvm.numbers import BITS
from relift.compiler.idioms.facts.names import is_constant
from relift.compiler.idioms.facts.sharing import renamed

_EXTENDED = {"sext": "s", "zext": "u", "sitofp": "s", "uitofp": "u"}


def widened(function: Function) -> Function:
    """A function whose counters of 8 and 16 bits have 32."""
    heads = (i for block in function.blocks.values() for i in block if i.opcode == "phi")
    narrow = [i for i in heads if i.type in BITS and len(i.operands) == 2]
    arguments = [a for a, type_ in function.arguments.items() if type_ in BITS]
    if not narrow and not arguments:
        return function
    return _Widening(function, Control(function)).function_over(narrow, arguments)


@dataclass(frozen=True)
class _Counter:
    """A value that a loop carries, and adds a number to with each iteration."""

    phi: Instruction
    update: Instruction
    entry: str
    step: int
    loop: Loop


@dataclass
class _Widening:
    function: Function
    control: Control
    signs: dict[str, str] = field(default_factory=dict[str, str])
    """What becomes wider, and whether it has a sign (s) or none (u)."""
    same: dict[str, str] = field(default_factory=dict[str, str])
    """What only made a value wider, and that value."""
    behind: dict[str, dict[str, Instruction]] = field(
        default_factory=dict[str, "dict[str, Instruction]"]
    )
    """By value, what is computed from it right behind it."""

    def function_over(self, phis: Iterable[Instruction], arguments: Iterable[str]) -> Function:
        counters: list[_Counter] = []
        for c in filter(None, map(self._counter, phis)):
            sign = self._sign((c.phi.name, c.update.name)) or "s"
            if sign == "s" or any(self._tests(c)):  # else it may be meant to begin again at 0
                self.signs.update({c.phi.name: sign, c.update.name: sign})
                counters.append(c)
        for argument in arguments:
            if sign := self._of_argument(argument):
                self.signs[argument] = sign
        for name in self._choices():
            self.signs[name] = self._sign((name,)) or "s"
        if not self.signs:
            return self.function
        of = {c.phi.name: c for c in counters} | {c.update.name: c for c in counters}
        blocks = {
            label: [found for i in block for found in self._over(i, of.get(i.name))]
            for label, block in self.function.blocks.items()
        }
        limits = {c.update.name: self._limits(c.update) for c in counters if self._may_leave(c)}
        known = self.function.arguments
        given = {a: "i32" if a in self.signs else type_ for a, type_ in known.items()}
        limits |= {a: _limits(known[a], self.signs[a]) for a in known if a in self.signs}
        placed = self._placed(blocks)
        return replace(renamed(self.function, placed, self._kept), arguments=given, limits=limits)

    def _choices(self) -> set[str]:
        """What is one of several counters or numbers, and is seen with their sign: the place of a cell that was found."""
        found = {
            i.name: _chosen(i)
            for i in self.function.instructions()
            if i.opcode in ("phi", "select") and i.type in BITS and i.name not in self.signs
        }
        while wrong := [n for n, of in found.items() if not self._are_wide(n, of, found)]:
            for name in wrong:
                del found[name]
        kept: set[str] = set()
        while (
            more := {n for n, of in found.items() if not {*self.signs, *kept}.isdisjoint(of)} - kept
        ):
            kept |= more
        return kept

    def _are_wide(self, name: str, of: Sequence[str], others: Collection[str]) -> bool:
        sign = self._sign((name,)) or "s"
        return all(
            is_constant(o)
            or self.signs.get(o) == sign
            or (o in others and (self._sign((o,)) or "s") == sign)
            for o in of
        )

    def _kept(self, value: str) -> str:
        return self.same.get(value, value)

    def _placed(self, blocks: dict[str, list[Instruction]]) -> dict[str, tuple[Instruction, ...]]:
        """The blocks with what is computed behind values, everything numbered anew."""
        position, found = 0, dict[str, tuple[Instruction, ...]]()
        entry = next(iter(blocks))
        for label, block in blocks.items():
            phis = [i for i in block if i.opcode == "phi"]
            order = [*phis]
            starts = [*(self.function.arguments if label == entry else ()), *(i.name for i in phis)]
            for name in starts:
                order += self.behind.get(name, {}).values()
            for i in block[len(phis) :]:
                order += [i, *self.behind.get(i.name or str(i), {}).values()]
            done: list[Instruction] = []
            for i in order:
                position += 1
                operands = tuple(map(self._kept, i.operands))
                done.append(i._replace(operands=operands, block=label, position=position))
            found[label] = tuple(done)
        return found

    # ---- what is a counter

    def _counter(self, phi: Instruction) -> _Counter | None:
        loop = self.control.loops.get(phi.block)
        if loop is None:
            return None
        ways = dict(zip(phi.labels, phi.operands, strict=True))
        back = [v for label, v in ways.items() if label in loop.blocks]
        entry = [v for label, v in ways.items() if label not in loop.blocks]
        update = self.function.values.get(back[0]) if len(back) == len(entry) == 1 else None
        if update is None or update.opcode != "add" or update.operands[0] != phi.name:
            return None
        if not is_constant(update.operands[1]) or _is_undefined(entry[0], *update.operands):
            return None
        return _Counter(phi, update, entry[0], int(update.operands[1]), loop)

    def _sign(self, names: Iterable[str]) -> str:
        """Whether most of what uses values sees a sign in them (s) or none (u); empty where nothing asks."""
        seen = [sign for name in names for user in self._users(name) if (sign := _sign_in(user))]
        return max(("s", "u"), key=seen.count) if seen else ""

    def _users(self, name: str) -> list[Instruction]:
        return self.function.users.get(name, [])

    def _of_argument(self, name: str) -> str:
        """The sign of an argument that counters are compared or begin with, or that is only made wider; else nothing."""
        users = self._users(name)
        for i in users:
            if i.opcode == "phi" and i.name in self.signs:
                return self.signs[i.name]
            signs = [self.signs[o] for o in i.operands if o in self.signs]
            if i.opcode == "icmp" and signs:
                return signs[0]
        sign = self._sign((name,))
        return sign if all(_EXTENDED.get(i.opcode) == sign for i in users) else ""

    # ---- instructions over wider values

    def _over(self, i: Instruction, counter: _Counter | None) -> list[Instruction]:
        """An instruction over the wider values; nothing where it only made one wider."""
        if counter is not None:
            return [self._counting(i, counter)]
        if i.name in self.signs:
            return [self._choosing(i)]
        signs = [self.signs[o] for o in i.operands if o in self.signs]
        if not signs:
            return [i]
        asked = _EXTENDED.get(i.opcode)
        if asked is not None and (asked == signs[0] or "nneg" in i.flags):
            if i.type in BITS:
                return [i._replace(opcode="trunc", types=("i32",), flags=frozenset())]
            if i.type == "i32":
                self.same[i.name] = i.operands[0]
                return []
            opcode = "sitofp" if i.opcode == "uitofp" else i.opcode.replace("zext", "sext")
            return [i._replace(opcode=opcode, types=("i32",), flags=frozenset())]
        predicate = i.about.split()[-1] if i.opcode == "icmp" else ""
        if predicate and (predicate in ("eq", "ne") or predicate[0] == signs[0]):
            about = predicate if predicate in ("eq", "ne") else "s" + predicate[1:]
            operands = tuple(self._wide(o, signs[0], i.types[0]) for o in i.operands)
            return [
                i._replace(operands=operands, types=("i32", "i32"), about=about, flags=frozenset())
            ]
        return [i._replace(operands=tuple(map(self._narrow, i.operands)))]

    def _choosing(self, i: Instruction) -> Instruction:
        wide = tuple(self._wide(o, self.signs[i.name], i.type) for o in _chosen(i))
        if i.opcode == "phi":
            return i._replace(type="i32", operands=wide)
        return i._replace(
            type="i32", operands=(i.operands[0], *wide), types=(i.types[0], "i32", "i32")
        )  # fmt: skip

    def _counting(self, i: Instruction, c: _Counter) -> Instruction:
        sign = self.signs[i.name]
        operands = tuple(self._wide(o, sign, i.type) for o in i.operands)
        if i.opcode == "phi":
            return i._replace(type="i32", operands=operands)
        step = (operands[0], str(c.step))
        return i._replace(
            type="i32", operands=step, types=("i32", "i32"), flags=frozenset(["nsw"])
        )  # fmt: skip

    def _wide(self, value: str, sign: str, type_: str) -> str:
        """A value of few bits as its number."""
        if is_constant(value):
            if _is_undefined(value):
                return value
            return str(int(value) % 2 ** BITS[type_] if sign == "u" else int(value))
        if self.signs.get(value) == sign:
            return value
        opcode = "sext" if sign == "s" else "zext"
        return self._behind(value, f"{value}.{opcode}", opcode, "i32", type_)

    def _narrow(self, value: str) -> str:
        """The lowest bits of a value that has become wider."""
        if value not in self.signs:
            return value
        type_ = self.function.type_of(value)
        return self._behind(value, f"{value}.trunc", "trunc", type_, "i32")

    def _behind(self, value: str, name: str, opcode: str, type_: str, of: str) -> str:
        known = self.behind.setdefault(value, {})
        if name not in known:
            at = self.function.values.get(value)
            line = at.line if at is not None else self.function.line
            of = "i32" if value in self.signs else of
            operand = value
            if opcode != "trunc" and value in self.signs:  # it has the other sign
                operand, of = self._narrow(value), self.function.type_of(value)
            known[name] = Instruction(name, opcode, type_, (operand,), (of,), line=line)
        return name

    # ---- whether a counter leaves its bits

    def _limits(self, update: Instruction) -> tuple[int, int]:
        return _limits(update.type, self.signs[update.name])

    def _may_leave(self, c: _Counter) -> bool:
        """Whether adding may give a number that these bits do not hold."""
        sign = self.signs[c.phi.name]
        if ("nsw" if sign == "s" else "nuw") in c.update.flags:
            return False
        least, most = self._limits(c.update)
        first = int(self._wide(c.entry, sign, c.phi.type)) if is_constant(c.entry) else None
        if c.update.block == c.phi.block and self._is_left(c):
            return True  # it adds once more where the test fails
        for tested, predicate, bound in self._tests(c):
            if _is_undefined(bound):
                continue
            known = int(self._wide(bound, sign, c.phi.type)) if is_constant(bound) else None
            start = first
            if tested == c.update.name:  # the first iteration adds before anything is asked
                if first is None or not least <= first + c.step <= most:
                    continue
                start = first + c.step
            if predicate == "ne" and start is not None and abs(c.step) == 1:
                goal = known if known is not None else (most if c.step < 0 else least)
                comes = (goal - start) * c.step >= 0 if known is not None else goal == start
                if comes:  # to the number that ends it, before it leaves these bits
                    return False
            ends = _ends(predicate, sign, known, (least, most))
            if (ends[1] + c.step <= most) if c.step > 0 else (ends[0] + c.step >= least):
                return False
        return True

    def _is_left(self, c: _Counter) -> bool:
        """Whether what a counter becomes is used after its loop."""
        return any(user.block not in c.loop.blocks for user in self._users(c.update.name))

    def _tests(self, c: _Counter) -> Iterator[tuple[str, str, str]]:
        """What holds in each iteration that goes on: the counter or what it becomes, the comparison, and with what."""
        asked = {c.phi.name: c.phi.block, c.update.name: c.loop.latches[0]}
        for name, block in asked.items():
            last = self.function.blocks[block][-1]
            test = self.function.values.get(last.operands[0]) if last.operands else None
            inside = [label in c.loop.blocks for label in last.labels]
            if (
                test is None
                or test.opcode != "icmp"
                or sum(inside) != 1
                or name not in test.operands
            ):
                continue
            predicate, (left, right) = test.about.split()[-1], test.operands
            predicate = predicate if inside[0] else negated(predicate)
            yield (name, predicate, right) if left == name else (name, swapped(predicate), left)


def _is_undefined(*values: str) -> bool:
    return any(v in ("undef", "poison") for v in values)


def _chosen(i: Instruction) -> tuple[str, ...]:
    """What a phi or a selection takes one of."""
    return i.operands if i.opcode == "phi" else i.operands[1:]


def _limits(type_: str, sign: str) -> tuple[int, int]:
    """The least and the greatest number of a type of few bits."""
    bits = BITS[type_]
    return (0, 2**bits - 1) if sign == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _ends(predicate: str, sign: str, bound: int | None, limits: tuple[int, int]) -> tuple[int, int]:
    """The least and the greatest number that meets a comparison with another of these bits."""
    least, most = limits
    if predicate == "ne":
        return least + (bound == least), most - (bound == most)
    if predicate[0] != sign:
        return limits
    match predicate[1:]:
        case "lt":
            return least, (most if bound is None else bound) - 1
        case "le":
            return least, most if bound is None else bound
        case "gt":
            return (least if bound is None else bound) + 1, most
        case "ge":
            return least if bound is None else bound, most
        case _:
            return limits


def _sign_in(user: Instruction) -> str:
    """Whether what uses a number sees a sign in it (s), sees none (u), or does not ask."""
    if user.opcode == "icmp":
        letter = user.about.split()[-1][0]
        return letter if letter in "su" else ""
    return "" if "nneg" in user.flags else _EXTENDED.get(user.opcode, "")
