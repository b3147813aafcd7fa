"""Joint graphs of small models as PyTorch's partitioner gets them, and what it makes of them.

`recorded` traces a training step with ahead-of-time autograd, records the joint graph, and lets
PyTorch partition a copy of it. `program_of_joint` reads the same graph for our own rules: views,
parameters and single results are all there, which a `Graph` does not have.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch._functorch import config, partitioners
from torch._functorch.aot_autograd import aot_function, make_boxed_compiler
from torch._functorch.compile_utils import fx_graph_cse
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition

from jettison.instances.profilers.torch_graphs.operation_reader import (
    operator_name,
)
from jettison.solvers.remat_graph.planners.joint_program import JointProgram, JointValue, Role
from jettison.solvers.remat_graph.planners.operator_lists import packet_name


@dataclass(frozen=True)
class Joint:
    """A recorded joint graph, with what the partitioner is told beside it."""

    module: fx.GraphModule
    num_outputs: int
    parameters: tuple[int, ...]

    def saved(self, budget: float, solver: str, cost: Callable[[fx.Node], float]) -> frozenset[str]:
        """Return the names of what torch chooses to save at a budget."""
        chosen: list[str] = []
        choose = partitioners.choose_saved_values_set

        def recording(*given: Any, **options: Any) -> list[fx.Node]:
            found = choose(*given, **options)
            chosen.extend(node.name for node in found)
            return found

        partitioners.choose_saved_values_set = recording
        try:
            self._partition(budget, solver, cost)
        finally:
            partitioners.choose_saved_values_set = choose
        return frozenset(chosen)

    def operators(
        self, budget: float, solver: str, cost: Callable[[fx.Node], float]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names of the operators of torch's forward and of its backward function."""
        forward, backward = (
            frozenset(node.name for node in module.graph.nodes if node.op == "call_function")
            for module in self._partition(budget, solver, cost)
        )
        return forward, backward

    def _partition(self, budget: float, solver: str, cost: Callable[[fx.Node], float]) -> Any:
        settings = {
            "activation_memory_budget": budget,
            "activation_memory_budget_solver": solver,
            "activation_memory_budget_runtime_estimator": _estimator(cost),
        }
        with config.patch(settings):
            return min_cut_rematerialization_partition(
                copy.deepcopy(self.module),
                None,
                num_fwd_outputs=self.num_outputs,
                static_lifetime_input_indices=list(self.parameters),
            )

    def cleaned(self) -> fx.Graph:
        """Return the graph as the partitioner sees it: no dead code, no common subexpressions."""
        module = copy.deepcopy(self.module)
        module.graph.eliminate_dead_code()
        module.recompile()
        return fx_graph_cse(module.graph)


def recorded(model: nn.Module, inputs: Sequence[Tensor]) -> Joint:
    """Return the joint graph of a model's outputs and gradients."""
    parameters = list(dict(model.named_parameters()).values())
    names = list(dict(model.named_parameters()))
    buffers = dict(model.named_buffers())
    found: list[Joint] = []

    def run(*tensors: Tensor) -> Any:
        given = dict(zip(names, tensors, strict=False)) | buffers
        return torch.func.functional_call(model, given, tuple(tensors[len(names) :]))

    def partition(module: fx.GraphModule, joint: Any, **options: Any) -> Any:
        places = tuple(range(len(names)))
        found.append(Joint(copy.deepcopy(module), options["num_fwd_outputs"], places))
        return default_partition(module, joint, **options)

    compiler = make_boxed_compiler(lambda module, _: module.forward)
    aot_function(run, compiler, partition_fn=partition)(*parameters, *inputs)
    return found[0]


def program_of_joint(joint: Joint, cost: Callable[[fx.Node], float]) -> JointProgram:
    """Read a joint graph, node by node."""
    graph = joint.cleaned()
    nodes = [node for node in graph.nodes if node.op != "output"]
    results = next(node for node in graph.nodes if node.op == "output").args[0]
    outputs = {node for node in results[: joint.num_outputs] if isinstance(node, fx.Node)}
    gradients = {node for node in results[joint.num_outputs :] if isinstance(node, fx.Node)}
    primals = [n for n in nodes if n.op == "placeholder" and "tangents" not in n.name]
    place = {node: number for number, node in enumerate(nodes)}
    behind: set[fx.Node] = set()
    for node in nodes:
        if node.op == "placeholder" and "tangents" in node.name:
            behind.add(node)
        if any(source in behind for source in node.all_input_nodes):
            behind.add(node)
    stored = {_storage(node) for node in primals}
    values = []
    for node in nodes:
        if node in primals:
            is_parameter = primals.index(node) in joint.parameters
            role = Role.PARAMETER if is_parameter else Role.INPUT
        else:
            role = Role.GRADIENT if node in behind else Role.OPERATION
        called = node.op == "call_function"
        values.append(
            JointValue(
                name=node.name,
                operator=packet_name(operator_name(node.target)) if called else None,
                inputs=tuple(sorted(place[source] for source in node.all_input_nodes)),
                size_bytes=partitioners._size_of(node),
                argument_bytes=sum(
                    partitioners._size_of(given)
                    for given in node.args
                    if isinstance(given, fx.Node)
                )
                if called
                else 0,
                role=role,
                is_output=node in outputs,
                is_gradient_output=node in gradients and node not in behind,
                is_tuple=isinstance(node.meta.get("val"), tuple | list),
                views_input=called and _storage(node) in stored,
                duration_ns=int(cost(node))
                if called and node.target is not operator.getitem
                else 0,
            )
        )
    return JointProgram(tuple(values))


def _storage(node: fx.Node) -> int | None:
    value = node.meta.get("val")
    return value.untyped_storage()._cdata if isinstance(value, Tensor) else None


def _estimator(cost: Callable[[fx.Node], float]) -> Any:
    from torch._inductor.custom_graph_pass import CustomRuntimeEstimator

    class Given(CustomRuntimeEstimator):
        def __call__(self, node: fx.Node) -> float:
            return float(cost(node))

        def uuid(self) -> str:
            return "given"

    return Given()
