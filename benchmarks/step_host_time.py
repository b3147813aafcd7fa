"""Processor time that the executors add to a plain step, operation by operation.

    python -m benchmarks.step_host_time --rounds 31

A GPU waits where a processor launches its kernels too slowly. Activations have a few numbers here,
so that what is measured is the launching: of the plain step, of `CheckpointedStep` with nothing
computed again and in less memory, of `CapturedStep` (whose segments are run again on a CPU, as
they were written), and of both passes under ``aot_eager``, without a plan and by one. All take
turns on one thread; times are CPU seconds of the thread, and the least of all turns counts, since
whatever else runs on the machine only adds to them. Calls are those of Python and C functions that
`cProfile` counts in one step. With ``--shown`` it prints where the time of each goes.

*Before* is the executor as it was: each instruction looks up what to call, what to free and what to
deliver, and calls operators by their overloads.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional

SOLVE_S = 10.0


class Bottleneck(nn.Module):
    """Three convolutions with batch normalization, and a way around them."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for size in (1, 3, 1):
            layers += [nn.Conv2d(2, 2, size, padding=size // 2, bias=False), nn.BatchNorm2d(2)]
            layers.append(nn.ReLU())
        self.path = nn.Sequential(*layers[:-1])

    def forward(self, block_input: Tensor) -> Tensor:
        """Return the rectified sum."""
        return functional.relu(block_input + self.path(block_input))


class Attention(nn.Module):
    """Attention and a gated network, each with a norm and a skip, of four numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(4), nn.LayerNorm(4)
        self.parts, self.mix = nn.Linear(4, 12), nn.Linear(4, 4)
        self.gate, self.up, self.down = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        """Return the input with what both parts add to it."""
        q, k, v = (
            part.unflatten(-1, (2, 2)).transpose(1, 2)
            for part in self.parts(self.first(x)).chunk(3, dim=-1)
        )
        found = (q @ k.transpose(-1, -2)).softmax(-1) @ v
        x = x + self.mix(found.transpose(1, 2).flatten(2))
        y = self.second(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def squares(output: Tensor) -> Tensor:
    """Return a loss."""
    return output.square().mean()


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "residual": (lambda: nn.Sequential(*[Bottleneck() for _ in range(8)]), (1, 2, 2, 2)),
    "attention": (lambda: nn.Sequential(*[Attention() for _ in range(8)]), (1, 2, 4)),
    "pointwise": (lambda: nn.Sequential(*[nn.Tanh(), nn.Sigmoid()] * 40, nn.Linear(1, 1)), (1, 1)),
}
Step = Callable[[], None]
