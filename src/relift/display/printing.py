"""Blocks as HTML: every text is escaped here, and nothing is looked up elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from relift.display.blocks import (
    Bars,
    Block,
    Cells,
    Code,
    Folded,
    Graph,
    Nested,
    Note,
    Place,
    Roof,
    Table,
    Title,
    Words,
)
from relift.display.cells import depth
from relift.display.graphs import svg as graph_svg
from relift.display.rooflines import svg


def html(blocks: Sequence[Block]) -> str:
    """Blocks as HTML, without a style.

    >>> from relift.display.blocks import Cells, Words
    >>> from relift.display.printing import html
    >>> html([Words("a < b")])
    '<p class="plain">a &lt; b</p>'
    """
    return "".join(map(_block, blocks))


def fragment(blocks: Sequence[Block]) -> str:
    """The same with its style, to stand in a page of others, as a notebook is."""
    return f'<div class="relift"><style>{style()}</style>{html(blocks)}</div>'


def document(title: str, blocks: Sequence[Block]) -> str:
    """The same as one self-contained page."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{style()} body{{margin:2em auto;max-width:70em;padding:0 1em}}</style>"
        f'<body class="relift">{html(blocks)}</body></html>\n'
    )


@cache
def style() -> str:
    """How all displays look."""
    return files("relift.display").joinpath("display.css").read_text(encoding="utf-8")


def _block(block: Block) -> str:
    match block:
        case Title(text, mood):
            return f'<h3 class="{mood}">{escape(text)}</h3>'
        case Words(text, mood):
            return f'<p class="{mood}">{escape(text)}</p>'
        case Code():
            return f'<pre tabindex="0"><code>{"".join(_lines(block))}</code></pre>'
        case Table():
            return _table(block)
        case Cells(name, value, marked):
            return (
                f'<figure class="cells" tabindex="0"><figcaption>{escape(name)}</figcaption>'
                f"{_cells(value, (), marked, depth(value))}</figure>"
            )
        case Bars(title, rows):
            return _bars(title, rows)
        case Roof():
            said = f"{block.device}: {block.bandwidth:g} GB/s, {block.peak:g} GFLOP/s"
            return f"<figure>{svg(block)}<figcaption>{escape(said)}</figcaption></figure>"
        case Graph(title):
            return (
                f'<figure class="wide" tabindex="0">{graph_svg(block)}'
                f"<figcaption>{escape(title)}</figcaption></figure>"
            )
        case Folded(title, blocks):
            return f"<details><summary>{escape(title)}</summary>{html(blocks)}</details>"


def _lines(code: Code) -> Iterator[str]:
    """The lines of a text, with what is marked in them, and behind each what is said of it."""
    begin = 0
    for number, line in enumerate(code.text.split("\n")):
        end, at = begin + len(line), begin
        shown = ""
        for first, last in sorted(code.marked):
            first, last = max(first, at), min(last, end)
            first += len(code.text[first:last]) - len(
                code.text[first:last].lstrip()
            )  # no indentation
            if first < last:
                shown += escape(code.text[at:first])
                shown += f"<mark>{escape(code.text[first:last])}</mark>"
                at = last
        shown += escape(code.text[at:end])
        yield shown + "".join(map(_note, code.notes.get(number, ()))) + "\n"
        begin = end + 1


def _note(note: Note) -> str:
    return f' <span class="note {note.mood}">{escape(note.text)}</span>'


def _table(table: Table) -> str:
    heading = "".join(f'<th scope="col">{escape(title)}</th>' for title in table.heading)
    moods = table.moods or ("plain",) * len(table.rows)
    rows = "".join(
        f'<tr class="{mood}">' + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row, mood in zip(table.rows, moods, strict=True)
    )
    return f'<div class="wide" tabindex="0"><table><thead><tr>{heading}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cells(value: Nested, at: Place, marked: Collection[Place], dimensions: int) -> str:
    """A row of cells, rows below each other, and tables of these."""
    if isinstance(value, str):
        return f'<span class="cell{_mark(at, marked)}">{escape(value)}</span>'
    if dimensions == 2:
        rows = "".join(
            f'<tr class="row{_mark((*at, i), marked)}">'
            + "".join(_data(cell, (*at, i, j), marked) for j, cell in enumerate(row))
            + "</tr>"
            for i, row in enumerate(value)
            if not isinstance(row, str)
        )
        return f'<table class="array{_mark(at, marked)}">{rows}</table>'
    if dimensions == 1:
        row = "".join(_data(cell, (*at, i), marked) for i, cell in enumerate(value))
        empty = "" if row else '<td class="empty">no elements</td>'
        return f'<table class="array{_mark(at, marked)}"><tr>{row}{empty}</tr></table>'
    parts = "".join(_cells(v, (*at, i), marked, dimensions - 1) for i, v in enumerate(value))
    return f'<span class="nest{_mark(at, marked)}">{parts}</span>'


def _data(cell: Nested, at: Place, marked: Collection[Place]) -> str:
    inner = escape(cell) if isinstance(cell, str) else _cells(cell, at, marked, depth(cell))
    return f'<td class="{_mark(at, marked).strip()}">{inner}</td>'


def _mark(at: Place, marked: Collection[Place]) -> str:
    return " marked" if at in marked else ""


def _bars(title: str, rows: Sequence[tuple[str, float, str]]) -> str:
    most = max((amount for _, amount, _ in rows), default=0) or 1
    shown = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        f'<td><meter min="0" max="{most:g}" value="{amount:g}">{escape(said)}</meter></td>'
        f"<td>{escape(said)}</td></tr>"
        for name, amount, said in rows
    )
    return f'<div class="wide" tabindex="0"><table class="bars"><caption>{escape(title)}</caption>{shown}</table></div>'
