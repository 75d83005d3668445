"""The documentation site: `docs/`, the documents beside README, and pages made of the source, put together for Sphinx.

    python -m proofs_tests.site build [--out DIR]       the whole site, without warnings or not at all
    python -m proofs_tests.site links [--out DIR]       the same, and follows links to other sites (needs a network)
    python -m proofs_tests.site notebooks [NAME ...]    executes the tutorials and stores them with what they print
    python -m proofs_tests.site all [--out DIR]         every page there is: the error index, the notebooks, then the site

It takes `pip install '.[docs]'`.  The pages of patterns, rules and names are made when the site is, so they are never
stale; that the stored notebooks are of today's tutorials is a test (`proofs_tests/test_site.py`).
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import relift
from proofs_tests import error_index
from proofs_tests.notebooks import TUTORIALS, execute
from relift.rewrites.ledger import pages
from relift.rewrites.ledger.book import known_rules, summary
from relift.semantics.catalogue import catalogue

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BESIDE = {
    "ARCHITECTURE.md": "about/architecture.md",
    "CONTRIBUTING.md": "about/contributing.md",
    "ERRORS.md": "about/errors.md",
    "CHANGELOG.md": "about/changelog.md",
}
"""Documents of the root, and where each stands in the site."""
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:\s]+)(#[^)]*)?\)")


def assembled(to: Path) -> Path:
    """The source of the site, in a new folder."""
    ignored = shutil.ignore_patterns("*.py", "_build", "__pycache__", ".ipynb_checkpoints")
    shutil.copytree(DOCS, to, ignore=ignored)
    shutil.copy2(DOCS / "conf.py", to)
    for page in to.rglob("*.md"):
        own = (DOCS / page.relative_to(to)).parent
        page.write_text(relinked(page.read_text("utf-8"), own, page.parent, to), "utf-8")
    for name, place in BESIDE.items():
        page = to / place
        page.parent.mkdir(exist_ok=True)
        page.write_text(relinked((ROOT / name).read_text("utf-8"), ROOT, page.parent, to), "utf-8")
    (to / "reference").mkdir()
    for name, lines in {"patterns": patterns(), "rules": rules(), "names": names()}.items():
        (to / "reference" / f"{name}.md").write_text("\n".join(lines) + "\n", "utf-8")
    return to


def relinked(text: str, own: Path, there: Path, site: Path) -> str:
    """A document with its links as they are in the site; what is no page of it is named without a link."""

    def link(found: re.Match[str]) -> str:
        title, target, part = found[1], (own / found[2]).resolve(), found[3] or ""
        if target.parent == ROOT and target.name in BESIDE:
            place = site / BESIDE[target.name]
        elif target.is_relative_to(DOCS) and target.suffix in (".md", ".ipynb"):
            place = site / target.relative_to(DOCS)
        else:
            return title
        return f"[{title}]({_from(there, place)}{part})"

    return LINK.sub(link, text)


def _from(folder: Path, file: Path) -> str:
    """The way from a folder to a file of the site."""
    return Path(os.path.relpath(file, folder)).as_posix()


# ---- pages of the source


def patterns() -> Iterator[str]:
    """Every pattern: its signature, its law, where it comes from, and its example, which is run now."""
    yield "# The patterns\n"
    yield from catalogue()


def rules() -> Iterator[str]:
    """Every rule: its equation, and what each tier says of it, as the ledger has it."""
    yield f"# The rules, and what is known of each\n\n{summary()}\n"
    yield "`relift ledger NAME` prints a rule's page, `relift check NAME` checks it again.\n"
    by_family: dict[str, list[str]] = {}
    for name in known_rules():
        by_family.setdefault(pages.family(name), []).append(name)
    for family, members in by_family.items():
        yield f"## {family}\n"
        for name in members:
            yield f"### {name}\n\n```text\n{pages.page(name)}\n```\n"


def names() -> Iterator[str]:
    """Every public name, with the first sentence of what it says of itself."""
    yield "# The public names\n\n`import relift as rl`; `help(rl.NAME)` says all of it.\n"
    yield "| name | is |\n|---|---|"
    for name in sorted(set(relift.__all__), key=str.lower):
        said = inspect.getdoc(getattr(relift, name)) or ""
        sentence = " ".join(said.split("\n\n")[0].split()).replace("|", "\\|")
        yield f"| `rl.{name}` | {sentence} |"


# ---- Sphinx


def built(source: Path, out: Path, options: Sequence[str] = (), builder: str = "html") -> int:
    """The status of Sphinx, for which every warning is an error."""
    words = ["-q", "-W", "--keep-going", "-b", builder, *options]
    command = [sys.executable, "-m", "sphinx", *words, str(source), str(out)]
    return subprocess.run(command, check=False).returncode


def unnamed(index: str, files: Iterable[str]) -> list[str]:
    """The pages that no table of contents of the index names."""
    named = set(re.findall(r"^([\w/]+)$", index, re.MULTILINE))
    return sorted(name for name in files if name not in named)


def main() -> int:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("what", choices=("build", "links", "notebooks", "all"))
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="tutorials to execute; all if none"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    given = parser.parse_args()
    makes_notebooks = given.what in ("notebooks", "all")
    for needed in ("myst_nb",) * (given.what != "notebooks") + ("nbclient",) * makes_notebooks:
        if importlib.util.find_spec(needed) is None:
            print(f"there is no {needed} here: pip install '.[docs]'", file=sys.stderr)
            return 2
    if given.what == "all":
        error_index.write()
    if makes_notebooks:
        for name in given.names or [path.stem for path in TUTORIALS]:
            print(execute(DOCS / "tutorials" / f"{name}.py"))
    if given.what == "notebooks":
        return 0
    with tempfile.TemporaryDirectory() as folder:
        source = assembled(Path(folder) / "source")
        status = built(source, given.out)
        if not status and given.what == "links":
            status = built(source, given.out / "links", builder="linkcheck")
    print(f"{'written to' if not status else 'FAILED:'} {given.out}")
    return status


if __name__ == "__main__":
    sys.exit(main())
