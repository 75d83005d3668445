"""What an instruction computes of expressions."""

from __future__ import annotations

from collections.abc import Sequence

from relift.compiler.idioms.facts.evolution import PURE, library_name
from relift.compiler.idioms.facts.llvm.ir import FLOATS, INTEGERS, Instruction
from relift.compiler.idioms.facts.llvm.numbers import BITS
from relift.compiler.idioms.facts.names import Counter, bare
from relift.compiler.idioms.facts.values.narrow import fits, kept, signed
from relift.compiler.idioms.facts.values.terms import (
    TRUE,
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Index,
    Opaque,
    Read,
    Search,
    Value,
    both,
    constant,
    either,
    negation,
    select,
)

BINARY = {
    "add": "add", "fadd": "add", "sub": "sub", "fsub": "sub", "mul": "mul", "fmul": "mul", "fdiv": "div",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}  # fmt: skip
_INSIDE = frozenset(["and", "or", "xor", "lshr", "udiv", "urem"])
"""What gives no more bits than its operands have."""
SHIFTS = frozenset(["ashr", "lshr"])
_SIGNED = frozenset(["ashr", "sdiv", "srem"])
COMPARED = {
    "eq": "equal", "ne": "not_equal", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
}  # fmt: skip
LIBRARY = {
    "fabs": "absolute", "abs": "absolute", "labs": "absolute", "sqrt": "sqrt", "exp": "exp", "log": "log",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "atan2": "arctan2", "tanh": "tanh", "pow": "power", "floor": "floor", "ceil": "ceil",
    "hypot": "hypot", "fma": "fma", "smax": "maximum", "smin": "minimum", "umax": "maximum", "umin": "minimum",
}  # fmt: skip
LESSER = {"minnum": True, "fmin": True, "maxnum": False, "fmax": False}
"""The lesser or the greater of two floats; where one of them is no number, the other."""
SATURATING = frozenset(["uadd.sat", "usub.sat"])
_UNSIGNED_CALLS = frozenset(["umax", "umin"])


def called(i: Instruction) -> str:
    """The function of C's library that a call is of, whichever type of float it is for."""
    name = library_name(i.about)
    if name not in PURE:
        raise Opaque(f"a call of {bare(i.about)} (line {i.line})")
    plain = name.removeprefix("llvm.")
    known = plain in LIBRARY or plain in LESSER or plain in SATURATING
    return plain if known else plain.removesuffix("f")


def operation(i: Instruction, given: Sequence[Expression], kind: str) -> Expression:
    """What an instruction computes of its operands; raises `Opaque`."""
    if i.opcode in INTEGERS or i.opcode in FLOATS:
        a, b = given
        return _cut(i, _arithmetic(i, a, b, kind))
    match i.opcode:
        case "icmp" | "fcmp":
            return _comparison(i, given)
        case "select":
            c, a, b = given
            return (
                either(both(c, a), both(negation(c), b)) if kind == "boolean" else select(c, a, b)
            )
        case "fneg":
            return Apply("neg", tuple(given), kind)
        case (
            "sext"
            | "sitofp"
            | "fpext"
            | "fptrunc"
            | "trunc"
            | "zext"
            | "uitofp"
            | "fptosi"
            | "fptoui"
        ):
            return _converted(i, given[0], kind)
        case "call":
            return _cut(i, _call(i, given, kind))
        case "freeze":
            return given[0]
        case _:
            raise Opaque(f"{i.opcode} (line {i.line})")


def _cut(i: Instruction, e: Expression) -> Expression:
    """A result in as many bits as its type has."""
    return kept(e, BITS[i.type]) if i.type in BITS and i.opcode not in _INSIDE else e


def _arithmetic(i: Instruction, a: Expression, b: Expression, kind: str) -> Expression:
    if i.opcode not in BINARY:
        return _shifted_left(i, a, b, kind) if i.opcode == "shl" else _divided(i, a, b, kind)
    if kind == "boolean":
        if i.opcode == "xor":
            return negation(a) if b == TRUE else Apply("not_equal", (a, b), kind)
        if i.opcode in ("and", "or"):
            return both(a, b) if i.opcode == "and" else either(a, b)
    if i.opcode == "or" and "disjoint" in i.flags:
        return Apply("add", (a, b), kind)
    return Apply(BINARY[i.opcode], (a, b), kind)


