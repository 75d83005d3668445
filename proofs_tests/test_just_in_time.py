"""Programs that are optimised for the sizes at which they are called."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift import optimization

n = rl.nat("n")
XS = np.arange(64, dtype=np.float32)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The sizes of each search that is made, with a cache of one's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: list[Any] = []
    search = optimization.compilable

    def counted(program: rl.Program, sizes: Any, *rest: Any, **options: Any) -> Any:
        made.append(dict(sizes))
        return search(program, sizes, *rest, **options)

    monkeypatch.setattr(optimization, "compilable", counted)
    return made


def squares() -> rl.Program:
    @rl.program
    def squares(x: rl.f32[n]):
        return rl.map(lambda v: v * v, x)

    return squares


def kept(tmp_path: Path) -> list[Path]:
    return [*(tmp_path / "relift" / "found").glob("*.json")]


def test_each_choice_of_sizes_is_searched_for_once(searches: list[Any]) -> None:
    """A second call at the same sizes searches for nothing, one at others does."""
    fast = rl.jit(squares())

    for length in (64, 64, 32, 64):
        assert np.array_equal(fast(XS[:length]), XS[:length] ** 2)

    assert searches == [{"n": 64}, {"n": 32}]


def test_what_was_found_is_kept(searches: list[Any], tmp_path: Path) -> None:
    """Another process, here another object, replays the derivation."""
    rl.jit(squares())(XS)
    assert len(kept(tmp_path)) == 1

    assert np.array_equal(rl.jit(squares())(XS), XS**2)
    assert len(searches) == 1


@pytest.mark.parametrize("damage", ["cut", "another program", "another result"])
def test_what_does_not_replay_is_found_anew(
    searches: list[Any], tmp_path: Path, damage: str
) -> None:
    """A file that was damaged, or is of another program, is not believed; it is written over."""

    @rl.program
    def cubes(x: rl.f32[n]):
        return rl.map(lambda v: v * v * v, x)

    rl.jit(squares())(XS)
    (file,) = kept(tmp_path)
    text = file.read_text()
    match damage:
        case "cut":
            file.write_text(text[: len(text) // 2])
        case "another program":
            rl.jit(cubes)(XS)
            (other,) = (f for f in kept(tmp_path) if f != file)
            file.write_text(other.read_text())
        case _:
            changed = json.loads(text)
            changed["result"] = changed["result"].replace(" * ", " + ")
            file.write_text(json.dumps(changed))
    before = len(searches)

    assert np.array_equal(rl.jit(squares())(XS), XS**2)
    assert len(searches) == before + 1


def test_a_program_in_low_level_patterns_is_not_searched_for(searches: list[Any]) -> None:
    """It says itself what runs in parallel."""

    @rl.jit
    def doubled(x: rl.f32[n]):
        return rl.map_glb(0)(lambda v: v + v, x)

    assert np.array_equal(doubled(XS), XS + XS)
    assert searches == []


def test_arrays_stay_on_their_device(searches: list[Any]) -> None:
    """What lies on a device is found there, and the result is left there."""
    fast = rl.jit(squares())
    x = rl.device_array(XS)

    found = fast(fast(x))

    assert isinstance(found, rl.DeviceArray)
    assert np.array_equal(found.numpy(), XS**4)
    assert len(searches) == 1


def test_threads_that_meet_the_same_sizes_search_once(searches: list[Any]) -> None:
    """The others wait for the one that searches."""
    fast, found = rl.jit(squares()), list[Any]()
    threads = [threading.Thread(target=lambda: found.append(fast(XS))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(searches) == 1
    assert all(np.array_equal(each, XS**2) for each in found)


def test_options_are_part_of_what_was_asked(searches: list[Any]) -> None:
    """What was found where sums may be regrouped is no answer where they may not."""

    def total(x: rl.f32[n]):
        return rl.reduce(rl.add, 0.0, x)

    assert rl.jit(total)(XS) == XS.sum()
    assert rl.jit(float="exact")(total)(XS) == XS.sum()
    assert len(searches) == 2


def test_sizes_are_those_of_arrays() -> None:
    """`like` gives the sizes that arrays have, and no array is refused that NumPy knows."""
    found = rl.optimize(squares(), like=(XS,))

    assert found.derivation.sizes == {"n": 64}


def test_misspelt_names_are_recognised() -> None:
    """What may have been meant is said."""
    with pytest.raises(AttributeError, match="did you mean reduce"):
        getattr(rl, "redcue")  # noqa: B009 (a checker knows that it is none)
