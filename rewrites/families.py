"""Rules over a choice: one equation with a metavariable for the value of a field, and a rule for every value.

A parameter `Among` words stands in turn for what each of them means.  The rule of a word has the word in its name,
where the name of the parameter stands, and in the text of its source and page; it is proved, recorded and searched
like any other, so nothing is believed of a word that was not shown of it.

>>> import relift as rl
>>> from relift.rewrites.families import Among
>>> from relift.rewrites.notation import A, n, left, right
>>> Edge = Among({"clamp": rl.clamp, "wrap": rl.wrap})
>>> @rl.rule()
... def pad_edge_nothing(edge: Edge, xs: A[n]):
...     "No border, so nothing by {edge}."
...     return rl.pad(0, 0, edge, xs), xs
>>> for found in pad_edge_nothing.rules:
...     print(found, found.doc)
pad_clamp_nothing: pad(0, 0, clamp, xs) == xs No border, so nothing by clamp.
pad_wrap_nothing: pad(0, 0, wrap, xs) == xs No border, so nothing by wrap.

A rule whose text says the type of a number is one for each type that numbers have: `Number` stands for it, and
`_number` in the name for its name, but that of `f32`; so do `Float` and `Whole` for those of floats and of whole
numbers.

>>> from relift.rewrites.families import Number
>>> @rl.rule()
... def added_number(x: Number, y: Number):
...     "Two of {number}."
...     return x + y, y + x
>>> for found in added_number.rules[1:]:
...     print(found.name, found.parameters["x"], found.doc)
added f32 Two of f32.
added_f64 f64 Two of f64.
added_i32 i32 Two of i32.
added_i64 i64 Two of i64.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, TypeVar

from relift.semantics.errors import IllTyped
from relift.semantics.language import functions
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.signatures import FunctionKind, Kind, OperatorKind
from relift.semantics.syntax.terms import Pattern
from relift.semantics.syntax.types import (
    FLOATS,
    INTEGERS,
    SCALARS,
    AnyType,
    Type,
    TypeVariable,
    boolean,
    f32,
    substitute_type,
)

P = TypeVar("P", bound=Pattern)

Number, Float, Whole = TypeVariable("Number"), TypeVariable("Float"), TypeVariable("Whole")
"""In the types of metavariables the type of a number, of a float, of a whole number: one after another of those that there are."""

NUMBERS: Mapping[Type, str] = {
    t: "" if t == f32 else f"_{t}" for t in SCALARS.values() if t != boolean
}
"""The types of numbers, each with what the names of its rules end with."""

_STAND_FOR: Mapping[TypeVariable, Iterable[Type]] = {
    Number: NUMBERS,
    Float: FLOATS.values(),
    Whole: INTEGERS.values(),
}


@dataclass(frozen=True)
class Data:
    """A metavariable for data, in place of a choice: for the value that a border repeats."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Among:
    """The kind of a metavariable over a choice: what stands for it, by the word of each."""

    values: Mapping[str, Any]

    def without(self, *words: str) -> Among:
        """The choice among the others."""
        return Among({word: value for word, value in self.values.items() if word not in words})


def variants(pattern: type[P], word: Callable[[type[P]], str], *, but: str = "") -> Among:
    """The choice among the variants of a definition, each by a word for it; of all patterns there are, but the one of this name.

    >>> from relift.rewrites.families import variants
    >>> from relift.semantics.patterns import Store
    >>> list(variants(Store, lambda found: str(found.space)).values)
    ['global', 'local', 'private']
    """
    found = (p for p in PATTERNS.values() if issubclass(p, pattern) and p.name != but)
    return Among({word(p): getattr(functions, p.name) for p in found})


@dataclass(frozen=True)
class Chosen:
    """A word of a choice, and what stands for it: a value, or a metavariable for data."""

    word: str
    value: Any


