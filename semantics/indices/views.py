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
from typing import Literal as Choice_of
from typing import TypeAlias

from relift.semantics.errors import Unsupported
from relift.semantics.indices.expressions import (
    Index,
    Loaded,
    clamp,
    divide,
    minimum,
    modulo,
    recombined,
    surely_at_most,
    surely_within,
    variable,
)
from relift.semantics.patterns import (
    AsScalar,
    AsVector,
    AsVectorAligned,
    At,
    AtRuntime,
    AtRuntimeUnsafe,
    Concat,
    Drop,
    Gather,
    GatherIndices,
    Generate,
    Head,
    Join,
    Let,
    LiteralArray,
    Map,
    MapVec,
    PadClamp,
    PadConstant,
    PadEmpty,
    PadMirror,
    PadWrap,
    Repeat,
    RotateValues,
    Scatter,
    Slide,
    Splat,
    Split,
    Tail,
    Take,
    Transpose,
    Unzip,
    Zip,
)
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Get,
    Input,
    Lambda,
    Literal,
    MakeTuple,
    Pattern,
    Term,
    Var,
    children,
)
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, Vector, i32

Space: TypeAlias = Choice_of["global", "local", "private"]

LAYOUT: tuple[type[Pattern], ...] = (
    AsScalar, AsVector, AsVectorAligned, At, AtRuntime, AtRuntimeUnsafe, Concat, Drop, Gather, GatherIndices, Head, Join, LiteralArray, PadClamp,
    PadConstant, PadEmpty, PadMirror, PadWrap, Repeat, RotateValues, Slide, Splat, Split, Tail, Take, Transpose,
    Unzip, Zip,
)  # fmt: skip
"""The patterns that only move data; `generate`, `map`, `map_vec` and `let` join when their function does."""


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
    if not isinstance(
        t, (*LAYOUT, Var, Input, Literal, MakeTuple, Get, Generate, Map, MapVec, Let)
    ):
        return False
    return all(is_layout(u.body if isinstance(u, Lambda) else u) for _, u in children(t))


def no_producer(t: Term, environment: Environment) -> View:
    """The producer for terms that must not compute."""
    raise Unsupported(f"{name_of(t)} computes, where only a layout has a view")


def name_of(t: Term) -> str:
    """How a term is called in messages."""
    return t.name if isinstance(t, Pattern) else type(t).__name__.lower()


def view(t: Term, environment: Environment, produced: Producer = no_producer) -> View:
    """What t shows: layout patterns as index functions, everything that computes by `produced`."""

    def sub(u: Term) -> View:
        return view(u, environment, produced)

    match t:
        case Var(name):
            return environment.variables[name]
        case Input(name):
            return environment.inputs[name]
        case MakeTuple(parts):
            return TupleView(tuple(sub(part) for part in parts))
        case Get(index, of):
            return tuple_view(sub(of)).parts[index]
        case Map(f, xs) if is_layout(f.body):
            data = array(sub(xs))
            return ArrayView(
                data.length, lambda i: view(f.body, environment.bind(f, data.at(i)), produced)
            )
        case MapVec(f, v) if is_layout(f.body):
            lanes = vector(sub(v))
            return VectorView(
                lanes.width, lambda i: view(f.body, environment.bind(f, lanes.lane(i)), produced)
            )
        case Zip(xs, ys):
            left, right = array(sub(xs)), array(sub(ys))
            return ArrayView(left.length, lambda i: TupleView((left.at(i), right.at(i))))
        case Generate(n, f) if is_layout(f.body):
            return ArrayView(
                n,
                lambda i: view(f.body, environment.bind(f, Value(None, i32, index=i)), produced),
            )
        case Let(f, x):
            return view(f.body, environment.bind(f, sub(x)), produced)
        case Concat(xs, ys):
            first, second = array(sub(xs)), array(sub(ys))
            n = first.length
            return ArrayView(
                n + second.length,
                lambda i: guarded(Condition(i, n), first.at(i), second.at(i - n)),
            )
        case AtRuntimeUnsafe(index, xs):
            data = array(sub(xs))
            return data.at(loaded(sub(index), t, data.length))
        case AtRuntime(index, default, xs):
            data, found = array(sub(xs)), sub(index)
            inside = data.at(loaded(found, t, data.length))
            return guarded(Condition(loaded(found, t), data.length), inside, sub(default))
        case GatherIndices(ids, xs):
            data, places = array(sub(xs)), array(sub(ids))
            return ArrayView(places.length, lambda i: data.at(loaded(places.at(i), t, data.length)))
        case LiteralArray(row):
            constants = [sub(Literal(value, row.type)) for value in row.values]
            return ArrayView(Size.of(len(constants)), lambda i: _chosen(i, constants))
        case PadConstant(left_count, right_count, value, xs):
            data, outside = array(sub(xs)), sub(value)
            return _padded(left_count, right_count, data, outside)
        case Repeat(m, x):
            shown = sub(x)
            return ArrayView(m, lambda i: shown)
        case Splat(width, x):
            shown = sub(x)
            return VectorView(width, lambda i: shown)
        case Pattern() if isinstance(t, LAYOUT):
            (place,) = t.signature.term_fields
            return _layout(t, array(sub(getattr(t, place))))
        case _:
            return produced(t, environment)


def loaded(v: View, t: Pattern, extent: Size | None = None) -> Index:
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
        case _:
            raise Unsupported(
                f"{t.name}: its indices are read from an input or from a buffer between two kernels; "
                "put to_global around what computes them"
            )


