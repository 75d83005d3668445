"""What a check says: right verdicts of rules that are hard to judge, and faults that stay in their rule."""

import dis
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

import relift as rl
from proofs_tests.command_line import here
from proofs_tests.rewrites.reviewed_rules import RIGHT, WRONG
from relift import map
from relift.checking import check, check_all
from relift.rewrites.checks import isolation
from relift.rewrites.checks.floating import float_verdict
from relift.rewrites.checks.isolation import Stopped, in_a_process
from relift.rewrites.checks.random.tier import check_random
from relift.rewrites.checks.tiers import check_rule
from relift.rewrites.checks.verdicts import CheckReport, Status, TierName, TierResult, summary
from relift.rewrites.ledger.refuted import REFUTED
from relift.rewrites.library import RULES
from relift.rewrites.loading import CannotLoad, load_rules
from relift.rewrites.rule import RejectedRule, Rule

# mypy: disable-error-code="untyped-decorator,arg-type,no-untyped-def,unused-ignore"

F, I = rl.f32, rl.i32
(A,) = rl.type_variables("A")
(n,) = rl.naturals("n")
CHEAP: tuple[TierName, ...] = ("1", "2", "3", "4a")


TOGETHER = 10
"""Rules that one call checks, whose fifth tier shares a process."""


def together(rules: Mapping[str, Rule]) -> pytest.MarkDecorator:
    """The rules, so many for each case, which is called by its first."""
    names = list(rules)
    cases = {names[k]: names[k : k + TOGETHER] for k in range(0, len(names), TOGETHER)}
    return pytest.mark.parametrize("names", cases.values(), ids=cases)


def verdicts(rules: Iterable[Rule]) -> list[CheckReport]:
    """What all tiers but the kernel say."""
    return list(check_all(rules, tiers=(*CHEAP, "5"), guards=False))


@together(RIGHT)
def test_right_rules_are_not_refuted(names: list[str]) -> None:
    """No tier says no, and one says yes."""
    found = verdicts(RIGHT[name] for name in names)

    assert len(found) == len(names)
    assert not [report.text() for report in found if not report.ok]


@together(WRONG)
def test_wrong_rules_fail(names: list[str]) -> None:
    """Also where they are wrong from some size on only, or in a value that is thrown away; no tier fails itself."""
    found = verdicts(WRONG[name] for name in names)

    assert len(found) == len(names)
    assert not [report.text() for report in found if report.headline != "failed"]
    assert not [r for report in found for r in report.results if r.status == "unfinished"]


def reported(*statuses: Status) -> CheckReport:
    results = tuple(TierResult("3", "free", status, "") for status in statuses)
    return CheckReport("r", "", None, (TierResult("1", "types", "ok", ""), *results))


@pytest.mark.parametrize(
    ("statuses", "headline"),
    [
        (("ok", "proved"), "proved"),
        (("ok", "unproved"), "tested only"),
        (("ok", "unfinished"), "tested only"),
        (("proved", "refuted"), "failed"),
        (("skipped", "unfinished"), "failed"),
        (("unproved",), "failed"),
    ],
)
def test_three_headlines(statuses: tuple[Status, ...], headline: str) -> None:
    """Unknown is no pass, a refutation outweighs a proof, and tests are told from proofs."""
    assert reported(*statuses).headline == headline
    assert summary([reported(*statuses)]) == f"1 rule: 1 {headline}"


HEAD = """import relift as rl
(A,), (n,) = rl.type_variables("A"), rl.naturals("n")
"""
PROVED = """
@rl.rule()
def proved(xs: A[n]): return rl.map(lambda x: x, xs), xs
"""
TESTED = """
@rl.rule()
def tested(x: rl.i32): return x + x, x * 2
"""
FAILED = """
@rl.rule()
def failed(xs: A[n]): return rl.gather(rl.reverse, xs), xs
"""
BROKEN = """
@rl.rule()
def broken(xs: A[n]): return rl.map(nowhere, xs), xs
"""


