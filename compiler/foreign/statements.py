"""Statements of C as people write them, as Python that a work-item runs.

A branch on data is taken on both sides where it only assigns to variables of the work-item; every other one must be
known.  What is not translated raises `NotUnderstood` with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from relift.compiler.foreign.expressions import ROW, Placed, Trees, ctype, declared, number, refused
from relift.compiler.text.c_types import INT, plain
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import (
    Barrier,
    Binary,
    CType,
    Declaration,
    Element,
    Evaluation,
    Expression,
    Invocation,
    Member,
    Name,
    Whole,
)
from relift.compiler.validation.machine import Fault, Item, Undecided
from relift.compiler.validation.symbols import OPEN, Symbol, TooLarge
from relift.compiler.validation.translation.expressions import Expressions
from relift.compiler.validation.translation.operators import as_int, as_type, binary
from relift.compiler.validation.translation.python import Code, Local, Translated, Variable
from relift.compiler.validation.translation.statements import Translator

SHORT = {INT: (-(2**23), 2**23 - 1), CType("uint"): (0, 2**24 - 1)}
"""The numbers of 24 bits."""

_FENCES = {1: {"local"}, 2: {"global"}, 3: {"local", "global"}}


@dataclass
class Loosely(Expressions):
    """Expressions with the functions that people use; `contracted` takes `fma` for a product and a sum."""

    contracted: bool = True
    helpers: Mapping[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def _invocation(self, function: str, arguments: tuple[Expression, ...]) -> Code:
        if function == ROW:
            outer, inner, extent = (self.value(a) for a in arguments)
            return Code(f"row(it, {outer.text}, {inner.text}, {extent.text})", INT)
        if function in self.helpers:
            return self._helper(function, arguments)
        if function in ("mad", "fma") and len(arguments) == 3 and self.contracted:
            self.notes.append(f"{function} is taken for a product and a sum")
            return self._product_and_sum(*arguments)
        if function == "mad24" and len(arguments) == 3:
            product = self._short_product(*arguments[:2])
            return binary(self.w, "+", product, self.value(arguments[2]))
        if function == "mul24" and len(arguments) == 2:
            return self._short_product(*arguments)
        if function == "dot" and len(arguments) == 2 and self.contracted:
            self.notes.append("dot is taken for a sum of products, in order")
            return self._dot(*arguments)
        return super()._invocation(function, arguments)

    def _product_and_sum(self, a: Expression, b: Expression, c: Expression) -> Code:
        return self.value(Binary("+", Binary("*", a, b), c))

    def _short_product(self, a: Expression, b: Expression) -> Code:
        """A product of numbers of 24 bits; OpenCL leaves open what it is of longer ones."""
        factors = self.value(a), self.value(b)
        if any(f.type not in SHORT for f in factors):
            raise refused(None, "a product of 24 bits of what are no two numbers")
        checked = [Code(f"short({f.text}, {SHORT[f.type]})", f.type) for f in factors]
        return binary(self.w, "*", *checked)

    def _dot(self, a: Expression, b: Expression) -> Code:
        width = self.value(a).type.width
        total: Expression = Binary("*", a, b)
        if width > 1:
            total = Binary("*", Member(a, "x"), Member(b, "x"))
        for lane in "yzw"[: width - 1]:
            total = Binary("+", total, Binary("*", Member(a, lane), Member(b, lane)))
        return self.value(total)

    def _helper(self, function: str, arguments: tuple[Expression, ...]) -> Code:
        """A function of the source."""
        parameters, result, _ = self.helpers[function]
        if len(parameters) != len(arguments):
            raise refused(None, f"{len(arguments)} arguments of {function}")
        given: list[str] = []
        for t, a in zip(parameters, arguments, strict=True):
            if t.pointer:
                memory, offset, _ = self.pointer(a)
                given.append(f"({memory}, {offset.text})")
            else:
                given.append(as_type(self.w, self.value(a), plain(t)).text)
        name = "h_" + function
        return Code(f"{name}(it, {', '.join(given)})", plain(result) if result else INT)


@dataclass
class ByHand(Translator):
    """Translates parsed kernels; `local_cells` has the lengths of local arrays that are arguments."""

    local_cells: Mapping[str, int] = field(default_factory=dict)
    helpers: Mapping[str, Any] = field(default_factory=dict)
    contracted: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.values = Loosely(
            self.w, {}, {}, self.limits, self.defined, self.contracted, self.helpers
        )
        self.trees = Trees()
        self.ahead: list[Callable[[int], None] | None] = []
        self.known: dict[str, int] = dict(self.arguments)
        self.returns: Any = None
        self.in_kernel = True
        self.w.environment |= {
            "row": _row, "short": _short, "tick": self._tick, "symbolic": lambda c: c.__class__ is Symbol,
            "merged": partial(_merged, self.arithmetic.picked),
            **{f"h_{name}": helper[2] for name, helper in self.helpers.items()},
        }  # fmt: skip

    def _tick(self) -> None:
        self.arithmetic.turns -= 1
        if self.arithmetic.turns < 0:
            raise TooLarge("more turns of loops than the limit allows")

    # ---- definitions

    def foreign(self, kernel: Any) -> tuple[Translated, list[tuple[str, Any]]]:
        """A kernel, and its parameters without those in local memory."""
        names: list[str] = []
        parameters: list[tuple[str, Any]] = []
        for p in kernel.decl.type.args.params if kernel.decl.type.args else []:
            t, extents = declared(p)
            name = self.w.fresh(p.name)
            if extents:
                raise refused(p, "an array as a parameter")
            if t.pointer and t.space == "local":
                if p.name not in self.local_cells:
                    raise refused(
                        p, f"how many cells {p.name} has, which --argument {p.name}=… says"
                    )
                element = replace(t, pointer=False)
                self.local.append(Local(name, p.name, self.local_cells[p.name], element, True))
                self.w.scopes[0][p.name] = Variable(name, element, "array")
                continue
            names.append(name)
            parameters.append((p.name, t))
            kind = "array" if t.pointer else "value"
            self.w.scopes[0][p.name] = Variable(name, t if t.pointer else plain(t), kind)
        self.block(kernel.body, 1)
        head = f"def run({', '.join(['it', *names, *(a.python for a in self.local)])}):"
        text = "\n".join([head, *self.w.lines, "    if False: yield", ""])
        made = Translated(self.w.compiled(text, kernel.decl.name), tuple(self.local), text)
        return made, parameters

    def helper(self, f: Any) -> tuple[list[Any], Any, Callable[..., Any]]:
        """A function that kernels call: its parameters, its result, and itself."""
        self.in_kernel = False
        parameters: list[Any] = []
        names: list[str] = []
        for p in f.decl.type.args.params if f.decl.type.args else []:
            t, extents = declared(p)
            if extents:
                raise refused(p, "an array as a parameter")
            name = self.w.fresh(p.name)
            kind = "pointer" if t.pointer else "value"
            self.w.scopes[0][p.name] = Variable(name, t if t.pointer else plain(t), kind)
            parameters.append(t)
            names.append(name)
        words = f.decl.type.type.type.names
        self.returns = None if words == ["void"] else ctype(words, f)
        self.block(f.body, 1)
        text = "\n".join([f"def run({', '.join(['it', *names])}):", *self.w.lines, ""])
        return parameters, self.returns, self.w.compiled(text, f.decl.name)

    # ---- statements

    def block(self, body: Any, depth: int) -> None:
        """Statements in a scope of their own."""
        from pycparser import c_ast

        self.w.scopes.append({})
        items = (body.block_items or []) if isinstance(body, c_ast.Compound) else [body]
        for s in items:
            self.step(s, depth)
        self.w.scopes.pop()
        self.w.emit(depth, "pass")

    def step(self, s: Any, depth: int) -> None:
        """One statement."""
        if s is None:
            return
        by_kind: dict[str, Callable[[Any, int], None]] = {
            "EmptyStatement": lambda s, d: None, "Pragma": lambda s, d: None,
            "Compound": self.block, "Decl": self._declare, "FuncCall": self._call, "If": self._if,
            "For": self._for, "DoWhile": self._do, "Switch": self._switch, "Return": self._return,
            "DeclList": lambda s, d: self._each(s.decls, d), "ExprList": lambda s, d: self._each(s.exprs, d),
            "Assignment": lambda s, d: self._simple(s.lvalue, s.op, self.trees.of(s.rvalue), d),
            "UnaryOp": self._counted, "Break": lambda s, d: self.w.emit(d, "break"),
            "While": lambda s, d: self._while(s.cond, s.stmt, lambda _: None, d),
            "Continue": self._continue,
        }  # fmt: skip
        kind = type(s).__name__
        if kind not in by_kind:
            raise refused(s, kind)
        try:
            by_kind[kind](s, depth)
        except Placed:
            raise
        except NotUnderstood as error:
            raise refused(s, str(error)) from None

    def _each(self, statements: Sequence[Any], depth: int) -> None:
        for s in statements:
            self.step(s, depth)

    def _counted(self, s: Any, depth: int) -> None:
        if s.op not in ("p++", "++", "p--", "--"):
            raise refused(s, f"{s.op} as a statement")
        self._simple(s.expr, "+=" if "+" in s.op else "-=", Whole(1), depth)

    def _continue(self, s: Any, depth: int) -> None:
        ahead = self.ahead[-1] if self.ahead else None
        if ahead is None:
            raise refused(s, "a continue in a switch")
        ahead(depth)
        self.w.emit(depth, "continue")

    def _for(self, s: Any, depth: int) -> None:
        self.w.scopes.append({})
        self.step(s.init, depth)
        self._while(s.cond, s.stmt, lambda d: self.step(s.next, d), depth)
        self.w.scopes.pop()

    def _simple(self, place: Any, operator: str, value: Expression, depth: int) -> None:
        """An assignment, also to several lanes."""
        target = self.trees.of(place)
        if operator != "=":
            value = Binary(operator[:-1], target, value)
        if isinstance(target, Member) and isinstance(target.of, Name):
            from relift.compiler.validation.translation.expressions import lanes_of

            v = self.w.find(target.of.name)
            places = lanes_of(target.field, v.type.width)
            if len(places) > 1:
                whole = as_type(
                    self.w, self.values.value(value), replace(v.type, width=len(places))
                )
                held = self.w.fresh("held")
                self.w.emit(depth, f"{held} = {whole.text}")
                lanes = [
                    f"{held}[{places.index(k)}]" if k in places else f"{v.python}[{k}]"
                    for k in range(v.type.width)
                ]
                self.w.emit(depth, f"{v.python} = ({', '.join(lanes)},)")
                return
        self._assignment(target, value, depth)

    def _declare(self, d: Any, depth: int) -> None:
        from pycparser import c_ast

        t, dims = declared(d)
        if not dims:
            if isinstance(d.init, c_ast.InitList):
                raise refused(d, "the first values of a scalar")
            value = None if d.init is None else self.trees.of(d.init)
            self.trees.extents.pop(d.name, None)
            self._declaration(
                Declaration(replace(t, constant=t.constant and t.pointer), d.name, None, value),
                depth,
            )
            return
        extents = [number(self.trees.of(e), d, self.known) for e in dims]
        cells = 1
        for n in extents:
            cells *= n
        self.trees.extents[d.name] = extents
        made = Declaration(replace(t, constant=False), d.name, Whole(cells), None, aligned=128)
        self._declaration(made, depth)
        if d.init is not None:
            flat = list(_flattened(d.init))
            if len(flat) > cells:
                raise refused(d, f"more than {cells} first values")
            zero = [Whole(0)] * (cells - len(flat))
            for i, e in enumerate([*map(self.trees.of, flat), *zero]):
                self._assignment(Element(Name(d.name), Whole(i)), e, depth)

    def _call(self, s: Any, depth: int) -> None:
        e = self.trees.of(s)
        assert isinstance(e, Invocation), "cannot happen: a call"
        if e.function in ("barrier", "work_group_barrier"):
            if not self.in_kernel:
                raise refused(s, "a barrier in a function")
            flags = e.arguments[0]
            value = _flags(flags)
            if value not in _FENCES:
                raise refused(s, "the flags of a barrier")
            self._statement(Barrier(frozenset(_FENCES[value])), depth)
        elif e.function.startswith("vstore"):
            self._statement(Evaluation(e), depth)
        elif e.function in self.helpers:
            self.w.emit(depth, self.values.value(e).text)
        elif e.function in ("mem_fence", "read_mem_fence", "write_mem_fence", "prefetch"):
            return
        else:
            raise refused(s, f"a call of {e.function} for its effect")

    def _truth(self, e: Any) -> str:
        value = self.values.value(self.trees.of(e))
        if value.type.width > 1:
            raise refused(e, "a condition of lanes")
        return value.text if value.known else as_int(self.w, value).text

    def _if(self, s: Any, depth: int) -> None:
        names = _assigned_by(s.iftrue) | _assigned_by(s.iffalse) if _predicable(s) else None
        c = self.w.fresh("c")
        self.w.emit(depth, f"{c} = {self._truth(s.cond)}")
        if names is not None and all(
            (v := self.w.known(n)) is not None and v.kind == "value" for n in names
        ):
            held = "".join(self.w.find(n).python + ", " for n in sorted(names))
            before, yes = self.w.fresh("before"), self.w.fresh("yes")
            self.w.emit(depth, f"if symbolic({c}) and {c} is not OPEN:")
            self.w.emit(depth + 1, f"{before} = ({held})")
            self.block(s.iftrue, depth + 1)
            self.w.emit(depth + 1, f"{yes} = ({held})")
            self.w.emit(depth + 1, f"{held} = {before}")
            if s.iffalse is not None:
                self.block(s.iffalse, depth + 1)
            self.w.emit(depth + 1, f"{held} = merged({c}, {yes}, ({held}))")
            self.w.emit(depth, f"elif decided(it, {c}):")
        else:
            self.w.emit(depth, f"if decided(it, {c}):")
        self.block(s.iftrue, depth + 1)
        if s.iffalse is not None:
            self.w.emit(depth, "else:")
            self.block(s.iffalse, depth + 1)

    def _while(self, cond: Any, body: Any, ahead: Callable[[int], None], depth: int) -> None:
        self.w.emit(depth, "while True:")
        self.w.emit(depth + 1, "tick()")
        if cond is not None:
            self.w.emit(depth + 1, f"if not decided(it, {self._truth(cond)}): break")
        self.ahead.append(ahead)
        self.block(body, depth + 1)
        self.ahead.pop()
        ahead(depth + 1)

    def _do(self, s: Any, depth: int) -> None:
        def ahead(d: int) -> None:
            self.w.emit(d, f"if not decided(it, {self._truth(s.cond)}): break")

        self.w.emit(depth, "while True:")
        self.w.emit(depth + 1, "tick()")
        self.ahead.append(ahead)
        self.block(s.stmt, depth + 1)
        self.ahead.pop()
        ahead(depth + 1)

    def _switch(self, s: Any, depth: int) -> None:
        from pycparser import c_ast

        value, met = self.w.fresh("value"), self.w.fresh("met")
        self.w.emit(depth, f"{value} = {self._truth(s.cond)}")
        self.w.emit(depth, f"{met} = False")
        self.w.emit(depth, "for _ in (0,):")
        self.ahead.append(None)
        items = s.stmt.block_items or []
        for k, case in enumerate(items):
            match case:
                case c_ast.Case():
                    wanted = number(self.trees.of(case.expr), case, self.known)
                    self.w.emit(depth + 1, f"{met} = {met} or decided(it, {value} == {wanted})")
                case c_ast.Default() if k == len(items) - 1:
                    self.w.emit(depth + 1, f"{met} = True")
                case _:
                    raise refused(case, "a switch whose default is not last")
            self.w.emit(depth + 1, f"if {met}:")
            self.w.scopes.append({})
            for inner in case.stmts or []:
                self.step(inner, depth + 2)
            self.w.scopes.pop()
            self.w.emit(depth + 2, "pass")
        self.ahead.pop()
        if not items:
            self.w.emit(depth + 1, "pass")

    def _return(self, s: Any, depth: int) -> None:
        if self.returns is None:
            if s.expr is not None:
                raise refused(s, "a value that is returned")
            self.w.emit(depth, "return")
            return
        value = as_type(self.w, self.values.value(self.trees.of(s.expr)), plain(self.returns))
        self.w.emit(depth, f"return {value.text}")


def _merged(
    pick: Callable[..., Any], c: Symbol, yes: tuple[Any, ...], no: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Variables after a branch on data, where both sides were run."""

    def one(x: Any, y: Any) -> Any:
        if isinstance(x, tuple):
            return tuple([one(p, q) for p, q in zip(x, y, strict=True)])
        return x if x is y else pick(c, x, y)

    return tuple([one(x, y) for x, y in zip(yes, no, strict=True)])


