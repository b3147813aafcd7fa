"""Chains of models that never run, beside those that are measured."""

from __future__ import annotations

from typing import Any

import pytest

from jettison import Chain, InputError
from jettison.core import MissingExtraError
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.device.rates import V100, DeviceRates
from jettison.instances.profilers.torch_chains import modelled_chain
from jettison.instances.profilers.torch_chains.modelled_chain import model_chain
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
nn = torch.nn

from jettison.instances.profilers.torch_graphs.traced_graph import profile_graph  # noqa: E402
from jettison.instances.zoo.catalogue import build  # noqa: E402

pytestmark = pytest.mark.torch

# Ten operations, three bytes per nanosecond, and a launch of seven.
SLOW = DeviceRates(flops_per_ns=10, bytes_per_ns=3, launch_ns=7)


def modelled(model: Any, sample_input: Any, **options: Any) -> Chain:
    settings: dict[str, Any] = {"name": "tiny", "model_name": "tiny"}
    return model_chain(model, sample_input, **(settings | options))


def measured(model: Any, sample_input: Any, **options: Any) -> Chain:
    settings: dict[str, Any] = {"name": "tiny", "model_name": "tiny", "warmup": 0, "repeats": 1}
    return profile_chain(model, sample_input, **(settings | options))


def sizes(chain: Chain) -> list[tuple[str, int, int, int]]:
    return [
        (stage.name, stage.output_bytes, stage.saved_bytes, stage.weight_bytes) for stage in chain
    ]


def overheads(chain: Chain) -> list[tuple[int, int, int]]:
    return [
        (
            stage.forward_overhead_bytes,
            stage.overhead_of_saving_bytes,
            stage.backward_overhead_bytes,
        )
        for stage in chain
    ]


@pytest.mark.parametrize(
    ("network", "size", "arguments"),
    [
        ("resnet50", 32, {}),
        ("densenet121", 32, {}),
        ("inception-v3", 75, {}),
        ("vgg16", 32, {}),
        ("gpt2-tiny", 16, {}),
    ],
)
def test_sizes_are_those_that_are_measured(
    network: str, size: int, arguments: dict[str, Any]
) -> None:
    work = build(network, batch=2, input_size=size, **arguments)
    found = modelled(work.model, work.sample_input, loss=work.loss)
    known = measured(work.model, work.sample_input, loss=work.loss)
    assert sizes(found) == sizes(known)
    assert found.input_bytes == known.input_bytes
    # Kernels of a processor allocate for themselves, which fake tensors do not show.
    for ours, theirs in zip(overheads(found), overheads(known), strict=True):
        assert ours <= theirs
        assert ours[1] <= theirs[1]


def test_overheads_are_those_that_are_measured_where_kernels_allocate_nothing() -> None:
    hidden = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2))
    layer = nn.Linear(8, 8, bias=False)
    model = nn.Sequential(layer, nn.Tanh(), layer, hidden)
    for gradients in ParameterGradients:
        found = modelled(model, torch.zeros(4, 8), gradients=gradients)
        known = measured(model, torch.zeros(4, 8), gradients=gradients)
        assert sizes(found) == sizes(known), gradients
        # The kernel of the mean has 12 bytes of its own.
        assert overheads(found)[:-1] == overheads(known)[:-1], gradients


