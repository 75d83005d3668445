"""Binders and positions: substitution without capture, equality up to names, replacing a subterm.

A position is the path of places from the root of a term: `("f", "xs")` is the data of the body of `f`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields as dataclass_fields
from functools import cache
from typing import Any, Self, TypeAlias

from relift.semantics.syntax.expression import changed
from relift.semantics.syntax.places import row_and_number
from relift.semantics.syntax.terms import (
    Get,
    Input,
    Lambda,
    MakeTuple,
    Term,
    Var,
    below_of,
    children,
    distinct,
    free_variables,
    inside,
    kinds_in,
    mask_of,
    parts_of,
)
from relift.semantics.syntax.types import Type

Position: TypeAlias = tuple[str, ...]
Replacing: TypeAlias = Callable[[Term], Term | None]


_PARTS = mask_of(Get) | mask_of(MakeTuple)  # parts of tuples written out may be among these


def map_children(
    t: Term, on_term: Callable[[Term], Term], on_lambda: Callable[[Lambda], Lambda]
) -> Term:
    """`t` with every immediate child replaced; types are kept, so children must keep theirs.

    Where all children stay the same objects, so does `t`.
    """
    if isinstance(t, Get):
        return _component(t, on_term(t.of))
    changes: dict[str, Any] = {}
    for place in t.below:
        child = getattr(t, place)
        new: Term | Lambda
        if isinstance(child, Lambda):
            new = on_lambda(child)
            new = child if _is_one(new, child) else new
        else:
            new = on_term(child)
        if new is not child:
            changes[place] = new
    if t.row:
        row: tuple[Term, ...] = getattr(t, t.row)
        items = tuple(map(on_term, row))
        if any(new is not u for new, u in zip(items, row, strict=True)):
            changes[t.row] = items
    return changed(t, changes) if changes else t


def replaced(t: Term, by: Replacing, *kinds: type[Term]) -> Term:
    """`t` with what `by` gives another term for, which it does of `kinds` alone, replaced by it, outermost first; one object once.

    >>> from relift import f32, show
    >>> from relift.semantics.syntax.binding import replaced
    >>> from relift.semantics.syntax.terms import Input
    >>> x, y = Input("x", f32), Input("y", f32)
    >>> show(replaced(x * x + y, lambda u: y if u is x else None))
    '(y * y) + y'
    """
    return _Replaced(by, sum(map(mask_of, {*kinds})) if kinds else -1).term(t)


class _Replaced:
    """What terms become of which others replace some; a function that calls itself would hold them until a collector comes."""

    __slots__ = ("asked", "by", "met")

    def __init__(self, by: Replacing, asked: int) -> None:
        self.by, self.asked, self.met = by, asked, dict[int, Term]()

    def term(self, u: Term) -> Term:
        if (found := self.met.get(id(u))) is None:
            known = kinds_in(u)
            new = self.by(u) if known & self.asked else None if known & _PARTS == _PARTS else u
            found = map_children(u, self.term, self.function) if new is None else new
            self.met[id(u)] = found
        return found

    def function(self, f: Lambda) -> Lambda:
        return f if (body := self.term(f.body)) is f.body else Lambda(f.parameters, body)


def outside(t: Term, left_out: Callable[[Term], bool]) -> Iterator[Term]:
    """`t` and everything below it, without what is left out and what is below that.

    >>> from relift import f32
    >>> from relift.semantics.syntax.binding import outside
    >>> from relift.semantics.syntax.terms import Apply, Input
    >>> x = Input("x", f32)
    >>> t = Apply("add", (x, Apply("neg", (x,), f32)), f32)
    >>> len(list(outside(t, lambda u: isinstance(u, Apply) and u.function == "neg")))
    2
    """
    waiting = [t]
    while waiting:
        if not left_out(t := waiting.pop()):
            yield t
            waiting += [u for _, u, _ in inside(t)][::-1]


def inputs_by_number(t: Term) -> Term:
    """`t` in canonical form, whatever its inputs are called.

    >>> from relift import f32
    >>> from relift.semantics.syntax.binding import inputs_by_number
    >>> from relift.semantics.syntax.terms import Input
    >>> x, y = Input("x", f32), Input("y", f32)
    >>> inputs_by_number(x * y) == inputs_by_number(y * x), inputs_by_number(x * y) == inputs_by_number(x * x)
    (True, False)
    """
    given: dict[str, Input] = {}

    def read(u: Term) -> Term | None:
        if not isinstance(u, Input):
            return None
        return given.setdefault(u.name, Input(f"input {len(given)}", u.type))

    return canonical(replaced(t, read, Input))


def _is_one(f: Lambda, g: Lambda) -> bool:
    """Whether the parts of two functions are the same objects."""
    same = (x is y for x, y in zip(f.parameters, g.parameters, strict=True))
    return f.body is g.body and all(same)


def _component(t: Get, of: Term) -> Term:
    """The component that `t` takes, of another tuple; of one written out it is the part itself."""
    if isinstance(of, MakeTuple):
        return of.parts[t.index]
    return t if of is t.of else changed(t, {"of": of})


def free_types(t: Term) -> Mapping[str, Type]:
    """The free variables of a term, and the type that each is used at; each term keeps its own."""
    known: dict[str, Type] | None = vars(t).get("_free_types")
    if known is None:
        known = {t.name: t.type} if isinstance(t, Var) else {}
        for _, u, binders in inside(t) if free_variables(t) else ():
            bound = [x.name for x in binders]
            known |= {x: of for x, of in free_types(u).items() if x not in bound}
        vars(t)["_free_types"] = known
    return known


def substitute(t: Term, values: Mapping[str, Term]) -> Term:
    """Replace free variables by terms, all at once; a binder that would capture is renamed.

    >>> from relift import f32, show
    >>> from relift.semantics.syntax.binding import substitute
    >>> from relift.semantics.syntax.terms import Var
    >>> x, y = Var("x", f32), Var("y", f32)
    >>> show(substitute(x + y, {"x": y}))
    'y + y'
    """
    values = {n: u for n, u in values.items() if not isinstance(u, Var) or u.name != n}
    if not values:
        return t
    return _substitute(t, values, {name: free_variables(u) for name, u in values.items()})


def _substitute(t: Term, values: Mapping[str, Term], free: Mapping[str, frozenset[str]]) -> Term:
    if isinstance(t, Var):
        return values.get(t.name, t)
    if free_variables(t).isdisjoint(values):
        return t

    def under(f: Lambda) -> Lambda:
        wanted = free_variables(f.body) - {x.name for x in f.parameters}
        inner = {name: u for name, u in values.items() if name in wanted}
        if not inner:
            return f
        danger: frozenset[str] = frozenset().union(*(free[name] for name in inner))
        parameters: list[Var] = []
        for x in f.parameters:
            name = x.name
            while name in danger or (name != x.name and name in wanted):
                name += "_"
            if name != x.name:
                inner[x.name] = Var(name, x.type)
            parameters.append(Var(name, x.type))
        return Lambda(tuple(parameters), substitute(f.body, inner))

    return map_children(t, lambda u: _substitute(u, values, free), under)


class Depth(str):
    """The name of a binder by its depth, which no program can write."""

    def __new__(cls, depth: int) -> Self:
        return super().__new__(cls, f"%{depth}")

    def __getnewargs__(self) -> tuple[int]:  # type: ignore[override]
        return (int(self[1:]),)


def canonical(t: Term, names: Mapping[str, str] | None = None) -> Term:
    """`t` with its binders named by their depth, so that equal up to names means equal.

    `names`: what free variables are called there.
    """
    return _canonical(t, names or {}, 0)


def _canonical(t: Term, names: Mapping[str, str], depth: int) -> Term:
    """The same below so many binders; each term keeps what it is found to be, as it may stand in many places.

    That is told by what its variables are called there, in the order in which it keeps their names.
    """
    if isinstance(t, Var):
        return _called(t, names.get(t.name, t.name))
    free = free_variables(t)
    around = () if free.isdisjoint(names) else tuple(names.get(name) for name in free)
    known: dict[Any, Term | None] = vars(t).setdefault("_canonical", {})
    if (key := (depth, around)) not in known:
        found = _canonical_below(t, names if around else {}, depth)
        known[key] = None if found is t else found  # a term that held itself would stay for ever
        if not depth and not around:
            vars(found).setdefault("_canonical", {})[key] = None
    held = known[key]
    return t if held is None else held


def _canonical_below(t: Term, names: Mapping[str, str], depth: int) -> Term:
    def under(f: Lambda) -> Lambda:
        new = {x.name: Depth(depth + i) for i, x in enumerate(f.parameters)}
        return Lambda(
            tuple(_called(x, new[x.name]) for x in f.parameters),
            _canonical(f.body, {**names, **new}, depth + len(new)),
        )

    return map_children(t, lambda u: _canonical(u, names, depth), under)


def _called(x: Var, name: str) -> Var:
    return x if name == x.name else Var(name, x.type)


def alpha_equal(t: Term, u: Term) -> bool:
    """Whether the terms are equal up to the names of bound variables: whether `canonical` makes them one.

    What both share, as the sides of a rule do whatever it leaves alone, is not gone through.
    """
    return _shape(t) == _shape(u) and _alike(t, u, {}, {}, 0)


def _shape(t: Term) -> int:
    """A number that terms have in common which are equal up to the names of variables; few others do."""
    held = vars(t)
    known: int | None = held.get("_shape")
    if known is None:
        kind: Any = type(t)
        if (part := _part_of(t)) is not t:
            known = _shape(part)
        elif isinstance(t, Var):
            known = hash((kind, t.type))
        elif not t.below and not t.row:
            known = hash(t)
        else:
            data = (getattr(t, name) for name in _data_of(kind))
            known = hash((kind, *data, *(_shape(u) for _, u, _ in inside(t))))
        held["_shape"] = known
    return known


def _part_of(t: Term) -> Term:
    """The component that a term takes, where it is of a tuple that is written out."""
    if isinstance(t, Get) and isinstance(of := _part_of(t.of), MakeTuple):
        return _part_of(of.parts[t.index])
    return t


def _alike(t: Term, u: Term, left: Mapping[str, str], right: Mapping[str, str], depth: int) -> bool:
    """Whether `_canonical` makes one term of two, whose binders around have these names there."""
    if t is u and all(left.get(name) == right.get(name) for name in free_variables(t)):
        return True
    if isinstance(t, Var) and isinstance(u, Var):
        return left.get(t.name, t.name) == right.get(u.name, u.name) and t.type == u.type
    alike = type(t) is type(u) and _alike_below(t, u, left, right, depth)
    if alike or not (isinstance(t, Get) or isinstance(u, Get)):
        return alike
    return _canonical(t, left, depth) == _canonical(u, right, depth)  # of a tuple written out


def _alike_below(
    t: Term, u: Term, left: Mapping[str, str], right: Mapping[str, str], depth: int
) -> bool:
    """The same of two terms of a kind."""
    if not t.below and not t.row:
        return t == u
    kind: Any = type(t)
    if any(getattr(t, name) != getattr(u, name) for name in _data_of(kind)):
        return False
    theirs, ours = list(children(t)), list(children(u))
    return len(theirs) == len(ours) and all(
        _alike_functions(a, b, left, right, depth)
        if isinstance(a, Lambda) and isinstance(b, Lambda)
        else not isinstance(a, Lambda)
        and not isinstance(b, Lambda)
        and _alike(a, b, left, right, depth)
        for (_, a), (_, b) in zip(theirs, ours, strict=True)
    )


def _alike_functions(
    f: Lambda, g: Lambda, left: Mapping[str, str], right: Mapping[str, str], depth: int
) -> bool:
    if [x.type for x in f.parameters] != [y.type for y in g.parameters]:
        return False
    levels = [Depth(depth + i) for i in range(len(f.parameters))]
    left = {**left, **{x.name: level for x, level in zip(f.parameters, levels, strict=True)}}
    right = {**right, **{y.name: level for y, level in zip(g.parameters, levels, strict=True)}}
    return _alike(f.body, g.body, left, right, depth + len(levels))


@cache
def _data_of(kind: type[Any]) -> tuple[str, ...]:
    """The fields by which terms of a kind differ, but for what is below them."""
    below = {*kind.below, kind.row}
    return tuple(f.name for f in dataclass_fields(kind) if f.compare and f.name not in below)


def tidy(t: Term) -> Term:
    """`t` with short binder names, distinct along every path; for reading."""
    return _tidy(t, {}, frozenset(u.name for u in distinct(t) if isinstance(u, Input)), {})


_Tidied: TypeAlias = dict[tuple[int, tuple[str | None, ...], frozenset[str]], Term]
"""What stands in several places below the same names is made tidy once."""


def _tidy(t: Term, names: Mapping[str, str], used: frozenset[str], known: _Tidied) -> Term:
    if isinstance(t, Var):
        return Var(names.get(t.name, t.name), t.type)
    key = id(t), tuple(names.get(name) for name in free_variables(t)), used
    if key in known:
        return known[key]

    def under(f: Lambda) -> Lambda:
        new, taken = dict[str, str](), set(used)
        for x in f.parameters:
            base = x.name.rstrip("_0123456789") or "x"
            name, count = base, 1
            while name in taken:
                count += 1
                name = f"{base}{count}"
            taken.add(name)
            new[x.name] = name
        return Lambda(
            tuple(Var(new[x.name], x.type) for x in f.parameters),
            _tidy(f.body, {**names, **new}, frozenset(taken), known),
        )

    known[key] = map_children(t, lambda u: _tidy(u, names, used, known), under)
    return known[key]


def inputs_in(t: Term) -> frozenset[str]:
    """The names of the inputs that `t` reads; each term keeps its own."""
    known: frozenset[str] | None = vars(t).get("_inputs")
    if known is None:
        known = frozenset((t.name,)) if isinstance(t, Input) else frozenset()
        for u in below_of(t):
            if not (read := inputs_in(u)) <= known:
                known = known | read if known else read
        vars(t)["_inputs"] = known
    return known


def term_at(t: Term, position: Position) -> Term:
    """The subterm at a position; raises `KeyError` when there is none."""
    root, begun, found = _looked[0] if _looked else (t, (), t)
    rest = position[len(begun) :]
    if root is not t or position[: len(begun)] != begun:
        rest, found = position, t
    for place in rest:
        child = _child(found, place)
        found = child.body if isinstance(child, Lambda) else child
    known_at(t, position, found)
    return found


def known_at(t: Term, position: Position, found: Term) -> None:
    """Say what stands at a position: what is asked next is mostly there or below."""
    _looked[:] = [(t, position, found)]


_looked: list[tuple[Term, Position, Term]] = []
"""A term, a position, and what stands there: where something was looked for last."""


def _at(t: Term, place: str) -> tuple[Term, tuple[Var, ...]]:
    """What is in a place, and the variables that are bound there."""
    child = _child(t, place)
    if isinstance(child, Lambda):
        return child.body, child.parameters
    return child, ()


def _child(t: Term, place: str) -> Term | Lambda:
    """What a place holds; raises `KeyError` when there is no such place."""
    if place in t.below:
        child: Term | Lambda = getattr(t, place)
        return child
    if (named := row_and_number(place)) is not None and named[0] == t.row:
        row: tuple[Term, ...] = getattr(t, t.row)
        if named[1] < len(row):
            return row[named[1]]
    raise KeyError(place)


def binders_at(t: Term, position: Position) -> tuple[Var, ...]:
    """The variables bound around a position, outermost first."""
    bound: tuple[Var, ...] = ()
    for place in position:
        t, binders = _at(t, place)
        bound += binders
    return bound


def is_invariant(t: Term, position: Position) -> bool:
    """Whether what stands at a position needs no variable of the functions around it: it is the same whenever they are applied."""
    bound = {x.name for x in binders_at(t, position)}
    return bound.isdisjoint(free_variables(term_at(t, position)))


def replace_at(t: Term, position: Position, new: Term) -> Term:
    """`t` with the subterm at `position` replaced by a term of the same type."""
    if not position:
        return new
    place, rest = position[0], position[1:]
    here = _child(t, place)
    put: Any
    if isinstance(here, Lambda):
        put = Lambda(here.parameters, replace_at(here.body, rest, new))
    else:
        put = replace_at(here, rest, new)
    if (named := row_and_number(place)) is not None:
        place, index = named
        items = list(getattr(t, place))
        items[index] = put
        put = tuple(items)
    return changed(t, {place: put})


def places_of(t: Term, u: Term) -> list[Position]:
    """Where in `t` there is `u`, up to names, outermost first."""
    kinds, least = kinds_in(canonical(u)), parts_of(canonical(u))
    found: list[Position] = []
    waiting: list[tuple[Position, Term]] = [((), t)]
    while waiting:
        position, v = waiting.pop()
        if kinds & ~kinds_in(v) or parts_of(v) < least:
            continue
        if type(v) is type(u) and alpha_equal(v, u):
            found.append(position)
        waiting += [((*position, place), w) for place, w in beneath(v)[::-1]]
    return found


def positions(
    t: Term, kinds: int = -1, *, closed: type[Term] | None = None
) -> Iterator[tuple[Position, Term]]:
    """Every position of `t` with its subterm, outermost first; where there is something of `kinds` there or below.

    None below terms of the kind `closed`.
    """
    waiting: list[tuple[Position, Term]] = [((), t)] if kinds_in(t) & kinds else []
    while waiting:
        position, t = waiting.pop()
        yield position, t
        if closed is not None and isinstance(t, closed):
            continue
        waiting += [((*position, place), u) for place, u in beneath(t)[::-1] if kinds_in(u) & kinds]


def beneath(t: Term) -> list[tuple[str, Term]]:
    """The terms directly below `t`, each with the name of its place; a term keeps them."""
    known: list[tuple[str, Term]] | None = vars(t).get("_beneath")
    if known is None:
        known = vars(t)["_beneath"] = [(place, u) for place, u, _ in inside(t)]
    return known
