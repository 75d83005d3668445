"""What a search finds is equal to the program, and budgets end it with what it has."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a rule are sizes and types of the object language, not Python types)

from __future__ import annotations

import io
import pickle
import random
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import pytest

import relift as rl
from proofs_tests.compiler.programs import typed
from proofs_tests.egraph.conftest import Case, searchable
from relift.egraph.encode.snapshot import UnsoundRules
from relift.egraph.process.children import MOST_WAITING, Child, one_child
from relift.egraph.process.saturation import Budget, Request, Saturation, Stage, saturate
from relift.egraph.process.saturation_child import SETTLE_ROUNDS, Graph, run_stages
from relift.egraph.search.guidance.planning import NORMAL_FORM
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, B, C, m, n
from relift.rewrites.rule import Rule, rule
from relift.semantics.domains import Exact
from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.notation.printer import show
from relift.semantics.syntax.signatures import Fun
from relift.semantics.syntax.terms import Get, MakeTuple, Term, free_variables
from relift.semantics.syntax.types import Array, Type

length = rl.nat("n")


def value(t: Type, rng: random.Random) -> Any:
    """Random whole numbers in the shape of a type."""
    if isinstance(t, Array):
        return [value(t.element, rng) for _ in range(t.length.constant or 0)]
    return rng.randint(-9, 9)


DISTINCT = 110  # of each of the ten programs, so more than a thousand in all


def disagreeing(
    saturation: Saturation, program: Program, count: int, distinct: int = 1 << 30
) -> tuple[int, list[Term]]:
    """How many distinct members of the root class `count` draws gave, and those that are wrong.

    Drawing stops when there are `distinct` ones.
    """
    rng = random.Random(7)
    inputs = {p.name: value(p.type, rng) for p in program.parameters}
    world = World(inputs=inputs, domain=Exact())
    expected = evaluate(program.body, world)
    snapshot = saturation.snapshot
    seen: dict[Term, bool] = {}
    for _ in range(count):
        if len(seen) == distinct:
            break
        t = snapshot.sample(snapshot.root, rng, rng.randint(3, 14))
        if t not in seen:
            seen[t] = bool(
                free_variables(t) or t.type != program.body.type or evaluate(t, world) != expected
            )
    return len(seen), [t for t, wrong in seen.items() if wrong]


def test_members_equal_the_program(case: Case, searched: Callable[[Case], Saturation]) -> None:
    """Random members of the root class are closed, well typed, and mean what the program means."""
    program = case.program.at(case.sizes)
    distinct, wrong = disagreeing(searched(case), program, 5_000, DISTINCT)
    assert distinct == DISTINCT
    assert wrong == []


def test_sampling_finds_a_wrong_rule(cases: Mapping[str, Case]) -> None:
    """The sampling test has power: rules that are almost right are found out."""

    @rule()
    def interchange_without_transpose(h: Fun[A, B, C], xs: A[m], ys: B[m]):
        return (
            rl.map(lambda x: rl.map(lambda y: h(x, y), ys), xs),
            rl.map(lambda y: rl.map(lambda x: h(x, y), xs), ys),
        )

    @rule()
    def border_on_one_side(xs: A[n]):
        return rl.pad(1, 1, rl.clamp, xs), rl.pad(2, 0, rl.clamp, xs)

    for name, wrong_rule in (
        ("matmul", interchange_without_transpose),
        ("stencil", border_on_one_side),
    ):
        assert isinstance(wrong_rule, Rule)
        case = cases[name]
        program = case.program.at(case.sizes)
        request = Request(
            program,
            (Stage("wrong", (wrong_rule.name, "split_join"), 2),),
            tiles=(2,),
            rules={**RULES, wrong_rule.name: wrong_rule},
        )
        _, wrong = disagreeing(saturate(request), program, 60)
        assert wrong, name


def test_dot_reaches_the_vectorised_chunks(cases: Mapping[str, Case]) -> None:
    """At full size, the chunked, vectorised, fused program is in the root class."""
    size, chunk = 1 << 24, 262_144
    program = cases["dot"].program.at({"n": size})
    x, y = program.parameters
    rules = (
        "map_fusion", "reduce_map_fusion", "zip_map_left", "zip_map_right", "split_join",
        "split_map", "map_join", "partial_reduce_chunks", "reduce_to_seq", "vectorize_map",
        "as_vector_map", "vectorize_reduce",
    )  # fmt: skip
    stages = (Stage("all", rules, 4),)
    found = saturate(Request(program, stages, NORMAL_FORM, (chunk,), (16,)))

    def lanes(t: Any) -> Any:
        return rl.reduce_seq(
            lambda a, v: rl.vectorize(16, rl.add)(a, rl.map_vec(lambda p: p[0] * p[1], v)),
            rl.splat(16, 0.0),
            rl.as_vector(16, t),
        )

    def chunks(t: Any) -> Any:
        return rl.reduce_seq(rl.add, 0.0, rl.as_scalar(rl.repeat(1, lanes(t))))

    goal = rl.reduce_seq(rl.add, 0.0, rl.map(chunks, rl.split(chunk, rl.zip(x, y))))
    assert found.snapshot.find(goal) is not None
    assert found.nodes < 3_000
    assert found.complete


def explosive(cases: Mapping[str, Case], budget: Budget) -> Saturation:
    """A search that would go on forever."""
    case = cases["matmul"]
    program = case.program.at({"m": 64, "n": 64, "k": 64})
    stage = Stage("all", searchable(), 40)
    return saturate(
        Request(program, (stage,), NORMAL_FORM, (2, 4, 8, 16), (2, 4, 8), budget=budget)
    )


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (Budget(seconds=2, nodes=10**9), "the budget of seconds ran out"),
        (Budget(seconds=60, nodes=2_000), "the budget of nodes ran out"),
        (Budget(seconds=60, nodes=10**9, memory_mb=60), "the budget of memory ran out"),
    ],
)
def test_a_budget_ends_the_search(budget: Budget, why: str, cases: Mapping[str, Case]) -> None:
    """When a budget runs out, the last complete state is returned, and the reason with it."""
    found = explosive(cases, budget)
    assert found.stopped == why
    assert not found.complete
    assert found.iterations >= 1
    assert found.seconds < budget.seconds + 5
    t = found.snapshot.sample(found.snapshot.root, random.Random(0))
    assert t.type == found.request.program.body.type


class Growing:
    """An e-graph that never settles, and has ten nodes more each time it is asked."""

    def __init__(self) -> None:
        self.grown = 0

    def run(self, _: str) -> bool:
        return True

    def nodes(self) -> int:
        self.grown += 10
        return self.grown

    def sizes(self) -> dict[str, int]:
        return {"Map": self.grown}

    def dump(self) -> dict[str, Any]:
        return {}

    firings: ClassVar[dict[str, int]] = {}
    seconds: ClassVar[dict[str, float]] = {}


def test_the_budget_of_nodes_ends_an_iteration_before_its_end() -> None:
    """One iteration may copy what took a thousand: it is given up, and the state before it is the last."""
    said = io.BytesIO()
    graph = Growing()
    most = (
        10 * SETTLE_ROUNDS * 5 // 8
    )  # after the start, and half of an iteration, there are twice as many
    message = {"program": "", "stages": [("all", 1)], "nodes": most}
    assert run_stages(cast(Graph, graph), message, said) == "nodes"
    assert graph.grown <= 2 * most + 10
    said.seek(0)
    (length,) = struct.unpack("<Q", said.read(8))
    assert pickle.loads(said.read(length))["stage"] == "start"
    assert not said.read()


@pytest.mark.usefixtures("alone")
def test_searches_of_unlike_programs_have_one_child(
    cases: Mapping[str, Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is known of the operators of one is told with it, and not with the rules."""
    started: list[object] = []
    popen = subprocess.Popen

    def record(*arguments: Any, **options: Any) -> Any:
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", record)
    stages = (Stage("all", ("reduce_map_fusion",), 1),)
    with one_child():
        for program in (
            typed(x=rl.f32[16])(lambda x: rl.reduce(rl.add, 0.0, x)),
            typed(x=rl.f32[16])(lambda x: rl.reduce(rl.maximum, float("-inf"), x)),
        ):
            saturate(Request(program, stages))
    assert len(started) == 1


