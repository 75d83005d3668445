"""The encoding: what rules become, and the alarms of a snapshot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proofs_tests.rewrites.checks.test_bounds import one_of_many
from relift.egraph.encode.equations import NotSearchable, Variable, expression
from relift.egraph.encode.rules import EncodedRule, encode_rule
from relift.egraph.encode.snapshot import Dump, Snapshot, UnsoundRules
from relift.egraph.encode.terms import term_text
from relift.egraph.process.saturation import Request, Saturation, Stage, saturate
from relift.rewrites.checks.rocq.definedness import statements_of
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.library import RULES
from relift.semantics.errors import Unsupported
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.terms import Input, Literal
from relift.semantics.syntax.types import f32, i32


def encoded(name: str, direction: Direction = "forward") -> EncodedRule:
    """A rule of the library, encoded."""
    return encode_rule(RULES[name], direction)


def test_scope_and_freshness_are_derived() -> None:
    """What a metavariable is applied to says what it may use, and what it moves under."""
    interchange = encoded("map_interchange")
    names = interchange.log.names
    assert [(f, names[i]) for f, i in interchange.scope] == [("ys", "x")]
    assert [(f, names[i]) for f, i in interchange.moved] == [("xs", "y")]
    assert interchange.demand is None
    chunked = encoded("split_join")
    assert chunked.demand is not None
    assert [(f, chunked.log.names[i]) for f, i in chunked.moved] == [("f", "c")]


def test_binders_brought_together_are_distinct() -> None:
    """Two binders that were side by side, and end up one inside the other, need different names."""
    fused = encoded("reduce_map_fusion")
    pairs = {tuple(fused.log.names[i] for i in pair) for pair in fused.distinct}
    assert ("acc", "x") in pairs


def test_open_sizes_are_drawn_from_their_relation() -> None:
    """Chunk lengths come from `tile`, widths of vectors from `lanes`; what is matched is not chosen."""
    assert "(tile " in encoded("split_join").text
    assert "(lanes " in encoded("vectorize_reduce").text
    assert "(tile " not in encoded("vectorize_reduce").text
    assert encoded("split_join").log.chosen == ("m",)
    assert encoded("split_map").log.chosen == ()
    assert encoded("split_join", "backward").log.chosen == ()


@pytest.mark.parametrize(
    ("name", "direction", "reason"),
    [
        ("join_split", "backward", "bare metavariable"),
        ("map_fusion", "backward", "no Miller pattern"),
        ("map_to_glb", "forward", "lowering: applied by context"),
    ],
)
def test_reasons(name: str, direction: Direction, reason: str) -> None:
    """A direction that search cannot use says why."""
    with pytest.raises(NotSearchable, match=reason):
        encoded(name, direction)


def test_arithmetic_is_written_for_egglog() -> None:
    """Sizes become nested binary operations over egglog's variables."""
    k, step = Size.atom(Variable("k")), Size.atom(Variable("step"))
    assert expression(k * step - 2) == "(+ (* k step) -2)"
    assert expression(Size.of(0)) == "0"


def test_literals_are_written_apart() -> None:
    """The sign of zero and the type of a number are part of a literal."""
    texts = [Literal(0.0, f32), Literal(-0.0, f32), Literal(0, i32), Literal(1, f32)]
    assert len({term_text(t) for t in texts}) == 4
    assert term_text(Literal(1, f32)) == term_text(Literal(1.0, f32))


def test_search_needs_concrete_sizes() -> None:
    """A size that is left open cannot be encoded."""
    with pytest.raises(Unsupported, match="concrete sizes"):
        term_text(Input("xs", f32[nat("n")]))


def test_a_class_of_two_types_is_an_alarm() -> None:
    """A clash of types names the rules that fired."""
    dump = Dump({"Clash": [(0, 1, 2)]}, {}, 0, {"suspect": 1})
    with pytest.raises(UnsoundRules, match=r"different types.*suspect"):
        Snapshot(dump, arity=3, operators={}, functions={})


def searched(copies: int, *, idempotent: bool = True) -> Saturation:
    """A fold of copies of one number, with the rule that folds two copies or more like one."""
    rule = one_of_many(2)
    larger = rl.operator(
        lambda x, y: rl.select(x < y, y, x), associative=True, idempotent=idempotent, name="larger"
    )
    z, x = Input("z", i32), Input("x", i32)
    program = Program("folded", (z, x), rl.reduce(larger, z, rl.repeat(copies, x)))
    stage = Stage("copies", (rule.name,), 2)
    return saturate(Request(program, (stage,), rules={rule.name: rule}))


def test_a_rule_does_not_fire_below_its_least_size() -> None:
    """Of no copy the rule is false, so from how many on it holds is a premise in the e-graph."""
    assert sum(searched(0).firings.values()) == 0
    assert sum(searched(1).firings.values()) == 0
    assert sum(searched(2).firings.values()) > 0


def test_a_rule_fires_for_operators_that_obey_its_laws_only() -> None:
    """An operator of which a law is not declared is none that the rule speaks of."""
    assert sum(searched(3, idempotent=False).firings.values()) == 0
    assert sum(searched(3).firings.values()) > 0


def test_what_a_rule_is_encoded_as_stays_with_it() -> None:
    """A search asks for the same rules as the one before; a changed rule, and whatever hangs on the ledger, is encoded anew."""
    fusion = RULES["map_fusion"]
    changed = replace(fusion, right=fusion.left)

    assert encode_rule(fusion) is encode_rule(fusion)
    assert encode_rule(fusion) == encode_rule(replace(fusion))
    assert encode_rule(fusion).text != encode_rule(changed).text
    assert encode_rule(fusion, partial=True) is not encode_rule(fusion, partial=True)
    assert statements_of(fusion) is statements_of(fusion)
    assert statements_of(fusion) == statements_of(replace(fusion)) != statements_of(changed)
