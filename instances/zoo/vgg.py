"""VGG networks for images, one stage per layer (Simonyan and Zisserman, arXiv:1409.1556)."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from jettison.instances.core.errors import InputError

# Convolutions in each group; a pooling follows each.
_CONVOLUTIONS = {16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_WIDTHS = (64, 128, 256, 512, 512)
_HIDDEN = 4096


def vgg(*, depth: int, classes: int = 1000, dropout: float = 0.5) -> nn.Sequential:
    """Return a VGG network as a chain: every convolution, pooling and linear layer is a stage.

    The rectifier and the dropout belong to the layer before them. Images need a side of at least
    32 pixels.

    Raises
    ------
    InputError
        If `depth` is not 16 or 19.
    """
    if depth not in _CONVOLUTIONS:
        raise InputError(f"{depth!r}", field="depth", expected="choose 16 or 19")
    stages: OrderedDict[str, nn.Module] = OrderedDict()
    channels = 3
    groups = zip(_WIDTHS, _CONVOLUTIONS[depth], strict=True)
    for group, (width, convolutions) in enumerate(groups, start=1):
        for layer in range(1, convolutions + 1):
            stages[f"conv{group}_{layer}"] = nn.Sequential(
                nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)
            )
            channels = width
        stages[f"pool{group}"] = nn.MaxPool2d(2)
    stages["fc6"] = nn.Sequential(
        nn.AdaptiveAvgPool2d(7),
        nn.Flatten(),
        nn.Linear(channels * 49, _HIDDEN),
        nn.ReLU(inplace=True),
        nn.Dropout(dropout),
    )
    stages["fc7"] = nn.Sequential(
        nn.Linear(_HIDDEN, _HIDDEN), nn.ReLU(inplace=True), nn.Dropout(dropout)
    )
    stages["fc8"] = nn.Linear(_HIDDEN, classes)
    return nn.Sequential(stages)