def test_durations_are_rooflines_of_the_kernels_of_a_stage() -> None:
    chain = modelled(nn.Sequential(nn.Linear(8, 16), nn.ReLU()), torch.zeros(4, 8), rates=SLOW)
    linear, rectifier, loss = chain.stages
    # The bias, the input, the weight and the output are 64 + 128 + 512 + 256 bytes, 320 ns, which
    # is more than the 103 ns of 2*4*8*16 = 1024 operations. The rectifier moves 2*256 bytes.
    assert linear.forward_ns == 320 + 7
    assert rectifier.forward_ns == 171 + 7
    # The product of the gradient and the input, 256 + 128 + 512 bytes in 299 ns, and the sum of
    # the gradient, 256 + 64 bytes in 107 ns; nothing goes into the batch. The views start nothing.
    assert linear.backward_ns == 299 + 7 + 107 + 7
    # The rectifier reads its output and a gradient, and writes one: 3*256 bytes.
    assert rectifier.backward_ns == 256 + 7
    assert loss.forward_ns == -(-(256 + 4) // 3) + 7


def test_a_convolution_goes_back_in_two_kernels() -> None:
    one = nn.Conv2d(3, 4, 1, bias=False)
    free = DeviceRates(flops_per_ns=10**6, bytes_per_ns=10**6, launch_ns=1000)
    chain = modelled(nn.Sequential(one, nn.Conv2d(4, 5, 1)), torch.zeros(1, 3, 2, 2), rates=free)
    # Everything but launches is a nanosecond: weights alone, then the input and the weights.
    assert [stage.backward_ns for stage in chain.stages[:2]] == [1001, 2002]


def test_a_chain_takes_as_long_as_the_graph_of_its_step() -> None:
    work = build("resnet18", batch=2, input_size=32)
    chain = modelled(work.model, work.sample_input, loss=work.loss)
    graph = profile_graph(
        work.model, work.sample_input, name="graph", model_name="resnet18", loss=work.loss
    )
    backward_ns = sum(node.duration_ns for node in graph.nodes if node.backward)
    # The graph has the gradient of the loss as an operation, which a chain is given.
    seed = next(node for node in graph.nodes if node.name.startswith("ones_like"))
    assert sum(stage.backward_ns for stage in chain) == backward_ns - seed.duration_ns
    # A chain counts the batches that 20 normalisations have seen, a launch of 3 µs each, which a
    # graph leaves out: it depends on nothing in the step. There they write their statistics anew.
    forward_ns = sum(node.duration_ns for node in graph.nodes if not node.backward)
    launches_ns = sum(stage.forward_ns for stage in chain) - forward_ns
    assert launches_ns == pytest.approx(20 * 3000, abs=20)


def test_a_batch_that_fits_no_memory_is_modelled() -> None:
    rows = torch.zeros(1).expand(2**18, 8)
    model = nn.Sequential(nn.Linear(8, 2**20), nn.ReLU(), nn.Linear(2**20, 1))
    chain = modelled(model, rows)
    # 2**18 rows of 2**20 numbers of four bytes are a TiB, and so is the output of the rectifier.
    assert chain.stage(1).output_bytes == 2**40
    assert chain.store_all_peak_bytes > 2**41


def test_the_provenance_says_that_nothing_was_measured() -> None:
    known = modelled(nn.Sequential(nn.Linear(8, 2)), torch.zeros(4, 8), rates=V100).provenance
    assert (known.source, known.device_kind) == ("modelled", "cuda")
    assert known.device == "V100 PCIe 16 GB, assumed rates"
    assert known.note is not None
    assert known.note.startswith("no operation was measured: roofline of 14000 ")
    assert (known.warmup, known.repeats, dict(known.spread)) == (None, None, {})
    assert (known.batch, known.input_shape, known.dtype) == (4, (4, 8), "float32")


def test_the_model_is_left_as_it_was_found() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout())
    model[0].weight.grad = torch.ones(8, 8)
    before = model.state_dict(keep_vars=True)
    contents = {name: tensor.detach().clone() for name, tensor in before.items()}
    random = torch.get_rng_state()
    modelled(model, torch.zeros(4, 8))
    after = model.state_dict(keep_vars=True)
    assert list(after) == list(before)
    for name, tensor in after.items():
        assert tensor is before[name]
        assert torch.equal(tensor, contents[name]), name
    assert torch.equal(model[0].weight.grad, torch.ones(8, 8))
    assert model[0].bias.grad is None
    assert torch.equal(torch.get_rng_state(), random)


class Positive(nn.Module):
    """Select the positive numbers: how many there are depends on their values."""

    def forward(self, x: Any) -> Any:
        return x[x > 0]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Sequential(nn.Linear(8, 2), Positive()), "^1-Positive: it cannot run on tensors"),
        (nn.Sequential(nn.Linear(4, 2)), "^0-Linear: .*give an input that fits"),
        (nn.Sequential(), "the nn.Sequential is empty"),
        (nn.Sequential(nn.Linear(8, 2)).eval(), "evaluation mode"),
        (nn.Linear(8, 2), "is not an nn.Sequential"),
        (nn.Sequential(nn.Flatten()), "no gradient reaches the model's output"),
    ],
)
def test_what_is_no_chain_is_refused_and_left_as_it_was(model: Any, message: str) -> None:
    before = list(model.parameters())
    with pytest.raises(InputError, match=message):
        modelled(model, torch.zeros(4, 8))
    assert all(one is other for one, other in zip(model.parameters(), before, strict=True))


def test_without_pytorch_nothing_is_modelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modelled_chain.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"jettison\[torch\]"):
        modelled(nn.Sequential(nn.Linear(8, 2)), torch.zeros(4, 8))