def _flags(e: Expression) -> int:
    """The flags of a fence."""
    if isinstance(e, Binary) and e.operator == "|":
        return _flags(e.left) | _flags(e.right)
    return e.value if isinstance(e, Whole) else -1


def _flattened(init: Any) -> Sequence[Any]:
    """The values of an initialiser, row by row."""
    from pycparser import c_ast

    if isinstance(init, c_ast.InitList):
        return [e for part in init.exprs for e in _flattened(part)]
    return [init]


def _predicable(s: Any) -> bool:
    """Whether a branch only assigns to variables."""
    return _plain_branch(s.iftrue) and (s.iffalse is None or _plain_branch(s.iffalse))


def _plain_branch(s: Any) -> bool:
    from pycparser import c_ast

    if isinstance(s, c_ast.Compound):
        return all(map(_plain_branch, s.block_items or []))
    if isinstance(s, c_ast.Assignment):
        return isinstance(s.lvalue, c_ast.ID)
    return isinstance(s, c_ast.If) and _predicable(s)


def _assigned_by(s: Any) -> set[str]:
    from pycparser import c_ast

    if isinstance(s, c_ast.Compound):
        return set[str]().union(*map(_assigned_by, s.block_items or []))
    if isinstance(s, c_ast.If):
        return _assigned_by(s.iftrue) | _assigned_by(s.iffalse)
    return {s.lvalue.name} if isinstance(s, c_ast.Assignment) else set()


def _short(x: Any, ends: tuple[int, int]) -> int:
    """A number that is checked to have 24 bits."""
    if isinstance(x, Symbol):
        raise Undecided("a product of 24 bits depends on data")
    if not ends[0] <= x <= ends[1]:
        raise Undecided(f"{x} has more than the 24 bits that are multiplied")
    return int(x)


def _row(it: Item, outer: Any, inner: Any, extent: int) -> Any:
    """The place of an element of a row of an array of rows."""
    if isinstance(outer, Symbol) or isinstance(inner, Symbol):
        if OPEN in (outer, inner):
            raise Fault("initialised", f"{it} indexes by what nothing was written to")
        raise Undecided("an index of an array of rows depends on data")
    if not 0 <= inner < extent:
        raise Fault("bounds", f"{it} is at {inner} of a row of {extent}")
    return outer * extent + inner
