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
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias
from typing import Literal as Choice

from relift.plugins import AWAITED
from relift.semantics.errors import Unsupported
from relift.semantics.syntax import overloading
from relift.semantics.syntax.expression import ByParts, Expression
from relift.semantics.syntax.places import in_row
from relift.semantics.syntax.sizes import Size, unknowns
from relift.semantics.syntax.types import Scalar, Type

if TYPE_CHECKING:
    from relift.semantics.syntax.signatures import Signature

Number: TypeAlias = int | float | bool

LoopKind: TypeAlias = Choice["map", "fold", "lanes"]
"""What a loop does with the elements that it goes through: each by itself, one after the other, or all at once."""


@dataclass(frozen=True)
class Var(Expression):
    """A variable bound by a lambda."""

    holds: ClassVar[tuple[str, ...]] = ("name", "type")

    name: str
    type: Type


@dataclass(frozen=True)
class Input(Expression):
    """A parameter of the program."""

    holds: ClassVar[tuple[str, ...]] = ("name", "type")

    name: str
    type: Type


@dataclass(frozen=True, eq=False)
class Literal(Expression):
    """A scalar constant; the same where it is written the same, so not-a-number is itself and 0.0 is not -0.0.

    >>> from relift import f32
    >>> from relift.semantics.syntax.terms import Literal
    >>> nan = float("nan")
    >>> Literal(nan, f32) == Literal(nan, f32), Literal(0.0, f32) == Literal(-0.0, f32)
    (True, False)
    """

    holds: ClassVar[tuple[str, ...]] = ("value", "type")

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

    holds: ClassVar[tuple[str, ...]] = ("function", "arguments", "type")
    row: ClassVar[str] = "arguments"

    function: str
    arguments: tuple[Term, ...]
    type: Type


@dataclass(frozen=True)
class Call(Expression):
    """A user function."""

    holds: ClassVar[tuple[str, ...]] = ("function", "arguments", "type")
    row: ClassVar[str] = "arguments"

    function: UserFunction
    arguments: tuple[Term, ...]
    type: Type


@dataclass(frozen=True)
class Combine(Expression):
    """A binary operator with declared laws, applied."""

    holds: ClassVar[tuple[str, ...]] = ("operator", "left", "right")
    below: ClassVar[tuple[str, ...]] = ("left", "right")

    operator: Operator
    left: Term
    right: Term
    type: Type


@dataclass(frozen=True)
class MakeTuple(Expression):
    """A tuple of two components or more."""

    holds: ClassVar[tuple[str, ...]] = ("parts",)
    row: ClassVar[str] = "parts"

    parts: tuple[Term, ...]
    type: Type


@dataclass(frozen=True)
class Get(Expression):
    """Component `index` of a tuple."""

    holds: ClassVar[tuple[str, ...]] = ("index", "of")
    below: ClassVar[tuple[str, ...]] = ("of",)

    index: int
    of: Term
    type: Type


@dataclass(frozen=True)
class Metavariable(Expression):
    """A metavariable of a rule, applied to terms (Miller pattern); without arguments it stands for data."""

    holds: ClassVar[tuple[str, ...]] = ("name", "arguments", "type")
    row: ClassVar[str] = "arguments"

    name: str
    arguments: tuple[Term, ...]
    type: Type


def _unstated(*_: object) -> Any:
    raise AssertionError("cannot happen: the pattern does not state it")


