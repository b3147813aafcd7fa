"""Gradients of a stage's input and output, handed over as a step by a chain schedule does it.

Autograd would accumulate the gradient of an input, a leaf of the graph, and copy it first where its
layout is not that of the input. And a caller of `torch.autograd.backward` holds the gradient of the
output to the end of the call. A step hands both on as they are, and holds neither longer than the
graph needs it; so must a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(slots=True)
class TakenGradient:
    """Gradient that one side leaves and the other takes; None before, after, or without."""

    value: Tensor | None = None

    def take(self) -> Tensor | None:
        """Return the gradient and stop holding it."""
        value, self.value = self.value, None
        return value


def entering(stage_input: Tensor, taken: TakenGradient) -> Tensor:
    """Return a detached input as one whose gradient goes to `taken`; gradients must be enabled."""
    anchor = torch.empty(0, device=stage_input.device, requires_grad=True)
    entered: Tensor = _Entry.apply(anchor, stage_input, taken)
    return entered


def leaving(output: Tensor, of_output: TakenGradient) -> Tensor:
    """Return the root of a stage's graph, an empty tensor that needs no output in memory.

    ``torch.autograd.backward(root, root.new_empty(0))`` takes the gradient of the output from
    `of_output`.
    """
    root: Tensor = _Exit.apply(output, of_output)
    return root


class _Exit(torch.autograd.Function):
    """Autograd function that is the root of a stage's graph; its own value is empty."""

    @staticmethod
    def forward(ctx: Any, output: Tensor, of_output: TakenGradient) -> Tensor:
        ctx.of_output = of_output
        return output.new_empty(0)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor | None, None]:
        return ctx.of_output.take(), None


class _Entry(torch.autograd.Function):
    """Autograd function that puts an input into a graph in place: a stage may not change a view."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, stage_input: Tensor, taken: TakenGradient) -> Tensor:
        ctx.taken = taken
        ctx.set_materialize_grads(False)
        ctx.mark_dirty(stage_input)
        return stage_input

    @staticmethod
    def backward(ctx: Any, *received: Tensor) -> tuple[None, None, None]:
        ctx.taken.value = received[0]
        return None, None, None
