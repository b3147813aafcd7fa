"""U-Net for the segmentation of images (Ronneberger, Fischer and Brox, arXiv:1505.04597)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError


class UNet(nn.Module):
    """U-Net: a contracting path, and an expanding one that reads each of its levels; no chain.

    As in the paper, two convolutions of 3x3 and rectifiers on each level, pooling by 2 on the way
    down and a transposed convolution of 2x2 on the way up. Convolutions are padded, so that the
    logits are as large as the image, and followed by a batch normalisation.
    """

    def __init__(self, *, classes: int, depth: int, width: int) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(depth + 1)]
        self.down = nn.ModuleList(
            _two_convolutions(before, after)
            for before, after in zip([3, *widths], widths, strict=False)
        )
        self.pool = nn.MaxPool2d(2)
        rising = list(zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose2d(low, high, 2, stride=2) for low, high in rising)
        self.merge = nn.ModuleList(_two_convolutions(2 * high, high) for _, high in rising)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Map (batch, 3, height, width) to logits of shape (batch, height, width, classes)."""
        skips = []
        x = images
        for level, block in enumerate(self.down):
            x = block(self.pool(x) if level else x)
            skips.append(x)
        skips.pop()
        for rise, merge in zip(self.up, self.merge, strict=True):
            x = merge(torch.cat([skips.pop(), rise(x)], dim=1))
        logits: Tensor = self.head(x).movedim(1, -1)
        return logits


def unet(*, side: int, classes: int = 2, depth: int = 4, width: int = 64) -> UNet:
    """Return a U-Net; it has skips, so that it is profiled as a graph.

    Parameters
    ----------
    side
        Side of the images, a multiple of ``2**depth``.
    classes
        Number of logits for each pixel.
    depth
        How often the image is halved.
    width
        Channels of the first level; they double from level to level.

    Raises
    ------
    InputError
        If the image cannot be halved so often.
    """
    if side % 2**depth:
        raise InputError(
            f"images of {side}x{side} pixels",
            field="input",
            expected=f"the side must be a multiple of {2**depth}, for {depth} poolings",
        )
    return UNet(classes=classes, depth=depth, width=width)


def _two_convolutions(before: int, after: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (before, after):
        layers += [
            nn.Conv2d(channels, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*layers)
