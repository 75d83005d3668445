"""Golden messages: what a user reads when a program is ill typed, for each constructor and misuse.

`test_typing_errors` has more, and shows that the line named is the innermost one.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relift
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.terms import Input

rl: Any = relift
"""Not typed: the calls below are wrong on purpose."""
boolean, f32, i32, tup, vec = rl.boolean, rl.f32, rl.i32, rl.tup, rl.vec

n, m = rl.nat("n"), rl.nat("m")


def given(name: str, t: Any) -> Any:
    """A parameter of a program."""
    return Input(name, t)


xs, ys, ks, rows = (
    given("xs", f32[n]),
    given("ys", f32[m]),
    given("ks", i32[n]),
    given("rows", f32[n, m]),
)
pairs, vs, four = (
    given("pairs", tup(f32, i32)[n]),
    given("vs", vec(f32, 4)[n]),
    given("four", f32[4]),
)
a, b = given("a", f32), given("b", boolean)

MESSAGES: dict[str, tuple[Callable[[], Any], str]] = {
    "reduce: initial value": (
        lambda: rl.reduce(rl.add, (0.0, 1.0), xs),
        "reduce: init has type (f32, f32), but f32 is needed here",
    ),
    "reduce: float for integers": (
        lambda: rl.reduce(rl.add, 0.5, ks),
        "0.5 is not a value of type i32; write a whole number",
    ),
    "reduce: no operator": (
        lambda: rl.reduce(lambda x, y: x + y, 0.0, xs),
        "reduce: an operator with declared laws is needed, such as rl.add; make one with rl.operator(f, associative=True, ...), or use reduce_seq, which needs none",
    ),
    "reduce: a scalar": (
        lambda: rl.reduce(rl.add, 0.0, a),
        "reduce: xs must be of the form a[n], but has type f32; repeat(m, x) makes an array of one f32",
    ),
    "reduce: rows": (
        lambda: rl.reduce(rl.add, 0.0, rows),
        "reduce: init has type f32, but f32[m] is needed here",
    ),
    "map: no function": (
        lambda: rl.map(xs, xs),
        "a function of 1 argument is needed, not a term of type f32[n]; write lambda x: ...",
    ),
    "map: number for function": (
        lambda: rl.map(3, xs),
        "a function of 1 argument is needed, not 3; write lambda x: ...",
    ),
    "map: number for data": (
        lambda: rl.map(lambda x: x, 3.0),
        "map: xs must be of the form a[n], but has type f32; repeat(m, x) makes an array of one f32",
    ),
    "map: list": (
        lambda: rl.map(lambda x: x, [1.0, 2.0]),
        "a list is not a term: a tuple is written (x, y), and patterns make arrays; a program computes with its parameters and numbers",
    ),
    "map: numpy": (
        lambda: rl.map(lambda x: x, np.zeros(3)),
        "a NumPy value of shape (3,) is not a term: make it a parameter, or a constant, rl.literal_array(...); a program computes with its parameters and numbers",
    ),
    "map: list in body": (
        lambda: rl.map(lambda x: [x, x], xs),
        "a list is not a term: a tuple is written (x, y), and patterns make arrays; a program computes with its parameters and numbers",
    ),
    "map: None": (
        lambda: rl.map(lambda x: None, xs),
        "None is not a term: a function that is traced returns its result; a program computes with its parameters and numbers",
    ),
    "map: vector": (
        lambda: rl.map(lambda v: v + 1.0, vs),
        "add works on scalars, not on vec(f32, 4); use map or a component",
    ),
    "map: over vector": (
        lambda: rl.map(lambda v: rl.map(lambda x: x, v), vs),
        "map: xs must be of the form a[n], but has type vec(f32, 4); map_vec works on a vector",
    ),
    "map: python min": (
        lambda: rl.map(lambda x: min(x, 0.0), xs),
        "a term has no truth value while it is traced; use select(condition, a, b), minimum or maximum; conditions are joined by & and |",
    ),
    "map: python if": (
        lambda: rl.map(lambda x: x if x > 0.0 else -x, xs),
        "a term has no truth value while it is traced; use select(condition, a, b), minimum or maximum; conditions are joined by & and |",
    ),
    "map: and": (
        lambda: rl.map(lambda x: x > 0.0 and x < 1.0, xs),
        "a term has no truth value while it is traced; use select(condition, a, b), minimum or maximum; conditions are joined by & and |",
    ),
    "map: math.sqrt": (
        lambda: rl.map(lambda x: math.sqrt(x), xs),
        "a term has no number while it is traced; use the functions of relift, such as rl.sqrt",
    ),
    "map: shift to the right": (
        lambda: rl.map(lambda x: x >> 1, xs),
        "right_shift is defined on i32 and i64, not on f32; write i32(...) around the f32",
    ),
    "map: shift to the left": (
        lambda: rl.map(lambda x: 1 << x, xs),
        "left_shift is defined on i32 and i64, not on f32; write i32(...) around the f32",
    ),
    "map: shift by more bits than there are": (
        lambda: rl.map(lambda x: rl.i32(x) << 32, xs),
        "left_shift: i32 has 32 bits, so none is shifted by 32; write 0 to 31",
    ),
    "map: product of matrices": (
        lambda: rl.map(lambda x: x @ x, xs),
        "a term has no @; write rl.map over rows and columns, and rl.reduce of their products",
    ),
    "map: round": (
        lambda: rl.map(round, xs),
        "a term has no round; write rl.floor(v + 0.5)",
    ),
    "map: trunc": (
        lambda: rl.map(math.trunc, xs),
        "a term has no trunc; write rl.select(v < 0.0, rl.ceil(v), rl.floor(v))",
    ),
    "map: power with a modulus": (
        lambda: rl.map(lambda x: pow(x, 2, 5), xs),
        "a term has no pow with a modulus; write v**k % m",
    ),
    "map: format": (
        lambda: rl.map(lambda x: float(f"{x:.3f}"), xs),
        "a term has no number while it is traced; use the functions of relift, such as rl.sqrt",
    ),
    "map: int()": (
        lambda: rl.map(lambda x: int(x), xs),
        "a term has no number while it is traced; use the functions of relift, such as rl.sqrt",
    ),
    "map: len": (lambda: len(xs), "the length of a f32[n] is n; use the size that its type names"),
    "range of term": (
        lambda: rl.map(lambda k: range(k), ks),
        "a term has no number while it is traced; use the functions of relift, such as rl.sqrt",
    ),
    "range of size": (
        lambda: range(n),
        "the size n has no number while a program is traced; use map",
    ),
    "numpy scalar": (
        lambda: rl.map(lambda x: np.float32(2) * x, xs),
        "a NumPy value of shape () is not a term: write float(...) or int(...) around it, or make it a parameter",
    ),
    "numpy scalar on the right": (
        lambda: rl.map(lambda x: x * np.float32(2), xs),
        "mul works on scalars: a NumPy value of shape () is not a term: write float(...) or int(...) around it, or make it a parameter",
    ),
    "numpy function": (
        lambda: rl.map(lambda x: np.maximum(x, 0.0), xs),
        "np.maximum knows no terms; write rl.maximum",
    ),
    "numpy function unknown": (
        lambda: rl.map(lambda x: np.arctanh(x), xs),
        "np.arctanh knows no terms; the functions of relift do, such as rl.sqrt",
    ),
    "numpy array beside a term": (
        lambda: rl.map(lambda x: np.zeros(3) < x, xs),
        "a NumPy value of shape (3,) is not a term: make it a parameter, or a constant, rl.literal_array(...)",
    ),
    "two parameters for a pair": (
        lambda: rl.map(lambda x, y: x + y, rl.zip(xs, xs)),
        "a function of 1 argument is needed here, but this one takes 2; an element is a tuple: write lambda p: ... with p[0], p[1]",
    ),
    "an operator for a pair": (
        lambda: rl.map(rl.add, rl.zip(xs, xs)),
        "a function of 1 argument is needed here, but this one takes 2; an element is a tuple: write lambda p: ... with p[0], p[1]",
    ),
    "a part by a slice": (
        lambda: xs[1:3],
        "a part of an array is not written [i:j]; take(j - i, drop(i, xs)) is it",
    ),
    "from the end": (lambda: xs[-2], "an index counts from the start; for -2 write n - 2"),
    "size among truth values": (
        lambda: rl.map(lambda x: (x < 0.0) & n, xs),
        "bitwise_and: boolean and i32 do not mix; both sides need one type: select(x, 1, 0) is a number of a truth value",
    ),
    "function uncalled": (
        lambda: rl.map(lambda x: rl.sqrt, xs),
        "the function sqrt is not a term: call it, or give it to map; a program computes with its parameters and numbers",
    ),
    "index by term": (
        lambda: rl.map(lambda k: four[k], ks),
        "at: index is a size, not a term of type i32; it cannot depend on data",
    ),
    "at beyond": (
        lambda: four[4],
        "at: length 4 is too short: 5 elements are needed at least; pad the array",
    ),
    "at negative": (lambda: four[-1], "an index counts from the start; for -1 write 3"),
    "at slice": (
        lambda: four[1:2],
        "a part of an array is not written [i:j]; take(j - i, drop(i, xs)) is it",
    ),
    "at symbolic": (
        lambda: xs[1],
        "at: length n is too short: 2 elements are needed at least; pad the array, or state a size with least=...",
    ),
    "zip three": (
        lambda: rl.zip(xs, ks, ys),
        "zip: length n is needed, but the argument has length m; write both with one size, or take or pad",
    ),
    "zip of number": (
        lambda: rl.zip(xs, 1.0),
        "zip: ys must be of the form b[n], but has type f32; repeat(m, x) makes an array of one f32",
    ),
    "zip of one": (lambda: rl.map(lambda p: p, rl.zip(xs)), "zip still lacks arguments: ys"),
    "split rows": (
        lambda: rl.split(m, xs),
        "split: m does not divide n for every size; pad the array or choose a size that divides n",
    ),
    "split term": (
        lambda: rl.split(a, xs),
        "split: m is a size, not a term of type f32; it cannot depend on data",
    ),
    "split str": (lambda: rl.split("n", xs), "split: m is a size, not 'n'"),
    "join flat": (
        lambda: rl.join(xs),
        "join: xss must be of the form a[k, m], but has type f32[n]; split(m, xs) makes rows of an array",
    ),
    "transpose flat": (
        lambda: rl.transpose(xs),
        "transpose: xss must be of the form a[n, m], but has type f32[n]; split(m, xs) makes rows of an array",
    ),
    "slide step 0": (lambda: rl.slide(2, 0, four), "slide: step must be at least 1"),
    "slide symbolic": (
        lambda: rl.slide(3, 1, xs),
        "slide: length n is too short: 3 elements are needed at least; pad the array, or state a size with least=...",
    ),
    "pad wrong value": (lambda: rl.pad(1, 1, True, xs), "True is not a value of type f32"),
    "pad value float for int": (
        lambda: rl.pad(1, 1, 0.5, ks),
        "0.5 is not a value of type i32; write a whole number",
    ),
    "boundary called": (
        lambda: rl.clamp(xs[0], 0.0, 1.0),
        "clamp says how pad goes on beyond the ends of an array, as in pad(1, 1, clamp, xs); a number between two others is minimum(maximum(v, low), high)",
    ),
    "pad negative": (
        lambda: rl.pad(-1, 1, rl.clamp, xs),
        "pad_clamp: left is -1, but a size is not negative",
    ),
    "pad str": (
        lambda: rl.pad(1, 1, "clamp", xs),
        "pad: the boundary is rl.clamp, rl.mirror, rl.wrap or a constant, not 'clamp'",
    ),
    "pad nothing": (
        lambda: rl.pad(1, 1, None, xs),
        "pad: the boundary is rl.clamp, rl.mirror, rl.wrap or a constant, not None",
    ),
    "pad empty": (
        lambda: rl.pad(1, 1, rl.clamp, rl.take(0, xs)),
        "pad_clamp: n must be at least 1",
    ),
    "drop": (
        lambda: rl.drop(2, xs),
        "drop: length n is too short: 2 elements are needed at least; pad the array, or state a size with least=...",
    ),
    "repeat negative": (lambda: rl.repeat(-2, a), "repeat: m is -2, but a size is not negative"),
    "as_vector width": (
        lambda: rl.as_vector(3, four),
        "as_vector: 3 does not divide 4; pad the array or choose a size that divides 4",
    ),
    "as_vector 0": (lambda: rl.as_vector(0, four), "as_vector: width must be at least 1"),
    "as_scalar": (
        lambda: rl.as_scalar(xs),
        "as_scalar: vs must be of the form vec(a, width)[k], but has type f32[n]; as_vector makes vectors of an array",
    ),
    "map_vec": (
        lambda: rl.map_vec(lambda x: x, xs),
        "map_vec: v must be of the form vec(a, width), but has type f32[n]; as_vector makes vectors of an array",
    ),
    "vector component": (
        lambda: rl.map(lambda v: v[0], vs),
        "a value of type vec(f32, 4) has no components; as_scalar makes an array of vectors one of scalars",
    ),
    "vectorized op": (
        lambda: rl.reduce(rl.vectorize(2, rl.add), 0.0, vs),
        "reduce: init has type f32, but vec(f32, 4) is needed here",
    ),
    "vectorized op width": (
        lambda: rl.reduce(rl.vectorize(2, rl.add), rl.splat(4, 0.0), vs),
        "vectorize(2, add): a vector is needed, not vec(f32, 4)",
    ),
    "splat 0": (lambda: rl.splat(0, a), "splat: width must be at least 1"),
    "map_glb no dim": (
        lambda: rl.map_glb(lambda x: x, xs),
        "map_glb: write map_glb(0)(f, xs), with a dimension 0, 1 or 2 first",
    ),
    "map_wrg 7": (
        lambda: rl.map_wrg(7)(lambda x: x, xs),
        "map_wrg: OpenCL has dimensions 0, 1 and 2, not 7",
    ),
    "reduce_seq arity": (
        lambda: rl.reduce_seq(lambda x: x, 0.0, xs),
        "a function of 2 arguments is needed here, but this one takes 1",
    ),
    "reduce_seq acc": (
        lambda: rl.reduce_seq(lambda acc, k: acc + k, 0.0, ks),
        "add: f32 and i32 do not mix; both sides need one type: write f32(...) around the other",
    ),
    "reduce_seq swapped": (
        lambda: rl.reduce_seq(0.0, lambda acc, x: acc + x, xs),
        "the function <lambda> is not a term: call it, or give it to map; a program computes with its parameters and numbers",
    ),
    "forgotten beside a number": (
        lambda: rl.map(lambda x: x - rl.at_runtime(1, xs), xs),
        "sub works on scalars: at_runtime still lacks arguments: xs",
    ),
    "forgotten": (lambda: rl.zip(xs, rl.map(lambda x: x)), "map still lacks arguments: xs"),
    "too many": (lambda: rl.map(lambda x: x, xs, ys), "map takes 2 arguments, 3 are given: f, xs"),
    "select cond": (
        lambda: rl.select(a, 1.0, 2.0),
        "select: the condition has type f32, not boolean; compare it first",
    ),
    "select ==": (
        lambda: rl.select(a == 0.0, 1.0, a),
        "select: the condition is False, whatever the data; terms are compared with <, <=, equal or not_equal, as == compares programs",
    ),
    "add bools": (
        lambda: b + b,
        "add works on numbers, not on boolean; select(x, 1, 0) is a number of a truth value",
    ),
    "float for int": (
        lambda: rl.map(lambda k: k * 2.5, ks),
        "2.5 is not a value of type i32; write a whole number",
    ),
    "div arrays": (lambda: xs / 2.0, "div works on scalars, not on f32[n]; use map or a component"),
    "sum arrays": (lambda: xs + xs, "add works on scalars, not on f32[n]; use map or a component"),
    "add op on arrays": (
        lambda: rl.add(xs, xs),
        "add works on scalars, not on f32[n]; use map or a component",
    ),
    "add op mixing": (
        lambda: rl.map(lambda p: rl.add(p[0], p[1]), pairs),
        "add: f32 is needed, not i32",
    ),
    "sqrt str": (lambda: rl.sqrt("2"), "sqrt works on scalars: '2' is not a term"),
    "sqrt arity": (lambda: rl.sqrt(a, a), "sqrt takes 1 argument, 2 are given"),
    "tuple negative": (
        lambda: rl.map(lambda p: p[-1], pairs),
        "a tuple of type (f32, i32) has no component -1; its components are 0 to 1",
    ),
    "tuple unpack 3": (
        lambda: rl.map(lambda p: p[2], pairs),
        "a tuple of type (f32, i32) has no component 2; its components are 0 to 1",
    ),
    "operator lambda no name": (
        lambda: rl.operator(lambda x, y: x),
        "an operator made from a lambda needs name=...",
    ),
    "operator arity": (
        lambda: rl.operator(lambda x: x, name="f")(a, a),
        "operator f combines two values, but its function does not take two arguments",
    ),
    "tuple of 1": (lambda: rl.tup(f32), "a tuple type has two components or more"),
    "tuple not type": (
        lambda: rl.tup(f32, 3),
        "3 is not a type; types are f32, i32, f32[n], tup(t, u), vec(t, w)",
    ),
    "vec": (lambda: rl.vec(f32, 2.5), "a size is a whole number or rl.nat(...), not 2.5"),
    "type size float": (lambda: f32[2.0], "a size is a whole number or rl.nat(...), not 2.0"),
    "type size negative": (lambda: f32[-1], "f32[-1]: a length is not negative"),
    "type size str": (lambda: f32["n"], "a size is a whole number or rl.nat(...), not 'n'"),
    "nat name": (lambda: rl.nat("2n"), "a size is named like a Python variable, not '2n'"),
    "nat int": (lambda: rl.nat(3), "a size is named like a Python variable, not 3"),
    "nat least": (
        lambda: rl.nat("n", least=-1),
        "the least value of size n is a whole number, 0 or more, not -1",
    ),
    "nat multiple": (
        lambda: rl.nat("n", multiple_of=0),
        "size n cannot be a multiple of 0, which may be less than 1",
    ),
    "size div": (
        lambda: n // m,
        "n is not divisible by m for every size; write it as a multiple of m",
    ),
    "size truediv": (
        lambda: n / 2,
        "sizes divide exactly or not at all; write (n) // 2, or of numbers f32(n) / 2",
    ),
    "size mod": (
        lambda: n % m,
        "sizes have no remainder; make n a multiple, such as m * rl.nat('k')",
    ),
    "size compare": (
        lambda: n > 4,
        "whether n > 4 is not known while a program is traced; state it with rl.nat(name, least=...)",
    ),
    "size float": (
        lambda: f32[n + 0.5],
        "a size is a whole number or rl.nat(...), not a value that is computed",
    ),
    "size pow": (lambda: n**-1, "the power of a size is a whole number, 0 or more, not -1"),
    "compose": (
        lambda: (rl.split(3) >> rl.join)(xs),
        "split: 3 does not divide n for every size; pad the array or choose a size that divides n",
    ),
}


def annotated(function: Callable[..., Any], *types: Any) -> Callable[..., Any]:
    """The function with a type for each parameter, and one for its result where there is one more."""
    names = [*inspect.signature(function).parameters, "return"]
    function.__annotations__ = dict(zip(names, types, strict=False))
    function.__name__ = "f"
    return function


def call(function: Callable[..., Any], types: tuple[Any, ...], *arguments: Any) -> Any:
    """A program made of the function, run on the arguments."""
    return rl.program(annotated(function, *types))(*arguments)


VECTOR = (f32[n],)
SQUARE = rl.userfun(annotated(lambda x: x * x, f32, f32))
PROGRAMS: dict[str, tuple[Callable[[], Any], str]] = {
    "no annotation": (
        lambda: rl.program(annotated(lambda x: x)),
        "f: parameter x needs a type such as rl.f32[n]",
    ),
    "Python type": (
        lambda: rl.program(annotated(lambda x: x, float)),
        "f: parameter x needs a type such as rl.f32[n]",
    ),
    "size": (
        lambda: rl.program(annotated(lambda n: rl.map(rl.sqrt, n), f32[n])),
        "f: parameter n has the name of a size, which is a value, too; give one another name",
    ),
    "no return": (
        lambda: rl.program(annotated(lambda x: None, f32[n])),
        "None is not a term: a function that is traced returns its result; a program computes with its parameters and numbers",
    ),
    "list": (
        lambda: rl.program(annotated(lambda x: [x, x], f32[n])),
        "a list is not a term: a tuple is written (x, y), and patterns make arrays; a program computes with its parameters and numbers",
    ),
    "vector parameter": (
        lambda: rl.program(annotated(lambda x: x, vec(f32, 4))),
        "f: parameter x cannot have type vec(f32, 4)",
    ),
    "unapplied": (
        lambda: rl.program(annotated(lambda x: rl.map(lambda y: y), f32[n])),
        "map still lacks arguments: xs",
    ),
    "userfun without types": (
        lambda: rl.userfun(annotated(lambda x: x)),
        "userfun f: every parameter and the result need a type",
    ),
    "userfun on arrays": (
        lambda: rl.userfun(annotated(lambda x: x, f32[n], f32)),
        "userfun f works on scalars, not on f32[n]",
    ),
    "userfun with another result": (
        lambda: rl.userfun(annotated(lambda x: x < 0.0, f32, f32)),
        "userfun f returns boolean, not f32",
    ),
    "userfun with two arguments": (lambda: SQUARE(a, a), "f takes 1 argument, 2 are given"),
    "userfun on another type": (lambda: rl.map(SQUARE, ks), "f: x has type i32, f32 is needed"),
    "operator of one argument": (
        lambda: rl.operator(lambda x: x, name="f"),
        "operator f combines two values, but its function does not take two arguments",
    ),
    "operator with a keyword of Python's for a name": (
        lambda: rl.operator(lambda x, y: x, name="for"),
        "an operator is named like a Python variable, not 'for'",
    ),
    "operator with a word for a law": (
        lambda: rl.operator(lambda x, y: x, name="f", associative="no"),
        "operator f: associative is True or False, not 'no'",
    ),
    "operator with a number beyond all types": (
        lambda: rl.operator(lambda x, y: x, name="f", neutral=10**400),
        "operator f: no type has the neutral element a number of 1332 bits",
    ),
    "operator with a neutral element that is no number": (
        lambda: rl.operator(lambda x, y: x, name="f", neutral=float("nan")),
        "operator f: no type has the neutral element nan",
    ),
    "operator that distributes over one": (
        lambda: rl.operator(lambda x, y: x, name="f", distributes_over=rl.add),
        "operator f: distributes_over takes a sequence of operators, such as (add,), not BinaryOperator(name='add', laws=Laws(associative=True, co...",
    ),
    "operator that distributes over names": (
        lambda: rl.operator(lambda x, y: x, name="f", distributes_over="add"),
        "operator f: distributes_over takes a sequence of operators, such as (add,), not 'add'",
    ),
    "operator that distributes over no operator": (
        lambda: rl.operator(lambda x, y: x, name="f", distributes_over=(rl.sqrt,)),
        "operator f: distributes_over takes a sequence of operators, such as (add,), not (<scalar function sqrt>,)",
    ),
    "operator that captures": (
        lambda: rl.map(
            lambda y: rl.reduce(rl.operator(lambda u, v: u * y + v, name="horner"), 0.0, xs), xs
        ),
        "operator horner uses the variable y of the program around it; its value depends on its two arguments only, so use reduce_seq",
    ),
    "lengths that clash": (
        lambda: call(lambda x, y: rl.zip(x, y), (f32[n], f32[n]), np.ones(3), np.ones(4)),
        "f: length 3 is needed, but the argument has length 4; write both with one size, or take or pad",
    ),
    "missing argument": (lambda: call(lambda x: x, VECTOR), "f takes 1 arrays, 0 are given"),
    "wrong shape": (
        lambda: call(lambda x: x, VECTOR, np.ones((3, 3))),
        "x: f32[n] has 1 dimensions, the argument has shape (3, 3)",
    ),
    "number for an array": (
        lambda: call(lambda x: x, VECTOR, 1.0),
        "x: f32[n] has 1 dimensions, the argument has shape ()",
    ),
    "empty array": (
        lambda: call(lambda x: x, VECTOR, np.ones(0)),
        'f: size n is 0, but it is at least 1; rl.nat("n", least=0) allows 0',
    ),
    "floats for whole numbers": (
        lambda: call(lambda x: x, (i32[n],), np.ones(3)),
        "x: i32 is needed, the argument holds float64; convert it with astype",
    ),
    "texts for numbers": (
        lambda: call(lambda x: x, VECTOR, np.array(["a"])),
        "x: f32 is needed, the argument holds <U1; convert it with astype",
    ),
    "size not given": (
        lambda: rl.program(annotated(lambda x: x, f32[n])).at({}),
        'f: size n is not given; say sizes={"n": ...}, or --size n=...',
    ),
    "unknown size": (
        lambda: rl.program(annotated(lambda x: x, f32[n])).at({"n": 2, "q": 1}),
        "f has no size q; its sizes are: n",
    ),
    "fractional size": (
        lambda: rl.program(annotated(lambda x: x, f32[n])).at({"n": 2.5}),
        "size n is a whole number, not 2.5",
    ),
    "negative size": (
        lambda: rl.program(annotated(lambda x: x, f32[n])).at({"n": -2}),
        "size n is from 0 to 2**48, not -2",
    ),
}
CASES = MESSAGES | PROGRAMS


@pytest.mark.parametrize(("build", "message"), CASES.values(), ids=CASES)
def test_message_and_line(build: Callable[[], Any], message: str) -> None:
    """The message is this one, word for word, and its place is where the user wrote it."""
    lines, first = inspect.getsourcelines(build)
    with pytest.raises(IllTyped) as caught:
        build()

    assert caught.value.message == message
    file, _, line = (caught.value.place or "").rpartition(":")
    assert file == __file__
    helper = inspect.getsourcelines(call)
    inside = range(first, first + len(lines)), range(helper[1], helper[1] + len(helper[0]))
    assert any(int(line) in place for place in inside)


def test_a_size_that_breaks_its_promise_is_refused() -> None:
    """`least` and `multiple_of` are facts that typing uses and calls check."""
    k = rl.nat("k", least=3)
    eight = rl.nat("n", multiple_of=4)

    assert rl.drop(2, given("xs", f32[k])).type == f32[k - 2]
    assert rl.split(4, given("xs", f32[eight])).type == f32[eight // 4, 4]
    with pytest.raises(IllTyped, match="size k is 2, but it is at least 3"):
        call(lambda x: rl.drop(2, x), (f32[k],), np.ones(2))
    with pytest.raises(IllTyped, match="f: 4 does not divide 6"):
        call(lambda x: rl.split(4, x), (f32[eight],), np.ones(6))
