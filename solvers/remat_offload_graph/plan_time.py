"""Time of a plan that fits, in one pass: what a search asks of the plans that it does not keep.

On a full-duplex link the end of a copy is known when it starts, so that the operations are gone
through once, in their order, with the memory that returns later in a heap. The rules are those of
`LinkedStep`, which replays every schedule that is kept; the two are compared in the tests.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from jettison.instances.core.link import Link
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind
from jettison.schedules.remat_offload_graph.value_transfer import ValueTransfer


def timer_of(problem: RematOffloadGraph) -> PlanTimer | None:
    """Return the timer of a problem; None on a shared link, where the replay times every plan."""
    is_shared = problem.link is not None and problem.link.is_shared
    return None if is_shared else PlanTimer(problem)


class PlanTimer:
    """Timer of plans of one problem, on a link whose directions do not slow each other down.

    Parameters
    ----------
    problem
        Its link is none, or full-duplex.
    """

    def __init__(self, problem: RematOffloadGraph) -> None:
        graph, link = problem.instance, problem.link or Link(1)
        assert not link.is_shared
        self._graph = graph
        self._limit_bytes = problem.memory_bytes
        self._sizes = [node.output_bytes for node in graph.nodes]
        self._needs = [node.output_bytes + node.workspace_bytes for node in graph.nodes]
        self._runs_ns = [node.duration_ns for node in graph.nodes]
        self._copies_ns = [link.transfer_ns(size) for size in self._sizes]
        self._kept = [place for place, node in enumerate(graph.nodes) if node.keep]

    def time_ns(self, operations: Sequence[GraphOperation | ValueTransfer]) -> int:
        """Return the time of operations that fit, of which none computes a value in memory."""
        graph, sizes, limit = self._graph, self._sizes, self._limit_bytes
        count = len(sizes)
        ready, busy, hosted = [0] * count, [0] * count, [0] * count
        returns: list[tuple[int, int]] = []
        started = computed = sent = fetched = stored = 0
        in_run: set[int] = set()
        for position, operation in enumerate(operations):
            node = operation.node
            if isinstance(operation, ValueTransfer):
                if operation.is_offload:
                    sent = max(sent, ready[node]) + self._copies_ns[node]
                    hosted[node] = hosted[node] or sent
                    busy[node] = max(busy[node], sent)
                    continue
                now = max(started, fetched, hosted[node], busy[node])
                taken = stays = sizes[node]
            elif operation.kind is GraphOperationKind.FREE:
                if sizes[node]:
                    when = max(started, busy[node], hosted[node])
                    heapq.heappush(returns, (when, sizes[node]))
                continue
            else:
                now = max(started, computed)
                for source in graph.inputs[node]:
                    now = max(now, ready[source])
                taken, stays = self._needs[node], sizes[node]
                if node in in_run:
                    taken = stays = 0
                elif node in graph.results_after:
                    in_run = self._results_to_come(operations, position)
                    stays = sum(sizes[made] for made in in_run)
                else:
                    in_run = set()
            while returns and (returns[0][0] <= now or (taken and stored + taken > limit)):
                when, size = heapq.heappop(returns)
                now = max(now, when)
                stored -= size
            stored += taken
            started = now
            if isinstance(operation, ValueTransfer):
                fetched = ready[node] = busy[node] = now + self._copies_ns[node]
                continue
            computed = ready[node] = busy[node] = now + self._runs_ns[node]
            for source in graph.inputs[node]:
                busy[source] = max(busy[source], computed)
            if taken > stays:
                heapq.heappush(returns, (computed, taken - stays))
        return max([computed, *(ready[place] for place in self._kept)])

    def is_faster(
        self, operations: Sequence[GraphOperation | ValueTransfer], than_ns: int | None
    ) -> bool:
        """Tell whether operations take less than a time; None for no such time."""
        return than_ns is None or self.time_ns(operations) < than_ns

    def _results_to_come(
        self, operations: Sequence[GraphOperation | ValueTransfer], position: int
    ) -> set[int]:
        results = self._graph.results_after[operations[position].node]
        found: set[int] = set()
        for operation in operations[position + 1 :]:
            if isinstance(operation, ValueTransfer):
                continue
            if operation.kind is GraphOperationKind.FREE:
                continue
            if operation.node not in results:
                break
            found.add(operation.node)
        return found
