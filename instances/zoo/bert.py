"""BERT with its masked-word head, one stage per block (Devlin et al., 2019, arXiv:1810.04805)."""

from __future__ import annotations

from collections import OrderedDict

from torch import Tensor, nn

from jettison.instances.zoo.attention import (
    SelfAttention,
    TokenEmbedding,
    feed_forward,
    initialise,
)


class EncoderBlock(nn.Module):
    """Attention, then a two-layer network; each adds to its input and normalises the sum."""

    def __init__(self, *, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Sequential(
            SelfAttention(hidden=hidden, heads=heads, dropout=dropout, causal=False),
            nn.Dropout(dropout),
        )
        self.attention_norm = nn.LayerNorm(hidden)
        self.feed_forward = nn.Sequential(
            feed_forward(hidden=hidden, approximate="none"), nn.Dropout(dropout)
        )
        self.feed_forward_norm = nn.LayerNorm(hidden)

    def forward(self, states: Tensor) -> Tensor:
        """Map (batch, sequence, hidden) to the same shape."""
        states = self.attention_norm(states + self.attention(states))
        return self.feed_forward_norm(states + self.feed_forward(states))


def bert(
    *,
    depth: int,
    hidden: int,
    heads: int,
    sequence: int,
    vocabulary: int = 30522,
    dropout: float = 0.1,
) -> nn.Sequential:
    """Return BERT as a chain: embedding, `depth` blocks, and the head that predicts words.

    There is one segment and no padding, so that neither a segment embedding (it would be one more
    constant row) nor an attention mask is needed. The head shares its weight with the token
    embedding. The input are token ids of shape (batch, sequence), the output are logits of shape
    (batch, sequence, vocabulary).

    Raises
    ------
    InputError
        If `heads` does not divide `hidden`.
    """
    embedding = TokenEmbedding(vocabulary=vocabulary, sequence=sequence, hidden=hidden)
    stages: OrderedDict[str, nn.Module] = OrderedDict(
        embedding=nn.Sequential(embedding, nn.LayerNorm(hidden), nn.Dropout(dropout))
    )
    for block in range(1, depth + 1):
        stages[f"block{block}"] = EncoderBlock(hidden=hidden, heads=heads, dropout=dropout)
    logits = nn.Linear(hidden, vocabulary)
    stages["head"] = nn.Sequential(
        nn.Linear(hidden, hidden), nn.GELU(), nn.LayerNorm(hidden), logits
    )
    model = nn.Sequential(stages).apply(initialise)
    logits.weight = embedding.token.weight
    return model
