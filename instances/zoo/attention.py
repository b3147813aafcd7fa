"""Multi-head self-attention and feed-forward network, shared by GPT-2 and BERT."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from jettison.instances.core.errors import InputError


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself, with one projection for all three inputs.

    The kernel is PyTorch's choice (`scaled_dot_product_attention`): whether the matrix of
    attention weights is ever stored depends on device, type and dropout.
    """

    def __init__(self, *, hidden: int, heads: int, dropout: float, causal: bool) -> None:
        super().__init__()
        if hidden % heads:
            raise InputError(
                f"{heads} heads for a hidden size of {hidden}",
                field="heads",
                expected="choose a divisor of the hidden size",
            )
        self.heads = heads
        self.dropout = dropout
        self.causal = causal
        self.inputs = nn.Linear(hidden, 3 * hidden)
        self.output = nn.Linear(hidden, hidden)

    def forward(self, states: Tensor) -> Tensor:
        """Map (batch, sequence, hidden) to the same shape."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.inputs(states).chunk(3, dim=-1)
        )
        mixed = functional.scaled_dot_product_attention(
            query,
            key,
            value,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=self.causal,
        )
        return self.output(mixed.transpose(1, 2).flatten(2))


def feed_forward(*, hidden: int, approximate: str) -> nn.Sequential:
    """Return a feed-forward network: two linear layers with a GELU, four times as wide inside."""
    return nn.Sequential(
        nn.Linear(hidden, 4 * hidden),
        nn.GELU(approximate=approximate),
        nn.Linear(4 * hidden, hidden),
    )


def initialise(module: nn.Module) -> None:
    """Draw the weights of linear layers and embeddings as GPT-2 and BERT do."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


class TokenEmbedding(nn.Module):
    """Sum of the embeddings of tokens and of their positions."""

    def __init__(self, *, vocabulary: int, sequence: int, hidden: int) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, hidden)
        self.position = nn.Embedding(sequence, hidden)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map token ids (batch, sequence) to states (batch, sequence, hidden)."""
        # Positions are 0, 1, 2, ...: the first rows of the table, and no lookup.
        return self.token(tokens) + self.position.weight[: tokens.shape[1]]
