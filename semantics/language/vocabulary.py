"""The language that a user writes: patterns as functions, operators, user functions, programs.

>>> import numpy as np
>>> import relift as rl
>>> n = rl.nat("n")
>>> @rl.program
... def dot(x: rl.f32[n], y: rl.f32[n]):
...     return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))
>>> print(dot)
dot(x: f32[n], y: f32[n]) -> f32 =
  reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(x, y)))
>>> dot(np.float32([1, 2]), np.float32([3, 4]))
np.float32(11.0)
"""

from __future__ import annotations

import inspect
import keyword
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, NoReturn

import numpy as np

from relift.semantics import patterns
from relift.semantics.errors import IllTyped
from relift.semantics.language import functions
from relift.semantics.language.arguments import shown
from relift.semantics.language.coercion import as_term, is_term, make_tuple, scalar, unmixed
from relift.semantics.language.constants import of_constants, table
from relift.semantics.language.functions import *  # the patterns
from relift.semantics.language.tracing import PartialApplication, build, trace, with_laws
from relift.semantics.patterns.variants import variants_of
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.sizes import Size, SizeLike
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Laws,
    Number,
    Term,
    UserFunction,
    Vectorized,
)
from relift.semantics.syntax.types import SCALARS, Scalar, Tuple

_zip = PartialApplication(patterns.Zip)


class Boundary:
    """How `pad` continues an array beyond its ends."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *_: Any) -> NoReturn:
        """Raise `IllTyped`: other libraries clamp numbers."""
        raise IllTyped(
            f"{self} says how pad goes on beyond the ends of an array, as in pad(1, 1, {self}, xs); "
            "a number between two others is minimum(maximum(v, low), high)"
        )


clamp: Final = Boundary("clamp")
"""Beyond its ends an array continues with its first and its last element."""
mirror: Final = Boundary("mirror")
"""Beyond its ends an array continues backwards, its end twice."""
wrap: Final = Boundary("wrap")
"""Beyond its ends an array continues from its other end."""
left_open: Final = Boundary("empty")
"""Beyond its ends an array has elements that nobody may read."""
_PADS = variants_of(patterns.Bordered, "boundary", patterns.PATTERNS)


def zip(*arrays: Any) -> Any:
    """Tuples of the elements at the same index of two arrays or more.

    Two arrays are the pattern `zip`; more are nested pairs, flattened by a `map`.
    """
    if len(arrays) <= 2:
        return _zip(*arrays)
    return functions.map(lambda p: (*p[0], p[1]), _zip(zip(*arrays[:-1]), arrays[-1]))


def pad(left: SizeLike, right: SizeLike, boundary: Any, *xs: Any) -> Any:
    """`left` and `right` more elements at the ends: by `clamp`, `mirror` or `wrap`, or a constant.

    >>> from relift import clamp, f32, pad
    >>> from relift.semantics.syntax.terms import Input
    >>> pad(1, 1, clamp, Input("xs", f32[4])).type
    f32[6]
    """
    if not (is_term(boundary) or isinstance(boundary, Boundary | bool | int | float | tuple)):
        raise IllTyped(
            f"pad: the boundary is rl.clamp, rl.mirror, rl.wrap or a constant, not {boundary!r}"
        )
    if isinstance(boundary, Boundary):
        return PartialApplication(_PADS[boundary.name])(left, right, *xs)
    return PartialApplication(patterns.PadConstant)(left, right, boundary, *xs)


def literal_array(values: Any, of: Scalar | None = None) -> Term:
    """An array of constants, of type `of`, else `f32`, `i32` or `boolean`: of numbers, of rows of these, or of NumPy's.

    However many numbers it has, it is one part of a program; a kernel that looks them up has them in constant memory,
    in which is room for 64 KiB of them.

    >>> import numpy as np
    >>> from relift import f64, literal_array
    >>> literal_array([0.25, 0.5, 0.25]).type, literal_array(np.eye(4), f64).type
    (f32[3], f64[4, 4])
    """
    return table(values, of)


def make_array(*elements: Any) -> Term:
    """An array of the given elements, as `concat` of arrays of one; of constants a `literal_array`.

    >>> from relift import f32, make_array, show
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32)
    >>> make_array(x, 1.0).type, show(make_array(2.0, 1.0))
    (f32[2], 'literal_array((2.0, 1.0), f32)')
    """
    if not elements:
        raise IllTyped("make_array needs an element; an empty array is repeat(0, x)")
    t = next((x.type for x in elements if is_term(x)), None)
    terms = [as_term(_of_numpy(x), t) for x in elements]
    if (constants := of_constants(terms, zip)) is not None:
        return constants
    *rest, array = (build(patterns.Repeat, (1, x)) for x in terms)
    for x in reversed(rest):
        array = build(patterns.Concat, (x, array))
    return array


def _of_numpy(x: Any) -> Any:
    """A number or an array of NumPy's as a constant; all else as it is."""
    if isinstance(x, np.ndarray):
        return table(x) if x.ndim else x.item()
    return x.item() if isinstance(x, np.generic) else x


