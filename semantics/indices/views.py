"""Views: an array as a function from indices to cells of memory.

A layout pattern moves no data.  It changes the function: element i of `join(xss)` is element `i % m` of row
`i / m` of xss.  Reading a term composes such functions down to a cell, a memory and an offset in it, and
the index rules of `indices` make the offset short.  Writing goes the other way: where xss is written is
known from where `join(xss)` is written, by the inverse function.

Compilers read kernels off views; cost models read the stride of an access off them (`indices.linear_in`).
Source: LIFT, CGO'17, section 5.3, where views are data; here they are closures.

>>> from relift import f32
>>> from relift.semantics.indices.expressions import variable
>>> from relift.semantics.indices.stored import inputs
>>> from relift.semantics.indices.views import array, cell, view
>>> from relift.semantics.notation.parser import parse_term
>>> from relift.semantics.syntax.terms import Input
>>> xss = Input("xss", f32[4, 8])
>>> i, j = variable("i", 8), variable("j", 4)
>>> t = parse_term("transpose(xss)", xss=xss)
>>> row = array(view(t, inputs(xss)).at(i))
>>> cell(row.at(j)).offset
i + 8*j
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from relift.semantics.errors import Unsupported
from relift.semantics.indices.algebra import asked_for
from relift.semantics.indices.atoms import Index, Loaded
from relift.semantics.indices.expressions import (
    calculated,
    clamp,
    divide,
    maximum,
    minimum,
    modulo,
    recombined,
    variable,
)
from relift.semantics.indices.functions import IndexFunction
from relift.semantics.indices.ranges import surely_at_most, surely_within
from relift.semantics.indices.rows import Numbers
from relift.semantics.kept import kept_by_term
from relift.semantics.syntax import terms
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.nodes import argument
from relift.semantics.syntax.sizes import Size, Unknown
from relift.semantics.syntax.types import Scalar, i32


@dataclass(frozen=True)
class Memory:
    """A row of `cells` scalars, in one address space; arrays of tuples have one for each component.

    With a `width`, it is declared as a row of vectors: cell i is lane `i % width` of vector `i / width`.  With an
    `alignment`, a private row of scalars is aligned to so many of them, and accessed by pointers to vectors.
    """

    name: str
    scalar: Scalar
    cells: Size
    space: Space
    width: int | None = None
    alignment: int | None = None


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
class CodeValue:
    """A scalar that is in no memory: `code` is how its maker writes it.

    With a `lane`, the code denotes a vector of `width`, of which that lane is meant; with an `index`, which has
    no code, the number meant is that index.  `known` is the whole number, or the name of the variable, that it is.
    """

    code: Hashable
    scalar: Scalar
    lane: Index | None = None
    index: Index | None = None
    known: int | str | None = None
    width: int | None = None


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


Leaf: TypeAlias = Cell | CodeValue | Guarded
View: TypeAlias = Leaf | TupleView | ArrayView | VectorView


@dataclass(frozen=True)
class Environment:
    """The views of a term's inputs and free variables, by name."""

    inputs: Mapping[str, View] = field(default_factory=dict)
    variables: Mapping[str, View] = field(default_factory=dict)

    def bind(self, f: terms.Lambda, *views: View) -> Environment:
        """The environment of the body of f, applied to what the views show."""
        new = {x.name: v for x, v in zip(f.parameters, views, strict=True)}
        return replace(self, variables={**self.variables, **new})


Producer: TypeAlias = Callable[[terms.Term, Environment], View]
"""What to do with a term that computes: a compiler emits code and says where the result lies."""


def memories_of(v: View) -> tuple[Memory, ...]:
    """The memories that a view shows."""
    return tuple(dict.fromkeys(leaf.memory for leaf in leaves(v) if isinstance(leaf, Cell)))


@kept_by_term("_layout")
def is_layout(t: terms.Term) -> bool:
    """Whether a term only moves data, so that it has a view without any code.

    >>> from relift import f32
    >>> from relift.semantics.indices.views import is_layout
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xs = Input("xs", f32[4])
    >>> [is_layout(parse_term(s, xs=xs)) for s in ("split(2, xs)", "map(lambda x: x + 1, xs)")]
    [True, False]
    """
    match t:
        case terms.Apply() | terms.Call() | terms.Combine() | terms.Metavariable():
            return False
        case terms.Pattern() if not t.layout:
            return False
        case (
            terms.Var() | terms.Input() | terms.Literal() | terms.MakeTuple() | terms.Get()
            | terms.Pattern()
        ):  # fmt: skip
            return all(is_layout(u) for _, u, _ in terms.inside(t))


def no_producer(t: terms.Term, environment: Environment) -> View:
    """The producer for terms that must not compute."""
    raise Unsupported(f"{name_of(t)} computes, where only a layout has a view")


def name_of(t: terms.Term) -> str:
    """How a term is called in messages."""
    return t.name if isinstance(t, terms.Pattern) else type(t).__name__.lower()


