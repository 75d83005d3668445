"""The variables of a kernel under names that leave room for those of its group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from relift.compiler.text import tree

DIMENSIONS = range(3)

ALL_OR_NONE, SAME = "relift_all_or_none", "relift_same"
OF_GROUPS = (ALL_OR_NONE, SAME)
"""Functions of the prelude that a group's work-items call to see that they go the same way."""
NUMBERS = ("first", "group", "groups", "items", "range")
"""What a group is told of itself, in each dimension: `first_0` is the number of its first work-item."""


def expressions_in(body: Iterable[tree.Statement]) -> Iterator[tree.Expression]:
    for s in tree.statements_within(body):
        for e in tree.expressions_of(s):
            yield from tree.within(e)


def changed(body: Sequence[tree.Statement]) -> frozenset[str]:
    """The variables that something is assigned to, or that have pointers."""
    found = set[str]()
    for s in tree.statements_within(body):
        if isinstance(s, tree.Assignment):
            target = s.target
            while isinstance(target, tree.Member):
                target = target.of
            found |= {target.name} if isinstance(target, tree.Name) else set()
    for e in expressions_in(body):
        if isinstance(e, tree.Prefix) and e.operator == "&":
            found |= tree.variables(e)
    return frozenset(found)


def with_own_parameters(kernel: tree.KernelText) -> tuple[tree.Statement, ...]:
    """The body in which each work-item has its own copy of the parameters that it assigns to."""
    body = kernel.body
    assigned, taken_ = changed(body), taken(kernel, body)
    own: list[tree.Statement] = []
    for p in kernel.parameters:
        if p.name in assigned:
            name = next(n for i in range(len(taken_) + 1) if (n := f"{p.name}_{i}") not in taken_)
            taken_.add(name)
            own.append(
                tree.Declaration(
                    replace(p.type, constant=p.type.pointer and p.type.constant),
                    name,
                    None,
                    tree.Name(p.name),
                )
            )
            body = tree.renamed(body, {p.name: name})
    return (*own, *body)


def taken(kernel: tree.KernelText, body: Sequence[tree.Statement]) -> set[str]:
    found = {p.name for p in kernel.parameters} | tree.mentioned(body)
    return found | {s.name for s in tree.statements_within(body) if isinstance(s, tree.Declaration)}


def uniquely_named(kernel: tree.KernelText) -> tree.KernelText:
    """A kernel in which no two variables have one name, nor that of a number of the group.

    >>> from relift.compiler.dialects.c.names import uniquely_named
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.reader import read_kernels
    >>> [k] = read_kernels("kernel void f(global int* item_0) { int i = 1; if (i) { int i = 2; item_0[0] = i; } }")
    >>> print("\\n".join(Printer().kernel_lines(uniquely_named(k))))
    kernel void f(global int* restrict item_0_1) {
      int i = 1;
      if (i) {
        int i_1 = 2;
        item_0_1[0] = i_1;
      }
    }
    """
    taken = {f"{n}_{d}" for n in (*NUMBERS, "item") for d in DIMENSIONS}

    def fresh(name: str) -> str:
        found, i = name, 0
        while found in taken:
            i += 1
            found = f"{name}_{i}"
        taken.add(found)
        return found

    def block(
        body: Sequence[tree.Statement], names: Mapping[str, str]
    ) -> tuple[tree.Statement, ...]:
        here, found = dict(names), list[tree.Statement]()
        for s in body:
            match s:
                case tree.Loop(_, counter):
                    inner = {**here, counter: fresh(counter)}
                    loop = _renamed(s, here, block(s.body, inner))
                    found.append(replace(loop, counter=inner[counter]))
                case tree.Declaration(_, name):
                    declared = _renamed(s, here, ())
                    here[name] = fresh(name)
                    found.append(replace(declared, name=here[name]))
                case tree.Assignment() | tree.Evaluation() | tree.Barrier() | tree.Guard():
                    found.append(_renamed(s, here, block(tree.body_of(s), here)))
        return tuple(found)

    given = {p.name: fresh(p.name) for p in kernel.parameters}
    parameters = tuple(replace(p, name=given[p.name]) for p in kernel.parameters)
    return replace(kernel, parameters=parameters, body=block(kernel.body, given))


_S = TypeVar("_S", bound=tree.Statement)


def _renamed(s: _S, names: Mapping[str, str], body: tuple[tree.Statement, ...]) -> _S:
    """A statement with other names in its own expressions, around this body."""

    def named(e: tree.Expression) -> tree.Expression:
        if isinstance(e, tree.Name):
            return replace(e, name=names.get(e.name, e.name))
        return tree.mapped_expression(e, named)

    return cast(_S, tree.mapped_statement(s, named, lambda _: body))
