"""Faults planted in the trees of kernels and in their launches, each of a class, at places drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from relift.compiler.running.launch import Launch
from relift.compiler.text.expressions import in_c
from relift.compiler.text.tree import (
    Assignment,
    Barrier,
    Binary,
    Conditional,
    Declaration,
    Guard,
    Invocation,
    KernelText,
    Loop,
    Member,
    Name,
    Real,
    Source,
    Whole,
    within,
)
from relift.semantics.syntax.memory import Owner
from relift.semantics.syntax.sizes import Size

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Planted:
    """A text and its launch with one fault."""

    kind: str
    where: str
    source: Source
    launch: Launch


def planted(source: Source, launch: Launch, each: int, seed: int) -> list[Planted]:
    """Up to `each` faults of every class, and all faults of the launch."""
    generator = random.Random(seed)
    by_kind: dict[str, list[Planted]] = {}
    for i, kernel in enumerate(source.kernels):
        for kind, path, new in _in_text(kernel):
            body = _put(kernel.body, path, new)
            changed = replace(kernel, body=body)
            kernels = (*source.kernels[:i], changed, *source.kernels[i + 1 :])
            where = f"{kernel.name} {path}: {_shown(new)}"
            by_kind.setdefault(kind, []).append(
                Planted(kind, where, replace(source, kernels=kernels), launch)
            )
    found = [p for many in by_kind.values() for p in generator.sample(many, min(each, len(many)))]
    return found + [Planted(kind, "", source, bad) for kind, bad in _in_launch(launch)]


def _shown(new: Any) -> str:
    if isinstance(new, list):
        return "; ".join(type(s).__name__ for s in new)
    if new is None:
        return "nothing"
    try:
        return in_c(new)
    except TypeError:
        return type(new).__name__


def _sites(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All nodes of a tree with their paths."""
    yield path, node
    if is_dataclass(node):
        for f in fields(node):
            yield from _sites(getattr(node, f.name), (*path, f.name))
    elif isinstance(node, tuple):
        for i, v in enumerate(node):
            yield from _sites(v, (*path, i))


def _put(node: Any, path: Path, new: Any) -> Any:
    """The tree with another node: None leaves a statement out, a list puts several in its place."""
    if not path:
        return new
    head, *rest = path
    if isinstance(node, tuple):
        assert isinstance(head, int)
        put = _put(node[head], tuple(rest), new)
        many = [] if put is None else put if isinstance(put, list) else [put]
        return (*node[:head], *many, *node[head + 1 :])
    return replace(node, **{str(head): _put(getattr(node, str(head)), tuple(rest), new)})


_SWAPPED = {f"{kind}_{d}": f"{kind}_{1 - d}" for kind in ("lcl", "glb", "wrg") for d in (0, 1)}
_OPERATORS = {"+": "-", "-": "+", "*": "+", "/": "%", "%": "/"}
_IDS = {
    "get_local_id": "get_global_id",
    "get_group_id": "get_local_id",
    "get_global_id": "get_group_id",
}


def _in_text(kernel: KernelText) -> Iterator[tuple[str, Path, Any]]:
    """Class, path and new node of every fault that fits somewhere in a kernel."""
    declared = {n.name for _, n in _sites(kernel.body) if isinstance(n, Declaration)}
    for path, n in _sites(kernel.body):
        match n:
            case Binary(operator, a, b) if operator in _OPERATORS:
                yield "operator", path, Binary(_OPERATORS[operator], a, b)
            case Binary("<", a, b):
                yield "operator", path, Binary("<=", a, b)
                yield "operator", path, Binary("<", b, a)
            case Whole(v) if "extent" not in path:
                yield "constant", path, Whole(v + 1)
                if v > 0:
                    yield "constant", path, Whole(v - 1)
            case Real():
                yield "constant", path, Real("3.0f")
            case Name(name) if _SWAPPED.get(name) in declared:
                yield "swapped index", path, Name(_SWAPPED[name])
            case Member(of, lane) if lane.startswith("s") and len(lane) == 2:
                yield "swapped lane", path, Member(of, "s1" if lane != "s1" else "s0")
            case Invocation(function, arguments) if function in _IDS:
                yield "wrong id", path, Invocation(_IDS[function], arguments)
            case Invocation("min" | "max", (a, _)):
                yield "clamp dropped", path, a
            case Conditional(c, a, b):
                yield "branches swapped", path, Conditional(c, b, a)
            case Barrier(fences):
                yield "barrier dropped", path, None
                other: Owner = "device" if "group" in fences else "group"
                yield "wrong fence", path, Barrier(frozenset({other}))
            case Assignment(target, _, value):
                yield "assignment dropped", path, None
                if target in within(value):
                    yield "statement twice", path, [n, n]
            case Declaration(t, name, None, v) if v is not None and not t.constant:
                yield "not initialised", path, Declaration(t, name, None, None)
            case Loop(t, c, s, e, by, b):
                yield "loop short", path, Loop(t, c, s, Binary("-", e, Whole(1)), by, b)
                yield "loop long", path, Loop(t, c, s, Binary("+", e, Whole(1)), by, b)
                yield "loop late", path, Loop(t, c, Binary("+", s, Whole(1)), e, by, b)
                yield "loop does not advance", path, Loop(t, c, s, e, Whole(0), b)
            case Guard(_, b):
                yield "guard dropped", path, list(b)
            case _:
                pass


def _in_launch(launch: Launch) -> Iterator[tuple[str, Launch]]:
    """Class and launch of every fault of a launch."""
    for i, k in enumerate(launch.kernels):

        def at(i: int = i, **changes: Any) -> Launch:
            kernels = list(launch.kernels)
            kernels[i] = replace(kernels[i], **changes)
            return replace(launch, kernels=tuple(kernels))

        n = k.range
        if n[0] > k.local[0]:
            yield "launch: a group fewer", at(total=(Size.of(n[0] - k.local[0]), *k.total[1:]))
        yield "launch: a group more", at(total=(Size.of(n[0] + k.local[0]), *k.total[1:]))
        if len(n) > 1 and n[0] != n[1]:
            yield "launch: dimensions swapped", at(total=k.total[::-1], local=k.local[::-1])
        if k.local[0] > 1:
            yield "launch: smaller groups", at(local=(k.local[0] // 2, *k.local[1:]))
        kept = (*launch.kernels[:i], *launch.kernels[i + 1 :])
        yield "launch: kernel left out", replace(launch, kernels=kept)
        if i:
            yield "launch: order of kernels", replace(launch, kernels=launch.kernels[::-1])
        if len(k.arguments) > 2:
            swapped = (k.arguments[1], k.arguments[0], *k.arguments[2:])
            yield "launch: arguments swapped", at(arguments=swapped)
