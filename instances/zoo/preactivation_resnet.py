"""ResNets that normalise before each convolution (He et al., 2016, arXiv:1603.05027)."""

from __future__ import annotations

from collections import OrderedDict

from torch import Tensor, nn

from jettison.instances.core.errors import InputError

_STEM = 16
_GROUPS = 3
_LAYERS_OF_BLOCK = 3
_EXPANSION = 4


class PreactivationBlock(nn.Module):
    """Bottleneck added to its input or, where the shape changes, to a projection of it.

    A projection reads the input after the first normalisation, as the block's path does.
    """

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = _EXPANSION * width
        self.activation = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(inplace=True))
        self.path = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False),
        )
        self.projection = (
            None
            if channels == outputs and stride == 1
            else nn.Conv2d(channels, outputs, 1, stride=stride, bias=False)
        )

    def forward(self, block_input: Tensor) -> Tensor:
        """Map (batch, channels, height, width) to the same or, with a stride, half the side."""
        active = self.activation(block_input)
        shortcut = block_input if self.projection is None else self.projection(active)
        return self.path(active) + shortcut


def preactivation_resnet(*, depth: int, classes: int = 10, width: int = 16) -> nn.Sequential:
    """Return a network of three groups of bottlenecks, each twice as wide as the last, as a chain.

    The chain of depth 1001 has 339 stages with the loss, as in the rotor paper: a convolution, 333
    blocks, the last normalisation, pooling, flattening and a linear layer.

    Parameters
    ----------
    depth
        Layers with weights: 2 and 9 for each block of every group; at least 11.
    classes
        Number of logits.
    width
        Channels inside the blocks of the first group, of which their outputs have four times as
        many; 16 in the paper, and 64 in the collection of networks that the rotor paper cites.

    Raises
    ------
    InputError
        If there is no network of this depth.
    """
    blocks, rest = divmod(depth - 2, _LAYERS_OF_BLOCK * _GROUPS)
    if blocks < 1 or rest:
        raise InputError(f"{depth}", field="depth", expected="write 2 + 9 n, such as 164 or 1001")
    channels = _STEM
    stages: OrderedDict[str, nn.Module] = OrderedDict(
        conv=nn.Conv2d(3, channels, 3, padding=1, bias=False)
    )
    for group in range(1, _GROUPS + 1):
        inner = width * 2 ** (group - 1)
        for block in range(1, blocks + 1):
            stride = 2 if group > 1 and block == 1 else 1
            stages[f"block{group}_{block}"] = PreactivationBlock(channels, inner, stride)
            channels = _EXPANSION * inner
    stages["norm"] = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(inplace=True))
    stages["pool"] = nn.AdaptiveAvgPool2d(1)
    stages["flatten"] = nn.Flatten()
    stages["fc"] = nn.Linear(channels, classes)
    return nn.Sequential(stages)
