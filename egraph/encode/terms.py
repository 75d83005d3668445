"""Terms, types and operators as egglog text, generated from the signatures of the patterns.

A pattern becomes one constructor whose slots are its parameters; a lambda is its binders, then its body.
Binders are names, and a name carries its type, so typing needs no context.  Three facts are kept of every
e-class:

    ty    its type; two types for one class are a `Clash`, which must never happen
    fv    its free names, merged by intersection: what every member could do without
    rep   one term of the class, as it was when the class was new, in a mirror sort that is never unioned;
          the log of rule firings is written in these

`(Sub x a b)` is b with a for x.  It is pushed inwards by rules and never extracted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias
from typing import Literal as Choice

from relift.rewrites.matching import EXACT_LAWS, FloatPolicy
from relift.semantics.errors import Unsupported
from relift.semantics.indices.functions import Numbers, Written
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import PATTERNS, Generate
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    NatKind,
    NumbersKind,
    OperatorKind,
)
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Expression,
    Get,
    Input,
    Lambda,
    Laws,
    Literal,
    MakeTuple,
    Metavariable,
    Operator,
    OperatorMetavariable,
    Pattern,
    Term,
    Var,
    Vectorized,
    subterms,
)
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

Sort: TypeAlias = Choice["E", "N", "O", "T", "i64", "String"]
Kind: TypeAlias = Choice[
    "var", "substitution", "input", "literal", "apply", "call", "metavariable", "combine", "tuple",
    "get", "pattern",
]  # fmt: skip


Applied: TypeAlias = (
    Input | Literal | Apply | Call | Metavariable | Combine | MakeTuple | Get | Pattern
)
"""A term that is no variable."""


class NotSearchable(Exception):
    """A rule, or one direction of it, cannot be used in search; the message says why."""


@dataclass(frozen=True)
class Slot:
    """One argument of a constructor; the last `binds` slots before it are names bound in it."""

    sort: Sort
    place: str
    binds: int = 0


@dataclass(frozen=True)
class Constructor:
    """One constructor of the sort E: a term that is not a pattern, or a pattern."""

    name: str
    kind: Kind
    slots: tuple[Slot, ...]
    pattern: type[Pattern] | None = None

    @property
    def terms(self) -> tuple[int, ...]:
        """The indices of the slots that hold terms."""
        return tuple(i for i, slot in enumerate(self.slots) if slot.sort == "E")

    def bound(self, index: int) -> range:
        """The indices of the names that are bound in the slot at `index`."""
        return range(index - self.slots[index].binds, index)

    @property
    def names(self) -> tuple[int, ...]:
        """The indices of all slots that bind a name."""
        return tuple(j for i in self.terms for j in self.bound(i))


def _several(name: str, kind: Kind, head: tuple[Slot, ...], place: str, n: int) -> Constructor:
    terms = tuple(Slot("E", f"{place}.{i}") for i in range(n))
    return Constructor(f"{name}{n}", kind, head + terms)


def constructors(arity: int) -> dict[str, Constructor]:
    """All constructors of terms whose tuples, calls and applications have at most `arity` parts.

    There is none for `iterate_sizes`, whose function is typed at every size: the e-graph has numbers only.
    """
    typed = (Slot("String", "function"), Slot("T", "type"))
    found = [
        Constructor("Var", "var", (Slot("N", "name"),)),
        Constructor("Sub", "substitution", (Slot("N", "x"), Slot("E", "value"), Slot("E", "body"))),
        Constructor("Input", "input", (Slot("String", "name"), Slot("T", "type"))),
        Constructor("Literal", "literal", (Slot("String", "value"), Slot("T", "type"))),
        Constructor(
            "Combine", "combine", (Slot("O", "operator"), Slot("E", "left"), Slot("E", "right"))
        ),
        Constructor("Get", "get", (Slot("i64", "index"), Slot("E", "of"))),
        *(_several("Apply", "apply", typed, "arguments", n) for n in range(1, 4)),
        *(_several("Call", "call", typed, "arguments", n) for n in range(arity + 1)),
        *(_several("Opaque", "metavariable", typed, "arguments", n) for n in range(arity + 1)),
        *(_several("Tuple", "tuple", (), "parts", n) for n in range(2, arity + 1)),
        *(
            Constructor("P_" + name, "pattern", tuple(_slots(pattern)), pattern)
            for name, pattern in PATTERNS.items()
            if not pattern.signature.binds_a_size
        ),
    ]
    return {c.name: c for c in found}


def _slots(pattern: type[Pattern]) -> Iterator[Slot]:
    for place, kind in pattern.signature.parameters.items():
        match kind:
            case NatKind():
                yield Slot("i64", place)
            case OperatorKind():
                yield Slot("O", place)
            case IndexKind():
                yield Slot("String", place)
            case NumbersKind():
                yield Slot("String", place)
                yield Slot("T", place + ".type")
            case FunctionKind(arguments):
                for i in range(len(arguments)):
                    yield Slot("N", f"{place}.{i}")
                yield Slot("E", place, binds=len(arguments))
            case _:
                yield Slot("E", place)


def arity_of(terms: Iterable[Term]) -> int:
    """The most parts that a tuple, a call or an application in these terms has."""
    most = 3
    for t in terms:
        for u, _ in subterms(t):
            match u:
                case MakeTuple(parts):
                    most = max(most, len(parts))
                case Call(_, arguments) | Metavariable(_, arguments):
                    most = max(most, len(arguments))
                case _ if isinstance(u.type, Tuple):
                    most = max(most, len(u.type.parts))
                case _:
                    pass
    return most


def require_searchable(t: Term) -> None:
    """Raise `Unsupported` when a program has a pattern that no search result can contain."""
    for u, _ in subterms(t):
        if isinstance(u, Generate) and not is_layout(u):
            raise Unsupported(
                "optimize does not lower a generate that computes; write map(f, generate(n, lambda i: i))"
            )
        if isinstance(u, Pattern) and PATTERNS.get(u.name) is not type(u):
            raise Unsupported(
                f"optimize does not know {u.name}: it is no pattern of relift.semantics.patterns; compile "
                "the program as it is written"
            )
        if isinstance(u, Pattern) and not u.searched:
            raise Unsupported(
                f"optimize does not lower {u.name} yet; compile the program as it is written, or "
                f"write it without {u.name}"
            )


# ---- text of closed terms


def quoted(text: str) -> str:
    """A string of egglog."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def size_text(n: Size) -> str:
    """A size without names."""
    if n.constant is None:
        raise Unsupported(f"search works at concrete sizes, but {n} is left open")
    return str(n.constant)


