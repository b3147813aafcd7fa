"""Offloaded sets: forward values that are saved on the device, saved on the host, or made again.

It is what a policy of names can say in JAX (``save_and_offload_only_these_names``), with a link to
the host. Computations are those of `lazy_schedule`, in which all forward nodes run again that are
neither saved nor offloaded; they follow one another without waiting for the link. The link moves
data only *beside first computations*: beside each of them it works for as long as that takes, and
beside what is computed again it rests, so that transfers do not depend on recomputation. An
offloaded value leaves beside forward nodes behind its own, and comes back beside backward nodes,
before anything in the backward pass reads it. Transfers may be interrupted, in whole nanoseconds.
A value takes its memory as a whole: on the way out until the last nanosecond of its transfer, on
the way back from the first one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from jettison.instances.core.link import Link
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.lazy_schedule import lazy_computations


@dataclass(frozen=True, slots=True)
class Transfer:
    """Part of a transfer: a value, how long, and the node beside whose first computation."""

    value: int
    beside: int
    duration_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffloadedSet:
    """Offloaded set with its transfers.

    Attributes
    ----------
    saved, offloaded
        Positions of forward nodes whose values stay on the device, and go to the host.
    out, back
        Transfers to the host, in the forward pass, and back, in the backward pass.
    """

    saved: frozenset[int]
    offloaded: frozenset[int]
    out: tuple[Transfer, ...] = ()
    back: tuple[Transfer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffloadedReplay:
    """Verdict of the replay of an offloaded set.

    Attributes
    ----------
    time_ns, peak_bytes
        Time and peak of the step.
    node_bytes
        For each node the memory on the device during its first computation.
    again_bytes
        For each backward node the largest memory while something is computed again for it.
    violations
        Rules that are broken; empty for a valid one.
    """

    time_ns: int
    peak_bytes: int
    node_bytes: tuple[int, ...]
    again_bytes: tuple[int, ...]
    violations: tuple[str, ...]

    @property
    def is_valid(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def offloaded_computations(
    graph: Graph, saved: Iterable[int], offloaded: Iterable[int]
) -> list[int]:
    """Return the computations of an offloaded set, in order."""
    forward = {place for place, node in enumerate(graph.nodes) if not node.backward}
    return lazy_computations(graph, frozenset(forward.difference(saved, offloaded)))


def replay_offloaded_set(
    graph: Graph, plan: OffloadedSet, link: Link, memory_bytes: int | None = None
) -> OffloadedReplay:
    """Return time, memory and violations of an offloaded set, in whole bytes and nanoseconds.

    Parameters
    ----------
    graph
        A graph whose forward nodes come first, of which each node runs an operator of its own.
    plan
        The set.
    link
        The link. Its directions never work at the same time.
    memory_bytes
        The memory of the device; None for no limit.

    Notes
    -----
    :math:`O(n + |E|)` for transfers of n parts.
    """
    nodes = graph.nodes
    computations = offloaded_computations(graph, plan.saved, plan.offloaded)
    backward = sum(not node.backward for node in nodes)
    first: dict[int, int] = {}
    made: dict[int, list[int]] = defaultdict(list)
    # The last reader of each copy, and the first reader of an offloaded value behind the boundary.
    last_read: dict[tuple[int, int], int] = {}
    back_read: dict[int, list[int]] = defaultdict(list)
    for place, node in enumerate(computations):
        for source in graph.inputs[node]:
            if place >= backward and source in plan.offloaded:
                back_read[source].append(place)
            else:
                last_read[source, made[source][-1]] = place
        first.setdefault(node, place)
        made[node].append(place)
    violations = _transfer_violations(graph, plan, link, first, back_read, backward)
    stays: list[tuple[int, int, int]] = []
    for node, places in made.items():
        for place in places:
            end = last_read.get((node, place), place)
            if nodes[node].keep and place == places[-1]:
                end = len(computations) - 1
            stays.append((node, place, end))
    stays += [
        (transfer.value, first[transfer.value], first[transfer.beside])
        for transfer in plan.out
        if transfer.value in first and transfer.beside in first
    ]
    for value, places in back_read.items():
        begun = [first[item.beside] for item in plan.back if item.value == value]
        if begun:
            stays.append((value, min(begun), max(places)))
    here = _memory(graph, computations, _merged(stays))
    again = [0] * len(graph)
    stage = len(graph)
    for place in reversed(range(len(computations))):
        if first[computations[place]] == place:
            stage = computations[place]
        else:
            again[stage] = max(again[stage], here[place])
    peak = max(here, default=0)
    if memory_bytes is not None and peak > memory_bytes:
        violations.append(f"{peak} bytes in a memory of {memory_bytes}")
    return OffloadedReplay(
        time_ns=sum(nodes[node].duration_ns for node in computations),
        peak_bytes=peak,
        node_bytes=tuple(here[first[node]] for node in range(len(graph))),
        again_bytes=tuple(again),
        violations=tuple(violations),
    )


def _merged(stays: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return stays of values, those from one beginning as one."""
    longest: dict[tuple[int, int], int] = {}
    for value, begin, end in stays:
        longest[value, begin] = max(end, longest.get((value, begin), end))
    return [(value, begin, end) for (value, begin), end in longest.items()]


def _memory(graph: Graph, computations: list[int], stays: list[tuple[int, int, int]]) -> list[int]:
    change = [0] * (len(computations) + 1)
    for value, begin, end in stays:
        change[begin] += graph.nodes[value].output_bytes
        change[end + 1] -= graph.nodes[value].output_bytes
    found, stored = [], 0
    for place, node in enumerate(computations):
        stored += change[place]
        found.append(stored + graph.nodes[node].workspace_bytes)
    return found


def _transfer_violations(
    graph: Graph,
    plan: OffloadedSet,
    link: Link,
    first: dict[int, int],
    back_read: dict[int, list[int]],
    backward: int,
) -> list[str]:
    nodes = graph.nodes
    found = [
        f"node {value} cannot be offloaded: it is backward, kept or saved"
        for value in sorted(plan.offloaded)
        if not 0 <= value < backward or nodes[value].keep or value in plan.saved
    ]
    for name, transfers in (("out", plan.out), ("back", plan.back)):
        beside: Counter[int] = Counter()
        moved: Counter[int] = Counter()
        for item in transfers:
            beside[item.beside] += item.duration_ns
            moved[item.value] += item.duration_ns
            in_forward = item.beside < backward
            if item.value not in plan.offloaded or item.duration_ns < 0 or item.beside not in first:
                found.append(f"{name}: {item} is no transfer of an offloaded value")
            elif (name == "out") != in_forward or (in_forward and item.beside <= item.value):
                found.append(f"{name}: {item} is beside a node of the wrong pass or too early")
            elif not in_forward and any(
                place <= first[item.beside] for place in back_read[item.value]
            ):
                found.append(f"{name}: {item} ends after the value is read")
        for node, busy_ns in beside.items():
            if node in first and busy_ns > nodes[node].duration_ns:
                found.append(f"{name}: {busy_ns} ns beside node {node}")
        for value in sorted(plan.offloaded):
            needed = link.transfer_ns(nodes[value].output_bytes) if value in back_read else 0
            if moved[value] < needed:
                found.append(f"{name}: {moved[value]} of {needed} ns of node {value}")
    return found
