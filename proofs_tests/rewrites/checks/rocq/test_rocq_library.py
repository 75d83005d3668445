"""The hash of a statement covers the definitions that it is made of, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from relift.rewrites.checks.rocq import library as rocq_library
from relift.rewrites.checks.rocq.definedness import proof_hash, statement_hash
from relift.rewrites.checks.rocq.library import DEFINITIONS, LIBRARY, ORDER, made_of, parts
from relift.rewrites.checks.rocq.statements import proposition
from relift.rewrites.library import RULES

Change = Callable[[str, str, str], None]


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Change]:
    """Puts one text in the place of another in a copy of the library."""
    for name in ORDER:
        (tmp_path / f"{name}.v").write_text((LIBRARY / f"{name}.v").read_text())
    monkeypatch.setattr(rocq_library, "LIBRARY", tmp_path)

    def forget() -> None:
        rocq_library.library_file.cache_clear()
        rocq_library.library_parts.cache_clear()

    def changed(file: str, old: str, new: str) -> None:
        path = tmp_path / f"{file}.v"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        forget()

    yield changed
    monkeypatch.undo()
    forget()


def hashes() -> dict[str, str]:
    """The hash of every statement of a few rules."""
    names = ("map_fusion", "drop_map", "slide_map", "pad_clamp_as_concat", "reduce_map_fusion")
    return {name: statement_hash(RULES[name]) for name in names if name in RULES}


def test_a_new_definition_changes_no_statement(change: Change) -> None:
    before = hashes()
    new = (
        "Definition evens (A : Type) (xs : arr A) : arr A := fun i => xs (2 * i).\nDefinition drop "
    )
    change("Patterns", "Definition drop ", new)

    assert hashes() == before


def test_a_comment_or_a_lemma_changes_no_statement(change: Change) -> None:
    before = hashes()
    change(
        "Laws",
        "Section Laws.",
        "(* words. Definition x. *)\nLemma l : True. Proof. auto. Qed.\nSection Laws.",
    )

    assert hashes() == before


def test_a_changed_definition_changes_what_is_made_of_it(change: Change) -> None:
    """`map` is in two of these statements' sides; `drop` in one."""
    before = hashes()
    change("Patterns", "arr B := fun i => f (xs i).", "arr B := fun i => f (xs (i + 0)).")

    assert hashes()["map_fusion"] != before["map_fusion"]

    before = hashes()
    change("Patterns", "Definition drop (A : Type)", "Definition drop (A  :  Set)")
    after = hashes()

    assert after["drop_map"] != before["drop_map"]
    assert after["map_fusion"] == before["map_fusion"]


def test_what_a_definition_is_made_of_counts_too(change: Change) -> None:
    """`reduce` is a `fold`, which no statement mentions."""
    rule = RULES["reduce_map_fusion"]
    assert "fold" not in proposition(rule)
    before = statement_hash(rule)
    change("Patterns", "| S k => f (fold f z k xs) (xs k)", "| S k => f (fold f z k xs) (xs 0)")

    assert statement_hash(rule) != before


def test_flags_scopes_and_sections_count(change: Change) -> None:
    """A section's variables are part of each of its definitions, a file's flags of all statements."""
    rule = RULES["partial_reduce_chunks"]
    before = statement_hash(rule), statement_hash(RULES["map_fusion"])
    change(
        "Laws",
        "Variables (A : Type) (R : rel A) (op : A -> A -> A).",
        "Variables (A : Set) (R : rel A) (op : A -> A -> A).",
    )
    after = statement_hash(rule), statement_hash(RULES["map_fusion"])
    assert after[0] != before[0]
    assert after[1] == before[1]
    change("Patterns", "Local Open Scope list_scope.", "Local Open Scope Z_scope.")
    assert statement_hash(RULES["map_fusion"]) != after[1]


def test_a_lemma_that_the_tactic_uses_counts_for_the_proof_alone(change: Change) -> None:
    rule = RULES["join_split"]
    statement, proof = statement_hash(rule), proof_hash(rule)
    change("Tactic", "Ltac relift :=", "Ltac unused := auto.\nLtac relift :=")
    assert proof_hash(rule) == proof
    change("Tactic", "Ltac relift :=", "Ltac relift := idtac;")

    assert statement_hash(rule) == statement
    assert proof_hash(rule) != proof


def test_no_sentence_of_the_library_is_lost() -> None:
    """Every named thing is a part, and what names nothing is an import, a flag, a scope or a hint."""
    for name in ORDER:
        found, shared = parts((LIBRARY / f"{name}.v").read_text())
        assert found
        for sentence in filter(None, shared.split(". ")):
            assert sentence.split()[0] in {"From", "Set", "Local", "Arguments"}, sentence


def test_constructors_fields_and_mutual_definitions_are_names() -> None:
    found, _ = parts(
        "Inductive o (P : Prop) := holds (p : P) | stopped. Record r := { one : nat; two : nat }. "
        "Fixpoint even (n : nat) := odd n with odd (n : nat) := even n."
    )

    assert [part.names for part in found] == [
        ("o", "holds", "stopped"), ("r", "one", "two"), ("even", "odd"),
    ]  # fmt: skip


def test_a_statement_contains_what_it_is_made_of_only() -> None:
    text = made_of(proposition(RULES["map_fusion"]), DEFINITIONS)

    assert "Definition map " in text
    assert "Definition drop " not in text
