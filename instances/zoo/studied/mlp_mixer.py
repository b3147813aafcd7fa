"""MLP-Mixer: layers between patches, then between channels (Tolstikhin et al., 2021)."""

from __future__ import annotations

from torch import Tensor, nn


class MixerBlock(nn.Module):
    """Network over the patches, then network over the channels; each adds to its input."""

    def __init__(self, *, patches: int, hidden: int, between: int, inner: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(hidden, eps=1e-6) for _ in range(2))
        self.tokens = nn.Sequential(
            nn.Linear(patches, between), nn.GELU(), nn.Linear(between, patches)
        )
        self.channels = nn.Sequential(nn.Linear(hidden, inner), nn.GELU(), nn.Linear(inner, hidden))

    def forward(self, states: Tensor) -> Tensor:
        """Map (batch, patches, hidden) to the same shape."""
        states = states + self.tokens(self.norms[0](states).transpose(1, 2)).transpose(1, 2)
        mixed: Tensor = states + self.channels(self.norms[1](states))
        return mixed


class MlpMixer(nn.Module):
    """Patches, blocks, and the mean over the patches as input of the last layer."""

    def __init__(
        self, *, layers: int, hidden: int, between: int, inner: int, side: int, patch: int
    ) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, hidden, patch, stride=patch)
        patches = (side // patch) ** 2
        self.blocks = nn.Sequential(
            *(
                MixerBlock(patches=patches, hidden=hidden, between=between, inner=inner)
                for _ in range(layers)
            ),
            nn.LayerNorm(hidden, eps=1e-6),
        )
        self.head = nn.Linear(hidden, 1000)

    def forward(self, images: Tensor) -> Tensor:
        """Map (batch, 3, side, side) to logits (batch, 1000)."""
        states = self.patches(images).flatten(2).transpose(1, 2)
        logits: Tensor = self.head(self.blocks(states).mean(1))
        return logits
