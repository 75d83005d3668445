"""What is done to every program before it is searched, whatever comes of it."""

from __future__ import annotations

from collections.abc import Mapping

from relift.egraph.search.derived import after
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.tactics.combinators import Tactic, attempt, first, then
from relift.rewrites.tactics.folds.beside import (
    results_that_share,
    results_together,
    zipped_of_one_array,
)
from relift.rewrites.tactics.folds.recurrences import by_operators
from relift.rewrites.tactics.nests.cells import in_cells
from relift.rewrites.tactics.nests.where_read import through_zips
from relift.rewrites.tactics.sharing import inlined
from relift.rewrites.tactics.steps.iterations import of_elements
from relift.rewrites.tactics.steps.states import flat_states, numbers_apart
from relift.rewrites.tactics.transpositions import interchanged
from relift.rewrites.tactics.unchanging import once_for_all
from relift.semantics.language.programs import Program


def _element_by_element(*, scans: bool) -> Tactic:
    """Steps that change each element of arrays on its own are done for each, whatever else their states hold, and in whatever tuples."""
    alone = first(numbers_apart(), of_elements(scans=scans))
    return then(
        attempt(then(flat_states(), alone)),
        attempt(numbers_apart()),
        attempt(of_elements(scans=scans)),
    )


_FIRST: Mapping[str, tuple[Tactic, ...]] = {
    # a CPU's core scans, and writes, rows in vectors; a scan of each column, and cells that are written together, are forms beside that
    "cpu": (attempt(inlined()), _element_by_element(scans=False)),
    "gpu": (attempt(inlined()), _element_by_element(scans=True), attempt(in_cells())),
}

_READ: Tactic = then(attempt(through_zips()), attempt(by_operators()))
"""What folds and maps read is computed where they read it, and scans are those of operators."""


def _prepared(kind: str, *, rows: bool) -> Tactic:
    return then(
        *_FIRST[kind],
        attempt(interchanged()),
        attempt(zipped_of_one_array()),
        attempt(once_for_all()),
        attempt(first(results_together(), results_that_share(rows=rows))),
        _READ,
    )


# a group of a GPU keeps a row in registers; a CPU's layer norm of 1000 numbers of such a row is estimated a tenth slower
PREPARED: Mapping[str, Tactic] = {kind: _prepared(kind, rows=kind == "gpu") for kind in _FIRST}
"""By the kind of the device."""
ROWS_APART: Mapping[str, Tactic] = {kind: _prepared(kind, rows=False) for kind in _FIRST}
"""The same, but rows that are a result and are folded for another are computed for each."""


def as_read(source: Program, said: Derivation) -> Derivation | None:
    """The program with what its folds and maps read computed there, None where it is written so."""
    read = after(source, said, _READ)
    return read if len(read.steps) > len(said.steps) else None
