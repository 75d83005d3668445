"""The language that a user writes: patterns as functions, operators, user functions, programs.

>>> n = nat("n")
>>> @program
... def dot(x: f32[n], y: f32[n]):
...     return reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(x, y)))
>>> print(dot)
dot(x: f32[n], y: f32[n]) -> f32 =
  reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(x, y)))
>>> import numpy as np
>>> dot(np.float32([1, 2]), np.float32([3, 4]))
np.float32(11.0)
"""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np

from relift.semantics import patterns
from relift.semantics.errors import IllTyped, Unsupported, bounded_depth
from relift.semantics.indices.functions import numbers
from relift.semantics.interpreter import World, evaluate, from_numpy, to_numpy
from relift.semantics.language import functions
from relift.semantics.language.arguments import MOST_CELLS, sizes_by_name
from relift.semantics.language.functions import *  # the patterns
from relift.semantics.language.given import actual_type
from relift.semantics.language.naming import distinctly_named
from relift.semantics.language.tracing import (
    Unapplied,
    as_term,
    build,
    is_term,
    make_tuple,
    scalar,
    scope,
    trace,
)
from relift.semantics.notation.printer import show
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.signatures import Matching
from relift.semantics.syntax.sizes import Name, Size, SizeLike, is_bound
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Input,
    Laws,
    Number,
    OperatorMetavariable,
    Pattern,
    Term,
    UserFunction,
    Vectorized,
    distinct,
)
from relift.semantics.syntax.types import (
    SCALARS,
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    substitute_type,
    type_sizes,
)

_zip = Unapplied(patterns.Zip)


class Boundary:
    """How `pad` continues an array beyond its ends."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


clamp: Final = Boundary("clamp")
mirror: Final = Boundary("mirror")
wrap: Final = Boundary("wrap")
_PADS = {
    p.boundary: p for p in patterns.PATTERNS.values() if issubclass(p, patterns.Pad) and p.boundary
}


def zip(*arrays: Any) -> Any:
    """Tuples of the elements at the same index of two arrays or more.

    Two arrays are the pattern `zip`; more are nested pairs, flattened by a `map`.
    """
    if len(arrays) <= 2:
        return _zip(*arrays)
    return functions.map(lambda p: (*p[0], p[1]), _zip(zip(*arrays[:-1]), arrays[-1]))


def pad(left: SizeLike, right: SizeLike, boundary: Any, *xs: Any) -> Any:
    """`left` and `right` more elements at the ends: by `clamp`, `mirror` or `wrap`, or a constant.

    >>> pad(1, 1, clamp, Input("xs", f32[4])).type
    f32[6]
    """
    if not (is_term(boundary) or isinstance(boundary, Boundary | bool | int | float | tuple)):
        raise IllTyped(
            f"pad: the boundary is rl.clamp, rl.mirror, rl.wrap or a constant, not {boundary!r}"
        )
    if isinstance(boundary, Boundary):
        return Unapplied(_PADS[boundary.name])(left, right, *xs)
    return Unapplied(patterns.PadConstant)(left, right, boundary, *xs)


def literal_array(values: Any, of: Scalar | None = None) -> Term:
    """An array of constants, of type `of`, else `f32`, `i32` or `boolean`.

    >>> literal_array([0.25, 0.5, 0.25]).type
    f32[3]
    """
    return build(patterns.LiteralArray, (numbers(values, of),))


def make_array(*elements: Any) -> Term:
    """An array of the given elements, as `concat` of arrays of one.

    >>> x = Input("x", f32)
    >>> make_array(x, 1.0).type
    f32[2]
    """
    if not elements:
        raise IllTyped("make_array needs an element; an empty array is repeat(0, x)")
    t = next((x.type for x in elements if is_term(x)), None)
    *rest, array = (build(patterns.Repeat, (1, as_term(x, t))) for x in elements)
    for x in reversed(rest):
        array = build(patterns.Concat, (x, array))
    return array


def map_fst(f: Callable[[Any], Any], pair: Any) -> Term:
    """f on the first component of a pair."""
    return make_tuple(f(pair[0]), pair[1])


def map_snd(f: Callable[[Any], Any], pair: Any) -> Term:
    """f on the second component of a pair."""
    return make_tuple(pair[0], f(pair[1]))


def vectorize(width: SizeLike, f: Any) -> Any:
    """`f` lane by lane on vectors: of an operator an operator, of a function a function."""
    if isinstance(f, BinaryOperator | OperatorMetavariable | Vectorized):
        return Vectorized(Size.of(width), f)
    return functions.map_vec(f)


class Elementary:
    """A scalar function of the table, under its name there."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.__doc__ = SCALAR_FUNCTIONS[name].doc

    def __call__(self, *arguments: Any) -> Term:
        return scalar(self.__name__, *arguments)

    def __repr__(self) -> str:
        return f"<scalar function {self.__name__}>"


