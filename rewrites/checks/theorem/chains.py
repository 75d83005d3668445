"""The steps of a derivation as a tree: what happens at a place is proved there, and put into the program once.

Steps follow each other in the whole program, but most of them change a small part of it.  At each node of the program
they fall into those at the node itself and the runs between them, which happen below it.  Below, the steps of one
child do not concern another: each child has a chain of its own, proved as this one is, and one congruence takes all
of them to the node.  So what a step costs depends on what it changes and not on the program around it, and what is
done alike at several places of a program is proved once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from relift.rewrites.checks.rocq.tier import RefusedScript
from relift.rewrites.checks.theorem.congruence import Hole, Pairs, Shared, Walk, WrittenLemma
from relift.rewrites.checks.theorem.steps import instance
from relift.rewrites.checks.theorem.writer import Writer
from relift.rewrites.derivation.steps import BrokenDerivation, Step
from relift.rewrites.rule import Rule
from relift.semantics.errors import Unsupported
from relift.semantics.syntax.binding import Position, alpha_equal, replace_at, term_at
from relift.semantics.syntax.terms import Term


@dataclass(frozen=True)
class Move:
    """A step as a node sees it: where below the node it is, and what the node is before and after it.

    One that is not `alone` claims to change more than what is at its place; it is one of the whole program.
    """

    number: int
    rule: Rule
    step: Step
    position: Position
    before: Term
    after: Term
    alone: bool = True

    def below(self) -> Move:
        """The same as the child in which it is sees it."""
        before, after = (term_at(t, self.position[:1]) for t in (self.before, self.after))
        return replace(self, position=self.position[1:], before=before, after=after)


def move(number: int, rule: Rule, step: Step, before: Term, after: Term) -> Move:
    """A step between two programs."""
    try:
        changed = replace_at(before, step.position, term_at(after, step.position))
        alone = alpha_equal(changed, after)
    except LookupError:
        alone = False
    return Move(number, rule, step, step.position if alone else (), before, after, alone)


@dataclass
class Chains:
    """Writes the proofs of chains of steps; `names` are the lemmas of the steps, by their numbers."""

    shared: Shared
    names: dict[int, str] = field(default_factory=dict)

    def whole(self, moves: Sequence[Move]) -> WrittenLemma:
        """That the first program is equal to the last one; raises `BrokenDerivation`."""
        return self._lemma(Walk(self.shared, Writer(sizes=self.shared.sizes)), moves, Pairs())

    def _proof(self, moves: Sequence[Move], walk: Walk, pairs: Pairs) -> str:
        """That a node before the moves, with the first values, is related to it after them, with the second ones."""
        if all(each.position for each in moves):
            return self._below(moves, walk, pairs)
        return walk.applied(self._lemma(walk, moves, pairs), pairs)

    def _lemma(self, walk: Walk, moves: Sequence[Move], pairs: Pairs) -> WrittenLemma:
        """The same, stated once wherever it happens."""
        first, last = moves[0], moves[-1]
        if all(each.position for each in moves):
            stem, prove = "part", self._below
        elif len(moves) == 1:
            stem, prove = "step", self._step
        else:
            stem, prove = "chain", self._chain
        known = walk.lemma(first.before, last.after, pairs, partial(prove, moves), stem)
        for each in moves:
            self.names.setdefault(
                each.number, known.name
            )  # done elsewhere, it has no lemma of its own
        return known

    def _chain(self, moves: Sequence[Move], walk: Walk, pairs: Pairs) -> str:
        """One part after the other: a step at the node, or all that happens below until the next one."""
        first, *rest = _parts(moves)
        whole = walk.applied(self._lemma(walk, first, pairs), pairs)
        per, seconds = walk.w.per(moves[0].before.type), pairs.seconds(walk.w)
        for part in rest:
            proof = walk.applied(self._lemma(walk, part, seconds), seconds)
            whole = f"(per_trans {per} _ _ _ {whole} {proof})"
        return whole

    def _below(self, moves: Sequence[Move], walk: Walk, pairs: Pairs) -> str:
        """What happens below a node, by congruence from what happens in each child."""
        children: dict[str, list[Move]] = {}
        for each in moves:
            children.setdefault(each.position[0], []).append(each.below())
        holes: dict[Position, Hole] = {
            (place,): partial(self._proof, own, walk) for place, own in children.items()
        }
        with _named(moves[0]):
            return walk.proof(moves[0].before, pairs, holes)

    def _step(self, moves: Sequence[Move], walk: Walk, pairs: Pairs) -> str:
        """The instance of a rule, at its place in the node."""
        (one,) = moves
        with _named(one):
            place = () if one.alone else one.step.position
            return walk.proof(one.before, pairs, {place: instance(walk, one.rule, one.step)})


def _parts(moves: Sequence[Move]) -> Iterator[list[Move]]:
    """Each step at the node for itself, and the runs of steps below it."""
    for at_node, run in groupby(moves, lambda each: not each.position):
        if at_node:
            yield from ([each] for each in run)
        else:
            yield list(run)


@contextmanager
def _named(one: Move) -> Generator[None]:
    """What cannot be stated is said of a step."""
    try:
        yield
    except (Unsupported, RefusedScript) as error:
        said = f"cannot be stated for the prover: {error}"
    except RecursionError:
        said = "its terms are nested too deeply"
    else:
        return
    raise BrokenDerivation(f"step {one.number} by {one.rule.name} {said}", place="") from None
