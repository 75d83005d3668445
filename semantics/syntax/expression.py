"""Python's notation on terms: what all terms share, so that `a + b` and `p[0]` are terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from relift.display.displayed import Displayed
from relift.semantics.errors import IllTyped
from relift.semantics.syntax import overloading
from relift.semantics.syntax.operations import Combined
from relift.semantics.syntax.types import Array, Tuple, Type

if TYPE_CHECKING:
    from relift.semantics.syntax.terms import Term

E = TypeVar("E", bound="Expression")


@cache
def _fields_of(kind: type[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the fields of a kind of term, and of those by which terms of that kind differ."""
    known = fields(kind)
    return tuple(f.name for f in known), tuple(f.name for f in known if f.compare)


def changed(t: E, changes: Mapping[str, Any]) -> E:
    """A term with other values in some fields; as `dataclasses.replace`, which asks each field what it is.

    >>> from relift import f32
    >>> from relift.semantics.syntax.expression import changed
    >>> from relift.semantics.syntax.terms import Var
    >>> changed(Var("x", f32), {"name": "y"})
    Var(name='y', type=f32)
    """
    kind: Any = type(t)
    names, _ = _fields_of(kind)
    made: E = object.__new__(kind)
    held, given = vars(made), vars(t)
    for name in names:
        held[name] = given[name]
    held.update(changes)
    return made


def _kept_hash(t: ByParts) -> int:
    """The hash of a term, which it keeps: terms that are rewritten share most of what is below them."""
    held = vars(t)
    known: int | None = held.get("_hash")
    if known is None:
        kind: Any = type(t)
        _, compared = _fields_of(kind)
        known = held["_hash"] = hash((kind, *(held[name] for name in compared)))
    return known


def _equal(t: ByParts, other: object) -> bool:
    """Whether two terms are equal; what stands in several places of both is gone through once."""
    met = set[tuple[int, int]]()
    waiting: list[tuple[Any, Any]] = [(t, other)]
    while waiting:
        a, b = waiting.pop()
        if a is b or (id(a), id(b)) in met:
            continue
        if isinstance(a, ByParts) and not a.own_equality:
            if type(a) is not type(b) or hash(a) != hash(b):
                return False
            met.add((id(a), id(b)))
            ours, theirs = vars(a), vars(b)
            kind: Any = type(a)
            waiting += ((ours[name], theirs[name]) for name in _fields_of(kind)[1])
        elif isinstance(a, tuple) and isinstance(b, tuple):
            if len(a) != len(b):
                return False
            waiting += zip(a, b, strict=True)
        elif a != b:
            return False
    return True


class ByParts:
    """What is equal to what has equal parts: terms, and functions in them.

    A kind that does not say how it is compared or hashed is so by its fields, and keeps its hash.
    """

    own_equality: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.own_equality = cls.own_equality or "__eq__" in vars(cls)
        if not cls.own_equality:
            type.__setattr__(cls, "__eq__", _equal)
        if "__hash__" not in vars(cls):
            type.__setattr__(cls, "__hash__", _kept_hash)

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what is kept beside them is cheap to find again, and a hash holds in one process."""
        kind: Any = type(self)
        return {name: vars(self)[name] for name in _fields_of(kind)[0]}


def _operator(name: str) -> Callable[[Any, Any], Term]:
    """An operator of Python's as a scalar function."""
    return lambda left, right: overloading.scalar(name, left, right)


def _reflected(name: str) -> Callable[[Any, Any], Term]:
    """The same where the term stands on the right."""
    return lambda right, left: overloading.scalar(name, left, right)


def _missing(notation: str, instead: str) -> Callable[..., Any]:
    """Python's notation that no term has: what to write instead."""

    def refuse(*_: Any) -> Any:
        raise IllTyped(f"a term has no {notation}; {instead}")

    return refuse


class Expression(Displayed, Combined, ByParts):
    """Python's notation on terms: `a + b`, `p[0]`, `x, y = p`; each builds a term at once.

    Every kind of term says what it `holds`, in the order in which it is written, and what of that stands
    `below` it: one term or lambda in each such field, and several terms in its `row`.
    """

    shown_by: ClassVar = "relift.semantics.notation.displays:of_term"

    type: Type
    holds: ClassVar[tuple[str, ...]] = ()
    below: ClassVar[tuple[str, ...]] = ()
    row: ClassVar[str] = ""

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("sub"), _reflected("sub")
    __mul__, __rmul__ = _operator("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _operator("div"), _reflected("div")
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _operator("modulo"), _reflected("modulo")
    __and__, __rand__ = _operator("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _operator("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _operator("bitwise_xor"), _reflected("bitwise_xor")
    __rlshift__, __rrshift__ = _reflected("left_shift"), _reflected("right_shift")
    __lt__, __le__ = _operator("lt"), _operator("le")
    __gt__, __ge__ = _operator("gt"), _operator("ge")

    __matmul__ = __rmatmul__ = _missing(
        "@", "write rl.map over rows and columns, and rl.reduce of their products"
    )
    __round__ = _missing("round", "write rl.floor(v + 0.5)")
    __trunc__ = _missing("trunc", "write rl.select(v < 0.0, rl.ceil(v), rl.floor(v))")

    def __pow__(self, exponent: Any, modulus: None = None) -> Term:
        if modulus is not None:
            raise IllTyped("a term has no pow with a modulus; write v**k % m")
        return overloading.raised(self, exponent)

    def __lshift__(self, bits: Any) -> Term:
        return overloading.shifted("left_shift", self, bits)

    def __rshift__(self, bits: Any) -> Term:
        return overloading.shifted("right_shift", self, bits)

    def __divmod__(self, divisor: Any) -> tuple[Term, Term]:
        return self // divisor, self % divisor

    def __rdivmod__(self, dividend: Any) -> tuple[Term, Term]:
        return dividend // self, dividend % self

    def __pos__(self) -> Any:
        overloading.scalar("neg", self)  # which says what is no number
        return self

    def __neg__(self) -> Term:
        return overloading.scalar("neg", self)

    def __abs__(self) -> Term:
        return overloading.scalar("absolute", self)

    def __invert__(self) -> Term:
        return overloading.scalar("invert", self)

    def __bool__(self) -> bool:
        raise IllTyped(
            "a term has no truth value while it is traced; use select(condition, a, b), "
            "minimum or maximum; conditions are joined by & and |"
        )

    def __array_ufunc__(self, function: Any, method: str, *given: Any, **options: Any) -> Any:
        """NumPy's functions, and its operators, whose left side is a value of NumPy's, know no terms."""
        raise overloading.refused_by_numpy(function.__name__, given)

    def __float__(self) -> float:
        raise IllTyped(
            "a term has no number while it is traced; use the functions of relift, such as rl.sqrt"
        )

    __int__ = __index__ = __float__

    def __floor__(self) -> Term:
        return overloading.scalar("floor", self)

    def __ceil__(self) -> Term:
        return overloading.scalar("ceil", self)

    def __format__(self, form: str) -> str:
        if form:
            self.__float__()
        return str(self)

    def __len__(self) -> int:
        if isinstance(self.type, Tuple):
            return len(self.type.parts)
        length = f"is {self.type.length}" if isinstance(self.type, Array) else "does not exist"
        raise IllTyped(f"the length of a {self.type} {length}; use the size that its type names")

    def __getitem__(self, index: int) -> Term:
        return overloading.component(self, index)

    def __iter__(self) -> Iterator[Term]:
        if not isinstance(self.type, Tuple):
            raise IllTyped(f"only a tuple can be unpacked, not a value of type {self.type}")
        return (self[i] for i in range(len(self.type.parts)))