def map_fst(f: Callable[[Any], Any], pair: Any) -> Term:
    """f on the first component of a pair."""
    first, second = _components("map_fst", f, pair)
    return make_tuple(f(first), second)


def map_snd(f: Callable[[Any], Any], pair: Any) -> Term:
    """f on the second component of a pair."""
    first, second = _components("map_snd", f, pair)
    return make_tuple(first, f(second))


def _components(name: str, f: Any, pair: Any) -> tuple[Any, Any]:
    """The two parts of a pair, for a function of one of them."""
    t = as_term(pair)
    if not isinstance(t.type, Tuple) or len(t.type.parts) != 2:
        raise IllTyped(f"{name}: a pair is needed, not {t.type}")
    if not callable(f):
        raise IllTyped(f"{name}: a function is needed, not {f!r}")
    return t[0], t[1]


def vectorize(width: SizeLike, f: Any) -> Any:
    """`f` lane by lane on vectors: of an operator an operator, of a function a function."""
    if (operator := with_laws(f)) is not None:
        return Vectorized(Size.of(width), operator)
    return functions.map_vec(f)


class Elementary:
    """A scalar function of the table, under its name there; `operator` is the one that it is to a reduction."""

    def __init__(self, name: str, operator: BinaryOperator | None = None) -> None:
        self.__name__ = name
        self.operator = operator
        self.__doc__ = SCALAR_FUNCTIONS[name].doc

    def __call__(self, *arguments: Any) -> Term:
        return scalar(self.__name__, *arguments)

    def __repr__(self) -> str:
        return f"<scalar function {self.__name__}>"


absolute: Final = Elementary("absolute")
"""The absolute value."""
floor: Final = Elementary("floor")
"""The greatest whole number not above x."""
ceil: Final = Elementary("ceil")
"""The least whole number not below x."""
fma: Final = Elementary("fma")
"""x * y + z, rounded once."""
sqrt: Final = Elementary("sqrt")
"""The square root; NaN below zero."""
rsqrt: Final = Elementary("rsqrt")
"""1 / sqrt(x), of -0.0 minus infinity."""
exp: Final = Elementary("exp")
"""The exponential."""
log: Final = Elementary("log")
"""The natural logarithm; NaN below zero."""
sin: Final = Elementary("sin")
"""The sine, in radians."""
cos: Final = Elementary("cos")
"""The cosine, in radians."""
tan: Final = Elementary("tan")
"""The tangent, in radians."""
arcsin: Final = Elementary("arcsin")
"""The angle of a sine, in radians; NaN beyond -1 and 1."""
arccos: Final = Elementary("arccos")
"""The angle of a cosine, in radians; NaN beyond -1 and 1."""
arctan: Final = Elementary("arctan")
"""The angle of a tangent, in radians."""
arctan2: Final = Elementary("arctan2")
"""arctan2(y, x): the angle of the point (x, y), in radians."""
tanh: Final = Elementary("tanh")
"""The hyperbolic tangent."""
power: Final = Elementary("power")
"""x to the power y."""
hypot: Final = Elementary("hypot")
"""sqrt(x*x + y*y), without overflow on the way."""
equal: Final = Elementary("equal")
"""x is y; of NaN false."""
not_equal: Final = Elementary("not_equal")
"""x is not y; of NaN true."""


def select(condition: Any, x: Any, y: Any) -> Term:
    """x where the condition holds, else y; of tuples, component by component.

    >>> from relift import f32, i32, select, tup
    >>> from relift.semantics.syntax.terms import Input
    >>> p = Input("p", tup(f32, i32))
    >>> select(p[0] < 0, p, (0, 1)).type
    (f32, i32)
    """
    of = next((as_term(b).type for b in (x, y) if is_term(b) or isinstance(b, tuple)), None)
    if not isinstance(of, Tuple):
        return scalar("select", condition, x, y)
    left, right = as_term(x, of), as_term(y, of)
    if left.type != right.type:
        raise unmixed("select", left.type, right.type)
    parts = (select(condition, left[i], right[i]) for i in range(len(of.parts)))
    return make_tuple(*parts)


