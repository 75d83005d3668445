"""How many lanes the expressions of a source have: what a dialect needs that has no vectors of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from relift.compiler.text.tree import (
    Binary,
    Cast,
    Conditional,
    Declaration,
    Element,
    Expression,
    Function,
    Invocation,
    KernelText,
    Member,
    Name,
    Prefix,
    Real,
    Source,
    Statement,
    Whole,
    statements_within,
)

_SUFFIX = re.compile(r"(?:vload|(?:as|convert)_[a-z]+)(\d+)(?:_sat)?")


@dataclass(frozen=True)
class Widths:
    """The lanes of the variables and the functions that have any."""

    variables: Mapping[str, int] = field(default_factory=dict[str, int])
    functions: Mapping[str, int] = field(default_factory=dict[str, int])

    def inside(self, f: KernelText | Function) -> Widths:
        """The same, with the variables of a kernel or a function, which all have different names.

        >>> from relift.compiler.dialects.widths import Widths
        >>> from relift.compiler.text.reader import read_expression, read_kernels
        >>> [k] = read_kernels("kernel void f(float4 v) { float8 own[2]; }")
        >>> w = Widths().inside(k)
        >>> [w.of(read_expression(e)) for e in ("v.s0", "v.lo", "own[0] < 1.0f", "exp(v)", "*(global int2*)(p)")]
        [1, 2, 8, 4, 2]
        """
        found = {p.name: p.type.width for p in f.parameters}
        body = [s for s in f.body or () if isinstance(s, Statement)]
        for s in statements_within(body):
            if isinstance(s, Declaration):
                found[s.name] = s.type.width
        return Widths(found, self.functions)

    def of(self, e: Expression) -> int:
        """How many lanes an expression has."""
        match e:
            case Whole() | Real():
                return 1
            case Name(name):
                return self.variables.get(name, 1)
            case Element(array, _):
                return self.of(array)
            case Member(of, lanes):
                return (self.of(of) + 1) // 2 if lanes in ("lo", "hi") else 1
            case Prefix(_, operand):
                return self.of(operand)
            case Binary(_, left, right):
                return max(self.of(left), self.of(right))
            case Conditional(condition, yes, no):
                return max(map(self.of, (condition, yes, no)))
            case Cast(t, _):
                return t.width
            case Invocation(name, arguments):
                if name in self.functions:
                    return self.functions[name]
                if (m := _SUFFIX.fullmatch(name)) is not None:
                    return int(m[1])
                return max(map(self.of, arguments), default=1)


def widths_of(source: Source) -> Widths:
    """The lanes of the functions of a source."""
    return Widths(functions={f.name: f.result.width for f in source.functions})
