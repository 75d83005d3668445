"""Derivations: what is recorded is checked entry by entry, bound to its rules, and confirmed as it stands."""

from __future__ import annotations

import copy
import inspect
import json
import random
from dataclasses import replace
from typing import Any

import pytest

import relift as rl
from proofs_tests.tampering import campaign, derivation_of
from relift.egraph.encode.rules import encode_rule
from relift.egraph.search.optimize import optimize
from relift.rewrites.application import matching
from relift.rewrites.application.matching import NoMatch, apply_filled, apply_rule
from relift.rewrites.conditions import associative, neutral
from relift.rewrites.derivation import confirmation
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.files import from_json, program_hash, to_json
from relift.rewrites.derivation.steps import (
    BrokenDerivation,
    Derivation,
    Step,
    require_standing,
    standing,
)
from relift.rewrites.ledger import book as ledger
from relift.rewrites.library import RULES
from relift.rewrites.notation import k, m
from relift.rewrites.rule import Rule, rule
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import replace_at, substitute
from relift.semantics.syntax.signatures import Op
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import Input, Lambda, Literal, Var
from relift.semantics.syntax.types import f32, i32

n = rl.nat("n")


@rl.program
def border(x: rl.f32[n]):
    """A border on both sides, then twice each element."""
    return rl.map(lambda v: v + v, rl.pad(1, 1, rl.clamp, x))


@rl.program
def total(x: rl.f32[n]):
    """A sum."""
    return rl.reduce(rl.add, 0.0, x)


def one_step(
    program: Program, size: int, name: str, position: tuple[str, ...], **how: Any
) -> Derivation:
    """The derivation of one step by a rule of the library."""
    result, substitution = apply_rule(RULES[name], program.at({"n": size}).body, position, **how)
    step = Step(name, "forward", position, substitution, how.get("choices", {}))
    return Derivation(program, {"n": size}, (step,), result)


def refilled(d: Derivation, **fields: Any) -> Substitution:
    """The substitution of the only step, with other entries."""
    substitution = d.steps[0].substitution
    return replace(
        substitution, **{f: {**getattr(substitution, f), **new} for f, new in fields.items()}
    )


BORDER = one_step(border, 8, "pad_clamp_as_concat", ("xs",))


def test_a_size_that_stands_on_the_right_alone_is_checked() -> None:
    """A copy of x[2] in the place of the last element x[7] is no step."""
    data = to_json(BORDER)
    data["steps"][0]["sizes"]["n"] = 2
    data["result"] = data["result"].replace("x[7]", "x[2]")

    with pytest.raises(BrokenDerivation, match=r"step 1: .*xs has type f32\[8\], and must have"):
        from_json(data, RULES)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sizes": {"n": Size.of(-1)}}, "size n is -1, and must be a natural number"),
        ({"sizes": {"other": Size.of(1)}}, "it has no size other"),
        ({"types": {"A": i32}}, "xs has type f32"),
        ({"types": {"B": i32}}, "it has no type B"),
        ({"functions": {"xs": Lambda((), Input("x", i32[8]))}}, "xs has type i32"),
        ({"functions": {"ys": Lambda((), Input("x", f32[8]))}}, "it has no metavariable ys"),
        ({"functions": {"xs": Lambda((Var("y", i32),), Input("x", f32[8]))}}, "xs takes"),
        ({"operators": {"op": rl.add}}, "it has no operator op"),
    ],
)
def test_every_entry_of_a_substitution_is_checked(fields: Any, message: str) -> None:
    """Sizes, types, terms and functions are what the rule declares, and nothing else is filled."""
    with pytest.raises(NoMatch, match=message):
        apply_filled(
            RULES["pad_clamp_as_concat"], BORDER.program.body, ("xs",), "forward",
            refilled(BORDER, **fields), "reassociate",
        )  # fmt: skip


def test_what_is_not_filled_is_an_error() -> None:
    bare = replace(BORDER.steps[0].substitution, types={})
    with pytest.raises(NoMatch, match="its type A is not determined"):
        apply_filled(
            RULES["pad_clamp_as_concat"], BORDER.program.body, ("xs",), "forward", bare, "exact"
        )


def test_an_operator_must_combine_values_of_its_type() -> None:
    """One that yields a pair, or is spread over other lanes, is not filled in."""
    d = one_step(total, 8, "partial_reduce_chunks", (), choices={"m": 4})
    pairs = rl.operator(lambda x, y: (x, y), associative=True, neutral=0.0, name="pairs")
    with pytest.raises(ReliftError):
        apply_filled(
            RULES["partial_reduce_chunks"], d.program.body, (), "forward",
            refilled(d, operators={"op": pairs}), "reassociate",
        )  # fmt: skip