def operator(
    function: Callable[[Any, Any], Any],
    *,
    associative: bool = False,
    commutative: bool = False,
    neutral: Number | None = None,
    idempotent: bool = False,
    distributes_over: Sequence[BinaryOperator | Elementary] = (),
    telescopes_over: Sequence[BinaryOperator | Elementary] = (),
    name: str | None = None,
) -> BinaryOperator:
    """A binary operator for `reduce`, with the laws it obeys; what is not declared is not used.

    Idempotent: of x and x it is x.  It distributes over another, on both sides, as `mul` over `add`.
    It telescopes over another as `sub` over `add`: x - z is (x - y) + (y - z), whatever y is.

    >>> from relift import operator
    >>> hypot2 = operator(lambda x, y: x + y, associative=True, neutral=0.0, name="plus")
    """
    if not callable(function):
        raise IllTyped(f"operator takes a function of two values, not {function!r}")
    chosen = str(name or getattr(function, "__name__", ""))
    if chosen in ("", "<lambda>"):
        raise IllTyped("an operator made from a lambda needs name=...")
    if not chosen.isidentifier() or keyword.iskeyword(chosen):
        raise IllTyped(f"an operator is named like a Python variable, not {shown(name)}")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise IllTyped(
            f"operator {chosen} combines two values, but its function does not take two arguments"
        ) from None
    except ValueError:
        pass  # a function of C that does not say what it takes
    laws = Laws(
        _declared(chosen, "associative", associative),
        _declared(chosen, "commutative", commutative),
        _neutral(chosen, neutral),
        _declared(chosen, "idempotent", idempotent),
        _over(chosen, "distributes_over", distributes_over),
        _over(chosen, "telescopes_over", telescopes_over),
    )
    return BinaryOperator(chosen, laws, function)


def _declared(operator: str, law: str, declared: object) -> bool:
    """Whether a law is declared, which is said by True or False and nothing like it."""
    if not isinstance(declared, bool | np.bool_):
        raise IllTyped(f"operator {operator}: {law} is True or False, not {shown(declared)}")
    return bool(declared)


def _neutral(operator: str, neutral: object) -> Number | None:
    """A declared neutral element as a number of Python's."""
    found = neutral.item() if isinstance(neutral, np.generic) else neutral
    if not isinstance(found, int | float | None):
        raise IllTyped(f"operator {operator}: its neutral element is a number, not {shown(found)}")
    try:
        none = found is not None and math.isnan(found)
    except OverflowError:  # a whole number beyond all floats
        none = True
    if none:
        raise IllTyped(f"operator {operator}: no type has the neutral element {shown(found)}")
    return found


def _over(operator: str, law: str, over: object) -> tuple[BinaryOperator, ...]:
    """The operators over which one is declared to have a law, `maximum` and `minimum` as those that they are known as."""
    found = [with_laws(plus) for plus in over] if isinstance(over, Iterable) else [None]
    if not all(isinstance(plus, BinaryOperator) for plus in found):
        raise IllTyped(
            f"operator {operator}: {law} takes a sequence of operators, such as (add,), not {shown(over)}"
        )
    return tuple(plus for plus in found if isinstance(plus, BinaryOperator))


add: Final = operator(lambda x, y: x + y, associative=True, commutative=True, neutral=0, name="add")
"""x + y: associative and commutative, 0 is neutral."""
mul: Final = operator(
    lambda x, y: x * y,
    associative=True,
    commutative=True,
    neutral=1,
    distributes_over=(add,),
    name="mul",
)
"""x * y: associative and commutative, 1 is neutral, and it distributes over `add`."""
sub: Final = operator(lambda x, y: x - y, telescopes_over=(add,), name="sub")
"""x - y, which telescopes over `add`: the same by way of any other value."""


def _extreme(name: str, neutral: float) -> Elementary:
    """The smaller or the larger of two; of itself and a value it is that value, and so it is of the infinity."""
    laws = Laws(associative=True, commutative=True, neutral=neutral, idempotent=True, ends=True)
    return Elementary(name, BinaryOperator(name, laws, partial(scalar, name)))


minimum: Final = _extreme("minimum", math.inf)
"""x if x < y or x is NaN, else y; so NaN when either is."""
maximum: Final = _extreme("maximum", -math.inf)
"""x if x > y or x is NaN, else y; so NaN when either is."""

