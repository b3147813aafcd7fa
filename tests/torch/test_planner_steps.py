"""Steps of the study of planners: how they are priced, and that the record is what is traced."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from jettison.instances.core.errors import InputError  # noqa: E402
from jettison.instances.profilers.torch_graphs.fused_roofline import (  # noqa: E402
    A100_TF32,
    FusedRoofline,
    UnfusedRoofline,
    operation_flops,
)
from jettison.instances.profilers.torch_graphs.traced_step import (  # noqa: E402
    TracedStep,
    trace_step,
)
from jettison.instances.zoo.studied.steps import STUDIED_STEPS, studied_step  # noqa: E402
from jettison.studies.recorded_steps import RecordedSteps  # noqa: E402
from tools.trace_planner_steps import RECORD, line_of  # noqa: E402

pytestmark = pytest.mark.torch


class Attention(torch.nn.Module):
    """Attention with one head, whose sum is the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(8))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        scaled = torch.relu(states * self.scale)
        mixed = torch.nn.functional.scaled_dot_product_attention(scaled, scaled, scaled)
        return mixed.sum()


@pytest.fixture(scope="module")
def attention() -> TracedStep:
    with FakeTensorMode():
        return trace_step(Attention(), (torch.empty(2, 3, 16, 8),))


def test_attention_on_a_cpu_has_the_operations_of_its_products(attention: TracedStep) -> None:
    flops = {
        operation.target: operation_flops(operation)
        for operation in attention.operations
        if not operation.is_selection
    }
    aten = torch.ops.aten
    # Two products of 16x8 by 8x16 for each of 6 heads; backward five, the scores once more.
    product = 6 * 2 * 16 * 16 * 8
    assert flops[aten._scaled_dot_product_flash_attention_for_cpu.default] == 2 * product
    assert flops[aten._scaled_dot_product_flash_attention_for_cpu_backward.default] == 5 * product
    assert flops[aten.relu.default] == 0


def test_pointwise_operators_cost_nothing_where_they_are_fused(attention: TracedStep) -> None:
    (relu,) = (item for item in attention.operations if item.target == torch.ops.aten.relu.default)
    # 768 numbers of four bytes are read and written: 6144 bytes at 1555 a nanosecond, and a launch.
    assert UnfusedRoofline().spread_ns(relu) == (4 + A100_TF32.launch_ns,) * 3
    assert FusedRoofline().spread_ns(relu) == (0, 0, 0)


def test_reductions_and_attention_cost_the_same_where_pointwise_operators_are_fused(
    attention: TracedStep,
) -> None:
    kept = [
        item
        for item in attention.operations
        if "attention" in item.operator_name or "sum" in item.operator_name
    ]
    assert len(kept) >= 3
    for item in kept:
        assert FusedRoofline().spread_ns(item) == UnfusedRoofline().spread_ns(item)
        assert UnfusedRoofline().spread_ns(item)[1] > A100_TF32.launch_ns


def test_the_recorded_steps_are_those_of_the_list() -> None:
    assert RecordedSteps.read(RECORD).names == tuple(STUDIED_STEPS)


def test_a_recorded_step_is_the_one_that_is_traced() -> None:
    found = json.loads(json.dumps(line_of("wavenet")))
    recorded = RecordedSteps.read(RECORD).lines["wavenet"]
    for line in (found, recorded):
        # When the steps were recorded a graph did not say what is resident beside it.
        for name in ("provenance", "sha256", "resident_bytes"):
            line["graph"].pop(name, None)
    assert found["graph"] == recorded["graph"]
    assert found["fused_durations_ns"] == recorded["fused_durations_ns"]
    assert found["flops"] == recorded["flops"]


def test_a_step_that_is_not_in_the_list_is_named_with_those_that_are() -> None:
    with pytest.raises(
        InputError, match=r"'alexnet' is not a step of the study; choose from llama-4"
    ):
        studied_step("alexnet")
