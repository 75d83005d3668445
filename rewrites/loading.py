"""Rules and programs in a user's own Python file."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from relift.files import require_file
from relift.plugins import PREFIX, Group, working
from relift.rewrites.checks.isolation import Stopped
from relift.rewrites.rule import RejectedRule, Rule, RuleFamily, collecting
from relift.semantics.errors import ReliftError, in_a_line
from relift.semantics.language.programs import Program

_loaded = itertools.count(1)


class CannotLoad(ReliftError):
    """A file of the user's is missing, fails, or holds nothing that is looked for."""

    def __init__(self, message: str) -> None:
        super().__init__(message, place="")


def load_rules(file: Path) -> dict[str, Rule | RejectedRule]:
    """The rules that a file defines, by name, in its order; raises `ReliftError` when there are none."""
    with collecting() as collected:
        module = load_file(file)
    held = {id(r): r for r in vars(module).values() if isinstance(r, Rule | RejectedRule)}
    own = [
        h.rule
        for h in collected
        if h.top and h.rule.place and _file_and_line(h.rule.place)[0] == module.__file__
    ]
    rules: dict[str, Rule | RejectedRule] = {}
    for found in {**held, **{id(rule): rule for rule in own}}.values():
        if found.name in rules:
            both = str(rules[found.name].place), str(found.place)
            places = " and ".join(sorted(both, key=_file_and_line))
            raise CannotLoad(f"two rules are called {found.name}: {places}; rename one")
        rules[found.name] = found
    if not rules:
        raise CannotLoad(f"{file} defines no rule; a rule is a function below @rl.rule()")
    return rules


def _file_and_line(place: str) -> tuple[str, int]:
    """A place in a file."""
    file, _, line = place.rpartition(":")
    return file, int(line)


def load_program(spec: str) -> Program:
    """The program that `path.py`, `path.py:name` or `module:name` names."""
    path, name = (spec, "") if spec.endswith(".py") else _split(spec)
    if path.endswith(".py"):
        return _choose(load_file(Path(path)), path, name)
    return _choose(_import(path), path, name)


def load_strategy(spec: str) -> Callable[..., Any]:
    """The strategy that `path.py:name` names, or `plugin:name`."""
    if spec.startswith(PREFIX):
        brought: Callable[..., Any] = _of_plugin("schedulers", spec, _unfit_strategy)
        return brought
    path, name = _split(spec, "strategy")
    found = named_in(load_file(Path(path)), name)
    if not callable(found) or isinstance(found, Program):
        why = "defines no" if found is None else "holds no strategy under the name"
        raise CannotLoad(
            f"{path} {why} {name}; a strategy is made by the functions of relift.strategies, such as apply and topdown"
        )

    def strategy(at: Any, place: Any) -> Any:
        return found(at, place)

    strategy.__name__ = name
    return strategy


def named_in(module: ModuleType, name: str, otherwise: object = None) -> Any:
    """What a user's module has under a name, or passes on by its `__getattr__`; `otherwise` where it has nothing.

    What that raises is one line that says where, like what the file raises.
    """
    own = vars(module)
    if name in own or "__getattr__" not in own:
        return own.get(name, otherwise)
    file = own.get("__file__")
    with _one_line(file or f"module {module.__name__}", file and Path(file)):
        try:
            return own["__getattr__"](name)
        except AttributeError:
            return otherwise


def _of_plugin(group: Group, spec: str, unfit: Callable[[Any], str | None]) -> Any:
    """What the plug-in names that `plugin:NAME` stands for."""
    known = working(group, unfit)
    name = spec.removeprefix(PREFIX)
    if name not in known:
        there = f"there are: {', '.join(known)}" if known else "there is none"
        raise CannotLoad(
            f"no plug-in called {name} brings {group}; {there} (relift doctor names those that failed)"
        )
    return known[name]


def _unfit_rules(value: object) -> str | None:
    if not isinstance(value, ModuleType):
        return f"it names {value!r}"
    found = (Rule, RejectedRule, RuleFamily)
    return None if any(isinstance(v, found) for v in vars(value).values()) else "it has no rule"


def _unfit_strategy(value: object) -> str | None:
    return None if callable(value) else f"it names {value!r}"


def judged() -> None:
    """Load the rules and strategies of all plug-ins, so that it is known which of them fail."""
    working("rules", _unfit_rules)
    working("schedulers", _unfit_strategy)


def load_file(file: Path) -> ModuleType:
    """Execute a Python file under a name of its own; every failure is one line that says where.

    `plugin:NAME` is the module of rules that a plug-in brings.  What it prints goes to standard error: standard output holds the answer of Relift, which may be JSON.
    """
    if str(file).startswith(PREFIX):
        rules: ModuleType = _of_plugin("rules", str(file), _unfit_rules)
        return rules
    require_file(file)
    name = f"relift_user_{next(_loaded)}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CannotLoad(f"{file} is no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and annotations look their module up
    try:
        with _first_on_path(file.parent), _one_line(str(file), file), redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _split(spec: str, what: str = "program") -> tuple[str, str]:
    path, colon, name = spec.rpartition(":")
    if not (colon and path and name.isidentifier()):
        forms = {"program": "path.py, path.py:name or module:name", "strategy": "path.py:name"}
        raise CannotLoad(f"{spec or repr(spec)} names no {what}; write {forms[what]}")
    return path, name


def _import(name: str) -> ModuleType:
    try:
        with (
            _first_on_path(Path.cwd()),
            _one_line(f"module {name}", None),
            redirect_stdout(sys.stderr),
        ):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise CannotLoad(f"there is no module {error.name}; a file is named path.py:name") from None


def _choose(module: ModuleType, where: str, name: str) -> Program:
    programs = {n: p for n, p in vars(module).items() if isinstance(p, Program)}
    known = ", ".join(programs)
    if name:
        found = named_in(module, name)
        if not isinstance(found, Program):
            raise CannotLoad(
                f"{where} has no program {name}; "
                + (f"its programs are: {known}" if known else "it has none at all")
            )
        return found
    distinct = list(dict.fromkeys(programs.values()))
    own = [p for p in distinct if p.file == module.__file__] or distinct
    if not own:
        raise CannotLoad(f"{where} defines no program; a program is a function below @rl.program")
    if len(own) > 1:
        names = ", ".join(p.name for p in own)
        raise CannotLoad(
            f"{where} defines several programs: {names}; say which, as {where}:{own[0].name}"
        )
    return own[0]


@contextmanager
def _first_on_path(folder: Path) -> Generator[None]:
    """The user's folder is searched first for what the file imports, as when Python runs the file."""
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


@contextmanager
def _one_line(what: str, file: Path | None) -> Generator[None]:
    """Turn whatever the user's code raises into one line with the line number, where there is one."""
    try:
        yield
    except (ReliftError, Stopped):
        raise
    except SyntaxError as error:
        own = file is not None and error.filename == str(file.resolve())
        place = what if own else error.filename or what
        line = f":{error.lineno}" if error.lineno else ""
        raise CannotLoad(f"{place}{line}: {error.msg}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # what is no `Exception` ends a user's file, not Relift
        if file is None and isinstance(error, ModuleNotFoundError):
            raise
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if file is not None and Path(frame.filename) == file.resolve()
        ]
        place = f"{what}:{lines[-1]}" if lines else what
        more = ": more than there is" if isinstance(error, MemoryError) else ""
        raise CannotLoad(f"{place}: {in_a_line(error)}{more}") from None
