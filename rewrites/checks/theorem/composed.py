"""The theorem of a derivation: its steps as lemmas, put together by transitivity, and the files that say so.

Derivation.v   all that proves it: rules, congruence lemmas, steps, their composition; nobody need read it
Result.v       what is proved, written from source and result alone; this is what has to be believed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from relift.rewrites.checks.rocq.definedness import conjunction
from relift.rewrites.checks.rocq.tier import opening
from relift.rewrites.checks.theorem.chains import Chains, move
from relift.rewrites.checks.theorem.congruence import (
    Lemma,
    Pairs,
    Shared,
    Walk,
    WrittenLemma,
    lemma_name,
)
from relift.rewrites.checks.theorem.instances import other_instances
from relift.rewrites.checks.theorem.result import (
    IMPORTED,
    IMPORTS,
    Halves,
    Premise,
    Proposition,
    halves,
)
from relift.rewrites.checks.theorem.sizes import NamedSizes, Unlike, Values, alike
from relift.rewrites.checks.theorem.steps import as_pairs, second_inputs, stable_lemma
from relift.rewrites.checks.theorem.writer import ProgramDomains, ProgramSide, Writer
from relift.rewrites.derivation.steps import (
    BrokenDerivation,
    Derivation,
    Redone,
    Step,
    redone,
    standing,
)
from relift.rewrites.ledger.book import is_proved
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError
from relift.semantics.syntax.binding import Position, alpha_equal, tidy
from relift.semantics.syntax.terms import Input, Term

HEADING = "From Relift Require Import Tactic Congruence.\nSet Implicit Arguments.\n"


def heading(modules: Sequence[str] = ()) -> str:
    """What a file of lemmas begins with; `modules` hold lemmas that it needs."""
    needed = f"From Proved Require Import {' '.join(modules)}.\n" if modules else ""
    return f"{HEADING}{needed}{opening()}"


def named(composition: Lemma) -> str:
    """The whole theorem, under the name that Result.v takes it by."""
    return f"Definition derivation := @{composition.name}.\n"


@dataclass(frozen=True)
class Theorem:
    """All that is to be checked of one derivation.

    `lemmas`: each after those that it needs; `composition` needs all of them; `steps`: the lemma of each step, and
    the name of its rule.
    """

    lemmas: tuple[Lemma, ...]
    composition: Lemma
    statement: Proposition
    steps: tuple[tuple[str, str], ...]

    @cached_property
    def halves(self) -> Halves:
        """What is proved for all sizes, and at those of the derivation."""
        return halves(self.statement)

    @property
    def result(self) -> str:
        """The text of Result.v."""
        return self.halves.text

    @property
    def whole(self) -> str:
        """One file that holds both, and needs nothing but the library."""
        inside = self.derivation.removeprefix(HEADING)
        after = self.result.removeprefix(IMPORTS)
        return f"{IMPORTED}{HEADING}Module Derivation.\n{inside}\nEnd Derivation.\n\n{after}"

    @property
    def derivation(self) -> str:
        """The text of Derivation.v, which needs nothing but the library."""
        lemmas = "\n".join(lemma.text for lemma in self.lemmas)
        return f"{heading()}\n{lemmas}\n{self.composition.text}\n{named(self.composition)}"


def require_provable(derivation: Derivation, rules: Mapping[str, Rule]) -> None:
    """Raise `BrokenDerivation` for a step that no proof of an equality can contain."""
    known = derivation.known(rules)
    verdicts = standing(derivation, rules)
    for number, (step, said) in enumerate(zip(derivation.steps, verdicts, strict=True), 1):
        rule = known[step.rule]
        if not is_proved(said):
            raise BrokenDerivation(
                f"step {number} is by {rule.name}, which is {said}, not PROVED: "
                "there is no theorem to make a proof of",
                place="",
            )
        if rule.refinement:
            raise BrokenDerivation(
                f"step {number} is by {rule.name}, a refinement: what it makes is not equal to what was before",
                place="",
            )


def general_theorem(
    derivation: Derivation, rules: Mapping[str, Rule], programs: Sequence[Term] = ()
) -> Theorem:
    """The theorem of a derivation for as many sizes as it holds for; raises `ReliftError`.

    `programs`: those along it where `redone` has made it.

    Where it can be done at sizes that have nothing in common by chance, numbers that are equal here only are
    several sizes in it; else they are one.
    """
    require_provable(derivation, rules)
    here = (derivation, programs) if programs else _done_again(derivation, rules)
    for other in other_instances(here[0], rules):
        with suppress(Unlike):
            return stated_theorem([here[0], other[0]], [here[1], other[1]], rules)
    return stated_theorem([here[0]], [here[1]], rules)


def _done_again(derivation: Derivation, rules: Mapping[str, Rule]) -> Redone:
    """The same derivation with the names of variables that it gives at any sizes; as it is where it gives another."""
    try:
        again = redone(derivation, rules, derivation.sizes, {})
    except ReliftError:
        again = None
    if again is None or not alpha_equal(again[0].result, derivation.result):
        return derivation, derivation.replay(rules)
    return again


def stated_theorem(
    derivations: Sequence[Derivation],
    programs: Sequence[Sequence[Term]],
    rules: Mapping[str, Rule],
) -> Theorem:
    """The theorem that these are the programs along the derivations, whether they are or not."""
    first = derivations[0]
    rules = first.known(rules)
    if len({len(terms) for terms in programs}) > 1:
        raise Unlike
    outline = tuple((step.rule, step.position) for step in first.steps)
    before = WRITTEN.pop(outline, None)
    sizes = NamedSizes(len(derivations))
    inputs = zip(*(d.program.parameters for d in derivations), strict=True)
    about = About(
        tuple(sizes.merged(group) for group in zip(*programs, strict=True)),
        tuple(
            sizes.merged([_bare(d.steps[i]) for d in derivations]) for i in range(len(first.steps))
        ),
        tuple(rules[step.rule] for step in first.steps),
        tuple(sizes.merged(group) for group in inputs),
    )
    names = _names_of_sizes(derivations)
    theorem = before.at(about, sizes, names) if before is not None else None
    if theorem is None:
        theorem = write_theorem(about, sizes, names)
    WRITTEN[outline] = Written(about, sizes, names, theorem)
    for oldest in list(WRITTEN)[:-KEPT]:
        WRITTEN.pop(oldest, None)
    return theorem


KEPT = 4
"""So many theorems are kept for the same derivations at other sizes."""

WRITTEN: dict[tuple[tuple[str, Position], ...], Written] = {}
"""What was written last, by the rules of its steps and their places."""


def write_theorem(about: About, sizes: NamedSizes, names: Mapping[Values, str]) -> Theorem:
    """The theorem about programs of which the numbers have names."""
    shared = Shared(sizes)
    moves = [
        move(number, *step)
        for number, step in enumerate(
            zip(about.rules, about.steps, about.programs, about.programs[1:], strict=False), 1
        )
    ]
    chains = Chains(shared)
    chain = chains.whole(moves) if moves else None
    ends = [
        tidy(t) for t in (about.programs[0], about.programs[-1])
    ]  # so that no name depends on where terms were read
    stable = stable_lemma(shared, ends[1])
    steps = tuple((chains.names[one.number], one.rule.name) for one in moves)
    return _composed(shared, ends, about.parameters, chain, stable, names, steps)


@dataclass(frozen=True)
class About:
    """What a theorem is about, with names for sizes: the programs, the steps between them, their rules, the parameters."""

    programs: tuple[Term, ...]
    steps: tuple[Step, ...]
    rules: tuple[Rule, ...]
    parameters: tuple[Input, ...]


@dataclass(frozen=True)
class Written:
    """A theorem, and what it was written of: at sizes that no proof tells from these it is the same."""

    about: About
    sizes: NamedSizes
    names: Mapping[Values, str]
    theorem: Theorem

    def at(self, about: About, sizes: NamedSizes, names: Mapping[Values, str]) -> Theorem | None:
        """The theorem at other sizes; None where another is to be written."""
        if self.about.rules != about.rules or not alike(self.about, about, {}):
            return None
        if (here := sizes.standing_for(self.sizes)) is None:
            return None
        if {here.get(values): name for values, name in self.names.items()} != names:
            return None
        statement, w = self.theorem.statement, self.theorem.statement.writer
        atoms = {here[values]: name for values, name in w.atoms.items()}
        writer = replace(w, sizes=sizes, atoms=atoms, preferred=names)
        return replace(self.theorem, statement=replace(statement, writer=writer))


def _bare(step: Step) -> Step:
    """A step without what only says how it was found."""
    return Step(step.rule, step.direction, step.position, step.substitution)


def _names_of_sizes(derivations: Sequence[Derivation]) -> dict[Values, str]:
    """The program's own names of sizes."""
    names = derivations[0].sizes
    return {tuple(d.sizes[name] for d in derivations): name for name in reversed(list(names))}