@pytest.mark.parametrize(
    ("text", "status"),
    [(PROVED, 0), (PROVED + TESTED, 3), (PROVED + TESTED + FAILED, 1), (FAILED + BROKEN, 2)],
)
def test_the_exit_status_is_that_of_the_worst_rule(tmp_path: Path, text: str, status: int) -> None:
    file = tmp_path / "rules.py"
    file.write_text(HEAD + text)
    ran = here("check", "--file", str(file), "--tier", "2", "--tier", "4a")

    assert ran.returncode == status, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1].startswith(f"{text.count('@rl.rule')} rule")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("def r(xs: A[n]): return rl.map(nowhere, xs), xs", "name 'nowhere' is not defined"),
        ("def r(xs: A[n]): return map(lambda x: x, xs), xs", "map here is Python's own"),
        ('def r(xs: "A[n"): return xs, xs', "the type of xs, 'A[n', is no Python expression"),
        ("def r(xs: A[n]): return 1 // 0, xs", "ZeroDivisionError"),
        ("def r(xs: A[n]):\n    while True: pass", "did not come to its end"),
        ("def r(xs: A[n]): return [0] * 10**12, xs", "ran out of memory"),
        ("def r(xs: A[n]): return r(xs)", "rule"),
    ],
)
def test_one_broken_rule_does_not_hide_the_others(
    tmp_path: Path, rule: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mistake is one line at its rule, with the line of the file."""
    monkeypatch.setattr("relift.rewrites.rule.MAKING_SECONDS", 2)
    file = tmp_path / "rules.py"
    file.write_text(f"{HEAD}\n@rl.rule()\n{rule}\n{PROVED}")
    rules = load_rules(file)

    assert isinstance(rules["proved"], Rule)
    assert isinstance(rules["r"], RejectedRule)
    assert said in str(rules["r"].error)
    assert "\n" not in str(rules["r"].error)
    assert re.match(rf"{re.escape(str(file))}:\d+: ", str(rules["r"].error))


@pytest.mark.parametrize("where", ['where="associative"', "where=['associative']", "choose=['q']"])
def test_what_is_no_law_is_told_so(tmp_path: Path, where: str) -> None:
    file = tmp_path / "rules.py"
    file.write_text(f"{HEAD}\n@rl.rule({where})\ndef r(xs: A[n]): return xs, xs\n")
    found = load_rules(file)["r"]

    assert isinstance(found, RejectedRule)
    assert "is a list of" in str(found.error)


def test_two_rules_of_one_name_are_an_error(tmp_path: Path) -> None:
    """Both lines are named; neither is dropped."""
    file = tmp_path / "rules.py"
    file.write_text(HEAD + FAILED + FAILED.replace("reverse, xs), xs", "reverse, xs), xs  # again"))

    with pytest.raises(CannotLoad, match=r"two rules are called failed: .*:4 and .*:7; rename one"):
        load_rules(file)


def test_what_goes_wrong_in_a_tier_stays_there() -> None:
    """An error of any kind is one line of that tier; the others have their say."""
    for error in (RuntimeError("odd"), RecursionError(), MemoryError(), rl.Undefined("no value")):

        def fails(rule: Rule, error: Exception = error) -> TierResult:
            raise error

        report = check_rule(RULES["join_split"], tiers=("1", "3", "5"), extra={"5": fails})
        assert [r.status for r in report.results] == ["ok", "ok", "unfinished"]
        assert report.ok
        assert "\n" not in report.results[2].detail


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: os._exit(9), "the process ended with status 9"),
        (lambda: [0] * 10**12, "it ran out of memory"),
        (lambda: os.kill(os.getpid(), 15), "the process ended by SIGTERM"),
        (
            lambda: sum(iter(int, 1)),
            "of processor time, and was stopped|it had not ended after 3 s",
        ),
    ],
    ids=["exit", "memory", "signal", "loop"],
)
def test_user_functions_are_stopped(work, said: str) -> None:
    """Whatever they do, this process goes on."""
    with pytest.raises(Stopped, match=said):
        in_a_process(work, seconds=1, memory=512 << 20)


def test_a_rule_whose_function_loops_is_not_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tier that calls it says so, and those that do not call it say what they know."""
    monkeypatch.setattr(isolation, "SECONDS", 1)

    @rl.userfun(c="return x;")
    def spins(x: F) -> rl.f32:
        while True:
            pass

    @rl.rule()
    def loops(xs: rl.f32[n]):
        return map(spins, map(lambda x: x, xs)), map(spins, xs)

    report = check_rule(loops, tiers=("1", "2", "3"))
    assert [r.status for r in report.results] == ["ok", "unfinished", "ok"]


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        (lambda x, y, z: (x + 0.0, x), "not exact at -0.0"),
        (lambda x, y, z: (x - x, x * 0.0), "not exact at -0.0"),
        (lambda x, y, z: (x * 0.0, 0.0 * x + 0.0), "not exact at -0.0"),
        (lambda x, y, z: ((x / y) * y, x), "rounds differently; not exact at x / 0"),
        (lambda x, y, z: (rl.fma(x, y, z), x * y + z), "needs contraction"),
        (lambda x, y, z: ((x + y) + z, x + (y + z)), "needs reassociation"),
        (lambda x, y, z: (x * x - 1.0, (x - 1.0) * (x + 1.0)), "rounds differently"),
        (lambda x, y, z: (x + y, y + x), "bit-exact"),
        (lambda x, y, z: (x * 2.0, x + x), "bit-exact"),
        (lambda x, y, z: (x - 0.0, x), "bit-exact"),
    ],
    ids=[
        "plus_zero", "minus_itself", "times_zero", "quotient", "fused", "regrouped", "squares", "swapped",
        "doubled", "minus_zero",
    ],
)  # fmt: skip
def test_floating_point_is_judged_by_running(sides, said: str) -> None:
    """What is not exact is said, and why; of whole numbers nothing is said."""

    made = _rule_of(sides, _arity(sides), F)
    verdict = float_verdict(made, ())
    assert verdict is not None
    assert verdict.startswith(said), verdict