def _layout(t: Pattern, data: ArrayView) -> View:
    """The view of a layout pattern of one array, from the view of that array."""
    match t:
        case Split(m):
            return split_view(data, m)
        case Join():
            return join_view(data, t.solved["m"])
        case Transpose():
            return transpose_view(data, t.solved["m"])
        case Slide(size, step):
            count = t.solved["k"] + 1
            return ArrayView(count, lambda i: ArrayView(size, lambda j: data.at(step * i + j)))
        case PadClamp(left, right):
            n = data.length
            return ArrayView(left + n + right, lambda i: data.at(clamp(i - left, n)))
        case PadEmpty(left, right):
            # an open cell shows any other: memory beyond the array is never read
            n = data.length
            return ArrayView(left + n + right, lambda i: data.at(clamp(i - left, n)))
        case PadMirror(left, right):
            n = data.length
            return ArrayView(left + n + right, lambda i: data.at(_mirrored(i - left, n)))
        case PadWrap(left, right):
            n = data.length
            return ArrayView(left + n + right, lambda i: data.at(modulo(i - left, n)))
        case Gather(idx):
            return ArrayView(data.length, lambda i: data.at(idx.of(i)))
        case RotateValues(size):
            count = t.solved["k"] + 1
            return ArrayView(count, lambda i: ArrayView(size, lambda j: data.at(i + j)))
        case Unzip():
            return TupleView((component_view(data, 0), component_view(data, 1)))
        case Head():
            return data.at(Size.of(0))
        case Tail():
            return ArrayView(data.length - 1, lambda i: data.at(i + 1))
        case Take(m):
            return ArrayView(m, data.at)
        case Drop(m):
            return ArrayView(data.length - m, lambda i: data.at(i + m))
        case At(index):
            return data.at(index)
        case AsVector(width) | AsVectorAligned(width):
            return as_vector_view(data, width)
        case AsScalar():
            return as_scalar_view(data, t.solved["width"])
        case _:
            raise AssertionError(f"cannot happen: {t.name} is no layout of one array")


def _mirrored(i: Index, n: Size) -> Index:
    """The index that i shows where an array of n elements is reflected at its ends."""
    j = modulo(i, 2 * n)
    return minimum(j, 2 * n - 1 - j)


def _chosen(i: Index, constants: Sequence[View]) -> View:
    """Constant number i."""
    if i.constant is not None:
        return constants[i.constant]
    found = constants[-1]
    for k in reversed(range(len(constants) - 1)):
        found = guarded(Condition(i, Size.of(k + 1)), constants[k], found)
    return found


def split_view(data: ArrayView, m: Size) -> ArrayView:
    """The view of `split(m, xs)`, from that of xs."""
    return ArrayView(
        data.length // m, lambda i: ArrayView(m, lambda j: data.at(recombined(m * i + j)))
    )


def join_view(data: ArrayView, m: Size) -> ArrayView:
    """The view of `join(xss)`, from that of xss, whose rows have m elements."""
    return ArrayView(data.length * m, lambda i: array(data.at(divide(i, m))).at(modulo(i, m)))


def transpose_view(data: ArrayView, m: Size) -> ArrayView:
    """The view of `transpose(xss)`, from that of xss, whose rows have m elements."""
    return ArrayView(m, lambda i: ArrayView(data.length, lambda j: array(data.at(j)).at(i)))


def as_vector_view(data: ArrayView, width: Size) -> ArrayView:
    """The view of `as_vector(width, xs)`, from that of xs."""
    return ArrayView(
        data.length // width,
        lambda i: VectorView(width, lambda j: data.at(recombined(width * i + j))),
    )


def as_scalar_view(data: ArrayView, width: Size) -> ArrayView:
    """The view of `as_scalar(vs)`, from that of vs, whose vectors have `width` lanes."""
    return ArrayView(
        data.length * width, lambda i: vector(data.at(divide(i, width))).lane(modulo(i, width))
    )


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


def _padded(left: Size, right: Size, data: ArrayView, outside: View) -> ArrayView:
    def at(i: Index) -> View:
        condition = Condition(i - left, data.length)
        return guarded(condition, data.at(i - left), outside)

    return ArrayView(left + data.length + right, at)


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
    match t:
        case Join(xss):
            return xss, split_view(array(target), t.solved["m"])
        case Split(m, xs):
            return xs, join_view(array(target), m)
        case Transpose(xss):
            return xss, transpose_view(array(target), t.solved["n"])
        case AsVector(width, xs) | AsVectorAligned(width, xs):
            return xs, as_scalar_view(array(target), width)
        case Scatter(idx, xs):
            cells = array(target)
            return xs, ArrayView(cells.length, lambda i: cells.at(idx.of(i)))
        case Unzip(ps):
            first, second = (array(part) for part in tuple_view(target).parts)
            return ps, ArrayView(first.length, lambda i: TupleView((first.at(i), second.at(i))))
        case AsScalar(vs):
            return vs, as_vector_view(array(target), t.solved["width"])
        case PadEmpty(left, _, xs):
            cells = array(target)
            return xs, ArrayView(t.solved["n"], lambda i: cells.at(i + left))
        case Map(f, xs) if _invertible(f):
            whole = array(target)
            return xs, ArrayView(whole.length, lambda i: _through(f.body, whole.at(i)))
        case _:
            return None


def invertible_data(t: Term) -> Term | None:
    """The data of t when t is a layout pattern that `peel` inverts, else None."""
    match t:
        case Join(data) | Split(_, data) | Transpose(data) | AsVector(_, data) | AsScalar(data):
            return data
        case AsVectorAligned(_, data) | Scatter(_, data) | Unzip(data) | PadEmpty(_, _, data):
            return data
        case Map(f, data) if _invertible(f):
            return data
        case _:
            return None


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
