from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from jettison import Chain, InputError, RematChain, solve
from jettison.core import MissingExtraError
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.zoo import catalogue
from jettison.instances.zoo.catalogue import build
from jettison.instances.zoo.models import MODEL_NAMES

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

pytestmark = pytest.mark.torch

SMALL = [
    {"name": "resnet18", "batch": 2, "input_size": 32, "stem": "3x3", "classes": 10},
    {"name": "resnet50", "batch": 2, "input_size": 64},
    {"name": "mobilenet-v2", "batch": 2, "input_size": 32},
    {"name": "mobilenet-v3", "batch": 2, "input_size": 64},
    {"name": "vit", "batch": 2, "input_size": 16, "patch": 4, "depth": 3, "hidden": 32, "heads": 4},
    {"name": "vgg16", "batch": 2, "input_size": 32, "classes": 10},
    {
        "name": "gpt2",
        "batch": 2,
        "input_size": 16,
        "depth": 3,
        "hidden": 32,
        "heads": 4,
        "vocabulary": 100,
    },
    {
        "name": "bert",
        "batch": 2,
        "input_size": 16,
        "depth": 3,
        "hidden": 32,
        "heads": 4,
        "vocabulary": 100,
    },
]
EACH_FAMILY = pytest.mark.parametrize("arguments", SMALL, ids=[str(s["name"]) for s in SMALL])


def parameters_of(name: str, input_size: int) -> int:
    with torch.device("meta"):
        model = build(name, batch=1, input_size=input_size).model
    return sum(parameter.numel() for parameter in model.parameters())


# Published numbers of parameters: torchvision's tables, where Inception v3 has 27,161,264 with
# an auxiliary head of 3,326,696; timm's for ResNet-200; pytorchcv's for ResNet-1001, of which
# arXiv:1603.05027 says 10.2 million; and for GPT-2 (1024 positions) the 124.4 million of its
# checkpoint. BERT-base with 512 positions has 109.5 million parameters with a
# pooler of 768*768 + 768, without which and without the 2*768 of its segments it has 108.9
# million; the masked-word head adds 768*768 + 768, 2*768 and 30522 of a bias: 109,514,298 minus
# the segments' 1,536 is 109,512,762.
@pytest.mark.parametrize(
    ("name", "input_size", "count"),
    [
        ("resnet18", 32, 11_689_512),
        ("resnet34", 32, 21_797_672),
        ("resnet50", 32, 25_557_032),
        ("resnet101", 32, 44_549_160),
        ("resnet152", 32, 60_192_808),
        ("resnet200", 32, 64_673_832),
        ("resnet1001", 32, 10_327_706),
        ("densenet121", 32, 7_978_856),
        ("densenet161", 32, 28_681_000),
        ("densenet169", 32, 14_149_480),
        ("densenet201", 32, 20_013_928),
        ("inception-v3", 75, 27_161_264 - 3_326_696),
        ("mobilenet-v2", 32, 3_504_872),
        ("mobilenet-v3", 32, 5_483_032),
        ("vit-b16", 224, 86_567_656),
        ("vit-l16", 224, 304_326_632),
        ("vgg16", 32, 138_357_544),
        ("vgg19", 32, 143_667_240),
        ("gpt2-small", 1024, 124_439_808),
        ("bert-base", 512, 109_512_762),
    ],
)
def test_a_model_has_the_published_number_of_parameters(
    name: str, input_size: int, count: int
) -> None:
    assert parameters_of(name, input_size) == count


@pytest.mark.parametrize(
    ("name", "stages"),
    # Stem, blocks, head; layers and poolings; embedding, blocks, head.
    [
        ("resnet18", 1 + 8 + 1),
        ("resnet101", 1 + 33 + 1),
        # 339 with the loss, as in the rotor paper.
        ("resnet1001", 338),
        # Stem, 58 layers, three transitions, head.
        ("densenet121", 63),
        ("inception-v3", 7 + 11 + 1),
        ("mobilenet-v2", 1 + 17 + 2),
        ("mobilenet-v3", 1 + 15 + 2),
        ("vgg16", 13 + 5 + 3),
        ("bert-base", 14),
    ],
)
def test_a_model_has_one_stage_per_block(name: str, stages: int) -> None:
    with torch.device("meta"):
        assert len(build(name, batch=1, input_size=32).model) == stages