@pytest.mark.parametrize("text", ["x", "clamp", "0.0", "sqrt"])
def test_what_a_file_fills_in_as_an_operator_is_one(text: str) -> None:
    data = to_json(one_step(total, 8, "partial_reduce_chunks", (), choices={"m": 4}))
    data["steps"][0]["operators"] = {"op": text}
    with pytest.raises(BrokenDerivation, match="is no operator"):
        from_json(data, RULES)


@pytest.mark.parametrize("text", ["Exact", "whatever", "", "fast"])
def test_an_unknown_float_policy_grants_nothing(text: Any) -> None:
    """In a search, in a rewrite and in a file it is an error."""
    with pytest.raises(ReliftError, match="float"):
        optimize(total, {"n": 64}, float=text)
    with pytest.raises(ReliftError, match="'reassociate' or 'exact'"):
        apply_rule(RULES["split_join"], border.at({"n": 8}).body, choices={"m": 5}, policy=text)
    with pytest.raises(ReliftError, match="'reassociate' or 'exact'"):
        from_json({**to_json(BORDER), "float": text}, RULES)


def test_a_step_is_bound_to_the_statement_of_its_rule() -> None:
    """Under a rule that has changed since, or another of its name, a derivation does not replay."""
    data = to_json(BORDER)
    old = RULES["pad_clamp_as_concat"]
    changed = {**RULES, old.name: replace(old, left=old.right, right=old.left)}

    assert data["steps"][0]["statement"] == ledger.rule_hash(old)
    with pytest.raises(BrokenDerivation, match="step 1: pad_clamp_as_concat is another rule than"):
        from_json(data, changed)


def test_a_step_that_is_not_proved_is_allowed_by_name_only() -> None:
    """The ledger is asked, not the file: of a rule that says something else than it did, that has no proof."""
    d = one_step(total, 8, "reduce_to_seq", (), choices={})
    old = RULES["reduce_to_seq"]
    changed = {**RULES, old.name: replace(old, right=old.left)}
    assert standing(d, changed) != ["PROVED"]
    with pytest.raises(BrokenDerivation, match="step 1 is by reduce_to_seq, which is"):
        require_standing(d, changed)
    require_standing(d, changed, ["reduce_to_seq"])
    with pytest.raises(BrokenDerivation, match="there is no rule nothing to allow"):
        require_standing(d, changed, ["nothing"])


def test_a_search_refuses_every_rule_that_the_ledger_does_not_call_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`optimize` itself asks the ledger, before it searches."""
    entries = {
        name: replace(e, tiers={t: r for t, r in e.tiers.items() if t != "4b"}).sealed()
        for name, e in ledger.load().items()
    }
    monkeypatch.setattr(ledger, "load", lambda: entries)
    with pytest.raises(ReliftError, match="in the ledger, and a search uses PROVED rules only"):
        optimize(total, {"n": 256})


def test_what_is_recorded_is_confirmed_as_it_stands() -> None:
    """In the interpreter's reach the recorded programs are run, on several inputs."""
    found = confirm(BORDER, RULES)

    assert found is not None
    assert found.recorded
    assert found.inputs > 1
    assert found.sizes == {"n": 8}


def test_a_wrong_recorded_program_is_found_by_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Confirming does not believe the replay: with its checks taken out, a false step differs."""
    monkeypatch.setattr(matching, "require_fits", lambda *_: None)
    step = replace(BORDER.steps[0], substitution=refilled(BORDER, sizes={"n": Size.of(2)}))
    false = replace(BORDER, steps=(step,))
    false = replace(false, result=false_result(false))

    with pytest.raises(BrokenDerivation, match="step 1 changes the result"):
        confirm(false, RULES)


def false_result(d: Derivation) -> Any:
    """What the steps of a derivation give, whatever it records."""
    step = d.steps[0]
    return apply_filled(
        RULES[step.rule], d.program.body, step.position, step.direction, step.substitution, d.policy
    )


def test_beyond_reach_a_derivation_is_done_again_at_small_sizes() -> None:
    found = confirm(
        one_step(total, 1 << 24, "partial_reduce_chunks", (), choices={"m": 1 << 12}), RULES
    )

    assert found is not None
    assert not found.recorded
    assert found.sizes["n"] < 64


@pytest.mark.parametrize("size", [0, 1, 2])
def test_sizes_too_small_to_shrink_are_confirmed(size: int) -> None:
    """At 1 there is nothing smaller: the recorded programs are run."""
    d = one_step(border, size + 1, "pad_clamp_as_concat", ("xs",))
    found = confirm(d, RULES)

    assert found is not None
    assert found.recorded


def test_a_source_that_is_undefined_on_all_inputs_is_not_confirmed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing was compared, and that is said."""
    monkeypatch.setattr(confirmation, "exact_inputs", lambda *_: iter(()))
    assert confirm(BORDER, RULES) is None


