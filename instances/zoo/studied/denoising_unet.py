"""U-Net with group normalisation that removes noise, as diffusion models use (Ho et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class NormedBlock(nn.Module):
    """Two 3x3 convolutions, each after a group normalisation and a SiLU; added to the input."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList((nn.GroupNorm(32, before), nn.GroupNorm(32, after)))
        self.layers = nn.ModuleList(
            (nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1))
        )
        self.shortcut = nn.Identity() if before == after else nn.Conv2d(before, after, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Map (batch, before, height, width) to (batch, after, height, width)."""
        inner = images
        for norm, layer in zip(self.norms, self.layers, strict=True):
            inner = layer(functional.silu(norm(inner)))
        total: Tensor = self.shortcut(images) + inner
        return total


class DenoisingUNet(nn.Module):
    """Blocks on each level on the way down and up; each level's result is read on the way up."""

    def __init__(self, *, width: int, levels: int) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(levels)]
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList(
            NormedBlock(before, after)
            for before, after in zip([width, *widths], widths, strict=False)
        )
        self.shrink = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, stride=2, padding=1) for channels in widths[:-1]
        )
        rising = list(zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.up = nn.ModuleList(NormedBlock(low + high, high) for low, high in rising)
        self.head = nn.Sequential(
            nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1)
        )

    def forward(self, images: Tensor) -> Tensor:
        """Map (batch, 3, height, width) to the same shape."""
        x = self.stem(images)
        skips = []
        for level, block in enumerate(self.down):
            x = block(self.shrink[level - 1](x) if level else x)
            skips.append(x)
        skips.pop()
        for block in self.up:
            x = block(torch.cat([functional.interpolate(x, scale_factor=2.0), skips.pop()], 1))
        noise: Tensor = self.head(x)
        return noise
