"""SegNet: an encoder, and a decoder that puts values where its poolings took them from.

Badrinarayanan, Kendall and Cipolla, 2017, arXiv:1511.00561.
"""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional

_WIDTHS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


class SegNet(nn.Module):
    """Convolutions of VGG-16, and their mirror image; poolings hand on the places of maxima."""

    def __init__(self, *, classes: int) -> None:
        super().__init__()
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        before = 3
        for width, layers in _WIDTHS:
            widths = [before, *[width] * layers]
            self.down.append(_convolutions(widths))
            # Back to the width that the level above has; the last one makes the logits.
            self.up.insert(0, _convolutions([*[width] * layers, max(before, 64)]))
            before = width
        self.head = nn.Conv2d(64, classes, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Map (batch, 3, height, width) to logits of shape (batch, height, width, classes)."""
        places = []
        x = images
        for block in self.down:
            x, place = functional.max_pool2d(block(x), 2, return_indices=True)
            places.append(place)
        for block in self.up:
            x = block(functional.max_unpool2d(x, places.pop(), 2))
        logits: Tensor = self.head(x).movedim(1, -1)
        return logits


def _convolutions(widths: list[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [
            nn.Conv2d(before, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*layers)
