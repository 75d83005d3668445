"""Tier 3: the interpreter on free symbols, for every size up to a bound.

An element is a term of the free algebra over the metavariables: data are generators, functions are free,
and an operator obeys its declared laws and no others:

    associative                   words               op(a, b, c)
    associative, commutative      sorted words
    neutral                       its element is dropped from words and trees
    idempotent                    op(t, t) is t in trees; of sorted words each letter is kept once
    distributive                  sums of products, the sum being sorted words
    none                          trees               op(op(a, b), c)

Two elements are equal in this algebra exactly when they are equal in every model of the laws, so one run
proves the rule for its sizes, for all types, data, functions and operators at once.  Of a few sets of laws
no normal form is known here (see `undecided`); then equal elements are still equal in every model, but a
difference counts only when a model shows it.  Index metavariables stand for every map, or
permutation, of their indices in turn.  Each open cell is a generator of its own; see `covers`.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from relift.rewrites.index_tables import Table, all_tables, looked_up
from relift.rewrites.instances import Instances, compare, counterexample, show_value
from relift.rewrites.models import confirm_difference
from relift.rewrites.rule import (
    Rule,
)
from relift.rewrites.verdicts import Counterexample, Status, TierResult
from relift.semantics.errors import Unsupported
from relift.semantics.interpreter import Numeric, Value, World
from relift.semantics.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.sizes import Size
from relift.semantics.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Literal,
    Pattern,
    UserFunction,
    innermost,
    subterms,
)
from relift.semantics.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

OPEN = "unspecified"
"""The owner of the symbols that stand for open cells."""

LARGEST = 20_000
"""An instance with an array of more cells than this is left out, and the result says so."""


@dataclass(frozen=True, eq=False)
class Symbol:
    """An element of the free algebra, made once, so it equals only itself.

    `owner` made it and keeps equal heads of different kinds apart; a generator has no arguments; `path` is
    the place of a component in what a name stands for.
    """

    owner: object
    head: str
    arguments: tuple[Any, ...] | None
    path: tuple[int, ...]
    number: int

    def __bool__(self) -> bool:
        return self._known("True", "False") == "True"

    def __index__(self) -> int:
        return int(self._known())

    def _known(self, *heads: str) -> str:
        """The literal that this is; patterns that branch on other symbols have no value on them."""
        literal = self.owner == "meaning" and self.arguments is None
        if literal and (self.head in heads or (not heads and self.head.lstrip("-").isdigit())):
            return self.head
        raise Unsupported(f"{self} is free, and a branch depends on it", place="")

    def __repr__(self) -> str:
        if self.arguments is None:
            return self.head + "_".join(map(str, self.path))
        shown = ", ".join(map(_thaw, self.arguments))
        return f"{self.head}({shown})" + "".join(f"[{i}]" for i in self.path)


def _thaw(argument: Any) -> str:
    if not isinstance(argument, tuple):
        return repr(argument)
    left, *items, right = argument
    return f"{left}{', '.join(map(_thaw, items))}{right}"


def _freeze(value: Value) -> Any:
    """A value as a key: the brackets keep lists and tuples apart."""
    if isinstance(value, list):
        return ("[", *map(_freeze, value), "]")
    if isinstance(value, tuple):
        return ("(", *map(_freeze, value), ")")
    return value


class Algebra:
    """Makes the symbols of one instance, each once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Symbol] = {}

    def symbol(
        self,
        owner: object,
        head: str,
        arguments: tuple[Any, ...] | None = None,
        path: tuple[int, ...] = (),
    ) -> Symbol:
        key = (owner, head, arguments, path)
        if key not in self._known:
            self._known[key] = Symbol(owner, head, arguments, path, len(self._known))
        return self._known[key]

    def value(
        self,
        t: Type,
        size: Callable[[Size], int],
        head: str,
        arguments: tuple[Any, ...] | None = None,
        path: tuple[int, ...] = (),
    ) -> Value:
        """A value of type t with one symbol in each cell."""
        match t:
            case Array(element, n) | Vector(element, n):
                return [
                    self.value(element, size, head, arguments, (*path, i)) for i in range(size(n))
                ]
            case Tuple(parts):
                return tuple(
                    self.value(part, size, head, arguments, (*path, i))
                    for i, part in enumerate(parts)
                )
            case Scalar() | TypeVariable():
                return self.symbol("metavariable", head, arguments, path)


