"""Decoders like Llama's: RMS normalisation, rotary positions, gated feed-forward networks."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class RmsNorm(nn.Module):
    """Scaled division by the root mean square, of pointwise operators as Llama's is written."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, states: Tensor) -> Tensor:
        """Map (..., hidden) to the same shape."""
        mean = states.pow(2).mean(-1, keepdim=True)
        return self.weight * (states * torch.rsqrt(mean + 1e-6))


class RotaryAttention(nn.Module):
    """Causal attention with rotary positions; groups of query heads share keys and values."""

    cosine: Tensor
    sine: Tensor

    def __init__(self, *, hidden: int, heads: int, shared_heads: int, sequence: int) -> None:
        super().__init__()
        self.size = hidden // heads
        self.groups = heads // shared_heads
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(hidden, shared_heads * self.size, bias=False)
        self.value = nn.Linear(hidden, shared_heads * self.size, bias=False)
        self.output = nn.Linear(hidden, hidden, bias=False)
        rates = 10_000.0 ** (-torch.arange(0, self.size, 2) / self.size)
        angles = torch.outer(torch.arange(sequence), torch.cat([rates, rates]))
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, states: Tensor) -> Tensor:
        """Map (batch, sequence, hidden) to the same shape."""
        query, key, value = (
            layer(states).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        query, key = self._rotated(query), self._rotated(key)
        if self.groups > 1:
            key, value = (part.repeat_interleave(self.groups, dim=1) for part in (key, value))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def _rotated(self, heads: Tensor) -> Tensor:
        first, second = heads.chunk(2, dim=-1)
        return heads * self.cosine + torch.cat([-second, first], dim=-1) * self.sine


class GatedNetwork(nn.Module):
    """Feed-forward network whose hidden layer a second one gates (SwiGLU)."""

    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.gate = nn.Linear(hidden, inner, bias=False)
        self.up = nn.Linear(hidden, inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        """Map (..., hidden) to the same shape."""
        return self.down(functional.silu(self.gate(states)) * self.up(states))


class DecoderLayer(nn.Module):
    """Attention, then a gated network; each normalises its input and adds to it."""

    def __init__(self, attention: nn.Module, network: nn.Module, hidden: int) -> None:
        super().__init__()
        self.attention = nn.Sequential(RmsNorm(hidden), attention)
        self.network = nn.Sequential(RmsNorm(hidden), network)

    def forward(self, states: Tensor) -> Tensor:
        """Map (batch, sequence, hidden) to the same shape."""
        states = states + self.attention(states)
        return states + self.network(states)


def decoder(
    *,
    layers: int,
    hidden: int,
    heads: int,
    shared_heads: int,
    inner: int,
    sequence: int,
    vocabulary: int,
    has_head: bool = True,
) -> nn.Sequential:
    """Return a decoder of token ids (batch, sequence) to logits, or to states without a head."""
    blocks = [
        DecoderLayer(
            RotaryAttention(
                hidden=hidden, heads=heads, shared_heads=shared_heads, sequence=sequence
            ),
            GatedNetwork(hidden, inner),
            hidden,
        )
        for _ in range(layers)
    ]
    head = [nn.Linear(hidden, vocabulary, bias=False)] if has_head else []
    return nn.Sequential(nn.Embedding(vocabulary, hidden), *blocks, RmsNorm(hidden), *head)
