"""Tensors of a fused training step that are in memory all the time, and gradients in registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from jettison.instances.profilers.torch_graphs.graph_calls import View
from jettison.instances.profilers.torch_graphs.operator_calls import Tensors


@dataclass(frozen=True, slots=True)
class GradientOf:
    """Gradient of a parameter: the register that it is in, and the views on the way to it."""

    parameter: str
    sources: tuple[int, ...]
    views: tuple[View, ...]
    register: int
    maker: str | None

    def on(self, tensors: Mapping[int, Tensor]) -> Tensor:
        """Return the gradient, given the tensors in registers."""
        frame = {register: tensors[register] for register in self.sources}
        for view in self.views:
            frame[view.register] = view.call.on(frame)
        return frame[self.register]


@dataclass(eq=False, slots=True)
class StepTensors:
    """Tensors that are in memory all the time while a sub-array is trained.

    Attributes
    ----------
    registers
        Parameters, buffers, batches and constants of the trace, by register.
    parameters
        Stacked parameters, by their names in one of the models.
    inputs
        Stacked batches, to be overwritten.
    states
        States of the optimizer, by parameter and name.
    coefficients
        Hyperparameters for each type of parameters: row n has those of the n-th name.
    losses
        The loss of each model.
    """

    registers: Tensors
    parameters: dict[str, Tensor]
    inputs: tuple[Tensor, ...]
    states: dict[str, dict[str, Tensor]]
    coefficients: dict[torch.dtype, Tensor]
    losses: Tensor

    def all(self) -> list[Tensor]:
        """Return all of them."""
        return [
            *self.registers.values(),
            *(state for states in self.states.values() for state in states.values()),
            *self.coefficients.values(),
            self.losses,
        ]