@pytest.mark.parametrize(
    ("scalar", "sides", "said"),
    [
        (rl.f16, lambda x, y, z: ((x * 2.0) / 2.0, x), "not exact at overflow (x = 65504.0: inf"),
        (rl.f64, lambda x, y, z: ((x * 2.0) / 2.0, x), "not exact at overflow (x = 1.797"),
        (rl.f64, lambda x, y, z: (rl.f64(rl.f32(x)), x), "rounds differently"),
        (rl.f32, lambda x, y, z: (rl.f32(rl.f64(x)), x), "bit-exact"),
        (I, lambda x, y, z: (rl.i32(rl.f32(x)), x), "rounds differently (x = 16777217"),
        (I, lambda x, y, z: (rl.i32(rl.f64(x)), x), "bit-exact"),
        (
            rl.i64,
            lambda x, y, z: (rl.i64(rl.f64(x)), x),
            "rounds differently (x = 9007199254740993",
        ),
    ],
)
def test_each_format_has_edges_of_its_own(scalar, sides, said: str) -> None:
    """The largest and the smallest numbers of each, and the first whole number that a float skips."""
    verdict = float_verdict(_rule_of(sides, 1, scalar), ())
    assert verdict is not None
    assert verdict.startswith(said), verdict


@pytest.mark.parametrize(
    ("factor", "said"), [(2.0, "not exact at overflow"), (0.5, "needs reassociation")]
)
def test_two_elements_may_differ_where_none_and_one_do_not(factor: float, said: str) -> None:
    """The largest number and its negative; the smallest number twice."""

    @rl.rule()
    def scaled(xs: rl.f32[n]):
        """Right for one element."""
        each = rl.map(lambda x: x * factor, xs)
        return rl.reduce(rl.add, 0.0, each), rl.reduce(rl.add, 0.0, xs) * factor

    verdict = float_verdict(scaled, ())
    assert verdict is not None
    assert verdict.startswith(said), verdict