def type_text(t: Type) -> str:
    """A type, as a term of the sort T."""
    match t:
        case Scalar(name):
            return f"(Sc {quoted(name)})"
        case Array(element, n):
            return f"(Arr {size_text(n)} {type_text(element)})"
        case Vector(element, n):
            return f"(Vec {size_text(n)} {type_text(element)})"
        case Tuple(parts):
            return f"(Tup {list_text(map(type_text, parts))})"
        case TypeVariable(name):
            raise AssertionError(f"cannot happen: a program has the type variable {name}")


def list_text(types: Iterable[str]) -> str:
    """A list of types, as a term of the sort L."""
    text = "(Nil)"
    for t in reversed(list(types)):
        text = f"(Cons {t} {text})"
    return text


def operator_text(operator: Operator) -> str:
    """An operator, as a term of the sort O; a metavariable is an operator of unknown meaning."""
    match operator:
        case BinaryOperator(name):
            return f"(OFn {quoted(name)})"
        case OperatorMetavariable(name):
            return f"(OFn {quoted('?' + name)})"
        case Vectorized(width, inner):
            return f"(OVec {size_text(width)} {operator_text(inner)})"


def literal_text(value: float, t: Type) -> str:
    """The text that tells literals apart: 0.0 and -0.0 differ, and so do 1 and 1.0."""
    return repr(float(value)) if isinstance(t, Scalar) and t.is_float else repr(value)


Field: TypeAlias = Term | Lambda | Operator | Size | Type | Written | str | int
"""What stands in a slot of a constructor; a lambda fills those of its names too, and what is written those of its text."""


