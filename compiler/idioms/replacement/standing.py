"""What C can say where a loop stands: the variables that are in scope there, and which value each holds.

A call in the place of a loop is given what the loop works on.  That is values of LLVM's graph, and a variable of C may be
several of them, one after the other; so it is followed which one reaches the loop, whichever way it is come to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.evolution import Evolution, Quotient, harmless
from relift.compiler.idioms.facts.llvm.ir import Extent, Instruction
from relift.compiler.idioms.facts.names import Counter, bare, is_global
from relift.compiler.idioms.facts.sharing import may_write, writes_between
from relift.compiler.idioms.replacement.spelling import Kept, counted, names_in
from relift.semantics.syntax.sizes import Size

_UNKNOWN = ""
_OPERATIONS = {"sdiv": "/", "srem": "%", "ashr": ">>", "and": "&"}
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


class Standing:
    """Where one loop stands in the text of its file."""

    def __init__(self, evolution: Evolution, loop: Loop, extent: Extent, text: str) -> None:
        self.evolution, self.loop, self.extent = evolution, loop, extent
        self.function, self.control = evolution.function, evolution.control
        self.places: dict[str, str] = {}
        """Where what is spelled is looked up, by value, in C; a null pointer where the loop does not look."""
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
        name = self._called(value)
        if name is not None:
            type_ = self.evolution.module.globals.get(value, "[")
            is_place = value in self.function.places or not type_.startswith("[")
            return f"(&{name})" if is_place else name
        i = self.function.values.get(value)
        return None if i is None else self._looked_up(value) or self._computed(i)

    def _called(self, value: str) -> str | None:
        """The variable that holds a value, or that is at an address."""
        if is_global(value):
            of_file = bare(value)
            return of_file if of_file.isidentifier() and of_file not in self._locals else None
        for variable, held in sorted(self._held.items()):
            name = self._visible.get(variable)
            if held == value and name is not None and not self._is_changed_in_head(name):
                return name
        return None

    def _looked_up(self, value: str) -> str | None:
        """A field that holds, where the loop stands, what the loop finds there; nothing is looked up that the loop would not."""
        fields = self.evolution.fields
        words = fields.of(value, self._called)
        if words is None:
            return None
        at, behind = value, list[str]()
        while (place := fields.place(at)) is not None and (not behind or self._called(at) is None):
            if not self._is_still(self.function.values[at]):
                return None
            behind.append(at)
            at = place[0]
        for each in behind:
            if each not in self.places and (found := fields.of(each, self._called)) is not None:
                self.places[each] = self._where_it_is(each, f"&{found}")
        return self._where_it_is(value, words)

    def _is_still(self, load: Instruction) -> bool:
        """Whether a field is, where the loop stands, what a load gives; what the loop writes is taken to be elsewhere."""
        if load.block in self.loop.blocks:
            return self.evolution.stays(load.name, self.loop)
        block = self.function.blocks[load.block]
        outside = self.control.dominator.keys() - self.loop.blocks
        return (
            self.control.dominates(load.block, self.loop.header)
            and not any(may_write(i) for i in block if i.position > load.position)
            and not writes_between(
                self.function, load.block, self.loop.header, outside,
                lambda at: any(map(may_write, self.function.blocks[at])),
            )
        )  # fmt: skip

    def _where_it_is(self, value: str, words: str) -> str:
        """An expression, which is null where the loop does not come to a load of its structure; raises `Kept`."""
        place = self.evolution.fields.place(value)
        assert place is not None, "cannot happen: it is looked up"
        is_there = is_global(place[0]) or place[0] in self.function.places
        if is_there or self.function.values[value].block not in self.loop.blocks:
            return words
        beside = [x for x in self._inside if x == value or self._is_beside(x, *place)]
        found = [asked for asked in map(self._asked, beside) if asked is not None]
        if not found:
            raise Kept(f"{words} is looked up under a condition")
        asked = min(found, key=len)
        tests = (f"{counted(_sign(t), self.spelled)} > 0" for t in asked)
        return f"({' && '.join(tests)} ? {words} : 0)" if asked else words

    @cached_property
    def _inside(self) -> list[str]:
        """The loads of the loop."""
        blocks = (self.function.blocks[b] for b in sorted(self.loop.blocks))
        return [i.name for block in blocks for i in block if i.opcode == "load"]

    def _is_beside(self, load: str, base: str, offset: int) -> bool:
        """Whether a load is of the structure in which a field lies: where one field of it is, the others are."""
        place = self.evolution.fields.place(load)
        declared, type_ = self.evolution.module.declared, self.evolution.fields.type_of(base)
        whole = declared.pointed_at(type_) or type_
        if place is None or place[0] != base or not declared.is_composite(whole):
            return False
        return place[1] // declared.size(whole) == offset // declared.size(whole)

    def _asked(self, load: str) -> list[Size] | None:
        """The numbers of iterations that are above zero where the loop comes to a load; none where that is not known."""
        block = self.function.values[load].block
        inside = [x for x in self.control.around(block) if x.header in self.loop.blocks]
        asked = list[Size]()
        for loop, at in zip(inside, [*(x.header for x in inside[1:]), block], strict=True):
            trips = self.evolution.trips(loop)
            if not all(self.control.dominates(at, latch) for latch in loop.latches):
                return None
            if at == loop.header or self.evolution.is_late(loop):
                continue
            if trips is None or any(isinstance(n, Counter) for n in names_in(trips)):
                return None
            if not trips.surely_at_least(1):
                asked.append(trips)
        return asked

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

    def _is_changed_in_head(self, name: str) -> bool:
        return any(map(self._is_set_in_head, {name, _root(name)}))

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
        inside = {
            variable: (depth[v.scope], v.name)
            for variable, v in self.function.declared.items()
            if v.scope in depth and v.line <= self.extent.line
        }
        nearest: dict[str, int] = {}
        for far, name in inside.values():
            nearest[_root(name)] = min(far, nearest.get(_root(name), far))
        declared = re.match(r"\s*(?:[A-Za-z_]\w*[\s*]+)+(\w+)\s*=", self.head)
        own = {declared[1]} if declared is not None else set[str]()
        return {
            variable: name for variable, (far, name) in inside.items()
            if far == nearest[_root(name)] and _root(name) not in own
        }  # fmt: skip

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


def _root(name: str) -> str:
    """The variable that a part is of: `p` of `p.v`."""
    return re.split(r"[.\[]", name)[0]


def _sign(trips: Size) -> Size:
    """A number that is above zero where a number of iterations is."""
    (atom, *others) = trips.atoms() or [None]
    is_quotient = isinstance(atom, Quotient) and not others and trips == Size.atom(atom)
    return atom.of if isinstance(atom, Quotient) and is_quotient else trips


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
