"""Views: an array as a function from indices to cells of memory.

A layout pattern moves no data.  It changes the function: element i of `join(xss)` is element `i % m` of row
`i / m` of xss.  Reading a term composes such functions down to a cell, a memory and an offset in it, and
the index rules of `indices` make the offset short.  Writing goes the other way: where xss is written is
known from where `join(xss)` is written, by the inverse function.

Compilers read kernels off views; cost models read the stride of an access off them (`indices.linear_in`).
Source: LIFT, CGO'17, section 5.3, where views are data; here they are closures.

>>> xss = Input("xss", f32[4, 8])
>>> i, j = variable("i", 8), variable("j", 4)
>>> t = parse("transpose(xss)", xss=xss)
>>> row = array(view(t, inputs(xss)).at(i))
>>> cell(row.at(j)).offset
i + 8*j
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from relift.semantics.errors import Unsupported
from relift.semantics.indices.algebra import asked_for
from relift.semantics.indices.expressions import (
    Index,
    Loaded,
    clamp,
    divide,
    maximum,
    minimum,
    modulo,
    recombined,
    surely_at_most,
    surely_within,
    variable,
)
from relift.semantics.indices.functions import IndexFunction, Numbers
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    Call,
    Combine,
    Get,
    Input,
    Lambda,
    Literal,
    MakeTuple,
    Metavariable,
    Pattern,
    Term,
    Var,
    children,
)
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, Vector, i32


@dataclass(frozen=True)
class Memory:
    """A row of `cells` scalars, in one address space; arrays of tuples have one for each component.

    With a `width`, it is declared as a row of vectors: cell i is lane `i % width` of vector `i / width`.
    """

    name: str
    scalar: Scalar
    cells: Size
    space: Space
    width: int | None = None


@dataclass(frozen=True)
class Share:
    """A dimension of a distributed array: a work-item holds element `owner` of it, and `at` is accessed."""

    dimension: int
    owner: Index
    at: Index


@dataclass(frozen=True)
class Cell:
    """One scalar in memory, `offset` cells from its start.

    A distributed array has a share for each dimension that takes no space.
    """

    memory: Memory
    offset: Index
    shares: tuple[Share, ...] = ()


@dataclass(frozen=True)
class Value:
    """A scalar that is in no memory: `code` is how its maker writes it.

    With a `lane`, the code denotes a vector, of which that lane is meant; with an `index`, which has no
    code, the number meant is that index.  `known` is the whole number, or the name of the variable, that it is.
    """

    code: Hashable
    scalar: Scalar
    lane: Index | None = None
    index: Index | None = None
    known: int | str | None = None


@dataclass(frozen=True)
class Condition:
    """`0 <= index < extent`."""

    index: Index
    extent: Size


@dataclass(frozen=True)
class Guarded:
    """The scalar `inside` where the condition holds, else `outside`; `inside` must not be read then."""

    condition: Condition
    inside: Leaf
    outside: Leaf


@dataclass(frozen=True)
class TupleView:
    """A tuple, component by component."""

    parts: tuple[View, ...]


@dataclass(frozen=True, eq=False)
class ArrayView:
    """An array, element by element."""

    length: Size
    at: Callable[[Index], View]


@dataclass(frozen=True, eq=False)
class VectorView:
    """A vector, lane by lane."""

    width: Size
    lane: Callable[[Index], View]


Leaf: TypeAlias = Cell | Value | Guarded
View: TypeAlias = Leaf | TupleView | ArrayView | VectorView


@dataclass(frozen=True)
class Environment:
    """The views of a term's inputs and free variables, by name."""

    inputs: Mapping[str, View] = field(default_factory=dict)
    variables: Mapping[str, View] = field(default_factory=dict)

    def bind(self, f: Lambda, *views: View) -> Environment:
        """The environment of the body of f, applied to what the views show."""
        new = {x.name: v for x, v in zip(f.parameters, views, strict=True)}
        return replace(self, variables={**self.variables, **new})


Producer: TypeAlias = Callable[[Term, Environment], View]
"""What to do with a term that computes: a compiler emits code and says where the result lies."""


def stored(
    name: str, t: Type, space: Space = "global", owners: Sequence[Index | None] = ()
) -> View:
    """The view of a value that lies in memory in the order of its type, outermost index slowest.

    A tuple is stored as one memory per component, called `name_0`, `name_1`, ...  A dimension of the array
    with an owner is spread over the work-items: it takes no space, and each has the element that it owns.
    Vectors in private memory stay vectors there, but those of 3 lanes, which take the space of 4.

    >>> pairs = array(stored("ps", tup(f32, i32)[4]))
    >>> [cell(part).memory.name for part in pairs.at(Size.of(3)).parts]
    ['ps_0', 'ps_1']
    >>> l, i = variable("lcl_0", 16), variable("i", 4)
    >>> cell(array(array(stored("own", f32[16, 4], "private", [l])).at(l)).at(i)).offset
    i
    """
    return _stored(name, t, space, (), _Shape(tuple(owners)))


