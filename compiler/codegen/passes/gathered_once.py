"""Vectors that are put together of numbers that lie apart are put together once.

A fold with an accumulator for each of several results reads the same element for all of them.  Of one number or one access
of memory, compilers find that it is the same; of sixteen numbers that make a vector, Intel's and PoCL's do not always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from relift.compiler.text import tree
from relift.compiler.text.c_types import vector_function


def gathered_once(
    body: tree.Block, constant: frozenset[str], fresh: Callable[[str], str]
) -> tree.Block:
    """The body, where a vector of numbers of `constant` memories that is put together more than once has a name.

    `fresh` makes a name that nothing in the kernel has.

    >>> from relift.compiler.codegen.passes.gathered_once import gathered_once
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.reader import read_kernels
    >>> text = "a = (float2)(x[0], x[i]) - 1.0f; b = (float2)(x[0], x[i]) - c;"
    >>> [kernel] = read_kernels(f"kernel void f(global const float* x) {{ {text} }}")
    >>> list(Printer().statements(gathered_once(kernel.body, frozenset("x"), lambda hint: hint), 0))
    ['const float2 x = (float2)(x[0], x[i]);', 'a = x - 1.0f;', 'b = x - c;']

    One that is put together at a border alone is the choice between that and the vector elsewhere.
    """
    done: list[tree.Statement] = []
    changed = _changed(body)
    while body:
        for vector, numbers in _put_together(body[0], constant):
            if tree.words(vector) & changed or _occurrences(body, vector) < 2:
                continue
            name = fresh(_array(numbers.arguments[0]))
            t = replace(numbers.type, constant=True)
            done.append(tree.Declaration(t, name, None, tree.bare(vector)))
            body = _named(body, vector, name)
        s, body = body[0], body[1:]
        if isinstance(s, tree.Loop | tree.Guard):
            s = replace(s, body=gathered_once(s.body, constant, fresh))
        done.append(s)
    return tuple(done)


def _changed(body: tree.Block) -> set[str]:
    """The variables that some statement assigns to."""
    return {
        name
        for s in tree.statements_within(body)
        if isinstance(s, tree.Assignment)
        for name in tree.root_of(s.target)
    }


def _put_together(
    s: tree.Statement, constant: frozenset[str]
) -> list[tuple[tree.Expression, tree.Cast]]:
    """The vectors of numbers of memory in a statement that are needed whatever its conditions say, each once."""
    if not isinstance(s, tree.Declaration | tree.Assignment):
        return []
    vectors = (
        (part, numbers)
        for e in tree.expressions_of(s)
        for part in _always(e)
        if isinstance(numbers := _at_border(part, constant), tree.Cast)
        and len(numbers.arguments) > 1
        and all(_array(number) in constant for number in numbers.arguments)
    )
    return list(dict.fromkeys(vectors))


def _always(e: tree.Expression) -> Iterator[tree.Expression]:
    """The expression and what is evaluated whenever it is."""
    yield e
    if isinstance(e, tree.Conditional):
        always: tuple[tree.Expression, ...] = (e.condition,)
    elif isinstance(e, tree.Binary) and e.operator in ("&&", "||"):
        always = (e.left,)
    else:
        always = tuple(tree.parts(e))
    for part in always:
        yield from _always(part)


def _at_border(e: tree.Expression, constant: frozenset[str]) -> tree.Expression:
    """What a vector is where it is not read at once, if only a border of its memory decides; else the expression itself."""
    if isinstance(e, tree.Conditional):
        read = {name for part in tree.within(e.yes) for name in _memory(part)}
        return e.no if read and read <= constant else e
    return e


def _memory(e: tree.Expression) -> set[str]:
    """The memory of which an expression is a number or a vector; nothing for all else."""
    if isinstance(e, tree.Invocation) and vector_function(e.function, "vload"):
        return tree.root_of(e.arguments[1])
    if isinstance(e, tree.Prefix) and e.operator == "*":
        return tree.root_of(e.operand)
    return tree.root_of(e.array) if isinstance(e, tree.Element) else set()


def _array(e: tree.Expression) -> str:
    """The memory of which an expression is one number; nothing for all else."""
    return e.array.name if isinstance(e, tree.Element) and isinstance(e.array, tree.Name) else ""


def _occurrences(body: tree.Block, vector: tree.Expression) -> int:
    return sum(
        part == vector
        for s in tree.statements_within(body)
        for e in tree.expressions_of(s)
        for part in tree.within(e)
    )


def _named(body: tree.Block, vector: tree.Expression, name: str) -> tree.Block:
    """Statements with a name for a vector."""

    def expression(e: tree.Expression) -> tree.Expression:
        return tree.Name(name) if e == vector else tree.mapped_expression(e, expression)

    return tree.mapped_block(body, expression)
