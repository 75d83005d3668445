"""A program as a chain of kernels, each of which is a program of its own that is searched for itself.

Where a program stores values (`to_global`), what computes one is a program whose inputs are the others.  The best that
is found for each is put together again, and so are the derivations: the steps of a kernel's are steps of the whole
at every place where its value stands, with what its inputs stand for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.application.totality import has_open_cells
from relift.rewrites.derivation.steps import Derivation, Step, replayed
from relift.rewrites.library import RULES
from relift.semantics.indices.inverses import taken_apart
from relift.semantics.indices.views import is_layout
from relift.semantics.language.programs import Program
from relift.semantics.language.vocabulary import to_global
from relift.semantics.language.vocabulary import zip as zipped
from relift.semantics.patterns import Let, ToGlobal, Zip
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    places_of,
    replaced,
    substitute,
    term_at,
)
from relift.semantics.syntax.nodes import made
from relift.semantics.syntax.terms import (
    Input,
    Lambda,
    MakeTuple,
    Term,
    Var,
    free_variables,
    inside,
    parts_of,
    subterms,
    unused,
)
from relift.semantics.syntax.types import Tuple


@dataclass(frozen=True)
class StagedKernel:
    """What computes one value: its program.

    `result` is the name by which the programs of other kernels read it; that of the whole, or of each of its results,
    has none, and `place` says where it stands.  Of results that are computed together it is the array of tuples that
    `apart` takes apart.
    """

    result: str
    program: Program
    place: Position = ()
    apart: Lambda | None = None


def kernels_of(whole: Program) -> list[StagedKernel]:
    """The kernels of a program that says what is stored, each after those whose values it reads.

    >>> from relift import add, f32, map, program, reduce, show, to_global
    >>> from relift.egraph.search.starts.staged import kernels_of
    >>> @program
    ... def total(x: f32[8]):
    ...     return reduce(add, 0.0, to_global(map(lambda v: v * v, x)))
    >>> for kernel in kernels_of(total):
    ...     print(kernel.result, show(kernel.program.body))
    total_1 map(lambda v: v * v, x)
     reduce(add, 0.0, total_1)
    """
    values: dict[Term, Term] = {}
    for t, _ in subterms(whole.body):
        if isinstance(t, ToGlobal) and not free_variables(t):
            values.setdefault(canonical(t.xs), t.xs)
    taken = {p.name for p in whole.parameters}
    names: dict[Term, str] = {}
    found: list[StagedKernel] = []
    for key in sorted(values, key=parts_of):
        names[key] = unused(f"{whole.name}_{len(names) + 1}", taken | set(names.values()))
        found.append(StagedKernel(names[key], program_of(whole, names[key], values[key], names)))
    return [*found, *results_of(whole, names)]


def results_of(whole: Program, names: Mapping[Term, str]) -> Iterator[StagedKernel]:
    """What computes the result; where that is several, or arrays that are zipped, what computes each, or all of them together."""
    if isinstance(t := whole.body, Let) and taken_apart(t):
        yield StagedKernel("", program_of(whole, whole.name, t.x, names), ("x",), t.f)
        return
    parts = [(place, t) for place, t, _ in inside(whole.body)]
    read = [_reading(t, names) for _, t in parts]
    # results that are stored have a kernel less, and so have arrays that are zipped with what is computed
    left = Input if isinstance(whole.body, MakeTuple) else Term
    is_left = (isinstance(t, left) and is_layout(t) for t in read)
    if isinstance(whole.body, MakeTuple | Zip) and not any(is_left):
        for place, t in parts:
            yield StagedKernel("", program_of(whole, whole.name, t, names), (place,))
    else:
        yield StagedKernel("", program_of(whole, whole.name, whole.body, names))


def program_of(whole: Program, name: str, value: Term, names: Mapping[Term, str]) -> Program:
    """The program of one kernel: the values that others store are inputs."""
    body = _reading(value, names)
    inputs = dict.fromkeys(t for t, _ in subterms(body) if isinstance(t, Input))
    return Program(name, tuple(inputs), body, file=whole.file)


def _reading(t: Term, names: Mapping[Term, str]) -> Term:
    def stored(u: Term) -> Term | None:
        if isinstance(u, ToGlobal) and (name := names.get(canonical(u.xs))) is not None:
            return Input(name, u.type)
        return None

    return replaced(t, stored, ToGlobal)


def together(
    whole: Derivation, kernels: Sequence[StagedKernel], found: Sequence[Derivation]
) -> Derivation:
    """The derivation of a whole that goes on with that of each of its kernels, at all of its places.

    A kernel is before those whose values it reads: what it does with them, it may do to any of their forms but those
    with cells that are open, which no rule copies.
    """
    terms = [derivation.replay(RULES) for derivation in found]
    try:
        return _together(whole, kernels, found, terms, [0 for _ in found])
    except NoMatch:  # what branches is not defined beside open cells, wherever these are
        closed = [len(list(takewhile(_is_closed, each[1:]))) for each in terms]
        return _together(whole, kernels, found, terms, closed)


def _is_closed(t: Term) -> bool:
    return not has_open_cells(t)


def _together(
    whole: Derivation,
    kernels: Sequence[StagedKernel],
    found: Sequence[Derivation],
    through: Sequence[Sequence[Term]],
    first: Sequence[int],
) -> Derivation:
    """The same, with the first steps of all kernels, so many of each, before the others."""
    values: dict[str, Term] = {}
    t, steps = whole.result, list(whole.steps)
    each = list(zip(kernels, found, through, first, strict=True))
    for kernel, derivation, terms, n in each:
        before = replace(derivation, steps=derivation.steps[:n])
        value = to_global(filled(kernel.program.body, values))
        for place in _places(kernel, t, value):
            again, t = done_again(before, terms, t, place, values)
            steps += again
        if kernel.result:
            values[kernel.result] = to_global(filled(terms[n], values))
    for kernel, derivation, terms, n in reversed(each):
        after = replace(derivation, steps=derivation.steps[n:])
        for place in _places(kernel, t, values.get(kernel.result)):
            again, t = done_again(after, terms[n:], t, place, values)
            steps += again
    return replace(whole, steps=tuple(steps), result=t)


def _places(kernel: StagedKernel, t: Term, value: Term | None) -> list[Position]:
    """Where a kernel stands: what gives a result once, and what gives a value wherever that is read."""
    if not kernel.result or value is None:
        return [kernel.place]
    return [(*place, "xs") for place in places_of(t, value)]


def lowered(
    kernels: Sequence[StagedKernel], found: Sequence[Term], *, may_name: bool = True
) -> Term:
    """The whole, with this term for each of its kernels: the values that they store may have names, which are kept where it is long."""
    plain = without_names(kernels, found)
    return under_names(kernels, found) if may_name and _is_long(plain, found) else plain


def keeps_names(kernels: Sequence[StagedKernel], found: Sequence[Term]) -> bool:
    """Whether the whole, with this term for each of its kernels, is many times as long without names for what these store."""
    return _is_long(without_names(kernels, found), found)


def _is_long(plain: Term, found: Sequence[Term]) -> bool:
    return parts_of(plain) > max(_LONG, _REPEATED * sum(map(parts_of, found)))


def without_names(kernels: Sequence[StagedKernel], found: Sequence[Term]) -> Term:
    """The whole, with this term for each of its kernels, which stands wherever its value is read."""
    stored: dict[str, Term] = {}
    results: list[Term] = []
    for kernel, t in zip(kernels, found, strict=True):
        body = filled(t, stored)
        if kernel.result:
            stored[kernel.result] = to_global(body)
        else:
            results.append(body)
    return _of_results(kernels, results)


def under_names(kernels: Sequence[StagedKernel], found: Sequence[Term]) -> Term:
    """The whole, with this term for each of its kernels, and a name for each value that they store.

    >>> from relift import add, f32, map, program, reduce, show, to_global
    >>> from relift.egraph.search.starts.staged import kernels_of, under_names
    >>> @program
    ... def total(x: f32[8]):
    ...     return reduce(add, 0.0, to_global(map(lambda v: v * v, x)))
    >>> kernels = kernels_of(total)
    >>> show(under_names(kernels, [kernel.program.body for kernel in kernels]))
    'let(lambda total_1: reduce(add, 0.0, total_1), to_global(map(lambda v: v * v, x)))'
    """
    pairs = list(zip(kernels, found, strict=True))
    whole = _of_results(kernels, [t for kernel, t in pairs if not kernel.result])
    for kernel, t in reversed(pairs):
        if kernel.result:
            name = Var(kernel.result, kernel.program.body.type)
            read = Lambda((name,), filled(whole, {kernel.result: name}))
            whole = made(Let, (read, to_global(t)))
    return whole


def _of_results(kernels: Sequence[StagedKernel], results: Sequence[Term]) -> Term:
    """What the kernels compute whose values none reads, as one term."""
    if (f := kernels[-1].apart) is not None:
        return made(Let, (f, results[0]))
    if not kernels[-1].place:
        return results[0]
    if kernels[-1].place == ("ys",):
        pairs: Term = zipped(*results)
        return pairs
    return MakeTuple(tuple(results), Tuple(tuple(t.type for t in results)))


def done_again(
    found: Derivation,
    terms: Sequence[Term],
    t: Term,
    place: Position,
    stored: Mapping[str, Term],
    parts: Mapping[str, str] | None = None,
) -> tuple[list[Step], Term]:
    """The steps of a derivation, which went through these terms, at a place of another one; and what that becomes.

    What is one of several results there may be another one here: `parts` says which.
    """
    steps: list[Step] = []
    for before, step in zip(terms, found.steps, strict=False):
        below = step.position
        if parts is not None:
            if not below:
                raise NoMatch("a step of all results together, of which here there are more")
            below = (parts[below[0]], *below[1:])
        moved = _moved(step, before, term_at(t, place), below, stored)
        steps.append(replace(moved, position=(*place, *below)))
        t = replayed(steps[-1], t, RULES, found.policy)
    return steps, t


def _moved(
    step: Step, before: Term, here: Term, below: Position, stored: Mapping[str, Term]
) -> Step:
    """A step of a kernel's derivation, made of the term `before`, as one `below` a place, which may name variables otherwise."""
    theirs, ours = binders_at(before, step.position), binders_at(here, below)
    renamed = {x.name: y for x, y in zip(theirs, ours, strict=True)}
    functions = {
        # first the variables: what an input stands for may name one that is called as theirs is
        name: _function(_renamed(f, renamed), stored)
        for name, f in step.substitution.functions.items()
    }
    return replace(step, substitution=replace(step.substitution, functions=functions))


