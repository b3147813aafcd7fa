"""Vision transformers, one stage per block (Dosovitskiy et al., 2021, arXiv:2010.11929)."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.instances.zoo.attention import SelfAttention, feed_forward


class PatchEmbedding(nn.Module):
    """Patch embedding: states of square patches, after the state of the class, with positions."""

    def __init__(self, *, side: int, patch: int, hidden: int) -> None:
        super().__init__()
        if side % patch:
            raise InputError(
                f"a side of {side} pixels is not made of patches of {patch}",
                field="input_size",
                expected=f"choose a multiple of {patch}",
            )
        self.patches = nn.Conv2d(3, hidden, patch, stride=patch)
        self.class_state = nn.Parameter(torch.zeros(1, 1, hidden))
        self.position = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, hidden) * 0.02)

    def forward(self, images: Tensor) -> Tensor:
        """Map (batch, 3, side, side) to (batch, patches + 1, hidden)."""
        states = self.patches(images).flatten(2).transpose(1, 2)
        first = self.class_state.expand(states.shape[0], -1, -1)
        return torch.cat([first, states], dim=1) + self.position


class VisionBlock(nn.Module):
    """Attention, then a two-layer network; each normalises its input and adds to it."""

    def __init__(self, *, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Sequential(
            nn.LayerNorm(hidden, eps=1e-6),
            SelfAttention(hidden=hidden, heads=heads, dropout=dropout, causal=False),
            nn.Dropout(dropout),
        )
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(hidden, eps=1e-6),
            feed_forward(hidden=hidden, approximate="none"),
            nn.Dropout(dropout),
        )

    def forward(self, states: Tensor) -> Tensor:
        """Map (batch, patches + 1, hidden) to the same shape."""
        states = states + self.attention(states)
        return states + self.feed_forward(states)


class ClassState(nn.Module):
    """Selection of the state of the class."""

    def forward(self, states: Tensor) -> Tensor:
        """Map (batch, patches + 1, hidden) to (batch, hidden)."""
        return states[:, 0]


def vit(
    *,
    depth: int,
    hidden: int,
    heads: int,
    side: int,
    patch: int = 16,
    classes: int = 1000,
    dropout: float = 0.0,
) -> nn.Sequential:
    """Return a vision transformer as a chain: embedding, `depth` blocks, head.

    Raises
    ------
    InputError
        If `heads` does not divide `hidden`, or `patch` the `side` of the images.
    """
    stages: OrderedDict[str, nn.Module] = OrderedDict(
        embedding=nn.Sequential(
            PatchEmbedding(side=side, patch=patch, hidden=hidden), nn.Dropout(dropout)
        )
    )
    for block in range(1, depth + 1):
        stages[f"block{block}"] = VisionBlock(hidden=hidden, heads=heads, dropout=dropout)
    stages["head"] = nn.Sequential(
        nn.LayerNorm(hidden, eps=1e-6), ClassState(), nn.Linear(hidden, classes)
    )
    return nn.Sequential(stages)
