"""A term as text with one of its parts marked."""

from __future__ import annotations

from typing import TypeAlias

from relift.semantics.notation.printer import Style, show
from relift.semantics.syntax.binding import Position, replace_at, term_at
from relift.semantics.syntax.terms import Input, Term

Span: TypeAlias = tuple[int, int]

_HERE = "\N{LOWER ONE EIGHTH BLOCK}"  # no name of a program holds it


def marked(t: Term, position: Position, style: Style = "nested") -> tuple[str, Span]:
    """The text of a term, and where the text of its part at a position begins and ends in it.

    >>> from relift import f32
    >>> from relift.semantics.notation.marked import marked
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> t = parse_term("join(map(lambda c: c, split(2, xs)))", xs=Input("xs", f32[4]))
    >>> from relift.semantics.syntax.binding import positions
    >>> [place] = [place for place, part in positions(t) if str(part.type) == "f32[2, 2]" and len(place) == 2]
    >>> text, (begin, end) = marked(t, place)
    >>> text[begin:end]
    'split(2, xs)'
    """
    part = term_at(t, position)
    around = show(replace_at(t, position, Input(_HERE, part.type)), style)
    begin = around.find(_HERE)
    if begin < 0:  # what is not printed, such as the body of a function that stands for itself
        return show(t, style), (0, 0)
    line = around[around.rfind("\n") + 1 : begin] if "\n" in around[:begin] else around[:begin]
    indent = " " * (len(line) - len(line.lstrip()))
    inner = show(part, style, width=max(100 - len(indent), 40)).replace("\n", "\n" + indent)
    end = begin + len(inner)
    return around[:begin] + inner + around[begin + len(_HERE) :], (begin, end)
