"""Graphs of training steps that are traced in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from jettison import Graph, InputError
from jettison.instances.profilers.torch_graphs.traced_graph import profile_graph

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
nn = torch.nn

from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter  # noqa: E402
from jettison.instances.profilers.device.rates import DeviceRates  # noqa: E402
from jettison.instances.profilers.torch_graphs.fused.fused_profiles import profile_multi_model  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_cost import Measured, Roofline  # noqa: E402
from jettison.instances.zoo.catalogue import build  # noqa: E402
from jettison.instances.zoo.vmap_step import FusedStep  # noqa: E402
from jettison.instances.zoo.workload import TrainingStep  # noqa: E402

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")
SMALL = {"depth": 2, "hidden": 32, "heads": 4}
WORDS = {**SMALL, "vocabulary": 100}


def trace(model: Any, sample_input: Any, **options: Any) -> Graph:
    return profile_graph(model, sample_input, name="tiny", model_name="tiny", **options)


def perceptron() -> Any:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


def test_every_operation_says_which_operator_it_runs() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten())
    graph = trace(model, torch.zeros(2, 1, 5, 5))
    named = {node.name: node.operator_name for node in graph.given_nodes}
    assert named["convolution"] == "aten.convolution.default"
    # Two parts are one operator.
    assert named["native_batch_norm_backward.weights"] == "aten.native_batch_norm_backward.default"
    assert None not in named.values()


def test_a_perceptron_has_the_operations_of_its_layers_and_their_gradients() -> None:
    graph = trace(perceptron(), torch.zeros(4, 8))
    # Rows of float32: 4*16*4 bytes inside, 4*2*4 of the output and of its gradient, which is the
    # mean's, spread out. Weights have 16*8 and 2*16 numbers of 4 bytes, biases 16 and 2. Weights,
    # biases and the input are resident: the first layer reads no node.
    assert [
        (node.name, node.output_bytes, node.inputs, node.backward, node.keep)
        for node in graph.nodes
    ] == [
        ("addmm", 256, (), False, False),
        ("relu", 256, ("addmm",), False, False),
        ("addmm_1", 32, ("relu",), False, False),
        ("mean", 4, ("addmm_1",), False, True),
        ("ones_like", 4, ("mean",), True, False),
        ("div", 32, ("ones_like",), True, False),
        ("mm", 256, ("div",), True, False),
        ("mm_1", 128, ("div", "relu"), True, True),
        ("sum_1", 8, ("div",), True, True),
        ("threshold_backward", 256, ("mm", "relu"), True, False),
        ("mm_2", 512, ("threshold_backward",), True, True),
        ("sum_2", 64, ("threshold_backward",), True, True),
    ]
    # 512 and 128 bytes of weights, 64 and 8 of biases, and an input of 128.
    assert graph.resident_bytes == 840


def test_the_roofline_is_the_slower_of_computing_and_moving_plus_a_launch() -> None:
    cost = Roofline(DeviceRates(flops_per_ns=10, bytes_per_ns=3, launch_ns=7))
    graph = trace(perceptron(), torch.zeros(4, 8), cost=cost)
    durations = {node.name: node.duration_ns for node in graph.nodes}
    # 2*4*8*16 = 1024 operations take 103 ns; the bias, the input, the weight and the output,
    # 64 + 128 + 512 + 256 bytes, take 320 ns. The rectifier moves 2*256 bytes.
    assert durations["addmm"] == 320 + 7
    assert durations["relu"] == 171 + 7
    assert graph.provenance.device == "a device, assumed rates"
    cheap = Roofline(DeviceRates(flops_per_ns=1, bytes_per_ns=1000, launch_ns=0))
    graph = trace(perceptron(), torch.zeros(4, 8), cost=cheap)
    assert graph.nodes[0].duration_ns == 1024


def test_operations_that_are_called_alike_are_measured_once() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh())
    run: list[str] = []
    cost = Measured(CPU, warmup=0, repeats=1, announce=run.append)
    graph = trace(model, torch.zeros(4, 8), cost=cost)
    assert all(node.duration_ns > 0 for node in graph.nodes)
    assert "tanh" in run
    assert "tanh_1" not in run
    assert graph.provenance.device_kind == "cpu"


def test_a_view_is_no_node_and_keeps_what_it_views() -> None:
    class Columns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 16)

        def forward(self, x: Any) -> Any:
            left, right = self.layer(x).split(8, dim=1)
            return (left * right).t().reshape(2, 16)

    graph = trace(Columns(), torch.zeros(4, 8))
    product = graph.nodes[graph.position_of["mul"]]
    assert product.inputs == ("addmm",)
    assert "split" not in graph.position_of


def test_the_gradient_of_a_convolution_s_input_is_not_kept_with_that_of_its_weights() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 5, 3, padding=1))
    graph = trace(model, torch.zeros(2, 3, 8, 8))
    nodes = {node.name: node for node in graph.nodes}
    # 2*4*8*8 numbers of 4 bytes, and 5*4*9 weights with 5 biases.
    value, weights = nodes["convolution_backward"], nodes["convolution_backward.weights"]
    assert (value.output_bytes, value.keep) == (2048, False)
    assert (weights.output_bytes, weights.keep) == (740, True)
    # No gradient goes into the images.
    assert "convolution_backward_1" not in nodes
    assert nodes["convolution_backward_1.weights"].keep


def test_new_statistics_of_a_normalisation_are_not_taken_for_the_loss() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    graph = trace(model, torch.zeros(2, 3, 8, 8))
    # The exported step returns the new statistics before the loss.
    assert [node.name for node in graph.nodes if not node.backward and node.keep] == ["mean"]
    assert next(node.name for node in graph.nodes if node.backward) == "ones_like"
    assert "native_batch_norm_backward" in graph.position_of
    assert graph.nodes[graph.position_of["native_batch_norm_backward"]].backward


# How far the graph's peak is from the measured one: convolutions take memory for themselves, and
# new statistics of a normalisation are written in place, where the graph has them beside the old.
@pytest.mark.parametrize(
    ("name", "size", "arguments", "tolerance"),
    [
        ("vit", 16, {**SMALL, "patch": 4}, 0.0001),
        ("resnet18", 32, {}, 0.01),
        ("mobilenet-v2", 32, {"classes": 10}, 0.01),
        ("unet", 32, {"depth": 2, "width": 8}, 0.06),
        ("gpt2", 16, WORDS, 0.0001),
        ("bert", 16, {**WORDS, "depth": 1}, 0.0001),
    ],
)
def test_the_early_freeing_peak_is_close_to_that_of_the_real_step(
    name: str, size: int, arguments: dict[str, Any], tolerance: float
) -> None:
    workload = build(name, batch=4, input_size=size, **arguments)
    graph = trace(workload.model, workload.sample_input, loss=workload.loss)
    with CpuMemoryMeter() as meter, meter.window() as step:
        workload.loss(workload.model(workload.sample_input)).backward()
    assert graph.store_all_peak_bytes <= step.rise_bytes * (1 + tolerance)
    if name != "resnet18":
        # Its wide convolutions take half as much again for themselves on some processors.
        assert graph.store_all_peak_bytes >= step.rise_bytes * (1 - tolerance)


@pytest.mark.parametrize(
    ("name", "arguments"), [("vit", {**SMALL, "depth": 1, "patch": 4}), ("gpt2", WORDS)]
)
def test_the_peak_of_fused_models_is_that_of_the_real_step(
    name: str, arguments: dict[str, Any]
) -> None:
    workload = build(name, batch=4, input_size=16, **arguments)
    fused = FusedStep([TrainingStep(workload.model, workload.loss)] * 2)
    batches = torch.stack([workload.sample_input] * 2)
    graph = trace(fused, batches, loss=lambda loss: loss)
    with CpuMemoryMeter() as meter, meter.window() as step:
        fused(batches).backward()
    # The gradient of the vision transformer's head is made transposed and copied: without the copy
    # the peak is 13 % below.
    assert graph.store_all_peak_bytes == pytest.approx(step.rise_bytes, rel=0.002)


def test_the_output_of_a_normalisation_is_free_when_it_is_rectified() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    graph = trace(model, torch.zeros(2, 3, 8, 8))
    nodes = {node.name: node for node in graph.nodes}
    name = "_native_batch_norm_legit_functional"
    # 2*4*6*6 numbers of 4 bytes, and for each of 4 channels a mean, a deviation and the two new
    # running statistics, which the backward operation takes as well.
    (norm,) = (node for node in graph.given_nodes if node.results)
    assert (norm.name, norm.inputs) == (name, ("convolution",))
    assert {result.name: result.output_bytes for result in norm.results} == {
        f"{name}.passing": 1152,
        f"{name}.saved": 64,
    }
    # Both are there once: in memory while it runs, and each as long as it is read.
    assert nodes[name].workspace_bytes == norm.workspace_bytes + 1152 + 64
    readers = [node.name for node in graph.nodes if f"{name}.passing" in node.inputs]
    assert readers == ["relu"]
    assert f"{name}.saved" in nodes["native_batch_norm_backward"].inputs


def test_a_dropout_and_an_interpolation_are_the_operators_that_run_without_a_compiler() -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Conv2d(3, 4, 1)

        def forward(self, x: Any) -> Any:
            y = nn.functional.interpolate(nn.functional.silu(self.layer(x)), scale_factor=2)
            return nn.functional.dropout(y)

    graph = trace(Wide(), torch.zeros(1, 3, 4, 4))
    # On a CPU a dropout draws numbers of the input's type; a mask of bytes would be another draw.
    assert [node.name for node in graph.nodes if not node.backward] == [
        "convolution",
        "silu",
        "upsample_nearest2d",
        "empty_like",
        "bernoulli",
        "div",
        "mul",
        "mean",
    ]
    assert "silu_backward" in graph.position_of


def test_tied_weights_have_one_gradient_and_unused_ones_have_none() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
            self.second.weight = self.first.weight
            self.unused = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x))

    graph = trace(Tied(), torch.zeros(2, 4))
    # The loss, and the sum of two gradients.
    assert [node.output_bytes for node in graph.nodes if node.keep] == [4, 64]


def test_tracing_leaves_the_model_as_it_was() -> None:
    workload = build("resnet18", batch=2, input_size=32)
    before = {name: value.clone() for name, value in workload.model.state_dict().items()}
    trace(workload.model, workload.sample_input, loss=workload.loss)
    after = workload.model.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert all(type(value) is type(before[name]) for name, value in after.items())
    assert all(parameter.grad is None for parameter in workload.model.parameters())


def test_fused_models_take_so_many_times_the_memory_and_the_same_operations() -> None:
    workload = build("gpt2", batch=2, input_size=8, **WORDS)
    made = profile_multi_model(
        workload.model,
        workload.sample_input,
        workload.loss,
        Roofline(),
        models=3,
        bandwidth=10**9,
        name="three",
        model_name="gpt2",
    )
    assert (made.models, made.sizes) == (3, (1, 2, 3))
    weights = sum(parameter.numel() for parameter in workload.model.parameters())
    # Weights, gradients, 2*8 token ids and as many labels of 8 bytes, and the loss, one number.
    one = 2 * 4 * weights + 2 * 16 * 8 + 4
    assert made.static_bytes[0] == one
    # The sum of the losses is one number, beside the loss of each model.
    assert [made.static_bytes[k] - (k + 1) * (one - 4) for k in range(3)] == [4, 4, 4]
    # All but constants, single numbers that the models share.
    for tensor in made.feature_maps:
        assert tensor.size_bytes[2] in {4, 3 * tensor.size_bytes[0]}
    # A launch serves all models.
    total = [sum(operator.run_ns[k] for operator in made.forward) for k in range(3)]
    assert total[0] < total[2] < 3 * total[0]


def test_fused_models_that_hold_a_module_twice_are_traced_and_stay_as_they_were() -> None:
    layer = nn.Linear(4, 4)
    model = nn.Sequential(layer, nn.Tanh(), layer)
    for models in (2, 1):
        made = profile_multi_model(
            model,
            torch.randn(3, 4),
            torch.mean,
            Roofline(),
            models=models,
            bandwidth=10**9,
            name="twice",
            model_name="twice",
        )
        assert made.name == "twice"
        assert [type(item) for item in model.parameters()] == [nn.Parameter] * 2


def test_one_model_that_is_another_program_is_left_out() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
    made = profile_multi_model(
        model,
        torch.zeros(2, 3, 8, 8),
        torch.mean,
        Roofline(),
        models=3,
        bandwidth=10**9,
        name="three",
        model_name="tiny",
    )
    assert made.sizes == (2, 3)
    assert "left out" in str(made.provenance.note)


class Branching(nn.Module):
    """Decide by a value."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        return y if y.sum() > 0 else -y


@pytest.mark.parametrize(
    ("model", "loss", "message"),
    [
        (Branching(), None, "the step cannot be traced"),
        (nn.Linear(8, 2), lambda output: output, "the step cannot be traced"),
        (nn.Linear(8, 2).eval(), None, "evaluation mode"),
    ],
)
def test_what_cannot_be_traced_is_refused_with_a_reason(
    model: Any, loss: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        trace(model, torch.zeros(4, 8), loss=loss)


@pytest.mark.parametrize("models", [0, 65])
def test_a_number_of_models_out_of_range_is_refused(models: int) -> None:
    with pytest.raises(InputError, match=f"models: {models}; write 1 to 64"):
        profile_multi_model(
            perceptron(),
            torch.zeros(4, 8),
            torch.mean,
            Roofline(),
            models=models,
            bandwidth=10**9,
            name="none",
            model_name="tiny",
        )
