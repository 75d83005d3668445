"""Statements: declarations, assignments, counting loops, guards and barriers; and the attributes before them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

from relift.compiler.text import tree
from relift.compiler.text.expression_reader import ExpressionReader
from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.memories import FENCES
from relift.semantics.syntax.memory import Owner

_COUNTERS = frozenset(["int", "long"])
"""The types of loop counters: numbers without a sign would wrap around where those of Z do not."""
_HINTS = frozenset(["vec_type_hint", "work_group_size_hint", "opencl_unroll_hint"])
"""Attributes that change no meaning."""

_NOT_READ = {
    "{": "a block that no loop and no condition is before",
    ";": "a statement that is empty",
    "++": "++ for its effect",
    "--": "-- for its effect",
    **{
        w: f"the statement {w}"
        for w in ("while", "do", "switch", "break", "continue", "goto", "return", "typedef")
    },
}
"""Statements of C that are not read, and what they are called."""

_IDS = frozenset(["get_global_id", "get_group_id", "get_local_id"])
"""Functions whose value is one for a work-item."""

_NAMED = frozenset(["INFINITY", "INT_MIN", "LONG_MIN"])
"""Numbers that have names."""

MOST_FIRST_VALUES = 1024
"""Elements of an array that is declared with its values."""


class StatementReader(ExpressionReader):
    """A reader of statements."""

    points = False
    """Whether a pointer was declared, which may be another name of an array."""

    def block(self) -> tuple[tree.Statement, ...]:
        """Statements in braces."""
        self.expect("{")
        found: list[tree.Statement] = []
        while not self.accept("}"):
            found += self.statement()
        return tuple(found)

    def inside(self) -> tuple[tree.Statement, ...]:
        """What a loop or a condition is about: statements in braces, or one."""
        if self.next == "{":
            return self.block()
        if self.starts_type():
            raise NotUnderstood(f"a declaration without braces near {self.next!r}")
        return tuple(self.statement())

    def statement(self) -> list[tree.Statement]:
        """One statement, or several declarations."""
        if self.stands("__attribute__") and (self.attributes() or not self.stands("for")):
            raise NotUnderstood(f"an attribute before {self.next!r}")
        if self.accept("for"):
            return [self.loop()]
        if self.accept("if"):
            return self.guards()
        if self.accept("barrier"):
            self.expect("(")
            fences: set[Owner] = set()
            while not self.accept(")"):
                token = self.take()
                if token in FENCES:
                    fences.add(FENCES[token])
                elif token != "|":
                    raise NotUnderstood(f"a barrier with {token}")
            self.expect(";")
            return [tree.Barrier(frozenset(fences))]
        if self.starts_type():
            return [*self.declarations()]
        if self.next in _NOT_READ:
            raise NotUnderstood(_NOT_READ[self.take()])
        target = self.unary()
        if self.accept(";"):
            return [tree.Evaluation(target)]
        operator = self.take()
        if operator not in ("=", "+=", "-=", "*=", "/=", "%="):
            raise NotUnderstood(f"{operator!r} after {in_c(target)}")
        value = self.expression()
        self.expect(";")
        return [tree.Assignment(target, operator, value)]

    def guards(self) -> list[tree.Statement]:
        """A condition, and its opposite where there is an `else`: the first may then change nothing that is asked."""
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        body = self.inside()
        if not self.accept("else"):
            return [tree.Guard(condition, body)]
        if any(not _asks_variables(e) for e in tree.within(condition)):
            raise NotUnderstood(f"an else of {in_c(condition)}, which asks more than variables")
        if changed := tree.variables(condition) & (_changed(body) | self.addressed()):
            raise NotUnderstood(f"an else, where {min(changed)} may have changed")
        return [tree.Guard(condition, body), tree.Guard(tree.Prefix("!", condition), self.inside())]

    def addressed(self) -> set[str]:
        """The names behind each `&` of the text, which a pointer may change."""
        bare = [token for token in self.tokens if token != "("]
        return {name for before, name in itertools.pairwise(bare) if before == "&"}

    def declarations(self) -> list[tree.Declaration | tree.Assignment]:
        """Declarations of one type; the first values of an array are assigned to its elements."""
        t, found = self.type(), list[tree.Declaration | tree.Assignment]()
        self.points |= t.pointer
        while not found or self.accept(","):
            if found and t.pointer:
                self.expect("*")
                while self.stands("const", "restrict"):
                    self.take()
            name = self.name()
            found += self._declared(t, name)
        self.expect(";")
        return found

    def _declared(self, t: tree.CType, name: str) -> list[tree.Declaration | tree.Assignment]:
        """What follows a name that is declared."""
        extent, value, first = None, None, list[tree.Expression]()
        if self.accept("["):
            extent = self.expression()
            self.expect("]")
        aligned = self.attributes().get("aligned", (0,))[0]
        if t.space.of_kernel and not t.pointer:
            return [
                tree.Declaration(t, name, extent, None, aligned, values=self._table(name, extent))
            ]
        if self.accept("="):
            if extent is None:
                value = self.expression()
                first = [value]
            else:
                first = self._first_values(name, t, extent)
                t = replace(t, constant=False)
        if any(tree.Name(name) in tree.within(e) for e in first):
            raise NotUnderstood(f"the first value of {name}")
        declared = tree.Declaration(t, name, extent, value, aligned)
        if extent is None:
            return [declared]
        places = (tree.Element(tree.Name(name), tree.Whole(i)) for i in range(len(first)))
        return [declared, *(tree.Assignment(e, "=", v) for e, v in zip(places, first, strict=True))]

    def _table(self, name: str, extent: tree.Expression | None) -> tuple[tree.Expression, ...]:
        """The constants that an array is, in braces: as many as it has elements."""
        found: tuple[tree.Expression, ...] = ()
        if self.accept("=") and self.accept("{"):
            found = self.separated(self.expression, "}")
        if not found or extent != tree.Whole(len(found)) or not all(map(_is_constant, found)):
            raise NotUnderstood(f"{name}, which is no array of as many constants")
        return found

    def _first_values(
        self, name: str, t: tree.CType, extent: tree.Expression
    ) -> list[tree.Expression]:
        """The values of all elements of an array, in braces: 0 where there are fewer."""
        self.expect("{")
        found = list(self.separated(self.expression, "}"))
        if not isinstance(extent, tree.Whole) or not found or t.pointer or not t.space.of_item:
            raise NotUnderstood(f"the first values of {name}")
        if len(found) > extent.value or extent.value > MOST_FIRST_VALUES:
            raise NotUnderstood(f"{len(found)} first values of {name}")
        return [*found, *(tree.Whole(0) for _ in range(extent.value - len(found)))]

    def loop(self) -> tree.Loop:
        """A loop that counts up."""
        self.expect("(")
        if not self.starts_type():
            raise NotUnderstood("a for loop that declares no counter of its own")
        t = self.type()
        counter = self.name()
        if t.scalar not in _COUNTERS or t.width != 1 or t.pointer or t.constant:
            raise NotUnderstood(f"the loop counter {counter}, which is not an int or a long")
        self.expect("=")
        start = self.expression()
        self.expect(";")
        if self.next == ";":
            raise NotUnderstood(f"a for loop over {counter} without an end")
        condition = self.expression()
        if not (isinstance(condition, tree.Binary) and condition.operator == "<"):
            raise NotUnderstood(f"a loop while {in_c(condition)}")
        left, end = condition.left, condition.right
        if left != tree.Name(counter) or any(
            tree.Name(counter) in tree.within(e) for e in (start, end)
        ):
            raise NotUnderstood(f"a loop while {in_c(condition)}, from {in_c(start)}")
        self.expect(";")
        if self.next == ")":
            raise NotUnderstood(f"a for loop over {counter} that says no step")
        step: tree.Expression = tree.Whole(1)
        if self.accept("++"):
            self.expect(counter)
        else:
            self.expect(counter)
            if not self.accept("++"):
                self.expect("+=")
                step = self.expression()
        self.expect(")")
        body = self.inside()
        if changed := self._asked_in_turns((end, step), body):
            raise NotUnderstood(f"a for loop over {counter}, in which {min(changed)} may change")
        return tree.Loop(t, counter, start, end, step, body)

    def _asked_in_turns(
        self, asked: Iterable[tree.Expression], body: tuple[tree.Statement, ...]
    ) -> set[str]:
        """The names that are asked in every turn of a loop, and that its body may change."""
        changed = _changed(body) | self.addressed()
        cells = {
            n
            for e in asked
            for x in tree.within(e)
            if isinstance(x, tree.Element)
            for n in tree.variables(x.array)
        }
        through = any(
            isinstance(s, tree.Assignment) and not isinstance(s.target, tree.Name)
            for s in tree.statements_within(body)
        )
        if self.points and through:  # one of them may point to what is asked
            changed |= cells
        return {n for e in asked for n in tree.variables(e)} & changed

    def attributes(self) -> dict[str, tuple[int, ...]]:
        """The attributes that stand here, and their numbers; those that change no meaning are left out."""
        found: dict[str, tuple[int, ...]] = {}
        while self.accept("__attribute__"):
            self.expect("(", "(")
            name = self.take()
            self.expect("(")
            if name in _HINTS:
                while not self.accept(")"):
                    if self.take() in ("", "("):
                        raise NotUnderstood(f"the attribute {name}")
            elif name in ("reqd_work_group_size", "aligned"):
                given = self.separated(self.expression, ")")
                found[name] = tuple(e.value for e in given if isinstance(e, tree.Whole))
                if len(found[name]) != (3 if name == "reqd_work_group_size" else 1):
                    raise NotUnderstood(f"the attribute {name}")
            else:
                raise NotUnderstood(f"the attribute {name}")
            self.expect(")", ")")
        return found


def _is_constant(e: tree.Expression) -> bool:
    """Whether an expression is a number that is written, with a sign or a type."""
    match e:
        case tree.Whole() | tree.Real():
            return True
        case tree.Name(name):
            return name in _NAMED
        case tree.Prefix("-", inner) | tree.Cast(tree.CType(width=1, pointer=False), (inner,)):
            return _is_constant(inner)
        case (
            tree.Element() | tree.Member() | tree.Prefix() | tree.Binary() | tree.Conditional()
            | tree.Invocation() | tree.Cast()
        ):  # fmt: skip
            return False


def _asks_variables(e: tree.Expression) -> bool:
    """Whether what an expression is depends on variables and on the number of the work-item alone, not on memory."""
    match e:
        case tree.Whole() | tree.Real() | tree.Name() | tree.Binary() | tree.Conditional():
            return True
        case tree.Prefix(operator, _):
            return operator in ("-", "+", "!")
        case tree.Invocation(function, _):
            return function in _IDS
        case tree.Element() | tree.Member() | tree.Cast():
            return False


def _changed(body: Iterable[tree.Statement]) -> set[str]:
    """The names that some statements assign to or declare, and all that a call for its effect mentions."""
    found = set[str]()
    for s in tree.statements_within(body):
        match s:
            case tree.Assignment(target, _, _):
                found |= _assigned(target)
            case tree.Evaluation(tree.Invocation(function, arguments)) if function.startswith(
                "vstore"
            ):
                found |= tree.variables(arguments[-1])  # the others are values
            case tree.Evaluation(e):
                found |= tree.variables(e)
            case tree.Declaration(_, name):
                found.add(name)
            case tree.Loop(_, counter):
                found.add(counter)
            case tree.Barrier() | tree.Guard():
                pass
    return found


def _assigned(target: tree.Expression) -> set[str]:
    """The names that an assignment may change: that of the variable or the array, not those of an index."""
    match target:
        case tree.Element(of, _) | tree.Member(of, _):
            return _assigned(of)
        case (
            tree.Name() | tree.Prefix() | tree.Whole() | tree.Real() | tree.Binary()
            | tree.Conditional() | tree.Invocation() | tree.Cast()
        ):  # fmt: skip
            return tree.variables(target)