def _function(f: Lambda, values: Mapping[str, Term]) -> Lambda:
    """A function with what its inputs stand for, whose parameters are called otherwise than the variables of these."""
    f = _apart(f, frozenset[str]().union(*map(free_variables, values.values())))
    return Lambda(f.parameters, filled(f.body, values))


def _renamed(f: Lambda, names: Mapping[str, Var]) -> Lambda:
    """A function in which the variables around it have other names."""
    f = _apart(f, {x.name for x in names.values()} | free_variables(f.body) | set(names))
    return Lambda(f.parameters, substitute(f.body, names))


def _apart(f: Lambda, taken: Collection[str]) -> Lambda:
    """A function whose parameters have no name that is taken."""
    known = {*taken, *free_variables(f.body), *(x.name for x in f.parameters)}
    names: dict[str, Var] = {}
    for x in f.parameters:
        if x.name in taken:
            names[x.name] = Var(unused(x.name, known), x.type)
            known.add(names[x.name].name)
    return Lambda(tuple(names.get(x.name, x) for x in f.parameters), substitute(f.body, names))


def filled(t: Term, values: Mapping[str, Term]) -> Term:
    """A term of a kernel, with what its inputs stand for; no function there takes a variable of a value for its own."""
    held: dict[str, Term] = {}
    own: dict[str, Term] = {}
    for name, value in values.items():
        if free_variables(value):
            place = Var(f"value of {name}", value.type)  # what nothing is called
            held[name], own[place.name] = place, value
        else:
            held[name] = value
    read = replaced(t, lambda u: held.get(u.name) if isinstance(u, Input) else None, Input)
    return substitute(read, own)


