"""The folder of a kernel: bound by one manifest, refused when it is not as it was written, verified as it lies there."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import relift as rl
from proofs_tests.command_line import command, here
from proofs_tests.tampering import changes, resealed, separated
from relift.cli.building import certificates_of
from relift.compiler.agreement import artefacts as artefact_checks
from relift.compiler.agreement import own_sizes
from relift.compiler.agreement.artefacts import (
    DERIVATION,
    compiled_anew,
    doubts,
    origin_of,
    read_saved,
    require_program,
    verify_saved,
    with_what_is_proved,
)
from relift.compiler.agreement.comparison import Agreement
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.agreement.sampled import sampled
from relift.compiler.devices.naming import label
from relift.compiler.devices.survey import find_device
from relift.compiler.program import compile_program
from relift.compiler.running.artefact import MANIFEST
from relift.compiler.running.processes.isolated import Failed, run_apart
from relift.rewrites.application.matching import apply_rule
from relift.rewrites.derivation.files import write_json
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.library import RULES
from relift.semantics.errors import Refuted, ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.notation.printer import show

n = rl.nat("n")
FILES = ("kernel.cl", "launch.json", "certificate.json", "derivation.json", "term.txt")


@rl.program
def doubled(x: rl.f32[n]):
    """Twice each element."""
    return rl.map(lambda v: v + v, x)


@rl.program
def squared(x: rl.f32[n]):
    """The square of each element: of the same parameters."""
    return rl.map(lambda v: v * v, x)


def save(program: Program, folder: Path, size: int = 8) -> Path:
    """A folder like those of `optimize --out`, found without a search."""
    source = program.at({"n": size})
    result, substitution = apply_rule(RULES["map_to_glb"], source.body, choices={"d": 0})
    step = Step("map_to_glb", "forward", (), substitution, {"d": 0})
    derivation = Derivation(program, {"n": size}, (step,), result)
    compiled = compile_program(Program(source.name, source.parameters, result))
    others = {"term.txt": show(result) + "\n", DERIVATION: write_json(derivation)}
    return compiled.save(folder, others, origin_of(derivation))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each of two programs."""
    place = tmp_path_factory.mktemp("made")
    return {p.name: save(p, place / p.name) for p in (doubled, squared)}


@pytest.fixture
def folder(made: dict[str, Path], tmp_path: Path) -> Path:
    """A folder that a test may spoil."""
    return Path(shutil.copytree(made["doubled"], tmp_path / "folder"))


def verified(folder: Path) -> list[Agreement]:
    """All that `relift verify` compares."""
    return list(verify_saved(read_saved(folder), [label(find_device("cpu"))], lambda _: None))


def test_a_folder_is_verified_as_it_lies_there(folder: Path) -> None:
    """Its text, launch, steps, its kernel on symbols, on a device, and under the simulator."""
    found = verified(folder)

    assert [a.text() for a in found if not a.ok] == []
    assert any("at its own sizes (kernel on" in a.against for a in found)
    assert sorted(p.name for p in folder.iterdir()) == sorted([*FILES, MANIFEST])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", ["edited", "missing", "of another", "a folder", "no text"])
def test_a_folder_that_is_not_as_it_was_written_is_refused(
    folder: Path, made: dict[str, Path], name: str, how: str
) -> None:
    """An edited, missing or foreign file is named."""
    file = folder / name
    text = file.read_text(encoding="utf-8")
    file.unlink()
    match how:
        case "edited":
            file.write_text(text + " ", encoding="utf-8")
        case "of another":
            shutil.copy(made["squared"] / name, file)
            if file.read_text(encoding="utf-8") == text:  # no difference, nothing to refuse
                file.write_text("{}", encoding="utf-8")
        case "a folder":
            file.mkdir()
        case "no text":
            file.write_bytes(b"\xff\xfe")
        case _:
            pass

    with pytest.raises(ReliftError, match=name.replace(".", r"\.")):
        read_saved(folder)


def test_a_text_that_nobody_reads_ends_validation_with_its_line(
    folder: Path, made: dict[str, Path]
) -> None:
    """Alone it is an error of one line; beside others these are judged, and the status is 2 unless one is refuted."""
    text = folder / "kernel.cl"
    lines = text.read_text().replace("{", "{\n  goto end;", 1).splitlines()
    text.write_text("\n".join(lines))
    resealed(folder)
    status, said = command("validate", str(folder))
    assert (status, said.count("\n")) == (2, 1)
    assert f"cannot read the kernels of {folder}" in said
    assert f"goto in line {lines.index('  goto end;') + 1} is not understood" in said
    status, again = command("validate", str(folder), str(made["squared"]))
    assert (status, again) == (2, said)


