"""What terms keep beside their fields: found once for terms that share most of what is below them."""

import gc
import pickle
from contextlib import suppress
from dataclasses import replace

import pytest

from proofs_tests.compiler.programs import typed
from relift import add, f32, map, reduce, split, zip
from relift.processes.collecting import uncollected
from relift.rewrites.application.applied import applied_once
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import BrokenDerivation
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import (
    Rewriting,
    apply,
    context_free,
    derive,
    then,
    topdown,
)
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.binding import (
    Position,
    alpha_equal,
    canonical,
    replaced,
    substitute,
    term_at,
)
from relift.semantics.syntax.nodes import made, typed_once
from relift.semantics.syntax.terms import Apply, Input, Literal, Term

total = typed(x=f32[8])(lambda x: reduce(add, 0.0, map(lambda v: v * v, x)))


def test_a_hash_stays_in_its_process() -> None:
    t = Apply("neg", (Input("x", f32),), f32)
    hash(t)
    again = pickle.loads(pickle.dumps(t))
    assert "_hash" not in vars(again)
    assert again == t


def test_what_a_change_leaves_alone_stays_one_object() -> None:
    form = canonical(total.body)
    assert canonical(form) is form
    assert substitute(form, {"y": Literal(1.0, f32)}) is form


def test_what_is_applied_once_is_what_is_applied_anew() -> None:
    tactic = then(topdown(apply("map_to_seq")), topdown(apply("reduce_to_seq")))
    alone = derive(total, tactic)
    with applied_once():
        kept = [derive(total, tactic) for _ in range(2)]
    assert all(each.result == alone.result and each.steps == alone.steps for each in kept)
    assert kept[0].result is kept[1].result


def test_a_step_is_checked_once_and_refused_as_often_as_it_is_wrong() -> None:
    tactic = then(topdown(apply("map_to_seq")), apply("reduce_to_seq"))
    derivation = derive(total, tactic)
    turned = replace(derivation, steps=derivation.steps[::-1])
    with applied_once():
        first, again = (derivation.replay(RULES) for _ in range(2))
        for _ in range(2):
            with pytest.raises(BrokenDerivation):
                turned.replay(RULES)
    assert first[-1] is again[-1]
    assert first == derivation.replay(RULES)


def test_nodes_that_are_typed_once_are_those_that_are_typed_anew() -> None:
    """Another term of the same type has its type; what no type fits is refused, whatever was before it."""
    x, y = (Input(name, f32[8]) for name in "xy")
    kind = type(split(2, x))
    with typed_once():
        first, again = (made(kind, (2, of)) for of in (x, y))
        with pytest.raises(IllTyped, match="3 does not divide 8"):
            made(kind, (3, x))
    assert again == split(2, y)
    assert again.type is first.type


def test_what_replaces_terms_leaves_nothing_that_holds_itself() -> None:
    gc.collect()
    with uncollected():
        assert replaced(total.body, lambda _: None, Input) is total.body
        assert not gc.collect()


def test_a_form_that_is_kept_is_that_of_a_term_made_anew() -> None:
    """What stands in several places is named by how deep it stands in each."""
    inner = map(lambda v: map(lambda w: v + w, total.parameters[0]), total.parameters[0])
    below = typed(x=f32[8])(lambda x: map(lambda a: map(lambda b: (a * b, inner), x), x))
    canonical(inner)
    anew = pickle.loads(pickle.dumps(below.body))
    assert canonical(below.body) == canonical(anew)
    there = term_at(canonical(below.body), ("f", "f", "parts.1"))
    assert canonical(inner) != there
    assert alpha_equal(inner, there)


def test_where_a_tactic_applies_nowhere_it_is_tried_once_unless_it_looks_around() -> None:
    """What was left as it is in one term is not gone through in another one, by what hangs on its place alone."""
    tried = list[Term]()

    def counted(at: Rewriting, place: Position) -> Rewriting:
        tried.append(term_at(at.term, place))
        raise NoMatch("never")

    left = map(lambda v: v * v, Input("x", f32[8]))
    wholes = [typed(y=f32[8])(lambda y: zip(left, y)), typed(y=f32[8])(lambda y: zip(y, left))]
    for tactic, again in ((counted, 1), (context_free(counted), 0)):
        below = topdown(tactic)
        with applied_once():
            for whole in wholes:
                tried.clear()
                with suppress(NoMatch):
                    below(Rewriting(whole.body, "reassociate"), ())
        assert sum(u is left for u in tried) == again


def test_what_a_tactic_leaves_is_told_apart_by_what_is_allowed() -> None:
    """A law of real numbers does not hold exactly: that it was refused once says nothing of the next time."""
    sums = typed(x=f32[8])(lambda x: reduce(add, 0.0, x))
    chunks = topdown(apply("partial_reduce_chunks", m=4))
    with applied_once():
        with pytest.raises(NoMatch):
            derive(sums, chunks, {}, "exact")
        assert derive(sums, chunks).steps