def view(t: terms.Term, environment: Environment, produced: Producer = no_producer) -> View:
    """What t shows: layout patterns as index functions, everything that computes by `produced`."""
    match t:
        case terms.Var(name):
            return environment.variables[name]
        case terms.Input(name):
            return environment.inputs[name]
        case terms.MakeTuple(parts):
            return TupleView(tuple(view(part, environment, produced) for part in parts))
        case terms.Get(index, of):
            return tuple_view(view(of, environment, produced)).parts[index]
        case terms.Pattern() if _is_viewed(t):
            return by_its_view(t, environment, produced)
        case terms.Apply() if (counted := _counted(t, environment)) is not None:
            return CodeValue(None, i32, index=counted)
        case (
            terms.Literal() | terms.Apply() | terms.Call() | terms.Combine() | terms.Metavariable()
            | terms.Pattern()
        ):  # fmt: skip
            return produced(t, environment)


def _counted(t: terms.Apply, environment: Environment) -> Index | None:
    """The index that a number is which is computed of indices; None of another one, and of what may be negative."""
    index = _index(t, environment)
    return index if index is not None and surely_at_most(Size.of(0), index) else None


def _index(t: terms.Term, environment: Environment) -> Index | None:
    """The same, which may be negative."""
    if t.type != i32:
        return None
    if isinstance(t, terms.Literal):
        return Size.of(int(t.value))
    if isinstance(t, terms.Apply):
        known = [i for u in t.arguments if (i := _index(u, environment)) is not None]
        return calculated(t.function, known) if len(known) == len(t.arguments) else None
    shown = view(t, environment, _constant) if is_layout(t) else None
    return shown.index if isinstance(shown, CodeValue) else None


def _constant(t: terms.Term, environment: Environment) -> View:
    """The producer for layouts, in which nothing but constants computes."""
    if isinstance(t, terms.Literal) and isinstance(t.type, Scalar):
        return CodeValue(None, t.type)
    return no_producer(t, environment)


def by_its_view(t: terms.Pattern, environment: Environment, produced: Producer) -> View:
    """What the view of a pattern makes of what its data show."""
    shown = {name: _shown(t, name, environment, produced) for name in asked_for(t.view)}
    return t.view(Views(t.name), **shown)  # type: ignore[no-any-return]


def _is_viewed(t: terms.Pattern) -> bool:
    """Whether a pattern moves data only, where it stands; what its data are is another question."""
    functions = (f for _, f in terms.children(t) if isinstance(f, terms.Lambda))
    moves = t.layout and t.has_view()
    return moves and (t.in_place or all(is_layout(f.body) for f in functions))


def _shown(t: terms.Pattern, name: str, environment: Environment, produced: Producer) -> object:
    """What a view is given for a parameter: the view of data, a function on views, a size."""
    held = argument(t, name)
    if held is None:
        return t.solved[name]
    if isinstance(held, terms.Lambda):
        return lambda *views: view(held.body, environment.bind(held, *views), produced)
    if isinstance(held, Numbers):
        return Constants(
            held, lambda i: produced(terms.Literal(held.values[i], held.type), environment)
        )
    return view(held, environment, produced) if isinstance(held, Expression) else held


@dataclass(frozen=True)
class Constants:
    """A row of constants, and a view of each of them."""

    row: Numbers
    at: Callable[[int], View]


def table_of(row: Numbers) -> Memory:
    """The memory that a row of constants is where an index is known when the kernel runs; called after what it holds.

    >>> from relift.semantics.indices.rows import numbers
    >>> from relift.semantics.indices.views import table_of
    >>> one, same, other = (table_of(numbers(row)) for row in ([1, 2, 3], [1, 2, 3], [1, 2, 4]))
    >>> one.cells, one.space, one == same, one.name == other.name
    (3, Space.CONSTANT, True, False)
    """
    return Memory(f"table_{row.digest}", row.type, Size.of(len(row.values)), Space.CONSTANT)