def shape_of(program: Program) -> Term:
    """What a program computes, whatever its inputs are called: searches of equal shapes come to the same.

    >>> from relift import add, f32, program, reduce
    >>> from relift.egraph.search.starts.staged import shape_of
    >>> @program
    ... def total(x: f32[8]):
    ...     return reduce(add, 0.0, x)
    >>> @program
    ... def whole(y: f32[8]):
    ...     return reduce(add, 0.0, y)
    >>> shape_of(total) == shape_of(whole), total.body == whole.body
    (True, False)
    """
    names = {p.name: Input(f"input_{i}", p.type) for i, p in enumerate(program.parameters)}
    return canonical(filled(program.body, names))


def of_one_shape(programs: Sequence[Program], apart: int = 0) -> list[int]:
    """For each program the number of the first of its shape: so many are searched; the first few are `apart`, each its own.

    >>> from relift import add, f32, program, reduce
    >>> from relift.egraph.search.starts.staged import of_one_shape
    >>> @program
    ... def total(x: f32[8]):
    ...     return reduce(add, 0.0, x)
    >>> of_one_shape([total, total]), of_one_shape([total, total], apart=1)
    ([0, 0], [0, 1])
    """
    first: dict[Term, int] = {}
    rest = (first.setdefault(shape_of(p), i) for i, p in enumerate(programs) if i >= apart)
    return [*range(apart), *rest]


