"""The fixed part of every e-graph: sorts, typing, free names, substitution, and what is known of operators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from relift.egraph.encode.constructors import Constructor, constructors
from relift.egraph.encode.equations import Equations, Variable
from relift.egraph.encode.terms import list_text, operator_text, quoted, type_text
from relift.rewrites.declared_laws import (
    EXACT_LAWS,
    OVER_OTHERS,
    FloatPolicy,
    neutral_of,
    over_others,
)
from relift.semantics.syntax import terms
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    NatKind,
    NumbersKind,
    OperatorKind,
    Signature,
)
from relift.semantics.syntax.sizes import Size, Unknown
from relift.semantics.syntax.types import SCALARS, AnyType, Type


def rule_text(
    premises: Iterable[str], actions: Iterable[str], ruleset: str, name: str | None = None
) -> str:
    """One rule of egglog."""
    label = f" :name {quoted(name)}" if name else ""
    return f"(rule ({' '.join(premises)}) ({' '.join(actions)}) :ruleset {ruleset}{label})\n"


SORTS = """\
(datatype* (T (Sc String) (Arr i64 T) (Vec i64 T) (Tup L) (Clash T T)) (L (Nil) (Cons T L)))
(datatype N (V String T) (Fr String N T))
(sort SN (Set N))
(datatype O (OFn String) (OAny String) (OVec i64 O))
"""
FACTS = """\
(function fv (E) SN :merge (set-intersect old new))
(function ty (E) T :merge (Clash old new))
(function nty (N) T :merge (Clash old new))
(function rep (E) Q :merge old)
(relation associative (O))
(relation commutative (O))
(relation distributive (O O))
(relation telescoping (O O))
(relation idempotent (O))
(relation neutral (O E))
(relation exact (T))
(relation flat (T))
(relation tile (i64))
(relation lanes (i64))
(ruleset analysis)
(ruleset substitution)
(rule ((= n (V s t))) ((set (nty n) t)) :ruleset analysis)
(rule ((= n (Fr s p t))) ((set (nty n) t)) :ruleset analysis)
(rule ((= t (Arr n s)) (exact s)) ((exact t)) :ruleset analysis)
(rule ((= t (Vec n s)) (exact s)) ((exact t)) :ruleset analysis)
(relation all_exact (L))
(rule ((= l (Nil))) ((all_exact l)) :ruleset analysis)
(rule ((= l (Cons t k)) (exact t) (all_exact k)) ((all_exact l)) :ruleset analysis)
(rule ((= t (Tup l)) (all_exact l)) ((exact t)) :ruleset analysis)
(rule ((= t (Sc s))) ((flat t)) :ruleset analysis)
(relation all_flat (L))
(rule ((= l (Nil))) ((all_flat l)) :ruleset analysis)
(rule ((= l (Cons t k)) (flat t) (all_flat k)) ((all_flat l)) :ruleset analysis)
(rule ((= t (Tup l)) (all_flat l)) ((flat t)) :ruleset analysis)
(rule ((= o (OVec w p)) (associative p)) ((associative o)) :ruleset analysis)
(rule ((= o (OVec w p)) (commutative p)) ((commutative o)) :ruleset analysis)
(rule ((= o (OVec w p)) (= r (OVec w q)) (distributive p q)) ((distributive o r)) :ruleset analysis)
(rule ((= o (OVec w p)) (= r (OVec w q)) (telescoping p q)) ((telescoping o r)) :ruleset analysis)
(rule ((= o (OVec w p)) (neutral p z) (= e (P_splat w z))) ((neutral o e)) :ruleset analysis)
(rule ((= e (Sub x a b)) (= t (ty b))) ((set (ty e) t)) :ruleset analysis)
(rule ((= e (Sub x a b)) (= f (fv b)) (= g (fv a)) (= p (rep a)) (= q (rep b)))
      ((set (fv e) (set-union (set-remove f x) g)) (set (rep e) (QSub x p q))) :ruleset analysis)
