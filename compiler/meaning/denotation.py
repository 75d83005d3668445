"""What a term is at an index: arrays are functions of an index, reductions are folds.

This is a second meaning of the patterns, beside the interpreter's, of which it is independent, and independent of
their views; tests compare it with the interpreter's, pattern by pattern, on symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from relift.compiler.meaning.algebra import Folding, Loop
from relift.compiler.meaning.domain import Values
from relift.compiler.meaning.polynomials import Index, Whole, number_of, within
from relift.compiler.validation.machine import Undecided
from relift.compiler.validation.symbols import OPEN, Symbol
from relift.semantics import patterns as p
from relift.semantics.indices.functions import IndexFunction, folded
from relift.semantics.interpreter import operand_type, operator_lambda
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
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
    free_variables,
)
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

MOST_CARRIED = 40_000
"""Cells that a fold may carry from turn to turn."""

MOST_WRITTEN_OUT = 256
"""Turns of a fold that is written out because the program says so."""

MOST_TABLE = 1 << 16
"""Elements of a permutation that is tabulated."""


class Cells:
    """An array: its length, and what is at an index, each computed once."""

    __slots__ = ("_at", "_known", "length")

    def __init__(self, length: Whole, at: Callable[[Whole], Any]) -> None:
        self.length, self._at = length, at
        self._known: dict[Whole, Any] = {}

    def __call__(self, i: Whole) -> Any:
        if i not in self._known:
            self._known[i] = self._at(i)
        return self._known[i]


Variables = Mapping[str, Any]


@dataclass
class Denotation:
    """Terms at indices, for some sizes; loops of more than `unroll` turns are folds."""

    algebra: Folding
    values: Values
    inputs: Mapping[str, Any]
    sizes: Mapping[str, Whole]
    unroll: int
    known: dict[Any, Any] = field(default_factory=dict)
    names: dict[int, tuple[Term, tuple[str, ...]]] = field(default_factory=dict)

    def size(self, n: Size) -> Whole:
        """A size as a number."""
        return number_of(n, self.sizes)

    def of(self, t: Term, v: Variables) -> Any:
        """The value of a term whose variables have values."""
        match t:
            case Var(name):
                return v[name]
            case Input(name):
                return self.inputs[name]
            case Literal(value, scalar):
                return self.values.literal(value, scalar)
            case Apply(name, arguments):
                return self.values.function(name)(*[self.of(u, v) for u in arguments])
            case Call(user, arguments):
                given = [self.of(u, v) for u in arguments]
                if user.body is None:
                    return self.values.reference(user)(*given)
                return self.function(user.body, {})(*given)
            case Combine(operator, left, right):
                return self.operator(operator, left.type)(self.of(left, v), self.of(right, v))
            case MakeTuple(parts):
                return tuple(self.of(u, v) for u in parts)
            case Get(index, of):
                return self.of(of, v)[index]
            case Metavariable():
                raise Undecided(f"the metavariable {t.name}")
            case Pattern():
                return self._once(t, v)

    def _once(self, t: Pattern, v: Variables) -> Any:
        if id(t) not in self.names:
            self.names[id(t)] = (t, tuple(sorted(free_variables(t))))
        key = (id(t), *[_key(v[name]) for name in self.names[id(t)][1]])
        if key not in self.known:
            # what a key is made of is kept, so that no other object has its identity
            self.known[key] = (self._pattern(t, v), dict(v))
        return self.known[key][0]

    def function(self, f: Lambda, v: Variables) -> Callable[..., Any]:
        """A lambda as a function of values."""
        names = [x.name for x in f.parameters]
        return lambda *xs: self.of(f.body, {**v, **dict(zip(names, xs, strict=True))})

    def operator(self, operator: Operator, element: Type) -> Callable[[Any, Any], Any]:
        """An operator on values of a type."""
        match operator:
            case Vectorized(_, inner):
                assert isinstance(element, Vector), "cannot happen: vectorize works on vectors"
                op = self.operator(inner, element.element)
                return lambda x, y: Cells(x.length, lambda i: op(x(i), y(i)))
            case BinaryOperator():
                return self.function(operator_lambda(operator, element), {})
            case OperatorMetavariable(name):
                raise Undecided(f"the operator {name}")

    # ---- patterns

    def _pattern(self, t: Pattern, v: Variables) -> Any:
        def size(letter: str) -> Whole:
            return self.size(t.solved[letter])

        def data(u: Term) -> Any:
            return self.of(u, v)

        r = self.algebra.ranges
        match t:
            case (
                p.Map() | p.MapSeq() | p.MapSeqUnroll() | p.MapGlb() | p.MapWrg() | p.MapLcl()
                | p.MapWarp() | p.MapLane() | p.MapStream() | p.IterateStream()
            ):  # fmt: skip
                f, xs = self.function(t.f, v), data(t.xs)
                return Cells(xs.length, lambda i: f(xs(i)))
            case p.MapVec():
                f, lanes = self.function(t.f, v), data(t.v)
                return Cells(lanes.length, lambda i: f(lanes(i)))
            case p.Zip():
                xs, ys = data(t.xs), data(t.ys)
                return Cells(xs.length, lambda i: (xs(i), ys(i)))
            case p.Unzip():
                ps = data(t.ps)
                return Cells(ps.length, lambda i: ps(i)[0]), Cells(ps.length, lambda i: ps(i)[1])
            case p.Reduce():
                op = self.operator(t.op, operand_type(t))
                return self._fold(op, data(t.init), data(t.xs), size("n"), t.type)
            case p.ReduceSeq() | p.ReduceSeqUnroll():
                written_out = isinstance(t, p.ReduceSeqUnroll)
                f, first, xs = self.function(t.f, v), data(t.init), data(t.xs)
                return self._fold(f, first, xs, size("n"), t.type, written_out=written_out)
            case p.PartialReduce():
                op, first, xs = self.operator(t.op, operand_type(t)), data(t.init), data(t.xs)
                m = self.size(t.m)
                return Cells(
                    size("k"),
                    lambda c: self._fold(
                        op, first, Cells(m, lambda j: xs(c * m + j)), m, t.init.type
                    ),
                )
            case p.ScanSeq():
                f, first, xs, n = self.function(t.f, v), data(t.init), data(t.xs), size("n")
                steps = self._steps(f, first, xs, n, t.init.type)
                return Cells(n, lambda i: f(steps(i), xs(i)))
            case p.Iterate():
                f, times = self.function(t.f, v), self.size(t.m)
                return self._fold(
                    lambda a, _: f(a), data(t.x), Cells(times, lambda i: 0), times, t.type
                )
            case p.Let():
                return self.function(t.f, v)(data(t.x))
            case p.Generate():
                f = self.function(t.f, v)
                return Cells(self.size(t.n), lambda i: f(self._number(i)))
            case p.LiteralArray():
                row = t.values.meaning(lambda n: 0, self.values.literal, {})
                return Cells(len(row), lambda i: self._of_row(row, i))
            case p.Repeat():
                x = data(t.x)
                return Cells(self.size(t.m), lambda i: x)
            case p.Splat():
                x = data(t.x)
                return Cells(size("width"), lambda i: x)
            case p.Split() | p.AsVector() | p.AsVectorAligned():
                m = self.size(t.m if isinstance(t, p.Split) else t.width)
                xs = data(t.xs)
                return Cells(size("k"), lambda i: Cells(m, lambda j: xs(i * m + j)))
            case p.Join() | p.AsScalar():
                xss = data(t.xss if isinstance(t, p.Join) else t.vs)
                m = size("m" if isinstance(t, p.Join) else "width")
                return Cells(xss.length * m, lambda i: _of_rows(xss, r.quotient(i, m)))
            case p.Transpose():
                xss, n, m = data(t.xss), size("n"), size("m")
                return Cells(m, lambda i: Cells(n, lambda j: xss(j)(i)))
            case p.Slide() | p.RotateValues():
                step = self.size(t.step) if isinstance(t, p.Slide) else 1
                return self._windows(data(t.xs), self.size(t.size), step, size("k"))
            case p.MapSeqSlide():
                f = self.function(t.f, v)
                found = self._windows(data(t.xs), self.size(t.size), self.size(t.step), size("k"))
                return Cells(found.length, lambda i: f(found(i)))
            case p.CircularBuffer():
                f, xs = self.function(t.f, v), data(t.xs)
                loaded = Cells(xs.length, lambda i: f(xs(i)))
                return self._windows(loaded, self.size(t.size), 1, size("k"))
            case p.PadClamp() | p.PadMirror() | p.PadWrap() | p.PadConstant() | p.PadEmpty():
                return self._padded(t, v)
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
                    lambda i: self._chosen(n - 1 - i, lambda: xs(i), lambda: ys(i - n)),
                )
            case p.Gather():
                xs, idx = data(t.xs), t.idx
                return Cells(size("n"), lambda i: xs(self._index(idx, i)))
            case p.Scatter():
                xs, back = data(t.xs), self._undone(t.idx, size("n"))
                return Cells(size("n"), lambda i: xs(back(i)))
            case p.AtRuntimeUnsafe():
                xs, n = data(t.xs), size("n")
                return xs(self._within(data(t.index), n))
            case p.AtRuntime():
                xs, n, i = data(t.xs), size("n"), self.algebra.number(_plain(data(t.index)))
                other = data(t.default)
                return self._chosen(
                    i,
                    lambda: self._chosen(n - 1 - i, lambda: xs(i), lambda: other),
                    lambda: other,
                )
            case p.GatherIndices():
                xs, ids, n = data(t.xs), data(t.ids), size("n")
                return Cells(ids.length, lambda i: xs(self._within(ids(i), n)))
            case p.ToGlobal() | p.ToLocal() | p.ToPrivate():
                return data(t.xs)
            case _:
                raise Undecided(f"{t.name}, of which no index function is known")

    def _number(self, i: Whole) -> Any:
        """An index as an i32."""
        if isinstance(i, Index):
            if not self.values.arithmetic.fits(i, "int"):
                raise Undecided(f"{i} as an i32")
            return i
        from relift.semantics.syntax.types import i32

        return self.values.literal(i, i32)

    def _within(self, value: Any, n: Whole) -> Whole:
        """A value that is an index; outside of the array the program has no meaning."""
        i = self.algebra.number(_plain(value))
        if isinstance(i, Index):
            for a in i.atoms():
                if a.kind == "data" and i.terms == {(a,): 1}:
                    self.algebra.ranges.low.setdefault(a, 0)
                    self.algebra.ranges.high.setdefault(a, n - 1)
        return i

    def _of_row(self, row: Sequence[Any], i: Whole) -> Any:
        if not isinstance(i, Index):
            return row[i]
        found = row[-1]
        for k in range(len(row) - 2, -1, -1):
            found = self._chosen(k - i, partial(row.__getitem__, k), partial(_itself, found))
        return found

    def _windows(self, xs: Any, size: Whole, step: Whole, k: Whole) -> Cells:
        return Cells(k + 1, lambda i: Cells(size, lambda j: xs(i * step + j)))

    def _padded(self, t: Any, v: Variables) -> Cells:
        r = self.algebra.ranges
        left, right, n = self.size(t.left), self.size(t.right), self.size(t.solved["n"])
        xs = self.of(t.xs, v)

        def at(i: Whole) -> Any:
            match t:
                case p.PadClamp():
                    return xs(r.extreme("min", r.extreme("max", i - left, 0), n - 1))
                case p.PadWrap():
                    return xs(self._shifted(i - left, n))
                case p.PadMirror():
                    j = self._shifted(i - left, 2 * n)
                    return xs(r.extreme("min", j, 2 * n - 1 - j))
                case _:
                    outside = self.of(t.value, v) if isinstance(t, p.PadConstant) else None
                    return self._chosen(
                        i - left,
                        lambda: self._chosen(
                            left + n - 1 - i,
                            lambda: xs(i - left),
                            lambda: self._filled(t, outside),
                        ),
                        lambda: self._filled(t, outside),
                    )

        return Cells(left + n + right, at)

    def _filled(self, t: Any, outside: Any) -> Any:
        return outside if isinstance(t, p.PadConstant) else self._open(t.type.element)

    def _open(self, t: Type) -> Any:
        match t:
            case Array(element, n) | Vector(element, n):
                return Cells(self.size(n), lambda i: self._open(element))
            case Tuple(parts):
                return tuple(map(self._open, parts))
            case Scalar() | TypeVariable():
                return OPEN

    def _shifted(self, i: Whole, n: Whole) -> Whole:
        """i modulo n, where i may be below 0."""
        return self.algebra.ranges.quotient(i, n)[1]

    def _chosen(self, number: Whole, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """One of two values of a type, by whether a number is at least 0."""
        c = self.algebra.ranges.decided(number)
        if c is True or c is False:
            return yes() if c else no()
        return self._either(c, yes, no)

    def _either(self, c: Symbol, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        x, y = yes(), no()
        if isinstance(x, tuple):
            return tuple(
                self._either(c, partial(_itself, a), partial(_itself, b))
                for a, b in zip(x, y, strict=True)
            )
        if isinstance(x, Cells):
            return Cells(x.length, lambda i: self._either(c, lambda: x(i), lambda: y(i)))
        return self.values.function("select")(c, x, y)

    # ---- index functions

    def _index(self, f: IndexFunction, i: Whole) -> Whole:
        r = self.algebra.ranges

        def operation(e: Any, x: Any, y: Any) -> Whole:
            match e.symbol:
                case "+":
                    return x + y  # type: ignore[no-any-return]
                case "-":
                    return x - y  # type: ignore[no-any-return]
                case "*":
                    return x * y  # type: ignore[no-any-return]
                case "//":
                    return r.quotient(x, y)[0]
                case _:
                    return r.quotient(x, y)[1]

        def unknown(e: Any, x: Any) -> Whole:
            raise Undecided(f"the index function {e.name}")

        return folded(f.body, i, self.size, operation, unknown)

    def _undone(self, f: IndexFunction, n: Whole) -> Callable[[Whole], Whole]:
        """The inverse of a permutation: by a table, or a number whose image is the index."""
        table: dict[int, int] = {}

        def back(i: Whole) -> Whole:
            if not isinstance(i, Index):
                if isinstance(n, Index) or n > MOST_TABLE:
                    raise Undecided(f"scatter of {n} elements at {i}")
                if not table:
                    table.update({int(self._index(f, j)): j for j in range(n)})
                    if table.keys() != set(range(n)):
                        raise Undecided("scatter by an index function that is no permutation")
                return table[i]
            for j in self._candidates(f, i, n):
                r = self.algebra.ranges
                if r.nonnegative(j) and r.nonnegative(n - 1 - j) and r.same(self._index(f, j), i):
                    return j
            raise Undecided(f"scatter at {i}")

        return back

    def _candidates(self, f: IndexFunction, i: Index, n: Whole) -> list[Whole]:
        """Numbers that may be mapped to i by a permutation."""
        r = self.algebra.ranges
        found: list[Whole] = [n - 1 - i]
        atoms = sorted(set(within(i)), key=lambda a: a.number)
        found += [Index({(a,): 1}, r) for a in atoms if a.kind in ("group", "turn")]
        sizes = [self.size(s) for s in f.sizes]
        for s in sizes:
            if r.nonnegative(s - 1):
                rows, rest = r.quotient(n, s)
                if rest == 0 and r.nonnegative(rows - 1):
                    for a, b in ((s, rows), (rows, s)):
                        q, m = r.quotient(i, a)
                        found.append(q + b * m)
                found += [r.quotient(i + n - s, n)[1], r.quotient(i + s, n)[1]]
        return found

    # ---- folds

    def _fold(
        self,
        f: Callable[[Any, Any], Any],
        first: Any,
        xs: Any,
        n: Whole,
        t: Type,
        *,
        written_out: bool = False,
    ) -> Any:
        if not isinstance(n, Index) and n <= (MOST_WRITTEN_OUT if written_out else self.unroll):
            for i in range(n):
                first = f(first, xs(i))
            return first
        return self._steps(f, first, xs, n, t)(n)

    def _steps(
        self, f: Callable[[Any, Any], Any], first: Any, xs: Any, n: Whole, t: Type
    ) -> Callable[[Whole], Any]:
        """The value of a fold after some turns: of what it carries, only the cells that are looked at."""
        carried = _Carried(self, self.algebra.open_loop(n), f, first, xs, t)
        return lambda turns: self.lazily(t, (), lambda path: carried.after(path, turns))

    def lazily(self, t: Type, path: tuple[Any, ...], at: Callable[[Any], Any]) -> Any:
        """A value of a type, whose scalars are what is at their places."""
        match t:
            case Tuple(parts):
                return tuple(self.lazily(u, (*path, k), at) for k, u in enumerate(parts))
            case Array(element, n) | Vector(element, n):
                return Cells(self.size(n), lambda i: self.lazily(element, (*path, i), at))
            case Scalar() | TypeVariable():
                return at(path)

    def lifted(self, value: Any, kind: str) -> Symbol:
        """A scalar as a symbol of a type."""
        if isinstance(value, Index):
            return self.algebra.whole(value, kind)
        return value if value is OPEN else self.values.lifted(value)


class _Carried:
    """The cells that a fold carries, each made when it is looked at; a place in an array may be a polynomial."""

    def __init__(
        self,
        term: Denotation,
        loop: Loop,
        f: Callable[[Any, Any], Any],
        first: Any,
        xs: Any,
        t: Type,
    ) -> None:
        self.term, self.loop, self.f, self.first, self.xs, self.type = term, loop, f, first, xs, t
        self.paths: list[tuple[Any, ...]] = []
        self.cells: dict[tuple[Any, ...], Symbol] = {}
        self.made: list[Any] = []
        self.following: dict[int, Symbol] = {}
        loop.next = self.next

    def at(self, path: tuple[Any, ...]) -> Symbol:
        """A cell before a turn."""
        if path not in self.cells:
            if len(self.cells) >= MOST_CARRIED:
                raise Undecided(f"a fold that carries more than {MOST_CARRIED} cells")
            if any(self._changes(a) for i in path for a in self.term.algebra.free(i)):
                raise Undecided("a fold whose turns look at different cells of what it carries")
            first = self.term.lifted(_look(self.first, path), _kind(self.type, path))
            self.paths.append(path)
            self.cells[path] = self.loop.carried(first)
        return self.cells[path]

    def _changes(self, part: Any) -> bool:
        """Whether a part of a place is not the same in all of a turn: it counts turns of this loop or one inside."""
        if isinstance(part, Symbol):
            return True
        return bool(part.kind in ("turn", "bound") and not part < self.loop.atom)

    def next(self, k: int) -> Symbol:
        """What a turn makes of a cell."""
        if k not in self.following:
            if not self.made:
                held = self.term.lazily(self.type, (), self.at)
                self.made.append(self.f(held, self.xs(self.loop.turn)))
            path = self.paths[k]
            value = _look(self.made[0], path)
            self.following[k] = self.term.lifted(value, _kind(self.type, path))
        return self.following[k]

    def after(self, path: tuple[Any, ...], turns: Whole) -> Symbol:
        """A cell after some turns."""
        return self.loop.after(self.loop.places[self.at(path)], turns)


def _kind(t: Type, path: tuple[Any, ...]) -> str:
    for k in path:
        if isinstance(t, Tuple):
            t = t.parts[k]
        else:
            assert isinstance(t, Array | Vector), "cannot happen: a place in a scalar"
            t = t.element
    return "bool" if str(t) == "boolean" else str(t)


def _itself(x: Any) -> Any:
    return x


def _of_rows(xss: Any, place: tuple[Whole, Whole]) -> Any:
    return xss(place[0])(place[1])


def _look(value: Any, path: tuple[Any, ...]) -> Any:
    for k in path:
        value = value[k] if isinstance(value, tuple) else value(k)
    return value


def _plain(value: Any) -> Any:
    return value if isinstance(value, Symbol | Index) else int(value)


def _key(value: Any) -> Any:
    """What tells values apart: numbers and symbols are themselves, arrays their objects."""
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    if isinstance(value, Cells):
        return id(value)
    if isinstance(value, Symbol | Index):
        return value
    return (type(value), repr(value))
