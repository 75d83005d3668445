"""The text of a kernel, read back as a tree: what the compiler wrote, independent of how it came to write it.

The OpenCL C that this compiler writes is understood, and what a person writes of the same kind: declarations,
assignments, counting loops, guards with and without braces, pointers into arrays, and barriers.  Anything else raises `NotUnderstood`, so nothing is certified by being overlooked.  All of a source
is read, also what stands between the kernels; only the body of a function may be left as it is (`Function`).

>>> from relift.compiler.text.expressions import in_c
>>> from relift.compiler.text.reader import read_kernels
>>> [kernel] = read_kernels("kernel void f_1(global float* restrict out) { out[get_global_id(0)] = 1.0f; }")
>>> kernel.name, [p.name for p in kernel.parameters]
('f_1', ['out'])
>>> [s.target.array for s in kernel.body]
[Name(name='out')]
"""

from __future__ import annotations

from relift.compiler.text.at_once import behind_update
from relift.compiler.text.lexing import NotUnderstood, line_of, tokens_of
from relift.compiler.text.opencl_words import is_of_opencl
from relift.compiler.text.statement_reader import StatementReader
from relift.compiler.text.tree import (
    Argument,
    Declaration,
    Expression,
    Function,
    KernelText,
    Return,
    Source,
)


def read_source(source: str) -> Source:
    """All of a source; raises `NotUnderstood`.

    >>> from relift.compiler.text.reader import read_source
    >>> read_source("float twice(float x) { return x + x; }").functions[0].body
    (Return(condition=None, value=Binary(operator='+', left=Name(name='x'), right=Name(name='x'))),)
    """
    reader = _Reader(tokens_of(source))
    try:
        return reader.source()
    except NotUnderstood as error:
        raise NotUnderstood(f"{error} in line {line_of(source, reader.at - 1)}") from None
    except RecursionError:
        line = line_of(source, reader.at - 1)
        raise NotUnderstood(f"what is nested too deeply in line {line}") from None


def read_kernels(source: str) -> tuple[KernelText, ...]:
    """All kernels of a source, in order; raises `NotUnderstood`."""
    return read_source(source).kernels


def read_body(text: str) -> tuple[Declaration | Return, ...]:
    """What stands between the braces of a function; raises `NotUnderstood`.

    >>> from relift.compiler.text.reader import read_body
    >>> read_body("return x;")
    (Return(condition=None, value=Name(name='x')),)
    """
    reader = _Reader(["{", *tokens_of(text), "}"])
    found = reader.returning()
    reader.expect("")
    return found


def read_expression(text: str) -> Expression:
    """One expression; raises `NotUnderstood`."""
    reader = _Reader(tokens_of(text))
    found = reader.expression()
    reader.expect("")
    return found


class _Reader(StatementReader):
    """A reader of definitions."""

    def source(self) -> Source:
        """All definitions."""
        kernels: list[KernelText] = []
        functions: list[Function] = []
        while self.next != "":
            group = self.attributes().get("reqd_work_group_size")
            if (after := behind_update(self.tokens, self.at)) > self.at:
                self.at = after
            elif self.accept("void"):
                raise NotUnderstood(f"the function {self.take()}, which gives nothing")
            elif self.next == "kernel":
                kernels.append(self.kernel(group))
            elif group is None and self.starts_type():
                functions.append(self.function())
            else:
                raise NotUnderstood(f"{self.next!r} outside of a kernel")
        names = [k.name for k in kernels] + [f.name for f in functions]
        for name in names:
            if is_of_opencl(name):
                raise NotUnderstood(f"a definition of {name}, which OpenCL C has")
            if names.count(name) > 1:
                raise NotUnderstood(f"two definitions of {name}")
        return Source(tuple(kernels), tuple(functions))

    def kernel(self, group: tuple[int, ...] | None) -> KernelText:
        """One kernel."""
        self.expect("kernel")
        group = self.attributes().get("reqd_work_group_size", group)
        self.expect("void")
        name = self.name()
        return KernelText(name, self.parameters(), self.block(), group)

    def parameters(self) -> tuple[Argument, ...]:
        """The parameters of a kernel or a function."""
        self.expect("(")
        found: list[Argument] = []
        while not self.accept(")"):
            if found:
                self.expect(",")
            found.append(Argument(self.type(), self.name()))
            if found[-1].type.space.of_kernel:
                raise NotUnderstood(f"the parameter {found[-1].name} in constant memory")
        if len({p.name for p in found}) < len(found):
            raise NotUnderstood("two parameters of one name")
        return tuple(found)

    def function(self) -> Function:
        """A function; its body is left where it is not understood."""
        result = self.type()
        name = self.name()
        parameters = self.parameters()
        if result.pointer or any(p.type.pointer for p in parameters):
            raise NotUnderstood(f"the function {name}, which is given pointers")
        start = self.at
        end = self._closing()
        try:
            body = self.returning()
            if self.at != end:
                raise NotUnderstood("more")
        except NotUnderstood:
            body, self.at = None, end
        return Function(name, result, parameters, body, tuple(self.tokens[start + 1 : end - 1]))

    def _closing(self) -> int:
        """The place after the brace that closes the one that stands here."""
        depth, at = 0, self.at
        while True:
            token = self.tokens[at]
            depth += {"{": 1, "}": -1}.get(token, 0)
            at += 1
            if token == "" or (at == self.at + 1 and depth != 1):
                raise NotUnderstood("a function whose braces do not match")
            if depth == 0:
                return at

    def returning(self) -> tuple[Declaration | Return, ...]:
        """The body of a function that declares constants and returns values, under conditions all but the last."""
        self.expect("{")
        found: list[Declaration | Return] = []
        while not self.accept("}"):
            condition = None
            if self.accept("if"):
                self.expect("(")
                condition = self.expression()
                self.expect(")")
            if self.accept("return"):
                found.append(Return(condition, self.expression()))
                self.expect(";")
            elif condition is None and self.starts_type():
                for d in self.declarations():
                    if not isinstance(d, Declaration) or d.value is None or d.type.pointer:
                        raise NotUnderstood("an array, a pointer or a variable in a function")
                    found.append(d)
            else:
                raise NotUnderstood("a statement in a function")
        last = [isinstance(s, Return) and s.condition is None for s in found]
        if not last or not last[-1] or any(last[:-1]):
            raise NotUnderstood("a function that does not end with its one return")
        return tuple(found)
