"""MobileNet v3 large, one stage per block (Howard et al., 2019, arXiv:1905.02244)."""

from __future__ import annotations

from collections import OrderedDict

from torch import Tensor, nn

# Table 1 of the paper: kernel, width inside, channels, squeeze and excite, hard swish, stride.
_BLOCKS = (
    (3, 16, 16, False, False, 1),
    (3, 64, 24, False, False, 2),
    (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1),
    (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2),
    (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1),
    (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2),
    (5, 960, 160, True, True, 1),
    (5, 960, 160, True, True, 1),
)
_STEM = 16
_LAST = 960
_HEAD = 1280
_EPSILON, _MOMENTUM = 1e-3, 1e-2


class SqueezeExcite(nn.Module):
    """Squeeze and excitation: weighs each channel by a function of all channel means."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        squeezed = _rounded(channels // 4)
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, squeezed, 1),
            nn.ReLU(inplace=True),
            nn.Conv2d(squeezed, channels, 1),
            nn.Hardsigmoid(),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Map (batch, channels, height, width) to the same."""
        found: Tensor = self.scale(images) * images
        return found


class Bottleneck(nn.Module):
    """Bottleneck: widen, filter channels one by one, weigh them, narrow; add the input if it fits.

    Parameters
    ----------
    channels, width, outputs
        Channels of the input, inside, and of the result.
    kernel, stride
        Size and stride of the filters.
    activation
        After widening and filtering.
    excite
        Module after the filters: `SqueezeExcite`, or nothing.
    """

    def __init__(
        self,
        channels: int,
        width: int,
        outputs: int,
        *,
        kernel: int,
        stride: int,
        activation: type[nn.Module],
        excite: tuple[nn.Module, ...],
    ) -> None:
        super().__init__()
        widen = [] if width == channels else [_conv(channels, width, 1, activation)]
        self.path = nn.Sequential(
            *widen,
            _conv(width, width, kernel, activation, stride=stride, groups=width),
            *excite,
            nn.Conv2d(width, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs, _EPSILON, _MOMENTUM),
        )
        self.adds = channels == outputs and stride == 1

    def forward(self, block_input: Tensor) -> Tensor:
        """Map (batch, channels, height, width) to the same or, with a stride, half the side."""
        found: Tensor = self.path(block_input)
        return block_input + found if self.adds else found


def mobilenet_v3(*, classes: int = 1000, dropout: float = 0.2) -> nn.Sequential:
    """Return MobileNet v3 large as a chain: stem, 15 blocks, the last convolution, head."""
    stages: OrderedDict[str, nn.Module] = OrderedDict(
        stem=_conv(3, _STEM, 3, nn.Hardswish, stride=2)
    )
    channels = _STEM
    for number, (kernel, width, outputs, excites, swishes, stride) in enumerate(_BLOCKS, start=1):
        stages[f"block{number}"] = Bottleneck(
            channels,
            width,
            outputs,
            kernel=kernel,
            stride=stride,
            activation=nn.Hardswish if swishes else nn.ReLU,
            excite=(SqueezeExcite(width),) if excites else (),
        )
        channels = outputs
    stages["conv"] = _conv(channels, _LAST, 1, nn.Hardswish)
    stages["head"] = nn.Sequential(
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(_LAST, _HEAD),
        nn.Hardswish(inplace=True),
        nn.Dropout(dropout),
        nn.Linear(_HEAD, classes),
    )
    return nn.Sequential(stages)


def _conv(
    channels: int,
    width: int,
    kernel: int,
    activation: type[nn.Module],
    *,
    stride: int = 1,
    groups: int = 1,
) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(
            channels, width, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False
        ),
        nn.BatchNorm2d(width, _EPSILON, _MOMENTUM),
        activation(inplace=True),
    )


def _rounded(channels: int) -> int:
    """Return the multiple of 8 that is nearest, and not below nine tenths."""
    nearest = max(8, (channels + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * channels else nearest
