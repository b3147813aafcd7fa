"""Steps that PyTorch records as the tutorial says: imported, solved and bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jettison import Chain, Graph, InputError, RematChain, RematGraph, bound, solve
from jettison.instances.importers.torch_trace.module_chain import import_torch_trace_chain
from jettison.instances.importers.torch_trace.sequential_chain import import_sequential_chain
from jettison.instances.importers.torch_trace.step_graph import import_torch_trace_graph
from tests.docs.code_blocks import code_blocks

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
nn = torch.nn

from jettison.instances.zoo.catalogue import build  # noqa: E402

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[2] / "docs/tutorials/record_a_step.md"


class Residual(nn.Module):  # type: ignore[name-defined, misc]
    """Two layers with a way around them; the activation writes in place."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(16, 32)
        self.activation = nn.ReLU(inplace=True)
        self.outer = nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        return x + self.outer(self.activation(self.inner(x)))


class Around(nn.Module):  # type: ignore[name-defined, misc]
    """Two layers, with the input beside each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.second = nn.Linear(16, 16)

    def forward(self, x: Any) -> Any:
        start = x * 2
        return self.second(self.first(start) * start) * start


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that records a step by the block of the tutorial."""
    monkeypatch.chdir(tmp_path)
    (block,) = (block for block in code_blocks(PAGE) if block.language == "python")

    def record(model: Any, batch: Any, labels: Any, loss: Any) -> dict[str, Any]:
        loss(model(batch), labels).backward()
        model.zero_grad()
        exec(block.text, {"model": model, "batch": batch, "labels": labels, "loss": loss})
        return {
            "kineto_trace": tmp_path / "step.kineto.json",
            "execution_trace": tmp_path / "step.et.json",
        }

    return record


def _residual_step() -> tuple[Any, ...]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), Residual(), Residual(), nn.Linear(16, 4))
    return model, torch.randn(32, 8), torch.randint(0, 4, (32,)), nn.CrossEntropyLoss()


def _parameter_bytes(model: Any) -> int:
    return sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())


def test_a_recorded_step_becomes_a_graph_that_is_solved_and_bounded(recorded: Any) -> None:
    step = _residual_step()
    graph: Graph = import_torch_trace_graph(**recorded(*step))
    # In the forward pass six linear layers, two activations, two sums, and the loss.
    forward = [node.name.split()[0] for node in graph.nodes if not node.backward]
    assert forward.count("linear") == 6
    assert forward.count("relu_") == 2
    assert forward.count("add") == 2
    # What is kept are the gradients of all parameters.
    kept = sum(node.output_bytes for node in graph.nodes if node.keep)
    assert kept == _parameter_bytes(step[0])
    # The output of the first layer is 32 samples of 16 numbers of 4 bytes.
    assert graph.nodes[0].output_bytes == 32 * 16 * 4
    assert all(node.duration_ns > 0 for node in graph.nodes if node.result_of is None)
    memory = graph.store_all_peak_bytes * 9 // 10
    problem = RematGraph(graph, memory)
    found = solve(problem, time_limit=10)
    assert found.schedule is not None
    assert found.time_ns is not None
    proved = bound(problem, method="cut-bound")
    best = max(each.time_ns for each in proved.bounds)
    assert graph.base_time_ns <= best <= found.time_ns


def test_the_modules_of_a_recorded_step_are_the_stages_of_a_chain(recorded: Any) -> None:
    step = _residual_step()
    chain: Chain = import_torch_trace_chain(**recorded(*step))
    names = [stage.name for stage in chain.stages]
    # A residual block is one stage; nothing inside of it is a chain.
    assert [name.split("_")[0] for name in names] == [
        "Linear",
        "Residual",
        "Residual",
        "Linear",
        "CrossEntropyLoss",
    ]
    assert chain.input_bytes == 32 * 8 * 4
    assert [stage.output_bytes for stage in chain.stages] == [2048, 2048, 2048, 512, 0]
    # A block saves the activation (32 x 32) and its output (32 x 16).
    assert chain.stages[1].saved_bytes == 32 * 32 * 4 + 32 * 16 * 4
    assert sum(stage.weight_bytes for stage in chain.stages) == _parameter_bytes(step[0])
    result = solve(RematChain(chain, "100%"))
    assert result.time_ns == chain.base_time_ns


def test_a_sequential_is_the_same_chain_without_the_execution_trace(recorded: Any) -> None:
    step = _residual_step()
    files = recorded(*step)
    both = import_torch_trace_chain(**files)
    alone = import_sequential_chain(files["kineto_trace"])
    assert alone.input_bytes == both.input_bytes
    assert [stage.name for stage in alone.stages] == [*(s.name for s in both.stages[:-1]), "loss"]
    for one, other in zip(alone.stages[:-1], both.stages[:-1], strict=True):
        assert (one.output_bytes, one.weight_bytes) == (other.output_bytes, other.weight_bytes)
        # What the allocator gave is at least the tensors that the backward pass reads.
        assert one.saved_bytes >= other.saved_bytes
        assert one.forward_ns >= other.forward_ns
    assert alone.stages[1].saved_bytes == 32 * 32 * 4 + 32 * 16 * 4
    result = solve(RematChain(alone, "100%"))
    assert result.time_ns == alone.base_time_ns


def test_no_other_model_is_a_chain_without_the_execution_trace(recorded: Any) -> None:
    batch = torch.randn(4, 16)
    files = recorded(Around(), batch, None, lambda output, _: output.sum())
    with pytest.raises(InputError, match="the model is 'Around_0' and no Sequential"):
        import_sequential_chain(files["kineto_trace"])


def test_a_resnet_of_the_zoo_is_recorded_and_solved_in_less_memory(recorded: Any) -> None:
    workload = build("resnet18", batch=2, input_size=32, stem="3x3", classes=10)
    model, loss = workload.model, workload.loss
    step = (model, workload.sample_input, None, lambda output, _: loss(output))
    chain: Chain = import_torch_trace_chain(**recorded(*step))
    # Stem, blocks and head, whatever addresses the allocator used twice.
    assert [stage.name for stage in chain.stages] == [
        "Conv2d_0",
        "BatchNorm2d_0",
        "ReLU_0",
        *(f"ResidualBlock_{number}" for number in range(8)),
        "AdaptiveAvgPool2d_0",
        "Flatten_0",
        "CrossEntropy_0",
    ]
    assert sum(stage.weight_bytes for stage in chain.stages) == _parameter_bytes(model)
    tight = (chain.recompute_all_peak_bytes + chain.store_all_peak_bytes) // 2
    result = solve(RematChain(chain, tight))
    assert result.schedule is not None
    assert result.time_ns is not None
    assert chain.base_time_ns <= result.time_ns


def test_modules_that_values_lead_around_are_in_one_stage(recorded: Any) -> None:
    torch.manual_seed(0)
    batch = torch.randn(4, 16, requires_grad=True)
    files = recorded(Around(), batch, None, lambda output, _: output.sum())
    chain = import_torch_trace_chain(**files)
    assert [stage.name for stage in chain.stages] == ["Around_0", "Linear_0", "loss"]
    assert len(import_torch_trace_graph(**files)) > 5