def test_programs_with_not_a_number_are_equal_to_themselves() -> None:
    """A constant that is not a number replays, is printed, and is read back."""
    program = Program(
        "p", (Input("x", f32[8]),), rl.map(lambda v: v + float("nan"), Input("x", f32[8]))
    )
    result, substitution = apply_rule(RULES["split_join"], program.body, choices={"m": 4})
    d = Derivation(
        program, {}, (Step("split_join", "forward", (), substitution, {"m": 4}),), result
    )

    assert confirm(from_json(json.loads(json.dumps(to_json(d))), RULES), RULES) is not None
    assert Literal(0.0, f32) != Literal(-0.0, f32)
    assert Literal(1, f32) == Literal(1.0, f32)


@rule(where=[associative("op"), neutral("op", "z")])
def chunks_of_floats(op: Op[f32], z: f32, xs: f32[k * m]):
    """Reduce chunks of f32: no type variable says so."""
    return rl.reduce(op, z, xs), rl.reduce(
        op, z, rl.map(lambda c: rl.reduce(op, z, c), rl.split(m, xs))
    )


@rule(where=[associative("op"), neutral("op", "z")])
def chunks_of_whole_numbers(op: Op[i32], z: i32, xs: i32[k * m]):
    """The same of i32."""
    return rl.reduce(op, z, xs), rl.reduce(
        op, z, rl.map(lambda c: rl.reduce(op, z, c), rl.split(m, xs))
    )


def test_exact_follows_the_type_of_the_operator() -> None:
    """Regrouping a concrete float operator is refused by the matcher, and has a premise that never holds."""
    assert isinstance(chunks_of_floats, Rule)
    assert isinstance(chunks_of_whole_numbers, Rule)
    floats, whole = Input("x", f32[8]), Input("x", i32[8])

    with pytest.raises(NoMatch, match="does not hold exactly on f32; float=exact forbids it"):
        apply_rule(
            chunks_of_floats, rl.reduce(rl.add, 0.0, floats), choices={"m": 4}, policy="exact"
        )
    apply_rule(
        chunks_of_whole_numbers, rl.reduce(rl.add, 0, whole), choices={"m": 4}, policy="exact"
    )
    assert '(exact (Sc "f32"))' in encode_rule(chunks_of_floats, "forward", "exact").text
    assert "(exact" not in encode_rule(chunks_of_floats, "forward", "reassociate").text


@pytest.mark.parametrize("field", ["another", "status"])
def test_a_field_that_nobody_checks_is_refused(field: str) -> None:
    """In the file and in a step: what is not known could be taken for a promise."""
    data = to_json(BORDER)
    with pytest.raises(BrokenDerivation, match=f"unknown field {field}"):
        from_json({**data, field: "PROVED"}, RULES)
    again = copy.deepcopy(data)
    again["steps"][0][field] = "PROVED"
    with pytest.raises(BrokenDerivation, match=f"unknown field {field}"):
        from_json(again, RULES)


@pytest.mark.parametrize(("least", "size"), [(0, 0), (3, 4)])
def test_a_file_keeps_what_sizes_are_at_least(least: int, size: int) -> None:
    """A result for no element is one of a program that allows none; what is changed there is another program."""
    x = Input("x", f32[rl.nat("n", least=least)])
    added = Program("added", (x,), rl.reduce(rl.add, 0.0, x))
    data = to_json(one_step(added, size, "reduce_to_seq", ()))
    found = from_json(data, RULES)
    assert found.origin.least_sizes == {"n": least}
    assert program_hash(found.origin) == program_hash(added) != program_hash(total)
    with pytest.raises(ReliftError, match=f"it is at least {size + 1}"):
        from_json(data | {"least": {"n": size + 1}}, RULES)
    with pytest.raises(BrokenDerivation, match="has no size m"):
        from_json(data | {"least": {"m": 0}}, RULES)