@dataclass(frozen=True)
class _Shape:
    """How a value is stored besides the order of its indices; `shares` are those of the indices so far."""

    owners: tuple[Index | None, ...]
    dimension: int = 0
    shares: tuple[Share, ...] = ()
    width: int | None = None


def _stored(
    name: str, t: Type, space: Space, place: tuple[tuple[Index, Size], ...], shape: _Shape
) -> View:
    match t:
        case Array(element, n):
            d = shape.dimension
            owner = shape.owners[d] if d < len(shape.owners) else None
            below = replace(shape, dimension=d + 1, width=None)
            if owner is None:
                return ArrayView(
                    n, lambda i: _stored(name, element, space, (*place, (i, n)), below)
                )

            def shared(i: Index) -> View:
                share = Share(d, owner, i)
                return _stored(
                    name, element, space, place, replace(below, shares=(*shape.shares, share))
                )

            return ArrayView(n, shared)
        case Vector(element, n):
            width = n.constant if space == "private" and n != 3 else None
            below = replace(shape, width=width)
            return VectorView(n, lambda i: _stored(name, element, space, (*place, (i, n)), below))
        case Tuple(parts):
            return TupleView(
                tuple(
                    _stored(f"{name}_{i}", part, space, place, shape)
                    for i, part in enumerate(parts)
                )
            )
        case Scalar():
            offset, cells = Size.of(0), Size.of(1)
            for i, n in place:
                offset, cells = offset * n + i, cells * n
            return Cell(
                Memory(name, t, cells, space, shape.width), recombined(offset), shape.shares
            )
        case _:
            raise Unsupported(f"{name}: a value of type {t} has no place in memory")


def memories(
    name: str, t: Type, space: Space = "global", owners: Sequence[Index | None] = ()
) -> tuple[Memory, ...]:
    """The memories in which `stored` puts a value of type t.

    >>> [(m.name, m.scalar, m.cells) for m in memories("ps", tup(f32, i32)[4])]
    [('ps_0', f32, 4), ('ps_1', i32, 4)]
    """
    return memories_of(stored(name, t, space, owners))


def same_cells(v: View, w: View, dimension: int = 0) -> bool:
    """Whether two views have the same cells of memory in the same order, from a dimension on."""
    match v, w:
        case ArrayView(n), ArrayView(m) if n == m:
            i = variable(f"same_{dimension}", n)
            return same_cells(v.at(i), w.at(i), dimension + 1)
        case VectorView(n), VectorView(m) if n == m:
            i = variable(f"same_{dimension}", n)
            return same_cells(v.lane(i), w.lane(i), dimension + 1)
        case TupleView(parts), TupleView(others) if len(parts) == len(others):
            return all(same_cells(a, b, dimension) for a, b in zip(parts, others, strict=True))
        case Cell(), Cell():
            return v == w
        case _:
            return False


def memories_of(v: View) -> tuple[Memory, ...]:
    """The memories that a view shows."""
    return tuple(dict.fromkeys(leaf.memory for leaf in leaves(v) if isinstance(leaf, Cell)))


def inputs(*parameters: Input) -> Environment:
    """The environment in which each parameter lies in global memory under its own name."""
    return Environment({p.name: stored(p.name, p.type) for p in parameters})


def is_layout(t: Term) -> bool:
    """Whether a term only moves data, so that it has a view without any code.

    >>> xs = Input("xs", f32[4])
    >>> [is_layout(parse(s, xs=xs)) for s in ("split(2, xs)", "map(lambda x: x + 1, xs)")]
    [True, False]
    """
    match t:
        case Apply() | Call() | Combine() | Metavariable():
            return False
        case Pattern() if not t.layout:
            return False
        case Var() | Input() | Literal() | MakeTuple() | Get() | Pattern():
            return all(is_layout(u.body if isinstance(u, Lambda) else u) for _, u in children(t))


def no_producer(t: Term, environment: Environment) -> View:
    """The producer for terms that must not compute."""
    raise Unsupported(f"{name_of(t)} computes, where only a layout has a view")


def name_of(t: Term) -> str:
    """How a term is called in messages."""
    return t.name if isinstance(t, Pattern) else type(t).__name__.lower()


def view(t: Term, environment: Environment, produced: Producer = no_producer) -> View:
    """What t shows: layout patterns as index functions, everything that computes by `produced`."""
    match t:
        case Var(name):
            return environment.variables[name]
        case Input(name):
            return environment.inputs[name]
        case MakeTuple(parts):
            return TupleView(tuple(view(part, environment, produced) for part in parts))
        case Get(index, of):
            return tuple_view(view(of, environment, produced)).parts[index]
        case Pattern() if _is_viewed(t):
            shown = {name: _shown(t, name, environment, produced) for name in asked_for(t.view)}
            found: View = t.view(Views(t.name), **shown)
            return found
        case Literal() | Apply() | Call() | Combine() | Metavariable() | Pattern():
            return produced(t, environment)


