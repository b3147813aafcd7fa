"""Decoders with a mixture of experts, each token to the best one (Fedus et al., 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from jettison.instances.zoo.studied.decoder import DecoderLayer, RmsNorm, RotaryAttention


class Experts(nn.Module):
    """Experts of fixed capacity; tokens are sent there and back by products with a mask.

    As in the Switch Transformer: a router chooses an expert for each token, and what exceeds an
    expert's capacity passes by. Shapes depend on no value.
    """

    def __init__(self, *, hidden: int, inner: int, experts: int, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.router = nn.Linear(hidden, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, hidden, inner) * 0.02)
        self.down = nn.Parameter(torch.randn(experts, inner, hidden) * 0.02)

    def forward(self, states: Tensor) -> Tensor:
        """Map (batch, sequence, hidden) to the same shape."""
        shares = self.router(states).softmax(-1)
        chosen = functional.one_hot(shares.argmax(-1), shares.shape[-1]).to(shares.dtype)
        place = (chosen.cumsum(1) * chosen).sum(-1).long() - 1
        # A token beyond the capacity has no place, and so an empty row.
        places = torch.arange(self.capacity, device=states.device)
        held = (place.unsqueeze(-1) == places).to(shares.dtype)
        sent = chosen.unsqueeze(-1) * held.unsqueeze(-2)
        inputs = torch.einsum("bsec,bsh->ebch", sent, states).flatten(1, 2)
        outputs = torch.bmm(functional.relu(torch.bmm(inputs, self.up)), self.down)
        outputs = outputs.unflatten(1, (states.shape[0], self.capacity))
        weights = sent * (shares * chosen).sum(-1)[..., None, None]
        return torch.einsum("bsec,ebch->bsh", weights, outputs)


def mixture_of_experts(
    *,
    layers: int,
    hidden: int,
    heads: int,
    inner: int,
    experts: int,
    sequence: int,
    vocabulary: int,
) -> nn.Sequential:
    """Return a decoder whose feed-forward networks are experts, of token ids to logits."""
    blocks = [
        DecoderLayer(
            RotaryAttention(hidden=hidden, heads=heads, shared_heads=heads, sequence=sequence),
            Experts(hidden=hidden, inner=inner, experts=experts, capacity=2 * sequence // experts),
            hidden,
        )
        for _ in range(layers)
    ]
    head = nn.Linear(hidden, vocabulary, bias=False)
    return nn.Sequential(nn.Embedding(vocabulary, hidden), *blocks, RmsNorm(hidden), head)
