"""Tier 3: the interpreter on free symbols, for every size up to a bound.

An element is a term of the free algebra over the metavariables: data are generators, functions are free,
and an operator obeys its declared laws and no others:

    associative                   words               op(a, b, c)
    associative, commutative      sorted words
    neutral                       its element is dropped from words and trees
    idempotent                    op(t, t) is t in trees; of sorted words each letter is kept once
    associative, idempotent       words, equal where Green and Rees say so (see `Bands`)
    distributive                  sums of products, the sum being sorted words
    none                          trees               op(op(a, b), c)

Two elements are equal in this algebra exactly when they are equal in every model of the laws, so one run
proves the rule for its sizes, for all types, data, functions and operators at once.  Of a few sets of laws
no normal form is known here (see `undecided`); then equal elements are still equal in every model, but a
difference counts only when a model shows it.  Index metavariables stand for every map, or
permutation, of their indices in turn.  Each unspecified cell is a generator of its own; see `covers`.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from relift.rewrites.checks.instances import (
    Difference,
    Instances,
    compare,
    counterexample,
    show_value,
)
from relift.rewrites.checks.isolation import nesting_deeply
from relift.rewrites.checks.random.models import confirm_difference
from relift.rewrites.checks.smt.tables import Table, all_tables, looked_up
from relift.rewrites.checks.verdicts import Counterexample, Status, TierResult
from relift.rewrites.rule import Rule
from relift.semantics.errors import Undefined, Unsupported
from relift.semantics.interpreter import Numeric, Value, World
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
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
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

OPEN = "unspecified"
"""The owner of the symbols that stand for unspecified cells."""

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
        self.work = 0
        """How often a symbol was asked for, which is what a run costs."""

    def symbol(
        self,
        owner: object,
        head: str,
        arguments: tuple[Any, ...] | None = None,
        path: tuple[int, ...] = (),
    ) -> Symbol:
        self.work += 1
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


class Bands:
    """The free band: words in which a part may be doubled or halved, `w w = w`, each class of them once.

    Two words are equal in every associative and idempotent operation exactly when they have the same letters
    and, of their shortest beginnings with all letters, the last letters are the same and what comes before is
    equal, and so of their shortest ends (Green and Rees, 1952).
    """

    def __init__(self) -> None:
        self._classes: dict[tuple[int, int, int, int], int] = {}
        self._words: dict[tuple[int, ...], int] = {(): 0}
        self._first: dict[int, tuple[Symbol, ...]] = {}

    def word(self, letters: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
        """The word of the same class that was met first."""
        return self._first.setdefault(self._class(tuple(x.number for x in letters)), letters)

    def _class(self, word: tuple[int, ...]) -> int:
        """The number of the class of a word."""
        if word not in self._words:
            beginning, end = _missing_one(word), _missing_one(word[::-1])[::-1]
            key = (
                self._class(beginning),
                word[len(beginning)],
                word[-1 - len(end)],
                self._class(end),
            )
            self._words[word] = self._classes.setdefault(key, len(self._classes) + 1)
        return self._words[word]


def _missing_one(word: tuple[int, ...]) -> tuple[int, ...]:
    """The longest beginning of a word in which one of its letters is missing."""
    seen: set[int] = set()
    last = 0
    for i, letter in enumerate(word):
        if letter not in seen:
            seen.add(letter)
            last = i
    return word[:last]


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
        self.bands = Bands()

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
        self.algebra.work += len(letters)
        if self.commutative:
            letters = tuple(sorted(letters, key=lambda symbol: symbol.number))
        if self.idempotent:
            letters = tuple(letter for letter, _ in itertools.groupby(letters))
            if self.associative and not self.commutative:
                self.algebra.work += len(letters) ** 2
                letters = self.bands.word(letters)
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
    """Whether some content of the left's unspecified cells makes it equal the right, whatever is in the right's.

    `fills` is what is in the unspecified cells so far; each unspecified cell has one content wherever it is seen.  An open
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
    """Whether an unspecified cell is combined by an operator, where `covers` does not search."""
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
    """Whether a symbol, or one that it is made of, stands for an unspecified cell."""
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

    def reference(self, function: UserFunction) -> Callable[..., Value]:
        """A function is known by all that it is: another one of its name is another one."""
        return lambda *xs: self.algebra.symbol(function, function.name, tuple(map(_freeze, xs)))


def free_world(
    rule: Rule,
    sizes: Mapping[str, int],
    tables: Mapping[str, Table] | None = None,
    algebra: Algebra | None = None,
) -> tuple[World, dict[str, str]]:
    """Every metavariable as freely as its laws allow, and how that is shown.

    Index metavariables are what `tables` says.  Raises `Unsupported` for laws of operators on arrays.
    """
    algebra = algebra or Algebra()
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


LARGEST_BAND = 60
"""The same for rules with an operator of which words are bands, whose classes take the cube of their length."""


def has_bands(rule: Rule) -> bool:
    """Whether an operator is associative and idempotent, but not commutative."""
    laws = [{c.law for c in rule.laws(name)} for name in rule.parameters]
    return any(of >= {"associative", "idempotent"} and "commutative" not in of for of in laws)


