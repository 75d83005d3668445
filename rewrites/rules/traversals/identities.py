"""Identities: what may be left out, and put in.

map id                     =  id
slide 1 1                  =  split 1      slide n 1  =  repeat 1  (n the length)
(fst p, snd p)             =  p            and so of tuples of three to six
op x y                     =  op y x  (op commutative)
op (op x y) z              =  op x (op y z)  (op associative)
x + y                      =  add x y        x * y  =  mul x y   (and so maximum, minimum)
index 0 (x : xs)           =  x            index (i + 1) (x : xs)  =  index i xs
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relift.rewrites.conditions import associative, commutative
from relift.rewrites.families import NUMBERS, Among, Float, Number
from relift.rewrites.notation import A, B, C, D, E, F, k, m, n, r
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    Elementary,
    add,
    concat,
    generate,
    join,
    make_array,
    map,
    maximum,
    minimum,
    mul,
    repeat,
    slide,
    sub,
    transpose,
    tropical_mul,
)
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.terms import Apply, Term
from relift.semantics.syntax.types import tup


def _said(of: Elementary) -> Callable[[Any, Any], tuple[Term, Term]]:
    """What a function of the table gives, and what the operator gives that is called like it."""
    operator = of.operator
    assert operator is not None, "cannot happen: it is asked for functions that are operators"
    return lambda x, y: (of(x, y), operator(x, y))


Computed = Among(
    {
        "sum": lambda x, y: (x + y, add(x, y)),
        "product": lambda x, y: (x * y, mul(x, y)),
        "difference": lambda x, y: (x - y, sub(x, y)),
        "maximum": _said(maximum),
        "minimum": _said(minimum),
    }
)
"""What a program computes of two numbers, and the operator that does so, which has laws."""


@rule(
    source="LIFT removeEmptyMap, dropId; RISE mapIdentity, mapIdentityAfter, eliminate-map-identity"
)
def map_identity(xs: A[n]):
    """A map of the identity changes nothing."""
    return map(lambda x: x, xs), xs


@rule(source="RISE slideAfter")
def join_slide_one(xs: A[k + 1]):
    """Joining windows of one element gives the array."""
    return join(slide(1, 1, xs)), xs


@rule(source="RISE slideAfter2")
def first_of_slide_one(xs: A[k + 1]):
    """The elements are the firsts of their windows."""
    return map(lambda v: v[0], slide(1, 1, xs)), xs


@rule(source="RISE slide, at one window")
def slide_whole(xs: A[n]):
    """One window of all elements."""
    return slide(n, 1, xs), repeat(1, xs)


def _of_components(p: Any) -> Any:
    """A tuple that is made of the components of another one."""
    return tuple(p[i] for i, _ in enumerate(p.type.parts)), p


@rule(source="RISE makePair of fst and snd; surjective pairing")
def pair_of_components(p: tup(A, B)):
    """A pair is made of its components."""
    return _of_components(p)


@rule(source="RISE makePair of fst and snd; surjective pairing, of three")
def triple_of_components(p: tup(A, B, C)):
    """A triple is made of its components."""
    return _of_components(p)


@rule(source="RISE makePair of fst and snd; surjective pairing, of four")
def tuple_of_four_of_components(p: tup(A, B, C, D)):
    """A tuple of four is made of its components."""
    return _of_components(p)


@rule(source="RISE makePair of fst and snd; surjective pairing, of five")
def tuple_of_five_of_components(p: tup(A, B, C, D, E)):
    """A tuple of five is made of its components."""
    return _of_components(p)


@rule(source="RISE makePair of fst and snd; surjective pairing, of six")
def tuple_of_six_of_components(p: tup(A, B, C, D, E, F)):
    """A tuple of six is made of its components."""
    return _of_components(p)


@rule(
    where=[commutative("op")],
    source="the definition of commutativity",
    proof="""intros A R op op' x x' y y' P Co Op X Y.
