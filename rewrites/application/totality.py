"""Whether a term is defined whatever its data are, as far as its text tells.

Partial are the patterns that say so (`at_runtime_unsafe`, `gather_indices`, ..), but for indices and index functions
that are seen to stay in range.  What branches or indexes is partial where there are unspecified cells: at a cell that
`pad_empty` leaves open it is undefined.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from relift.semantics.indices import expressions as indices
from relift.semantics.indices.functions import IndexFunction
from relift.semantics.indices.ranges import surely_within
from relift.semantics.interpreter import operand_type, operator_lambda
from relift.semantics.patterns import AtRuntimeUnsafe, Gather, Let, Scatter
from relift.semantics.syntax import terms
from relift.semantics.syntax.binding import Position, canonical, term_at
from relift.semantics.syntax.signatures import OperatorKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Type, Vector, least_values

LARGEST_TABLE = 1 << 20
"""An index function whose ranges do not tell is tried at all indices up to this many."""


def first_partial(t: terms.Term, *, open_cells: bool = False) -> str | None:
    """What may be undefined in a term, by name; None where it is total.  Each term keeps the answer.

    No open cell reaches a part that needs no variable and leaves none open itself: that is the same wherever it stands.

    >>> from relift import i32
    >>> from relift.rewrites.application.totality import first_partial
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xs = Input("xs", i32[8])
    >>> first_partial(parse_term("map(lambda i: at_runtime_unsafe(i, xs), xs)", xs=xs))
    'at_runtime_unsafe'
    >>> first_partial(parse_term("map(lambda i: at_runtime_unsafe(select(i > 7, 7, 0), xs), xs)", xs=xs))
    >>> first_partial(parse_term("gather(lambda i: 7 - i, xs)", xs=xs))
    """
    open_cells = open_cells and (bool(terms.free_variables(t)) or has_open_cells(t))
    kept, place = vars(t), "_partial_at_open" if open_cells else "_partial"
    if place not in kept:
        kept[place] = next(_partial(t, open_cells), None)
    known: str | None = kept[place]
    return known


def first_partial_operator(operator: terms.Operator, element: Type, open_cells: bool) -> str | None:
    """The same of an operator, on elements of a type."""
    least = tuple(least_values(element).items())
    return _first_partial_operator(operator, element, open_cells, least)


@cache
def _first_partial_operator(
    operator: terms.Operator, element: Type, open_cells: bool, _least: tuple[tuple[str, int], ...]
) -> str | None:
    """Types are equal whatever their sizes are at least, but what is defined hangs on it."""
    match operator:
        case terms.OperatorMetavariable():
            return None
        case terms.Vectorized(_, inner):
            assert isinstance(element, Vector), "cannot happen: vectorize works on vectors"
            return first_partial_operator(inner, element.element, open_cells)
        case terms.BinaryOperator():
            return first_partial(operator_lambda(operator, element).body, open_cells=open_cells)


def has_open_cells(t: terms.Term) -> bool:
    """Whether some cells of a term are left open, which the kinds of its parts say."""
    return _leave_open(terms.kinds_in(t))


def closed_around(t: terms.Term, place: Position) -> terms.Term:
    """The innermost part of a term around a place that needs no variable: cells that are open outside of it do not reach the place.

    >>> from relift import f32, show
    >>> from relift.rewrites.application.totality import closed_around
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> known = {"xs": Input("xs", f32[8])}
    >>> t = parse_term("map(lambda x: x + at(0, map(lambda y: y * 2.0, xs)), pad_empty(0, 1, xs))", known)
    >>> show(closed_around(t, ("f", "arguments.1", "xs", "f"))), closed_around(t, ("f", "arguments.0")) == t
    ('map(lambda y: y * 2.0, xs)', True)
    """
    parts = (term_at(t, place[:end]) for end in range(len(place), 0, -1))
    return next((u for u in parts if not terms.free_variables(u)), t)


def sees_open_cells(f: terms.Lambda) -> bool:
    """Whether cells that are left open may reach what a function computes: from its parameters, from around it, or in it.

    What needs no variable is the same wherever it stands, and the data of a program have no open cells.

    >>> from relift import f32
    >>> from relift.rewrites.application.totality import sees_open_cells
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input, Lambda
    >>> known = {"xs": Input("xs", f32[8])}
    >>> [
    ...     sees_open_cells(Lambda((), parse_term(text, known)))
    ...     for text in ("map(lambda x: x + 1.0, xs)", "pad_empty(0, 1, xs)")
    ... ]
    [False, True]
    """
    return bool(f.parameters or terms.free_variables(f.body)) or has_open_cells(f.body)


@cache
def _leave_open(kinds: int) -> bool:
    return any(kind.leaves_open and kinds & terms.mask_of(kind) for kind in _kinds(terms.Pattern))


def _kinds(kind: type[terms.Pattern]) -> Iterator[type[terms.Pattern]]:
    """A kind of patterns, and the kinds of it."""
    yield kind
    for own in kind.__subclasses__():
        yield from _kinds(own)


def _partial(t: terms.Term, open_cells: bool) -> Iterator[str]:
    match t:
        case terms.Apply("select") if open_cells:
            yield "select"
        case terms.Call(function) if function.body is not None:
            if (found := first_partial(function.body.body, open_cells=open_cells)) is not None:
                yield found
        case terms.Call(function) if open_cells:
            yield function.name
        case AtRuntimeUnsafe(index):
            if not _lies_below(index, t.solved["n"].constant or 0):
                yield t.name
        case Gather(idx):
            if not stays(idx, t.solved["n"]):
                yield t.name
        case Scatter(idx):
            if not permutes(idx, t.solved["n"]):
                yield t.name
        case terms.Pattern():
            if t.partial or (open_cells and t.branches):
                yield t.name
        case (
            terms.Var() | terms.Input() | terms.Literal() | terms.MakeTuple() | terms.Get()
            | terms.Metavariable() | terms.Apply() | terms.Call() | terms.Combine()
        ):  # fmt: skip
            pass
    for operator, element in _operators_of(t):
        if (found := first_partial_operator(operator, element, open_cells)) is not None:
            yield found
    for _, u, _ in terms.inside(t):
        if (found := first_partial(u, open_cells=open_cells)) is not None:
            yield found


def _lies_below(index: terms.Term, n: int) -> bool:
    """Whether an i32 is seen to be from 0 to below n: a constant, or one of several."""
    match index:
        case terms.Literal(int() as value):
            return 0 <= value < n
        case terms.Apply("select", (_, yes, no)):
            return _lies_below(yes, n) and _lies_below(no, n)
        case (
            terms.Var() | terms.Input() | terms.Literal() | terms.MakeTuple() | terms.Get()
            | terms.Metavariable() | terms.Apply() | terms.Call() | terms.Combine() | terms.Pattern()
        ):  # fmt: skip
            return False


def computes_surely(t: terms.Term, value: terms.Term) -> bool:
    """Whether a term is undefined wherever a value is: it stands where it is computed, whatever the data are.

    Data are computed always, as the interpreter is strict in them: where a term is defined, its data are (`checks/rocq/definedness.py`).
    A function is called where there is an element; that a loop over one is defined only where what its function computes is, too, is proved for all
    sizes (`test_a_function_that_is_called_computes_its_value`).  No cells may be open: to compute an array that has some says nothing of what
    they hold.

    >>> from relift import f32, i32
    >>> from relift.rewrites.application.totality import computes_surely
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> known = {"xs": Input("xs", f32[8]), "i": Input("i", i32), "none": Input("none", f32[0])}
    >>> value = parse_term("at_runtime_unsafe(i, xs)", known)
    >>> once = parse_term("map(lambda x: x + at_runtime_unsafe(i, xs), xs)", known)
    >>> never = parse_term("map(lambda x: x + at_runtime_unsafe(i, xs), none)", known)
    >>> computes_surely(once, value), computes_surely(never, value)
    (True, False)
    """
    same, needed = canonical(value), terms.free_variables(value)

    def below(u: terms.Term) -> bool:
        if first_partial(u) is None:
            return False  # the value is not total, and so is nothing that computes it
        if type(u) is type(value) and canonical(u) == same:
            return True
        return any(
            below(child.body if isinstance(child, terms.Lambda) else child)
            for _, child in terms.children(u)
            if not isinstance(child, terms.Lambda)
            or (_is_called(u) and needed.isdisjoint(x.name for x in child.parameters))
        )

    return below(t)


def _is_called(t: terms.Term) -> bool:
    """Whether the function of a pattern is called at least once: of a name, and of a loop over some elements."""
    if not isinstance(t, terms.Pattern) or isinstance(t, Let):
        return isinstance(t, Let)
    return t.loop in ("map", "fold") and "n" in t.solved and bool(t.solved["n"].constant)


def operators_in(t: terms.Term) -> Iterator[tuple[terms.Operator, Type]]:
    """The operators of a term, each with the type of what it combines."""
    for u, _ in terms.subterms(t):
        yield from _operators_of(u)


def _operators_of(t: terms.Term) -> Iterator[tuple[terms.Operator, Type]]:
    match t:
        case terms.Combine(operator, left):
            yield operator, left.type
        case terms.Pattern():
            for place, kind in t.signature.parameters.items():
                if isinstance(kind, OperatorKind):
                    yield getattr(t, place), operand_type(t)
        case (
            terms.Var() | terms.Input() | terms.Literal() | terms.Apply() | terms.Call()
            | terms.MakeTuple() | terms.Get() | terms.Metavariable()
        ):  # fmt: skip
            pass


def stays(f: IndexFunction, n: Size) -> bool:
    """Whether an index function is seen to map the indices below n to such indices."""
    if f.metavariable is not None:
        return True
    if f.metavariables:
        return False
    if surely_within(f.of(indices.variable("an index", n)), n):
        return True
    return _tried(n) and f.escapes(n) is None


def permutes(f: IndexFunction, n: Size) -> bool:
    """Whether an index function is seen to be a permutation of the indices below n."""
    if f.metavariables or not _tried(n) or n.constant is None:
        return False
    return sorted(f.table(n.constant).tolist()) == list(range(n.constant))


def _tried(n: Size) -> bool:
    return n.constant is not None and n.constant <= LARGEST_TABLE
