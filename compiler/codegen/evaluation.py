"""Values that are no arrays, as C expressions: scalars, vectors and tuples of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relift.compiler.codegen.body import Body
from relift.compiler.codegen.emission import Terms, is_reused
from relift.compiler.codegen.scope import Scope
from relift.compiler.codegen.values.functions import scalar_of
from relift.compiler.codegen.values.scalars import CExpression, literal, spread
from relift.compiler.codegen.values.trees import Tree, as_view, register_code, widened
from relift.compiler.lowering.threads import number
from relift.compiler.text.names import Names
from relift.compiler.text.tree import Function, Name, Return, bare, call
from relift.semantics.errors import Unsupported
from relift.semantics.indices.expressions import variable
from relift.semantics.indices.lanes import Lane
from relift.semantics.indices.views import Environment, View, is_layout, name_of, vector
from relift.semantics.interpreter import operator_lambda
from relift.semantics.patterns import MapVec, Splat
from relift.semantics.syntax import terms
from relift.semantics.syntax.types import Type, Vector


def evaluate(g: Terms, t: terms.Term, scope: Scope) -> Tree:
    """The C expressions of a value that is no array."""
    value = computed(g, t, scope)
    return g.emission.read(g.view(t, scope), scope) if value is None else value


def computed(g: Terms, t: terms.Term, scope: Scope) -> Tree | None:
    """The C expressions of what is computed where it stands; None of what is read from where it lies."""
    match t:
        case terms.Literal():
            return literal(t)
        case terms.Apply(function, arguments):
            return g.emission.functions.apply(function, [scalar(g, u, scope) for u in arguments])
        case terms.Call(function, arguments):
            return _called(g, function, [scalar(g, u, scope) for u in arguments])
        case terms.Combine(operator, left, right):
            return _combined(g, operator, left, right, scope)
        case terms.MakeTuple(parts):
            return tuple(g.evaluate(part, scope) for part in parts)
        case MapVec(f, v) if not is_layout(f.body):
            assert isinstance(v.type, Vector), "cannot happen: map_vec of no vector"
            lane = g.emission.fresh_lane(v.type.width, scope)
            element = vector(g.view(v, scope)).lane(lane.index)
            inside = g.emission.applied(f, scope.in_lanes(lane), element)
            return widened(g.evaluate(f.body, inside), lane.width)
        case Splat(width, x):
            return widened(g.evaluate(x, scope), number(width))
        case terms.Var() | terms.Input() | terms.Get() | terms.Metavariable() | terms.Pattern():
            return None


def scalar(g: Terms, t: terms.Term, scope: Scope) -> CExpression:
    """The C expression of a scalar."""
    e = g.evaluate(t, scope)
    assert isinstance(e, CExpression), f"cannot happen: {name_of(t)} is no scalar"
    return e


# ---- operators


def _combined(
    g: Terms, operator: terms.Operator, left: terms.Term, right: terms.Term, scope: Scope
) -> Tree:
    """An operator's function, with its arguments in place of its parameters."""
    match operator:
        case terms.BinaryOperator():
            f = operator_lambda(operator, left.type)
            arguments = [_argument(g, f, i, u, scope) for i, u in enumerate((left, right))]
            return g.evaluate(f.body, g.emission.applied(f, scope, *arguments))
        case terms.Vectorized(width, inner):
            lane = g.emission.fresh_lane(width, scope)
            views = [_argument(g, None, i, u, scope) for i, u in enumerate((left, right))]
            lanes = [vector(v).lane(lane.index) for v in views]
            value = _lanewise(g, inner, lanes, left.type, scope.in_lanes(lane))
            return widened(value, lane.width)
        case terms.OperatorMetavariable():
            raise AssertionError("cannot happen: a metavariable in a program")


def _lanewise(g: Terms, operator: terms.Operator, lanes: list[View], t: Type, scope: Scope) -> Tree:
    """One operation on all lanes."""
    assert isinstance(t, Vector), "cannot happen: lanes of no vector"
    if not isinstance(operator, terms.BinaryOperator):
        raise Unsupported("a vector of vectors; vectorize an operator on scalars once")
    f = operator_lambda(operator, t.element)
    return g.evaluate(f.body, g.emission.applied(f, scope, *lanes))


def _argument(g: Terms, f: terms.Lambda | None, index: int, t: terms.Term, scope: Scope) -> View:
    """An argument as a view; in a register where it is long and used more than once."""
    if is_layout(t):
        return g.view(t, scope)
    value = g.evaluate(t, scope)
    if f is None or not is_reused(f.parameters[index], f.body):
        return as_view(value, t.type, None if scope.lane is None else scope.lane.index)
    return g.emission.hold(value, t.type, "v", scope)


# ---- user functions


def _called(g: Terms, function: terms.UserFunction, values: Sequence[CExpression]) -> CExpression:
    """A user function, applied to scalars or to all lanes."""
    functions = g.emission.functions
    width = next((e.width for e in values if e.width is not None), None)
    if function.body is None:
        if width is not None:
            values = [g.emission.named(e, "v") for e in values]
        return functions.call_opaque(function, values, width)
    name = functions.name_of(function, width)
    if name not in functions.definitions:
        functions.define(_traced(g, function, function.body, width))
    code = call(name, *(spread(e, width).code for e in values))
    return CExpression(code, scalar_of(function.result), width)


def _traced(
    g: Terms, function: terms.UserFunction, body: terms.Lambda, width: int | None
) -> Function:
    """The definition of a traced user function, for scalars or for vectors."""
    functions = g.emission.functions
    inside = Body(Names(functions.names))
    parameters = [inside.fresh(p) for p in function.parameters]
    lane = None if width is None else Lane(variable("lane", width), width)
    index = None if lane is None else lane.index
    views = [
        as_view(CExpression(Name(p), scalar_of(t), width), t, index)
        for p, t in zip(parameters, function.types, strict=True)
    ]
    scope = Scope(Environment(), lane).bind(body, *views)
    result = spread(scalar(g.inside(inside), body.body, scope), width)
    returned = Return(None, bare(register_code(result)))
    head = functions.head(function, width, parameters)
    return replace(head, body=(*inside.statements, returned))