eapply (per_trans P); [apply Co; [exact (per_left P _ _ X) | exact (per_left P _ _ Y)] | apply Op; assumption].""",
)
def operands_swapped(op: Op[A], x: A, y: A):
    """A commutative operator does not care which operand comes first."""
    return op(x, y), op(y, x)


@rule(
    where=[associative("op")],
    source="the definition of associativity",
    proof="""intros A R op op' x x' y y' w w' P As Op X Y W.
eapply (per_trans P); [apply (per_sym P), As; [exact (per_left P _ _ X) | exact (per_left P _ _ Y) | exact (per_left P _ _ W)] |].
apply Op; [exact X | apply Op; assumption].""",
)
def operands_regrouped(op: Op[A], x: A, y: A, z: A):
    """An associative operator does not care which two operands are combined first."""
    return op(op(x, y), z), op(x, op(y, z))


@rule(source="the definition of the operator")
def computed_by_operator_number(computed: Computed, x: Number, y: Number):
    """The {computed} of two numbers ({number}) is what the operator gives."""
    return computed(x, y)


@rule(source="Simon, Recognizable sets with multiplicities in the tropical semiring (1988)")
def sum_by_tropical_product_float(x: Float, y: Float):
    """A sum of two floats ({float}) is what multiplies where extremes add: whole numbers would wrap around."""
    return x + y, tropical_mul(x, y)


def operator_rule(t: Term) -> str | None:
    """The rule by which a sum, a product, a difference or an extreme is what an operator gives, which has laws; None for all else.

    >>> from relift import f64
    >>> from relift.rewrites.rules.traversals.identities import operator_rule
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> operator_rule(parse_term("x * x", x=Input("x", f64)))
    'product_by_operator_f64'
    """
    if not isinstance(t, Apply) or t.type not in NUMBERS or t.function not in _OPERATORS:
        return None
    return f"{_OPERATORS[t.function]}_by_operator{NUMBERS[t.type]}"


_OPERATORS = {
    "add": "sum",
    "mul": "product",
    "sub": "difference",
    "maximum": "maximum",
    "minimum": "minimum",
}


@rule(source="RISE idx-reduction-0-3, with its index")
def first_of_three(x: A, y: A, z: A):
    """Element 0 of an array that is written out."""
    return make_array(x, y, z)[0], x


@rule(source="RISE idx-reduction-1-3, idxReduction")
def second_of_three(x: A, y: A, z: A):
    """Element 1 of an array that is written out."""
    return make_array(x, y, z)[1], y


@rule(source="RISE idx-reduction-2-3, with its index")
def third_of_three(x: A, y: A, z: A):
    """Element 2 of an array that is written out."""
    return make_array(x, y, z)[2], z


@rule(source="RISE idx-reduction-0-1, idx-reduction-0-2")
def index_first(x: A, xs: A[r]):
    """The first element of an array with one element put in front."""
    return concat(repeat(1, x), xs)[0], x


@rule(source="RISE idx-reduction-1-2, idxReduction")
def index_behind_first(x: A, xs: A[m + 1 + r]):
    """An index counts down past the element in front."""
    return concat(repeat(1, x), xs)[m + 1], xs[m]


@rule(source="RISE fOutsideMakeArray")
def function_outside_make_array(f: Fun[A, B], x: A, y: A):
    """A function of each element of an array that is written out is a map."""
    return make_array(f(x), f(y)), map(f, make_array(x, y))


@rule(source="RISE mapOutsideMakeArray, map-outside-make-array-2")
def map_outside_make_array(f: Fun[A, B], g: Fun[A, B], xs: A[n]):
    """Maps of one array that are written out row by row are the columns of one map."""
    return (
        make_array(map(f, xs), map(g, xs)),
        transpose(map(lambda x: make_array(f(x), g(x)), xs)),
    )


@rule(source="RISE generate of a constant; LIFT ArrayFromValue")
def generate_constant(x: A):
    """A generator that ignores the index makes copies."""
    return generate(n, lambda i: x), repeat(n, x)


@rule(source="LIFT, CGO'17, views: access through a value array")
def index_of_repeat(x: A):
    """Each copy is the element."""
    return repeat(m + 1 + r, x)[m], x
