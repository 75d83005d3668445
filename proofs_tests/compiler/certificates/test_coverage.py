"""Coverage: all cells are written, and what is read was written, only where counting shows it."""

from __future__ import annotations

import pytest

from relift.compiler.certificates.certificate import Claim
from relift.compiler.certificates.claims import certify
from relift.compiler.certificates.work_items import Grid
from relift.compiler.text.reader import read_kernels
from relift.compiler.text.tree import Whole

ITEM, PLACE, GROUP = "glb_0", "lcl_0", "wrg_0"
TURNS = "for (int i = {0}; i < 8; i += {1}) {{ out[i] = 1.0f; }}"
WITHIN = f"for (int i = {ITEM}; i < 8; i += 8) {{{{ if ({{0}}) {{{{ out[i] = 1.0f; }}}} }}}}"


def claims(body: str) -> dict[tuple[str, str], Claim]:
    """The claims about what is written of a kernel of 8 work-items in 2 groups, by kind and subject."""
    head = "kernel void k(global const float* restrict x, global float* restrict out)"
    ids = "const int glb_0 = get_global_id(0); const int lcl_0 = get_local_id(0);"
    if "int wrg_0" not in body:
        ids += " const int wrg_0 = get_group_id(0);"
    [kernel] = read_kernels(f"{head} {{ {ids} {body} }}")
    cells, grid = {"x": Whole(8), "out": Whole(8)}, Grid((Whole(2),), (Whole(4),))
    found = certify(kernel, cells, grid, full={"x"})
    return {(c.kind, c.subject): c for c in found.claims if c.kind in ("initialised", "covered")}


