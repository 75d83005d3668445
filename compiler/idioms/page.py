"""A page that shows C with what is found in it in colour, beside the programs."""

from __future__ import annotations

from html import escape

from relift.compiler.idioms.lift import LiftedFile, LiftedIdiom

_COLOURS = ("#cde7ff", "#ffe3b8", "#d6f2c9", "#f6d2e4", "#e4dbff", "#fff3a6", "#c9f0ee", "#f3d3c1")
_STYLE = """
body { font-family: sans-serif; margin: 1.5em; color: #1b1b1b; background: #fff; }
main { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1.5em; align-items: start; }
pre { font-family: monospace; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; }
pre.c span { display: block; padding: 0 .4em; } pre.c i { color: #767676; font-style: normal; user-select: none; }
article { border-left: .6em solid; padding: .4em .8em; margin-bottom: 1em; } h2 { font-size: 1em; margin: .2em 0; }
ul { margin: .3em 0; padding-left: 1.2em; } .not { color: #8a1c1c; }
@media (max-width: 60em) { main { grid-template-columns: minmax(0, 1fr); } }
"""


def page(found: LiftedFile, text: str) -> str:
    """The page, whole and without any other file; all that is said in it is escaped.

    >>> from relift.compiler.idioms.lift import lift
    >>> from relift.compiler.idioms.page import page
    >>> text = "int f(int n, int *x) { int s = 0; for (int i = 0; i < n; i++) s += x[i];\\n return s; }"
    >>> shown = page(lift(text, runs=0), text)
    >>> "i &lt; n" in shown, "reduce(add, 0, x)" in shown
    (True, True)
    """
    title = escape(f"Idioms of {found.file}")
    said = "".join(
        f"<li><b>{escape(function)}</b>: {escape(reason)}</li>"
        for function, reason in found.skipped
    )
    left = f"<h2>Left as it is</h2><ul>{said}</ul>" if said else ""
    cards = (
        "".join(_card(i, idiom) for i, idiom in enumerate(found.idioms))
        or "<p>No idiom is found.</p>"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f'<body><h1>{title}</h1><main><pre class="c">{_source(found, text)}</pre>\n'
        f"<section>{cards}{left}</section></main></body></html>\n"
    )


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _source(found: LiftedFile, text: str) -> str:
    """The lines of the file, those of a find in its colour: of several the innermost."""
    lines = text.split("\n")
    of_line: dict[int, int] = {}
    sizes = sorted(enumerate(found.idioms), key=lambda x: -_length(x[1]))
    for number, idiom in sizes:
        last = idiom.line if idiom.extent is None else idiom.extent.last_line
        of_line.update(dict.fromkeys(range(idiom.line, max(last, idiom.line) + 1), number))
    shown: list[str] = []
    for line, code in enumerate(lines, start=1):
        colour = f' style="background:{_colour(of_line[line])}"' if line in of_line else ""
        shown.append(f'<span id="line-{line}"{colour}><i>{line:>4}</i>  {escape(code)}</span>')
    return "".join(shown)


def _length(idiom: LiftedIdiom) -> int:
    return 0 if idiom.extent is None else idiom.extent.last_line - idiom.extent.line


def _card(number: int, idiom: LiftedIdiom) -> str:
    head = f'<a href="#line-{idiom.line}">line {idiom.line}</a>, {escape(idiom.function)}: {escape(idiom.idiom)}'
    begin = f'<article style="border-color:{_colour(number)}"><h2>{head}</h2>'
    if idiom.lifted is None:
        return f'{begin}<p class="not">no program: {escape(str(idiom.reason))}</p></article>\n'
    meanings = {n: idiom.said(n) for n in idiom.lifted.sizes}
    named = [f"{n} is `{said}`" for n, said in meanings.items() if n != said]
    conditions = "".join(f"<li>{escape(c)}</li>" for c in (*named, *idiom.conditions))
    wrong = "" if idiom.evidence.difference is None else ' class="not"'
    return (
        f"{begin}<pre>{escape(str(idiom.lifted.program))}</pre>"
        + (f"<p>where</p><ul>{conditions}</ul>" if conditions else "")
        + f"<p{wrong}>{escape(str(idiom.evidence))}</p><p>{escape(str(idiom.proof))}</p></article>\n"
    )