def test_whole_numbers_are_not_floating_point() -> None:
    made = _rule_of(lambda x, y, z: ((x + y) + z, x + (y + z)), 3, I)

    assert float_verdict(made, ()) is None


def _arity(sides) -> int:
    """How many of x, y, z two sides use."""
    loads = [i for i in dis.get_instructions(sides) if i.opname.startswith("LOAD_FAST")]
    # one instruction may load two, from Python 3.13 on
    named = [i.argval if isinstance(i.argval, tuple) else (i.argval,) for i in loads]
    return len({name for names in named for name in names})


def _rule_of(sides, arity: int, t) -> Rule:
    """The rule with these sides, in its first metavariables."""
    forms = [
        lambda x: sides(x, x, x),
        lambda x, y: sides(x, y, y),
        lambda x, y, z: sides(x, y, z),
    ]
    written = forms[arity - 1]
    written.__name__ = "written"
    written.__annotations__ = dict.fromkeys("xyz"[:arity], t)
    made = rl.rule()(written)
    assert isinstance(made, Rule), made
    return made


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("drop_drp",), "did you mean drop_drop"),
        (("zzzzzzzz",), "relift ledger lists the library"),
        (("own/rules.py",), "relift check --file own/rules.py"),
    ],
)
def test_an_unknown_rule_is_answered_shortly(words: tuple[str, ...], said: str) -> None:
    ran = here("check", *words)

    assert ran.returncode == 2
    assert said in ran.stderr
    assert len(ran.stderr) < 300


def test_the_refuted_rules_of_the_ledger_can_be_checked() -> None:
    name = next(name for name, r in REFUTED.items() if isinstance(r, Rule))
    ran = here("check", name, "--tier", "3")

    assert ran.returncode == 1, ran.stdout + ran.stderr


def test_the_help_names_every_tier() -> None:
    shown = " ".join(here("check", "--help").stdout.split())

    for tier in ("1 types", "2 random", "3 free", "4a index", "4b kernel", "5 search"):
        assert tier in re.sub(r"[│\s]+", " ", shown)
    assert "Exit status" in shown


@pytest.mark.parametrize(("maps", "tiers"), [(400, ("1", "2", "3")), (80, ("5",))])
def test_nested_deeply_and_still_judged(maps: int, tiers: tuple[TierName, ...]) -> None:
    """Hundreds of maps inside each other are no reason to end; an e-graph takes a second for every dozen."""

    @rl.rule()
    def nested(xs: A[n]):
        t = xs
        for _ in range(maps):
            t = map(lambda x: x, t)
        return t, xs

    report = check(nested, tiers=tiers, guards=False)
    assert report.ok, report.text()[-500:]
    assert len(report.text().splitlines()) < 100


# ---- numbers of a machine, and numbers between whole ones


@rl.rule()
def truncated_is_floor(x: F):
    """Wrong below zero, but of whole numbers."""
    return rl.i32(x), rl.i32(rl.floor(x))


@rl.rule()
def square_is_no_less(x: F):
    """Wrong between 0 and 1."""
    return rl.maximum(x * x, x), x * x


@rl.rule()
def halved_beside_a_float(i: I, x: F):
    """Wrong where the sum wraps around."""
    return ((i + i) // 2, x), (i, x)


@rl.rule()
def added_in_another_order(f: rl.Fun[F, F], x: F):
    """Right, though f gives NaN and infinities, too."""
    return f(x) + x, x + f(x)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (truncated_is_floor, "the sides differ in exact numbers"),
        (square_is_no_less, "the sides differ in exact numbers"),
        (halved_beside_a_float, "the sides differ in the integers of a machine"),
    ],
)
def test_what_holds_of_whole_numbers_need_not_hold(wrong: Rule, said: str) -> None:
    """Of floats broken numbers are tried, of integers those that wrap around, whatever stands beside them."""
    found = check_random(wrong, examples=5)
    assert (found.status, found.detail.startswith(said)) == ("refuted", True)
    assert check_random(added_in_another_order, examples=5).status == "ok"
