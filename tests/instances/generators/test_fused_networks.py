"""The assumed device, backward operations, and the networks that are bundled."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jettison import InputError, MultiModel, load, save
from jettison.instances import catalog
from jettison.instances.generators.fused_networks.device import Kernel, elementwise, product
from jettison.instances.generators.fused_networks.fused_step import FusedStep, Gradient
from jettison.instances.generators.fused_networks.layers import (
    added,
    convolution,
    cross_entropy,
    dense,
    dropped,
    rectified,
)
from jettison.instances.generators.fused_networks.networks import FUSED_NETWORKS, fused_network

DATA = Path(catalog.__file__).parent / "data"
GIB = 2**30
EACH = pytest.mark.parametrize("network", FUSED_NETWORKS)


@cache
def bundled(network: str) -> MultiModel:
    found = load(f"{network}-x8")
    assert isinstance(found, MultiModel)
    return found


def test_a_product_takes_launch_and_waves_of_tiles() -> None:
    # 8192 x 768 by 768 x 768: 64 x 6 tiles of 2 * 128 * 128 * 768 operations, in 4 waves of 108 at
    # 144 operations per ns. Three models: 1152 tiles, 11 waves instead of 12.
    kernel = product(8192, 768, 768)
    tile_ns = 2 * 128 * 128 * 768 / 144
    assert kernel.tiles == 384
    assert kernel.duration_ns(1) == 3000 + -int(-4 * tile_ns // 1)
    assert kernel.duration_ns(3) == 3000 + -int(-11 * tile_ns // 1)


def test_long_sums_are_shared_by_processors() -> None:
    # The gradient of a weight of 768 x 768 over 8192 rows: 36 tiles, each in 4 parts.
    assert product(768, 8192, 768).tiles == 36 * 4


def test_what_moves_little_does_not_fill_the_device() -> None:
    # 1 MiB takes as long as 4 MiB, at 1555 bytes per ns: 2698 ns; and so do four of them, fused.
    kernel = elementwise(2**20)
    assert [kernel.duration_ns(models) for models in (1, 4, 8)] == [5698, 5698, 8395]


@given(
    st.builds(Kernel, st.integers(0, 10**9), st.integers(1, 2000), st.integers(0, 10**9)),
    st.integers(1, 20),
    st.integers(1, 20),
)
def test_fusing_never_takes_longer(kernel: Kernel, some: int, others: int) -> None:
    together = kernel.duration_ns(some + others)
    assert together <= kernel.duration_ns(some) + kernel.duration_ns(others)
    assert together >= kernel.duration_ns(some)


def test_backward_operations_follow_from_forward_ones() -> None:
    # x goes through a layer with a ReLU, and beside it to a sum; the batch needs no gradient.
    step = FusedStep(2)
    x = dense(step, "x", None, 2, 5, 4)
    y = rectified(step, "y", dense(step, "h", x, 2, 4, 4))
    cross_entropy(step, added(step, "sum", y, x))
    graph = step.graph("step", 3)
    backward = {item.name: (set(item.inputs), item.output_bytes) for item in graph.nodes[6:]}
    value_bytes = 3 * 4 * 2 * 4
    assert [item.name for item in graph.nodes[:6]] == ["x", "h", "y", "sum", "log_softmax", "loss"]
    assert backward == {
        "b_loss": ({"log_softmax"}, value_bytes),
        # The sum hands its gradient on, to y and to x.
        "b_y": ({"y", "b_loss"}, value_bytes),
        "b_h": ({"b_y"}, value_bytes),
        # Gradients of weights are resident.
        "bw_h": ({"x", "b_y"}, 0),
        "d_x": ({"b_loss", "b_h"}, value_bytes),
        "bw_x": ({"d_x"}, 0),
    }
    assert all(item.backward for item in graph.nodes[6:])
    # Two matrices with their biases.
    assert step.parameters == 6 * 4 + 5 * 4


def test_a_dropout_saves_a_mask_and_not_what_it_reads() -> None:
    step = FusedStep(1)
    x = dense(step, "x", None, 1, 4, 4)
    cross_entropy(step, dropped(step, "y", x))
    graph = step.graph("step", 1)
    back = graph.nodes[graph.position_of["b_y"]]
    assert set(back.inputs) == {"y_mask", "b_loss"}
    assert graph.nodes[graph.position_of["y_mask"]].output_bytes == 4


def test_a_convolution_does_the_operations_of_its_windows() -> None:
    # 3 x 3 windows of 8 channels make 4 channels of 5 x 5: 2 * 9 * 8 * 4 * 25 operations.
    step = FusedStep(1)
    convolution(step, "image", None, (8, 10, 10), 8)
    shape = convolution(step, "c", "image", (8, 10, 10), 4, window=3, stride=2)
    assert shape == (4, 5, 5)
    assert step.size_bytes["c"] == 4 * 4 * 25
    assert step.parameters == 8 * 8 + 8 * 4 * 9
    assert product(25, 72, 4).flops == 2 * 9 * 8 * 4 * 25


def test_an_operation_that_nothing_reads_is_a_mistake() -> None:
    step = FusedStep(1)
    x = dense(step, "x", None, 1, 4, 4)
    step.add("aside", (x,), 4, (elementwise(4),), (Gradient(x, (), (elementwise(4),)),))
    cross_entropy(step, x)
    with pytest.raises(ValueError, match="nothing reads aside"):
        step.graph("step", 1)


@pytest.mark.parametrize(
    ("network", "parameters"),
    [
        # The pre-trained encoder with its pooler has 109 482 240; two classes more.
        ("bert", 109_482_240 + 2 * 768 + 2),
        ("gpt2", 124_439_808),
        ("resnet101", 44_549_160),
        ("mobilenet", 5_483_032),
    ],
)
def test_a_network_has_the_parameters_that_are_published(network: str, parameters: int) -> None:
    assert bundled(network).provenance.model_arguments["parameters"] == parameters


@pytest.mark.parametrize(("network", "millions"), [("vit", 60), ("dlrm", 40)])
def test_a_network_of_assumed_shape_has_the_parameters_of_the_paper(
    network: str, millions: int
) -> None:
    found = bundled(network).provenance.model_arguments["parameters"]
    assert isinstance(found, int)
    assert abs(found - millions * 10**6) < 10**6


def test_four_models_exceed_40_gib_for_most_networks_and_eight_for_all() -> None:
    peaks = {
        network: [bundled(network).sub_array(size).store_all_peak_bytes for size in range(1, 9)]
        for network in FUSED_NETWORKS
    }
    fitting = {network: sum(peak <= 40 * GIB for peak in found) for network, found in peaks.items()}
    assert fitting == {"bert": 2, "gpt2": 2, "vit": 3, "resnet101": 5, "mobilenet": 7, "dlrm": 3}


@EACH
def test_eight_fused_models_can_be_trained_in_40_gib(network: str) -> None:
    # With every feature map on the host, a sub-array needs its weights and one operator.
    array = bundled(network).sub_array(8)
    assert array.static_bytes + array.largest_peak_bytes <= 40 * GIB


@EACH
def test_each_network_has_some_hundred_operators_and_fusing_saves_time(network: str) -> None:
    models = bundled(network)
    assert 100 <= len(models) <= 700
    times = [models.sub_array(size).compute_ns for size in models.sizes]
    assert times[7] < times[3] + times[3] < 8 * times[0]


@EACH
def test_the_peak_is_that_of_the_graph_beside_static_memory(network: str) -> None:
    found = FUSED_NETWORKS[network]
    array = bundled(network).sub_array(3)
    graph = found.build(found.batch).graph("step", 3)
    assert array.store_all_peak_bytes == array.static_bytes + graph.store_all_peak_bytes
    assert array.compute_ns == graph.base_time_ns


@EACH
def test_the_bundled_file_is_what_the_generator_writes(network: str, tmp_path: Path) -> None:
    made = fused_network(network, None, 8)
    save(made, tmp_path / "made.json")
    assert (tmp_path / "made.json").read_bytes() == (DATA / f"{made.name}.json").read_bytes()


def test_the_fewer_samples_the_more_fusing_saves() -> None:
    def saved(batch: int) -> float:
        models = fused_network("mobilenet", batch, 4)
        return models.sub_array(4).compute_ns / (4 * models.sub_array(1).compute_ns)

    assert saved(2) < saved(16) < saved(128) < 1


@pytest.mark.parametrize(
    ("network", "batch", "models", "message"),
    [
        ("alexnet", None, 8, "network: 'alexnet'; name one of bert, gpt2, vit, resnet101, mobile"),
        ("bert", 0, 8, "batch: 0; write 1 to 4096"),
        ("bert", 4097, 8, "batch: 4097; write 1 to 4096"),
        ("vit", 1, 0, "models: 0; write 1 to 64"),
        ("vit", 1, 65, "models: 65; write 1 to 64"),
    ],
)
def test_what_no_network_has_is_refused(
    network: str, batch: int | None, models: int, message: str
) -> None:
    with pytest.raises(InputError) as info:
        fused_network(network, batch, models)
    assert str(info.value).startswith(message)
