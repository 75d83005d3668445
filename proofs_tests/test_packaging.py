"""What a user gets: one package named relift, nothing beside it, and a quick start."""

import ast
import importlib
import itertools
import os
import resource
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

import relift
from relift.semantics.language import functions
from relift.semantics.language.vocabulary import Elementary
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS

ROOT = Path(__file__).resolve().parent.parent
PARTS = {
    "semantics": "semantics",
    "rewrites": "rewrites",
    "egraph": "egraph",
    "compiler": "compiler",
    "rocq": "proofs_tests/rocq",
}
"""What is installed inside relift, and the folder of the checkout that it links to."""
HEAVY = (
    "egglog",
    "hypothesis",
    "numpy",
    "pyopencl",
    "relift.semantics.syntax.terms",
    "sympy",
    "z3",
)
HELP = """
import sys
from relift.cli import main
sys.argv = ["relift", "--help"]
try:
    main()
except SystemExit as exit_:
    assert not exit_.code, exit_.code
"""
BASELINE = "import typer, rich, numpy"
START_RATIO = 2.5
"""How many times the processor time of the libraries that it needs `relift --help` may take; `import relift` no more."""
STARTS = pytest.mark.parametrize(
    "start", ["import relift", HELP], ids=["import relift", "relift --help"]
)


def python(code: str, folder: Path, *options: str) -> str:
    """What this Python prints for the code, run in a folder away from the checkout."""
    ran = subprocess.run(
        [sys.executable, *options, "-c", code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def files_of(folder: Path) -> set[str]:
    """The files below the folder, as written in a wheel; caches and hidden files are no part."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {
        path.as_posix()
        for path in paths
        if not any(part.startswith(".") or part == "__pycache__" for part in path.parts)
    }


def test_wheel_holds_relift_and_nothing_else(tmp_path: Path) -> None:
    """A wheel of this checkout holds every file of the parts, py.typed and no other package.

    It is built from a copy, because setuptools keeps what it built before in `build/`.
    """
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("src", *PARTS.values()):
        ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=ignore)
    python("from setuptools import build_meta; build_meta.build_wheel('dist')", tmp_path)

    (wheel,) = (tmp_path / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    packaged = {name for name in names if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in packaged} == {"relift"}
    assert "relift/py.typed" in packaged
    for part, folder in PARTS.items():
        prefix = f"relift/{part}/"
        inside = {name.removeprefix(prefix) for name in packaged if name.startswith(prefix)}
        assert inside == files_of(ROOT / folder), f"{part}: the wheel and the folder differ"


def test_no_part_is_importable_under_its_own_name(tmp_path: Path) -> None:
    """With relift installed, `import semantics` and the like fail away from the checkout."""
    names = ("relift", *PARTS, "proofs_tests", "examples")
    code = f"""
from importlib.util import find_spec
print(*(name for name in {names!r} if find_spec(name)))
"""
    found = python(code, tmp_path, "-I").split()
    assert set(found) <= {"relift"}
    if not found:
        pytest.skip("relift is not installed beside this Python: pip install -e .")


@STARTS
def test_start_loads_no_heavy_library(start: str, tmp_path: Path) -> None:
    """Each solver, the OpenCL binding and the language load when first needed, not at the start."""
    code = f"{start}\nimport sys; print('loaded:', *({{*{HEAVY!r}}} & {{*sys.modules}}))"
    assert python(code, tmp_path).splitlines()[-1] == "loaded:"


def seconds(start: str, folder: Path) -> float:
    """The processor time of one start without the system's, which a busy machine spares."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    python(start, folder)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@STARTS
def test_a_start_costs_little_more_than_the_libraries_of_help(start: str, tmp_path: Path) -> None:
    """It stays within a ratio of importing typer, rich and numpy, started in turn: seconds differ from machine to machine."""
    rounds = [[seconds(each, tmp_path) for each in (start, BASELINE)] for _ in range(5)]
    ours, theirs = (min(taken) for taken in zip(*rounds, strict=True))
    assert ours < START_RATIO * theirs, f"{ours / theirs:.2f} times: {rounds}"


def names_that_checkers_see() -> dict[str, object]:
    """What the imports of the facade that only type checkers read would bind, by name."""
    tree = ast.parse(Path(relift.__file__).read_text(encoding="utf-8"))
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    found: dict[str, object] = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        assert node.module is not None
        module = importlib.import_module(node.module)
        names = {name.asname or name.name: name.name for name in node.names}
        if "*" in names:
            names = {name: name for name in module.__all__}
        found |= {
            public: getattr(module, name) for public, name in names.items() if public[0] != "_"
        }
    return found


def test_the_stub_of_the_patterns_is_what_is_printed() -> None:
    """Type checkers see a function for each pattern."""
    path = Path(functions.__file__).with_suffix(".pyi")
    assert path.read_text(encoding="utf-8") == functions.stub()


def test_facade_loads_what_checkers_see() -> None:
    """Every name that a type checker sees in `relift` is there at run time, and is the same object."""
    seen = names_that_checkers_see()
    assert set(relift.__all__) <= {*seen}
    assert {name for name in seen if getattr(relift, name, None) is not seen[name]} == set()


def test_star_and_dir_give_every_public_name(tmp_path: Path) -> None:
    """In a fresh process `dir` lists all of `__all__`, and `from relift import *` binds it."""
    code = """
import relift
missing = {*relift.__all__} - {*dir(relift)}
from relift import *
print(*missing, *({*relift.__all__} - {*globals()}), len({*relift.__all__} & {*globals()}))
"""
    assert python(code, tmp_path).split() == [str(len(relift.__all__))]


def test_editors_have_something_to_show_of_every_public_name() -> None:
    """A docstring, or the string below a constant, which is what editors read; the same as at run time."""
    silent = [name for name in relift.__all__ if _hover_text("relift", name) is None]
    assert silent == []
    for name, function in SCALAR_FUNCTIONS.items():
        if isinstance(getattr(relift, name, None), Elementary):
            assert _hover_text("relift", name) == function.doc


@cache
def _statements(module: str) -> list[ast.stmt]:
    """Those of a module, or of its stub, with those below an `if`."""
    path = Path(importlib.import_module(module).__file__ or "")
    stub = path.with_suffix(".pyi")
    body = ast.parse((stub if stub.exists() else path).read_text(encoding="utf-8")).body
    return body + [s for node in body if isinstance(node, ast.If) for s in node.body]


def _hover_text(module: str, name: str) -> str | None:
    """What the source of a module says of a name, where it is defined; patterns are in a stub."""
    body = _statements(module)
    for node, below in itertools.zip_longest(body, body[1:]):
        match node:
            case ast.ImportFrom(module=str(origin), names=names):
                for each in names:
                    if (each.asname or each.name) == name:
                        return _hover_text(origin, each.name)
                    if each.name == "*" and hasattr(importlib.import_module(origin), name):
                        return _hover_text(origin, name)
            case ast.FunctionDef() | ast.ClassDef() if node.name == name and (
                said := ast.get_docstring(node)
            ):  # of overloads the last has it
                return said
            case (
                ast.AnnAssign(target=ast.Name(id=str(bound)))
                | ast.Assign(targets=[ast.Name(id=str(bound))])
            ) if bound == name:
                match below:
                    case ast.Expr(value=ast.Constant(value=str(said))):
                        return said
                    case _:
                        return None
            case _:
                pass
    return None


def test_facade_says_which_name_it_lacks() -> None:
    """A name that is not there is an `AttributeError` as of any module."""
    for name in ("mapp", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module 'relift' has no attribute '{name}'"):
            getattr(relift, name)
