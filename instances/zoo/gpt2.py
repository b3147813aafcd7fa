"""GPT-2, one stage per block (Radford et al., 2019)."""

from __future__ import annotations

from collections import OrderedDict

from torch import Tensor, nn

from jettison.instances.zoo.attention import (
    SelfAttention,
    TokenEmbedding,
    feed_forward,
    initialise,
)


class DecoderBlock(nn.Module):
    """Causal attention, then a two-layer network; each normalises its input and adds to it."""

    def __init__(self, *, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Sequential(
            nn.LayerNorm(hidden),
            SelfAttention(hidden=hidden, heads=heads, dropout=dropout, causal=True),
            nn.Dropout(dropout),
        )
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(hidden),
            feed_forward(hidden=hidden, approximate="tanh"),
            nn.Dropout(dropout),
        )

    def forward(self, states: Tensor) -> Tensor:
        """Map (batch, sequence, hidden) to the same shape."""
        states = states + self.attention(states)
        return states + self.feed_forward(states)


def gpt2(
    *,
    depth: int,
    hidden: int,
    heads: int,
    sequence: int,
    vocabulary: int = 50257,
    dropout: float = 0.1,
) -> nn.Sequential:
    """Return GPT-2 as a chain: embedding, `depth` blocks, and a head that yields logits.

    The head shares its weight with the token embedding. The input are token ids of shape (batch,
    sequence), the output are logits of shape (batch, sequence, vocabulary).

    Raises
    ------
    InputError
        If `heads` does not divide `hidden`.
    """
    embedding = TokenEmbedding(vocabulary=vocabulary, sequence=sequence, hidden=hidden)
    stages: OrderedDict[str, nn.Module] = OrderedDict(
        embedding=nn.Sequential(embedding, nn.Dropout(dropout))
    )
    for block in range(1, depth + 1):
        stages[f"block{block}"] = DecoderBlock(hidden=hidden, heads=heads, dropout=dropout)
    logits = nn.Linear(hidden, vocabulary, bias=False)
    stages["head"] = nn.Sequential(nn.LayerNorm(hidden), logits)
    model = nn.Sequential(stages).apply(initialise)
    logits.weight = embedding.token.weight
    return model
