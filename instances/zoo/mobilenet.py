"""MobileNet v2, one stage per block (Sandler et al., 2018, arXiv:1801.04381)."""

from __future__ import annotations

from collections import OrderedDict

from torch import Tensor, nn

# Table 2 of the paper: expansion, channels, blocks, stride of the first block.
_GROUPS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_STEM = 32
_HEAD = 1280


class InvertedResidual(nn.Module):
    """Inverted residual: widen, filter channels one by one, narrow; add the input if it fits."""

    def __init__(self, channels: int, outputs: int, *, expansion: int, stride: int) -> None:
        super().__init__()
        width = expansion * channels
        widen = [] if expansion == 1 else [_conv(channels, width, 1)]
        self.path = nn.Sequential(
            *widen,
            _conv(width, width, 3, stride=stride, groups=width),
            nn.Conv2d(width, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.adds = channels == outputs and stride == 1

    def forward(self, block_input: Tensor) -> Tensor:
        """Map (batch, channels, height, width) to the same or, with a stride, half the side."""
        found: Tensor = self.path(block_input)
        return block_input + found if self.adds else found


def mobilenet(*, classes: int = 1000, dropout: float = 0.2) -> nn.Sequential:
    """Return MobileNet v2 as a chain: stem, 17 blocks, the last convolution, head."""
    stages: OrderedDict[str, nn.Module] = OrderedDict(stem=_conv(3, _STEM, 3, stride=2))
    channels = _STEM
    for group, (expansion, outputs, blocks, first) in enumerate(_GROUPS, start=1):
        for block in range(1, blocks + 1):
            stages[f"block{group}_{block}"] = InvertedResidual(
                channels, outputs, expansion=expansion, stride=first if block == 1 else 1
            )
            channels = outputs
    stages["conv"] = _conv(channels, _HEAD, 1)
    stages["head"] = nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout), nn.Linear(_HEAD, classes)
    )
    return nn.Sequential(stages)


def _conv(
    channels: int, width: int, kernel: int, *, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(
            channels, width, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False
        ),
        nn.BatchNorm2d(width),
        nn.ReLU6(inplace=True),
    )