def _composed(
    shared: Shared,
    terms: Sequence[Term],
    parameters: Sequence[Input],
    chain: WrittenLemma | None,
    stable: WrittenLemma,
    names: Mapping[Values, str],
    steps: tuple[tuple[str, str], ...],
) -> Theorem:
    w = Writer(sizes=shared.sizes, preferred=names)
    for p in parameters:
        w.input(p)
    ends = {"D_source": terms[0], "D_result": terms[-1]}
    asked = {name: ProgramDomains(w, "", writer=w).of(t) for name, t in ends.items()}
    related = w.relation(terms[0].type)
    before = ProgramSide.of(w).term(terms[0])
    after = ProgramSide.of(w, primed=True).term(terms[-1])
    pairs = second_inputs(w)
    walk = Walk(shared, w)
    whole = walk.applied(stable, as_pairs(pairs))
    if chain is not None:
        per = w.per(terms[0].type)
        whole = f"(per_trans {per} _ _ _ {walk.applied(chain, Pairs())} {whole})"
    own = [
        f"({p.right} : {w.type(p.type)}) ({p.proof} : {w.relation(p.type)} {p.left} {p.right})"
        for p in pairs.values()
    ]
    binders = "\n  ".join([*w.binders(), *own])
    stated_as = f"forall {binders},\n  {related}\n  {before}\n  {after}"
    name = lemma_name("derivation", f"{stated_as}\n{whole}")
    text = f"Theorem {name} : {stated_as}.\nProof. exact (fun {binders} =>\n  {whole}). Qed.\n"
    premises = tuple(Premise(name, text, sort) for text, (name, sort) in w.facts.items())
    domains = {name: conjunction(parts) for name, parts in asked.items() if parts}
    statement = Proposition(w, terms[0], terms[-1], tuple(parameters), premises, domains)
    return Theorem(tuple(shared.lemmas.values()), Lemma(name, text), statement, steps)