minimum: Final = Elementary("minimum")
maximum: Final = Elementary("maximum")
absolute: Final = Elementary("absolute")
floor: Final = Elementary("floor")
ceil: Final = Elementary("ceil")
fma: Final = Elementary("fma")
sqrt: Final = Elementary("sqrt")
rsqrt: Final = Elementary("rsqrt")
exp: Final = Elementary("exp")
log: Final = Elementary("log")
sin: Final = Elementary("sin")
cos: Final = Elementary("cos")
tan: Final = Elementary("tan")
tanh: Final = Elementary("tanh")
power: Final = Elementary("power")
hypot: Final = Elementary("hypot")
equal: Final = Elementary("equal")
not_equal: Final = Elementary("not_equal")


def select(condition: Any, x: Any, y: Any) -> Term:
    """x where the condition holds, else y; of tuples, component by component.

    >>> p = Input("p", tup(f32, i32))
    >>> select(p[0] < 0, p, (0, 1)).type
    (f32, i32)
    """
    of = next((as_term(b).type for b in (x, y) if is_term(b) or isinstance(b, tuple)), None)
    if not isinstance(of, Tuple):
        return scalar("select", condition, x, y)
    left, right = as_term(x, of), as_term(y, of)
    if left.type != right.type:
        raise IllTyped(f"select: {left.type} and {right.type} do not mix; both sides need one type")
    parts = (select(condition, left[i], right[i]) for i in range(len(of.parts)))
    return make_tuple(*parts)


def operator(
    function: Callable[[Any, Any], Any],
    *,
    associative: bool = False,
    commutative: bool = False,
    neutral: Number | None = None,
    idempotent: bool = False,
    distributes_over: Sequence[BinaryOperator] = (),
    name: str | None = None,
) -> BinaryOperator:
    """A binary operator for `reduce`, with the laws it obeys; what is not declared is not used.

    Idempotent: of x and x it is x.  It distributes over another, on both sides, as `mul` over `add`.

    >>> hypot2 = operator(lambda x, y: x + y, associative=True, neutral=0.0, name="plus")
    """
    if not callable(function):
        raise IllTyped(f"operator takes a function of two values, not {function!r}")
    chosen = name or function.__name__
    if not chosen.isidentifier():
        raise IllTyped("an operator made from a lambda needs name=...")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise IllTyped(
            f"operator {chosen} combines two values, but its function does not take two arguments"
        ) from None
    except ValueError:
        pass  # a function of C that does not say what it takes
    neutral = neutral.item() if isinstance(neutral, np.generic) else neutral
    if not isinstance(neutral, int | float | None):
        raise IllTyped(f"operator {chosen}: its neutral element is a number, not {neutral!r}")
    laws = Laws(associative, commutative, neutral, idempotent, tuple(distributes_over))
    return BinaryOperator(chosen, laws, function)


add: Final = operator(lambda x, y: x + y, associative=True, commutative=True, neutral=0, name="add")
mul: Final = operator(
    lambda x, y: x * y,
    associative=True,
    commutative=True,
    neutral=1,
    distributes_over=(add,),
    name="mul",
)


def userfun(function: Callable[..., Any] | None = None, *, c: str | None = None) -> Any:
    """A scalar function with a name of its own in the kernel.

    Without `c` it is traced from Python.  With `c`, the C function body is opaque to Relift, and the Python
    function is its reference for the interpreter.

    >>> @userfun
    ... def square(x: f32) -> f32:
    ...     return x * x
    >>> @userfun(c="return x * x;")
    ... def square_c(x: f32) -> f32:
    ...     return x * x
    """
    if function is None:
        return partial(userfun, c=c)
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


