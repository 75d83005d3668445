"""Rules and congruence lemmas whose sizes are all variables.

A rule says `Rarr (k * m) R xs xs'`; a program has an array of 4096 cells.  That this is k * m is a fact of its own,
so the flat form of the rule says it apart: for every size q with q = k * m.  Applied in a program, all its sizes are
names, and nothing has to be computed, rewritten or guessed to see that it fits.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relift.rewrites.checks.rocq.statements import Head, Premises, Provable, proposition
from relift.rewrites.checks.rocq.text import Side, Statement, Uninterpreted
from relift.rewrites.checks.rocq.tier import tactics_of
from relift.semantics.errors import Unsupported
from relift.semantics.syntax.signatures import Kind, NatKind, WrittenKind
from relift.semantics.syntax.sizes import Size


@dataclass
class FlatStatement(Statement):
    """A statement in which each size that is no variable is one of its own."""

    fresh: dict[Size, str] = field(default_factory=dict)

    def size(self, n: Size) -> str:
        if (name := _variable(n)) is not None:
            return self.names.of("size", name)
        if n not in self.fresh:
            self.fresh[n] = self.names.of("fresh", f"q{len(self.fresh)}")
            self.polynomial(n)
        return self.fresh[n]

    def polynomial(self, n: Size) -> str:
        """A size as the rule itself writes it."""
        return Statement(self.names, differences=self.differences, literals=self.literals).size(n)

    def signed(self, n: Size) -> tuple[str, str]:
        return Statement(self.names, literals=self.literals).signed(n)


def _variable(n: Size) -> str | None:
    """The name that a size is, if it is one alone."""
    names = n.names()
    name = next(iter(names)) if len(names) == 1 else None
    return name if name is not None and n == Size.atom(name) else None


@dataclass(frozen=True)
class Flat:
    """A lemma in its flat form, taken apart so that its instances can be written.

    `types` are the types that it binds, by the name of the variable, or of the floating-point type;
    `sizes` what it binds besides its own sizes; `pairs` and `given` the metavariables by their names in Rocq.
    """

    name: str
    text: str
    rule: Provable
    types: Sequence[str]
    sizes: Mapping[str, str]
    fresh: Mapping[str, Size]
    literals: Mapping[str, int]
    given: Mapping[str, Uninterpreted]
    pairs: Mapping[str, tuple[str, Kind | WrittenKind]]
    arithmetic: Sequence[str]


def flat(rule: Provable) -> Flat:
    """The flat form of a rule or congruence lemma, with its proof; raises `Unsupported`."""
    if rule.refinement:
        raise Unsupported(
            "a refinement fixes cells that are open before: its sides are not equal", place=""
        )
    s = FlatStatement()
    head = Head.of(s, rule)
    sizes = {s.names.of("size", name): str(name) for name in rule.sizes}
    pairs = {
        s.names.of("metavariable", name): (name, kind)
        for name, kind in rule.parameters.items()
        if not isinstance(kind, NatKind)
    }
    result = s.relation(rule.left.type)
    left, right = FlatSide(s, "").term(rule.left), FlatSide(s, "'").term(rule.right)
    premises = head.premises()
    equations = [f"{q} = {s.polynomial(n)}" for n, q in s.fresh.items()]
    arithmetic = [*equations, *premises.arithmetic]
    conclusion = f"{result}\n  {left}\n  {right}"
    stated = proposition(rule)
    digest = hashlib.sha256(f"{stated}\n{conclusion}\n{rule.proof}".encode()).hexdigest()[:12]
    stem = re.sub(r"[^A-Za-z0-9_]", "_", rule.name)
    name = f"{stem}_{digest}"
    fresh = list(s.fresh.values())
    text = _text(name, stated, rule.proof, premises, fresh, arithmetic, conclusion)
    types = [*rule.types, *s.floats]
    return Flat(
        f"flat_{name}",
        text,
        rule,
        types,
        sizes,
        {q: n for n, q in s.fresh.items()},
        dict(s.literals),
        dict(s.given),
        pairs,
        arithmetic,
    )


def _text(
    name: str,
    stated: str,
    script: str,
    premises: Premises,
    fresh: Sequence[str],
    arithmetic: Sequence[str],
    conclusion: str,
) -> str:
    """The rule's own theorem, and the flat one, which is an instance of it."""
    more = [*premises.sizes, *fresh]
    lines = [f"({a} : Type) ({r} : rel {a})" for a, r in premises.types]
    lines += [f"({' '.join(more)} : nat)"] * bool(more)
    lines += premises.pairs
    assumed = [*premises.relations, *arithmetic, *premises.laws, *premises.related]
    quantified = "forall " + "\n  ".join(lines) + ",\n" if lines else ""
    explicit = [x for pair in premises.types for x in pair]
    explicit += premises.sizes
    explicit += [x for line in premises.pairs for x in line[1:].split(" : ")[0].split()]
    substituted = "".join(f"subst {q}. " for q in fresh)
    return (
        f"Definition statement_{name} : Prop :=\n{stated}.\n"
        f"Theorem rule_{name} : statement_{name}.\nProof.\n{proof_of(script)}\nQed.\n"
        f"Theorem flat_{name} : {quantified}"
        + "".join(f"{h} ->\n" for h in assumed)
        + f"{conclusion}.\n"
        f"Proof. intros. {substituted}pose proof (rule_{name} : statement_{name}) as own. "
        f"unfold statement_{name} in own. exact_instance (own {' '.join(explicit)}). Qed.\n"
    )


def proof_of(script: str) -> str:
    """The tactics that prove a rule."""
    return "\n".join(tactics_of(script)) or "relift."


@dataclass
class FlatSide(Side):
    """One side of a flat lemma; sizes in index functions are variables, too."""

    def natural_size(self, n: Size) -> str:
        return self.statement.size(n)

    def whole_size(self, n: Size) -> str:
        return f"(Z.of_nat {self.statement.size(n)})"
