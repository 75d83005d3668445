"""What is done to every program before it is searched, whatever comes of it."""

from __future__ import annotations

from collections.abc import Mapping

from relift.egraph.search.derived import after
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.tactics.combinators import (
    Tactic,
    any_rule,
    apply,
    attempt,
    everywhere,
    first,
    repeat,
    then,
)
from relift.rewrites.tactics.folds.beside import (
    results_that_share,
    results_together,
    zipped_of_one_array,
)
from relift.rewrites.tactics.folds.recurrences import by_operators
from relift.rewrites.tactics.folds.windows import results_of_windows
from relift.rewrites.tactics.looked_up import computed_where_looked_up
from relift.rewrites.tactics.nests.cells import in_cells
from relift.rewrites.tactics.nests.normal_form import through_what_is_read
from relift.rewrites.tactics.nests.where_read import repeated, through_zips
from relift.rewrites.tactics.sharing import inlined, once_for_all
from relift.rewrites.tactics.steps.iterations import of_elements
from relift.rewrites.tactics.steps.states import components_apart, flat_states, numbers_apart
from relift.rewrites.tactics.transpositions import interchanged
from relift.semantics.language.programs import Program


def _element_by_element(*, scans: bool) -> Tactic:
    """Steps that change each element of arrays on its own are done for each, whatever else their states hold, and in whatever tuples."""
    alone = first(numbers_apart(), of_elements(scans=scans))
    return then(
        attempt(then(flat_states(), alone)),
        attempt(numbers_apart()),
        attempt(of_elements(scans=scans)),
    )


# a CPU's core scans, and writes, rows in vectors; a scan of each column, and cells that are written together, are forms beside that
_ELEMENTS: Mapping[str, Tactic] = {
    "cpu": _element_by_element(scans=False),
    "gpu": _element_by_element(scans=True),
}

_FIRST: Mapping[str, tuple[Tactic, ...]] = {
    "cpu": (attempt(inlined()), _ELEMENTS["cpu"]),
    "gpu": (attempt(inlined()), _ELEMENTS["gpu"], attempt(in_cells())),
}

IN_ORDER: Tactic = everywhere(attempt(any_rule("map_to_seq", "reduce_to_seq")))
"""Every map and every fold in order, which stands for no kernel."""

_READ_ALONE: Tactic = then(
    attempt(apply("unzip_zip")), through_what_is_read(), repeat(apply("map_identity"))
)
"""What a map goes through beside what it reads is no longer gone through."""


def _read(*, again: bool) -> Tactic:
    return then(
        attempt(interchanged()),
        attempt(computed_where_looked_up()),
        attempt(repeated()),
        attempt(through_zips()),
        attempt(components_apart(again=again)),
        attempt(then(by_operators(), everywhere(_READ_ALONE))),
    )


# forces on 5003 bodies take two cores 3.6 ms as a fold to three numbers, and 10.1 as three, by the model; a GPU has one loop for these again
_READ: Mapping[str, Tactic] = {"cpu": _read(again=False), "gpu": _read(again=True)}
"""Tables are computed row by row, what folds and maps read is computed where they read it, and folds and scans are those of operators."""


def _prepared(kind: str, *, rows: bool) -> Tactic:
    return then(
        *_FIRST[kind],
        attempt(zipped_of_one_array()),
        attempt(once_for_all()),
        attempt(first(results_together, results_that_share(rows=rows), results_of_windows)),
        _READ[kind],
    )


# a group of a GPU keeps a row in registers; a CPU's layer norm of 1000 numbers of such a row is estimated a tenth slower
PREPARED: Mapping[str, Tactic] = {kind: _prepared(kind, rows=kind == "gpu") for kind in _FIRST}
"""By the kind of the device."""
ROWS_APART: Mapping[str, Tactic] = {kind: _prepared(kind, rows=False) for kind in _FIRST}
"""The same, but rows that are a result and are folded for another are computed for each."""


def as_read(source: Program, said: Derivation, kind: str) -> Derivation | None:
    """The program with what its folds and maps read computed there, and with steps of elements; None where it is written so."""
    read = after(source, said, then(_ELEMENTS[kind], _READ[kind]))
    return read if len(read.steps) > len(said.steps) else None
