"""Python's notation on terms: what all terms share, so that `a + b` and `p[0]` are terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from relift.display.blocks import Block, Displayed
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.types import Array, Tuple, Type

if TYPE_CHECKING:
    from relift.semantics.syntax.terms import Term


class Expression(Displayed):
    """Python's notation on terms: `a + b`, `p[0]`, `x, y = p`; each builds a term at once.

    Every kind of term says what it `holds`, in the order in which it is written, and what of that stands
    `below` it: one term or lambda in each such field, and several terms in its `row`.
    """

    type: Type
    holds: ClassVar[tuple[str, ...]] = ()
    below: ClassVar[tuple[str, ...]] = ()
    row: ClassVar[str] = ""

    def display(self) -> Sequence[Block]:
        """The pipeline that it is, and its type."""
        from relift.semantics.notation.displays import of_term

        t: Any = self
        return of_term(t)

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
        from relift.semantics.language.coercion import refused_by_numpy

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
    from relift.semantics.language.coercion import scalar

    return scalar(name, *arguments)
