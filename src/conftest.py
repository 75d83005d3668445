"""Names that the doctests of the semantics use without importing them."""

from __future__ import annotations

from typing import Any

import pytest

from relift.semantics.catalogue import interpret
from relift.semantics.interpreter import Exact, World, evaluate
from relift.semantics.language import vocabulary as language
from relift.semantics.notation import printer
from relift.semantics.notation.parser import parse_term
from relift.semantics.syntax import binding, signatures, terms, types


@pytest.fixture(autouse=True)
def doctest_names(doctest_namespace: dict[str, Any]) -> None:
    """The vocabulary of the language, and two helpers that read a printed term."""
    for module in (types, terms, signatures, binding, language, printer):
        public = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
        doctest_namespace.update({name: getattr(module, name) for name in public})
    doctest_namespace.update({"Exact": Exact, "World": World, "evaluate": evaluate})
    doctest_namespace["interpret"] = interpret
    doctest_namespace["parse"] = lambda text, **names: parse_term(text, names)