def _shifted_left(i: Instruction, a: Expression, b: Expression, kind: str) -> Expression:
    """A product with a power of two; raises `Opaque`."""
    if not isinstance(b, Constant) or kind not in ("i32", "i64") or not 0 <= int(b.value) < 31:
        raise Opaque(f"a shift by a number that is not written (line {i.line})")
    return Apply("mul", (a, Constant(2 ** int(b.value), kind)), kind)


def _divided(i: Instruction, x: Expression, b: Expression, kind: str) -> Expression:
    """A quotient or a rest by a number that is known, as whole numbers rounded down; raises `Opaque`."""
    if i.type in BITS and i.opcode in _SIGNED:
        x, b = signed(x, BITS[i.type]), signed(b, BITS[i.type])
    by = int(b.value) if isinstance(b, Constant) else 0
    if i.opcode == "ashr" and kind == "i32" and (inner := _shifted_by(x, by)) is not None:
        return signed(kept(inner, 32 - by), 32 - by)
    width = 32 if kind == "i32" else 64
    if i.opcode in SHIFTS and by == width - 1:  # the sign is left
        is_negative = Apply("lt", (x, Constant(0, kind)), "boolean")
        sign = Constant(-1 if i.opcode == "ashr" else 1, kind)
        return select(is_negative, sign, Constant(0, kind))
    if i.opcode in SHIFTS:
        by = 2**by if isinstance(b, Constant) and 0 <= by < width - 1 else 0
    counts = fits(x, 0, 2**63) or (isinstance(x, Index) and all(
        c > 0 and all(isinstance(a, Counter) for a, _ in m) for m, c in x.size.terms.items()
    ))  # fmt: skip
    if i.opcode in ("udiv", "urem") and kind == "i32" and by > 1 and not counts:
        return _without_sign(i, x, by)
    has_meaning = counts or i.opcode in _SIGNED or i.opcode == "lshr"
    if by < 1 or kind not in ("i32", "i64") or not has_meaning:
        raise Opaque(f"{i.opcode} (line {i.line})")
    divisor, most = Constant(by, kind), Constant(by - 1, kind)
    up = x
    if i.opcode not in SHIFTS and not counts:  # C rounds towards zero
        is_negative = Apply("lt", (x, Constant(0, kind)), "boolean")
        up = select(is_negative, Apply("add", (x, most), kind), x)
    quotient = Apply("floor_divide", (up, divisor), kind)
    if i.opcode == "lshr" and not counts and by > 1:  # zeros come in from above
        ones = Constant(2 ** (width - int(by).bit_length() + 1) - 1, kind)
        return Apply("bitwise_and", (quotient, ones), kind)
    if i.opcode not in ("srem", "urem"):
        return quotient
    return Apply("sub", (x, Apply("mul", (quotient, divisor), kind)), kind)


def _without_sign(i: Instruction, x: Expression, by: int) -> Expression:
    """A quotient or a rest of a number without a sign, which 64 bits hold."""
    whole = Apply("bitwise_and", (Apply("i64", (x,), "i64"), Constant(2**32 - 1, "i64")), "i64")
    divisor = Constant(by, "i64")
    quotient = Apply("floor_divide", (whole, divisor), "i64")
    if i.opcode == "udiv":
        return Apply("i32", (quotient,), "i32")
    rest = Apply("sub", (whole, Apply("mul", (quotient, divisor), "i64")), "i64")
    return Apply("i32", (rest,), "i32")


def _shifted_by(x: Expression, by: int) -> Expression | None:
    """What was shifted to the left by so many bits."""
    if not isinstance(x, Apply) or x.function != "mul" or not 0 < by < 31:
        return None
    return x.arguments[0] if x.arguments[1] == Constant(2**by, "i32") else None


def _converted(i: Instruction, inner: Expression, kind: str) -> Expression:
    before = i.types[0]
    if inner.type == "boolean":
        one: float | int = 1 if i.opcode in ("zext", "uitofp") else -1
        ends = (constant(number, kind) for number in (one, 0))
        return select(inner, *(kept(x, BITS[i.type]) if i.type in BITS else x for x in ends))
    if kind == "boolean":
        lowest = Apply("bitwise_and", (inner, Constant(1, inner.type)), inner.type)
        of = inner if fits(inner, 0, 1) else lowest
        return Apply("not_equal", (of, Constant(0, inner.type)), kind)
    if before in BITS and i.opcode in ("sext", "sitofp"):
        inner = signed(inner, BITS[before])
    if i.type in BITS:
        return kept(inner if inner.type == "i32" else Apply("i32", (inner,), "i32"), BITS[i.type])
    return inner if inner.type == kind else Apply(kind, (inner,), kind)


