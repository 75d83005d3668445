"""Rules and programs in a user's files: what is found, and what is said when nothing is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from relift.egraph.sketches.language import load_sketch
from relift.rewrites.loading import load_program, load_rules, load_strategy
from relift.rewrites.rule import RejectedRule, Rule
from relift.semantics.errors import IllTyped, ReliftError

HEAD = "import relift as rl\nn = rl.nat('n')\n"
PROGRAM = "@rl.program\ndef {name}(x: rl.f32[n]):\n    return rl.map(lambda v: v + 1.0, x)\n"
RULES = """
A, = rl.type_variables("A")
k, m = rl.naturals("k m")
@rl.rule()
def fine(xs: A[k * m]):
    return rl.join(rl.split(m, xs)), xs
@rl.rule()
def ill(xs: A[k]):
    return rl.join(rl.split(m, xs)), xs
"""
PASSED_ON = """
from relift.strategies import apply
in_rows = apply("split_join", m=4)
loop = rl.sketch("map_seq(array)")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_rules_are_found_in_their_order(folder: Path) -> None:
    """Right and ill-typed rules are both kept, by name."""
    (folder / "mine.py").write_text(HEAD + RULES)
    rules = load_rules(Path("mine.py"))

    assert list(rules) == ["fine", "ill"]
    assert isinstance(rules["fine"], Rule)
    assert isinstance(rules["ill"], RejectedRule)
    assert str(rules["ill"].error).startswith(
        f"{folder / 'mine.py'}:11: split: m does not divide k"
    )


def test_one_program_needs_no_name(folder: Path) -> None:
    """`path.py` is enough when the file defines one program; imported ones do not count."""
    (folder / "other.py").write_text(HEAD + PROGRAM.format(name="imported"))
    (folder / "one.py").write_text("from other import imported\n" + HEAD + PROGRAM.format(name="f"))

    assert load_program("one.py").name == "f"
    assert load_program("one.py:imported").name == "imported"


ANSWERS = """
_MADE = {MADE}
def __getattr__(name):
    if name == "broken":
        return _MADE[name]
    if name in _MADE:
        return _MADE[name]
    raise AttributeError(name)
"""


def answering(made: str) -> str:
    """A file that holds nothing under a name, and answers when it is asked for one."""
    return ANSWERS.replace("{MADE}", made)


def test_what_a_module_answers_is_found(folder: Path) -> None:
    """A program, a strategy, a sketch: by a name that the user gave, as what the module holds."""
    of = HEAD + "from relift.strategies import apply\n" + PROGRAM.format(name="f")
    made = "{'p': f, 's': apply('map_fusion'), 'goal': rl.sketch('map(...)')}"
    (folder / "lazy.py").write_text(of + answering(made))

    assert load_program("lazy.py:p").name == "f"
    assert load_strategy("lazy.py:s").__name__ == "s"
    assert load_sketch("lazy.py:goal").text == "map(...)"
    for load in (load_program, load_strategy, load_sketch):
        with pytest.raises(ReliftError, match=r"lazy\.py:\d+: KeyError: 'broken'"):
            load("lazy.py:broken")


def test_modules_are_found_in_the_current_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`module:name` imports the module."""
    (folder / "a_module_of_mine.py").write_text(HEAD + PROGRAM.format(name="g"))
    monkeypatch.delitem(sys.modules, "a_module_of_mine", raising=False)

    assert load_program("a_module_of_mine:g").name == "g"


@pytest.mark.parametrize(
    ("text", "spec", "message"),
    [
        (None, "gone.py", "there is no file gone.py"),
        ("x = 1", "f.py", "f.py defines no program; a program is a function below @rl.program"),
        ("x = 1", "f.py:p", "f.py has no program p; it has none at all"),
        (
            HEAD + PROGRAM.format(name="p"),
            "f.py:q",
            "f.py has no program q; its programs are: p",
        ),
        (
            HEAD + PROGRAM.format(name="p") + PROGRAM.format(name="q"),
            "f.py",
            "f.py defines several programs: p, q; say which, as f.py:p",
        ),
        ("x = 1\ny = z\n", "f.py", "f.py:2: NameError: name 'z' is not defined"),
        ("x = (\n", "f.py", "f.py:1: '(' was never closed"),
        ("raise SystemExit(3)", "f.py", "f.py:1: SystemExit: 3"),
        ("import no_such_module", "f.py", "f.py:1: ModuleNotFoundError: No module named"),
        (None, "no_such_module:p", "there is no module no_such_module; a file is named path.py"),
        (None, "nothing", "nothing names no program; write path.py, path.py:name or module:name"),
        (None, "f.py:", "f.py: names no program"),
    ],
)
def test_a_program_that_is_not_there_is_named(
    text: str | None, spec: str, message: str, folder: Path
) -> None:
    """Every failure is one line that names the file, the line if there is one, and the hint."""
    if text is not None:
        (folder / "f.py").write_text(text)
    with pytest.raises(ReliftError) as caught:
        load_program(spec)

    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_what_a_file_passes_on_is_found_under_its_name(folder: Path) -> None:
    """A program, a strategy and a sketch that only the module's `__getattr__` answers for; what it has not, it has not."""
    (folder / "first_of_two.py").write_text(HEAD + PROGRAM.format(name="p") + PASSED_ON)
    (folder / "f.py").write_text(
        "import first_of_two\ndef __getattr__(name):\n    return getattr(first_of_two, name)\n"
    )

    assert load_program("f.py:p").name == "p"
    assert load_strategy("f.py:in_rows").__name__ == "in_rows"
    assert str(load_sketch("f.py:loop")) == "map_seq(array)"
    with pytest.raises(ReliftError, match=r"^f\.py defines no q; a strategy is made"):
        load_strategy("f.py:q")
    with pytest.raises(ReliftError, match=r"^f\.py has no program q"):
        load_program("f.py:q")


def test_errors_of_the_language_keep_their_own_place(folder: Path) -> None:
    """An ill-typed program says so itself, at its line."""
    (folder / "f.py").write_text(HEAD + PROGRAM.format(name="p").replace("v + 1.0", "v[0]"))

    with pytest.raises(IllTyped, match=r"f\.py:5: a value of type f32 has no components"):
        load_program("f.py")


def test_a_file_without_rules_is_refused(folder: Path) -> None:
    """A file of rules must define one."""
    (folder / "f.py").write_text(HEAD)

    with pytest.raises(ReliftError, match=r"^f\.py defines no rule"):
        load_rules(Path("f.py"))


def test_loading_leaves_the_search_path_alone(folder: Path) -> None:
    """The user's folder is on the path only while the file runs."""
    (folder / "f.py").write_text("x = y")
    before, modules = list(sys.path), set(sys.modules)
    with pytest.raises(ReliftError):
        load_program("f.py")

    assert sys.path == before
    assert not [name for name in set(sys.modules) - modules if name.startswith("relift_user")]
