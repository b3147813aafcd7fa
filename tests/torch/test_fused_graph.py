"""Graphs without the values that kernels have inside, their workspaces, and what is proved."""

from __future__ import annotations

import math
import operator
from typing import Any

import pytest

from tests.compiled_models import build_compiled

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
pytest.importorskip("jettison.torch", exc_type=ImportError)

from jettison.instances.core.memory import Amount  # noqa: E402
from jettison.instances.remat_graph.problem import RematGraph  # noqa: E402
from jettison.schedules.remat_graph.schedule import GraphSchedule  # noqa: E402
from jettison.torch.compilation.code_memory import CodeMemory  # noqa: E402
from jettison.torch.compilation.fused_graph import fused_graph  # noqa: E402
from jettison.torch.compilation.measured_workspaces import measured_workspaces  # noqa: E402
from jettison.torch.compilation.memory_proof import memory_proof  # noqa: E402
from jettison.torch.compilation.no_plan import least_schedule  # noqa: E402
from tests.torch.test_compiled_plans import joint_of  # noqa: E402

pytestmark = pytest.mark.torch
aten = torch.ops.aten
CALLS = {aten.mm.default, aten.addmm.default, aten.convolution.default}
MODELS = ("mlp", "dropout", "unet", "stateful")


def is_call(node: Any) -> bool:
    return node.target in CALLS


def _activated(x: Any) -> Any:
    return x * 0.5 * (1 + (x * 0.7).tanh())


def everything_kept(graph: Any) -> GraphSchedule:
    return GraphSchedule.from_computations(graph, range(len(graph)))


@pytest.mark.parametrize("name", MODELS)
def test_a_schedule_without_inner_values_is_one_of_the_joint_graph(name: str) -> None:
    joint = joint_of(*build_compiled(name))
    fused = fused_graph(joint, is_call, {})
    assert len(fused.planned.graph) < len(joint.graph)
    for schedule in (everything_kept(fused.planned.graph), least_schedule(fused.planned)[0]):
        computed = fused.unfused(schedule).computations
        # Each node is computed as often as the plan says, and only inlined ones are besides.
        nodes = [fused.parts[node][-1] for node in schedule.computations]
        assert [node for node in computed if node in set(nodes)] == nodes
        others = set(computed) - set(nodes)
        joined = {part for parts in fused.parts for part in parts[:-1]} - fused.inlined
        assert others <= fused.inlined | joined


@pytest.mark.parametrize("name", MODELS)
def test_what_calls_read_and_what_is_kept_stays_a_node(name: str) -> None:
    joint = joint_of(*build_compiled(name))
    fused = fused_graph(joint, is_call, {})
    graph = joint.graph
    for inner in fused.inlined:
        assert not graph.nodes[inner].keep
        assert inner not in joint.once
        readers = [joint.operations[joint.owners[user][0]].node for user in graph.users[inner]]
        assert readers
        assert not any(map(is_call, readers))


def test_a_step_of_elementwise_operators_needs_what_a_kernel_reads_and_writes() -> None:
    class Activated(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return _activated(self.layer(x)).sum()

        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 8).double()

    joint = joint_of(Activated(), torch.randn(64, 8).double())
    fused = fused_graph(joint, is_call, {})
    size = 64 * 8 * 8
    # The sum reads the product, and its gradient makes one tensor of that.
    used = [
        node.output_bytes + sum(fused.planned.graph.nodes[at].output_bytes for at in inputs)
        for node, inputs in zip(fused.planned.graph.nodes, fused.planned.graph.inputs, strict=True)
    ]
    assert max(used) < 2 * size + 1024
    assert joint.graph.store_all_peak_bytes >= 4 * size


def test_what_the_code_takes_beside_a_node_becomes_its_workspace() -> None:
    joint = joint_of(*build_compiled("mlp"))
    fused = fused_graph(joint, is_call, {})
    schedule = everything_kept(fused.planned.graph)
    reserve = joint.reserve_bytes
    graph = fused.planned.graph
    peak = graph.store_all_peak_bytes
    call = next(
        graph.nodes[at].name
        for at, parts in enumerate(fused.parts)
        if is_call(joint.operations[joint.owners[parts[-1]][0]].node)
    )
    code = CodeMemory(0, ((call, peak + reserve + 1000),), (), {})
    found = measured_workspaces(fused, schedule, code, {})
    again = fused_graph(joint, is_call, found.workspaces_bytes)
    # With the workspace the replay has as much in memory there as the code.
    assert again.planned.graph.store_all_peak_bytes == peak + 1000
    assert found.peak_bytes == peak + reserve + 1000
    less = CodeMemory(0, ((call, 1),), (), {})
    assert measured_workspaces(fused, schedule, less, {}).workspaces_bytes == {}


def test_no_schedule_has_less_than_what_is_proved() -> None:
    for name in ("mlp", "unet"):
        joint = joint_of(*build_compiled(name))
        called = [
            joint.graph.nodes[at].name
            for at, (owner, place) in enumerate(joint.owners)
            if place is None and is_call(joint.operations[owner].node)
        ]
        proof = memory_proof(joint, called)
        _, enough = least_schedule(joint)
        assert 0 < proof.least_bytes <= enough
        assert memory_proof(joint, []).least_bytes <= proof.least_bytes
        problem = RematGraph(joint.graph, Amount(enough))
        assert problem.memory_bytes >= proof.least_bytes - joint.reserve_bytes


def test_values_that_later_segments_read_are_written() -> None:
    from jettison.torch.compilation.inductor.realized_values import (
        realize_across_calls,
        segments,
    )

    graph = torch.fx.Graph()
    x, w = graph.placeholder("x"), graph.placeholder("w")
    early = graph.call_function(aten.tanh.default, (x,))
    inner = graph.call_function(aten.exp.default, (early,))
    product = graph.call_function(aten.mm.default, (inner, w))
    viewed = graph.call_function(aten.view.default, (early, [16]))
    late = graph.call_function(aten.neg.default, (viewed,))
    graph.output((product, late))
    for node in graph.nodes:
        if node.op != "output":
            node.meta["val"] = torch.empty(math.isqrt(16), 4)
    realize_across_calls(graph)
    marked = {node.name for node in graph.nodes if node.meta.get("inductor_realize_to_strides")}
    # The product reads `exp`, and is a call; `tanh` is read after it, through a view.
    assert marked == {early.name}
    assert segments(graph)[late] == operator.add(segments(graph)[early], 1)
