"""Expressions in C: what OpenCL C has on vectors is written out, or called by type.

Vectors are those of GCC and Clang.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relift.compiler.dialects.c.library import (
    Definition,
    definition,
    spelled,
    update_alone,
    update_at_once,
)
from relift.compiler.dialects.c.names import OF_GROUPS
from relift.compiler.dialects.printing import Printer
from relift.compiler.dialects.types import CONVERSION, Types, lanes_of
from relift.compiler.text.c_types import FLOATS, MEMORY, Update, common, mask_of, updated_by
from relift.compiler.text.tree import (
    Binary,
    Cast,
    Conditional,
    CType,
    Element,
    Expression,
    Invocation,
    Member,
    Name,
    Prefix,
    Real,
    Whole,
)
from relift.semantics.errors import Unsupported

_WORDS = frozenset(
    [
        "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
        "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
        "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
        "union", "unsigned", "void", "volatile", "while", "main", "relift_place",
    ]
)  # fmt: skip
"""Names that C or the prelude has taken, and OpenCL C leaves to programs."""


class CExpressions(Printer):
    """Expressions and types, where `types` says which names have which, and `needed` are the functions that they call."""

    def __init__(self, types: Types | None = None, needed: dict[str, str] | None = None) -> None:
        self.types = types or Types()
        self.needed = {} if needed is None else needed

    # ---- expressions

    def plain(self, e: Expression) -> str:
        """Names that C has taken get others; constants of a type that has none are converted."""
        if isinstance(e, Name):
            return own_name(e.name)
        if isinstance(e, Real) and e.text[-1] in "hH":
            return f"((half){e.text[:-1]})"
        return self._typed(e)

    def _typed(self, e: Expression) -> str:
        """An expression whose operators may be none that C has on vectors."""
        if isinstance(e, Prefix) and e.operator == "!" and self.types.of(e.operand).width > 1:
            return f"({self.expression(e.operand)} == 0)"
        if isinstance(e, Binary) and self._lanes(e.left, e.right) > 1:
            return self._of_vectors(e.operator, e.left, e.right, super().plain(e))
        return super().plain(e)

    def _lanes(self, *of: Expression) -> int:
        return max(self.types.of(e).width for e in of)

    def _of_vectors(self, operator: str, left: Expression, right: Expression, text: str) -> str:
        """An operator lane by lane."""
        x, y = self.types.of(left), self.types.of(right)
        t = CType(common(x, y).scalar, max(x.width, y.width))
        if operator in ("&&", "||"):
            sides = (f"({self.expression(e)} != 0)" for e in (left, right))
            return f" {operator[0]} ".join(sides).join("()")
        if operator in ("/", "%") and t.scalar not in FLOATS:  # an idle fourth lane may hold a 0
            return self._call(operator, [left, right], [t, t], t)
        if x == y:
            return text
        first, second = (self.as_type(e, t) for e in (left, right))
        return f"({first} {operator} {second})"

    def as_type(self, e: Expression, t: CType) -> str:
        """An operand of an operator or a function, in the type that is computed with."""
        own = self.types.of(e)
        if own.pointer or (own.width == t.width and (own.width > 1 or own.scalar == t.scalar)):
            return self.inside(e, 12)
        if t.width == 1:
            return f"({spelled(t)})({self.expression(e)})"
        return self._bring("all", [CType(t.scalar)], t) + f"({self.expression(e)})"

    def _bring(self, function: str, given: Sequence[CType], result: CType) -> str:
        """The name of a function that is defined for this."""
        made = _spread(result) if function == "all" else definition(function, given, result)
        made = replace(made, name=_operators(made.name), text=_operators(made.text, made.name))
        self.needed.setdefault(made.name, made.text)
        return made.name

    def _call(
        self, function: str, given: Sequence[Expression], types: Sequence[CType], result: CType
    ) -> str:
        arguments = [self.as_type(e, t) for e, t in zip(given, types, strict=True)]
        return f"{self._bring(function, types, result)}({', '.join(arguments)})"

    def member(self, e: Member) -> str:
        """One lane is an element; several are picked."""
        t = self.types.of(e.of)
        lanes = lanes_of(e.field, t.width)
        if len(lanes) == 1:
            return f"{self.inside(e.of, 12)}[{lanes[0]}]"
        picked = ", ".join(f"relift_v[{i}]" for i in lanes)
        own = spelled(CType(t.scalar, len(lanes)))
        return f"({{ {spelled(t)} relift_v = {self.expression(e.of)}; ({own}){{{picked}}}; }})"

    def conditional(self, e: Conditional) -> str:
        """Lane by lane, a choice is made by the sign of the condition."""
        t = self.types.of(e)
        if t.pointer or t.width == 1:
            return super().conditional(e)
        yes, no = self.as_type(e.yes, t), self.as_type(e.no, t)
        if self.types.of(e.condition).width == 1:
            own = spelled(t)  # gcc's result of an operator of such vectors is of another type
            return f"{self.inside(e.condition, 1)} ? ({own})({yes}) : ({own})({no})"
        return self._choice(self.expression(e.condition), yes, no, t)

    def _choice(self, condition: str, yes: str, no: str, t: CType) -> str:
        """The bits of one or of the other."""
        own, mask = spelled(t), spelled(mask_of(t))
        name = f"relift_choose_{own}"
        self.needed.setdefault(
            name,
            f"static inline {own} {name}({mask} c, {own} x, {own} y) {{\n"
            f"  const {mask} own = c < 0;\n"
            f"  return ({own})((own & ({mask})x) | (~own & ({mask})y));\n}}",
        )
        return f"{name}(({mask})({condition}), {yes}, {no})"

    def invocation(self, e: Invocation) -> str:
        """A call of a function of the source, or of the library."""
        name, given = e.function, e.arguments
        if name in self.types.functions or name in OF_GROUPS:
            called = name if name in OF_GROUPS else function_name(name)
            return f"{called}({', '.join(map(self.expression, given))})"
        if (update := updated_by(e)) is not None:
            return self._update(*update)
        result = self.types.of(e)
        if m := MEMORY.fullmatch(name):
            return self._memory(m["how"], int(m["width"]), given)
        if m := CONVERSION.fullmatch(name):
            return self._conversion(name, m["how"], m["sat"] is not None, given[0], result)
        if name == "select" and result.width > 1:
            mask = self.as_type(given[2], mask_of(result))
            return self._choice(
                mask, self.as_type(given[1], result), self.as_type(given[0], result), result
            )
        if name == "select":
            return self._call(name, given, [result, result, self.types.of(given[2])], result)
        t = CType(self.types.of(given[0]).scalar, result.width)
        for a in given:
            t = replace(common(t, self.types.of(a)), width=result.width)
        return self._call(name, given, [t] * len(given), result)

    def _memory(self, how: str, width: int, given: Sequence[Expression]) -> str:
        """Vectors anywhere in an array."""
        *value, place, pointer = given
        t = self.types.of(pointer)
        own = spelled(CType(t.scalar, width))
        at = self.inside(pointer, 10)
        if place != Whole(0):
            at = f"{at} + {width}*({self.expression(place)})"
        name = f"relift_{how}_{own}"
        bytes_ = f"{width} * sizeof({spelled(CType(t.scalar))})"
        if how == "vload":
            text = f"static inline {own} {name}(const void* p) {{\n  {own} r = {{0}};\n  __builtin_memcpy(&r, p, {bytes_});\n  return r;\n}}"
        else:
            text = f"static inline void {name}({own} v, void* p) {{\n  __builtin_memcpy(p, &v, {bytes_});\n}}"
        self.needed.setdefault(name, text)
        return f"{name}({', '.join([*map(self.expression, value), at])})"

    def _update(self, how: Update, cell: Element, value: Expression) -> str:
        """A cell combined with a value: that of a group is reached by one thread, any other by several."""
        if (t := self.types.of(cell)) != CType(how.scalar):
            raise Unsupported(
                f"an update of {how.scalar} in C with OpenMP of a cell of {spelled(t)}"
            )
        alone = self.types.is_of_group(cell.array)
        update = update_alone(how) if alone else update_at_once(how)
        self.needed.setdefault(update.name, update.text)
        return f"{update.name}(&{self.inside(cell, 12)}, {self.expression(value)})"

    def _conversion(
        self, name: str, how: str, saturated: bool, e: Expression, result: CType
    ) -> str:
        """Of bits, or of values; a vector of one with another sign has the same bits."""
        before, own = self.types.of(e), spelled(result)
        if how == "as" and result.width > 1:
            return f"(({own}){self.inside(e, 12)})"
        if how == "as" and {before.scalar, result.scalar} & FLOATS.keys():
            bits = f"relift_bits_{own}_{spelled(before)}"
            body = f"{own} r;\n  __builtin_memcpy(&r, &x, sizeof r);\n  return r;"
            self.needed.setdefault(
                bits, f"static inline {own} {bits}({spelled(before)} x) {{\n  {body}\n}}"
            )
            return f"{bits}({self.expression(e)})"
        if result.width == 1 and not saturated:
            return f"(({own})({self.expression(e)}))"
        if not saturated:
            return f"__builtin_convertvector({self.expression(e)}, {own})"
        return self._call(name, [e], [before], result)

    def cast(self, e: Cast) -> str:
        """A vector is made of its lanes, or of one for all."""
        t = e.type
        if t.pointer or t.width == 1:
            return super().cast(e)
        widths = [self.types.of(a).width for a in e.arguments]
        if len(widths) == 1:
            return (
                self.inside(e.arguments[0], 12)
                if widths[0] == t.width
                else self.as_type(e.arguments[0], t)
            )
        if max(widths) == 1:
            return f"({spelled(t)}){{{', '.join(map(self.expression, e.arguments))}}}"
        parts = [
            f"{spelled(replace(self.types.of(a), constant=False))} relift_{i} = {self.expression(a)};"
            for i, a in enumerate(e.arguments)
        ]
        lanes = [
            f"relift_{i}[{k}]" if width > 1 else f"relift_{i}"
            for i, width in enumerate(widths)
            for k in range(width)
        ]
        return f"({{ {' '.join(parts)} ({spelled(t)}){{{', '.join(lanes)}}}; }})"

    # ---- types

    def scalar(self, t: CType) -> str:
        """The name of a scalar or a vector."""
        return spelled(t)

    def type(self, t: CType) -> str:
        """A type; pointers say nothing of where they point."""
        return f"{'const ' * t.constant}{spelled(t)}{'*' * t.pointer}{' const' * t.fixed}"


def _spread(t: CType) -> Definition:
    own, name = spelled(t), f"relift_all_{spelled(t)}"
    loop = f"for (int i = 0; i < {t.width}; ++i) r[i] = x;"
    lane = spelled(CType(t.scalar))
    return Definition(
        name, f"static inline {own} {name}({lane} x) {{\n  {own} r;\n  {loop}\n  return r;\n}}"
    )


def _operators(name: str, of: str | None = None) -> str:
    """A name, or the text of a definition, in which operators have words."""
    called = name if of is None else of
    plain = called.replace("/", "divide").replace("%", "rest")
    return plain if of is None else name.replace(of, plain)


def own_name(name: str) -> str:
    """The name, or another where C has taken it."""
    return f"{name}_c" if name in _WORDS else name


def function_name(name: str) -> str:
    """A name that no function of C's library has."""
    return f"relift_f_{name}"
