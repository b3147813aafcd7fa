"""Partitioner that marks the operators of a joint graph, and leaves the rest to PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import fx

from jettison.instances.core.content_hash import content_sha256
from jettison.instances.core.memory import Memory
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost
from jettison.torch.policies.given_policy import AnnotatedGraph, GivenPolicy
from jettison.torch.policies.joint_instance import needed_nodes, output_nodes, read_joint
from jettison.torch.policies.setting_object import SettingObject
from jettison.torch.policies.torch_hooks import torch_hook

_PARTITIONERS = "torch._functorch.partitioners"
_PASSES = "torch._inductor.custom_graph_pass"


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
        If neither or both of `memory` and `decisions` are given, a value is out of range, or the
        installed PyTorch lacks a hook.
    """

    def __init__(
        self,
        *,
        memory: str | int | Memory | None = None,
        decisions: Mapping[str, bool] | None = None,
        cost: OperatorCost | None = None,
        time_limit: float | None = 30.0,
    ) -> None:
        self._policy = GivenPolicy(memory, decisions, cost, time_limit)
        self._partition = torch_hook(_PARTITIONERS, "min_cut_rematerialization_partition")
        self._cse = torch_hook("torch._functorch.compile_utils", "fx_graph_cse")
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
        instance = read_joint(module.graph, forward, self._policy.cost_in(module.graph))
        self.graphs.append(self._policy.mark(module.graph, instance))
        # Not held: Inductor pickles its settings, and a module of settings cannot be.
        with torch_hook("torch._functorch", "config").patch(activation_memory_budget=1.0):
            return self._partition(module, joint_inputs, num_fwd_outputs=num_fwd_outputs, **options)

    def uuid(self) -> str:
        """Return a hash of what the partition depends on, for the cache of compiled graphs."""
        policy = self._policy
        if policy.decisions is not None:
            return content_sha256({"decisions": policy.decisions})
        source = "measured" if policy.cost is None else repr(policy.cost)
        return content_sha256({"memory": str(policy.memory), "cost": source})