@dataclass(frozen=True)
class Program:
    """A traced program: typed parameters and one term."""

    name: str
    parameters: tuple[Input, ...]
    body: Term
    doc: str = ""
    file: str | None = None
    reference: Callable[..., Any] | None = field(default=None, compare=False)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes, in the order in which the parameters mention them."""
        found: dict[str, None] = {}
        for t in [*(p.type for p in self.parameters), self.body.type]:
            for size in type_sizes(t):
                found.update(dict.fromkeys(sorted(size.names())))
        return tuple(found)

    @property
    def least_sizes(self) -> dict[str, int]:
        """The sizes that are no numbers, each with the least value that it promises."""
        types = [*(p.type for p in self.parameters), self.body.type]
        atoms = [a for t in types for n in type_sizes(t) for a in n.atoms() if isinstance(a, Name)]
        return {name: max(a.least for a in atoms if a == name) for name in self.sizes}

    @bounded_depth("the program")
    def __call__(self, *arguments: Any) -> Any:
        """The meaning of the program on NumPy values, by the interpreter."""
        sizes = self.solve_sizes(arguments)
        values = {
            p.name: from_numpy(a, p.type)
            for p, a in builtins.zip(self.parameters, arguments, strict=True)
        }
        result = evaluate(self.body, World(sizes=sizes, inputs=values))
        known = {name: Size.of(value) for name, value in sizes.items()}
        return to_numpy(result, substitute_type(self.body.type, {}, known))

    def solve_sizes(self, arguments: tuple[Any, ...]) -> dict[str, int]:
        """The sizes that the shapes of the arguments determine; raises `IllTyped` when they clash."""
        if len(arguments) != len(self.parameters):
            raise IllTyped(
                f"{self.name} takes {len(self.parameters)} arrays, {len(arguments)} are given"
            )
        matching = Matching(self.name)
        schema = {name: Size.atom("?" + name) for name in self.sizes}
        for p, argument in builtins.zip(self.parameters, arguments, strict=True):
            wanted = substitute_type(p.type, {}, schema)
            matching.match(wanted, actual_type(argument, p.type, p.name), p.name)
        matching.solve(final=True)
        found = {name.removeprefix("?"): size.constant for name, size in matching.sizes.items()}
        sizes = {name: value for name, value in found.items() if value is not None}
        self._require_least(sizes)
        return sizes

    def _require_least(self, sizes: Mapping[str, int]) -> None:
        for t in [*(p.type for p in self.parameters), self.body.type]:
            for atom in (a for n in type_sizes(t) for a in n.atoms() if isinstance(a, Name)):
                if sizes.get(atom, 0) < 0:
                    raise IllTyped(f"{self.name}: size {atom} is {sizes[atom]}, but not negative")
                if sizes.get(atom, atom.least) < atom.least:
                    raise IllTyped(
                        f"{self.name}: size {atom} is {sizes[atom]}, but it is at least {atom.least}; "
                        f'rl.nat("{atom}", least={sizes[atom]}) allows {sizes[atom]}'
                    )

    @bounded_depth("the program")
    def at(self, sizes: Mapping[str, int], *, partly: bool = False) -> Program:
        """The program at concrete sizes; at some of them, if `partly`."""
        sizes = sizes_by_name(sizes)
        missing = [name for name in self.sizes if name not in sizes]
        if missing and not partly:
            wanted = ", ".join(f'"{name}": ...' for name in missing)
            option = ",".join(f"{name}=..." for name in missing)
            raise IllTyped(
                f"{self.name}: size {missing[0]} is not given; "
                f"say sizes={{{wanted}}}, or --size {option}"
            )
        extra = sorted(set(sizes) - set(self.sizes))
        if extra:
            known = ", ".join(self.sizes) or "none"
            raise IllTyped(f"{self.name} has no size {extra[0]}; its sizes are: {known}")
        self._require_least(sizes)
        found = self.with_sizes({name: Size.of(value) for name, value in sizes.items()})
        found._require_countable()
        return found

    def _require_countable(self) -> None:
        """Raise `IllTyped` for an array with too many cells to count."""
        for t in [*(p.type for p in self.parameters), *(u.type for u in distinct(self.body))]:
            if math.prod(n.constant or 1 for n in type_sizes(t)) > MOST_CELLS:
                raise IllTyped(f"{self.name}: an array of type {t} has more than 2**48 cells")

    def with_sizes(self, values: Mapping[str, Size]) -> Program:
        """The program with sizes in the place of named ones."""
        from relift.semantics.syntax.substitution import at_sizes

        parameters = tuple(Input(p.name, substituted(p.type, values)) for p in self.parameters)
        body = at_sizes(self.body, values)
        return Program(self.name, parameters, body, self.doc, self.file, self.reference)

    def gold(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: a NumPy function that computes the same, for checks at sizes out of reach."""
        object.__setattr__(self, "reference", function)
        return function

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        parameters = ", ".join(f"{p.name}: {p.type}" for p in self.parameters)
        try:
            body = show(self.body)
        except Unsupported as error:
            body = f"({error.message})"
        indented = body.replace("\n", "\n  ")
        return f"{self.name}({parameters}) -> {self.body.type} =\n  {indented}"