@dataclass(frozen=True)
class Pattern(Expression):
    """What all patterns share: a signature, a meaning, and what typing found out about the node.

    `solved` holds the sizes that the signature names and typing determined: for `join`, its row length.

    For the prover, `rocq` is the pattern in its language, over its parameters and solved sizes: a definition of its library
    first, or a term in parentheses; `rocq_respects` is a script for its congruence lemma, where the tactic needs one;
    `rocq_positive` are sizes that must be at least 1 for that to be defined, beyond the signature's.  `rocq_defined` says
    there where the pattern is defined, its data being so: `{f_defined}` is where the function f is, and
    `{idx_whole}` an index function with whole numbers as results.  Empty: wherever its data are.  A pattern
    is `partial` that may be undefined although its data and functions are not.  It `branches` that looks at
    data to decide which data it yields, so that it is undefined where those are left open; `pad_empty`
    `leaves_open` what is around its data.  What programs call it, where that is no function of its parameters alone, is how it is `spelled`.

    For all that follows indices, `view` is the pattern as an index function, over an algebra `ix` (see
    `indices.algebra`) and, by name, its parameters and solved sizes; and `inverse` says, given where the result
    is written, where the data are.  A pattern is a `layout` that only moves data when its functions do; so such
    are compiled and searched by their view alone.  Its functions are applied where it stands if `in_place`.  One that
    `drops` some of its data has no place for these: what is written through it there is written nowhere.

    Any other is `compiled` if kernels contain it, and `searched` if what a search finds may; `instead` says what
    to write for one that no kernel contains.

    A pattern that is a `loop` over its data says of which kind, and whether it is `unrolled`; its `weight` is how much
    it adds to the size of a term.  One that `fills` an array computes it element by element into memory that it is
    given; one with `parts` writes its parts side by side; of what one `keeps`, the value is computed elsewhere once.
    """

    signature: ClassVar[Signature]
    meaning: ClassVar[Callable[..., Any]]
    name: ClassVar[str]
    rocq: ClassVar[str]
    rocq_respects: ClassVar[str] = ""
    rocq_defined: ClassVar[str] = ""
    partial: ClassVar[bool] = False
    branches: ClassVar[bool] = False
    leaves_open: ClassVar[bool] = False
    rocq_positive: ClassVar[tuple[Size, ...]] = ()
    view: ClassVar[Callable[..., Any]] = staticmethod(_unstated)
    inverse: ClassVar[Callable[..., Any]] = staticmethod(_unstated)
    layout: ClassVar[bool] = False
    in_place: ClassVar[bool] = False
    drops: ClassVar[bool] = False
    compiled: ClassVar[bool] = False
    searched: ClassVar[bool] = False
    instead: ClassVar[str] = ""
    spelled: ClassVar[str] = ""
    loop: ClassVar[LoopKind | None] = None
    unrolled: ClassVar[bool] = False
    weight: ClassVar[float] = 1.0
    fills: ClassVar[bool] = False
    parts: ClassVar[bool] = False
    keeps: ClassVar[bool] = False

    type: Type = field(kw_only=True, compare=False, repr=False)
    solved: Mapping[str, Size] = field(kw_only=True, compare=False, repr=False)

    def __init_subclass__(cls) -> None:
        """A layout has a view, and is compiled and searched unless it says otherwise."""
        super().__init_subclass__()
        if hasattr(cls, "signature"):  # which a class that several patterns share leaves to them
            cls.holds, cls.below = tuple(cls.signature.parameters), cls.signature.term_fields
        assert cls.has_view() or not cls.layout, f"{cls.__name__} is a layout and states no view"
        for capability in ("compiled", "searched"):
            if cls.layout and capability not in cls.__dict__:
                setattr(cls, capability, True)
        if (take := AWAITED.get(cls.__module__)) is not None:  # of a plug-in that imports Relift
            take(cls)

    @classmethod
    def has_view(cls) -> bool:
        """Whether the pattern is stated as an index function."""
        return cls.view is not _unstated

    @classmethod
    def has_inverse(cls) -> bool:
        """Whether the pattern can be written through."""
        return cls.inverse is not _unstated

    @property
    def reads_back(self) -> bool:
        """Whether it reads what it has written to its place."""
        return False

    def sized(self, n: Size) -> Size:
        """A size of the signature, as typing solved it for this node."""
        return n.substitute(unknowns(self.solved))

    def bound_size(self, place: str) -> str | None:
        """The name of the size that is bound in the function at a place, if one is."""
        kind = self.signature.parameters[place]
        bound: str | None = getattr(kind, "binds", None)
        return None if bound is None else str(self.solved[bound])


Term: TypeAlias = (
    Var | Input | Literal | Apply | Call | Combine | MakeTuple | Get | Metavariable | Pattern
)


@dataclass(frozen=True)
class Lambda(ByParts):
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
    telescopes_over: tuple[BinaryOperator, ...] = ()
    ends: bool = False
    """Whether the end of a range of whole numbers is neutral where an infinity is: of what only compares its operands."""


@dataclass(frozen=True)
class BinaryOperator:
    """A named operator, with the function it abbreviates and the laws it is declared to obey."""

    name: str
    laws: Laws
    function: Callable[[Any, Any], Any] = field(repr=False)  # compared: two may have one name

    def __call__(self, left: Any, right: Any) -> Term:
        return overloading.combined(self, left, right)


@dataclass(frozen=True)
class OperatorMetavariable:
    """An operator metavariable of a rule."""

    name: str
    element: Type

    def __call__(self, left: Any, right: Any) -> Term:
        return overloading.combined(self, left, right)


@dataclass(frozen=True)
class Vectorized:
    """`operator`, lane by lane, on vectors of `width` lanes."""

    width: Size
    operator: Operator

    def __call__(self, left: Any, right: Any) -> Term:
        return overloading.combined(self, left, right)


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
        return overloading.called(self, arguments)


def children(t: Term) -> Iterator[tuple[str, Term | Lambda]]:
    """The immediate subterms and lambdas of `t`, each with the name of its place."""
    for place in t.below:
        yield place, getattr(t, place)
    if t.row:
        for i, u in enumerate(getattr(t, t.row)):
            yield in_row(t.row, i), u


def inside(t: Term) -> Iterator[tuple[str, Term, tuple[Var, ...]]]:
    """The terms directly below `t`, each with the name of its place and the variables that are bound there."""
    for place in t.below:
        child: Term | Lambda = getattr(t, place)
        if isinstance(child, Lambda):
            yield place, child.body, child.parameters
        else:
            yield place, child, ()
    if t.row:
        for i, u in enumerate(getattr(t, t.row)):
            yield in_row(t.row, i), u, ()


