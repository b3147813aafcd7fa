"""Encoder and decoder like T5's, whose attention stores its weights (Raffel et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from jettison.instances.zoo.studied.decoder import RmsNorm


class BiasedAttention(nn.Module):
    """Attention whose scores have a bias for each pair of positions, written out in products."""

    hidden_pairs: Tensor | None

    def __init__(self, *, hidden: int, heads: int, sequence: int, causal: bool) -> None:
        super().__init__()
        self.heads = heads
        self.norm = RmsNorm(hidden)
        self.query, self.key, self.value, self.output = (
            nn.Linear(hidden, hidden, bias=False) for _ in range(4)
        )
        self.bias = nn.Parameter(torch.zeros(heads, sequence, sequence))
        pairs = torch.ones(sequence, sequence, dtype=torch.bool).triu(1) if causal else None
        self.register_buffer("hidden_pairs", pairs)

    def forward(self, states: Tensor, others: Tensor | None = None) -> Tensor:
        """Add to (batch, sequence, hidden) what it reads in others of that shape, or in itself."""
        read = self.norm(states)
        source = read if others is None else others
        query, key, value = (
            layer(given).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, given in ((self.query, read), (self.key, source), (self.value, source))
        )
        scores = query @ key.transpose(-1, -2) + self.bias
        if self.hidden_pairs is not None:
            scores = scores.masked_fill(self.hidden_pairs, float("-inf"))
        mixed = scores.softmax(-1) @ value
        return states + self.output(mixed.transpose(1, 2).flatten(2))


class Network(nn.Module):
    """Feed-forward network with a rectifier, added to its input."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.norm = RmsNorm(hidden)
        self.up = nn.Linear(hidden, 4 * hidden, bias=False)
        self.down = nn.Linear(4 * hidden, hidden, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        """Map (..., hidden) to the same shape."""
        return states + self.down(functional.relu(self.up(self.norm(states))))


class EncoderDecoder(nn.Module):
    """Encoder of one half of the tokens, and decoder of the other half that reads it."""

    def __init__(
        self, *, layers: int, hidden: int, heads: int, sequence: int, vocabulary: int
    ) -> None:
        super().__init__()

        def attention(*, causal: bool) -> BiasedAttention:
            return BiasedAttention(hidden=hidden, heads=heads, sequence=sequence, causal=causal)

        self.token = nn.Embedding(vocabulary, hidden)
        self.read = nn.ModuleList(attention(causal=False) for _ in range(layers))
        self.read_network = nn.ModuleList(Network(hidden) for _ in range(layers))
        self.write = nn.ModuleList(attention(causal=True) for _ in range(layers))
        self.cross = nn.ModuleList(attention(causal=False) for _ in range(layers))
        self.write_network = nn.ModuleList(Network(hidden) for _ in range(layers))
        self.ends = nn.ModuleList(RmsNorm(hidden) for _ in range(2))
        self.head = nn.Linear(hidden, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map token ids (batch, 2, sequence) to logits (batch, sequence, vocabulary)."""
        states, written = self.token(tokens[:, 0]), self.token(tokens[:, 1])
        for attention, network in zip(self.read, self.read_network, strict=True):
            states = network(attention(states))
        states = self.ends[0](states)
        for attention, cross, network in zip(
            self.write, self.cross, self.write_network, strict=True
        ):
            written = network(cross(attention(written), states))
        logits: Tensor = self.head(self.ends[1](written))
        return logits