@EACH_FAMILY
@pytest.mark.parametrize("gradients", ParameterGradients)
def test_a_profile_predicts_the_peak_of_a_plain_training_step(
    arguments: dict[str, Any], gradients: ParameterGradients
) -> None:
    from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter

    workload = build(**arguments)
    if arguments["name"] in {"gpt2", "bert"}:
        # A plain step holds the gradient of a shared weight from its first use in the backward
        # pass to its last, for which a chain has no place: give the head a weight of its own.
        logits = workload.model[-1][-1]
        logits.weight = torch.nn.Parameter(logits.weight.detach().clone())
    chain = profile_chain(
        workload.model,
        workload.sample_input,
        loss=workload.loss,
        name="tiny-cpu",
        model_name="tiny",
        warmup=0,
        repeats=1,
        gradients=gradients,
    )
    if gradients is ParameterGradients.ACCUMULATED:
        for parameter in workload.model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        predicted_bytes = chain.store_all_peak_bytes
    else:
        predicted_bytes = peak_with_new_gradients(chain)
    # The loop holds the output of the last stage, which a chain frees as that stage goes back.
    output_bytes = chain.stages[-2].output_bytes
    with CpuMemoryMeter() as meter, meter.window() as step:
        # As a training loop does: the logits keep their name until the step is over.
        logits = workload.model(workload.sample_input)
        workload.loss(logits).backward()
    # The CPU's allocator counts exactly, and the chain model never says less than what happens,
    # save for the loss and its gradient, two scalars of 4 bytes that it does not count. It says
    # more because it has one overhead for forward operations with and without saving.
    measured_bytes = chain.input_bytes + step.rise_bytes - 8
    assert measured_bytes - output_bytes <= predicted_bytes <= 1.05 * measured_bytes


def peak_with_new_gradients(chain: Chain) -> int:
    """The peak of the step that saves everything, and the gradients that are there by then."""
    replay = solve(RematChain(chain, "100%"), "store-all").replay
    assert replay is not None
    gradient_bytes = peak_bytes = 0
    for step in replay.steps:
        if step.operation.startswith("B"):
            gradient_bytes += chain.stage(int(step.operation[1:])).weight_bytes
        peak_bytes = max(peak_bytes, step.during_bytes + gradient_bytes)
    return peak_bytes


@EACH_FAMILY
def test_everything_that_stays_allocated_passes_the_saved_tensor_hooks(
    arguments: dict[str, Any],
) -> None:
    from jettison.instances.profilers.torch_chains.stage import chain_stages, with_inputs
    from jettison.instances.profilers.torch_chains.stage_memory import measure_memory, memory_meter

    workload = build(**arguments)
    stages = chain_stages(workload.model, workload.loss, ParameterGradients.NEW)
    with memory_meter(torch.device("cpu")) as meter:
        found = [
            measure_memory(stage, stage_input, meter)
            for stage, stage_input in with_inputs(stages, workload.sample_input)
        ]
    # Two independent measurements: what autograd says it saves, and what was not freed.
    assert [memory.output_bytes + memory.hooked_bytes for memory in found] == [
        memory.forward.kept_bytes - memory.uncounted_bytes for memory in found
    ]


def test_a_residual_block_saves_what_its_layers_need() -> None:
    workload = build("resnet18", batch=2, input_size=32, stem="3x3", classes=10)
    chain = profile_chain(
        workload.model,
        workload.sample_input,
        name="tiny-cpu",
        model_name="tiny",
        warmup=0,
        repeats=1,
    )
    block = chain.stage(2)
    # Images of 2*64*32*32 float32: each 524288 bytes. Saved are the two convolutions' outputs for
    # the normalisations, the rectified value between them, and the output; the second convolution
    # and the in-place rectifiers add none. Each normalisation keeps a mean and a deviation of 64
    # channels.
    assert block.output_bytes == 524288
    assert block.saved_bytes == 4 * 524288 + 2 * 2 * 64 * 4


