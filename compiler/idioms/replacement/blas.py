"""Calls of a BLAS: which routine computes what a nest of loops does, and with which arguments.

What is needed is read off the cells that the nest computes and the strides of what it reads: no layout is assumed, a matrix
that is walked through the other way is passed as transposed, and what a routine asks of its arguments is checked before it
is called.  A BLAS adds in an order of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.facts.values.terms import (
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Index,
    Read,
    Search,
    Value,
)
from relift.compiler.idioms.lift import LiftedIdiom
from relift.compiler.idioms.lifting.effects import Cells, Result, Running, Updates, effect_of
from relift.compiler.idioms.lifting.programs import Lifted
from relift.compiler.idioms.replacement.spelling import C_TYPES, polynomial
from relift.semantics.syntax.sizes import Size

LETTERS = {"f32": "s", "f64": "d"}
_ROW_MAJOR, _PLAIN, _TURNED = 101, 111, 112  # the numbers of the standard's enumerations


@dataclass(frozen=True)
class Routine:
    """A call: its prototype, the statement, what must hold, and the values of the function in it."""

    name: str
    prototype: str
    call: str
    checks: tuple[str, ...]
    values: frozenset[str]


class NotOne(Exception):
    """It is not what a routine computes."""


def routine(idiom: LiftedIdiom) -> Routine | None:
    """The call of a BLAS that does what an idiom does, where there is one."""
    if idiom.lifted is None:
        return None
    found = idiom.found
    effect = effect_of(idiom.relations, found.loop, found.result, found.idiom)
    try:
        match effect:
            case Cells() if effect.type in LETTERS and len(effect.turns) == 2:
                return _gemm(effect, Arguments(idiom.lifted, effect.type))
            case Cells() if effect.type in LETTERS and len(effect.turns) == 1:
                writing = Arguments(idiom.lifted, effect.type)
                return _gemv(effect, writing) if _has_fold(effect.value) else _axpy(effect, writing)
            case Result(fold) if fold.type in LETTERS:
                return _dot(fold, Arguments(idiom.lifted, fold.type))
            case Cells() | Result() | Updates() | Running():
                return None
    except NotOne:
        return None


class Arguments:
    """What stands in a call: C over the parameters of the function that makes it."""

    def __init__(self, lifted: Lifted, kind: str, *, sparse: bool = False) -> None:
        self.sparse = sparse
        self.kind, self.letter = kind, LETTERS[kind]
        self.names: Mapping[str, str] = {p.value: p.name for p in lifted.parameters}
        self.arrays = {p.value for p in lifted.parameters if p.first is not None}
        self.target = lifted.target.value
        self.values: set[str] = set()
        self.checks: list[str] = []

    def number(self, size: Size) -> str:
        """A polynomial, which must fit an int."""
        return f"(int)({self.wide(size)})"

    def wide(self, size: Size, *, is_count: bool = True) -> str:
        """A polynomial, which is no less than 0 where it counts."""
        if any(isinstance(n, Counter) for n in size.names()) or not all(
            isinstance(a, str) for a in size.atoms()
        ):
            raise NotOne
        self.values |= size.names()
        text = polynomial(size, in_sizes=False)
        if is_count:
            self.checks.append(f"({text}) < 0 || ({text}) > 0x7fffffff")
        return text

    def distance(self, stride: Size, least: Size) -> str:
        """The distance of two rows, which must be as long as a row, and 1."""
        if stride.constant is not None and stride.constant < 1:
            raise NotOne
        there, row = self.wide(stride), self.wide(least)
        self.checks.append(f"({there}) < 1 || ({there}) < ({row})")
        return f"(int)({there})"

    def pointer(self, base: str, first: Size) -> str:
        """A cell of an array."""
        kind = C_TYPES[self.kind]
        if base == self.target:
            return f"({kind} *)to + ({self.wide(first, is_count=False)})"
        if base not in self.arrays:
            raise NotOne
        return f"(const {kind} *)array_{self.names[base]} + ({self.wide(first, is_count=False)})"

    def scalar(self, e: Expression) -> str:
        """A factor, which the loops do not change."""
        match e:
            case Constant(value, _):
                return repr(float(value))
            case Value(name, kind) if kind == self.kind and name in self.names:
                return f"value_{self.names[name]}"
            case Apply("mul", (a, b), _):
                return f"{self.scalar(a)} * {self.scalar(b)}"
            case Apply("neg", (a,), _):
                return f"-({self.scalar(a)})"
            case Value() | Apply() | Index() | Read() | Accumulator() | Fold() | Search():
                raise NotOne

    def made(
        self, name: str, types: str, arguments: list[str], *, result: str = "void", use: str = "{};"
    ) -> Routine:
        """A call, whose parameters are `i`nts, scalars of the `t`ype, arrays that are `r`ead and `w`ritten."""
        kind = C_TYPES[self.kind]
        spelled = {"i": "int", "t": kind, "r": f"const {kind} *", "w": f"{kind} *"}
        called = f"cblas_{self.letter}{name}"
        prototype = f"extern {result} {called}({', '.join(spelled[t] for t in types)});"
        call = use.format(f"{called}({', '.join(arguments)})")
        return Routine(
            called, prototype, call, tuple(dict.fromkeys(self.checks)), frozenset(self.values)
        )


# ---- what is computed


@dataclass(frozen=True)
class Product:
    """alpha * sum over `counter`, the loop of `fold`, of a * b, and beta * what was there."""

    fold: Fold
    a: Read
    b: Read
    counter: str
    trips: Size
    alpha: str
    beta: str


def _has_fold(e: Expression) -> bool:
    return isinstance(e, Fold) or (isinstance(e, Apply) and any(map(_has_fold, e.arguments)))


def product(e: Expression, old: Read | None, write: Arguments) -> Product:
    """A sum of products as a routine takes it; raises `NotOne`."""
    match e:
        case Fold():
            return _sum(e, old, write)
        case Apply("mul", (Fold() as fold, factor), _) | Apply("mul", (factor, Fold() as fold), _):
            return _scaled(fold, factor, "0.0", write)
        case Apply("add", (left, right), _):
            for summed, rest in ((left, right), (right, left)):
                if _has_fold(summed) and not _has_fold(rest) and old is not None:
                    found = product(summed, None, write)
                    return replace(found, beta=_beta(rest, old, write))
            raise NotOne
        case Constant() | Value() | Apply() | Index() | Read() | Accumulator() | Search():
            raise NotOne


def _beta(e: Expression, old: Read, write: Arguments) -> str:
    if e == old:
        return "1.0"
    if isinstance(e, Apply) and e.function == "mul" and old in e.arguments:
        other = e.arguments[1] if e.arguments[0] == old else e.arguments[0]
        return write.scalar(other)
    raise NotOne


def _scaled(fold: Fold, factor: Expression, beta: str, write: Arguments) -> Product:
    found = _sum(fold, None, write)
    return replace(found, alpha=f"{write.scalar(factor)} * {found.alpha}", beta=beta)


def _sum(fold: Fold, old: Read | None, write: Arguments) -> Product:
    if len(fold.names) > 1 or (fold.computed and not write.sparse):
        raise NotOne
    (start,), (update,) = fold.starts, fold.updates
    accumulator = Accumulator(fold.name, fold.type)
    if not (
        isinstance(update, Apply) and update.function == "add" and accumulator in update.arguments
    ):
        raise NotOne
    element = update.arguments[1] if update.arguments[0] == accumulator else update.arguments[0]
    reads, factors = _factors(element)
    if len(reads) != 2 or (any(r.computed for r in reads) and not write.sparse):
        raise NotOne
    alpha = " * ".join(map(write.scalar, factors)) or "1.0"
    if start == Constant(0.0, fold.type):
        beta = "0.0"
    elif old is not None:
        beta = _beta(start, old, write)
    else:
        raise NotOne
    return Product(fold, reads[0], reads[1], fold.counter, fold.trips, alpha, beta)


def _factors(e: Expression) -> tuple[list[Read], list[Expression]]:
    if isinstance(e, Read):
        return [e], []
    if isinstance(e, Apply) and e.function == "mul":
        left, right = (_factors(a) for a in e.arguments)
        return left[0] + right[0], left[1] + right[1]
    return [], [e]


def strides_of(r: Read, counters: tuple[str, ...]) -> tuple[list[Size], Size]:
    """By how much each counter moves a read, and where it begins."""
    rest, found = r.index, list[Size]()
    for c in counters:
        linear = rest.linear_in(c)
        if linear is None or linear[0].names() & set(counters):
            raise NotOne
        found.append(linear[0])
        rest = linear[1]
    return found, rest


# ---- routines


def _gemm(effect: Cells, write: Arguments) -> Routine:
    (i, j) = effect.turns
    old = Read(effect.base, effect.index, (), effect.type)
    (row, column), first = strides_of(old, (i.counter, j.counter))
    if column != 1:
        i, j, row, column = j, i, column, row
    if column != 1:
        raise NotOne
    p = product(effect.value, old, write)
    for a, b in ((p.a, p.b), (p.b, p.a)):
        (a_i, a_j, a_k), a_first = strides_of(a, (i.counter, j.counter, p.counter))
        (b_i, b_j, b_k), b_first = strides_of(b, (i.counter, j.counter, p.counter))
        if a_j == 0 and b_i == 0 and a_i != 0 and b_j != 0 and effect.base not in (a.base, b.base):
            a_turned, lda = _matrix(a_i, a_k, i.trips, p.trips, write)
            b_turned, ldb = _matrix(b_k, b_j, p.trips, j.trips, write)
            arguments = [
                str(_ROW_MAJOR), a_turned, b_turned, write.number(i.trips), write.number(j.trips), write.number(p.trips),
                p.alpha, write.pointer(a.base, a_first), lda, write.pointer(b.base, b_first), ldb,
                p.beta, write.pointer(effect.base, first), write.distance(row, j.trips),
            ]  # fmt: skip
            return write.made("gemm", "iiiiiitriritwi", arguments)
    raise NotOne


def _matrix(
    outer: Size, inner: Size, rows: Size, columns: Size, write: Arguments
) -> tuple[str, str]:
    """Whether a matrix of `rows` by `columns` lies transposed, and the distance of what lies in a row."""
    if inner == 1:
        return str(_PLAIN), write.distance(outer, columns)
    if outer == 1:
        return str(_TURNED), write.distance(inner, rows)
    raise NotOne


def _gemv(effect: Cells, write: Arguments) -> Routine:
    (i,) = effect.turns
    old = Read(effect.base, effect.index, (), effect.type)
    (step,), first = strides_of(old, (i.counter,))
    p = product(effect.value, old, write)
    for a, x in ((p.a, p.b), (p.b, p.a)):
        (a_i, a_k), a_first = strides_of(a, (i.counter, p.counter))
        (x_i, x_k), x_first = strides_of(x, (i.counter, p.counter))
        if a_i != 0 and a_k != 0 and x_i == 0 and effect.base not in (a.base, x.base):
            turned, lda = _matrix(a_i, a_k, i.trips, p.trips, write)
            sides = (i.trips, p.trips) if turned == str(_PLAIN) else (p.trips, i.trips)
            arguments = [
                str(_ROW_MAJOR), turned, *map(write.number, sides), p.alpha, write.pointer(a.base, a_first), lda,
                write.pointer(x.base, x_first), write.distance(x_k, Size.of(1)),
                p.beta, write.pointer(effect.base, first), write.distance(step, Size.of(1)),
            ]  # fmt: skip
            return write.made("gemv", "iiiitriritwi", arguments)
    raise NotOne


def _axpy(effect: Cells, write: Arguments) -> Routine:
    (i,) = effect.turns
    old = Read(effect.base, effect.index, (), effect.type)
    e = effect.value
    if not (isinstance(e, Apply) and e.function == "add" and old in e.arguments):
        raise NotOne
    reads, factors = _factors(e.arguments[1] if e.arguments[0] == old else e.arguments[0])
    if len(reads) != 1 or reads[0].base == effect.base or reads[0].computed:
        raise NotOne
    (x_step,), x_first = strides_of(reads[0], (i.counter,))
    (step,), first = strides_of(old, (i.counter,))
    alpha = " * ".join(map(write.scalar, factors)) or "1.0"
    arguments = [
        write.number(i.trips), alpha, write.pointer(reads[0].base, x_first), write.distance(x_step, Size.of(1)),
        write.pointer(effect.base, first), write.distance(step, Size.of(1)),
    ]  # fmt: skip
    return write.made("axpy", "itriwi", arguments)


def _dot(fold: Fold, write: Arguments) -> Routine:
    p = _sum(fold, None, write)
    arguments = [write.number(p.trips)]
    for r in (p.a, p.b):
        (step,), first = strides_of(r, (p.counter,))
        arguments += [write.pointer(r.base, first), write.distance(step, Size.of(1))]
    kind = C_TYPES[write.kind]
    return write.made("dot", "iriri", arguments, result=kind, use=f"*first = {p.alpha} * {{}};")
