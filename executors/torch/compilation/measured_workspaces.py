"""Workspaces of a planned graph by the code that a compiler made of a plan.

A compiler copies tensors into other layouts, keeps some longer than the plan, and calls libraries
that need memory. What is in memory while the code makes a value, beyond what the replay has while
it computes it, becomes the workspace of that node. So the next plan counts it wherever it computes
that node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jettison.schedules.remat_graph.schedule import GraphOperationKind, GraphSchedule
from jettison.torch.compilation.code_memory import CodeMemory
from jettison.torch.compilation.fused_graph import FusedGraph


@dataclass(frozen=True, slots=True)
class MeasuredWorkspaces:
    """Workspaces as they were measured.

    Attributes
    ----------
    workspaces_bytes
        For operators of the joint graph, by name.
    peak_bytes
        The peak of the plan that was compiled, by the replay with these workspaces.
    """

    workspaces_bytes: Mapping[str, int]
    peak_bytes: int


def measured_workspaces(
    fused: FusedGraph,
    schedule: GraphSchedule,
    code: CodeMemory,
    known_bytes: Mapping[str, int],
) -> MeasuredWorkspaces:
    """Return the workspaces with which the replay has as much in memory as the code.

    Parameters
    ----------
    fused, schedule
        The graph that was planned, and the plan.
    code
        The memory of the code.
    known_bytes
        Workspaces that the plan was made with.
    """
    reserve = fused.planned.reserve_bytes
    used = [(node, reserve + count) for node, count in _used_bytes(fused, schedule)]
    nodes, names = fused.planned.graph.nodes, fused.joint.graph.nodes
    planned: dict[str, list[tuple[int, int]]] = {}
    for node, count in used:
        for part in fused.parts[node]:
            if part not in fused.inlined:
                planned.setdefault(names[part].name, []).append((node, count))
    made: dict[str, list[int]] = {}
    for name, count in (*code.forward, *code.backward):
        made.setdefault(name, []).append(count)
    found = dict(known_bytes)
    more: dict[int, int] = {}
    for name, counts in made.items():
        expected = planned.get(name, [])
        if not expected:
            continue
        if len(expected) == len(counts):
            pairs = zip(counts, expected, strict=True)
            rise = max(count - before for count, (_, before) in pairs)
        else:
            rise = max(counts) - max(before for _, before in expected)
        node = expected[0][0]
        now = nodes[node].workspace_bytes
        if rise > 0:
            # What some code took once counts on: where it takes less, another node is the reason.
            found[name] = max(found.get(name, 0), now + rise)
            more[node] = max(more.get(node, 0), found[name] - now)
    peak = max((count + more.get(node, 0) for node, count in used), default=0)
    return MeasuredWorkspaces(found, peak)


def _used_bytes(fused: FusedGraph, schedule: GraphSchedule) -> list[tuple[int, int]]:
    """Return the nodes in the order in which they are computed, and what is in memory then."""
    nodes = fused.planned.graph.nodes
    live: set[int] = set()
    stored = 0
    found = []
    for operation in schedule.operations:
        node, item = operation.node, nodes[operation.node]
        if operation.kind is GraphOperationKind.FREE:
            stored -= item.output_bytes if node in live else 0
            live.discard(node)
            continue
        # A value that is computed anew takes the place of the old one when it is there.
        found.append((node, stored + item.output_bytes + item.workspace_bytes))
        if node not in live:
            live.add(node)
            stored += item.output_bytes
    return found
