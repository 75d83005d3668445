"""Tier 4a: arrays as index functions, and Z3, for all sizes.

An array means its length and a function from an index to an element.  Both sides of a rule are opened at
fresh indices in range and compared from the root down, by congruence and case split, until what is left are
statements about whole numbers: two indices are equal, an index is in range.  Those go to Z3, the sizes being
any natural numbers.  What an element is stays opaque: data are unknown cells, functions and operators are
uninterpreted.

A reduction is a sum over a box of indices.  Where the operator is associative and starts from its neutral
element, a reduction of reductions is one over a larger box, whose indices are read in order; where it is
commutative too, in any order of its dimensions.  Nothing else is known of reductions here: what needs
induction is left to tier 4b.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from relift.rewrites.instances import Instances
from relift.rewrites.models import confirm_difference
from relift.rewrites.rule import IndexCondition, Rule
from relift.rewrites.verdicts import Counterexample, Status, TierResult
from relift.semantics import patterns as p
from relift.semantics.errors import Unsupported
from relift.semantics.signatures import IndexKind
from relift.semantics.sizes import Power, Size
from relift.semantics.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Get,
    Input,
    Lambda,
    Literal,
    MakeTuple,
    Metavariable,
    Operator,
    OperatorMetavariable,
    Pattern,
    Term,
    Var,
    Vectorized,
)
from relift.semantics.types import Array, Scalar, Tuple, Type, TypeVariable, Vector
from relift.semantics.written import (
    IndexExpression,
    IndexFunction,
    IndexMetavariable,
    IndexOperation,
    SizeIndex,
    TheIndex,
)

if TYPE_CHECKING:
    import z3

GOAL_MS = 2_000
"""Milliseconds that Z3 has for one statement about indices."""

LARGEST_SIZE = 6
"""A counterexample of Z3 is looked for by the interpreter only where its sizes are no larger."""

Number: TypeAlias = Any
"""A whole number of Z3's, which ships no types."""


# ---- values


@dataclass(frozen=True)
class Cells:
    """An array: how many elements, and which one is at an index."""

    length: Number
    at: Callable[[Number], Value]


@dataclass(frozen=True)
class Whole:
    """A whole number of the program that is an index."""

    number: Number


@dataclass(frozen=True)
class Opaque:
    """An element that nothing is known of but where it comes from.

    It is the cell at `indices` (below `extents`) and component `path` of what `head` makes of `arguments`.
    """

    head: tuple[Any, ...]
    arguments: tuple[tuple[Value, Type], ...] = ()
    path: tuple[int, ...] = ()
    indices: tuple[Number, ...] = ()
    extents: tuple[Number, ...] = ()


@dataclass(frozen=True)
class Fold:
    """A reduction over a box of indices, from the left in the order of the indices.

    `step` says what is done with the accumulator and an element, both opaque where folds are compared;
    `law` holds the name of the operator whose laws the fold may use, if it has one.
    """

    step: Callable[[Value, Value], Value]
    law: Operator | None
    init: Value
    accumulator: Type
    extents: tuple[Number, ...]
    body: Callable[[tuple[Number, ...]], Value]


@dataclass(frozen=True)
class Choice:
    """One of two values, by a condition on indices."""

    condition: Number
    yes: Value
    no: Value


Value: TypeAlias = "Cells | Whole | Opaque | Fold | Choice | tuple[Value, ...]"


