"""Programs as text of Rocq over named sizes, with the facts that a proof about them asks for.

Cells are related by equality.  A writer serves one lemma: it binds what the lemma speaks of, in the order in which
it is met, so that the same step has the same text wherever it occurs.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal as Choice
from typing import TypeAlias

from relift.rewrites.checks.rocq.definedness import Domains
from relift.rewrites.checks.rocq.text import Side, Statement
from relift.rewrites.checks.theorem.sizes import NamedSizes, Values
from relift.semantics.indices.functions import IndexExpression
from relift.semantics.interpreter import operator_lambda
from relift.semantics.syntax.signatures import Kind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Get,
    Input,
    Literal,
    MakeTuple,
    Metavariable,
    Pattern,
    Term,
    Var,
)
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

Sort: TypeAlias = Choice["size", "index", "law"]
"""What a fact is of: sizes alone, an index function, an operator of the program."""


@dataclass
class Writer(Statement):
    """What a lemma about programs binds and assumes; `preferred` are names for some sizes."""

    sizes: NamedSizes = field(default_factory=lambda: NamedSizes(1))
    preferred: Mapping[Values, str] = field(default_factory=dict)
    atoms: dict[Values, str] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    facts: dict[str, tuple[str, Sort]] = field(default_factory=dict)
    meanings: dict[str, tuple[str, Kind, Hashable]] = field(default_factory=dict)

    def size(self, n: Size) -> str:
        return self.atom_of(self.sizes.of(n))

    def atom_of(self, values: Values) -> str:
        """The variable for the size that has these values."""
        if values not in self.atoms:
            chosen = self.preferred.get(values, f"s{len(self.atoms)}")
            self.atoms[values] = self.names.of("atom", chosen, values)
        return self.atoms[values]

    def input(self, x: Input) -> str:
        """The variable for a parameter of the program."""
        name = self.names.of("input", x.name)
        if name not in self.inputs:
            self.inputs[name] = x
            self.type(x.type)
        return name

    def relation(self, t: Type) -> str:
        return f"(@eq {self.type(t)})" if isinstance(t, Scalar) else super().relation(t)

    def without_definition(self, of: str, kind: Kind, what: Hashable = None) -> str:
        chosen = super().without_definition(of, kind, what)
        self.meanings[chosen] = (of, kind, what)
        return chosen

    def fact(self, text: str, sort: Sort) -> str:
        """The name of an assumption."""
        if text not in self.facts:
            self.facts[text] = self.names.of("fact", f"F{len(self.facts)}", text), sort
        return self.facts[text][0]

    # ---- proofs about types

    def per(self, t: Type) -> str:
        """That the relation of a type is a partial equivalence."""
        match t:
            case Array(element, n) | Vector(element, n):
                return f"(PER_Rarr {self.size(n)} {self.per(element)})"
            case Tuple(parts):
                text = self.per(parts[0])
                for part in parts[1:]:
                    text = f"(PER_Rpair {text} {self.per(part)})"
                return text
            case Scalar() | TypeVariable():
                return f"(@PER_eq {self.type(t)})"

    def reflexive(self, t: Type) -> str:
        """That every value of a type is related to itself."""
        match t:
            case Array(element, n) | Vector(element, n):
                inner = f"{self.relation(element)} {self.size(n)} {self.reflexive(element)}"
                return f"(@refl_arr _ {inner})"
            case Tuple(parts):
                text, related = self.reflexive(parts[0]), self.relation(parts[0])
                for part in parts[1:]:
                    own = self.relation(part)
                    text = f"(@refl_pair _ _ {related} {own} {text} {self.reflexive(part)})"
                    related = f"(Rpair {related} {own})"
                return text
            case Scalar() | TypeVariable():
                return f"(@eq_refl {self.type(t)})"

    # ---- what is bound

    def binders(self, facts: bool = True) -> list[str]:
        """Everything that is bound, as binders of a lemma."""
        lines = [f"({self.names.of('type', name)} : Type)" for name in self.floats]
        lines += [f"({' '.join(self.atoms.values())} : nat)"] * bool(self.atoms)
        lines += [f"({x} : {self.kind_type(of.kind)})" for x, of in self.given.items()]
        lines += [f"({x} : {self.type(p.type)})" for x, p in self.inputs.items()]
        return lines + [f"({name} : {text})" for text, (name, _) in self.facts.items() if facts]

    def bound(self) -> list[str]:
        """The names of the same."""
        types = [self.names.of("type", name) for name in self.floats]
        own = [*types, *self.atoms.values(), *self.given, *self.inputs]
        return own + [name for name, _ in self.facts.values()]

    def instance(self, of: Writer, name: str) -> str:
        """A lemma that another writer has stated, about the same programs, under the names that they have here."""
        return f"@{name} {' '.join(self.translated(of))}"

    def translated(self, of: Writer) -> Iterator[str]:
        """What stands here for each thing that a lemma of another writer binds."""
        here: dict[str, str] = {}
        for float_name in of.floats:
            self.type(Scalar(float_name, 0))
            here[of.names.of("type", float_name)] = self.names.of("type", float_name)
        here |= {name: self.atom_of(values) for values, name in of.atoms.items()}
        here |= {name: self.without_definition(*what) for name, what in of.meanings.items()}
        here |= {name: self.input(x) for name, x in of.inputs.items()}
        yield from (here[name] for name in of.bound() if name in here)
        for text, (_, sort) in of.facts.items():
            yield self.fact(renamed(text, here), sort)


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_']*")


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A text with other names, all at once.

    >>> from relift.rewrites.checks.theorem.writer import renamed
    >>> renamed("q0 = k * q01", {"q0": "k", "k": "q0"})
    'k = q0 * q01'
    """
    return _IDENTIFIER.sub(lambda found: names.get(found[0], found[0]), text)


