"""Language model with a long short-term memory, step by step (Zaremba et al., 2014)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class RecurrentModel(nn.Module):
    """Embedding, layers of LSTM cells that are unrolled in time, and logits for each word."""

    def __init__(self, *, layers: int, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, hidden)
        self.inputs = nn.ModuleList(nn.Linear(hidden, 4 * hidden) for _ in range(layers))
        self.states = nn.ModuleList(
            nn.Linear(hidden, 4 * hidden, bias=False) for _ in range(layers)
        )
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map token ids (batch, sequence) to logits (batch, sequence, vocabulary)."""
        words = list(self.token(tokens).unbind(1))
        for from_input, from_state in zip(self.inputs, self.states, strict=True):
            output = cell = torch.zeros_like(words[0])
            for place, word in enumerate(words):
                gates = from_input(word) + from_state(output)
                enter, forget, leave, new = gates.chunk(4, dim=-1)
                cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
                output = leave.sigmoid() * cell.tanh()
                words[place] = output
        logits: Tensor = self.head(torch.stack(words, dim=1))
        return logits