def instances(function: FunctionType) -> Iterator[FunctionType]:
    """The function of a rule for each value of its choices; the function itself where it has none."""
    kinds = function.__annotations__.values()
    known = [v for v in _STAND_FOR if function.__globals__.get(v.name) is v]
    letter = next((v for v in known if any(re.search(rf"\b{v}\b", str(of)) for of in kinds)), None)
    if letter is None:
        yield from _chosen_in(function)
        return
    for t in _STAND_FOR[letter]:
        yield from _chosen_in(_at_type(function, letter, t))


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The kinds of the metavariables; those that are written as text are evaluated at the file's top level."""
    found = inspect.get_annotations(function)
    for name, of in found.items():
        if isinstance(of, str):
            try:
                found[name] = eval(of, function.__globals__)  # as `inspect` does
            except SyntaxError as error:
                why = f"is no Python expression: {error.msg}"
                raise IllTyped(f"{function.__name__}: the type of {name}, {of!r}, {why}") from None
            except NameError as error:
                why = f"{error}; names of types and sizes belong at the top of the file"
                raise IllTyped(f"{function.__name__}: the type of {name}, {of!r}: {why}") from None
    return found


def _at_type(function: FunctionType, letter: TypeVariable, t: Type) -> FunctionType:
    """The function of a rule whose numbers have a type."""
    word = letter.name.lower()
    name, _, last = function.__name__.rpartition("_")
    if last != word:
        raise IllTyped(f"{function.__name__} is of any {word}, so its name must end with _{word}")
    found = _renamed(function, name + NUMBERS[t])
    found.__annotations__ = {
        parameter: _kind_at(of, {letter.name: t})
        for parameter, of in annotations_of(function).items()
    }
    found.__doc__ = (function.__doc__ or "").replace(f"{{{word}}}", str(t))
    return found


def _kind_at(kind: Any, types: Mapping[str, Type]) -> Any:
    """The kind of a metavariable where some letters are types."""

    def of(u: Any) -> Any:
        return substitute_type(u, types, {})

    if isinstance(kind, FunctionKind):
        return replace(kind, arguments=tuple(map(of, kind.arguments)), result=of(kind.result))
    if isinstance(kind, OperatorKind):
        return OperatorKind(of(kind.element))
    return of(kind) if isinstance(kind, AnyType) else kind


def _chosen_in(function: FunctionType) -> Iterator[FunctionType]:
    names = function.__globals__
    kinds = {
        parameter: names.get(of)
        if isinstance(of, str)
        else of  # annotations may be written as text
        for parameter, of in function.__annotations__.items()
    }
    choices = {parameter: of for parameter, of in kinds.items() if isinstance(of, Among)}
    for words in itertools.product(*(choice.values.items() for choice in choices.values())):
        chosen = {name: Chosen(*pair) for name, pair in zip(choices, words, strict=True)}
        yield _at(function, chosen) if chosen else function


def _at(function: FunctionType, chosen: Mapping[str, Chosen]) -> FunctionType:
    """The function where its choices are made: under another name, on other parameters, with another page."""
    name = function.__name__
    for parameter, choice in chosen.items():
        if parameter not in name:
            raise IllTyped(f"{name}: {parameter} is a choice, so the name of the rule must hold it")
        name = name.replace(parameter, choice.word)
    found = _renamed(function, name)
    found.__annotations__ = {**function.__annotations__, **chosen}
    found.__doc__ = said(found, function.__doc__ or "")
    return found


def _renamed(function: FunctionType, name: str) -> FunctionType:
    """The same function under another name."""
    found = FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    found.__qualname__ = function.__qualname__.replace(function.__name__, name)
    return found


def said(function: Callable[..., Any], text: str) -> str:
    """A text about a rule, with the words that are chosen in it."""
    for parameter, choice in function.__annotations__.items():
        if isinstance(choice, Chosen):
            text = text.replace(f"{{{parameter}}}", choice.word)
    return text
