"""Policy that a hook of PyTorch was given: a memory to plan in, or decisions made before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import fx

from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Memory, parse_memory
from jettison.instances.profilers.torch_graphs.operator_cost import Measured, OperatorCost
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_graph.policies.best_saved_values import (
    NoSavedValues,
    SavedValues,
    best_saved_values,
)
from jettison.torch.policies.joint_instance import JointInstance
from jettison.torch.policies.marked_nodes import mark_nodes


@dataclass(frozen=True, eq=False, slots=True)
class AnnotatedGraph:
    """Joint graph whose operators have been marked, and what the marks make happen.

    Attributes
    ----------
    instance
        The graph as an instance.
    decisions
        For each operator that needs no tangent, by the name of its node, whether it runs again.
    choice
        The plan, where one was made here; None where the policy was given.
    """

    instance: JointInstance
    decisions: Mapping[str, bool]
    choice: SavedValues | None


class GivenPolicy:
    """A policy of joint graphs, as it was given.

    Parameters
    ----------
    memory
        Bytes, or a share of the peak of the joint graph without recomputation; the policy is then
        made for each graph that is compiled, the best of its class that the search finds.
    decisions
        For each operator that needs no tangent, by the name of its node, whether it runs again, in
        place of `memory`.
    cost
        Source of durations; by default each operator is measured on its device.
    time_limit
        Seconds for each graph.

    Raises
    ------
    InputError
        If neither or both of `memory` and `decisions` are given, or a value is out of range.
    """

    def __init__(
        self,
        memory: str | int | Memory | None,
        decisions: Mapping[str, bool] | None,
        cost: OperatorCost | None,
        time_limit: float | None,
    ) -> None:
        if (memory is None) == (decisions is None):
            raise InputError(
                "no memory and no decisions" if memory is None else "a memory and decisions",
                field="memory",
                expected="give one of the two",
            )
        self.memory = None if memory is None else parse_memory(memory)
        self.decisions = None if decisions is None else dict(decisions)
        self.cost = cost
        self._options = SolveOptions(time_limit_s=time_limit)

    def cost_in(self, graph: fx.Graph) -> OperatorCost:
        """Return the source of durations for a joint graph."""
        return self.cost or Measured(device_of(graph), warmup=2, repeats=7)

    def mark(self, graph: fx.Graph, instance: JointInstance) -> AnnotatedGraph:
        """Mark the operators of a joint graph, by a plan or by what was decided before.

        Raises
        ------
        InputError
            If nothing was found that fits.
        NodeMismatchError
            If the decisions are those of another graph.
        """
        if self.memory is None:
            choice, decisions = None, self.decisions or {}
        else:
            choice = _planned(instance, self.memory, self._options)
            decisions = _decisions_of(instance, choice.again)
        mark_nodes(graph, decisions)
        return AnnotatedGraph(instance, decisions, choice)


def device_of(graph: fx.Graph) -> torch.device:
    """Return the device of the first tensor of a graph."""
    return next(
        node.meta["val"].device
        for node in graph.nodes
        if isinstance(node.meta.get("val"), torch.Tensor)
    )


def _planned(instance: JointInstance, memory: Memory, options: SolveOptions) -> SavedValues:
    """Return what of a joint graph runs again, the best that the search finds.

    Raises
    ------
    InputError
        If nothing was found that fits.
    """
    problem = RematGraph(instance.graph, memory)
    found = best_saved_values(problem, options, allowed=instance.repeatable)
    if isinstance(found, NoSavedValues):
        raise InputError(
            "nothing that runs once more in the backward pass makes the step fit in "
            f"{problem.memory_bytes} bytes",
            field="memory",
            expected=f"give {found.enough_bytes} bytes",
        )
    return found


def _decisions_of(instance: JointInstance, again: frozenset[int]) -> dict[str, bool]:
    """Return for each operator that needs no tangent, by name, whether it runs again.

    What no output of the forward pass needs runs in the backward pass.
    """
    return {
        call.name: position in again or instance.graph.nodes[position].backward
        for call, position in instance.positions.items()
        if position in instance.without_tangent
    }
