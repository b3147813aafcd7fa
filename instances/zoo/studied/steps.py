"""Twenty training steps in which the planners people use are compared with the optimum.

Sizes and batches are those in which such models are trained on one GPU; of repeated layers there
are as many as the name says, some of a model's or all. Dropout is off. Shapes are all that counts:
a step is made of fake tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor, nn
from torch.nn import functional

from jettison.instances.core.errors import InputError
from jettison.instances.zoo.bert import bert
from jettison.instances.zoo.densenet import densenet
from jettison.instances.zoo.gpt2 import gpt2
from jettison.instances.zoo.inception import inception
from jettison.instances.zoo.mobilenet import mobilenet
from jettison.instances.zoo.resnet import resnet
from jettison.instances.zoo.studied.convnext import convnext
from jettison.instances.zoo.studied.decoder import decoder
from jettison.instances.zoo.studied.denoising_unet import DenoisingUNet
from jettison.instances.zoo.studied.encoder_decoder import EncoderDecoder
from jettison.instances.zoo.studied.mixture_of_experts import mixture_of_experts
from jettison.instances.zoo.studied.mlp_mixer import MlpMixer
from jettison.instances.zoo.studied.recurrent import RecurrentModel
from jettison.instances.zoo.studied.segnet import SegNet
from jettison.instances.zoo.studied.wavenet import WaveNet
from jettison.instances.zoo.unet import unet
from jettison.instances.zoo.vit import vit
from jettison.instances.zoo.workload import CrossEntropy, TrainingStep


class _SquaredError(nn.Module):
    """Mean squared difference to fixed values."""

    target: Tensor

    def __init__(self, target: Tensor) -> None:
        super().__init__()
        self.register_buffer("target", target)

    def forward(self, output: Tensor) -> Tensor:
        """Return a scalar."""
        return functional.mse_loss(output, self.target)


class _Sum(nn.Module):
    """Sum of the output."""

    def forward(self, output: Tensor) -> Tensor:
        """Return a scalar."""
        return output.sum()


@dataclass(frozen=True, slots=True)
class StudiedStep:
    """Training step of the study, in words and as a function that makes it.

    Attributes
    ----------
    words
        Model, sizes and batch.
    make
        Makes the step and its batch; of fake tensors where it is called under a fake mode.
    """

    words: str
    make: Callable[[], tuple[nn.Module, Tensor]]


def _images(
    model: Callable[[], nn.Module], batch: int, side: int, label_shape: tuple[int, ...] = ()
) -> Callable[[], tuple[nn.Module, Tensor]]:
    """Return a step on images whose labels are one, or an array, for each of them."""

    def make() -> tuple[nn.Module, Tensor]:
        labels = torch.zeros((batch, *label_shape), dtype=torch.long)
        return TrainingStep(model(), CrossEntropy(labels)), torch.empty(batch, 3, side, side)

    return make


def _words(
    model: Callable[[], nn.Module], shape: tuple[int, ...], label_shape: tuple[int, ...] = ()
) -> Callable[[], tuple[nn.Module, Tensor]]:
    """Return a step on token ids of a shape, a label for each unless another shape is given."""

    def make() -> tuple[nn.Module, Tensor]:
        labels = torch.zeros(label_shape or shape, dtype=torch.long)
        return TrainingStep(model(), CrossEntropy(labels)), torch.zeros(shape, dtype=torch.long)

    return make


def _tiny_llama(layers: int) -> nn.Module:
    return decoder(
        layers=layers,
        hidden=2048,
        heads=32,
        shared_heads=4,
        inner=5632,
        sequence=2048,
        vocabulary=32000,
    )


def _llama_of_issue_197838() -> tuple[nn.Module, Tensor]:
    model = decoder(
        layers=32,
        hidden=256,
        heads=8,
        shared_heads=8,
        inner=688,
        sequence=1024,
        vocabulary=1000,
        has_head=False,
    )
    return TrainingStep(model, _Sum()), torch.zeros(2, 1024, dtype=torch.long)


def _denoise() -> tuple[nn.Module, Tensor]:
    shape = (32, 3, 64, 64)
    model = DenoisingUNet(width=128, levels=4)
    return TrainingStep(model, _SquaredError(torch.empty(shape))), torch.empty(shape)


STUDIED_STEPS: Mapping[str, StudiedStep] = MappingProxyType(
    {
        "llama-4": StudiedStep(
            "TinyLlama 1.1B, 4 of 22 layers, 4 sequences of 2048 tokens",
            _words(lambda: _tiny_llama(4), (4, 2048)),
        ),
        "llama-8": StudiedStep(
            "TinyLlama 1.1B, 8 of 22 layers, 4 sequences of 2048 tokens",
            _words(lambda: _tiny_llama(8), (4, 2048)),
        ),
        "llama-32": StudiedStep(
            "Llama of pytorch issue 197838: 32 layers of width 256, 2 sequences of 1024 tokens",
            _llama_of_issue_197838,
        ),
        "gpt2-12": StudiedStep(
            "GPT-2 small, 8 sequences of 1024 tokens",
            _words(
                lambda: gpt2(depth=12, hidden=768, heads=12, sequence=1024, dropout=0.0), (8, 1024)
            ),
        ),
        "bert-12": StudiedStep(
            "BERT base, 32 sequences of 128 tokens",
            _words(
                lambda: bert(depth=12, hidden=768, heads=12, sequence=128, dropout=0.0), (32, 128)
            ),
        ),
        "t5-3": StudiedStep(
            "T5 base, 3 of 12 layers on each side, 8 pairs of 512 tokens",
            _words(
                lambda: EncoderDecoder(
                    layers=3, hidden=768, heads=12, sequence=512, vocabulary=32128
                ),
                (8, 2, 512),
                (8, 512),
            ),
        ),
        "moe-6": StudiedStep(
            "Switch Transformer, 6 layers of width 768 with 8 experts, 8 sequences of 512 tokens",
            _words(
                lambda: mixture_of_experts(
                    layers=6,
                    hidden=768,
                    heads=12,
                    inner=3072,
                    experts=8,
                    sequence=512,
                    vocabulary=32128,
                ),
                (8, 512),
            ),
        ),
        "lstm": StudiedStep(
            "LSTM of width 1024 over characters, one layer, 24 steps, 256 sequences",
            _words(lambda: RecurrentModel(layers=1, hidden=1024, vocabulary=256), (256, 24)),
        ),
        "wavenet": StudiedStep(
            "WaveNet, 10 layers of 64 channels, 8 signals of 16000 samples",
            _words(lambda: WaveNet(layers=10, width=64, skip=256, levels=256), (8, 16000)),
        ),
        "vit-b16-6": StudiedStep(
            "ViT-B/16, 6 of 12 layers, 64 images of 224x224",
            _images(lambda: vit(depth=6, hidden=768, heads=12, side=224), 64, 224),
        ),
        "mixer-b16-6": StudiedStep(
            "MLP-Mixer B/16, 6 of 12 layers, 64 images of 224x224",
            _images(
                lambda: MlpMixer(layers=6, hidden=768, between=384, inner=3072, side=224, patch=16),
                64,
                224,
            ),
        ),
        "convnext-t": StudiedStep(
            "ConvNeXt-T, 64 images of 224x224",
            _images(lambda: convnext(depths=(3, 3, 9, 3), width=96), 64, 224),
        ),
        "resnet-18": StudiedStep(
            "ResNet-18, 128 images of 224x224", _images(lambda: resnet(depth=18), 128, 224)
        ),
        "resnet-50": StudiedStep(
            "ResNet-50, 64 images of 224x224", _images(lambda: resnet(depth=50), 64, 224)
        ),
        "densenet-121": StudiedStep(
            "DenseNet-121, 64 images of 224x224", _images(lambda: densenet(depth=121), 64, 224)
        ),
        "mobilenet-v2": StudiedStep(
            "MobileNet v2, 128 images of 224x224", _images(mobilenet, 128, 224)
        ),
        "inception-v3": StudiedStep(
            "Inception v3, 32 images of 299x299", _images(inception, 32, 299)
        ),
        "segnet": StudiedStep(
            "SegNet, 8 images of 256x256",
            _images(lambda: SegNet(classes=21), 8, 256, (256, 256)),
        ),
        "u-net": StudiedStep(
            "U-Net with batch normalisation, 8 images of 256x256",
            _images(lambda: unet(side=256), 8, 256, (256, 256)),
        ),
        "u-net-denoising": StudiedStep(
            "U-Net with group normalisation that removes noise, 32 images of 64x64", _denoise
        ),
    }
)


def studied_step(name: str) -> StudiedStep:
    """Return a step of the study by its name.

    Raises
    ------
    InputError
        If there is no such step.
    """
    if name not in STUDIED_STEPS:
        raise InputError(
            f"{name!r} is not a step of the study",
            field="name",
            expected=f"choose from {', '.join(STUDIED_STEPS)}",
        )
    return STUDIED_STEPS[name]
