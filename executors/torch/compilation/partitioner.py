"""Partitioner of joint graphs by schedules of remat-graph, for ahead-of-time autograd."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, fx
from torch._functorch import config as functorch_config
from torch._functorch.compile_utils import fx_graph_cse
from torch._guards import CompileContext
from torch._inductor.custom_graph_pass import CustomPartitionerFn

from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Share, parse_memory
from jettison.instances.profilers.torch_graphs.joint.joint_graph import JointGraph, read_joint_graph
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost
from jettison.instances.profilers.torch_graphs.operator_memory import MeasuredMemory, TracedMemory
from jettison.torch.compilation.code_memory import CodeMemory
from jettison.torch.compilation.fused_graph import FusedGraph, fused_graph, no_fusion
from jettison.torch.compilation.measured_workspaces import (
    MeasuredWorkspaces,
    measured_workspaces,
)
from jettison.torch.compilation.memory_proof import MemoryProof, memory_proof
from jettison.torch.compilation.operator_rates import default_cost
from jettison.torch.compilation.plan_form import FIRST_FORM, PlanForm
from jettison.torch.compilation.plan_store import stored_plan
from jettison.torch.compilation.solved_plan import Planning, SolvedPlan
from jettison.torch.compilation.step_modules import write_modules

# With a share of this much no schedule recomputes anything.
EVERYTHING = Share(Fraction(1))


class Partitioner(CustomPartitionerFn):
    """Partitioner that cuts a joint graph by the fastest schedule within a memory limit.

    Parameters
    ----------
    planning
        The way in which plans are found.
    cost
        Source of the durations; the rates of `operator_rates` if it is not given.
    folder
        Where plans are stored; None for nowhere.
    is_measured
        Whether the caller measures the step and holds Inductor's kernels to the plan. Then no
        compiler may keep what it made of a graph and ask for no plan the next time. Inductor is
        refused otherwise, unless nothing is computed again.
    workspaces_bytes
        Workspaces of operators by name, as they were measured (`measured_workspaces`).
    form
        The form of the plans.

    Attributes
    ----------
    plans
        The plans that it has made, in order.
    graphs
        The graphs that it was asked for, as they were planned.
    saved
        For each of them how many values the forward pass hands to the backward pass.
    """

    def __init__(
        self,
        planning: Planning,
        cost: OperatorCost | None = None,
        *,
        folder: Path | None = None,
        is_measured: bool = False,
        workspaces_bytes: Mapping[str, int] | None = None,
        form: PlanForm = FIRST_FORM,
    ) -> None:
        self.planning = planning
        self.form = form
        self.plans: list[SolvedPlan] = []
        self.graphs: list[FusedGraph] = []
        self.saved: list[int] = []
        self._cost = cost
        self._folder = folder
        self._is_measured = is_measured
        self._workspaces_bytes = {} if workspaces_bytes is None else workspaces_bytes
        self._frames: set[int] = set()

    def __call__(
        self, gm: fx.GraphModule, joint_inputs: Sequence[object], **kwargs: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        """Return the forward and the backward module of a joint graph.

        Parameters
        ----------
        gm
            The joint graph.
        joint_inputs
            Its inputs, which are not looked at.
        **kwargs
            ``num_fwd_outputs``, and ``compiler`` where that is Inductor.

        Raises
        ------
        InputError
            If the graph cannot be read (`read_joint_graph`), or no schedule fits, or the compiler
            is Inductor and nobody measures what it makes of the plan.
        """
        fuses = kwargs.get("compiler") == "inductor"
        if fuses and self.is_limited and not self._is_measured:
            raise _unmeasured(self.planning.memory)
        self._note_frame()
        joint = self._read(gm, kwargs["num_fwd_outputs"], fuses)
        fused = self._fused(joint) if fuses and self._inlines else no_fusion(joint)
        self.graphs.append(fused)
        plan = stored_plan(fused.planned, self.planning, self._folder)
        self.plans.append(plan)
        modules = write_modules(joint, fused.unfused(plan.schedule))
        self.saved.append(modules.saved)
        return modules.forward, modules.backward

    def __deepcopy__(self, memo: dict[int, Any]) -> Partitioner:
        """Return itself: Inductor copies its settings, and fake tensors do not survive that."""
        return self

    @property
    def is_limited(self) -> bool:
        """Whether a plan may compute something again: with the whole peak none does."""
        return parse_memory(self.planning.memory) != EVERYTHING

    def uuid(self) -> Any | None:
        """Return the key of Inductor's cache: the settings, the source of costs, and the version.

        None, with which nothing is cached, where compiled graphs are looked at afterwards.
        """
        if self._is_measured:
            return None
        cost = self._cost
        settings = (
            metadata.version("jettison"),
            *map(str, astuple(self.planning)),
            "default" if cost is None else f"{cost.source} {cost.note}",
        )
        return hashlib.sha256("\n".join(settings).encode()).hexdigest()

    def measured(self, code: CodeMemory) -> MeasuredWorkspaces:
        """Return the workspaces by the code that was made of the last plan."""
        fused, plan = self.graphs[-1], self.plans[-1]
        if self._inlines:
            return measured_workspaces(fused, plan.schedule, code, self._workspaces_bytes)
        # Where nothing is inlined the replay says nothing of single values.
        known = {**self._workspaces_bytes, **code.workspaces_bytes}
        return MeasuredWorkspaces(known, plan.predicted_peak_bytes)

    @property
    def has_convolutions(self) -> bool:
        """Whether there are convolutions in the last graph."""
        called = (item.node.target for item in self.graphs[-1].joint.operations)
        return torch.ops.aten.convolution.default in called

    def proof(self, code: CodeMemory) -> MemoryProof:
        """Return the memory that every step of the last graph needs."""
        return memory_proof(self.graphs[-1].joint, code.workspaces_bytes)

    @property
    def _inlines(self) -> bool:
        return self.is_limited and self.form.is_fused

    def _fused(self, joint: JointGraph) -> FusedGraph:
        # It loads Inductor, which is there when it compiles.
        from jettison.torch.compilation.inductor.realized_values import is_call

        return fused_graph(joint, is_call, self._workspaces_bytes)

    def _read(self, module: fx.GraphModule, forward_outputs: int, fuses: bool) -> JointGraph:
        """Return a joint graph as an instance, without what is dead or stands twice."""
        module.graph.eliminate_dead_code()
        if functorch_config.cse:
            module.graph = fx_graph_cse(module.graph)
        device = _device(module)
        # Of a compiler that writes kernels of its own those of the operators say little.
        measures = not fuses and device.type in {"cpu", "cuda"}
        return read_joint_graph(
            module,
            forward_outputs=forward_outputs,
            cost=default_cost(device, fuses=fuses) if self._cost is None else self._cost,
            memory=MeasuredMemory(device) if measures else TracedMemory(),
        )

    def _note_frame(self) -> None:
        """Warn where a second piece of code is compiled: it has the whole memory as well."""
        compile_id = CompileContext.current_compile_id()
        if compile_id is None or compile_id.frame_id is None:
            return
        is_known = compile_id.frame_id in self._frames
        self._frames.add(compile_id.frame_id)
        if len(self._frames) > 1 and not is_known:
            warnings.warn(
                "a second graph is planned with the same limit: the parts of a model that breaks "
                "into several graphs do not know what the others hold in memory, and together they "
                "may exceed the limit; compile with fullgraph=True",
                stacklevel=2,
            )


def _unmeasured(memory: object) -> InputError:
    return InputError(
        f"Inductor fuses and moves what a plan within {memory} computes again, and a partitioner"
        " alone does not see what becomes of the peak",
        field="backend",
        expected="write jettison.torch.compiled(model, memory=...), which holds Inductor to the"
        " plan and measures the step, or compile without fusion (aot_autograd with partition_fn)",
    )


def _device(module: fx.GraphModule) -> torch.device:
    """Return the device on which a graph runs: the first that is no CPU, if there is one."""
    values = [node.meta.get("val") for node in module.graph.find_nodes(op="placeholder")]
    devices = [value.device for value in values if isinstance(value, Tensor)]
    found = [device for device in devices if device.type != "cpu"]
    return found[0] if found else torch.device("cpu")