def _is_viewed(t: Pattern) -> bool:
    """Whether a pattern moves data only, where it stands; what its data are is another question."""
    return (
        t.layout
        and t.has_view()
        and (t.in_place or all(is_layout(f.body) for _, f in children(t) if isinstance(f, Lambda)))
    )


def _shown(t: Pattern, name: str, environment: Environment, produced: Producer) -> object:
    """What a view is given for a parameter: the view of data, a function on views, a size."""
    match getattr(t, name, None):
        case None:
            return t.solved[name]
        case Lambda() as f:
            return lambda *views: view(f.body, environment.bind(f, *views), produced)
        case Size() | IndexFunction() as known:
            return known
        case Numbers(values, of):
            return [view(Literal(value, of), environment, produced) for value in values]
        case data:
            return view(data, environment, produced)


@dataclass(frozen=True)
class Views:
    """The algebra of views, for the pattern called `name`: numbers are index expressions, values are views."""

    name: str

    def size(self, n: int) -> Index:
        return Size.of(n)

    def divide(self, i: Index, n: Size) -> Index:
        return divide(i, n)

    def modulo(self, i: Index, n: Size) -> Index:
        return modulo(i, n)

    def minimum(self, i: Index, j: Index) -> Index:
        return minimum(i, j)

    def maximum(self, i: Index, j: Index) -> Index:
        return maximum(i, j)

    def position(self, row: Index, width: Size, column: Index) -> Index:
        return recombined(width * row + column)

    def function(self, f: IndexFunction, n: Size) -> Callable[[Index], Index]:
        return f.of

    def undoing(self, f: IndexFunction, n: Size) -> Callable[[Index], Index]:
        raise AssertionError(f"cannot happen: {self.name} is written through, never read")

    def array(self, n: Size, at: Callable[[Index], View]) -> ArrayView:
        return ArrayView(n, at)

    def at(self, xs: View, i: Index) -> View:
        return array(xs).at(i)

    def vector(self, width: Size, lane: Callable[[Index], View]) -> VectorView:
        return VectorView(width, lane)

    def lane(self, v: View, i: Index) -> View:
        return vector(v).lane(i)

    def tuple(self, *parts: View) -> TupleView:
        return TupleView(parts)

    def component(self, x: View, index: int) -> View:
        return tuple_view(x).parts[index]

    def inside(self, i: Index, n: Size, yes: View, no: View) -> View:
        return guarded(Condition(i, n), yes, no)

    def before(self, i: Index, n: Size, yes: View, no: View) -> View:
        return guarded(Condition(i, n), yes, no)

    def open_outside(self, i: Index, left: Size, n: Size, xs: View) -> View:
        # an open cell shows any other: memory beyond the array is never read
        return array(xs).at(clamp(i - left, n))

    def chosen(self, values: Sequence[View], i: Index) -> View:
        """Constant number i."""
        if i.constant is not None:
            return values[i.constant]
        found = values[-1]
        for k in reversed(range(len(values) - 1)):
            found = guarded(Condition(i, Size.of(k + 1)), values[k], found)
        return found

    def number(self, i: Index) -> Value:
        return Value(None, i32, index=i)

    def whole(self, x: View) -> Index:
        return self._loaded(x, None)

    def below(self, x: View, n: Size) -> Index:
        return self._loaded(x, n)

    def within(self, x: View, n: Size) -> Index:
        return self._loaded(x, n)

    def _loaded(self, v: View, extent: Size | None) -> Index:
        """The number that a view shows, as an index; below `extent` where that is given.

        Raises `Unsupported` when it is no index already, in no variable, and in no global buffer.
        """
        match v:
            case Value(index=Size() as i):
                return i
            case Value(known=int() as number):
                return Size.of(number)
            case Value(known=str() as name, lane=None):
                return Size.atom(Loaded(name, None, extent))
            case Cell(Memory(name, _, _, "global"), offset):
                return Size.atom(Loaded(name, offset, extent))
            case Cell() | Value() | Guarded() | TupleView() | ArrayView() | VectorView():
                raise Unsupported(
                    f"{self.name}: its indices are read from an input or from a buffer between two "
                    "kernels; put to_global around what computes them"
                )

    def fold(self, place: str, first: View, step: Callable[[View, Index], View], n: Size) -> View:
        raise AssertionError(f"cannot happen: {self.name} computes")


