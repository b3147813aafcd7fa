"""Plans of the planners people use, each as its user would get it, with its time and its peak.

A user of torch's partitioner gives a budget between 0 and 1 and gets one plan, whatever peak that
has; a rule such as checkpointing each block gives one plan and takes no budget at all. So a plan is
asked for by its *setting*, and its peak is a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.remat_graph.planners.boundary_plan import PlanBoundary
from jettison.solvers.remat_graph.planners.joint_program import program_of_graph
from jettison.solvers.remat_graph.planners.knapsacks import (
    DynamicKnapsack,
    GreedyKnapsack,
    IntegerKnapsack,
    Knapsack,
)
from jettison.solvers.remat_graph.planners.repeated_blocks import forward_blocks
from jettison.solvers.remat_graph.planners.saved_values import SavedValues
from jettison.solvers.remat_graph.planners.selective import (
    SavedProducts,
    attention_cores,
    saved_outside,
)
from jettison.solvers.remat_graph.planners.torch_min_cut import graph_nodes

KNAPSACKS: dict[str, Knapsack] = {
    "torch-dp": DynamicKnapsack(),
    "torch-greedy": GreedyKnapsack(1),
    "torch-ilp": IntegerKnapsack(1),
}
"""The knapsacks by which torch's partitioner can fill its budget; dp is the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """Plan of a planner, replayed.

    Attributes
    ----------
    planner, setting
        Name of the planner, and what it was asked for; empty where there is nothing to ask for.
    time_ns, peak_bytes
        Replayed time and peak.
    """

    planner: str
    setting: str
    time_ns: int
    peak_bytes: int


def planned(graph: Graph, planner: str, setting: str, computations: Sequence[int]) -> PlannedStep:
    """Replay the computations of a planner.

    Raises
    ------
    AssertionError
        If they are no schedule of the graph: a defect of the planner.
    """
    replay = GraphSchedule.from_computations(graph, computations).replay(graph)
    assert replay.valid, replay.violations[0]
    return PlannedStep(
        planner=planner, setting=setting, time_ns=replay.time_ns, peak_bytes=replay.peak_bytes
    )


class TorchBudgets:
    """Plans of torch's partitioner for one graph, at memory budgets from 0 to 1.

    Parameters
    ----------
    graph
        A traced step, whose nodes name their operators.
    planner
        One of `KNAPSACKS`.
    costs
        What the knapsack takes an operator of each node to cost; the durations if None. PyTorch
        counts floating-point operations, at least one, unless it is told otherwise.
    """

    def __init__(self, graph: Graph, planner: str, costs: Sequence[int] | None = None) -> None:
        self._graph = graph
        self._planner = planner
        self._program = program_of_graph(graph if costs is None else _priced(graph, costs))
        self._boundary = PlanBoundary(graph)
        self._values = SavedValues(self._program, KNAPSACKS[planner])

    def at(self, budget: float) -> PlannedStep:
        """Return the plan at a budget."""
        saved = graph_nodes(self._program, self._values.at(budget))
        return planned(
            self._graph, self._planner, f"{budget:g}", self._boundary.computations(saved)
        )


def _priced(graph: Graph, costs: Sequence[int]) -> Graph:
    """Return a graph with costs in place of durations; a result has none."""
    nodes = (
        node if node.result_of else replace(node, duration_ns=max(1, cost))
        for node, cost in zip(graph.nodes, costs, strict=True)
    )
    return replace(graph, nodes=tuple(nodes))


def plan_by_rule(graph: Graph, rule: str) -> PlannedStep | None:
    """Return the plan of a rule that takes no budget, or None where it says nothing.

    Parameters
    ----------
    graph
        A traced step, whose nodes name their operators.
    rule
        ``blocks``: each of the blocks that repeat is checkpointed; ``second-product``: every second
        product of matrices with parameters is computed again, with all that is neither a product
        nor fused attention; ``attention``: what is between the products of each attention is
        computed again.
    """
    forward = frozenset(place for place, node in enumerate(graph.nodes) if not node.backward)
    regions: Sequence[frozenset[int]]
    if rule == "second-product":
        saved = SavedProducts(graph).but_every(2)
        if not saved:
            return None
    elif rule == "blocks":
        regions = forward_blocks(graph)
        if len(regions) < 2:
            return None
        saved = saved_outside(graph, regions)
    else:
        regions = attention_cores(graph)
        if not regions:
            return None
        saved = forward.difference(*regions)
    return planned(graph, rule, "", PlanBoundary(graph).computations(saved))
