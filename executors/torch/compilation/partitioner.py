"""Partitioner of joint graphs by schedules of remat-graph, for ahead-of-time autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import fx
from torch._functorch import config as functorch_config
from torch._functorch.compile_utils import fx_graph_cse
from torch._inductor.custom_graph_pass import CustomPartitionerFn

from jettison.instances.profilers.torch_graphs.joint_graph import JointGraph, read_joint_graph
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost, Roofline
from jettison.torch.compilation.solved_plan import Planning, SolvedPlan, solve_plan
from jettison.torch.compilation.step_modules import write_modules


class Partitioner(CustomPartitionerFn):
    """Partitioner that cuts a joint graph by the fastest schedule within a memory limit.

    Attributes
    ----------
    planning
        The way in which plans are found.
    plans
        The plans that it has made, in order.
    """

    def __init__(self, planning: Planning, cost: OperatorCost | None = None) -> None:
        self.planning = planning
        self.plans: list[SolvedPlan] = []
        self._cost: OperatorCost = Roofline() if cost is None else cost
        self.on_plan: Callable[[JointGraph, SolvedPlan], None] = lambda joint, plan: None

    def __call__(
        self, gm: fx.GraphModule, joint_inputs: Sequence[object], **kwargs: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        """Return the forward and the backward module of a joint graph."""
        joint = self.read(gm, kwargs["num_fwd_outputs"])
        plan = solve_plan(joint, self.planning)
        self.plans.append(plan)
        modules = write_modules(joint, plan.schedule)
        self.on_plan(joint, plan)
        return modules.forward, modules.backward

    def read(self, module: fx.GraphModule, forward_outputs: int) -> JointGraph:
        """Return a joint graph as an instance, without what is dead or stands twice."""
        module.graph.eliminate_dead_code()
        if functorch_config.cse:
            module.graph = fx_graph_cse(module.graph)
        return read_joint_graph(module, forward_outputs=forward_outputs, cost=self._cost)

    def uuid(self) -> Any | None:
        """Return None: compiled graphs depend on the plan, so that Inductor caches none."""
        return None
