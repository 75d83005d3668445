"""The child process of a search: it alone runs egglog, and nothing of Relift.

It reads a request from its standard input, and writes after every iteration the whole e-graph as plain
data to its standard output, each message with its length in front.  A single iteration can hang or take
all memory; then the parent kills this process and keeps the last complete state.
"""

from __future__ import annotations

import gc
import math
import os
import pickle
import re
import resource
import struct
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[()]')
SETTLE_ROUNDS = 40
"""How often analysis, substitution and normalising rules alternate before an iteration goes on."""
_UNSETTLED = 2
"""So many times the budget of nodes ends an iteration before its end: a substitution on its way copies what it goes through."""


class Graph:
    """An e-graph with readers for the sorts of `encoding`; values become numbers, one range per sort."""

    def __init__(self, tables: dict[str, tuple[str, ...]], counted: list[str]) -> None:
        self.egraph = bindings().EGraph()
        self.tables, self.counted = tables, counted
        self.firings: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self._ids: dict[str, dict[Any, int]] = {}

    def begin(self) -> None:
        """Count anew what rules do, and number what there is: as the first search does, whatever was before."""
        self.firings, self.seconds, self._ids = {}, {}, {}

    def run(self, text: str) -> bool:
        """Run a program of egglog; whether any schedule in it changed something."""
        updated = False
        began = time.monotonic()
        for output in self._outputs(text):
            report = getattr(output, "report", None)
            if report is not None:
                wall = time.monotonic() - began
                updated |= report.updated
                for name, number in report.num_matches_per_rule.items():
                    if _is_named(name) and number:
                        self.firings[name] = self.firings.get(name, 0) + number
                times = report.search_and_apply_time_per_rule
                unit = _unit(sum(spent.total_seconds() for spent in times.values()), wall)
                for name, spent in times.items():
                    if _is_named(name):
                        took = spent.total_seconds() * unit
                        self.seconds[name] = self.seconds.get(name, 0.0) + took
            began = time.monotonic()
        return updated

    def _outputs(self, text: str) -> Iterator[Any]:
        # one command at a time: the parser takes memory with the square of the length of its text
        for command in commands(text):
            yield from self.egraph.run_program(*self.egraph.parse_program(command))

    def sizes(self) -> dict[str, int]:
        (output,) = self.egraph.run_program(*self.egraph.parse_program("(print-size)"))
        return dict(output.sizes)

    def nodes(self) -> int:
        sizes = self.sizes()
        return sum(sizes.get(name, 0) for name in self.counted)

    def dump(self) -> dict[str, Any]:
        """Every table as rows of numbers and strings."""
        functions = self.egraph.freeze().functions
        rows = {
            name: [
                tuple(
                    self._plain(sort, value)
                    for sort, value in zip(sorts, (*row.inputs, row.output), strict=False)
                )
                for row in functions[name].rows
                if not row.subsumed
            ]
            for name, sorts in self.tables.items()
            if name in functions
        }
        free = {
            self._plain("E", row.inputs[0]): tuple(
                self._plain("N", name) for name in self.egraph.value_to_set(row.output)
            )
            for row in functions["fv"].rows
        }
        root = self._plain("E", functions["$root"].rows[0].output)
        return {"rows": rows, "free": free, "root": root, "firings": dict(self.firings)}

    def _plain(self, sort: str, value: Any) -> Any:
        if sort == "i64":
            return self.egraph.value_to_i64(value)
        if sort == "String":
            return self.egraph.value_to_string(value)
        ids = self._ids.setdefault(sort, {})
        return ids.setdefault(value, len(ids))


def bindings() -> ModuleType:
    """The module of egglog that is compiled, alone: its package in Python takes a fifth of a second to import.

    An empty package of the same folder stands for it; where that is not enough, the package is imported.
    """
    package = find_spec("egglog")
    if package is not None and "egglog" not in sys.modules:
        package.loader = None  # so that none of its files is executed
        sys.modules["egglog"] = module_from_spec(package)
        try:
            return _imported()
        except ImportError:
            del sys.modules["egglog"]
    return _imported()


def _imported() -> ModuleType:
    import egglog.bindings  # which is read as a statement by what asks who imports egglog

    return egglog.bindings


def _is_named(rule: str) -> bool:
    """Whether a rule of egglog has a name; one without is called by its text."""
    return not rule.startswith("(")


def _unit(reported: float, wall: float) -> float:
    """What egglog's seconds are worth: up to version 13 it hands out whole milliseconds as microseconds."""
    return 1000.0 if 1000.0 * reported <= wall else 1.0