@dataclass
class ProgramDomains(Domains):
    """Writes where a program is defined."""

    writer: Writer = field(default_factory=Writer)

    def natural_size(self, n: Size) -> str:
        return self.writer.size(n)

    def whole_size(self, n: Size) -> str:
        return f"(Z.of_nat {self.writer.size(n)})"


def _plain(operator: BinaryOperator, left: Term, right: Term, t: Combine) -> Term:
    """An operator that is a function of the table, applied, as that function: a text says the same of both."""
    f = operator_lambda(operator, left.type)
    if isinstance(f.body, Apply) and f.body.arguments == f.parameters:
        return Apply(f.body.function, (left, right), t.type)
    return t


@dataclass
class ProgramSide(Side):
    """Writes a program; `bound` are the names that some of its variables have, `primed` the inputs as second ones.

    It keeps the text of each term: a proof repeats the terms that it is about at every node of them.
    """

    writer: Writer = field(default_factory=Writer)
    bound: Mapping[str, str] = field(default_factory=dict)
    primed: bool = False
    _texts: dict[Term, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, writer: Writer, bound: Mapping[str, str] | None = None, *, primed: bool = False
    ) -> ProgramSide:
        """One that writes with a writer."""
        return cls(writer, "", writer, bound or {}, primed)

    def term(self, t: Term) -> str:
        match t:
            case Var(name):
                return self.bound.get(name) or self.writer.names.of("variable", name)
            case Input():
                return self.writer.input(t) + "'" * self.primed
            case (
                Pattern() | Literal() | Apply() | Call() | Combine() | MakeTuple() | Get() | Metavariable()
            ):  # fmt: skip
                if t not in self._texts:
                    self._texts[t] = self._written(t)
                return self._texts[t]

    def _written(self, t: Term) -> str:
        match t:
            case Pattern():
                return self.pattern(t)
            case Combine(BinaryOperator() as operator, left, right):
                return super().term(_plain(operator, left, right, t))
            case (
                Var() | Input() | Literal() | Apply() | Call() | Combine() | MakeTuple() | Get()
                | Metavariable()
            ):  # fmt: skip
                return super().term(t)

    def sums(self, x: Term, y: Term) -> bool:
        """All sums are; the rules that a derivation takes are proved whatever those are that do not count."""
        return True

    def stays_natural(self, body: IndexExpression, length: Size) -> bool:
        return self.writer.sizes.stays_natural(body, length)

    def natural_size(self, n: Size) -> str:
        return self.writer.size(n)

    def whole_size(self, n: Size) -> str:
        return f"(Z.of_nat {self.writer.size(n)})"
