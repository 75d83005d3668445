"""The patterns: name, typing rule, meaning, documentation, each in one place.

    algorithmic   what is computed
    sequential    in order, one element after the other
    lookups       from elements elsewhere, at indices that are data
    layout        where elements are
    borders       what is around an array
    opencl        who computes, and where it is stored
    vectors       whose lanes are processed at once
    variants      one definition for what differs in a parameter only

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
"""Every pattern by its name, in the order of the parts."""
