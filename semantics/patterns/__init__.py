"""The patterns: name, typing rule, meaning, documentation, each in one place.

    algorithmic   what is computed
    sequential    in order, one element after the other
    lookups       from elements elsewhere, at indices that are data
    layout        where elements are
    borders       what is around an array
    opencl        who computes, and where it is stored
    vectors       whose lanes are processed at once
    variants      one definition for what differs in a parameter only
    letters       the letters of signatures
    repeated      which patterns a host launches several kernels for

A pattern is all that is known of it, on its class: see `Pattern`.  Adding one is a class here, a definition in
`proofs_tests/rocq/Patterns.v` and a row in the tests.

Arrays mean Python lists, tuples mean tuples, vectors mean lists of their lanes.  `meaning` is a function of
the pattern's parameters, by name, of any size that its signature names, of `number`, which makes a whole
number of the domain, and of `unspecified`, which makes an element whose content is left open.  OpenCL patterns mean what their algorithmic counterpart means: where something
is computed or stored changes no value.  The docstring of each names the law that characterises it; the
tests check that law on free symbols.

Sources: LIFT (CGO'17) section 3; RISE where it is more exact (a window ends at the end, chunks divide).
"""

from __future__ import annotations

from types import ModuleType

from relift.plugins import AWAITED, working
from relift.semantics.patterns import (
    algorithmic,
    borders,
    layout,
    lookups,
    opencl,
    sequential,
    vectors,
)
from relift.semantics.patterns.algorithmic import *
from relift.semantics.patterns.borders import *
from relift.semantics.patterns.layout import *
from relift.semantics.patterns.lookups import *
from relift.semantics.patterns.opencl import *
from relift.semantics.patterns.sequential import *
from relift.semantics.patterns.vectors import *
from relift.semantics.syntax.terms import Pattern

PATTERNS: dict[str, type[Pattern]] = {
    found.name: found
    for part in (algorithmic, sequential, lookups, layout, borders, opencl, vectors)
    for found in vars(part).values()
    if isinstance(found, type) and found.__module__ == part.__name__ and hasattr(found, "name")
}
"""Every pattern by its name, in the order of the parts; those of plug-ins come last."""


def unfit(part: object) -> str | None:
    """Why a plug-in brings no patterns; else they are among `PATTERNS`, or will be when its module has been imported.

    A user may import that module before any of Relift; then it is this import that came here.
    """
    if not isinstance(part, ModuleType):
        return f"it names {part!r}, no module"
    if getattr(part.__spec__, "_initializing", False):
        AWAITED[part.__name__] = _take
        return None
    found = [p for p in vars(part).values() if isinstance(p, type) and issubclass(p, Pattern)]
    own = [p for p in found if p.__module__ == part.__name__ and hasattr(p, "name")]
    if not own:
        return "its module defines no pattern"
    if taken := [p.name for p in own if PATTERNS.get(p.name, p) is not p]:
        return f"there is a pattern {taken[0]} already"
    for pattern in own:
        _take(pattern)
    return None


def _take(pattern: type[Pattern]) -> None:
    if hasattr(pattern, "name"):
        PATTERNS.setdefault(pattern.name, pattern)


working("patterns", unfit)