def undecided(rule: Rule) -> list[str]:
    """The operators whose laws have a normal form that is not known here, each with the reason.

    What has one normal form is equal by the laws, but what has two may be, too.

    Idempotent: in trees op(t, t) -> t has no overlaps, so it ends in one normal form; sorted words are
    multisets, and become sets; of other words see `Bands`.
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
        multiplied_out = of_sums >= {"associative", "commutative"} and len(sums) == 1
        beyond = of_sums & {"neutral", "distributive"} or "idempotent" in laws
        if sums and (beyond or not multiplied_out):
            found.append(" and ".join(str(c) for c in rule.laws(name)))
    return found


WORK = 2_000_000
"""How many symbols a rule is given: some seconds, but as many on every machine."""


def check_free(
    rule: Rule, *, bound: int = 3, work: int = WORK, largest: int = LARGEST
) -> TierResult:
    """Both sides on free symbols, for every size up to `bound`, smallest first, and near the rule's numbers.

    A rule that says `i // 1000` may hold below 1000 only; so sizes beside the numbers of the rule are tried as
    well.  What stops the tier is `work`, the number of symbols made, and never a clock.

    >>> from relift.rewrites.library import RULES
    >>> check_free(RULES["split_join"]).detail
    'exhaustive to 3, 12 instances'
    """
    start = time.monotonic()
    run = Run(rule, work, largest)
    found = run.all(bound)
    return replace(found, seconds=time.monotonic() - start)


class Run:
    """The instances of a rule on free symbols: what was tried, and what was seen."""

    def __init__(self, rule: Rule, work: int = WORK, largest: int = LARGEST) -> None:
        self.rule, self.work = rule, work
        self.most_cells = min(largest, LARGEST_BAND) if has_bands(rule) else largest
        self.instances = Instances(rule)
        self.meanings, self.unknown = interpreted(rule), undecided(rule)
        self.tried = self.too_large = self.without = self.used = 0
        self.with_cells = self.needs_laws = False

    def all(self, bound: int) -> TierResult:
        """Every size up to a bound, by rising total; then the sizes beside the numbers of the rule."""
        with nesting_deeply():  # a result may be a symbol of a symbol of a symbol
            return self._all(bound)

    def _all(self, bound: int) -> TierResult:
        reached, complete = f"exhaustive to {bound}", True
        for sizes in self.instances.assignments(bound):
            answer = self.at(sizes)
            if answer is not None:
                return answer
            if self.used > self.work:
                reached = f"exhaustive to total size {sum(sizes.values()) - 1} in {self.work} steps"
                complete = False
                break
        if not self.rule.sizes:
            reached = "exhaustive, there are no sizes"
        near = 0
        for sizes in self.instances.near_numbers(bound) if complete else ():
            answer = self.at(sizes)
            if answer is not None:
                return answer
            near += 1
        return self._passed(bound, reached, complete, near)

    def at(self, sizes: Mapping[str, int]) -> TierResult | None:
        """What the tier says if it ends at these sizes; None where it goes on."""
        if self.instances.largest(sizes) > self.most_cells:
            self.too_large += 1
            return None
        for tables in all_tables(self.rule, sizes):
            if self.used > self.work and self.tried:
                return None
            algebra = Algebra()
            try:
                world, data = free_world(self.rule, sizes, tables, algebra)
                difference = compare(self.rule, world, covers)
            except Unsupported as error:
                return _result("skipped", error.message)
            except Undefined:
                self.without += 1
                continue
            finally:
                self.used += algebra.work + self.instances.largest(sizes) + 1
            self.tried += 1
            if difference is not None:
                return self._different(difference, sizes, data)
        self.with_cells = self.with_cells or self.instances.result_cells(sizes) > 0
        return None

    def _different(
        self, difference: Difference, sizes: Mapping[str, int], data: Mapping[str, str]
    ) -> TierResult | None:
        """A difference counts where symbols tell all; otherwise a model must show it."""
        self.with_cells = self.with_cells or self.instances.result_cells(sizes) > 0
        if open_in_words((difference.left, difference.right)):
            return _result(
                "skipped", "free symbols cannot tell what fills a cell inside an operator"
            )
        if self.meanings or self.unknown:
            confirmed = confirm_difference(self.instances, sizes)
            if confirmed is not None:
                return _result("refuted", confirmed.obligation, confirmed)
            self.needs_laws = True
            return None
        found = counterexample(self.instances, sizes, data, difference)
        return _result("refuted", found.obligation, found)

    def _passed(self, bound: int, reached: str, complete: bool, near: int) -> TierResult:
        if self.needs_laws and self.meanings:
            by = f"by what {', '.join(self.meanings)} mean, and free symbols mean nothing"
            return _result("skipped", f"the sides agree only {by}", needs_arithmetic=True)
        if self.needs_laws:
            which = self.unknown[0]
            return _result("skipped", f"free symbols cannot tell whether {which} equates the sides")
        if self.without and not self.tried:
            return _result("skipped", f"neither side has a value at any sizes up to {bound}")
        if not self.with_cells:
            why = f"no sizes up to {bound} give a result with a cell; raise the bound"
            if self.too_large:
                why = f"its arrays have more than {self.most_cells} cells"
            return _result("skipped", why)
        if near:
            reached += f" and beside {', '.join(map(str, self.instances.numbers))}"
        if self.too_large:
            reached += f" but for {self.too_large} instances of more than {self.most_cells} cells"
        if self.without:
            reached += f"; neither side has a value in {self.without} others"
        said = f"{reached}, {self.tried} instance{'s' * (self.tried != 1)}"
        return replace(_result("ok", said), complete=complete and not self.too_large)


def _result(
    status: Status,
    detail: str,
    found: Counterexample | None = None,
    needs_arithmetic: bool = False,
) -> TierResult:
    return TierResult(
        "3", "free", status, detail, counterexample=found, needs_arithmetic=needs_arithmetic
    )


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