def test_a_folder_without_a_manifest_was_not_written_to_the_end(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    with pytest.raises(ReliftError, match=r"has no manifest\.json: it holds no compiled program"):
        read_saved(folder)


def test_every_change_of_a_manifest_is_refused(folder: Path) -> None:
    """Each leaf, and each mapping as a whole."""
    data = json.loads((folder / MANIFEST).read_text())
    believed = [
        change
        for change in changes(data)
        if not refused(
            folder, lambda c=change: (folder / MANIFEST).write_text(json.dumps(c.of(data)))
        )
    ]

    assert believed == []


def refused(folder: Path, spoil: Callable[[], object]) -> bool:
    """Whether a folder is refused once it is spoilt."""
    spoil()
    try:
        read_saved(folder)
    except ReliftError:
        return True
    return False


@pytest.mark.parametrize("name", ["launch.json", "derivation.json"])
@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # a changed text may call a number
def test_who_forges_the_manifest_as_well_is_not_believed(folder: Path, name: str) -> None:
    """A changed launch or derivation under a fitting manifest is refused, or is not what it compiles to."""
    whole = read_saved(folder)
    data = json.loads((folder / name).read_text())
    tried = list(changes(data))
    for change in random.Random(0).sample(tried, min(250, len(tried))):
        (folder / name).write_text(json.dumps(change.of(data)))
        resealed(folder)
        try:
            saved = read_saved(folder)
            same = compiled_anew(saved).ok
        except ReliftError:
            continue
        if same:
            assert saved.kernel.plan == whole.kernel.plan, change
            assert separated(saved.derivation) is None, change


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("+", "-"),
        ("x[", "x[0 * "),
        ("out[", "out[0 * "),
        ("get_global_id(0)", "get_global_id(0) / 2"),
        ("int", "uint"),
    ],
)
def test_a_wrong_kernel_under_a_fitting_manifest_differs(folder: Path, old: str, new: str) -> None:
    """It is run, not what the derivation compiles to."""
    kernel = folder / "kernel.cl"
    head, brace, body = kernel.read_text().partition("{\n")
    if old not in body:
        pytest.skip(f"the kernel has no {old}")
    kernel.write_text(head + brace + body.replace(old, new, 1))
    resealed(folder)
    found = verified(folder)

    assert not all(a.ok for a in found)
    assert any(a.refuted for a in found) or old == "int"


def rewritten(folder: Path, change: Callable[[str], str]) -> Path:
    """The folder, with another body of its kernel under a fitting manifest."""
    kernel = folder / "kernel.cl"
    head, brace, body = kernel.read_text().partition("{\n")
    other = change(body)
    assert other != body
    kernel.write_text(head + brace + other)
    resealed(folder)
    return folder


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda body: body.replace("+", "-"), r"is 0.* instead of"),
        (lambda body: body.replace("out[", "out[0 * "), "out"),
        (lambda _: "}\n", "out is not written"),
        (lambda body: body.replace("out[", "if (0) out["), "out"),
    ],
    ids=["another operator", "one cell alone", "nothing", "never"],
)
def test_a_forged_kernel_is_not_run(folder: Path, change: Callable[[str], str], said: str) -> None:
    """What computes something else, or nothing, is refused before it runs."""
    assert doubts(read_saved(folder)) == []
    with pytest.raises(Refuted, match=f"is not run: .*{said}"):
        doubts(read_saved(rewritten(folder, change)))


def test_a_kernel_of_another_hand_runs_if_it_means_the_same(folder: Path) -> None:
    """As that of another version of Relift may."""
    saved = read_saved(rewritten(folder, lambda body: body.replace("glb_0", "mine")))

    assert not compiled_anew(saved).known
    assert doubts(saved) == []


def test_a_kernel_that_nobody_can_read_runs_with_a_word(folder: Path) -> None:
    """Nothing is known of it, and that is said."""
    [line] = doubts(
        read_saved(rewritten(folder, lambda body: "  switch (1) { default: break; }\n" + body))
    )

    assert "computes: unknown: kernel.cl is another text than this Relift compiles" in line


def test_what_is_compiled_anew_says_nothing_of_another_text(folder: Path) -> None:
    """A text that nobody can read agrees with nothing but where it ran."""
    spoilt = rewritten(folder, lambda body: "  switch (1) { default: break; }\n" + body)
    [symbols] = [
        a for a in verify_saved(read_saved(spoilt), [], lambda _: None) if "symbols" in a.against
    ]

    assert not symbols.ok
    assert not symbols.known


def test_a_kernel_that_crashes_its_driver_takes_nothing_along(folder: Path) -> None:
    """It runs in a process of its own; the crash is the answer."""
    kernel = folder / "kernel.cl"
    head, brace, _ = kernel.read_text().partition("{\n")
    kernel.write_text(
        f"{head}{brace}  for (long q = 0; q < 100000000L; ++q) out[q * 64] = 1.0f;\n}}\n"
    )
    resealed(folder)
    saved = read_saved(folder)
    wild = replace(saved.kernel, unchecked=True)  # its certificate would not let it run
    result = run_apart(wild, whole_inputs(saved.derivation.program, 0), "cpu")

    assert isinstance(result, Failed)
    assert "crashed: SIG" in result.reason


