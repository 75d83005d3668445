"""What instructions compute of numbers, as terms of Z3."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import z3

from relift.compiler.idioms.facts.llvm.ir import Instruction
from relift.compiler.idioms.facts.llvm.numbers import BITS
from relift.compiler.idioms.facts.values.expressions import SCALARS
from relift.compiler.idioms.facts.values.operations import (
    BINARY,
    COMPARED,
    LESSER,
    LIBRARY,
    SATURATING,
    SHIFTS,
    called,
    has_same_sign,
)
from relift.compiler.idioms.facts.values.terms import Opaque
from relift.compiler.idioms.proofs.folds import Equations
from relift.compiler.idioms.proofs.scalars import INTEGERS, Term

_CUT = frozenset(["add", "sub", "mul", "shl", "sdiv", "srem", "ashr"])
"""What may give more bits than its operands have."""


@dataclass
class Computing:
    """The meaning of instructions on numbers; those of few bits have no sign."""

    equations: Equations
    told: Collection[str] = ()
    """The values of which it is a condition that what they compare is not negative."""

    def __post_init__(self) -> None:
        self.prover, self.scalars = self.equations.prover, self.equations.scalars

    def unknown(self, type_: str) -> Term:
        """A value of which nothing is known."""
        return self.equations.unknown(SCALARS.get(type_, "i64"))

    def of(self, i: Instruction, given: list[Term]) -> Term:
        """What an instruction computes."""
        found = self._whole(i, given)
        if i.type in BITS and (
            i.opcode in _CUT or i.opcode in ("trunc", "sext", "fptosi", "fptoui", "call")
        ):
            return found % 2 ** BITS[i.type]
        return found

    def _whole(self, i: Instruction, given: list[Term]) -> Term:
        kinds = [SCALARS.get(t, "") for t in i.types] or [SCALARS.get(i.type, "")] * len(given)
        kind = SCALARS.get(i.type, "")
        if not kind or not all(kinds[: len(given)]):
            return self.unknown(i.type)
        match i.opcode:
            case "select":
                return z3.If(*given)
            case "fneg":
                return self.scalars.applied("neg", given, [kind], kind)
            case "shl" if z3.is_int_value(given[1]) and given[1].as_long() < 31:
                return given[0] * 2 ** given[1].as_long()
            case "ashr" | "sdiv" | "srem" | "lshr" | "udiv" | "urem" if kind in INTEGERS:
                return self._divided(i, given[0], given[1])
            case "or" if "disjoint" in i.flags:
                return given[0] + given[1]
            case (
                "zext"
                | "sext"
                | "trunc"
                | "sitofp"
                | "uitofp"
                | "fpext"
                | "fptrunc"
                | "fptosi"
                | "fptoui"
            ):
                return self._converted(i, given[0], kinds[0], kind)
            case "call":
                return self._called(i, given, kind)
            case opcode if opcode in BINARY:
                return self.scalars.applied(BINARY[opcode], given, [kind, kind], kind)
            case _:
                return self.unknown(i.type)

    def _converted(self, i: Instruction, x: Term, before: str, kind: str) -> Term:
        if i.types[0] in BITS and i.opcode in ("sext", "sitofp"):
            x = self.scalars.signed(x, BITS[i.types[0]])
        if before == "boolean":
            one = 1 if i.opcode in ("zext", "uitofp") else -1
            return z3.If(x, self.scalars.literal(one, kind), self.scalars.literal(0, kind))
        if kind == "boolean":
            return self.scalars.applied("bitwise_and", [x, z3.IntVal(1)], [before] * 2, before) != 0
        if i.type in BITS and before != "i32":
            return self.scalars.applied("i32", [x], [before], "i32")
        return self.scalars.applied(kind, [x], [before], kind)

    def _divided(self, i: Instruction, x: Term, b: Term) -> Term:
        """A quotient, towards zero or by a shift down, or the rest; by a number above zero."""
        opcode = i.opcode
        if i.type in BITS and opcode in ("ashr", "sdiv", "srem"):
            x, b = (self.scalars.signed(v, BITS[i.type]) for v in (x, b))
        b = z3.simplify(b)
        by = b.as_long() if z3.is_int_value(b) else 0
        if opcode == "ashr" and i.type == "i32" and (inner := _shifted_by(x, by)) is not None:
            return self.scalars.signed(inner % 2 ** (32 - by), 32 - by)
        width = 64 if i.type == "i64" else 32
        if opcode in SHIFTS and by == width - 1:  # the sign is left
            return z3.If(x < 0, -1 if opcode == "ashr" else 1, 0)
        if opcode in SHIFTS:
            by = 2**by if z3.is_int_value(b) and 0 <= by < width - 1 else 0
        has_no_sign = opcode in ("lshr", "udiv", "urem")
        is_natural = not has_no_sign or i.type in BITS or self.prover.holds(x >= 0)
        if by > 1 and not is_natural and opcode != "lshr" and i.type == "i32":
            whole = x % 2**32  # in 64 bits, where it has no sign
            return whole / by if opcode == "udiv" else whole % by
        if by < 1 or (not is_natural and opcode != "lshr"):
            return self.unknown(i.type)
        is_down = has_no_sign or opcode == "ashr"
        quotient: Any = x / by if is_down else z3.If(x < 0, (x + (by - 1)) / by, x / by)
        if not is_natural:  # zeros come in from above
            return quotient % ((2**32 if i.type == "i32" else 2**64) // by)
        return x - by * quotient if opcode in ("srem", "urem") else quotient

    def _called(self, i: Instruction, given: list[Term], kind: str) -> Term:
        try:
            name = called(i)
        except Opaque:
            return self.unknown(i.type)
        if name == "fmuladd":
            product = self.scalars.applied("mul", given[:2], [kind] * 2, kind)
            return self.scalars.applied("add", [product, given[2]], [kind] * 2, kind)
        if name in LESSER:
            a, b = given[:2]
            chosen = self.scalars.applied(
                "lt" if LESSER[name] else "gt", [b, a], [kind] * 2, "boolean"
            )
            is_none = self.scalars.applied("not_equal", [a, a], [kind] * 2, "boolean")
            return z3.If(is_none, b, z3.If(chosen, b, a))
        if name in SATURATING and i.type in BITS:
            a, b = given[:2]
            most = 2 ** BITS[i.type] - 1
            return (
                z3.If(a + b <= most, a + b, most) if name == "uadd.sat" else z3.If(a >= b, a - b, 0)
            )
        if name not in LIBRARY:
            return self.unknown(i.type)
        used = given[:1] if name == "abs" else given[: len(i.operands)]
        if i.type in BITS and name in ("smax", "smin", "abs"):
            used = [self.scalars.signed(x, BITS[i.type]) for x in used]
        asks = name in ("umax", "umin") and i.type not in BITS and i.name not in self.told
        if asks and not self.prover.holds(z3.And(*(x >= 0 for x in used))):
            return self.unknown(i.type)
        return self.scalars.applied(LIBRARY[name], used, [kind] * len(used), kind)

    def comparison(self, i: Instruction, given: list[Term], reached: Any) -> Term:
        """Whether a comparison holds."""
        a, b = given[:2]
        predicate, kind = i.about.split()[-1], SCALARS.get(i.types[0], "i64")
        if i.opcode == "icmp":
            if predicate in ("eq", "ne"):
                return a == b if predicate == "eq" else a != b
            if i.types[0] in BITS and predicate[0] == "s":
                a, b = (self.scalars.signed(x, BITS[i.types[0]]) for x in (a, b))
            is_told = has_same_sign(i) or i.name in self.told
            if predicate[0] == "u" and not is_told and i.types[0] not in (*BITS, "ptr"):
                with self.prover.assuming(reached):
                    if not self.prover.holds(z3.And(a >= 0, b >= 0)):
                        return self.equations.unknown("boolean")
            return self.scalars.applied(COMPARED[predicate[1:]], [a, b], [kind, kind], "boolean")
        order, plain = predicate[0], predicate[1:]
        if predicate in ("une", "oeq") or (order == "o" and plain != "ne"):
            return self.scalars.applied(COMPARED[plain], [a, b], [kind, kind], "boolean")
        contrary = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}.get(plain)
        if order != "u" or contrary is None:
            return self.equations.unknown("boolean")
        return z3.Not(self.scalars.applied(contrary, [a, b], [kind, kind], "boolean"))


def _shifted_by(x: Term, by: int) -> Term | None:
    """What was shifted to the left by so many bits."""
    if not 0 < by < 31 or not z3.is_mul(x) or x.num_args() != 2:
        return None
    inner, power = x.children()
    return inner if z3.is_int_value(power) and power.as_long() == 2**by else None
