"""C files of many lines, for the speed of finding: loops only, or loops among what programs do beside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import cycle, islice

from proofs_tests.compiler.idioms.checks import FILES, FOLDER, expected

_BEGIN = re.compile(r"^[\w \*]*?[ \*](\w+)\([^;]*\) \{")
_BETWEEN = """static int state_{n};
int step_{n}(int a, int b) {{
  int c = a;
  if (a > b) {{
    c = a - b;
    state_{n} = c;
  }} else if (a == b) {{
    return step_of(c);
  }} else {{
    c = b + 1;
  }}
  switch (c & 3) {{
    case 0:
      c += state_{n};
      break;
    case 1:
      c = step_of(c);
      break;
    default:
      c ^= a;
  }}
  record(c);
  return c * 2;
}}
int check_{n}(struct item *i) {{
  if (i == 0)
    return -1;
  if (i->kind == {n}) {{
    i->kind = step_{n}(i->weight, 2);
    i->weight = i->kind << 1;
  }}
  record(i->weight);
  return i->kind;
}}
"""


def functions() -> Iterator[tuple[str, str]]:
    """The functions of the fixtures by name, a statement a line."""
    for file in FILES:
        for part, _ in _parts(file)[1:]:
            found = _BEGIN.match(part)
            if found is not None and found[1] in expected(file):
                yield found[1], spread(part)


def _parts(file: str) -> list[tuple[str, str]]:
    """A file of fixtures: each function that is marked, and what stands between it and the next mark; the head first."""
    head, *parts = re.split(r"// found: .*\n", (FOLDER / f"{file}.c").read_text("utf-8"))
    found = [("", head)]
    for part in parts:
        is_one_line = part.partition("\n")[0].endswith("}")
        function, end, rest = part.partition("}\n" if is_one_line else "\n}\n")
        found.append((function + end, rest))
    return found


def _between() -> str:
    """What the functions of the fixtures need: headers, structures, globals, functions that they call."""
    return "".join(rest for file in FILES for _, rest in _parts(file))


def spread(text: str) -> str:
    """C with a statement a line.

    >>> from proofs_tests.compiler.idioms.long_files import spread
    >>> spread("void f(int n) { for (int i = 0; i < n; i++) g(i); }").count(chr(10))
    4
    """
    lines: list[str] = []
    depth = nested = 0
    line = ""
    for c in " ".join(text.split()):
        nested += (c == "(") - (c == ")")
        line += c
        ends_head = c == ")" and nested == 0 and re.match(r" *(for|while|if) ?\(", line)
        if nested == 0 and (c in "{};" or ends_head):
            depth -= c == "}"
            lines.append("  " * depth + line.strip())
            depth += c == "{"
            line = ""
    return "\n".join([*lines, ""])


def dense(least: int) -> str:
    """Loops only: the functions of the fixtures, again and again, to so many lines."""
    return _long(least, [])


def sparse(least: int) -> str:
    """A function with loops among about sixty lines without."""
    return _long(least, [_BETWEEN, _BETWEEN])


def one_function(least: int) -> str:
    """One function of so many lines: a loop after the other over a few arrays."""
    nest = """  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++)
      {to}[i * m + j] = {of}[i * m + j - 1] + {of}[i * m + j + 1] - {k} * {of}[i * m + j];
  for (int i = 0; i < n; i++)
    s += {to}[i] * {of}[i];
  for (int i = 0; i < n; i++)
    h[k[i]] += {k};
  if (s > {k})
    h[{k}] = n;
"""
    lines: list[str] = []
    for number in range(least // nest.count("\n") + 1):
        to, of = "abcd"[number % 4], "abcd"[(number + 1) % 4]
        lines.append(nest.format(to=to, of=of, k=number))
    head = "float f(int n, int m, float *a, float *b, float *c, float *d, int *h, const int *k) {\n  float s = 0;\n"
    return head + "".join(lines) + "  return s;\n}\n"


def _long(least: int, between: list[str]) -> str:
    head = (
        f"{_between()}struct item {{ int kind, weight; }};\nint step_of(int);\nvoid record(int);\n"
    )
    parts = [head]
    lines = head.count("\n")
    for number, (name, text) in enumerate(islice(cycle(functions()), least)):
        named = re.sub(rf"\b{name}\(", f"{name}_{number}(", text)
        rest = "".join(b.format(n=2 * number + i) for i, b in enumerate(between))
        parts += [named, rest]
        lines += named.count("\n") + rest.count("\n")
        if lines >= least:
            break
    return "".join(parts)
