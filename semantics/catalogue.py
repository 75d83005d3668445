"""The pattern catalogue for readers: `python -m relift.semantics.catalogue` prints it as Markdown.

All of it comes from the patterns themselves: the docstring, the signature, and the example, which is run.
"""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator

from relift.semantics.domains import Exact
from relift.semantics.interpreter import World, evaluate
from relift.semantics.notation.parser import parse_term
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input, Pattern
from relift.semantics.syntax.types import Array, Type, i32

FACTS = ("Law", "Rejects", "Source")
"""What the lines after the first sentence of a docstring begin with, in this order."""


def interpret(text: str, **inputs: object) -> object:
    """The meaning of a printed term on nested lists of whole numbers.

    >>> from relift.semantics.catalogue import interpret
    >>> interpret("map(lambda x: x + 1, xs)", xs=[1, 2])
    [2, 3]
    """
    names = {name: Input(name, _type_of(value)) for name, value in inputs.items()}
    return evaluate(parse_term(text, names), World(inputs=inputs, domain=Exact()))


def _type_of(value: object) -> Type:
    if isinstance(value, list):
        return Array(_type_of(value[0]), Size.of(len(value)))
    return i32


def facts(pattern: type[Pattern]) -> dict[str, str]:
    """What the docstring states, by its heading; the sentences before it are under the empty one.

    >>> from relift.semantics.catalogue import facts
    >>> from relift.semantics.patterns import PATTERNS
    >>> facts(PATTERNS["transpose"])["Law"]
    'transpose(transpose(xss)) == xss.'
    """
    found: dict[str, list[str]] = {"": []}
    heading = ""
    for line in inspect.cleandoc(pattern.__doc__ or "").split(">>>")[0].splitlines():
        word, _, rest = line.partition(": ")
        if word in FACTS:
            heading, line = word, rest
            found[heading] = []
        found[heading].append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def example(pattern: type[Pattern]) -> tuple[str, object]:
    """The example of a pattern as it is written, after what it imports, and its value, computed now."""
    *_, found = doctest.DocTestParser().get_examples(pattern.__doc__ or "")
    return found.source.strip(), eval(found.source, {"interpret": interpret})


def lowering(pattern: type[Pattern]) -> str:
    """Whether kernels contain a pattern, with what to write instead, and whether a search takes it.

    >>> from relift.semantics.catalogue import lowering
    >>> from relift.semantics.patterns import PATTERNS
    >>> lowering(PATTERNS["map_warp"])
    'no kernel contains it (OpenCL has no warps; use map_lcl), and a search refuses it.'
    """
    instead = f" ({pattern.instead})" if pattern.instead else ""
    kernel = "kernels contain it" if pattern.compiled else f"no kernel contains it{instead}"
    return f"{kernel}, and a search {'takes' if pattern.searched else 'refuses'} it."


def page(pattern: type[Pattern]) -> str:
    """The page of one pattern."""
    stated = facts(pattern)
    source, value = example(pattern)
    lines = [f"### {pattern.name}", "", stated[""], "", f"    {pattern.signature}", ""]
    lines += [f"* {name}: {' '.join(stated[name].split())}" for name in FACTS if name in stated]
    lines.append(f"* Lowering: {lowering(pattern)}")
    return "\n".join([*lines, "", "```python", f">>> {source}", repr(value), "```", ""])


def catalogue() -> Iterator[str]:
    """The pages of all patterns, under the headings of their parts."""
    part = ""
    for pattern in PATTERNS.values():
        module = inspect.getmodule(pattern)
        assert module is not None, f"cannot happen: {pattern.name} has no module"
        if module.__name__ != part:
            part = module.__name__
            yield f"## {(module.__doc__ or '').strip()}\n"
        yield page(pattern)


if __name__ == "__main__":
    print("# The patterns\n")
    print("\n".join(catalogue()))
