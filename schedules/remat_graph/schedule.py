"""Graph schedules: sequences of computations and deletions, and their replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core import replay as replay_words
from jettison.schedules.core.checked_operations import checked_operations
from jettison.schedules.core.recorder import Recorder
from jettison.schedules.core.replay import Replay, Rule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.core.short_repr import short_repr
from jettison.schedules.remat_graph.saved_or_once import is_saved_or_once


class GraphOperationKind(StrEnum):
    """Kinds of operations on a graph: compute a node into memory, or free its value."""

    COMPUTE = replay_words.COMPUTE
    FREE = replay_words.FREE


@dataclass(frozen=True, slots=True)
class GraphOperation:
    """Operation on one node, given by its position in the graph, counted from 0."""

    kind: GraphOperationKind
    node: int


@dataclass(frozen=True, slots=True)
class GraphSchedule:
    """Graph schedule: a sequence of operations, one after the other.

    Raises
    ------
    InputError
        If something is no operation of a graph.
    """

    kind = "graph-schedule"

    operations: tuple[GraphOperation, ...]

    def __repr__(self) -> str:
        return short_repr(self, "operations", self.operations)

    def __post_init__(self) -> None:
        checked = checked_operations(self.operations, (GraphOperation,))
        object.__setattr__(self, "operations", checked)

    @classmethod
    def from_computations(cls, graph: Graph, computations: Sequence[int]) -> GraphSchedule:
        """Build the schedule that computes these nodes in this order and frees as early as it can.

        A computation that is not the first of its node and whose value is never read is left out,
        and so, in turn, is what only it read. So is the second one of a node that is computed once
        (`Graph.computed_once`): its first value stays. Each value is freed right after its last
        read before its node is computed again; the last value of a kept node stays. No other choice
        of deletions has a smaller memory at any time. :math:`O(k (1 + d))` for `k` computations of
        `d` inputs.
        """
        computed = _without_unread(graph, without_second_runs(graph, computations))
        last_read = _last_reads(graph, computed)
        final = {node: place for place, node in enumerate(computed)}
        operations: list[GraphOperation] = []
        freed_after: list[list[int]] = [[] for _ in computed]
        for place, node in enumerate(computed):
            if not (graph.nodes[node].keep and final[node] == place):
                freed_after[last_read[place]].append(node)
        for place, node in enumerate(computed):
            operations.append(GraphOperation(GraphOperationKind.COMPUTE, node))
            operations.extend(
                GraphOperation(GraphOperationKind.FREE, dead) for dead in sorted(freed_after[place])
            )
        return cls(tuple(operations))

    @property
    def computations(self) -> tuple[int, ...]:
        """The nodes computed, in order."""
        return tuple(
            operation.node
            for operation in self.operations
            if operation.kind is GraphOperationKind.COMPUTE
        )

    def replay(self, graph: Graph, memory_bytes: int | None = None) -> Replay:
        """Execute the sequence in exact integers and name every broken rule.

        The memory of a computation is all that is stored when it starts, plus its output, plus
        its workspace. A missing input is recorded, and the replay goes on as if it were there. A
        value that is in memory already is computed into fresh memory and replaces the old copy.
        Results of an operator without a value come after it, or after an earlier result of the same
        run, with no computation in between: anywhere else the operator is a missing input. A node
        that is computed once (`Graph.computed_once`) breaks a rule each time it is computed again.

        Parameters
        ----------
        graph
            The instance.
        memory_bytes
            The limit; None to measure only.

        Notes
        -----
        Time linear in the number of operations and inputs.
        """
        recorder = Recorder(stored_bytes=0, limit_bytes=memory_bytes)
        resident: set[int] = set()
        computed: set[int] = set()
        before = -1
        for operation in self.operations:
            if not 0 <= operation.node < len(graph):
                text = f"{operation.kind} {operation.node}"
                recorder.broken(Rule.UNKNOWN_OPERATION, text, f"node {operation.node}")
                recorder.step(
                    text,
                    duration_ns=0,
                    extra_bytes=0,
                    stored_bytes=recorder.stored_bytes,
                    tensor="nothing",
                    computation=None,
                )
                continue
            node = graph.nodes[operation.node]
            text = f"{operation.kind} {node.name}"
            stored = recorder.stored_bytes
            if operation.kind is GraphOperationKind.FREE:
                if operation.node in resident:
                    resident.remove(operation.node)
                    stored -= node.output_bytes
                else:
                    recorder.broken(Rule.NOT_IN_MEMORY, text, node.name)
                recorder.step(
                    text,
                    duration_ns=0,
                    extra_bytes=0,
                    stored_bytes=stored,
                    tensor=node.name,
                    computation=None,
                )
                continue
            for source in graph.inputs[operation.node]:
                is_over = source in graph.results_after and not source <= before < operation.node
                if source not in resident or is_over:
                    recorder.broken(Rule.INPUT_MISSING, text, graph.nodes[source].name)
            if operation.node in computed and operation.node in graph.computed_once:
                recorder.broken(Rule.COMPUTED_TWICE, text, node.name)
            if operation.node not in resident:
                resident.add(operation.node)
                stored += node.output_bytes
            computed.add(operation.node)
            before = operation.node
            recorder.step(
                text,
                duration_ns=node.duration_ns,
                extra_bytes=node.output_bytes + node.workspace_bytes,
                stored_bytes=stored,
                tensor=node.name,
                computation=node.name,
            )
        for position, node in enumerate(graph.nodes):
            if position not in computed:
                recorder.broken_at_end(Rule.UNFINISHED, f"{node.name} is never computed")
            elif node.keep and position not in resident:
                recorder.broken_at_end(Rule.NOT_KEPT, node.name)
        return recorder.verdict(narrowest_class(graph, self.computations))


def without_second_runs(graph: Graph, computations: Sequence[int]) -> Sequence[int]:
    """Return computations without the second ones of nodes that are computed once."""
    once = graph.computed_once
    if not once:
        return computations
    seen: set[int] = set()
    kept: list[int] = []
    for node in computations:
        if node not in seen:
            kept.append(node)
        if node in once:
            seen.add(node)
    return kept


def _without_unread(graph: Graph, computations: Sequence[int]) -> list[int]:
    """Remove every repeated computation whose value is never read, from the last one backwards."""
    first = {node: place for place, node in reversed(list(enumerate(computations)))}
    wanted = {position for position, node in enumerate(graph.nodes) if node.keep}
    kept: list[int] = []
    for place in range(len(computations) - 1, -1, -1):
        node = computations[place]
        if node in wanted or first[node] == place:
            kept.append(node)
            wanted.discard(node)
            wanted.update(graph.inputs[node])
    return kept[::-1]


def _last_reads(graph: Graph, computations: Sequence[int]) -> list[int]:
    """For each computation, the place of the last one that reads its value, else its own place."""
    last_read = list(range(len(computations)))
    place_of: dict[int, int] = {}
    for place, node in enumerate(computations):
        for source in graph.inputs[node]:
            if source in place_of:
                last_read[place_of[source]] = place
        place_of[node] = place
    return last_read


def narrowest_class(graph: Graph, computations: Sequence[int]) -> ScheduleClass:
    """Return the smallest class that is known to hold a sequence of computations."""
    if _is_staged(graph, computations):
        is_narrow = is_saved_or_once(graph, computations)
        return ScheduleClass.SAVED_OR_ONCE if is_narrow else ScheduleClass.STAGED
    first = list(dict.fromkeys(computations))
    return ScheduleClass.IN_ORDER if first == sorted(first) else ScheduleClass.ALL


def _is_staged(graph: Graph, computations: Sequence[int]) -> bool:
    """Tell whether the sequence is frontier-advancing, with ascending nodes in each stage.

    An operator without a value and its results are one stage.
    """
    frontier = 0
    previous = -1
    for node in computations:
        if node > frontier or node <= previous:
            return False
        if node == frontier:
            frontier += 1
            previous = -1
        elif frontier < len(graph) and graph.comes_in_a_run(frontier):
            return False
        else:
            previous = node
    # What is recomputed after the last first computation would need one more stage.
    return previous == -1
