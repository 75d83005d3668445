"""What a term is at an index: arrays are functions of an index, reductions are folds.

This is a second meaning of the patterns, beside the interpreter's, of which it is independent, and independent of
their views; tests compare it with the interpreter's, pattern by pattern, on symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relift.compiler.meaning.numbers.constants import constants
from relift.compiler.meaning.numbers.polynomials import Index, Whole
from relift.compiler.meaning.programs.carrying import Carrying
from relift.compiler.meaning.programs.indexing import Cells, plain
from relift.compiler.validation.machine import Undecided
from relift.compiler.validation.symbols import Symbol
from relift.semantics import patterns as p
from relift.semantics.interpreter import operand_type, operator_lambda
from relift.semantics.syntax import terms
from relift.semantics.syntax.types import Array, Type, Vector, boolean

MOST_TABLE = 1 << 16
"""Elements of a permutation that is tabulated."""


Variables = Mapping[str, Any]


@dataclass
class Denotation(Carrying):
    """Terms at indices, for some sizes; loops of more than `unroll` turns are folds."""

    known: dict[Any, Any] = field(default_factory=dict)
    names: dict[int, tuple[terms.Term, tuple[str, ...]]] = field(default_factory=dict)

    def of(self, t: terms.Term, v: Variables) -> Any:
        """The value of a term whose variables have values."""
        match t:
            case terms.Var(name):
                return v[name]
            case terms.Input(name):
                return self.inputs[name]
            case terms.Literal(value, scalar):
                return self.values.literal(value, scalar)
            case terms.Apply(name, arguments):
                return self.values.function(name)(*[self.of(u, v) for u in arguments])
            case terms.Call(user, arguments):
                given = [self.of(u, v) for u in arguments]
                if user.body is None:
                    return self.values.reference(user)(*given)
                return self.function(user.body, {})(*given)
            case terms.Combine(operator, left, right):
                return self.operator(operator, left.type)(self.of(left, v), self.of(right, v))
            case terms.MakeTuple(parts):
                return tuple(self.of(u, v) for u in parts)
            case terms.Get(index, of):
                return self.of(of, v)[index]
            case terms.Metavariable():
                raise Undecided(f"the metavariable {t.name}")
            case terms.Pattern():
                return self._once(t, v)

    def _once(self, t: terms.Pattern, v: Variables) -> Any:
        if id(t) not in self.names:
            self.names[id(t)] = (t, tuple(sorted(terms.free_variables(t))))
        key = (id(t), *[_key(v[name]) for name in self.names[id(t)][1]])
        if key not in self.known:
            # what a key is made of is kept, so that no other object has its identity
            self.known[key] = (self._pattern(t, v), dict(v))
        return self.known[key][0]

    def function(self, f: terms.Lambda, v: Variables) -> Callable[..., Any]:
        """A lambda as a function of values."""
        names = [x.name for x in f.parameters]
        return lambda *xs: self.of(f.body, {**v, **dict(zip(names, xs, strict=True))})

    def operator(self, operator: terms.Operator, element: Type) -> Callable[[Any, Any], Any]:
        """An operator on values of a type."""
        match operator:
            case terms.Vectorized(_, inner):
                assert isinstance(element, Vector), "cannot happen: vectorize works on vectors"
                op = self.operator(inner, element.element)
                return lambda x, y: Cells(x.length, lambda i: op(x(i), y(i)))
            case terms.BinaryOperator():
                return self.function(operator_lambda(operator, element), {})
            case terms.OperatorMetavariable(name):
                raise Undecided(f"the operator {name}")

    # ---- patterns

    def _pattern(self, t: terms.Pattern, v: Variables) -> Any:
        def size(letter: str) -> Whole:
            return self.size(t.solved[letter])

        def data(u: terms.Term) -> Any:
            return self.of(u, v)

        match t:
            case p.Each():
                return _each(self.function(t.f, v), data(t.xs))
            case p.EachOf():
                return _each(self.function(t.f, v), data(t.xs))
            case p.MapVec():
                return _each(self.function(t.f, v), data(t.v))
            case p.Zip():
                xs, ys = data(t.xs), data(t.ys)
                return Cells(xs.length, lambda i: (xs(i), ys(i)))
            case p.Unzip():
                ps = data(t.ps)
                return Cells(ps.length, lambda i: ps(i)[0]), Cells(ps.length, lambda i: ps(i)[1])
            case p.Reduce():
                op = self.operator(t.op, operand_type(t))
                return self.fold(op, data(t.init), data(t.xs), size("n"), t.type)
            case p.Fold():
                f, first, xs = self.function(t.f, v), data(t.init), data(t.xs)
                return self.fold(f, first, xs, size("n"), t.type, written_out=t.unrolled)
            case p.PartialReduce():
                op, first, xs = self.operator(t.op, operand_type(t)), data(t.init), data(t.xs)
                m = self.size(t.m)
                return Cells(
                    size("k"),
                    lambda c: self.fold(
                        op, first, Cells(m, lambda j: xs(c * m + j)), m, t.init.type
                    ),
                )
            case p.ScanSeq():
                f, first, xs, n = self.function(t.f, v), data(t.init), data(t.xs), size("n")
                steps = self.scanned(f, first, xs, n, t.init.type)
                return Cells(n, lambda i: f(steps(i), xs(i)))
            case p.Iterate():
                f, times = self.function(t.f, v), self.size(t.m)
                return self.fold(
                    lambda a, _: f(a), data(t.x), Cells(times, lambda i: 0), times, t.type
                )
            case p.Let():
                return self.function(t.f, v)(data(t.x))
            case p.Generate():
                f = self.function(t.f, v)
                return Cells(self.size(t.n), lambda i: f(self.number(i)))
            case _:
                return self._layout(t, v)

    def _layout(self, t: terms.Pattern, v: Variables) -> Any:
        def size(letter: str) -> Whole:
            return self.size(t.solved[letter])

        def data(u: terms.Term) -> Any:
            return self.of(u, v)

        match t:
            case p.Split():
                return _in_rows(data(t.xs), size("k"), self.size(t.m))
            case p.AsVector():
                return _in_rows(data(t.xs), size("k"), self.size(t.width))
            case p.AsVectorAligned():
                return _in_rows(data(t.xs), size("k"), self.size(t.width))
            case p.Join():
                return self._in_one_row(data(t.xss), size("m"))
            case p.AsScalar():
                return self._in_one_row(data(t.vs), size("width"))
            case p.Transpose():
                xss, n, m = data(t.xss), size("n"), size("m")
                return Cells(m, lambda i: Cells(n, lambda j: xss(j)(i)))
            case p.Slide():
                return self.windows(data(t.xs), self.size(t.size), self.size(t.step), size("k"))
            case p.RotateValues():
                return self.windows(data(t.xs), self.size(t.size), 1, size("k"))
            case p.MapSeqSlide():
                f = self.function(t.f, v)
                found = self.windows(data(t.xs), self.size(t.size), self.size(t.step), size("k"))
                return _each(f, found)
            case p.CircularBuffer():
                loaded = _each(self.function(t.f, v), data(t.xs))
                return self.windows(loaded, self.size(t.size), 1, size("k"))
            case p.Pad():
                return self._continued(t, data(t.xs))
            case p.PadConstant():
                outside = data(t.value)
                return self._between(t, data(t.xs), lambda: outside)
            case p.PadEmpty():
                return self._between(t, data(t.xs), lambda: self.open(_element(t)))
            case p.Take():
                xs = data(t.xs)
                return Cells(self.size(t.m), xs)
            case p.Drop():
                xs, m = data(t.xs), self.size(t.m)
                return Cells(size("r"), lambda i: xs(i + m))
            case p.Tail():
                xs = data(t.xs)
                return Cells(size("r"), lambda i: xs(i + 1))
            case p.Head():
                return data(t.xs)(0)
            case p.At():
                return data(t.xs)(self.size(t.index))
            case p.Concat():
                xs, ys, n = data(t.xs), data(t.ys), size("n")
                return Cells(
                    n + size("m"),
                    lambda i: self.chosen(n - 1 - i, lambda: xs(i), lambda: ys(i - n)),
                )
            case _:
                return self._lookup(t, v)

    def _lookup(self, t: terms.Pattern, v: Variables) -> Any:
        def size(letter: str) -> Whole:
            return self.size(t.solved[letter])

        def data(u: terms.Term) -> Any:
            return self.of(u, v)

        match t:
            case p.LiteralArray():
                kind = "bool" if t.values.type == boolean else t.values.type.name
                row = constants(t.values.meaning(lambda n: 0, self.values.literal, {}), kind)
                table = t.values.is_table
                return Cells(len(row.row), lambda i: self.of_row(row, kind, i, table=table))
            case p.Repeat():
                x = data(t.x)
                return Cells(self.size(t.m), lambda i: x)
            case p.Splat():
                x = data(t.x)
                return Cells(size("width"), lambda i: x)
            case p.Gather():
                xs, idx = data(t.xs), t.idx
                return Cells(size("n"), lambda i: xs(self.index(idx, i)))
            case p.Scatter():
                xs, back = data(t.xs), self.undone(t.idx, size("n"))
                return Cells(size("n"), lambda i: xs(back(i)))
            case p.AtRuntimeUnsafe():
                xs, n = data(t.xs), size("n")
                return xs(self.within(data(t.index), n))
            case p.AtRuntime():
                xs, n, i = data(t.xs), size("n"), self.algebra.number(plain(data(t.index)))
                other = data(t.default)
                inside = self.values.arithmetic.neither_below(i, n - 1 - i)
                return self.either(inside, lambda: xs(i), lambda: other)
            case p.GatherIndices():
                xs, ids, n = data(t.xs), data(t.ids), size("n")
                return Cells(ids.length, lambda i: xs(self.within(ids(i), n)))
            case p.ScatterIndices():
                return self.updated(data(t.into), data(t.ids), data(t.xs), size("m"))
            case p.ReduceByIndex():
                op, first, xs = self.operator(t.op, operand_type(t)), data(t.init), data(t.xs)
                fits, chosen = self.values.function("equal"), self.values.function("select")

                def cell(j: Whole) -> Any:
                    here = self.number(j)
                    step = lambda acc, x: chosen(fits(x[0], here), op(acc, x[1]), acc)
                    return self.fold(step, first(j), xs, size("n"), operand_type(t))

                return Cells(size("m"), cell)
            case p.Store():
                return data(t.xs)
            case _:
                raise Undecided(f"{t.name}, of which no index function is known")

    def _in_one_row(self, xss: Cells, m: Whole) -> Cells:
        """The rows of m elements one after the other."""

        def at(i: Whole) -> Any:
            row, column = self.algebra.ranges.quotient(i, m)
            return xss(row)(column)

        return Cells(xss.length * m, at)

    def _continued(self, t: p.Pad, xs: Cells) -> Cells:
        """An array that goes on beyond its ends by its own elements."""
        r = self.algebra.ranges
        left, right, n = self.size(t.left), self.size(t.right), self.size(t.solved["n"])

        def mirrored(i: Whole) -> Any:
            j = self.shifted(i - left, 2 * n)
            return xs(r.extreme("min", j, 2 * n - 1 - j))

        at: dict[str, Callable[[Whole], Any]] = {
            "clamp": lambda i: xs(r.extreme("min", r.extreme("max", i - left, 0), n - 1)),
            "wrap": lambda i: xs(self.shifted(i - left, n)),
            "mirror": mirrored,
        }
        if t.boundary not in at:
            raise Undecided(f"{t.name}, of which no index function is known")
        return Cells(left + n + right, at[t.boundary])

    def _between(self, t: p.Bordered, xs: Cells, outside: Callable[[], Any]) -> Cells:
        """An array, and what is beyond its ends."""
        left, right, n = self.size(t.left), self.size(t.right), self.size(t.solved["n"])

        def at(i: Whole) -> Any:
            up_to_its_end = lambda: self.chosen(left + n - 1 - i, lambda: xs(i - left), outside)
            return self.chosen(i - left, up_to_its_end, outside)

        return Cells(left + n + right, at)


def _element(t: p.PadEmpty) -> Type:
    assert isinstance(t.type, Array), "cannot happen: pad gives an array"
    return t.type.element


def _each(f: Callable[[Any], Any], xs: Cells) -> Cells:
    """A function on every element."""
    return Cells(xs.length, lambda i: f(xs(i)))


def _in_rows(xs: Cells, k: Whole, m: Whole) -> Cells:
    """k rows of m elements, which stand one after the other."""
    return Cells(k, lambda i: Cells(m, lambda j: xs(i * m + j)))


def _key(value: Any) -> Any:
    """What tells values apart: numbers and symbols are themselves, arrays their objects."""
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    if isinstance(value, Cells):
        return id(value)
    if isinstance(value, Symbol | Index):
        return value
    return (type(value), repr(value))