def test_the_same_arguments_give_the_same_workload() -> None:
    first, second = (build("resnet18", batch=2, input_size=32, seed=5) for _ in range(2))
    assert torch.equal(first.sample_input, second.sample_input)
    assert torch.equal(first.loss.labels, second.loss.labels)
    pairs = zip(first.model.parameters(), second.model.parameters(), strict=True)
    assert all(torch.equal(mine, yours) for mine, yours in pairs)
    other = build("resnet18", batch=2, input_size=32, seed=6)
    assert not torch.equal(first.sample_input, other.sample_input)


def test_building_leaves_the_random_numbers_as_they_were() -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    build("resnet18", batch=1, input_size=32)
    assert torch.equal(torch.rand(4), expected)


def test_a_workload_records_every_argument_of_its_model() -> None:
    workload = build("gpt2", batch=2, input_size=16, depth=3, hidden=32, heads=4)
    assert dict(workload.model_arguments) == {
        "depth": 3,
        "hidden": 32,
        "heads": 4,
        "sequence": 16,
        "vocabulary": 50257,
        "dropout": 0.1,
        "seed": 0,
    }


def test_every_name_of_the_catalogue_can_be_built() -> None:
    families = ("gpt2", "bert", "vit")
    sizes = {family: {"depth": 1, "hidden": 8, "heads": 2} for family in families}
    with torch.device("meta"):
        for name in MODEL_NAMES:
            model = build(name, batch=1, input_size=32, **sizes.get(name, {})).model
            assert sum(parameter.numel() for parameter in model.parameters()) > 0, name
        without = build("gpt2", batch=1, input_size=32, dropout=0, **sizes["gpt2"])
        assert without.model_arguments["dropout"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "resnet20"}, "'resnet20' is not a model of the zoo; choose from resnet18"),
        ({"name": "resnet18", "batch": 0}, "batch: 0; write a whole number"),
        (
            {"name": "gpt2", "depth": 1, "hidden": 8, "heads": 2, "dropout": 2},
            "dropout: 2; write a number from 0 to 1",
        ),
        ({"name": "resnet18", "depth": 50}, "depth: it is 18 already"),
        ({"name": "gpt2-small", "sequence": 8}, "sequence: it is 32 already"),
        ({"name": "resnet18", "width": 2}, "resnet takes depth, classes, stem"),
        ({"name": "resnet18", "stem": "5x5"}, "stem: '5x5'; choose 7x7 or 3x3"),
        ({"name": "gpt2"}, "gpt2 takes depth, hidden, heads"),
        ({"name": "resnet1001", "depth": 164}, "depth: it is 1001 already"),
        ({"name": "vit-b16", "input_size": 40}, "input_size: a side of 40 .* a multiple of 16"),
        ({"name": "bert", "depth": 1, "hidden": 10, "heads": 3}, "choose a divisor"),
    ],
)
def test_what_the_zoo_does_not_have_is_refused_with_a_reason(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        build(**({"batch": 1, "input_size": 32} | arguments))


def test_without_pytorch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'jettison\[torch\]'"):
        build("resnet18", batch=1, input_size=32)


def test_a_u_net_has_its_published_size_and_is_no_chain() -> None:
    # The paper's network on 3 colours and 2 classes: 3x3 convolutions of 9ab weights from a to b
    # channels, without biases, two numbers for each channel of a normalisation, transposed
    # convolutions of 4ab + b, and 64*2 + 2 for the logits.
    widths = [64, 128, 256, 512, 1024]
    down = sum(9 * (a * b + b * b) + 4 * b for a, b in zip([3, *widths], widths, strict=False))
    up = sum(
        4 * low * high + high + 9 * (2 * high * high + high * high) + 4 * high
        for high, low in pairwise(widths)
    )
    assert parameters_of("unet", 32) == down + up + 64 * 2 + 2
    workload = build("unet", batch=2, input_size=16, depth=2, width=4)
    assert workload.model(workload.sample_input).shape == (2, 16, 16, 2)
    with pytest.raises(InputError, match=r"a UNet is not an nn\.Sequential.*--kind graph"):
        profile_chain(workload.model, workload.sample_input, name="unet", model_name="unet")
    with pytest.raises(InputError, match="a multiple of 16"):
        build("unet", batch=1, input_size=24)