def test_a_kernel_that_does_not_end_is_given_up(folder: Path) -> None:
    """Nothing is known of it then."""
    saved = read_saved(folder)
    result = run_apart(saved.kernel, whole_inputs(saved.derivation.program, 0), "cpu", seconds=0.05)

    assert result == Failed("it did not end within 0 s", finished=False)


def at_own_sizes(folder: Path, program: Program | None = None) -> list[Agreement]:
    """What `relift verify` compares on the device at the sizes of the kernel, by what judged it."""
    found = verify_saved(read_saved(folder), [label(find_device("cpu"))], lambda _: None, program)
    return [a for a in found if "at its own sizes" in a.against]


@pytest.fixture
def beyond_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter runs no program at its own sizes."""
    monkeypatch.setattr(own_sizes, "REACH", 0)
    monkeypatch.setattr(artefact_checks, "race_check", lambda *_, **__: [])


@pytest.mark.usefixtures("beyond_reach")
def test_of_a_source_beyond_reach_cells_are_sampled(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a reference some cells are compared, and that is said; none where not even one is in reach."""
    [own] = at_own_sizes(folder)
    assert own.ok
    assert "8 of 8 cells, sampled: equal to the last bit" in own.detail

    monkeypatch.setattr(own_sizes, "sampled", partial(sampled, effort=0))
    [own] = at_own_sizes(folder)
    assert not own.ok
    assert not own.known
    assert "not compared" in own.text()


@pytest.fixture
def few_cells(beyond_reach: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a result the interpreter reaches no cell either."""
    monkeypatch.setattr(own_sizes, "sampled", partial(sampled, effort=0))


def without_a_prover(monkeypatch: pytest.MonkeyPatch, *, ok: bool) -> None:
    """What the prover says of the theorem in a folder; that it says so is tested with the theorem."""
    said = Agreement(artefact_checks.PROVER, ok, "as the test wants it")
    monkeypatch.setattr(artefact_checks, "theorem_holds", lambda saved: said)


def with_a_theorem(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that seems to hold a theorem."""
    read = artefact_checks.read_saved
    files = {"Result.v": "", "Derivation.v": ""}
    monkeypatch.setattr(
        artefact_checks, "read_saved", lambda *words: replace(read(*words), theorem=files)
    )


@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize(
    ("theorem", "proved", "status"), [(True, True, 0), (True, False, 1), (False, True, 1)]
)
def test_theorem_and_validation_stand_for_cells_beyond_reach(
    folder: Path, monkeypatch: pytest.MonkeyPatch, theorem: bool, proved: bool, status: int
) -> None:
    """Not compared, which is said, and no failure; without a theorem, or with one that is refused, it is one."""
    without_a_prover(monkeypatch, ok=proved)
    if theorem:
        with_a_theorem(folder, monkeypatch)
    done = here("verify", str(folder), "--devices", "cpu")
    assert done.returncode == status
    assert "not compared with cells of the interpreter" in done.stdout
    assert ("proved and validated at these sizes instead" in done.stdout) == (status == 0)


@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize("unknown", ["a claim", "the meaning", "inputs", "the run"])
def test_what_is_not_wholly_shown_stands_for_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, unknown: str
) -> None:
    """A claim or a text that is not decided, or what was not compared for another reason than its size."""
    without_a_prover(monkeypatch, ok=True)
    with_a_theorem(folder, monkeypatch)
    saved = artefact_checks.read_saved(folder)
    checks = list(verify_saved(saved, [label(find_device("cpu"))], lambda _: None))
    certified = certificates_of(saved.kernel, saved.low)
    shown = with_what_is_proved(saved, checks, certified)
    assert [c.passes for c in shown if c.beyond] == [True]

    if unknown == "inputs":
        checks = [replace(c, beyond=False) for c in checks]
    elif unknown == "the run":
        late = Failed("it did not end within 9 s", finished=False)
        monkeypatch.setattr(own_sizes, "run_apart", lambda *_: late)
        checks = list(verify_saved(saved, [label(find_device("cpu"))], lambda _: None))
    else:
        kind = "meaning" if unknown == "the meaning" else "bounds"
        [one] = certified
        claims = [replace(c, verdict="unknown") if c.kind == kind else c for c in one.claims]
        certified = (replace(one, claims=tuple(claims)),)
    assert not all(c.passes for c in with_what_is_proved(saved, checks, certified))


