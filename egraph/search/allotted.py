"""What all e-graphs of a search may come to together: what promises most is begun first, what is left out is said.

Each e-graph has a budget; a program of several kernels, in several forms, has many e-graphs, and theirs is the sum.  It counts
nodes, in the order of the jobs, so what is found depends neither on the workers nor on how busy the machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass, replace

from relift.egraph.process.saturation import Progress
from relift.egraph.process.workers import Job
from relift.egraph.search.outcomes import NOTHING, Outcome, Proposal, SearchStats

TOGETHER = 1.25
"""So many times the nodes of an e-graph are for all of a search: one large one, or that of each kernel."""


@dataclass(frozen=True)
class SearchJob:
    """A piece of work for the task of this number; it `grows` an e-graph, or goes without."""

    number: int
    work: Callable[[Progress | None], Outcome]
    grows: bool


def allotted(
    jobs: Sequence[SearchJob],
    do: Callable[[Sequence[Job[Outcome]]], Generator[Outcome]],
    grown: SearchStats,
    most: int,
    tasks: int,
    worth: Callable[[Sequence[Sequence[Proposal]]], Collection[int]],
) -> tuple[SearchStats, list[list[Proposal]]]:
    """What the jobs come to, by task: e-graphs last, of the tasks that are `worth` it by what the others came to.

    No e-graph is begun when those before it have so many nodes.

    >>> from dataclasses import replace
    >>> from relift.egraph.search.allotted import SearchJob, allotted
    >>> from relift.egraph.search.outcomes import NOTHING
    >>> graph = replace(NOTHING, nodes=70)
    >>> jobs = [SearchJob(i // 4, lambda _: (graph, []), grows=True) for i in range(8)]
    >>> do = lambda works: (work(None) for work in works)
    >>> found, _ = allotted(jobs, do, NOTHING, 100, 2, worth=lambda outcomes: {1})
    >>> found.nodes, found.stopped
    (140, '2 e-graphs are left out, as those before have 140 nodes')
    """
    outcomes: list[list[Proposal]] = [[] for _ in range(tasks)]

    def come_to(job: SearchJob, outcome: Outcome) -> SearchStats:
        more, proposals = outcome
        outcomes[job.number] += proposals
        return grown.and_then(more)

    others = [job for job in jobs if not job.grows]
    for job, outcome in zip(others, do([job.work for job in others]), strict=True):
        grown = come_to(job, outcome)
    chosen = worth(outcomes)
    graphs = [job for job in jobs if job.grows and job.number in chosen]
    done = do([job.work for job in graphs])
    for place, job in enumerate(graphs):
        if grown.nodes >= most:
            grown = grown.and_then(_left_out(len(graphs) - place, grown.nodes))
            done.close()
            break
        grown = come_to(job, next(done))
    return grown, outcomes


def _left_out(graphs: int, nodes: int) -> SearchStats:
    """What a search says that begins no more e-graphs."""
    those = "1 e-graph is" if graphs == 1 else f"{graphs} e-graphs are"
    said = f"{those} left out, as those before have {nodes:,} nodes"
    return replace(NOTHING, stopped=said, complete=False)
