"""Graph and steps of a recorded step with checkpointed regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import fx

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.profilers.torch_graphs.operation_reader import (
    TracedOperation,
)
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost
from jettison.instances.profilers.torch_graphs.operator_memory import OperatorMemory
from jettison.instances.profilers.torch_regions.call_recorder import RecordedCall, StorageEnd
from jettison.instances.profilers.torch_regions.recorded_regions import RecordedRegions
from jettison.instances.remat_graph.checkpoint_regions import (
    CheckpointRegion,
    CheckpointRegions,
    OperatorCall,
)
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.node import Node, OperatorResult


def region_graph(
    recorded: RecordedRegions,
    names: tuple[str, ...],
    cost: OperatorCost,
    memory: OperatorMemory,
    *,
    name: str,
    provenance: Provenance,
) -> CheckpointRegions:
    """Return the graph of a recorded step, and its steps where nothing is saved.

    A node is an operator that makes a storage, or writes to one: then it has no bytes, and what
    reads the storage later reads the node as well. An operator with several new storages has that
    many results. Views are no nodes.

    Parameters
    ----------
    recorded
        The recording.
    names
        Names of the regions.
    cost
        Source of the durations.
    memory
        Source of what kernels allocate besides their results.
    name, provenance
        Those of the graph.

    Raises
    ------
    InputError
        If a region runs other operators when it runs again.
    """
    events = recorded.recorder.events
    builder = _Builder(recorded.kept, names, cost, _workspaces_bytes(events, memory))
    for event in events:
        if not isinstance(event, RecordedCall):
            builder.end(event.storage)
        elif event.where.again:
            builder.call_again(event)
        else:
            builder.call(event)
    return builder.finished(name, provenance)


@dataclass(slots=True)
class _Made:
    """Nodes and storages that a call of the forward pass became."""

    target: Any
    nodes: tuple[int, ...]
    results: tuple[int, ...]
    storages: tuple[int, ...]
    is_random: bool
    writes: bool


@dataclass(slots=True)
class _Builder:
    kept: frozenset[int]
    names: tuple[str, ...]
    cost: OperatorCost
    workspaces: dict[RecordedCall, int]
    nodes: list[Node] = field(default_factory=list)
    steps: list[tuple[bool, int]] = field(default_factory=list)
    calls: dict[int, list[_Made]] = field(default_factory=dict)
    # The node whose value is in a storage, and those that have written to it.
    value: dict[int, int] = field(default_factory=dict)
    writers: dict[int, list[int]] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    again: dict[int, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    holder: dict[int, int] = field(default_factory=dict)
    copies: dict[int, int] = field(default_factory=dict)

    def call(self, call: RecordedCall) -> None:
        """Add a call of the forward or the backward pass."""
        made = _Made(call.target, (), (), (), call.is_random, bool(call.writes))
        if call.makes or call.writes:
            made = self._add(call)
        if call.where.region is not None and call.is_counted:
            self.calls.setdefault(call.where.region, []).append(made)

    def call_again(self, call: RecordedCall) -> None:
        """Add a call of a region that runs again: it computes the nodes of the first one."""
        if not call.is_counted or call.where.region is None:
            return
        region = call.where.region
        number = self.again.get(region, 0)
        self.again[region] = number + 1
        first = self.calls[region][number] if number < len(self.calls[region]) else None
        if (
            first is None
            or first.target is not call.target
            or len(first.storages) != len(call.makes)
        ):
            raise InputError(
                f"{self.names[region]} runs {call.target} when it runs again, and "
                f"{'nothing' if first is None else first.target} in the forward pass",
                field="model",
                expected="leave out of regions what depends on global state",
            )
        for (storage, _), result in zip(call.makes, first.results, strict=True):
            if result in self.holder:
                self._set_aside(result)
            self.value[storage] = result
            self.holder[result] = storage
        for storage in call.writes:
            self.writers.setdefault(storage, []).append(first.nodes[0])
        self._compute(first.nodes)

    def end(self, storage: int) -> None:
        """End the value in a storage, and the writes to it."""
        if storage in self.kept:
            return
        node = self.value[storage]
        for writer in self.writers.pop(storage, []):
            self.steps.append((False, writer))
        if storage in self.copies:
            self.steps.append((False, self.copies.pop(storage)))
            return
        self.holder.pop(node, None)
        self.steps.append((False, node))

    def _set_aside(self, node: int) -> None:
        """Let a copy stand for what the forward pass still holds of a node that runs again."""
        facts = self.nodes[node]
        copy = len(self.nodes)
        self.nodes.append(
            Node(
                name=f"{facts.name}.held",
                duration_ns=0,
                output_bytes=facts.output_bytes,
                inputs=(facts.name,),
                backward=True,
            )
        )
        storage = self.holder[node]
        self.copies[storage] = copy
        self.steps += [(True, copy), (False, node)]
        self.value[storage] = copy

    def finished(self, name: str, provenance: Provenance) -> CheckpointRegions:
        """Return the regions."""
        for storage in self.kept:
            position = self.value[storage]
            self.nodes[position] = replace(self.nodes[position], keep=True)
        regions = tuple(
            CheckpointRegion(
                name,
                tuple(
                    OperatorCall(
                        operator=str(made.target),
                        nodes=made.nodes,
                        may_be_saved=bool(made.storages)
                        and not made.writes
                        and self.written.isdisjoint(made.storages),
                        is_random=made.is_random,
                    )
                    for made in self.calls.get(place, [])
                ),
            )
            for place, name in enumerate(self.names)
        )
        graph = Graph(name, tuple(self.nodes), provenance=provenance)
        return CheckpointRegions(graph, regions, tuple(self.steps))

    def _add(self, call: RecordedCall) -> _Made:
        name = self._name(call.target)
        inputs = self._inputs(call.reads)
        duration_ns = self.cost.spread_ns(_operation(call, name))[1]
        workspace_bytes = self.workspaces[call]
        if len(call.makes) < 2:
            size = call.makes[0][1] if call.makes else 0
            only = len(self.nodes)
            self.nodes.append(
                Node(
                    name=name,
                    duration_ns=duration_ns,
                    output_bytes=size,
                    inputs=inputs,
                    workspace_bytes=workspace_bytes,
                    backward=call.backward,
                )
            )
            nodes: tuple[int, ...] = (only,)
            results: tuple[int, ...] = (only,) if call.makes else ()
        else:
            position = len(self.nodes)
            made = Node(
                name=name,
                duration_ns=duration_ns,
                inputs=inputs,
                workspace_bytes=workspace_bytes,
                backward=call.backward,
                results=tuple(
                    OperatorResult(name=f"{name}.{place}", output_bytes=size)
                    for place, (_, size) in enumerate(call.makes)
                ),
            )
            # Results have positions of their own behind that of the operator.
            self.nodes.extend(made.run())
            results = tuple(range(position + 1, len(self.nodes)))
            nodes = (position, *results)
        for (storage, _), result in zip(call.makes, results, strict=True):
            self.value[storage] = result
            self.holder[result] = storage
        for storage in call.writes:
            self.writers.setdefault(storage, []).append(nodes[0])
            self.written.add(storage)
        self._compute(nodes)
        storages = tuple(storage for storage, _ in call.makes)
        return _Made(call.target, nodes, results, storages, call.is_random, bool(call.writes))

    def _compute(self, nodes: tuple[int, ...]) -> None:
        self.steps += [(True, node) for node in nodes]
        if nodes and not self.nodes[nodes[0]].has_value:
            self.steps.append((False, nodes[0]))

    def _inputs(self, reads: tuple[int, ...]) -> tuple[str, ...]:
        found: dict[int, None] = {}
        for storage in reads:
            found[self.value[storage]] = None
            found.update(dict.fromkeys(self.writers.get(storage, [])[-1:]))
        return tuple(self.nodes[node].name for node in found)

    def _name(self, target: Any) -> str:
        base = str(getattr(target, "overloadpacket", target)).rpartition(".")[2]
        count = self.counts.get(base, 0)
        self.counts[base] = count + 1
        return f"{base}_{count}" if count else base


def _workspaces_bytes(
    events: Sequence[RecordedCall | StorageEnd], memory: OperatorMemory
) -> dict[RecordedCall, int]:
    """Return what the kernel of each call that becomes a node allocates besides its results."""
    calls = [
        event
        for event in events
        if isinstance(event, RecordedCall)
        and not event.where.again
        and (event.makes or event.writes)
    ]
    rises = memory.rises_bytes([_operation(call, str(call.target)) for call in calls])
    return {
        call: max(0, rise - sum(size for _, size in call.makes))
        for call, rise in zip(calls, rises, strict=True)
    }


def _operation(call: RecordedCall, name: str) -> TracedOperation:
    """Return a call as what sources of durations know, an operation of a graph of its own."""
    return TracedOperation(
        name=name,
        target=call.target,
        arguments=call.arguments,
        options=call.options,
        results=call.results,
        inputs=(),
        output_bytes=sum(size for _, size in call.makes),
        unread_bytes=0,
        backward=call.backward,
        keep=False,
        node=fx.Graph().placeholder("call"),
        part=tuple(range(len(call.results))),
        stored=(),
    )
