"""WaveNet: gated dilated convolutions whose sums of skips are read (van den Oord et al., 2016)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class GatedConvolution(nn.Module):
    """Causal dilated convolution with a gate; makes the next signal and a skip."""

    def __init__(self, *, width: int, skip: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.filters = nn.Conv1d(width, width, 2, dilation=dilation)
        self.gate = nn.Conv1d(width, width, 2, dilation=dilation)
        self.skip = nn.Conv1d(width, skip, 1)
        self.next = nn.Conv1d(width, width, 1)

    def forward(self, signal: Tensor) -> tuple[Tensor, Tensor]:
        """Map (batch, width, samples) to the same shape, and to (batch, skip, samples)."""
        before = functional.pad(signal, (self.dilation, 0))
        active = torch.tanh(self.filters(before)) * torch.sigmoid(self.gate(before))
        return signal + self.next(active), self.skip(active)


class WaveNet(nn.Module):
    """Layers of doubling dilation, and logits for each sample from the sum of their skips."""

    def __init__(self, *, layers: int, width: int, skip: int, levels: int) -> None:
        super().__init__()
        self.samples = nn.Embedding(levels, width)
        self.layers = nn.ModuleList(
            GatedConvolution(width=width, skip=skip, dilation=2**layer) for layer in range(layers)
        )
        self.ends = nn.ModuleList((nn.Conv1d(skip, skip, 1), nn.Conv1d(skip, levels, 1)))

    def forward(self, samples: Tensor) -> Tensor:
        """Map levels (batch, samples) to logits (batch, samples, levels)."""
        signal = self.samples(samples).transpose(1, 2)
        total: Tensor | None = None
        for layer in self.layers:
            signal, skip = layer(signal)
            total = skip if total is None else total + skip
        assert total is not None
        inner = functional.relu(self.ends[0](functional.relu(total)))
        logits: Tensor = self.ends[1](inner).transpose(1, 2)
        return logits