def commands(text: str) -> Iterator[str]:
    """The commands of a program of egglog, one by one."""
    depth, start = 0, 0
    for token in _TOKENS.finditer(text):
        if token.group() == "(":
            if depth == 0:
                start = token.start()
            depth += 1
        elif token.group() == ")":
            depth -= 1
            if depth == 0:
                yield text[start : token.end()]


def send(stream: BinaryIO, message: Any) -> None:
    """Write one message with its length in front."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def peak_mb() -> float:
    """The most memory that this process has taken, in MB.

    The kernel's high-water mark where there is one: `ru_maxrss` also counts what the parent held when it
    started this process.
    """
    status = Path("/proc/self/status")
    if status.exists() and (
        mark := re.search(r"^VmHWM:\s*(\d+) kB", status.read_text(), re.MULTILINE)
    ):
        return int(mark[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def limit_memory(megabytes: int) -> None:
    """Let this process grow by so much, or up to a limit that it was started under; an allocation beyond ends it."""
    statm = Path("/proc/self/statm")
    used = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 1 << 30
    limit = used + megabytes * (1 << 20)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def search(base: dict[str, Any], out: BinaryIO) -> None:
    """Carry out requests one by one, each on top of the same rules, until the input ends."""
    graph = Graph(base["tables"], base["counted"])
    graph.run(base["program"])
    limit_memory(base["memory_mb"])
    answer_each(graph, out, lambda request: {"stopped": run_stages(graph, request, out)})


def answer_each(graph: Graph, out: BinaryIO, answer: Callable[[Any], Any]) -> None:
    """Answer requests until the input ends, each on top of what the graph is now."""
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        graph.begin()
        graph.run("(push)")
        send(out, answer(request))
        graph.run("(pop)")


def run_stages(graph: Graph, request: dict[str, Any], out: BinaryIO) -> str:
    """Run the stages of a request, sending the state after each iteration; why it ended."""
    started = time.monotonic()
    graph.run(request["program"])
    settle_once = (
        "(run-schedule (saturate (run analysis)) (run demand_normal) (saturate (run analysis))"
        " (run substitution) (run normal))"
    )

    def settle(most: float) -> bool:
        """Whether the iteration came to its end before the graph had more than `most` nodes."""
        for _ in range(SETTLE_ROUNDS):
            if not graph.run(settle_once):
                break
            if graph.nodes() > most:
                return False
        graph.run("(run-schedule (saturate (run analysis)))")
        return True

    def report(stage: str, iteration: int, data: bool) -> None:
        message: dict[str, Any] = {
            "stage": stage,
            "iteration": iteration,
            "nodes": graph.nodes(),
            "seconds": time.monotonic() - started,
            "data": graph.dump() if data else None,
            "profile": dict(graph.seconds),
            "peak_mb": peak_mb(),
        }
        send(out, message)

    settle(math.inf)
    report("start", 0, data=True)
    stopped, most = "saturated", request["nodes"]
    for number, (stage, iterations) in enumerate(request["stages"]):
        stopped = "iterations"
        for iteration in range(1, iterations + 1):
            before = graph.sizes()
            graph.run(f"(run-schedule (run demand_{number}) (saturate (run analysis)))")
            graph.run(f"(run-schedule (run stage_{number}))")
            if not settle(_UNSETTLED * most):
                return "nodes"  # the state before is the last complete one
            if graph.sizes() == before:
                stopped = "saturated"
                break
            report(stage, iteration, data=graph.nodes() <= _UNSETTLED * most)
            if graph.nodes() > most:
                return "nodes"
    return stopped


def try_out(request: dict[str, Any], out: BinaryIO) -> None:
    """Run small programs one by one, each on top of the same prelude, until the input ends."""
    graph = Graph(request["tables"], request["counted"])
    graph.run(request["program"])

    def answer(trial: dict[str, Any]) -> dict[str, Any]:
        graph.tables = {**request["tables"], **trial["tables"]}
        graph.run(trial["program"])
        return {"data": graph.dump()}

    answer_each(graph, out, answer)


def main() -> None:
    """Serve one request; the real standard output is kept for messages alone."""
    gc.disable()  # what is made is rows that are sent and dropped, and none refers to itself
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        request = pickle.load(sys.stdin.buffer)
        (search if "search" in request else try_out)(request, out)
    except MemoryError:
        send(out, {"stopped": "memory"})


if __name__ == "__main__":
    main()
