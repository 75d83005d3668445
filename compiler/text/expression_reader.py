"""Expressions, by recursive descent."""

from __future__ import annotations

from relift.compiler.text.cursor import Cursor
from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood, numeric
from relift.compiler.text.tree import (
    Binary,
    Cast,
    Conditional,
    Element,
    Expression,
    Invocation,
    Member,
    Name,
    Prefix,
    Real,
    Whole,
)

_PRECEDENCE = {
    operator: level
    for level, row in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
    )
    for operator in row.split()
}


class ExpressionReader(Cursor):
    """A reader of expressions."""

    def expression(self) -> Expression:
        """One expression."""
        condition = self.binary(0)
        if not self.accept("?"):
            return condition
        yes = self.expression()
        self.expect(":")
        return Conditional(condition, yes, self.expression())

    def binary(self, level: int) -> Expression:
        """Operators that bind at least so tightly."""
        left = self.unary()
        while _PRECEDENCE.get(self.next, -1) >= level:
            operator = self.take()
            left = Binary(operator, left, self.binary(_PRECEDENCE[operator] + 1))
        return left

    def unary(self) -> Expression:
        """What stands between operators."""
        if self.next in ("-", "+", "!", "~", "*", "&"):
            operator = self.take()
            return Prefix(operator, self.unary())
        if self.next == "(":
            self.take()
            if self.starts_type():
                t = self.type()
                self.expect(")")
                if self.next == "(" and not t.pointer and t.width > 1:
                    self.take()
                    made = Cast(t, self.separated(self.expression, ")"))
                    if self.stands(".", "["):
                        raise NotUnderstood(f"{in_c(made)}{self.next}, which C takes apart first")
                    return made
                return Cast(t, (self.unary(),))
            inside = self.expression()
            self.expect(")")
            return self.postfix(inside)
        token = self.take()
        if token[:1].isdigit() or token[:1] == ".":
            found = numeric(token)
            return Real(token) if found.value is None else Whole(found.value, found.long)
        if not self.is_name(token):
            raise NotUnderstood(f"{token!r} in an expression")
        if self.accept("("):
            return self.postfix(Invocation(token, self.separated(self.expression, ")")))
        return self.postfix(Name(token))

    def postfix(self, e: Expression) -> Expression:
        """Elements and members of what was read."""
        while True:
            if self.accept("["):
                e = Element(e, self.expression())
                self.expect("]")
            elif self.accept("."):
                e = Member(e, self.name())
            else:
                return e
