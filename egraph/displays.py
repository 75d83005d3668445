"""How costs, candidates and searches are displayed."""

from __future__ import annotations

from relift.display.blocks import Bars, Block, Code, Folded, Graph, Table, Title, Words
from relift.egraph.cost.model import Cost, time_text
from relift.egraph.process.saturation import Saturation
from relift.egraph.search.optimize import Optimized
from relift.egraph.search.outcomes import FoundProgram
from relift.egraph.search.tuning import Timing
from relift.semantics.notation.printer import show


def of_cost(cost: Cost) -> list[Block]:
    """What takes how long, by the model."""
    parts = {"compute": cost.compute, "memory": cost.memory, "launch": cost.launch}
    rows = tuple((name, seconds, time_text(seconds)) for name, seconds in parts.items())
    return [Bars(f"estimated {time_text(cost.seconds)}", rows)]


def of_timing(timing: Timing) -> list[Block]:
    """A time, or why there is none."""
    if timing.seconds is None:
        return [Words(timing.failure or "not measured", "bad" if timing.failure else "open")]
    kept = ", measured before" if timing.reused else ""
    return [Words(f"{time_text(timing.seconds)}{kept}")]


def of_found(found: FoundProgram) -> list[Block]:
    """The pipeline, what it takes, and the rules that lead to it."""
    measured = [] if found.measured is None else [Words(f"measured {time_text(found.measured)}")]
    return [
        Title(found.term.name),
        Code(show(found.term.body, "pipeline")),
        *measured,
        *of_cost(found.cost),
        Folded(f"{len(found.derivation.steps)} steps", found.derivation.display()),
    ]


def of_candidates(best: Optimized) -> list[Block]:
    """The candidates with the times that are predicted and measured, and each as a pipeline."""
    rows = tuple(
        (
            str(number),
            time_text(found.cost.seconds),
            "" if found.measured is None else time_text(found.measured),
            str(len(found.derivation.steps)),
        )
        for number, found in enumerate(best.candidates, 1)
    )
    return [
        Table(("candidate", "predicted", "measured", "steps"), rows),
        *(
            Folded(f"candidate {number}", [Code(show(found.term.body, "pipeline"))])
            for number, found in enumerate(best.candidates, 1)
        ),
    ]


def of_growth(best: Optimized) -> list[Block]:
    """What each rule that matched wrote into the e-graphs."""
    written = {rule: nodes for rule, nodes in best.written.items() if nodes}
    rows = tuple(
        (rule, float(nodes), f"{best.firings[rule]} matches, {nodes} nodes at most")
        for rule, nodes in sorted(written.items(), key=lambda item: (-item[1], item[0]))
    )
    return [Bars("nodes by rule", rows)] if rows else []


def of_optimized(best: Optimized) -> list[Block]:
    """How the search ended, its candidates, and what its e-graphs took."""
    ended = best.stopped if best.complete else f"{best.stopped}; this is the best found so far"
    said = f"{best.nodes} nodes in {best.seconds:.1f} s" + (f" ({ended})" if ended else "")
    return [
        Title(f"Search for {best.source.name}"),
        Words(said),
        Code(show(best.term.body, "pipeline")),
        *of_candidates(best),
        Folded("what the rules did", of_growth(best)),
        Folded("how the best follows", best.derivation.display()),
    ]


MOST_CLASSES, MOST_NODES = 40, 12
"""Of an e-graph, the classes that are drawn, those nearest to the root; and the nodes of each."""


def of_saturation(grown: Saturation) -> list[Block]:
    """The e-graph as a graph: classes with the nodes in them, and what they use."""
    snapshot = grown.snapshot
    classes: dict[int, tuple[tuple[str, tuple[int, ...]], ...]] = {}
    waiting, left_out = [snapshot.root], 0
    for number in waiting:
        nodes = snapshot.nodes(number)
        shown = nodes[:MOST_NODES]
        left_out += len(nodes) - len(shown)
        classes[number] = tuple((node.head.label, node.children) for node in shown)
        for child in (c for node in shown for c in node.children):
            if child not in waiting and len(waiting) < MOST_CLASSES:
                waiting.append(child)
    all_classes = len(list(snapshot.classes()))
    said = f"{grown.nodes} nodes in {all_classes} classes; {grown.stopped}"
    rest = [f"{all_classes - len(classes)} classes"] if all_classes > len(classes) else []
    rest += [f"{left_out} nodes of those drawn"] if left_out else []
    cut = [Words(f"not drawn: {' and '.join(rest)}", "open")] if rest else []
    fired = ", ".join(f"{rule} {count}" for rule, count in sorted(grown.firings.items()) if count)
    return [
        Graph(f"The e-graph of {grown.request.program.name}", classes),
        Words(said),
        *cut,
        *([Words(f"matches: {fired}")] if fired else []),
    ]