def as_index(e: Expression) -> Expression:
    """A number that says which cell, in as many bits as programs count in."""
    match e:
        case Apply("i64", (inner,)) if inner.type == "i32":
            return inner
        case Apply("select", (condition, yes, no), "i64"):
            return select(condition, as_index(yes), as_index(no))
        case Apply("add" | "sub" | "mul" | "minimum" | "maximum" as function, (a, b), "i64"):
            return Apply(function, (as_index(a), as_index(b)), "i32")
        case Constant(value, "i64") if abs(int(value)) < 2**31:
            return Constant(value, "i32")
        case Constant() | Value() | Index() | Read() | Apply() | Accumulator() | Fold() | Search():
            return e


def _comparison(i: Instruction, given: Sequence[Expression]) -> Expression:
    predicate = i.about.split()[-1]
    a, b = given
    if i.opcode == "icmp":
        if predicate in ("eq", "ne"):
            return Apply(COMPARED[predicate], (a, b), "boolean")
        if i.types[0] in BITS and predicate[0] == "s":
            a, b = (signed(x, BITS[i.types[0]]) for x in (a, b))
        if compares_without_signs(i, given):
            raise Opaque(f"an unsigned comparison (line {i.line})")
        return Apply(COMPARED[predicate[1:]], (a, b), "boolean")
    order, kind = predicate[0], predicate[1:]
    if predicate in ("une", "oeq") or (order == "o" and kind != "ne"):
        return Apply(COMPARED[kind], (a, b), "boolean")
    if order == "u" and kind in ("lt", "le", "gt", "ge"):  # not the ordered contrary
        contrary = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}[kind]
        return negation(Apply(COMPARED[contrary], (a, b), "boolean"))
    raise Opaque(f"the comparison {predicate} (line {i.line})")


def compares_without_signs(i: Instruction, given: Sequence[Expression]) -> bool:
    """Whether numbers are compared as if they had no sign, which may have one as far as is seen."""
    match i.opcode:
        case "icmp":
            asks = i.about.split()[-1][0] == "u" and i.types[0] not in BITS
        case "call":
            asks = (
                library_name(i.about).rpartition(".")[2] in _UNSIGNED_CALLS and i.type not in BITS
            )
        case _:
            return False
    return asks and not has_same_sign(i) and not _have_no_sign(*given)


def has_same_sign(i: Instruction) -> bool:
    """Whether LLVM knows that both sides of a comparison are below zero, or neither is."""
    return "samesign" in i.flags or "samesign" in i.about


def _have_no_sign(*given: Expression) -> bool:
    return all(fits(x, 0, 2**63) for x in given)


def _call(i: Instruction, given: Sequence[Expression], kind: str) -> Expression:
    name = called(i)
    if name == "fmuladd":
        a, b, c = given
        return Apply("add", (Apply("mul", (a, b), kind), c), kind)
    if name in LESSER:
        a, b = given
        return lesser(a, b, kind, least=LESSER[name])
    if name in SATURATING and i.type in BITS:
        a, b = given
        if name == "uadd.sat":
            return Apply(
                "minimum", (Apply("add", (a, b), kind), Constant(2 ** BITS[i.type] - 1, kind)), kind
            )
        return Apply("maximum", (Apply("sub", (a, b), kind), Constant(0, kind)), kind)
    if name not in LIBRARY:
        raise Opaque(f"a call of {library_name(i.about)} (line {i.line})")
    if compares_without_signs(i, given):
        raise Opaque(f"an unsigned comparison (line {i.line})")
    used = tuple(given[:1] if name == "abs" else given)
    if i.type in BITS and name in ("smax", "smin", "abs"):
        used = tuple(signed(x, BITS[i.type]) for x in used)
    return Apply(LIBRARY[name], used, kind)


def lesser(a: Expression, b: Expression, kind: str, *, least: bool) -> Expression:
    """C's `fmin` or `fmax`: the other one where one is no number."""
    chosen = Apply("lt" if least else "gt", (b, a), "boolean")
    return select(Apply("not_equal", (a, a), "boolean"), b, select(chosen, b, a))