@pytest.mark.usefixtures("alone")
def test_an_interrupt_ends_the_child(
    cases: Mapping[str, Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C during a search leaves no process behind."""
    started: list[Any] = []
    popen = subprocess.Popen

    def record(*arguments: Any, **options: Any) -> Any:
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", record)

    def interrupt(where: str, nodes: int, seconds: float) -> None:
        raise KeyboardInterrupt

    program = cases["dot"].program.at({"n": 16})
    with pytest.raises(KeyboardInterrupt):
        saturate(Request(program, (Stage("all", ("split_join",), 3),)), interrupt)
    assert [process.poll() is not None for process in started] == [True]


ALONE = """
import sys
from relift.egraph.process.saturation_child import bindings
bindings().EGraph()
assert "egglog.egraph" not in sys.modules
"""


def test_the_child_imports_what_is_compiled_of_egglog_alone() -> None:
    """The package in Python takes a fifth of a second, for every child."""
    subprocess.run([sys.executable, "-c", ALONE], check=True)


def test_a_component_of_a_tuple_is_its_part_alone() -> None:
    """What also mentioned the tuple's other parts was copied by every substitution, and each copy mentioned more."""

    def total(f: Any, xs: Any) -> Any:
        return rl.reduce(rl.add, 0.0, rl.map(f, xs))

    def ratio(x: Any, y: Any, v: Any) -> Any:
        below = rl.map(lambda a: total(lambda b: a - b, y), x)
        above = rl.map(lambda a: total(lambda b: (a - b[0]) * b[1], rl.zip(y, v)), x)
        return rl.map(lambda p: p[1] / p[0], rl.zip(below, above))

    fuse = Stage("fuse", ("map_fusion", "zip_map_left", "zip_map_right"), 4)
    program = typed(x=rl.f32[8], y=rl.f32[16], v=rl.f32[16])(ratio)
    found = saturate(Request(program, (fuse,), NORMAL_FORM))
    assert found.nodes < 300
    for eclass in found.snapshot.classes():
        for node in found.snapshot.nodes(eclass):
            if node.head.kind is Get:
                kinds = {n.head.kind for n in found.snapshot.nodes(node.children[0])}
                assert MakeTuple not in kinds


def test_a_search_says_that_it_is_saturated(cases: Mapping[str, Case]) -> None:
    """When no rule adds anything the search ends before its iterations do."""
    program = cases["saxpy"].program.at({"n": 16})
    found = saturate(Request(program, (Stage("all", ("split_join",), 30),), tiles=(4,)))
    assert found.stopped.startswith("saturated")
    assert found.complete
    assert found.iterations < 30


def test_rules_that_equate_literals_are_refused() -> None:
    """Two literals in one class end the search, and the rules that fired are named."""

    @rule()
    def ignores_elements(z: A, xs: B[n]):
        return rl.reduce_seq(lambda a, x: a, z, xs), z

    @rule()
    def starts_at_zero(f: Fun[rl.f32, B, rl.f32], z: rl.f32, xs: B[n]):
        return (
            rl.reduce_seq(lambda a, x: f(a, x), z, xs),
            rl.reduce_seq(lambda a, x: f(a, x), 0.0, xs),
        )

    @rl.program
    def one(x: rl.f32[length]):
        return rl.reduce_seq(lambda a, b: a, 1.0, x)

    assert isinstance(ignores_elements, Rule)
    assert isinstance(starts_at_zero, Rule)
    rules = {r.name: r for r in (ignores_elements, starts_at_zero)}
    with pytest.raises(UnsoundRules, match=r"literals .* ignores_elements, starts_at_zero"):
        saturate(Request(one.at({"n": 4}), (Stage("all", tuple(rules), 3),), rules=rules))


def test_literals_are_told_apart() -> None:
    """0.0 and -0.0 are different literals, and come back as they were."""

    @rl.program
    def zeros(x: rl.f32[length]):
        return rl.map(lambda a: (a + 0.0) * -0.0, x)

    program = zeros.at({"n": 4})
    found = saturate(Request(program, (Stage("all", ("split_join",), 1),), tiles=(2,)))
    t = found.snapshot.find(program.body)
    assert t is not None
    assert "(a + 0.0) * -0.0" in show(t)


def test_requests_are_checked(cases: Mapping[str, Case]) -> None:
    """A rule that search cannot use, or one that does not exist, is refused by name."""
    program = cases["dot"].program
    for name, message in (
        ("map_to_seq", "map_to_seq cannot be used in search: lowering"),
        ("join_split<", "bare metavariable"),
        ("nonsense", "no rule nonsense"),
    ):
        with pytest.raises(Unsupported, match=message):
            saturate(Request(program.at({"n": 16}), (Stage("one", (name,), 1),)))
    with pytest.raises((Unsupported, IllTyped)):
        saturate(Request(program, (Stage("one", ("split_join",), 1),)))


def test_exact_floats_forbid_regrouping(cases: Mapping[str, Case]) -> None:
    """Under float=exact no law that regroups is used on floating point, but it is on integers."""
    rules = ("partial_reduce_chunks", "vectorize_reduce")

    @rl.program
    def total(x: rl.i32[length]):
        return rl.reduce(rl.add, 0, x)

    stage = (Stage("all", rules, 1),)
    floats = cases["dot"].program.at({"n": 16})
    whole = total.at({"n": 16})
    assert not saturate(Request(floats, stage, (), (4,), (4,), "exact")).firings
    assert set(saturate(Request(floats, stage, (), (4,), (4,))).firings) == set(rules)
    assert set(saturate(Request(whole, stage, (), (4,), (4,), "exact")).firings) == set(rules)


@pytest.mark.usefixtures("alone")
def test_a_search_in_a_child_that_others_used_is_that_of_a_new_one(
    cases: Mapping[str, Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Down to the numbers of its classes; what no longer fits beside the rest of others is done in a new one."""
    stage = Stage("all", ("split_join", "map_fusion"), 2)
    size, saxpy = {"n": 16}, cases["saxpy"].program

    @rl.program
    def twice(x: rl.f32[length]):
        return rl.map(lambda v: v + 1.0, rl.map(lambda v: v * 2.0, x))

    requests = [
        Request(program.at(size), (stage,), NORMAL_FORM, (4,)) for program in (saxpy, twice, saxpy)
    ]
    started: list[Child] = []

    def entered(child: Child) -> Child:
        started.append(child)
        return enter(child)

    monkeypatch.setattr(Child, "__enter__", entered)
    alone = [saturate(request) for request in requests]
    assert len(started) == 3
    with one_child():
        again = [saturate(request) for request in requests]
        assert len(started) == 4
        monkeypatch.setattr(Child, "receive", short_of_memory(started[-1]))
        again.append(saturate(requests[0]))
        assert len(started) == 5
    for one, other in zip([*alone, alone[0]], again, strict=True):
        assert (one.stopped, one.firings) == (other.stopped, other.firings)
        assert vars(one.snapshot)["_nodes"] == vars(other.snapshot)["_nodes"]
        assert one.snapshot.root == other.snapshot.root
    assert all(map(child_ended, started))


@pytest.mark.usefixtures("alone")
def test_searches_inside_of_others_have_their_children(
    cases: Mapping[str, Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One child for those that know the same, whatever comes between; they end with the outermost, or when others wait."""
    started: list[Child] = []

    def entered(child: Child) -> Child:
        started.append(child)
        return enter(child)

    monkeypatch.setattr(Child, "__enter__", entered)
    program = cases["saxpy"].program.at({"n": 16})
    rules = ("split_join", "map_fusion", "reduce_map_fusion", "join_split")
    requests = [Request(program, (Stage("all", (rule,), 1),), tiles=(4,)) for rule in rules]
    with one_child():
        for request in (*requests[:2], *requests[:2]):
            with one_child():
                saturate(request)
        assert len(started) == 2
        assert [child_ended(child) for child in started] == [False, False]
        for request in requests[2:]:
            saturate(request)
        assert len(requests) == len(started) == MOST_WAITING + 1
        assert [child_ended(child) for child in started] == [True, False, False, False]
        saturate(requests[0])
        assert len(started) == 5
    assert all(map(child_ended, started))


def child_ended(child: Child) -> bool:
    return vars(child)["_process"].poll() is not None


enter, receive = Child.__enter__, Child.receive


def short_of_memory(full: Child) -> Callable[[Child, float], Any]:
    """How answers come where one child has no room any more."""
    return lambda child, deadline: "memory" if child is full else receive(child, deadline)