def node_of(t: Applied) -> tuple[str, tuple[Field, ...]]:
    """The constructor of a term that is no variable, and what stands in its slots.

    >>> node_of(parse("take(2, xs)", xs=Input("xs", i32[4])))
    ('P_take', (2, Input(name='xs', type=i32[4])))
    """
    match t:
        case Input(name, of):
            return "Input", (name, of)
        case Literal(value, of):
            return "Literal", (literal_text(value, of), of)
        case Apply(function, arguments, of):
            return f"Apply{len(arguments)}", (function, of, *arguments)
        case Call(user, arguments, of):
            return f"Call{len(arguments)}", (user.name, of, *arguments)
        case Metavariable(name, arguments, of):
            return f"Opaque{len(arguments)}", (name, of, *arguments)
        case Combine(operator, left, right):
            return "Combine", (operator, left, right)
        case MakeTuple(parts):
            return f"Tuple{len(parts)}", parts
        case Get(index, of):
            return "Get", (index, of)
        case Pattern():
            return "P_" + t.name, tuple(getattr(t, place) for place in t.signature.parameters)


def node_text(t: Applied, text: Callable[[Field], str]) -> str:
    """A term that is no variable, as text, from the text of what stands in its slots."""
    constructor, fields = node_of(t)
    return f"({' '.join([constructor, *map(text, fields)])})"


def term_text(t: Term) -> str:
    """A program at concrete sizes, as a term of the sort E."""
    return f"(Var {_name(t)})" if isinstance(t, Var) else node_text(t, _field)


def _name(x: Var) -> str:
    return f"(V {quoted(x.name)} {type_text(x.type)})"


def _field(value: Field) -> str:
    match value:
        case str():
            return quoted(value)
        case int():
            return str(value)
        case Size():
            return size_text(value)
        case Lambda(parameters, body):
            return " ".join([*map(_name, parameters), term_text(body)])
        case BinaryOperator() | OperatorMetavariable() | Vectorized():
            return operator_text(value)
        case Written():
            return written_text(value)
        case Expression():
            return term_text(value)
        case of:
            return type_text(of)


def written_data(value: Written) -> list[Any]:
    """What the slots of a written parameter hold: its text, which of numbers leaves their type open."""
    if isinstance(value, Numbers):
        return [str(value), value.type[len(value.values)]]
    return [str(value)]


def written_text(value: Written) -> str:
    """An index function or a row of numbers, as terms of the sorts of its slots."""
    if any(n.constant is None for n in value.sizes):
        raise Unsupported(f"search works at concrete sizes, but {value} leaves some open")
    text, *types = written_data(value)
    return " ".join([quoted(text), *map(type_text, types)])


# ---- sizes and types that are known only when a rule matches


class Equations:
    """Equations between sizes, solved into premises of egglog, each linear in one unknown at a time.

    Sizes are over two kinds of names: unknowns, and variables of egglog, which begin with `$`.  Premises
    are listed so that a variable is defined before it is used: egglog evaluates them in this order.
    """

    def __init__(self) -> None:
        self.known: dict[str, Size] = {}
        self.premises: list[str] = []
        self._open: list[tuple[Size, Size]] = []
        self._numbers = count()

    def variable(self) -> Size:
        """A new variable of egglog."""
        return Size.atom(f"$n{next(self._numbers)}")

    def define(self, unknown: str, value: Size) -> None:
        """Give an unknown its value."""
        self.known[unknown] = value

    def equate(self, n: Size, value: Size) -> None:
        """Require `n` to equal `value`, which has no unknowns."""
        self._open.append((n, value))

    @property
    def unsolved(self) -> bool:
        return bool(self._open)

    def unknowns(self, n: Size) -> set[str]:
        """The unknowns of `n` that have no value yet."""
        return {name for name in n.names() if not name.startswith("$")} - self.known.keys()

    def solve(self, least: int = 0) -> None:
        """Solve what has at most one unknown; solutions by division or subtraction are at least `least`."""
        progress = True
        while progress:
            before, self._open = self._open, []
            for n, value in before:
                left = n.substitute(self.known)
                unknown = sorted(self.unknowns(left))
                if not unknown:
                    if left != value:
                        self.premises.append(f"(= {expression(value)} {expression(left)})")
                elif len(unknown) == 1 and (linear := left.linear_in(unknown[0])) is not None:
                    self._solve_one(unknown[0], *linear, value, least)
                else:
                    self._open.append((n, value))
            progress = len(self._open) < len(before)

    def _solve_one(self, name: str, factor: Size, offset: Size, value: Size, least: int) -> None:
        if factor == 1 and offset == 0:
            self.known[name] = value
            return
        solution = Size.atom("$s_" + name.lstrip("?"))
        rest = expression(value - offset)
        if factor == 1:
            self.premises.append(f"(= {expression(solution)} {rest})")
        else:
            by = expression(factor)
            if factor.constant is None:
                self.premises.append(f"(> {by} 0)")
            self.premises.append(f"(= 0 (% {rest} {by}))")
            self.premises.append(f"(= {expression(solution)} (/ {rest} {by}))")
        self.premises.append(f"(>= {expression(solution)} {least})")
        self.known[name] = solution

    def text(self, n: Size) -> str:
        """The value of `n`; raises `NotSearchable` when matching does not determine it."""
        if missing := sorted(self.unknowns(n)):
            raise NotSearchable(f"the size {missing[0]} is not determined by what is matched")
        return expression(n.substitute(self.known))

    def type_pattern(self, t: Type) -> str:
        """What matches the type `t`; its sizes become equations."""
        match t:
            case TypeVariable(name):
                return type_variable(name)
            case Scalar():
                return type_text(t)
            case Array(element, n):
                return f"(Arr {self._size_pattern(n)} {self.type_pattern(element)})"
            case Vector(element, n):
                return f"(Vec {self._size_pattern(n)} {self.type_pattern(element)})"
            case Tuple(parts):
                return f"(Tup {list_text(map(self.type_pattern, parts))})"

    def _size_pattern(self, n: Size) -> str:
        value = self.variable()
        self.equate(n, value)
        return expression(value)

    def type_value(self, t: Type) -> str:
        """The type `t`, its sizes being known."""
        match t:
            case TypeVariable(name):
                return type_variable(name)
            case Scalar():
                return type_text(t)
            case Array(element, n):
                return f"(Arr {self.text(n)} {self.type_value(element)})"
            case Vector(element, n):
                return f"(Vec {self.text(n)} {self.type_value(element)})"
            case Tuple(parts):
                return f"(Tup {list_text(map(self.type_value, parts))})"


