"""What C's preprocessor makes of a kernel by others: joined lines, and what only the compiler of a device defines."""

from __future__ import annotations

import pytest

from relift.compiler.foreign.reading.preprocessing import preprocessed
from relift.compiler.text.lexing import NotUnderstood

ASKED = "#if {}\nmany;\n#else\nfew;\n#endif\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a; // b \\\n c;\nd;", "a; d;"),
        ("a; // b \\  \n c;\nd;", "a; d;"),
        ("a; // b\r\n c;\r\nd;", "a; c; d;"),
        ("a; /* b \\\n */ c;", "a; c;"),
        ("#define TWO 1 + \\\n 1 // one \\\n more\nTWO;", "1 + 1;"),
        ("ker\\\nnel;", "kernel;"),
        ("#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#endif\na;", "a;"),
        ("#ifndef cl_khr_fp64\n#error needs doubles\n#endif\na;", "a;"),
        (ASKED.format("MANY"), "few;"),
    ],
)
def test_a_text_is_what_every_compiler_makes_of_it(text: str, left: str) -> None:
    """Lines are joined before comments end; who builds a kernel defines its other macros."""
    lines = preprocessed(text, "f.cl", {}).splitlines()
    said = " ".join(" ".join(line for line in lines if not line.startswith("#")).split())
    assert said == left


@pytest.mark.parametrize(
    "asked",
    [
        "__OPENCL_VERSION__ < 300",
        "defined(cl_khr_fp64)",
        "defined(__ENDIAN_LITTLE__) && !defined(cl_amd_fp64)",
        "!__IMAGE_SUPPORT__",
    ],
)
def test_a_text_that_hangs_on_the_compiler_is_not_understood(asked: str) -> None:
    """One device would run what another does not, and only one of them is the right kernel; --define decides."""
    with pytest.raises(
        NotUnderstood, match=r"kernels that differ by what .* is \(--define says it\)"
    ):
        preprocessed(ASKED.format(asked), "f.cl", {})
    given = {
        "__OPENCL_VERSION__": "120", "cl_khr_fp64": "1", "__ENDIAN_LITTLE__": "1", "cl_amd_fp64": "1",
        "__IMAGE_SUPPORT__": "1",
    }  # fmt: skip
    assert preprocessed(ASKED.format(asked), "f.cl", given)


@pytest.mark.parametrize(
    "text",
    [
        "a; // b \f c;",
        "a; // b \r c;",
        "a; // b \u2028 c;",
        "a; // b ??/\nc;",
        "#pragma OPENCL SELECT_ROUNDING_MODE rtz\na;",
        "#error no\n",
        "#if 1 +\n#endif\n",
    ],
)
def test_what_compilers_read_in_different_ways_is_not_understood(text: str) -> None:
    """Trigraphs, pragmas that change numbers, and what no compiler takes."""
    with pytest.raises(NotUnderstood):
        preprocessed(text, "f.cl", {})
