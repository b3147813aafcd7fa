"""Gradient of a stage's input, taken as the stage returns it.

Autograd would accumulate it into the input, a leaf of the graph, and copy it first where its layout
is not that of the input. A step by a chain schedule hands it on as it is; so must a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(slots=True)
class TakenGradient:
    """Gradient of a stage's input, once its backward operation has run; None before, or without."""

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
