"""Policies of joint graphs: what PyTorch's partitioner makes of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from jettison import InputError
from tests.torch.policy_models import (
    Attention,
    batch,
    equal,
    gradients,
    layers,
    peak_bytes,
    plain,
    squares,
)

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch._dynamo.backends.debugging import boxed_nop  # noqa: E402
from torch._functorch import config  # noqa: E402
from torch._functorch.aot_autograd import aot_function  # noqa: E402
from torch._functorch.partitioners import min_cut_rematerialization_partition  # noqa: E402

from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402
from jettison.torch.policies.joint_instance import is_call  # noqa: E402
from jettison.torch.policies.marked_nodes import NodeMismatchError, mark_nodes  # noqa: E402
from jettison.torch.policies.torch_hooks import torch_hook  # noqa: E402

pytestmark = pytest.mark.torch


def compiled(model: Any, partition: Any, loss: Callable[[Any], Any] = squares) -> Any:
    """Return the step of a model as ahead-of-time autograd compiles it, without Dynamo."""
    held = dict(model.named_parameters())

    def run(x: Any, *tensors: Any) -> Any:
        return loss(torch.func.functional_call(model, dict(zip(held, tensors, strict=True)), (x,)))

    function = aot_function(run, fw_compiler=boxed_nop, partition_fn=partition)
    return lambda x: function(x, *held.values())


def recording(partition: Any, modules: list[Any]) -> Any:
    def run(*arguments: Any, **options: Any) -> Any:
        modules.append(partition(*arguments, **options))
        return modules[-1]

    return run


@pytest.mark.parametrize("memory", ["90%", "75%"])
def test_the_partitioner_runs_again_what_was_planned(memory: str) -> None:
    model, x, modules = layers(), batch(), []
    expected, _ = plain(model, x)
    partitioner = executor.AnnotatedPartitioner(memory=memory, cost=Roofline())
    step = compiled(model, recording(partitioner, modules))
    assert equal(gradients(model, lambda: step(x)), expected)
    (graph,) = partitioner.graphs
    names = [{n.name for n in module.graph.nodes if is_call(n)} for module in modules[0]]
    planned = {graph.instance.graph.nodes[node].name for node in graph.choice.again}
    assert names[0] & names[1] == planned != set()
    # The copy of the loss beside its gradient.
    measured = peak_bytes(lambda: step(x))
    assert measured == pytest.approx(graph.choice.replay.peak_bytes, abs=16)
    assert graph.choice.class_bound_ns == graph.choice.replay.time_ns


@pytest.mark.parametrize("memory", ["90%", "75%"])
def test_the_knapsack_makes_the_cut_save_what_was_planned(memory: str) -> None:
    model, x, modules = layers(), batch(), []
    expected, _ = plain(model, x)
    settings = executor.memory_budget(memory, cost=Roofline())
    step = compiled(model, recording(min_cut_rematerialization_partition, modules))
    with config.patch(settings):
        assert equal(gradients(model, lambda: step(x)), expected)
    (graph,) = settings["activation_memory_budget_solver"].graphs
    names = [{n.name for n in module.graph.nodes if is_call(n)} for module in modules[0]]
    planned = {graph.instance.graph.nodes[node].name for node in graph.choice.again}
    assert names[0] & names[1] == planned != set()
    measured = peak_bytes(lambda: step(x))
    assert measured == pytest.approx(graph.choice.replay.peak_bytes, abs=16)


def test_draws_attention_and_statistics_run_once() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        Attention(16, 2),
        nn.Dropout(0.2),
        nn.Flatten(0, 1),
        *[
            nn.Sequential(nn.BatchNorm1d(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
            for _ in range(3)
        ],
    )
    x = torch.linspace(-1, 1, 4 * 8 * 16).reshape(4, 8, 16)
    expected, _ = plain(model, x)
    partitioner = executor.AnnotatedPartitioner(memory="95%", cost=Roofline())
    backend = aot_autograd(fw_compiler=boxed_nop, partition_fn=partitioner)
    step = torch.compile(lambda x: squares(model(x)), backend=backend, dynamic=False)
    assert equal(gradients(model, lambda: step(x)), expected)
    (graph,) = partitioner.graphs
    assert set() != graph.choice.again <= graph.instance.repeatable
    names = {graph.instance.graph.nodes[node].name for node in graph.instance.repeatable}
    assert not any("dropout" in name or "batch_norm" in name for name in names)


def test_the_estimator_tells_durations_of_the_source() -> None:
    model, x = layers(), batch()
    partitioner = executor.AnnotatedPartitioner(memory="80%", cost=Roofline())
    step = compiled(model, partitioner)
    step(x).backward()
    instance = partitioner.graphs[0].instance
    estimator = executor.RuntimeEstimator(Roofline())
    call, position = next(iter(instance.positions.items()))
    assert estimator(call) == instance.graph.nodes[position].duration_ns
    assert estimator.uuid() == executor.RuntimeEstimator(Roofline()).uuid() is not None
    assert executor.RuntimeEstimator().uuid() is None


def test_a_policy_of_another_graph_is_refused() -> None:
    model, x = layers(), batch()
    with pytest.raises(NodeMismatchError, match="has no operator mm_70, which the policy names"):
        compiled(model, executor.AnnotatedPartitioner(decisions={"mm_70": True}))(x)
    graph = torch.fx.symbolic_trace(nn.ReLU()).graph
    graph.call_function(torch.ops.aten.relu.default, (next(iter(graph.nodes)),))
    with pytest.raises(NodeMismatchError, match="has the operator relu"):
        mark_nodes(graph, {})


def test_a_memory_in_which_nothing_fits_is_refused_with_one_that_is_enough() -> None:
    model, x = layers(), batch()
    with pytest.raises(InputError, match=r"fit in \d+ bytes; give \d+ bytes"):
        compiled(model, executor.AnnotatedPartitioner(memory="5%", cost=Roofline()))(x)


@pytest.mark.parametrize("name", ["AnnotatedPartitioner", "PeakKnapsack"])
def test_arguments_are_checked_when_a_policy_is_made(name: str) -> None:
    make = getattr(executor, name)
    with pytest.raises(InputError, match="no memory and no decisions"):
        make()
    with pytest.raises(InputError, match="a memory and decisions"):
        make(memory="60%", decisions={})
    with pytest.raises(InputError, match="half"):
        make(memory="half")
    with pytest.raises(InputError, match="0 seconds"):
        make(memory="60%", time_limit=0)
    assert make(decisions={"mm": True}).uuid() != make(decisions={"mm": False}).uuid()


def test_a_hook_that_is_missing_is_named_with_the_version() -> None:
    with pytest.raises(InputError, match=r"PyTorch .* has no torch\._functorch\.config\.gone"):
        torch_hook("torch._functorch.config", "gone")


def test_settings_that_a_compiler_copies_keep_their_record_and_pickle_without_it() -> None:
    model, x = layers(2), batch()
    partitioner = executor.AnnotatedPartitioner(memory="85%", cost=Roofline())
    knapsack = executor.PeakKnapsack("85%", cost=Roofline())
    compiled(model, partitioner)(x).backward()
    assert len(partitioner.graphs) == 1
    # Inductor does both with every setting while it compiles.
    assert copy.deepcopy(partitioner) is partitioner
    assert copy.deepcopy(knapsack) is knapsack
    assert partitioner.__getstate__()["graphs"] == knapsack.__getstate__()["graphs"] == []
    assert len(partitioner.graphs) == 1
