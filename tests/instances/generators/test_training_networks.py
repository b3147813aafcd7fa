"""Training steps from the shapes of layers."""

from __future__ import annotations

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.generators.training_networks import NETWORKS, resnet50
from jettison.instances.generators.training_step import TrainingStep


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_the_backward_pass_mirrors_the_forward_pass(name: str) -> None:
    graph = NETWORKS[name](2)
    half = len(graph) // 2
    assert graph.name == name
    assert [node.backward for node in graph.nodes] == [False] * half + [True] * half
    assert graph.nodes[half - 1].name == "loss"
    for forward, backward in zip(graph.nodes[:half], reversed(graph.nodes[half:]), strict=True):
        assert backward.name == f"grad_{forward.name}"
        assert backward.duration_ns == 2 * forward.duration_ns


@pytest.mark.parametrize(
    ("name", "multiplications"),
    # For an image of 224 x 224 pixels, as their authors and others after them have counted.
    [
        ("vgg-16", 15.5e9),
        ("vgg-19", 19.6e9),
        ("resnet-18", 1.8e9),
        ("resnet-50", 4.1e9),
        ("mobilenet", 0.57e9),
        ("densenet-161", 7.8e9),
    ],
)
def test_the_operations_are_those_of_the_network(name: str, multiplications: float) -> None:
    batch = 16
    graph = NETWORKS[name](batch)
    forward_ns = sum(node.duration_ns for node in graph.nodes if not node.backward)
    # Ten thousand operations in a nanosecond, two for each multiplication.
    assert forward_ns * 10_000 / (2 * batch) == pytest.approx(multiplications, rel=0.03)


def test_sizes_are_those_of_the_outputs_and_of_the_gradients() -> None:
    graph = resnet50(batch=3)
    node = {node.name: node for node in graph.nodes}
    # 64 channels of 112 x 112 numbers of four bytes, for three images.
    assert node["stem"].output_bytes == 4 * 3 * 64 * 112 * 112
    # The gradients of both inputs of the sum: 256 channels of 56 x 56 each.
    assert node["grad_block0_0_sum"].output_bytes == 2 * (4 * 3 * 256 * 56 * 56)
    assert node["grad_pool"].inputs == ("stem", "pool", "grad_block0_0_1", "grad_block0_0_0")


def test_a_value_that_two_operations_read_gets_both_gradients() -> None:
    step = TrainingStep("skip", batch=1)
    step.add("a", (), (8,), 0)
    step.add("b", ("a",), (4,), 30_000)
    step.add("c", ("a", "b"), (2,), 20_000)
    graph = step.graph()
    assert [node.name for node in graph.nodes] == [
        *("a", "b", "c", "loss", "grad_loss", "grad_c", "grad_b", "grad_a")
    ]
    assert [node.duration_ns for node in graph.nodes] == [0, 3, 2, 0, 0, 4, 6, 0]
    # The gradients of a and b have 8 and 4 numbers.
    assert graph.nodes[5].output_bytes == 4 * (8 + 4)
    assert graph.nodes[7].inputs == ("a", "grad_b", "grad_c")


@pytest.mark.parametrize("batch", [0, -1, 2**20 + 1])
def test_a_batch_out_of_range_is_refused(batch: int) -> None:
    with pytest.raises(InputError, match="batch"):
        NETWORKS["vgg-16"](batch)
