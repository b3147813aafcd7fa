"""Densely connected networks, one stage per layer (Huang et al., 2017, arXiv:1608.06993)."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError

# Depth: layers in each block, growth, channels of the stem.
_SHAPES = {
    121: ((6, 12, 24, 16), 32, 64),
    161: ((6, 12, 36, 24), 48, 96),
    169: ((6, 12, 32, 32), 32, 64),
    201: ((6, 12, 48, 32), 32, 64),
}
# A layer computes this many times the growth before its 3x3 convolution.
_BOTTLENECK = 4


class DenseLayer(nn.Module):
    """Dense layer: appends `growth` channels, computed from all of its input, to the input.

    The output contains the input, so that every stage passes on all that later ones read.
    """

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        width = _BOTTLENECK * growth
        self.path = nn.Sequential(
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, growth, 3, padding=1, bias=False),
        )

    def forward(self, layer_input: Tensor) -> Tensor:
        """Map (batch, channels, height, width) to (batch, channels + growth, height, width)."""
        return torch.cat([layer_input, self.path(layer_input)], dim=1)


def densenet(*, depth: int, classes: int = 1000) -> nn.Sequential:
    """Return a DenseNet as a chain: stem, one stage per layer and transition, head.

    Images need a side of at least 29 pixels.

    Raises
    ------
    InputError
        If `depth` is not 121, 161, 169 or 201.
    """
    if depth not in _SHAPES:
        raise InputError(
            f"{depth!r}", field="depth", expected=f"choose from {', '.join(map(str, _SHAPES))}"
        )
    layers, growth, channels = _SHAPES[depth]
    stages: OrderedDict[str, nn.Module] = OrderedDict(
        stem=nn.Sequential(
            nn.Conv2d(3, channels, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
    )
    for block, count in enumerate(layers, start=1):
        for layer in range(1, count + 1):
            stages[f"layer{block}_{layer}"] = DenseLayer(channels, growth)
            channels += growth
        if block < len(layers):
            stages[f"transition{block}"] = nn.Sequential(
                nn.BatchNorm2d(channels),
                nn.ReLU(inplace=True),
                nn.Conv2d(channels, channels // 2, 1, bias=False),
                nn.AvgPool2d(2),
            )
            channels //= 2
    stages["head"] = nn.Sequential(
        nn.BatchNorm2d(channels),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(channels, classes),
    )
    return nn.Sequential(stages)