class FreeOperator:
    """An operator that obeys its laws and nothing else; its results are in normal form."""

    def __init__(
        self,
        algebra: Algebra,
        name: str,
        laws: Collection[str],
        neutral: Symbol | None,
        over: FreeOperator | None = None,
    ) -> None:
        self.algebra, self.name, self.neutral, self.over = algebra, name, neutral, over
        self.associative = "associative" in laws
        self.commutative = "commutative" in laws
        self.idempotent = "idempotent" in laws

    def __call__(self, x: Symbol, y: Symbol) -> Symbol:
        if self.over is None:
            return self.product(x, y)
        over = self.over
        return over.mapped(x, lambda p: over.mapped(y, lambda q: self.product(p, q)))

    def mapped(self, x: Symbol, f: Callable[[Symbol], Symbol]) -> Symbol:
        """f on everything that x combines by this operator."""
        if x.owner is not self or x.arguments is None:
            return f(x)
        return functools.reduce(self, (self.mapped(letter, f) for letter in x.arguments))

    def product(self, x: Symbol, y: Symbol) -> Symbol:
        """Both combined, where neither is a sum that this operator distributes over."""
        letters = (*self.letters(x), *self.letters(y))
        if self.commutative:
            letters = tuple(sorted(letters, key=lambda symbol: symbol.number))
        if self.idempotent:
            letters = tuple(letter for letter, _ in itertools.groupby(letters))
        if not letters:
            assert self.neutral is not None, (
                "cannot happen: only the neutral element has no letters"
            )
            return self.neutral
        return letters[0] if len(letters) == 1 else self.algebra.symbol(self, self.name, letters)

    def letters(self, x: Symbol) -> tuple[Symbol, ...]:
        """The word that x is; of an operator that is not associative, at most x itself."""
        if x is self.neutral:
            return ()
        if self.associative and x.owner is self and x.arguments is not None:
            return x.arguments
        return (x,)

    def describe(self) -> str:
        laws = ["associative"] * self.associative + ["commutative"] * self.commutative
        laws += ["idempotent"] * self.idempotent
        unit = f" with neutral element {self.neutral}" if self.neutral is not None else ""
        over = f" that distributes over {self.over.name}" if self.over is not None else ""
        return "any " + ", ".join(laws) + " " * bool(laws) + "operator" + unit + over


def covers(left: Value, right: Value, fills: dict[Symbol, Symbol] | None = None) -> bool:
    """Whether some content of the left's open cells makes it equal the right, whatever is in the right's.

    `fills` is what is in the open cells so far; each open cell has one content wherever it is seen.  An open
    cell inside a word of an operator is not searched for: then it may say no where a content exists.
    """
    known: dict[Symbol, Symbol] = {} if fills is None else fills
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(
            covers(x, y, known) for x, y in zip(left, right, strict=True)
        )
    if not isinstance(left, Symbol) or not isinstance(right, Symbol):
        return bool(left == right)
    if left.owner == OPEN:
        return known.setdefault(left, right) is right
    if left is right:
        return True
    return (
        (left.owner, left.head, left.path) == (right.owner, right.head, right.path)
        and left.arguments is not None
        and right.arguments is not None
        and covers(left.arguments, right.arguments, known)
    )


def open_in_words(value: Value) -> bool:
    """Whether an open cell is combined by an operator, where `covers` does not search."""
    match value:
        case Symbol(FreeOperator(), _, arguments) if arguments is not None:
            return has_open_symbols(arguments)
        case Symbol(_, _, arguments) if arguments is not None:
            return open_in_words(arguments)
        case list() | tuple():
            return any(map(open_in_words, value))
        case _:
            return False


def has_open_symbols(value: Value) -> bool:
    """Whether a symbol, or one that it is made of, stands for an open cell."""
    if isinstance(value, list | tuple):
        return any(map(has_open_symbols, value))
    return isinstance(value, Symbol) and (
        value.owner == OPEN or (value.arguments is not None and has_open_symbols(value.arguments))
    )


