"""Knapsack solver and runtime estimator for the memory budget of PyTorch's partitioner.

>>> with torch._functorch.config.patch(memory_budget("60%")):
...     step = torch.compile(model, dynamic=False)
...     step(batch).sum().backward()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import fx

from jettison.instances.core.content_hash import content_sha256
from jettison.instances.core.memory import Memory
from jettison.instances.profilers.torch_graphs.operator_cost import Measured, OperatorCost
from jettison.torch.policies.given_policy import AnnotatedGraph, GivenPolicy, device_of
from jettison.torch.policies.joint_instance import (
    operation_ns,
    outside_of_the_trace,
    read_joint,
)
from jettison.torch.policies.setting_object import SettingObject
from jettison.torch.policies.torch_hooks import torch_hook

_PASSES = "torch._inductor.custom_graph_pass"

# PyTorch asks the solver only at budgets below what its own cut saves, and not at 0.
_SMALLEST_BUDGET = 1e-9


class RuntimeEstimator(torch_hook(_PASSES, "CustomRuntimeEstimator")):  # type: ignore[misc]
    """Durations of operators for PyTorch's partitioner, from one of our sources of durations.

    Parameters
    ----------
    cost
        The source; by default each operator is measured on the device of its results.
    """

    def __init__(self, cost: OperatorCost | None = None) -> None:
        self._cost = cost

    def __call__(self, node: fx.Node) -> float:
        """Return the duration of an operator in nanoseconds, at least 1."""
        if self._cost is None:
            self._cost = Measured(device_of(node.graph), warmup=2, repeats=7)
        with outside_of_the_trace():
            return float(max(1, operation_ns(node, self._cost)))

    def uuid(self) -> Any:
        """Return an identity for PyTorch's cache; None where durations are measured anew."""
        return None if self._cost is None else content_sha256({"cost": repr(self._cost)})


class PeakKnapsack(
    SettingObject,
    torch_hook(_PASSES, "CustomKnapsackSolver"),  # type: ignore[misc]
):
    """Knapsack solver whose limit is the peak of the step, not the bytes that are saved.

    PyTorch gives it the operators that its cut would not run again, asks which of them may, and
    cuts once more. An answer alone would leave the rest to that cut, which knows neither times nor
    the peak. So the solver plans the whole joint graph (`best_saved_values`), and marks its nodes
    (`mark_nodes`), which the cut respects: what is saved is what was planned.

    Parameters
    ----------
    memory
        Bytes, or a share of the peak of the joint graph without recomputation.
    decisions
        For each operator that needs no gradient, by the name of its node, whether it runs again, in
        place of `memory`.
    cost
        Source of durations; by default each operator is measured on its device.
    time_limit
        Seconds for each graph.

    Attributes
    ----------
    graphs
        One entry for each graph that PyTorch has asked about.

    Raises
    ------
    InputError
        If neither or both of `memory` and `decisions` are given, or a value is out of range.
    """

    def __init__(
        self,
        memory: str | int | Memory | None = None,
        *,
        decisions: Mapping[str, bool] | None = None,
        cost: OperatorCost | None = None,
        time_limit: float | None = 30.0,
    ) -> None:
        self._policy = GivenPolicy(memory, decisions, cost, time_limit)
        self.graphs: list[AnnotatedGraph] = []

    def __call__(
        self,
        memory: list[float],
        joint_graph: fx.Graph,
        max_memory: float,
        node_info: Any,
        all_recomputable_banned_nodes: list[fx.Node],
    ) -> tuple[list[int], list[int]]:
        """Return the positions of the nodes that are saved, and of those that run again."""
        del memory, max_memory
        cost = self._policy.cost_in(joint_graph)
        instance = read_joint(joint_graph, node_info.required_fw_nodes, cost)
        marked = self._policy.mark(joint_graph, instance)
        self.graphs.append(marked)
        again = [marked.decisions.get(node.name, False) for node in all_recomputable_banned_nodes]
        places = range(len(again))
        return [at for at in places if not again[at]], [at for at in places if again[at]]

    def uuid(self) -> Any:
        """Return an identity for PyTorch's cache; None where durations are measured anew."""
        policy = self._policy
        if policy.decisions is not None:
            return content_sha256({"decisions": policy.decisions})
        if policy.cost is None:
            return None
        return content_sha256({"memory": str(policy.memory), "cost": repr(policy.cost)})


def memory_budget(memory: str | int | Memory | None = None, **options: Any) -> dict[str, Any]:
    """Return settings of ``torch._functorch.config`` for a peak within a memory.

    >>> with torch._functorch.config.patch(memory_budget("60%")):
    ...     step = torch.compile(model, dynamic=False)
    ...     step(batch).sum().backward()

    Parameters
    ----------
    memory, options
        As for `PeakKnapsack`.
    """
    return {
        "activation_memory_budget": _SMALLEST_BUDGET,
        "activation_memory_budget_solver": PeakKnapsack(memory, **options),
        "activation_memory_budget_runtime_estimator": RuntimeEstimator(options.get("cost")),
    }