class Open(Exception):
    """The sides could not be shown equal; the message says where."""

    def __init__(self, message: str, sizes: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.sizes = sizes


@dataclass
class Prover:
    """Proves statements about indices under what is assumed of sizes and of the indices in scope."""

    assumed: list[Number] = field(default_factory=list)
    names: dict[str, Number] = field(default_factory=dict)
    proved: int = 0
    fresh: int = 0

    def size(self, n: Size) -> Number:
        """A size as a number of Z3's."""
        import z3

        total: Number = z3.IntVal(0)
        for monomial, c in n.terms.items():
            product: Number = z3.IntVal(c)
            for atom, power in monomial:
                if isinstance(atom, Power):
                    raise Unsupported(f"{atom} is a power", place="")
                for _ in range(power):
                    product = product * self.names.setdefault(str(atom), z3.Int(f"size {atom}"))
            total = total + product
        return z3.simplify(total)

    def index(self) -> Number:
        """A new index."""
        import z3

        self.fresh += 1
        return z3.Int(f"i{self.fresh}")

    @contextmanager
    def assuming(self, *facts: Number) -> Generator[None]:
        """With these facts, too."""
        self.assumed += facts
        try:
            yield
        finally:
            del self.assumed[len(self.assumed) - len(facts) :]

    def show(self, fact: Number, what: str) -> None:
        """Prove a fact; raises `Open` with the sizes of a counterexample, where Z3 has one."""
        import z3

        if z3.is_true(z3.simplify(fact)):
            self.proved += 1
            return
        solver = z3.Solver()
        solver.set(timeout=GOAL_MS, random_seed=1)
        solver.add(*self.assumed, z3.Not(fact))
        answer = solver.check()
        if answer == z3.unsat:
            self.proved += 1
            return
        shown = str(z3.simplify(fact)).replace("\n", " ")
        if answer == z3.unknown:
            raise Open(f"Z3 cannot tell whether {what}: {shown}")
        model = solver.model()
        sizes = {n: model.eval(x, model_completion=True).as_long() for n, x in self.names.items()}
        raise Open(f"not for all sizes: {what}: {shown}", sizes)

    def impossible(self) -> bool:
        """Whether nothing satisfies what is assumed."""
        import z3

        solver = z3.Solver()
        solver.set(timeout=GOAL_MS, random_seed=1)
        solver.add(*self.assumed)
        return bool(solver.check() == z3.unsat)


# ---- what terms mean


class Meaning:
    """The value of a term of one rule."""

    def __init__(self, rule: Rule, prover: Prover) -> None:
        self.rule, self.prover = rule, prover
        self.index_functions: dict[str, z3.FuncDeclRef] = {}
        self._state_index_laws()

    def _state_index_laws(self) -> None:
        """Index metavariables stay in range; each has the inverse that its conditions give it."""
        import z3

        integers = (z3.IntSort(), z3.IntSort())
        lengths: dict[str, Number] = {}
        for name, kind in self.rule.parameters.items():
            if isinstance(kind, IndexKind):
                lengths[name] = self.prover.size(kind.length)
                self.index_functions[name] = z3.Function(name, *integers)
        i = z3.Int("i")

        def state(function: Any, undone: Any, n: Number) -> None:
            inside = z3.And(i >= 0, i < n)
            facts = [function(i) >= 0, function(i) < n]
            facts += [undone(function(i)) == i] if undone is not None else []
            rule = z3.ForAll([i], z3.Implies(inside, z3.And(*facts)), patterns=[function(i)])
            self.prover.assumed.append(rule)

        for name, n in lengths.items():
            state(self.index_functions[name], None, n)
        for condition in self.rule.where:
            if not isinstance(condition, IndexCondition):
                continue
            f, n = self.index_functions[condition.function], lengths[condition.function]
            if condition.inverse is None:
                g = z3.Function(f"{condition.function} undone", *integers)
                self.index_functions[_undone(condition.function)] = g
            else:
                g = self.index_functions[condition.inverse]
                self.index_functions[_undone(condition.function)] = g
                self.index_functions[_undone(condition.inverse)] = f
            state(f, g, n)
            state(g, f, n)

    def of(self, t: Term, names: Mapping[str, Value]) -> Value:
        """The value of t, where free variables stand for `names`."""
        match t:
            case Var(name):
                return names[name]
            case Metavariable(name, arguments, of):
                given = tuple((self.of(u, names), u.type) for u in arguments)
                return self.opaque(of, ("metavariable", name), given)
            case Literal(value, of):
                return Opaque(("literal", repr(value), str(of)))
            case Apply(function, arguments, of):
                given = tuple((self.of(u, names), u.type) for u in arguments)
                return self.opaque(of, ("scalar", function), given)
            case Call(user, arguments, of):
                given = tuple((self.of(u, names), u.type) for u in arguments)
                return self.opaque(of, ("user", user.name), given)
            case Combine(operator, left, right, of):
                return self.combined(operator, self.of(left, names), self.of(right, names), of)
            case MakeTuple(parts):
                return tuple(self.of(u, names) for u in parts)
            case Get(index, of):
                return component(self.of(of, names), index)
            case Pattern():
                return self.pattern(t, names)
            case Input():
                raise AssertionError("cannot happen: rules have no inputs")

    def opaque(
        self,
        t: Type,
        head: tuple[Any, ...],
        arguments: tuple[tuple[Value, Type], ...] = (),
        path: tuple[int, ...] = (),
        indices: tuple[Number, ...] = (),
        extents: tuple[Number, ...] = (),
    ) -> Value:
        """A value of type t of which only the cells are unknown."""
        match t:
            case Array(element, n) | Vector(element, n):
                length = self.prover.size(n)
                return Cells(
                    length,
                    lambda i: self.opaque(
                        element, head, arguments, path, (*indices, i), (*extents, length)
                    ),
                )
            case Tuple(parts):
                return tuple(
                    self.opaque(part, head, arguments, (*path, i), indices, extents)
                    for i, part in enumerate(parts)
                )
            case Scalar() | TypeVariable():
                return Opaque(head, arguments, path, indices, extents)

    def combined(self, operator: Operator, x: Value, y: Value, t: Type) -> Value:
        """op(x, y); of a vectorised operator, lane by lane."""
        match operator, t:
            case Vectorized(_, inner), Vector(element, _) | Array(element, _):
                return Cells(
                    self.prover.size(t.length if isinstance(t, Array) else t.width),
                    lambda i: self.combined(inner, at(x, i), at(y, i), element),
                )
            case BinaryOperator(name), _:
                return self.opaque(t, ("operator", name), ((x, t), (y, t)))
            case OperatorMetavariable(name, _), _:
                return self.opaque(t, ("operator metavariable", name), ((x, t), (y, t)))
            case _:
                raise AssertionError("cannot happen: only vectors have lanes")

    def function(self, f: Lambda, names: Mapping[str, Value]) -> Callable[..., Value]:
        """A lambda as a function on values."""
        return lambda *values: self.of(
            f.body,
            {**names, **{x.name: v for x, v in zip(f.parameters, values, strict=True)}},
        )

    def fold(
        self,
        operator: Operator | None,
        step: Callable[[Value, Value], Value],
        init: Value,
        accumulator: Type,
        n: Number,
        at_index: Callable[[Number], Value],
    ) -> Value:
        """A reduction; of tuples of lanes, cell by cell."""
        match operator, accumulator:
            case Vectorized(_, inner), Vector(of, width):
                return Cells(
                    self.prover.size(width),
                    lambda lane: self.fold(
                        inner,
                        lambda x, y: self.combined(inner, x, y, of),
                        at(init, lane),
                        of,
                        n,
                        lambda i: at(at_index(i), lane),
                    ),
                )
            case _:
                whole = Fold(step, operator, init, accumulator, (n,), lambda i: at_index(i[0]))
                return self.opaque(accumulator, ("fold", whole))

    def index_at(self, f: IndexFunction, i: Number) -> Number:
        """The value of an index function."""

        def value(e: IndexExpression) -> Number:
            match e:
                case TheIndex():
                    return i
                case SizeIndex(n):
                    return self.prover.size(n)
                case IndexMetavariable(name, _, argument):
                    return self.index_functions[name](value(argument))
                case IndexOperation(symbol, left, right):
                    x, y = value(left), value(right)
                    match symbol:
                        case "+":
                            return x + y
                        case "-":
                            return x - y
                        case "*":
                            return x * y
                        case "//":
                            return x / y
                        case "%":
                            return x % y

        return value(f.body)

    def pattern(self, t: Pattern, names: Mapping[str, Value]) -> Value:
        """The value of a pattern, from its fields."""
        size = self.prover.size
        value = {
            name: self.of(u, names)
            for name in t.signature.term_fields
            if not isinstance(u := getattr(t, name), Lambda)
        }
        solved = {name: size(n) for name, n in t.solved.items() if not n.atoms() & {"?length"}}

        def function(name: str = "f") -> Callable[..., Value]:
            return self.function(getattr(t, name), names)

        def array(n: Number, element: Callable[[Number], Value]) -> Cells:
            return Cells(n, element)

        match t:
            case (
                p.Map() | p.MapSeq() | p.MapGlb() | p.MapWrg() | p.MapLcl() | p.MapSeqUnroll()
                | p.MapWarp() | p.MapLane() | p.MapStream() | p.IterateStream()
            ):  # fmt: skip
                f = function()
                return array(solved["n"], lambda i: f(at(value["xs"], i)))
            case p.MapVec():
                f = function()
                return array(solved["width"], lambda i: f(at(value["v"], i)))
            case p.Zip():
                return array(solved["n"], lambda i: (at(value["xs"], i), at(value["ys"], i)))
            case p.Unzip():
                return (
                    array(solved["n"], lambda i: component(at(value["ps"], i), 0)),
                    array(solved["n"], lambda i: component(at(value["ps"], i), 1)),
                )
            case p.Reduce(op):
                a = t.type
                return self.fold(
                    op, lambda x, y: self.combined(op, x, y, a), value["init"], a,
                    solved["n"], lambda i: at(value["xs"], i),
                )  # fmt: skip
            case p.PartialReduce(op):
                assert isinstance(t.type, Array), "cannot happen: an array of results"
                a, m = t.type.element, size(t.m)
                return array(
                    solved["k"],
                    lambda i: self.fold(
                        op, lambda x, y: self.combined(op, x, y, a), value["init"], a,
                        m, lambda j: at(value["xs"], i * m + j),
                    ),
                )  # fmt: skip
            case p.ReduceSeq() | p.ReduceSeqUnroll():
                operator = _operator_of(t.f)
                return self.fold(
                    operator, function(), value["init"], t.type,
                    solved["n"], lambda i: at(value["xs"], i),
                )  # fmt: skip
            case p.ScanSeq():
                assert isinstance(t.type, Array), "cannot happen: an array of results"
                f, of = function(), t.type.element
                return array(
                    solved["n"],
                    lambda i: self.fold(
                        _operator_of(t.f), f, value["init"], of,
                        i + 1, lambda j: at(value["xs"], j),
                    ),
                )  # fmt: skip
            case p.Let():
                return function()(value["x"])
            case p.Generate():
                f = function()
                return array(size(t.n), lambda i: f(Whole(i)))
            case p.LiteralArray():
                return self.opaque(t.type, ("numbers", repr(t.values)))
            case p.Repeat():
                return array(size(t.m), lambda i: value["x"])
            case p.Splat():
                return array(size(t.width), lambda i: value["x"])
            case p.Split():
                m = size(t.m)
                return _rows(solved["k"], m, value["xs"])
            case p.AsVector() | p.AsVectorAligned():
                return _rows(solved["k"], size(t.width), value["xs"])
            case p.Join():
                return _joined(solved["k"], solved["m"], value["xss"])
            case p.AsScalar():
                return _joined(solved["k"], solved["width"], value["vs"])
            case p.Transpose():
                return array(
                    solved["m"],
                    lambda i: Cells(solved["n"], lambda j: at(at(value["xss"], j), i)),
                )
            case p.Slide():
                return _windows(solved["k"], size(t.size), size(t.step), value["xs"])
            case p.RotateValues():
                return _windows(solved["k"], size(t.size), 1, value["xs"])
            case p.CircularBuffer():
                f = function()
                loaded = Cells(size(t.size) + solved["k"], lambda i: f(at(value["xs"], i)))
                return _windows(solved["k"], size(t.size), 1, loaded)
            case p.MapSeqSlide():
                f = function()
                windows = _windows(solved["k"], size(t.size), size(t.step), value["xs"])
                return array(windows.length, lambda i: f(windows.at(i)))
            case p.PadClamp() | p.PadMirror() | p.PadWrap() | p.PadConstant():
                return self._padded(t, value, solved["n"])
            case p.Take():
                return array(size(t.m), lambda i: at(value["xs"], i))
            case p.Drop():
                return array(solved["r"], lambda i: at(value["xs"], i + size(t.m)))
            case p.Head():
                return at(value["xs"], size(Size.of(0)))
            case p.Tail():
                return array(solved["r"], lambda i: at(value["xs"], i + 1))
            case p.At():
                return at(value["xs"], size(t.index))
            case p.Concat():
                n = solved["n"]
                return array(
                    n + solved["m"],
                    lambda i: Choice(i < n, at(value["xs"], i), at(value["ys"], i - n)),
                )
            case p.Gather():
                return array(solved["n"], lambda i: at(value["xs"], self.index_at(t.idx, i)))
            case p.Scatter():
                undone = self._undoing(t.idx)
                return array(solved["n"], lambda i: at(value["xs"], undone(i)))
            case p.ToGlobal() | p.ToLocal() | p.ToPrivate():
                return value["xs"]
            case p.AtRuntime() | p.AtRuntimeUnsafe() if isinstance(value["index"], Whole):
                i, n = value["index"].number, solved["n"]
                found = at(value["xs"], i)
                if isinstance(t, p.AtRuntimeUnsafe):
                    return found
                import z3

                return Choice(z3.And(i >= 0, i < n), found, value["default"])
            case p.Iterate():
                f, a = function(), t.type
                x = self.opaque(a, ("argument",))
                once = (f(x), a)
                return self.opaque(a, ("iterate", size(t.m)), ((value["x"], a), once))
            case _:
                raise Unsupported(f"{t.name} is not known to this tier", place="")

    def _padded(self, t: Pattern, value: Mapping[str, Value], n: Number) -> Cells:
        import z3

        left, right = (self.prover.size(getattr(t, side)) for side in ("left", "right"))
        xs = value["xs"]

        def cell(i: Number) -> Value:
            j = i - left
            match t:
                case p.PadClamp():
                    return at(xs, z3.If(j < 0, 0, z3.If(j < n, j, n - 1)))
                case p.PadWrap():
                    return at(xs, j % n)
                case p.PadMirror():
                    k = j % (2 * n)
                    return at(xs, z3.If(k < n, k, 2 * n - 1 - k))
                case _:
                    return Choice(z3.And(j >= 0, j < n), at(xs, j), value["value"])

        return Cells(left + n + right, cell)

    def _undoing(self, f: IndexFunction) -> Callable[[Number], Number]:
        """What undoes an index function: known of metavariables that are permutations."""
        match f.body:
            case IndexMetavariable(name, _, TheIndex()) if _undone(name) in self.index_functions:
                function: Callable[[Number], Number] = self.index_functions[_undone(name)]
                return function
            case _:
                raise Unsupported("what a scatter writes is not known to this tier", place="")


def _undone(name: str) -> str:
    return f"{name} undone"


def _operator_of(f: Lambda) -> Operator | None:
    """The operator that a lambda merely applies to its parameters."""
    match f.body:
        case Combine(operator, left, right) if (left, right) == f.parameters:
            return operator
        case _:
            return None


def at(xs: Value, i: Number) -> Value:
    """The element of an array at an index."""
    match xs:
        case Cells():
            return xs.at(i)
        case Choice(condition, yes, no):
            return Choice(condition, at(yes, i), at(no, i))
        case _:
            raise AssertionError("cannot happen: only arrays are indexed")


def component(x: Value, index: int) -> Value:
    """A component of a tuple."""
    match x:
        case tuple():
            return x[index]
        case Choice(condition, yes, no):
            return Choice(condition, component(yes, index), component(no, index))
        case _:
            raise AssertionError("cannot happen: only tuples have components")


def _rows(k: Number, m: Number, xs: Value) -> Cells:
    return Cells(k, lambda i: Cells(m, lambda j: at(xs, i * m + j)))


def _joined(k: Number, m: Number, xss: Value) -> Cells:
    return Cells(k * m, lambda i: at(at(xss, i / m), i % m))


def _windows(k: Number, size: Number, step: Number, xs: Value) -> Cells:
    return Cells(k + 1, lambda i: Cells(size, lambda j: at(xs, i * step + j)))


# ---- comparing


class Comparison:
    """Shows two values equal, or raises `Open`."""

    def __init__(self, rule: Rule, prover: Prover, meaning: Meaning) -> None:
        self.rule, self.prover, self.meaning = rule, prover, meaning

    def same(self, x: Value, y: Value, t: Type) -> None:
        if isinstance(x, Choice) or isinstance(y, Choice):
            self._by_cases(x, y, t)
            return
        match t:
            case Array(element, n) | Vector(element, n):
                i, length = self.prover.index(), self.prover.size(n)
                with self.prover.assuming(i >= 0, i < length):
                    self.same(at(x, i), at(y, i), element)
            case Tuple(parts):
                for index, part in enumerate(parts):
                    self.same(component(x, index), component(y, index), part)
            case Scalar() | TypeVariable():
                self._same_cell(x, y)

    def _by_cases(self, x: Value, y: Value, t: Type) -> None:
        import z3

        choice = x if isinstance(x, Choice) else y
        assert isinstance(choice, Choice), "cannot happen: one of them is a choice"
        for holds, fact in ((True, choice.condition), (False, z3.Not(choice.condition))):
            with self.prover.assuming(fact):
                if self.prover.impossible():
                    continue
                self.same(_decided(x, choice, holds), _decided(y, choice, holds), t)

    def _same_cell(self, x: Value, y: Value) -> None:
        match x, y:
            case Whole(i), Whole(j):
                self.prover.show(i == j, "two indices are equal")
            case Opaque(), Opaque():
                self._same_opaque(x, y)
            case _:
                raise Open(f"the sides differ in shape: {_shape(x)} and {_shape(y)}")

    def _same_opaque(self, x: Opaque, y: Opaque) -> None:
        folds = [v.head[1] for v in (x, y) if v.head[0] == "fold"]
        if folds:
            self._same_folds(x, y)
        elif (x.head[0], len(x.arguments)) != (y.head[0], len(y.arguments)):
            raise Open(f"the sides differ in shape: {_shape(x)} and {_shape(y)}")
        elif x.head[0] == "iterate":
            self.prover.show(x.head[1] == y.head[1], "two counts are equal")
        elif x.head != y.head:
            raise Open(f"the sides differ in shape: {_shape(x)} and {_shape(y)}")
        if x.path != y.path or len(x.indices) != len(y.indices):
            raise Open(f"the sides take different components of {_shape(x)}")
        for i, j, n in zip(x.indices, y.indices, x.extents, strict=True):
            self.prover.show(i == j, "two indices are equal")
            import z3

            self.prover.show(z3.And(i >= 0, i < n), "an index is in range")
        for (u, t), (v, _) in zip(x.arguments, y.arguments, strict=True):
            self.same(u, v, t)

    # ---- reductions

    def _same_folds(self, x: Opaque, y: Opaque) -> None:
        """Equal starts, and steps that do the same at the same index; boxes of a monoid may be reshaped."""
        f, g = self._as_fold(x, y), self._as_fold(y, x)
        if f.accumulator != g.accumulator:
            raise Open("two reductions have results of different types")
        self.same(f.init, g.init, f.accumulator)
        if len(f.extents) < len(g.extents):
            f, g = g, f
        failed: Open | None = None
        for order in self._orders(f):
            try:
                self._same_boxes(f, g, order)
                return
            except Open as error:
                failed = failed or error
        assert failed is not None, "cannot happen: there is one order at least"
        raise failed

    def _as_fold(self, x: Opaque, other: Opaque) -> Fold:
        """The flattened fold that an element is; a single element is a fold of one, where that is neutral."""
        if x.head[0] == "fold":
            return self._flat(x.head[1])
        raise Open(f"the sides differ in shape: {_shape(x)} and {_shape(other)}")

    def _flat(self, fold: Fold) -> Fold:
        """A reduction of reductions as one over a larger box, where the laws allow it."""
        if not self._monoid(fold):
            return fold
        inside = [self.prover.index() for _ in fold.extents]
        inner = fold.body(tuple(inside))
        if not isinstance(inner, Opaque) or inner.head[0] != "fold" or inner.indices or inner.path:
            return fold
        nested = inner.head[1]
        if nested.law != fold.law or not self._monoid(nested):
            return fold
        depth = len(fold.extents)

        def body(i: tuple[Number, ...]) -> Value:
            found = fold.body(i[:depth])
            assert isinstance(found, Opaque), "cannot happen: it was a fold at a fresh index"
            rows: Fold = found.head[1]
            return rows.body(i[depth:])

        return self._flat(
            Fold(
                fold.step, fold.law, fold.init, fold.accumulator,
                (*fold.extents, *nested.extents), body,
            )
        )  # fmt: skip

    def _monoid(self, fold: Fold) -> bool:
        """Whether the operator is associative and the fold starts from its neutral element."""
        if not isinstance(fold.law, OperatorMetavariable):
            return False
        stated = self.rule.laws(fold.law.name)
        start = fold.init
        return (
            any(c.law == "associative" for c in stated)
            and isinstance(start, Opaque)
            and start.head[0] == "metavariable"
            and any(c.law == "neutral" and c.element == start.head[1] for c in stated)
        )

    def _orders(self, fold: Fold) -> Sequence[tuple[int, ...]]:
        """The orders in which the dimensions of a box may be read: all, of a commutative monoid."""
        plain = tuple(range(len(fold.extents)))
        if not self._monoid(fold) or not isinstance(fold.law, OperatorMetavariable):
            return [plain]
        if all(c.law != "commutative" for c in self.rule.laws(fold.law.name)):
            return [plain]
        return list(itertools.permutations(plain))[:24]

    def _same_boxes(self, f: Fold, g: Fold, order: tuple[int, ...]) -> None:
        """The same steps: f's dimensions in `order`, against g's box or the one index that counts through it."""
        import z3

        extents = [f.extents[d] for d in order]
        inside = [self.prover.index() for _ in extents]
        if len(g.extents) == len(extents):
            for n, m in zip(extents, g.extents, strict=True):
                self.prover.show(n == m, "two reductions have the same length")
            there = tuple(inside)
        elif len(g.extents) == 1:
            length, count = z3.IntVal(1), z3.IntVal(0)
            for i, n in zip(inside, extents, strict=True):
                length, count = length * n, count * n + i
            self.prover.show(length == g.extents[0], "two reductions have the same length")
            there = (z3.simplify(count),)
        else:
            raise Open("two reductions run over boxes of different dimension")
        here = tuple(inside[order.index(d)] for d in range(len(order)))
        accumulator = self.meaning.opaque(f.accumulator, ("accumulator", str(inside[0])))
        ranges = (z3.And(i >= 0, i < n) for i, n in zip(inside, extents, strict=True))
        with self.prover.assuming(*ranges):
            left = f.step(accumulator, f.body(here))
            self.same(left, g.step(accumulator, g.body(there)), f.accumulator)


def _decided(x: Value, choice: Choice, holds: bool) -> Value:
    """A value where the condition of a choice is decided."""
    if isinstance(x, Choice) and x.condition.eq(choice.condition):
        return x.yes if holds else x.no
    return x


def _shape(x: Value) -> str:
    match x:
        case Opaque(head):
            return (
                "a reduction" if head[0] == "fold" else str(head[1]) if len(head) > 1 else head[0]
            )
        case Whole():
            return "an index"
        case _:
            return type(x).__name__.lower()


# ---- the tier


def check_index(rule: Rule) -> TierResult:
    """Both sides for all sizes, as far as Z3 and congruence go.

    >>> from relift.rewrites.library import RULES
    >>> check_index(RULES["join_split"]).detail
    '2 statements about indices, all sizes'
    """
    start = time.monotonic()

    def result(status: Status, detail: str, found: Counterexample | None = None) -> TierResult:
        return TierResult("4a", "index", status, detail, time.monotonic() - start, found)

    if rule.refinement:
        return result("skipped", "a refinement is no equation")
    prover = Prover()
    try:
        for n in Instances(rule).naturals:
            prover.assumed.append(prover.size(n) >= 0)
        for n in rule.positive:
            prover.assumed.append(prover.size(n) >= 1)
        for name in rule.sizes:
            prover.assumed.append(prover.size(Size.atom(name)) >= 0)
        meaning = Meaning(rule, prover)
        left, right = meaning.of(rule.left, {}), meaning.of(rule.right, {})
        Comparison(rule, prover, meaning).same(left, right, rule.left.type)
    except Unsupported as error:
        return result("skipped", error.message)
    except Open as error:
        found = _confirmed(rule, error.sizes)
        if found is not None:
            return result("refuted", found.obligation, found)
        return result("unproved", str(error))
    count = prover.proved
    return result("proved", f"{count} statement{'s' * (count != 1)} about indices, all sizes")


def _confirmed(rule: Rule, sizes: Mapping[str, int] | None) -> Counterexample | None:
    """What the interpreter says at the sizes of Z3's counterexample, where they are small."""
    if sizes is None or max(sizes.values(), default=0) > LARGEST_SIZE:
        return None
    small = {name: max(0, sizes.get(name, 0)) for name in rule.sizes}
    instances = Instances(rule)
    return confirm_difference(instances, small) if instances.admissible(small) else None
