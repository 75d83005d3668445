"""Terms: a closed union of frozen dataclasses with named binders.

A lambda is not a term but a field of a pattern, so there is no application node and no first-class
function.  Letters: `t` term, `x` variable, `f` function, `xs` array, `n` size.  Every term knows its type.

    t ::= x | input | literal | scalar(t, ...) | user(t, ...) | op(t, t) | (t, ...) | t[i]
        | metavariable(t, ...) | a pattern of `patterns`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type

if TYPE_CHECKING:
    from relift.semantics.syntax.signatures import Signature

Number: TypeAlias = int | float | bool


class Expression:
    """Python's notation on terms: `a + b`, `p[0]`, `x, y = p`; each builds a term at once."""

    type: Type

    def __add__(self, other: Any) -> Term:
        return _scalar("add", self, other)

    def __radd__(self, other: Any) -> Term:
        return _scalar("add", other, self)

    def __sub__(self, other: Any) -> Term:
        return _scalar("sub", self, other)

    def __rsub__(self, other: Any) -> Term:
        return _scalar("sub", other, self)

    def __mul__(self, other: Any) -> Term:
        return _scalar("mul", self, other)

    def __rmul__(self, other: Any) -> Term:
        return _scalar("mul", other, self)

    def __truediv__(self, other: Any) -> Term:
        return _scalar("div", self, other)

    def __rtruediv__(self, other: Any) -> Term:
        return _scalar("div", other, self)

    def __neg__(self) -> Term:
        return _scalar("neg", self)

    def __floordiv__(self, other: Any) -> Term:
        return _scalar("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Term:
        return _scalar("floor_divide", other, self)

    def __mod__(self, other: Any) -> Term:
        return _scalar("modulo", self, other)

    def __rmod__(self, other: Any) -> Term:
        return _scalar("modulo", other, self)

    def __pow__(self, other: Any) -> Term:
        return _scalar("power", self, other)

    def __abs__(self) -> Term:
        return _scalar("absolute", self)

    def __and__(self, other: Any) -> Term:
        return _scalar("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Term:
        return _scalar("bitwise_and", other, self)

    def __or__(self, other: Any) -> Term:
        return _scalar("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Term:
        return _scalar("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Term:
        return _scalar("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Term:
        return _scalar("bitwise_xor", other, self)

    def __invert__(self) -> Term:
        return _scalar("invert", self)

    def __lt__(self, other: Any) -> Term:
        return _scalar("lt", self, other)

    def __le__(self, other: Any) -> Term:
        return _scalar("le", self, other)

    def __gt__(self, other: Any) -> Term:
        return _scalar("gt", self, other)

    def __ge__(self, other: Any) -> Term:
        return _scalar("ge", self, other)

    def __bool__(self) -> bool:
        raise IllTyped(
            "a term has no truth value while it is traced; use select(condition, a, b), "
            "minimum or maximum; conditions are joined by & and |"
        )

    def __array_ufunc__(self, function: Any, method: str, *given: Any, **options: Any) -> Any:
        """NumPy's functions, and its operators, whose left side is a value of NumPy's, know no terms."""
        from relift.semantics.language.tracing import refused_by_numpy

        raise refused_by_numpy(function.__name__, given)

    def __float__(self) -> float:
        raise IllTyped(
            "a term has no number while it is traced; use the functions of relift, such as rl.sqrt"
        )

    __int__ = __index__ = __float__

    def __len__(self) -> int:
        if isinstance(self.type, Tuple):
            return len(self.type.parts)
        length = f"is {self.type.length}" if isinstance(self.type, Array) else "does not exist"
        raise IllTyped(f"the length of a {self.type} {length}; use the size that its type names")

    def __getitem__(self, index: int) -> Term:
        from relift.semantics.language.tracing import component

        return component(self, index)

    def __iter__(self) -> Iterator[Term]:
        if not isinstance(self.type, Tuple):
            raise IllTyped(f"only a tuple can be unpacked, not a value of type {self.type}")
        return (self[i] for i in range(len(self.type.parts)))


def _scalar(name: str, *arguments: Any) -> Term:
    from relift.semantics.language.tracing import scalar

    return scalar(name, *arguments)


@dataclass(frozen=True)
class Var(Expression):
    """A variable bound by a lambda."""

    name: str
    type: Type


@dataclass(frozen=True)
class Input(Expression):
    """A parameter of the program."""

    name: str
    type: Type


@dataclass(frozen=True, eq=False)
class Literal(Expression):
    """A scalar constant; the same where it is written the same, so not-a-number is itself and 0.0 is not -0.0.

    >>> nan = float("nan")
    >>> Literal(nan, f32) == Literal(nan, f32), Literal(0.0, f32) == Literal(-0.0, f32)
    (True, False)
    """

    value: Number
    type: Type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._written == other._written

    def __hash__(self) -> int:
        return hash(self._written)

    @property
    def _written(self) -> tuple[Type, Number, str]:
        """The type, and how the value is written where `==` does not tell: 0.0 and -0.0, not-a-number."""
        if isinstance(self.type, Scalar) and self.type.is_float and abs(self.value) != math.inf:
            with suppress(OverflowError):  # a whole number beyond all floats
                return self.type, 0, repr(float(self.value))
        return self.type, self.value, ""


@dataclass(frozen=True)
class Apply(Expression):
    """A scalar function of `scalars`, by name."""

    function: str
    arguments: tuple[Term, ...]
    type: Type


@dataclass(frozen=True)
class Call(Expression):
    """A user function."""

    function: UserFunction
    arguments: tuple[Term, ...]
    type: Type


@dataclass(frozen=True)
class Combine(Expression):
    """A binary operator with declared laws, applied."""

    operator: Operator
    left: Term
    right: Term
    type: Type


@dataclass(frozen=True)
class MakeTuple(Expression):
    """A tuple of two components or more."""

    parts: tuple[Term, ...]
    type: Type


@dataclass(frozen=True)
class Get(Expression):
    """Component `index` of a tuple."""

    index: int
    of: Term
    type: Type


@dataclass(frozen=True)
class Metavariable(Expression):
    """A metavariable of a rule, applied to terms (Miller pattern); without arguments it stands for data."""

    name: str
    arguments: tuple[Term, ...]
    type: Type


def _unstated(*_: object) -> Any:
    raise AssertionError("cannot happen: the pattern does not state it")


@dataclass(frozen=True)
class Pattern(Expression):
    """What all patterns share: a signature, a meaning, and what typing found out about the node.

    `solved` holds the sizes that the signature names and typing determined: for `join`, its row length.

    For the prover, `rocq` is the pattern in its language, over its parameters and solved sizes; `rocq_positive`
    are sizes that must be at least 1 for that to be defined, beyond those of the signature.  `rocq_defined` says
    there where the pattern is defined, its data being so: `{f_defined}` is where the function f is, and
    `{idx_whole}` an index function with whole numbers as results.  Empty: wherever its data are.  A pattern
    is `partial` that may be undefined although its data and functions are not.  It `branches` that looks at
    data to decide which data it yields, so that it is undefined where those are left open; `pad_empty`
    `leaves_open` what is around its data.  What programs call it, where
    that is no function of its parameters alone, is how it is `spelled`.

    For all that follows indices, `view` is the pattern as an index function, over an algebra `ix` (see
    `indices.algebra`) and, by name, its parameters and solved sizes; and `inverse` says, given where the result
    is written, where the data are.  A pattern is a `layout` that only moves data when its functions do; so such
    are compiled and searched by their view alone.  Its functions are applied where it stands if `in_place`.

    Any other is `compiled` if kernels contain it, and `searched` if what a search finds may; `instead` says what
    to write for one that no kernel contains.
    """

    signature: ClassVar[Signature]
    meaning: ClassVar[Callable[..., Any]]
    name: ClassVar[str]
    rocq: ClassVar[str]
    rocq_defined: ClassVar[str] = ""
    partial: ClassVar[bool] = False
    branches: ClassVar[bool] = False
    leaves_open: ClassVar[bool] = False
    rocq_positive: ClassVar[tuple[Size, ...]] = ()
    view: ClassVar[Callable[..., Any]] = staticmethod(_unstated)
    inverse: ClassVar[Callable[..., Any]] = staticmethod(_unstated)
    layout: ClassVar[bool] = False
    in_place: ClassVar[bool] = False
    compiled: ClassVar[bool] = False
    searched: ClassVar[bool] = False
    instead: ClassVar[str] = ""
    spelled: ClassVar[str] = ""

    type: Type = field(kw_only=True, compare=False, repr=False)
    solved: Mapping[str, Size] = field(kw_only=True, compare=False, repr=False)

    def __init_subclass__(cls) -> None:
        """A layout has a view, and is compiled and searched unless it says otherwise."""
        assert cls.has_view() or not cls.layout, f"{cls.__name__} is a layout and states no view"
        for capability in ("compiled", "searched"):
            if cls.layout and capability not in cls.__dict__:
                setattr(cls, capability, True)

    @classmethod
    def has_view(cls) -> bool:
        """Whether the pattern is stated as an index function."""
        return cls.view is not _unstated

    @classmethod
    def has_inverse(cls) -> bool:
        """Whether the pattern can be written through."""
        return cls.inverse is not _unstated

    def bound_size(self, place: str) -> str | None:
        """The name of the size that is bound in the function at a place, if one is."""
        kind = self.signature.parameters[place]
        bound: str | None = getattr(kind, "binds", None)
        return None if bound is None else str(self.solved[bound])


Term: TypeAlias = (
    Var | Input | Literal | Apply | Call | Combine | MakeTuple | Get | Metavariable | Pattern
)


@dataclass(frozen=True)
class Lambda:
    """A function that is a field of a pattern."""

    parameters: tuple[Var, ...]
    body: Term


@dataclass(frozen=True)
class Laws:
    """What a program promises of an operator; nothing is assumed that is not stated here."""

    associative: bool = False
    commutative: bool = False
    neutral: Number | None = None
    idempotent: bool = False
    distributes_over: tuple[BinaryOperator, ...] = ()


@dataclass(frozen=True)
class BinaryOperator:
    """A named operator, with the function it abbreviates and the laws it is declared to obey."""

    name: str
    laws: Laws
    function: Callable[[Any, Any], Any] = field(
        repr=False
    )  # compared: a name alone may be taken twice

    def __call__(self, left: Any, right: Any) -> Term:
        from relift.semantics.language.tracing import combine

        return combine(self, left, right)


@dataclass(frozen=True)
class OperatorMetavariable:
    """An operator metavariable of a rule."""

    name: str
    element: Type

    def __call__(self, left: Any, right: Any) -> Term:
        from relift.semantics.language.tracing import combine

        return combine(self, left, right)


@dataclass(frozen=True)
class Vectorized:
    """`operator`, lane by lane, on vectors of `width` lanes."""

    width: Size
    operator: Operator

    def __call__(self, left: Any, right: Any) -> Term:
        from relift.semantics.language.tracing import combine

        return combine(self, left, right)


Operator: TypeAlias = BinaryOperator | OperatorMetavariable | Vectorized


def innermost(operator: Operator) -> BinaryOperator | OperatorMetavariable:
    """The operator on single elements that a vectorised one applies to each lane."""
    while isinstance(operator, Vectorized):
        operator = operator.operator
    return operator


@dataclass(frozen=True)
class UserFunction:
    """A named scalar function of the user's.

    `body` is set when it was traced from Python; otherwise `c` is an opaque C function body, and `reference` is
    the Python function that means the same.
    """

    name: str
    parameters: tuple[str, ...]
    types: tuple[Type, ...]
    result: Type
    c: str | None
    body: Lambda | None
    reference: Callable[..., Any] = field(compare=False, repr=False)

    def __call__(self, *arguments: Any) -> Term:
        from relift.semantics.language.tracing import call

        return call(self, arguments)


def children(t: Term) -> Iterator[tuple[str, Term | Lambda]]:
    """The immediate subterms and lambdas of `t`, each with the name of its place."""
    match t:
        case Var() | Input() | Literal():
            pass
        case Apply(_, arguments) | Call(_, arguments) | Metavariable(_, arguments):
            yield from ((f"arguments.{i}", u) for i, u in enumerate(arguments))
        case Combine(_, left, right):
            yield "left", left
            yield "right", right
        case MakeTuple(parts):
            yield from ((f"parts.{i}", u) for i, u in enumerate(parts))
        case Get(_, of):
            yield "of", of
        case Pattern():
            for name in t.signature.term_fields:
                yield name, getattr(t, name)


def subterms(t: Term, bound: tuple[Var, ...] = ()) -> Iterator[tuple[Term, tuple[Var, ...]]]:
    """`t` and everything below it, each with the variables bound around it, outermost first."""
    yield t, bound
    for _, child in children(t):
        if isinstance(child, Lambda):
            yield from subterms(child.body, bound + child.parameters)
        else:
            yield from subterms(child, bound)


def distinct(t: Term) -> Iterator[Term]:
    """`t` and everything below it, in the order of `subterms`; what stands in several places is met once.

    >>> x = Input("x", f32)
    >>> twice = Apply("mul", (Apply("neg", (x,), f32),) * 2, f32)
    >>> len(list(distinct(twice))), len(list(subterms(twice)))
    (3, 5)
    """
    met: set[int] = set()

    def visit(t: Term) -> Iterator[Term]:
        if id(t) in met:
            return
        met.add(id(t))
        yield t
        for _, child in children(t):
            yield from visit(child.body if isinstance(child, Lambda) else child)

    return visit(t)


MOST_PARTS = 100_000
"""So many parts of a term are written out; a kernel of so many takes some ten seconds to make."""


def require_writable(t: Term | Lambda, what: str) -> None:
    """Raise `Unsupported` for a term that is small only because values are shared which a text would repeat."""
    if (parts := _parts(t.body if isinstance(t, Lambda) else t)) > MOST_PARTS:
        raise Unsupported(
            f"{what} has {parts:{',' if parts < 10**9 else '.0e'}} parts when it is written out, and {MOST_PARTS:,} is the most: a value that is "
            "used several times is written as often; give it a name, rl.let(lambda v: ..., value)"
        )


def _parts(t: Term) -> int:
    """How many parts a term has where all are written, those that are shared once for each place."""
    found: dict[int, int] = {}

    def visit(t: Term) -> int:
        if id(t) not in found:
            below = (c.body if isinstance(c, Lambda) else c for _, c in children(t))
            found[id(t)] = 1 + sum(map(visit, below))
        return found[id(t)]

    return visit(t)


def unused(name: str, taken: Container[str]) -> str:
    """The name, with as many underscores behind it as it takes until nobody has it.

    >>> unused("x", {"x", "x_"}), unused("y", {"x"})
    ('x__', 'y')
    """
    while name in taken:
        name += "_"
    return name


def free_variables(t: Term) -> frozenset[str]:
    """The names of the variables that `t` uses and does not bind."""
    if isinstance(t, Var):
        return frozenset((t.name,))
    free: frozenset[str] = frozenset()
    for _, child in children(t):
        if isinstance(child, Lambda):
            free |= free_variables(child.body) - {x.name for x in child.parameters}
        else:
            free |= free_variables(child)
    return free