def test_a_choice_that_is_not_the_size_is_refused() -> None:
    data = to_json(one_step(total, 8, "partial_reduce_chunks", (), choices={"m": 4}))
    data["steps"][0]["choices"]["m"] = 2
    with pytest.raises(BrokenDerivation, match="m = 2 was chosen"):
        from_json(data, RULES)


def test_nothing_in_a_file_is_executed() -> None:
    """An index function is read, not evaluated."""
    data = derivation_of(RULES["gather_map"], "forward")
    assert data is not None
    (name,) = data["steps"][0]["indices"]
    data["steps"][0]["indices"][name] = "((().__class__.__base__.__subclasses__()), f32)"
    with pytest.raises(BrokenDerivation, match="not an index function"):
        from_json(data, RULES)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # a changed text may call a number
def test_no_change_of_a_derivation_is_believed_wrongly(capsys: pytest.CaptureFixture[str]) -> None:
    """Changed leaves of derivations over the rules, others in every run: `python -m proofs_tests.tampering`."""
    seed = random.SystemRandom().randrange(10**6)
    with capsys.disabled():
        print(f" [tampered with seed {seed}]", end="")
    tally = campaign(1200, seed)

    assert tally.tried == 1200
    assert tally.wrong == (), f"seed {seed}"


def test_the_campaign_finds_a_check_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check of substitutions, changes are believed that the interpreter refutes."""
    monkeypatch.setattr(matching, "require_fits", lambda *_: None)

    assert campaign(only=frozenset(("pad_clamp_as_concat",))).wrong


def test_a_variable_with_the_name_of_an_input_is_another_in_the_file() -> None:
    """What a step fills in may use an input below a variable of its name: the file tells them apart."""

    @rl.program
    def below(x: rl.f32[n], ys: rl.f32[n, n]):
        return rl.map(lambda y: rl.map(lambda z: z + x[0], y), ys)

    at_eight = below.at({"n": 8})
    source: Any = at_eight.body
    inner = source.f.body
    z, new = inner.f.parameters[0], Var("x", f32)
    captured = replace(inner, f=Lambda((new,), substitute(inner.f.body, {z.name: new})))
    program = Program("below", at_eight.parameters, replace_at(source, ("f",), captured))
    result, substitution = apply_rule(RULES["map_to_seq"], program.body, ("f",))
    made = Derivation(program, {}, (Step("map_to_seq", "forward", ("f",), substitution),), result)

    assert from_json(json.loads(json.dumps(to_json(made))), RULES).result.type == result.type


def test_a_long_user_function_is_read_back() -> None:
    """A function whose text is wider than a line is still one Python expression in the file."""

    @rl.userfun
    def long(v: rl.f32) -> rl.f32:
        return sum((v * float(i) for i in range(2, 30)), v)

    @rl.program
    def applied(x: rl.f32[n]):
        return rl.map(lambda v: long(v), x)

    result, substitution = apply_rule(RULES["map_to_seq"], applied.at({"n": 8}).body)
    made = Derivation(applied, {"n": 8}, (Step("map_to_seq", "forward", (), substitution),), result)

    assert from_json(json.loads(json.dumps(to_json(made))), RULES).steps[0].rule == "map_to_seq"


def called_as_the_language_calls(*names: str) -> Program:
    """A program whose parameters have these names: of three arrays what `zip`, `map`, `sqrt`, `add`, `mul` and a fold make."""

    def called(x: Any, y: Any, z: Any) -> Any:
        roots = rl.map(lambda p: rl.sqrt(p[0]) * p[1], rl.zip(x, y))
        return rl.map(
            lambda row: rl.reduce(rl.add, rl.f32(0.0), row),
            rl.split(4, rl.map(lambda p: p[0] + p[1], rl.zip(roots, z))),
        )

    called.__annotations__ = dict.fromkeys(names, f32[4 * n])
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    vars(called)["__signature__"] = signature
    return rl.program(called)


@pytest.mark.parametrize(
    "names", [("add", "zip", "sqrt"), ("map", "split", "mul"), ("reduce", "f32", "map_glb")]
)
def test_parameters_may_be_called_as_the_language_calls_its_own(names: tuple[str, ...]) -> None:
    """Where a function is called, or an operator is asked for, data is not meant: what was derived is read again."""
    found = optimize(called_as_the_language_calls(*names), sizes={"n": 8}, budget=2.0)
    data = json.loads(json.dumps(to_json(found.derivation)))
    again = replace(found.term, body=from_json(data, RULES).result)
    assert program_hash(again) == program_hash(found.term)