def below_of(t: Term) -> list[Term]:
    """The same terms, without their names."""
    below: list[Term] = []
    for place in t.below:
        u = getattr(t, place)
        below.append(u.body if isinstance(u, Lambda) else u)
    return [*below, *getattr(t, t.row)] if t.row else below


_masks: Final[dict[Any, int]] = {}


def mask_of(kind: Any) -> int:
    """A kind of term as a set of kinds: one bit."""
    return _masks.setdefault(kind, 1 << len(_masks))


def kinds_in(t: Term) -> int:
    """The kinds of a term and of what is below it, as a set of bits; each term keeps its own.

    >>> from relift import f32
    >>> from relift.semantics.syntax.terms import Apply, Input, Literal, kinds_in, mask_of
    >>> t = Apply("neg", (Input("x", f32),), f32)
    >>> kinds_in(t) == mask_of(Apply) | mask_of(Input)
    True
    """
    known: int | None = vars(t).get("_kinds")
    if known is None:
        known = mask_of(type(t))
        for u in below_of(t):
            known |= kinds_in(u)
        vars(t)["_kinds"] = known
    return known


def operator_of(t: Term) -> Operator | None:
    """The operator that a node itself applies, if it does."""
    if isinstance(t, Combine):
        return t.operator
    return getattr(t, "op", None) if isinstance(t, Pattern) else None


def subterms(t: Term) -> Iterator[tuple[Term, tuple[Var, ...]]]:
    """`t` and everything below it, each with the variables bound around it, outermost first."""
    waiting: list[tuple[Term, tuple[Var, ...]]] = [(t, ())]  # not as nested generators hand on
    while waiting:
        t, bound = waiting.pop()
        yield t, bound
        below = [getattr(t, place) for place in t.below]
        if t.row:
            below += getattr(t, t.row)
        for child in reversed(below):
            if isinstance(child, Lambda):
                waiting.append((child.body, bound + child.parameters))
            else:
                waiting.append((child, bound))


def distinct(t: Term) -> Iterator[Term]:
    """`t` and everything below it, in the order of `subterms`; what stands in several places is met once.

    >>> from relift import f32
    >>> from relift.semantics.syntax.terms import Apply, Input, distinct, subterms
    >>> x = Input("x", f32)
    >>> twice = Apply("mul", (Apply("neg", (x,), f32),) * 2, f32)
    >>> len(list(distinct(twice))), len(list(subterms(twice)))
    (3, 5)
    """
    met: dict[int, Term] = {}
    waiting = [t]
    while waiting:
        if id(t := waiting.pop()) not in met:
            met[id(t)] = t  # which so keeps its identity
            yield t
            waiting += below_of(t)[::-1]


MOST_PARTS = 100_000
"""So many parts of a term are written out; a kernel of so many takes some ten seconds to make."""


def require_writable(t: Term | Lambda, what: str) -> None:
    """Raise `Unsupported` for a term that is small only because values are shared which a text would repeat."""
    if (parts := parts_of(t.body if isinstance(t, Lambda) else t)) > MOST_PARTS:
        raise Unsupported(
            f"{what} has {parts:{',' if parts < 10**9 else '.0e'}} parts when it is written out, and {MOST_PARTS:,} is the most: a value that is "
            "used several times is written as often; give it a name, rl.let(lambda v: ..., value)"
        )


def parts_of(t: Term) -> int:
    """How many parts a term has where all are written, those that are shared once for each place; each term keeps its own.

    >>> from relift import f32
    >>> from relift.semantics.syntax.terms import Apply, Input, parts_of
    >>> x = Input("x", f32)
    >>> parts_of(Apply("mul", (Apply("neg", (x,), f32),) * 2, f32))
    5
    """
    known: int | None = vars(t).get("_parts")
    if known is None:
        known = vars(t)["_parts"] = 1 + sum(map(parts_of, below_of(t)))
    return known


def unused(name: str, taken: Container[str]) -> str:
    """The name, with as many underscores behind it as it takes until nobody has it.

    >>> from relift.semantics.syntax.terms import unused
    >>> unused("x", {"x", "x_"}), unused("y", {"x"})
    ('x__', 'y')
    """
    while name in taken:
        name += "_"
    return name


def free_variables(t: Term) -> frozenset[str]:
    """The names of the variables that `t` uses and does not bind; each term keeps its own, as terms share most of their parts."""
    known: frozenset[str] | None = vars(t).get("_free")
    if known is None:
        known = frozenset((t.name,)) if isinstance(t, Var) else frozenset()
        for _, u, binders in inside(t):
            if (free := free_variables(u)) and binders:
                free = free.difference([x.name for x in binders])
            if not free <= known:  # one set stands for as many terms as it can
                known = known | free if known else free
        vars(t)["_free"] = known
    return known
