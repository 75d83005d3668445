"""Result.v: what is proved of a derivation, written from its source and its result, and from no step of it.

It needs the definitions of the library only, and takes the proof from Derivation.v under its own statement.  What
the steps ask of sizes, of index functions and of operators stands in it as premises: `source_is_result` holds for
all sizes that meet them.  `at_its_sizes` is the instance at the sizes of the derivation, where what is asked of
sizes and index functions has been shown, and laws of operators are the only premises left.

The text is in two halves.  The first holds for all sizes, so it is the same at others: what is `stated`, and that it is
proved.  The second names numbers, and takes from the first only what is stated there (`shown`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relift.rewrites.checks.theorem.steps import second_inputs
from relift.rewrites.checks.theorem.writer import ProgramSide, Sort, Writer
from relift.semantics.syntax.terms import Input, Term


@dataclass(frozen=True)
class Premise:
    """What the theorem assumes."""

    name: str
    text: str
    sort: Sort


@dataclass(frozen=True)
class Proposition:
    """What is proved: under the premises, the source is the result.

    `domains`: where source and result are defined, of those that are not defined everywhere; the language says
    nothing of a program elsewhere, and so neither does the theorem.
    """

    writer: Writer
    source: Term
    result: Term
    parameters: tuple[Input, ...]
    premises: tuple[Premise, ...]
    domains: Mapping[str, str]

    def of(self, sort: Sort) -> list[str]:
        """The premises of a sort."""
        return [p.text for p in self.premises if p.sort == sort]


IMPORTED = "From Relift Require Import Patterns Laws Congruence.\n"
IMPORTS = f"{IMPORTED}From Here Require Derivation.\nSet Implicit Arguments.\n"


TRIED = 300
"""Up to this size an index function is tried at each index where no arithmetic shows what is asked of it."""


EXPLICIT = "Unset Implicit Arguments.\n"
"""Above what names numbers: to see which arguments of a theorem could be left out, the prover would count up to them."""


@dataclass(frozen=True)
class Halves:
    """Result.v after its imports: what is said for all sizes, that it is proved, and what is said at those of the derivation."""

    stated: str
    for_all: str
    at_sizes: str

    @property
    def text(self) -> str:
        """The text of Result.v."""
        return f"{IMPORTS}\n{self.stated}\n{self.for_all}\n{self.at_sizes}\n{_AUDIT}"


APPLIED = "Definition at_its_sizes := AtItsSizes.shown source_is_result.\n"
"""What ends the second half: the first applied to it."""
_AUDIT = "Definition everything := (@source_is_result, @at_its_sizes).\n\nPrint Assumptions everything.\n"
AUDITED = "Print Assumptions source_is_result.\n", "Print Assumptions AtItsSizes.shown.\n"
"""What asks of each half alone what it rests on; `at_its_sizes` is the second applied to the first."""


def halves(said: Proposition) -> Halves:
    """What is proved, in text of Rocq."""
    w = said.writer
    pairs = list(second_inputs(w).values())
    things = w.binders(facts=False)[: -len(pairs) or None]
    names = [x for x in w.bound() if x not in {p.name for p in said.premises}]
    names = names[: -len(pairs) or None]
    inputs = [f"({p.left} : {w.type(p.type)})" for p in pairs]
    of = w.type(said.source.type)
    lines: list[str] = []
    for name, t in (("source", said.source), ("result", said.result)):
        head = " ".join([*things, *inputs])
        body = ProgramSide.of(w).term(t)
        lines.append(f"Definition {name} {head} : {of} :=\n  {body}.\n")
    for name, text in said.domains.items():
        head = " ".join([*things, *inputs])
        lines.append(f"Definition {_where(name)} {head} : Prop :=\n  {text}.\n")
    both = [f"({p.left} {p.right} : {w.type(p.type)})" for p in pairs]
    agree = [f"({p.proof} : {w.relation(p.type)} {p.left} {p.right})" for p in pairs]
    facts = [f"({p.name} : {p.text})" for p in said.premises]
    given = " ".join(names)
    xs, ys = " ".join(p.left for p in pairs), " ".join(p.right for p in pairs)
    defined = [f"({name} : @{_where(name)} {given} {xs})" for name in said.domains]
    head = "\n  ".join([*things, *both, *facts, *agree, *defined])
    related = w.relation(said.source.type)
    both_given = " ".join(f"{p.right} {p.proof}" for p in pairs)
    held = " ".join(p.name for p in said.premises)
    lines.append(
        f"Definition agreement : Prop := forall {head},\n"
        f"  {related} (@source {given} {xs}) (@result {given} {ys}).\n"
    )
    proved = (
        f"Theorem source_is_result : agreement.\n"
        f"Proof. unfold agreement. intros. "
        f"exact (@Derivation.derivation {given} {xs} {held} {both_given}). Qed.\n"
    )
    return Halves("\n".join(lines), proved, _instance(said, things, both, agree, names))


def _where(domain: str) -> str:
    """What says where a program is defined, by the name of the premise that it is."""
    return domain.replace("D_", "where_", 1)


def _instance(
    said: Proposition,
    things: Sequence[str],
    both: Sequence[str],
    agree: Sequence[str],
    names: Sequence[str],
) -> str:
    """The theorem at the sizes of the derivation, its arithmetic shown."""
    w = said.writer
    values = {name: of[0] for of, name in w.atoms.items()}
    numbers = "".join(f"Definition {name} : nat := N.to_nat {n}.\n" for name, n in values.items())
    lines = [f"{EXPLICIT}Module AtItsSizes.\n{numbers}"]
    tried = max(values.values(), default=0) <= TRIED
    shown = "holds_at_each_index" if tried else "holds_of_numbers"
    unfolded = f"unfold {', '.join(values)}; " if values else ""
    for p in said.premises:
        if p.sort != "law":
            lines.append(f"Lemma {p.name} : {p.text}.\nProof. {unfolded}{shown}. Qed.\n")
    if values:
        lines.append(f"Opaque {' '.join(values)}.\n")
    others = [line for line in things if not line.endswith(": nat)")]
    laws = [f"({p.name} : {p.text})" for p in said.premises if p.sort == "law"]
    pairs = list(second_inputs(w).values())
    given = " ".join(names)
    xs, ys = " ".join(p.left for p in pairs), " ".join(p.right for p in pairs)
    held = " ".join(p.name for p in said.premises)
    agreed = " ".join([*(p.proof for p in pairs), *said.domains])
    crossed = " ".join(f"{p.left} {p.right}" for p in pairs)
    defined = [f"({name} : @{_where(name)} {given} {xs})" for name in said.domains]
    head = "\n  ".join([*others, *both, *laws, *agree, *defined])
    quantified = f"forall {head},\n  " if head else ""
    lines.append(
        f"Theorem shown : agreement -> {quantified}"
        f"{w.relation(said.source.type)} (@source {given} {xs}) (@result {given} {ys}).\n"
        f"Proof. intros for_all. intros. exact (for_all {given} {crossed} {held} {agreed}). Qed.\nEnd AtItsSizes.\n"
    )
    lines.append(APPLIED)
    return "\n".join(lines)
