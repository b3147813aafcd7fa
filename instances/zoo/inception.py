"""Inception v3 without its auxiliary head (Szegedy et al., 2016, arXiv:1512.00567)."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn

Extent = int | tuple[int, int]


class Branches(nn.Module):
    """Several branches of one input, whose channels are concatenated."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, block_input: Tensor) -> Tensor:
        """Map (batch, channels, height, width) to the channels of all branches."""
        return torch.cat([branch(block_input) for branch in self.branches], dim=1)


def inception(*, classes: int = 1000, dropout: float = 0.5) -> nn.Sequential:
    """Return Inception v3 as a chain: convolutions and poolings, eleven mixed blocks, head.

    The auxiliary head, which only helps to train and is no part of a chain, is left out. Images
    need a side of at least 75 pixels; the paper has 299.
    """
    stages: OrderedDict[str, nn.Module] = OrderedDict(
        conv1=_conv(3, 32, 3, stride=2),
        conv2=_conv(32, 32, 3),
        conv3=_conv(32, 64, 3, padding=1),
        pool1=nn.MaxPool2d(3, stride=2),
        conv4=_conv(64, 80, 1),
        conv5=_conv(80, 192, 3),
        pool2=nn.MaxPool2d(3, stride=2),
        mixed5b=_mixed5(192, 32),
        mixed5c=_mixed5(256, 64),
        mixed5d=_mixed5(288, 64),
        mixed6a=_reduce6(288),
        mixed6b=_mixed6(768, 128),
        mixed6c=_mixed6(768, 160),
        mixed6d=_mixed6(768, 160),
        mixed6e=_mixed6(768, 192),
        mixed7a=_reduce7(768),
        mixed7b=_mixed7(1280),
        mixed7c=_mixed7(2048),
        head=nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Dropout(dropout),
            nn.Flatten(),
            nn.Linear(2048, classes),
        ),
    )
    return nn.Sequential(stages)


def _conv(
    channels: int, width: int, kernel: Extent, *, stride: int = 1, padding: Extent = 0
) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, width, kernel, stride=stride, padding=padding, bias=False),
        nn.BatchNorm2d(width, eps=0.001),
        nn.ReLU(inplace=True),
    )


def _row(channels: int, width: int, extent: int) -> nn.Sequential:
    return _conv(channels, width, (1, extent), padding=(0, extent // 2))


def _column(channels: int, width: int, extent: int) -> nn.Sequential:
    return _conv(channels, width, (extent, 1), padding=(extent // 2, 0))


def _pooled(channels: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.AvgPool2d(3, stride=1, padding=1), _conv(channels, width, 1))


def _mixed5(channels: int, pooled: int) -> Branches:
    return Branches(
        _conv(channels, 64, 1),
        nn.Sequential(_conv(channels, 48, 1), _conv(48, 64, 5, padding=2)),
        nn.Sequential(
            _conv(channels, 64, 1), _conv(64, 96, 3, padding=1), _conv(96, 96, 3, padding=1)
        ),
        _pooled(channels, pooled),
    )


def _reduce6(channels: int) -> Branches:
    return Branches(
        _conv(channels, 384, 3, stride=2),
        nn.Sequential(
            _conv(channels, 64, 1), _conv(64, 96, 3, padding=1), _conv(96, 96, 3, stride=2)
        ),
        nn.MaxPool2d(3, stride=2),
    )


def _mixed6(channels: int, width: int) -> Branches:
    return Branches(
        _conv(channels, 192, 1),
        nn.Sequential(_conv(channels, width, 1), _row(width, width, 7), _column(width, 192, 7)),
        nn.Sequential(
            _conv(channels, width, 1),
            _column(width, width, 7),
            _row(width, width, 7),
            _column(width, width, 7),
            _row(width, 192, 7),
        ),
        _pooled(channels, 192),
    )


def _reduce7(channels: int) -> Branches:
    return Branches(
        nn.Sequential(_conv(channels, 192, 1), _conv(192, 320, 3, stride=2)),
        nn.Sequential(
            _conv(channels, 192, 1),
            _row(192, 192, 7),
            _column(192, 192, 7),
            _conv(192, 192, 3, stride=2),
        ),
        nn.MaxPool2d(3, stride=2),
    )


def _mixed7(channels: int) -> Branches:
    return Branches(
        _conv(channels, 320, 1),
        nn.Sequential(_conv(channels, 384, 1), Branches(_row(384, 384, 3), _column(384, 384, 3))),
        nn.Sequential(
            _conv(channels, 448, 1),
            _conv(448, 384, 3, padding=1),
            Branches(_row(384, 384, 3), _column(384, 384, 3)),
        ),
        _pooled(channels, 192),
    )