(rule ((= e (Sub x a (Var x)))) ((union e a)) :ruleset substitution)
(rule ((= e (Sub x a b)) (= f (fv b)) (set-not-contains f x)) ((union e b)) :ruleset substitution)
"""


def prelude(arity: int) -> str:
    """Sorts, constructors, typing, free names, substitution: the same for every search of this arity."""
    found = constructors(arity)
    text = [SORTS]
    for sort in ("E", "Q"):
        text.append(f"(datatype {sort}")
        for c in found.values():
            slots = [sort if slot.sort == "E" else slot.sort for slot in c.slots]
            text.append(f" ({c.name if sort == 'E' else c.mirrored} {' '.join(slots)})")
        text.append(")\n")
    text.append(FACTS)
    for c in found.values():
        if c.of is not None:
            text += [_free_names(c), *_substitution(c), *_typing(c)]
    text += _components(found, arity)
    return "".join(text)


def totality(arity: int, *, branches: bool, functions: bool, operators: bool) -> str:
    """Which terms are defined everywhere: those of total patterns, whose parts are.

    Beside cells that are left open nothing that `branches` is; user functions and operators are where that is said.
    """
    text = ["(relation total (E))\n"]
    for c in constructors(arity).values():
        if (c.of is terms.Call and not functions) or (c.of is terms.Combine and not operators):
            continue
        premises = [f"(= e {_node(c, _variables(c))})", *(f"(total v{i})" for i in c.terms)]
        if c.pattern is not None:
            if c.pattern.partial or (c.pattern.branches and not branches):
                continue
            if not operators and any(slot.sort == "O" for slot in c.slots):
                continue
        if c.of is terms.Apply and not branches:
            premises.append('(!= v0 "select")')
        text.append(rule_text(premises, ["(total e)"], "analysis"))
    return "".join(text)


def _variables(c: Constructor) -> list[str]:
    return [f"v{i}" for i in range(len(c.slots))]


def _node(c: Constructor, arguments: Iterable[str], *, mirrored: bool = False) -> str:
    return f"({c.mirrored if mirrored else c.name} {' '.join(arguments)})"


def _free_names(c: Constructor) -> str:
    """What a node uses, less what it binds; and the representative of its class."""
    variables = _variables(c)
    free = "(set-of v0)" if c.of is terms.Var else ""
    for i in c.terms:
        mine = f"f{i}"
        for j in c.bound(i):
            mine = f"(set-remove {mine} v{j})"
        free = f"(set-union {free} {mine})" if free else mine
    mirrored = [f"q{i}" if i in c.terms else v for i, v in enumerate(variables)]
    return rule_text(
        [
            f"(= e {_node(c, variables)})",
            *(f"(= f{i} (fv v{i}))" for i in c.terms),
            *(f"(= q{i} (rep v{i}))" for i in c.terms),
        ],
        [
            f"(set (fv e) {free or '(set-empty)'})",
            f"(set (rep e) {_node(c, mirrored, mirrored=True)})",
        ],
        "analysis",
    )


def _substitution(c: Constructor) -> Iterator[str]:
    """Substitution moves into a node; under a binder only when nothing is captured."""
    if not c.terms:
        return
    variables = _variables(c)
    pushed = [f"(Sub x g v{i})" if i in c.terms else v for i, v in enumerate(variables)]
    premises = [f"(= e (Sub x g {_node(c, variables)}))"]
    if c.names:
        premises += [f"(!= x v{j})" for j in c.names] + ["(= h (fv g))"]
        premises += [f"(set-not-contains h v{j})" for j in c.names]
    yield rule_text(premises, [f"(union e {_node(c, pushed)})"], "substitution")
    for j in c.names:
        outside = [
            f"(Sub v{j} g v{i})" if i in c.terms and j not in c.bound(i) else v
            for i, v in enumerate(variables)
        ]
        yield rule_text(
            [f"(= e (Sub v{j} g {_node(c, variables)}))"],
            [f"(union e {_node(c, outside)})"],
            "substitution",
        )


def _typing(c: Constructor) -> Iterator[str]:
    """The type of a node: of a pattern, by its signature."""
    variables = _variables(c)
    node = _node(c, variables)
    stated = [f"v{i}" for i, slot in enumerate(c.slots) if slot.place == "type"]
    if c.pattern is not None:
        yield _pattern_typing(c, c.pattern.signature)
    elif c.of is terms.Var:
        yield rule_text([f"(= e {node})", "(= t (nty v0))"], ["(set (ty e) t)"], "analysis")
    elif c.of is terms.Combine:
        yield rule_text([f"(= e {node})", "(= t (ty v1))"], ["(set (ty e) t)"], "analysis")
    elif c.of is terms.MakeTuple:
        parts = [f"(= t{i} (ty v{i}))" for i in c.terms]
        whole = f"(Tup {list_text(f't{i}' for i in c.terms)})"
        yield rule_text([f"(= e {node})", *parts], [f"(set (ty e) {whole})"], "analysis")
    elif stated:
        yield rule_text([f"(= e {node})"], [f"(set (ty e) {stated[0]})"], "analysis")


def _pattern_typing(c: Constructor, signature: Signature) -> str:
    sizes = Equations()
    data: list[str] = []
    results: list[str] = []
    binders: list[tuple[str, Type]] = []
    slots = iter(enumerate(c.slots))
    for name, kind in signature.parameters.items():
        i, _ = next(slots)
        match kind:
            case NatKind():
                sizes.define(Unknown(name), Size.atom(Variable(f"v{i}")))
            case OperatorKind() | IndexKind():
                pass
            case NumbersKind(element, length):
                i, _ = next(slots)
                data.append(f"(= v{i} {sizes.type_pattern(element[length])})")
            case FunctionKind(arguments, result):
                for t in arguments:
                    binders.append((f"v{i}", t))
                    i, _ = next(slots)
                results.append(f"(= (ty v{i}) {sizes.type_pattern(result)})")
            case AnyType():
                data.append(f"(= (ty v{i}) {sizes.type_pattern(kind)})")
    sizes.solve()
    return rule_text(
        [f"(= e {_node(c, _variables(c))})", *data, *results, *sizes.premises],
        [
            *(f"(set (nty {x}) {sizes.type_value(t)})" for x, t in binders),
            f"(set (ty e) {sizes.type_value(signature.result)})",
        ],
        "analysis",
    )


def _components(found: Mapping[str, Constructor], arity: int) -> Iterator[str]:
    """A component of a tuple: its type, and its value where the tuple is written out, which stands for it from then on.

    If what equals the part went on to mention the whole tuple, substitution would copy the other parts as well, each time
    with what stands for their variables: what no term needs then grows without end.
    """
    rest = "l"
    for i in range(arity):
        inside = rest
        for j in reversed(range(i + 1)):
            inside = f"(Cons t{j} {inside})"
        yield rule_text(
            [f"(= e (Get {i} v))", f"(= (ty v) (Tup {inside}))"], [f"(set (ty e) t{i})"], "analysis"
        )
    for c in found.values():
        if c.of is terms.MakeTuple:
            for i in c.terms:
                component = f"(Get {i} {_node(c, _variables(c))})"
                yield rule_text(
                    [f"(= e {component})"],
                    [f"(union e v{i})", f"(subsume {component})"],
                    "substitution",
                )


# ---- laws


def laws_text(laws: Mapping[str, terms.Laws]) -> str:
    """What is declared of the operators of a program, as facts.

    A neutral element is a literal of any scalar type; that the operator is used at that type is seen to by
    the type premises of the rules.  Whether a law may be used on floating point is decided by
    `law_premises`.
    """
    text = ["".join(f"(exact {type_text(t)})" for t in SCALARS.values() if not t.is_float) + "\n"]
    for name, law in laws.items():
        operator = f"(OFn {quoted(name)})"
        if law.associative:
            text.append(f"(associative {operator})\n")
        if law.commutative:
            text.append(f"(commutative {operator})\n")
        if law.idempotent:
            text.append(f"(idempotent {operator})\n")
        for name, word in OVER_OTHERS.items():
            for plus in over_others(law)[word]:
                text.append(f"({name} {operator} {operator_text(plus)})\n")
        if law.neutral is not None:
            spelled = {repr(law.neutral), repr(float(law.neutral))}
            if law.neutral == 0:
                spelled |= {"0", "0.0", "-0.0"}
            elif float(law.neutral).is_integer() and not isinstance(law.neutral, bool):
                spelled.add(repr(int(law.neutral)))
            literals = [f"(Literal {quoted(value)} t)" for value in sorted(spelled)]
            ends = [
                (t, neutral_of(law, t)) for t in SCALARS.values() if not math.isfinite(law.neutral)
            ]
            literals += [
                f"(Literal {quoted(repr(end))} {type_text(t)})"
                for t, end in ends
                if isinstance(end, int)
            ]
            text += [
                rule_text([f"(= z {literal})"], [f"(neutral {operator} z)"], "analysis")
                for literal in literals
            ]
    return "".join(text)


def law_premises(
    law: str, operator: str, other: str | None, element: str, policy: FloatPolicy
) -> list[str]:
    """The premises for one law of an operator on values of a type, `element` as egglog writes it.

    `other` is what the law also speaks of: a neutral element, or the operator over which it holds.

    Under `exact`, regrouping and neutral elements are granted on types without floating point only.
    """
    premise = f"({law} {operator} {other})" if other else f"({law} {operator})"
    if policy == "exact" and law not in EXACT_LAWS:
        return [premise, f"(exact {element})"]
    return [premise]