class Symbolic(Numeric):
    """Scalar functions, user functions and literals without a meaning of their own."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.open_cells = 0

    def unspecified(self) -> Value:
        self.open_cells += 1
        return self.algebra.symbol(OPEN, f"open{self.open_cells}")

    def literal(self, value: float, t: Type) -> Value:
        return self.algebra.symbol("meaning", repr(value))

    def function(self, name: str) -> Callable[..., Value]:
        return lambda *xs: self.algebra.symbol("meaning", name, tuple(map(_freeze, xs)))

    def twin(self, function: UserFunction) -> Callable[..., Value]:
        return self.function(function.name)


def free_world(
    rule: Rule, sizes: Mapping[str, int], tables: Mapping[str, Table] | None = None
) -> tuple[World, dict[str, str]]:
    """Every metavariable as freely as its laws allow, and how that is shown.

    Index metavariables are what `tables` says.  Raises `Unsupported` for laws of operators on arrays.
    """
    algebra = Algebra()
    world = World(sizes=sizes, domain=Symbolic(algebra))
    values: dict[str, Value] = {}
    shown: dict[str, str] = {}
    stems = _stems(rule)
    for name, kind in rule.parameters.items():
        match kind:
            case FunctionKind(_, result):
                values[name] = _free_function(algebra, name, result, world.size)
                shown[name] = "any function"
            case OperatorKind() | NatKind():
                pass
            case IndexKind():
                table = (tables or {})[name]
                values[name], shown[name] = looked_up(name, table), f"lambda i: {list(table)}[i]"
            case _:
                values[name] = algebra.value(kind, world.size, stems[name])
                shown[name] = show_value(values[name])
    operators = {n: kind for n, kind in rule.parameters.items() if isinstance(kind, OperatorKind)}
    for name in sorted(operators, key=lambda n: any(c.over for c in rule.laws(n))):
        kind = operators[name]
        values[name], shown[name] = _free_operator(rule, algebra, name, kind, values, world)
    ordered = {name: shown[name] for name in rule.parameters if name in shown}
    return replace(world, metavariables=values), ordered


def _stems(rule: Rule) -> dict[str, str]:
    """Short names of elements: those of xs are x0, x1, ... unless another name is that short."""
    short = {name: name.rstrip("s") or name for name in rule.parameters}
    counts = Counter([*short.values(), *rule.parameters])
    return {
        name: stem if stem != name and counts[stem] == 1 else name for name, stem in short.items()
    }


def _free_function(
    algebra: Algebra, name: str, result: Type, size: Callable[[Size], int]
) -> Callable[..., Value]:
    return lambda *xs: algebra.value(result, size, name, tuple(map(_freeze, xs)))


def _free_operator(
    rule: Rule,
    algebra: Algebra,
    name: str,
    kind: OperatorKind,
    values: Mapping[str, Value],
    world: World,
) -> tuple[Callable[..., Value], str]:
    conditions = rule.laws(name)
    if not isinstance(kind.element, Scalar | TypeVariable):
        if conditions:
            raise Unsupported(
                f"{conditions[0]}: {name} works on {kind.element}; laws are checked on free symbols "
                "for operators on single elements only",
                place="",
            )
        return _free_function(algebra, name, kind.element, world.size), "any operator"
    units = {c.element for c in conditions if c.element is not None}
    if len(units) > 1:
        raise Unsupported(
            f"{name} has two neutral elements, {' and '.join(sorted(units))}, so they are equal; "
            "use one name",
            place="",
        )
    unit = values[units.pop()] if units else None
    laws = {c.law for c in conditions}
    sums = [c.over for c in conditions if c.over is not None]
    free = FreeOperator(algebra, name, laws, unit, values.get(sums[0]) if sums else None)
    return free, free.describe()


def undecided(rule: Rule) -> list[str]:
    """The operators whose laws have a normal form that is not known here, each with the reason.

    What has one normal form is equal by the laws, but what has two may be, too.

    Idempotent: in trees op(t, t) -> t has no overlaps, so it ends in one normal form; sorted words are
    multisets, and become sets; other words (bands) are equal more often than op(w, w) -> w finds.
    Distributive: sums multiply out to one sum of products if sums are multisets, or sets.  In other sums
    (a + b)(c + d) multiplies out in two ways; with a neutral element 0 of sums x*0 is no sum of products;
    an idempotent product, or one over two sums, equates sums in still more ways.
    """
    found: list[str] = []
    for name, kind in rule.parameters.items():
        if not isinstance(kind, OperatorKind):
            continue
        laws = {c.law for c in rule.laws(name)}
        sums = [c.over for c in rule.laws(name) if c.over is not None]
        of_sums = {c.law for plus in sums for c in rule.laws(plus)}
        band = laws >= {"idempotent", "associative"} and "commutative" not in laws
        multiplied_out = of_sums >= {"associative", "commutative"} and len(sums) == 1
        if band or (
            sums
            and (
                not multiplied_out or of_sums & {"neutral", "distributive"} or "idempotent" in laws
            )
        ):
            found.append(" and ".join(str(c) for c in rule.laws(name)))
    return found


def check_free(
    rule: Rule, *, bound: int = 3, budget: float = 20.0, largest: int = LARGEST
) -> TierResult:
    """Both sides on free symbols, for every size up to `bound`, smallest first, within `budget` seconds.

    >>> from relift.rewrites.library import RULES
    >>> check_free(RULES["split_join"]).detail
    'exhaustive to 3, 12 instances'
    """
    start = time.monotonic()
    instances = Instances(rule)
    meanings, unknown = interpreted(rule), undecided(rule)
    tried = too_large = 0
    with_cells = needs_arithmetic = needs_laws = False
    reached = f"exhaustive to {bound}" if rule.sizes else "exhaustive, there are no sizes"

    def result(
        status: Status, detail: str, found: Counterexample | None = None, needs: bool = False
    ) -> TierResult:
        return TierResult("3", "free", status, detail, time.monotonic() - start, found, needs)

    for sizes in instances.assignments(bound):
        if instances.largest(sizes) > largest:
            too_large += 1
            continue
        late, difference, data = False, None, dict[str, str]()
        for tables in all_tables(rule, sizes):
            late = time.monotonic() - start > budget and tried > 0
            if late:
                break
            try:
                world, data = free_world(rule, sizes, tables)
                difference = compare(rule, world, covers)
            except Unsupported as error:
                return result("skipped", error.message)
            tried += 1
            if difference is not None:
                break
        if late:
            total = sum(sizes.values())
            reached = f"exhaustive to total size {total - 1} in {budget:g} s"
            break
        with_cells = with_cells or instances.result_cells(sizes) > 0
        if difference is None:
            continue
        if open_in_words((difference.left, difference.right)):
            return result(
                "skipped", "free symbols cannot tell what fills a cell inside an operator"
            )
        if meanings or unknown:
            confirmed = confirm_difference(instances, sizes)
            if confirmed is not None:
                return result("refuted", confirmed.obligation, confirmed)
            needs_arithmetic = needs_arithmetic or bool(meanings)
            needs_laws = True
            continue
        found = counterexample(instances, sizes, data, difference)
        return result("refuted", found.obligation, found)
    if needs_arithmetic:
        return result(
            "skipped",
            f"the sides agree only by what {', '.join(meanings)} mean, and free symbols mean nothing",
            needs=True,
        )
    if needs_laws:
        return result("skipped", f"free symbols cannot tell whether {unknown[0]} equates the sides")
    if not with_cells:
        return result(
            "skipped", f"no sizes up to {bound} give a result with a cell; raise the bound"
        )
    if too_large:
        reached += f" but for {too_large} instances of more than {largest} cells"
    return result("ok", f"{reached}, {tried} instance{'s' * (tried != 1)}")


def interpreted(rule: Rule) -> list[str]:
    """What a rule names that has a meaning of its own: scalar functions, operators, user functions, numbers."""
    found: set[str] = set()
    for side in (rule.left, rule.right):
        for t, _ in subterms(side):
            match t:
                case Apply(name) | Combine(BinaryOperator(name)):
                    found.add(name)
                case Call(function):
                    found.add(function.name)
                case Literal(value):
                    found.add(repr(value))
                case Pattern():
                    op = getattr(t, "op", None)
                    if op is not None and isinstance(inner := innermost(op), BinaryOperator):
                        found.add(inner.name)
                case _:
                    pass
    return sorted(found)
