r"""The fastest of all schedules of a tiny graph with a link, by search over moments.

Written from the rules below alone. It reads the fields of `Graph` and `Node` and shares no code
with schedules, models or bounds.

A state is one moment of a schedule: what has been computed, which values are on the device and on
the host, and what is running with the time that is left of it. There are three lanes, each with one
thing at a time: operations, copies to the host, copies from the host.

* An operation reads its inputs, which stay until it ends; its output and its workspace are in use
  while it runs, its output from then on.
* A copy to the host leaves the value on the device, where it may be read; it may be dropped once
  the copy has ended. Copies on the host stay.
* A copy from the host takes its memory when it starts, and can be read when it ends.
* A copy of x bytes takes :math:`\lceil x / \beta \rceil` ns.
* Anything may be computed again at any time, but for nodes that say otherwise. A value that nothing
  reads or copies may be dropped at any time.
* Results of an operator without a value come directly after it, at the moment when it ends, in the
  order of the graph, and before anything is brought back then.
* At the end everything has been computed, and the kept values are on the device.

Nothing is lost by these rules of the search: all durations are integers, and starting everything as
early as its order allows leaves starts only at moments at which something ends. A drop may wait
until a start lacks the memory, and then only drops that are all needed for that start are made.
What has no size is never in the way: it is neither dropped nor copied.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True, slots=True)
class Busy:
    """A lane with what is left of its work on a node."""

    left_ns: int
    node: int

    def later(self, time_ns: int) -> Busy | None:
        """Return what is left so much later, or None if it has ended."""
        return None if self.left_ns == time_ns else replace(self, left_ns=self.left_ns - time_ns)


@dataclass(frozen=True, slots=True)
class Moment:
    """State. `run` is what was computed last, if nothing has been brought back since."""

    computed: frozenset[int]
    device: frozenset[int]
    host: frozenset[int]
    run: int = -1
    operation: Busy | None = None
    to_host: Busy | None = None
    from_host: Busy | None = None


class MomentSearch:
    """The search for one graph, one memory and one rate of the link."""

    def __init__(self, graph: Graph, memory_bytes: int, bytes_per_ns: Fraction | None) -> None:
        self.nodes = graph.nodes
        self.memory_bytes = memory_bytes
        self.bytes_per_ns = bytes_per_ns
        names = [node.name for node in self.nodes]
        self.reads = [frozenset(names.index(name) for name in node.inputs) for node in self.nodes]

    def fastest(self) -> int | None:
        """Return the least time of all schedules, or None if there is none."""
        start = Moment(frozenset(), frozenset(), frozenset())
        queue = [(self.remaining_ns(start), 0, 0, start)]
        seen: set[Moment] = set()
        pushed = 0
        while queue:
            _, passed_ns, _, moment = heapq.heappop(queue)
            if moment in seen:
                continue
            seen.add(moment)
            if self.is_end(moment):
                return -passed_ns
            for wait_ns, after in self.next_moments(moment):
                if after not in seen:
                    pushed += 1
                    later_ns = wait_ns - passed_ns
                    estimate_ns = later_ns + self.remaining_ns(after)
                    heapq.heappush(queue, (estimate_ns, -later_ns, -pushed, after))
        return None

    def is_end(self, moment: Moment) -> bool:
        """Tell whether a moment ends a schedule."""
        arriving = set() if moment.from_host is None else {moment.from_host.node}
        kept = {i for i, node in enumerate(self.nodes) if node.keep}
        everything = len(moment.computed) == len(self.nodes) and moment.operation is None
        return everything and kept <= moment.device - arriving

    def remaining_ns(self, moment: Moment) -> int:
        """Return the time of the operations that have to run yet: at least this much is to come."""
        running = moment.operation
        missing = set(range(len(self.nodes))) - moment.computed
        left_ns = 0 if running is None else running.left_ns
        missing -= set() if running is None else {running.node}
        return left_ns + sum(self.nodes[i].duration_ns for i in missing)

    def next_moments(self, moment: Moment) -> Iterator[tuple[int, Moment]]:
        """Yield each decision that can be made now, and the wait until something ends."""
        lanes = (moment.operation, moment.to_host, moment.from_host)
        running = [lane.left_ns for lane in lanes if lane is not None]
        if running:
            yield min(running), self.passed(moment, min(running))
        if 0 in running:
            return
        if moment.operation is None:
            for i in range(len(self.nodes)):
                if self.may_run(moment, i):
                    needed = self.nodes[i].output_bytes + self.nodes[i].workspace_bytes
                    for room in self.with_room(moment, needed, self.reads[i]):
                        yield 0, replace(room, operation=Busy(self.nodes[i].duration_ns, i))
        if self.bytes_per_ns is None:
            return
        arriving = -1 if moment.from_host is None else moment.from_host.node
        if moment.to_host is None:
            for i in sorted(moment.device - moment.host - {arriving}):
                if self.nodes[i].offload and self.nodes[i].output_bytes:
                    yield 0, replace(moment, to_host=Busy(self.copy_ns(i), i))
        if moment.from_host is None:
            for i in sorted(moment.host - moment.device):
                for room in self.with_room(moment, self.nodes[i].output_bytes, frozenset()):
                    copying = Busy(self.copy_ns(i), i)
                    device = room.device | {i}
                    yield 0, replace(room, from_host=copying, device=device, run=-1)

    def may_run(self, moment: Moment, i: int) -> bool:
        """Tell whether an operation can start, but for its memory."""
        node = self.nodes[i]
        arriving = set() if moment.from_host is None else {moment.from_host.node}
        if (i in moment.device and node.has_value) or not self.reads[i] <= moment.device - arriving:
            return False
        if i in moment.computed and not node.again:
            return False
        for source in self.reads[i]:
            if not self.nodes[source].has_value:
                if not source <= moment.run < i:
                    return False
                if i in moment.computed and not self.nodes[source].again:
                    return False
        return True

    def with_room(
        self, moment: Moment, needed_bytes: int, kept: frozenset[int]
    ) -> Iterator[Moment]:
        """Yield the moment after each set of drops that makes room, and of which all are needed."""
        lacking = self.used_bytes(moment) + needed_bytes - self.memory_bytes
        if lacking <= 0:
            yield moment
            return
        free = sorted(i for i in self.droppable(moment) if i not in kept)
        for count in range(1, len(free) + 1):
            for dropped in combinations(free, count):
                sizes = [self.nodes[i].output_bytes for i in dropped]
                if sum(sizes) - min(sizes) < lacking <= sum(sizes):
                    yield replace(moment, device=moment.device - set(dropped))

    def droppable(self, moment: Moment) -> Iterator[int]:
        """Yield what takes memory on the device and is neither read nor copied."""
        busy = {lane.node for lane in (moment.to_host, moment.from_host) if lane is not None}
        if moment.operation is not None:
            busy |= self.reads[moment.operation.node]
        for i in moment.device - busy:
            if self.nodes[i].output_bytes:
                yield i

    def passed(self, moment: Moment, time_ns: int) -> Moment:
        """Return the moment so much later, at which all that ends then has ended."""
        computed, device, host, run = moment.computed, moment.device, moment.host, moment.run
        operation, to_host, from_host = moment.operation, moment.to_host, moment.from_host
        run = run if time_ns == 0 else -1
        later = [
            None if lane is None else lane.later(time_ns)
            for lane in (operation, to_host, from_host)
        ]
        if operation is not None and later[0] is None:
            i = operation.node
            computed, device, run = computed | {i}, device | {i}, i
            # The token of an operator is over with the next operation.
            tokens = {k for k in device if not self.nodes[k].has_value and k not in self.reads[i]}
            device -= tokens - {i}
        if to_host is not None and later[1] is None:
            host |= {to_host.node}
        return Moment(computed, device, host, run, later[0], later[1], later[2])

    def used_bytes(self, moment: Moment) -> int:
        """Return the memory in use, what is running included."""
        used = sum(self.nodes[i].output_bytes for i in moment.device)
        if moment.operation is not None:
            node = self.nodes[moment.operation.node]
            used += node.output_bytes + node.workspace_bytes
        return used

    def copy_ns(self, i: int) -> int:
        """Return the time of a copy in either direction."""
        assert self.bytes_per_ns is not None
        return math.ceil(self.nodes[i].output_bytes / self.bytes_per_ns)


class InOrderSearch(MomentSearch):
    """The search among schedules whose first computations follow the order of the graph."""

    def may_run(self, moment: Moment, i: int) -> bool:
        """Tell whether an operation can start, but for its memory, and is not too early."""
        return i <= len(moment.computed) and super().may_run(moment, i)
