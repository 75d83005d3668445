"""Assignments, counters and commas inside of expressions, as statements before them.

C says when what an expression changes is changed only for `,`, `&&`, `||` and `?:`.  What is changed and used in one
expression elsewhere is refused: C leaves open what that means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

from relift.compiler.foreign.expressions import Trees, refused
from relift.compiler.foreign.groups.sub_groups import as_device_decides
from relift.compiler.foreign.groups.together import is_of_group
from relift.compiler.text.c_types import FLOATS, INT, plain
from relift.compiler.text.tree import Expression, Invocation, Whole
from relift.compiler.validation.translation.operators import as_int
from relift.compiler.validation.translation.python import Variable
from relift.compiler.validation.translation.statements import Translator

_COUNTERS = ("p++", "p--", "++", "--")


def children(node: Any) -> list[tuple[str, Any]]:
    """The parts of a parsed expression that are expressions, with their names."""
    return [(name, part) for name, part in node.children() if type(part).__name__ != "Typename"]


def within(node: Any) -> Iterator[Any]:
    """A parsed expression, and all in it."""
    yield node
    for _, part in children(node):
        yield from within(part)


def is_effect(node: Any) -> bool:
    """Whether a node of an expression changes something by itself."""
    kind = type(node).__name__
    return kind == "Assignment" or (kind == "UnaryOp" and node.op in _COUNTERS)


def has_effects(node: Any) -> bool:
    """Whether an expression changes something, or has parts that are computed for nothing."""
    if node is None:
        return False
    if is_effect(node) or _is_comma(node) or waits_for_group(node):
        return True
    listed = type(node).__name__ in ("FuncCall", "Cast")  # arguments and lanes are no commas
    parts = [part for _, part in children(node)]
    return any(
        any(map(has_effects, part.exprs)) if listed and _is_comma(part) else has_effects(part)
        for part in parts
    )


def waits_for_group(node: Any) -> bool:
    """Whether a node is a call of a function that all work-items of a group call together."""
    return type(node).__name__ == "FuncCall" and is_of_group(node.name.name)


def _is_comma(node: Any) -> bool:
    """Whether a node is `a, b`, unless it is a list of arguments or of lanes."""
    return type(node).__name__ == "ExprList"


def _target(node: Any) -> Any:
    return node.lvalue if type(node).__name__ == "Assignment" else node.expr


def _base(target: Any) -> str | None:
    """The variable that an assignment changes; None where it is a cell of an array."""
    while type(target).__name__ == "StructRef":
        target = target.name
    return target.name if type(target).__name__ == "ID" else None


def changed(node: Any) -> set[str]:
    """The variables that an expression changes."""
    return {b for n in within(node) if is_effect(n) and (b := _base(_target(n))) is not None}


def used(node: Any) -> set[str]:
    """The names in an expression."""
    return {n.name for n in within(node) if type(n).__name__ == "ID"}


def require_ordered(node: Any) -> None:
    """Raise `NotUnderstood` where C does not say in which order a variable is changed and used."""
    parts = [part for _, part in children(node)]
    for part in parts:
        require_ordered(part)
    if type(node).__name__ in ("TernaryOp", "ExprList") or getattr(node, "op", "") in ("&&", "||"):
        return
    for k, part in enumerate(parts):
        others = set[str]().union(*(used(other) for j, other in enumerate(parts) if j != k))
        if both := sorted(changed(part) & others):
            raise refused(node, f"{both[0]}, which is changed and used in one expression,")
    if is_effect(node) and _base(_target(node)) in set[str]().union(*map(changed, parts)):
        raise refused(node, f"{_base(_target(node))}, which is changed twice in one expression,")


def with_parts(e: Any, part: Callable[[Any], Any]) -> Any:
    """An expression or a statement of other parts; itself, where all are the same."""
    found = copy(e)
    same = True
    for name, inner in children(e):
        new = part(inner)
        same = same and new is inner
        attribute, bracket, index = name.partition("[")
        if bracket:
            whole = list(getattr(found, attribute))
            whole[int(index[:-1])] = new
            setattr(found, attribute, whole)
        else:
            setattr(found, attribute, new)
    return e if same else found


def with_other(e: Any, part: Any, other: Any) -> Any:
    """An expression with something else in place of a part."""
    return other if e is part else with_parts(e, lambda inner: with_other(inner, part, other))


def called_alone(e: Any, waits: Callable[[Any], bool]) -> Any:
    """The call with barriers in an expression, beside which is nothing that it may change; None where there is none.

    Raises `NotUnderstood` where it may not be made, or C does not say before or after what.
    """
    calls = [n for n in within(e) if n is not e and waits(n)]
    if not calls:
        return None
    call, name = calls[0], calls[0].name.name
    if len(calls) > 1 or has_effects(e):
        others = "others" if len(calls) > 1 else "what changes something"
        raise refused(e, f"{name}, which has barriers, beside {others},")
    inside = [*within(call)]
    pointed = {x for n in inside if getattr(n, "op", "") == "&" for x in used(n)}
    for n in within(e):
        kind, op = type(n).__name__, getattr(n, "op", "")
        if any(n is m for m in inside):
            continue
        parts = [n.iftrue, n.iffalse] if kind == "TernaryOp" else []
        parts += [n.right] if op in ("&&", "||") else []
        if any(m is call for part in parts for m in within(part)):
            raise refused(e, f"{name}, which has barriers, where it may not be called,")
        if kind == "ArrayRef" or (kind == "UnaryOp" and op == "*"):
            raise refused(e, f"{name}, which has barriers, beside what is read from memory,")
        if kind == "ID" and n.name in pointed:
            raise refused(e, f"{name}, which may change {n.name}, beside it,")
    return call


class WithEffects(Translator):
    """Translates expressions that change something, by statements before them."""

    trees: Trees
    _simple: Callable[[Any, str, Expression, int], None]
    contracted: bool
    forked: Callable[..., None]
    held: Callable[..., tuple[str, str]]
    barriers: int
    sub_group: int
    _waits: Callable[[Any], bool]

    def pure(self, e: Any, depth: int) -> Any:
        """An expression that changes nothing, once the statements before it have run."""
        if (call := called_alone(e, self._waits)) is not None:
            return with_other(e, call, self.pure(call, depth))
        if not has_effects(e):
            return e
        require_ordered(e)
        return self._lifted(e, depth)

    def _lifted(self, e: Any, depth: int) -> Any:
        from pycparser import c_ast

        if not has_effects(e):
            return e
        match e:
            case c_ast.Assignment():
                value, place = self._lifted(e.rvalue, depth), self._lifted(e.lvalue, depth)
                self._simple(place, e.op, self.trees.of(value), depth)
                return place
            case c_ast.UnaryOp() if e.op in _COUNTERS:
                return self._counter(e, depth)
            case c_ast.BinaryOp() if e.op in ("&&", "||") and has_effects(e.right):
                return self._either(e, depth)
            case c_ast.TernaryOp() if has_effects(e.iftrue) or has_effects(e.iffalse):
                raise refused(e, "an assignment in a part of ?:")
            case c_ast.FuncCall() if waits_for_group(e):
                return self._of_group(self._parts_lifted(e, depth), depth)
            case c_ast.ExprList():
                *before, last = e.exprs
                for part in before:
                    self._lifted(part, depth)
                return self._lifted(last, depth)
            case _:
                return self._parts_lifted(e, depth)

    def _parts_lifted(self, e: Any, depth: int) -> Any:
        """The same expression of parts that change nothing; lists of arguments, of lanes and of first values stay lists."""
        from pycparser import c_ast

        found = copy(e)
        for name, part in children(e):
            listed = isinstance(part, c_ast.ExprList) and isinstance(e, c_ast.FuncCall | c_ast.Cast)
            attribute, bracket, index = name.partition("[")
            if bracket:
                whole = list(getattr(found, attribute))
                whole[int(index[:-1])] = self._lifted(part, depth)
                setattr(found, attribute, whole)
            elif listed:
                inner = copy(part)
                inner.exprs = [self._lifted(x, depth) for x in part.exprs]
                setattr(found, attribute, inner)
            else:
                setattr(found, attribute, self._lifted(part, depth))
        return found

    def _counter(self, e: Any, depth: int) -> Any:
        """`i++` and the like: the value before or after."""
        from pycparser import c_ast

        place = self._lifted(e.expr, depth)
        operator = "+=" if "+" in e.op else "-="
        if not e.op.startswith("p"):
            self._simple(place, operator, Whole(1), depth)
            return place
        held = self.w.fresh("before")
        known = self.w.known(place.name) if isinstance(place, c_ast.ID) else None
        if known is not None and known.kind == "pointer":
            self.w.emit(depth, f"{held} = {known.python}")
            self.w.declare(held, Variable(held, known.type, "pointer"))
        else:
            value = self.values.value(self.trees.of(place))
            self.w.emit(depth, f"{held} = {value.text}")
            self.w.declare(held, Variable(held, value.type, "value"))
        self._simple(place, operator, Whole(1), depth)
        return c_ast.ID(held, e.coord)

    def _either(self, e: Any, depth: int) -> Any:
        """`a && b` or `a || b`, where b changes something: only where it is computed."""
        from pycparser import c_ast

        held = self.w.fresh("either")
        row, kinds = self.held(e.right)
        left = as_int(self.w, self.values.value(self.trees.of(self._lifted(e.left, depth))))
        self.w.emit(depth, f"{held} = {'1' if e.op == '||' else '0'}")

        def right(d: int) -> None:
            value = as_int(self.w, self.values.value(self.trees.of(self._lifted(e.right, d))))
            self.w.emit(d, f"{held} = both(it, {value.text}, lambda: 1)")

        more = f"({held}, {row[1:]}", self.w.bound(("i32", *self.w.environment[kinds]))
        c = left.text if e.op == "&&" else f"negated({left.text})"
        self.forked(c, right, None, more, (False, False), depth)
        self.w.declare(held, Variable(held, INT, "value"))
        return c_ast.ID(held, e.coord)

    def _of_group(self, e: Any, depth: int) -> Any:
        """What a function of the group gives, which is known before the statement."""
        from pycparser import c_ast

        call = self.trees.of(e)
        assert isinstance(call, Invocation), "cannot happen: a call"
        value, *places = map(self.values.value, call.arguments)
        if "sub_group" in call.function and not self.sub_group:
            raise as_device_decides(call.function)
        t = INT if call.function.endswith(("_group_all", "_group_any")) else plain(value.type)
        if t.width > 1 or (value.type.scalar in FLOATS and t == INT):
            raise refused(e, f"{call.function} of {value.type.scalar}{value.type.width}")
        if t.scalar in FLOATS and call.function.endswith("_add") and not self.contracted:
            raise refused(e, f"a sum of {t.scalar} in the order of {call.function}, not known,")
        self.w.emit(depth, "everywhere(it)")
        self.barriers += 1
        held, given = self.w.fresh("given"), ", ".join(p.text for p in (value, *places))
        known = f"{self.barriers}, {call.function!r}, {t.scalar!r}"
        self.w.emit(depth, f"{held} = yield from together(it, {known}, {given})")
        self.w.declare(held, Variable(held, t, "value"))
        return c_ast.ID(held, e.coord)
