"""Signatures: the typing rule of a pattern, as data.

A signature is written in the annotation language of rules.  `slide` reads

    size: Nat, step: Nat, xs: a[size + k*step]  ->  a[k + 1, size]

Matching it against actual arguments solves its sizes, each of which is linear in one unknown at a time.
That one mechanism gives the typing rule here, the typing rule in egglog, and the divisibility premises of
every rule that uses the pattern.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from relift.semantics.errors import IllTyped
from relift.semantics.syntax.sizes import Size, SizeLike, Unknown
from relift.semantics.syntax.types import (
    AnyType,
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    substitute_type,
    type_names,
    type_sizes,
    with_letters,
)


@dataclass(frozen=True)
class NatKind:
    """A whole number written in the program: a size, the width of a vector, a dimension of OpenCL."""

    role: Literal["size", "width", "dimension"]


@dataclass(frozen=True)
class FunctionKind:
    """A function of some arguments, each typed; of a size first, where `binds` names one.

    The size that it binds may be any: the function is traced once, and the pattern says what it is.
    """

    arguments: tuple[Type, ...]
    result: Type
    binds: str | None = None

    def __repr__(self) -> str:
        return f"Fun[{', '.join(map(str, (*self.arguments, self.result)))}]"


@dataclass(frozen=True)
class OperatorKind:
    """A binary operator on one type."""

    element: Type

    def __repr__(self) -> str:
        return f"Op[{self.element}]"


@dataclass(frozen=True)
class IndexKind:
    """A function on the indices of an array of this length (see `written`)."""

    length: Size

    def __repr__(self) -> str:
        return f"Index[{self.length}]"


@dataclass(frozen=True)
class NumbersKind:
    """Constants written in the program; they determine the type and the length of their array."""

    element: Type
    length: Size

    def __repr__(self) -> str:
        return f"numbers {self.element[self.length]}"


WrittenKind: TypeAlias = NumbersKind
"""What only a pattern can have: constants that are written out."""

Kind: TypeAlias = NatKind | FunctionKind | OperatorKind | IndexKind | Type
"""What a parameter of a pattern or of a rule can be; a type stands for data of that type."""

Nat, Width, Dimension = NatKind("size"), NatKind("width"), NatKind("dimension")


class _Fun:
    """The notation `Fun[A, B]`: a function from A to B."""

    def __getitem__(self, types: tuple[Type, ...]) -> Any:
        return FunctionKind(tuple(types[:-1]), types[-1])


class _Op:
    """The notation `Op[A]`: a binary operator on A."""

    def __getitem__(self, element: Type) -> Any:
        return OperatorKind(element)


class _Index:
    """The notation `Index[n]`: a function from the indices below n to indices below n."""

    def __getitem__(self, length: SizeLike) -> Any:
        return IndexKind(Size.of(length))


Fun = _Fun()
"""The notation `Fun[A, B]`: a function from A to B."""
Op = _Op()
"""The notation `Op[A]`: a binary operator on A."""
Index = _Index()
"""The notation `Index[n]`: a function from the indices below n to indices below n."""


Role: TypeAlias = Literal["function", "index", "element", "array"]
"""What a parameter is that holds a term or a lambda; an index is data at which the pattern reads."""


def _role(kind: Kind | WrittenKind) -> Role:
    match kind:
        case FunctionKind():
            return "function"
        case Scalar() | Array(Scalar(), _):
            return "index"
        case TypeVariable():
            return "element"
        case Array() | Vector() | Tuple():
            return "array"
        case NatKind() | OperatorKind() | IndexKind() | NumbersKind():
            raise AssertionError(f"cannot happen: {kind} is neither a term nor a lambda")


@dataclass(frozen=True)
class Signature:
    """Parameters in the order they are written, the type of the result, and sizes that must be positive."""

    parameters: Mapping[str, Kind | WrittenKind]
    result: Type
    positive: tuple[Size, ...] = ()

    @cached_property
    def term_fields(self) -> tuple[str, ...]:
        """The parameters that hold terms or lambdas."""
        return tuple(
            name
            for name, kind in self.parameters.items()
            if not isinstance(kind, NatKind | OperatorKind | IndexKind | NumbersKind)
        )

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """What the pattern takes in each place of `term_fields`."""
        return tuple(_role(self.parameters[name]) for name in self.term_fields)

    @property
    def binds_a_size(self) -> bool:
        """Whether a function of the pattern is one for all sizes of its data."""
        return any(isinstance(k, FunctionKind) and k.binds for k in self.parameters.values())

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}: {'Nat' if isinstance(kind, NatKind) else kind_with_letters(kind)}"
            for name, kind in self.parameters.items()
        )
        return f"{shown} -> {with_letters(self.result)}"


def kind_with_letters(kind: Kind | WrittenKind) -> Kind | WrittenKind:
    """A kind with the letters of its unknowns for these, as rules and people write it."""
    match kind:
        case NatKind():
            return kind
        case FunctionKind(arguments, result, binds):
            return FunctionKind(tuple(map(with_letters, arguments)), with_letters(result), binds)
        case OperatorKind(element):
            return OperatorKind(with_letters(element))
        case IndexKind(length):
            return IndexKind(length.with_letters())
        case NumbersKind(element, length):
            return NumbersKind(with_letters(element), length.with_letters())
        case AnyType():
            return with_letters(kind)


def schema_type(name: str) -> TypeVariable:
    """A type variable of signatures, apart from those of rules."""
    return TypeVariable(Unknown(name))


def schema_size(name: str) -> Size:
    """A size variable of signatures, apart from those of programs and rules."""
    return Size.atom(Unknown(name))


class Unproved(IllTyped):
    """Two sizes that must be related and are not for every value: `left` divides, equals or is at most `right`."""

    def __init__(
        self,
        message: str,
        relation: Literal["divides", "equals", "at most"],
        left: Size,
        right: Size,
    ) -> None:
        super().__init__(message)
        self.relation: Literal["divides", "equals", "at most"] = relation
        self.left, self.right = left, right


class Undetermined(IllTyped):
    """Sizes that arguments leave open."""


class Matching:
    """One-way matching of schemas against actual types, for the pattern called `pattern`.

    `types` and `sizes` hold what is known of the schema variables so far.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.types: dict[str, Type] = {}
        self.sizes: dict[str, Size] = {}
        self._equations: list[tuple[Size, Size]] = []

    def match(self, schema: Type, actual: Type, what: str) -> None:
        """Make `schema` equal `actual`, the type of argument `what`; raises `IllTyped`."""
        self._match(schema, actual, what, (schema, actual))

    def _match(self, schema: Type, actual: Type, what: str, whole: tuple[Type, Type]) -> None:
        match schema:
            case TypeVariable(name) if isinstance(name, Unknown):
                known = self.types.setdefault(name, actual)
                if known != actual:
                    self._fail(f"{what} has type {actual}, but {known} is needed here")
            case Array(element, n) if isinstance(actual, Array):
                self._equations.append((n, actual.length))
                self._match(element, actual.element, what, whole)
            case Vector(element, n) if isinstance(actual, Vector):
                self._equations.append((n, actual.width))
                self._match(element, actual.element, what, whole)
            case Tuple(parts) if isinstance(actual, Tuple) and len(parts) == len(actual.parts):
                for part, other in zip(parts, actual.parts, strict=True):
                    self._match(part, other, what, whole)
            case Scalar() | Array() | Vector() | Tuple() | TypeVariable():
                if schema == actual:
                    return
                outer, given = whole
                wanted = with_letters(self.apply(outer))
                hint = _hint(schema, actual, outer, given)
                self._fail(f"{what} must be of the form {wanted}, but has type {given}{hint}")

    def equate(self, schema: Size, actual: Size) -> None:
        """Make the size `schema` equal `actual`; decided by `solve`."""
        self._equations.append((schema, actual))

    def solve(self, *, final: bool = False) -> None:
        """Solve every size equation with at most one unknown; at the end, all must be solved."""
        while True:
            left: list[tuple[Size, Size]] = []
            for schema, actual in self._equations:
                size = schema.substitute(self.sizes)
                unknown = [name for name in size.names() if isinstance(name, Unknown)]
                if not unknown:
                    if size != actual:
                        raise Unproved(
                            f"{self.pattern}: length {size} is needed, but the argument has length "
                            f"{actual}; write both with one size, or take or pad",
                            "equals",
                            size,
                            actual,
                        )
                elif len(unknown) == 1 and (linear := size.linear_in(unknown[0])) is not None:
                    self._solve_one(unknown[0], *linear, actual)
                else:
                    left.append((schema, actual))
            progress = len(left) < len(self._equations)
            self._equations = left
            if not progress:
                break
        if final and self._equations:
            raise Undetermined(
                f"{self.pattern}: its sizes are not determined: "
                + ", ".join(f"{a}" for _, a in self._equations)
            )

    def _solve_one(self, name: str, factor: Size, offset: Size, actual: Size) -> None:
        rest = actual - offset
        value = rest.divided_by(factor)
        if value is None:
            hint = f"pad the array or choose a size that divides {rest}"
            after = f" (length {actual} after {offset})" if offset != 0 else ""
            always = " for every size" if (rest.names() | factor.names()) else ""
            message = f"{self.pattern}: {factor} does not divide {rest}{always}{after}; {hint}"
            raise Unproved(message, "divides", factor, rest)
        if not value.surely_at_least(0):
            least = "" if actual.constant is not None else ", or state a size with least=..."
            hint = f"pad the array{least}"
            raise Unproved(
                f"{self.pattern}: length {actual} is too short: {offset} elements are needed at "
                f"least; {hint}",
                "at most",
                offset,
                actual,
            )
        self.sizes[name] = value

    def apply(self, schema: Type) -> Type:
        """`schema` with what is known filled in."""
        return substitute_type(schema, self.types, self.sizes)

    def determined(self, schema: Type) -> bool:
        """Whether all variables of `schema` are known."""
        known = self.apply(schema)
        names = (*type_names(known), *(name for n in type_sizes(known) for name in n.names()))
        return not any(isinstance(name, Unknown) for name in names)

    def _fail(self, message: str) -> None:
        raise IllTyped(f"{self.pattern}: {message}")


def _hint(schema: Type, actual: Type, outer: Type, given: Type) -> str:
    """How an argument of type `given` might be made to fit `outer`, which it does not at `schema`."""
    match schema:
        case Array():
            if isinstance(actual, Vector):
                return "; map_vec works on a vector"
            if outer is not schema and isinstance(given, Array):
                return "; split(m, xs) makes rows of an array"
            of_one = f"; repeat(m, x) makes an array of one {actual}"
            return of_one if isinstance(actual, Scalar) else ""
        case Vector():
            return "; as_vector makes vectors of an array"
        case Scalar() | Tuple() | TypeVariable():
            return ""