@pytest.mark.usefixtures("few_cells")
def test_of_some_kernels_nothing_is_taken_for_all(folder: Path) -> None:
    """A launch may have a kernel that nobody has certified."""
    saved = read_saved(folder)
    known = [
        Agreement(artefact_checks.PROVER, True, ""),
        Agreement("cells", False, "", False, True),
    ]
    assert not with_what_is_proved(saved, known, ())[1].passes


@pytest.mark.usefixtures("beyond_reach")
def test_of_a_source_beyond_reach_numpy_judges_all_cells(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the sampled ones, which are judged to the last bit, or alone where there are none."""
    judge = replace(read_saved(folder).derivation.program, reference=lambda x: x + x)
    numpy, cells = at_own_sizes(folder, judge)
    assert numpy.ok
    assert "NumPy" in numpy.against
    assert cells.ok

    monkeypatch.setattr(own_sizes, "sampled", partial(sampled, effort=0))
    [numpy] = at_own_sizes(folder, judge)
    assert numpy.ok


@pytest.mark.usefixtures("beyond_reach")
@pytest.mark.parametrize("cell", [0, 7])
def test_a_sampled_cell_that_is_wrong_differs(folder: Path, cell: int) -> None:
    """The ends of a result are always among the samples."""
    kernel = folder / "kernel.cl"
    head, brace, body = kernel.read_text().partition("{\n")
    kernel.write_text(
        head + brace + body.replace("] =", f"] = (get_global_id(0) == {cell} ? 1.0f : 0.0f) +", 1)
    )
    resealed(folder)
    [own] = at_own_sizes(folder)
    assert own.refuted
    assert f"at index [{cell}]" in own.detail


def test_a_folder_is_of_one_program_only(made: dict[str, Path]) -> None:
    """Another of the same parameters is refused, another size too; the same with other names is taken."""
    saved = read_saved(made["doubled"])

    @rl.program
    def again(x: rl.f32[n]):
        return rl.map(lambda other: other + other, x)

    require_program(saved, again.at({"n": 8}))
    with pytest.raises(ReliftError, match="computes another program than squared, named doubled"):
        require_program(saved, squared.at({"n": 8}))
    with pytest.raises(
        ReliftError, match=r"is for \(x: f32\[8\]\), the inputs are \(x: f32\[16\]\)"
    ):
        require_program(saved, doubled.at({"n": 16}))


# ---- writing


def test_a_failure_leaves_the_old_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new folder is renamed into its place once it is whole."""
    before = read_saved(folder)
    real = Path.write_bytes

    def failing(path: Path, data: bytes) -> int:
        if path.name == "term.txt":
            raise OSError(28, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", failing)
    with pytest.raises(ReliftError, match="No space left on device"):
        save(squared, folder)
    monkeypatch.undo()

    assert read_saved(folder) == before
    assert [p.name for p in folder.parent.iterdir()] == [folder.name]


def test_files_of_others_stay_and_a_failure_among_them_leaves_no_whole_folder(folder: Path) -> None:
    """Such a folder cannot be replaced whole: without its manifest it is refused."""
    (folder / "notes.txt").write_text("mine")
    save(squared, folder)
    assert read_saved(folder).derivation.origin.name == "squared"
    assert (folder / "notes.txt").read_text() == "mine"

    (folder / "term.txt").unlink()
    (folder / "term.txt").mkdir()
    with pytest.raises(ReliftError, match=r"cannot write .*term\.txt: Is a directory"):
        save(doubled, folder)
    with pytest.raises(ReliftError, match=r"has no manifest\.json"):
        read_saved(folder)


def test_a_folder_that_is_replaced_keeps_nothing_of_the_old_one(folder: Path) -> None:
    """A kernel without a derivation beside an old derivation would be a mixed folder."""
    compile_program(read_saved(folder).low).save(folder)

    assert sorted(p.name for p in folder.iterdir()) == sorted(
        ["kernel.cl", "launch.json", "certificate.json", MANIFEST]
    )
    with pytest.raises(ReliftError, match=r"names no (term|derivation)\."):
        read_saved(folder)


def test_what_a_folder_says_is_compared_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `relift verify`: its steps by the interpreter, and its text on symbols, which may take long."""
    from relift.cli import main
    from relift.compiler.agreement import verification
    from relift.compiler.validation import evidence

    asked: list[str] = []

    def counted(module: Any, name: str) -> None:
        function = getattr(module, name)

        def counting(*given: Any, **options: Any) -> Any:
            asked.append(name)
            return function(*given, **options)

        monkeypatch.setattr(module, name, counting)

    for module in (verification, artefact_checks):
        counted(module, "confirm")
    for module in (evidence, artefact_checks):
        counted(module, "validate")
    monkeypatch.setattr("sys.argv", ["relift", "verify", str(folder)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None), capsys.readouterr().out
    assert sorted(asked) == ["confirm", "validate"]
