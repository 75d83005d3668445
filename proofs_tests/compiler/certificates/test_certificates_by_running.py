"""Certificates of small random kernels, with loops and barriers, agree with running them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relift.compiler.certificates.certificate import Certificate
from relift.compiler.certificates.claims import certify
from relift.compiler.certificates.work_items import Grid
from relift.compiler.text.reader import read_kernels
from relift.compiler.text.tree import Whole


def of_text(text: str, *, local: tuple[int, ...], groups: tuple[int, ...] = (1,)) -> Certificate:
    """The certificate of a kernel without arguments."""
    [kernel] = read_kernels(f"kernel void k({text}")
    return certify(kernel, {}, Grid(tuple(map(Whole, groups)), tuple(map(Whole, local))))


ITEMS, CELLS = 4, 12
Event = tuple[str, int]


@dataclass(frozen=True)
class Touch:
    """`tile[(a*l + b*i + c) / d % e]` read or written, by work-items below `guard`; i is the loop's counter."""

    writes: bool
    a: int
    b: int
    c: int
    d: int
    e: int
    guard: int

    def text(self, counter: str) -> str:
        index = f"(({self.a}*l + {self.b}*{counter} + {self.c}) / {self.d}) % {self.e}"
        body = f"tile[{index}] = 0.0f;" if self.writes else f"acc = acc + tile[{index}];"
        return body if self.guard >= ITEMS else f"if (l < {self.guard}) {{ {body} }}"

    def run(self, item: int, i: int) -> Iterator[Event]:
        if item < self.guard:
            yield (
                "write" if self.writes else "read",
                (self.a * item + self.b * i + self.c) // self.d % self.e,
            )


@dataclass(frozen=True)
class Wait:
    """A barrier."""

    def text(self, counter: str) -> str:
        return "barrier(CLK_LOCAL_MEM_FENCE);"

    def run(self, item: int, i: int) -> Iterator[Event]:
        yield "barrier", 0


@dataclass(frozen=True)
class Repeat:
    """A loop with a number of runs that is the same for all work-items, or is by strides over them."""

    start: int
    end: int
    step: int
    strided: bool
    body: tuple[Touch | Wait | Repeat, ...]

    def text(self, counter: str) -> str:
        inner = "i" if counter == "0" else counter + "i"
        start = f"l + {self.start}" if self.strided and not self.waits() else str(self.start)
        body = " ".join(s.text(inner) for s in self.body)
        return f"for (int {inner} = {start}; {inner} < {self.end}; {inner} += {self.step}) {{ {body} }}"

    def waits(self) -> bool:
        return any(isinstance(s, Wait) or (isinstance(s, Repeat) and s.waits()) for s in self.body)

    def run(self, item: int, i: int) -> Iterator[Event]:
        first = self.start + (item if self.strided and not self.waits() else 0)
        for inner in range(first, self.end, self.step):
            for s in self.body:
                yield from s.run(item, inner)


touches = st.builds(
    Touch, st.booleans(), st.integers(0, 3), st.integers(0, 4), st.integers(0, 4), st.integers(1, 3),
    st.integers(1, CELLS + 1), st.integers(1, ITEMS),
)  # fmt: skip
statements: st.SearchStrategy[Touch | Wait | Repeat] = st.recursive(
    st.one_of(touches, touches, st.builds(Wait)),
    lambda inner: st.builds(
        Repeat, st.integers(0, 2), st.integers(0, 5), st.integers(1, 2), st.booleans(),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
    ),
    max_leaves=5,
)  # fmt: skip


def races(runs: list[list[Event]]) -> bool:
    """Whether two work-items touch one cell between the same barriers, one of them writing."""
    seen: dict[tuple[int, int], set[tuple[int, str]]] = {}
    for item, events in enumerate(runs):
        interval = 0
        for kind, cell in events:
            if kind == "barrier":
                interval += 1
            else:
                seen.setdefault((interval, cell), set()).add((item, kind))
    return any(
        p[0] != q[0] and "write" in (p[1], q[1])
        for at in seen.values()
        for p, q in itertools.combinations(at, 2)
    )


WAIT = "barrier(CLK_LOCAL_MEM_FENCE);"


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("tile[l] = 0.0f; for (int i = 0; i < 3; ++i) { acc = tile[7 - l]; %s }", "refuted"),
        ("tile[l] = 0.0f; %s for (int i = 0; i < 3; ++i) { acc = tile[7 - l]; %s }", "proved"),
        ("for (int i = 0; i < 3; ++i) { %s tile[l] = 0.0f; } acc = tile[7 - l];", "refuted"),
        ("for (int i = 0; i < 3; ++i) { %s tile[l] = 0.0f; } %s acc = tile[7 - l];", "proved"),
        ("for (int i = 0; i < 3; ++i) { %s tile[(l + i) %% 8] = 0.0f; }", "proved"),
        ("for (int i = 0; i < 3; ++i) { tile[(l + i) %% 8] = 0.0f; }", "refuted"),
        ("for (int i = 0; i < 3; ++i) { acc = tile[7 - l]; %s tile[l] = 0.0f; }", "refuted"),
        ("for (int i = 0; i < 3; ++i) { acc = tile[7 - l]; %s tile[l] = 0.0f; %s }", "proved"),
        ("tile[l] = 0.0f; if (w < 1) { %s } acc = tile[7 - l];", "refuted"),
        (
            ("tile[l] = 0.0f; for (int i = 0; i < 3; ++i) { for (int j = 0; j < 0; ++j) { %s } } "
            "acc = tile[7 - l];"),
            "refuted",
        ),
    ],
    ids=[
        "into a loop", "into a loop, apart", "out of a loop", "out of a loop, apart", "in one run",
        "in two runs", "over the back edge", "over the back edge, apart",
        "in some groups",
        "a barrier that is never reached",
    ],
)  # fmt: skip
def test_paths_between_barriers(body: str, verdict: str) -> None:
    """Into a loop, out of it, within one run, and from one run to the next."""
    text = ") { local float tile[8]; const int l = get_local_id(0); const int w = get_group_id(0); float acc = 0.0f; "
    certificate = of_text(text + body % ((WAIT,) * body.count("%s")) + "}", local=(8,), groups=(2,))
    worst = {f.verdict for f in certificate.claims if f.kind == "races"} - {"proved"}
    assert worst == ({verdict} - {"proved"}), certificate.text()


@given(st.lists(statements, min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_certificates_agree_with_running_small_kernels(body: list[Touch | Wait | Repeat]) -> None:
    """What is proved never happens, and what is refuted does, in kernels with loops and barriers."""
    text = " ".join(s.text("0") for s in body)
    certificate = of_text(
        f") {{ local float tile[{CELLS}]; const int l = get_local_id(0); float acc = 0.0f; {text} }}",
        local=(ITEMS,),
    )
    runs = [[e for s in body for e in s.run(item, 0)] for item in range(ITEMS)]
    stray = any(kind != "barrier" and cell >= CELLS for events in runs for kind, cell in events)

    verdicts: Callable[[str], set[str]] = lambda kind: {
        f.verdict for f in certificate.claims if f.kind == kind
    }
    known = "unknown" not in {*verdicts("barriers"), *verdicts("races")}
    assert ("refuted" in verdicts("bounds")) == stray
    if races(runs):
        assert verdicts("races") - {"proved"}, text
    elif known:
        assert "refuted" not in verdicts("races"), text
