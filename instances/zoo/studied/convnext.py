"""ConvNeXt: convolutions in each channel and layers between channels (Liu et al., 2022)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class ChannelNorm(nn.Module):
    """Layer normalisation over the channels of images."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps=1e-6)

    def forward(self, images: Tensor) -> Tensor:
        """Map (batch, channels, height, width) to the same shape."""
        normed: Tensor = self.norm(images.permute(0, 2, 3, 1))
        return normed.permute(0, 3, 1, 2)


class ConvNextBlock(nn.Module):
    """A 7x7 convolution of each channel, then two layers between channels; added to its input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.spatial = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.up = nn.Linear(channels, 4 * channels)
        self.down = nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 1e-6))

    def forward(self, images: Tensor) -> Tensor:
        """Map (batch, channels, height, width) to the same shape."""
        inner = self.norm(self.spatial(images).permute(0, 2, 3, 1))
        inner = self.scale * self.down(functional.gelu(self.up(inner)))
        return images + inner.permute(0, 3, 1, 2)


def convnext(*, depths: tuple[int, ...], width: int, classes: int = 1000) -> nn.Sequential:
    """Return a ConvNeXt of groups of blocks; each halves the side and doubles the channels."""
    layers: list[nn.Module] = [nn.Conv2d(3, width, 4, stride=4), ChannelNorm(width)]
    for group, depth in enumerate(depths):
        channels = width * 2**group
        if group:
            layers += [
                ChannelNorm(channels // 2),
                nn.Conv2d(channels // 2, channels, 2, stride=2),
            ]
        layers += [ConvNextBlock(channels) for _ in range(depth)]
    layers += [
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.LayerNorm(channels, eps=1e-6),
        nn.Linear(channels, classes),
    ]
    return nn.Sequential(*layers)
