"""The smallest subject that still shows what was seen: fewer steps, a smaller term, smaller sizes, simpler inputs.

Each way of making a subject smaller is tried, and taken where the same kind of thing is seen; until none is, or the
attempts are used up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from relift.compiler.fuzzing.programs.inputs import cropped, simpler
from relift.compiler.fuzzing.programs.subjects import Subject
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.library import RULES
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Let
from relift.semantics.syntax.binding import positions, replace_at, substitute
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Input,
    Lambda,
    Literal,
    Pattern,
    Term,
    children,
    distinct,
    free_variables,
)
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    types_within,
)

ATTEMPTS = 150
"""Subjects that are judged to make one smaller; each is compiled, built and run."""


def shrunk(subject: Subject, shows: Callable[[Subject], bool], attempts: int = ATTEMPTS) -> Subject:
    """A smaller subject that still shows it."""
    left = attempts
    found = True
    while found and left > 0:
        found = False
        for candidate in _smaller(subject):
            if left == 0:
                break
            left -= 1
            if shows(candidate):
                subject, found = candidate, True
                break
    return subject


def weight(subject: Subject) -> tuple[int, int, int]:
    """How large a subject is: nodes of its terms, its sizes, numbers other than 0."""
    terms = [subject.program.body]
    if subject.derivation is not None:
        terms.append(subject.derivation.program.body)
    nodes = sum(sum(1 for _ in positions(t)) for t in terms)
    return nodes, sum(subject.sizes.values()), len(repr(subject.arguments))


def _smaller(subject: Subject) -> Iterator[Subject]:
    """Smaller subjects, those first that take most away."""
    if subject.derivation is not None:
        yield from _without_rules(subject, subject.derivation)
        yield from _simpler_inputs(subject)
        return
    yield from _smaller_terms(subject)
    yield from _smaller_sizes(subject)
    yield from _simpler_inputs(subject)


def _without_rules(subject: Subject, derivation: Derivation) -> Iterator[Subject]:
    """The result alone, where it is wrong by itself; then the derivation from each later program, and up to each earlier one."""
    yield replace(subject, derivation=None)
    try:
        terms = derivation.replay(RULES)
    except ReliftError:
        return
    whole = derivation.program
    for first in range(len(derivation.steps) - 1, 0, -1):
        origin = replace(whole, body=terms[first])
        yield replace(
            subject, derivation=replace(derivation, origin=origin, sizes={}, steps=derivation.steps[first:])
        )  # fmt: skip
    for last in range(1, len(derivation.steps)):
        shorter = replace(derivation, steps=derivation.steps[:last], result=terms[last])
        program = replace(whole, body=terms[last])
        yield replace(subject, program=program, derivation=shorter)


# ---- terms


def _smaller_terms(subject: Subject) -> Iterator[Subject]:
    program = subject.program
    seen: set[Term] = set()
    for position, here in positions(program.body):
        for new in _instead(here):
            if new.type != here.type and position:
                continue
            try:
                body = replace_at(program.body, position, new)
            except (ReliftError, ValueError, TypeError):
                continue
            if body in seen:
                continue
            seen.add(body)
            made = _with_body(subject, body)
            if made is not None:
                yield made


def _instead(t: Term) -> Iterator[Term]:
    """Simpler terms that may stand for one: a part of it, data of its type, a number."""
    if isinstance(t, Let):
        yield substitute(t.f.body, {t.f.parameters[0].name: t.x})
    for _, child in children(t):
        inner = child.body if isinstance(child, Lambda) else child
        bound = {x.name for x in child.parameters} if isinstance(child, Lambda) else set[str]()
        if not free_variables(inner) & bound:
            yield inner
        if isinstance(t, Pattern) and not isinstance(child, Lambda):
            yield from (u for _, u in children(child) if not isinstance(u, Lambda))
    if isinstance(t.type, Scalar) and t.type.name != "boolean" and not isinstance(t, Literal):
        for value in (0, 1):
            yield Literal(float(value) if t.type.is_float else value, t.type)


def _with_body(subject: Subject, body: Term) -> Subject | None:
    """The subject with another body, and the parameters that it uses."""
    if free_variables(body):
        return None
    used = {u.name for u in distinct(body) if isinstance(u, Input)}
    pairs = [
        (p, a)
        for p, a in zip(subject.program.parameters, subject.arguments, strict=True)
        if p.name in used
    ]
    program = Program(subject.program.name, tuple(p for p, _ in pairs), body)
    sizes = {n: v for n, v in subject.sizes.items() if n in program.sizes}
    return replace(subject, program=program, sizes=sizes, arguments=tuple(a for _, a in pairs))


# ---- sizes


def _smaller_sizes(subject: Subject) -> Iterator[Subject]:
    """Open sizes, then numbers in the types of parameters."""
    for name, value in subject.sizes.items():
        least = subject.program.least_sizes.get(name, 0)
        for smaller in sorted({least, value // 2, value - 1}):
            if least <= smaller < value:
                sizes = {**subject.sizes, name: smaller}
                made = _at(subject, subject.program, sizes)
                if made is not None:
                    yield made
    numbers = {
        n.constant
        for p in subject.program.parameters
        for n in _lengths(p.type)
        if n.constant is not None and n.constant > 1
    }
    for number in sorted(numbers, reverse=True):
        for smaller in (1, 2, number // 2):
            if 0 < smaller < number:
                made = _with_length(subject, number, smaller)
                if made is not None:
                    yield made


def _lengths(t: Type) -> Iterator[Size]:
    return (u.length for u in types_within(t) if isinstance(u, Array))


def _with_length(subject: Subject, number: int, smaller: int) -> Subject | None:
    """The program with inputs of another length, where it is typed with them."""
    from relift.semantics.notation.parser import parse_term
    from relift.semantics.notation.printer import show

    def shorter(t: Type) -> Type:
        match t:
            case Array(element, n):
                return Array(shorter(element), Size.of(smaller) if n.constant == number else n)
            case Tuple(parts):
                return Tuple(tuple(map(shorter, parts)))
            case Vector() | Scalar() | TypeVariable():
                return t

    try:
        parameters = tuple(Input(p.name, shorter(p.type)) for p in subject.program.parameters)
        body = parse_term(show(subject.program.body), {p.name: p for p in parameters})
    except (ReliftError, SyntaxError, AssertionError):
        return None
    program = Program(subject.program.name, parameters, body)
    return _at(subject, program, dict(subject.sizes))


def _at(subject: Subject, program: Program, sizes: dict[str, int]) -> Subject | None:
    """The program at smaller sizes, with as much of the arguments as fits."""
    try:
        here = program.at({n: v for n, v in sizes.items() if n in program.sizes})
    except ReliftError:
        return None
    arguments = tuple(
        cropped(a, p.type) for a, p in zip(subject.arguments, here.parameters, strict=True)
    )
    return replace(subject, program=program, sizes=sizes, arguments=arguments)


def _simpler_inputs(subject: Subject) -> Iterator[Subject]:
    for number, argument in enumerate(subject.arguments):
        for simple in simpler(argument):
            some = list(subject.arguments)
            some[number] = simple
            yield replace(subject, arguments=tuple(some))
