"""Residual networks for images, one stage per block (He et al., 2016, arXiv:1512.03385)."""

from __future__ import annotations

from collections import OrderedDict

from torch import Tensor, nn

from jettison.instances.core.errors import InputError

_BLOCKS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
}
_WIDTHS = (64, 128, 256, 512)
_SMALLEST_BOTTLENECK_DEPTH = 50


class ResidualBlock(nn.Module):
    """Residual block: the sum of `path` and the input (or its projection), then a ReLU."""

    def __init__(self, path: nn.Sequential, shortcut: nn.Module) -> None:
        super().__init__()
        self.path = path
        self.shortcut = shortcut

    def forward(self, block_input: Tensor) -> Tensor:
        """Map (batch, channels, height, width) to the same or, with a stride, half the side."""
        # In place on the path's own result: the block's input stays as it is.
        return (self.path(block_input) + self.shortcut(block_input)).relu_()


def resnet(*, depth: int, classes: int = 1000, stem: str = "7x7") -> nn.Sequential:
    """Return a residual network as a chain: stem, one stage per block, head.

    From depth 50 on the blocks are bottlenecks, with the stride in their 3x3 convolution.

    Parameters
    ----------
    depth
        18, 34, 50, 101, 152 or 200.
    classes
        Number of logits.
    stem
        ``7x7``: stride 2 and a pooling, for photographs. ``3x3``: neither, for images of 32 by 32
        pixels.

    Raises
    ------
    InputError
        If `depth` or `stem` is none of these.
    """
    if depth not in _BLOCKS:
        raise InputError(
            f"{depth!r}", field="depth", expected=f"choose from {', '.join(map(str, _BLOCKS))}"
        )
    stages: OrderedDict[str, nn.Module] = OrderedDict(stem=_stem(stem))
    channels = _WIDTHS[0]
    for group, (width, blocks) in enumerate(zip(_WIDTHS, _BLOCKS[depth], strict=True), start=1):
        for block in range(blocks):
            stride = 2 if group > 1 and block == 0 else 1
            if depth < _SMALLEST_BOTTLENECK_DEPTH:
                outputs, path = width, _basic_path(channels, width, stride)
            else:
                outputs, path = 4 * width, _bottleneck_path(channels, width, stride)
            stages[f"block{group}_{block + 1}"] = ResidualBlock(
                path, _shortcut(channels, outputs, stride)
            )
            channels = outputs
    stages["head"] = nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)
    )
    return nn.Sequential(stages)


def _stem(kind: str) -> nn.Sequential:
    width = _WIDTHS[0]
    if kind == "7x7":
        return nn.Sequential(
            nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
    if kind == "3x3":
        return nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
        )
    raise InputError(f"{kind!r}", field="stem", expected="choose 7x7 or 3x3")


def _basic_path(channels: int, width: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, width, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.Conv2d(width, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
    )


def _bottleneck_path(channels: int, width: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, width, 1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.Conv2d(width, 4 * width, 1, bias=False),
        nn.BatchNorm2d(4 * width),
    )


def _shortcut(channels: int, outputs: int, stride: int) -> nn.Module:
    if channels == outputs and stride == 1:
        return nn.Identity()
    return nn.Sequential(
        nn.Conv2d(channels, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
    )