def well_formed(body: Term, parameters: Sequence[Input]) -> Term:
    """The body of a program, no two functions of it called alike; raises `IllTyped` where sizes do not fit."""
    _require_positive_sizes(body)
    sizes = {name for p in parameters for n in type_sizes(p.type) for name in n.names()}
    (found,) = distinctly_named([body], {*(p.name for p in parameters), *sizes}, VOCABULARY)
    return found


def _require_positive_sizes(body: Term) -> None:
    """Raise `IllTyped` where a pattern divides by a size, or pads an array, that may be 0 at some sizes."""
    for t in distinct(body):
        if not isinstance(t, Pattern):
            continue
        for size in t.signature.positive:
            found = size.substitute({"?" + name: n for name, n in t.solved.items()})
            if not (is_bound(found) or found.surely_at_least(1)):
                names = ", ".join(f'rl.nat("{name}")' for name in sorted(found.names()))
                raise IllTyped(f"{t.name}: {found} must be at least 1; {names} is, without least=0")


def substituted(t: Type, sizes: Mapping[str, Size]) -> Type:
    """A type at given sizes; raises `IllTyped` where one becomes negative."""
    result = substitute_type(t, {}, sizes)
    for size in type_sizes(result):
        if size.constant is not None and size.constant < 0:
            raise IllTyped(f"{t} has a negative length at these sizes: {result}")
    return result


def program(function: Callable[..., Any]) -> Program:
    """A program, traced from a Python function whose parameters are annotated with types."""
    if not inspect.isfunction(function):
        raise IllTyped(
            f"a program is traced from a function written with def, not from {function!r}"
        )
    annotations = inspect.get_annotations(function, eval_str=True)
    annotations.pop("return", None)
    names = list(inspect.signature(function).parameters)
    for name in names:
        t = annotations.get(name)
        if not isinstance(t, Scalar | Array | Tuple | Vector):
            raise IllTyped(f"{function.__name__}: parameter {name} needs a type such as rl.f32[n]")
        if isinstance(t, Vector) or _has_variable(t):
            raise IllTyped(f"{function.__name__}: parameter {name} cannot have type {t}")
    parameters = tuple(Input(name, annotations[name]) for name in names)
    with scope(names), bounded_depth(f"the program {function.__name__}"):
        body = as_term(function(*parameters))
    with bounded_depth(f"the program {function.__name__}"):
        body = well_formed(body, parameters)
    return Program(
        function.__name__,
        parameters,
        body,
        inspect.getdoc(function) or "",
        inspect.getsourcefile(function),
    )


def _has_variable(t: Type) -> bool:
    match t:
        case TypeVariable():
            return True
        case Array(element, _) | Vector(element, _):
            return _has_variable(element)
        case Tuple(parts):
            return any(_has_variable(part) for part in parts)
        case Scalar():
            return False


VOCABULARY: dict[str, Any] = {
    **{name: Unapplied(pattern) for name, pattern in patterns.PATTERNS.items()},
    **{name: partial(scalar, name) for name, f in SCALAR_FUNCTIONS.items() if f.is_call},
    "zip": zip,
    "pad": pad,
    **SCALARS,
    "literal_array": literal_array,
    "clamp": clamp,
    "mirror": mirror,
    "wrap": wrap,
    "vectorize": vectorize,
    "add": add,
    "mul": mul,
}
"""What printed terms are made of, by name."""