def type_variable(name: str) -> str:
    """The variable of egglog for a type variable."""
    return "T_" + name.lstrip("?")


def expression(n: Size) -> str:
    """Arithmetic of egglog over its variables."""
    total = ""
    for monomial, c in n.ordered():
        factors = [str(atom).lstrip("$") for atom, power in monomial for _ in range(power)]
        if c != 1 or not factors:
            factors.insert(0, str(c))
        product = factors[0]
        for factor in factors[1:]:
            product = f"(* {product} {factor})"
        total = product if not total else f"(+ {total} {product})"
    return total or "0"


# ---- the fixed part of every e-graph


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
(datatype O (OFn String) (OVec i64 O))
"""
FACTS = """\
(function fv (E) SN :merge (set-intersect old new))
(function ty (E) T :merge (Clash old new))
(function nty (N) T :merge (Clash old new))
(function rep (E) Q :merge old)
(relation associative (O))
(relation commutative (O))
(relation distributive (O O))
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
    for sort, mark in (("E", ""), ("Q", "Q")):
        text.append(f"(datatype {sort}")
        for c in found.values():
            slots = [sort if slot.sort == "E" else slot.sort for slot in c.slots]
            text.append(f" ({mark}{c.name} {' '.join(slots)})")
        text.append(")\n")
    text.append(FACTS)
    for c in found.values():
        if c.kind != "substitution":
            text += [_free_names(c), *_substitution(c), *_typing(c)]
    text += _components(found, arity)
    return "".join(text)


def totality(arity: int, *, branches: bool, functions: bool, operators: bool) -> str:
    """Which terms are defined everywhere: those of total patterns, whose parts are.

    Beside cells that are left open nothing that `branches` is; user functions and operators are where that is said.
    """
    text = ["(relation total (E))\n"]
    for c in constructors(arity).values():
        if (c.kind == "call" and not functions) or (c.kind == "combine" and not operators):
            continue
        premises = [f"(= e {_node(c, _variables(c))})", *(f"(total v{i})" for i in c.terms)]
        if c.pattern is not None:
            if c.pattern.partial or (c.pattern.branches and not branches):
                continue
            if not operators and any(slot.sort == "O" for slot in c.slots):
                continue
        if c.kind == "apply" and not branches:
            premises.append('(!= v0 "select")')
        text.append(rule_text(premises, ["(total e)"], "analysis"))
    return "".join(text)


def _variables(c: Constructor) -> list[str]:
    return [f"v{i}" for i in range(len(c.slots))]


def _node(c: Constructor, arguments: Iterable[str], mark: str = "") -> str:
    return f"({mark}{c.name} {' '.join(arguments)})"


