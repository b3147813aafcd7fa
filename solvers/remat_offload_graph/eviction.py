r"""Plans in which values make room for others, and are moved or computed again when they are read.

A plan is decoded from `EvictionChoices`. Computations run in a given order; where the next one
lacks memory, the value goes that is read last, by distance times a weight of its own. When a value
is read that has gone, it comes back from the host, or is computed again with whatever of its inputs
has gone as well. What comes back was copied to the host right after it had been computed for the
first time. At last each copy from the host is issued earlier, as far as the memory allows and its
time on the link asks for, so that it runs beside computations.

Every plan that is decoded fits: the memory that its operations hold in the order of issue never
exceeds the limit, and memory that is still being copied makes an operation wait, but does not break
a rule. With all values moved, a plan is found wherever a single operation fits (`offload-all`).
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field

from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.schedules.remat_offload_graph.value_transfer import (
    ValueTransfer,
    ValueTransferKind,
)


@dataclass(frozen=True, slots=True)
class EvictionChoices:
    """Choices from which a plan is decoded.

    Attributes
    ----------
    computations
        The computations, in order; each node after its inputs. Some may be there several times.
    again
        Nodes that are computed again where they have gone, and not moved.
    weights
        For each node, the factor of the distance to its next use.
    lead
        How many times its time on the link a copy from the host is issued ahead of its use.
    """

    computations: tuple[int, ...]
    again: frozenset[int]
    weights: tuple[float, ...]
    lead: float = 1.0


class NoRoomError(Exception):
    """The choices lead to an operation for which nothing more can go."""


def decoded(problem: RematOffloadGraph, choices: EvictionChoices) -> OffloadGraphSchedule | None:
    """Return the plan of some choices, or None if they leave no room for an operation.

    :math:`O(k (k + n))` for k computations.
    """
    plan = _Plan(problem, choices)
    try:
        plan.run()
    except NoRoomError:
        return None
    return OffloadGraphSchedule(tuple(plan.issued()))


_FREE, _COMPUTE, _PREFETCH = range(3)
_Entry = tuple[int, int]


@dataclass(eq=False)
class _Plan:
    problem: RematOffloadGraph
    choices: EvictionChoices
    entries: list[_Entry] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    stored: dict[int, None] = field(default_factory=dict)
    stored_bytes: int = 0
    moved: set[int] = field(default_factory=set)
    computed: set[int] = field(default_factory=set)
    now: int = 0

    def __post_init__(self) -> None:
        graph = self.graph = self.problem.instance
        self.limit_bytes = self.problem.memory_bytes
        self.sizes = [node.output_bytes for node in graph.nodes]
        end = len(self.choices.computations)
        self.reads: list[list[int]] = [[] for _ in graph.nodes]
        self.made: list[list[int]] = [[] for _ in graph.nodes]
        for place, node in enumerate(self.choices.computations):
            self.made[node].append(place)
            for source in graph.inputs[node]:
                self.reads[source].append(place)
        for value, spec in enumerate(graph.nodes):
            if spec.keep:
                self.reads[value].append(end)

    def next_use(self, node: int) -> int | None:
        """Return where a value in memory is read next; None if it is made anew before."""
        reads = self.reads[node]
        at = bisect.bisect_left(reads, self.now)
        if at == len(reads):
            return None
        made = self.made[node]
        anew = bisect.bisect_right(made, self.now)
        return None if anew < len(made) and made[anew] < reads[at] else reads[at]

    def can_return(self, node: int) -> bool:
        if node in self.problem.movable and node not in self.choices.again:
            return True
        return node in self.choices.again and node not in self.graph.computed_once

    def run(self) -> None:
        graph = self.graph
        for place, node in enumerate(self.choices.computations):
            self.now = place
            in_run = graph.comes_in_a_run(node)
            if node in self.stored and not graph.results_after.get(node):
                continue
            inputs = graph.inputs[node]
            if not in_run:
                for source in inputs:
                    self.bring(source, {*inputs})
            self.compute(node, {*inputs})
            self.now = place + 1
            self.free_unread(node)
        self.now = len(self.choices.computations)
        kept = {place for place, node in enumerate(graph.nodes) if node.keep}
        for value in sorted(kept):
            self.bring(value, kept)
        self.issue_ahead()

    def bring(self, value: int, held: set[int]) -> None:
        """Get a value into memory, whatever else is held."""
        if value in self.stored:
            return
        if value in self.problem.movable and value not in self.choices.again:
            self.make_room(self.sizes[value], held)
            self.moved.add(value)
            self.store(value, _PREFETCH, self.stored_bytes + self.sizes[value])
            return
        if value in self.graph.computed_once:
            raise NoRoomError
        operator = self.graph.operators[value]
        first = operator if self.graph.comes_in_a_run(value) else value
        sources = self.graph.inputs[first]
        for source in sources:
            self.bring(source, held | {*sources})
        self.compute(first, held | {*sources})
        if first != value:
            self.compute(value, held | {*sources, first})
        for source in (*sources, first):
            if source in self.stored and source not in held and source != value:
                self.free_if_unread(source)

    def compute(self, node: int, held: set[int]) -> None:
        spec = self.graph.nodes[node]
        needed = spec.output_bytes + spec.workspace_bytes
        self.make_room(needed, held)
        self.store(node, _COMPUTE, self.stored_bytes + needed)
        self.computed.add(node)

    def store(self, node: int, kind: int, peak_bytes: int) -> None:
        if node not in self.stored:
            self.stored_bytes += self.sizes[node]
            self.stored[node] = None
        self.entries.append((kind, node))
        self.peaks.append(peak_bytes)

    def make_room(self, needed_bytes: int, held: set[int]) -> None:
        while self.stored_bytes + needed_bytes > self.limit_bytes:
            best, best_score = -1, -1.0
            for value in self.stored:
                if value in held or not self.sizes[value]:
                    continue
                use = self.next_use(value)
                if use is not None and not self.can_return(value):
                    continue
                distance = 1e18 if use is None else float(use - self.now + 1)
                score = distance * self.choices.weights[value]
                if score > best_score:
                    best, best_score = value, score
            if best < 0:
                raise NoRoomError
            self.free(best)

    def free(self, value: int) -> None:
        del self.stored[value]
        self.entries.append((_FREE, value))
        self.peaks.append(self.stored_bytes)
        self.stored_bytes -= self.sizes[value]

    def free_if_unread(self, value: int) -> None:
        if self.next_use(value) is None:
            self.free(value)

    def free_unread(self, node: int) -> None:
        for value in dict.fromkeys((*self.graph.inputs[node], node)):
            # A run goes on with the token of its operator.
            if value in self.stored and self.graph.nodes[value].has_value:
                self.free_if_unread(value)

    def issue_ahead(self) -> None:
        """Move copies from the host to where they can run beside computations."""
        assert self.problem.link is not None or not self.moved
        nodes, link = self.graph.nodes, self.problem.link
        starts = [0]
        for kind, node in self.entries:
            starts.append(starts[-1] + (nodes[node].duration_ns if kind == _COMPUTE else 0))
        free_from: float = starts[-1]
        for place in range(len(self.entries) - 1, -1, -1):
            kind, value = self.entries[place]
            if kind != _PREFETCH or link is None:
                continue
            due = min(free_from, starts[place])
            wanted = due - self.choices.lead * link.transfer_ns(self.sizes[value])
            at = self.earliest(place, value, starts, wanted)
            free_from = max(wanted, starts[at])
            if at < place:
                self.move(place, at, value, starts)

    def earliest(self, place: int, value: int, starts: list[int], wanted: float) -> int:
        size, nodes = self.sizes[value], self.graph.nodes
        at = place
        while at and starts[at] > wanted:
            kind, node = self.entries[at - 1]
            # Results stay with their operator, and a value is not brought in before it has gone.
            if node == value or (kind == _COMPUTE and not nodes[node].has_value):
                break
            if self.peaks[at - 1] + size > self.limit_bytes:
                break
            at -= 1
        while at < place and self.is_in_run(at):
            at += 1
        return at

    def is_in_run(self, at: int) -> bool:
        """Tell whether the next computation from an entry on is a result in a run."""
        for kind, node in self.entries[at:]:
            if kind == _COMPUTE:
                return self.graph.comes_in_a_run(node)
        return False

    def move(self, place: int, at: int, value: int, starts: list[int]) -> None:
        entry = self.entries.pop(place)
        self.peaks.pop(place)
        size = self.sizes[value]
        # What is stored where it goes: of an operation before it, less what that frees.
        for moved in range(at, place):
            self.peaks[moved] += size
        self.entries.insert(at, entry)
        self.peaks.insert(at, self.peaks[at])
        del starts[place]
        starts.insert(at, starts[at])

    def issued(self) -> list[GraphOperation | ValueTransfer]:
        """Return the operations; a value is copied to the host when it has first been computed."""
        found: list[GraphOperation | ValueTransfer] = []
        copied: set[int] = set()
        for kind, node in self.entries:
            if kind == _FREE:
                found.append(GraphOperation(GraphOperationKind.FREE, node))
            elif kind == _PREFETCH:
                found.append(ValueTransfer(ValueTransferKind.PREFETCH, node))
            else:
                found.append(GraphOperation(GraphOperationKind.COMPUTE, node))
                if node in self.moved and node not in copied:
                    copied.add(node)
                    found.append(ValueTransfer(ValueTransferKind.OFFLOAD, node))
        return found


def in_order(problem: RematOffloadGraph) -> Sequence[int]:
    """Return the computations that run each node once, in the order of the graph."""
    return range(len(problem.instance))
