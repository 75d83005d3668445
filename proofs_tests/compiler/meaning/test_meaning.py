"""The text of kernels against their programs: right ones are validated, at all sizes; wrong ones are not."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from proofs_tests.compiler.programs import made, typed
from proofs_tests.portions import portioned
from proofs_tests.validation import Subject, judged, low_level, planted_faults
from relift.compiler.certificates.claims import certificates
from relift.compiler.meaning.evidence import Meaning, meaning_of, with_meaning
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.launch import Launch
from relift.compiler.validation.evidence import reports_of, with_values
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.types import f32, i32

DRAWN = 2
"""Programs of examples/low_level that every run validates; `python -m proofs_tests.validation kernels` does all."""


def found(program: Program, **options: Any) -> Meaning:
    """What is said of a program's own kernels."""
    return meaning_of(compile_program(program, **options), program)


@portioned("count", [DRAWN, 6 * DRAWN], {DRAWN})
def test_kernels_that_are_timed_mean_their_programs(
    count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the sizes at which they are timed, a drawn sample."""
    seed = random.randrange(10**6)
    with capsys.disabled():
        print(f"kernels drawn from seed {seed}", flush=True)
    subjects = [s for s in low_level(variants=False) if not s.name.startswith(SLOW)]
    for subject in random.Random(seed).sample(subjects, count):
        meaning, _, _ = judged(subject.make())
        assert meaning.ok, (subject.name, meaning.text())


SLOW = ("atax", "convolution_separable gpu", "dot gpu", "gemv gpu", "gesummv gpu", "total gpu")
"""What takes seconds: `python -m proofs_tests.validation kernels` does it."""


@pytest.mark.parametrize("name", ["md cpu", "nbody_nvidia gpu own=4"])
def test_where_the_prototype_stopped(name: str) -> None:
    """Indices that are data, and tiles of 256 bodies."""
    [subject] = [s for s in low_level() if s.name == name]
    meaning, _, _ = judged(subject.make())
    assert meaning.ok, meaning.text()


def test_the_tiled_product_of_4096() -> None:
    """For one work-item of a group whose numbers are not known, beside what all write to local memory."""
    subject: Subject = next(s for s in low_level() if s.name.startswith("matmul gpu"))
    meaning, _, _ = judged(subject.make())
    assert meaning.ok, meaning.text()
    assert meaning.kernels[0].finding.symbols < 100_000


def test_a_tile_that_is_read_at_sums_of_numbers() -> None:
    """A stencil's tile: row and column of a work-item, and the turn of a loop, stand for few cells together."""
    [subject] = [s for s in low_level() if s.name == "convolution gpu"]
    meaning, _, _ = judged(subject.make())
    assert meaning.ok, meaning.text()
    assert meaning.kernels[0].finding.symbols < 10_000


def test_what_decides_between_values_makes_no_cases() -> None:
    """A triangle of 32 rows, whose folds are written out: one case, not one for every row."""
    n = 32

    @typed(x=f32[n, n])
    def below(x: Any) -> Any:
        rows = rl.zip(x, rl.generate(n, lambda i: i))

        def total(row: Any) -> Any:
            cells = rl.zip(row[0], rl.generate(n, lambda i: i))
            return rl.reduce_seq_unroll(
                lambda acc, c: acc + rl.select(c[1] <= row[1], c[0], 0.0), 0.0, cells
            )

        return rl.map_glb(0)(total, rows)

    meaning = found(below)
    assert meaning.ok, meaning.text()
    assert meaning.kernels[0].finding.cases == 1
    compiled = compile_program(below)
    wrong = replace(compiled, source=compiled.source.replace("<=", "<"))
    assert wrong.source != compiled.source
    assert meaning_of(wrong, below).verdict == "refuted"


def test_truth_values_that_loops_carry() -> None:
    """In C they are numbers, which a loop in a loop carries on; a number that only begins as one stays a number."""
    m, n = nat("m"), nat("n")

    def below(a: Any, v: Any) -> Any:
        return rl.select(a[0], 0.0, v) < 0.0, a[1] + v

    @typed(x=f32[m, n])
    def nested(x: Any) -> Any:
        return rl.reduce_seq(lambda a, r: rl.reduce_seq(below, a, r), (False, 0.0), x)

    @typed(x=f32[n])
    def counted(x: Any) -> Any:
        return rl.reduce_seq(lambda a, v: (rl.select(v < 0.0, 1, 0), a[1] + a[0]), (0, 0), x)

    for program in (nested, counted):
        meaning = found(program)
        assert meaning.ok, meaning.text()
        text = compile_program(program).source
        changed = text.replace("< 0.0f", "> 0.0f")
        assert changed != text
        compiled = compile_program(program)
        wrong = meaning_of(replace(compiled, source=changed), program)
        assert wrong.verdict == "refuted", wrong.text()


def test_a_scan_whose_values_others_of_the_group_read() -> None:
    """One work-item stores each of more partial sums than are compared by writing a fold out."""

    @typed(x=f32[8, 100])
    def scanned(x: Any) -> Any:
        def row(r: Any) -> Any:
            sums = rl.map_lcl(0)(lambda c: rl.scan_seq(rl.add, 0.0, c), rl.split(100, r))
            return rl.map_lcl(0)(lambda v: v * 2.0, rl.join(rl.to_local(sums)))

        return rl.map_wrg(0)(row, x)

    meaning = found(scanned, local=(100,))
    assert meaning.ok, meaning.text()


def test_a_copy_in_another_order_that_a_loop_reads() -> None:
    """Its cells have no common form, so that loop is written out, but not the one around it, which is as long."""

    @typed(x=f32[8, 1200])
    def total(x: Any) -> Any:
        def chunk(c: Any) -> Any:
            turned = rl.join(rl.transpose(rl.split(3, c)))
            return rl.reduce_seq(rl.add, 0.0, rl.to_private(rl.map_seq(lambda v: v, turned)))

        def row(r: Any) -> Any:
            return rl.reduce_seq(lambda acc, c: acc + chunk(c), 0.0, rl.split(30, r))

        return rl.map_glb(0)(row, x)

    meaning = found(total)
    assert meaning.ok, meaning.text()
    assert meaning.kernels[0].finding.symbols < 1_000


def test_cells_that_use_what_they_hold_several_times_have_a_common_form() -> None:
    """A maximum has the larger so far three times in it: as a tree, one of 20 would be 3^20 times as large."""

    @typed(x=f32[4, 20, 6])
    def total(x: Any) -> Any:
        def largest(column: Any) -> Any:
            return rl.reduce_seq_unroll(rl.maximum, float("-inf"), column)

        def each(m: Any) -> Any:
            own = rl.to_private(rl.map_seq(largest, rl.transpose(m)))
            return rl.reduce_seq(rl.add, 0.0, own)

        return rl.map_glb(0)(each, x)

    meaning = found(total)
    assert meaning.ok, meaning.text()


def test_open_sizes_are_all_sizes() -> None:
    """A product of any three sizes, once."""
    meaning = found(made("matmul", nat("m"), nat("k"), nat("n")))
    assert meaning.ok, meaning.text()
    assert meaning.kernels[0].sizes == "all sizes"


def test_grid_strides() -> None:
    """Any number of groups takes turns."""

    n = nat("n")

    @typed(x=f32[n])
    def doubled(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v + v, x)

    meaning = found(doubled, global_=1024)
    assert meaning.ok, meaning.text()


def groups(m: Any, width: int = 16) -> Program:
    """Groups whose work-items take turns in rows of any length, through no local memory."""

    @typed(x=f32[width * m, m])
    def scaled(x: Any) -> Any:
        return rl.map_wrg(0)(lambda row: rl.map_lcl(0)(lambda v: v * 2.0, row), x)

    return scaled


def test_work_items_that_take_turns_in_rows_of_any_length() -> None:
    """Open sizes in the loops of a group."""
    meaning = found(groups(nat("m")), local=16)
    assert meaning.ok, meaning.text()


def test_a_difference_is_shown_by_a_cell_and_both_values() -> None:
    """Numbers at which the two sides differ are found, and the work-item is named."""
    program = made("matvec", 6, 4)
    k = compile_program(program)
    wrong = Compiled(k.source.replace("acc + ", "acc - "), k.plan)
    meaning = meaning_of(wrong, program)
    assert meaning.verdict == "refuted"
    assert "work-item" in meaning.kernels[0].detail
    assert "instead of" in meaning.kernels[0].detail


def test_what_certificates_refuse_is_not_validated() -> None:
    """Values alone are not enough: a store that is gone leaves cells open, and every other is right."""
    program = made("transposed_by_tiles", 8, 8)
    k = compile_program(program)
    assert meaning_of(k, program).ok
    wrong = Compiled(k.source.replace("barrier(CLK_LOCAL_MEM_FENCE);", "", 1), k.plan)
    assert meaning_of(wrong, program).verdict != "validated"


def test_kernels_in_another_order_are_not_validated() -> None:
    """The second kernel reads what the first one has written."""
    program = made("dot", 2, 5, 30)
    k = compile_program(program)
    assert meaning_of(k, program).ok
    swapped = Compiled(k.source, replace(k.plan, kernels=k.plan.kernels[::-1]))
    assert meaning_of(swapped, program).verdict != "validated"


def test_planted_faults_are_never_validated(capsys: pytest.CaptureFixture[str]) -> None:
    """A drawn sample, but those that change nothing; `python -m proofs_tests.validation faults 500` takes more."""
    seed = random.randrange(10**6)
    with capsys.disabled():
        print(f"faults drawn from seed {seed}", flush=True)
    found = list(planted_faults(12, seed))
    assert [f for f in found if f.missed] == []
    assert sum(f.by_meaning != "validated" for f in found) >= 6


def test_a_certificate_claims_the_meaning() -> None:
    """Proved for all sizes; beside the values that are shown at some."""
    program = made("matvec", nat("n"), nat("m"))
    k = compile_program(program)
    certified = with_values(certificates(k), reports_of(k, program))
    [claimed] = with_meaning(certified, meaning_of(k, program, certified))
    claim = claimed.claims[-1]
    assert (claim.kind, claim.verdict) == ("meaning", "proved")


def test_integers_that_may_overflow_are_unknown() -> None:
    """A sum that a text computes with a sign, where it may leave its type, has no meaning."""

    @typed(x=i32[64])
    def shifted(x: Any) -> Any:
        return rl.map_glb(0)(lambda v: v + 1, x)

    k = compile_program(shifted)
    assert meaning_of(k, shifted).ok
    text = k.source.replace("as_int(as_uint(v) + as_uint(1))", "v + 1")
    if text != k.source:
        assert meaning_of(Compiled(text, k.plan), shifted).verdict == "unknown"


def test_a_launch_in_other_groups_than_the_text_requires_is_refuted() -> None:
    """Before anything is run."""
    program = made("iterated_in_local_memory", 3, 8)
    k = compile_program(program)
    [kernel] = k.plan.kernels
    smaller = replace(k.plan, kernels=(replace(kernel, local=(4,)),))
    found = meaning_of(Compiled(k.source, smaller), program)
    assert found.verdict == "refuted"
    assert "requires groups" in found.kernels[0].detail


def fewer_groups(launch: Launch) -> Launch:
    """A launch whose first kernel has a group less."""
    first, *rest = launch.kernels
    total = (Size.of(first.range[0] - first.local[0]), *first.total[1:])
    return replace(launch, kernels=(replace(first, total=total), *rest))


@pytest.mark.parametrize(
    "wrong",
    [
        fewer_groups,
        lambda launch: replace(launch, kernels=()),
        lambda launch: replace(launch, kernels=launch.kernels[:1]),
        lambda launch: replace(launch, kernels=launch.kernels[::-1]),
    ],
    ids=["a group fewer", "no kernel", "a kernel left out", "the last first"],
)
def test_a_launch_that_is_wrong_is_refuted(wrong: Callable[[Launch], Launch]) -> None:
    """It is no fault of any kernel's text: running all of them shows a cell that is not written."""
    program = made("dot", 2, 6, 36)
    k = compile_program(program, local=(2,))
    found = meaning_of(Compiled(k.source, wrong(k.plan)), program)
    assert found.verdict == "refuted"
    assert "out[0] is not written" in found.refutations[0]
    assert found.refutations[0] in found.text()


def test_a_loop_that_never_ends_is_refuted() -> None:
    """No certificate says so: the loop is none that they understand."""
    program = made("matvec", 6, 4)
    k = compile_program(program)
    [loop] = set(re.findall(r"\+\+i|i \+= \d+", k.source))
    found = meaning_of(Compiled(k.source.replace(loop, "i += 0"), k.plan), program)
    assert "does not advance" in "".join(found.refutations)


def test_a_sum_that_starts_with_nothing_is_not_validated() -> None:
    """What a loop carries has its type, also where nothing was written to it."""
    program = made("matvec", 64, 100)
    k = compile_program(program)
    text = k.source.replace("float acc = 0.0f;", "float acc;")
    assert text != k.source
    assert meaning_of(Compiled(text, k.plan), program).verdict != "validated"


def test_a_component_that_nobody_writes_is_refuted() -> None:
    """Certificates say nothing of an array that is never written."""
    program = made("two_maps", 18)
    k = compile_program(program)
    stores = [line for line in k.source.splitlines() if line.strip().startswith("out_0[")]
    assert stores
    text = "\n".join(line for line in k.source.splitlines() if line not in stores)
    found = meaning_of(Compiled(text, k.plan), program)
    assert found.verdict == "refuted"
    assert "is not written" in found.kernels[0].detail


def test_a_result_without_cells_needs_no_writes() -> None:
    """Nothing is missing where there is nothing; beside it, all of another result is written."""

    @typed(x=f32[0], y=f32[3])
    def none_and_three(x: Any, y: Any) -> Any:
        return rl.map_seq(lambda v: v * 2.0, x), rl.map_seq(lambda v: v * 2.0, y)

    k = compile_program(none_and_three)
    assert meaning_of(k, none_and_three).verdict == "validated"
    text = k.source.replace("out_1[", "(void)y[")
    assert text != k.source
    assert meaning_of(Compiled(text, k.plan), none_and_three).verdict != "validated"


@typed(x=f32[8, 65])
def largest(x: Any) -> Any:
    """The largest absolute value of each row."""
    return rl.map_glb(0)(
        lambda r: rl.reduce_seq(lambda a, v: rl.maximum(a, rl.absolute(v)), 0.0, r), x
    )


@pytest.mark.parametrize(("told", "instead"), [("int i = 0", "int i = 1"), ("i < 65", "i < 64")])
def test_an_element_that_a_maximum_leaves_out_is_shown(told: str, instead: str) -> None:
    """It is seldom the largest of those that are drawn: inputs fall and rise, too."""
    k = compile_program(largest)
    assert told in k.source
    wrong = replace(k, source=k.source.replace(told, instead))
    assert meaning_of(wrong, largest).verdict == "refuted"


def test_a_launch_without_kernels_is_refuted() -> None:
    """However large the program is."""
    k = compile_program(largest)
    found_of = meaning_of(Compiled(k.source, replace(k.plan, kernels=())), largest)
    assert "no kernel is run" in found_of.refutations[0]


N, K = nat("n"), nat("k")


@typed(ids=i32[N], t=f32[K])
def looked_up(ids: Any, t: Any) -> Any:
    """A table at places that are data."""
    return rl.map_glb(0)(lambda v: v * 0.5, rl.gather_indices(ids, t))


@typed(v=i32[N], t=f32[K + 1])
def kept_in_range(v: Any, t: Any) -> Any:
    """The same, where what is beyond the ends is moved there."""
    return rl.map_glb(0)(lambda i: rl.at_runtime_unsafe(rl.minimum(rl.maximum(i, 0), K), t), v)


def test_what_is_taken_of_data_that_are_indices_is_said() -> None:
    """A program means nothing beyond what it indexes; so much is asked of data, and no more is unknown."""
    compiled = compile_program(looked_up)
    certified = certificates(compiled)
    assert not certified[0].ok
    meaning = meaning_of(compiled, looked_up, certified)
    assert meaning.ok
    assert meaning.text().splitlines()[0].endswith("where 0 <= ids < k")
    [own] = with_meaning(certified, meaning)
    assert own.ok
    assert "where 0 <= ids < k" in {c.detail for c in own.claims}


@pytest.mark.parametrize("sizes", [{}, {"n": 64, "k": 20}])
def test_data_that_are_kept_in_range_need_nothing(sizes: dict[str, int]) -> None:
    """At open sizes and at given ones, nothing is taken of the data."""
    meaning = found(kept_in_range.at(sizes, partly=True))
    assert meaning.ok, meaning.text()
    assert "where" not in meaning.text()
