"""The statements of a kernel, and of the functions that it calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from relift.compiler.text import tree
from relift.compiler.text.c_types import (
    FLOATS,
    RANGES,
    Update,
    combined,
    plain,
    size_of,
    updated_by,
    vector_function,
)
from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.validation.arithmetic import Arithmetic
from relift.compiler.validation.translation.expressions import Expressions, lanes_of
from relift.compiler.validation.translation.operators import as_int, as_type, moved, unassigned
from relift.compiler.validation.translation.python import (
    Code,
    Local,
    Opaque,
    Translated,
    Variable,
    Writer,
)


@dataclass
class Translator:
    """`limits` has the largest values of the numbers of work-items, `arguments` the kernel's scalars that are known."""

    arithmetic: Arithmetic
    functions: Mapping[str, tree.Function]
    opaque: Mapping[str, Opaque]
    limits: Mapping[tuple[str, int], int]
    arguments: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.w = Writer(self.arithmetic)
        self.values = Expressions(self.w, self.functions, self.opaque, self.limits, self.defined)
        self.local: list[Local] = []
        self.barriers = 0

    def kernel(self, kernel: tree.KernelText) -> Translated:
        """One kernel; raises `NotUnderstood`."""
        names = [self._parameter(p) for p in kernel.parameters]
        self._block(kernel.body, 1)
        head = f"def run({', '.join(['it', *names, *(a.python for a in self.local)])}):"
        text = "\n".join([head, *self.w.lines, "    if False: yield", ""])
        return Translated(self.w.compiled(text, kernel.name), tuple(self.local), text)

    def _parameter(self, p: tree.Argument) -> str:
        name = self.w.fresh(p.name)
        if p.type.pointer:
            self.w.scopes[0][p.name] = Variable(name, p.type, "array")
        else:
            t = plain(p.type)
            value = self.arguments.get(p.name)
            code = None if value is None else Code(str(value), t, value, value)
            self.w.scopes[0][p.name] = Variable(name, t, "value", code, p.type.constant)
        return name

    def _block(self, body: Sequence[tree.Statement], depth: int) -> None:
        self.w.scopes.append({})
        for statement in body:
            self._statement(statement, depth)
        self.w.scopes.pop()
        self.w.emit(depth, "pass")

    def _statement(self, statement: tree.Statement, depth: int) -> None:
        match statement:
            case tree.Barrier(fences):
                self.barriers += 1
                which = f"{self.barriers}, {'group' in fences}, {'device' in fences}"
                self.w.emit(depth, f"yield ({which})")
            case tree.Declaration():
                self._declaration(statement, depth)
            case tree.Assignment(target, operator, value):
                if operator != "=":
                    value = tree.Binary(operator[:-1], target, value)
                self._assignment(target, value, depth)
            case tree.Evaluation(tree.Invocation(function, (value, n, pointer))) if (
                width := vector_function(function, "vstore")
            ):
                memory, at, t = self.values.vector_at(n, pointer, width)
                text = self._stored(value, t, width)
                self.w.emit(
                    depth, f"{memory}.store_vector(it, {at.text}, {width}, {text}, aligned=False)"
                )
            case tree.Evaluation(call):
                if (update := updated_by(call)) is None:
                    raise NotUnderstood(f"the statement {in_c(call)}")
                self._update(*update, depth)
            case tree.Guard(condition, body):
                self.w.emit(depth, f"if {self._condition(condition)}:")
                self._block(body, depth + 1)
            case tree.Loop():
                self._loop(statement, depth)

    def _update(self, how: Update, cell: tree.Element, value: tree.Expression, depth: int) -> None:
        """A cell that is combined with a value while nobody else reaches it."""
        memory, offset, t = self.values.pointer(cell.array)
        if plain(t) != tree.CType(how.scalar) or t.space.of_item:
            raise NotUnderstood(f"an update of {in_c(cell)}")
        at = moved(offset, self.values.value(cell.index))
        self.w.emit(depth, f"for _ in {memory}.updating(it, {at.text}, {how.by!r}):")
        self._assignment(cell, combined(how, cell, value), depth + 1)

    def _declaration(self, d: tree.Declaration, depth: int) -> None:
        name, t = self.w.fresh(d.name), d.type
        if d.extent is not None:
            extent = self.values.value(d.extent)
            if not extent.known or extent.low != extent.high or t.pointer:
                raise NotUnderstood(f"the extent of {d.name}")
            cells = extent.range[0]
            aligned = d.aligned >= 16 * size_of(plain(t))
            if d.values:
                self.w.emit(depth, f"{name} = {self._table(d, aligned)}()")
            elif t.space.of_group:
                if len(self.w.scopes) != 2:
                    raise NotUnderstood(f"the local array {d.name} in a block")
                self.local.append(Local(name, d.name, cells, t, aligned))
            else:
                self.w.emit(
                    depth,
                    f"{name} = Memory({d.name!r}, [{unassigned(plain(t))}]*{cells}, {aligned})",
                )
            self.w.declare(d.name, Variable(name, t, "array"))
        elif t.pointer:
            if d.value is None:
                raise NotUnderstood(f"the pointer {d.name} without a value")
            self.w.emit(depth, f"{name} = {self._pointed(d.name, t, d.value)}")
            self.w.declare(d.name, Variable(name, t, "pointer"))
        elif not t.space.of_item:
            raise NotUnderstood(f"{d.name}, which is no array, in {t.space} memory")
        else:
            value = (
                None if d.value is None else as_type(self.w, self.values.value(d.value), plain(t))
            )
            self.w.emit(depth, f"{name} = {unassigned(plain(t)) if value is None else value.text}")
            code = None
            if value is not None and value.known and t.constant:
                code = replace(value, text=name)
            self.w.declare(d.name, Variable(name, plain(t), "value", code, t.constant))

    def _table(self, d: tree.Declaration, aligned: bool) -> str:
        """The name of a function that gives an array of constants, which is made once."""
        t = plain(d.type)
        values = [as_type(self.w, self.values.value(e), t) for e in d.values]
        kind = FLOATS.get(t.scalar, "i64" if "long" in t.scalar else "i32")
        if t.scalar == "uchar" and all(v.known and v.range in ((0, 0), (1, 1)) for v in values):
            kind = "bool"
        cells = ", ".join(v.text for v in values)
        text = f"def made(): return Memory({d.name!r}, [{cells}], {aligned}, True, {kind!r})\n"
        return self.w.bound(cache(self.w.compiled(text, d.name)))

    def _loop(self, loop: tree.Loop, depth: int) -> None:
        t = plain(loop.type)
        start = as_type(self.w, self.values.value(loop.start), t)
        if not start.known:
            start = Code(f"decided_number({start.text})", t, *RANGES[t.scalar])
            self.w.environment["decided_number"] = _decided_number
        self.w.scopes.append({})
        name = self.w.fresh(loop.counter)
        self.w.emit(depth, f"{name} = {start.text}")
        end = self.values.value(loop.end)
        top = end.range[1] - 1 if end.known else RANGES[t.scalar][1]
        counter = Code(name, t, start.range[0], max(min(top, RANGES[t.scalar][1]), start.range[0]))
        self.w.declare(loop.counter, Variable(name, t, "value", counter, True))
        self.w.emit(
            depth, f"while {self._condition(tree.Binary('<', tree.Name(loop.counter), loop.end))}:"
        )
        self._block(loop.body, depth + 1)
        step = self.values.value(loop.step)
        self.w.emit(depth + 1, f"{name} = ahead(it, {name}, {step.text}, {t.scalar!r})")
        self.w.scopes.pop()

    def _condition(self, e: tree.Expression) -> str:
        value = self.values.value(e)
        if value.type.width > 1:
            raise NotUnderstood(f"the condition {in_c(e)}")
        return value.text if value.known else f"decided(it, {as_int(self.w, value).text})"

    def _assignment(self, target: tree.Expression, value: tree.Expression, depth: int) -> None:
        match target:
            case tree.Name(name) if self.w.find(name).kind == "pointer":
                v = self.w.find(name)
                self.w.emit(depth, f"{v.python} = {self._pointed(name, v.type, value)}")
            case tree.Name(name):
                v = self.w.find(name)
                if v.kind != "value" or v.fixed:
                    raise NotUnderstood(f"an assignment to {name}, which is fixed")
                self.w.emit(
                    depth, f"{v.python} = {as_type(self.w, self.values.value(value), v.type).text}"
                )
            case tree.Element(array, index):
                memory, offset, t = self.values.pointer(array)
                self._writable(t, array)
                at = moved(offset, self.values.value(index))
                text = self._stored(value, t)
                self.w.emit(depth, f"{memory}.store(it, {at.text}, {text})")
            case tree.Prefix("*", pointer):
                memory, offset, t, width, aligned = self.values.through(pointer)
                self._writable(t, pointer)
                text = self._stored(value, t, width)
                if width == 1:
                    self.w.emit(depth, f"{memory}.store(it, {offset.text}, {text})")
                else:
                    more = f"{width}, {text}, aligned={aligned}"
                    self.w.emit(depth, f"{memory}.store_vector(it, {offset.text}, {more})")
            case tree.Member(of, name):
                whole = self.values.value(of)
                places = lanes_of(name, whole.type.width)
                if len(places) != 1:
                    raise NotUnderstood(f"an assignment to {in_c(target)}")
                lane = as_type(self.w, self.values.value(value), replace(whole.type, width=1))
                held = self.w.fresh("held")
                k = places[0]
                self.w.emit(depth, f"{held} = {whole.text}")
                self.w.emit(depth, f"{held} = (*{held}[:{k}], {lane.text}, *{held}[{k + 1}:])")
                self.w.scopes.append({held: Variable(held, whole.type, "value")})
                self._assignment(of, tree.Name(held), depth)
                self.w.scopes.pop()
            case (
                tree.Whole() | tree.Real() | tree.Prefix() | tree.Binary()
                | tree.Conditional() | tree.Invocation() | tree.Cast()
            ):  # fmt: skip
                raise NotUnderstood(f"an assignment to {in_c(target)}")

    def _stored(self, value: tree.Expression, t: tree.CType, width: int | None = None) -> str:
        """A value as it is written to an array, or to `width` of its elements at once."""
        element = plain(t)
        return as_type(
            self.w, self.values.value(value), replace(element, width=width or element.width)
        ).text

    def _pointed(self, name: str, t: tree.CType, value: tree.Expression) -> str:
        """What a pointer of this name and type is set to."""
        memory, offset, of = self.values.pointer(value)
        if not offset.known:
            raise NotUnderstood(f"the pointer {name} to a place that depends on data")
        if (plain(of), of.space) != (plain(t), t.space) or (of.constant and not t.constant):
            raise NotUnderstood(f"the pointer {name} into an array of another type")
        return f"{memory}, {offset.text}"

    def _writable(self, t: tree.CType, where: tree.Expression) -> None:
        if t.constant:
            raise NotUnderstood(f"a write to {in_c(where)}, which is constant")

    def defined(self, function: tree.Function) -> Callable[..., Any]:
        """A function of the source as one of Python's."""
        if function.body is None:
            raise NotUnderstood(f"the body of the function {function.name}")
        others = {k: f for k, f in self.functions.items() if k != function.name}
        inner = Translator(self.arithmetic, others, self.opaque, self.limits)
        names = [inner._parameter(p) for p in function.parameters]
        inner.w.made += 1
        inner._returned(function.body, plain(function.result), 1)
        text = "\n".join([f"def run(it, {', '.join(names)}):", *inner.w.lines, ""])
        return inner.w.compiled(text, function.name)

    def _returned(
        self, body: Sequence[tree.Statement | tree.Return], t: tree.CType, depth: int
    ) -> None:
        """The statements of a function: what is left after a condition is a function of its own."""
        for place, statement in enumerate(body):
            if isinstance(statement, tree.Declaration):
                self._declaration(statement, depth)
                continue
            if not isinstance(statement, tree.Return):
                raise NotUnderstood("a statement in a function")
            value = as_type(self.w, self.values.value(statement.value), t).text
            if statement.condition is None:
                self.w.emit(depth, f"return {value}")
                return
            condition = as_int(self.w, self.values.value(statement.condition)).text
            rest = self.w.fresh("rest")
            self.w.emit(depth, f"def {rest}():")
            self._returned(body[place + 1 :], t, depth + 1)
            self.w.emit(depth, f"return choose({condition}, lambda: {value}, {rest})")
            return


def _decided_number(value: Any) -> int:
    """A number of control flow, which must be known."""
    return int(value.__index__())