def in_names_of(program: Program, found: Derivation) -> Derivation:
    """A derivation from a program of the same shape as one from this, whose inputs and variables have other names."""
    pairs = zip(found.program.parameters, program.parameters, strict=True)
    names: dict[str, Term] = {theirs.name: ours for theirs, ours in pairs}
    steps, t = done_again(found, found.replay(RULES), program.body, (), names)
    return replace(found, origin=program, steps=tuple(steps), result=t)


def body_in_names_of(program: Program, found: Program) -> Program:
    """A low-level program of one of the same shape as one of this."""
    pairs = zip(found.parameters, program.parameters, strict=True)
    return replace(program, body=filled(found.body, {p.name: q for p, q in pairs}))


def choices(seconds: Sequence[Sequence[float]], most: int) -> Iterator[tuple[int, ...]]:
    """Which of what was found for each kernel is taken: the best of each, then for one of them another.

    `seconds` are the times of what was found, the best first.  Another is taken first of the kernel that takes longest, and of none
    whose part is too small to matter.

    >>> from relift.egraph.search.starts.staged import choices
    >>> list(choices([[3.0, 4.0], [5.0], [9.0, 9.5], [0.1, 0.2]], 2))
    [(0, 0, 0, 0), (0, 0, 1, 0), (1, 0, 0, 0)]
    """
    best = tuple(0 for _ in seconds)
    yield best
    whole = sum(each[0] for each in seconds)
    for i in sorted(range(len(seconds)), key=lambda i: -seconds[i][0]):
        if matters(seconds[i][0], whole):
            for other in range(1, min(len(seconds[i]), most)):
                yield (*best[:i], other, *best[i + 1 :])


def matters(seconds: float, whole: float) -> bool:
    """Whether a kernel takes so much of a program's time that several are tried: the others are not told apart by a clock."""
    return seconds >= _MATTERS * whole


_MATTERS = 0.05

_LONG = 1 << 11
"""Values of a program of so many parts stand wherever they are read."""
_REPEATED = 2
"""So many times as long as its kernels together is a program at most without names for what these store."""