@dataclass(frozen=True)
class Views:
    """The algebra of views, for the pattern called `name`: numbers are index expressions, values are views.

    A number that is written may be one of Python's.

    >>> from relift.semantics.indices.views import Views
    >>> ix = Views("pairs")
    >>> ix.array(2, ix.number).length, ix.minimum(ix.size(3), 2), ix.position(1, 4, 2)
    (2, 2, 6)
    """

    name: str

    def size(self, n: int) -> Index:
        return Size.of(n)

    def divide(self, i: Index, n: Size) -> Index:
        return divide(Size.of(i), n)

    def modulo(self, i: Index, n: Size) -> Index:
        return modulo(Size.of(i), n)

    def minimum(self, i: Index, j: Index) -> Index:
        return minimum(Size.of(i), Size.of(j))

    def maximum(self, i: Index, j: Index) -> Index:
        return maximum(Size.of(i), Size.of(j))

    def position(self, row: Index, width: Size, column: Index) -> Index:
        return recombined(Size.of(width * row + column))

    def function(self, f: IndexFunction, n: Size) -> Callable[[Index], Index]:
        return f.of

    def undoing(self, f: IndexFunction, n: Size) -> Callable[[Index], Index]:
        raise AssertionError(f"cannot happen: {self.name} is written through, never read")

    def array(self, n: Size, at: Callable[[Index], View]) -> ArrayView:
        return ArrayView(Size.of(n), at)

    def at(self, xs: View, i: Index) -> View:
        return array(xs).at(Size.of(i))

    def vector(self, width: Size, lane: Callable[[Index], View]) -> VectorView:
        return VectorView(Size.of(width), lane)

    def lane(self, v: View, i: Index) -> View:
        return vector(v).lane(Size.of(i))

    def tuple(self, *parts: View) -> TupleView:
        return TupleView(parts)

    def component(self, x: View, index: int) -> View:
        return tuple_view(x).parts[index]

    def inside(self, i: Index, n: Size, yes: View, no: View) -> View:
        return guarded(Condition(Size.of(i), Size.of(n)), yes, no)

    def before(self, i: Index, n: Size, yes: View, no: View) -> View:
        return self.inside(i, n, yes, no)  # what is not negative anyway is not asked in the text

    def open_outside(self, i: Index, left: Size, n: Size, xs: View) -> View:
        # an open cell shows any other: memory beyond the array is never read, nor where there is none
        shown = array(xs).at(clamp(i - left, n))
        if n.surely_at_least(1):
            return shown
        return guarded(Condition(Size.of(0), n), shown, nothing_like(shown))

    def place_before(self, i: Index, n: Size, xs: View) -> View:
        place = array(xs).at(i)
        return guarded(Condition(i, n), place, nothing_like(place))

    def chosen(self, values: Constants, i: Index) -> View:
        """Constant number i: a cell of a table, or of two, and of what tables cannot hold, a choice."""
        if i.constant is not None:
            return values.at(i.constant)
        if values.row.is_table:
            return Cell(table_of(values.row), Size.of(i))
        *first, found = map(values.at, range(len(values.row.values)))
        for k in reversed(range(len(first))):
            found = guarded(Condition(i, Size.of(k + 1)), first[k], found)
        return found

    def number(self, i: Index) -> CodeValue:
        return CodeValue(None, i32, index=Size.of(i))

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
            case CodeValue(index=Size() as i):
                return i
            case CodeValue(known=int() as number):
                return Size.of(number)
            case CodeValue(known=str() as name, lane=None):
                return Size.atom(Loaded(name, None, extent))
            case Cell(Memory(name, space=space), offset) if space.of_device or space.of_kernel:
                return Size.atom(Loaded(name, offset, extent))
            case Cell() | CodeValue() | Guarded() | TupleView() | ArrayView() | VectorView():
                raise Unsupported(
                    f"{self.name}: its indices are read from an input or from a buffer between two "
                    "kernels; put to_global around what computes them"
                )

    def fold(self, place: str, first: View, step: Callable[[View, Index], View], n: Size) -> View:
        raise AssertionError(f"cannot happen: {self.name} computes")


def guarded(condition: Condition, inside: View, outside: View) -> View:
    """`inside` where the condition holds, else `outside`, with the choice pushed to the scalars."""
    if surely_within(condition.index, condition.extent):
        return inside
    if surely_at_most(condition.index, Size.of(-1)) or surely_at_most(
        condition.extent, condition.index
    ):
        return outside
    match inside:
        case ArrayView(n, at):
            other = array(outside)
            return ArrayView(n, lambda i: guarded(condition, at(i), other.at(i)))
        case VectorView(w, lane):
            lanes = vector(outside)
            return VectorView(w, lambda i: guarded(condition, lane(i), lanes.lane(i)))
        case TupleView(parts):
            pairs = zip(parts, tuple_view(outside).parts, strict=True)
            return TupleView(tuple(guarded(condition, p, q) for p, q in pairs))
        case Cell() | CodeValue() | Guarded():
            assert isinstance(outside, Leaf), f"cannot happen: {outside} is not a scalar"
            return Guarded(condition, inside, outside)


def nothing_like(v: View) -> View:
    """A view of the same kind that shows 0 everywhere, and reads no memory."""
    match v:
        case TupleView(parts):
            return TupleView(tuple(map(nothing_like, parts)))
        case ArrayView(n, at):
            return ArrayView(n, lambda i: nothing_like(at(i)))
        case VectorView(w, lane):
            return VectorView(w, lambda i: nothing_like(lane(i)))
        case Guarded(_, inside, _):
            return nothing_like(inside)
        case Cell(memory):
            return CodeValue(None, memory.scalar, index=Size.of(0))
        case CodeValue(scalar=scalar):
            return CodeValue(None, scalar, index=Size.of(0))


def leaves(v: View, depth: int = 0) -> Iterator[Leaf]:
    """The scalars of a view, at arbitrary indices."""
    match v:
        case TupleView(parts):
            for part in parts:
                yield from leaves(part, depth)
        case ArrayView(n, at) | VectorView(n, at):
            yield from leaves(at(variable(Unknown(str(depth)), n)), depth + 1)
        case Guarded(_, inside, outside):
            yield from leaves(inside, depth)
            yield from leaves(outside, depth)
        case Cell() | CodeValue():
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
