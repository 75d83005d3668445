"""LLVM's text as a graph: one syntax, that of the LLVM in llvmlite, whichever compiler the bitcode is from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from sys import intern
from typing import NamedTuple

from relift.compiler.idioms.facts.llvm.declared import Declared
from relift.compiler.idioms.facts.llvm.ir import (
    CASTS,
    FLOATS,
    INTEGERS,
    CVariable,
    Extent,
    Function,
    Instruction,
    Module,
)
from relift.compiler.idioms.facts.sharing import shared
from relift.compiler.idioms.facts.widening import widened
from relift.processes.collecting import uncollected

_NAME = r'[%@](?:"[^"]*"|[\w.$-]+)'
_DEFINE = re.compile(rf"define .*?({_NAME})\((.*)\)[^()]*\{{$")
_LABEL = re.compile(r'^("[^"]*"|[\w.$-]+):')
_RECORD = re.compile(r"^    #dbg_(value|declare)\((.*)\)$")
_FRAGMENT = re.compile(r"!DIExpression\(DW_OP_LLVM_fragment, (\d+), (\d+)\)$")
_BY_VALUE = re.compile(r"\bbyval\(([^()]+)\)")
_ATTACHED = re.compile(r", !([\w.]+) !(\d+)")
_WRITTEN_ADDRESS = re.compile(r"getelementptr [\w ]*\((.*)\)$")
_MOST_ADDRESSES = 1_000_000
_MOST_BITS = 1 << 62
_BRACKETS = re.compile(r'[(\[{<"]')
_ATTRIBUTE = re.compile(
    r"(?:noundef|nonnull|signext|zeroext|noalias|nocapture|readonly|align \d+"
    r"|captures\([^)]*\)|dereferenceable\(\d+\)|immarg|range\([^)]*\)) "
)
_VALUES = frozenset("%@-0123456789")
"""How a value begins that is no word."""
_GLOBAL = re.compile(rf"({_NAME}) = .*?(global|constant) (.*)")
_STRUCTURE = re.compile(rf"({_NAME}) = type <?\{{(.*)\}}>?")
_NAMED = re.compile(rf"({_NAME}) = ")
_CONDITIONAL = re.compile(rf"i1 ({_NAME}), label ({_NAME}), label ({_NAME})$")
_TO = re.compile(rf"label ({_NAME})")
_CASE = re.compile(r"\w+ (-?\d+|true|false), label")
_CALLED = re.compile(rf"(.*?)({_NAME}|asm .*?)\((.*)\)[^()]*$")
_FLAGS = frozenset(
    [
        "nsw", "nuw", "nneg", "exact", "disjoint", "inbounds", "nusw", "samesign", "fast", "nnan",
        "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "volatile", "atomic", "tail",
        "musttail", "notail",
    ]
)  # fmt: skip
_TRUTH = ("!{i8 0, i8 2}",)
"""What is said of a load that gives 0 or 1."""
_LOCATION = re.compile(r"!DILocation\(line: (\d+)(?:, column: (\d+))?")


@uncollected()
def module_of(text: str, file: str) -> Module:
    """The graph of a module that LLVM has printed."""
    lines = text.splitlines()
    declared = Declared(_notes(lines))
    functions: dict[str, Function] = {}
    types: dict[str, str] = {}
    of_globals: dict[str, str] = {}
    constants: set[str] = set()
    structures: dict[str, list[str]] = {}
    body: list[str] | None = None
    for line in lines:
        if line.startswith("define "):
            body = [line]
        elif line == "}" and body is not None:
            found = shared(widened(_Reader(declared).function(body)))
            functions[found.name] = found
            body = None
        elif body is not None:
            body.append(line)
        elif line[:1] not in "%@":
            continue
        elif m := _GLOBAL.match(line):
            types[m[1]] = _typed(parts(m[3])[0])[0]
            if m[2] == "constant":
                constants.add(m[1])
            if note := re.search(r", !dbg !(\d+)", m[3]):
                of_globals[m[1]] = declared.of_global(note[1])
        elif m := _STRUCTURE.match(line):
            structures[m[1]] = [p.strip() for p in parts(m[2])]
    declared = replace(declared, globals=of_globals)
    return Module(file, functions, types, structures, declared, frozenset(constants))


def parts(text: str) -> list[str]:
    """A list with commas, those inside of brackets left alone.

    >>> from relift.compiler.idioms.facts.llvm.reading import parts
    >>> parts("i32 %a, [2 x i32] %b, {i32, i32} %c")
    ['i32 %a', '[2 x i32] %b', '{i32, i32} %c']
    """
    if not _BRACKETS.search(text):
        return text.split(", ") if text else []
    found, depth, start, quoted = [], 0, 0, False
    for at, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif c in "([{<":
            depth += 1
        elif c in ")]}>":
            depth -= 1
        elif c == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*found, last] if last else found


def _typed(text: str) -> tuple[str, str]:
    """The type and the value of `TYPE attributes VALUE`."""
    type_, found, rest = text.partition(" ")
    if not type_.isidentifier():
        depth = 0
        for at, c in enumerate(text):
            depth += (c in "([{<") - (c in ")]}>")
            if c == " " and depth == 0:
                type_, found, rest = text[:at], c, text[at + 1 :]
                break
        else:
            found = ""
    if not found:
        return text, ""
    while rest[:1] not in _VALUES and (m := _ATTRIBUTE.match(rest + " ")):
        rest = rest[m.end() :]
    return type_, rest


def _notes(lines: list[str]) -> dict[str, str]:
    """The numbered notes of a module."""
    found: dict[str, str] = {}
    for line in lines:
        if line.startswith("!"):
            name, _, said = line.partition(" = ")
            found[name[1:]] = said.removeprefix("distinct ")
    return found


def _described(about: str) -> tuple[CVariable | None, str]:
    """The variable that a note is about, and its type."""
    name = re.search(r'name: "([^"]*)"', about)
    of = re.search(r"type: !(\d+)", about)
    scope, line = re.search(r"scope: !(\d+)", about), re.search(r"line: (\d+)", about)
    found = (
        CVariable(name[1], scope[1] if scope else "", int(line[1]) if line else 0) if name else None
    )
    return found, of[1] if of else ""


class _Said(NamedTuple):
    """What a line says of an instruction, but for its name and where it stands."""

    opcode: str
    type: str
    operands: tuple[str, ...]
    types: tuple[str, ...] = ()
    about: str = ""
    labels: tuple[str, ...] = ()


@dataclass
class _Reader:
    types: Declared
    variables: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    unsigned: set[str] = field(default_factory=set[str])
    extents: dict[str, Extent] = field(default_factory=dict[str, Extent])
    declared: dict[str, CVariable] = field(default_factory=dict[str, CVariable])
    assigned: dict[str, list[tuple[str, str]]] = field(
        default_factory=dict[str, "list[tuple[str, str]]"]
    )
    position: int = 0
    places: dict[str | None, tuple[int, int]] = field(
        default_factory=dict[str | None, tuple[int, int]]
    )
    """The line and the column of each note that was asked for."""
    said: dict[str, tuple[CVariable | None, str]] = field(
        default_factory=dict[str, "tuple[CVariable | None, str]"]
    )
    """The variable of each note that was asked for, and its type."""
    typed: dict[str, str] = field(default_factory=dict[str, str])
    parts: dict[str, dict[str, tuple[int, int]]] = field(
        default_factory=dict[str, "dict[str, tuple[int, int]]"]
    )
    """By variable, its parts that values stand for: where they begin, and how long they are, in bits."""
    stored: set[str] = field(default_factory=set[str])
    """The places of variables."""
    addresses: dict[str, str] = field(default_factory=dict[str, str])
    """Addresses in globals that LLVM writes where they are used, and what they are called here."""
    computed: list[Instruction] = field(default_factory=list[Instruction])

    def function(self, lines: list[str]) -> Function:
        head = _DEFINE.match(lines[0])
        assert head is not None, f"cannot happen: LLVM prints a definition otherwise: {lines[0]}"
        arguments, by_value, variadic = {}, {}, False
        for part in parts(head[2]):
            if part == "...":
                variadic = True
                continue
            type_, name = _typed(part)
            argument = intern(name.rpartition(" ")[2])
            arguments[argument] = intern(type_)
            if m := _BY_VALUE.search(part):
                by_value[argument] = m[1]
        note = re.search(r"!dbg !(\d+)", lines[0])
        about = self.notes.get(note[1], "") if note else ""
        line = re.search(r"\bline: (\d+)", about)
        result = re.search(rf"([^\s]+) {re.escape(head[1])}\(", lines[0])
        blocks: dict[str, list[Instruction]] = {}
        label = ""
        for text in self._joined(lines[1:]):
            if text.startswith("  ") and text[2] not in " ;":
                blocks[label].append(self._instruction(text.strip(), label))
            elif m := _LABEL.match(text):
                label = intern("%" + m[1])
                blocks[label] = []
            elif m := _RECORD.match(text):
                self._variable(m[2], label, is_declared=m[1] == "declare")
        entry = next(iter(blocks), "")
        if self.computed:
            blocks[entry] = [*(i._replace(block=entry) for i in self.computed), *blocks[entry]]
        return Function(
            head[1][1:],
            result[1] if result else "void",
            arguments,
            {label: tuple(block) for label, block in blocks.items()},
            int(line[1]) if line else 0,
            variadic,
            {value: tuple(dict.fromkeys(names)) for value, names in self.variables.items()},
            frozenset(self.unsigned),
            self.extents,
            self.declared,
            {block: tuple(found) for block, found in self.assigned.items()},
            types=self.typed,
            places=frozenset(self.stored),
            by_value=by_value,
        )

    @property
    def notes(self) -> Mapping[str, str]:
        """The numbered notes of the module."""
        return self.types.notes

    def _joined(self, lines: list[str]) -> Iterator[str]:
        """Lines, those of a switch as one."""
        whole = ""
        for line in lines:
            whole = f"{whole} {line.strip()}" if whole else line
            if whole.startswith("  switch ") and "]" not in whole:
                continue
            yield whole
            whole = ""

    def _variable(self, record: str, block: str, *, is_declared: bool) -> None:
        """What is said of a variable: a value that it gets, or where it lies, which is an array's value."""
        typed, note, expression, *place = parts(record)
        if any("inlinedAt" in self.notes.get(at[1:], "") for at in place):
            return  # a variable of another function
        value = _typed(typed)[1]
        if note not in self.said:
            self.said[note] = _described(self.notes.get(note[1:], ""))
        variable, type_ = self.said[note]
        is_whole = expression == "!DIExpression()"
        m = None if is_whole else _FRAGMENT.match(expression)
        if note in self.parts:
            self._unknown_now(note, m, block)
        if m is not None:
            part = variable and self.types.part(type_, int(m[1]) // 8, _typed(typed)[0])
            if not variable or not part:
                return
            variable = replace(variable, name=variable.name + part.words)
            of, note = note, f"{note}{part.words}"
            type_, is_whole = part.type, True
            self.parts.setdefault(of, {})[note] = int(m[1]), int(m[2])
        if is_declared and variable and self.types.is_composite(type_) and value != "poison":
            self._named(value, variable, type_)
            self.stored.add(value)
        described = self.notes.get(type_, "")
        if variable is None or (
            is_declared and value not in self.stored and "DW_TAG_array_type" not in described
        ):
            return
        self.declared[note] = variable
        is_value = is_whole and value not in ("poison", "undef")
        self.assigned.setdefault(block, []).append((note, value if is_value else ""))
        if is_declared or not is_whole:
            return
        self._named(value, variable, type_)
        if "DW_ATE_unsigned" in described or "typedef" in described:
            self.unsigned.add(variable.name)

    def _unknown_now(self, note: str, m: re.Match[str] | None, block: str) -> None:
        """That what is known of parts of a variable is so no more where something is put over them."""
        begin, length = (int(m[1]), int(m[2])) if m is not None else (0, _MOST_BITS)
        for part, (at, bits) in self.parts[note].items():
            if at < begin + length and begin < at + bits:
                self.assigned.setdefault(block, []).append((part, ""))

    def _named(self, value: str, variable: CVariable, type_: str) -> None:
        """That a value has the name and the type of a variable."""
        self.variables.setdefault(value, []).append(variable.name)
        self.typed.setdefault(value, type_)

    def _instruction(self, text: str, block: str) -> Instruction:
        end = text.find(", !")
        attached = dict(_ATTACHED.findall(text, end)) if end >= 0 else {}
        text = text[:end] if attached else text
        name = ""
        if text[0] == "%" and (m := _NAMED.match(text)):
            name, text = m[1], text[m.end() :]
        flags, opcode, text = _opcode(text)
        if "range" in attached and opcode == "load" and self.notes.get(attached["range"]) in _TRUTH:
            flags.append("truth")
        found = self._read(opcode, text)
        given = map(self._operand, found.operands) if "(" in text else found.operands
        self.position += 1
        line, column = self._place(attached.get("dbg"))
        if "llvm.loop" in attached:
            self._extent(block, attached["llvm.loop"])
        return Instruction(
            intern(name), intern(found.opcode), intern(found.type), _once(given), _once(found.types),
            found.about, frozenset(flags), _once(found.labels), block, self.position, line, column,
        )  # fmt: skip

    def _operand(self, text: str) -> str:
        """An operand; an address that is written in its place is computed where the function begins."""
        m = _WRITTEN_ADDRESS.match(text)
        if m is None:
            return text
        if text not in self.addresses:
            found = self._read("getelementptr", m[1])
            operands = tuple(map(self._operand, found.operands))
            name = self.addresses[text] = f"%address..{len(self.addresses)}"
            place = len(self.computed) - _MOST_ADDRESSES
            self.computed.append(
                Instruction(
                    name,
                    found.opcode,
                    found.type,
                    operands,
                    found.types,
                    found.about,
                    position=place,
                )
            )
        return self.addresses[text]

    def _place(self, note: str | None) -> tuple[int, int]:
        if note not in self.places:
            m = _LOCATION.search(self.notes.get(note or "", ""))
            self.places[note] = (int(m[1]), int(m[2] or 0)) if m else (0, 0)
        return self.places[note]

    def _extent(self, block: str, note: str) -> None:
        named = re.findall(r"!(\d+)", self.notes.get(note, ""))
        real = [(self._place(n), n) for n in named if self._place(n)[0]]
        if len(real) >= 2:
            (first, at), (last, _), *_ = real
            self.extents[block] = Extent(*first, *last, tuple(self._scopes(at)))

    def _scopes(self, note: str) -> Iterator[str]:
        """The blocks of C around a place, the innermost first."""
        while m := re.search(r"scope: !(\d+)", self.notes.get(note, "")):
            note = m[1]
            yield note

    def _read(self, opcode: str, rest: str) -> _Said:
        if opcode in INTEGERS or opcode in FLOATS:
            first, second = parts(rest)
            type_, a = _typed(first)
            return _Said(opcode, type_, (a, second), (type_, type_))
        match opcode:
            case "icmp" | "fcmp":
                predicate, _, more = rest.partition(" ")
                first, second = parts(more)
                type_, a = _typed(first)
                return _Said(opcode, "i1", (a, second), (type_, type_), predicate)
            case "load":
                type_, pointer, *_ = parts(rest)
                return _Said(opcode, type_, (_typed(pointer)[1],), ("ptr",))
            case "store":
                value, pointer, *_ = parts(rest)
                type_, v = _typed(value)
                return _Said(opcode, "void", (v, _typed(pointer)[1]), (type_, "ptr"))
            case "phi":
                type_, _, pairs = (
                    rest.partition(" [ ") if not rest.startswith("[") else _array_phi(rest)
                )
                found = [p.rpartition(", ") for p in pairs.removesuffix(" ]").split(" ], [ ")]
                return _Said(
                    opcode,
                    type_.strip(),
                    tuple(v for v, _, _ in found),
                    labels=tuple(b for _, _, b in found),
                )
            case "br":
                return _branch(rest)
            case "switch":
                return _switch(rest)
            case "call":
                return _call(rest)
            case "getelementptr":
                source, *others = parts(rest)
                typed = [_typed(p) for p in others]
                return _Said(
                    opcode,
                    "ptr",
                    tuple(v for _, v in typed),
                    tuple(t for t, _ in typed),
                    source,
                )
            case _ if opcode in CASTS:
                value, _, to = rest.rpartition(" to ")
                type_, v = _typed(value)
                return _Said(opcode, to, (v,), (type_,))
            case _:
                typed = [_typed(p) for p in parts(rest)]
                type_ = typed[-1][0] if typed else "void"
                labels = tuple(_TO.findall(rest))
                operands = tuple(v for _, v in typed)
                result = "ptr" if opcode == "alloca" else type_
                return _Said(opcode, result, operands, tuple(t for t, _ in typed), rest, labels)


def _array_phi(rest: str) -> tuple[str, str, str]:
    type_, value = _typed(rest)
    return type_, " [ ", value.removeprefix("[ ")


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts, each of them one object in the whole graph: it is looked up often, and no letters are compared then."""
    return tuple(map(intern, texts))


def _opcode(text: str) -> tuple[list[str], str, str]:
    """The flags before and after the word that says what an instruction does, that word, and the rest."""
    flags: list[str] = []
    opcode, _, rest = text.partition(" ")
    while opcode in _FLAGS:
        flags.append(opcode)
        opcode, _, rest = rest.partition(" ")
    while (word := rest.partition(" "))[0] in _FLAGS:
        flags.append(word[0])
        rest = word[2]
    return flags, opcode, rest


def _branch(rest: str) -> _Said:
    if rest.startswith("label %") and '"' not in rest:
        return _Said("br", "void", (), labels=(rest[6:],))
    if m := _CONDITIONAL.match(rest):
        return _Said("br", "void", (m[1],), labels=(m[2], m[3]))
    condition = () if rest.startswith("label") else (_typed(parts(rest)[0])[1],)
    return _Said("br", "void", condition, labels=tuple(_TO.findall(rest)))


def _switch(rest: str) -> _Said:
    """A switch: what decides, then the numbers of its cases; where it goes for none of them, then where for each."""
    type_, value = _typed(rest.partition(",")[0])
    operands = (value, *_CASE.findall(rest))
    labels = tuple(_TO.findall(rest))
    return _Said("switch", "void", operands, (type_,) * len(operands), labels=labels)


def _call(rest: str) -> _Said:
    m = _CALLED.match(rest)
    if m is None:
        return _Said("call", "void", (), about="?")
    head = m[1].split()
    callee = m[2] if not m[2].startswith("asm") else "asm"
    typed = [_typed(p) for p in parts(m[3])]
    type_ = next((w for w in reversed(head) if re.match(r"[\w\[{%<]", w)), "void")
    if "(" in m[1]:
        type_ = head[-1] if head and "(" not in head[-1] else "void"
    return _Said("call", type_, tuple(v for _, v in typed), tuple(t for t, _ in typed), callee)
