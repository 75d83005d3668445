"""What type the expressions of a source have in C: what a dialect needs that has no overloaded functions, or no vectors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from relift.compiler.text import tree
from relift.compiler.text.c_types import (
    INT,
    LONG,
    MEMORY,
    ULONG,
    common,
    compared,
    promoted,
    without_sign,
)
from relift.compiler.text.lexing import NotUnderstood
from relift.semantics.syntax.types import FLOATS

CONVERSION = re.compile(r"(?P<how>as|convert)_(?P<scalar>[a-z]+)(?P<width>\d*)(?P<sat>_sat)?")
NUMBERS = frozenset(
    f"get_{n}"
    for n in ("global_id", "local_id", "group_id", "num_groups", "global_size", "local_size")
)
"""The functions that give the numbers of a work-item."""

_ENDINGS = {t.ending: t.c for t in FLOATS.values() if t.ending}
_TRUTHS = frozenset(["==", "!=", "<", ">", "<=", ">=", "&&", "||"])
CONSTANTS = {
    **{f"M_PI{end}": tree.CType(t) for end, t in (("", "double"), ("_F", "float"))},
    "INT_MIN": INT,
    "INT_MAX": INT,
    "LONG_MIN": LONG,
    "LONG_MAX": LONG,
    "INFINITY": tree.CType("float"),
    "NAN": tree.CType("float"),
}


@dataclass(frozen=True)
class Variable:
    """What a name stands for: a value of a type, or an array of them."""

    type: tree.CType
    is_array: bool = False


@dataclass(frozen=True)
class Types:
    """The types of the variables, and the results of the functions of a source."""

    variables: Mapping[str, Variable] = field(default_factory=dict[str, Variable])
    functions: Mapping[str, tree.CType] = field(default_factory=dict[str, tree.CType])

    def inside(self, f: tree.KernelText | tree.Function) -> Types:
        """The same, with the variables of a kernel or a function, which all have different names.

        >>> from relift.compiler.dialects.types import Types
        >>> from relift.compiler.text.reader import read_expression, read_kernels
        >>> [k] = read_kernels("kernel void f(float4 v) { float8 own[2]; }")
        >>> t = Types().inside(k)
        >>> for e in ("v.s0", "v.lo", "own[0] < 1.0f", "exp(v)", "*(global int2*)(p)", "2 * v", "get_global_id(0)"):
        ...     of = t.of(read_expression(e))
        ...     print(of.scalar, of.width)
        float 1
        float 2
        int 8
        float 4
        int 2
        float 4
        ulong 1
        """
        statements = [s for s in f.body or () if isinstance(s, tree.Statement)]
        return self.among(f.parameters, statements)

    def among(self, parameters: Iterable[tree.Argument], body: Iterable[tree.Statement]) -> Types:
        """The same, with these variables."""
        found = {p.name: Variable(p.type) for p in parameters}
        for s in tree.statements_within(body):
            if isinstance(s, tree.Declaration):
                found[s.name] = Variable(s.type, s.extent is not None)
            elif isinstance(s, tree.Loop):
                found[s.counter] = Variable(s.type)
        return replace(self, variables=found)

    def of(self, e: tree.Expression) -> tree.CType:
        """The type of an expression; raises `NotUnderstood` where operands do not fit."""
        match e:
            case tree.Whole(value, long):
                return LONG if long or value >= 2**31 else INT
            case tree.Real(text):
                return _constant(text)
            case tree.Name(name):
                return self._named(name)
            case tree.Element(tree.Name(name), _) if (v := self.variables.get(name)) and v.is_array:
                return v.type if v.type.pointer else pointed_to(v.type)
            case tree.Element(array, _):
                return pointed_to(self.of(array))
            case tree.Member(of, lanes):
                t = self.of(of)
                return tree.CType(t.scalar, len(lanes_of(lanes, t.width)))
            case tree.Prefix(operator, operand):
                return self._prefixed(operator, self.of(operand))
            case tree.Binary(operator, left, right):
                return _of_operator(operator, self.of(left), self.of(right))
            case tree.Conditional(condition, yes, no):
                return self._chosen(*map(self.of, (condition, yes, no)))
            case tree.Cast(t, _):
                return t
            case tree.Invocation(name, arguments):
                return self._called(name, [self.of(a) for a in arguments])

    def is_of_group(self, array: tree.Expression) -> bool:
        """Whether an array is one that a work-group has."""
        v = self.variables.get(array.name) if isinstance(array, tree.Name) else None
        return v is not None and v.type.space.of_group

    def _named(self, name: str) -> tree.CType:
        v = self.variables.get(name)
        if v is None:
            return CONSTANTS.get(name, INT)
        if v.is_array:
            return replace(v.type, pointer=True)
        return v.type if v.type.pointer else pointed_to(v.type)

    def _prefixed(self, operator: str, t: tree.CType) -> tree.CType:
        match operator:
            case "*":
                return pointed_to(t)
            case "&":
                return replace(t, pointer=True)
            case "!":
                return compared(t)
            case _:
                return promoted(tree.CType(t.scalar, t.width))

    def _chosen(self, condition: tree.CType, yes: tree.CType, no: tree.CType) -> tree.CType:
        if yes.pointer:
            return yes
        t = common(yes, no)
        return t if condition.width == 1 else replace(t, width=condition.width)

    def _called(self, name: str, given: list[tree.CType]) -> tree.CType:
        if name in self.functions:
            return self.functions[name]
        if name in NUMBERS:
            return ULONG
        if m := MEMORY.fullmatch(name):
            return tree.CType(given[-1].scalar, int(m["width"]))
        if m := CONVERSION.fullmatch(name):
            return tree.CType(m["scalar"], int(m["width"] or 1))
        if name == "select":
            return tree.CType(given[0].scalar, max(t.width for t in given))
        found = tree.CType(given[0].scalar, given[0].width) if given else INT
        for t in given[1:]:
            found = common(found, t)
        return replace(found, scalar=without_sign(found.scalar)) if name == "abs" else found


def types_of(source: tree.Source) -> Types:
    """The results of the functions of a source."""
    return Types(functions={f.name: f.result for f in source.functions})


def pointed_to(t: tree.CType) -> tree.CType:
    """What a pointer points to."""
    return tree.CType(t.scalar, t.width)


def lanes_of(field_: str, width: int) -> tuple[int, ...]:
    """The numbers of the lanes that a member of a vector names; raises `NotUnderstood`.

    >>> from relift.compiler.dialects.types import lanes_of
    >>> lanes_of("s3", 4), lanes_of("lo", 8), lanes_of("xw", 4), lanes_of("hi", 3)
    ((3,), (0, 1, 2, 3), (0, 3), (2, 3))
    """
    half = (width + 1) // 2
    match field_:
        case "lo" | "hi":
            found = range(half) if field_ == "lo" else range(half, 2 * half)
            return tuple(found)
        case "even" | "odd":
            return tuple(range(field_ == "odd", 2 * half, 2))
        case _:
            digits = "xyzw" if field_[0] in "xyzw" else "0123456789abcdef"
            text = field_ if digits == "xyzw" else field_[1:].lower()
            lanes = tuple(digits.find(letter) for letter in text)
            if not lanes or min(lanes) < 0 or max(lanes) >= width:
                raise NotUnderstood(f"the lanes {field_} of {width}")
            return lanes


def _constant(text: str) -> tree.CType:
    match text[-1].lower():
        case ending if ending in _ENDINGS and not text.lower().startswith("0x"):
            return tree.CType(_ENDINGS[ending])
        case "l":
            return ULONG
        case "u":
            return tree.CType("uint")
        case _:
            return tree.CType("double")


def _of_operator(operator: str, left: tree.CType, right: tree.CType) -> tree.CType:
    if left.pointer or right.pointer:
        if operator in _TRUTHS:
            return INT
        return (LONG if right.pointer else left) if left.pointer else right
    if operator in ("<<", ">>") and left.width >= right.width:
        return promoted(left)
    t = common(left, right)
    return compared(t) if operator in _TRUTHS else t
