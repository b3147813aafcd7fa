"""Our rules of torch's partitioner beside PyTorch itself, on joint graphs of small models."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

from torch import nn  # noqa: E402
from torch._functorch import partitioners  # noqa: E402

from jettison.instances.profilers.torch_graphs.joint.joint_graph import read_joint_graph  # noqa: E402
from jettison.instances.remat_graph.graph import Graph  # noqa: E402
from jettison.solvers.remat_graph.planners import operator_lists  # noqa: E402
from jettison.solvers.remat_graph.planners.boundary_plan import PlanBoundary  # noqa: E402
from jettison.solvers.remat_graph.planners.joint_program import program_of_graph  # noqa: E402
from jettison.solvers.remat_graph.planners.knapsacks import (  # noqa: E402
    DynamicKnapsack,
    GreedyKnapsack,
    IntegerKnapsack,
    Knapsack,
)
from jettison.solvers.remat_graph.planners.saved_values import SavedValues  # noqa: E402
from jettison.solvers.remat_graph.planners.torch_min_cut import graph_nodes  # noqa: E402
from tests.torch.joint_graphs import Joint, program_of_joint, recorded  # noqa: E402
from tests.torch.planned_models import (  # noqa: E402
    Llama,
    ResidualBlocks,
    UNet,
    roofline_ns,
)

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::FutureWarning")]


class InPlace(nn.Module):
    """Layer that writes into views of its values, which autograd makes functional."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 32), nn.Linear(16, 8)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        made = self.first(given)
        made[:, :16].add_(torch.sigmoid(made[:, 16:]))
        halves = made.view(-1, 2, 16)
        halves[:, 1].add_(halves[:, 0].exp())
        return self.second(nn.functional.relu_(halves.sum(1)))


class Noisy(nn.Module):
    """Layers with random numbers of several kinds in between."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 32), nn.Linear(32, 8)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        made = torch.tanh(self.first(given))
        made = made * (1 + 0.1 * torch.rand_like(made))
        made = nn.functional.dropout(torch.sigmoid(made), 0.3)
        return torch.tanh(self.second(made)) + torch.randn_like(given)


class SeveralOutputs(nn.Module):
    """Layers of which values in between are returned, one of them as a view, and one twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 32), nn.Linear(32, 16)

    def forward(self, given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first = torch.tanh(self.first(given))
        second = torch.softmax(self.second(first), -1)
        return second, first.view(-1, 4, 8), second * second.mean(), first.exp().sum(), second


BUDGETS = (0.0, 0.1, 0.4, 0.8, 1.0)
KNAPSACKS: dict[str, Knapsack] = {
    "greedy": GreedyKnapsack(100),
    "ilp": IntegerKnapsack(100),
    "dp": DynamicKnapsack(),
}
MODELS: dict[str, Callable[[], tuple[nn.Module, list[Any]]]] = {
    "llama": lambda: (Llama(1, words=20), [torch.randint(0, 20, (2, 16))]),
    "residual blocks": lambda: (ResidualBlocks(2), [torch.randn(2, 3, 16, 16)]),
    "u-net": lambda: (UNet(4), [torch.randn(1, 3, 16, 16)]),
    "dropout": lambda: (
        nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Dropout(0.5), nn.LayerNorm(32)),
        [torch.randn(64, 8)],
    ),
    "views in place": lambda: (InPlace(), [torch.randn(64, 8)]),
    "random numbers": lambda: (Noisy(), [torch.randn(64, 8)]),
    "several outputs": lambda: (SeveralOutputs(), [torch.randn(64, 8)]),
}


class Roofline:
    """Costs of operators by their operations and bytes."""

    source = "roofline"
    note = None
    assumed_device = None

    def spread_ns(self, operation: Any) -> tuple[int, int, int]:
        """Return the time three times."""
        return (roofline_ns(operation.node),) * 3


@cache
def joint(name: str) -> Joint:
    torch.manual_seed(0)
    return recorded(*MODELS[name]())


def graph_of(name: str) -> Graph:
    module = copy.deepcopy(joint(name).module)
    module.graph = joint(name).cleaned()
    return read_joint_graph(module, forward_outputs=joint(name).num_outputs, cost=Roofline()).graph


def test_parameters_and_inputs_of_a_joint_graph_are_resident() -> None:
    primals = [
        node.meta["val"]
        for node in joint("llama").module.graph.nodes
        if node.op == "placeholder" and "tangents" not in str(node.target)
    ]
    expected = sum(value.untyped_storage().nbytes() for value in primals)
    assert graph_of("llama").resident_bytes == expected > 0


def recomputed_ns(name: str, budget: float, solver: str) -> int:
    """Return the time that PyTorch's own plan computes again."""
    nodes = {node.name: node for node in joint(name).cleaned().nodes}
    forward, backward = joint(name).operators(budget, solver, roofline_ns)
    return sum(roofline_ns(nodes[item]) for item in forward & backward)


def test_operators_have_the_rules_of_the_installed_pytorch() -> None:
    rules = partitioners.get_default_op_list()

    def names(operators: Any) -> set[str]:
        return {str(item) for item in operators if str(item).startswith(("aten.", "prims."))}

    assert names(rules.recomputable_ops) == operator_lists.RECOMPUTABLE - {operator_lists.GETITEM}
    assert names(rules.fusible_ops) == operator_lists.FUSIBLE - {operator_lists.GETITEM}
    assert names(rules.view_ops) == operator_lists.VIEWS
    assert names(rules.random_ops) == operator_lists.RANDOM
    assert names(rules.compute_intensive_ops) == operator_lists.COMPUTE_INTENSIVE


@pytest.mark.parametrize("solver", KNAPSACKS)
@pytest.mark.parametrize("name", MODELS)
def test_the_same_values_are_saved_at_every_budget(name: str, solver: str) -> None:
    program = program_of_joint(joint(name), roofline_ns)
    own = SavedValues(program, KNAPSACKS[solver])
    found = set()
    for budget in BUDGETS:
        expected = joint(name).saved(budget, solver, roofline_ns)
        saved = frozenset(program.values[position].name for position in own.at(budget))
        assert saved == expected, budget
        found.add(saved)
    assert len(found) > (2 if name in ("llama", "residual blocks", "u-net") else 1)


@pytest.mark.parametrize("name", ["llama", "residual blocks", "u-net"])
def test_a_graph_without_views_is_planned_in_the_same_time(name: str) -> None:
    graph = graph_of(name)
    program = program_of_graph(graph)
    boundary = PlanBoundary(graph)
    own = SavedValues(program, KNAPSACKS["greedy"])
    differ = 0
    for budget in (0.0, 0.2, 0.6, 1.0):
        computations = boundary.computations(graph_nodes(program, own.at(budget)))
        again_ns = sum(graph.nodes[node].duration_ns for node in computations) - graph.base_time_ns
        differ += again_ns != recomputed_ns(name, budget, "greedy")
    # Distances through views are not in the graph, nor are the sizes of parameters.
    assert differ <= 1


def test_the_times_of_a_joint_graph_are_those_of_its_operators() -> None:
    graph = graph_of("u-net")
    nodes = joint("u-net").cleaned().nodes
    assert graph.base_time_ns == sum(map(roofline_ns, nodes))
    # A result has the name of its operator there.
    assert all(node.operator_name for node in graph.nodes if node.result_of is None)
