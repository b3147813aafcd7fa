"""Partitioner that marks the operators of a joint graph, and leaves the rest to PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from jettison.instances.core.content_hash import content_sha256
from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Memory
from jettison.instances.profilers.torch_graphs.operator_cost import Measured, OperatorCost
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_graph.policies.best_saved_values import (
    NoSavedValues,
    SavedValues,
    best_saved_values,
)
from jettison.torch.policies.joint_instance import (
    JointInstance,
    needed_nodes,
    output_nodes,
    read_joint,
)
from jettison.torch.policies.marked_nodes import mark_nodes
from jettison.torch.policies.setting_object import SettingObject
from jettison.torch.policies.torch_hooks import torch_hook

_PARTITIONERS = "torch._functorch.partitioners"
_PASSES = "torch._inductor.custom_graph_pass"


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


def planned(
    instance: JointInstance, memory: str | int | Memory, options: SolveOptions
) -> SavedValues:
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


def decisions_of(instance: JointInstance, again: frozenset[int]) -> dict[str, bool]:
    """Return for each operator that needs no tangent, by name, whether it runs again.

    What no output of the forward pass needs runs in the backward pass.
    """
    return {
        call.name: position in again or instance.graph.nodes[position].backward
        for call, position in instance.positions.items()
        if position in instance.without_tangent
    }


class AnnotatedPartitioner(
    SettingObject,
    torch_hook(_PASSES, "CustomPartitionerFn"),  # type: ignore[misc]
):
    """Partitioner for ``aot_autograd`` and Inductor that follows a policy by marks of nodes.

    PyTorch's own partitioner does the work: what is marked ``MUST_SAVE`` is not run again, and what
    is marked ``MUST_RECOMPUTE`` is, as late as the backward pass allows.

    Parameters
    ----------
    memory
        Bytes, or a share of the peak of the joint graph without recomputation; the policy is then
        made for each graph that is compiled, the best of its class that the search finds.
    decisions
        Decisions that were made before, in place of `memory`.
    cost
        Source of durations; by default each operator is measured on its device.
    time_limit
        Seconds for each graph.

    Attributes
    ----------
    graphs
        What was marked, one entry for each graph that has been compiled.

    Raises
    ------
    InputError
        If neither or both of `memory` and `decisions` are given, or the installed PyTorch lacks a
        hook.
    """

    def __init__(
        self,
        *,
        memory: str | int | Memory | None = None,
        decisions: Mapping[str, bool] | None = None,
        cost: OperatorCost | None = None,
        time_limit: float | None = 30.0,
    ) -> None:
        if (memory is None) == (decisions is None):
            raise InputError(
                "no memory and no decisions" if memory is None else "a memory and decisions",
                field="memory",
                expected="give one of the two",
            )
        self._partition = torch_hook(_PARTITIONERS, "min_cut_rematerialization_partition")
        self._cse = torch_hook("torch._functorch.compile_utils", "fx_graph_cse")
        self._memory = memory
        self._decisions = decisions
        self._cost = cost
        self._time_limit = time_limit
        self.graphs: list[AnnotatedGraph] = []

    def __call__(
        self, module: fx.GraphModule, joint_inputs: Any, *, num_fwd_outputs: int, **options: Any
    ) -> Any:
        """Mark a joint graph, and return its forward and backward modules."""
        # What the partitioner would do first, so that the plan is made for what it sees.
        module.graph.eliminate_dead_code()
        module.graph = self._cse(module.graph)
        module.recompile()
        forward = needed_nodes(output_nodes(module.graph)[:num_fwd_outputs])
        cost = self._cost or Measured(device_of(module.graph), warmup=2, repeats=7)
        instance = read_joint(module.graph, forward, cost)
        choice: SavedValues | None = None
        if self._decisions is None:
            assert self._memory is not None
            choice = planned(instance, self._memory, SolveOptions(time_limit_s=self._time_limit))
            decisions: Mapping[str, bool] = decisions_of(instance, choice.again)
        else:
            decisions = self._decisions
        mark_nodes(module.graph, decisions)
        self.graphs.append(AnnotatedGraph(instance, decisions, choice))
        # Not held: Inductor pickles its settings, and a module of settings cannot be.
        with torch_hook("torch._functorch", "config").patch(activation_memory_budget=1.0):
            return self._partition(module, joint_inputs, num_fwd_outputs=num_fwd_outputs, **options)

    def uuid(self) -> str:
        """Return a hash of what the partition depends on, for the cache of compiled graphs."""
        if self._decisions is not None:
            return content_sha256({"decisions": dict(self._decisions)})
        source = "measured" if self._cost is None else repr(self._cost)
        return content_sha256({"memory": str(self._memory), "cost": source})


def device_of(graph: fx.Graph) -> torch.device:
    """Return the device of the first tensor of a graph."""
    return next(
        node.meta["val"].device
        for node in graph.nodes
        if isinstance(node.meta.get("val"), torch.Tensor)
    )