tropical_mul: Final = operator(
    lambda x, y: x + y,
    associative=True,
    commutative=True,
    neutral=0,
    distributes_over=(maximum, minimum),
    name="tropical_mul",
)
"""x + y as what multiplies in the tropical semirings: of floats, which do not wrap around, it distributes over the extremes."""


def _first(name: str, better: Callable[[Any, Any], Any]) -> BinaryOperator:
    """Of two pairs of a value and a place the better, of equal ones that with the smaller place."""

    def chosen(x: Any, y: Any) -> Any:
        earlier = select(y[1] < x[1], y, x)
        return select(better(y[0], x[0]), y, select(better(x[0], y[0]), x, earlier))

    return operator(chosen, associative=True, commutative=True, idempotent=True, name=name)


first_largest: Final = _first("first_largest", lambda x, y: x > y)
"""Of two pairs (value, place) that with the larger value, and of equal ones that with the smaller place."""
first_smallest: Final = _first("first_smallest", lambda x, y: x < y)
"""Of two pairs (value, place) that with the smaller value, and of equal ones that with the smaller place."""


def _kept(name: str, better: Callable[[Any, Any], Any]) -> BinaryOperator:
    """Of two pairs the second where its key is better, else the first; each is a key and what belongs to it."""

    def chosen(x: Any, y: Any) -> Any:
        return select(better(y[0], x[0]), y, x)

    return operator(chosen, associative=True, idempotent=True, name=name)


earliest_largest: Final = _kept("earliest_largest", lambda y, x: y > x)
"""Of two pairs (key, value) that with the larger key, and of equal keys the first."""
latest_largest: Final = _kept("latest_largest", lambda y, x: y >= x)
"""Of two pairs (key, value) that with the larger key, and of equal keys the second."""
earliest_smallest: Final = _kept("earliest_smallest", lambda y, x: y < x)
"""Of two pairs (key, value) that with the smaller key, and of equal keys the first."""
latest_smallest: Final = _kept("latest_smallest", lambda y, x: y <= x)
"""Of two pairs (key, value) that with the smaller key, and of equal keys the second."""


def userfun(function: Callable[..., Any] | None = None, *, c: str | None = None) -> Any:
    """A scalar function with a name of its own in the kernel.

    Without `c` it is traced from Python.  With `c`, the C function body is opaque to Relift, and the Python
    function is its reference for the interpreter.

    >>> from relift import f32, userfun
    >>> @userfun
    ... def square(x: f32) -> f32:
    ...     return x * x
    >>> @userfun(c="return x * x;")
    ... def square_c(x: f32) -> f32:
    ...     return x * x
    """
    if function is None:
        return partial(userfun, c=c)
    if not inspect.isfunction(function):
        raise IllTyped(f"a user function is a function written with def, not {function!r}")
    annotations = inspect.get_annotations(function, eval_str=True)
    result = annotations.pop("return", None)
    names = tuple(inspect.signature(function).parameters)
    if result is None or set(annotations) != set(names):
        raise IllTyped(f"userfun {function.__name__}: every parameter and the result need a type")
    types = tuple(annotations[name] for name in names)
    for t in (*types, result):
        if not isinstance(t, Scalar):
            raise IllTyped(f"userfun {function.__name__} works on scalars, not on {t}")
    body = None if c is not None else trace(function, types, result)
    if body is not None and body.body.type != result:
        raise IllTyped(f"userfun {function.__name__} returns {body.body.type}, not {result}")
    return UserFunction(function.__name__, names, types, result, c, body, function)


VOCABULARY: dict[str, Any] = {
    **{name: PartialApplication(pattern) for name, pattern in patterns.PATTERNS.items()},
    **{name: partial(scalar, name) for name, f in SCALAR_FUNCTIONS.items() if f.is_call},
    **{f.__name__: f for f in (zip, pad, literal_array, vectorize)},
    **SCALARS,
    "clamp": clamp,
    "mirror": mirror,
    "wrap": wrap,
    "add": add,
    "mul": mul,
    "sub": sub,
    "minimum": minimum,
    "maximum": maximum,
    "tropical_mul": tropical_mul,
    "first_largest": first_largest,
    "first_smallest": first_smallest,
    "earliest_largest": earliest_largest,
    "latest_largest": latest_largest,
    "earliest_smallest": earliest_smallest,
    "latest_smallest": latest_smallest,
}
"""What printed terms are made of, by name."""
