"""What some rows of each benchmark's result are, in float64: picked of what with_numpy.py says of a program.

Needs NumPy only: this file travels in bundles, and with it the `OTHERS`.  A benchmark is called like its program, with its
sizes behind it.  What is not said in with_numpy.py is said by examples/searched.
"""

import re
from functools import cache
from pathlib import Path
from runpy import run_path

import numpy as np

HERE = Path(__file__).parent
EXAMPLES = HERE.parent
WITH_NUMPY = HERE / "with_numpy.py"
CARRIED = HERE / "searched_samples.py"
SEARCHED = CARRIED if CARRIED.exists() else EXAMPLES / "searched" / "samples.py"
OTHERS = (
    (WITH_NUMPY, WITH_NUMPY.name),
    (SEARCHED, CARRIED.name),
    (EXAMPLES / "low_level" / "samples.py", "low_level_samples.py"),
)
"""The files that this one needs, and their names in a bundle."""


@cache
def said(file):
    return run_path(str(file))


def program_of(name):
    """The name of a benchmark without its sizes."""
    return re.sub(r"(_\d+)+$", "", name)


def wide(a):
    if isinstance(a, tuple):
        return tuple(map(wide, a))
    return a if np.issubdtype(np.asarray(a).dtype, np.integer) else np.asarray(a, np.float64)


def __getattr__(name):
    whole, others = said(WITH_NUMPY).get(program_of(name)), said(SEARCHED)
    if whole is None:
        return others.get(program_of(name)) or others["__getattr__"](program_of(name))

    def picked(rows, *arguments):
        found = whole(*map(wide, arguments))
        return tuple(part[rows] for part in found) if isinstance(found, tuple) else found[rows]

    return picked