COVERED = {
    "each its own cell": (f"out[{ITEM}] = 1.0f;", True),
    "each its own, backwards": (f"out[7 - {ITEM}] = 1.0f;", True),
    "half of the cells": (f"if ({ITEM} < 4) {{ out[{ITEM}] = 1.0f; }}", False),
    "half of them, each twice": (
        f"if ({ITEM} < 4) {{ out[2*{ITEM}] = 1.0f; }} if ({ITEM} < 4) {{ out[2*{ITEM}] = 2.0f; }}",
        False,
    ),
    "even and odd": (
        f"if ({ITEM} < 4) {{ out[2*{ITEM}] = 1.0f; }} if ({ITEM} < 4) {{ out[2*{ITEM} + 1] = 2.0f; }}",
        True,
    ),
    "by the turns of the first": (
        f"if ({ITEM} < 1) {{ for (int i = 0; i < 8; ++i) {{ out[i] = 1.0f; }} }}", True
    ),
    "one cell in all turns": (
        f"if ({ITEM} < 1) {{ for (int i = 0; i < 8; ++i) {{ out[i - i] = 1.0f; }} }}", False
    ),
    "twice as many, of which half are kept": (
        f"if (2*{ITEM} < 8) {{ out[2*{ITEM}] = 1.0f; }} if (2*{ITEM} + 1 < 8) {{ out[2*{ITEM} + 1] = 2.0f; }}",
        True,
    ),
    "twice as many, of which one is not kept": (
        f"if (2*{ITEM} < 7) {{ out[2*{ITEM}] = 1.0f; }} if (2*{ITEM} + 2 < 8) {{ out[2*{ITEM} + 1] = 2.0f; }}",
        False,
    ),
    "half by groups and half in them": (
        (f"const int wrg_0 = get_group_id(0); for (int i = 0; i < 3; ++i) {{ if (2*i + {PLACE}/2 < 4) {{ "
        f"if ({PLACE} % 2 + 4*wrg_0 < 6) {{ out[4*wrg_0 + 2*i + {PLACE} % 2] = 1.0f; }} }} }}"),
        False,
    ),
    "turns within the array": (
        (f"const int wrg_0 = get_group_id(0); for (int i = 0; i < 3; ++i) {{ if (2*i + {PLACE} % 2 < 4) {{ "
        f"if ({PLACE} < 2) {{ out[4*wrg_0 + 2*i + {PLACE} % 2] = 1.0f; }} }} }}"),
        True,
    ),
    "two conditions on one number": (
        (f"if (2*{ITEM} < 8) {{ if (2*{ITEM} + 2 > 2) {{ out[2*{ITEM}] = 1.0f; }} }} "
        f"if (2*{ITEM} < 8) {{ out[2*{ITEM} + 1] = 2.0f; }}"),
        False,
    ),
    "where data says so": (f"if (x[0] < 1.0f) {{ out[{ITEM}] = 1.0f; }}", False),
    "turns of one group, in its own steps": (f"if ({GROUP} < 1) {{ {TURNS.format(ITEM, 4)} }}", True),
    "turns of one group, in steps of all": (f"if ({GROUP} < 1) {{ {TURNS.format(ITEM, 8)} }}", False),
    "turns of one group, in steps of all there are": (
        f"if ({GROUP} < 1) {{ {TURNS.format(ITEM, 'get_global_size(0)')} }}", False
    ),
    "turns of the first, in their own steps": (f"if ({ITEM} < 4) {{ {TURNS.format(ITEM, 4)} }}", True),
    "turns of the first, in steps of all": (f"if ({ITEM} < 4) {{ {TURNS.format(ITEM, 8)} }}", False),
    "turns of the first of each group": (f"if ({PLACE} < 2) {{ {TURNS.format(ITEM, 4)} }}", False),
    "turns of which one group has some": (WITHIN.format(f"{GROUP} < 1"), False),
    "turns of which the first has some": (WITHIN.format(f"{ITEM} < 1"), False),
    "turns of which the first of each group has some": (WITHIN.format(f"{PLACE} < 1"), False),
    "turns of turns": (
        f"for (int i = {ITEM}; i < 8; i += 8) {{ for (int j = {ITEM}; j < 1; j += 8) {{ out[i] = 1.0f; }} }}", False
    ),
    "the first of each group, of the first": (
        f"if ({ITEM} < 8) {{ if ({PLACE} < 1) {{ out[{ITEM}] = 1.0f; }} }}", False
    ),
    "the first, of the first of each group": (
        (f"if ({PLACE} < 2) {{ if ({ITEM} < 4) {{ out[2*{ITEM}] = 1.0f; }} }} "
        f"if ({PLACE} < 2) {{ if ({ITEM} < 4) {{ out[2*{ITEM} + 1] = 1.0f; }} }}"), False
    ),
    "the first of the first": (
        (f"if ({ITEM} < 6) {{ if ({ITEM} < 4) {{ out[2*{ITEM}] = 1.0f; }} }} "
        f"if ({ITEM} < 4) {{ out[2*{ITEM} + 1] = 1.0f; }}"), True
    ),
    "the first of one group": (
        (f"if ({GROUP} < 1) {{ if ({ITEM} < 4) {{ out[2*{ITEM}] = 1.0f; }} }} "
        f"if ({PLACE} < 4) {{ if ({GROUP} < 1) {{ out[2*{ITEM} + 1] = 1.0f; }} }}"), True
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COVERED)
def test_every_cell_is_covered_only_where_it_is_written(name: str) -> None:
    body, holds = COVERED[name]
    assert (claims(body)["covered", "out"].verdict == "proved") is holds


WAIT = "barrier(CLK_LOCAL_MEM_FENCE);"
INITIALISED = {
    "a tile that all fill": (
        f"local float t[4]; t[{PLACE}] = 1.0f; {WAIT} out[{ITEM}] = t[3 - {PLACE}];", True
    ),
    "a tile that half of them fill": (
        f"local float t[4]; if ({PLACE} < 2) {{ t[{PLACE}] = 1.0f; }} {WAIT} out[{ITEM}] = t[3 - {PLACE}];",
        False,
    ),
    "an array of its own": (
        f"float t[2]; for (int i = 0; i < 2; ++i) {{ t[i] = 1.0f; }} out[{ITEM}] = t[1];", True
    ),
    "an array that is filled by half": (
        f"float t[2]; for (int i = 0; i < 1; ++i) {{ t[i] = 1.0f; }} out[{ITEM}] = t[1];", False
    ),
    "a cell that a later turn writes": (
        ("float t[2]; float s = 0.0f; for (int i = 0; i < 2; ++i) { t[i] = 1.0f; s = s + t[1 - i]; } "
        "out[glb_0] = s;"),
        False,
    ),
    "every second cell": (
        "float t[3]; for (int i = 0; i < 3; i += 2) { t[i] = 1.0f; } out[glb_0] = t[1];", False
    ),
    "rows of rows": (
        ("float t[4]; for (int i = 0; i < 2; ++i) { for (int j = 0; j < 2; ++j) { t[2*i + j] = 1.0f; } } "
        "out[glb_0] = t[1];"),
        True,
    ),
    "a cell that a later turn writes, and as many writes as cells": (
        ("float t[3]; t[2] = 1.0f; float s = 0.0f; "
        "for (int i = 0; i < 2; ++i) { t[i] = 1.0f; s = s + t[1 - i]; } out[glb_0] = s;"),
        False,
    ),
    "a tile that some groups fill and read": (
        f"local float t[4]; const int wrg_0 = get_group_id(0); if (wrg_0 < 1) {{ t[{PLACE}] = 1.0f; {WAIT} out[{ITEM}] = t[3 - {PLACE}]; }}",
        True,
    ),
    "a tile that some groups fill, and others read": (
        f"local float t[4]; const int wrg_0 = get_group_id(0); if (wrg_0 < 1) {{ t[{PLACE}] = 1.0f; }} {WAIT} out[{ITEM}] = t[3 - {PLACE}];",
        False,
    ),
    "a tile that half of some groups fill": (
        (f"local float t[4]; const int wrg_0 = get_group_id(0); if (wrg_0 < 1) {{ if ({PLACE} < 2) {{ t[{PLACE}] = 1.0f; }} {WAIT} "
        f"out[{ITEM}] = t[3 - {PLACE}]; }}"),
        False,
    ),
    "a tile that half of a group fill, and they alone read all of it": (
        f"local float t[4]; if ({PLACE} < 2) {{ t[{PLACE}] = 1.0f; out[{ITEM}] = t[3 - {PLACE}]; }}",
        False,
    ),
    "a tile whose rows are padded": (
        f"local float t[6]; t[3*({PLACE} / 2) + {PLACE} % 2] = 1.0f; {WAIT} out[{ITEM}] = t[3*({PLACE} % 2) + {PLACE} / 2];",
        True,
    ),
    "a tile whose rows are padded on the left": (
        f"local float t[6]; t[3*({PLACE} / 2) + {PLACE} % 2 + 1] = 1.0f; {WAIT} out[{ITEM}] = t[3*({PLACE} % 2) + {PLACE} / 2 + 1];",
        True,
    ),
    "the padding on the left of a tile": (
        f"local float t[6]; t[3*({PLACE} / 2) + {PLACE} % 2 + 1] = 1.0f; {WAIT} out[{ITEM}] = t[3*({PLACE} % 2) + {PLACE} / 2];",
        False,
    ),
    "the padding of a tile": (
        f"local float t[6]; t[3*({PLACE} / 2) + {PLACE} % 2] = 1.0f; {WAIT} out[{ITEM}] = t[3*({PLACE} % 2) + {PLACE} / 2 + 1];",
        False,
    ),
    "a tile with two rows, of which one is written longer than the padding leaves": (
        f"local float t[6]; t[{PLACE}] = 1.0f; {WAIT} out[{ITEM}] = t[3*({PLACE} % 2) + {PLACE} / 2];",
        False,
    ),
    "a tile that is filled again, further than before": (
        (f"local float t[6]; if ({PLACE} < 2) {{ t[{PLACE}] = 1.0f; }} {WAIT} float s = t[{PLACE} % 2]; {WAIT} "
        f"t[3*({PLACE} / 2) + {PLACE} % 2] = s; {WAIT} out[{ITEM}] = t[3*({PLACE} % 2) + {PLACE} / 2];"),
        True,
    ),
    "a tile that is filled again, but not as far as it is read": (
        (f"local float t[4]; if ({PLACE} < 2) {{ t[{PLACE}] = 1.0f; }} {WAIT} float s = t[{PLACE} % 2]; {WAIT} "
        f"if ({PLACE} < 3) {{ t[{PLACE}] = s; }} {WAIT} out[{ITEM}] = t[3 - {PLACE}];"),
        False,
    ),
    "a tile that is filled only after it was read": (
        f"local float t[4]; float s = t[{PLACE}]; {WAIT} t[{PLACE}] = s; {WAIT} out[{ITEM}] = t[3 - {PLACE}];",
        False,
    ),
    "nothing at all": (f"float t[2]; out[{ITEM}] = t[1];", False),
}  # fmt: skip


@pytest.mark.parametrize("name", INITIALISED)
def test_what_is_read_is_initialised_only_where_it_was_written(name: str) -> None:
    body, holds = INITIALISED[name]
    assert (claims(body)["initialised", "t"].verdict == "proved") is holds