def _free_names(c: Constructor) -> str:
    """What a node uses, less what it binds; and the representative of its class."""
    variables = _variables(c)
    free = "(set-of v0)" if c.kind == "var" else ""
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
        [f"(set (fv e) {free or '(set-empty)'})", f"(set (rep e) {_node(c, mirrored, 'Q')})"],
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
    match c.kind:
        case "var":
            yield rule_text([f"(= e {node})", "(= t (nty v0))"], ["(set (ty e) t)"], "analysis")
        case "input" | "literal" | "apply" | "call" | "metavariable":
            yield rule_text([f"(= e {node})"], ["(set (ty e) v1)"], "analysis")
        case "combine":
            yield rule_text([f"(= e {node})", "(= t (ty v1))"], ["(set (ty e) t)"], "analysis")
        case "tuple":
            parts = [f"(= t{i} (ty v{i}))" for i in c.terms]
            whole = f"(Tup {list_text(f't{i}' for i in c.terms)})"
            yield rule_text([f"(= e {node})", *parts], [f"(set (ty e) {whole})"], "analysis")
        case "pattern":
            yield _pattern_typing(c)
        case "get" | "substitution":
            pass


def _pattern_typing(c: Constructor) -> str:
    assert c.pattern is not None, "cannot happen: the kind is pattern"
    signature = c.pattern.signature
    sizes = Equations()
    data: list[str] = []
    results: list[str] = []
    binders: list[tuple[str, Type]] = []
    slots = iter(enumerate(c.slots))
    for name, kind in signature.parameters.items():
        i, _ = next(slots)
        match kind:
            case NatKind():
                sizes.define("?" + name, Size.atom(f"$v{i}"))
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
            case _:
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
    """A component of a tuple: its type, and its value where the tuple is written out."""
    rest = "l"
    for i in range(arity):
        inside = rest
        for j in reversed(range(i + 1)):
            inside = f"(Cons t{j} {inside})"
        yield rule_text(
            [f"(= e (Get {i} v))", f"(= (ty v) (Tup {inside}))"], [f"(set (ty e) t{i})"], "analysis"
        )
    for c in found.values():
        if c.kind == "tuple":
            for i in c.terms:
                yield rule_text(
                    [f"(= e (Get {i} {_node(c, _variables(c))}))"],
                    [f"(union e v{i})"],
                    "substitution",
                )


# ---- laws


def laws_text(laws: Mapping[str, Laws]) -> str:
    """What is declared of the operators of a program, as facts.

    A neutral element is a literal of any scalar type; that the operator is used at that type is seen to by
    the type premises of the rules.  Whether a law may be used on floating point is decided by
    `law_premises`.
    """
    text = ['(exact (Sc "i32"))(exact (Sc "i64"))(exact (Sc "boolean"))\n']
    for name, law in laws.items():
        operator = f"(OFn {quoted(name)})"
        if law.associative:
            text.append(f"(associative {operator})\n")
        if law.commutative:
            text.append(f"(commutative {operator})\n")
        if law.idempotent:
            text.append(f"(idempotent {operator})\n")
        for plus in law.distributes_over:
            text.append(f"(distributive {operator} {operator_text(plus)})\n")
        if law.neutral is not None:
            spelled = {repr(law.neutral), repr(float(law.neutral))}
            if law.neutral == 0:
                spelled |= {"0", "0.0", "-0.0"}
            elif float(law.neutral).is_integer() and not isinstance(law.neutral, bool):
                spelled.add(repr(int(law.neutral)))
            for value in sorted(spelled):
                text.append(
                    rule_text(
                        [f"(= z (Literal {quoted(value)} t))"],
                        [f"(neutral {operator} z)"],
                        "analysis",
                    )
                )
    return "".join(text)


def law_premises(
    law: str, operator: str, other: str | None, element: str, policy: FloatPolicy
) -> list[str]:
    """The premises for one law of an operator on values of a type, `element` as egglog writes it.

    `other` is what the law also speaks of: a neutral element, or the operator that is distributed over.

    Under `exact`, regrouping and neutral elements are granted on types without floating point only.
    """
    premise = f"({law} {operator} {other})" if other else f"({law} {operator})"
    if policy == "exact" and law not in EXACT_LAWS:
        return [premise, f"(exact {element})"]
    return [premise]