def component_view(v: View, index: int) -> ArrayView:
    """Component `index` of an array of tuples, as an array."""
    whole = array(v)
    return ArrayView(whole.length, lambda i: tuple_view(whole.at(i)).parts[index])


def turned(v: VectorView) -> View | None:
    """A vector of arrays as an array of vectors, of tuples as a tuple; None for a vector of scalars."""
    match v.lane(Size.of(0)):
        case ArrayView(n):
            return ArrayView(
                n, lambda i: VectorView(v.width, lambda lane: array(v.lane(lane)).at(i))
            )
        case TupleView(parts):
            return TupleView(tuple(_part_of_lanes(v, i) for i in range(len(parts))))
        case _:
            return None


def _part_of_lanes(v: VectorView, index: int) -> VectorView:
    return VectorView(v.width, lambda lane: tuple_view(v.lane(lane)).parts[index])


def guarded(condition: Condition, inside: View, outside: View) -> View:
    """`inside` where the condition holds, else `outside`, with the choice pushed to the scalars."""
    if surely_within(condition.index, condition.extent):
        return inside
    if surely_at_most(condition.index, Size.of(-1)) or surely_at_most(
        condition.extent, condition.index
    ):
        return outside
    match inside, outside:
        case ArrayView(n, at), ArrayView():
            return ArrayView(n, lambda i: guarded(condition, at(i), outside.at(i)))
        case VectorView(w, lane), VectorView():
            return VectorView(w, lambda i: guarded(condition, lane(i), outside.lane(i)))
        case TupleView(parts), TupleView(others):
            pairs = zip(parts, others, strict=True)
            return TupleView(tuple(guarded(condition, p, q) for p, q in pairs))
        case ((Cell() | Value() | Guarded()), (Cell() | Value() | Guarded())):
            return Guarded(condition, inside, outside)
        case _:
            raise AssertionError(f"cannot happen: {inside} and {outside} differ in type")


def peel(t: Term, target: View) -> tuple[Term, View] | None:
    """The data of an invertible layout pattern and where to write it, given where t is written; or None.

    >>> xss = Input("xss", f32[4, 8])
    >>> xs, target = peel(parse("join(xss)", xss=xss), stored("out", f32[32]))
    >>> cell(array(array(target).at(variable("i", 4))).at(variable("j", 8))).offset
    8*i + j
    """
    data = invertible_data(t)
    if data is None or not isinstance(t, Pattern):
        return None

    def given(name: str) -> object:
        match getattr(t, name, None):
            case None:
                return t.solved[name]
            case Lambda() as f:
                return lambda place: _through(f.body, place)
            case known:
                return known

    place: View = t.inverse(Views(t.name), target, **{n: given(n) for n in asked_for(t.inverse)})
    return data, place


def invertible_data(t: Term) -> Term | None:
    """The data of t when t is a layout pattern that `peel` inverts, else None."""
    if not isinstance(t, Pattern) or not t.has_inverse():
        return None
    *functions, data = (child for _, child in children(t))
    assert not isinstance(data, Lambda), f"cannot happen: {t.name} has its data last"
    return data if all(isinstance(f, Lambda) and _invertible(f) for f in functions) else None


def _invertible(f: Lambda) -> bool:
    """Whether f applies invertible layout patterns to its argument and nothing else."""
    body: Term | None = f.body
    while body is not None and body != f.parameters[0]:
        body = invertible_data(body)
    return body is not None


def _through(body: Term, target: View) -> View:
    """Where the argument of an invertible function is written, given where its result is."""
    while not isinstance(body, Var):
        peeled = peel(body, target)
        assert peeled is not None, f"cannot happen: {name_of(body)} was found invertible"
        body, target = peeled
    return target


def leaves(v: View, depth: int = 0) -> Iterator[Leaf]:
    """The scalars of a view, at arbitrary indices."""
    match v:
        case TupleView(parts):
            for part in parts:
                yield from leaves(part, depth)
        case ArrayView(n, at) | VectorView(n, at):
            yield from leaves(at(variable(f"?{depth}", n)), depth + 1)
        case Guarded(_, inside, outside):
            yield from leaves(inside, depth)
            yield from leaves(outside, depth)
        case Cell() | Value():
            yield v


def array(v: View) -> ArrayView:
    """v, which is the view of an array."""
    assert isinstance(v, ArrayView), f"cannot happen: {v} is not an array"
    return v


def vector(v: View) -> VectorView:
    """v, which is the view of a vector."""
    assert isinstance(v, VectorView), f"cannot happen: {v} is not a vector"
    return v


def tuple_view(v: View) -> TupleView:
    """v, which is the view of a tuple."""
    assert isinstance(v, TupleView), f"cannot happen: {v} is not a tuple"
    return v


def cell(v: View) -> Cell:
    """v, which is one cell of memory."""
    assert isinstance(v, Cell), f"cannot happen: {v} is not a cell"
    return v
