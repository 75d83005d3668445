"""What atoms can say, by the words; `{}` stands for variables, `<…>` for a word that is part of the atom.

>>> from relift.compiler.idioms.constraints.atoms import known
>>> atom = known("{} is load instruction")
>>> atom[0].name, atom[1]
('instruction', 'load')
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class AtomKind:
    """An atom: its words, the relation that it names; `of_sets` where variables stand for sets of values."""

    words: str
    name: str
    meaning: str
    of_sets: bool = False


ATOMS = (
    AtomKind("{} is <opcode> instruction", "instruction", "it is computed by that instruction"),
    AtomKind("{} is an integer", "integer", "its type is one of integers"),
    AtomKind("{} is a float", "float", "its type is one of floats"),
    AtomKind("{} is a pointer", "pointer", "its type is that of addresses"),
    AtomKind("{} is a constant", "constant", "it is a number"),
    AtomKind("{} is an argument", "argument", "it is an argument of the function"),
    AtomKind("{} is preexecution", "preexecution", "it is known before the function runs"),
    AtomKind("{} is unused", "unused", "nothing uses it"),
    AtomKind("{} is integer zero", "integer zero", "it is 0"),
    AtomKind("{} is floating point zero", "float zero", "it is 0.0"),
    AtomKind("{} is first argument of {}", "argument 0", "an operand, by its place"),
    AtomKind("{} is second argument of {}", "argument 1", "an operand, by its place"),
    AtomKind("{} is third argument of {}", "argument 2", "an operand, by its place"),
    AtomKind("{} is fourth argument of {}", "argument 3", "an operand, by its place"),
    AtomKind("{} has data flow to {}", "data flow", "it is an operand"),
    AtomKind("{} has control flow to {}", "control flow", "it may be executed directly before"),
    AtomKind("{} has control dominance to {}", "control dependence", "the branch decides whether it is executed"),
    AtomKind("{} has dependence edge to {}", "dependence", "data flow or control dominance"),
    AtomKind("{} reaches phi node {} from {}", "phi", "an operand of a phi, and the branch that it comes from"),
    AtomKind("{} control flow dominates {}", "dominates", "every path there goes through it"),
    AtomKind("{} strictly control flow dominates {}", "strictly dominates", "and it is another"),
    AtomKind("{} control flow post dominates {}", "post dominates", "every path from there goes through it"),
    AtomKind("{} strictly control flow post dominates {}", "strictly post dominates", "and it is another"),
    AtomKind("{} spans block to {}", "block", "the first and the last instruction of a block"),
    AtomKind("{} is the same as {}", "same", "one value"),
    AtomKind("{} is not the same as {}", "different", "two values"),
    AtomKind("{} is the same set as {}", "same set", "the same values, in any order", of_sets=True),
    AtomKind("all control flow from {} to {} passes through {}", "passes", "every path between the two"),
    AtomKind(
        "all flow from {} or any origin to any of {} passes through at least one of {}",
        "generalised dominance",
        "data comes from the loads, calls and arguments that are named, and from no others",
        of_sets=True,
    ),
    AtomKind("{} has attribute pure", "pure", "a call that only computes its result"),
    AtomKind("{} begins a loop", "loop", "the first instruction of a natural loop"),
    AtomKind("{} begins a counted loop", "counted", "and its iterations are counted before it begins"),
    AtomKind("{} ends the loop at {}", "loop end", "the only branch that leaves the loop"),
    AtomKind("{} is the iterator of the loop at {}", "iterator", "the value that counts its iterations"),
    AtomKind("{} is inside the loop at {}", "inside", "it is executed in it"),
    AtomKind("{} belongs to the loop at {}", "belongs", "it is executed in it, and in no loop inside"),
    AtomKind("{} is directly inside the loop at {}", "directly inside", "the beginning of a loop in the loop"),
    AtomKind("{} does not change in the loop at {}", "invariant", "it is the same in each iteration"),
    AtomKind(
        "{} is an affine access to {} in the loop at {}",
        "affine access",
        "a load or a store in an array, whose cells follow the counters of the loop and of loops inside",
    ),
    AtomKind("{} moves with {}", "moves", "an access goes to another cell with each step of an iterator"),
    AtomKind("{} stays with {}", "stays", "an access goes to the same cell whatever an iterator is"),
    AtomKind("{} accesses {} at {}", "indexed", "an access to an array at an index that is a value"),
    AtomKind("{} is data in the loop at {}", "data", "an integer that is read or computed from what is read there"),
    AtomKind("{} is contiguous in {}", "contiguous", "an access goes to the next cell, or the one before, with each step"),
    AtomKind("{} skips cells with {}", "skipping", "an access goes further than to the next cell with each step"),
    AtomKind("{} accesses the same cell as {}", "same cell", "of the same array, in each iteration"),
    AtomKind("{} accesses a neighbour of {}", "neighbour", "cells at a fixed distance, array by array"),
    AtomKind("{} reads beside {}", "beside", "loads of two cells of one array at a fixed distance"),
    AtomKind("{} reads what {} wrote one step before in {}", "previous", "the cell of the iteration before"),
    AtomKind("{} has write access to the array of {}", "same array", "a store into the array that is read"),
    AtomKind("{} carries {} to {} in the loop at {}", "carried", "a phi: what it begins with, and what it becomes"),
    AtomKind("{} adds to {}", "folds add", "it is the other plus what does not depend on it, or the other"),
    AtomKind("{} multiplies {}", "folds mul", "it is the other times what does not depend on it, or the other"),
    AtomKind("{} takes the minimum of {}", "folds minimum", "it is the other or something less"),
    AtomKind("{} takes the maximum of {}", "folds maximum", "it is the other or something greater"),
    AtomKind("{} combines {}", "folds", "it is order-independent: a sum, product, minimum, maximum, or of bits"),
    AtomKind("{} is computed inside the loop at {}", "kernel", "from loads, fixed values and iterators only"),
    AtomKind(
        "{} is independent of other iterations in the loop at {}",
        "independent",
        "a store into an array of which the loop reads and writes that cell only",
    ),
    AtomKind(
        "{} goes only into {} in the loop at {}", "goes only", "no other store, call, load or iteration depends on it"
    ),
    AtomKind("{} stands alone in the loop at {}", "alone", "the only store there, and nothing is called"),
)  # fmt: skip


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], AtomKind], ...]:
    found: list[tuple[re.Pattern[str], AtomKind]] = []
    for kind in ATOMS:
        text = re.escape(kind.words).replace(r"\{\}", r"\{\}")
        found.append((re.compile(re.sub(r"<\w+>", r"([a-z]+)", text) + "$"), kind))
    return tuple(found)


_OPCODES = frozenset(
    [
        "load",
        "store",
        "phi",
        "add",
        "sub",
        "mul",
        "sdiv",
        "udiv",
        "srem",
        "urem",
        "shl",
        "ashr",
        "lshr",
        "and",
        "or",
        "xor",
        "icmp",
        "fcmp",
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "fneg",
        "select",
        "branch",
        "br",
        "switch",
        "call",
        "gep",
        "getelementptr",
        "sext",
        "zext",
        "trunc",
        "fpext",
        "fptrunc",
        "sitofp",
        "fptosi",
        "return",
        "ret",
    ]
)


@cache
def known(words: str) -> tuple[AtomKind, str] | None:
    """The atom that words say, and the word that is part of it."""
    for pattern, kind in _patterns():
        if m := pattern.match(words):
            word = m[1] if m.groups() else ""
            if word and word not in _OPCODES:
                return None
            return kind, word
    return None
