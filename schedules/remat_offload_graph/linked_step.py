"""Execution of a graph schedule with transfers, in exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.instances.core.link import Link
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import Rule, Step, Transfer
from jettison.schedules.core.shared_lanes import Lane, LaneOperation, SharedLanes
from jettison.schedules.remat_graph.schedule import (
    GraphOperation,
    GraphOperationKind,
    narrowest_class,
)
from jettison.schedules.remat_offload_graph.linked_replay import LinkedReplay
from jettison.schedules.remat_offload_graph.value_transfer import ValueTransfer

_Users = tuple[LaneOperation, ...]
# Nothing is moved on it: the lanes of a schedule without a link have computations alone.
_NO_LINK = Link(1)


@dataclass(frozen=True, slots=True)
class _Entry:
    """Operation of the sequence, and what it does in time."""

    position: int
    text: str
    node: int
    lane: LaneOperation


class LinkedStep:
    r"""Execution of operations on three queues, in exact integers.

    The rules are those of `AtOnceReplay` on chains. Computations, offloads and prefetches each run
    one after the other, in the order of the sequence; a transfer of :math:`x` bytes takes
    :math:`\lceil x / \beta \rceil` nanoseconds, on a link that both directions share as
    `SharedLink` has it. An operation starts as soon as

    - the operation before it on its queue has ended;
    - what it reads is there: computed, arrived, or, for a prefetch, complete on the host;
    - its memory is free. A computation takes its output and its workspace when it starts, a
      prefetch all of its value;
    - every computation and prefetch before it in the sequence has started, so that memory is given
      out in that order.

    The workspace returns when the computation has ended. Memory of a value returns at its deletion,
    and not before its copy is complete and all that reads it has ended. An offload takes no memory
    and holds up nothing but the offloads after it. What has a copy on the host keeps it. A value
    that is in memory already is computed into fresh memory and replaces the old one.

    The other rules of computations are those of `GraphSchedule.replay`. Results of an operator
    without a value stay where it has made them: those that come right after it take no memory of
    their own, but keep theirs of its workspace, so that nothing that is brought back meanwhile can
    take it.

    A broken rule is recorded, and the replay goes on as if it were kept.

    Parameters
    ----------
    graph
        The instance.
    link
        The link to the host; None where there is none.
    memory_bytes
        The limit; None to measure only.
    """

    def __init__(self, graph: Graph, link: Link | None, memory_bytes: int | None) -> None:
        self._graph = graph
        self._link = link
        self._limit_bytes = memory_bytes
        self._findings = Findings()
        self._stored: set[int] = set()
        self._computed: set[int] = set()
        # The node that was computed last, and the results to come for which it holds memory.
        self._before = -1
        self._made_in_run: set[int] = set()
        # By node: what makes or brings it, what makes, reads or copies it, and its first copy.
        self._made_by: dict[int, LaneOperation] = {}
        self._used_by: dict[int, _Users] = {}
        self._hosted_by: dict[int, LaneOperation] = {}
        self._entries: list[_Entry] = []

    def run(self, operations: Sequence[GraphOperation | ValueTransfer]) -> LinkedReplay:
        """Execute a sequence."""
        self._operations = operations
        for position, operation in enumerate(operations):
            if not 0 <= operation.node < len(self._graph):
                self._findings.at(position, f"{operation.kind} {operation.node}")
                self._findings.broken(Rule.UNKNOWN_OPERATION, f"node {operation.node}")
                continue
            node = self._graph.nodes[operation.node]
            text = f"{operation.kind} {node.name}"
            self._findings.at(position, text)
            if isinstance(operation, ValueTransfer):
                self._check_movable(node)
                lane = self._offload if operation.is_offload else self._prefetch
            elif operation.kind is GraphOperationKind.COMPUTE:
                lane = self._compute
            else:
                lane = self._free
            made = lane(operation.node, node)
            self._entries.append(_Entry(position, text, operation.node, made))
        for place, node in enumerate(self._graph.nodes):
            if place not in self._computed:
                self._findings.broken_at_end(Rule.UNFINISHED, f"{node.name} is never computed")
            elif node.keep and place not in self._stored:
                self._findings.broken_at_end(Rule.NOT_KEPT, node.name)
        lanes = SharedLanes(self._link or _NO_LINK, self._limit_bytes, 0, self._out_of_memory)
        lanes.run([entry.lane for entry in self._entries])
        return self._record(lanes)

    def _check_movable(self, node: Node) -> None:
        if self._link is None:
            self._findings.broken(Rule.NOT_MOVABLE, f"{node.name}, without a link")
        elif not node.offload or not node.has_value:
            self._findings.broken(Rule.NOT_MOVABLE, node.name)

    def _users(self, place: int) -> _Users:
        return self._used_by.get(place, ())

    def _maker(self, place: int) -> _Users:
        return (self._made_by[place],) if place in self._made_by else ()

    def _compute(self, place: int, node: Node) -> LaneOperation:
        graph = self._graph
        for source in graph.inputs[place]:
            is_over = source in graph.results_after and not source <= self._before < place
            if source not in self._stored or is_over:
                self._findings.broken(Rule.INPUT_MISSING, graph.nodes[source].name)
        if place in self._computed and place in graph.computed_once:
            self._findings.broken(Rule.COMPUTED_TWICE, node.name)
        is_replaced = place in self._stored
        takes_bytes, needs_bytes = node.output_bytes, node.output_bytes + node.workspace_bytes
        if place in self._made_in_run:
            takes_bytes = needs_bytes = 0
            self._made_in_run.remove(place)
        else:
            self._made_in_run = self._results_to_come(place)
            takes_bytes += sum(graph.nodes[made].output_bytes for made in self._made_in_run)
        lane = LaneOperation(
            Lane.COMPUTE,
            duration_ns=node.duration_ns,
            waits_for=tuple(item for source in graph.inputs[place] for item in self._maker(source)),
            takes_bytes=takes_bytes,
            needs_bytes=needs_bytes,
            late=[(node.output_bytes, self._users(place))] if is_replaced else [],
        )
        for source in graph.inputs[place]:
            self._used_by[source] = (*self._users(source), lane)
        self._stored.add(place)
        self._computed.add(place)
        self._before = place
        self._made_by[place] = lane
        self._used_by[place] = (lane,)
        return lane

    def _results_to_come(self, place: int) -> set[int]:
        """Return the results that an operator without a value makes in the run that it starts."""
        found: set[int] = set()
        results = self._graph.results_after.get(place)
        if results is None:
            return found
        least = place + 1
        for operation in self._operations[self._findings.position + 1 :]:
            is_transfer = isinstance(operation, ValueTransfer)
            if is_transfer or operation.kind is GraphOperationKind.FREE:
                continue
            if operation.node not in results or operation.node < least:
                break
            found.add(operation.node)
            least = operation.node + 1
        return found

    def _free(self, place: int, node: Node) -> LaneOperation:
        if place not in self._stored:
            self._findings.broken(Rule.NOT_IN_MEMORY, node.name)
            return LaneOperation(Lane.RELEASE)
        self._stored.remove(place)
        hosted = (self._hosted_by[place],) if place in self._hosted_by else ()
        return LaneOperation(
            Lane.RELEASE, gives=[(node.output_bytes, (*self._users(place), *hosted))]
        )

    def _offload(self, place: int, node: Node) -> LaneOperation:
        if place not in self._stored:
            self._findings.broken(Rule.NOT_IN_MEMORY, node.name)
        lane = LaneOperation(
            Lane.TO_HOST, size_bytes=node.output_bytes, waits_for=self._maker(place)
        )
        self._hosted_by.setdefault(place, lane)
        self._used_by[place] = (*self._users(place), lane)
        return lane

    def _prefetch(self, place: int, node: Node) -> LaneOperation:
        if place in self._stored:
            self._findings.broken(Rule.IN_MEMORY_ALREADY, node.name)
        if place not in self._hosted_by:
            self._findings.broken(Rule.NO_COPY, node.name)
        hosted = (self._hosted_by[place],) if place in self._hosted_by else ()
        lane = LaneOperation(
            Lane.FROM_HOST,
            size_bytes=node.output_bytes,
            waits_for=(*hosted, *self._users(place)),
            takes_bytes=node.output_bytes,
        )
        self._stored.add(place)
        self._made_by[place] = lane
        self._used_by[place] = (lane,)
        return lane

    def _out_of_memory(self, at: int, excess_bytes: int) -> None:
        entry = self._entries[at]
        self._findings.at(entry.position, entry.text)
        name = self._graph.nodes[entry.node].name
        self._findings.broken(Rule.OUT_OF_MEMORY, name, excess_bytes)

    def _record(self, lanes: SharedLanes) -> LinkedReplay:
        steps: list[Step] = []
        transfers: list[Transfer] = []
        seen: set[int] = set()
        for entry in self._entries:
            lane = entry.lane
            if lane.lane is Lane.RELEASE:
                continue
            start_ns, end_ns = lane.times_ns
            if lane.lane is Lane.COMPUTE:
                steps.append(
                    Step(
                        operation=entry.text,
                        start_ns=start_ns,
                        end_ns=end_ns,
                        during_bytes=lanes.stored_bytes_at_start(lane),
                        after_bytes=lanes.stored_bytes_at_end(lane),
                        repeated=entry.node in seen,
                    )
                )
                seen.add(entry.node)
                continue
            to_host = lane.lane is Lane.TO_HOST
            transfers.append(Transfer(entry.text, start_ns, end_ns, lane.size_bytes, to_host))
            if not to_host and steps and start_ns < steps[-1].end_ns:
                running = steps[-1]
                steps[-1] = replace(
                    running,
                    during_bytes=max(running.during_bytes, lanes.stored_bytes_at_start(lane)),
                    after_bytes=running.after_bytes + lane.size_bytes,
                )
        computations = [item.node for item in self._entries if item.lane.lane is Lane.COMPUTE]
        kept = [
            self._made_by[place].times_ns[1]
            for place, node in enumerate(self._graph.nodes)
            if node.keep and place in self._made_by
        ]
        return LinkedReplay(
            steps=tuple(steps),
            peak_bytes=lanes.peak_bytes,
            limit_bytes=self._limit_bytes,
            violations=self._findings.violations,
            schedule_class=narrowest_class(self._graph, computations),
            transfers=tuple(transfers),
            end_ns=max([step.end_ns for step in steps[-1:]] + kept, default=0),
        )
