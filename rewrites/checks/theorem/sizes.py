"""Programs whose sizes have names: what several instances of one derivation have in common.

An instance is the derivation at some sizes.  Its programs hold numbers; here each number becomes a name, and two of
them one name only where they are equal in every instance.  So what is proved of the names holds at every size that
satisfies what the proof asks of it; the more instances, the fewer numbers are equal by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias

from relift.rewrites.checks.rocq.text import never_negative
from relift.semantics.errors import Unsupported
from relift.semantics.indices.functions import IndexExpression, IndexFunction
from relift.semantics.indices.rows import Numbers
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import BinaryOperator, Literal, UserFunction, Var
from relift.semantics.syntax.types import Scalar

Values: TypeAlias = tuple[int, ...]
"""What a size is in each instance."""


class Unlike(Exception):
    """Instances that differ in more than sizes."""


@dataclass
class NamedSizes:
    """The sizes of a theorem, and what each is in every instance."""

    instances: int
    values: dict[str, Values] = field(default_factory=dict)
    natural: dict[tuple[IndexExpression, Size], bool] = field(default_factory=dict)
    """Of what was asked whether it stays natural, in the first instance, and the answers."""
    _names: dict[Values, str] = field(default_factory=dict)
    _numbers: dict[Size, Values] = field(default_factory=dict)
    _merged: dict[tuple[int, ...], tuple[tuple[Any, ...], Any]] = field(default_factory=dict)

    def named(self, values: Values) -> Size:
        """The size that has these values."""
        if values not in self._names:
            name = f"s{len(self._names)}"
            self._names[values] = name
            self.values[name] = values
        return Size.atom(self._names[values])

    def of(self, n: Size) -> Values:
        """What a polynomial over such names is in each instance.

        >>> from relift.rewrites.checks.theorem.sizes import NamedSizes
        >>> sizes = NamedSizes(2)
        >>> rows, columns = sizes.named((4, 6)), sizes.named((2, 3))
        >>> sizes.of(rows * columns - 1)
        (7, 17)
        """
        if n not in self._numbers:
            self._numbers[n] = self._evaluated(n)
        return self._numbers[n]

    def _evaluated(self, n: Size) -> Values:
        if n.constant is not None:
            return (n.constant,) * self.instances
        names = n.names()
        if unknown := names - self.values.keys():
            raise Unsupported(f"a function for every size {min(unknown)}", place="")
        return tuple(
            n.evaluate({name: self.values[name][i] for name in names})
            for i in range(self.instances)
        )

    def numbers(self, n: Size) -> Size:
        """The size in the first instance, as a number."""
        return Size.of(self.of(n)[0])

    def stays_natural(self, body: IndexExpression, length: Size) -> bool:
        """Whether nothing that an expression computes is negative in the first instance, as far as ranges tell."""
        asked = body, length
        if asked not in self.natural:
            numbers = {name: Size.of(values[0]) for name, values in self.values.items()}
            there = IndexFunction(body).substitute(numbers).body
            self.natural[asked] = never_negative(there, self.numbers(length))
        return self.natural[asked]

    def standing_for(self, other: NamedSizes) -> Mapping[Values, Values] | None:
        """What is here in place of the values that sizes of the same names have there; None where a proof sees a difference.

        That is where two of the sizes that it asked for are equal in one and not in the other, or an answer is another.

        >>> from relift.rewrites.checks.theorem.sizes import NamedSizes
        >>> sizes, larger, equal = (NamedSizes(1) for _ in range(3))
        >>> s0, s1 = sizes.named((4,)), sizes.named((3,))
        >>> sizes.of(s0 + s1)
        (7,)
        >>> found = [other.named((n,)) for other, n in ((larger, 8), (larger, 5), (equal, 8), (equal, 0))]
        >>> larger.standing_for(sizes)
        {(4,): (8,), (3,): (5,), (7,): (13,)}
        >>> equal.standing_for(sizes)  # 8 + 0 is 8
        """
        if self.values.keys() != other.values.keys():
            return None
        there = [*other.values.values(), *other._numbers.values()]
        here = [*(self.values[name] for name in other.values), *map(self.of, other._numbers)]
        found = dict(zip(there, here, strict=True))
        if len(set(here)) != len(found) or any(
            found[old] != new for old, new in zip(there, here, strict=True)
        ):
            return None
        answers = other.natural.items()
        return found if all(self.stays_natural(*asked) == said for asked, said in answers) else None

    def merged(self, parts: Sequence[Any]) -> Any:
        """What the same part of each instance is with names for sizes; raises `Unlike`.

        Binders have the names that they have in the first instance.
        """
        key = tuple(map(id, parts))
        if key not in self._merged:
            whole = tuple(parts)
            self._merged[key] = (
                whole,
                self._merge(whole),
            )  # which keeps the parts, and so their ids
        return self._merged[key][1]

    def _merge(self, parts: tuple[Any, ...]) -> Any:
        first = parts[0]
        if any(type(part) is not type(first) for part in parts):
            raise Unlike
        if isinstance(first, Size):
            return self._merged_sizes(parts)
        if isinstance(first, Var):
            return Var(first.name, self.merged([x.type for x in parts]))
        if isinstance(first, Mapping):
            if any(part.keys() != first.keys() for part in parts):
                raise Unlike
            return {key: self.merged([part[key] for part in parts]) for key in parts[0]}
        if isinstance(first, tuple):
            if any(len(part) != len(parts[0]) for part in parts):
                raise Unlike
            return tuple(self.merged(group) for group in zip(*parts, strict=True))
        if isinstance(first, _WHOLE) or not is_dataclass(first):
            return _same(parts)
        values = {
            f.name: self.merged([getattr(part, f.name) for part in parts])
            for f in fields(first)
            if f.init
        }
        made: Any = type(first)
        return made(**values)

    def _merged_sizes(self, parts: Sequence[Size]) -> Size:
        values = [n.constant for n in parts]
        known = tuple(n for n in values if n is not None)
        if len(known) < len(values):
            raise Unsupported("a function for every size", place="")
        return self.named(known)


_WHOLE = (Literal, Numbers, Scalar, BinaryOperator, UserFunction)
"""What holds no sizes, and so is the same in every instance; all else is merged field by field."""


def _same(parts: tuple[Any, ...]) -> Any:
    if any(part != parts[0] for part in parts):
        raise Unlike
    return parts[0]


def alike(a: Any, b: Any, known: dict[tuple[int, int], tuple[Any, Any]]) -> bool:
    """Whether two parts are the same in all that they hold; `==` leaves out the types that follow from a term.

    `known`: pairs that are alike, by their ids; programs share most of what is in them.

    >>> from relift import f32
    >>> from relift.rewrites.checks.theorem.sizes import alike
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.expression import changed
    >>> from relift.semantics.syntax.terms import Input
    >>> t = parse_term("split(2, xs)", {"xs": Input("xs", f32[8])})
    >>> other = changed(t, {"type": f32[2, 4]})
    >>> t == other, alike(t, other, {})
    (True, False)
    """
    if a is b or (id(a), id(b)) in known:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Mapping):
        same = list(a) == list(b) and all(alike(a[key], b[key], known) for key in a)
    elif isinstance(a, tuple):
        same = len(a) == len(b) and all(alike(x, y, known) for x, y in zip(a, b, strict=True))
    elif isinstance(a, _WHOLE) or not is_dataclass(a):
        return bool(a == b)
    else:
        held = (f.name for f in fields(a) if f.init)
        same = all(alike(getattr(a, name), getattr(b, name), known) for name in held)
    if same:
        known[id(a), id(b)] = a, b
    return same
